// Index arithmetic. An affine expression of loop and hardware indices is computed in the scope of
// its innermost index, once per iteration of that loop, even if its uses are deeper; equal
// expressions share a register. Indices from data are computed at their use.
#include "code/ptx/ptx_impl.h"

#include "base/bug.h"
#include "base/checked.h"
#include "base/kernel_abi.h"

// --- Scopes ------------------------------------------------------------------------------------

void scope_open(KernelWriter *w) {
    Scope *s = arena_new(w->arena, Scope);
    vec_push(w->arena, &w->scope, s);
    w->out = &s->body;
}

void known_drop(KernelWriter *w, int depth) {
    int n = 0;
    for (int i = 0; i < w->known.n; i++)
        if (w->known.at[i].depth < depth) w->known.at[n++] = w->known.at[i];
    w->known.n = n;
    for (int i = 0; i < w->known_cap; i++) w->known_table[i] = 0;
    for (int i = 0; i < n; i++) {
        uint64_t h = hash_mix((uint64_t)(uintptr_t)w->known.at[i].a, w->known.at[i].wide);
        int mask = w->known_cap - 1, at = (int)(h & (uint64_t)mask);
        while (w->known_table[at]) at = (at + 1) & mask;
        w->known_table[at] = i + 1;
    }
}

void scope_close(KernelWriter *w) {
    Scope *s = vec_pop(&w->scope);
    Scope *up = vec_last(&w->scope);
    w->out = &up->body;
    ptx_text_join(w->out, &s->head);
    ptx_text_join(w->out, &s->body);
    known_drop(w, w->scope.n);
}

KnownAffine *known_find(KernelWriter *w, const Affine *a, bool wide, bool add) {
    if (2 * (w->known.n + 1) > w->known_cap) {
        w->known_cap = w->known_cap ? 2 * w->known_cap : 256;
        w->known_table = arena_new_n(w->arena, int, w->known_cap);
        known_drop(w, INT32_MAX);
    }
    uint64_t h = hash_mix((uint64_t)(uintptr_t)a, wide);
    int mask = w->known_cap - 1, at = (int)(h & (uint64_t)mask);
    for (; w->known_table[at]; at = (at + 1) & mask) {
        KnownAffine *k = &w->known.at[w->known_table[at] - 1];
        if (k->a == a && k->wide == wide) return k;
    }
    if (!add) return NULL;
    vec_push(w->arena, &w->known, ((KnownAffine){.a = a, .wide = wide}));
    w->known_table[at] = w->known.n;
    return &vec_last(&w->known);
}

// --- Unrolled loops ------------------------------------------------------------------------------

// Instances of unrolled loops have few different values of a guard or subscript: a table keeps the
// last ones.
const Affine *affine_fixed(KernelWriter *w, const Affine *a) {
    enum { SLOTS = 1024 };
    Term rest[AFFINE_MAX_TERMS];
    int n = 0;
    int64_t sum = 0;
    if (!a->linear) return affine_substitute(w->x, a, w->fixed, NULL);
    for (int i = 0; i < a->n; i++) {
        int id = a->term[i].atom->index;
        if (w->unrolled[id] && w->fixed[id])
            sum += a->term[i].coef * w->env[id];
        else
            rest[n++] = a->term[i];
    }
    if (n == a->n) return a;
    if (!w->fixed_table) w->fixed_table = arena_new_n(w->arena, FixedAffine, SLOTS);
    FixedAffine *f = &w->fixed_table[hash_mix((uint64_t)(uintptr_t)a, (uint64_t)sum) & (SLOTS - 1)];
    if (f->a != a || f->sum != sum)
        *f = (FixedAffine){a, affine_make(w->x, a->constant + sum, rest, n), sum};
    return f->value;
}

// --- Atoms -------------------------------------------------------------------------------------

static void look(const KernelWriter *w, const Affine *a, int *depth, bool *unrolled) {
    for (int i = 0; i < a->n; i++) {
        const Atom *t = a->term[i].atom;
        if (t->kind == ATOM_ITER) {
            if (w->unrolled[t->index])
                *unrolled = true;
            else if (w->depth[t->index] > *depth)
                *depth = w->depth[t->index];
        }
        if (t->kind == ATOM_READ)
            for (int d = 0; d < t->read->rank; d++) look(w, t->read->sub[d], depth, unrolled);
        if (t->a) look(w, t->a, depth, unrolled);
        if (t->b) look(w, t->b, depth, unrolled);
    }
}

// Widens the ranges of block indices to the whole grid. Code for full blocks narrows them, but the
// values that are computed at the start of the kernel serve all blocks.
static void grid_ranges(const KernelWriter *w, int64_t *old) {
    for (int a = 0; a < 3; a++) {
        int64_t *hi = &w->g->hi[w->g->hw + a];
        old[a] = *hi;
        *hi = w->k->size[a] - 1;
    }
}
static void grid_ranges_back(const KernelWriter *w, const int64_t *old) {
    for (int a = 0; a < 3; a++) w->g->hi[w->g->hw + a] = old[a];
}

bool fits_32(const KernelWriter *w, const Affine *a) {
    int64_t old[3];
    if (a->has_read) return false;
    grid_ranges(w, old);
    bool fits = affine_reach(a, w->g->lo, w->g->hi) <= INT32_MAX;
    grid_ranges_back(w, old);
    return fits;
}

static bool is_natural(const KernelWriter *w, const Affine *a) {
    int64_t old[3], lo, hi;
    grid_ranges(w, old);
    bool natural = affine_bounds(a, w->g->lo, w->g->hi, &lo, &hi) && lo >= 0;
    grid_ranges_back(w, old);
    return natural;
}

static Opnd widened(KernelWriter *w, Opnd o) {
    if (o.class == REG_64) return o;
    if (o.literal) return lit(REG_64, (uint64_t)(int64_t)(int32_t)o.bits);
    return NEW(w, REG_64, "cvt.s64.s32", o);
}

static Opnd value_as(KernelWriter *w, const Affine *a, bool wide) {
    Opnd o = affine_value(w, a, wide);
    return wide ? widened(w, o) : o;
}

static const char *sized(bool wide, const char *narrow, const char *w64) {
    return wide ? w64 : narrow;
}

// Floor division. A divisor that may be 0 or negative needs corrections.
static Opnd quotient(KernelWriter *w, const Atom *t, bool wide) {
    bool div = t->kind == ATOM_DIV;
    RegClass c = wide ? REG_64 : REG_32;
    Opnd a = value_as(w, t->a, wide), b = value_as(w, t->b, wide);
    int64_t k = t->b->n ? 0 : t->b->constant;
    bool natural = is_natural(w, t->a);
    if (k > 0 && (k & (k - 1)) == 0) {
        if (!div) return NEW(w, c, sized(wide, "and.b32", "and.b64"), a, lit(c, (uint64_t)k - 1));
        return NEW(w, c, sized(wide, "shr.s32", "shr.s64"), a,
                   lit(REG_32, (uint64_t)__builtin_ctzll((uint64_t)k)));
    }
    if (natural && k > 0)
        return div ? NEW(w, c, sized(wide, "div.u32", "div.u64"), a, b)
                   : NEW(w, c, sized(wide, "rem.u32", "rem.u64"), a, b);
    return operation(w, div ? OP_DIV : OP_MOD, wide ? TYPE_I64 : TYPE_I32, (Opnd[]){a, b});
}

static Opnd product_checked(KernelWriter *w, Opnd a, Opnd b, Opnd *bad);

static Opnd atom_value(KernelWriter *w, const Atom *t, bool wide) {
    RegClass c = wide ? REG_64 : REG_32;
    switch (t->kind) {
    case ATOM_ITER: return wide ? widened(w, w->index[t->index]) : w->index[t->index];
    case ATOM_DIV:
    case ATOM_MOD: return quotient(w, t, wide);
    case ATOM_MIN:
        return NEW(w, c, sized(wide, "min.s32", "min.s64"), value_as(w, t->a, wide),
                   value_as(w, t->b, wide));
    case ATOM_MAX:
        return NEW(w, c, sized(wide, "max.s32", "max.s64"), value_as(w, t->a, wide),
                   value_as(w, t->b, wide));
    case ATOM_PROD: {
        Opnd a = value_as(w, t->a, wide), b = value_as(w, t->b, wide), bad;
        if (!t->has_read || !w->leaf || w->leaf->unchecked)
            return NEW(w, c, sized(wide, "mul.lo.s32", "mul.lo.s64"), a, b);
        Opnd p = product_checked(w, a, b, &bad);
        check_fail(w, bad);
        return NEW(w, REG_64, "selp.b64", lit(REG_64, 0), p, bad);
    }
    case ATOM_READ: return index_read(w, t->read);
    case ATOM_PARAM: break;
    }
    bug("a parameter in a Tree");
}

// --- Sums of elements, with overflow checks
// -------------------------------------------------------

void check_fail(KernelWriter *w, Opnd bad) {
    int code = KERNEL_BAD_INDEX + (w->leaf && w->leaf->stmt > 0 ? w->leaf->stmt : 0);
    w->checks = true;
    if (w->status.reg < 0) {
        PtxText *out = w->out;
        w->out = &w->scope.at[0]->head;
        w->status = reg_new(w, REG_64);
        line(w, "ld.param.u64 %%d%d, [status];", w->status.reg);
        line(w, "cvta.to.global.u64 %%d%d, %%d%d;", w->status.reg, w->status.reg);
        w->out = out;
    }
    line(w, "@%%p%d red.global.max.u32 [%%d%d], %d;", bad.reg, w->status.reg, code);
}

static Opnd product_checked(KernelWriter *w, Opnd a, Opnd b, Opnd *bad) {
    Opnd p = NEW(w, REG_64, "mul.lo.s64", a, b), high = NEW(w, REG_64, "mul.hi.s64", a, b);
    Opnd sign = NEW(w, REG_64, "shr.s64", p, lit(REG_32, 63));
    *bad = NEW(w, REG_PRED, "setp.ne.s64", high, sign);
    return p;
}

// sum + k·v; after overflow it reports the statement and continues with 0.
static Opnd sum_checked(KernelWriter *w, Opnd sum, int64_t k, Opnd v) {
    Opnd bad, p = product_checked(w, widened(w, v), lit(REG_64, (uint64_t)k), &bad);
    Opnd r = NEW(w, REG_64, "add.s64", sum, p);
    Opnd x = NEW(w, REG_64, "xor.b64", sum, r), y = NEW(w, REG_64, "xor.b64", p, r);
    Opnd over = NEW(w, REG_PRED, "setp.lt.s64", NEW(w, REG_64, "and.b64", x, y), lit(REG_64, 0));
    Opnd any = NEW(w, REG_PRED, "or.pred", bad, over);
    check_fail(w, any);
    return NEW(w, REG_64, "selp.b64", lit(REG_64, 0), r, any);
}

// Adds in the order of affine_eval: first all atoms except indices, then the indices and the
// constant as one number.
static Opnd sum_of_reads(KernelWriter *w, const Affine *a) {
    Term iter[AFFINE_MAX_TERMS];
    int n = 0;
    bool checked = w->leaf && !w->leaf->unchecked;
    Opnd sum = lit(REG_64, 0);
    for (int i = 0; i < a->n; i++) {
        const Term *t = &a->term[i];
        if (t->atom->kind == ATOM_ITER) {
            iter[n++] = *t;
            continue;
        }
        Opnd v = widened(w, atom_value(w, t->atom, true));
        if (sum.literal && t->coef == 1) { // the first, as it is
            sum = v;
            continue;
        }
        if (sum.literal) sum = moved(w, sum);
        sum = checked ? sum_checked(w, sum, t->coef, v)
                      : NEW(w, REG_64, "mad.lo.s64", v, lit(REG_64, (uint64_t)t->coef), sum);
    }
    const Affine *known = affine_make(w->x, a->constant, iter, n);
    if (affine_is(known, 0)) return sum;
    Opnd v = value_as(w, known, true);
    return checked ? sum_checked(w, sum, 1, v) : NEW(w, REG_64, "add.s64", sum, v);
}

// --- Affines -----------------------------------------------------------------------------------

static Opnd add_term(KernelWriter *w, Opnd sum, bool any, const Term *t, bool wide) {
    RegClass c = wide ? REG_64 : REG_32;
    Opnd v = atom_value(w, t->atom, wide), k = lit(c, (uint64_t)t->coef);
    if (wide) v = widened(w, v);
    if (!any) {
        if (t->coef == 1) return v;
        return NEW(w, c, sized(wide, "mul.lo.s32", "mul.lo.s64"), v, k);
    }
    if (t->coef == 1) return NEW(w, c, sized(wide, "add.s32", "add.s64"), v, sum);
    return NEW(w, c, sized(wide, "mad.lo.s32", "mad.lo.s64"), v, k, sum);
}

static int term_depth(const KernelWriter *w, const Term *t) {
    int depth = 0;
    bool unrolled = false;
    if (t->atom->kind == ATOM_ITER) return w->depth[t->atom->index];
    if (t->atom->a) look(w, t->atom->a, &depth, &unrolled);
    if (t->atom->b) look(w, t->atom->b, &depth, &unrolled);
    return depth;
}

// Adds the terms of outer scopes first, because their sum is computed there.
static Opnd sum_of_terms(KernelWriter *w, const Affine *a, int depth, bool wide) {
    Term outer[AFFINE_MAX_TERMS], inner[AFFINE_MAX_TERMS];
    int no = 0, ni = 0;
    for (int i = 0; i < a->n; i++) {
        if (term_depth(w, &a->term[i]) < depth)
            outer[no++] = a->term[i];
        else
            inner[ni++] = a->term[i];
    }
    Opnd sum = lit(wide ? REG_64 : REG_32, (uint64_t)a->constant);
    bool any = a->constant != 0;
    if (no) {
        sum = value_as(w, affine_make(w->x, a->constant, outer, no), wide);
        any = true;
    }
    for (int i = 0; i < ni; i++) {
        sum = add_term(w, sum, any, &inner[i], wide);
        any = true;
    }
    return sum;
}

Opnd affine_value(KernelWriter *w, const Affine *a, bool wide) {
    int depth = 0;
    bool unrolled = false;
    look(w, a, &depth, &unrolled);
    if (unrolled) {
        a = affine_fixed(w, a);
        depth = 0;
        look(w, a, &depth, &unrolled);
    }
    if (a->has_read) return sum_of_reads(w, a);
    wide = wide || !fits_32(w, a);
    if (affine_is_const(a)) return lit(wide ? REG_64 : REG_32, (uint64_t)a->constant);
    KnownAffine *k = known_find(w, a, wide, false);
    if (k) return k->value;
    PtxText *out = w->out;
    w->out = &w->scope.at[depth]->head;
    Opnd narrow = {0};
    bool from = wide && fits_32(w, a);
    if (from) narrow = affine_value(w, a, false);
    Opnd v = from ? widened(w, narrow) : sum_of_terms(w, a, depth, wide);
    w->out = out;
    k = known_find(w, a, wide, true);
    k->depth = depth;
    k->value = v;
    return v;
}

int affine_depth(const KernelWriter *w, const Affine *a) {
    int depth = 0;
    bool unrolled = false;
    look(w, a, &depth, &unrolled);
    return depth;
}

Opnd affine_plus(KernelWriter *w, const Affine *key, Opnd base, const Affine *rest) {
    bool wide = base.class == REG_64;
    KnownAffine *k = known_find(w, key, wide, false);
    if (k) return k->value;
    int depth = affine_depth(w, rest);
    PtxText *out = w->out;
    Opnd r = affine_value(w, rest, false);
    w->out = &w->scope.at[depth]->head;
    if (wide) r = widened(w, r);
    if (!wide && r.class == REG_64) r = NEW(w, REG_32, "cvt.u32.u64", r);
    Opnd v = wide ? NEW(w, REG_64, "add.s64", base, r) : NEW(w, REG_32, "add.s32", base, r);
    w->out = out;
    k = known_find(w, key, wide, true);
    k->depth = depth;
    k->value = v;
    return v;
}

// --- Guards ------------------------------------------------------------------------------------

static bool is_assumed(const KernelWriter *w, const Affine *a) {
    for (int i = 0; i < w->assumed.n; i++)
        if (w->assumed.at[i] == a) return true;
    return false;
}

// Decides a guard by ranges and assumptions, without printing code.
Answer guard_known(KernelWriter *w, const Affine *a) {
    int64_t lo, hi;
    if (is_assumed(w, a)) return ANSWER_YES;
    a = affine_fixed(w, a);
    if (!affine_bounds(a, w->g->lo, w->g->hi, &lo, &hi)) return ANSWER_ASK;
    return lo >= 0 ? ANSWER_YES : hi < 0 ? ANSWER_NO : ANSWER_ASK;
}

static Answer guard_value(KernelWriter *w, const Affine *a, Opnd *pred) {
    for (int i = 0; i < w->asked.n; i++)
        if (w->asked.at[i].guard == a) {
            *pred = w->asked.at[i].pred;
            return ANSWER_ASK;
        }
    Answer known = guard_known(w, a);
    if (known != ANSWER_ASK) return known;
    Opnd v = affine_value(w, a, false);
    *pred = NEW(w, REG_PRED, v.class == REG_64 ? "setp.ge.s64" : "setp.ge.s32", v,
                lit((RegClass)v.class, 0));
    if (w->asks_once) vec_push(w->arena, &w->asked, ((AskedGuard){a, *pred}));
    return ANSWER_ASK;
}

Answer guards_value(KernelWriter *w, const GpuNode *n, Opnd *pred) {
    Answer all = ANSWER_YES;
    for (int i = 0; i < n->guard.n; i++) {
        Opnd p;
        if (guard_is_idle(w, n, n->guard.at[i])) continue;
        Answer a = guard_value(w, n->guard.at[i], &p);
        if (a == ANSWER_NO) return ANSWER_NO;
        if (a == ANSWER_YES) continue;
        *pred = all == ANSWER_ASK ? NEW(w, REG_PRED, "and.pred", *pred, p) : p;
        all = ANSWER_ASK;
    }
    return all;
}
