// Descriptions compiled by spacec, on small backbones: what the paper's listings mean, and the
// properties that every space has.
#include "unit/check.h"

#include "space/space.h"
#include "spaces/hosts.h"
#include "spaces/listing01_space.h"
#include "spaces/listing02_space.h"
#include "spaces/listing03_space.h"
#include "spaces/listing05_space.h"
#include "spaces/listing06_space.h"
#include "spaces/listing07_space.h"
#include "spaces/listing12_space.h"

#include <math.h>
#include <stdio.h>

typedef struct Bench {
    Arena arena;
    Space *s;
    SpaceWork *w;
    Cand *c;
} Bench;

static void bench_begin(Bench *b) { arena_init(&b->arena, &allocator_libc); }

static bool bench_space(Bench *b, const Backbone *backbone) {
    b->s = space_new(&b->arena, backbone);
    b->w = space_work(&b->arena, b->s);
    b->c = space_cand(&b->arena, b->s);
    space_copy(b->s, b->c, b->s->root);
    return !space_dead(b->s, b->s->root);
}

static bool set(Bench *b, int choice, int x, int y, uint64_t keep) {
    bool flipped;
    int var = space_var(b->s, choice, x, y, &flipped);
    const ChoiceDesc *c = &b->s->desc->choice[choice];
    uint64_t turned = 0;
    for (int i = 0; flipped && i < c->nvalues; i++)
        if (keep >> i & 1) turned |= 1ull << c->inverse[i];
    return CHECK(var >= 0) && space_keep(b->w, b->c, var, flipped ? turned : keep);
}

static uint64_t ask(Bench *b, int choice, int x, int y) {
    return space_ask(b->s, b->c, choice, x, y);
}

static int objects(Backbone *k, int set_number, const char *name, int n, bool optional) {
    int first = -1;
    for (int i = 0; i < n; i++) {
        char text[32];
        snprintf(text, sizeof text, "%s%d", name, i);
        int o = backbone_object(k, text, optional);
        if (first < 0) first = o;
        backbone_add(k, set_number, o);
    }
    return first;
}

// --- Listings ------------------------------------------------------------------------------------

TEST(listings_1_and_2) {
    CHECK_INT_EQ(listing01_desc.nsets, 3);
    CHECK_INT_EQ(listing01_desc.set[LISTING01_SET_MEMACCESSES].superset,
                 LISTING01_SET_INSTRUCTIONS);
    CHECK_INT_EQ(listing01_desc.set[LISTING01_SET_ACCESSEDREGIONS].param,
                 LISTING01_SET_MEMACCESSES);
    Bench b;
    bench_begin(&b);
    Backbone *k = backbone_new(&b.arena, &listing02_desc, NULL);
    objects(k, LISTING02_SET_MEMACCESSES, "ld", 3, false);
    CHECK(bench_space(&b, k));
    CHECK_INT_EQ(b.s->ndecisions, 3);
    CHECK_INT_EQ((int64_t)ask(&b, LISTING02_CACHE, 0, -1), 15);
    arena_free(&b.arena);
}

TEST(listing_3_antisymmetric_choices_store_half) {
    Bench b;
    bench_begin(&b);
    Backbone *k = backbone_new(&b.arena, &listing03_desc, NULL);
    objects(k, LISTING03_SET_INSTRUCTIONS, "i", 5, false);
    CHECK(bench_space(&b, k));
    CHECK_INT_EQ(b.s->ndecisions, 10);
    CHECK(set(&b, LISTING03_ORDER, 1, 3, LISTING03_ORDER_BEFORE));
    CHECK_INT_EQ((int64_t)ask(&b, LISTING03_ORDER, 3, 1), LISTING03_ORDER_AFTER);
    arena_free(&b.arena);
}

TEST(listing_4_order_is_transitive) {
    Bench b;
    bench_begin(&b);
    Backbone *k = backbone_new(&b.arena, &listing03_desc, NULL);
    objects(k, LISTING03_SET_INSTRUCTIONS, "i", 3, false);
    CHECK(bench_space(&b, k));
    CHECK(set(&b, LISTING03_ORDER, 0, 1, LISTING03_ORDER_BEFORE));
    CHECK(set(&b, LISTING03_ORDER, 1, 2, LISTING03_ORDER_BEFORE));
    CHECK_INT_EQ((int64_t)ask(&b, LISTING03_ORDER, 0, 2), LISTING03_ORDER_BEFORE);
    CHECK(!set(&b, LISTING03_ORDER, 2, 0, LISTING03_ORDER_BEFORE));
    CHECK(space_dead(b.s, b.c));
    arena_free(&b.arena);
}

static int64_t twenty(void) { return 20; }
static int64_t thirty(void) { return 30; }

TEST(listing_5_a_sum_is_bounded) {
    Bench b;
    bench_begin(&b);
    ListingHost host = {.block = {{twenty}, {twenty}, {thirty}}};
    Backbone *k = backbone_new(&b.arena, &listing05_desc, &host);
    objects(k, LISTING05_SET_MEMBLOCKS, "mem", 3, false);
    CHECK(bench_space(&b, k));
    CHECK(set(&b, LISTING05_MEM_SPACE, 0, -1, LISTING05_MEM_SPACE_LOCAL));
    int64_t min, max;
    space_count(b.s, b.c, LISTING05_LOCAL_MEM, -1, -1, &min, &max);
    CHECK_INT_EQ(min, 20);
    CHECK_INT_EQ(max, 40); // 50 with the third would not fit: it lost LOCAL
    CHECK_INT_EQ((int64_t)ask(&b, LISTING05_MEM_SPACE, 2, -1), LISTING05_MEM_SPACE_GLOBAL);
    CHECK_INT_EQ((int64_t)ask(&b, LISTING05_MEM_SPACE, 1, -1), 3);
    arena_free(&b.arena);
}

TEST(listing_6_fused_dimensions_count_once) {
    Bench b;
    bench_begin(&b);
    ListingHost host = {.max_threads = 1024};
    for (int i = 0; i < 3; i++) host.dim[i] = (ListingDim){3, {2, 32, 1024}};
    Backbone *k = backbone_new(&b.arena, &listing06_desc, &host);
    objects(k, LISTING06_SET_DIMENSIONS, "d", 3, false);
    CHECK(bench_space(&b, k));
    for (int i = 0; i < 2; i++)
        CHECK(set(&b, LISTING06_DIM_KIND, i, -1, LISTING06_DIM_KIND_THREAD));
    CHECK(set(&b, LISTING06_SIZE, 0, -1, 4)); // 1024
    CHECK_INT_EQ((int64_t)ask(&b, LISTING06_IS_THREAD_DIM, 0, -1), LISTING06_IS_THREAD_DIM_TRUE);
    // a second one of its own would be too many threads
    CHECK_INT_EQ((int64_t)ask(&b, LISTING06_IS_THREAD_DIM, 1, -1), LISTING06_IS_THREAD_DIM_FALSE);
    CHECK(set(&b, LISTING06_FUSED, 0, 1, LISTING06_FUSED_TRUE));
    CHECK_INT_EQ((int64_t)ask(&b, LISTING06_SIZE, 1, -1), 4);
    int64_t min, max;
    space_count(b.s, b.c, LISTING06_NUM_THREADS, -1, -1, &min, &max);
    CHECK_INT_EQ(min, 1024);
    arena_free(&b.arena);
}

// The outer product of the paper's Table 1: a and b in one dimension each, c and the store in both.
static void outer_product(Bench *b, ListingHost *host) {
    bench_begin(b);
    *host = (ListingHost){0};
    for (int i = 0; i < 16; i++) host->dim[i] = (ListingDim){1, {8}};
    Backbone *k = backbone_new(&b->arena, &listing07_desc, host);
    int inst = objects(k, LISTING07_SET_INSTS, "i", 4, false); // load a, load b, mul, store
    int dim = objects(k, LISTING07_SET_DIMENSIONS, "d", 2, false);
    static const int in[4] = {1, 2, 3, 3};
    for (int i = 0; i < 4; i++) {
        for (int d = 0; d < 2; d++)
            if (in[i] >> d & 1) backbone_relate(k, LISTING07_SET_OUTERDIMS, inst + i, dim + d);
        host->may_gain[inst + i] = 3u << dim; // loads may be repeated
    }
    CHECK(bench_space(b, k));
}

TEST(listing_8_both_nestings_are_there) {
    Bench b;
    ListingHost host;
    for (int way = 0; way < 2; way++) {
        outer_product(&b, &host);
        int dm = 4, dn = 5, a = 0, bb = 1;
        uint64_t nest = way ? LISTING07_ORDER_INNER : LISTING07_ORDER_OUTER;
        CHECK_INT_EQ((int64_t)ask(&b, LISTING07_ORDER, dm, dn),
                     LISTING07_ORDER_INNER | LISTING07_ORDER_OUTER | LISTING07_ORDER_MERGED);
        CHECK(set(&b, LISTING07_ORDER, dm, dn, nest));
        // the load of the outer dimension's vector stands outside the inner loop, or is repeated in
        // it
        uint64_t outer_load = ask(&b, LISTING07_ORDER, way ? bb : a, way ? dm : dn);
        uint64_t inner_load = ask(&b, LISTING07_ORDER, way ? a : bb, way ? dn : dm);
        CHECK_INT_EQ((int64_t)outer_load,
                     LISTING07_ORDER_BEFORE | LISTING07_ORDER_AFTER | LISTING07_ORDER_INNER);
        CHECK_INT_EQ((int64_t)inner_load, LISTING07_ORDER_INNER); // it cannot stay outside
        uint64_t seed = 3;
        CHECK(space_complete(b.w, b.c, &seed));
        arena_free(&b.arena);
    }
}

TEST(listing_12_a_trigger_brings_an_array_about) {
    Bench b;
    bench_begin(&b);
    ListingHost host = {0};
    Backbone *k = backbone_new(&b.arena, &listing12_desc, &host);
    int dim = objects(k, LISTING12_SET_DIMENSIONS, "d", 4, false);
    for (int i = 0; i < 2; i++) {
        int m = objects(k, LISTING12_SET_MAPPINGS, i ? "n" : "m", 1, false);
        backbone_relate(k, LISTING12_SET_FROM, m, dim + i);
        backbone_relate(k, LISTING12_SET_TO, m, dim + 2 + i);
    }
    for (int i = 0; i < 2; i++)
        host.mapping[4 + i].array = objects(k, LISTING12_SET_ARRAYS, i ? "u" : "t", 1, true);
    CHECK(bench_space(&b, k));
    CHECK(!space_exists(b.s, b.c, 6));
    CHECK(set(&b, LISTING12_ORDER, 0, 2, LISTING12_ORDER_MERGED)); // d0_a and d0_b are fused
    CHECK_INT_EQ((int64_t)ask(&b, LISTING12_MAPPING, 4, -1), LISTING12_MAPPING_FUSED);
    CHECK(set(&b, LISTING12_ORDER, 1, 3, LISTING12_ORDER_BEFORE)); // d1_a and d1_b are not
    CHECK(set(&b, LISTING12_KIND, 1, -1, LISTING12_KIND_LOOP));
    CHECK_INT_EQ((int64_t)ask(&b, LISTING12_MAPPING, 5, -1), LISTING12_MAPPING_ARRAY);
    CHECK(!space_exists(b.s, b.c, 6));
    CHECK(space_exists(b.s, b.c, 7));
    CHECK(!space_full(b.s, b.c)); // its place is open now
    arena_free(&b.arena);
}

// --- Properties ----------------------------------------------------------------------------------

typedef struct Found {
    Decision d[512];
    int n;
} Found;

// A random leaf, by the decisions that lead to it.
static bool descend(Bench *b, uint64_t *seed, Found *f) {
    space_copy(b->s, b->c, b->s->root);
    f->n = 0;
    for (int var; (var = space_open(b->s, b->c, 0)) >= 0 && f->n < 512;) {
        uint64_t dom = space_domain(b->s, b->c, var), bit = dom;
        for (int skip = (int)(check_random(seed) % (uint64_t)__builtin_popcountll(dom)); skip;
             skip--)
            bit &= bit - 1;
        f->d[f->n++] = (Decision){var, bit & -bit};
        if (!space_keep(b->w, b->c, var, bit & -bit)) return false;
    }
    return true;
}

// The same decisions in any order give the same bytes; domains only shrink; what is printed reads
// back.
static void properties(Bench *b, int rounds) {
    Cand *again = space_cand(&b->arena, b->s), *before = space_cand(&b->arena, b->s);
    int leaves = 0;
    for (int r = 0; r < rounds; r++) {
        uint64_t seed = (uint64_t)r + 1;
        Found f;
        bool alive = descend(b, &seed, &f);
        leaves += alive;
        for (int i = f.n - 1; i > 0; i--) {
            int j = (int)(check_random(&seed) % (uint64_t)(i + 1));
            Decision t = f.d[i];
            f.d[i] = f.d[j];
            f.d[j] = t;
        }
        bool same = true;
        space_copy(b->s, again, b->s->root);
        for (int i = 0; i < f.n && same; i++) {
            space_copy(b->s, before, again);
            same = space_keep(b->w, again, f.d[i].var, f.d[i].keep);
            for (int v = 0; same && v < b->s->ndecisions; v++)
                CHECK(!(space_domain(b->s, again, v) & ~space_domain(b->s, before, v)));
        }
        if (!CHECK(same == alive)) return;
        if (!alive) continue;
        if (!CHECK(memcmp(again, b->c, b->s->size) == 0)) return;
        CHECK(space_hash(b->s, again) == space_hash(b->s, b->c));
        Text text = {.arena = &b->arena}, twice = {.arena = &b->arena};
        space_print(&text, b->s, b->c);
        Source src = {"<space>", text_str(&text), (uint32_t)text.len};
        DiagList diags = {.arena = &b->arena};
        int n;
        Decision *d = space_parse(&b->arena, b->s, &src, &diags, &n);
        if (!CHECK(d)) return;
        space_copy(b->s, again, b->s->root);
        CHECK(space_apply(b->w, again, d, n));
        CHECK(memcmp(again, b->c, b->s->size) == 0);
        space_print(&twice, b->s, again);
        CHECK_STR_EQ(text_str(&text), text_str(&twice));
    }
    CHECK(leaves > 0);
}

TEST(properties_of_an_order) {
    Bench b;
    bench_begin(&b);
    Backbone *k = backbone_new(&b.arena, &listing03_desc, NULL);
    objects(k, LISTING03_SET_INSTRUCTIONS, "i", 6, false);
    CHECK(bench_space(&b, k));
    properties(&b, 50);
    // 6! orders
    SpaceEstimate e = space_knuth(b.w, &b.arena, b.s->root, 4000, 1);
    CHECK(fabs(e.mean - 720) <= 3 * e.half_width + 1e-6);
    e = space_chen(b.w, &b.arena, b.s->root, 400, 1);
    CHECK(fabs(e.mean - 720) <= 3 * e.half_width + 1e-6);
    arena_free(&b.arena);
}

TEST(properties_with_counters_and_quotients) {
    Bench b;
    bench_begin(&b);
    ListingHost host = {.max_threads = 64};
    for (int i = 0; i < 5; i++) host.dim[i] = (ListingDim){4, {1, 2, 8, 32}};
    Backbone *k = backbone_new(&b.arena, &listing06_desc, &host);
    objects(k, LISTING06_SET_DIMENSIONS, "d", 5, false);
    CHECK(bench_space(&b, k));
    properties(&b, 100);
    arena_free(&b.arena);
}

TEST(properties_with_nesting) {
    Bench b;
    ListingHost host;
    outer_product(&b, &host);
    properties(&b, 100);
    arena_free(&b.arena);
}

TEST(properties_with_triggers) {
    Bench b;
    bench_begin(&b);
    ListingHost host = {0};
    Backbone *k = backbone_new(&b.arena, &listing12_desc, &host);
    int dim = objects(k, LISTING12_SET_DIMENSIONS, "d", 6, false);
    for (int i = 0; i < 3; i++) {
        int m = objects(k, LISTING12_SET_MAPPINGS, i ? i > 1 ? "o" : "n" : "m", 1, false);
        backbone_relate(k, LISTING12_SET_FROM, m, dim + i);
        backbone_relate(k, LISTING12_SET_TO, m, dim + 3 + i);
    }
    for (int i = 0; i < 3; i++)
        host.mapping[6 + i].array =
            objects(k, LISTING12_SET_ARRAYS, i ? i > 1 ? "v" : "u" : "t", 1, true);
    CHECK(bench_space(&b, k));
    properties(&b, 100);
    arena_free(&b.arena);
}

TEST(a_trace_names_the_rule) {
    Bench b;
    bench_begin(&b);
    Backbone *k = backbone_new(&b.arena, &listing03_desc, NULL);
    objects(k, LISTING03_SET_INSTRUCTIONS, "i", 3, false);
    CHECK(bench_space(&b, k));
    SpaceTrace trace = {.arena = &b.arena};
    CHECK(set(&b, LISTING03_ORDER, 0, 1, LISTING03_ORDER_BEFORE));
    space_trace(b.w, &trace);
    CHECK(set(&b, LISTING03_ORDER, 1, 2, LISTING03_ORDER_BEFORE));
    space_trace(b.w, NULL);
    if (!CHECK_INT_EQ(trace.at.n, 2)) return;
    Text text = {.arena = &b.arena};
    removal_print(&text, b.s, &trace.at.at[1]);
    CHECK(strstr(text_str(&text), "order(i2, i0) loses BEFORE: tests/spaces/listing03.space:") !=
          NULL);
    arena_free(&b.arena);
}

TEST(decisions_that_mean_nothing_are_reported) {
    Bench b;
    bench_begin(&b);
    Backbone *k = backbone_new(&b.arena, &listing03_desc, NULL);
    objects(k, LISTING03_SET_INSTRUCTIONS, "i", 3, false);
    CHECK(bench_space(&b, k));
    static const struct {
        const char *text;
        DiagId id;
    } wrong[] = {{"order(i0, i7) = BEFORE", DIAG_SPACE_UNKNOWN_OBJECT},
                 {"order(i0, i0) = BEFORE", DIAG_SPACE_NO_VARIABLE},
                 {"size(i0) = 3", DIAG_SPEC_UNKNOWN_CHOICE},
                 {"order(i0, i1) = INNER", DIAG_SPEC_UNKNOWN_VALUE}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        Source src = {"<set>", wrong[i].text, (uint32_t)strlen(wrong[i].text)};
        DiagList diags = {.arena = &b.arena};
        int n;
        CHECK(!space_parse(&b.arena, b.s, &src, &diags, &n));
        if (CHECK_INT_EQ(diags.items.n, 1)) CHECK(diags.items.at[0]->id == wrong[i].id);
    }
    arena_free(&b.arena);
}
