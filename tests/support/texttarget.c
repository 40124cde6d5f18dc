#include "support/texttarget.h"

#include <string.h>

#include "code/gen/gen.h"

// ---- Lines. The generator binds labels to offsets of its code buffer, so each instruction takes 8
// bytes there: the number of its text, and the distance to its label.

typedef struct TextLine {
    const char *text;
    bool refers; // to a label
} TextLine;

typedef struct TextOwn {
    VEC(TextLine) lines;
} TextOwn;

static void put(Gen *g, AsmLabel *to, const char *text) {
    TextOwn *own = g->own;
    int32_t insn[2] = {own->lines.n, 0};
    size_t at = asm_size(&g->a);
    vec_push(g->arena, &own->lines, ((TextLine){text, to != NULL}));
    asm_bytes(&g->a, insn, sizeof insn);
    if (to) asm_refer(&g->a, to, at + 4, 0);
}

#define PUT(to, ...) put(g, to, arena_printf(g->arena, __VA_ARGS__))

static const char *text_of(Gen *g, GenArg x) {
    switch (x.kind) {
    case ARG_A: return "A";
    case ARG_B: return "B";
    case ARG_CONST: return arena_printf(g->arena, "%lld", (long long)x.value);
    case ARG_ITEM:
        return x.item.reg >= 0 ? arena_printf(g->arena, "r%d", x.item.reg)
                               : arena_printf(g->arena, "slot%d", x.item.slot / 8);
    default: return "0";
    }
}

#define ITEM(x) text_of(g, gen_at(x))

// ---- Integers and control flow

static const char *const op_sign[] = {"+=", "-=", "*=", "<<=", "= -", "= 0"};
static const char *const condition[] = {"<", "<=", ">", ">=", "==", "!=", "<"};

static void move(Gen *g, GenArg to, GenArg from) {
    PUT(NULL, "%s = %s", text_of(g, to), text_of(g, from));
}
static void op(Gen *g, GenOp o, GenArg to, GenArg by, bool checked) {
    const char *second = o == GEN_NEG ? text_of(g, to) : o == GEN_CLEAR ? "" : text_of(g, by);
    bool none = by.kind == ARG_CONST && by.value == (o == GEN_MUL);
    if (none && o <= GEN_MUL) return; // isa.h: adding 0 and multiplying by 1 emit nothing
    PUT(NULL, "%s %s %s%s", text_of(g, to), op_sign[o], second, checked ? " checked" : "");
}
static void choose(Gen *g, bool larger, GenArg x, GenArg y) {
    (void)x, (void)y;
    PUT(NULL, "A = %s(A, B)", larger ? "max" : "min");
}
static void divide(Gen *g, int64_t k, bool mod) {
    PUT(NULL, "A = A %s %lld", mod ? "mod" : "div", (long long)k);
}
static void digit(Gen *g, Item to, int64_t k) {
    PUT(NULL, "%s, A = A mod, div %lld", ITEM(to), (long long)k);
}
static void push(Gen *g) { PUT(NULL, "push A"); }
static void pop(Gen *g) { PUT(NULL, "pop B"); }
static void load(Gen *g, Type t, Item base, int64_t disp, bool plus_a) {
    PUT(NULL, "A = %s[%s + %s]", type_info[t].name, ITEM(base),
        plus_a ? "A" : text_of(g, gen_const(disp)));
}
static void check_below(Gen *g, int64_t size) { PUT(NULL, "check A < %lld", (long long)size); }
static void jump(Gen *g, AsmLabel *to) { PUT(to, "goto"); }
static void branch(Gen *g, GenCond c, GenArg x, GenArg y, AsmLabel *to) {
    PUT(to, "if %s %s %s goto", text_of(g, x), condition[c], text_of(g, y));
}
static void op_branch(Gen *g, GenOp o, GenArg to, GenArg by, GenCond c, AsmLabel *label) {
    op(g, o, to, by, false);
    branch(g, c, to, gen_const(0), label);
}
static void branch_flags(Gen *g, uint32_t flags, AsmLabel *to) {
    PUT(to, "if flags %u goto", flags);
}
static void align(Gen *g) { (void)g; }

// ---- Functions

static void start(Gen *g) { g->own = g->user, *(TextOwn *)g->own = (TextOwn){0}; }
static void enter(Gen *g) { PUT(NULL, "enter"); }
static void argument(Gen *g, Item to, int n) { PUT(NULL, "%s = argument %d", ITEM(to), n); }
static void temporary(Gen *g, Item to, int64_t offset) {
    PUT(NULL, "%s = scratch + %lld", ITEM(to), (long long)offset);
}
static void leave(Gen *g) { PUT(NULL, "leave"); }
static void finish(Gen *g, Code *out) { (void)g, (void)out; }
static void parallel(Gen *g, AsmLabel *body, int64_t grain) {
    PUT(body, "parallel B, grain %lld, body", (long long)grain);
}
static void enter_body(Gen *g, AsmLabel *label, int from, int to, int64_t bytes) {
    asm_bind(&g->a, label);
    PUT(NULL, "body slot%d, slot%d, %lld", from / 8, to / 8, (long long)bytes);
}
static void outer(Gen *g, int slot) { PUT(NULL, "A = outer slot%d", slot / 8); }

// ---- Micro-operations

static const char *const kind[] = {
    "const",     "load",   "index", "op",           "fma",     "choose", "widen",
    "narrow",    "rescue", "cast",  "store",        "lanes",   "upper",  "shuffle",
    "broadcast", "head",   "group", "lane_numbers", "permute", "gather", "check",
    "begin",     "row",    "fetch", "pin",          "spill",   "reload"};

static void emit(Gen *g, const Micro *m) {
    Text t = {.arena = g->arena};
    if (m->kind == MI_INDEX) gen_index(g, m->index);
    if (micro_writes(m)) text_printf(&t, "v%d = ", m->dst_reg);
    text_add(&t, m->kind == MI_OP && m->op < OP_COUNT ? op_info[m->op].name : kind[m->kind]);
    text_printf(&t, ".%s", type_info[m->type].name);
    for (int i = 0; i < m->nargs; i++) text_printf(&t, "%sv%d", i ? ", " : " ", m->arg_reg[i]);
    if (m->kind == MI_CONST)
        text_printf(&t, " %g", type_is_float(m->type) ? m->value.f : (double)m->value.i);
    if (m->ref)
        text_printf(&t, " [%s + %lld]", ITEM(g->stack.stream[m->ref->stream]),
                    (long long)m->ref->disp);
    if (m->ref && ref_is_hard(m->ref)) g->result.declined = "an address from data";
    put(g, NULL, text_str(&t));
}
static bool folds(const void *gen, const Micro *m, int arg, const Ref *ref) {
    (void)gen, (void)m, (void)arg, (void)ref;
    return false;
}
static bool ties(const void *gen, const Micro *m, int arg) {
    (void)gen, (void)m, (void)arg;
    return true;
}
static void set_masks(Gen *g) { (void)g; }
static void forget(Gen *g, bool values) { (void)g, (void)values; }

static const uint8_t items[] = {0, 1, 2, 3};
static const GenIsa text_isa = {
    sizeof items, items,      0,     0,     move,        op,        choose,    divide,
    digit,        push,       pop,   load,  check_below, jump,      branch,    op_branch,
    branch_flags, align,      start, enter, argument,    temporary, leave,     finish,
    parallel,     enter_body, outer, emit,  folds,       ties,      set_masks, forget};

// ---- The row

static void describe(Machine *m, int isa) {
    machine_describe(m, ISA_SCALAR);
    m->isa = (Isa)isa;
    m->target = &text_target;
}

static void *plan(Arena *arena, const Tree *tree, const Machine *m, void *before, DiagList *diags) {
    return gen_plan(arena, tree, m, before, diags);
}

// The instructions with labels instead of distances: the text that a driver would load.
static CodeAnswer generate(void *plan, Code *out, Listing *listing, DiagList *diags) {
    TextOwn own;
    Arena *arena = ((Plan *)plan)->arena;
    Text t = {.arena = arena};
    (void)listing;
    CodeAnswer answer = gen_code(plan, &text_isa, &own, out, diags);
    if (answer != CODE_DONE) return answer;
    const int32_t(*insn)[2] = (const void *)out->bytes;
    int n = (int)(out->size / sizeof *insn);
    bool *label = arena_new_n(arena, bool, n + 1);
    for (int i = 0; i < n; i++)
        if (own.lines.at[insn[i][0]].refers) label[i + 1 + insn[i][1] / 8] = true;
    for (int i = 0; i < n; i++) {
        const TextLine *l = &own.lines.at[insn[i][0]];
        if (label[i]) text_printf(&t, "L%d:\n", i);
        text_printf(&t, "    %s", l->text);
        if (l->refers) text_printf(&t, " L%d", i + 1 + insn[i][1] / 8);
        text_char(&t, '\n');
    }
    out->bytes = (const uint8_t *)text_str(&t);
    out->size = t.len;
    return CODE_DONE;
}

static void list(Text *out, const Code *code, const Listing *listing, const char *tree_text) {
    (void)listing, (void)tree_text;
    text_add_n(out, (const char *)code->bytes, code->size);
}

static const char *const isa_list[] = {"text", NULL};
const Target text_target = {.name = "text",
                            .nisas = 1,
                            .isa = isa_list,
                            .detect = describe,
                            .describe = describe,
                            .choose = choose_schedule,
                            .plan = plan,
                            .generate = generate,
                            .list = list};
