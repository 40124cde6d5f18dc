// NumPy's einsum: converts a subscripts string to a Program.
//
//     mk,kn->mn      out[m, n] +=! in0[m, k] * in1[k, n]
//     ij,jk,kl->il   t0[i, k] +=! in0[i, j] * in1[j, k]      (where sizes make this order cheaper)
//                    out[i, l] +=! t0[i, k] * in2[k, l]
//
// 1. parse    divide the string into one Subscripts per operand and, if written, one for the output
// 2. match    compare ranks with labels; every axis of every operand gets its *dimension*: a label,
//             or the e-th dimension under the ellipsis, counted from the left of the widest one
// 3. unify    given sizes must agree per dimension; size 1 is broadcast to any other size
// 4. output   as written, or by NumPy's rule: ellipsis first, then labels that occur once, sorted
// 5. order    one nest of everything, or the cheapest order of contraction (einsum_path.h) if that
//             is cheaper; labels that occur in a single operand are summed first
// 6. build    a statement per step: its iterators are the dimensions of its result, then the
//             summed ones in order of appearance
//
// Every dimension is a parameter N_<label>; dimensions under the ellipsis are N_e0, N_e1 ..., and
// labels beyond the letters give N_u0, N_u1 ... A broadcast axis of size 1 is stored with the
// constant size 1 and always has subscript 0.
#include "lang/lang.h"

#include <string.h>

enum {
    MAX_OPERANDS = PATH_MAX,
    FIRST_MORE =
        0xC0,   // labels after Z and z: this character and the following ones, as in opt_einsum
    MORE = 'A', // number of these labels
    FIRST_BROADCAST = 128,
    // A label is its character code; labels beyond the letters are numbered from 0.
    MAX_DIMS = FIRST_BROADCAST + PROGRAM_MAX_RANK,
    NOWHERE = -1,
};

// The subscripts of one operand, or of the output.
typedef struct Subscripts {
    Range range;
    int nlabels;
    // Labels in order, without the ellipsis; longer lists are cut off.
    char label[PROGRAM_MAX_RANK];
    uint32_t at[PROGRAM_MAX_RANK]; // position of each label in the text
    int ellipsis;                  // number of labels before the ellipsis; NOWHERE without one
    uint32_t ellipsis_at;
} Subscripts;

// One axis of an operand: its dimension, and the position of its label.
typedef struct Axis {
    int dim;
    Range range;
    bool one; // of size 1 although the dimension is larger: always subscripted by 0
} Axis;

typedef struct EinsumInput {
    Subscripts subs;
    int rank;
    Axis axis[PROGRAM_MAX_RANK];
} EinsumInput;

// Facts about a dimension.
typedef struct Dim {
    int uses;          // number of axes with this dimension
    int64_t size;      // -1: not given
    int operand, axis; // the axis that gave the size
    int place;         // index in `order`; NOWHERE before it is assigned
} Dim;

typedef struct Einsum {
    const Source *source;
    DiagList *diags;
    uint32_t at; // current position of the parser
    bool arrow;
    uint32_t surplus; // position of the ',' before the first surplus operand
    int noperands;
    EinsumInput *operand;
    Subscripts output;
    int nbroadcast; // number of dimensions under the widest ellipsis
    Dim dim[MAX_DIMS];
    int nout; // number of dimensions of the output
    int out[PROGRAM_MAX_ITERS];
    int ndims; // dimensions of the output, then the summed ones
    int order[MAX_DIMS];
} Einsum;

static Range one_byte(uint32_t at) { return (Range){at, at + 1}; }

static Range everything(const Einsum *e) { return (Range){0, e->source->len ? e->source->len : 1}; }

static const char *plural(int n) { return n == 1 ? "" : "s"; }

// --- 1. parse ----------------------------------------------------------------------------------

// The label at a position and its length in bytes: a letter, or a further label in UTF-8; NOWHERE:
// none.
static int label_at(const Einsum *e, uint32_t at, uint32_t *bytes) {
    const unsigned char *text = (const unsigned char *)e->source->text + at;
    *bytes = 1;
    if ((*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z')) return *text;
    if (*text >> 5 != 6 || e->source->len - at < 2 || text[1] >> 6 != 2) return NOWHERE;
    int more = ((*text & 31) << 6 | (text[1] & 63)) - FIRST_MORE;
    *bytes = 2;
    return more >= 0 && more < MORE ? more : NOWHERE;
}

static Range label_range(const Einsum *e, uint32_t at) {
    uint32_t bytes;
    label_at(e, at, &bytes);
    return (Range){at, at + bytes};
}

typedef struct LabelText {
    char text[3];
} LabelText;

static LabelText label_text(int label) {
    int c = label + FIRST_MORE;
    if (label >= MORE) return (LabelText){{(char)label}};
    return (LabelText){{(char)(0xC0 | c >> 6), (char)(0x80 | (c & 63))}};
}

static bool looking_at(const Einsum *e, const char *word) {
    size_t n = strlen(word);
    return e->source->len - e->at >= n && !memcmp(e->source->text + e->at, word, n);
}

static void report_char(Einsum *e, char c) {
    char shown[16] = {'\'', c, '\'', 0};
    if (c < ' ' || c > '~') {
        static const char hex[] = "0123456789abcdef";
        memcpy(shown, "0x", 3);
        shown[2] = hex[((unsigned char)c) >> 4];
        shown[3] = hex[c & 15];
        shown[4] = 0;
    }
    Diag *d = diag_report(e->diags, one_byte(e->at), DIAG_EINSUM_CHAR, shown);
    diag_note(e->diags, d, (Range){0}, DIAG_EINSUM_CHAR_NOTE);
}

static void parse_ellipsis(Einsum *e, Subscripts *s, const char *what) {
    if (!looking_at(e, "...") || (looking_at(e, "....") && s->ellipsis == NOWHERE)) {
        uint32_t from = e->at;
        while (looking_at(e, ".")) e->at++;
        diag_report(e->diags, (Range){from, e->at}, DIAG_EINSUM_DOTS);
        return;
    }
    if (s->ellipsis != NOWHERE)
        diag_report(e->diags, (Range){e->at, e->at + 3}, DIAG_EINSUM_ELLIPSES, what);
    s->ellipsis = s->nlabels;
    s->ellipsis_at = e->at;
    e->at += 3;
}

// Reads labels, ellipsis and blanks up to the end of the string or, for an operand, up to ',' or
// '->'.
static void parse_subscripts(Einsum *e, Subscripts *s, const char *what, bool output) {
    *s = (Subscripts){.ellipsis = NOWHERE, .range.from = e->at};
    while (e->at < e->source->len) {
        char c = e->source->text[e->at];
        if (!output && (c == ',' || c == '-')) break;
        if (c == '.') {
            parse_ellipsis(e, s, what);
            continue;
        }
        uint32_t bytes;
        int label = label_at(e, e->at, &bytes);
        if (label != NOWHERE) {
            if (s->nlabels < PROGRAM_MAX_RANK)
                s->label[s->nlabels] = (char)label, s->at[s->nlabels] = e->at;
            s->nlabels++;
        } else if (c != ' ') {
            report_char(e, c);
            bytes = 1;
        }
        e->at += bytes;
    }
    s->range.to = e->at > s->range.from ? e->at : s->range.from + 1;
}

static void parse_arrow(Einsum *e) {
    if (looking_at(e, "->")) {
        e->at += 2;
        e->arrow = true;
        return;
    }
    diag_report(e->diags, one_byte(e->at), DIAG_EINSUM_ARROW);
    e->at = e->source->len;
}

// Surplus operands are parsed and counted, but not kept.
static int parse(Einsum *e) {
    Subscripts ignored;
    for (int n = 0;; e->at++) {
        Subscripts *s = n < e->noperands ? &e->operand[n].subs : &ignored;
        parse_subscripts(e, s, "an operand", false);
        n++;
        if (n == e->noperands) e->surplus = e->at;
        if (e->at < e->source->len && e->source->text[e->at] == ',') continue;
        if (e->at < e->source->len) parse_arrow(e);
        if (e->arrow) parse_subscripts(e, &e->output, "the output", true);
        return n;
    }
}

// --- 2. match ----------------------------------------------------------------------------------

static bool match_rank(Einsum *e, int which) {
    EinsumInput *o = &e->operand[which];
    const Subscripts *s = &o->subs;
    if (s->nlabels > o->rank) {
        diag_report(e->diags, s->range, DIAG_EINSUM_TOO_MANY_LABELS, which, s->nlabels,
                    plural(s->nlabels), o->rank);
        return false;
    }
    if (s->nlabels < o->rank && s->ellipsis == NOWHERE) {
        Diag *d = diag_report(e->diags, s->range, DIAG_EINSUM_TOO_FEW_LABELS, which, o->rank,
                              plural(o->rank), s->nlabels);
        diag_note(e->diags, d, (Range){0}, DIAG_EINSUM_ELLIPSIS_NOTE);
        return false;
    }
    if (o->rank - s->nlabels > e->nbroadcast) e->nbroadcast = o->rank - s->nlabels;
    return true;
}

// Dimensions under an ellipsis are aligned at the right over all operands.
static void match_axes(Einsum *e, EinsumInput *o) {
    const Subscripts *s = &o->subs;
    int under = o->rank - s->nlabels;
    int before = under ? s->ellipsis : o->rank;
    for (int d = 0; d < o->rank; d++) {
        Axis *a = &o->axis[d];
        if (d >= before && d < before + under) {
            a->dim = FIRST_BROADCAST + e->nbroadcast - under + (d - before);
            a->range = (Range){s->ellipsis_at, s->ellipsis_at + 3};
        } else {
            int label = d < before ? d : d - under;
            a->dim = s->label[label];
            a->range = label_range(e, s->at[label]);
        }
        e->dim[a->dim].uses++;
    }
}

// --- 3. unify ----------------------------------------------------------------------------------

static void report_size(Einsum *e, int which, const Axis *a, int64_t size, const Dim *dim) {
    Diag *d;
    if (dim->operand == which)
        d = diag_report(e->diags, a->range, DIAG_EINSUM_DIAGONAL, label_text(a->dim).text,
                        (long long)dim->size, (long long)size, which);
    else if (a->dim < FIRST_BROADCAST)
        d = diag_report(e->diags, a->range, DIAG_EINSUM_SIZE, label_text(a->dim).text,
                        (long long)size, which, (long long)dim->size, dim->operand);
    else
        d = diag_report(e->diags, a->range, DIAG_EINSUM_ELLIPSIS_SIZE, a->dim - FIRST_BROADCAST,
                        (long long)size, which, (long long)dim->size, dim->operand);
    diag_note(e->diags, d, e->operand[dim->operand].axis[dim->axis].range, DIAG_EINSUM_SIZE_NOTE);
}

// Equal labels within one operand (a diagonal) must have equal sizes; between operands, size 1 is
// broadcast.
static void unify_operand(Einsum *e, int which, const int64_t *size) {
    EinsumInput *o = &e->operand[which];
    Dim mine[MAX_DIMS];
    for (int d = 0; d < o->rank; d++) mine[o->axis[d].dim].size = -1;
    for (int d = 0; d < o->rank; d++) {
        const Axis *a = &o->axis[d];
        Dim *own = &mine[a->dim], *all = &e->dim[a->dim];
        if (own->size >= 0 && own->size != size[d]) report_size(e, which, a, size[d], own);
        if (own->size >= 0) continue;
        *own = (Dim){.size = size[d], .operand = which, .axis = d};
        if (all->size >= 0 && all->size != 1 && size[d] != 1 && all->size != size[d])
            report_size(e, which, a, size[d], all);
        else if (all->size < 0 || all->size == 1)
            *all = (Dim){all->uses, size[d], which, d, all->place};
    }
}

static void unify(Einsum *e, const EinsumOperand *operands) {
    for (int i = 0; i < e->noperands; i++)
        if (operands[i].size) unify_operand(e, i, operands[i].size);
    for (int i = 0; i < e->noperands; i++)
        for (int d = 0; d < e->operand[i].rank && operands[i].size; d++) {
            Axis *a = &e->operand[i].axis[d];
            a->one = operands[i].size[d] == 1 && e->dim[a->dim].size != 1;
        }
}

// --- 4. output ---------------------------------------------------------------------------------

static void add_out(Einsum *e, int dim) {
    if (e->nout < PROGRAM_MAX_ITERS) e->out[e->nout] = dim;
    e->nout++;
}

static void implicit_output(Einsum *e) {
    for (int i = 0; i < e->nbroadcast; i++) add_out(e, FIRST_BROADCAST + i);
    for (int i = 0; i < FIRST_BROADCAST; i++) {
        int label = (i + MORE) % FIRST_BROADCAST; // letters first
        if (e->dim[label].uses == 1) add_out(e, label);
    }
}

static void explicit_output(Einsum *e) {
    const Subscripts *s = &e->output;
    bool seen[FIRST_BROADCAST] = {false};
    int nlabels = s->nlabels < PROGRAM_MAX_RANK ? s->nlabels : PROGRAM_MAX_RANK;
    for (int i = 0; i <= nlabels; i++) {
        if (s->ellipsis == i)
            for (int b = 0; b < e->nbroadcast; b++) add_out(e, FIRST_BROADCAST + b);
        if (i == nlabels) break;
        int label = s->label[i];
        if (seen[label])
            diag_report(e->diags, label_range(e, s->at[i]), DIAG_EINSUM_OUTPUT_TWICE,
                        label_text(label).text);
        else if (e->dim[label].uses == 0)
            diag_report(e->diags, label_range(e, s->at[i]), DIAG_EINSUM_OUTPUT_LABEL,
                        label_text(label).text);
        else
            add_out(e, label);
        seen[label] = true;
    }
    e->nout += s->nlabels - nlabels;
    if (s->ellipsis == NOWHERE && e->nbroadcast > 0) {
        Diag *d = diag_report(e->diags, s->range, DIAG_EINSUM_OUTPUT_ELLIPSIS, e->nbroadcast,
                              plural(e->nbroadcast));
        diag_note(e->diags, d, (Range){0}, DIAG_EINSUM_OUTPUT_ELLIPSIS_NOTE);
    }
}

static void add_dim(Einsum *e, int dim) {
    if (e->dim[dim].place != NOWHERE) return;
    e->dim[dim].place = e->ndims;
    e->order[e->ndims++] = dim;
}

static void order_dims(Einsum *e) {
    if (e->nout > PROGRAM_MAX_RANK) {
        diag_report(e->diags, everything(e), DIAG_EINSUM_LIMIT_RANK, "the result", e->nout,
                    PROGRAM_MAX_RANK);
        return;
    }
    for (int i = 0; i < e->nout; i++) add_dim(e, e->out[i]);
    for (int i = 0; i < e->noperands; i++)
        for (int d = 0; d < e->operand[i].rank; d++) add_dim(e, e->operand[i].axis[d].dim);
}

// --- 5. order ----------------------------------------------------------------------------------

// Dimensions are numbered by their positions in `order`.
static DimSet dims_of(const Einsum *e, const EinsumInput *o) {
    DimSet has = 0;
    for (int d = 0; d < o->rank; d++)
        if (!o->axis[d].one) has |= DIM(e->dim[o->axis[d].dim].place);
    return has;
}

// The whole problem, and the problem without the labels that only one operand has.
static void pose(Arena *arena, const Einsum *e, PathProblem *whole, PathProblem *rest) {
    DimSet *has = arena_new_n(arena, DimSet, e->noperands), output = DIM(e->nout) - 1;
    DimSet *less = arena_new_n(arena, DimSet, e->noperands), once = 0, twice = output;
    double *size = arena_new_n(arena, double, e->ndims);
    for (int d = 0; d < e->ndims; d++) size[d] = (double)e->dim[e->order[d]].size;
    for (int i = 0; i < e->noperands; i++) {
        has[i] = dims_of(e, &e->operand[i]);
        twice |= once & has[i];
        once |= has[i];
    }
    for (int i = 0; i < e->noperands; i++) less[i] = has[i] & twice;
    *whole = (PathProblem){e->noperands, has, output, size, 0, PROGRAM_MAX_RANK, PROGRAM_MAX_ITERS};
    *rest = *whole;
    rest->has = less;
}

static bool sizes_known(const Einsum *e) {
    for (int d = 0; d < e->ndims; d++)
        if (e->dim[e->order[d]].size < 0) return false;
    return true;
}

// The cost of summing single operands.
static double sums_flops(const PathProblem *whole, const PathProblem *rest) {
    double flops = 0;
    for (int i = 0; i < whole->n; i++)
        if (whole->has[i] != rest->has[i]) flops += path_size(whole, whole->has[i]);
    return flops;
}

// Returns false if the given path is not valid for these operands.
static bool choose_order(Arena *arena, const Einsum *e, const EinsumOptions *o, EinsumPlan *plan) {
    PathProblem rest;
    pose(arena, e, &plan->problem, &rest);
    Path all = path_all(arena, &plan->problem);
    plan->path = all;
    plan->naive = all.flops;
    plan->one_nest = true;
    if (o->as_written || e->noperands < 2 || !sizes_known(e)) return true;
    rest.limit = o->limit;
    Path found;
    if (o->path) {
        rest.limit = 0;
        if (!path_given(arena, &rest, o->path, o->path_length, &found)) return false;
    } else {
        found = path_find(arena, &rest);
    }
    double flops = found.flops + sums_flops(&plan->problem, &rest);
    bool fits = path_rank(all.step[0].all) <= PROGRAM_MAX_ITERS;
    // A small saving does not pay for an intermediate result.
    bool worth = flops < 0.9 * all.flops;
    if (fits && !worth && !o->path) return true;
    plan->problem = rest;
    plan->path = found;
    plan->path.flops = flops;
    plan->one_nest = false;
    return true;
}

static bool check_steps(Einsum *e, const EinsumPlan *plan) {
    for (int i = 0; i < plan->path.n; i++) {
        int dims = path_rank(plan->path.step[i].all);
        if (dims <= PROGRAM_MAX_ITERS) continue;
        diag_report(e->diags, everything(e), DIAG_EINSUM_LIMIT_LABELS, dims, PROGRAM_MAX_ITERS);
        return false;
    }
    return true;
}

// --- 6. build ----------------------------------------------------------------------------------

// A factor of a statement: an operand, or an intermediate result.
typedef struct Factor {
    int tensor, rank;
    int dim[PROGRAM_MAX_RANK]; // positions in `order`; NOWHERE: always subscripted by 0
} Factor;

typedef struct EinsumBuild {
    Program *p;
    const Einsum *e;
    Type type; // the type to compute in
    int ntemps;
} EinsumBuild;

static Name dim_name(Names *names, const char *prefix, int dim) {
    Text t = {.arena = names->arena};
    text_add(&t, prefix);
    if (dim < MORE)
        text_printf(&t, "u%d", dim);
    else if (dim < FIRST_BROADCAST)
        text_char(&t, (char)dim);
    else
        text_printf(&t, "e%d", dim - FIRST_BROADCAST);
    return name_of(names, text_str(&t));
}

static const Affine *dim_size(Program *p, int dim) {
    return affine_param(p->exprs, program_param(p, dim_name(p->names, "N_", dim), PARAM_SIZE));
}

static const Affine *place_size(const EinsumBuild *b, int place) {
    return dim_size(b->p, b->e->order[place]);
}

static Factor build_input(EinsumBuild *b, const EinsumInput *o, Type type, int which) {
    Program *p = b->p;
    const Affine *size[PROGRAM_MAX_RANK];
    Factor t = {.rank = o->rank};
    for (int d = 0; d < o->rank; d++) {
        t.dim[d] = o->axis[d].one ? NOWHERE : b->e->dim[o->axis[d].dim].place;
        size[d] = o->axis[d].one ? affine_const(p->exprs, 1) : dim_size(p, o->axis[d].dim);
    }
    Text name = {.arena = p->arena};
    text_printf(&name, "in%d", which);
    t.tensor =
        program_tensor(p, name_of(p->names, text_str(&name)), type, ROLE_INPUT, o->rank, size);
    p->tensors.at[t.tensor].range = o->subs.range;
    return t;
}

static Factor build_output(EinsumBuild *b, Type type) {
    const Affine *size[PROGRAM_MAX_RANK];
    Factor t = {.rank = b->e->nout};
    for (int d = 0; d < t.rank; d++) t.dim[d] = d, size[d] = place_size(b, d);
    t.tensor = program_tensor(b->p, name_of(b->p->names, "out"), type, ROLE_OUTPUT, t.rank, size);
    b->p->tensors.at[t.tensor].range = everything(b->e);
    return t;
}

static bool has_place(const Factor *t, int place) {
    for (int d = 0; d < t->rank; d++)
        if (t->dim[d] == place) return true;
    return false;
}

// An intermediate result. Its dimensions: first labels that all factors have, then labels of the
// first factor, and so on.
static Factor build_temp(EinsumBuild *b, const Factor *term, int n, DimSet has) {
    const Affine *size[PROGRAM_MAX_RANK];
    Factor t = {0};
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < n; i++)
            for (int d = 0; d < term[i].rank; d++) {
                int place = term[i].dim[d];
                bool common = true;
                for (int k = 0; k < n; k++) common &= has_place(&term[k], place);
                if (place == NOWHERE || !(has & DIM(place)) || (round == 0 && !common) ||
                    has_place(&t, place))
                    continue;
                size[t.rank] = place_size(b, place);
                t.dim[t.rank++] = place;
            }
    Text name = {.arena = b->p->arena};
    text_printf(&name, "t%d", b->ntemps++);
    t.tensor = program_tensor(b->p, name_of(b->p->names, text_str(&name)), b->type, ROLE_TEMP,
                              t.rank, size);
    b->p->tensors.at[t.tensor].range = everything(b->e);
    return t;
}

// Numbers the iterators of a statement: the dimensions of the result, then the summed ones.
typedef struct Iters {
    int n, place[PROGRAM_MAX_ITERS], of[PATH_DIMS];
} Iters;

static void add_iters(Iters *it, const Factor *t) {
    for (int d = 0; d < t->rank; d++) {
        int place = t->dim[d];
        if (place == NOWHERE || it->of[place] != NOWHERE) continue;
        it->of[place] = it->n;
        it->place[it->n++] = place;
    }
}

static const Access *build_access(const EinsumBuild *b, const Iters *it, const Factor *t) {
    const Affine *sub[PROGRAM_MAX_RANK];
    for (int d = 0; d < t->rank; d++)
        sub[d] = t->dim[d] == NOWHERE ? affine_const(b->p->exprs, 0)
                                      : affine_iter(b->p->exprs, it->of[t->dim[d]]);
    return access_make(b->p->exprs, t->tensor, t->rank, sub);
}

static const Expr *build_read(const EinsumBuild *b, const Iters *it, const Factor *t) {
    const Access *access = build_access(b, it, t);
    Type type = b->p->tensors.at[t->tensor].type;
    return expr_cast(b->p->exprs, b->type, expr_read(b->p->exprs, type, access));
}

// into[...] = or +=! the product of the terms
static void build_stmt(EinsumBuild *b, const Factor *term, int n, const Factor *into) {
    Program *p = b->p;
    Iters it = {0};
    for (int i = 0; i < PATH_DIMS; i++) it.of[i] = NOWHERE;
    add_iters(&it, into);
    int kept = it.n;
    for (int i = 0; i < n; i++) add_iters(&it, &term[i]);
    const Expr *value = build_read(b, &it, &term[0]);
    for (int i = 1; i < n; i++)
        value = expr_binary(p->exprs, OP_MUL, value, build_read(b, &it, &term[i]));
    Stmt *s = program_stmt(p, everything(b->e));
    s->write = build_access(b, &it, into);
    s->init = it.n > kept;
    s->op = s->init ? REDUCE_ADD : REDUCE_ASSIGN;
    s->value = expr_cast(p->exprs, p->tensors.at[into->tensor].type, value);
    s->niters = it.n;
    s->iter = arena_new_n(p->arena, Iter, it.n);
    for (int i = 0; i < it.n; i++)
        s->iter[i] = (Iter){.name = dim_name(p->names, "", b->e->order[it.place[i]]),
                            .lo = affine_const(p->exprs, 0),
                            .hi = place_size(b, it.place[i]),
                            .reduction = i >= kept};
}

static void build_steps(EinsumBuild *b, Factor *term, const EinsumPlan *plan, const Factor *last) {
    const PathProblem *q = &plan->problem;
    for (int i = 0; i < q->n && !plan->one_nest; i++) {
        if (dims_of(b->e, &b->e->operand[i]) == q->has[i]) continue;
        Factor sum = build_temp(b, &term[i], 1, q->has[i]);
        build_stmt(b, &term[i], 1, &sum);
        term[i] = sum;
    }
    for (int i = 0; i < plan->path.n; i++) {
        const PathStep *step = &plan->path.step[i];
        Factor factor[MAX_OPERANDS];
        for (int k = 0; k < step->n; k++) factor[k] = term[step->term[k]];
        term[q->n + i] =
            i + 1 == plan->path.n ? *last : build_temp(b, factor, step->n, step->result);
        build_stmt(b, factor, step->n, &term[q->n + i]);
    }
}

static Program *build(Arena *arena, Names *names, const Einsum *e, const EinsumOperand *operands,
                      Type wanted, const EinsumPlan *plan) {
    EinsumBuild b = {.p = program_new(arena, names, "einsum", 6), .e = e};
    b.p->source = e->source;
    Type type = TYPE_NONE;
    Factor *term = arena_new_n(arena, Factor, 2 * e->noperands + 1);
    for (int i = 0; i < e->noperands; i++) {
        term[i] = build_input(&b, &e->operand[i], operands[i].type, i);
        type = type_promote(type, operands[i].type);
    }
    if (wanted != TYPE_NONE) type = wanted;
    b.type = e->ndims > e->nout ? type_accumulator(type) : type;
    Factor out = build_output(&b, wanted != TYPE_NONE ? wanted : b.type);
    if (b.p->tensors.at[out.tensor].type == b.type) {
        build_steps(&b, term, plan, &out);
        return b.p;
    }
    Factor whole = build_temp(&b, &out, 1, DIM(e->nout) - 1); // the sum is computed in a wider type
    build_steps(&b, term, plan, &whole);
    build_stmt(&b, &whole, 1, &out);
    return b.p;
}

// --- The whole -----------------------------------------------------------------------------------

static bool check_limits(Einsum *e, const EinsumOperand *operands) {
    Range all = everything(e);
    if (e->noperands > MAX_OPERANDS) {
        diag_report(e->diags, all, DIAG_EINSUM_LIMIT_OPERANDS, e->noperands, MAX_OPERANDS);
        return false;
    }
    for (int i = 0; i < e->noperands; i++)
        if (operands[i].rank > PROGRAM_MAX_RANK) {
            diag_report(e->diags, all, DIAG_EINSUM_LIMIT_RANK, "an operand", operands[i].rank,
                        PROGRAM_MAX_RANK);
            return false;
        }
    return true;
}

static bool match(Einsum *e, const EinsumOperand *operands, int described) {
    if (described != e->noperands) {
        Range at = described > e->noperands ? one_byte(e->surplus) : everything(e);
        diag_report(e->diags, at, DIAG_EINSUM_OPERANDS, described, plural(described), e->noperands);
        return false;
    }
    bool ok = true;
    for (int i = 0; i < e->noperands; i++) {
        e->operand[i].rank = operands[i].rank;
        ok = match_rank(e, i) && ok;
    }
    for (int i = 0; i < e->noperands && ok; i++) match_axes(e, &e->operand[i]);
    return ok;
}

Program *einsum_parse(Arena *arena, Names *names, const Source *spec, int noperands,
                      const EinsumOperand *operands, const EinsumOptions *options, EinsumPlan *plan,
                      DiagList *diags) {
    Einsum *e = arena_new(arena, Einsum);
    *e = (Einsum){.source = spec, .diags = diags, .noperands = noperands};
    for (int i = 0; i < MAX_DIMS; i++) e->dim[i] = (Dim){.size = -1, .place = NOWHERE};
    diags->source = spec;
    int errors = diags->errors;
    if (!check_limits(e, operands)) return NULL;
    e->operand = arena_new_n(arena, EinsumInput, noperands);
    int described = parse(e);
    if (diags->errors > errors || !match(e, operands, described)) return NULL;
    unify(e, operands);
    if (e->arrow)
        explicit_output(e);
    else
        implicit_output(e);
    if (diags->errors == errors) order_dims(e);
    if (diags->errors > errors) return NULL;
    if (!choose_order(arena, e, options, plan)) {
        diag_report(diags, everything(e), DIAG_EINSUM_PATH, noperands);
        return NULL;
    }
    if (!check_steps(e, plan)) return NULL;
    Program *p = build(arena, names, e, operands, options->type, plan);
    return program_finish(p, diags) ? p : NULL;
}
