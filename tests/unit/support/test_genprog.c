// Random Programs satisfy their guarantees, and the interpreter those of the language: the text
// parses back, and results do not depend on the order of iterations.
#include "unit/check.h"

#include "base/checked.h"
#include "support/genprog.h"

// The same Program with the iterators of every statement in reverse order.
static Program *reversed(Lab *lab, const Program *p) {
    Program *q = arena_new(&lab->arena, Program);
    *q = *p;
    q->exprs = arena_new(&lab->arena, Exprs);
    exprs_init(q->exprs, &lab->arena);
    q->stmts.at = arena_copy(&lab->arena, p->stmts.at, (size_t)p->stmts.n * sizeof(Stmt));
    for (int s = 0; s < p->stmts.n; s++) {
        const Stmt *from = &p->stmts.at[s];
        Stmt *to = &q->stmts.at[s];
        const Affine *iters[PROGRAM_MAX_ITERS];
        to->iter = arena_new_n(&lab->arena, Iter, from->niters);
        for (int i = 0; i < from->niters; i++) {
            to->iter[from->niters - 1 - i] = from->iter[i];
            iters[i] = affine_iter(q->exprs, from->niters - 1 - i);
        }
        Subst subst = {.iters = iters, .import = true};
        to->write = access_subst(q->exprs, from->write, &subst);
        to->value = expr_subst(q->exprs, from->value, &subst);
        to->constraint = arena_new_n(&lab->arena, const Affine *, from->nconstraints);
        for (int c = 0; c < from->nconstraints; c++)
            to->constraint[c] = affine_subst(q->exprs, from->constraint[c], &subst);
    }
    return q;
}

static int64_t instances(const Program *p) {
    int64_t all = 0;
    for (int s = 0; s < p->stmts.n; s++) {
        int64_t n = 1;
        for (int i = 0; i < p->stmts.at[s].niters; i++)
            n *= iter_hi(&p->stmts.at[s].iter[i]) - iter_lo(&p->stmts.at[s].iter[i]);
        all += n;
    }
    return all;
}

static void check_seed(Lab *lab, uint64_t seed) {
    Program *p = genprog(lab, seed);
    const char *text = lab_text(lab, p);
    Program *again = lab_program(lab, text, NULL);
    if (CHECK(again != NULL)) CHECK_STR_EQ(lab_text(lab, again), text);
    CHECK(instances(p) <= 20000);
    LabData a = lab_data(lab, p, seed), b = lab_copy(lab, p, &a), c = lab_copy(lab, p, &a);
    CHECK(lab_run(lab, p, &a));
    CHECK(lab_run(lab, reversed(lab, p), &b));
    const char *difference = lab_difference(lab, p, &a, &b);
    if (!CHECK(difference == NULL)) printf("seed %" PRIu64 ": %s\n%s", seed, difference, text);
    InterpFlags trap = {.trap_uninitialised = true};
    if (!CHECK(program_interpret(&lab->arena, p, c.view, trap, &lab->diags)))
        printf("seed %" PRIu64 ":\n%s%s", seed, text, lab_errors(lab));
}

TEST(order_never_shows) {
    int64_t rounds = check_rounds(5000);
    for (int64_t seed = 0; seed < rounds; seed++) {
        Lab lab;
        lab_begin(&lab);
        check_seed(&lab, (uint64_t)seed);
        lab_end(&lab);
    }
}

// Features that a generator never produces are never tested.
typedef struct Seen {
    int reduce[5][2], type[TYPE_COUNT], role[4], atom[8], op[OP_COUNT];
    int constraint, empty, origin, scatter, in_place, stmts[7];
    int target;
} Seen;

static void see_affine(Seen *n, const Affine *a) {
    for (int i = 0; i < a->n; i++) {
        const Atom *t = a->term[i].atom;
        n->atom[t->kind]++;
        if (t->a) see_affine(n, t->a), see_affine(n, t->b);
    }
}

static void see_access(void *user, const Access *a, bool guarded) {
    (void)guarded;
    Seen *n = user;
    n->in_place += a->tensor == n->target;
    for (int d = 0; d < a->rank; d++) see_affine(n, a->sub[d]);
}

static void see_ops(Seen *n, const Expr *e) {
    if (e->kind == EXPR_OP) n->op[e->op]++;
    for (int i = 0; i < e->n; i++) see_ops(n, e->arg[i]);
}

static void see(Seen *n, const Program *p) {
    n->stmts[p->stmts.n]++;
    for (int i = 0; i < p->tensors.n; i++) {
        const Tensor *t = &p->tensors.at[i];
        n->type[t->type]++;
        n->role[t->role]++;
        n->empty += tensor_elements(t) == 0;
        for (int d = 0; d < t->rank; d++) n->origin += tensor_origin(t, d) != 0;
    }
    for (int s = 0; s < p->stmts.n; s++) {
        const Stmt *st = &p->stmts.at[s];
        n->reduce[st->op][st->init]++;
        n->constraint += st->nconstraints > 0;
        n->scatter += st->write->has_read;
        n->target = -1;
        see_access(n, st->write, false);
        n->target = st->write->tensor;
        expr_visit_accesses(st->value, see_access, n);
        see_ops(n, st->value);
    }
}

TEST(everything_occurs) {
    Seen n = {0};
    for (uint64_t seed = 0; seed < 1500; seed++) {
        Lab lab;
        lab_begin(&lab);
        see(&n, genprog(&lab, seed));
        lab_end(&lab);
    }
    for (int op = 0; op < 5; op++) CHECK(n.reduce[op][0] > 0 && (op == 0 || n.reduce[op][1] > 0));
    static const Type types[] = {TYPE_F64, TYPE_F32, TYPE_F16, TYPE_BF16, TYPE_I8,  TYPE_I16,
                                 TYPE_I32, TYPE_I64, TYPE_U8,  TYPE_U32,  TYPE_BOOL};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) CHECK(n.type[types[i]] > 10);
    static const AtomKind atoms[] = {ATOM_DIV, ATOM_MOD, ATOM_MIN, ATOM_MAX, ATOM_READ};
    for (size_t i = 0; i < sizeof atoms / sizeof *atoms; i++) CHECK(n.atom[atoms[i]] > 10);
    static const ExprOp ops[] = {OP_ADD,  OP_SUB,    OP_MUL,   OP_DIV,  OP_MOD, OP_MIN, OP_MAX,
                                 OP_NEG,  OP_BITAND, OP_SHL,   OP_LT,   OP_AND, OP_ABS, OP_RELU,
                                 OP_CAST, OP_SELECT, OP_FLOOR, OP_FMAX, OP_FDIM};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) CHECK(n.op[ops[i]] > 10);
    for (int role = 0; role < 4; role++) CHECK(n.role[role] > 10);
    for (int k = 1; k <= 6; k++) CHECK(n.stmts[k] > 10);
    CHECK(n.constraint > 10 && n.empty > 10 && n.origin > 10 && n.scatter > 10 && n.in_place > 10);
}
