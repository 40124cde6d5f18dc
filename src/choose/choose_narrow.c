// Reductions of narrow types: operands that are read often are converted once, in a copy, instead
// of at every read.
//
//     C += f32(A)·f32(B)     A, B of f16     copy A as f32, copy B as f32
//     C += i32(A)·i32(B)     A, B of i8      copy A as i16, copy B as i16, in pairs along k
//                            u8 by i8        copy B, in fours along k
//
// One instruction adds two or four products of integers to a lane of i32 (code/plan/dots.c). Their
// factors are words of 4 bytes, along a reduction that is a subscript of both operands. The operand
// in lanes is packed so that the words of neighbouring lanes are contiguous, the other one so that
// its words are. The rest of the choice sees a product of words, with a shorter reduction.
#include "choose/choose_tile.h"

#include <stdlib.h>

// --- Types ---------------------------------------------------------------------------------------

static bool is_taken(const Program *p, Name label) {
    for (int i = 0; i < p->stmts.n; i++)
        if (p->stmts.at[i].label == label) return true;
    return program_find_tensor(p, label) >= 0;
}

static Name copy_label(const Chooser *c, const ChooseStmt *n, int r) {
    Name tensor = c->p->tensors.at[n->ref[r].access->tensor].name;
    return name_of(c->p->names, arena_printf(c->arena, "%s.%s", n->s->label, tensor));
}

// Is it an argument that can be copied, and is it read often enough?
static bool is_worth_it(const Chooser *c, const ChooseStmt *n, int r) {
    const ChooseRef *x = &n->ref[r];
    const Tensor *t = &c->p->tensors.at[x->access->tensor];
    double elements = (double)tensor_elements(t);
    return t->role == ROLE_INPUT && !x->access->has_read &&
           n->instances >= c->cost->convert_reads * elements &&
           elements * LIMIT_WORD <= c->cost->convert_bytes && !is_taken(c->p, copy_label(c, n, r));
}

static Type type_of(const Chooser *c, const ChooseStmt *n, int r) {
    return c->p->tensors.at[n->ref[r].access->tensor].type;
}

// The operand is read from a copy, with words of `bytes` that hold `elements` each.
static void read_copy(ChooseRef *x, Type as, int bytes, int elements) {
    x->as = as;
    x->size = x->size / x->bytes * bytes / elements;
    x->bytes = bytes;
    x->crooked = false;
}

static void convert_reads(const Chooser *c, ChooseStmt *n) {
    for (int r = 1; r < n->nrefs; r++) {
        Type to = copy_type(n->s, n->ref[r].access->tensor, type_of(c, n, r));
        if (to && is_worth_it(c, n, r)) read_copy(&n->ref[r], to, type_info[to].bytes, 1);
    }
}

// --- Words ---------------------------------------------------------------------------------------

// The dimension whose subscript is this iterator; -1: there is none, or another one uses it too.
static int own_dim(const ChooseRef *x, int i) {
    int found = -1;
    for (int d = 0; d < x->access->rank; d++) {
        if (affine_as_iter(x->access->sub[d]) == i && found < 0)
            found = d;
        else if (affine_uses_iter(x->access->sub[d], i))
            return -1;
    }
    return found;
}

// The longest reduction along which words can lie; -1: none.
static int pair_of(const ChooseStmt *n, int word) {
    int best = -1;
    for (int i = 0; i < n->s->niters; i++) {
        if (!n->s->iter[i].reduction || n->extent[i] % word || n->guarded >> i & 1) continue;
        if (own_dim(&n->ref[1], i) < 0 || own_dim(&n->ref[2], i) < 0) continue;
        if (iter_lo(&n->s->iter[i]) % word) continue;
        if (best < 0 || n->extent[i] > n->extent[best]) best = i;
    }
    return best;
}

static bool take_words(const Chooser *c, ChooseStmt *n) {
    Type as = TYPE_NONE, factor[2];
    bool product = n->nrefs == 3 && stmt_adds_products(c->p, n->s, factor);
    int word = product ? dot_products(c->m, factor[0], factor[1], &as) : 0;
    int pair = word ? pair_of(n, word) : -1;
    if (pair < 0 || !n->ref[1].once || !n->ref[2].once) return false;
    for (int r = 1; r <= 2; r++)
        if (!is_worth_it(c, n, r)) return false;
    for (int r = 1; r <= 2; r++)
        read_copy(&n->ref[r], as ? as : type_of(c, n, r), LIMIT_WORD, word);
    n->word = word;
    n->pair = pair;
    n->extent[pair] /= word;
    return true;
}

const ChooseStmt *choose_types(const Chooser *c, ChooseStmt *n, bool words) {
    bool narrow = false;
    for (int r = 1; r < n->nrefs; r++) narrow |= type_info[type_of(c, n, r)].bytes < 4;
    if (c->o->plain || !narrow) return NULL;
    ChooseStmt was = *n;
    ChooseRef *ref = arena_copy(c->arena, n->ref, MAX_REFS * sizeof *ref);
    if (words && take_words(c, n)) {
        ChooseStmt *before = arena_copy(c->arena, &was, sizeof was);
        before->ref = ref;
        return before;
    }
    convert_reads(c, n);
    return NULL;
}

bool words_fit(const ChooseStmt *n, const ChooseTile *t) {
    if (t->horizontal || t->group >= 0 || n->ref[1].uses[t->v] == n->ref[2].uses[t->v])
        return false;
    return n->ref[n->ref[1].uses[t->v] ? 1 : 2].lone;
}

// --- Copies --------------------------------------------------------------------------------------

SchedCopy *nest_copy(const Chooser *c, ChooseStmt *n, int r, SchedStmt **section) {
    const Tensor *t = &c->p->tensors.at[n->ref[r].access->tensor];
    Name label = copy_label(c, n, r);
    if (is_taken(c->p, label)) return NULL;
    for (int k = 0; k < n->out.head.ncopies; k++) // one copy serves all reads
        if (n->out.copy[k].tensor == t->name) return NULL;
    if (!n->out.copy) {
        n->out.copy = arena_new_n(c->arena, SchedCopy, n->nrefs);
        n->out.section = arena_new_n(c->arena, SchedStmt *, n->nrefs);
    }
    int at = n->out.head.ncopies++;
    *section = n->out.section[at] = arena_new(c->arena, SchedStmt);
    **section = (SchedStmt){.label = label, .stage = -1};
    n->out.copy[at] = (SchedCopy){.tensor = t->name};
    if (n->ref[r].as != t->type) n->out.copy[at].as = n->ref[r].as;
    return &n->out.copy[at];
}

typedef struct First {
    int tensor;
    const Access *read;
} First;

static void see_first(void *user, const Access *a, bool guarded) {
    First *first = user;
    (void)guarded;
    if (!first->read && a->tensor == first->tensor) first->read = a;
}

// Dimensions are named after the iterators of the first read in the given statement.
void copy_dims(const Chooser *c, const ChooseStmt *n, int r, Name *name) {
    const Stmt *s = &c->given->stmts.at[n - c->nest];
    First first = {.tensor = n->ref[r].access->tensor};
    expr_visit_accesses(s->value, see_first, &first);
    schedule_copy_iters(c->arena, c->p->names, s, first.read, name);
}

// Words lie along the reduction, which is the last dimension.
void convert_operand(const Chooser *c, ChooseStmt *n, int r) {
    const ChooseRef *x = &n->ref[r];
    int last = n->word ? own_dim(x, n->pair) : x->access->rank - 1, rank = x->access->rank;
    if (n->word && x->as == type_of(c, n, r) && x->stride[n->pair] == 1) return; // it is already
    SchedStmt *section;
    SchedCopy *copy = nest_copy(c, n, r, &section);
    if (!copy || !rank) return;
    LayoutDim *dim = arena_new_n(c->arena, LayoutDim, rank);
    SchedLoop *loop = arena_new_n(c->arena, SchedLoop, rank);
    Name name[PROGRAM_MAX_RANK];
    copy_dims(c, n, r, name);
    for (int d = 0, at = 0; d < rank; d++) {
        int to = d == last ? rank - 1 : at++;
        dim[to] = (LayoutDim){.dim = name[d], .block = 1};
        loop[to] = (SchedLoop){.iter = dim[to].dim, .step = 1};
    }
    loop[rank - 1].kind = KIND_VECTOR;
    if (last != rank - 1) copy->storage = (Storage){.ndims = rank, .dim = dim};
    section->loop = loop;
    section->nloops = rank;
}
