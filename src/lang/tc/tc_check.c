// Functions and statements: names, types of tensors, and the Program that comes out.
//
// One round checks all statements in order and keeps each as a Work. The type of a tensor is the
// common type of all its definitions, so a type may still grow after it was read; then the round is
// repeated with what was learnt (types only grow, so that ends). After that the statements are
// emitted with conversions to the final types, ranges are inferred, and stand-ins for inferred
// extents (A.0 of a tensor that is itself computed) are replaced.
#include "lang/tc/tc.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// --- Symbols
// ----------------------------------------------------------------------------------------------

static uint64_t name_hash(Name name) { return hash_mix(0, (uint64_t)(uintptr_t)name); }

static bool same_used(const void *key, const void *item) {
    return ((const Used *)item)->name == key;
}

static bool same_sym(const void *key, const void *item) { return ((const Sym *)item)->name == key; }

Sym *tc_find(Checker *ck, Frame *frame, Name name) {
    if (!frame->syms.n) return NULL;
    return *set_find(ck->arena, &frame->syms, name_hash(name), name, same_sym);
}

Sym *tc_add_sym(Checker *ck, Frame *frame, Name name, SymKind kind, Range range) {
    void **slot = set_find(ck->arena, &frame->syms, name_hash(name), name, same_sym);
    if (!*slot) *slot = arena_new(ck->arena, Sym), frame->syms.n++;
    Sym *s = *slot;
    *s = (Sym){.name = name, .kind = kind, .tensor = -1, .range = range};
    return s;
}

// A warning, given in the first round only and not again where a function is inlined.
Diag *tc_warn(Checker *ck, Range range, DiagId id, ...) {
    if (ck->again || ck->frame->caller) return NULL;
    va_list args;
    va_start(args, id);
    const char *a = va_arg(args, const char *), *b = va_arg(args, const char *);
    va_end(args);
    return diag_report(ck->diags, range, id, a, b);
}

static bool is_reserved(Name name) {
    size_t len = strlen(name);
    return tc_builtin(name, len) || tc_type_name(name, len);
}

// Whether the name may be given to a parameter or tensor; reports when not.
static bool can_define(Checker *ck, Frame *frame, Name name, Range range) {
    const Sym *old = tc_find(ck, frame, name);
    if (old) {
        Diag *d = diag_report(ck->diags, range, DIAG_TC_TWICE, name);
        if (old->range.to) diag_note(ck->diags, d, old->range, DIAG_TC_FIRST_NOTE);
        return false;
    }
    if (!is_reserved(name)) return true;
    Diag *d = diag_report(ck->diags, range, DIAG_TC_RESERVED, name);
    diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_RENAME_NOTE);
    return false;
}

// --- Tensors
// ----------------------------------------------------------------------------------------------

int tc_new_tensor(Checker *ck, Name name, Role role, Range range) {
    int n = ck->tens.n;
    if (n == PROGRAM_MAX_TENSORS && !ck->full) {
        ck->full = true;
        diag_report(ck->diags, range, DIAG_TC_TOO_MANY, "tensors in one function",
                    PROGRAM_MAX_TENSORS);
    }
    Ten t = {.name = name, .role = role, .rank = -1, .range = range};
    if (n < ck->seeds.n) t.type = ck->seeds.at[n].type, t.weak = ck->seeds.at[n].weak;
    vec_push(ck->arena, &ck->tens, t);
    tc_use_name(ck, name);
    return n;
}

Type tc_tensor_type(Checker *ck, int tensor) {
    Ten *t = &ck->tens.at[tensor];
    t->type_used = true;
    return t->weak == WEAK_INT ? TYPE_I32 : t->weak == WEAK_FLOAT ? TYPE_F32 : t->type;
}

// One definition's type joins those of the others; a change after a use asks for another round.
static void grow_type(Checker *ck, Ten *t, Type type, Weak weak) {
    Type old = t->type;
    Weak old_weak = t->weak;
    if (t->type == TYPE_NONE) {
        t->type = type, t->weak = weak;
    } else if (t->weak && weak) {
        if (weak == WEAK_FLOAT) t->type = type, t->weak = weak;
    } else if (t->weak) {
        bool fits = t->weak == WEAK_INT || type_is_float(type);
        t->type = !fits ? TYPE_F32 : type == TYPE_BOOL ? TYPE_I32 : type;
        t->weak = WEAK_NOT;
    } else if (weak) {
        if (weak == WEAK_FLOAT && !type_is_float(t->type)) t->type = TYPE_F32;
        if (t->type == TYPE_BOOL) t->type = TYPE_I32;
    } else {
        t->type = type_promote(t->type, type);
    }
    if (t->type_used && (t->type != old || t->weak != old_weak)) ck->changed = true;
}

bool tc_type_fits(Type declared, Type type, Weak weak) {
    if (weak == WEAK_INT) return declared != TYPE_BOOL;
    if (weak == WEAK_FLOAT) return type_is_float(declared);
    return type_promote(declared, type) == declared;
}

bool tc_join_type(Checker *ck, int tensor, Type type, Weak weak, Range range) {
    Ten *t = &ck->tens.at[tensor];
    if (!t->declared) {
        grow_type(ck, t, type, weak);
        return true;
    }
    if (tc_type_fits(t->type, type, weak)) return true;
    Type found = weak == WEAK_INT ? TYPE_I32 : weak == WEAK_FLOAT ? TYPE_F32 : type;
    Diag *d = diag_report(ck->diags, range, DIAG_TC_NARROWS, type_info[found].name, t->name,
                          type_info[t->type].name);
    diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_NARROWS_NOTE, type_info[t->type].name);
    return false;
}

// --- Extents
// ----------------------------------------------------------------------------------------------

// A parameter that stands for an extent until inference has found it.
static const Affine *stand_in(Checker *ck, int tensor, int dim, bool origin) {
    Ten *t = &ck->tens.at[tensor];
    if (!t->size_param) {
        t->size_param = arena_new_n(ck->arena, int, t->rank);
        t->origin_param = arena_new_n(ck->arena, int, t->rank);
        for (int d = 0; d < t->rank; d++) t->size_param[d] = t->origin_param[d] = -1;
    }
    int *number = origin ? &t->origin_param[dim] : &t->size_param[dim];
    if (*number < 0) {
        const char *text =
            arena_printf(ck->arena, "%s.%s%d#%d", t->name, origin ? "lo" : "", dim, tensor);
        *number =
            program_param(ck->p, name_of(ck->names, text), origin ? PARAM_SCALAR : PARAM_SIZE);
        StandIn s = {tensor, dim, origin};
        vec_push(ck->arena, &ck->standins, s);
    }
    return affine_param(ck->x, *number);
}

const Affine *tc_extent(Checker *ck, int tensor, int dim) {
    const Ten *t = &ck->tens.at[tensor];
    return t->size ? t->size[dim] : stand_in(ck, tensor, dim, false);
}

const Affine *tc_origin(Checker *ck, int tensor, int dim) {
    const Ten *t = &ck->tens.at[tensor];
    return t->size ? affine_const(ck->x, 0) : stand_in(ck, tensor, dim, true);
}

void tc_require(Checker *ck, const Affine *what, const char *why, Range range) {
    if (affine_is_const(what) && what->constant >= 0) return;
    Require r = {what, why, range};
    vec_push(ck->arena, &ck->requires, r);
}

void tc_require_equal(Checker *ck, const Affine *a, const Affine *b, Range range,
                      const char *format, ...) {
    if (a == b) return;
    va_list args;
    char why[512];
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    const char *text = arena_strndup(ck->arena, why, strlen(why));
    tc_require(ck, affine_sub(ck->x, a, b), text, range);
    tc_require(ck, affine_sub(ck->x, b, a), text, range);
}

// Names of tensors and parameters in use, and how often each served as the base of a fresh one.
static Used *used_name(Checker *ck, Name name) {
    void **slot = set_find(ck->arena, &ck->used, name_hash(name), name, same_used);
    return *slot;
}

void tc_use_name(Checker *ck, Name name) {
    void **slot = set_find(ck->arena, &ck->used, name_hash(name), name, same_used);
    if (*slot) return;
    Used *u = *slot = arena_new(ck->arena, Used);
    ck->used.n++;
    u->name = name;
    u->next = 2;
}

// A name no tensor or parameter has yet.
Name tc_fresh_name(Checker *ck, const char *prefix, Name base) {
    Name name = *prefix ? name_of(ck->names, arena_printf(ck->arena, "%s_%s", prefix, base)) : base;
    Used *first = used_name(ck, name);
    for (Name stem = name; first && used_name(ck, name);)
        name = name_of(ck->names, arena_printf(ck->arena, "%s_%d", stem, first->next++));
    return name;
}

// --- Signatures
// -------------------------------------------------------------------------------------------

static int add_param(Checker *ck, Name name, ParamKind kind, Type type, Range range) {
    if (ck->p->params.n >= PROGRAM_MAX_PARAMS) {
        if (!ck->full)
            diag_report(ck->diags, range, DIAG_TC_TOO_MANY, "sizes and scalars in one function",
                        PROGRAM_MAX_PARAMS);
        ck->full = true;
        return 0;
    }
    int i = program_param(ck->p, name, kind);
    tc_use_name(ck, name);
    ck->p->params.at[i].type = type;
    ck->p->params.at[i].range = range;
    return i;
}

// Sizes named by the dimensions of a parameter: any name in them that is not known yet.
static void declare_sizes(Checker *ck, Frame *frame, const Node *n) {
    if (n->kind == NODE_NAME) {
        const Sym *old = tc_find(ck, frame, n->name);
        if (old && old->kind == SYM_SCALAR) return;
        if (!can_define(ck, frame, n->name, n->range)) {
            if (!old) tc_add_sym(ck, frame, n->name, SYM_POISON, n->range);
            return;
        }
        int i = add_param(ck, n->name, PARAM_SIZE, TYPE_I64, n->range);
        Sym *s = tc_add_sym(ck, frame, n->name, SYM_SCALAR, n->range);
        s->is_size = true;
        s->type = TYPE_I64;
        s->value = affine_param(ck->x, i);
    }
    for (int i = 0; i < n->n; i++) declare_sizes(ck, frame, n->arg[i]);
}

static bool rank_fits(Checker *ck, int rank, Range range) {
    if (rank <= PROGRAM_MAX_RANK) return true;
    diag_report(ck->diags, range, DIAG_TC_TOO_MANY, "dimensions of one tensor", PROGRAM_MAX_RANK);
    return false;
}

// The dimensions of a parameter as sizes; NULL when something was reported.
static const Affine **sizes(Checker *ck, const TcParam *p) {
    const Affine **size = arena_new_n(ck->arena, const Affine *, p->rank);
    bool ok = rank_fits(ck, p->rank, p->range);
    ck->no_index = "a dimension";
    for (int d = 0; d < p->rank && ok; d++) {
        size[d] = tc_affine(ck, p->dim[d], "a dimension");
        if (!size[d])
            ok = false;
        else if (size[d]->has_read) {
            diag_report(ck->diags, p->dim[d]->range, DIAG_TC_READ_IN_BOUND, "a dimension");
            ok = false;
        } else if (affine_is_const(size[d]) && size[d]->constant < 0) {
            diag_report(ck->diags, p->dim[d]->range, DIAG_TC_NEGATIVE_SIZE, size[d]->constant);
            ok = false;
        }
    }
    ck->no_index = NULL;
    return ok ? size : NULL;
}

// A tensor may have the name of a size: W is the size, W(i) the tensor, as in the paper's sconv2d.
static Sym *tensor_sym(Checker *ck, Frame *frame, const TcParam *p) {
    Sym *old = tc_find(ck, frame, p->name);
    bool twin =
        old && old->kind == SYM_SCALAR && old->is_size && !old->size && (p->rank > 0 || !p->type);
    const Affine *size = twin ? old->value : NULL;
    if (!twin && !can_define(ck, frame, p->name, p->name_range)) return NULL;
    Sym *s = tc_add_sym(ck, frame, p->name, SYM_TENSOR, p->name_range);
    s->size = size;
    return s;
}

static void add_input(Checker *ck, Frame *frame, const TcParam *p) {
    if (p->shaped || !type_is_integer(p->type)) {
        Sym *s = tensor_sym(ck, frame, p);
        if (s) s->tensor = tc_new_tensor(ck, p->name, ROLE_INPUT, p->name_range);
        return;
    }
    if (!can_define(ck, frame, p->name, p->name_range)) return;
    int i = add_param(ck, p->name, PARAM_SCALAR, p->type, p->name_range);
    Sym *s = tc_add_sym(ck, frame, p->name, SYM_SCALAR, p->name_range);
    s->type = p->type;
    s->value = affine_param(ck->x, i);
}

static void add_output(Checker *ck, Frame *frame, const TcParam *p) {
    Sym *s = tensor_sym(ck, frame, p);
    if (!s) tc_add_sym(ck, frame, p->name, SYM_POISON, p->name_range);
    if (s) s->tensor = tc_new_tensor(ck, p->name, ROLE_OUTPUT, p->name_range);
}

// Types and sizes, once all names of the signature are known.
static void complete_param(Checker *ck, Frame *frame, const TcParam *p, bool input) {
    Sym *s = tc_find(ck, frame, p->name);
    if (!s || s->kind != SYM_TENSOR || s->range.from != p->name_range.from) return;
    Ten *t = &ck->tens.at[s->tensor];
    if (p->type) t->type = p->type, t->declared = true, t->weak = WEAK_NOT;
    if (!p->shaped && (input || p->type))
        t->rank = 0, t->size = arena_new_n(ck->arena, const Affine *, 1);
    if (!p->shaped) return;
    const Affine **size = sizes(ck, p);
    t = &ck->tens.at[s->tensor];
    t->rank = p->rank;
    t->size = size;
    if (!size) s->kind = SYM_POISON;
}

static void signature(Checker *ck, Frame *frame, const TcFunc *f) {
    for (int i = 0; i < f->ninputs; i++)
        if (!f->input[i].shaped) add_input(ck, frame, &f->input[i]);
    for (int i = 0; i < f->ninputs; i++)
        for (int d = 0; d < f->input[i].rank; d++) declare_sizes(ck, frame, f->input[i].dim[d]);
    for (int i = 0; i < f->noutputs; i++)
        for (int d = 0; d < f->output[i].rank; d++) declare_sizes(ck, frame, f->output[i].dim[d]);
    for (int i = 0; i < f->ninputs; i++)
        if (f->input[i].shaped) add_input(ck, frame, &f->input[i]);
    for (int i = 0; i < f->noutputs; i++) add_output(ck, frame, &f->output[i]);
    for (int i = 0; i < f->ninputs; i++) complete_param(ck, frame, &f->input[i], true);
    for (int i = 0; i < f->noutputs; i++) complete_param(ck, frame, &f->output[i], false);
    ck->nreal = ck->p->params.n;
}

// --- Statements
// -------------------------------------------------------------------------------------------

// The tensor that a statement defines, made when it is a new temporary; -1: reported.
int tc_target(Checker *ck, Frame *frame, const TcTarget *target, int rank, Range range) {
    Sym *s = tc_find(ck, frame, target->name);
    if (!s) {
        if (!can_define(ck, frame, target->name, target->range)) return -1;
        Name name =
            frame->caller ? tc_fresh_name(ck, frame->func->name, target->name) : target->name;
        s = tc_add_sym(ck, frame, target->name, SYM_TENSOR, target->range);
        s->tensor = tc_new_tensor(ck, name, ROLE_TEMP, target->range);
    }
    if (s->kind == SYM_POISON) return -1;
    if (s->kind == SYM_SCALAR) {
        Diag *d = diag_report(ck->diags, target->range, DIAG_TC_SCALAR_WRITTEN, target->name,
                              s->is_size ? "a size" : "a scalar argument");
        diag_note(ck->diags, d, s->range, DIAG_TC_FIRST_NOTE);
        return -1;
    }
    Ten *t = &ck->tens.at[s->tensor];
    if (t->role == ROLE_INPUT) {
        Diag *d = diag_report(ck->diags, target->range, DIAG_TC_INPUT_WRITTEN, target->name);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_INPUT_WRITTEN_NOTE);
        return -1;
    }
    if (rank < 0) return s->tensor;
    if (!rank_fits(ck, rank, range)) return -1;
    if (t->rank < 0) t->rank = rank, t->range = target->range;
    if (t->rank == rank) return s->tensor;
    Diag *d = diag_report(ck->diags, range, DIAG_TC_RANK, t->name, t->rank, t->rank == 1 ? "" : "s",
                          rank, rank == 1 ? "" : "s");
    diag_note(ck->diags, d, t->range, DIAG_TC_DECLARED_NOTE, t->name);
    return -1;
}

// The written element; iterators that occur come first.
static const Access *left_side(Checker *ck, const TcStmt *s, int tensor, const Range **ranges) {
    const Affine *sub[PROGRAM_MAX_RANK];
    Range *r = arena_new_n(ck->arena, Range, s->nsubs);
    bool ok = tensor >= 0;
    for (int d = 0; d < s->nsubs; d++) {
        const Node *n = s->sub[d];
        const Sym *sym = n->kind == NODE_NAME ? tc_find(ck, ck->frame, n->name) : NULL;
        const Affine *a = NULL;
        if (sym && (sym->size || (sym->kind == SYM_SCALAR && sym->is_size))) {
            Diag *diag = diag_report(ck->diags, n->range, DIAG_TC_INDEX_IS_SIZE, n->name);
            diag_note(ck->diags, diag, sym->range, DIAG_TC_FIRST_NOTE);
        } else {
            a = tc_affine(ck, n, "a subscript");
        }
        r[d] = n->range;
        if (a && d < PROGRAM_MAX_RANK) sub[d] = a;
        ok = ok && a;
    }
    *ranges = r;
    return ok ? access_make(ck->x, tensor, s->nsubs, sub) : NULL;
}

static void add_let(Checker *ck, const TcWhere *w) {
    Let let = {.name = w->name};
    const char *taken = NULL;
    for (int i = 0; i < ck->iters.n; i++)
        if (ck->iters.at[i].name == w->name) taken = "an index";
    for (int i = 0; i < ck->lets.n; i++)
        if (ck->lets.at[i].name == w->name) taken = "a 'where' definition";
    if (!taken && tc_find(ck, ck->frame, w->name)) taken = "a name of the function";
    if (!taken && is_reserved(w->name)) taken = "a builtin or a type";
    if (taken) {
        Diag *d = diag_report(ck->diags, w->range, DIAG_TC_LET_TAKEN, w->name, taken);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_RENAME_NOTE);
    }
    ck->owner = ck->lets.n;
    let.val = tc_value(ck, w->a);
    ck->owner = -1;
    if (let.val.e && let.val.weak && let.val.e->kind != EXPR_CONST)
        let.val = (Val){tc_coerce(ck, let.val, tc_value_type(let.val)), WEAK_NOT};
    if (taken) let.name = NULL;
    vec_push(ck->arena, &ck->lets, let);
}

static const Affine *bound(Checker *ck, const Node *n) {
    ck->no_index = "a range";
    const Affine *a = tc_affine(ck, n, "a bound");
    ck->no_index = NULL;
    if (a && a->has_iter) {
        Diag *d = diag_report(ck->diags, n->range, DIAG_TC_TRIANGULAR);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_INDEX_IN_BOUND_NOTE);
        return NULL;
    }
    if (a && a->has_read) {
        Diag *d = diag_report(ck->diags, n->range, DIAG_TC_READ_IN_BOUND, "a bound");
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_READ_IN_BOUND_NOTE);
        return NULL;
    }
    return a;
}

static bool range_target(Checker *ck, const TcWhere *w) {
    const Sym *s = tc_find(ck, ck->frame, w->name);
    const char *what = !s ? NULL : s->kind == SYM_TENSOR ? "a tensor" : "a size or scalar";
    for (int i = 0; i < ck->lets.n; i++)
        if (ck->lets.at[i].name == w->name) what = "a 'where' definition";
    if (!what) return true;
    Diag *d = diag_report(ck->diags, w->range, DIAG_TC_RANGE_OF, w->name, what);
    diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_RANGE_OF_NOTE);
    return false;
}

static void add_range(Checker *ck, const TcWhere *w) {
    int it = -1;
    if (!range_target(ck, w)) return;
    const Affine *lo = bound(ck, w->a), *hi = bound(ck, w->b);
    for (int i = 0; i < ck->iters.n; i++)
        if (ck->iters.at[i].name == w->name) it = i;
    if (it < 0) {
        if (ck->iters.n == PROGRAM_MAX_ITERS) {
            diag_report(ck->diags, w->range, DIAG_TC_TOO_MANY, "indices in one statement",
                        PROGRAM_MAX_ITERS);
            return;
        }
        Iter fresh = {.name = w->name, .range = w->range};
        vec_push(ck->arena, &ck->iters, fresh);
        it = ck->iters.n - 1;
    }
    if (ck->iters.at[it].lo) {
        diag_report(ck->diags, w->range, DIAG_TC_RANGE_TWICE, w->name);
        return;
    }
    if (!lo || !hi) return;
    ck->iters.at[it].range = range_join(w->range, w->b->range);
    ck->iters.at[it].lo = lo;
    ck->iters.at[it].hi = hi;
}

static void where_clauses(Checker *ck, const TcStmt *s, WhereKind kind) {
    for (int i = 0; i < s->nwhere; i++) {
        const TcWhere *w = &s->where[i];
        if (w->kind != kind) continue;
        if (kind == WHERE_LET) add_let(ck, w);
        if (kind == WHERE_EXISTS) tc_value(ck, w->a);
        if (kind == WHERE_RANGE) {
            ck->unread = true;
            add_range(ck, w);
            ck->unread = false;
        }
    }
}

static void names_list(Checker *ck, Text *t, int from) {
    for (int i = from; i < ck->iters.n; i++)
        text_printf(t, "%s'%s'",
                    i == from              ? ""
                    : i + 1 == ck->iters.n ? " and "
                                           : ", ",
                    ck->iters.at[i].name);
}

// `=` with indices that only the right side has: a sum, with a warning.
static void assign_reduces(Checker *ck, const TcStmt *s, Work *w) {
    Text names = {.arena = ck->arena};
    names_list(ck, &names, w->nlhs);
    Diag *d = tc_warn(ck, s->op_range, DIAG_TC_ASSIGN_REDUCES, text_str(&names), "");
    if (d) diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_ASSIGN_REDUCES_NOTE);
    w->op = REDUCE_ADD;
    w->init = true;
}

// `op=` without `!` on what nothing defined before.
static void check_initialised(Checker *ck, const TcStmt *s, const Work *w, int tensor) {
    const Ten *t = &ck->tens.at[tensor];
    if (w->op == REDUCE_ASSIGN || w->init || t->defs > 0) return;
    if (t->role == ROLE_TEMP) {
        Diag *d = diag_report(ck->diags, s->op_range, DIAG_TC_TEMP_UPDATED, t->name);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_INIT_NOTE, reduce_name[w->op]);
        return;
    }
    Diag *d = tc_warn(ck, s->op_range, DIAG_TC_UNINITIALISED, reduce_name[w->op], t->name);
    if (d) diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_INIT_NOTE, reduce_name[w->op]);
}

static void check_padding(Checker *ck, const Work *w) {
    if (!ck->padded.to || w->op != REDUCE_ASSIGN) return;
    Diag *d = diag_report(ck->diags, ck->padded, DIAG_TC_PAD_ASSIGN);
    diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_PAD_VALUE_NOTE);
}

static void define(Checker *ck, const TcStmt *s, const Work *w, int tensor) {
    Ten *t = &ck->tens.at[tensor];
    t->defs++;
    if (!w->value.e) {
        if (!t->declared) t->weak = WEAK_NOT;
        return;
    }
    Type type = w->value.e->type;
    bool sum = w->op == REDUCE_ADD || w->op == REDUCE_MUL;
    bool reduces = w->niters > w->nlhs || w->scatter;
    if (sum && reduces && !t->declared && !w->value.weak) type = type_accumulator(type);
    tc_join_type(ck, tensor, type, w->value.weak, s->value->range);
}

static void too_large(Checker *ck, const TcStmt *s) {
    if (ck->x->overflow) diag_report(ck->diags, s->range, DIAG_TC_OVERFLOW);
    if (ck->x->too_large) diag_report(ck->diags, s->range, DIAG_TC_EXPR_LARGE);
    ck->x->overflow = ck->x->too_large = false;
}

static void start_stmt(Checker *ck, Frame *frame, const TcStmt *s) {
    ck->frame = frame;
    ck->stmt = s;
    ck->iters.n = ck->lets.n = ck->constraints.n = ck->guard = 0;
    ck->reads.n = ck->uses.n = 0;
    ck->owner = -1;
    ck->unread = false;
    ck->no_index = NULL;
    ck->padded = (Range){0, 0};
}

static bool room_for_stmt(Checker *ck, const TcStmt *s) {
    if (ck->full) return false;
    if (ck->works.n < PROGRAM_MAX_STMTS) return true;
    diag_report(ck->diags, s->range, DIAG_TC_TOO_MANY, "statements in one function",
                PROGRAM_MAX_STMTS);
    ck->full = true;
    return false;
}

static void check_stmt(Checker *ck, Frame *frame, const TcStmt *s) {
    int errors = ck->diags->errors;
    start_stmt(ck, frame, s);
    if (!room_for_stmt(ck, s) || tc_call_stmt(ck, frame, s)) return;
    int tensor = tc_target(ck, frame, &s->target[0], s->nsubs, s->write_range);
    Work w = {.op = s->op, .init = s->init, .hint = s->hint, .range = s->range};
    w.write_range = s->write_range;
    w.write = left_side(ck, s, tensor, &w.sub_range);
    w.nlhs = ck->iters.n;
    where_clauses(ck, s, WHERE_LET);
    w.value = tc_value(ck, s->value);
    where_clauses(ck, s, WHERE_EXISTS);
    where_clauses(ck, s, WHERE_RANGE);
    w.niters = ck->iters.n;
    too_large(ck, s);
    if (tensor < 0) return;
    if (w.write) {
        w.scatter = w.write->has_read;
        tc_check_write(ck, s, &w);
        bool silent = ck->diags->errors > errors; // warnings would only repeat the error
        if (w.op == REDUCE_ASSIGN && w.niters > w.nlhs && !silent) assign_reduces(ck, s, &w);
        check_padding(ck, &w);
        check_initialised(ck, s, &w, tensor);
        if (w.op != REDUCE_ASSIGN && !w.init)
            tc_add_read(ck, w.write, READ_PLAIN, s->write_range, w.sub_range);
    }
    define(ck, s, &w, tensor);
    if (!w.write || !w.value.e) return;
    w.iter = arena_copy(ck->arena, ck->iters.at, (size_t)w.niters * sizeof(Iter));
    w.nconstraints = ck->constraints.n;
    w.constraint =
        arena_copy(ck->arena, ck->constraints.at, (size_t)w.nconstraints * sizeof(Affine *));
    w.reads = tc_take_reads(ck, &w.nreads);
    vec_push(ck->arena, &ck->works, w);
}

void tc_check_stmts(Checker *ck, Frame *frame) {
    for (const TcStmt *s = frame->func->stmts; s && !ck->full; s = s->next) {
        int before = ck->diags->items.n;
        check_stmt(ck, frame, s);
        for (int i = before; frame->caller && i < ck->diags->items.n; i++)
            diag_note(ck->diags, ck->diags->items.at[i], frame->call, DIAG_TC_CALLED_NOTE);
    }
}

// --- Functions
// --------------------------------------------------------------------------------------------

static void check_outputs(Checker *ck) {
    for (int i = 0; i < ck->tens.n; i++) {
        Ten *t = &ck->tens.at[i];
        if (t->role != ROLE_OUTPUT || t->defs > 0) continue;
        Diag *d = diag_report(ck->diags, t->range, DIAG_TC_OUTPUT_UNDEFINED, t->name);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_OUTPUT_UNDEFINED_NOTE, t->name);
    }
}

static void one_round(Checker *ck, TcFunc *f, int errors) {
    Frame *frame = arena_new(ck->arena, Frame);
    frame->func = f;
    ck->frame = frame;
    ck->tens.n = ck->works.n = ck->requires.n = ck->standins.n = 0;
    ck->used = (Set){0};
    ck->changed = false;
    signature(ck, frame, f);
    tc_check_stmts(ck, frame);
    if (ck->diags->errors == errors && !f->broken && !ck->poisoned) check_outputs(ck);
}

static void save_types(Checker *ck) {
    ck->seeds.n = 0;
    for (int i = 0; i < ck->tens.n; i++) {
        Seed s = {ck->tens.at[i].type, ck->tens.at[i].weak};
        vec_push(ck->arena, &ck->seeds, s);
    }
}

void tc_check_func(TcFile *file, TcFunc *f, Arena *arena, Names *names, const Source *source,
                   int depth, int *inlined, DiagList *diags) {
    if (f->state != FUNC_NEW) return;
    f->state = f->headless ? FUNC_FAILED : FUNC_BUSY;
    if (f->headless) return;
    Checker ck = {.arena = arena, .names = names, .diags = diags, .file = file, .func = f};
    int errors = diags->errors;
    ck.source = source;
    ck.inlined = inlined;
    ck.depth = depth;
    ck.p = program_new(arena, names, f->name, strlen(f->name));
    ck.p->source = source;
    ck.x = ck.p->exprs;
    ck.name_true = name_of(names, "true");
    ck.name_false = name_of(names, "false");
    ck.name_inf = name_of(names, "inf");
    ck.name_nan = name_of(names, "nan");
    ck.name_axis = name_of(names, "axis");
    do {
        if (ck.changed) save_types(&ck), ck.again = true;
        ck.p->params.n = 0;
        one_round(&ck, f, errors);
    } while (ck.changed && diags->errors == errors);
    bool ok = diags->errors == errors && !f->broken && !ck.poisoned && tc_emit(&ck) &&
              diags->errors == errors;
    f->state = ok ? FUNC_OK : FUNC_FAILED;
    f->program = ok ? ck.p : NULL;
}

Module *tc_parse(Arena *arena, Names *names, const Source *source, DiagList *diags) {
    Module *m = arena_new(arena, Module);
    TcFile file = {0};
    int inlined = 0;
    diags->source = source;
    tc_parse_file(&file, arena, names, source, diags);
    for (int i = 0; i < file.funcs.n; i++)
        tc_check_func(&file, file.funcs.at[i], arena, names, source, 0, &inlined, diags);
    for (int i = 0; i < file.funcs.n; i++)
        if (file.funcs.at[i]->program) vec_push(arena, &m->programs, file.funcs.at[i]->program);
    return m;
}
