// Arenas, vectors, sets, names and text: the memory guarantees of base/.
#include "unit/check.h"

#include "base/arena.h"
#include "base/checked.h"
#include "base/map.h"
#include "base/name.h"
#include "base/text.h"
#include "base/vec.h"

// An allocator that provides `left` chunks and then fails, and counts outstanding bytes.
typedef struct Budget {
    int left;
    size_t outstanding;
} Budget;

static void *budget_alloc(void *user, size_t size) {
    Budget *b = user;
    if (b->left-- <= 0) return NULL;
    b->outstanding += size;
    return malloc(size);
}

static void budget_free(void *user, void *ptr, size_t size) {
    ((Budget *)user)->outstanding -= size;
    free(ptr);
}

TEST(arena_memory_is_zeroed_aligned_and_apart) {
    enum { COUNT = 3000 };
    static unsigned char *at[COUNT];
    static size_t size[COUNT];
    uint64_t random = 1;
    Arena a;
    arena_init(&a, &allocator_libc);
    for (int i = 0; i < COUNT; i++) {
        size[i] = check_random(&random) % 700;
        at[i] = arena_alloc(&a, size[i]);
        CHECK(((uintptr_t)at[i] & 15) == 0);
        for (size_t j = 0; j < size[i]; j++)
            if (at[i][j] != 0) CHECK_INT_EQ(at[i][j], 0);
        memset(at[i], i & 0xff, size[i]);
    }
    for (int i = 0; i < COUNT; i++)
        for (size_t j = 0; j < size[i]; j++)
            if (at[i][j] != (i & 0xff)) CHECK_INT_EQ(at[i][j], i & 0xff);
    arena_free(&a);
    CHECK_INT_EQ(a.reserved, 0);
}

TEST(arena_release_gives_back_what_came_after_the_mark) {
    Budget budget = {1000, 0};
    Allocator allocator = {.alloc = budget_alloc, .free = budget_free, .user = &budget};
    Arena a;
    arena_init(&a, &allocator);
    ArenaMark empty = arena_mark(&a);
    char *kept = arena_strndup(&a, "kept", 4);
    size_t before = budget.outstanding;
    ArenaMark mark = arena_mark(&a);
    for (int round = 0; round < 3; round++) {
        char *first = arena_alloc(&a, 40);
        arena_alloc(&a, 5 << 20);
        memset(first, 1, 40);
        arena_release(&a, mark);
        CHECK_INT_EQ(budget.outstanding, before);
        char *again = arena_alloc(&a, 40);
        CHECK(again == first);
        CHECK(again[39] == 0);
        arena_release(&a, mark);
    }
    CHECK_STR_EQ(kept, "kept");
    arena_release(&a, empty);
    CHECK_INT_EQ(budget.outstanding, before); // one chunk is kept, and used again
    CHECK(arena_alloc(&a, 8) != NULL);
    CHECK_INT_EQ(budget.outstanding, before);
    arena_free(&a);
    CHECK_INT_EQ(budget.outstanding, 0);
}

typedef struct Job {
    Arena *arena;
    size_t size;
    int reached;
} Job;

static void allocate(void *arg) {
    Job *job = arg;
    arena_alloc(job->arena, job->size);
    job->reached++;
}

static void allocate_inside(void *arg) {
    Job *job = arg;
    Job inner = {job->arena, SIZE_MAX - 3, 0};
    CHECK(!arena_try(job->arena, allocate, &inner));
    job->reached++;
    allocate(job); // fails as well, and unwinds to the outer one
}

TEST(arena_out_of_memory_unwinds_to_the_innermost_try) {
    Budget budget = {1, 0};
    Allocator allocator = {.alloc = budget_alloc, .free = budget_free, .user = &budget};
    Arena a;
    arena_init(&a, &allocator);
    Job fits = {&a, 64, 0}, large = {&a, 1 << 20, 0}, nested = {&a, 1 << 20, 0};
    CHECK(arena_try(&a, allocate, &fits));
    CHECK(!arena_try(&a, allocate, &large));
    CHECK(!arena_try(&a, allocate_inside, &nested));
    CHECK_INT_EQ(fits.reached, 1);
    CHECK_INT_EQ(large.reached, 0);
    CHECK_INT_EQ(nested.reached, 1);
    CHECK(arena_try(&a, allocate, &fits)); // usable afterwards, within its memory
    arena_free(&a);
    CHECK_INT_EQ(budget.outstanding, 0);
}

TEST(vectors_grow_and_keep_their_elements) {
    Arena a;
    arena_init(&a, &allocator_libc);
    VEC(int) v = {0};
    for (int i = 0; i < 1000; i++) vec_push(&a, &v, i * i);
    CHECK_INT_EQ(v.n, 1000);
    for (int i = 0; i < 1000; i++) CHECK_INT_EQ(v.at[i], i * i);
    CHECK_INT_EQ(vec_last(&v), 999 * 999);
    CHECK_INT_EQ(vec_pop(&v), 999 * 999);
    CHECK_INT_EQ(v.n, 999);
    arena_free(&a);
}

TEST(names_are_one_pointer_per_spelling) {
    Arena a;
    arena_init(&a, &allocator_libc);
    Names names = {.arena = &a};
    Name seen[500];
    char text[16];
    for (int i = 0; i < 500; i++) {
        snprintf(text, sizeof text, "n%d", i);
        seen[i] = name_of(&names, text);
        CHECK_STR_EQ(seen[i], text);
    }
    for (int i = 0; i < 500; i++) {
        int length = snprintf(text, sizeof text, "n%d and", i) - 4;
        CHECK(name_intern(&names, text, (size_t)length) == seen[i]);
    }
    CHECK(name_of(&names, "") == name_intern(&names, "x", 0));
    CHECK_INT_EQ(names.set.n, 501);
    arena_free(&a);
}

TEST(text_prints_the_shortest_float_that_reads_back) {
    static const struct {
        double value;
        bool single;
        const char *text;
    } cases[] = {
        {0, false, "0.0"},
        {-0.0, false, "-0.0"},
        {1, false, "1.0"},
        {0.1, false, "0.1"},
        {(double)0.1f, true, "0.1"},
        {1e300, false, "1e+300"},
        {-2.5, true, "-2.5"},
        {1e-5, false, "0.00001"},
        {1e-6, false, "1e-06"},
        {16777216, true, "1.6777216e+07"},
        {1234567, true, "1234567.0"},
        {100, true, "100.0"},
        {0.1 + 0.2, false, "0.30000000000000004"},
        {__builtin_inf(), true, "inf"},
        {-__builtin_inf(), true, "-inf"},
        {__builtin_nan(""), true, "nan"},
    };
    Arena a;
    arena_init(&a, &allocator_libc);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Text t = {.arena = &a};
        text_float(&t, cases[i].value, cases[i].single);
        CHECK_STR_EQ(text_str(&t), cases[i].text);
    }
    uint64_t random = 3;
    for (int64_t i = 0; i < check_rounds(20000); i++) {
        union {
            uint64_t u;
            double f;
        } bits = {check_random(&random)};
        Text t = {.arena = &a};
        ArenaMark mark = arena_mark(&a);
        text_float(&t, bits.f, false);
        CHECK_F64_EQ(strtod(text_str(&t), NULL), bits.f);
        arena_release(&a, mark);
    }
    arena_free(&a);
}

TEST(text_grows_by_every_way_of_adding) {
    Arena a;
    arena_init(&a, &allocator_libc);
    Text t = {.arena = &a};
    CHECK_STR_EQ(text_str(&t), "");
    text_add(&t, "ab");
    text_add_n(&t, "cdef", 1);
    text_char(&t, '-');
    text_fill(&t, '=', 3);
    text_fill(&t, '=', 0);
    text_int(&t, INT64_MIN);
    text_printf(&t, " %s %d", "x", 7);
    CHECK_STR_EQ(text_str(&t), "abc-===-9223372036854775808 x 7");
    size_t length = t.len;
    for (int i = 0; i < 300; i++) text_printf(&t, "%0*d", i, i);
    CHECK_INT_EQ(strlen(text_str(&t)), t.len);
    CHECK_INT_EQ(t.len, length + 299 * 300 / 2 + 1);
    arena_free(&a);
}

TEST(floor_division_agrees_with_wide_arithmetic) {
    static const int64_t edge[] = {INT64_MIN, INT64_MIN + 1, -7, -2, -1, 0, 1, 2, 7, INT64_MAX};
    for (size_t i = 0; i < 10; i++) {
        for (size_t j = 0; j < 10; j++) {
            int64_t a = edge[i], b = edge[j], q = floor_div(a, b), r = floor_mod(a, b), sum;
            if (b == 0) {
                CHECK(q == 0 && r == 0);
                continue;
            }
            if (a == INT64_MIN && b == -1) {
                CHECK(q == INT64_MIN && r == 0);
                continue;
            }
            CHECK((__int128)q * b + r == a);
            CHECK(b > 0 ? r >= 0 && r < b : r <= 0 && r > b);
            if (b > 0 && r) CHECK_INT_EQ(ceil_div(a, b), q + 1);
            __int128 wide = (__int128)a + b;
            CHECK(checked_add(a, b, &sum) == (wide == (int64_t)wide));
            wide = (__int128)a * b;
            CHECK(checked_mul(a, b, &sum) == (wide == (int64_t)wide));
        }
    }
}
