// The facts about the kernels of a GPU as JSON: the device, the Tree that was mapped, the
// PTX text beside it, and for every kernel its threads, memory, occupancy and waves.
#include "api/explain.h"

#include "api/compile_gpu.h"
#include "api/device_machine.h"
#include "api/devices.h"
#include "sched/schedule.h"
#include "space/gpu_bound.h"
#include "tree/cost.h"

static void text_member(Text *out, const char *key, const char *value) {
    text_printf(out, "\"%s\": \"", key);
    for (const char *c = value; *c; c++) {
        if (*c == '\n' || *c == '\t') {
            text_add(out, *c == '\n' ? "\\n" : "\\t");
        } else if ((unsigned char)*c < 32) {
            text_printf(out, "\\u%04x", (unsigned)(unsigned char)*c);
        } else {
            if (*c == '"' || *c == '\\') text_char(out, '\\');
            text_char(out, *c);
        }
    }
    text_char(out, '"');
}

static void device_members(Text *out, const DeviceInfo *i, const GpuMachine *m) {
    text_add(out, "\"device\": {");
    text_member(out, "name", i->name);
    text_add(out, ", ");
    text_member(out, "model", i->model);
    text_add(out, ", ");
    text_member(out, "target", i->target);
    double hertz = m->ghz * 1e9 * m->processors;
    text_printf(out,
                ", \"processors\": %d, \"ghz\": %.6g, \"threads\": %d, \"blocks\": %d, "
                "\"registers\": %d, \"shared\": %d, \"l2\": %lld, \"gflops\": [%.6g, %.6g], "
                "\"gbps\": {\"shared\": %.6g, \"L2\": %.6g, \"memory\": %.6g}}",
                m->processors, m->ghz, m->threads, m->blocks, m->registers, m->shared,
                (long long)m->l2_bytes, 2e-9 * m->fma_f32 * hertz, 2e-9 * m->fma_f64 * hertz,
                1e-9 * m->shared_bytes * hertz, 1e-9 * m->l2, 1e-9 * m->read);
}

// The resource that limits the blocks of a processor.
static const char *limit_of(const GpuMachine *m, int threads, int registers, int most) {
    if (gpu_resident_blocks(m, threads, 0, 0) == most)
        return most == m->blocks ? "blocks" : "threads";
    return gpu_resident_blocks(m, threads, registers, 0) == most ? "registers" : "shared memory";
}

static void kernel_object(Text *out, const GpuMachine *m, const PtxLaunch *l, const GpuKernel *k,
                          const DeviceKernelInfo *info) {
    int threads = (int)(l->block[0] * l->block[1] * l->block[2]), shared = (int)l->shared;
    double blocks = (double)l->grid[0] * l->grid[1] * l->grid[2];
    int resident = gpu_resident_blocks(m, threads, info->registers, shared);
    text_char(out, '{');
    text_member(out, "name", l->name);
    text_printf(out,
                ", \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], \"threads\": %d, "
                "\"registers\": %d, \"shared\": %d, \"local\": %d, \"barriers\": %d, "
                "\"resident\": %d, \"occupancy\": %.4g, \"waves\": %.4g, ",
                l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2], threads,
                info->registers, shared, info->local_bytes, k->barriers, resident,
                (double)resident * ((threads + 31) / 32 * 32) / m->threads,
                resident ? blocks / ((double)resident * m->processors) : 0);
    text_member(out, "limit", limit_of(m, threads, info->registers, resident));
    text_char(out, '}');
}

static lw_status add_kernels(Call *call, Text *out, Device *d, const GpuMachine *m,
                             const GpuCompiled *g) {
    DeviceError e;
    DeviceProgram *p = ptx_program(call->arena, &g->code, g->tree->nargs);
    DeviceCode *code = device_load(d, p, &e);
    if (!code) return device_complain(call, device_info(d)->name, &e);
    text_add(out, ", \"kernels\": [");
    for (int i = 0; i < g->code.nlaunches; i++) {
        if (i) text_add(out, ", ");
        kernel_object(out, m, &g->code.launch[i], g->code.program->kernel.at[i],
                      device_kernel_info(code, i));
    }
    text_char(out, ']');
    device_unload(d, code);
    return LW_OK;
}

// Operations, and bytes of arguments; of a Stripe program they are not known here.
static void add_work(Call *call, Text *out, const lw_bound *b) {
    const Program *p = b->program;
    if (b->function->tree) return;
    const double *bytes = bound_bytes(call->scratch, b, NULL);
    double sum = 0;
    for (int i = 0; i < p->ninputs + p->noutputs; i++) sum += bytes[i];
    text_printf(out, ", \"flops\": %.6g, \"bytes_used\": %.6g, \"float_bits\": %d",
                bound_flops(call->scratch, b, NULL), sum, program_float_bits(p));
}

lw_status gpu_explain(Call *call, const lw_bound *b, const lw_schedule_text *text,
                      const char *device, const char **out) {
    Device *d = context_device(call, device);
    if (!d) return LW_ERROR;
    PtxOptions options = {.lines = true};
    GpuCompiled g;
    lw_status status = gpu_compile(call, b, text, NULL, NULL, device_info(d), &options, &g);
    if (status) return status;
    DeviceRates rates;
    bool rated = device_rates_kept(call->arena, device_info(d), &rates);
    Machine m = device_as_machine(call->arena, device_info(d), rated ? &rates : NULL);
    Text all = {.arena = call->arena}, schedule = {.arena = call->arena};
    if (g.schedule) schedule_print(&schedule, g.schedule);
    text_char(&all, '{');
    device_members(&all, device_info(d), m.gpu);
    text_add(&all, ", ");
    text_member(&all, "schedule", text_str(&schedule));
    status = add_kernels(call, &all, d, m.gpu, &g);
    if (status) return status;
    add_work(call, &all, b);
    text_printf(&all, ", \"bytes\": %zu, \"tree\": ", g.code.size);
    explain_tree(call->arena, &all, g.code.program->tree);
    text_add(&all, ", ");
    text_member(&all, "code", g.code.text);
    text_char(&all, '}');
    *out = text_str(&all);
    return LW_OK;
}
