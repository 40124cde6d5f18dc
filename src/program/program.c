// Building Programs, and what every front-end calls last: labels, reduction flags, roles,
// structural checks.
#include "program/program.h"

#include "base/bug.h"
#include "base/checked.h"

#include <string.h>

const char *const reduce_name[] = {
#define REDUCTION(id, name, operation, identity, stripe) name,
#include "program/reduce.def"
#undef REDUCTION
};

const ExprOp reduce_op[] = {
#define REDUCTION(id, name, operation, identity, stripe) OP_##operation,
#include "program/reduce.def"
#undef REDUCTION
};

Reduce reduce_by(ExprOp op) {
    Reduce r = REDUCE_MAX;
    while (r != REDUCE_ASSIGN && reduce_op[r] != op) r--;
    return r;
}

Value reduce_start(Type type, Reduce op) {
    static const char letter[] = {
#define REDUCTION(id, name, operation, identity, stripe) identity,
#include "program/reduce.def"
#undef REDUCTION
    };
    return type_identity(type, letter[op]);
}

// --- Building ----------------------------------------------------------------------------------

Program *program_new(Arena *arena, Names *names, const char *name, size_t len) {
    Program *p = arena_new(arena, Program);
    p->arena = arena;
    p->names = names;
    p->name = name_intern(names, name, len);
    p->exprs = arena_new(arena, Exprs);
    exprs_init(p->exprs, arena);
    return p;
}

static Iter *fork_iters(Program *own, const Stmt *st) {
    Name names[PROGRAM_MAX_ITERS];
    bool same = true;
    program_name_iters(own->arena, own, st, names);
    for (int i = 0; i < st->niters; i++) same &= names[i] == st->iter[i].name;
    if (same) return st->iter;
    Iter *iter = arena_copy(own->arena, st->iter, (size_t)st->niters * sizeof *iter);
    for (int i = 0; i < st->niters; i++) iter[i].name = name_of(own->names, names[i]);
    return iter;
}

Program *program_fork(Arena *arena, const Program *p) {
    Program *own = arena_copy(arena, p, sizeof *p);
    own->arena = arena;
    own->exprs = exprs_fork(arena, p->exprs);
    own->names = names_fork(arena, p->names);
    own->params.at = arena_copy(arena, p->params.at, (size_t)p->params.n * sizeof(Param));
    own->tensors.at = arena_copy(arena, p->tensors.at, (size_t)p->tensors.n * sizeof(Tensor));
    own->stmts.at = arena_copy(arena, p->stmts.at, (size_t)p->stmts.n * sizeof(Stmt));
    own->preconditions.at =
        arena_copy(arena, p->preconditions.at, (size_t)p->preconditions.n * sizeof(Require));
    own->params.cap = p->params.n, own->tensors.cap = p->tensors.n;
    own->stmts.cap = p->stmts.n, own->preconditions.cap = p->preconditions.n;
    for (int i = 0; i < p->stmts.n; i++) own->stmts.at[i].iter = fork_iters(own, &p->stmts.at[i]);
    return own;
}

int program_find_param(const Program *p, Name name) {
    for (int i = 0; i < p->params.n; i++)
        if (p->params.at[i].name == name) return i;
    return -1;
}

int program_find_tensor(const Program *p, Name name) {
    for (int i = 0; i < p->tensors.n; i++)
        if (p->tensors.at[i].name == name) return i;
    return -1;
}

int program_param(Program *p, Name name, ParamKind kind) {
    int found = program_find_param(p, name);
    if (found >= 0) return found;
    vec_push(p->arena, &p->params, ((Param){.name = name, .kind = kind, .type = TYPE_I64}));
    return p->params.n - 1;
}

int program_tensor(Program *p, Name name, Type type, Role role, int rank,
                   const Affine *const *size) {
    Tensor t = {.name = name, .type = type, .role = role, .rank = rank};
    t.size = arena_new_n(p->arena, const Affine *, rank);
    t.origin = arena_new_n(p->arena, const Affine *, rank);
    for (int d = 0; d < rank && size; d++) {
        t.size[d] = size[d];
        t.origin[d] = affine_const(p->exprs, 0);
    }
    vec_push(p->arena, &p->tensors, t);
    return p->tensors.n - 1;
}

Stmt *program_stmt(Program *p, Range range) {
    vec_push(p->arena, &p->stmts, ((Stmt){.range = range}));
    return &vec_last(&p->stmts);
}

void program_note_calls(DiagList *diags, int first, const CallSite *call) {
    for (; call; call = call->up)
        for (int i = first; i < diags->items.n; i++)
            diag_note(diags, diags->items.at[i], call->range, DIAG_PROGRAM_CALLED_NOTE);
}

int stmts_common(const Program *p, int a, int b) {
    int common = p->stmts.at[a].serial;
    for (int i = a + 1; i <= b && common; i++)
        if (p->stmts.at[i].joined < common) common = p->stmts.at[i].joined;
    return common;
}

int group_first(const Program *p, int i) {
    while (p->stmts.at[i].joined) i--;
    return i;
}

int group_end(const Program *p, int i) {
    do i++;
    while (i < p->stmts.n && p->stmts.at[i].joined);
    return i;
}

const Program *program_one_step(Arena *arena, const Program *p) {
    Program *q = NULL;
    for (int s = 0; s < p->stmts.n; s++) {
        const Stmt *st = &p->stmts.at[s];
        if (!st->serial) continue;
        if (!q) {
            q = arena_copy(arena, p, sizeof *p);
            q->stmts.at = arena_copy(arena, p->stmts.at, (size_t)p->stmts.n * sizeof(Stmt));
            q->stmts.cap = p->stmts.n;
        }
        Iter *iter = arena_copy(arena, st->iter, (size_t)st->niters * sizeof *iter);
        for (int i = 0; i < st->serial; i++) {
            if (iter_extent(&iter[i]) == 0) continue;
            iter[i].lo = affine_const(p->exprs, iter_lo(&iter[i]) + iter_extent(&iter[i]) / 2);
            iter[i].hi = affine_add_const(p->exprs, iter[i].lo, 1);
        }
        q->stmts.at[s].iter = iter;
    }
    return q ? q : p;
}

int stmt_find_iter(const Stmt *s, Name name) {
    for (int i = 0; i < s->niters; i++)
        if (s->iter[i].name == name) return i;
    return -1;
}

int64_t tensor_size(const Tensor *t, int d) { return t->size[d]->constant; }

int64_t tensor_origin(const Tensor *t, int d) { return t->origin[d]->constant; }

int64_t tensor_elements(const Tensor *t) {
    int64_t n = 1;
    for (int d = 0; d < t->rank; d++) n *= tensor_size(t, d); // program_bind checked the product
    return n;
}

// --- Order of tensors --------------------------------------------------------------------------

static int group(Role role) { return role == ROLE_INPUT ? 0 : role == ROLE_TEMP ? 2 : 1; }

static const Access *renumber(void *user, Exprs *x, const Access *a) {
    const int *number = user;
    return access_make(x, number[a->tensor], a->rank, a->sub);
}

// Arguments first: inputs, outputs, temporaries, each in the order they were added.
static void order_tensors(Program *p) {
    bool ordered = true;
    for (int i = 1; i < p->tensors.n; i++)
        ordered &= group(p->tensors.at[i - 1].role) <= group(p->tensors.at[i].role);
    if (ordered) return;
    int n = p->tensors.n, k = 0;
    int *number = arena_new_n(p->arena, int, n);
    Tensor *sorted = arena_new_n(p->arena, Tensor, n);
    for (int g = 0; g < 3; g++)
        for (int i = 0; i < n; i++)
            if (group(p->tensors.at[i].role) == g) number[i] = k, sorted[k++] = p->tensors.at[i];
    memcpy(p->tensors.at, sorted, (size_t)n * sizeof *sorted);
    for (int s = 0; s < p->stmts.n; s++) {
        Stmt *st = &p->stmts.at[s];
        st->write = access_substitute(p->exprs, st->write, NULL, NULL, renumber, number);
        st->value = expr_substitute(p->exprs, st->value, NULL, NULL, renumber, number);
    }
}

static void count_arguments(Program *p) {
    p->ninputs = p->noutputs = 0;
    for (int i = 0; i < p->tensors.n; i++) {
        int g = group(p->tensors.at[i].role);
        p->ninputs += g == 0;
        p->noutputs += g == 1;
    }
}

// --- Labels and flags --------------------------------------------------------------------------

// The tensor's name for its first definition, then name.1, name.2, ... Labels that are there
// already stay.
static void label_stmts(Program *p) {
    int *defined = arena_new_n(p->arena, int, p->tensors.n);
    Numbers taken = {.arena = p->arena};
    for (int s = 0; s < p->stmts.n; s++)
        if (p->stmts.at[s].label) numbers_put(&taken, p->stmts.at[s].label, s);
    for (int s = 0; s < p->stmts.n; s++) {
        Stmt *st = &p->stmts.at[s];
        int *k = &defined[st->write->tensor];
        Name label = p->tensors.at[st->write->tensor].name, base = label;
        if (*k) label = name_of(p->names, arena_printf(p->arena, "%s.%d", base, *k));
        while (!st->label && numbers_get(&taken, label) >= 0)
            label = name_of(p->names, arena_printf(p->arena, "%s.%d", base, ++*k));
        if (!st->label) st->label = label, numbers_put(&taken, label, s);
        ++*k;
    }
}

static void flag_reductions(Stmt *st) {
    for (int i = 0; i < st->niters; i++) {
        bool used = false;
        for (int d = 0; d < st->write->rank; d++) used |= affine_uses_iter(st->write->sub[d], i);
        st->iter[i].reduction = !used && i >= st->serial;
    }
}

// --- Roles -------------------------------------------------------------------------------------

typedef struct RoleUse {
    Program *p;
    DiagList *diags;
    bool *written; // per tensor
    int stmt;      // the statement looked at
} RoleUse;

// Is every subscript in which the two differ at a constant distance from the other, in a common
// serial iterator? Then the read belongs to another step than the write.
static bool of_other_step(const Program *p, int common, const Access *write, const Access *read) {
    for (int d = 0; d < write->rank; d++) {
        const Affine *apart = affine_sub(p->exprs, write->sub[d], read->sub[d]);
        if (affine_iter_mask(write->sub[d]) >> common || affine_is(apart, 0)) continue;
        if (affine_is_const(apart) && write->sub[d]->has_iter) return true;
    }
    return false;
}

// Does a statement of the group write the tensor in another step than the one that reads it? Then
// program_bind decides whether that comes first. A temporary has no content before the first step,
// so every element of it that a step reads is one that a step writes.
static bool written_in_steps(const RoleUse *u, const Access *a) {
    const Program *p = u->p;
    bool temporary = p->tensors.at[a->tensor].role == ROLE_TEMP;
    for (int k = group_first(p, u->stmt); k < group_end(p, u->stmt); k++) {
        int common = k < u->stmt ? stmts_common(p, k, u->stmt) : stmts_common(p, u->stmt, k);
        const Access *w = p->stmts.at[k].write;
        if (common && w->tensor == a->tensor && (temporary || of_other_step(p, common, w, a)))
            return true;
    }
    return false;
}

static void use_read(void *user, const Access *a, bool guarded) {
    (void)guarded;
    RoleUse *u = user;
    Tensor *t = &u->p->tensors.at[a->tensor];
    if (u->written[a->tensor] || written_in_steps(u, a)) return;
    if (t->role == ROLE_OUTPUT) t->role = ROLE_INOUT;
    if (t->role != ROLE_TEMP) return;
    Diag *d =
        diag_report(u->diags, u->p->stmts.at[u->stmt].range, DIAG_PROGRAM_TEMP_UNDEFINED, t->name);
    diag_note(u->diags, d, (Range){0, 0}, DIAG_PROGRAM_TEMP_UNDEFINED_NOTE, t->name);
    u->written[a->tensor] = true; // once is enough
}

static void use_stmt(RoleUse *u, int number) {
    const Stmt *st = &u->p->stmts.at[number];
    u->stmt = number;
    expr_visit_accesses(st->value, use_read, u);
    for (int d = 0; d < st->write->rank; d++) affine_visit_accesses(st->write->sub[d], use_read, u);
    if (st->op != REDUCE_ASSIGN && !st->init) use_read(u, st->write, false);
    const Tensor *t = &u->p->tensors.at[st->write->tensor];
    if (t->role == ROLE_INPUT)
        diag_report(u->diags, st->range, DIAG_PROGRAM_INPUT_WRITTEN, t->name);
    u->written[st->write->tensor] = true;
}

// Outputs that are read before they are written become in-out.
static void find_roles(Program *p, DiagList *diags) {
    RoleUse u = {.p = p, .diags = diags, .written = arena_new_n(p->arena, bool, p->tensors.n)};
    for (int s = 0; s < p->stmts.n; s++) use_stmt(&u, s);
    for (int i = 0; i < p->tensors.n; i++) {
        const Tensor *t = &p->tensors.at[i];
        if (t->role == ROLE_OUTPUT && !u.written[i])
            diag_report(diags, t->range, DIAG_PROGRAM_OUTPUT_UNDEFINED, t->name);
    }
}

// --- Checks ------------------------------------------------------------------------------------

static bool within(DiagList *diags, Range range, const char *what, int n, int limit) {
    if (n <= limit) return true;
    diag_report(diags, range, DIAG_PROGRAM_LIMIT, n, what, limit);
    return false;
}

static bool check_limits(const Program *p, DiagList *diags) {
    Range none = {0, 0};
    bool ok = within(diags, none, "statements", p->stmts.n, PROGRAM_MAX_STMTS);
    ok &= within(diags, none, "tensors", p->tensors.n, PROGRAM_MAX_TENSORS);
    ok &= within(diags, none, "parameters", p->params.n, PROGRAM_MAX_PARAMS);
    for (int i = 0; i < p->tensors.n; i++) {
        const Tensor *t = &p->tensors.at[i];
        ok &= within(diags, t->range, "dimensions", t->rank, PROGRAM_MAX_RANK);
    }
    for (int s = 0; s < p->stmts.n; s++) {
        const Stmt *st = &p->stmts.at[s];
        ok &= within(diags, st->range, "iterators", st->niters, PROGRAM_MAX_ITERS);
    }
    if (p->exprs->overflow) diag_report(diags, none, DIAG_PROGRAM_OVERFLOW);
    if (p->exprs->too_large) diag_report(diags, none, DIAG_PROGRAM_TOO_LARGE);
    return ok && !p->exprs->overflow && !p->exprs->too_large;
}

// `=` writes each element once: an iterator that the left side does not use would write it again.
static void check_assign(const Program *p, const Stmt *st, DiagList *diags) {
    if (st->op != REDUCE_ASSIGN) return;
    Name tensor = p->tensors.at[st->write->tensor].name;
    if (!access_tells_iters(st->write)) {
        Diag *d = diag_report(diags, st->range, DIAG_PROGRAM_ASSIGN_SCATTER, tensor);
        diag_note(diags, d, (Range){0, 0}, DIAG_PROGRAM_ASSIGN_SCATTER_NOTE);
    }
    for (int i = 0; i < st->niters; i++) {
        const Iter *it = &st->iter[i];
        bool once = it->lo && it->hi && affine_is(affine_sub(p->exprs, it->hi, it->lo), 1);
        if (!it->reduction || once) continue;
        Range range = it->range.to ? it->range : st->range;
        Diag *d = diag_report(diags, range, DIAG_PROGRAM_ASSIGN_REDUCES, tensor, it->name);
        diag_note(diags, d, (Range){0, 0}, DIAG_PROGRAM_ASSIGN_REDUCES_NOTE, it->name);
    }
}

static void check_access(void *user, const Access *a, bool guarded) {
    (void)guarded;
    const Program *p = user;
    require(a->tensor >= 0 && a->tensor < p->tensors.n);
    require(a->rank == p->tensors.at[a->tensor].rank);
}

// Properties that front-ends guarantee.
static void require_sound(Program *p) {
    for (int s = 0; s < p->stmts.n; s++) {
        const Stmt *st = &p->stmts.at[s];
        check_access(p, st->write, false);
        require(st->value->type == p->tensors.at[st->write->tensor].type);
        expr_visit_accesses(st->value, check_access, p);
        for (int d = 0; d < st->write->rank; d++)
            affine_visit_accesses(st->write->sub[d], check_access, p);
        for (int c = 0; c < st->nconstraints; c++) require(!st->constraint[c]->has_read);
        require(st->serial <= st->niters && st->joined <= st->serial);
        for (int i = 0; i < st->joined; i++) {
            const Stmt *up = &p->stmts.at[s - 1];
            require(i < up->serial && up->iter[i].lo == st->iter[i].lo &&
                    up->iter[i].hi == st->iter[i].hi);
        }
    }
}

bool program_finish(Program *p, DiagList *diags) {
    int before = diags->errors;
    if (!check_limits(p, diags)) return false;
    require_sound(p);
    order_tensors(p);
    count_arguments(p);
    label_stmts(p);
    for (int s = 0; s < p->stmts.n; s++) flag_reductions(&p->stmts.at[s]);
    find_roles(p, diags);
    for (int s = 0; s < p->stmts.n; s++) check_assign(p, &p->stmts.at[s], diags);
    return diags->errors == before;
}
