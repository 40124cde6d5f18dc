#include "api/device_machine.h"

#include "run/child.h"
#include "target/target.h"

#include <math.h>
#include <string.h>

// --- The machine ---------------------------------------------------------------------------------

// Multiply-adds per SM and cycle; of an architecture that is not known, the most of all.
static void set_pipes(GpuMachine *g, int capability) {
    if (capability == 80) g->fma_f32 = 64, g->fma_f64 = 32, g->simple = 64;
}

// Rates that were measured count with the error of measuring them.
static void set_rates(GpuMachine *g, const DeviceRates *r) {
    static const double better = 1.05, faster = 0.8;
    g->l2 = r->l2 * 1e9 * better;
    g->read = r->read * 1e9 * better;
    g->write = r->write * 1e9 * better;
    g->launch = fmin(g->launch, r->launch_us * 1e-6 * faster);
}

Machine device_as_machine(Arena *arena, const DeviceInfo *i, const DeviceRates *rates) {
    Machine m;
    GpuMachine *g = arena_new(arena, GpuMachine);
    target_nvidia.describe(&m, i->capability >= 90);
    *g = gpu_machine_h200;
    g->processors = i->processors;
    g->ghz = i->clock_khz * 1e-6;
    g->threads = i->processor_threads;
    g->blocks = i->processor_blocks;
    g->registers = i->processor_registers;
    g->shared = i->processor_shared;
    g->reserved = i->block_shared_reserved;
    g->cluster = gpu_machine_of(i->capability)->cluster;
    g->l2_bytes = i->l2_bytes;
    set_pipes(g, i->capability);
    if (rates) set_rates(g, rates);
    memcpy(m.cpu, i->model, strnlen(i->model, sizeof m.cpu - 1));
    m.gpu = g;
    return m;
}

// --- Asking a child ------------------------------------------------------------------------------

typedef struct DeviceFacts {
    DeviceInfo info; // its texts are those below
    char name[32], model[128], target[32];
    bool ok, rated;
    DeviceError error;
    DeviceRates rates;
} DeviceFacts;

typedef struct DeviceQuestion {
    const char *name;
    bool measure;
    DeviceFacts *facts;
} DeviceQuestion;

static void keep_text(char *to, size_t size, const char *from) {
    memcpy(to, from, strnlen(from, size - 1));
}

// 'i': what it is; 'm': and how fast.
static void answer(void *question, int in, int out) {
    const DeviceQuestion *q = question;
    DeviceFacts *f = q->facts;
    char what;
    Device *d = device_open(q->name, &f->error);
    if (d) {
        f->info = *device_info(d);
        keep_text(f->name, sizeof f->name, f->info.name);
        keep_text(f->model, sizeof f->model, f->info.model);
        keep_text(f->target, sizeof f->target, f->info.target);
    }
    f->ok = d;
    while (pipe_hear(in, &what)) {
        if (d && what == 'm') f->rated = !device_measure(d, 1, &f->rates, &f->error);
        if (!pipe_say(out, 'd')) return;
    }
}

static bool ask(Child *c, char what, double seconds) {
    char said;
    return child_tell(c, what) && child_hear(c, seconds, &said) == CHILD_SAID;
}

static const double patience = 60; // of starting a driver

static void complain(Call *call, const char *name, const char *why) {
    diag_report(call->diags, nowhere, DIAG_DEVICE, name, why);
}

static bool asked(Call *call, const char *name, DeviceFacts *f, Child *c, Machine *out) {
    DeviceRates rates;
    if (!ask(c, 'i', patience)) return complain(call, name, "it does not answer"), false;
    if (!f->ok) return complain(call, name, f->error.text), false;
    DeviceInfo info = f->info;
    info.name = f->name;
    info.model = f->model;
    info.target = f->target;
    if (!device_rates_kept(call->arena, &info, &rates)) {
        if (!ask(c, 'm', patience) || !f->rated)
            return complain(call, name, f->error.text[0] ? f->error.text : "it does not answer"),
                   false;
        rates = f->rates;
        device_rates_keep(call->arena, &info, &rates);
    }
    *out = device_as_machine(call->arena, &info, &rates);
    return true;
}

bool device_machine(Call *call, const char *name, Machine *out) {
    if (strcmp(name, "emulate") == 0) {
        DeviceError e;
        Device *d = device_open(name, &e);
        if (!d) return complain(call, name, e.text), false;
        *out = device_as_machine(call->arena, device_info(d), NULL);
        device_close(d);
        return true;
    }
    Guarded memory;
    Child c = {0};
    if (!guarded_new(&memory, sizeof(DeviceFacts), true)) arena_out_of_memory(call->arena);
    DeviceQuestion q = {.name = name, .facts = (DeviceFacts *)(void *)memory.data};
    bool ok = child_start(&c, answer, &q);
    ok = ok ? asked(call, name, q.facts, &c, out)
            : (complain(call, name, "no process can be started"), false);
    child_end(&c);
    guarded_free(&memory);
    return ok;
}
