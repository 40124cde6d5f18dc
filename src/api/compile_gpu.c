// Bound functions as PTX text, to read or to write to a file, and as machine code of a GPU.
#include "api/compile_gpu.h"

#include "api/device_machine.h"
#include "choose/choose_gpu.h"
#include "run/assemble.h"
#include "sched/schedule.h"
#include "tree/special.h"

#include <stdlib.h>
#include <string.h>

// Chosen Schedules lower. If one does not, every loop runs as written.
static const Tree *lower_chosen(Call *call, const Program *p, const Schedule **schedule) {
    DiagList quiet = {.arena = call->arena, .source = call->diags->source};
    const Tree *t = tree_lower(call->arena, p, *schedule, &quiet);
    if (t) return t;
    *schedule = NULL;
    return tree_lower(call->arena, p, NULL, call->diags);
}

// Finds the tuned Schedule of this function on the device. False: there is none.
static bool look_up(Call *call, const lw_bound *b, const View *views, const Machine *m,
                    GpuCompiled *out) {
    Compilation c = compilation_of(call, b, NULL);
    c.machine = m;
    c.threads = 1;
    c.views = views;
    if (step_look_up(&c) || !c.tuned) return false;
    out->tree = c.tree;
    out->schedule = c.schedule;
    return out->tuned = true;
}

static lw_status print_ptx(Call *call, const lw_bound *b, const View *views, const char *name,
                           const PtxOptions *options, GpuCompiled *out, DiagList *diags) {
    out->tree = without_passed(tree_for_views(call->arena, out->tree, views), diags);
    if (!name) name = b->program && b->program->name ? b->program->name : "kernel";
    call_source(call, b->function->module);
    return ptx_make(call->arena, out->tree, name, options, &out->code, diags) ? LW_OK : LW_ERROR;
}

lw_status gpu_compile(Call *call, const lw_bound *b, const lw_schedule_text *text,
                      const View *views, const char *name, const DeviceInfo *device,
                      const PtxOptions *options, GpuCompiled *out) {
    *out = (GpuCompiled){0};
    bool free = !b->function->tree && !(text && text->text);
    DiagList quiet = {.arena = call->arena};
    Machine m = {.gpu = options->machine ? options->machine : gpu_machine_of(options->sm)};
    if (device) m = device_as_machine(call->arena, device, NULL);
    PtxOptions own = *options;
    own.machine = m.gpu;
    if (device && !own.sm) own.sm = device->capability < 90 ? 80 : 90; // the texts that there are
    options = &own;
    if (free && device && look_up(call, b, views, &m, out) &&
        !print_ptx(call, b, views, name, options, out, &quiet))
        return LW_OK;
    out->tuned = false;
    if (b->function->tree) {
        out->tree = tree_expand(own_tree(call, b));
    } else if (text && text->text) {
        Compilation c = compilation_of(call, b, text);
        lw_status status = pipeline(&c, STEP_LOWER);
        if (status) return status;
        out->tree = c.tree;
        out->schedule = c.schedule;
    } else {
        Program *p = program_fork(call->arena, b->program);
        out->schedule =
            choose_gpu(call->arena, p, options->machine, strides_of(call->arena, p, views));
        out->tree = lower_chosen(call, p, &out->schedule);
        if (!out->tree) return LW_ERROR;
        if (!print_ptx(call, b, views, name, options, out, &quiet)) return LW_OK;
        out->schedule = NULL;
        out->tree = tree_lower(call->arena, p, NULL, call->diags);
        lw_status status =
            out->tree ? print_ptx(call, b, views, name, options, out, call->diags) : LW_ERROR;
        if (!status)
            diag_report(call->diags, (Range){0}, DIAG_SCHEDULE_IDLE, "the chosen Schedule",
                        quiet.items.n ? quiet.items.at[0]->text : "it does not fit");
        return status;
    }
    return print_ptx(call, b, views, name, options, out, call->diags);
}

lw_status gpu_schedule(Call *call, const lw_bound *b, const lw_schedule_text *text,
                       const char *device, const char **out) {
    Machine m;
    GpuCompiled g = {0};
    if (!device_machine(call, device, &m)) return LW_ERROR;
    PtxOptions options = {.machine = m.gpu};
    if ((text && text->text) || !look_up(call, b, NULL, &m, &g)) {
        lw_status status = gpu_compile(call, b, text, NULL, NULL, NULL, &options, &g);
        if (status) return status;
    }
    Text all = {.arena = call->arena};
    if (g.schedule) schedule_print(&all, g.schedule);
    *out = text_str(&all);
    return LW_OK;
}

// "sm_90" as 90; 0: it is something else.
static int capability(const char *isa) {
    if (!isa) return 80;
    char *end;
    long n = strncmp(isa, "sm_", 3) == 0 ? strtol(isa + 3, &end, 10) : 0;
    return n >= 80 && n < 1000 && !*end ? (int)n : 0;
}

static lw_status compile_text(Call *call, const lw_bound *b, const lw_schedule_text *text,
                              const char *isa, const char *name, GpuCompiled *out) {
    PtxOptions options = {.sm = capability(isa)};
    if (!options.sm) {
        diag_report(call->diags, (Range){0, 0}, DIAG_PTX_TARGET, isa);
        return LW_ERROR;
    }
    return gpu_compile(call, b, text, NULL, name, NULL, &options, out);
}

// The Schedule as comments.
static void add_schedule(Text *out, const Schedule *s) {
    Text text = {.arena = out->arena};
    if (!s) return;
    schedule_print(&text, s);
    for (const char *at = text_str(&text); *at;) {
        size_t n = strcspn(at, "\n");
        text_add(out, "// ");
        text_add_n(out, at, n);
        text_char(out, '\n');
        at += n + (at[n] == '\n');
    }
}

lw_status gpu_show(Call *call, const lw_bound *b, const lw_schedule_text *text, const char *isa,
                   const char **out) {
    GpuCompiled g;
    lw_status status = compile_text(call, b, text, isa, NULL, &g);
    if (status) return status;
    Text all = {.arena = call->arena};
    add_schedule(&all, g.schedule);
    text_add_n(&all, g.code.text, g.code.size);
    *out = text_str(&all);
    return LW_OK;
}

// --- Machine code --------------------------------------------------------------------------------

// Machine code is smaller than its text, but for what every file has.
static lw_status assemble(Call *call, const char *target, lw_emitted *out) {
    enum { MESSAGE = 4096, MORE = 1 << 20 };
    char *message = arena_alloc(call->arena, MESSAGE);
    size_t size = 2 * out->size + MORE;
    char *bytes = arena_alloc(call->arena, size);
    CcResult r = assemble_ptx(out->bytes, out->size, target, bytes, &size, message, MESSAGE);
    out->bytes = bytes;
    out->size = size;
    if (r == CC_OK) return LW_OK;
    if (r == CC_FAILED && strstr(message, target)) { // complaints about code name no target
        diag_report(call->diags, (Range){0, 0}, DIAG_PTXAS_TARGET, target, message);
        return LW_ERROR;
    }
    Diag *d = diag_report(call->diags, (Range){0, 0},
                          r == CC_MISSING ? DIAG_PTXAS_MISSING : DIAG_PTXAS_FAILED, message);
    if (r != CC_MISSING) return LW_ERROR;
    diag_note(call->diags, d, (Range){0, 0}, DIAG_PTXAS_MISSING_NOTE);
    return LW_UNAVAILABLE;
}

lw_status gpu_emit(Call *call, const lw_bound *b, const lw_schedule_text *text, const char *isa,
                   const char *name, bool cubin, lw_emitted *out) {
    GpuCompiled g;
    lw_status status = compile_text(call, b, text, isa, name, &g);
    if (status) return status;
    Text header = {.arena = call->arena};
    ptx_header(&header, &g.code, g.tree);
    *out = (lw_emitted){.function = arena_printf(call->arena, "%s_launch", g.code.name),
                        .bytes = g.code.text,
                        .size = g.code.size,
                        .header = text_str(&header),
                        .header_size = header.len};
    return cubin ? assemble(call, isa ? isa : "sm_80", out) : LW_OK;
}
