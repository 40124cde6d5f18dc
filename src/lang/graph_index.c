// Relations between indices and sizes: parsing, printing, linear forms, and solving them.
//
//     relations := relation { "," relation }
//     relation  := sum "=" sum
//     sum       := product { ("+" | "-") product }
//     product   := factor { ("*" | "/" | "%") factor }
//     factor    := INTEGER | DIM | "size" "(" DIM ")" | ("min" | "max") "(" sum "," sum ")"
//                | "(" sum ")" | "-" factor
//
// To solve a view, the indices of its input's dimensions are the unknowns and its own are known. A
// relation with one unknown u has the form a·u + b = 0, so u = -b/a; if a is not ±1, the element
// exists only if the division is exact. A relation with several unknowns is a mixed-radix number:
// in K = M*size(N) + N the strides are 1 and size(N), so N = K % size(N) and M = K / size(N).
#include "lang/graph_impl.h"

#include "base/nearest.h"

#include "base/checked.h"

#include <string.h>

enum { MAX_DEPTH = 64 };

// --- Text --------------------------------------------------------------------------------------

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool graph_name_ok(const char *name, size_t len) {
    if (!len || !is_letter(name[0])) return false;
    for (size_t i = 1; i < len; i++)
        if (!is_letter(name[i]) && !is_digit(name[i])) return false;
    return true;
}

static char peek(const Cursor *c) { return c->at < c->end ? c->source->text[c->at] : 0; }

void cursor_blanks(Cursor *c) {
    while (c->at < c->end && (peek(c) == ' ' || peek(c) == '\t' || peek(c) == '\r')) c->at++;
}

bool cursor_char(Cursor *c, char expected) {
    cursor_blanks(c);
    if (c->at >= c->end || peek(c) != expected) return false;
    c->at++;
    return true;
}

bool cursor_word(Cursor *c, const char **word, size_t *len) {
    cursor_blanks(c);
    uint32_t from = c->at;
    if (!is_letter(peek(c))) return false;
    while (is_letter(peek(c)) || is_digit(peek(c))) c->at++;
    *word = c->source->text + from;
    *len = c->at - from;
    return true;
}

bool cursor_expected(Cursor *c, const char *what) {
    cursor_blanks(c);
    uint32_t from = c->at;
    if (is_letter(peek(c)) || is_digit(peek(c)))
        while (is_letter(peek(c)) || is_digit(peek(c))) c->at++;
    else if (c->at < c->end)
        c->at++;
    Range r = {from, c->at > from ? c->at : from + 1};
    if (c->at == from)
        graph_report_at(c->g, c->source, r, DIAG_GRAPH_EXPECTED, what, "the end");
    else if (peek(&(Cursor){.source = c->source, .at = from, .end = c->end}) < ' ')
        graph_report_at(c->g, c->source, r, DIAG_GRAPH_EXPECTED, what, "an unprintable byte");
    else
        graph_report_at(
            c->g, c->source, r, DIAG_GRAPH_EXPECTED, what,
            arena_printf(c->g->arena, "'%.*s'", (int)(c->at - from), c->source->text + from));
    return false;
}

static bool parse_int(Cursor *c, const Affine **out) {
    uint32_t from = c->at;
    int64_t v = 0;
    bool ok = true;
    for (; is_digit(peek(c)); c->at++)
        ok = ok && checked_mul(v, 10, &v) && checked_add(v, peek(c) - '0', &v);
    if (!ok) graph_report_at(c->g, c->source, (Range){from, c->at}, DIAG_GRAPH_OVERFLOW);
    *out = affine_const(c->g->exprs, ok ? v : 0);
    return ok;
}

static const char *nth_dim(const void *graph, size_t i) {
    const Graph *g = graph;
    return i < (size_t)g->dims.n ? g->dims.at[i].name : NULL;
}

// An unknown dimension is reported once: it is then added to the graph.
bool cursor_dim(Cursor *c, const char *word, size_t len, int *out) {
    Name name = name_intern(c->g->names, word, len);
    *out = graph_find_dim(c->g, name);
    if (*out >= 0) return true;
    Range at = {(uint32_t)(word - c->source->text), c->at};
    Diag *d = graph_report_at(c->g, c->source, at, DIAG_GRAPH_NO_DIM, (int)len, word);
    const char *near = nearest(name, nth_dim, c->g);
    if (d && near)
        diag_note(c->g->diags, d, (Range){0, 0}, DIAG_DID_YOU_MEAN, near);
    else if (d)
        diag_note(c->g->diags, d, (Range){0, 0}, DIAG_GRAPH_NO_DIM_NOTE, (int)len, word, (int)len,
                  word);
    *out = graph_dim(c->g, name);
    return false;
}

static bool same_word(const char *word, size_t len, const char *keyword) {
    return strlen(keyword) == len && !memcmp(word, keyword, len);
}

// size(D), min(a, b), max(a, b), after the word and the parenthesis.
static bool parse_call(Cursor *c, const char *word, size_t len, const Affine **out) {
    if (same_word(word, len, "size")) {
        const char *name;
        size_t n;
        int dim;
        if (!cursor_word(c, &name, &n)) return cursor_expected(c, "the name of a dimension");
        if (!cursor_dim(c, name, n, &dim)) return false;
        *out = affine_param(c->g->exprs, dim);
        return cursor_char(c, ')') || cursor_expected(c, "')'");
    }
    const Affine *a, *b;
    if (!index_parse(c, &a)) return false;
    if (!cursor_char(c, ',')) return cursor_expected(c, "','");
    if (!index_parse(c, &b)) return false;
    *out =
        same_word(word, len, "min") ? affine_min(c->g->exprs, a, b) : affine_max(c->g->exprs, a, b);
    return cursor_char(c, ')') || cursor_expected(c, "')'");
}

static bool parse_word(Cursor *c, const Affine **out) {
    const char *word;
    size_t len;
    int dim;
    cursor_word(c, &word, &len);
    bool call =
        same_word(word, len, "size") || same_word(word, len, "min") || same_word(word, len, "max");
    if (call && cursor_char(c, '(')) return parse_call(c, word, len, out);
    if (!cursor_dim(c, word, len, &dim)) return false;
    *out = affine_iter(c->g->exprs, dim);
    return true;
}

static bool parse_factor(Cursor *c, const Affine **out) {
    cursor_blanks(c);
    if (is_digit(peek(c))) return parse_int(c, out);
    if (is_letter(peek(c))) return parse_word(c, out);
    if (c->depth >= MAX_DEPTH) {
        graph_report_at(c->g, c->source, (Range){c->at, c->at + 1}, DIAG_GRAPH_NESTING, MAX_DEPTH);
        return false;
    }
    bool ok;
    c->depth++;
    if (cursor_char(c, '-')) {
        ok = parse_factor(c, out);
        if (ok) *out = affine_scale(c->g->exprs, *out, -1);
    } else if (cursor_char(c, '(')) {
        ok = index_parse(c, out) && (cursor_char(c, ')') || cursor_expected(c, "')'"));
    } else {
        ok = cursor_expected(c, "a dimension or a number");
    }
    c->depth--;
    return ok;
}

static bool parse_product(Cursor *c, const Affine **out) {
    Exprs *x = c->g->exprs;
    const Affine *b;
    if (!parse_factor(c, out)) return false;
    for (;;) {
        cursor_blanks(c);
        char op = peek(c);
        if (op != '*' && op != '/' && op != '%') return true;
        c->at++;
        if (!parse_factor(c, &b)) return false;
        *out = op == '*'   ? affine_mul(x, *out, b)
               : op == '/' ? affine_div(x, *out, b)
                           : affine_mod(x, *out, b);
    }
}

static bool parse_sum(Cursor *c, const Affine **out) {
    const Affine *b;
    if (!parse_product(c, out)) return false;
    for (;;) {
        bool plus = cursor_char(c, '+');
        if (!plus && !cursor_char(c, '-')) return true;
        if (!parse_product(c, &b)) return false;
        *out = plus ? affine_add(c->g->exprs, *out, b) : affine_sub(c->g->exprs, *out, b);
    }
}

bool index_parse(Cursor *c, const Affine **out) {
    Exprs *x = c->g->exprs;
    cursor_blanks(c);
    uint32_t from = c->at;
    if (c->depth >= MAX_DEPTH) {
        graph_report_at(c->g, c->source, (Range){c->at, c->at + 1}, DIAG_GRAPH_NESTING, MAX_DEPTH);
        return false;
    }
    c->depth++;
    bool ok = parse_sum(c, out);
    c->depth--;
    if (ok && (x->overflow || x->too_large)) {
        graph_report_at(c->g, c->source, (Range){from, c->at}, DIAG_GRAPH_OVERFLOW);
        ok = false;
    }
    x->overflow = x->too_large = false;
    return ok;
}

bool relations_parse(Cursor *c, Relations *out) {
    do {
        Relation r = {.source = c->source};
        cursor_blanks(c);
        r.range.from = c->at;
        if (!index_parse(c, &r.left)) return false;
        if (!cursor_char(c, '=')) return cursor_expected(c, "'='");
        if (!index_parse(c, &r.right)) return false;
        r.range.to = c->at;
        vec_push(c->g->arena, out, r);
    } while (cursor_char(c, ','));
    return true;
}

void index_print(Text *out, const Graph *g, const Affine *a) {
    Arena *arena = out->arena;
    Name *iters = arena_new_n(arena, Name, g->dims.n),
         *params = arena_new_n(arena, Name, g->dims.n);
    for (int d = 0; d < g->dims.n; d++) {
        iters[d] = g->dims.at[d].name;
        params[d] = arena_printf(arena, "size(%s)", iters[d]);
    }
    Text t = {.arena = arena};
    affine_print(&t, a, &(PrintNames){.iters = iters, .params = params});
    for (const char *s = text_str(&t); *s; s++)
        if (*s != '`') text_char(out, *s); // Program text quotes some names; here they are plain
}

void relations_print(Text *out, const Graph *g, int n, const Relation *r) {
    for (int i = 0; i < n; i++) {
        if (i) text_add(out, ", ");
        index_print(out, g, r[i].left);
        text_add(out, " = ");
        index_print(out, g, r[i].right);
    }
}

// --- Linear forms ------------------------------------------------------------------------------

static bool atom_uses(const Atom *t, AtomKind kind, int u) {
    if (t->kind <= ATOM_PARAM) return t->kind == kind && t->index == u;
    return t->a && (index_uses(t->a, kind, u) || index_uses(t->b, kind, u));
}

bool index_uses(const Affine *e, AtomKind kind, int u) {
    for (int i = 0; i < e->n; i++)
        if (atom_uses(e->term[i].atom, kind, u)) return true;
    return false;
}

bool index_split(Exprs *x, const Affine *e, AtomKind kind, int u, const Affine **a,
                 const Affine **b) {
    *a = affine_const(x, 0);
    *b = affine_const(x, e->constant);
    for (int i = 0; i < e->n; i++) {
        const Term *t = &e->term[i];
        const Atom *atom = t->atom;
        if (!atom_uses(atom, kind, u)) {
            *b = affine_add(x, *b, affine_make(x, 0, t, 1));
        } else if (atom->kind == kind) {
            *a = affine_add_const(x, *a, t->coef);
        } else {
            bool first = atom->kind == ATOM_PROD && index_uses(atom->a, kind, u);
            const Affine *with = first ? atom->a : atom->b, *other = first ? atom->b : atom->a;
            const Affine *p, *q;
            if (atom->kind != ATOM_PROD || index_uses(other, kind, u)) return false;
            if (!index_split(x, with, kind, u, &p, &q)) return false;
            *a = affine_add(x, *a, affine_scale(x, affine_mul(x, p, other), t->coef));
            *b = affine_add(x, *b, affine_scale(x, affine_mul(x, q, other), t->coef));
        }
    }
    return true;
}

static bool not_negative(const Atom *t) {
    if (t->kind == ATOM_PROD || t->kind == ATOM_DIV)
        return index_sign(t->a) > 0 && index_sign(t->b) > 0;
    if (t->kind == ATOM_MOD) return index_sign(t->b) > 0;
    return t->kind == ATOM_ITER || t->kind == ATOM_PARAM;
}

int index_sign(const Affine *e) {
    bool up = e->constant >= 0, down = e->constant <= 0;
    for (int i = 0; i < e->n; i++) {
        if (!not_negative(e->term[i].atom)) return 0;
        up &= e->term[i].coef > 0;
        down &= e->term[i].coef < 0;
    }
    return up && down ? 0 : up ? 1 : down ? -1 : 0;
}

// --- Solving a view ----------------------------------------------------------------------------

typedef struct ViewSolver {
    Graph *g;
    Exprs *x;
    const GraphNode *node;
    int nwanted;
    const int *wanted;
    bool *unknown;             // per dimension: wanted, and neither known nor solved
    const Affine **solved;     // per dimension; known ones are themselves
    const Affine **size;       // per dimension
    const Affine **difference; // per relation: left - right; NULL: already used
    ViewMapping *out;
} ViewSolver;

static int position(const ViewSolver *s, int dim) {
    for (int i = 0; i < s->nwanted; i++)
        if (s->wanted[i] == dim) return i;
    return -1;
}

static int count_unknown(const ViewSolver *s, const Affine *e, int *last) {
    int n = 0;
    for (int i = 0; i < s->nwanted; i++) {
        int d = s->wanted[i];
        if (s->unknown[d] && index_uses(e, ATOM_ITER, d)) *last = d, n++;
    }
    return n;
}

static void settle(ViewSolver *s, int dim, const Affine *index, bool inside) {
    s->unknown[dim] = false;
    s->solved[dim] = index;
    int at = position(s, dim);
    s->out->index[at] = index;
    s->out->inside[at] = inside;
}

// Solves a·u + b = 0; with `unit`, only if a is ±1.
static bool solve_one(ViewSolver *s, const Affine *e, int u, bool unit) {
    const Affine *a, *b;
    if (!index_split(s->x, e, ATOM_ITER, u, &a, &b)) return false;
    int sign = index_sign(a);
    if (sign == 0) return false;
    if (sign > 0) b = affine_scale(s->x, b, -1);
    if (sign < 0) a = affine_scale(s->x, a, -1);
    if (affine_is(a, 1)) {
        settle(s, u, b, false);
        return true;
    }
    if (unit) return false;
    settle(s, u, affine_div(s->x, b, a), false);
    vec_push(s->g->arena, &s->out->exact, affine_mod(s->x, b, a));
    return true;
}

// Solves Σ stride·u = e for several unknowns by repeatedly splitting off the unknown with the
// smallest stride. Among equal strides, dimensions of size 1 come first, because they do not change
// the stride.
static bool solve_radix(ViewSolver *s, const Affine *e, int n) {
    const Affine **stride = arena_new_n(s->g->arena, const Affine *, s->g->dims.n);
    int sign = 0;
    for (int i = 0; i < s->nwanted; i++) {
        int d = s->wanted[i];
        if (!s->unknown[d] || !index_uses(e, ATOM_ITER, d)) continue;
        if (!index_split(s->x, e, ATOM_ITER, d, &stride[d], &e)) return false;
        int mine = index_sign(stride[d]);
        if (mine == 0 || (sign && mine != sign)) return false;
        sign = mine;
        if (sign < 0) stride[d] = affine_scale(s->x, stride[d], -1);
    }
    if (sign > 0) e = affine_scale(s->x, e, -1);
    const Affine *at = affine_const(s->x, 1);
    for (; n > 0; n--) {
        int found = -1;
        for (int i = 0; i < s->nwanted; i++) {
            int d = s->wanted[i];
            if (stride[d] == at && (found < 0 || affine_is(s->size[d], 1))) found = d;
        }
        if (found < 0) return false;
        const Affine *index = affine_div(s->x, e, at);
        stride[found] = NULL;
        if (n > 1) index = affine_mod(s->x, index, s->size[found]);
        settle(s, found, index, n > 1);
        at = affine_mul(s->x, at, s->size[found]);
    }
    return true;
}

// One step: uses the first relation that gives a solution, simplest kind first.
static bool solve_step(ViewSolver *s) {
    for (int pass = 0; pass < 3; pass++)
        for (int r = 0; r < s->node->nrelations; r++) {
            const Affine *e = s->difference[r];
            int u = -1;
            if (!e) continue;
            e = affine_substitute(s->x, e, s->solved, NULL);
            int n = count_unknown(s, e, &u);
            bool done =
                pass < 2 ? n == 1 && solve_one(s, e, u, pass == 0) : n > 1 && solve_radix(s, e, n);
            if (done) {
                s->difference[r] = NULL;
                return true;
            }
        }
    return false;
}

// A remaining relation between known dimensions would hold for some elements only.
static bool check_left_over(ViewSolver *s) {
    for (int r = 0; r < s->node->nrelations; r++) {
        if (!s->difference[r]) continue;
        if (affine_is(affine_substitute(s->x, s->difference[r], s->solved, NULL), 0)) continue;
        relation_report(s->g, &s->node->relation[r], DIAG_GRAPH_RELATION_SURPLUS);
        return false;
    }
    return true;
}

// Relations of sizes, and relations about another input, are ignored.
static bool takes_part(const ViewSolver *s, const Affine *e, int nknown, const int *known) {
    if (!e->has_iter) return false;
    for (int d = 0; d < s->g->dims.n; d++) {
        bool mine = position(s, d) >= 0;
        for (int k = 0; k < nknown; k++) mine |= known[k] == d;
        if (!mine && index_uses(e, ATOM_ITER, d)) return false;
    }
    return true;
}

static void begin(ViewSolver *s, int nknown, const int *known) {
    Graph *g = s->g;
    for (int i = 0; i < s->nwanted; i++) s->unknown[s->wanted[i]] = true;
    for (int i = 0; i < nknown; i++)
        if (position(s, known[i]) >= 0) settle(s, known[i], affine_iter(s->x, known[i]), true);
    for (int d = 0; d < g->dims.n; d++) s->size[d] = g->dims.at[d].size;
    for (int r = 0; r < s->node->nrelations; r++) {
        const Relation *rel = &s->node->relation[r];
        const Affine *e = affine_sub(s->x, rel->left, rel->right);
        if (takes_part(s, e, nknown, known))
            s->difference[r] = affine_substitute(s->x, e, NULL, s->size);
    }
}

bool mapping_solve(Graph *g, const GraphNode *n, int nwanted, const int *wanted, int nknown,
                   const int *known, ViewMapping *out) {
    Arena *a = g->arena;
    *out = (ViewMapping){.index = arena_new_n(a, const Affine *, nwanted),
                         .inside = arena_new_n(a, bool, nwanted)};
    ViewSolver s = {.g = g,
                    .x = g->exprs,
                    .node = n,
                    .nwanted = nwanted,
                    .wanted = wanted,
                    .unknown = arena_new_n(a, bool, g->dims.n),
                    .solved = arena_new_n(a, const Affine *, g->dims.n),
                    .size = arena_new_n(a, const Affine *, g->dims.n),
                    .difference = arena_new_n(a, const Affine *, n->nrelations),
                    .out = out};
    begin(&s, nknown, known);
    while (solve_step(&s)) {}
    for (int i = 0; i < nwanted; i++)
        if (s.unknown[wanted[i]]) {
            Diag *d = node_report(g, n, DIAG_GRAPH_DIM_OPEN, g->dims.at[wanted[i]].name);
            diag_note(g->diags, d, (Range){0}, DIAG_GRAPH_DIM_OPEN_NOTE,
                      g->dims.at[wanted[i]].name);
            return false;
        }
    return check_left_over(&s);
}
