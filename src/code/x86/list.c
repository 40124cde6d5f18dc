// The encoder's calls, heard while code is made, as a Listing.
//
// Labels live in the generator's frames and are gone when the code is finished, so the text is made
// at once; the position of a label is read from the finished bytes.
#include "code/x86/x86_impl.h"

#include "base/bug.h"

#include <string.h>

static bool begins(const char *name, const char *with) {
    return strncmp(name, with, strlen(with)) == 0;
}

static bool one_of(const char *name, const char *const *stems) {
    for (; *stems; stems++)
        if (begins(name, *stems)) return true;
    return false;
}

static bool is_memory(const X86Arg *x) { return (x->kind & X86_MEMORY) != 0; }
static bool is_vector(const X86Arg *x) { return (x->kind & X86_VECTORS) != 0; }

// Plain moves between registers and memory; of registers they cost issue alone.
static bool is_move(const char *name) {
    static const char *const stems[] = {"mov",    "vmova",  "vmovu",  "vmovd", "vmovq", "vmovs",
                                        "vmovnt", "vmaskm", "vpmask", "kmov",  NULL};
    return one_of(name, stems);
}

static unsigned memory_units(const char *name, const X86Arg *args) {
    if (begins(name, "lea") || begins(name, "nop")) return 0;
    unsigned units = 0;
    for (int i = 1; i < 4; i++)
        if (is_memory(&args[i])) units |= 1u << PORT_LOAD;
    if (!is_memory(&args[0])) return units;
    if (begins(name, "push") || begins(name, "pop") || begins(name, "call") ||
        begins(name, "jmp") || begins(name, "cmp") || begins(name, "test") ||
        begins(name, "prefetch"))
        return units | 1u << PORT_LOAD;
    static const char *const update[] = {"add", "sub", "and", "or", "xor", "inc",
                                         "dec", "neg", "not", "sh", "sa",  NULL};
    if (one_of(name, update)) units |= 1u << PORT_LOAD;
    return units | 1u << PORT_STORE;
}

static unsigned units_of(const char *name, const X86Arg *args) {
    static const char *const fma[] = {"vfm",  "vfnm", "vadd",   "vsub",
                                      "vmul", "vpdp", "vpmadd", NULL};
    static const char *const shuffle[] = {"vperm",     "vshuf",      "vunpck",      "vpunpck",
                                          "vpshuf",    "vinsert",    "vextract",    "vpack",
                                          "valign",    "vbroadcast", "vpbroadcast", "vpalign",
                                          "vcompress", "vexpand",    NULL};
    unsigned units = memory_units(name, args) | 1u << PORT_ISSUE;
    bool vector = false, memory = false;
    for (int i = 0; i < 4; i++) {
        vector |= is_vector(&args[i]);
        memory |= is_memory(&args[i]);
    }
    if (is_move(name)) return units;
    if (!vector) return units | 1u << PORT_SCALAR;
    if (memory && (begins(name, "vbroadcast") || begins(name, "vpbroadcast"))) return units;
    if (one_of(name, fma)) return units | 1u << PORT_FMA | 1u << PORT_VECTOR;
    if (one_of(name, shuffle)) return units | 1u << PORT_SHUFFLE | 1u << PORT_VECTOR;
    return units | 1u << PORT_VECTOR;
}

static const AsmLabel *label_of(const X86Arg *args) {
    for (int i = 0; i < 4; i++)
        if (args[i].kind == X86_L || (is_memory(&args[i]) && args[i].reg == X86_AT))
            return args[i].label;
    return NULL;
}

static const char *text_of(Listing *l, const Asm *a, unsigned op, const X86Arg *args) {
    char text[160];
    size_t n = x86_print(text, sizeof text, a->features, (X86Op)op, args);
    require(n > 0 && n < sizeof text);
    return arena_strndup(l->arena, text, n);
}

void list_heard(Asm *a, size_t offset, unsigned op, const void *operands) {
    Gen *g = a->user;
    list_add(own(g)->listing, a, offset, op, operands);
}

void list_add(Listing *l, Asm *a, size_t offset, unsigned op, const void *operands) {
    const X86Arg *args = operands;
    const char *name = x86_name((X86Op)op);
    const AsmLabel *label = label_of(args);
    bool sums = begins(name, "vfmadd231") || begins(name, "vfnmadd231") || begins(name, "vpdp");
    ListedInsn in = {.offset = (uint32_t)offset,
                     .size = (uint8_t)(asm_size(a) - offset),
                     .units = (uint8_t)units_of(name, args),
                     .sum = sums ? (int8_t)args[0].reg : (int8_t)-1,
                     .writes = !sums && is_vector(&args[0]) ? (int8_t)args[0].reg : (int8_t)-1,
                     .label = label ? (int32_t)label->id : -1,
                     .jump = name[0] == 'j',
                     .text = text_of(l, a, op, args)};
    int immediate = 0;
    for (int i = 0; i < 4; i++) immediate |= args[i].kind == X86_I;
    in.target = immediate; // bytes behind the field that refers to the label, until list_resolve
    vec_push(l->arena, &l->insns, in);
}

void list_frame(Gen *g, size_t patch, int32_t frame) {
    X86Arg args[4] = {x86_r64(X86_RSP), x86_imm(frame), X86_NO_ARG, X86_NO_ARG};
    for (int i = 0; i < own(g)->listing->insns.n; i++) {
        ListedInsn *in = &own(g)->listing->insns.at[i];
        if (in->offset + in->size == patch + 4)
            in->text = text_of(own(g)->listing, &g->a, X86_sub, args);
    }
}

void list_call(Gen *g, int op, Type from, Type to) {
    for (int i = 0; i < own(g)->listing->calls.n; i++) {
        const ListedCall *c = &own(g)->listing->calls.at[i];
        if (c->op == op && c->from == from && c->to == to) return;
    }
    vec_push(own(g)->listing->arena, &own(g)->listing->calls, ((ListedCall){op, from, to}));
}

void list_resolve(Listing *l, int first, const uint8_t *bytes) {
    for (int i = first; i < l->insns.n; i++) {
        ListedInsn *in = &l->insns.at[i];
        uint32_t end = in->offset + in->size;
        if (in->label < 0) continue;
        const uint8_t *field = bytes + end - in->target;
        int32_t distance;
        memcpy(&distance, field - 4, 4);
        if (in->jump && in->size == 2) distance = (int8_t)field[-1];
        in->target = (int32_t)end + distance;
    }
}
