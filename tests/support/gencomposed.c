// In a form
//
//     $   a value                #   a condition
//     ~   a value that may not be computed, after ? and :
//     %   a condition that may not be computed, after && and ||
//     @   a type
#include "support/gencomposed.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TENSORS = 24, ROWS = 1, COLS = 2, BOTH = 3, ROOM = sizeof((Natural *)0)->text };

// A matrix, a vector along rows or along columns, or a scalar. Only a tensor with a known type may
// be an argument.
typedef struct Tensor {
    char name[8];
    int dims;    // ROWS | COLS
    bool turned; // a matrix whose first index is the column
    bool input;
    const char *type;
} Tensor;

typedef struct Composer {
    uint64_t *state;
    Tensor tensor[MAX_TENSORS];
    int n, functions;
    bool indexed; // there are indices I into x
    char functions_text[ROOM], body[ROOM];
    int within, covered;   // indices of this statement; those that a read bounds
    const Tensor *updated; // the tensor that it updates
} Composer;

static int pick(Composer *c, int n) {
    uint64_t z = (*c->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (int)((z ^ (z >> 31)) % (uint64_t)n);
}

#define ONE_OF(c, list) (list)[pick(c, (int)(sizeof(list) / sizeof *(list)))]

__attribute__((format(printf, 2, 3))) static void add(char *to, const char *format, ...) {
    size_t n = strlen(to);
    va_list args;
    va_start(args, format);
    int more = vsnprintf(to + n, ROOM - n, format, args);
    va_end(args);
    if (more < 0 || (size_t)more >= ROOM - n) abort();
}

static const char *draw_type(Composer *c) {
    static const char *const types[] = {"float",  "float",  "float", "double", "half", "bfloat16",
                                        "int",    "int",    "uint8", "uint8",  "int8", "int16",
                                        "uint16", "uint32", "int64", "uint64", "bool"};
    return ONE_OF(c, types);
}

static Tensor next(const Composer *c, int dims, const char *type) {
    Tensor t = {.dims = dims, .type = type};
    snprintf(t.name, sizeof t.name, "t%d", c->n);
    return t;
}

// Makes it readable for later statements.
static void keep(Composer *c, Tensor t) {
    if (c->n == MAX_TENSORS) abort();
    c->tensor[c->n++] = t;
}

// --- Values --------------------------------------------------------------------------------------

static void element(char *out, const Tensor *t, const char *i, const char *j) {
    add(out, "%s", t->name);
    if (t->dims == BOTH)
        add(out, "(%s,%s)", t->turned ? j : i, t->turned ? i : j);
    else if (t->dims)
        add(out, "(%s)", t->dims == ROWS ? i : j);
}

// A tensor whose indices the statement has; NULL: none was found.
static const Tensor *readable(Composer *c, bool condition) {
    for (int turn = 0; turn < 12; turn++) {
        const Tensor *t = &c->tensor[pick(c, c->n)];
        if (condition && (!t->type || strcmp(t->type, "bool"))) continue;
        if ((t->dims & ~c->within) == 0) return t;
    }
    return NULL;
}

static void leaf(Composer *c, char *out, bool certain) {
    static const char *const literals[] = {"0", "1", "2", "5", "0.5", "1.0", "0.25", "3.0"};
    const Tensor *t = readable(c, false);
    int kind = pick(c, 16);
    if (!t || kind == 0) {
        add(out, "%s", ONE_OF(c, literals));
    } else if (kind == 1 && t->dims) {
        add(out, "int(%s)", t->dims & ROWS ? "i" : "j");
    } else if (kind == 2 && c->indexed && c->within & ROWS) {
        add(out, "x(I(i))");
        if (certain) c->covered |= ROWS;
    } else if (kind == 3 && t->dims & ROWS && t != c->updated) {
        add(out, "(i > 0 ? ");
        element(out, t, "i-1", "j");
        add(out, " : ");
        element(out, t, "i", "j");
        add(out, ")");
    } else {
        element(out, t, "i", "j");
        if (certain) c->covered |= t->dims;
    }
}

static void value(Composer *c, char *out, int depth, bool certain);
static void condition(Composer *c, char *out, int depth, bool certain);

static void write_form(Composer *c, char *out, const char *form, int depth, bool certain) {
    for (; *form; form++) switch (*form) {
        case '$': value(c, out, depth - 1, certain); break;
        case '~': value(c, out, depth - 1, false); break;
        case '#': condition(c, out, depth - 1, certain); break;
        case '%': condition(c, out, depth - 1, false); break;
        case '@': add(out, "%s", draw_type(c)); break;
        default: add(out, "%c", *form);
        }
}

static void condition(Composer *c, char *out, int depth, bool certain) {
    static const char *const forms[] = {"($ < $)",  "($ <= $)", "($ > $)",  "($ >= $)", "($ == $)",
                                        "($ != $)", "(# && %)", "(# || %)", "(!#)",     "bool($)"};
    const Tensor *t = readable(c, true);
    if (t && pick(c, 3) == 0) {
        element(out, t, "i", "j");
        if (certain) c->covered |= t->dims;
    } else {
        write_form(c, out, depth > 0 ? ONE_OF(c, forms) : "($ < $)", depth, certain);
    }
}

static void value(Composer *c, char *out, int depth, bool certain) {
    static const char *const forms[] = {
        "($ + $)",
        "($ - $)",
        "($ * $)",
        "($ + $)",
        "($ - $)",
        "($ * $)",
        "max($, $)",
        "min($, $)",
        "(# ? ~ : ~)",
        "(# ? ~ : ~)",
        "@($)",
        "@($)",
        "(int($) & 15)",
        "(uint8($) >> 1)",
        "(int16($) / 3)",
        "(int($) - int($) / 3 * 3)",
        "(uint8($) << 2)",
        "(uint8($) * uint8($))",
        "(uint8($) - uint8($))",
        "(int8($) + int8($))",
        "(uint16($) - uint16($))",
        "(uint32($) ^ 37)",
        "abs(int($))",
        "abs(float($))",
        "floor(float($))",
        "round(double($))",
        "tanh(float($))",
        "($ * 0.5)",
        "max($, 0)",
        "(0 - $)",
        "($ / 4)",
        "(int64($) / 7)",
        "#",
        "(bool($) + bool($))",
        "(bool($) * $)",
        "select(#, $, $)",
    };
    if (depth <= 0 || pick(c, 8) == 0)
        leaf(c, out, certain);
    else
        write_form(c, out, ONE_OF(c, forms), depth, certain);
}

// --- Statements ----------------------------------------------------------------------------------

// The `where` for indices that no read bounds, and sometimes for all.
static void ranges(Composer *c, int part) {
    int open = pick(c, 3) ? c->within & ~c->covered : c->within;
    if (part) open |= ROWS;
    if (open & ROWS) add(c->body, " where i in %s", part ? "0:M/2" : "0:M");
    if (open & COLS) add(c->body, "%s j in 0:N", open & ROWS ? "," : " where");
    add(c->body, "\n");
}

static void right_side(Composer *c, const char *type, int depth) {
    c->covered = 0;
    if (type) add(c->body, "%s(", type);
    value(c, c->body, depth, true);
    if (type) add(c->body, ")");
}

static void map(Composer *c) {
    static const int dims[] = {BOTH, BOTH, BOTH, ROWS, COLS};
    const char *type = pick(c, 2) ? draw_type(c) : NULL;
    Tensor t = next(c, ONE_OF(c, dims), type);
    t.turned = t.dims == BOTH && pick(c, 4) == 0;
    c->within = t.dims;
    add(c->body, " ");
    element(c->body, &t, "i", "j");
    add(c->body, " = ");
    right_side(c, type, 3);
    ranges(c, false);
    keep(c, t);
}

static void reduction(Composer *c) {
    static const char *const ops[] = {"+=!", "+=!", "max=!", "min=!"};
    static const int dims[] = {ROWS, COLS, ROWS, COLS, 0};
    Tensor t = next(c, ONE_OF(c, dims), NULL);
    c->within = BOTH;
    add(c->body, " ");
    element(c->body, &t, "i", "j");
    add(c->body, " %s ", ONE_OF(c, ops));
    right_side(c, NULL, 2);
    ranges(c, false);
    keep(c, t);
}

// An update of an earlier result: all of it, a part of its rows, or by a reduction.
static void update(Composer *c) {
    Tensor *t = &c->tensor[pick(c, c->n)];
    if (t->input) return;
    int kind = pick(c, 4);
    bool part = kind == 0 && t->dims & ROWS, sum = kind == 1 && t->dims != BOTH && !t->type;
    c->within = sum ? BOTH : t->dims;
    c->updated = t;
    add(c->body, " ");
    element(c->body, t, "i", "j");
    add(c->body, sum ? " += " : " = ");
    if (!sum) {
        add(c->body, "%s(", t->type ? t->type : "");
        element(c->body, t, "i", "j");
        add(c->body, pick(c, 2) ? " + " : " * ");
    }
    right_side(c, t->type, 2);
    if (!sum) add(c->body, ")");
    if (!sum) c->covered |= t->dims;
    c->updated = NULL;
    ranges(c, part);
}

// --- Functions -----------------------------------------------------------------------------------

// A tensor that may be an argument: its type is known, and it is not transposed.
static const Tensor *argument(Composer *c, int dims) {
    for (int turn = 0; turn < 12; turn++) {
        const Tensor *t = &c->tensor[pick(c, c->n)];
        if (t->type && t->dims == dims && !t->turned) return t;
    }
    return NULL;
}

typedef struct Form {
    const char *text;  // of the function: # is its number, $T and $U the types of its arguments
    int first, second; // dimensions of arguments; -1: there is none
    int result[2];     // dimensions of results; -1: there is none
    bool turned, same; // the first result: its indices are exchanged; it is of the type $T
} Form;

static const Form forms[] = {
    {"def f#($T(M,N) a) -> (b) { b(i,j) = a(i,j) * 2 + 1 }", BOTH, -1, {BOTH, -1}, false, false},
    {"def f#($T(P,Q) a) -> (b) { b(i,j) = $T(max(a(i,j), 1)) }", BOTH, -1, {BOTH, -1}, false, true},
    {"def f#($T(M,N) a) -> (b) { b(j) max=! a(i,j) }", BOTH, -1, {COLS, -1}, false, true},
    {"def f#($T(M,N) a) -> (b) { b(j,i) = a(i,j) }", BOTH, -1, {BOTH, -1}, true, true},
    {"def f#($T(M,N) a) -> (b, c) { c(i) +=! a(i,j)\n b(i,j) = a(i,j) + c(i) }",
     BOTH,
     -1,
     {BOTH, ROWS},
     false,
     false},
    {"def f#($T(Q) a) -> (b) { b(i) = a(i)\n b(i) = $T(b(i) * 3) }",
     COLS,
     -1,
     {COLS, -1},
     false,
     true},
    {"def f#($T(M,N) a, $U(N) x) -> (b) { b(i,j) = a(i,j) * x(j) }",
     BOTH,
     COLS,
     {BOTH, -1},
     false,
     false},
    {"def f#($T(M,N) a, $U(N) x) -> (b) { b(i) +=! a(i,j) * x(j) }",
     BOTH,
     COLS,
     {ROWS, -1},
     false,
     false},
    {"def f#($T(M,N) a, $U(M) x) -> (b) { b(i,j) = x(i) > 1 ? a(i,j) : $T(1) }",
     BOTH,
     ROWS,
     {BOTH, -1},
     false,
     true},
    {"def g#($T(P) a) -> (b) { b(i) = $T(a(i) + a(i)) }\n"
     "def f#($T(M) a) -> (b) { t = g#(a)\n b(i) = $T(min(t(i), a(i))) }",
     ROWS,
     -1,
     {ROWS, -1},
     false,
     true},
    {"def g#($T(P) a) -> (b) { b(i) = a(i-1) + a(i+1) }\n"
     "def h#($T(P) a) -> (s) { s max=! a(i) }\n"
     "def f#($T(N) a) -> (s) { u(i) = $T(a(i))\n v = g#(u)\n w(i) = $T(v(i+1))\n s = h#(w) }",
     COLS,
     -1,
     {0, -1},
     false,
     false},
};

static void function_text(Composer *c, const char *from, const char *first, const char *second) {
    for (; *from; from++) {
        if (*from == '#')
            add(c->functions_text, "%d", c->functions);
        else if (*from == '$' && from++)
            add(c->functions_text, "%s", *from == 'T' ? first : second);
        else
            add(c->functions_text, "%c", *from);
    }
    add(c->functions_text, "\n");
}

static void call(Composer *c) {
    const Form *form = &forms[pick(c, (int)(sizeof forms / sizeof *forms))];
    const Tensor *first = argument(c, form->first);
    const Tensor *second = form->second >= 0 ? argument(c, form->second) : NULL;
    if (!first || (form->second >= 0 && !second)) return;
    function_text(c, form->text, first->type, second ? second->type : "");
    bool two = form->result[1] >= 0;
    Tensor result = next(c, form->result[0], form->same ? first->type : NULL);
    result.turned = form->turned;
    keep(c, result);
    add(c->body, " %s%s", two ? "(" : "", result.name);
    if (two) {
        Tensor another = next(c, form->result[1], NULL);
        keep(c, another);
        add(c->body, ", %s)", another.name);
    }
    add(c->body, " = f%d(%s%s%s)\n", c->functions++, first->name, second ? ", " : "",
        second ? second->name : "");
}

// --- Programs ------------------------------------------------------------------------------------

static void inputs(Composer *c, char *out) {
    static const char *const shape[] = {"", "(M)", "(N)", "(M,N)"};
    static const struct {
        const char *name;
        int dims;
    } all[] = {{"A", BOTH}, {"B", BOTH}, {"x", COLS}, {"y", ROWS}, {"s", 0}};
    for (int i = 0; i < 5; i++) {
        const char *type = draw_type(c);
        if (!all[i].dims) type = pick(c, 2) ? "float" : "bool"; // an integer would be a size
        Tensor t = next(c, all[i].dims, type);
        strcpy(t.name, all[i].name);
        t.input = true;
        keep(c, t);
        add(out, "%s%s%s %s", i ? ", " : "", type, shape[t.dims], t.name);
    }
    c->indexed = pick(c, 4) == 0;
    if (c->indexed) add(out, ", int(M) I");
}

void composed_draw(Natural *out, uint64_t *state) {
    static const char *const sizes[] = {"", "", "", "M:0-2", "N:0-2", "M:1-9,N:1-70"};
    static void (*const statements[])(Composer *) = {map, map, reduction, update, call, call};
    Composer *c = calloc(1, sizeof *c);
    char *head = calloc(1, ROOM);
    c->state = state;
    inputs(c, head);
    int ninputs = c->n, count = 2 + pick(c, 5);
    for (int i = 0; i < count && strlen(c->body) + strlen(c->functions_text) < ROOM / 3; i++)
        ONE_OF(c, statements)(c);
    map(c);
    const Tensor *last = &c->tensor[c->n - 1];
    const Tensor *other = &c->tensor[ninputs + pick(c, c->n - ninputs)];
    bool two = other != last && pick(c, 2);
    *out = (Natural){.name = "composed", .sizes = ONE_OF(c, sizes)};
    add(out->text, "%sdef k(%s) -> (", c->functions_text, head);
    if (two) add(out->text, "%s, ", other->name);
    add(out->text, "%s) {\n%s}\n", last->name, c->body);
    free(head);
    free(c);
}
