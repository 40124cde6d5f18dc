// The reference interpreter: the meaning of a Program, straight from its definition.
//
// Statements run in order; those with serial iterators step by step. The instances of one statement
// are visited row by row, a row being the innermost iterator; rows in lexicographic order. Before
// the first instance, tensors that the statement reads and writes are copied, so every read sees
// the values from before the statement.
//
// The value is compiled to instructions for a stack machine, operands before operations, with jumps
// around operands that SELECT, AND and OR do not evaluate. All arithmetic is in op_eval.
// An access whose subscripts are linear moves by a constant step along a row; where both ends of
// the row lie inside the tensor, so does everything between and no further check is needed. All
// other accesses are evaluated and checked one by one, when they are performed and not before.
#include "program/program.h"

#include "base/bug.h"
#include "base/checked.h"
#include "program/stmt_facts.h"

#include <math.h>
#include <string.h>

// Where a tensor's elements are.
typedef struct ElementPlace {
    char *data;
    Type type;
    int rank;
    int64_t size[PROGRAM_MAX_RANK], origin[PROGRAM_MAX_RANK], stride[PROGRAM_MAX_RANK];
    bool *written; // per element in row-major order; NULL when all are initialised
} ElementPlace;

// An access of the statement, and how it moves along the row.
typedef struct RowCursor {
    const Access *access;
    const ElementPlace *place;
    bool linear;
    bool safe;            // on this row: offset and step may be used unchecked
    int64_t offset, step; // in bytes: at the row's first instance, per instance
} RowCursor;

typedef enum InstrKind {
    DO_CONST,
    DO_INDEX,
    DO_LOAD,
    DO_OP,
    DO_CAST,
    DO_SKIP,        // jump
    DO_SKIP_UNLESS, // pop; jump when false
    DO_AND_SKIP,    // jump when the top is false, else pop
    DO_OR_SKIP,     // jump when the top is true, else pop
} InstrKind;

typedef struct Instr {
    InstrKind kind;
    Type type;   // of the operands
    Type result; // DO_CAST
    ExprOp op;
    int n;      // operands
    int target; // jumps: the next instruction; DO_LOAD: the cursor
    union {
        Value value;
        const Affine *index;
    };
} Instr;

typedef struct Interp {
    Arena *scratch;
    const Program *p;
    InterpFlags flags;
    DiagList *diags;
    ElementPlace *places; // per tensor
    // The statement that runs:
    const Stmt *st;
    ElementPlace before; // the element that it reads of the tensor it writes
    bool in_place;
    VEC(RowCursor) cursors; // cursors.at[0] is the write
    VEC(Instr) code;
    int depth, max_depth; // of the stack
    bool fused;           // += of a product
    Value *stack;
    int64_t at[PROGRAM_MAX_ITERS]; // the instance
    bool failed;
} Interp;

// --- Places ------------------------------------------------------------------------------------

static ElementPlace make_place(const Tensor *t) {
    ElementPlace p = {.type = t->type, .rank = t->rank};
    int64_t stride = 1;
    for (int d = t->rank - 1; d >= 0; d--) {
        p.size[d] = tensor_size(t, d);
        p.origin[d] = tensor_origin(t, d);
        p.stride[d] = stride;
        stride *= max_i64(p.size[d], 1); // program_bind checked the product
    }
    return p;
}

static void make_places(Interp *in, const View *views) {
    const Program *p = in->p;
    in->places = arena_new_n(in->scratch, ElementPlace, p->tensors.n);
    for (int i = 0; i < p->tensors.n; i++) {
        const Tensor *t = &p->tensors.at[i];
        ElementPlace *place = &in->places[i];
        int64_t elements = tensor_elements(t);
        *place = make_place(t);
        if (i < p->ninputs + p->noutputs) {
            require(views[i].type == t->type && views[i].rank == t->rank);
            place->data = views[i].data;
            for (int d = 0; d < t->rank && views[i].stride; d++)
                place->stride[d] = views[i].stride[d];
        } else {
            place->data =
                arena_array(in->scratch, (size_t)elements, (size_t)type_info[t->type].bytes);
        }
        bool blank = t->role == ROLE_TEMP || (t->role == ROLE_OUTPUT && !in->flags.accumulate);
        if (in->flags.trap_uninitialised && blank)
            place->written = arena_new_n(in->scratch, bool, elements);
    }
}

// A dense copy of everything in `from`.
static ElementPlace copy_place(Arena *scratch, const ElementPlace *from, const Tensor *t) {
    ElementPlace to = make_place(t);
    int64_t elements = tensor_elements(t), at[PROGRAM_MAX_RANK] = {0};
    size_t bytes = (size_t)type_info[t->type].bytes;
    to.data = arena_array(scratch, (size_t)elements, bytes);
    for (int64_t e = 0; e < elements; e++) {
        int64_t offset = 0;
        for (int d = 0; d < to.rank; d++) offset += at[d] * from->stride[d];
        memcpy(to.data + (size_t)e * bytes, from->data + offset * (int64_t)bytes, bytes);
        for (int d = to.rank - 1; d >= 0 && ++at[d] == to.size[d]; d--) at[d] = 0;
    }
    if (from->written)
        to.written = arena_copy(scratch, from->written, (size_t)elements * sizeof(bool));
    return to;
}

// --- Diagnostics -------------------------------------------------------------------------------

static const char *show_instance(const Interp *in) {
    Text t = {.arena = in->diags->arena};
    for (int i = 0; i < in->st->niters; i++)
        text_printf(&t, "%s%s = %lld", i ? ", " : " at ", in->st->iter[i].name,
                    (long long)in->at[i]);
    return text_str(&t);
}

static const char *show_affine(const Interp *in, const Affine *a) {
    Name *iters = arena_new_n(in->diags->arena, Name, in->st->niters);
    Name *tensors = arena_new_n(in->diags->arena, Name, in->p->tensors.n);
    for (int i = 0; i < in->st->niters; i++) iters[i] = in->st->iter[i].name;
    for (int i = 0; i < in->p->tensors.n; i++) tensors[i] = in->p->tensors.at[i].name;
    Text t = {.arena = in->diags->arena};
    affine_print(&t, a, &(PrintNames){.iters = iters, .tensors = tensors});
    return text_str(&t);
}

static const char *show_element(const Interp *in, const Access *a, const int64_t *sub) {
    Text t = {.arena = in->diags->arena};
    text_printf(&t, "%s[", in->p->tensors.at[a->tensor].name);
    for (int d = 0; d < a->rank; d++) text_printf(&t, d ? ", %lld" : "%lld", (long long)sub[d]);
    text_char(&t, ']');
    return text_str(&t);
}

static bool evaluate(Interp *in, const Affine *a, int64_t *out);
static bool read_index(void *user, const Access *a, int64_t *out);

// Names the elements that a computed subscript came from.
static void note_reads(Interp *in, Diag *d, const Affine *a) {
    for (int i = 0; i < a->n; i++) {
        const Atom *t = a->term[i].atom;
        if (t->a && t->has_read) note_reads(in, d, t->a), note_reads(in, d, t->b);
        if (t->kind != ATOM_READ) continue;
        int64_t sub[PROGRAM_MAX_RANK], v;
        bool ok = true;
        for (int k = 0; k < t->read->rank; k++) ok = ok && evaluate(in, t->read->sub[k], &sub[k]);
        if (!ok || !read_index(in, t->read, &v)) continue;
        diag_note(in->diags, d, (Range){0, 0}, DIAG_RUN_OUTSIDE_NOTE,
                  show_element(in, t->read, sub), (long long)v);
    }
}

static bool fail_outside(Interp *in, const Access *a, int d, int64_t v) {
    const ElementPlace *p = &in->places[a->tensor];
    if (in->failed) return false;
    in->failed = true;
    Diag *diag = diag_report(in->diags, in->st->range, DIAG_RUN_OUTSIDE, in->st->label, d + 1,
                             in->p->tensors.at[a->tensor].name, show_affine(in, a->sub[d]),
                             (long long)v, show_instance(in), (long long)p->origin[d],
                             (long long)(p->origin[d] + p->size[d]));
    note_reads(in, diag, a->sub[d]);
    if (p->size[d] == 0)
        diag_note(in->diags, diag, (Range){0, 0}, DIAG_RUN_OUTSIDE_EMPTY,
                  in->p->tensors.at[a->tensor].name);
    return false;
}

static bool fail_uninitialised(Interp *in, const Access *a, const int64_t *sub) {
    if (!in->failed)
        diag_report(in->diags, in->st->range, DIAG_RUN_UNINITIALISED, in->st->label,
                    show_element(in, a, sub), show_instance(in));
    in->failed = true;
    return false;
}

static bool fail_overflow(Interp *in) {
    if (!in->failed)
        diag_report(in->diags, in->st->range, DIAG_RUN_OVERFLOW, in->st->label, show_instance(in));
    in->failed = true;
    return false;
}

// --- One element -------------------------------------------------------------------------------

static const ElementPlace *read_place(const Interp *in, const Access *a) {
    bool own = in->in_place && a->tensor == in->st->write->tensor;
    return own ? &in->before : &in->places[a->tensor];
}

// The byte offset of the element, and its row-major number, after checking every subscript.
static bool locate(Interp *in, const Access *a, const ElementPlace *p, int64_t *offset,
                   int64_t *number, int64_t *sub) {
    *offset = *number = 0;
    for (int d = 0; d < a->rank; d++) {
        if (!evaluate(in, a->sub[d], &sub[d])) return false;
        int64_t v = sub[d];
        if (v < p->origin[d] || v >= p->origin[d] + p->size[d]) return fail_outside(in, a, d, v);
        if (!checked_fma(v - p->origin[d], p->stride[d], offset)) return fail_overflow(in);
        *number = *number * p->size[d] + (v - p->origin[d]);
    }
    return checked_mul(*offset, type_info[p->type].bytes, offset) || fail_overflow(in);
}

static bool load(Interp *in, const Access *a, const ElementPlace *p, Value *out) {
    int64_t offset, number, sub[PROGRAM_MAX_RANK];
    if (!locate(in, a, p, &offset, &number, sub)) return false;
    if (p->written && !p->written[number]) return fail_uninitialised(in, a, sub);
    *out = type_load(p->type, p->data + offset);
    return true;
}

static bool read_index(void *user, const Access *a, int64_t *out) {
    Interp *in = user;
    Value v;
    if (!load(in, a, read_place(in, a), &v)) return false;
    *out = v.i;
    return true;
}

static bool evaluate(Interp *in, const Affine *a, int64_t *out) {
    return affine_eval(a, in->at, NULL, read_index, in, out) || fail_overflow(in);
}

// --- Compiling the value -----------------------------------------------------------------------

static int emit(Interp *in, Instr i, int change) {
    in->depth += change;
    if (in->depth > in->max_depth) in->max_depth = in->depth;
    vec_push(in->scratch, &in->code, i);
    return in->code.n - 1;
}

static bool is_linear(const Access *a) {
    for (int d = 0; d < a->rank; d++)
        if (!a->sub[d]->linear) return false;
    return true;
}

static int add_cursor(Interp *in, const Access *a, const ElementPlace *p) {
    for (int i = 1; i < in->cursors.n; i++)
        if (in->cursors.at[i].access == a) return i;
    RowCursor c = {.access = a, .place = p, .linear = is_linear(a) && !p->written};
    vec_push(in->scratch, &in->cursors, c);
    return in->cursors.n - 1;
}

static void compile(Interp *in, const Expr *e);

static void compile_select(Interp *in, const Expr *e) {
    compile(in, e->arg[0]);
    int skip = emit(in, (Instr){.kind = DO_SKIP_UNLESS}, -1);
    compile(in, e->arg[1]);
    int end = emit(in, (Instr){.kind = DO_SKIP}, -1);
    in->code.at[skip].target = in->code.n;
    compile(in, e->arg[2]);
    in->code.at[end].target = in->code.n;
}

static void compile_logic(Interp *in, const Expr *e) {
    compile(in, e->arg[0]);
    InstrKind kind = e->op == OP_AND ? DO_AND_SKIP : DO_OR_SKIP;
    int skip = emit(in, (Instr){.kind = kind}, -1);
    compile(in, e->arg[1]);
    in->code.at[skip].target = in->code.n;
}

static void compile_op(Interp *in, const Expr *e) {
    if (e->op == OP_SELECT) {
        compile_select(in, e);
    } else if (e->op == OP_AND || e->op == OP_OR) {
        compile_logic(in, e);
    } else {
        for (int i = 0; i < e->n; i++) compile(in, e->arg[i]);
        Instr i = {.kind = e->op == OP_CAST ? DO_CAST : DO_OP, .op = e->op, .n = e->n};
        i.type = e->arg[0]->type;
        i.result = e->type;
        emit(in, i, 1 - e->n);
    }
}

static void compile(Interp *in, const Expr *e) {
    switch (e->kind) {
    case EXPR_CONST: emit(in, (Instr){.kind = DO_CONST, .value = e->value}, 1); break;
    case EXPR_INDEX: emit(in, (Instr){.kind = DO_INDEX, .index = e->index}, 1); break;
    case EXPR_READ: {
        int cursor = add_cursor(in, e->access, read_place(in, e->access));
        emit(in, (Instr){.kind = DO_LOAD, .target = cursor}, 1);
        break;
    }
    case EXPR_OP: compile_op(in, e); break;
    }
}

// --- Running the value -------------------------------------------------------------------------

// Instance number t of the row.
static bool load_cursor(Interp *in, const RowCursor *c, int64_t t, Value *out) {
    if (!c->safe) return load(in, c->access, c->place, out);
    *out = type_load(c->place->type, c->place->data + c->offset + t * c->step);
    return true;
}

static bool run_code(Interp *in, int64_t t) {
    Value *top = in->stack; // the next free slot
    const Instr *code = in->code.at;
    for (int i = 0, n = in->code.n; i < n; i++) {
        const Instr *k = &code[i];
        switch (k->kind) {
        case DO_CONST: *top++ = k->value; break;
        case DO_INDEX:
            if (!evaluate(in, k->index, &top++->i)) return false;
            break;
        case DO_LOAD:
            if (!load_cursor(in, &in->cursors.at[k->target], t, top++)) return false;
            break;
        case DO_OP:
            top -= k->n;
            *top = op_eval(k->op, k->type, top);
            top++;
            break;
        case DO_CAST: top[-1] = type_convert(k->result, k->type, top[-1]); break;
        case DO_SKIP: i = k->target - 1; break;
        case DO_SKIP_UNLESS:
            if (!(--top)->i) i = k->target - 1;
            break;
        case DO_AND_SKIP:
            if (top[-1].i)
                top--;
            else
                i = k->target - 1;
            break;
        case DO_OR_SKIP:
            if (top[-1].i)
                i = k->target - 1;
            else
                top--;
            break;
        }
    }
    return true;
}

// The element after the value on the stack was combined into it; of a fused product, its two
// factors.
static Value combine(const Interp *in, Value old) {
    Type type = in->places[in->st->write->tensor].type;
    Value two[] = {old, in->stack[0]};
    if (in->fused && type_is_float(type))
        return op_eval(OP_FMA, type, (Value[]){in->stack[0], in->stack[1], old});
    if (in->fused) two[1] = op_eval(OP_MUL, type, in->stack);
    return in->st->op == REDUCE_ASSIGN ? two[1] : op_eval(reduce_op[in->st->op], type, two);
}

static bool run_instance(Interp *in, int64_t t) {
    const RowCursor *w = &in->cursors.at[0];
    int64_t offset, number = 0, sub[PROGRAM_MAX_RANK];
    if (!run_code(in, t)) return false;
    if (w->safe)
        offset = w->offset + t * w->step;
    else if (!locate(in, w->access, w->place, &offset, &number, sub))
        return false;
    char *element = w->place->data + offset;
    Value old = {.i = 0};
    if (in->st->op != REDUCE_ASSIGN) {
        if (w->place->written && !w->place->written[number])
            return fail_uninitialised(in, w->access, sub);
        old = type_load(w->place->type, element);
    }
    type_store(w->place->type, element, combine(in, old));
    if (w->place->written) w->place->written[number] = true;
    return true;
}

// --- Rows --------------------------------------------------------------------------------------

// Both ends of the row inside the tensor: the cursor may run from one to the other.
static void aim(Interp *in, RowCursor *c, int inner, int64_t trips) {
    const ElementPlace *p = c->place;
    int64_t first = 0, step = 0, bytes = type_info[p->type].bytes;
    c->safe = false;
    for (int d = 0; d < c->access->rank; d++) {
        int64_t v, last, k = inner < 0 ? 0 : affine_coef(c->access->sub[d], inner);
        if (!affine_eval(c->access->sub[d], in->at, NULL, NULL, NULL, &v)) return;
        last = v;
        if (!checked_fma(k, trips - 1, &last)) return;
        if (min_i64(v, last) < p->origin[d]) return;
        if (max_i64(v, last) >= p->origin[d] + p->size[d]) return;
        if (!checked_fma(v - p->origin[d], p->stride[d], &first)) return;
        if (!checked_fma(k, p->stride[d], &step)) return;
    }
    c->safe = checked_mul(first, bytes, &c->offset) && checked_mul(step, bytes, &c->step);
}

// The part [*from, *to) of the row where every linear constraint holds.
static bool clip(Interp *in, int inner, int64_t *from, int64_t *to) {
    for (int i = 0; i < in->st->nconstraints; i++) {
        const Affine *a = in->st->constraint[i];
        int64_t v, k = inner < 0 ? 0 : affine_coef(a, inner);
        if (!a->linear) continue;
        if (!evaluate(in, a, &v)) return false;
        if (v == INT64_MIN || k == INT64_MIN) return fail_overflow(in);
        if (k > 0) *from = max_i64(*from, ceil_div(-v, k)); // v + k·t >= 0
        if (k < 0 && floor_div(v, -k) < *to) *to = floor_div(v, -k) + 1;
        if (k == 0 && v < 0) *to = 0;
    }
    return true;
}

// Constraints that are not linear are looked at for each instance.
static bool exists(Interp *in, bool *out) {
    *out = true;
    for (int i = 0; i < in->st->nconstraints && *out; i++) {
        int64_t v = 0;
        if (in->st->constraint[i]->linear) continue;
        if (!evaluate(in, in->st->constraint[i], &v)) return false;
        *out = v >= 0;
    }
    return true;
}

// Runs a row of `trips` instances; at[] is the first.
static bool run_row(Interp *in, int inner, int64_t trips) {
    int64_t from = 0, to = trips, start = inner < 0 ? 0 : in->at[inner];
    bool plain = true, here = true;
    for (int i = 0; i < in->st->nconstraints; i++) plain &= in->st->constraint[i]->linear;
    if (!clip(in, inner, &from, &to)) return false;
    if (from >= to) return true;
    if (inner >= 0) in->at[inner] = start + from;
    for (int i = 0; i < in->cursors.n; i++)
        if (in->cursors.at[i].linear) aim(in, &in->cursors.at[i], inner, to - from);
    for (int64_t t = 0; t < to - from; t++) {
        if (inner >= 0) in->at[inner] = start + from + t;
        if (!plain && !exists(in, &here)) return false;
        if (here && !run_instance(in, t)) return false;
    }
    if (inner >= 0) in->at[inner] = start;
    return true;
}

// --- Statements --------------------------------------------------------------------------------

// Moves at[] to the next point of iterators [0, n) that are not `skipped`; false after the last.
static bool next_point(Interp *in, int n, bool skip_reductions) {
    for (int i = n - 1; i >= in->st->serial; i--) {
        const Iter *it = &in->st->iter[i];
        if (skip_reductions && it->reduction) continue;
        if (++in->at[i] < iter_hi(it)) return true;
        in->at[i] = iter_lo(it);
    }
    return false;
}

// Puts at[] at the first point of the step; false when there is none.
static bool first_point(Interp *in, bool skip_reductions) {
    bool any = true;
    for (int i = in->st->serial; i < in->st->niters; i++) {
        const Iter *it = &in->st->iter[i];
        in->at[i] = iter_lo(it);
        any &= iter_lo(it) < iter_hi(it) || (skip_reductions && it->reduction);
    }
    return any;
}

static Value identity(const Interp *in, Type type) { return reduce_start(type, in->st->op); }

static void fill(ElementPlace *p, int64_t elements, Value v) {
    int64_t at[PROGRAM_MAX_RANK] = {0};
    for (int64_t e = 0; e < elements; e++) {
        int64_t offset = 0;
        for (int d = 0; d < p->rank; d++) offset += at[d] * p->stride[d];
        type_store(p->type, p->data + offset * type_info[p->type].bytes, v);
        for (int d = p->rank - 1; d >= 0 && ++at[d] == p->size[d]; d--) at[d] = 0;
    }
    if (p->written && elements) memset(p->written, 1, (size_t)elements);
}

// Every element that the iterators on the left select starts from the identity; of a scatter, all.
static bool initialise(Interp *in) {
    const Access *w = in->st->write;
    ElementPlace *p = &in->places[w->tensor];
    Value v = identity(in, p->type);
    if (w->has_read) {
        fill(p, tensor_elements(&in->p->tensors.at[w->tensor]), v);
        return true;
    }
    if (!first_point(in, true)) return true;
    do {
        int64_t offset, number, sub[PROGRAM_MAX_RANK];
        if (!locate(in, w, p, &offset, &number, sub)) return false;
        type_store(p->type, p->data + offset, v);
        if (p->written) p->written[number] = true;
    } while (next_point(in, in->st->niters, true));
    return true;
}

static void prepare(Interp *in) {
    const Stmt *st = in->st;
    const ElementPlace *target = &in->places[st->write->tensor];
    in->in_place = stmt_reads_own(st);
    if (in->in_place)
        in->before = copy_place(in->scratch, target, &in->p->tensors.at[st->write->tensor]);
    in->cursors.at = NULL;
    in->code.at = NULL;
    in->cursors.n = in->cursors.cap = in->code.n = in->code.cap = 0;
    in->depth = in->max_depth = 0;
    RowCursor write = {.access = st->write, .place = target};
    write.linear = is_linear(st->write) && !target->written;
    vec_push(in->scratch, &in->cursors, write);
    const Expr *v = st->value;
    in->fused = st->op == REDUCE_ADD && v->kind == EXPR_OP && v->op == OP_MUL;
    if (in->fused)
        compile(in, v->arg[0]), compile(in, v->arg[1]);
    else
        compile(in, v);
    in->stack = arena_new_n(in->scratch, Value, in->max_depth + 1);
}

static bool run_stmt(Interp *in) {
    const Stmt *st = in->st;
    int inner = st->niters > st->serial ? st->niters - 1 : -1;
    prepare(in);
    bool argument = st->write->tensor < in->p->ninputs + in->p->noutputs;
    bool init = st->init && st->op != REDUCE_ASSIGN && !(in->flags.accumulate && argument);
    if (init && !initialise(in)) return false;
    if (!first_point(in, false)) return true;
    int64_t trips = inner < 0 ? 1 : iter_hi(&st->iter[inner]) - iter_lo(&st->iter[inner]);
    do
        if (!run_row(in, inner, trips)) return false;
    while (next_point(in, inner, false));
    return true;
}

static bool run_one(Interp *in, int s) {
    in->st = &in->p->stmts.at[s];
    if (in->st->post && in->flags.skip_post) return true;
    ArenaMark mark = arena_mark(in->scratch);
    bool ok = run_stmt(in);
    if (ok) arena_release(in->scratch, mark);
    return ok;
}

// Runs statements [from, to), of which at[] holds the first `depth` serial iterators.
static bool run_group(Interp *in, int from, int to, int depth) {
    for (int end; from < to; from = end) {
        const Stmt *first = &in->p->stmts.at[from];
        end = from + 1;
        if (first->serial == depth) {
            if (!run_one(in, from)) return false;
            continue;
        }
        while (end < to && in->p->stmts.at[end].joined > depth) end++;
        const Iter *it = &first->iter[depth];
        for (int64_t v = iter_lo(it); v < iter_hi(it); v++) {
            in->at[depth] = v;
            if (!run_group(in, from, end, depth + 1)) return false;
        }
    }
    return true;
}

bool program_interpret(Arena *scratch, const Program *p, const View *views, InterpFlags flags,
                       DiagList *diags) {
    require(p->bound);
    const Source *outer = diags->source;
    if (p->source) diags->source = p->source;
    Interp *in = arena_new(scratch, Interp);
    *in = (Interp){.scratch = scratch, .p = p, .flags = flags, .diags = diags};
    make_places(in, views);
    bool ok = run_group(in, 0, p->stmts.n, 0);
    diags->source = outer;
    return ok;
}
