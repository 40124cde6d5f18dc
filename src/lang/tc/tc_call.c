// Calls and concat.
//
//     (O2, O3) = f(A, B, 2)      O = f(A)      O = concat(A, B)      O = concat(A, B, axis = 0)
//
// A call is inlined: the callee's statements are checked again in their own TcFrame, in which its
// parameters name the caller's tensors, its sizes the extents of the arguments, and its results the
// tensors on the left. Its temporaries become temporaries of the caller. Sizes that must agree
// become preconditions.
//
// concat writes each operand into its part of the result, with one statement per operand.
#include "lang/tc/tc.h"

#include <string.h>

#include "base/nearest.h"

// The results of a failed call: they are defined, and no more errors about them are reported.
static void poison_targets(TcChecker *ck, TcFrame *frame, const TcStmt *s) {
    ck->poisoned = true;
    for (int i = 0; i < s->ntargets; i++) {
        Sym *sym = tc_find(ck, frame, s->target[i].name);
        if (!sym) tc_add_sym(ck, frame, s->target[i].name, SYM_POISON, s->target[i].range);
        if (sym && sym->kind == SYM_TENSOR) ck->tens.at[sym->tensor].defs++;
    }
}

// The tensor that an argument names; -1: reported.
static int tensor_argument(TcChecker *ck, TcFrame *frame, const TcNode *n, const char *of) {
    Sym *s = n->kind == NODE_NAME ? tc_find(ck, frame, n->name) : NULL;
    if (n->kind == NODE_BAD || (s && s->kind == SYM_POISON)) return -1;
    if (s && s->kind == SYM_TENSOR) {
        const Ten *t = &ck->tens.at[s->tensor];
        if (t->rank < 0 && t->defs == 0) {
            Diag *d = diag_report(ck->diags, n->range, DIAG_TC_TEMP_READ, t->name);
            diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_TEMP_READ_NOTE, t->name);
            return -1;
        }
        return tc_readable(ck, s->tensor, t->rank, n->range) ? s->tensor : -1;
    }
    if (n->kind == NODE_NAME && !s) {
        Diag *d = diag_report(ck->diags, n->range, DIAG_TC_UNDEFINED, n->name);
        tc_note_undefined(ck, d, frame, n);
        return -1;
    }
    Diag *d = diag_report(ck->diags, n->range, DIAG_TC_TENSOR_ARGUMENT, of);
    diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_TENSOR_ARGUMENT_NOTE);
    return -1;
}

// Is a result also an argument, or a result twice? It would change while it is read.
static bool is_aliased(TcChecker *ck, const TcStmt *s) {
    const TcNode *call = s->value;
    for (int i = 0; i < s->ntargets; i++) {
        bool found = false;
        for (int j = 0; j < call->n; j++)
            found |= call->arg[j]->kind == NODE_NAME && call->arg[j]->name == s->target[i].name;
        for (int j = 0; j < i; j++) found |= s->target[j].name == s->target[i].name;
        if (!found) continue;
        Diag *d = diag_report(ck->diags, s->target[i].range, DIAG_TC_CALL_ALIAS, s->target[i].name);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_CALL_ALIAS_NOTE);
        return true;
    }
    return false;
}

// --- concat --------------------------------------------------------------------------------------

typedef struct Concat {
    int n, rank, axis;
    int *tensor;
    const TcNode **arg;
} Concat;

static bool read_axis(TcChecker *ck, const TcNode *named, Concat *c) {
    const TcNode *n = named->arg[0];
    if (named->name != ck->name_axis) {
        diag_report(ck->diags, named->range, DIAG_TC_NAMED_ARGUMENT, "concat", named->name);
        return false;
    }
    const Affine *a = tc_affine(ck, n, "an axis");
    if (!a) return false;
    int64_t axis = a->constant < 0 ? a->constant + c->rank : a->constant;
    if (!affine_is_const(a) || axis < 0 || axis >= c->rank) {
        diag_report(ck->diags, n->range, DIAG_TC_AXIS, -c->rank, c->rank - 1);
        return false;
    }
    c->axis = (int)axis;
    return true;
}

static bool concat_operands(TcChecker *ck, TcFrame *frame, const TcNode *v, Concat *c) {
    const TcNode *axis = NULL;
    bool ok = true;
    c->tensor = arena_new_n(ck->arena, int, v->n);
    c->arg = arena_new_n(ck->arena, const TcNode *, v->n);
    for (int i = 0; i < v->n; i++) {
        if (v->arg[i]->kind == NODE_NAMED) {
            axis = v->arg[i];
            continue;
        }
        int t = tensor_argument(ck, frame, v->arg[i], "concat");
        ok = ok && t >= 0;
        c->arg[c->n] = v->arg[i];
        c->tensor[c->n++] = t;
    }
    if (c->n == 0) {
        Diag *d = diag_report(ck->diags, v->range, DIAG_TC_CONCAT_EMPTY);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_CONCAT_NOTE);
        return false;
    }
    if (!ok) return false;
    c->rank = ck->tens.at[c->tensor[0]].rank;
    for (int i = 0; i < c->n; i++) {
        int rank = ck->tens.at[c->tensor[i]].rank;
        if (rank == c->rank && rank > 0) continue;
        Diag *d = diag_report(ck->diags, c->arg[i]->range, DIAG_TC_CONCAT_RANK, c->arg[i]->name,
                              rank, rank == 1 ? "" : "s");
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_CONCAT_NOTE);
        return false;
    }
    c->axis = c->rank - 1;
    return !axis || read_axis(ck, axis, c);
}

// Sizes of the result, and the sizes that must agree.
static void concat_sizes(TcChecker *ck, const Concat *c, int to, const TcStmt *s) {
    const Affine **size = arena_new_n(ck->arena, const Affine *, c->rank);
    for (int d = 0; d < c->rank; d++) {
        size[d] = tc_extent(ck, c->tensor[0], d);
        for (int i = 1; i < c->n; i++) {
            const Affine *e = tc_extent(ck, c->tensor[i], d);
            if (d == c->axis) {
                size[d] = affine_add(ck->x, size[d], e);
                continue;
            }
            tc_require_equal(ck, e, size[d], c->arg[i]->range,
                             "dimension %d of '%s' and '%s' agree in concat", d, c->arg[0]->name,
                             c->arg[i]->name);
        }
    }
    Ten *t = &ck->tens.at[to];
    if (!t->size && t->defs == 0 && !t->size_param) {
        t->size = size;
        return;
    }
    for (int d = 0; d < c->rank; d++) {
        tc_require_equal(ck, tc_extent(ck, to, d), size[d], s->range,
                         "dimension %d of '%s' is that of the concat", d, t->name);
    }
}

static void concat_part(TcChecker *ck, const Concat *c, int i, int to, const Affine *offset,
                        const TcStmt *s) {
    int from = c->tensor[i];
    const Affine *read[PROGRAM_MAX_RANK], *write[PROGRAM_MAX_RANK];
    TcWork w = {.op = REDUCE_ASSIGN, .range = s->range, .write_range = s->target[0].range};
    int steps = ck->steps.n;
    w.niters = w.nlhs = steps + c->rank;
    w.iter = tc_step_iters(ck, c->rank);
    for (int d = 0; d < c->rank; d++) {
        const Affine *lo = tc_origin(ck, from, d);
        Name name = name_of(ck->names, arena_printf(ck->arena, "i%d", d));
        w.iter[steps + d] = (Iter){.name = name, .lo = lo, .range = c->arg[i]->range};
        w.iter[steps + d].hi = affine_add(ck->x, lo, tc_extent(ck, from, d));
        read[d] = affine_iter(ck->x, steps + d);
        write[d] = affine_sub(ck->x, read[d], lo);
        if (d == c->axis) write[d] = affine_add(ck->x, write[d], offset);
    }
    const Access *a = access_make(ck->x, from, c->rank, read);
    Type type = tc_tensor_type(ck, from);
    InferRead *r = arena_new(ck->arena, InferRead);
    *r = (InferRead){.access = a, .mode = READ_GUARDED, .range = c->arg[i]->range}; // stays inside
    w.reads = r;
    w.nreads = 1;
    w.write = access_make(ck->x, to, c->rank, write);
    if (type == TYPE_NONE || !tc_join_type(ck, to, type, WEAK_NOT, c->arg[i]->range)) return;
    w.value = (TcVal){.e = expr_read(ck->x, type, a)};
    tc_put_work(ck, &w);
}

static void concat(TcChecker *ck, TcFrame *frame, const TcStmt *s) {
    Concat c = {0};
    if (is_aliased(ck, s) || !concat_operands(ck, frame, s->value, &c)) {
        poison_targets(ck, frame, s);
        return;
    }
    int to = tc_target(ck, frame, &s->target[0], c.rank, s->write_range);
    if (to < 0) return;
    concat_sizes(ck, &c, to, s);
    const Affine *offset = affine_const(ck->x, 0);
    for (int i = 0; i < c.n; i++) {
        concat_part(ck, &c, i, to, offset, s);
        offset = affine_add(ck->x, offset, tc_extent(ck, c.tensor[i], c.axis));
    }
    ck->tens.at[to].defs++;
}

// --- Calls ---------------------------------------------------------------------------------------

typedef struct TcInlining {
    TcChecker *ck;
    TcFrame *caller, *inner;
    TcFunc *func;
    const TcStmt *stmt;
    bool ok;
} TcInlining;

static void bind_scalar(TcInlining *c, const TcParam *p, const TcNode *arg) {
    TcChecker *ck = c->ck;
    ck->no_index = "an argument";
    const Affine *a = tc_affine(ck, arg, "an argument");
    ck->no_index = NULL;
    if (a && a->has_read) {
        Diag *d = diag_report(ck->diags, arg->range, DIAG_TC_READ_IN_BOUND, "an integer argument");
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_READ_IN_BOUND_NOTE);
        a = NULL;
    }
    c->ok = c->ok && a;
    Sym *s = tc_add_sym(ck, c->inner, p->name, a ? SYM_SCALAR : SYM_POISON, p->name_range);
    s->type = p->type;
    s->value = a;
}

// A float (or bool) scalar given as an expression is computed into a temporary first.
static void bind_value(TcInlining *c, const TcParam *p, const TcNode *arg) {
    TcChecker *ck = c->ck;
    ck->reads.n = ck->uses.n = 0;
    ck->no_index = "an argument";
    TcVal v = tc_value(ck, arg);
    ck->no_index = NULL;
    Sym *s = tc_add_sym(ck, c->inner, p->name, SYM_POISON, p->name_range);
    c->ok = c->ok && v.e;
    if (!v.e) return;
    if (!tc_type_fits(p->type, v.e->type, v.weak)) {
        Diag *d = diag_report(ck->diags, arg->range, DIAG_TC_CALL_VALUE, p->name, c->func->name,
                              type_info[p->type].name, type_info[tc_value_type(v)].name);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_NARROWS_NOTE, type_info[p->type].name);
        c->ok = false;
        return;
    }
    int t = tc_temporary(ck, c->func->name, p->name, p->type, 0, arg->range);
    s->kind = SYM_TENSOR;
    s->tensor = t;
    TcWork w = {.op = REDUCE_ASSIGN, .range = arg->range, .write_range = arg->range, .value = v};
    w.write = access_make(ck->x, t, 0, NULL);
    w.niters = w.nlhs = ck->steps.n;
    w.iter = tc_step_iters(ck, 0);
    w.reads = tc_take_reads(ck, &w.nreads);
    tc_put_work(ck, &w);
}

// A dimension that is a name gets the extent of the first argument that has it.
static void bind_sizes(TcInlining *c, const TcParam *p, int tensor) {
    TcChecker *ck = c->ck;
    for (int d = 0; d < p->rank; d++) {
        const TcNode *n = p->dim[d];
        Sym *s = n->kind == NODE_NAME ? tc_find(ck, c->inner, n->name) : NULL;
        if (n->kind != NODE_NAME || (s && (s->kind == SYM_SCALAR || s->size))) continue;
        if (s) {
            s->size = tc_extent(ck, tensor, d);
            continue;
        }
        s = tc_add_sym(ck, c->inner, n->name, SYM_SCALAR, n->range);
        s->is_size = true;
        s->type = TYPE_I64;
        s->value = tc_extent(ck, tensor, d);
    }
}

static bool names_known(TcInlining *c, const TcNode *n) {
    bool known = n->kind != NODE_NAME || tc_find(c->ck, c->inner, n->name);
    for (int i = 0; i < n->n; i++) known = known && names_known(c, n->arg[i]);
    return known;
}

// A dimension of the callee's signature in terms of the caller's sizes; NULL if a name in it has no
// value.
static const Affine *dimension(TcInlining *c, const TcNode *n) {
    TcChecker *ck = c->ck;
    if (!names_known(c, n)) return NULL;
    ck->frame = c->inner;
    ck->no_index = "a dimension";
    const Affine *a = tc_affine(ck, n, "a dimension");
    ck->no_index = NULL;
    ck->frame = c->caller;
    return a;
}

// Dimensions that another argument has bound, or that are numbers or expressions, must agree.
static void require_sizes(TcInlining *c, const TcParam *p, int tensor, const TcNode *arg) {
    TcChecker *ck = c->ck;
    for (int d = 0; d < p->rank; d++) {
        const Affine *want = dimension(c, p->dim[d]);
        if (!want) {
            Diag *diag =
                diag_report(ck->diags, arg->range, DIAG_TC_CALL_SIZE, c->func->name, d, p->name);
            diag_note(ck->diags, diag, p->range, DIAG_TC_DECLARED_NOTE, p->name);
            c->ok = false;
            continue;
        }
        tc_require_equal(ck, tc_extent(ck, tensor, d), want, arg->range,
                         "dimension %d of '%s' is what '%s' expects of its parameter '%s'", d,
                         ck->tens.at[tensor].name, c->func->name, p->name);
    }
}

static int bind_tensor(TcInlining *c, const TcParam *p, const TcNode *arg) {
    TcChecker *ck = c->ck;
    int t = tensor_argument(ck, c->caller, arg, c->func->name);
    Sym *s = tc_add_sym(ck, c->inner, p->name, t < 0 ? SYM_POISON : SYM_TENSOR, p->name_range);
    s->tensor = t;
    s->from_zero = true;
    c->ok = c->ok && t >= 0;
    if (t < 0) return -1;
    const Ten *ten = &ck->tens.at[t];
    if (ten->weak && tc_type_fits(p->type, ten->type, ten->weak)) // literals take the expected type
        tc_join_type(ck, t, p->type, WEAK_NOT, arg->range);
    Type type = tc_tensor_type(ck, t);
    if (ten->rank != p->rank) {
        Diag *d = diag_report(ck->diags, arg->range, DIAG_TC_CALL_RANK, p->name, c->func->name,
                              p->rank, p->rank == 1 ? "" : "s", ten->name, ten->rank);
        diag_note(ck->diags, d, p->range, DIAG_TC_DECLARED_NOTE, p->name);
        c->ok = false;
        return -1;
    }
    if (type != TYPE_NONE && type != p->type) {
        Diag *d = diag_report(ck->diags, arg->range, DIAG_TC_CALL_TYPE, p->name, c->func->name,
                              type_info[p->type].name, ten->name, type_info[type].name);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_CALL_TYPE_NOTE);
        c->ok = false;
        return -1;
    }
    return t;
}

static bool names_tensor(TcChecker *ck, TcFrame *frame, const TcNode *n) {
    const Sym *s = n->kind == NODE_NAME ? tc_find(ck, frame, n->name) : NULL;
    return s && s->kind == SYM_TENSOR && ck->tens.at[s->tensor].rank == 0;
}

static void bind_arguments(TcInlining *c) {
    TcChecker *ck = c->ck;
    const TcNode *call = c->stmt->value;
    int *tensor = arena_new_n(ck->arena, int, call->n);
    for (int i = 0; i < call->n; i++) {
        const TcParam *p = &c->func->input[i];
        const TcNode *arg = call->arg[i];
        tensor[i] = -1;
        if (arg->kind == NODE_NAMED) {
            diag_report(ck->diags, arg->range, DIAG_TC_NAMED_ARGUMENT, c->func->name, arg->name);
            c->ok = false;
        } else if (!p->shaped && type_is_integer(p->type)) {
            bind_scalar(c, p, arg);
        } else if (p->shaped || names_tensor(ck, c->caller, arg)) {
            tensor[i] = bind_tensor(c, p, arg);
        } else {
            bind_value(c, p, arg);
        }
    }
    for (int i = 0; i < call->n; i++)
        if (tensor[i] >= 0) bind_sizes(c, &c->func->input[i], tensor[i]);
    for (int i = 0; i < call->n && c->ok; i++)
        if (tensor[i] >= 0) require_sizes(c, &c->func->input[i], tensor[i], call->arg[i]);
}

// The declared shape of a result, in the caller's sizes, fixes the shape of the tensor on the left.
static void bind_shape(TcInlining *c, const TcParam *p, int tensor, Range range) {
    TcChecker *ck = c->ck;
    const Affine **size = arena_new_n(ck->arena, const Affine *, p->rank);
    Ten *t = &ck->tens.at[tensor];
    bool shaped = t->size || t->defs > 0 || t->size_param;
    if (shaped && t->rank == p->rank) bind_sizes(c, p, tensor); // binds names that no argument has
    for (int d = 0; d < p->rank && c->ok; d++) {
        size[d] = dimension(c, p->dim[d]);
        c->ok = size[d] != NULL;
        if (size[d]) continue;
        Diag *diag = diag_report(ck->diags, range, DIAG_TC_CALL_SIZE, c->func->name, d, p->name);
        diag_note(ck->diags, diag, (Range){0, 0}, DIAG_TC_CALL_SIZE_NOTE, t->name);
    }
    if (!c->ok) return;
    t = &ck->tens.at[tensor];
    if (!shaped) {
        t->size = size;
        return;
    }
    for (int d = 0; d < p->rank; d++)
        tc_require_equal(ck, tc_extent(ck, tensor, d), size[d], range,
                         "'%s' has the shape that '%s' gives its result", t->name, c->func->name);
}

static void bind_results(TcInlining *c) {
    TcChecker *ck = c->ck;
    for (int i = 0; i < c->stmt->ntargets; i++) {
        const TcParam *p = &c->func->output[i];
        const TcTarget *target = &c->stmt->target[i];
        int rank = p->shaped ? p->rank : p->type ? 0 : -1;
        int t = tc_target(ck, c->caller, target, rank, target->range);
        Sym *s = tc_add_sym(ck, c->inner, p->name, t < 0 ? SYM_POISON : SYM_TENSOR, p->name_range);
        s->tensor = t;
        c->ok = c->ok && t >= 0;
        if (t < 0) continue;
        if (p->type && !tc_join_type(ck, t, p->type, WEAK_NOT, target->range)) c->ok = false;
        if (p->shaped) bind_shape(c, p, t, target->range);
    }
}

static bool counts_agree(TcChecker *ck, const TcStmt *s, const TcFunc *f) {
    if (s->value->n != f->ninputs) {
        Diag *d = diag_report(ck->diags, s->value->range, DIAG_TC_CALL_ARGUMENTS, f->name,
                              f->ninputs, f->ninputs == 1 ? "" : "s", s->value->n);
        diag_note(ck->diags, d, f->range, DIAG_TC_DECLARED_NOTE, f->name);
        return false;
    }
    if (s->ntargets == f->noutputs) return true;
    Diag *d = diag_report(ck->diags, s->write_range, DIAG_TC_CALL_RESULTS, f->name, f->noutputs,
                          f->noutputs == 1 ? "" : "s", s->ntargets);
    diag_note(ck->diags, d, f->range, DIAG_TC_DECLARED_NOTE, f->name);
    return false;
}

// The callee must be correct; it is checked first if it was not checked yet.
static bool callee_is_sound(TcChecker *ck, const TcStmt *s, TcFunc *f) {
    if (f->state == FUNC_BUSY) {
        Diag *d = diag_report(ck->diags, s->value->range, DIAG_TC_RECURSION, f->name);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_RECURSION_NOTE);
        return false;
    }
    if (ck->depth >= TC_MAX_CALL_DEPTH) {
        diag_report(ck->diags, s->value->range, DIAG_TC_TOO_MANY, "functions calling each other",
                    TC_MAX_CALL_DEPTH);
        return false;
    }
    int depth = ck->depth + 1;
    tc_check_func(ck->file, f, ck->arena, ck->names, ck->source, depth, ck->diags);
    vec_push(ck->arena, &ck->func->calls, f);
    return f->state == FUNC_CHECKED;
}

static void call_function(TcChecker *ck, TcFrame *frame, const TcStmt *s, TcFunc *f) {
    TcInlining c = {ck, frame, arena_new(ck->arena, TcFrame), f, s, true};
    c.inner->func = f;
    c.inner->caller = frame;
    CallSite *site = arena_new(ck->arena, CallSite);
    *site = (CallSite){s->range, frame->call};
    c.inner->call = site;
    if (!callee_is_sound(ck, s, f) || !counts_agree(ck, s, f) || is_aliased(ck, s)) {
        poison_targets(ck, frame, s);
        return;
    }
    if (++ck->file->inlined > TC_MAX_INLINED) {
        if (!ck->full)
            diag_report(ck->diags, s->range, DIAG_TC_TOO_MANY, "statements brought in by calls",
                        TC_MAX_INLINED);
        ck->full = true;
        return;
    }
    bind_arguments(&c);
    if (c.ok) bind_results(&c);
    if (!c.ok) {
        poison_targets(ck, frame, s);
        return;
    }
    tc_check_stmts(ck, c.inner);
}

static bool report_form(TcChecker *ck, TcFrame *frame, const TcStmt *s, DiagId id, Range range) {
    Diag *d = diag_report(ck->diags, range, id, s->value->kind == NODE_CALL ? s->value->name : "");
    diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_CALL_INSIDE_NOTE,
              s->value->kind == NODE_CALL ? s->value->name : "f");
    poison_targets(ck, frame, s);
    return true;
}

// Is an unknown name on the right meant as a function? It then has results on the left or tensors
// as arguments.
static bool calls_unknown(TcChecker *ck, TcFrame *frame, const TcStmt *s) {
    const TcNode *v = s->value;
    if (s->tuple) return true;
    if (s->subscripts || tc_type_name(v->name, strlen(v->name))) return false;
    for (int i = 0; i < v->n; i++) {
        const Sym *a = v->arg[i]->kind == NODE_NAME ? tc_find(ck, frame, v->arg[i]->name) : NULL;
        if (a && a->kind == SYM_TENSOR && ck->tens.at[a->tensor].rank > 0) return true;
    }
    return false;
}

bool tc_call_stmt(TcChecker *ck, TcFrame *frame, const TcStmt *s) {
    const TcNode *v = s->value;
    if (v->kind == NODE_BAD) {
        poison_targets(ck, frame, s);
        return true;
    }
    bool is_call = v->kind == NODE_CALL && !tc_find(ck, frame, v->name);
    TcFunc *f = is_call ? tc_find_func(ck->file, ck->arena, v->name) : NULL;
    const TcBuiltin *b = is_call ? tc_builtin(v->name, strlen(v->name)) : NULL;
    if (f && b && s->subscripts) f = NULL; // O(i) = clamp(A(i)) means the builtin
    if (f) b = NULL;
    bool joins = b && b->kind == BUILTIN_CONCAT;
    if (is_call && !f && !b && calls_unknown(ck, frame, s)) {
        Diag *d = diag_report(ck->diags, v->head, DIAG_TC_NO_FUNCTION, v->name);
        const char *near = nearest(v->name, tc_nth_function, ck->file);
        if (near)
            diag_note(ck->diags, d, (Range){0, 0}, DIAG_DID_YOU_MEAN, near);
        else
            diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_NO_FUNCTION_NOTE);
        poison_targets(ck, frame, s);
        return true;
    }
    if (!f && !joins)
        return s->tuple ? report_form(ck, frame, s, DIAG_TC_TUPLE, s->write_range) : false;
    if (s->subscripts) return report_form(ck, frame, s, DIAG_TC_CALL_SUBSCRIPTS, s->write_range);
    if (s->op != REDUCE_ASSIGN)
        return report_form(ck, frame, s, DIAG_TC_CALL_OPERATOR, s->op_range);
    if (s->nwhere) return report_form(ck, frame, s, DIAG_TC_CALL_WHERE, s->where[0].range);
    if (f)
        call_function(ck, frame, s, f);
    else
        concat(ck, frame, s);
    return true;
}
