// NumPy's einsum: a subscripts string becomes a Program of one statement.
//
//     mk,kn->mn      out[m, n] +=! in0[m, k] * in1[k, n]
//
// 1. parse    the string is cut into one Subscripts per operand and, if written, one for the output
// 2. match    ranks are compared with labels, and every axis of every operand gets its *dimension*:
//             a label, or the e-th dimension under the ellipsis, from the left of the widest one
// 3. unify    sizes, where given, must agree per dimension; a 1 gives way to any other size
// 4. output   as written, or by NumPy's rule: ellipsis first, then labels that occur once, sorted
// 5. build    iterators are the output's dimensions, then the summed ones in order of appearance
//
// Every dimension is a parameter N_<label> (N_e0, N_e1 ... under the ellipsis). An axis of size 1
// that gives way is stored with the constant size 1 and always subscripted by 0.
#include "lang/lang.h"

#include <string.h>

enum {
    MAX_OPERANDS = 32, // as in NumPy
    FIRST_BROADCAST = 128,
    MAX_DIMS = FIRST_BROADCAST + PROGRAM_MAX_RANK, // labels are their character codes
    NOWHERE = -1,
};

// The subscripts of one operand, or of the output.
typedef struct Subscripts {
    Range range;
    int nlabels;
    char label[PROGRAM_MAX_RANK];  // the first ones, in order, without the ellipsis
    uint32_t at[PROGRAM_MAX_RANK]; // where each stands
    int ellipsis;                  // number of labels before the ellipsis; NOWHERE without one
    uint32_t ellipsis_at;
} Subscripts;

// One axis of an operand: which dimension it ranges over, and where that was written.
typedef struct Axis {
    int dim;
    Range range;
    bool one; // of size 1 while the dimension is larger: always subscripted by 0
} Axis;

typedef struct Operand {
    Subscripts subs;
    int rank;
    Axis axis[PROGRAM_MAX_RANK];
} Operand;

// What is known of a dimension.
typedef struct Dim {
    int uses;          // axes that range over it
    int64_t size;      // -1: not given
    int operand, axis; // which axis gave the size
    int iter;          // its iterator's number, NOWHERE before it has one
} Dim;

typedef struct Einsum {
    const Source *source;
    DiagList *diags;
    uint32_t at; // the parser's place
    bool arrow;
    uint32_t surplus; // where the first operand that was not given begins: at its ','
    int noperands;
    Operand *operand;
    Subscripts output;
    int nbroadcast; // dimensions under the widest ellipsis
    Dim dim[MAX_DIMS];
    int nout; // dimensions of the output, in order
    int out[PROGRAM_MAX_ITERS];
    int niters; // those, then the summed ones
    int order[PROGRAM_MAX_ITERS];
} Einsum;

static Range one_byte(uint32_t at) { return (Range){at, at + 1}; }

static Range everything(const Einsum *e) { return (Range){0, e->source->len ? e->source->len : 1}; }

static const char *plural(int n) { return n == 1 ? "" : "s"; }

// --- 1. parse ----------------------------------------------------------------------------------

static bool is_label(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

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

// Labels, ellipsis and blanks up to what ends them: the end of the string and, for an operand, ','
// and '->'.
static void parse_subscripts(Einsum *e, Subscripts *s, const char *what, bool output) {
    *s = (Subscripts){.ellipsis = NOWHERE, .range.from = e->at};
    while (e->at < e->source->len) {
        char c = e->source->text[e->at];
        if (!output && (c == ',' || c == '-')) break;
        if (c == '.') {
            parse_ellipsis(e, s, what);
            continue;
        }
        if (is_label(c)) {
            if (s->nlabels < PROGRAM_MAX_RANK) s->label[s->nlabels] = c, s->at[s->nlabels] = e->at;
            s->nlabels++;
        } else if (c != ' ') {
            report_char(e, c);
        }
        e->at++;
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

// Operands past the number given are parsed and counted, but not kept.
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
    Operand *o = &e->operand[which];
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
static void match_axes(Einsum *e, Operand *o) {
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
            a->range = one_byte(s->at[label]);
        }
        e->dim[a->dim].uses++;
    }
}

// --- 3. unify ----------------------------------------------------------------------------------

static void report_size(Einsum *e, int which, const Axis *a, int64_t size, const Dim *dim) {
    Diag *d;
    if (dim->operand == which)
        d = diag_report(e->diags, a->range, DIAG_EINSUM_DIAGONAL, (char)a->dim,
                        (long long)dim->size, (long long)size, which);
    else if (a->dim < FIRST_BROADCAST)
        d = diag_report(e->diags, a->range, DIAG_EINSUM_SIZE, (char)a->dim, (long long)size, which,
                        (long long)dim->size, dim->operand);
    else
        d = diag_report(e->diags, a->range, DIAG_EINSUM_ELLIPSIS_SIZE, a->dim - FIRST_BROADCAST,
                        (long long)size, which, (long long)dim->size, dim->operand);
    diag_note(e->diags, d, e->operand[dim->operand].axis[dim->axis].range, DIAG_EINSUM_SIZE_NOTE);
}

// Sizes of equal labels within one operand (a diagonal) must be equal; between operands a 1 gives
// way.
static void unify_operand(Einsum *e, int which, const int64_t *size) {
    Operand *o = &e->operand[which];
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
            *all = (Dim){all->uses, size[d], which, d, all->iter};
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
    for (int label = 0; label < FIRST_BROADCAST; label++)
        if (e->dim[label].uses == 1) add_out(e, label);
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
            diag_report(e->diags, one_byte(s->at[i]), DIAG_EINSUM_OUTPUT_TWICE, label);
        else if (e->dim[label].uses == 0)
            diag_report(e->diags, one_byte(s->at[i]), DIAG_EINSUM_OUTPUT_LABEL, label);
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

static void add_iter(Einsum *e, int dim) {
    if (e->dim[dim].iter != NOWHERE) return;
    if (e->niters < PROGRAM_MAX_ITERS) e->order[e->niters] = dim;
    e->dim[dim].iter = e->niters++;
}

static void number_iters(Einsum *e) {
    Range all = everything(e);
    if (e->nout > PROGRAM_MAX_RANK) {
        diag_report(e->diags, all, DIAG_EINSUM_LIMIT_RANK, "the result", e->nout, PROGRAM_MAX_RANK);
        return;
    }
    for (int i = 0; i < e->nout; i++) add_iter(e, e->out[i]);
    for (int i = 0; i < e->noperands; i++)
        for (int d = 0; d < e->operand[i].rank; d++) add_iter(e, e->operand[i].axis[d].dim);
    if (e->niters > PROGRAM_MAX_ITERS)
        diag_report(e->diags, all, DIAG_EINSUM_LIMIT_LABELS, e->niters, PROGRAM_MAX_ITERS);
}

// --- 5. build ----------------------------------------------------------------------------------

static Name dim_name(Names *names, const char *prefix, int dim) {
    Text t = {.arena = names->arena};
    text_add(&t, prefix);
    if (dim < FIRST_BROADCAST)
        text_char(&t, (char)dim);
    else
        text_printf(&t, "e%d", dim - FIRST_BROADCAST);
    return name_of(names, text_str(&t));
}

static const Affine *dim_size(Program *p, int dim) {
    return affine_param(p->exprs, program_param(p, dim_name(p->names, "N_", dim), PARAM_SIZE));
}

static int build_input(Program *p, const Operand *o, Type type, int which) {
    const Affine *size[PROGRAM_MAX_RANK];
    for (int d = 0; d < o->rank; d++)
        size[d] = o->axis[d].one ? affine_const(p->exprs, 1) : dim_size(p, o->axis[d].dim);
    Text t = {.arena = p->arena};
    text_printf(&t, "in%d", which);
    int tensor =
        program_tensor(p, name_of(p->names, text_str(&t)), type, ROLE_INPUT, o->rank, size);
    p->tensors.at[tensor].range = o->subs.range;
    return tensor;
}

static const Expr *build_read(Program *p, const Einsum *e, const Operand *o, int tensor, Type as) {
    const Affine *sub[PROGRAM_MAX_RANK];
    for (int d = 0; d < o->rank; d++)
        sub[d] = o->axis[d].one ? affine_const(p->exprs, 0)
                                : affine_iter(p->exprs, e->dim[o->axis[d].dim].iter);
    const Access *access = access_make(p->exprs, tensor, o->rank, sub);
    return expr_cast(p->exprs, as, expr_read(p->exprs, p->tensors.at[tensor].type, access));
}

static void build_iters(Program *p, const Einsum *e, Stmt *s) {
    s->niters = e->niters;
    s->iter = arena_new_n(p->arena, Iter, e->niters);
    for (int i = 0; i < e->niters; i++)
        s->iter[i] = (Iter){.name = dim_name(p->names, "", e->order[i]),
                            .lo = affine_const(p->exprs, 0),
                            .hi = dim_size(p, e->order[i]),
                            .reduction = i >= e->nout};
}

static Program *build(Arena *arena, Names *names, const Einsum *e, const EinsumOperand *operands) {
    Program *p = program_new(arena, names, "einsum", 6);
    p->source = e->source;
    Range all = everything(e);
    Type type = TYPE_NONE;
    int tensor[MAX_OPERANDS];
    for (int i = 0; i < e->noperands; i++) {
        tensor[i] = build_input(p, &e->operand[i], operands[i].type, i);
        type = type_promote(type, operands[i].type);
    }
    bool sums = e->niters > e->nout;
    if (sums) type = type_accumulator(type);

    const Affine *size[PROGRAM_MAX_RANK], *sub[PROGRAM_MAX_RANK];
    for (int d = 0; d < e->nout; d++)
        size[d] = dim_size(p, e->out[d]), sub[d] = affine_iter(p->exprs, d);
    int out = program_tensor(p, name_of(names, "out"), type, ROLE_OUTPUT, e->nout, size);
    p->tensors.at[out].range = all;

    Stmt *s = program_stmt(p, all);
    s->write = access_make(p->exprs, out, e->nout, sub);
    s->op = sums ? REDUCE_ADD : REDUCE_ASSIGN;
    s->init = sums;
    build_iters(p, e, s);
    s->value = build_read(p, e, &e->operand[0], tensor[0], type);
    for (int i = 1; i < e->noperands; i++)
        s->value = expr_binary(p->exprs, OP_MUL, s->value,
                               build_read(p, e, &e->operand[i], tensor[i], type));
    return p;
}

// --- all of it ---------------------------------------------------------------------------------

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
                      const EinsumOperand *operands, DiagList *diags) {
    Einsum *e = arena_new(arena, Einsum);
    *e = (Einsum){.source = spec, .diags = diags, .noperands = noperands};
    for (int i = 0; i < MAX_DIMS; i++) e->dim[i] = (Dim){.size = -1, .iter = NOWHERE};
    diags->source = spec;
    int errors = diags->errors;
    if (!check_limits(e, operands)) return NULL;
    e->operand = arena_new_n(arena, Operand, noperands);
    int described = parse(e);
    if (diags->errors > errors || !match(e, operands, described)) return NULL;
    unify(e, operands);
    if (e->arrow)
        explicit_output(e);
    else
        implicit_output(e);
    if (diags->errors == errors) number_iters(e);
    if (diags->errors > errors) return NULL;
    Program *p = build(arena, names, e, operands);
    return program_finish(p, diags) ? p : NULL;
}
