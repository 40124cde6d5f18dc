// Schedules lowered to Trees: the listings, splits, sharing, storage.
#include "unit/check.h"
#include "sched/schedule.h"

#include <stdio.h>
#include <string.h>

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

static const Schedule *parsed(Fix *f, const char *text) {
    Source *src = arena_new(&f->arena, Source);
    *src = (Source){"s.lws", text, (uint32_t)strlen(text)};
    const Schedule *s = schedule_parse(&f->arena, &f->names, src, &f->diags);
    for (int i = 0; i < f->diags.items.n; i++) {
        Text out = {.arena = &f->arena};
        diag_print(&out, f->diags.items.at[i]);
        fprintf(stderr, "%s", text_str(&out));
    }
    Text again = {.arena = &f->arena};
    if (s) schedule_print(&again, s);
    CHECK_STR_EQ(text_str(&again), text);
    return s;
}

// a[x,y,z] = I[x,y,z];  b[x,y,z] = -a[x,y,z]
static void pointwise(Fix *f, int64_t x, int64_t y, int64_t z) {
    begin(f);
    int in = tensor(f, "I", ROLE_INPUT, 3, S(x, y, z)),
        b = tensor(f, "b", ROLE_OUTPUT, 3, S(x, y, z));
    int a = tensor(f, "a", ROLE_TEMP, 3, S(x, y, z));
    stmt(f, "xyz", S(x, y, z), access(f, a, 3, A(0, 1, 2)), REDUCE_ASSIGN,
         rd(f, access(f, in, 3, A(0, 1, 2))));
    stmt(f, "xyz", S(x, y, z), access(f, b, 3, A(0, 1, 2)), REDUCE_ASSIGN,
         expr_unary(f->p->exprs, OP_NEG, rd(f, access(f, a, 3, A(0, 1, 2)))));
    CHECK(program_finish(f->p, &f->diags));
    f->p->bound = true;
}

TEST(tree_listing_2_shares_every_loop) {
    Fix f;
    pointwise(&f, 2, 3, 4);
    CHECK_STR_EQ(lowered(&f, parsed(&f, "a: x y z\nb: x y z\n")),
                 "for x in 2\n"
                 "  for y in 3\n"
                 "    for z in 4\n"
                 "      a f32[1, 1, 1] 4 B\n"
                 "      a[0, 0, 0] = I[x, y, z]\n"
                 "      b[x, y, z] = -a[0, 0, 0]\n");
    arena_free(&f.arena);
}

TEST(tree_listing_3_shares_x_only) {
    Fix f;
    pointwise(&f, 2, 3, 4);
    CHECK_STR_EQ(lowered(&f, parsed(&f, "b: x z y\n")), "for x in 2\n"
                                                        "  a f32[1, 3, 4] 48 B\n"
                                                        "  for y in 3\n"
                                                        "    for z in 4\n"
                                                        "      a[0, y, z] = I[x, y, z]\n"
                                                        "  for z in 4\n"
                                                        "    for y in 3\n"
                                                        "      b[x, y, z] = -a[0, y, z]\n");
    arena_free(&f.arena);
}

TEST(tree_listing_5_staging) {
    Fix f;
    pointwise(&f, 2, 3, 4);
    CHECK_STR_EQ(lowered(&f, parsed(&f, "a: x y | z\n")), "for x in 2\n"
                                                          "  for y in 3\n"
                                                          "    a f32[1, 1, 4] 16 B\n"
                                                          "    for z in 4\n"
                                                          "      a[0, 0, z] = I[x, y, z]\n"
                                                          "    for z in 4\n"
                                                          "      b[x, y, z] = -a[0, 0, z]\n");
    arena_free(&f.arena);
}

// R[x,y] = sum over z of in;  a[x,y,z] = R[x,y] + in[x,y,z]
TEST(tree_listing_4_reductions_close) {
    Fix f;
    begin(&f);
    int in = tensor(&f, "I", ROLE_INPUT, 3, S(2, 3, 4)),
        a = tensor(&f, "a", ROLE_OUTPUT, 3, S(2, 3, 4));
    int r = tensor(&f, "R", ROLE_TEMP, 2, S(2, 3));
    const Expr *e = rd(&f, access(&f, in, 3, A(0, 1, 2)));
    stmt(&f, "xyz", S(2, 3, 4), access(&f, r, 2, A(0, 1)), REDUCE_ADD, e);
    stmt(&f, "xyz", S(2, 3, 4), access(&f, a, 3, A(0, 1, 2)), REDUCE_ASSIGN,
         expr_binary(f.p->exprs, OP_ADD, rd(&f, access(&f, r, 2, A(0, 1))), e));
    CHECK(program_finish(f.p, &f.diags));
    f.p->bound = true;
    CHECK_STR_EQ(lowered(&f, NULL), "for x in 2\n"
                                    "  for y in 3\n"
                                    "    R f32[1, 1] 4 B\n"
                                    "    R[0, 0] = 0.0\n"
                                    "    for z in 4\n"
                                    "      R[0, 0] += I[x, y, z]\n"
                                    "    for z in 4\n"
                                    "      a[x, y, z] = R[0, 0] + I[x, y, z]\n");
    arena_free(&f.arena);
}

TEST(tree_tiled_matmul) {
    Fix f;
    matmul(&f, 100, 64, 70);
    CHECK_STR_EQ(
        lowered(&f, parsed(&f, "C: m/64:p k/32 n/16 m/10 k m n:v\n")),
        "for m in 2 parallel\n"
        "  for k in 3\n"
        "    for n in 4\n"
        "      for m.1 in 7 where 99 - 64*m - 10*m.1 >= 0\n"
        "        if -k >= 0\n"
        "          for m.2 in 10 where 99 - 64*m - 10*m.1 - m.2 >= 0 and 63 - 10*m.1 - m.2 >= 0\n"
        "            for n.1 in 16 vector\n"
        "              C[64*m + 10*m.1 + m.2, 16*n + n.1] = 0.0\n"
        "        for k.1 in 32 where 69 - 32*k - k.1 >= 0\n"
        "          for m.2 in 10 where 99 - 64*m - 10*m.1 - m.2 >= 0 and 63 - 10*m.1 - m.2 >= 0\n"
        "            for n.1 in 16 vector\n"
        "              C[64*m + 10*m.1 + m.2, 16*n + n.1] += "
        "A[64*m + 10*m.1 + m.2, 32*k + k.1]*B[32*k + k.1, 16*n + n.1]\n");
    arena_free(&f.arena);
}
