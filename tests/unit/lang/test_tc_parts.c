// Results with a declared shape that statements define in parts: in-out exactly when a part is
// missing, or read before it is written. Random partitions of the shape into boxes and into every
// second or third element, in random order, with a part left out now and then; half of the programs
// do not read the result. And whatever the subscripts are: a result that stays plain is written
// whole at every size.
#include "unit/check.h"

#include "lang/lang.h"

#include <string.h>

static int64_t pick(uint64_t *state, int64_t n) {
    return (int64_t)(check_random(state) % (uint64_t)n);
}

// Ends in the order of their values, for sizes of at least 4.
static const char *const cut[] = {"0", "1", "2", "N - 2", "N", "N + 1", "2*N", "3*N"};
enum { CUTS = 8, LEAVES = 40, LINE = 240 };

typedef struct Lab {
    uint64_t state;
    int rank, n;
    int lo[2], hi[2];
    char leaf[LEAVES][LINE];
} Lab;

// The subscript and the range of one dimension: elements lo + r, lo + r + step ...
static void write_dimension(Lab *l, int d, int step, int r, char *sub, char *range) {
    const char *lo = cut[l->lo[d]], *hi = cut[l->hi[d]];
    char i = (char)('i' + d);
    if (step > 1) {
        sprintf(sub, "%s + %d*%c + %d", lo, step, i, r);
        sprintf(range, "%c in 0:(%s - (%s) + %d)/%d", i, hi, lo, step - 1 - r, step);
    } else if (pick(&l->state, 3) == 0) {
        sprintf(sub, "%s - 1 - %c", hi, i);
        sprintf(range, "%c in 0:%s - (%s)", i, hi, lo);
    } else if (pick(&l->state, 2)) {
        sprintf(sub, "%c + %s", i, lo);
        sprintf(range, "%c in 0:%s - (%s)", i, hi, lo);
    } else {
        sprintf(sub, "%c", i);
        sprintf(range, "%c in %s:%s", i, lo, hi);
    }
}

static void write_leaf(Lab *l) {
    char sub[2][40], range[2][60];
    bool even = l->lo[0] < 3 || l->lo[0] == 6;                // what 2*N leaves is known
    even = even && (l->hi[0] > 2 || l->lo[0] + 1 < l->hi[0]); // and both halves are there
    int step = even && pick(&l->state, 3) == 0 ? 2 : 1;
    for (int r = 0; r < step; r++) {
        for (int d = 0; d < l->rank; d++) write_dimension(l, d, d ? 1 : step, r, sub[d], range[d]);
        char *out = l->leaf[l->n++];
        if (l->rank == 1)
            snprintf(out, LINE, "    O(%s) = x where %s\n", sub[0], range[0]);
        else
            snprintf(out, LINE, "    O(%s, %s) = x where %s, %s\n", sub[0], sub[1], range[0],
                     range[1]);
    }
}

static void split(Lab *l, int depth) {
    int d = (int)pick(&l->state, l->rank), width = l->hi[d] - l->lo[d];
    if (depth == 0 || width < 2 || pick(&l->state, 4) == 0) return write_leaf(l);
    int at = l->lo[d] + 1 + (int)pick(&l->state, width - 1), end = l->hi[d];
    l->hi[d] = at;
    split(l, depth - 1);
    l->hi[d] = end;
    int start = l->lo[d];
    l->lo[d] = at;
    split(l, depth - 1);
    l->lo[d] = start;
}

static int kept, missing;

static bool try_one(uint64_t seed) {
    Lab l = {.state = seed};
    char text[LEAVES * LINE + 300], size[40] = "";
    l.rank = 1 + (int)pick(&l.state, 2);
    for (int d = 0; d < l.rank; d++) {
        l.hi[d] = 1 + (int)pick(&l.state, CUTS - 1);
        snprintf(size + strlen(size), 20, "%s%s", d ? "," : "", cut[l.hi[d]]);
    }
    split(&l, 3);
    for (int i = l.n - 1; i > 0; i--) { // any order
        char swap[LINE];
        int j = (int)pick(&l.state, i + 1);
        memcpy(swap, l.leaf[i], LINE);
        memcpy(l.leaf[i], l.leaf[j], LINE);
        memcpy(l.leaf[j], swap, LINE);
    }
    bool part = pick(&l.state, 2) && l.n > 1;
    bool early = !part && l.n > 1 && pick(&l.state, 3) == 0; // read before the last part
    const char *read = l.rank == 1 ? "    S +=! O(i)\n" : "    S +=! O(i,j)\n";
    if (!early && pick(&l.state, 2)) read = "    S +=! A(i)\n"; // nobody reads the result
    int n = sprintf(text, "def f(float(N) A, float x) -> (float(%s) O, S) {\n", size);
    for (int i = part; i < l.n; i++) {
        if (early && i == l.n - 1) n += sprintf(text + n, "%s", read);
        n += sprintf(text + n, "%s", l.leaf[i]);
    }
    sprintf(text + n, "%s}\n", early ? "" : read);

    Arena arena;
    arena_init(&arena, &allocator_libc);
    Names names = {.arena = &arena};
    DiagList diags = {.arena = &arena};
    Source source = {"test.tc", text, (uint32_t)strlen(text)};
    const Module *m = tc_infer(tc_parse(&arena, &names, &source, &diags));
    bool ok = m->programs.n == 1;
    if (ok) {
        const Program *p = m->programs.at[0];
        Role role = p->tensors.at[program_find_tensor(p, name_of(&names, "O"))].role;
        ok = (role == ROLE_INOUT) == (part || early);
        const Program *b = program_bind(&arena, p, &(int64_t){7}, &diags);
        ok = ok && b && diags.errors == 0;
    }
    if (!ok) {
        Text t = {.arena = &arena};
        for (int i = 0; i < diags.items.n; i++) diag_print(&t, diags.items.at[i]);
        fprintf(stderr, "%s%s", text, text_str(&t));
    }
    kept += part || early;
    missing += part;
    arena_free(&arena);
    return ok;
}

TEST(declared_results_are_in_out_where_a_part_is_missing) {
    int64_t rounds = check_long_rounds(3000);
    kept = missing = 0;
    for (int64_t i = 0; i < rounds; i++)
        if (!CHECK(try_one((check_first_seed() + (uint64_t)i) * 271 + 1))) return;
    if (rounds >= 200) CHECK(missing * 8 > rounds && kept > missing && kept * 4 < rounds * 3);
}

// --- Any subscripts ------------------------------------------------------------------------------

static const char *const subs[] = {
    "i",         "j",   "i + j", "2*i",     "2*i + 1", "2*i + j",   "i/2",   "i/3",
    "i%3",       "i%2", "s*i",   "s*i + j", "M*i + j", "N - 1 - i", "i + N", "20*i + j",
    "min(i, 3)", "i/s", "i%s",   "i*j",     "3*i + j", "2*i/3",     "0",     "j + 2*M"};
static const char *const ends[] = {"N", "M", "2", "3", "s", "2*M", "3*M", "N*M", "20", "s*N"};
static const char *const sizes[] = {"N",       "M",     "2*N",     "3*M",        "N*M",
                                    "s*N",     "20*N",  "N/2",     "2",          "3",
                                    "2*N + 1", "N + M", "3*N - 1", "s*N - s + 2"};
#define ANY(table) table[pick(&state, (int64_t)(sizeof(table) / sizeof *(table)))]

// Is every element of the first result written by a statement of the bound Program?
static bool writes_all(Arena *arena, const Program *p, int tensor) {
    const Tensor *t = &p->tensors.at[tensor];
    int64_t n = 1, at[PROGRAM_MAX_ITERS] = {0}, v;
    for (int d = 0; d < t->rank; d++) n *= tensor_size(t, d);
    bool *seen = arena_new_n(arena, bool, n);
    for (int k = 0; k < p->stmts.n; k++) {
        const Stmt *st = &p->stmts.at[k];
        bool more = st->write->tensor == tensor;
        for (int i = 0; i < st->niters; i++) {
            at[i] = iter_lo(&st->iter[i]);
            more &= at[i] < iter_hi(&st->iter[i]);
        }
        while (more) {
            int64_t element = 0;
            for (int d = 0; d < t->rank; d++) {
                CHECK(affine_eval(st->write->sub[d], at, NULL, NULL, NULL, &v));
                element = element * tensor_size(t, d) + v;
            }
            seen[element] = true;
            int i = st->niters - 1;
            while (i >= 0 && ++at[i] == iter_hi(&st->iter[i])) at[i] = iter_lo(&st->iter[i]), i--;
            more = i >= 0;
        }
    }
    for (int64_t i = 0; i < n; i++)
        if (!seen[i]) return false;
    return true;
}

static int plain, partial;

static bool try_any(uint64_t seed) {
    uint64_t state = seed;
    char text[1000];
    int rank = 1 + (int)pick(&state, 2), n = 0, stmts = 1 + (int)pick(&state, 3);
    n += sprintf(text, "def f(float(N,M) A, float x, int s) -> (float(%s", ANY(sizes));
    n += rank > 1 ? sprintf(text + n, ",%s) O) {\n", ANY(sizes)) : sprintf(text + n, ") O) {\n");
    for (int k = 0; k < stmts; k++) {
        n += sprintf(text + n, "    O(%s", ANY(subs));
        if (rank > 1) n += sprintf(text + n, ", %s", ANY(subs));
        n += sprintf(text + n, ") +=! x where i in 0:%s, j in 0:%s\n", ANY(ends), ANY(ends));
    }
    sprintf(text + n, "}\n");
    Arena arena;
    arena_init(&arena, &allocator_libc);
    Names names = {.arena = &arena};
    Source source = {"test.tc", text, (uint32_t)strlen(text)};
    DiagList diags = {.arena = &arena};
    const Module *m = tc_infer(tc_parse(&arena, &names, &source, &diags));
    bool ok = true;
    for (int round = 0; m->programs.n == 1 && round < 6 && ok; round++) {
        const Program *p = m->programs.at[0];
        DiagList quiet = {.arena = &arena};
        int64_t value[3];
        for (int i = 0; i < 3; i++) value[i] = 1 + pick(&state, 4);
        const Program *b = program_bind(&arena, p, value, &quiet);
        if (!b) continue;
        int o = program_find_tensor(b, name_of(&names, "O"));
        bool whole = writes_all(&arena, b, o);
        ok = b->tensors.at[o].role != ROLE_OUTPUT || whole;
        plain += b->tensors.at[o].role == ROLE_OUTPUT;
        partial += !whole;
        if (!ok)
            fprintf(stderr, "%sat %lld, %lld, %lld\n", text, (long long)value[0],
                    (long long)value[1], (long long)value[2]);
    }
    arena_free(&arena);
    return ok;
}

TEST(plain_results_are_written_whole_at_every_size) {
    int64_t rounds = check_long_rounds(20000);
    plain = partial = 0;
    for (int64_t i = 0; i < rounds; i++)
        if (!CHECK(try_any((check_first_seed() + (uint64_t)i) * 613 + 5))) return;
    if (rounds >= 2000) CHECK(plain * 100 > rounds && partial * 20 > rounds);
}
