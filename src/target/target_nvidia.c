// The row of NVIDIA's GPUs: the GPU space and choice, and PTX, which a device loads (run/device.h).
#include "target/target.h"

#include "base/device_abi.h"
#include "choose/choose_gpu.h"
#include "code/ptx/ptx.h"
#include "space/space_gpu.h"
#include "space/gpu_bound.h"
#include "tree/special.h"

#include <string.h>

// --- The machine ---------------------------------------------------------------------------------

static const char *const isas[] = {"sm_80", "sm_90"};
static const int capability[] = {80, 90};
enum { ISAS = sizeof isas / sizeof *isas };

static void describe(Machine *m, int isa) {
    *m = (Machine){.isa = (Isa)(isa < ISAS ? isa : ISAS - 1),
                   .vector_bytes = 16,
                   .line_bytes = 128,
                   .target = &target_nvidia,
                   .gpu = gpu_machine_of(capability[isa < ISAS ? isa : ISAS - 1])};
}

// --- The Space -----------------------------------------------------------------------------------

static bool make_space(Arena *arena, const Program *p, const CpuOptions *o, ProgramSpace *out,
                       DiagList *diags) {
    const CpuSpace *cs = gpu_space(arena, p, o->machine.gpu, o->given, diags);
    return target_space(cs, out);
}

static BoundModel *space_bound(Arena *arena, const ProgramSpace *s, const BoundOptions *o) {
    return gpu_bound_new(arena, s->own, o);
}

static const TargetSpace gpu_target_space = {make_space, target_schedule, target_read, space_bound};

// Without copies and post-operations, the mapping divides independent iterations.
static const Schedule *choose(Arena *arena, const Program *p, const ChooseOptions *o) {
    static const Source none = {.name = "<plain>", .text = ""};
    DiagList quiet = {.arena = arena};
    return o->plain ? schedule_parse(arena, p->names, &none, &quiet)
                    : choose_gpu(arena, p, o->machine->gpu, o->stride);
}

// --- The code ------------------------------------------------------------------------------------

typedef struct GpuPlan {
    GpuProgram *program;
    int sm;
} GpuPlan;

static void *plan(Arena *arena, const Tree *tree, const Machine *m, void *before, DiagList *diags) {
    (void)before;
    const char *name = tree->program && tree->program->name ? tree->program->name : "kernel";
    GpuPlan plan = {gpu_map(arena, tree_expand(tree), name, m->gpu, diags), capability[m->isa]};
    return plan.program ? arena_copy(arena, &plan, sizeof plan) : NULL;
}

// The bytes are a packed DeviceProgram.
static CodeAnswer generate(void *gpu_plan, Code *out, Listing *listing, DiagList *diags) {
    (void)listing;
    const GpuPlan *p = gpu_plan;
    Arena *arena = p->program->arena;
    PtxCode code;
    if (!ptx_print(p->program, &(PtxOptions){.sm = p->sm}, &code, diags)) return CODE_DECLINED;
    *out = (Code){.scratch = 0};
    DeviceProgram *program = ptx_program(arena, &code, p->program->tree->nargs);
    out->bytes = device_program_pack(arena, program, &out->size);
    return CODE_DONE;
}

const Target target_nvidia = {
    .name = "nvidia",
    .nisas = ISAS,
    .isa = isas,
    .detect = describe,
    .describe = describe,
    .has_grid = true,
    .choose = choose,
    .space = &gpu_target_space,
    .plan = plan,
    .generate = generate,
};
