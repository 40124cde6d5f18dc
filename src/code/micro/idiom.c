// Sequences of operations that one instruction computes.
//
// The bits of a word, counted by adding neighbours:
//
//     a = x - ((x >> 1) & 0x55555555)                    or (x & 0x55..) + ((x >> 1) & 0x55..)
//     b = (a & 0x33333333) + ((a >> 2) & 0x33333333)
//     c = (b + (b >> 4)) & 0x0f0f0f0f                    or (b & 0x0f..) + ((b >> 4) & 0x0f..)
//     c * 0x01010101 >> 24
//
// and likewise in 64 bits. The operations are found by their values, whatever statements or
// temporaries they come from; those that nothing else uses are dropped at the end of the segment.
#include "code/micro/micro_math.h"

typedef struct Pattern {
    const Seg *s;
    Type type; // u32 or u64
} Pattern;

static const Micro *def_of(const Pattern *p, int val, int op, int n) {
    int def = p->s->vals.at[val].def;
    const Micro *m = def < 0 ? NULL : &p->s->micros.at[def];
    bool is = m && m->kind == MI_OP && m->op == op && m->type == p->type && m->nargs == n;
    return is && m->from == p->type ? m : NULL;
}

// `byte` in every byte of the word.
static int64_t bytes_of(const Pattern *p, uint64_t byte) {
    uint64_t word = byte * UINT64_C(0x0101010101010101);
    return p->type == TYPE_U32 ? (int64_t)(uint32_t)word : (int64_t)word;
}

static bool is_bytes(const Pattern *p, int val, uint64_t byte) {
    int def = p->s->vals.at[val].def;
    const Micro *m = def < 0 ? NULL : &p->s->micros.at[def];
    return m && m->kind == MI_CONST && m->type == p->type && m->value.i == bytes_of(p, byte);
}

// The other operand of `op` with a constant; -1: it is something else.
static int beside(const Pattern *p, int val, int op, uint64_t byte) {
    const Micro *m = def_of(p, val, op, 2);
    for (int k = 0; m && k < 2; k++)
        if (is_bytes(p, m->arg[k], byte)) return m->arg[1 - k];
    return -1;
}

// x of x >> bits; -1: it is something else.
static int shifted(const Pattern *p, int val, int bits) {
    const Micro *m = val < 0 ? NULL : def_of(p, val, MOP_SHR, 1);
    return m && m->value.i == bits ? m->arg[0] : -1;
}

// x of (x & mask) + ((x >> bits) & mask).
static int neighbours(const Pattern *p, int val, uint64_t mask, int bits) {
    const Micro *m = def_of(p, val, OP_ADD, 2);
    for (int k = 0; m && k < 2; k++) {
        int low = beside(p, m->arg[k], OP_BITAND, mask);
        if (low >= 0 && shifted(p, beside(p, m->arg[1 - k], OP_BITAND, mask), bits) == low)
            return low;
    }
    return -1;
}

// x of pairs of bits that hold their sums.
static int of_pairs(const Pattern *p, int val) {
    const Micro *m = def_of(p, val, OP_SUB, 2);
    if (m && shifted(p, beside(p, m->arg[1], OP_BITAND, 0x55), 1) == m->arg[0]) return m->arg[0];
    return neighbours(p, val, 0x55, 1);
}

// b of bytes that hold the sums of their halves, each at most 4.
static int of_bytes(const Pattern *p, int val) {
    int sum = beside(p, val, OP_BITAND, 0x0f);
    const Micro *m = sum < 0 ? NULL : def_of(p, sum, OP_ADD, 2);
    for (int k = 0; m && k < 2; k++)
        if (shifted(p, m->arg[1 - k], 4) == m->arg[k]) return m->arg[k];
    return neighbours(p, val, 0x0f, 4);
}

int idiom_shift(Seg *s, const Machine *machine, Type type, int width, int val, int bits) {
    Pattern p = {s, type};
    if (!machine->has_popcount || (type != TYPE_U32 && type != TYPE_U64) || width == 1) return -1;
    if (bits != type_info[type].bits - 8) return -1;
    int sums = beside(&p, val, OP_MUL, 0x01);
    int nibbles = sums < 0 ? -1 : of_bytes(&p, sums);
    int pairs = nibbles < 0 ? -1 : neighbours(&p, nibbles, 0x33, 2);
    int x = pairs < 0 ? -1 : of_pairs(&p, pairs);
    return x < 0 ? -1 : seg_op(s, MI_OP, MOP_POPCOUNT, type, type, width, 1, &x);
}
