#include "support/shrink.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "support/gensched.h"

// --- Parts of a Program ------------------------------------------------------------------------

// A Program being changed. It is printed and parsed again, which checks it and renumbers tensors.
typedef struct Change {
    Lab *lab;
    Program *p;
} Change;

static bool writes(const Program *p, int tensor) {
    for (int i = 0; i < p->stmts.n; i++)
        if (p->stmts.at[i].write->tensor == tensor) return true;
    return false;
}

static void drop_stmt(Change *c, int at) {
    int tensor = c->p->stmts.at[at].write->tensor;
    int joined = c->p->stmts.at[at].joined;
    if (at + 1 < c->p->stmts.n && joined < c->p->stmts.at[at + 1].joined)
        c->p->stmts.at[at + 1].joined = joined;
    for (int i = at; i + 1 < c->p->stmts.n; i++) c->p->stmts.at[i] = c->p->stmts.at[i + 1];
    c->p->stmts.n--;
    if (!writes(c->p, tensor)) c->p->tensors.at[tensor].role = ROLE_INPUT;
}

static void halve_iter(Change *c, Stmt *s, int i) {
    int64_t lo = iter_lo(&s->iter[i]), hi = iter_hi(&s->iter[i]);
    Iter *iter = arena_copy(&c->lab->arena, s->iter, (size_t)s->niters * sizeof *iter);
    iter[i].hi = affine_const(c->p->exprs, lo + (hi - lo) / 2);
    s->iter = iter;
}

static void drop_constraint(Change *c, Stmt *s, int at) {
    size_t size = (size_t)s->nconstraints * sizeof *s->constraint;
    s->constraint = arena_copy(&c->lab->arena, s->constraint, size);
    for (int i = at; i + 1 < s->nconstraints; i++) s->constraint[i] = s->constraint[i + 1];
    s->nconstraints--;
}

// Removes part *n of the statement, counting down; false if it has fewer.
static bool change_stmt(Change *c, int at, int *n) {
    Stmt *s = &c->p->stmts.at[at];
    if ((*n)-- == 0) return drop_stmt(c, at), true;
    for (int i = s->serial; i < s->niters; i++)
        if (iter_hi(&s->iter[i]) - iter_lo(&s->iter[i]) > 1 && (*n)-- == 0)
            return halve_iter(c, s, i), true;
    for (int i = 0; i < s->nconstraints; i++)
        if ((*n)-- == 0) return drop_constraint(c, s, i), true;
    const Expr *e = s->value;
    for (int i = 0; e->kind == EXPR_OP && i < e->n; i++)
        if (e->arg[i]->type == e->type && (*n)-- == 0) return s->value = e->arg[i], true;
    return false;
}

// Omits declarations of unused tensors.
static const char *without_unused(Arena *arena, const Program *p, const char *text) {
    Text out = {.arena = arena};
    const char *body = strstr(text, "\n\n");
    for (const char *end; *text; text = end) {
        end = strchr(text, '\n') + 1;
        bool used = true;
        for (int i = 0; body && text < body && i < p->tensors.n; i++) {
            const char *name = p->tensors.at[i].name,
                       *colon = memchr(text, ':', (size_t)(end - text));
            size_t len = strlen(name);
            if (!colon || (size_t)(colon - text) < len || memcmp(colon - len, name, len)) continue;
            if (colon[-(long)len - 1] != ' ') continue;
            used = strstr(body, arena_printf(arena, "%s[", name)) != NULL;
        }
        if (used) text_add_n(&out, text, (size_t)(end - text));
    }
    return text_str(&out);
}

bool program_without(Lab *lab, const Program *p, int n, const Program **out) {
    Change c = {lab, arena_copy(&lab->arena, p, sizeof *p)};
    c.p->stmts.at = arena_copy(&lab->arena, p->stmts.at, (size_t)p->stmts.n * sizeof *p->stmts.at);
    c.p->tensors.at =
        arena_copy(&lab->arena, p->tensors.at, (size_t)p->tensors.n * sizeof *p->tensors.at);
    bool changed = false;
    for (int i = 0; i < p->stmts.n && !changed; i++) changed = change_stmt(&c, i, &n);
    if (!changed) return false;
    *out = lab_program(lab, without_unused(&lab->arena, p, lab_text(lab, c.p)), NULL);
    return true;
}

// --- Shrinking ---------------------------------------------------------------------------------

// Otherwise unwritten data would differ.
static bool is_sound(Lab *lab, const Program *p, uint64_t seed) {
    LabData d = lab_data(lab, p, seed);
    InterpFlags trap = {.trap_uninitialised = true};
    return program_interpret(&lab->arena, p, d.view, trap, &lab->diags);
}

static bool less_schedule(const Program *p, const Schedule **s, Fails *fails, void *user) {
    const Schedule *less;
    for (int n = 0; (less = schedule_without(*s, n)); n++)
        if (fails(user, p, less)) return *s = less, true;
    return false;
}

static bool less_program(Lab *lab, uint64_t seed, const Program **p, const Schedule *s,
                         Fails *fails, void *user) {
    const Program *less;
    bool sound = is_sound(lab, *p, seed); // if it is not, soundness is not required of the rest
    for (int n = 0; program_without(lab, *p, n, &less); n++)
        if (less && (!sound || is_sound(lab, less, seed)) && fails(user, less, s))
            return *p = less, true;
    return false;
}

void shrink_pair(Lab *lab, uint64_t seed, const Program **p, const Schedule **s, Fails *fails,
                 void *user) {
    while (less_schedule(*p, s, fails, user) || less_program(lab, seed, p, *s, fails, user)) {}
}

// --- Reports -----------------------------------------------------------------------------------

const char *shrink_schedule_text(Lab *lab, const Schedule *s) {
    Text out = {.arena = &lab->arena};
    schedule_print(&out, s);
    return text_str(&out);
}

void shrink_report(Lab *lab, uint64_t seed, const char *what, const Program *p, const Schedule *s) {
    const Tree *t = tree_lower(&lab->arena, p, s, &lab->diags);
    Text show = {.arena = &lab->arena};
    if (t) tree_show(&show, t, false);
    printf("--- seed %llu: %s\n%s\n--- schedule\n%s--- tree\n%s", (unsigned long long)seed,
           what ? what : "?", lab_text(lab, p), shrink_schedule_text(lab, s), text_str(&show));
}

typedef struct Trial {
    Lab *lab;
    uint64_t seed;
    PairFault *fault;
    const char *what; // of the last pair that failed
} Trial;

static bool has_fault(void *user, const Program *p, const Schedule *s) {
    Trial *trial = user;
    const char *what = trial->fault(trial->lab, p, s, trial->seed);
    if (what) trial->what = what;
    return what != NULL;
}

void shrink_explain(Lab *lab, uint64_t seed, const Program *p, const Schedule *s,
                    PairFault *fault) {
    Trial trial = {.lab = lab, .seed = seed, .fault = fault};
    has_fault(&trial, p, s); // the report if nothing can be removed
    shrink_pair(lab, seed, &p, &s, has_fault, &trial);
    shrink_report(lab, seed, trial.what, p, s);
}
