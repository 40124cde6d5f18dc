// Where a statement may be computed other than in its own nest: after a reduction whose result it
// reads, inlined at its reads, or at a loop of its only reader.
//
// The rules for post-operations are facts of the Program (stmt_facts.h). Lowering decides whether a
// definition may be inlined or computed at a loop: a Schedule that requests only this is lowered
// and discarded.
#include "sched/rewrite.h"
#include "space/cpu_impl.h"

enum { MANY_NODES = 256 }; // limit for an expression with everything inlined

static bool is_temp(const ProgramFacts *f, int tensor) {
    return f->p->tensors.at[tensor].role == ROLE_TEMP;
}

// --- Following -----------------------------------------------------------------------------------

int cpu_find_host(Arena *arena, const ProgramFacts *f, int i) {
    const StmtFacts *c = &f->stmt[i];
    int h = i - 1;
    if (c->reduces || cpu_is_apart(c)) return -1;
    while (h >= 0 && !stmt_reads(c, f->stmt[h].s->write->tensor)) h--;
    if (h < 0 || !f->stmt[h].reduces || cpu_is_apart(&f->stmt[h])) return -1;
    int *none = arena_new_n(arena, int, f->p->stmts.n);
    for (int k = 0; k < f->p->stmts.n; k++) none[k] = -1;
    return follow_refused(f, i, h, none, NULL) ? -1 : h;
}

// --- Queries to lowering -------------------------------------------------------------------------

static bool lowers(Arena *arena, const Program *p, const SchedStmt *section) {
    Schedule *s = arena_new(arena, Schedule);
    const SchedStmt **list = arena_new(arena, const SchedStmt *);
    *list = section;
    *s = (Schedule){.arena = arena, .names = p->names, .nstmts = 1, .stmt = list};
    DiagList quiet = {.arena = arena};
    return tree_lower(arena, p, s, &quiet) != NULL;
}

static SchedStmt plain_section(const StmtFacts *f) {
    return (SchedStmt){.label = f->s->label, .stage = -1, .storage.home = HOME_AUTO};
}

static int count_nodes(const Expr *e, int most) {
    int n = 1;
    for (int i = 0; e->kind == EXPR_OP && i < e->n && n < most; i++)
        n += count_nodes(e->arg[i], most);
    return n;
}

// The nodes of the value with every earlier definition inlined; counting ends at `most`.
static int inlined_nodes(const ProgramFacts *f, int i, int most) {
    const StmtFacts *c = &f->stmt[i];
    int n = count_nodes(c->s->value, most);
    for (int r = 0; r < c->nreads && n < most; r++)
        for (int k = 0; k < i && n < most; k++)
            if (f->stmt[k].s->write->tensor == c->read[r]->tensor && is_temp(f, c->read[r]->tensor))
                n += inlined_nodes(f, k, most);
    return n;
}

// Lowering refuses to move a statement that checks indices and is not read as a whole. If the
// definitions that it reads are inlined, it has their checks.
static bool keeps_checks(Arena *arena, const ProgramFacts *f, int i) {
    bool *checks = arena_new_n(arena, bool, i + 1);
    for (int k = 0; k <= i; k++) {
        checks[k] = statement_checks(f->stmt[k].s);
        for (int m = 0; m < k && !checks[k]; m++)
            checks[k] = checks[m] && stmt_is_definition(f->p, f->stmt[m].s) &&
                        stmt_reads(&f->stmt[k], f->stmt[m].s->write->tensor);
    }
    return !checks[i] || statement_all_read(f->p, i);
}

bool cpu_may_inline(Arena *arena, const ProgramFacts *f, int i) {
    const StmtFacts *c = &f->stmt[i];
    const Stmt *s = c->s;
    int readers = 0;
    if (cpu_is_apart(c) || !stmt_is_definition(f->p, s)) return false;
    for (int k = i + 1; k < f->p->stmts.n; k++) {
        const StmtFacts *r = &f->stmt[k];
        if (!stmt_reads(r, s->write->tensor)) continue;
        readers++;
        bool product = s->value->kind != EXPR_OP || s->value->op == OP_MUL;
        if (r->s->op == REDUCE_ADD && r->s->value->kind == EXPR_READ && product)
            return false; // a sum that was not fused might become fused
        if (inlined_nodes(f, k, MANY_NODES) >= MANY_NODES) return false;
    }
    SchedStmt section = plain_section(c);
    section.inlined = true;
    return readers > 0 && keeps_checks(arena, f, i) && lowers(arena, f->p, &section);
}

bool cpu_may_recompute(Arena *arena, const ProgramFacts *f, int i, int reader) {
    const StmtFacts *c = &f->stmt[i];
    if (reader < 0 || !is_temp(f, c->s->write->tensor) || cpu_is_apart(c) || c->s->post)
        return false;
    const StmtFacts *r = &f->stmt[reader];
    if (r->s->niters == r->s->serial || c->s->niters == c->s->serial) return false;
    if (cpu_is_apart(r) || r->s->post) return false;
    if (stmt_overwritten(f, i, i + 1, f->p->stmts.n - 1)) return false;
    SchedStmt section = plain_section(c);
    section.at = (LoopRef){r->s->iter[r->s->serial].name, 1, false, {0}};
    return keeps_checks(arena, f, i) && lowers(arena, f->p, &section);
}

bool cpu_may_have_parts(Arena *arena, const ProgramFacts *f, int i, int iter) {
    SchedStmt section = plain_section(&f->stmt[i]);
    section.privatise = (LoopRef){f->stmt[i].s->iter[iter].name, 2, false, {0}};
    return lowers(arena, f->p, &section);
}

void cpu_reach(const ProgramFacts *f, int q, const bool *through, bool *reached) {
    for (int k = q + 1; k < f->p->stmts.n; k++) {
        const StmtFacts *c = &f->stmt[k];
        reached[k] = stmt_reads(c, f->stmt[q].s->write->tensor);
        for (int m = q + 1; m < k && !reached[k]; m++)
            reached[k] = reached[m] && through[m] && stmt_reads(c, f->stmt[m].s->write->tensor);
    }
}
