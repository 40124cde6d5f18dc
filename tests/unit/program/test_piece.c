// Subscripts in pieces: a resolved subscript equals the original wherever the facts hold, and index
// values are as computed.
#include "unit/check.h"

#include "base/checked.h"
#include "program/piece.h"

enum { ITERS = 3 };

typedef struct Bench {
    Arena arena;
    Exprs x;
    uint64_t state;
    int64_t least[ITERS], most[ITERS];
} Bench;

static int64_t between(Bench *b, int64_t lo, int64_t hi) {
    return lo + (int64_t)(check_random(&b->state) % (uint64_t)(hi - lo + 1));
}

static const Affine *random_linear(Bench *b) {
    const Affine *a = affine_const(&b->x, between(b, -9, 9));
    for (int i = 0; i < ITERS; i++)
        if (between(b, 0, 1))
            a = affine_add(&b->x, a,
                           affine_scale(&b->x, affine_iter(&b->x, i), between(b, -4, 12)));
    return a;
}

static const Affine *random_affine(Bench *b, int depth) {
    if (depth == 0) return random_linear(b);
    const Affine *a = random_affine(b, depth - 1), *k = affine_const(&b->x, between(b, 1, 12));
    switch (between(b, 0, 5)) {
    case 0: return affine_div(&b->x, a, k);
    case 1: return affine_mod(&b->x, a, k);
    case 2: return affine_min(&b->x, a, random_linear(b));
    case 3: return affine_max(&b->x, a, random_linear(b));
    case 4: return affine_add(&b->x, affine_scale(&b->x, a, between(b, -3, 3)), random_linear(b));
    default: return affine_add(&b->x, a, random_affine(b, depth - 1));
    }
}

static int64_t value_at(const Affine *a, const int64_t *at) {
    int64_t v = 0;
    CHECK(affine_eval(a, at, NULL, NULL, NULL, &v));
    return v;
}

static bool facts_hold(const Pieces *p, const int64_t *at) {
    for (int i = 0; i < p->nfacts; i++)
        if (value_at(p->fact[i], at) < 0) return false;
    return true;
}

static bool agree(const Bench *b, const Pieces *p, const Affine *a, const Affine *r) {
    int64_t at[ITERS];
    for (at[0] = b->least[0]; at[0] <= b->most[0]; at[0]++)
        for (at[1] = b->least[1]; at[1] <= b->most[1]; at[1]++)
            for (at[2] = b->least[2]; at[2] <= b->most[2]; at[2]++)
                if (facts_hold(p, at) && value_at(a, at) != value_at(r, at)) return false;
    return true;
}

static const char *show(Bench *b, const Affine *a) {
    Text t = {.arena = &b->arena};
    affine_print(&t, a, NULL);
    return text_str(&t);
}

static Bench *bench_new(uint64_t seed) {
    static Bench b;
    b = (Bench){.state = seed};
    arena_init(&b.arena, &allocator_libc);
    exprs_init(&b.x, &b.arena);
    return &b;
}

// Facts are taken in the order of the conditions or in reverse, until nothing is open.
TEST(pieces_are_what_they_were) {
    int64_t linear = 0, all = check_rounds(4000);
    for (int64_t round = 0; round < all; round++) {
        Bench *b = bench_new((uint64_t)round + 1);
        for (int i = 0; i < ITERS; i++) {
            b->least[i] = between(b, -2, 2);
            b->most[i] = b->least[i] + between(b, 0, 6);
        }
        const Affine *a = random_affine(b, (int)between(b, 1, 3)), *r = NULL;
        Pieces p = {.x = &b->x, .least = b->least, .most = b->most, .apart = -1, .quotients = 4};
        do {
            const Affine *fact = p.open ? piece_likelier(&p, p.open) : NULL;
            if (fact && between(b, 0, 3) == 0) fact = piece_opposite(&p, fact);
            if (fact) p.fact[p.nfacts++] = fact;
            p.open = NULL;
            r = piece_resolve(&p, a);
        } while (p.open && p.nfacts < PIECE_FACTS);
        if (!CHECK(agree(b, &p, a, r))) printf("%s became %s\n", show(b, a), show(b, r));
        linear += r->linear;
        arena_free(&b->arena);
    }
    CHECK(2 * linear > all);
}

TEST(pieces_of_known_subscripts) {
    Bench *b = bench_new(1);
    Exprs *x = &b->x;
    const Affine *q = affine_iter(x, 0), *r = affine_iter(x, 1);
    int64_t most[ITERS] = {9, 2, 0};
    Pieces p = {.x = x, .least = b->least, .most = most, .apart = -1, .quotients = 9};
    const Affine *k = affine_add(x, affine_scale(x, q, 3), r), *three = affine_const(x, 3);
    CHECK(piece_resolve(&p, affine_div(x, k, three)) == q);
    CHECK(piece_resolve(&p, affine_mod(x, k, three)) == r);
    CHECK_STR_EQ(show(b, piece_resolve(&p, affine_div(x, k, affine_const(x, 6)))), "i0/2");
    CHECK(!p.open || p.open->linear);
    p.open = NULL;
    const Affine *next = affine_add_const(x, q, 1), *ten = affine_const(x, 10);
    piece_resolve(&p, affine_mod(x, next, ten));
    CHECK_STR_EQ(show(b, p.open), "i0 - 9");
    const Affine *fact = piece_likelier(&p, p.open);
    CHECK_STR_EQ(show(b, fact), "8 - i0");
    p.fact[p.nfacts++] = fact;
    p.open = NULL;
    CHECK(piece_resolve(&p, affine_mod(x, next, ten)) == next);
    CHECK(!p.open);
    arena_free(&b->arena);
}

static const Expr *random_value(Bench *b, Type type, int depth) {
    static const ExprOp ops[] = {OP_ADD, OP_SUB, OP_MUL, OP_DIV,    OP_MOD,
                                 OP_SHL, OP_SHR, OP_MIN, OP_BITAND, OP_MAX};
    if (depth == 0) return expr_index(&b->x, type, random_linear(b));
    const Expr *a = random_value(b, type, depth - 1);
    int64_t k = between(b, 0, 3) ? between(b, 0, 9)
                                 : (int64_t)(((uint64_t)1 << between(b, 0, 70) % 64) - 1);
    return expr_binary(&b->x, ops[between(b, 0, 9)], a, expr_int(&b->x, type, k));
}

static bool same_values(const Bench *b, const Expr *e, const Affine *a) {
    int64_t at[ITERS];
    for (at[0] = b->least[0]; at[0] <= b->most[0]; at[0]++)
        for (at[1] = b->least[1]; at[1] <= b->most[1]; at[1]++)
            for (at[2] = b->least[2]; at[2] <= b->most[2]; at[2]++) {
                Value v = {.i = 0};
                if (!CHECK(expr_eval(e, at, &v)) || v.i != value_at(a, at)) return false;
            }
    return true;
}

TEST(values_of_indices_are_affine_where_they_do_not_wrap) {
    static const Type types[] = {TYPE_I64, TYPE_I32, TYPE_I16, TYPE_U8, TYPE_I8, TYPE_U32};
    int64_t found = 0, all = check_rounds(20000);
    for (int64_t i = 0; i < all; i++) {
        Bench *b = bench_new((uint64_t)i);
        for (int k = 0; k < ITERS; k++) {
            b->least[k] = between(b, -2, 2);
            b->most[k] = b->least[k] + between(b, 0, 6);
        }
        const Expr *e = random_value(b, types[between(b, 0, 5)], (int)between(b, 0, 2));
        const Affine *a = expr_as_affine(&b->x, e, b->least, b->most);
        CHECK(!b->x.overflow);
        if (a && !CHECK(same_values(b, e, a))) printf("it became %s\n", show(b, a));
        found += a != NULL;
        arena_free(&b->arena);
    }
    CHECK(4 * found > all);
}
