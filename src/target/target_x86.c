// The row of x86-64: the CPU space and choice, code/x86, executable pages, ELF objects.
#include "target/target.h"

#include "code/x86/aot.h"
#include "code/x86/code_x86.h"
#include "code/x86/probe.h"

// --- The machine ---------------------------------------------------------------------------------

static void detect(Machine *m, int cap) {
    machine_detect(m, (Isa)cap);
    m->target = &target_x86;
}

static void describe(Machine *m, int isa) {
    machine_describe(m, (Isa)isa);
    m->target = &target_x86;
}

static void pretend(Machine *m, const Family *f, int cap) {
    machine_pretend(m, f, (Isa)cap);
    m->target = &target_x86;
}

static const char *description(const Machine *m) {
    return m->width != WIDTH_FULL ? "avx2" : m->has_vnni ? "avx512-vnni" : "avx512";
}

static const TargetProbes probes = {.fma = x86_probe_fma,
                                    .work = x86_probe_work,
                                    .chain = x86_probe_chain,
                                    .move = x86_probe_move,
                                    .move_unroll = X86_PROBE_UNROLL};

// --- The Space -----------------------------------------------------------------------------------

static bool make_space(Arena *arena, const Program *p, const CpuOptions *o, ProgramSpace *out,
                       DiagList *diags) {
    const CpuSpace *cs = cpu_space(arena, p, o, diags);
    return target_space(cs, out);
}

static BoundModel *space_bound(Arena *arena, const ProgramSpace *s, const BoundOptions *o) {
    return bound_new(arena, s->own, o);
}

static const TargetSpace cpu_target_space = {make_space, target_schedule, target_read, space_bound};

// --- The code ------------------------------------------------------------------------------------

static void *plan(Arena *arena, const Tree *tree, const Machine *m, void *before, DiagList *diags) {
    return gen_plan(arena, tree, m, before, diags);
}

static void print_plan(Text *out, const void *p) { plan_print(out, p); }

static CodeAnswer generate(void *p, Code *out, Listing *listing, DiagList *diags) {
    return code_x86(p, out, listing, diags);
}

static void list(Text *out, const Code *code, const Listing *listing, const char *tree_text) {
    listing_print(out, code, listing, tree_text, &(ListingStyle){.stem = "L"});
}

static bool emit(Arena *arena, EmitKind kind, const EmitInput *in, EmitOutput *out,
                 DiagList *diags) {
    Aot aot;
    if (!aot_make(arena, in->tree, in->machine, in->name, in->code, in->listing, &aot, diags))
        return false;
    Text header = {.arena = arena}, text = {.arena = arena};
    aot_header(&aot, &header);
    *out =
        (EmitOutput){.function = aot.name, .header = text_str(&header), .header_size = header.len};
    if (kind == EMIT_ASM) {
        aot_asm(&aot, in->text, &text);
        out->bytes = text_str(&text);
        out->size = text.len;
        return true;
    }
    out->size = elf_size(&aot.object);
    char *bytes = arena_alloc(arena, out->size);
    elf_write(&aot.object, bytes);
    out->bytes = bytes;
    return true;
}

// --- Running -------------------------------------------------------------------------------------

static bool load(const Loader *to, const Code *code, DebugCode *debug, Loaded *out) {
    ExecBlock *block = to->exec ? exec_add(to->exec, code->bytes, code->size) : NULL;
    if (!block) return false;
    *out = (Loaded){.entry = (Kernel *)exec_entry(block), .block = block};
    if (!to->debug) return true;
    debug->code = exec_entry(block);
    out->debug = debug_add(to->debug, debug);
    return true;
}

static void unload(Loaded *loaded) {
    debug_remove(loaded->debug);
    exec_release(loaded->block);
}

const Target target_x86 = {
    .name = "x86-64",
    .nisas = ISA_COUNT,
    .isa = isa_name,
    .detect = detect,
    .describe = describe,
    .pretend = pretend,
    .probes = &probes,
    .description = description,
    .choose = choose_schedule,
    .space = &cpu_target_space,
    .plan = plan,
    .print_plan = print_plan,
    .generate = generate,
    .list = list,
    .emit = emit,
    .load = load,
    .unload = unload,
};
