// Flat Stripe programs as Programs. Random Programs are printed as flat Stripe text, one block per
// statement: lifting it gives the same Program again, and the same results. What cannot be lifted
// says why.
#include "unit/check.h"

#include "base/checked.h"
#include "support/genprog.h"
#include "support/jitlab.h"
#include "stripe/lift.h"
#include "stripe/stripe_ops.h"
#include "tree/special.h"
#include "tree/tree_interp.h"
#include "verify/verify.h"

#include <stdio.h>

static const Source *source_of(Lab *lab, const char *text) {
    Source *s = arena_new(&lab->arena, Source);
    *s = (Source){"flat.stripe", text, (uint32_t)strlen(text)};
    return s;
}

static const Tree *tree_of(Lab *lab, const char *text) {
    Tree *t = stripe_parse(&lab->arena, &lab->names, source_of(lab, text), &lab->diags);
    return t ? tree_expand(t) : NULL;
}

// --- A Program as a flat Tree --------------------------------------------------------------------

typedef struct Flat {
    Lab *lab;
    const Program *p;
    Tree *t;
    const Affine *iters[PROGRAM_MAX_ITERS];
    VEC(const Node *) node;
} Flat;

static const Access *from_origin(void *user, Exprs *x, const Access *a) {
    const Flat *f = user;
    const Affine *sub[PROGRAM_MAX_RANK];
    for (int d = 0; d < a->rank; d++)
        sub[d] = affine_add_const(x, a->sub[d], -tensor_origin(&f->p->tensors.at[a->tensor], d));
    return access_make(x, a->tensor, a->rank, sub);
}

static void add_buffers(Flat *f) {
    for (int i = 0; i < f->p->tensors.n; i++) {
        const Tensor *t = &f->p->tensors.at[i];
        int64_t size[PROGRAM_MAX_RANK], stride[PROGRAM_MAX_RANK], step = 1;
        for (int d = t->rank - 1; d >= 0; step *= max_i64(size[d], 1), d--)
            size[d] = tensor_size(t, d), stride[d] = step;
        tree_buffer(f->t, &(Buffer){.name = t->name,
                                    .type = t->type,
                                    .home = t->role == ROLE_TEMP ? HOME_AUTO : HOME_ARGUMENT,
                                    .tensor = i,
                                    .rank = t->rank,
                                    .size = size,
                                    .stride = stride,
                                    .bank_dim = -1});
    }
}

static void add_block(Flat *f, const Stmt *st, const bool *wanted, const Leaf *leaf, Kind kind) {
    Index index[PROGRAM_MAX_ITERS];
    const Affine *guard[64];
    Block b = {.node.ndeps = -1, .index = index, .constraint = guard, .kind = kind};
    Subst s = {.iters = f->iters, .map = from_origin, .user = f, .import = true};
    for (int i = 0; i < st->niters; i++) {
        if (wanted && !wanted[i]) continue;
        index[b.nindex] = tree_index(f->t, st->iter[i].name, iter_extent(&st->iter[i]));
        f->iters[i] = affine_add_const(f->t->exprs, affine_iter(f->t->exprs, index[b.nindex++].id),
                                       iter_lo(&st->iter[i]));
    }
    for (int i = 0; i < st->nconstraints && leaf->role != LEAF_INIT; i++)
        guard[b.nconstraints++] = affine_subst(f->t->exprs, st->constraint[i], &s);
    Leaf own = *leaf;
    own.stmt = -1;
    own.write = access_subst(f->t->exprs, leaf->write, &s);
    own.value = expr_subst(f->t->exprs, leaf->value, &s);
    const Node *node = &tree_leaf(f->t, &own)->node;
    if (b.nindex || b.nconstraints) node = &tree_block(f->t, &b, &node, 1)->node;
    vec_push(&f->lab->arena, &f->node, node);
}

static void add_start(Flat *f, const Stmt *st) {
    const Tensor *t = &f->p->tensors.at[st->write->tensor];
    Exprs *x = f->p->exprs;
    Stmt whole = {.niters = t->rank, .iter = arena_new_n(&f->lab->arena, Iter, t->rank)};
    const Affine *sub[PROGRAM_MAX_RANK];
    bool left[PROGRAM_MAX_ITERS] = {0};
    for (int d = 0; d < t->rank; d++) {
        whole.iter[d] = (Iter){.name = name_of(&f->lab->names, "x"),
                               .lo = t->origin[d],
                               .hi = affine_add(x, t->origin[d], t->size[d])};
        sub[d] = affine_iter(x, d);
    }
    for (int i = 0; i < st->niters; i++)
        for (int d = 0; d < t->rank; d++) left[i] |= affine_uses_iter(st->write->sub[d], i);
    bool scatters = st->write->has_read;
    Leaf leaf = {.node.ndeps = -1,
                 .role = LEAF_INIT,
                 .write = scatters ? access_make(x, st->write->tensor, t->rank, sub) : st->write,
                 .value = expr_const(x, t->type, reduce_start(t->type, st->op))};
    add_block(f, scatters ? &whole : st, scatters ? NULL : left, &leaf, KIND_SERIAL);
}

static const char *flat_text(Lab *lab, const Program *p) {
    Exprs *x = arena_new(&lab->arena, Exprs);
    exprs_init(x, &lab->arena);
    Flat f = {.lab = lab, .p = p, .t = tree_new(&lab->arena, x, &lab->names)};
    VEC(int) temps = {0};
    f.t->program = p;
    f.t->nargs = p->ninputs + p->noutputs;
    add_buffers(&f);
    for (int i = f.t->nargs; i < p->tensors.n; i++) vec_push(&lab->arena, &temps, i);
    for (int i = 0; i < p->stmts.n; i++) {
        const Stmt *st = &p->stmts.at[i];
        Leaf leaf = {.node.ndeps = -1,
                     .role = st->post ? LEAF_POST : LEAF_UPDATE,
                     .op = st->op,
                     .write = st->write,
                     .value = st->value,
                     .unchecked = st->unchecked};
        if (st->init) add_start(&f, st);
        add_block(&f, st, NULL, &leaf, KIND_ANY);
    }
    Block root = {.node.ndeps = -1, .nallocs = temps.n, .alloc = temps.at};
    f.t->root = tree_block(f.t, &root, f.node.at, f.node.n);
    Text out = {.arena = &lab->arena};
    stripe_print(&out, f.t);
    return text_str(&out);
}

// --- Equal up to names ---------------------------------------------------------------------------

// A statement whose iterators start at 0 and whose ranges say what constraints on one iterator do,
// unless the iterator tells what is initialised.
typedef struct Normal {
    int64_t lo[PROGRAM_MAX_ITERS], hi[PROGRAM_MAX_ITERS];
    const Access *write;
    const Expr *value;
    int nconstraints;
    const Affine *constraint[64];
} Normal;

static bool is_left(const Stmt *st, int iter) {
    for (int d = 0; d < st->write->rank; d++)
        if (affine_uses_iter(st->write->sub[d], iter)) return true;
    return false;
}

static bool is_range(const Stmt *st, const Affine *c, Normal *n) {
    int i = c->n == 1 && c->term[0].atom->kind == ATOM_ITER ? c->term[0].atom->index : -1;
    if (i < 0 || (st->init && is_left(st, i))) return false;
    int64_t k = c->term[0].coef;
    while (n->lo[i] < n->hi[i] && k > 0 && k * n->lo[i] + c->constant < 0) n->lo[i]++;
    while (n->lo[i] < n->hi[i] && k < 0 && k * (n->hi[i] - 1) + c->constant < 0) n->hi[i]--;
    if (n->lo[i] >= n->hi[i]) n->lo[i] = n->hi[i] = iter_lo(&st->iter[i]);
    return true;
}

static bool holds(const Stmt *st, const Affine *c, const Normal *n) {
    int64_t last[PROGRAM_MAX_ITERS], min, max;
    for (int i = 0; i < st->niters; i++) last[i] = n->hi[i] - 1;
    for (int i = 0; i < st->niters; i++)
        if (n->hi[i] <= n->lo[i]) return true;
    return affine_bounds(c, n->lo, last, &min, &max) && min >= 0;
}

static Normal normal_of(Lab *lab, Exprs *x, const Program *p, const Stmt *st) {
    Normal n = {.nconstraints = 0};
    Flat f = {.lab = lab, .p = p};
    const Affine *kept[64];
    int k = 0;
    for (int i = 0; i < st->niters; i++)
        n.lo[i] = iter_lo(&st->iter[i]), n.hi[i] = iter_hi(&st->iter[i]);
    for (int i = 0; i < st->nconstraints; i++)
        if (!is_range(st, st->constraint[i], &n)) kept[k++] = st->constraint[i];
    for (int i = 0; i < st->niters; i++)
        f.iters[i] = affine_add_const(x, affine_iter(x, i), n.lo[i]);
    Subst s = {.iters = f.iters, .map = from_origin, .user = &f, .import = true};
    n.write = access_subst(x, st->write, &s);
    n.value = expr_subst(x, st->value, &s);
    for (int i = 0; i < k; i++)
        if (!holds(st, kept[i], &n)) n.constraint[n.nconstraints++] = affine_subst(x, kept[i], &s);
    for (int i = 0; i < st->niters; i++) n.hi[i] = max_i64(n.hi[i] - n.lo[i], 0), n.lo[i] = 0;
    return n;
}

static bool same_stmt(Lab *lab, const Program *p, const Stmt *a, const Program *q, const Stmt *b) {
    Exprs *x = arena_new(&lab->arena, Exprs);
    exprs_init(x, &lab->arena);
    Normal m = normal_of(lab, x, p, a), n = normal_of(lab, x, q, b);
    bool same = a->op == b->op && a->init == b->init && a->post == b->post &&
                a->niters == b->niters && m.write == n.write && m.value == n.value &&
                m.nconstraints == n.nconstraints;
    for (int i = 0; same && i < a->niters; i++) same = m.hi[i] == n.hi[i];
    for (int i = 0; same && i < m.nconstraints; i++) same = m.constraint[i] == n.constraint[i];
    return same;
}

static bool same_tensor(const Tensor *a, const Tensor *b) {
    bool same = a->type == b->type && a->role == b->role && a->rank == b->rank;
    for (int d = 0; same && d < a->rank; d++) same = tensor_size(a, d) == tensor_size(b, d);
    return same;
}

static bool same_program(Lab *lab, const Program *p, const Program *q) {
    bool same = p->tensors.n == q->tensors.n && p->stmts.n == q->stmts.n;
    for (int i = 0; same && i < p->tensors.n; i++)
        same = same_tensor(&p->tensors.at[i], &q->tensors.at[i]);
    for (int i = 0; same && i < p->stmts.n; i++)
        same = same_stmt(lab, p, &p->stmts.at[i], q, &q->stmts.at[i]);
    return same;
}

// --- Random Programs -----------------------------------------------------------------------------

typedef struct Counts {
    int64_t lifted, kept, refused;
} Counts;

// The Program that it came from, the Tree and the lifted Program. A Stripe text comes from none.
static const char *compare_runs(Lab *lab, const Program *p, const Tree *t, const Program *q,
                                uint64_t seed) {
    LabData start = lab_data(lab, p, seed);
    for (int i = p->ninputs; i < p->ninputs + p->noutputs; i++) // exact, to accumulate in
        for (int64_t k = 0; k < tensor_elements(&p->tensors.at[i]); k++)
            lab_set(&start, i, k, (double)(k % 2));
    LabData want = lab_copy(lab, p, &start), tree = lab_copy(lab, p, &start),
            got = lab_copy(lab, p, &start);
    InterpFlags flags = {.accumulate = seed % 5 == 0, .skip_post = seed % 7 == 0};
    bool first = p->stmts.n > 0;
    if ((first && !program_interpret(&lab->arena, p, want.view, flags, &lab->diags)) ||
        !tree_interpret(&lab->arena, t, tree.view, flags, &lab->diags) ||
        !program_interpret(&lab->arena, q, got.view, flags, &lab->diags))
        return lab_errors(lab);
    const char *wrong = first ? lab_difference(lab, p, &tree, &want) : NULL;
    return wrong ? wrong : lab_difference(lab, p, &got, &tree);
}

// A statement that reads its own tensor elsewhere is no unordered block: the verifier refuses it.
static const char *fault_of(Lab *lab, const Program *p, const char *text, uint64_t seed,
                            Counts *counts) {
    const Tree *t = tree_of(lab, text);
    if (!t) return lab_errors(lab);
    DiagList found = {.arena = &lab->arena};
    if (tree_verify(&lab->arena, t, NULL, &found) != VERIFY_OK) return counts->refused++, NULL;
    Lift lift = tree_lift(&lab->arena, t);
    if (!lift.program) {
        counts->kept++;
        return lift.reason == LIFT_START || lift.reason == LIFT_STATEMENT ? NULL : lift.text;
    }
    counts->lifted++;
    const Program *q = program_bind(&lab->arena, lift.program, NULL, &lab->diags);
    if (!q) return lab_errors(lab);
    const char *wrong = compare_runs(lab, p, t, q, seed);
    if (wrong) return wrong;
    return same_program(lab, p, q) ? NULL : lab_text(lab, q);
}

TEST(programs_come_back_from_flat_text) {
    Counts counts = {0};
    int64_t rounds = check_long_rounds(2000);
    for (int64_t i = 0; i < rounds; i++) {
        uint64_t seed = check_first_seed() + (uint64_t)i;
        Lab lab;
        lab_begin(&lab);
        const Program *p = i % 2 ? genprog(&lab, seed) : genprog_chains(&lab, seed);
        const char *text = CHECK(p) ? flat_text(&lab, p) : "", *wrong = "it is not bound";
        if (p) wrong = fault_of(&lab, p, text, seed, &counts);
        if (!CHECK(!wrong))
            printf("seed %llu: %s\n%s\n%s\n", (unsigned long long)seed, wrong, lab_text(&lab, p),
                   text);
        lab_end(&lab);
        if (wrong) return;
    }
    printf("%lld lifted, %lld kept, %lld not verified\n", (long long)counts.lifted,
           (long long)counts.kept, (long long)counts.refused);
    CHECK(counts.lifted > 4 * counts.kept && counts.lifted > rounds / 2);
}

// --- By hand -------------------------------------------------------------------------------------

typedef struct Case {
    LiftReason reason;
    const char *text;
    const char *program; // of what is lifted: its statements
} Case;

#define ARGS     "block []:1 ( in A[0] i32(12):(1) inout B[0] i32(12):(1) out C[0] i32(12):(1) ) {"
#define COPY     "{ $a = load(A) C = store($a) }"
#define VIEWS    "in A[i] i32(1):(1) out C[i] i32(1):(1)"
#define SUM(AGG) "in A[i] i32(1):(1) " AGG " { $a = load(A) C = store($a) }"

static const Case cases[] = {
    {LIFT_LIFTED, ARGS "block [i:12] ( " VIEWS " ) " COPY "}",
     "    C: for i in 0:12\n        C[i] = A[i]\n"},
    // tiles, of which the last is not whole, and interleaved ones
    {LIFT_LIFTED,
     ARGS "block [o:3] ( in A[4*o] i32(4):(1) out C[4*o] i32(4):(1) ) {"
          "  block [i:4, o = o] ( 9 - 4*o - i >= 0 " VIEWS " ) " COPY "}}",
     "    C: for o in 0:10\n        C[o] = A[o]\n"},
    {LIFT_LIFTED,
     ARGS "block [o:3] ( in A[o] i32(10):(1) out C[o] i32(10):(1) ) {"
          "  block [i:4] ( in A[3*i] i32(1):(1) out C[3*i] i32(1):(1) ) " COPY "}}",
     "    C: for i in 0:12\n        C[i] = A[i]\n"},
    // tiles with a gap are two iterators
    {LIFT_LIFTED,
     ARGS "block [o:3] ( in A[4*o] i32(4):(1) out C[4*o] i32(4):(1) ) {"
          "  block [i:3] ( " VIEWS " ) " COPY "}}",
     "    C: for o in 0:3, i in 0:3\n        C[4*o + i] = A[4*o + i]\n"},
    // the start of a reduction
    {LIFT_LIFTED, ARGS "block [i:12] ( " SUM("out C[i/3] :add i32(1):(1) )") "}",
     "    C: for i in 0:12\n        C[i/3] +=! A[i]\n"},
    {LIFT_LIFTED, ARGS "C = agg_init_max() block [i:12] ( " SUM("inout C[i]:max i32(1):(1) )") "}",
     "    C: for i in 0:12\n        C[i] max=! A[i]\n"},
    {LIFT_LIFTED, ARGS "block [i:12] ( i - 3 >= 0 " SUM("out C[i]:add i32(1):(1) )") "}",
     "    C: for i in 3:12\n        C[i] +=! A[i]\n"},
    {LIFT_LIFTED, ARGS "C = zero() block [i:6] ( " SUM("inout C[i]:add i32(1):(1) )") "}",
     "    C: for x in 0:12\n        C[x] = 0\n\n"
     "    C.1: for i in 0:6\n        C[i] += A[i]\n"},
    {LIFT_START, ARGS "C = agg_init_add() block [i:6] ( " SUM("inout C[i]:add i32(1):(1) )") "}",
     NULL},
    {LIFT_START, ARGS "C = agg_init_max() block [i:12] ( " SUM("inout C[i]:add i32(1):(1) )") "}",
     NULL},
    {LIFT_START, ARGS "C = agg_init_add() }", NULL},
    // one element that is kept
    {LIFT_LIFTED,
     "block []:1 ( inout A[0] i32(4):(1) inout B[0] i32(4):(1) ) {"
     "  block [i:4] ( inout A[i] i32(1):(1) inout B[i] i32(1):(1) ) {"
     "    $a = load(A) $b = load(B) A = store($b) B = store($a) } }",
     "    A_kept: for i in 0:4\n        A_kept[i] = A[i]\n\n"
     "    A: for i in 0:4\n        A[i] = B[i]\n\n"
     "    B: for i in 0:4\n        B[i] = A_kept[i]\n"},
    // what decides
    {LIFT_KIND, ARGS "#serial block [i:12] ( " VIEWS " ) " COPY "}", NULL},
    {LIFT_KIND, ARGS "#parallel block [i:12] ( " VIEWS " ) " COPY "}", NULL},
    {LIFT_PLACE, ARGS "block<PROC[0]> [i:12] ( " VIEWS " ) " COPY "}", NULL},
    {LIFT_PLACE, ARGS "block [i:12] ( in A<L1>[i] i32(1):(1) out C[i] i32(1):(1) ) " COPY "}",
     NULL},
    {LIFT_PLACE, "block []:1 ( in A[0] i32({4}):(1) out C[0] i32(4):(1) ) { C = copy(A) }", NULL},
    {LIFT_TAG, ARGS "#unroll_limit=4 block [i:12] ( " VIEWS " ) " COPY "}", NULL},
    {LIFT_TAG, ARGS "#grain=4 block [i:12] ( " VIEWS " ) " COPY "}", NULL},
    {LIFT_TAG, ARGS "block [i:12] ( #prefetch1=4 " VIEWS " ) " COPY "}", NULL},
    {LIFT_TAG, ARGS "block [i:12] ( " VIEWS " ) { $a = load(A) #nontemporal C = store($a) }}",
     NULL},
    {LIFT_TAG, ARGS "block [i:12] ( " VIEWS " ) { #cache=l2 $a = load(A) C = store($a) }}", NULL},
    {LIFT_TAG, "block []:1 ( in A[0] i32(4):(1) #stack none T[0] i32(4):(1) ) { T = copy(A) }",
     NULL},
    {LIFT_LAYOUT, "block []:1 ( in A[0] i32(4):(1) none T[0] i32(4):(2) ) { T = copy(A) }", NULL},
    {LIFT_BUFFER,
     ARGS "block [o:3] ( in A[4*o] i32(4):(1) out C[4*o] i32(4):(1) none T[0] i32(4):(1) ) {"
          "  T = copy(A) C = copy(T) }}",
     NULL},
    {LIFT_LIFTED,
     ARGS "block [i:12] ( i - 3 >= 0 3 - i >= 0 in A[i] i32(1):(1) "
          "out C[0] i32(1):(1) ) { $a = load(A) C = store($a) } }",
     "    C: for i in 3:4\n        C[0] = A[i]\n"},
};

static const char *statements(Lab *lab, const Program *p) {
    const char *text = lab_text(lab, p), *body = strstr(text, "\n\n");
    return body ? arena_strndup(&lab->arena, body + 2, strlen(body + 2) - 2) : "";
}

TEST(flat_blocks_are_lifted_and_others_say_why_not) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Case *c = &cases[i];
        Lab lab;
        lab_begin(&lab);
        const Tree *t = tree_of(&lab, c->text);
        if (!CHECK(t) || !CHECK(tree_verify(&lab.arena, t, NULL, &lab.diags) == VERIFY_OK)) {
            printf("%s\n%s", c->text, lab_errors(&lab));
            return;
        }
        Lift lift = tree_lift(&lab.arena, t);
        if (!CHECK_STR_EQ(lift_reason[lift.reason], lift_reason[c->reason]))
            printf("%s\n%s\n", c->text, lift.text);
        const Program *q =
            lift.program ? program_bind(&lab.arena, lift.program, NULL, &lab.diags) : NULL;
        CHECK(!q == !c->program);
        if (q && c->program) {
            CHECK_STR_EQ(statements(&lab, q), c->program);
            CHECK(!compare_runs(&lab, t->program, t, q, i));
        }
        lab_end(&lab);
    }
}
