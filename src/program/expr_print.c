// Affines, accesses and expressions as text; the syntax is that of program text
// (docs/program-text.md), and reading it back gives the same nodes.
#include "program/expr.h"

#include <math.h>
#include <string.h>

// --- Names -------------------------------------------------------------------------------------

static const char *const keywords[] = {
    "program", "input", "output",    "inout",  "temp", "require", "for", "in",    "if",  "post",
    "hint",    "from",  "unchecked", "expect", "true", "false",   "inf", "index", "nan",
};

static bool spells(const char *word, const char *name, int len) {
    return word[0] == name[0] && !strncmp(word, name, (size_t)len) && !word[len];
}

bool name_reserved(const char *name, int len) {
    if (len < 2 || name[0] < 'a') return false; // all are in lower case, and none is that short
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (spells(keywords[i], name, len)) return true;
    for (int op = 0; op < OP_COUNT; op++)
        if (spells(op_info[op].name, name, len)) return true;
    return type_by_name(name, len) != TYPE_NONE;
}

static bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

static bool plain(Name name) {
    if (!letter(name[0])) return false;
    for (const char *c = name + 1; *c; c++)
        if (!letter(*c) && !(*c >= '0' && *c <= '9') && *c != '.') return false;
    return !name_reserved(name, (int)strlen(name));
}

void name_print(Text *out, Name name) {
    bool quoted = !plain(name);
    if (quoted) text_char(out, '`');
    if (quoted)
        text_escape(out, name, '`');
    else
        text_add(out, name);
    if (quoted) text_char(out, '`');
}

static void print_numbered(Text *out, const Name *names, char letter_, int index) {
    if (names && names[index])
        name_print(out, names[index]);
    else
        text_printf(out, "%c%d", letter_, index);
}

// --- Affines -----------------------------------------------------------------------------------

static bool one_part(const Affine *a) { return a->n + (a->constant != 0) <= 1; }

// A constant that is not negative, or one atom that is a word or a call.
static bool is_factor(const Affine *a) {
    if (a->n == 0) return a->constant >= 0;
    AtomKind kind = a->term[0].atom->kind;
    return one_part(a) && a->term[0].coef == 1 && kind != ATOM_DIV && kind != ATOM_MOD &&
           kind != ATOM_PROD;
}

static void print_in(Text *out, const Affine *a, const PrintNames *names, bool bare) {
    if (!bare) text_char(out, '(');
    affine_print(out, a, names);
    if (!bare) text_char(out, ')');
}

static void print_atom(Text *out, const Atom *t, const PrintNames *names) {
    switch (t->kind) {
    case ATOM_ITER: print_numbered(out, names ? names->iters : NULL, 'i', t->index); break;
    case ATOM_PARAM: print_numbered(out, names ? names->params : NULL, 'p', t->index); break;
    case ATOM_DIV:
    case ATOM_MOD:
        print_in(out, t->a, names, one_part(t->a));
        text_char(out, t->kind == ATOM_DIV ? '/' : '%');
        print_in(out, t->b, names, is_factor(t->b));
        break;
    case ATOM_MIN:
    case ATOM_MAX:
        text_add(out, t->kind == ATOM_MIN ? "min(" : "max(");
        affine_print(out, t->a, names);
        text_add(out, ", ");
        affine_print(out, t->b, names);
        text_char(out, ')');
        break;
    case ATOM_PROD: { // a chain x*(y*z) prints as x*y*z
        bool chain = t->b->n == 1 && t->b->constant == 0 && t->b->term[0].coef == 1 &&
                     t->b->term[0].atom->kind == ATOM_PROD;
        print_in(out, t->a, names, is_factor(t->a));
        text_char(out, '*');
        print_in(out, t->b, names, chain || is_factor(t->b));
        break;
    }
    case ATOM_READ: access_print(out, t->read, names); break;
    }
}

// " + 2*i", " - i"; the first term without its blanks. The one value without a positive counterpart
// is written as a negative literal.
static void print_term(Text *out, int64_t coef, const Atom *atom, bool first,
                       const PrintNames *names) {
    bool minus = coef < 0 && (coef != INT64_MIN || first);
    text_add(out, first ? (minus ? "-" : "") : minus ? " - " : " + ");
    uint64_t k = coef < 0 ? 0 - (uint64_t)coef : (uint64_t)coef;
    bool literal = coef == INT64_MIN && !first;
    if (!atom || k != 1) {
        if (k > INT64_MAX)
            text_printf(out, "%s%llu", literal ? "-" : "", (unsigned long long)k);
        else
            text_int(out, (int64_t)k);
    }
    if (!atom) return;
    if (k != 1) text_char(out, '*');
    bool quotient = atom->kind == ATOM_DIV || atom->kind == ATOM_MOD;
    bool parens = quotient && (k != 1 || (first && minus));
    if (parens) text_char(out, '(');
    print_atom(out, atom, names);
    if (parens) text_char(out, ')');
}

// Positive terms, then negative ones, then the constant; the constant first where that saves a
// leading minus.
void affine_print(Text *out, const Affine *a, const PrintNames *names) {
    bool first = true, positive = false;
    for (int i = 0; i < a->n; i++) {
        if (a->term[i].coef < 0) continue;
        print_term(out, a->term[i].coef, a->term[i].atom, first, names);
        first = false;
        positive = true;
    }
    bool early = a->n == 0 || (!positive && a->constant > 0);
    if (early) print_term(out, a->constant, NULL, true, names), first = false;
    for (int i = 0; i < a->n; i++) {
        if (a->term[i].coef > 0) continue;
        print_term(out, a->term[i].coef, a->term[i].atom, first, names);
        first = false;
    }
    if (!early && a->constant != 0) print_term(out, a->constant, NULL, first, names);
}

void access_print(Text *out, const Access *a, const PrintNames *names) {
    print_numbered(out, names ? names->tensors : NULL, 't', a->tensor);
    text_char(out, '[');
    for (int d = 0; d < a->rank; d++) {
        if (d) text_add(out, ", ");
        affine_print(out, a->sub[d], names);
    }
    text_char(out, ']');
}

// --- Expressions -------------------------------------------------------------------------------

enum { PREC_LOWEST = 0, PREC_UNARY = 11 };

void value_print(Text *out, Type type, Value v) {
    if (type == TYPE_BOOL)
        text_add(out, v.i ? "true" : "false");
    else if (type_is_float(type))
        text_float(out, v.f, type != TYPE_F64);
    else if (type == TYPE_U64)
        text_printf(out, "%llu", (unsigned long long)v.i);
    else
        text_int(out, v.i);
}

static void print_const(Text *out, Type type, Value v) {
    bool typed = type != TYPE_F32 && type != TYPE_I32 && type != TYPE_BOOL;
    if (typed) text_printf(out, "%s(", type_info[type].name);
    value_print(out, type, v);
    if (typed) text_char(out, ')');
}

static void print_expr(Text *out, const Expr *e, const PrintNames *names, int outer);

static void print_call(Text *out, const char *name, const Expr *e, const PrintNames *names) {
    text_printf(out, "%s(", name);
    for (int i = 0; i < e->n; i++) {
        if (i) text_add(out, ", ");
        print_expr(out, e->arg[i], names, PREC_LOWEST);
    }
    text_char(out, ')');
}

static void print_infix(Text *out, const Expr *e, const PrintNames *names, int outer) {
    int prec = op_info[e->op].binds;
    bool parens = prec < outer, tight = prec == 10;
    if (parens) text_char(out, '(');
    print_expr(out, e->arg[0], names, prec);
    text_printf(out, tight ? "%s" : " %s ", op_info[e->op].name);
    print_expr(out, e->arg[1], names, prec + 1);
    if (parens) text_char(out, ')');
}

static void print_op(Text *out, const Expr *e, const PrintNames *names, int outer) {
    if (e->op == OP_NEG || e->op == OP_NOT) {
        // -(1.0) negates a constant that could not be folded; -1.0 is a literal.
        bool parens = e->arg[0]->kind == EXPR_CONST;
        text_add(out, op_info[e->op].name);
        if (parens) text_char(out, '(');
        print_expr(out, e->arg[0], names, parens ? PREC_LOWEST : PREC_UNARY);
        if (parens) text_char(out, ')');
    } else if (e->op == OP_CAST) {
        print_call(out, type_info[e->type].name, e, names);
    } else if (op_info[e->op].binds) {
        print_infix(out, e, names, outer);
    } else {
        print_call(out, op_info[e->op].name, e, names);
    }
}

static void print_expr(Text *out, const Expr *e, const PrintNames *names, int outer) {
    switch (e->kind) {
    case EXPR_CONST: print_const(out, e->type, e->value); break;
    case EXPR_INDEX:
        text_add(out, "index(");
        affine_print(out, e->index, names);
        text_char(out, ')');
        break;
    case EXPR_READ: access_print(out, e->access, names); break;
    case EXPR_OP: print_op(out, e, names, outer); break;
    }
}

void expr_print(Text *out, const Expr *e, const PrintNames *names) {
    print_expr(out, e, names, PREC_LOWEST);
}
