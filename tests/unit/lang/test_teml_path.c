// Trees as TeML programs: random programs under random Schedules. Where a path exists, the text
// makes the same loops (teml_path sees to that itself) and computes the same, bit by bit.
#include "unit/check.h"

#include "lang/lang.h"
#include "support/genprog.h"
#include "support/gensched.h"
#include "support/proglab.h"
#include "support/shapes.h"
#include "tree/tree_interp.h"

#include <string.h>

// The Tree that the text makes; NULL: it does not run.
static const Tree *tree_of_path(Lab *lab, const char *text) {
    DiagList found = {.arena = &lab->arena};
    TemlOptions options = {.trust = TEML_PROVEN};
    Source *source = arena_new(&lab->arena, Source);
    *source = (Source){"p.teml", text, (uint32_t)strlen(text)};
    TemlResult r = teml_parse(&lab->arena, &lab->arena, &lab->names, source, &options, &found);
    return CHECK(!found.errors && r.module->trees.n == 1) ? r.module->trees.at[0] : NULL;
}

// The arguments of `t` by name; temporaries of the Program are results there.
static View *views_for(Lab *lab, const Tree *t, const Program *p, const LabData *data) {
    const Program *q = t->program;
    View *views = arena_new_n(&lab->arena, View, q->tensors.n + 1);
    for (int i = 0; i < q->tensors.n; i++) {
        int at = program_find_tensor(p, q->tensors.at[i].name);
        if (CHECK(at >= 0) && at < p->ninputs + p->noutputs) {
            views[i] = data->view[at];
            continue;
        }
        const Tensor *of = &q->tensors.at[i];
        int64_t *size = arena_new_n(&lab->arena, int64_t, 2 * of->rank + 1), step = 1;
        for (int d = of->rank - 1; d >= 0; d--) {
            size[d] = tensor_size(of, d);
            size[of->rank + d] = step;
            step *= size[d];
        }
        void *bytes = arena_alloc(&lab->arena, (size_t)tensor_elements(of) * 8 + 8);
        views[i] = (View){bytes, of->type, of->rank, size, size + of->rank};
    }
    return views;
}

static bool check_path(Lab *lab, const Program *p, const Tree *t, const char *text, uint64_t seed) {
    const Tree *made = tree_of_path(lab, text);
    LabData want = lab_data(lab, p, seed), got = lab_copy(lab, p, &want);
    if (!made) return false;
    View *views = views_for(lab, made, p, &got);
    bool a = tree_interpret(&lab->arena, t, want.view, (InterpFlags){0}, &lab->diags);
    bool b = tree_interpret(&lab->arena, made, views, (InterpFlags){0}, &lab->diags);
    return CHECK(a == b) && (!a || CHECK(!lab_difference(lab, p, &got, &want)));
}

// --- Programs that have paths --------------------------------------------------------------------

static const char *const texts[] = {
    "program mm(M, N, K) { input A: f32[M, K] input B: f32[K, N] output C: f32[M, N]"
    " for i in 0:M, j in 0:N, k in 0:K  C[i, j] +=! A[i, k]*B[k, j] }",
    "program mttkrp(M, N, K) { input B: f64[M, K, N] input D: f64[N, M] input E: f64[K, M]"
    " output A: f64[M, M]"
    " for i in 0:M, j in 0:M, k in 0:K, l in 0:N  A[i, j] +=! B[i, k, l]*D[l, j]*E[k, j] }",
    "program turn(M, N, K) { input A: f32[M, N, K] output B: f32[K, M, N]"
    " for i in 0:K, j in 0:M, k in 0:N  B[i, j, k] = A[j, k, i] }",
    "program window(M, N, K) { input A: i32[M + K - 1, N] input W: i32[K] output O: i32[M, N]"
    " for i in 0:M, j in 0:N, k in 0:K  O[i, j] +=! A[i + k, j]*W[k] }",
    "program two(M, N, K) { input A: f32[M, N] input B: f32[M, N] output C: f32[M, N]"
    " output D: f32[M]  for i in 0:M, j in 0:N  C[i, j] = A[i, j]*B[i, j] - A[i, j]"
    " for i in 0:M, j in 0:N  D[i] +=! C[i, j] }",
};

// Random strips in a random order, a mark on the first and on the last loop now and then.
static void random_section(Text *out, const Stmt *st, uint64_t *state) {
    int left[PROGRAM_MAX_ITERS], total = 0;
    int64_t step[PROGRAM_MAX_ITERS];
    for (int k = 0; k < st->niters; k++) {
        total += left[k] = 1 + (int)(check_random(state) % 3);
        step[k] = 12;
    }
    text_printf(out, "%s:", st->label);
    for (int n = total; n > 0; n--) {
        int k = (int)(check_random(state) % (uint64_t)st->niters);
        while (!left[k]) k = (k + 1) % st->niters;
        step[k] = 1 + (int64_t)(check_random(state) % (uint64_t)step[k]);
        text_printf(out, " %s", st->iter[k].name);
        if (--left[k] && step[k] > 1) text_printf(out, "/%lld", (long long)step[k]);
        if (step[k] == 1) n -= left[k], left[k] = 0; // the last digit
        if (n == total && check_random(state) % 3 == 0) text_add(out, ":p");
        if (n == 1 && check_random(state) % 2) text_add(out, ":v");
    }
    text_char(out, '\n');
}

static const Schedule *random_schedule(Lab *lab, const Program *p, uint64_t *state) {
    Text out = {.arena = &lab->arena};
    for (int s = 0; s < p->stmts.n; s++) random_section(&out, &p->stmts.at[s], state);
    Source *source = arena_new(&lab->arena, Source);
    *source = (Source){"s.lws", text_str(&out), (uint32_t)out.len};
    const Schedule *s = schedule_parse(&lab->arena, &lab->names, source, &lab->diags);
    if (!CHECK(s)) puts(text_str(&out));
    return s;
}

static bool try_path(Lab *lab, const Program *p, const Tree *t, uint64_t seed) {
    DiagList found = {.arena = &lab->arena};
    const char *text = t ? teml_path(&lab->arena, t, &found) : NULL;
    if (!text) return CHECK(!t || found.errors == 1) && false;
    if (!check_path(lab, p, t, text, seed)) printf("seed %lld:\n%s", (long long)seed, text);
    return true;
}

TEST(teml_paths_of_random_schedules) {
    int64_t made = 0, rounds = check_long_rounds(1000);
    for (int64_t i = 0; i < rounds; i++) {
        uint64_t seed = check_first_seed() + (uint64_t)i, state = seed;
        Lab lab;
        lab_begin(&lab);
        const char *text = texts[check_random(&state) % (sizeof texts / sizeof *texts)];
        int64_t values[3];
        for (int k = 0; k < 3; k++) values[k] = 2 + (int64_t)(check_random(&state) % 9);
        const Program *p = lab_program(&lab, text, values);
        const Schedule *s = CHECK(p) ? random_schedule(&lab, p, &state) : NULL;
        const Tree *t = s ? tree_lower(&lab.arena, p, s, &lab.diags) : NULL;
        made += t && try_path(&lab, p, t, seed);
        lab_end(&lab);
    }
    printf("%lld of %lld Schedules have a path\n", (long long)made, (long long)rounds);
    CHECK(made * 2 > rounds);
}

// Whatever the program and the Schedule: a path that computes the same, or a reason.
TEST(teml_paths_of_any_program) {
    int64_t made = 0, rounds = check_long_rounds(1000);
    for (int64_t i = 0; i < rounds; i++) {
        uint64_t seed = check_first_seed() + (uint64_t)i, state = seed;
        Lab lab;
        lab_begin(&lab);
        int64_t values[3];
        const Shape *shape = &shapes[check_random(&state) % (uint64_t)nshapes];
        for (int k = 0; k < 3; k++) values[k] = 2 + (int64_t)(check_random(&state) % 6);
        const Program *p = i % 4 ? lab_program(&lab, shape->text, values) : genprog(&lab, seed);
        GenSched g = {.state = seed, .plain = true};
        const Schedule *s = p ? gen_schedule(&g, &lab.arena, p) : NULL;
        made += p && try_path(&lab, p, tree_lower(&lab.arena, p, s, &lab.diags), seed);
        lab_end(&lab);
    }
    printf("%lld of %lld have a path\n", (long long)made, (long long)rounds);
    CHECK(made > 0 || !check_usual_rounds());
}
