// Checks functions and statements: names, types of tensors, and the resulting Program.
//
// One round checks all statements in order and keeps each as a TcWork. The type of a tensor is the
// common type of all its definitions, so it may still grow after it was read. In that case the
// round is repeated with the types found so far; types only grow, so this ends. Then the statements
// are emitted with conversions to the final types. Inference runs after all functions are checked:
// it finds ranges, and replaces the placeholders for inferred extents (A.0 of a tensor that is
// itself computed).
#include "lang/tc/tc.h"

#include "base/nearest.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// --- Symbols -------------------------------------------------------------------------------------

static uint64_t name_hash(Name name) { return hash_mix(0, (uint64_t)(uintptr_t)name); }

static bool same_used(const void *key, const void *item) {
    return ((const Used *)item)->name == key;
}

static bool same_sym(const void *key, const void *item) { return ((const Sym *)item)->name == key; }

Sym *tc_find(TcChecker *ck, TcFrame *frame, Name name) {
    if (!frame->syms.n) return NULL;
    return *set_find(ck->arena, &frame->syms, name_hash(name), name, same_sym);
}

Sym *tc_add_sym(TcChecker *ck, TcFrame *frame, Name name, SymKind kind, Range range) {
    void **slot = set_find(ck->arena, &frame->syms, name_hash(name), name, same_sym);
    if (!*slot) *slot = arena_new(ck->arena, Sym), frame->syms.n++;
    Sym *s = *slot;
    *s = (Sym){.name = name, .kind = kind, .tensor = -1, .range = range};
    return s;
}

// There are no warnings for an inlined function, nor for a function with a syntax error, which may
// be the cause of the warning.
Diag *tc_warn(TcChecker *ck, Range range, DiagId id, ...) {
    if (ck->frame->caller || ck->func->broken || diag_was_reported(ck->diags, range, id))
        return NULL;
    va_list args;
    va_start(args, id);
    Diag *d = diag_report_va(ck->diags, range, id, args);
    va_end(args);
    return d;
}

bool tc_is_reserved(Name name) {
    size_t len = strlen(name);
    return tc_builtin(name, len) || tc_type_name(name, len);
}

// y0 and j1 are more often names of coordinates than calls of Bessel functions.
bool tc_is_coordinate(Name name) {
    return (name[0] == 'j' || name[0] == 'y') && (name[1] == '0' || name[1] == '1') && !name[2];
}

static bool is_result(const TcFunc *f, Range at) {
    for (int i = 0; i < f->noutputs; i++)
        if (f->output[i].name_range.from == at.from) return true;
    return false;
}

static bool is_input(const TcFunc *f, Name name) {
    for (int i = 0; i < f->ninputs; i++)
        if (f->input[i].name == name) return true;
    return false;
}

// May a parameter or tensor have this name? Reports if not.
bool tc_can_define(TcChecker *ck, TcFrame *frame, Name name, Range range) {
    const Sym *old = tc_find(ck, frame, name);
    if (old) {
        Diag *d = diag_report(ck->diags, range, DIAG_TC_TWICE, name);
        if (old->range.to) diag_note(ck->diags, d, old->range, DIAG_TC_FIRST_NOTE);
        if (is_result(ck->func, range) && is_input(ck->func, name))
            diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_IN_PLACE_NOTE, name);
        return false;
    }
    if (tc_is_coordinate(name) || !tc_is_reserved(name)) return true;
    Diag *d = diag_report(ck->diags, range, DIAG_TC_RESERVED, name);
    diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_RENAME_NOTE);
    return false;
}

// --- Tensors -------------------------------------------------------------------------------------

// A name of a tensor or parameter in use, with the count of names derived from it.
static Used *used_name(TcChecker *ck, Name name) {
    void **slot = set_find(ck->arena, &ck->used, name_hash(name), name, same_used);
    return *slot;
}

static void use_name(TcChecker *ck, Name name) {
    void **slot = set_find(ck->arena, &ck->used, name_hash(name), name, same_used);
    if (*slot) return;
    Used *u = *slot = arena_new(ck->arena, Used);
    ck->used.n++;
    u->name = name;
    u->next = 2;
}

int tc_new_tensor(TcChecker *ck, Name name, Role role, Range range) {
    int n = ck->tens.n;
    if (n == PROGRAM_MAX_TENSORS && !ck->full) {
        ck->full = true;
        diag_report(ck->diags, range, DIAG_TC_TOO_MANY, "tensors in one function",
                    PROGRAM_MAX_TENSORS);
    }
    Ten t = {.name = name, .role = role, .rank = -1, .range = range};
    if (n < ck->seeds.n) t.type = ck->seeds.at[n].type, t.weak = ck->seeds.at[n].weak;
    vec_push(ck->arena, &ck->tens, t);
    use_name(ck, name);
    return n;
}

int tc_temporary(TcChecker *ck, Name base, const char *suffix, Type type, int rank, Range range) {
    Name name = name_of(ck->names, arena_printf(ck->arena, "%s_%s", base, suffix));
    int n = tc_new_tensor(ck, tc_fresh_name(ck, "", name), ROLE_TEMP, range);
    Ten *t = &ck->tens.at[n];
    t->type = type;
    t->weak = WEAK_NOT;
    t->declared = true;
    t->rank = rank;
    t->defs = 1;
    return n;
}

Type tc_tensor_type(TcChecker *ck, int tensor) {
    Ten *t = &ck->tens.at[tensor];
    t->type_used = true;
    return t->weak == WEAK_INT ? TYPE_I32 : t->weak == WEAK_FLOAT ? TYPE_F32 : t->type;
}

// Combines the type of one definition with the others; a change after a use requires another round.
static void grow_type(TcChecker *ck, Ten *t, Type type, Weak weak) {
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

bool tc_join_type(TcChecker *ck, int tensor, Type type, Weak weak, Range range) {
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

// --- Extents -------------------------------------------------------------------------------------

// A parameter that represents an extent until inference has found it.
static const Affine *stand_in(TcChecker *ck, int tensor, int dim, bool origin) {
    Ten *t = &ck->tens.at[tensor];
    if (!t->size_param) {
        t->size_param = arena_new_n(ck->arena, int, t->rank);
        t->origin_param = arena_new_n(ck->arena, int, t->rank);
        for (int d = 0; d < t->rank; d++) t->size_param[d] = t->origin_param[d] = -1;
    }
    int *number = origin ? &t->origin_param[dim] : &t->size_param[dim];
    if (*number < 0) {
        const char *text = arena_printf(ck->arena, "%s.%s%d", t->name, origin ? "lo" : "", dim);
        Param p = {name_of(ck->names, text), origin ? PARAM_SCALAR : PARAM_SIZE, TYPE_I64,
                   t->range};
        *number = ck->p->params.n;
        vec_push(ck->arena, &ck->p->params, p);
        vec_push(ck->arena, &ck->standins, ((InferExtent){tensor, dim, origin}));
    }
    return affine_param(ck->x, *number);
}

const Affine *tc_extent(TcChecker *ck, int tensor, int dim) {
    const Ten *t = &ck->tens.at[tensor];
    return t->size ? t->size[dim] : stand_in(ck, tensor, dim, false);
}

const Affine *tc_origin(TcChecker *ck, int tensor, int dim) {
    const Ten *t = &ck->tens.at[tensor];
    return t->size ? affine_const(ck->x, 0) : stand_in(ck, tensor, dim, true);
}

// what >= 0
static void require(TcChecker *ck, const Affine *what, const char *why, Range range) {
    if (affine_is_const(what) && what->constant >= 0) return;
    Require r = {.what = what, .why = why, .range = range, .call = ck->frame->call};
    vec_push(ck->arena, &ck->preconditions, r);
}

void tc_require_equal(TcChecker *ck, const Affine *a, const Affine *b, Range range,
                      const char *format, ...) {
    if (a == b) return;
    va_list args;
    char why[512];
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    const char *text = arena_strndup(ck->arena, why, strlen(why));
    require(ck, affine_sub(ck->x, a, b), text, range);
    require(ck, affine_sub(ck->x, b, a), text, range);
}

// A name that no tensor or parameter has.
Name tc_fresh_name(TcChecker *ck, const char *prefix, Name base) {
    Name name = *prefix ? name_of(ck->names, arena_printf(ck->arena, "%s_%s", prefix, base)) : base;
    Used *first = used_name(ck, name);
    for (Name stem = name; first && used_name(ck, name);)
        name = name_of(ck->names, arena_printf(ck->arena, "%s_%d", stem, first->next++));
    return name;
}

// --- Signatures ----------------------------------------------------------------------------------

static int add_param(TcChecker *ck, Name name, ParamKind kind, Type type, Range range) {
    if (ck->p->params.n >= PROGRAM_MAX_PARAMS) {
        if (!ck->full)
            diag_report(ck->diags, range, DIAG_TC_TOO_MANY, "sizes and scalars in one function",
                        PROGRAM_MAX_PARAMS);
        ck->full = true;
        return 0;
    }
    int i = program_param(ck->p, name, kind);
    use_name(ck, name);
    ck->p->params.at[i].type = type;
    ck->p->params.at[i].range = range;
    return i;
}

// Declares the sizes that the dimensions of a parameter name: all names that are not known yet.
static void declare_sizes(TcChecker *ck, TcFrame *frame, const TcNode *n) {
    if (n->kind == NODE_NAME) {
        const Sym *old = tc_find(ck, frame, n->name);
        if (old && old->kind == SYM_SCALAR) return;
        if (!tc_can_define(ck, frame, n->name, n->range)) {
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

bool tc_rank_fits(TcChecker *ck, int rank, Range range) {
    if (rank <= PROGRAM_MAX_RANK) return true;
    diag_report(ck->diags, range, DIAG_TC_TOO_MANY, "dimensions of one tensor", PROGRAM_MAX_RANK);
    return false;
}

// The dimensions of a parameter as sizes; NULL after a report.
static const Affine **sizes(TcChecker *ck, const TcParam *p) {
    const Affine **size = arena_new_n(ck->arena, const Affine *, p->rank);
    bool ok = tc_rank_fits(ck, p->rank, p->range);
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
static Sym *tensor_sym(TcChecker *ck, TcFrame *frame, const TcParam *p) {
    Sym *old = tc_find(ck, frame, p->name);
    bool twin =
        old && old->kind == SYM_SCALAR && old->is_size && !old->size && (p->rank > 0 || !p->type);
    const Affine *size = twin ? old->value : NULL;
    if (!twin && !tc_can_define(ck, frame, p->name, p->name_range)) return NULL;
    Sym *s = tc_add_sym(ck, frame, p->name, SYM_TENSOR, p->name_range);
    s->size = size;
    return s;
}

static bool is_parameter(const TcParam *p) { return !p->shaped && type_is_integer(p->type); }

// Adds an integer argument as a parameter of the Program.
static void add_scalar(TcChecker *ck, TcFrame *frame, const TcParam *p) {
    if (!tc_can_define(ck, frame, p->name, p->name_range)) return;
    int i = add_param(ck, p->name, PARAM_SCALAR, p->type, p->name_range);
    Sym *s = tc_add_sym(ck, frame, p->name, SYM_SCALAR, p->name_range);
    s->type = p->type;
    s->value = affine_param(ck->x, i);
}

static void add_input(TcChecker *ck, TcFrame *frame, const TcParam *p) {
    Sym *s = tensor_sym(ck, frame, p);
    if (s) s->tensor = tc_new_tensor(ck, p->name, ROLE_INPUT, p->name_range);
}

static void add_output(TcChecker *ck, TcFrame *frame, const TcParam *p) {
    Sym *s = tensor_sym(ck, frame, p);
    if (!s) tc_add_sym(ck, frame, p->name, SYM_POISON, p->name_range);
    if (s) s->tensor = tc_new_tensor(ck, p->name, ROLE_OUTPUT, p->name_range);
}

// Types and sizes, once all names of the signature are known.
static void complete_param(TcChecker *ck, TcFrame *frame, const TcParam *p, bool input) {
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

static void signature(TcChecker *ck, TcFrame *frame, const TcFunc *f) {
    for (int i = 0; i < f->ninputs; i++)
        if (is_parameter(&f->input[i])) add_scalar(ck, frame, &f->input[i]);
    for (int i = 0; i < f->ninputs; i++)
        for (int d = 0; d < f->input[i].rank; d++) declare_sizes(ck, frame, f->input[i].dim[d]);
    for (int i = 0; i < f->noutputs; i++)
        for (int d = 0; d < f->output[i].rank; d++) declare_sizes(ck, frame, f->output[i].dim[d]);
    for (int i = 0; i < f->ninputs; i++)
        if (!is_parameter(&f->input[i])) add_input(ck, frame, &f->input[i]);
    for (int i = 0; i < f->noutputs; i++) add_output(ck, frame, &f->output[i]);
    for (int i = 0; i < f->ninputs; i++) complete_param(ck, frame, &f->input[i], true);
    for (int i = 0; i < f->noutputs; i++) complete_param(ck, frame, &f->output[i], false);
    ck->nreal = ck->p->params.n;
}

// --- Functions -----------------------------------------------------------------------------------

// The temporaries that statements define.
static const char *nth_temporary(const void *of, size_t i) {
    const TcChecker *ck = of;
    for (int t = 0; t < ck->tens.n; t++)
        if (ck->tens.at[t].role == ROLE_TEMP && i-- == 0) return ck->tens.at[t].name;
    return NULL;
}

static const Ten *find_temporary(const TcChecker *ck, const char *name) {
    for (int t = 0; name && t < ck->tens.n; t++)
        if (ck->tens.at[t].name == name) return &ck->tens.at[t];
    return NULL;
}

static void check_outputs(TcChecker *ck) {
    for (int i = 0; i < ck->tens.n; i++) {
        Ten *t = &ck->tens.at[i];
        if (t->role != ROLE_OUTPUT || t->defs > 0) continue;
        Diag *d = diag_report(ck->diags, t->range, DIAG_TC_OUTPUT_UNDEFINED, t->name);
        const Ten *near = find_temporary(ck, nearest(t->name, nth_temporary, ck));
        if (near)
            diag_note(ck->diags, d, near->range, DIAG_DID_YOU_MEAN, near->name);
        else
            diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_OUTPUT_UNDEFINED_NOTE, t->name);
    }
}

static void one_round(TcChecker *ck, TcFunc *f, int errors) {
    TcFrame *frame = arena_new(ck->arena, TcFrame);
    frame->func = f;
    ck->frame = frame;
    ck->tens.n = ck->works.n = ck->preconditions.n = ck->standins.n = 0;
    ck->used = (Set){0};
    ck->changed = false;
    signature(ck, frame, f);
    tc_check_stmts(ck, frame);
    if (ck->diags->errors == errors && !f->broken && !ck->poisoned) check_outputs(ck);
}

// Tensors that nothing but literals gives a type, as in F(t) = t < 2 ? 1 : F(t-1) + F(t-2).
static void literal_types(TcChecker *ck) {
    for (int i = 0; i < ck->tens.n; i++) {
        Ten *t = &ck->tens.at[i];
        if (t->type != TYPE_NONE || !t->literal) continue;
        t->type = t->literal == WEAK_INT ? TYPE_I64 : TYPE_F64;
        t->weak = t->literal;
        ck->changed = true;
    }
}

static void save_types(TcChecker *ck) {
    ck->seeds.n = 0;
    for (int i = 0; i < ck->tens.n; i++) {
        Seed s = {ck->tens.at[i].type, ck->tens.at[i].weak};
        vec_push(ck->arena, &ck->seeds, s);
    }
}

void tc_check_func(TcFile *file, TcFunc *f, Arena *arena, Names *names, const Source *source,
                   int depth, DiagList *diags) {
    if (f->state != FUNC_NEW) return;
    f->state = f->headless ? FUNC_FAILED : FUNC_BUSY;
    if (f->headless) return;
    TcChecker *ck = arena_new(arena, TcChecker);
    *ck = (TcChecker){.arena = arena,
                      .names = names,
                      .diags = diags,
                      .file = file,
                      .func = f,
                      .casts = {.arena = arena}};
    int errors = diags->errors;
    ck->source = source;
    ck->depth = depth;
    ck->p = program_new(arena, names, f->name, strlen(f->name));
    ck->p->source = source;
    ck->x = ck->p->exprs;
    ck->name_true = name_of(names, "true");
    ck->name_false = name_of(names, "false");
    ck->name_inf = name_of(names, "inf");
    ck->name_nan = name_of(names, "nan");
    ck->name_axis = name_of(names, "axis");
    do {
        if (ck->changed) save_types(ck);
        ck->p->params.n = 0;
        one_round(ck, f, errors);
        if (!ck->changed) literal_types(ck);
    } while (ck->changed && diags->errors == errors);
    bool ok = diags->errors == errors && !f->broken && !ck->poisoned && tc_emit(ck) &&
              diags->errors == errors;
    f->state = ok ? FUNC_CHECKED : FUNC_FAILED;
    f->checker = ck;
    if (ok) vec_push(arena, &file->checked, f);
}

// The functions in this state, in file order.
static void put_programs(Module *m, Arena *arena, FuncState state) {
    m->programs.n = 0;
    for (int i = 0; i < m->tc->funcs.n; i++) {
        const TcFunc *f = m->tc->funcs.at[i];
        if (f->state == state) vec_push(arena, &m->programs, f->checker->p);
    }
}

Module *tc_parse(Arena *arena, Names *names, const Source *source, DiagList *diags) {
    Module *m = arena_new(arena, Module);
    TcFile *file = m->tc = arena_new(arena, TcFile);
    diags->source = source;
    tc_parse_file(file, arena, names, source, diags);
    for (int i = 0; i < file->funcs.n; i++)
        tc_check_func(file, file->funcs.at[i], arena, names, source, 0, diags);
    put_programs(m, arena, FUNC_CHECKED);
    return m;
}

// A function fails silently if a function that it calls has failed: the cause is reported there.
static bool infer_func(TcFunc *f) {
    const DiagList *diags = f->checker->diags;
    int errors = diags->errors;
    for (int i = 0; i < f->calls.n; i++)
        if (f->calls.at[i]->state != FUNC_OK) return false;
    return tc_infer_func(f->checker) && diags->errors == errors;
}

Module *tc_infer(Module *m) {
    for (int i = 0; i < m->tc->checked.n; i++) {
        TcFunc *f = m->tc->checked.at[i];
        f->state = infer_func(f) ? FUNC_OK : FUNC_FAILED;
    }
    if (m->tc->checked.n) put_programs(m, m->tc->checked.at[0]->checker->arena, FUNC_OK);
    return m;
}
