// Prints and parses a graph as text, one line per dimension, relation or node:
//
//     graph conv
//     dim N                      a dimension; `dim Kh = 3` has that size; `param Ho` is a parameter
//     relate size(B) = size(A) + 2
//     %0 = read I f32 [N, C, H, W]
//     %1 = const f32 0.5
//     %2 = index i64 [i, j] i - j
//     %3 = view %0 [N, C, Ho, Kh] where H = Ho + Kh border identity
//     %4 = mul %3 %1 [N, C, Ho, Kh]
//     %5 = add %4 [N, Ho] pre %9
//     %6 = relu %5 [N, Ho] post
//     %7 = cast f16 %6
//     %8 = place add %6 %7 [M] where M = N, M = K + size(N) border %1
//     %9 = write O %6 [N, Ho]
//
// `#` begins a comment. A node may have any name after the %; printing numbers nodes without a
// name.
#include "lang/graph_impl.h"

#include "base/nearest.h"

#include "base/checked.h"

#include <stdlib.h>
#include <string.h>

// --- Printing ----------------------------------------------------------------------------------

static void print_dims(Text *out, const Graph *g, const GraphNode *n) {
    text_add(out, " [");
    for (int i = 0; i < n->ndims; i++)
        text_printf(out, "%s%s", i ? ", " : "", g->dims.at[n->dim[i]].name);
    text_char(out, ']');
}

static void print_value(Text *out, Type type, Value v) {
    text_char(out, ' ');
    if (type_is_float(type))
        text_float(out, v.f, type != TYPE_F64);
    else if (type == TYPE_U64)
        text_printf(out, "%llu", (unsigned long long)v.i);
    else
        text_int(out, v.i);
}

static bool is_word(const char *c) {
    while (*c == '_' || (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') ||
           (*c >= 'A' && *c <= 'Z'))
        c++;
    return !*c;
}

// Prints a node's name, or its number if it has no name.
static void print_ref(Text *out, const Graph *g, int x) {
    Name label = g->nodes.at[x].label;
    bool named = label && (*label < '0' || *label > '9') && is_word(label);
    for (int i = 0; named && i < g->nodes.n; i++) named = i == x || g->nodes.at[i].label != label;
    if (named)
        text_printf(out, "%%%s", label);
    else
        text_printf(out, "%%%d", x);
}

static void print_border(Text *out, const Graph *g, const GraphNode *n) {
    if (n->border == GRAPH_BORDER_IDENTITY) text_add(out, " border identity");
    if (n->border < 0) return;
    text_add(out, " border ");
    print_ref(out, g, n->border);
}

static const char *const place_op[] = {"", " add", " mul", " min", " max"};

static void print_head(Text *out, const GraphNode *n) {
    const char *type = type_info[n->type].name;
    switch (n->kind) {
    case NODE_READ: text_printf(out, "read %s %s", n->name, type); break;
    case NODE_WRITE: text_printf(out, "write %s", n->name); break;
    case NODE_CONST: text_printf(out, "const %s", type); break;
    case NODE_INDEX: text_printf(out, "index %s", type); break;
    case NODE_VIEW: text_add(out, "view"); break;
    case NODE_PLACE: text_printf(out, "place%s", place_op[n->reduce]); break;
    case NODE_OP:
        text_add(out, graph_op_name(out->arena, n->op));
        if (n->op == OP_CAST) text_printf(out, " %s", type);
        break;
    }
}

static void print_node(Text *out, const Graph *g, const GraphNode *n) {
    print_head(out, n);
    if (n->kind == NODE_CONST) print_value(out, n->type, n->value);
    for (int i = 0; i < n->ninputs; i++) {
        text_char(out, ' ');
        print_ref(out, g, n->input[i]);
    }
    if (n->kind != NODE_CONST && n->op != OP_CAST) print_dims(out, g, n);
    if (n->kind == NODE_INDEX) {
        text_char(out, ' ');
        index_print(out, g, n->index);
    }
    if (n->nrelations) {
        text_add(out, " where ");
        relations_print(out, g, n->nrelations, n->relation);
    }
    if (n->kind == NODE_VIEW || n->kind == NODE_PLACE) print_border(out, g, n);
    if (n->pre >= 0) {
        text_add(out, " pre ");
        print_ref(out, g, n->pre);
    }
    if (n->post) text_add(out, " post");
}

void graph_print(Text *out, const Graph *g) {
    text_printf(out, "graph %s\n", g->name);
    for (int d = 0; d < g->dims.n; d++) {
        const Dimension *dim = &g->dims.at[d];
        text_printf(out, "%s %s", dim->param ? "param" : "dim", dim->name);
        if (dim->fixed >= 0) text_printf(out, " = %lld", (long long)dim->fixed);
        text_char(out, '\n');
    }
    for (int r = 0; r < g->relations.n; r++) {
        text_add(out, "relate ");
        relations_print(out, g, 1, &g->relations.at[r]);
        text_char(out, '\n');
    }
    for (int x = 0; x < g->nodes.n; x++) {
        print_ref(out, g, x);
        text_add(out, " = ");
        print_node(out, g, &g->nodes.at[x]);
        text_char(out, '\n');
    }
}

// Reads and writes are boxes, views are dashed, other nodes are ellipses.
void graph_dot(Text *out, const Graph *g) {
    text_printf(out, "digraph %s {\n    rankdir=TB;\n    node [fontname=\"monospace\"];\n",
                g->name);
    for (int x = 0; x < g->nodes.n; x++) {
        const GraphNode *n = &g->nodes.at[x];
        bool memory = n->kind == NODE_READ || n->kind == NODE_WRITE;
        bool index = n->kind == NODE_VIEW || n->kind == NODE_PLACE;
        text_printf(out, "    n%d [shape=%s%s, label=\"%%%d ", x, memory ? "box" : "ellipse",
                    index ? ", style=dashed" : "", x);
        print_head(out, n);
        if (n->kind == NODE_CONST) print_value(out, n->type, n->value);
        print_dims(out, g, n);
        if (n->nrelations) {
            text_add(out, "\\n");
            relations_print(out, g, n->nrelations, n->relation);
        }
        text_add(out, "\"];\n");
        for (int i = 0; i < n->ninputs; i++) text_printf(out, "    n%d -> n%d;\n", n->input[i], x);
        if (n->pre >= 0) text_printf(out, "    n%d -> n%d [label=\"pre\"];\n", n->pre, x);
    }
    text_add(out, "}\n");
}

// --- Parsing -----------------------------------------------------------------------------------

typedef struct TextLabel {
    Name name;
    int node; // GRAPH_BAD if its line had an error
} TextLabel;

typedef struct GraphParser {
    Graph *g;
    Cursor c; // on the current line
    bool named;
    VEC(TextLabel) labels;
} GraphParser;

static char peek(const GraphParser *p) {
    return p->c.at < p->c.end ? p->c.source->text[p->c.at] : 0;
}

static bool taken(GraphParser *p, const char *keyword) {
    Cursor before = p->c;
    const char *word;
    size_t len;
    if (cursor_word(&p->c, &word, &len) && strlen(keyword) == len && !memcmp(word, keyword, len))
        return true;
    p->c = before;
    return false;
}

// A name, as a NUL-terminated string.
static const char *parse_name(GraphParser *p, const char *what) {
    const char *word;
    size_t len;
    if (cursor_word(&p->c, &word, &len)) return arena_strndup(p->g->arena, word, len);
    cursor_expected(&p->c, what);
    return NULL;
}

static bool parse_type(GraphParser *p, Type *out) {
    const char *word;
    size_t len;
    *out = TYPE_NONE;
    Cursor before = p->c;
    if (cursor_word(&p->c, &word, &len)) *out = type_by_name(word, (int)len);
    if (*out != TYPE_NONE) return true;
    p->c = before;
    return cursor_expected(&p->c, "a type such as f32");
}

// %name: the digits or letters after the %.
static bool parse_label(GraphParser *p, const char **word, size_t *len) {
    if (!cursor_char(&p->c, '%')) return cursor_expected(&p->c, "a node such as %0");
    uint32_t from = p->c.at;
    for (char c = peek(p);
         c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
         c = peek(p))
        p->c.at++;
    *word = p->c.source->text + from;
    *len = p->c.at - from;
    return *len > 0 || cursor_expected(&p->c, "the name of a node");
}

static const TextLabel *find_label(const GraphParser *p, Name name) {
    for (int i = p->labels.n - 1; i >= 0; i--)
        if (p->labels.at[i].name == name) return &p->labels.at[i];
    return NULL;
}

static const char *nth_label(const void *parser, size_t i) {
    const GraphParser *p = parser;
    return i < (size_t)p->labels.n ? p->labels.at[i].name : NULL;
}

static bool parse_node(GraphParser *p, int *out) {
    const char *word;
    size_t len;
    if (!parse_label(p, &word, &len)) return false;
    const TextLabel *l = find_label(p, name_intern(p->g->names, word, len));
    if (!l) {
        uint32_t from = (uint32_t)(word - p->c.source->text) - 1;
        Diag *d = graph_report_at(p->g, p->c.source, (Range){from, p->c.at}, DIAG_GRAPH_NO_NODE,
                                  (int)len, word);
        const char *near = nearest(arena_strndup(p->g->arena, word, len), nth_label, p);
        if (d && near)
            diag_note(p->g->diags, d, (Range){0, 0}, DIAG_DID_YOU_MEAN,
                      arena_printf(p->g->arena, "%%%s", near));
        return false;
    }
    *out = l->node;
    return true;
}

// Node references, up to another token; -1 after a report.
static int parse_nodes(GraphParser *p, int *out) {
    int n = 0;
    for (;; n++) {
        cursor_blanks(&p->c);
        if (peek(p) != '%') return n;
        if (n == GRAPH_MAX_INPUTS) {
            graph_report(p->g, DIAG_GRAPH_LIMIT, "inputs of a node", GRAPH_MAX_INPUTS);
            return -1;
        }
        if (!parse_node(p, &out[n])) return -1;
    }
}

// "[N, C]"; -1 after a report.
static int parse_dims(GraphParser *p, int *out) {
    Graph *g = p->g;
    bool missing = false;
    if (!cursor_char(&p->c, '[')) return cursor_expected(&p->c, "'['") - 1;
    for (int n = 0;; n++) {
        if (cursor_char(&p->c, ']')) return missing ? -1 : n;
        if (n && !cursor_char(&p->c, ',')) return cursor_expected(&p->c, "',' or ']'") - 1;
        const char *word;
        size_t len;
        if (!cursor_word(&p->c, &word, &len)) return cursor_expected(&p->c, "a dimension") - 1;
        if (n == PROGRAM_MAX_RANK) {
            graph_report(g, DIAG_GRAPH_LIMIT, "dimensions of a node", PROGRAM_MAX_RANK);
            return -1;
        }
        if (!cursor_dim(&p->c, word, len, &out[n])) missing = true;
    }
}

static bool parse_digits(GraphParser *p, int64_t *out) {
    cursor_blanks(&p->c);
    bool ok = peek(p) >= '0' && peek(p) <= '9';
    if (!ok) return cursor_expected(&p->c, "a number");
    uint32_t from = p->c.at;
    *out = 0;
    for (char c; (c = peek(p)) >= '0' && c <= '9'; p->c.at++)
        ok = ok && checked_mul(*out, 10, out) && checked_add(*out, c - '0', out);
    if (!ok) graph_report_at(p->g, p->c.source, (Range){from, p->c.at}, DIAG_GRAPH_OVERFLOW);
    return ok;
}

// The word up to the next blank.
static bool parse_value(GraphParser *p, Type type, int *out) {
    cursor_blanks(&p->c);
    uint32_t from = p->c.at;
    while (p->c.at < p->c.end && !strchr(" \t\r", peek(p)) && peek(p)) p->c.at++;
    char *word = arena_strndup(p->g->arena, p->c.source->text + from, p->c.at - from), *end = word;
    double f = 0;
    int64_t i = 0;
    bool ok, is_float = type_is_float(type);
    if (is_float) {
        ok = text_parse_float(word, strlen(word), type != TYPE_F64, &f);
    } else {
        i = type == TYPE_U64 ? (int64_t)strtoull(word, &end, 10) : strtoll(word, &end, 10);
        ok = end != word && !*end;
    }
    if (!ok) {
        p->c.at = from;
        return cursor_expected(&p->c, "a number");
    }
    *out = is_float ? graph_const(p->g, type, f) : graph_const_int(p->g, type, i);
    return true;
}

static bool parse_tail(GraphParser *p, Relations *r, int *border) {
    *border = GRAPH_BORDER_NONE;
    if (taken(p, "where") && !relations_parse(&p->c, r)) return false;
    if (!taken(p, "border")) return true;
    if (taken(p, "identity")) {
        *border = GRAPH_BORDER_IDENTITY;
        return true;
    }
    return parse_node(p, border);
}

static bool parse_read(GraphParser *p, int *out) {
    int dims[PROGRAM_MAX_RANK];
    Type type;
    const char *name = parse_name(p, "the name of a tensor");
    if (!name || !parse_type(p, &type)) return false;
    int n = parse_dims(p, dims);
    if (n >= 0) *out = graph_read(p->g, name, type, n, dims);
    return n >= 0;
}

static bool parse_write(GraphParser *p, int *out) {
    int dims[PROGRAM_MAX_RANK], x;
    const char *name = parse_name(p, "the name of a tensor");
    if (!name || !parse_node(p, &x)) return false;
    int n = parse_dims(p, dims);
    if (n >= 0) *out = graph_write(p->g, name, x, n, dims);
    return n >= 0;
}

static bool parse_index(GraphParser *p, int *out) {
    int dims[PROGRAM_MAX_RANK];
    Type type;
    if (!parse_type(p, &type)) return false;
    int n = parse_dims(p, dims);
    const Affine *index;
    if (n < 0 || !index_parse(&p->c, &index)) return false;
    *out = graph_index_node(p->g, type, index, n, dims);
    return true;
}

static bool parse_view(GraphParser *p, int *out) {
    int dims[PROGRAM_MAX_RANK], x, border;
    Relations r = {0};
    if (!parse_node(p, &x)) return false;
    int n = parse_dims(p, dims);
    if (n < 0 || !parse_tail(p, &r, &border)) return false;
    *out = graph_view_node(p->g, x, n, dims, &r, border);
    return true;
}

static bool parse_place(GraphParser *p, int *out) {
    int dims[PROGRAM_MAX_RANK], inputs[GRAPH_MAX_INPUTS], border;
    Relations r = {0};
    Reduce op = REDUCE_ASSIGN;
    for (Reduce k = REDUCE_ADD; k <= REDUCE_MAX && op == REDUCE_ASSIGN; k++)
        if (taken(p, place_op[k] + 1)) op = k;
    int n = parse_nodes(p, inputs), ndims = n < 0 ? -1 : parse_dims(p, dims);
    if (ndims < 0 || !parse_tail(p, &r, &border)) return false;
    *out = graph_place_node(p->g, op, n, inputs, ndims, dims, &r, border);
    return true;
}

static bool parse_op(GraphParser *p, ExprOp op, int *out) {
    int dims[PROGRAM_MAX_RANK], inputs[GRAPH_MAX_INPUTS], start;
    int n = parse_nodes(p, inputs), ndims = -1;
    if (n < 0) return false;
    cursor_blanks(&p->c);
    if (peek(p) == '[' && (ndims = parse_dims(p, dims)) < 0) return false;
    *out = graph_op(p->g, op, n, inputs, ndims, dims);
    if (taken(p, "pre")) {
        if (!parse_node(p, &start)) return false;
        if (!graph_pre(p->g, *out, start)) *out = GRAPH_BAD;
    }
    if (taken(p, "post") && !graph_post(p->g, *out)) *out = GRAPH_BAD;
    return true;
}

static const char *nth_name(const void *of, size_t i) { return ((const char *const *)of)[i]; }

static void suggest_op(GraphParser *p, Diag *d, const char *word) {
    const char **names = arena_new_n(p->g->arena, const char *, OP_COUNT + 1);
    for (ExprOp op = 0; op < OP_COUNT; op++) names[op] = graph_op_name(p->g->arena, op);
    const char *near = nearest(word, nth_name, names);
    if (near) diag_note(p->g->diags, d, (Range){0, 0}, DIAG_DID_YOU_MEAN, near);
}

static bool parse_named_op(GraphParser *p, int *out) {
    Cursor before = p->c;
    const char *word;
    size_t len;
    if (!cursor_word(&p->c, &word, &len)) return cursor_expected(&p->c, "an operation");
    ExprOp op = graph_op_find(word, len);
    if (op != OP_COUNT) return parse_op(p, op, out);
    cursor_blanks(&before);
    Diag *d = graph_report_at(p->g, p->c.source, (Range){before.at, p->c.at}, DIAG_GRAPH_NO_OP,
                              (int)len, word);
    if (d) suggest_op(p, d, arena_strndup(p->g->arena, word, len));
    return false;
}

static bool parse_right(GraphParser *p, int *out) {
    Type type;
    int x;
    if (taken(p, "read")) return parse_read(p, out);
    if (taken(p, "write")) return parse_write(p, out);
    if (taken(p, "const")) return parse_type(p, &type) && parse_value(p, type, out);
    if (taken(p, "index")) return parse_index(p, out);
    if (taken(p, "view")) return parse_view(p, out);
    if (taken(p, "place")) return parse_place(p, out);
    if (!taken(p, "cast")) return parse_named_op(p, out);
    if (!parse_type(p, &type) || !parse_node(p, &x)) return false;
    *out = graph_cast(p->g, type, x);
    return true;
}

// "%name = ...". A line with an error still defines its name, so that its uses are not reported.
static bool parse_definition(GraphParser *p) {
    const char *word;
    size_t len;
    uint32_t from = p->c.at;
    if (!parse_label(p, &word, &len)) return false;
    Name name = name_intern(p->g->names, word, len);
    if (find_label(p, name)) {
        graph_report_at(p->g, p->c.source, (Range){from, p->c.at}, DIAG_GRAPH_NODE_TWICE, (int)len,
                        word);
        return false;
    }
    if (!cursor_char(&p->c, '=')) return cursor_expected(&p->c, "'='");
    int node = GRAPH_BAD;
    bool ok = parse_right(p, &node);
    if (ok && node >= 0) p->g->nodes.at[node].label = name;
    vec_push(p->g->arena, &p->labels, ((TextLabel){name, ok ? node : GRAPH_BAD}));
    return ok;
}

static bool parse_dim(GraphParser *p, bool param) {
    cursor_blanks(&p->c);
    uint32_t from = p->c.at;
    const char *name = parse_name(p, "the name of a dimension");
    if (!name) return false;
    if (graph_find_dim(p->g, name_of(p->g->names, name)) >= 0) {
        graph_report_at(p->g, p->c.source, (Range){from, p->c.at}, DIAG_GRAPH_DIM_DECLARED,
                        (int)strlen(name), name);
        return false;
    }
    p->g->range = (Range){from, p->c.at};
    int dim = graph_dim(p->g, name);
    if (param) return graph_dim_param(p->g, dim);
    if (!cursor_char(&p->c, '=')) return true;
    int64_t size = 0;
    return parse_digits(p, &size) && graph_dim_size(p->g, dim, size);
}

static bool parse_line(GraphParser *p) {
    uint32_t from = p->c.at;
    if (taken(p, "graph")) {
        const char *name = parse_name(p, "the name of the graph");
        if (name && !p->named) p->g->name = name_of(p->g->names, name);
        p->named = true;
        return name != NULL;
    }
    if (!p->named) {
        graph_report_at(p->g, p->c.source, (Range){from, p->c.end}, DIAG_GRAPH_HEAD);
        p->named = true;
        return false;
    }
    if (taken(p, "dim")) return parse_dim(p, false);
    if (taken(p, "param")) return parse_dim(p, true);
    if (taken(p, "relate")) {
        Relations r = {0};
        return relations_parse(&p->c, &r) && graph_relate_all(p->g, &r);
    }
    if (peek(p) == '%') return parse_definition(p);
    graph_report_at(p->g, p->c.source, (Range){from, p->c.end}, DIAG_GRAPH_LINE);
    return false;
}

Graph *graph_parse(Arena *arena, Names *names, const Source *source, DiagList *diags) {
    GraphParser p = {.g = graph_new(arena, names, "graph", diags)};
    p.g->source = source;
    int errors = diags->errors;
    for (uint32_t at = 0, end; at < source->len; at = end + 1) {
        for (end = at; end < source->len && source->text[end] != '\n'; end++) {}
        uint32_t stop = at;
        while (stop < end && source->text[stop] != '#') stop++;
        p.c = (Cursor){.g = p.g, .source = source, .at = at, .end = stop};
        cursor_blanks(&p.c);
        if (p.c.at == stop) continue;
        p.g->range = (Range){p.c.at, stop};
        while (p.g->range.to > p.g->range.from + 1 &&
               strchr(" \t\r", source->text[p.g->range.to - 1]))
            p.g->range.to--;
        if (!parse_line(&p)) continue;
        cursor_blanks(&p.c);
        if (p.c.at < stop) cursor_expected(&p.c, "the end of the line");
    }
    p.g->range = (Range){0};
    return diags->errors == errors ? p.g : NULL;
}
