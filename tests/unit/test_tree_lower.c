// Schedules lowered to Trees: the listings, splits, sharing, storage.
#include "check.h"
#include "tree/schedule.h"

typedef struct Fix {
    Arena arena;
    Names names;
    DiagList diags;
    Program *p;
} Fix;

static void begin(Fix *f) {
    *f = (Fix){0};
    arena_init(&f->arena, &allocator_libc);
    f->names = (Names){.arena = &f->arena};
    f->diags = (DiagList){.arena = &f->arena};
    f->p = program_new(&f->arena, &f->names, "test", 4);
}

static int tensor(Fix *f, const char *name, Role role, int rank, const int64_t *size) {
    const Affine *s[8];
    for (int i = 0; i < rank; i++) s[i] = affine_const(f->p->exprs, size[i]);
    return program_tensor(f->p, name_of(&f->names, name), TYPE_F32, role, rank, s);
}

static const Access *access(Fix *f, int t, int rank, const int *iter) {
    const Affine *s[8];
    for (int i = 0; i < rank; i++) s[i] = affine_iter(f->p->exprs, iter[i]);
    return access_make(f->p->exprs, t, rank, s);
}

static Stmt *stmt(Fix *f, const char *iters, const int64_t *extent, const Access *write, Reduce op,
                  const Expr *value) {
    Stmt *s = program_stmt(f->p, (Range){0});
    s->niters = 0;
    s->iter = arena_new_n(&f->arena, Iter, 8);
    for (const char *c = iters; *c; c++) {
        s->iter[s->niters] = (Iter){.name = name_intern(&f->names, c, 1),
                                    .lo = affine_const(f->p->exprs, 0),
                                    .hi = affine_const(f->p->exprs, extent[s->niters])};
        s->niters++;
    }
    s->write = write;
    s->op = op;
    s->init = op != REDUCE_ASSIGN;
    s->value = value;
    return s;
}

static const Expr *rd(Fix *f, const Access *a) { return expr_read(f->p->exprs, TYPE_F32, a); }

#define A(...) ((const int[]){__VA_ARGS__})
#define S(...) ((const int64_t[]){__VA_ARGS__})

static void matmul(Fix *f, int64_t m, int64_t n, int64_t k) {
    begin(f);
    int a = tensor(f, "A", ROLE_INPUT, 2, S(m, k)), b = tensor(f, "B", ROLE_INPUT, 2, S(k, n));
    int c = tensor(f, "C", ROLE_OUTPUT, 2, S(m, n));
    const Expr *v = expr_binary(f->p->exprs, OP_MUL, rd(f, access(f, a, 2, A(0, 2))),
                                rd(f, access(f, b, 2, A(2, 1))));
    stmt(f, "mnk", S(m, n, k), access(f, c, 2, A(0, 1)), REDUCE_ADD, v);
    CHECK(program_finish(f->p, &f->diags));
    f->p->bound = true;
}

static const char *lowered(Fix *f, const Schedule *s) {
    Tree *t = tree_lower(&f->arena, f->p, s, &f->diags);
    Text text = {.arena = &f->arena};
    if (t) tree_show(&text, t, false);
    return text_str(&text);
}

TEST(tree_lowers_naive_matmul) {
    Fix f;
    matmul(&f, 3, 4, 5);
    CHECK_STR_EQ(lowered(&f, NULL), "for m in 3\n"
                                    "  for n in 4\n"
                                    "    C[m, n] = 0.0\n"
                                    "    for k in 5\n"
                                    "      C[m, n] += A[m, k]*B[k, n]\n");
    arena_free(&f.arena);
}
