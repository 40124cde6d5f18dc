// Prints expressions, subscripts and leaves as C.
//
// Every function that prints an expression gets the precedence of its surroundings and adds
// parentheses where C needs them, or where compilers warn without them (bitwise operators, &&
// within ||). Helpers compute integers that may overflow; C's operators compute floats, and
// unsigned integers of 32 and 64 bits.
#include "code/c/c_impl.h"

#include "base/bug.h"
#include "base/checked.h"
#include "base/kernel_abi.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// Precedences.
enum { ANY, COND, OR, AND, COMPARE, BITS, SUM, PRODUCT, UNARY };

const char *c_type(Type t) { return type_info[t].c_stored; }
const char *c_value_type(Type t) { return type_info[t].c_value; }

// Integers that wrap in C as the language requires, so that no helper is needed.
static bool wraps_in_c(Type t) {
    return type_info[t].class == CLASS_UINT && type_info[t].bits >= 32;
}

bool c_is_plain(Type t) { return wraps_in_c(t) || (type_is_float(t) && !type_is_storage(t)); }

void c_line(CWriter *w, const char *format, ...) {
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *line = arena_alloc(w->arena, (size_t)len + 1);
    vsnprintf(line, (size_t)len + 1, format, args);
    va_end(args);
    text_fill(w->out, ' ', 4 * w->indent);
    text_add(w->out, line);
    text_char(w->out, '\n');
}

static const char *call(CWriter *w, Helper h, Type t) { return helper(w->u, h, t); }

// Helpers that convert a storage float from and to float.
static const struct {
    Helper from, to;
} storage[TYPE_COUNT] = {[TYPE_F16] = {HELPER_FROM_F16, HELPER_TO_F16},
                         [TYPE_BF16] = {HELPER_FROM_BF16, HELPER_TO_BF16}};

// --- Affines -----------------------------------------------------------------------------------

static void read_access(CWriter *w, Text *out, const Access *a);
static int status_code(const CWriter *w);

static bool never_negative(const CWriter *w, const Affine *a) {
    int64_t lo, hi;
    return affine_bounds(a, w->lo, w->hi, &lo, &hi) && lo >= 0;
}

static void in_parens(CWriter *w, Text *out, const Affine *a) {
    bool plain =
        (a->n == 0 && a->constant >= 0) || (a->n == 1 && a->constant == 0 && a->term[0].coef == 1 &&
                                            a->term[0].atom->kind == ATOM_ITER);
    if (!plain) text_char(out, '(');
    c_affine(w, out, a);
    if (!plain) text_char(out, ')');
}

static void two(CWriter *w, Text *out, const char *function, const Atom *t) {
    text_printf(out, "%s(", function);
    c_affine(w, out, t->a);
    text_add(out, ", ");
    c_affine(w, out, t->b);
    text_char(out, ')');
}

static void quotient(CWriter *w, Text *out, const Atom *t, bool factor) {
    bool plain = t->b->n == 0 && t->b->constant > 0 && never_negative(w, t->a);
    bool div = t->kind == ATOM_DIV;
    if (!plain) {
        two(w, out, call(w, div ? HELPER_DIV : HELPER_MOD, TYPE_I64), t);
        return;
    }
    if (factor) text_char(out, '(');
    in_parens(w, out, t->a);
    text_add(out, div ? "/" : "%");
    text_int(out, t->b->constant);
    if (factor) text_char(out, ')');
}

static void atom(CWriter *w, Text *out, const Atom *t, bool factor) {
    switch (t->kind) {
    case ATOM_ITER: text_add(out, w->index[t->index].name); break;
    case ATOM_PARAM: bug("a parameter in a Tree");
    case ATOM_DIV:
    case ATOM_MOD: quotient(w, out, t, factor); break;
    case ATOM_MIN: two(w, out, call(w, HELPER_MIN, TYPE_I64), t); break;
    case ATOM_MAX: two(w, out, call(w, HELPER_MAX, TYPE_I64), t); break;
    case ATOM_PROD:
        if (t->has_read && w->leaf && !w->leaf->unchecked) {
            text_printf(out, "%s(0, ", call(w, HELPER_SUM, TYPE_NONE));
            c_affine(w, out, t->a);
            text_add(out, ", ");
            c_affine(w, out, t->b);
            text_printf(out, ", &status, %d)", status_code(w));
            w->checks = true;
            break;
        }
        if (factor) text_char(out, '(');
        in_parens(w, out, t->a);
        text_char(out, '*');
        in_parens(w, out, t->b);
        if (factor) text_char(out, ')');
        break;
    case ATOM_READ: read_access(w, out, t->read); break;
    }
}

static void term(CWriter *w, Text *out, const Term *t, bool first) {
    uint64_t coef = t->coef < 0 ? 0 - (uint64_t)t->coef : (uint64_t)t->coef;
    if (first)
        text_add(out, t->coef < 0 ? "-" : "");
    else
        text_add(out, t->coef < 0 ? " - " : " + ");
    if (coef != 1) text_printf(out, "%llu*", (unsigned long long)coef);
    atom(w, out, t->atom, coef != 1 || t->coef < 0);
}

static void number(Text *out, int64_t i) {
    if (i == INT64_MIN)
        text_add(out, "INT64_MIN");
    else if (i > INT32_MAX || i < -INT32_MAX)
        text_printf(out, "INT64_C(%lld)", (long long)i);
    else
        text_int(out, i);
}

// A sum of elements that always fits in 64 bits, or that is not checked.
static void wrapping(CWriter *w, Text *out, const Affine *a) {
    text_printf(out, "(int64_t)(UINT64_C(%llu)", (unsigned long long)(uint64_t)a->constant);
    for (int i = 0; i < a->n; i++) {
        text_printf(out, " + UINT64_C(%llu)*(uint64_t)(", (unsigned long long)a->term[i].coef);
        atom(w, out, a->term[i].atom, false);
        text_char(out, ')');
    }
    text_char(out, ')');
}

// Does the sum fit for all values of its elements? Sums of 32-bit elements do.
static bool always_fits(const CWriter *w, const Affine *a) {
    int64_t far = AFFINE_REACH_TREE, most = (int64_t)1 << 32;
    for (int i = 0; i < a->n; i++) {
        const Atom *t = a->term[i].atom;
        int64_t k = a->term[i].coef;
        if (!t->has_read) continue;
        if (t->kind != ATOM_READ || type_info[w->t->buffers.at[t->read->tensor].type].bits > 32 ||
            type_is_float(w->t->buffers.at[t->read->tensor].type) || k == INT64_MIN ||
            !checked_fma(k < 0 ? -k : k, most, &far))
            return false;
    }
    return true;
}

// Sums of 64-bit elements, in the order of affine_eval; overflow is a bad index, as there.
static void checked_sum(CWriter *w, Text *out, const Affine *a) {
    Text sum = {.arena = w->arena};
    Term iter[AFFINE_MAX_TERMS];
    int n = 0;
    for (int i = 0; i < a->n; i++) {
        if (a->term[i].atom->kind == ATOM_ITER) {
            iter[n++] = a->term[i];
            continue;
        }
        Text next = {.arena = w->arena};
        text_printf(&next, "%s(%s, ", call(w, HELPER_SUM, TYPE_NONE),
                    sum.len ? text_str(&sum) : "0");
        number(&next, a->term[i].coef);
        text_add(&next, ", ");
        atom(w, &next, a->term[i].atom, false);
        text_printf(&next, ", &status, %d)", status_code(w));
        sum = next;
    }
    const Affine *known = affine_make(w->t->exprs, a->constant, iter, n);
    if (!affine_is(known, 0)) {
        text_printf(out, "%s(%s, 1, ", call(w, HELPER_SUM, TYPE_NONE), text_str(&sum));
        c_affine(w, out, known);
        text_printf(out, ", &status, %d)", status_code(w));
    } else {
        text_add(out, text_str(&sum));
    }
    w->checks = true;
}

void c_affine(CWriter *w, Text *out, const Affine *a) {
    if (a->has_read && !(a->n == 1 && a->term[0].coef == 1 && a->constant == 0)) {
        bool unchecked = !w->leaf || w->leaf->unchecked;
        if (unchecked || always_fits(w, a))
            wrapping(w, out, a);
        else
            checked_sum(w, out, a);
        return;
    }
    bool constant_first = a->n == 0 || (a->constant != 0 && a->term[0].coef < 0);
    if (constant_first) number(out, a->constant);
    for (int i = 0; i < a->n; i++) term(w, out, &a->term[i], i == 0 && !constant_first);
    if (a->constant == 0 || constant_first) return;
    text_add(out, a->constant < 0 ? " - " : " + ");
    if (a->constant == INT64_MIN)
        text_add(out, "INT64_MIN");
    else
        number(out, a->constant < 0 ? -a->constant : a->constant);
}

void c_condition(CWriter *w, Text *out, const Affine *a) {
    Exprs *x = w->t->exprs;
    if (a->has_read) {
        c_affine(w, out, a);
        text_add(out, " >= 0");
        return;
    }
    Term left[AFFINE_MAX_TERMS] = {0}, right[AFFINE_MAX_TERMS] = {0};
    int l = 0, r = 0;
    for (int i = 0; i < a->n; i++) {
        if (a->term[i].coef < 0)
            left[l++] = (Term){a->term[i].atom, -a->term[i].coef};
        else
            right[r++] = a->term[i];
    }
    bool turn = l == 0; // i - 2 >= 0
    const Affine *small = affine_make(x, 0, left, l);
    const Affine *large = affine_make(x, turn ? 0 : a->constant, right, r);
    if (turn) small = affine_const(x, -a->constant);
    c_affine(w, out, turn ? large : small);
    text_add(out, turn ? " >= " : " <= ");
    c_affine(w, out, turn ? small : large);
}

// --- Accesses ----------------------------------------------------------------------------------

// May the subscript be outside its tensor, because binding could not prove the statement safe?
static bool needs_check(const CWriter *w, const Affine *sub, int64_t size) {
    const Leaf *leaf = w->leaf;
    if (!leaf || leaf->unchecked) return false;
    if (sub->has_read) return true;
    const Program *p = w->t->program;
    int64_t lo, hi;
    if (!p || leaf->stmt < 0 || leaf->stmt >= p->stmts.n || !p->stmts.at[leaf->stmt].unproven)
        return false;
    return !affine_bounds(sub, w->lo, w->hi, &lo, &hi) || lo < 0 || hi >= size;
}

bool c_bounded(const CWriter *w, const Access *a) {
    const Buffer *b = &w->t->buffers.at[a->tensor];
    for (int d = 0; d < a->rank; d++) {
        int64_t lo, hi;
        if (!affine_bounds(a->sub[d], w->lo, w->hi, &lo, &hi) || lo < 0 || hi >= b->size[d])
            return false;
    }
    return true;
}

static int status_code(const CWriter *w) {
    return KERNEL_BAD_INDEX + (w->leaf->stmt > 0 ? w->leaf->stmt : 0);
}

static void checked(CWriter *w, Text *out, const Affine *sub, int64_t size, int64_t stride) {
    if (out->len) text_add(out, " + ");
    if (stride != 1) {
        number(out, stride);
        text_char(out, '*');
    }
    text_printf(out, "%s(", call(w, HELPER_INDEX, TYPE_NONE));
    c_affine(w, out, sub);
    text_printf(out, ", %lld, &status, %d)", (long long)size, status_code(w));
    w->checks = true;
}

// The subscript in the flat array; NULL if the buffer has no elements.
static const char *offset(CWriter *w, const Access *a) {
    const Buffer *b = &w->t->buffers.at[a->tensor];
    Exprs *x = w->t->exprs;
    const Affine *sum = affine_const(x, 0);
    Text late = {.arena = w->arena}, out = {.arena = w->arena};
    for (int d = 0; d < a->rank; d++)
        if (b->size[d] == 0) return NULL;
    for (int d = 0; d < a->rank; d++) {
        if (needs_check(w, a->sub[d], b->size[d]))
            checked(w, &late, a->sub[d], b->size[d], b->stride[d]);
        else
            sum = affine_add(x, sum, affine_scale(x, a->sub[d], b->stride[d]));
    }
    if (!late.len || !affine_is(sum, 0)) c_affine(w, &out, sum);
    if (late.len) text_printf(&out, "%s%s", out.len ? " + " : "", text_str(&late));
    return text_str(&out);
}

// A scalar with checked subscripts still has its check.
static const char *element_at(CWriter *w, const Access *a, const char *at, bool checks) {
    CBuffer *b = &w->buffer[a->tensor];
    b->used = true;
    if (b->scalar && !checks) return b->name;
    return arena_printf(w->arena, b->scalar ? "(&%s)[%s]" : "%s[%s]", b->name, at);
}

const char *c_element(CWriter *w, const Access *a) {
    bool before = w->checks;
    w->checks = false;
    const char *at = offset(w, a);
    const char *element = at ? element_at(w, a, at, w->checks) : NULL;
    w->checks |= before;
    return element;
}

// Converts an element of type t from its form in memory to a value.
static void loaded(CWriter *w, Text *out, Type t, const char *element) {
    if (type_is_storage(t))
        text_printf(out, "%s(%s)", call(w, storage[t].from, t), element);
    else if (t == TYPE_BOOL)
        text_printf(out, "(%s != 0)", element);
    else
        text_add(out, element);
}

static void no_element(CWriter *w, Text *out) {
    w->checks = true;
    text_printf(out, "(status = %d, 0)", status_code(w));
}

static void read_access(CWriter *w, Text *out, const Access *a) {
    Type t = w->t->buffers.at[a->tensor].type;
    const char *element = c_element(w, a);
    w->buffer[a->tensor].read = true;
    if (!element)
        no_element(w, out);
    else if (t == TYPE_U64) // as a subscript
        text_printf(out, "(int64_t)%s", element);
    else if (type_is_float(t)) {
        text_printf(out, "%s(", call(w, HELPER_SATURATE, TYPE_I64));
        loaded(w, out, t, element);
        text_char(out, ')');
    } else
        loaded(w, out, t, element);
}

// --- Values ------------------------------------------------------------------------------------

static void value(CWriter *w, Text *out, const Expr *e, int around);

static void float_constant(CWriter *w, Text *out, Type t, double f) {
    bool single = type_compute(t) == TYPE_F32;
    if (isnan(f) || isinf(f)) {
        w->u->math = true;
        text_add(out, isnan(f) ? "NAN" : f < 0 ? "-INFINITY" : "INFINITY");
        return;
    }
    text_float(out, f, single);
    if (single) text_char(out, 'f');
}

static void constant(CWriter *w, Text *out, const Expr *e, int around) {
    bool negative = type_is_float(e->type)
                        ? signbit(e->value.f) != 0
                        : type_info[e->type].class == CLASS_INT && e->value.i < 0;
    bool parens = negative && around >= UNARY;
    if (parens) text_char(out, '(');
    if (type_is_float(e->type))
        float_constant(w, out, e->type, e->value.f);
    else if (e->type == TYPE_BOOL)
        text_add(out, e->value.i ? "true" : "false");
    else if (e->type == TYPE_U64)
        text_printf(out, "UINT64_C(%llu)", (unsigned long long)e->value.i);
    else if (e->type == TYPE_U32)
        text_printf(out, "%lluu", (unsigned long long)e->value.i);
    else if (e->type == TYPE_I32 && e->value.i == INT32_MIN)
        text_add(out, "INT32_MIN");
    else
        number(out, e->value.i);
    if (parens) text_char(out, ')');
}

static void list(CWriter *w, Text *out, const char *function, const Expr *e) {
    text_printf(out, "%s(", function);
    for (int i = 0; i < e->n; i++) {
        if (i) text_add(out, ", ");
        value(w, out, e->arg[i], ANY);
    }
    text_char(out, ')');
}

static void infix(CWriter *w, Text *out, const Expr *e, const char *op, int strength, int around) {
    // In C, == has a higher precedence than &; and compilers warn about a && b || c.
    bool parens = around > strength || (strength == BITS && around == BITS);
    int left = strength == BITS ? UNARY : strength == OR ? COMPARE : strength;
    if (strength == COMPARE) left = BITS;
    if (parens) text_char(out, '(');
    value(w, out, e->arg[0], left);
    text_printf(out, strength == PRODUCT ? "%s" : " %s ", op);
    value(w, out, e->arg[1], left == strength ? strength + 1 : left);
    if (parens) text_char(out, ')');
}

// Opens the two calls that round to a storage float.
static void round_to(CWriter *w, Text *out, Type t) {
    const char *from = call(w, storage[t].from, t);
    text_printf(out, "%s(%s(", from, call(w, storage[t].to, t));
}

static void cast(CWriter *w, Text *out, const Expr *e, int around) {
    Type to = e->type, from = e->arg[0]->type;
    if (to == TYPE_BOOL) {
        if (from == TYPE_BOOL) {
            value(w, out, e->arg[0], around);
            return;
        }
        text_char(out, '(');
        value(w, out, e->arg[0], UNARY);
        text_add(out, " != 0)");
        return;
    }
    if (type_is_float(from) && !type_is_float(to)) {
        list(w, out, call(w, HELPER_SATURATE, to), e);
        return;
    }
    bool narrow = type_is_storage(to);
    if (narrow) round_to(w, out, to);
    if (type_compute(to) == type_compute(from)) {
        value(w, out, e->arg[0], narrow ? ANY : around);
    } else {
        text_printf(out, "(%s)", c_value_type(to));
        value(w, out, e->arg[0], UNARY);
    }
    if (narrow) text_add(out, "))");
}

// Functions that C's library lacks under that name; computed in double.
static bool own_math(CWriter *w, Text *out, const Expr *e) {
    static const struct {
        ExprOp op;
        Helper h;
    } helpers[] = {{OP_COSPI, HELPER_COSPI},     {OP_SINPI, HELPER_SINPI},
                   {OP_SIGMOID, HELPER_SIGMOID}, {OP_LGAMMA, HELPER_LGAMMA},
                   {OP_NORM3D, HELPER_NORM3D},   {OP_NORM4D, HELPER_NORM4D},
                   {OP_RNORM4D, HELPER_RNORM4D}};
    for (size_t i = 0; i < sizeof helpers / sizeof *helpers; i++)
        if (helpers[i].op == e->op) {
            list(w, out, call(w, helpers[i].h, TYPE_NONE), e);
            return true;
        }
    const char *before = NULL, *after = ")";
    switch (e->op) {
    case OP_RHYPOT: before = "(", after = ", 0, 0)"; break;
    case OP_RNORM3D: before = "(", after = ", 0)"; break;
    case OP_EXP10: before = "pow(10, "; break;
    case OP_RCBRT: before = "(1 / cbrt(", after = "))"; break;
    case OP_RSQRT: before = "(1 / sqrt(", after = "))"; break;
    default: return false;
    }
    if (e->op == OP_RHYPOT || e->op == OP_RNORM3D)
        text_add(out, call(w, HELPER_RNORM4D, TYPE_NONE));
    text_add(out, before);
    for (int i = 0; i < e->n; i++) {
        if (i) text_add(out, ", ");
        value(w, out, e->arg[i], ANY);
    }
    text_add(out, after);
    return true;
}

static void math(CWriter *w, Text *out, const Expr *e, int around) {
    Type t = type_compute(e->arg[0]->type);
    w->u->math = true;
    if (e->op == OP_J0 || e->op == OP_J1 || e->op == OP_Y0 || e->op == OP_Y1) w->u->posix = true;
    if (e->op == OP_FMIN || e->op == OP_FMAX) {
        list(w, out, call(w, e->op == OP_FMIN ? HELPER_FMIN : HELPER_FMAX, t), e);
    } else if (e->op == OP_FDIVIDE) {
        infix(w, out, e, " / ", PRODUCT, around);
    } else if (e->op == OP_RECIP) {
        if (around > PRODUCT) text_char(out, '(');
        text_add(out, t == TYPE_F32 ? "1.0f / " : "1.0 / ");
        value(w, out, e->arg[0], UNARY);
        if (around > PRODUCT) text_char(out, ')');
    } else if (op_info[e->op].trait == TRAIT_EXACT) { // "sqrt" becomes sqrtf
        list(w, out, arena_printf(w->arena, "%s%s", op_info[e->op].name, t == TYPE_F32 ? "f" : ""),
             e);
    } else {
        if (t == TYPE_F32) text_add(out, "(float)");
        if (!own_math(w, out, e)) list(w, out, op_info[e->op].name, e);
    }
}

bool c_subtracts(const Expr *e) {
    if (e->kind != EXPR_OP) return false;
    if ((e->op == OP_SUB || e->op == OP_NEG) && type_is_float(e->type)) return true;
    for (int i = 0; i < e->n; i++)
        if (c_subtracts(e->arg[i])) return true;
    return false;
}

// If products are added in some lanes and subtracted in others, as in products of complex numbers,
// gcc contracts them in spite of -ffp-contract=off; also in `-c + a*b`, and for a product that is
// stored in a temporary. Therefore, if anything is subtracted, a barrier encloses every product.
static void product(CWriter *w, Text *out, const Expr *e, int around) {
    bool round = w->differences && around <= PRODUCT;
    if (round) text_add(out, "LW_ROUND(");
    infix(w, out, e, "*", PRODUCT, round ? ANY : around);
    if (round) text_char(out, ')');
    w->u->rounds |= round;
}

// 0 - x. gcc 12 takes it for -x where x is a converted integer, and gives -0 for 0.
static bool is_from_zero(const Expr *e) {
    const Expr *a = e->arg[0];
    return a->kind == EXPR_CONST && a->value.f == 0 && !signbit(a->value.f);
}

static bool float_arith(CWriter *w, Text *out, const Expr *e, Type t, int around) {
    switch (e->op) {
    case OP_ADD: infix(w, out, e, "+", SUM, around); return true;
    case OP_SUB:
        if (is_from_zero(e)) {
            text_printf(out, "%s(", call(w, HELPER_FROM_ZERO, t));
            value(w, out, e->arg[1], ANY);
            text_char(out, ')');
            return true;
        }
        infix(w, out, e, "-", SUM, around);
        return true;
    case OP_MUL: product(w, out, e, around); return true;
    case OP_DIV: infix(w, out, e, " / ", PRODUCT, around); return true;
    case OP_NEG:
        if (around >= UNARY) text_char(out, '(');
        text_char(out, '-');
        value(w, out, e->arg[0],
              e->arg[0]->kind == EXPR_OP && e->arg[0]->op == OP_MUL ? PRODUCT : UNARY);
        if (around >= UNARY) text_char(out, ')');
        return true;
    case OP_ABS:
        w->u->math = true;
        list(w, out, t == TYPE_F32 ? "fabsf" : "fabs", e);
        return true;
    case OP_MOD: list(w, out, call(w, HELPER_FMOD, t), e); return true;
    case OP_MIN: list(w, out, call(w, HELPER_FMINP, t), e); return true;
    case OP_MAX: list(w, out, call(w, HELPER_FMAXP, t), e); return true;
    case OP_RELU: list(w, out, call(w, HELPER_FRELU, t), e); return true;
    default: return false;
    }
}

static bool int_arith(CWriter *w, Text *out, const Expr *e, Type t, int around) {
    bool is_signed = type_info[t].class == CLASS_INT;
    bool plain = wraps_in_c(t);
    Helper h;
    switch (e->op) {
    case OP_ADD: h = HELPER_ADD; break;
    case OP_SUB: h = HELPER_SUB; break;
    case OP_MUL: h = HELPER_MUL; break;
    case OP_DIV: h = is_signed ? HELPER_DIV : HELPER_UDIV; break;
    case OP_MOD: h = is_signed ? HELPER_MOD : HELPER_UMOD; break;
    case OP_MIN: h = HELPER_MIN; break;
    case OP_MAX: h = HELPER_MAX; break;
    case OP_NEG: h = HELPER_NEG; break;
    case OP_SHL: h = HELPER_SHL; break;
    case OP_SHR: h = HELPER_SHR; break;
    case OP_BITAND: infix(w, out, e, "&", BITS, around); return true;
    case OP_BITOR: infix(w, out, e, "|", BITS, around); return true;
    case OP_BITXOR: infix(w, out, e, "^", BITS, around); return true;
    case OP_ABS:
    case OP_RELU:
        if (!is_signed) {
            value(w, out, e->arg[0], around);
            return true;
        }
        h = e->op == OP_ABS ? HELPER_ABS : HELPER_RELU;
        break;
    default: return false;
    }
    if (plain && (e->op == OP_ADD || e->op == OP_SUB))
        infix(w, out, e, e->op == OP_ADD ? "+" : "-", SUM, around);
    else if (plain && e->op == OP_MUL)
        infix(w, out, e, "*", PRODUCT, around);
    else
        list(w, out, call(w, h, t), e);
    return true;
}

static void see_gather(void *user, const Access *a, bool guarded) {
    (void)guarded;
    *(bool *)user |= a->has_read;
}

// Do both read the same variable? A buffer of one element has no subscripts.
static bool same_read(CWriter *w, const Expr *a, const Expr *b) {
    if (a->kind != EXPR_READ || b->kind != EXPR_READ || a->access->tensor != b->access->tensor)
        return false;
    Text left = {.arena = w->u->arena}, right = {.arena = w->u->arena};
    value(w, &left, a, UNARY);
    value(w, &right, b, UNARY);
    return !strcmp(text_str(&left), text_str(&right));
}

// Is an integer compared with itself? Compilers warn about that.
static bool same_twice(CWriter *w, const Expr *e) {
    bool gathers = false;
    if (type_is_float(e->arg[0]->type)) return false;
    expr_visit_accesses(e, see_gather, &gathers);
    return !gathers && (e->arg[0] == e->arg[1] || same_read(w, e->arg[0], e->arg[1]));
}

// Limits of the values of an integer expression, by its type alone. Those of u64 end at INT64_MAX,
// which no u64 is compared with then.
static bool limits(const Expr *e, int64_t *lo, int64_t *hi) {
    if (e->kind == EXPR_CONST) {
        *lo = *hi = e->value.i;
        return e->type != TYPE_U64 || (e->value.i >= 0 && e->value.i < INT64_MAX);
    }
    while (e->kind == EXPR_OP && e->op == OP_CAST && type_is_integer(e->arg[0]->type) &&
           type_info[e->arg[0]->type].bits < type_info[e->type].bits &&
           type_info[e->arg[0]->type].class == CLASS_UINT)
        e = e->arg[0];
    const TypeInfo *t = &type_info[e->type];
    bool is_signed = t->class == CLASS_INT;
    if (!type_is_integer(e->type)) return false;
    *lo = is_signed ? INT64_MIN >> (64 - t->bits) : 0;
    *hi = t->bits == 64 ? INT64_MAX : (INT64_C(1) << (t->bits - is_signed)) - 1;
    return true;
}

// Does the type of an operand decide a comparison with a constant? Compilers warn about that.
static bool decided(const Expr *e, bool *holds) {
    int64_t a, b, c, d;
    bool gathers = false, flip = e->op == OP_GT || e->op == OP_GE;
    if (e->op == OP_EQ || e->op == OP_NE) return false;
    if (!limits(e->arg[flip], &a, &b) || !limits(e->arg[!flip], &c, &d)) return false;
    expr_visit_accesses(e, see_gather, &gathers);
    bool strict = e->op == OP_LT || e->op == OP_GT;
    *holds = strict ? b < c : b <= c;
    return !gathers && (*holds || (strict ? a >= d : a > d));
}

static void compare(CWriter *w, Text *out, const Expr *e, int around) {
    bool holds = e->op == OP_EQ || e->op == OP_LE || e->op == OP_GE;
    if (same_twice(w, e) || decided(e, &holds))
        text_add(out, holds ? "true" : "false");
    else
        infix(w, out, e, op_info[e->op].name, COMPARE, around);
}

static void operation(CWriter *w, Text *out, const Expr *e, int around) {
    Type t = e->arg[0]->type;
    switch (e->op) {
    case OP_SELECT:
        if (around > ANY) text_char(out, '(');
        value(w, out, e->arg[0], COND + 1);
        text_add(out, " ? ");
        value(w, out, e->arg[1], COND + 1);
        text_add(out, " : ");
        value(w, out, e->arg[2], COND + 1);
        if (around > ANY) text_char(out, ')');
        return;
    case OP_AND: infix(w, out, e, "&&", AND, around); return;
    case OP_OR: infix(w, out, e, "||", OR, around); return;
    case OP_NOT:
        text_char(out, '!');
        value(w, out, e->arg[0], UNARY);
        return;
    case OP_CAST: cast(w, out, e, around); return;
    default: break;
    }
    if (op_info[e->op].class == OP_COMPARE)
        compare(w, out, e, around);
    else if (op_info[e->op].class == OP_MATH)
        math(w, out, e, around);
    else if (type_is_float(t) ? !float_arith(w, out, e, type_compute(t), around)
                              : !int_arith(w, out, e, t, around))
        bug("%s of %s", op_info[e->op].name, type_info[t].name);
}

static void index_value(CWriter *w, Text *out, const Expr *e) {
    if (e->type == TYPE_BOOL) {
        text_char(out, '(');
        in_parens(w, out, e->index);
        text_add(out, " != 0)");
        return;
    }
    bool narrow = type_is_storage(e->type);
    if (narrow) round_to(w, out, e->type);
    if (e->type != TYPE_I64) text_printf(out, "(%s)", c_value_type(e->type));
    in_parens(w, out, e->index);
    if (narrow) text_add(out, "))");
}

static void value(CWriter *w, Text *out, const Expr *e, int around) {
    switch (e->kind) {
    case EXPR_CONST: constant(w, out, e, around); break;
    case EXPR_INDEX: index_value(w, out, e); break;
    case EXPR_OP: operation(w, out, e, around); break;
    case EXPR_READ: {
        const char *element = c_element(w, e->access);
        w->buffer[e->access->tensor].read = true;
        if (element)
            loaded(w, out, w->t->buffers.at[e->access->tensor].type, element);
        else
            no_element(w, out);
    }
    }
}

// --- Leaves ------------------------------------------------------------------------------------

bool c_skippable(const CWriter *w, const Leaf *leaf, bool *init, bool *post) {
    const Program *p = w->t->program;
    *post = leaf->role == LEAF_POST ||
            (p && leaf->stmt >= 0 && leaf->stmt < p->stmts.n && p->stmts.at[leaf->stmt].post);
    *init = leaf->role == LEAF_INIT && leaf->write->tensor < w->t->nargs;
    return *init || *post;
}

// Prints the stored value, from the old value in memory and the leaf's expression.
static void combined(CWriter *w, Text *out, const Leaf *leaf, Type t, const char *old) {
    static const struct {
        Helper floats, ints;
    } by[] = {[REDUCE_ADD] = {HELPER_COUNT, HELPER_ADD},
              [REDUCE_MUL] = {HELPER_COUNT, HELPER_MUL},
              [REDUCE_MIN] = {HELPER_FMINP, HELPER_MIN},
              [REDUCE_MAX] = {HELPER_FMAXP, HELPER_MAX}};
    const Expr *e = leaf->value;
    bool is_float = type_is_float(t), plain = wraps_in_c(t);
    if (leaf->op == REDUCE_ASSIGN) {
        value(w, out, e, ANY);
        return;
    }
    if (leaf->op == REDUCE_ADD && is_float && e->kind == EXPR_OP && e->op == OP_MUL) {
        w->u->math = true;
        text_add(out, type_compute(t) == TYPE_F32 ? "fmaf(" : "fma(");
        value(w, out, e->arg[0], ANY);
        text_add(out, ", ");
        value(w, out, e->arg[1], ANY);
        text_add(out, ", ");
        loaded(w, out, t, old);
        text_char(out, ')');
        return;
    }
    bool infix_op = (is_float || plain) && leaf->op <= REDUCE_MUL;
    if (!infix_op)
        text_printf(out, "%s(",
                    call(w, is_float ? by[leaf->op].floats : by[leaf->op].ints, type_compute(t)));
    loaded(w, out, t, old);
    text_add(out, !infix_op ? ", " : leaf->op == REDUCE_ADD ? " + " : "*");
    value(w, out, e, !infix_op ? ANY : leaf->op == REDUCE_ADD ? SUM + 1 : PRODUCT + 1);
    if (!infix_op) text_char(out, ')');
}

// f32, f64 and wide unsigned sums are printed as +=, products likewise.
static bool short_form(const Leaf *leaf, Type t) {
    bool fused = leaf->value->kind == EXPR_OP && leaf->value->op == OP_MUL && type_is_float(t);
    return c_is_plain(t) && ((leaf->op == REDUCE_ADD && !fused) || leaf->op == REDUCE_MUL);
}

static void store(CWriter *w, const Leaf *leaf, const char *element) {
    Type t = w->t->buffers.at[leaf->write->tensor].type;
    Text out = {.arena = w->arena};
    if (short_form(leaf, t)) {
        value(w, &out, leaf->value, ANY);
        c_line(w, "%s %s= %s;", element, leaf->op == REDUCE_ADD ? "+" : "*", text_str(&out));
        return;
    }
    bool narrow = type_is_storage(t);
    if (narrow) text_printf(&out, "%s(", call(w, storage[t].to, t));
    combined(w, &out, leaf, t, element);
    if (narrow) text_char(&out, ')');
    c_line(w, "%s = %s;", element, text_str(&out));
}

void c_leaf(CWriter *w, const Leaf *leaf) {
    bool before = w->checks;
    w->leaf = leaf;
    w->checks = false;
    const char *at = w->sum == leaf ? w->sum_name : offset(w, leaf->write);
    bool check = w->checks;
    w->checks |= before;
    if (!at) {
        w->checks = true;
        c_line(w, "status = %d;", status_code(w));
    } else if (w->sum == leaf) {
        store(w, leaf, w->sum_name);
    } else if (check && leaf->op != REDUCE_ASSIGN) {
        c_line(w, "{");
        w->indent++;
        c_line(w, "const int64_t at = %s;", at);
        store(w, leaf, element_at(w, leaf->write, "at", true));
        w->indent--;
        c_line(w, "}");
    } else {
        store(w, leaf, element_at(w, leaf->write, at, check));
    }
    w->leaf = NULL;
}
