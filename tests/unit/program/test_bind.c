// Binding against brute force: random Programs with random digits changed, so that subscripts are
// sometimes out of range, elements written twice and in-place updates in conflict. An accepted
// Program must be valid for every iteration; a refused one must be wrong for some iteration.
#include "unit/check.h"

#include "base/checked.h"
#include "program/points.h"
#include "support/genprog.h"

#include <ctype.h>

// Changes one digit of the statements, or a sign.
static const char *mutate(Lab *lab, const char *text, uint64_t *state) {
    char *s = arena_strndup(&lab->arena, text, strlen(text));
    const char *body = strstr(s, "for");
    size_t from = body ? (size_t)(body - s) : 0, n = strlen(s);
    for (int attempt = 0; attempt < 200; attempt++) {
        size_t at = from + check_random(state) % (n - from);
        bool number = isdigit((unsigned char)s[at]) && at > 0 && s[at - 1] != 'i' &&
                      s[at - 1] != 'T' && !isdigit((unsigned char)s[at - 1]);
        bool sign = (s[at] == '+' || s[at] == '-') && s[at - 1] == ' ' && s[at + 1] == ' ';
        if (number) s[at] = (char)('0' + check_random(state) % 10);
        if (sign) s[at] = s[at] == '+' ? '-' : '+';
        if (number || sign) break;
    }
    return s;
}

typedef struct Brute {
    const Program *p;
    const Stmt *st;
    int64_t at[PROGRAM_MAX_ITERS];
    int *writer; // per element of the written tensor: 1 + number of the iteration
    int instance;
    bool outside, twice, conflict;
} Brute;

static bool first(Brute *b) {
    for (int i = 0; i < b->st->niters; i++) {
        b->at[i] = iter_lo(&b->st->iter[i]);
        if (b->at[i] >= iter_hi(&b->st->iter[i])) return false;
    }
    b->instance = 0;
    return true;
}

static bool next(Brute *b) {
    b->instance++;
    for (int i = b->st->niters - 1; i >= 0; i--) {
        if (++b->at[i] < iter_hi(&b->st->iter[i])) return true;
        b->at[i] = iter_lo(&b->st->iter[i]);
    }
    return false;
}

static bool exists(const Brute *b) {
    for (int c = 0; c < b->st->nconstraints; c++) {
        int64_t v = 0;
        if (!affine_eval(b->st->constraint[c], b->at, NULL, NULL, NULL, &v) || v < 0) return false;
    }
    return true;
}

// Row-major number of the element, -1 outside, -2 when it depends on data.
static int64_t element(const Brute *b, const Access *a) {
    const Tensor *t = &b->p->tensors.at[a->tensor];
    int64_t n = 0, v = 0;
    bool out = false;
    bool computed = false;
    for (int d = 0; d < a->rank; d++) {
        computed |= a->sub[d]->has_read;
        if (a->sub[d]->has_read) continue;
        out |= !affine_eval(a->sub[d], b->at, NULL, NULL, NULL, &v);
        v -= tensor_origin(t, d);
        out |= v < 0 || v >= tensor_size(t, d);
        n = n * tensor_size(t, d) + v;
    }
    return out ? -1 : computed ? -2 : n;
}

static void brute_read(void *user, const Access *a, bool guarded) {
    Brute *b = user;
    int64_t e = element(b, a);
    if (guarded || !exists(b)) return;
    b->outside |= e == -1;
    if (a->tensor != b->st->write->tensor || e < 0 || a == b->st->write) return;
    b->conflict |= b->writer[e] && e != element(b, b->st->write);
}

// `init` covers the elements that the iterators on the left select, even for empty reductions.
static void brute_init(Brute *b) {
    Stmt left = *b->st;
    const Stmt *whole = b->st;
    Iter iters[PROGRAM_MAX_ITERS];
    for (int i = 0; i < left.niters; i++) {
        iters[i] = left.iter[i];
        if (iters[i].reduction) iters[i].hi = affine_add_const(b->p->exprs, iters[i].lo, 1);
    }
    left.iter = iters;
    b->st = &left;
    if (first(b)) do
            b->outside |= element(b, left.write) == -1;
        while (next(b));
    b->st = whole;
}

static void brute_stmt(Lab *lab, Brute *b) {
    const Stmt *st = b->st;
    int64_t n = tensor_elements(&b->p->tensors.at[st->write->tensor]);
    b->writer = arena_new_n(&lab->arena, int, max_i64(n, 1));
    if (st->init) brute_init(b);
    int64_t instances = 0;
    bool exact = true;
    double points = stmt_points(st, &exact);
    if (!first(b)) return;
    do {
        int64_t e = element(b, st->write);
        instances += exists(b);
        b->outside |= e == -1 && exists(b);
        if (e < 0 || !exists(b)) continue;
        b->twice |= st->op == REDUCE_ASSIGN && b->writer[e];
        b->writer[e] = b->instance + 1;
    } while (next(b));
    CHECK(!exact || points == (double)instances);
    first(b);
    do expr_visit_accesses(st->value, brute_read, b);
    while (next(b));
}

static bool reported(const Lab *lab, DiagId id) {
    for (int i = 0; i < lab->diags.items.n; i++)
        if (lab->diags.items.at[i]->id == id) return true;
    return false;
}

static bool selects(const Expr *e) {
    bool any = e->kind == EXPR_OP && (e->op == OP_SELECT || e->op == OP_AND || e->op == OP_OR);
    for (int i = 0; i < e->n; i++) any |= selects(e->arg[i]);
    return any;
}

// Text without parameters is already bound. NULL if it has another error.
static Program *naively_bound(Lab *lab, const char *text) {
    Program *p = lab_parse(lab, text);
    int64_t points = 0;
    for (int s = 0; p && s < p->stmts.n; s++) {
        int64_t n = 1;
        for (int i = 0; i < p->stmts.at[s].niters; i++) {
            const Iter *it = &p->stmts.at[s].iter[i];
            if (iter_hi(it) < iter_lo(it)) return NULL;
            n *= iter_hi(it) - iter_lo(it);
        }
        points += n;
    }
    return points <= 50000 ? p : NULL;
}

typedef struct Tally {
    int accepted, outside, twice, conflict;
} Tally;

static void check_against_brute_force(Lab *lab, const char *text, Tally *tally) {
    Program *p = naively_bound(lab, text);
    if (!p) return;
    Program *q = program_bind(&lab->arena, p, NULL, &lab->diags);
    Brute b = {.p = p};
    bool guards = false, computed = false;
    for (int s = 0; s < p->stmts.n; s++) {
        b.st = &p->stmts.at[s];
        guards |= selects(b.st->value);
        computed |= b.st->write->has_read;
        brute_stmt(lab, &b);
    }
    bool wrong = b.outside || b.twice || b.conflict;
    bool refused = reported(lab, DIAG_CHECK_OUTSIDE) || reported(lab, DIAG_CHECK_TWICE) ||
                   reported(lab, DIAG_CHECK_IN_PLACE);
    bool unsure = reported(lab, DIAG_CHECK_IN_PLACE_COMPUTED) || guards || computed;
    bool ok = wrong ? q == NULL : q != NULL || unsure || !refused;
    if (!CHECK(ok))
        printf("outside %d, twice %d, conflict %d, but %s\n%s%s", b.outside, b.twice, b.conflict,
               q ? "accepted" : "refused", text, lab_errors(lab));
    tally->accepted += q != NULL;
    tally->outside += b.outside;
    tally->twice += b.twice;
    tally->conflict += b.conflict;
    if (!q) return;
    // Accepted: all accesses that are not checked at run time stay inside.
    LabData d = lab_data(lab, q, 1);
    int errors = lab->diags.errors;
    if (lab_run(lab, q, &d)) return;
    const Diag *found = lab->diags.items.at[errors];
    bool excused = found->notes != NULL; // a gather
    for (int s = 0; s < q->stmts.n; s++) {
        const char *name = arena_printf(&lab->arena, "statement '%s':", q->stmts.at[s].label);
        excused |= strstr(found->text, name) && q->stmts.at[s].unproven;
    }
    if (!CHECK(excused)) printf("%s%s", text, lab_errors(lab));
}

TEST(binding_agrees_with_brute_force) {
    uint64_t state = 11;
    Tally tally = {0};
    int64_t rounds = check_rounds(10000);
    for (int64_t round = 0; round < rounds; round++) {
        Lab lab;
        lab_begin(&lab);
        const char *text = lab_text(&lab, genprog(&lab, (uint64_t)(round % 4000)));
        check_against_brute_force(&lab, mutate(&lab, text, &state), &tally);
        lab_end(&lab);
    }
    if (rounds < 5000) return;
    CHECK(tally.accepted > rounds / 10 && tally.outside > rounds / 100);
    CHECK(tally.twice > 0 && tally.conflict > 0);
}
