// Index arithmetic on the accumulator machine of isa.h. A holds the result, B a second operand.
#include "code/gen/gen.h"

#include "base/bug.h"
#include <stdlib.h>

#include "base/checked.h"

// The slot that holds this sum of counters, divided by *times; 0: there is none.
static int slot_of_sum(Gen *g, const Lin *l, int64_t *times) {
    const Lin *sum = gen_counters_of(g, l), *unit = gen_unit_of(g, l, times);
    for (int i = 0; i < g->here.known.n; i++) {
        const Known *k = &g->here.known.at[i];
        if (!k->slot || (k->sum != sum && k->sum != unit)) continue;
        if (k->sum == sum) *times = 1;
        return k->slot;
    }
    return 0;
}

// A <- A + Σ k·counter over the machine loops of a linear function.
static void add_counters(Gen *g, const Lin *l) {
    int64_t times;
    int slot = slot_of_sum(g, l, &times);
    if (slot) {
        gen_move(g, GEN_B, gen_at_slot(slot));
        if (times != 1) gen_op(g, GEN_MUL, GEN_B, gen_const(times));
        gen_op(g, GEN_ADD, GEN_A, GEN_B);
        return;
    }
    for (int i = 0; i < l->n; i++) {
        if (!g->p->loop[l->t[i].loop]->form.real) continue;
        gen_move(g, GEN_B, gen_at(gen_counter(g, l->t[i].loop)));
        gen_op(g, GEN_MUL, GEN_B, gen_const(l->t[i].k));
        gen_op(g, GEN_ADD, GEN_A, GEN_B);
    }
}

void gen_lin(Gen *g, const Lin *l) {
    int64_t c = l->c;
    for (int i = 0; i < l->n; i++) c += l->t[i].k * g->here.value[l->t[i].loop];
    gen_move(g, GEN_A, gen_const(c));
    add_counters(g, l);
}

void gen_counters(Gen *g, const Lin *l) {
    gen_move(g, GEN_A, gen_const(l->c));
    add_counters(g, l);
}

bool gen_lin_known(const Gen *g, const Lin *l, int64_t *value) {
    *value = l->c;
    for (int i = 0; i < l->n; i++) {
        const PNode *loop = g->p->loop[l->t[i].loop];
        if (loop->form.real) return false;
        *value += l->t[i].k * g->here.value[l->t[i].loop];
    }
    return true;
}

// Is a sum another one times up/down? Then these are set, down > 0.
static bool is_multiple(const LinTerm *a, const LinTerm *of, int n, int64_t *up, int64_t *down) {
    int64_t common = gcd_i64(a[0].k, of[0].k);
    if (!common || !of[0].k) return false;
    if (of[0].k < 0) common = -common;
    *up = a[0].k / common, *down = of[0].k / common;
    if (llabs(*up) > INT32_MAX || *down > INT32_MAX) return false;
    for (int i = 0; i < n; i++)
        if (a[i].loop != of[i].loop || a[i].k * *down != of[i].k * *up) return false;
    return true;
}

// Not "anything".
static bool is_number(int64_t limit) { return limit != INT64_MIN && limit != INT64_MAX; }

// Narrows a sum of machine loops to what tests and the bounds of loops around have shown about it,
// or about a multiple of it.
static void narrow(const Gen *g, const LinTerm *t, int n, int64_t *min, int64_t *max) {
    for (int i = 0; i < g->here.known.n && n; i++) {
        const Known *k = &g->here.known.at[i];
        int64_t up, down, end;
        if (k->sum->n != n || !is_multiple(t, k->sum->t, n, &up, &down)) continue;
        int64_t lo = up < 0 ? k->max : k->min, hi = up < 0 ? k->min : k->max;
        if (is_number(lo) && checked_mul(lo, up, &end)) *min = max_i64(*min, ceil_div(end, down));
        if (is_number(hi) && checked_mul(hi, up, &end)) *max = min_i64(*max, floor_div(end, down));
    }
}

// Smallest and largest value, given the known facts about the loops here.
void gen_lin_limits(const Gen *g, const Lin *l, int64_t *min, int64_t *max) {
    LinTerm real[TREE_MAX_DEPTH * 2];
    int64_t least = 0, most = 0, c = l->c;
    int n = 0;
    for (int i = 0; i < l->n; i++) {
        const PNode *loop = g->p->loop[l->t[i].loop];
        int64_t k = l->t[i].k, first = 0, last = loop->extent - 1;
        c += k * g->here.value[l->t[i].loop];
        if (!loop->form.real) continue;
        narrow(g, &(LinTerm){.loop = l->t[i].loop, .k = 1}, 1, &first, &last);
        least += k * (k < 0 ? last : first);
        most += k * (k < 0 ? first : last);
        real[n++] = l->t[i];
    }
    narrow(g, real, n, &least, &most);
    *min = c + least;
    *max = c + most;
}

// ---- Non-linear index arithmetic

static void gen_atom(Gen *g, const Atom *atom, const int64_t *env);

// Operations on indices from data end the kernel where they overflow.
static void op_of(Gen *g, const Affine *a, GenOp op, GenArg by) {
    g->isa->op(g, op, GEN_A, by, a->has_read);
}

// Does the iterator count a machine loop? Elsewhere its value is known.
static bool is_counted(const Gen *g, const Atom *atom) {
    return atom->kind == ATOM_ITER && g->p->loop[g->p->loop_of_id[atom->index]]->form.real;
}

// The facts about an affine: its constant, iterators of loops that are copied, and what copies add
// to the counters of the others.
static int64_t known_part(const Gen *g, const Affine *a, const int64_t *env) {
    uint64_t c = (uint64_t)a->constant;
    for (int i = 0; i < a->n; i++)
        if (a->term[i].atom->kind == ATOM_ITER)
            c +=
                (uint64_t)a->term[i].coef * (uint64_t)env[g->p->loop_of_id[a->term[i].atom->index]];
    return (int64_t)c;
}

// A <- A + Σ k·counter + constant; `first`: A holds nothing yet. The sums of counters do not
// overflow (affine_reach); adding the constant to an index from data may.
static void add_iterators(Gen *g, const Affine *a, const int64_t *env, bool first) {
    bool empty = first;
    for (int i = 0; i < a->n; i++) {
        if (!is_counted(g, a->term[i].atom)) continue;
        GenArg to = first ? GEN_A : GEN_B;
        gen_move(g, to, gen_at(gen_counter(g, g->p->loop_of_id[a->term[i].atom->index])));
        gen_op(g, GEN_MUL, to, gen_const(a->term[i].coef));
        if (!first) gen_op(g, GEN_ADD, GEN_A, GEN_B);
        first = false;
    }
    GenArg known = gen_const(known_part(g, a, env));
    if (first)
        gen_move(g, GEN_A, known);
    else if (empty)
        gen_op(g, GEN_ADD, GEN_A, known);
    else
        op_of(g, a, GEN_ADD, known);
}

// In the order of affine_eval, with its overflows: atoms one after the other, then iterators and
// constant as one number.
void gen_affine(Gen *g, const Affine *a, const int64_t *env) {
    bool first = true; // A holds nothing yet
    for (int i = 0; i < a->n; i++) {
        if (a->term[i].atom->kind == ATOM_ITER) continue;
        if (!first) g->isa->push(g);
        gen_atom(g, a->term[i].atom, env);
        if (a->term[i].coef != 1) op_of(g, a, GEN_MUL, gen_const(a->term[i].coef));
        if (!first) {
            g->isa->pop(g);
            op_of(g, a, GEN_ADD, GEN_B);
        }
        first = false;
    }
    bool apart = a->has_read && !first && a->term[0].atom->kind == ATOM_ITER;
    if (apart) g->isa->push(g);
    add_iterators(g, a, env, first || apart);
    if (!apart) return;
    g->isa->pop(g);
    op_of(g, a, GEN_ADD, GEN_B);
}

static void scale(Gen *g, int64_t k) {
    if (k > 1 && (k & (k - 1)) == 0)
        gen_op(g, GEN_SHL, GEN_A, gen_const(__builtin_ctzll((uint64_t)k)));
    else
        gen_op(g, GEN_MUL, GEN_A, gen_const(k));
}

// A <- offset of an access in its buffer, of dimensions in `dims`, in units of 1 << shift bytes;
// indices that can be wrong are checked.
static void gen_offset(Gen *g, const Access *access, const int64_t *env, uint64_t dims, int shift,
                       bool check) {
    const Buffer *b = &g->p->tree->buffers.at[access->tensor];
    bool first = true;
    for (int d = 0; d < access->rank; d++) {
        if (!(dims >> d & 1)) continue;
        if (!first) g->isa->push(g);
        gen_affine(g, access->sub[d], env);
        if (check) g->isa->check_below(g, b->size[d]);
        scale(g, b->stride[d] * type_info[b->type].bytes >> shift);
        if (!first) {
            g->isa->pop(g);
            gen_op(g, GEN_ADD, GEN_A, GEN_B);
        }
        first = false;
    }
    if (first) gen_op(g, GEN_CLEAR, GEN_A, GEN_NONE);
}

static Item buffer_base(Gen *g, int buffer) {
    int s = code_stream(g->p, buffer, NULL, 0, 0);
    return g->stack.stream[s];
}

// A <- what an index is read from: by the pointer that follows the loops where the place is a
// linear function of them that cannot be wrong.
static void read_index(Gen *g, const Access *access, const int64_t *env) {
    Type type = g->p->tree->buffers.at[access->tensor].type;
    const Mem *m = g->here.indexing ? leaf_mem(g->here.indexing, access) : NULL;
    int64_t disp = m && m->off ? m->off->c : 0;
    for (int i = 0; m && m->off && i < m->off->n; i++)
        disp += m->off->t[i].k * env[m->off->t[i].loop];
    if (m && m->off && m->safe && disp == (int32_t)disp) {
        g->isa->load(g, type, g->stack.stream[m->stream], disp, false);
        return;
    }
    gen_offset(g, access, env, UINT64_MAX, 0, true);
    g->isa->load(g, type, buffer_base(g, access->tensor), 0, true);
}

static void gen_atom(Gen *g, const Atom *atom, const int64_t *env) {
    switch (atom->kind) {
    case ATOM_ITER: bug("gen_affine does these");
    case ATOM_DIV:
    case ATOM_MOD:
        if (!affine_is_const(atom->b)) g->result.declined = "division of indices by a variable";
        gen_affine(g, atom->a, env);
        g->isa->divide(g, atom->b->constant, atom->kind == ATOM_MOD);
        break;
    case ATOM_MIN:
    case ATOM_MAX:
    case ATOM_PROD:
        gen_affine(g, atom->a, env);
        g->isa->push(g);
        gen_affine(g, atom->b, env);
        g->isa->pop(g);
        if (atom->kind == ATOM_PROD)
            g->isa->op(g, GEN_MUL, GEN_A, GEN_B, atom->has_read);
        else
            g->isa->choose(g, atom->kind == ATOM_MAX, GEN_B, GEN_A);
        break;
    case ATOM_READ: read_index(g, atom->read, env); break;
    case ATOM_PARAM: g->result.declined = "a parameter that was not bound"; break;
    }
}

void gen_index(Gen *g, const IndexOf *index) {
    if (index->counters)
        gen_counters(g, index->counters);
    else if (index->affine)
        gen_affine(g, index->affine, index->env);
    else
        gen_op(g, GEN_CLEAR, GEN_A, GEN_NONE);
}

// A single subscript is kept as it is if addressing modes scale it.
int gen_row_shift(const Gen *g, const Ref *r) {
    const Buffer *b = &g->p->tree->buffers.at[r->mem->buffer];
    uint64_t dims = r->mem->computed;
    if (!dims || (dims & (dims - 1)) || r->row < 0) return 0;
    int64_t bytes = b->stride[__builtin_ctzll(dims)] * type_info[b->type].bytes;
    return bytes == 2 || bytes == 4 || bytes == 8 ? __builtin_ctzll((uint64_t)bytes) : 0;
}

void gen_row_offset(Gen *g, const Ref *r) {
    g->here.indexing = r->mem->leaf;
    gen_offset(g, r->mem->access, r->env, r->mem->computed, gen_row_shift(g, r),
               !r->mem->unchecked);
    g->here.indexing = NULL;
}
