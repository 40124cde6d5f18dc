// Addresses in swizzled buffers.
//
// The swizzle S is linear over bits: where `rest` and the constant of an address have no bit in
// common, rest + c is rest ^ c, so its place is S(rest) ^ S(c). S(rest) is computed once where rest
// is. Of S(c), the bits that S(rest) never has are an offset of the instruction; the others are
// xored, and one register serves all elements that agree in them: at most eight for each `rest`.
#include "code/ptx/ptx_impl.h"

#include "base/checked.h"

static uint32_t up_to_bit(int64_t n) { // all bits of the numbers 0 ... n
    return n <= 0 ? 0 : UINT32_MAX >> __builtin_clz((uint32_t)n);
}

// Bits that may be one; terms whose bits overlap carry into all higher ones.
static uint32_t bits_of_affine(const KernelWriter *w, const Affine *a) {
    uint32_t may = 0, carried = 0;
    int64_t lo, hi, most = 0;
    for (int i = 0; i < a->n; i++) {
        const Affine *term = affine_make(w->x, 0, &a->term[i], 1);
        if (!affine_bounds(term, w->g->lo, w->g->hi, &lo, &hi) || lo < 0 || hi > INT32_MAX / 2)
            return UINT32_MAX;
        uint32_t step = (uint32_t)(a->term[i].coef & -a->term[i].coef);
        uint32_t bits = up_to_bit(hi) & ~(step - 1);
        carried |= may & bits;
        may |= bits;
        most += hi;
    }
    if (most > INT32_MAX) return UINT32_MAX;
    return carried ? may | (up_to_bit(most) & ~((carried & -carried) - 1)) : may;
}

Opnd swizzle_register(KernelWriter *w, Swizzle z, Opnd offset) {
    if (!z.bits) return offset;
    uint32_t chunks = swizzle_key(z) >> (z.from - 4);
    Opnd key = NEW(w, REG_32, "shr.u32", offset, lit(REG_32, (uint64_t)(z.from - 4)));
    return NEW(w, REG_32, "xor.b32", offset, NEW(w, REG_32, "and.b32", key, lit(REG_32, chunks)));
}

static Opnd swizzled(KernelWriter *w, Swizzle z, const Affine *rest) {
    Opnd v = affine_value(w, rest, false);
    if (v.class == REG_64) v = NEW(w, REG_32, "cvt.u32.u64", v);
    return swizzle_register(w, z, v);
}

// base + S(rest), xored with bits of chunks, which the aligned base does not have.
static Opnd xored(KernelWriter *w, Swizzle z, int buffer, Opnd base, const Affine *rest,
                  uint32_t bits) {
    int id = w->g->nids + 1 + buffer + (bits ? w->t->buffers.n : 0); // means the base, and a sum
    const Affine *key = affine_add(w->x, rest, affine_iter(w->x, id));
    key = affine_add_const(w->x, key, bits);
    KnownAffine *k = known_find(w, key, false, false);
    if (k) return k->value;
    int depth = affine_depth(w, rest);
    PtxText *out = w->out;
    Opnd from = bits ? xored(w, z, buffer, base, rest, 0) : base;
    w->out = &w->scope.at[depth]->head;
    Opnd v = bits ? NEW(w, REG_32, "xor.b32", from, lit(REG_32, bits))
                  : NEW(w, REG_32, "add.s32", from, swizzled(w, z, rest));
    w->out = out;
    k = known_find(w, key, false, true);
    k->depth = depth;
    k->value = v;
    return v;
}

Opnd swizzle_address(KernelWriter *w, int buffer, Opnd base, const Affine *rest, int64_t constant,
                     int64_t *disp) {
    Swizzle z = w->k->buffer[buffer].swizzle;
    BitMatrix m = swizzle_matrix(z);
    uint32_t may = bits_of_affine(w, rest);
    uint32_t low = (uint32_t)floor_mod(constant, swizzle_unit(z)); // the rest stays as it is
    *disp = constant - low;
    w->swizzles = true;
    if (may & low) { // a carry: the sum is swizzled
        rest = affine_add_const(w->x, rest, low);
        low = 0;
    }
    uint32_t image = bits_apply(&m, low), common = image & bits_reach(&m, may);
    *disp += image & ~common;
    return affine_is(rest, 0) ? base : xored(w, z, buffer, base, rest, common);
}
