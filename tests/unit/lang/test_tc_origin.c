// Calls and origins: a chain of calls gives the same result as running its functions one after the
// other on dense arrays that start at 0, whatever the origins of the intermediate results.
#include "unit/check.h"
#include "lang/lang.h"

#include <string.h>

static const char functions[] =
    "def shift(float(N) A) -> (O) { O(i) = A(i - 3) }\n"
    "def blur(float(N) A) -> (O) { O(i) = A(i - 1) + A(i) + A(i + 1) }\n"
    "def turn(float(N) A) -> (O) { O(i) = A(N - 1 - i) }\n"
    "def even(float(N) A) -> (O) { O(i) = A(2*i) }\n"
    "def late(float(N) A) -> (O) { O(i) = A(i - 5) - A(i - 4) }\n"
    "def hold(float(N) A) -> (O) { O(i) = clamp(A(i + 2)) where i in 0:N }\n"
    "def fold(float(N) A) -> (O) { O(i) = mirror(A(i - 2)) where i in 1:N }\n"
    "def zero(float(N) A) -> (O) { O(i) = pad(A(i - 1), 7.0) where i in 0:N + 1 }\n"
    "def sums(float(N) A) -> (O) { O(i) +=! k <= i ? A(k) : 0.0 where i in 0:N }\n"
    "def full(float(N) A) -> (float(N) O) { O(i) = A(i) * 2.0 }\n"
    "def size(float(N) A) -> (O) { O(i) = A(i) + float(A.0) where i in 0:A.0 }\n"
    "def pair(float(N) A, float(N) B) -> (O) { O(i) = A(i) - B(N - 1 - i) }\n"
    "def nest(float(N) A) -> (O) { T = late(A)  O = turn(T) }\n"
    "def here(float(N) A) -> (O) { O(i) = A(i) + 1.0 }\n"; // the caller writes it out

static const char *const name[] = {"shift", "blur", "turn", "even", "late", "hold", "fold",
                                   "zero",  "sums", "full", "size", "nest", "pair", "here"};
enum { NAMES = sizeof name / sizeof *name, PAIR = NAMES - 2, HERE = NAMES - 1, MOST = 400 };

typedef struct Lab {
    Arena arena;
    Names names;
    DiagList diags;
    const Module *module;
} Lab;

static bool parse(Lab *l, const char *text) {
    arena_init(&l->arena, &allocator_libc);
    l->names = (Names){.arena = &l->arena};
    l->diags = (DiagList){.arena = &l->arena};
    Source *s = arena_new(&l->arena, Source);
    *s = (Source){"test.tc", text, (uint32_t)strlen(text)};
    l->module = tc_infer(tc_parse(&l->arena, &l->names, s, &l->diags));
    return l->diags.errors == 0;
}

static void show(Lab *l, const char *text) {
    Text t = {.arena = &l->arena};
    for (int i = 0; i < l->diags.items.n; i++) diag_print(&t, l->diags.items.at[i]);
    fprintf(stderr, "%s%s", text, text_str(&t));
}

// Runs a function on dense arrays of n elements; the number of elements of its result, -1: none.
static int64_t run(Lab *l, const char *function, float *const *in, int64_t n, float *out) {
    for (int k = 0; k < l->module->programs.n; k++) {
        const Program *p = l->module->programs.at[k];
        View v[3];
        if (strcmp(p->name, function)) continue;
        const Program *q = program_bind(&l->arena, p, &n, &l->diags);
        if (!q) return -1;
        for (int i = 0; i < q->ninputs; i++) v[i] = (View){in[i], TYPE_F32, 1, &n, NULL};
        int64_t size = tensor_size(&q->tensors.at[q->ninputs], 0);
        if (size > MOST) return -1;
        v[q->ninputs] = (View){out, TYPE_F32, 1, &size, NULL};
        InterpFlags trap = {.trap_uninitialised = true};
        return program_interpret(&l->arena, q, v, trap, &l->diags) ? size : -1;
    }
    return -1;
}

typedef struct Chain {
    int n, stage[8];
} Chain;

static const char *write_chain(Arena *arena, const Chain *c) {
    Text t = {.arena = arena};
    text_printf(&t, "%sdef chain(float(N) A) -> (O) {\n", functions);
    for (int i = 0; i < c->n; i++) {
        const char *from = i ? arena_printf(arena, "T%d", i - 1) : "A";
        const char *to = i + 1 < c->n ? arena_printf(arena, "T%d", i) : "O";
        if (c->stage[i] == HERE)
            text_printf(&t, "    %s(i) = %s(i) + 1.0\n", to, from);
        else if (c->stage[i] == PAIR)
            text_printf(&t, "    %s = pair(%s, %s)\n", to, from, from);
        else
            text_printf(&t, "    %s = %s(%s)\n", to, name[c->stage[i]], from);
    }
    text_add(&t, "}\n");
    return text_str(&t);
}

static int compared;

static bool try_one(uint64_t seed) {
    Chain c = {.n = 1 + (int)(check_random(&seed) % 5)};
    float got[MOST], buffer[2][MOST];
    Arena arena;
    Lab l;
    arena_init(&arena, &allocator_libc);
    for (int i = 0; i < c.n; i++) c.stage[i] = (int)(check_random(&seed) % NAMES);
    int64_t n = 1 + (int64_t)(check_random(&seed) % 40), size = n;
    const char *text = write_chain(&arena, &c);
    bool ok = parse(&l, text);
    float *in[2] = {buffer[0], buffer[0]}, first[MOST];
    for (int i = 0; i < n; i++) first[i] = buffer[0][i] = (float)(check_random(&seed) % 17);
    for (int i = 0; i < c.n && ok && size > 0; i++) {
        in[0] = in[1] = buffer[i % 2];
        size = run(&l, name[c.stage[i]], in, size, buffer[(i + 1) % 2]);
    }
    if (ok && size > 0) { // for empty arrays, the chain may have more conditions
        in[0] = first;
        ok = run(&l, "chain", in, n, got) == size;
        ok = ok && !memcmp(got, buffer[c.n % 2], (size_t)size * sizeof *got);
        compared++;
    }
    if (!ok) fprintf(stderr, "n = %lld\n", (long long)n), show(&l, text);
    arena_free(&l.arena);
    arena_free(&arena);
    return ok;
}

TEST(chains_of_calls_count_arguments_from_zero) {
    int64_t rounds = check_long_rounds(4000);
    compared = 0;
    for (int64_t i = 0; i < rounds; i++)
        if (!CHECK(try_one((check_first_seed() + (uint64_t)i) * 31))) return;
    CHECK(rounds < 100 || compared * 3 > rounds);
}

TEST(a_result_that_starts_above_zero_is_whole_as_an_argument) {
    Lab l;
    float a[5] = {1, 2, 4, 8, 16}, out[5], *in[] = {a};
    CHECK(parse(&l, "def blur(float(N) A) -> (O) { O(i) = A(i - 1) + A(i) + A(i + 1) }\n"
                    "def rev(float(N) A) -> (B) { B(i) = A(N - 1 - i) }\n"
                    "def both(float(N) A) -> (B) { T = blur(A)  B = rev(T) }\n"));
    CHECK_INT_EQ(run(&l, "both", in, 5, out), 3);
    CHECK(out[0] == 28 && out[1] == 14 && out[2] == 7);
    arena_free(&l.arena);
}
