// Names that loop.c, region.c and tail.c still use for emitters; see gen/isa.h.
#ifndef LW_CODE_X86_GEN_H
#define LW_CODE_X86_GEN_H

#include "code/x86/impl.h"

static inline void x86_micro(void *gen, const Micro *m) { gen_emit(gen, m); }
static inline void gen_item_set(Gen *g, Item it, int64_t v) {
    gen_move(g, gen_at(it), gen_const(v));
}
static inline void gen_item_add(Gen *g, Item it, int64_t v) {
    gen_op(g, GEN_ADD, gen_at(it), gen_const(v));
}
static inline void gen_push(Gen *g) { x86_push(g); }
static inline void gen_pop(Gen *g, unsigned rcx) {
    (void)rcx;
    x86_pop(g);
}
static inline void gen_divide(Gen *g, int64_t k, bool mod) { x86_divide(g, k, mod); }
void gen_shift(Gen *g, int loop, X86Op way);
void gen_reduce(Gen *g, Type t, int op, int width, int dst, int x, int y);

#endif
