// Builds a graph: every call checks its arguments, infers the type, and appends one node.
#include "lang/graph_impl.h"

#include <stdarg.h>
#include <string.h>

Graph *graph_new(Arena *arena, Names *names, const char *name, DiagList *diags) {
    Graph *g = arena_new(arena, Graph);
    *g = (Graph){.arena = arena, .names = names, .diags = diags, .name = name_of(names, name)};
    g->exprs = arena_new(arena, Exprs);
    exprs_init(g->exprs, arena);
    return g;
}

Diag *graph_report_at(Graph *g, const Source *source, Range range, DiagId id, ...) {
    va_list args;
    va_start(args, id);
    Diag *d = diag_report_va(g->diags, source ? range : (Range){0}, id, args);
    va_end(args);
    d->source = source && range.to ? source : NULL;
    g->failed = true;
    return d;
}

// --- Dimensions --------------------------------------------------------------------------------

int graph_find_dim(const Graph *g, Name name) {
    for (int d = 0; d < g->dims.n; d++)
        if (g->dims.at[d].name == name) return d;
    return -1;
}

int graph_dim(Graph *g, const char *name) {
    int found = graph_find_dim(g, name_of(g->names, name));
    if (found >= 0) return found;
    if (!graph_name_ok(name, strlen(name))) {
        graph_report(g, DIAG_GRAPH_NAME, name);
        return GRAPH_BAD;
    }
    if (g->dims.n == GRAPH_MAX_DIMS) {
        graph_report(g, DIAG_GRAPH_LIMIT, "dimensions", GRAPH_MAX_DIMS);
        return GRAPH_BAD;
    }
    Dimension d = {.name = name_of(g->names, name), .fixed = -1, .range = g->range};
    vec_push(g->arena, &g->dims, d);
    g->solved = false;
    return g->dims.n - 1;
}

int graph_dim_fresh(Graph *g, const char *like) {
    const char *name = like;
    for (int i = 1; graph_find_dim(g, name_of(g->names, name)) >= 0; i++)
        name = arena_printf(g->arena, "%s_%d", like, i);
    return graph_dim(g, name);
}

static bool dim_ok(Graph *g, int dim) {
    if (dim == GRAPH_BAD) return false;
    if (dim >= 0 && dim < g->dims.n) return true;
    graph_report(g, DIAG_GRAPH_HANDLE, "dimension", dim);
    return false;
}

bool graph_dim_size(Graph *g, int dim, int64_t size) {
    if (!dim_ok(g, dim)) return false;
    Dimension *d = &g->dims.at[dim];
    if (size < 0) {
        graph_report(g, DIAG_GRAPH_SIZE_NEGATIVE, d->name, (long long)size);
    } else if (d->param) {
        graph_report(g, DIAG_GRAPH_SIZE_AND_PARAM, d->name);
    } else if (d->fixed >= 0 && d->fixed != size) {
        graph_report(g, DIAG_GRAPH_SIZE_TWICE, d->name, (long long)d->fixed, (long long)size);
    } else {
        d->fixed = size;
        g->solved = false;
        return true;
    }
    return false;
}

bool graph_dim_param(Graph *g, int dim) {
    if (!dim_ok(g, dim)) return false;
    if (g->dims.at[dim].fixed >= 0) {
        graph_report(g, DIAG_GRAPH_SIZE_AND_PARAM, g->dims.at[dim].name);
        return false;
    }
    g->dims.at[dim].param = true;
    g->solved = false;
    return true;
}

bool graph_has_dim(const GraphNode *n, int dim) {
    for (int i = 0; i < n->ndims; i++)
        if (n->dim[i] == dim) return true;
    return false;
}

// --- Checks ------------------------------------------------------------------------------------

static bool node_ok(Graph *g, int x) {
    if (x == GRAPH_BAD) return false;
    if (x < 0 || x >= g->nodes.n) {
        graph_report(g, DIAG_GRAPH_HANDLE, "node", x);
        return false;
    }
    if (g->nodes.at[x].kind != NODE_WRITE) return true;
    graph_report(g, DIAG_GRAPH_WRITE_USED, g->nodes.at[x].name);
    return false;
}

static bool dims_ok(Graph *g, int ndims, const int *dims) {
    if (ndims > PROGRAM_MAX_RANK) {
        graph_report(g, DIAG_GRAPH_LIMIT, "dimensions of a node", PROGRAM_MAX_RANK);
        return false;
    }
    for (int i = 0; i < ndims; i++) {
        if (!dim_ok(g, dims[i])) return false;
        for (int k = 0; k < i; k++)
            if (dims[k] == dims[i]) {
                graph_report(g, DIAG_GRAPH_DIM_TWICE, g->dims.at[dims[i]].name);
                return false;
            }
    }
    return true;
}

static bool inputs_ok(Graph *g, int n, const int *inputs) {
    if (n > GRAPH_MAX_INPUTS) {
        graph_report(g, DIAG_GRAPH_LIMIT, "inputs of a node", GRAPH_MAX_INPUTS);
        return false;
    }
    for (int i = 0; i < n; i++)
        if (!node_ok(g, inputs[i])) return false;
    return true;
}

static bool border_ok(Graph *g, int border) {
    if (border == GRAPH_BORDER_NONE || border == GRAPH_BORDER_IDENTITY) return true;
    if (!node_ok(g, border)) return false;
    if (g->nodes.at[border].kind == NODE_CONST) return true;
    graph_report(g, DIAG_GRAPH_BORDER);
    return false;
}

static bool name_free(Graph *g, const char *name) {
    if (!graph_name_ok(name, strlen(name))) {
        graph_report(g, DIAG_GRAPH_NAME, name);
        return false;
    }
    Name interned = name_of(g->names, name);
    for (int i = 0; i < g->nodes.n; i++)
        if (g->nodes.at[i].name == interned) {
            graph_report(g, DIAG_GRAPH_TENSOR_TWICE, name);
            return false;
        }
    return true;
}

static bool type_ok(Graph *g, Type type) {
    if (type > TYPE_NONE && type < TYPE_COUNT) return true;
    graph_report(g, DIAG_GRAPH_TYPE);
    return false;
}

// Appends a node; copies the arrays.
static int append(Graph *g, GraphNode n) {
    if (g->nodes.n == GRAPH_MAX_NODES) {
        graph_report(g, DIAG_GRAPH_LIMIT, "nodes", GRAPH_MAX_NODES);
        return GRAPH_BAD;
    }
    n.input = arena_copy(g->arena, n.input, (size_t)n.ninputs * sizeof(int));
    n.dim = arena_copy(g->arena, n.dim, (size_t)n.ndims * sizeof(int));
    n.pre = GRAPH_BAD;
    n.source = g->source;
    n.range = g->range;
    vec_push(g->arena, &g->nodes, n);
    g->solved = false;
    return g->nodes.n - 1;
}

// --- Nodes -------------------------------------------------------------------------------------

int graph_read(Graph *g, const char *name, Type type, int ndims, const int *dims) {
    if (!type_ok(g, type) || !dims_ok(g, ndims, dims) || !name_free(g, name)) return GRAPH_BAD;
    return append(g, (GraphNode){.kind = NODE_READ,
                                 .type = type,
                                 .name = name_of(g->names, name),
                                 .ndims = ndims,
                                 .dim = dims});
}

int graph_write(Graph *g, const char *name, int x, int ndims, const int *dims) {
    if (!node_ok(g, x) || !dims_ok(g, ndims, dims) || !name_free(g, name)) return GRAPH_BAD;
    GraphNode n = {.kind = NODE_WRITE,
                   .type = g->nodes.at[x].type,
                   .name = name_of(g->names, name),
                   .ninputs = 1,
                   .input = &x,
                   .ndims = ndims,
                   .dim = dims};
    for (int i = 0; i < g->nodes.at[x].ndims; i++) {
        int d = g->nodes.at[x].dim[i];
        if (graph_has_dim(&n, d)) continue;
        graph_report(g, DIAG_GRAPH_WRITE_REDUCES, name, g->dims.at[d].name);
        return GRAPH_BAD;
    }
    return append(g, n);
}

int graph_const(Graph *g, Type type, double value) {
    if (!type_ok(g, type)) return GRAPH_BAD;
    return append(g, (GraphNode){.kind = NODE_CONST,
                                 .type = type,
                                 .value = type_convert(type, TYPE_F64, (Value){.f = value})});
}

int graph_const_int(Graph *g, Type type, int64_t value) {
    if (!type_ok(g, type)) return GRAPH_BAD;
    return append(g, (GraphNode){.kind = NODE_CONST,
                                 .type = type,
                                 .value = type_convert(type, TYPE_I64, (Value){.i = value})});
}

// A copy of the caller's text as a Source, for later diagnostics.
static const Source *text_source(Graph *g, const char *name, const char *text) {
    Source *s = arena_new(g->arena, Source);
    size_t len = strlen(text);
    *s = (Source){.name = name, .text = arena_strndup(g->arena, text, len), .len = (uint32_t)len};
    return s;
}

static bool at_end(Cursor *c) {
    cursor_blanks(c);
    return c->at == c->end || cursor_expected(c, "',' or the end");
}

int graph_index(Graph *g, Type type, const char *index, int ndims, const int *dims) {
    if (!type_ok(g, type) || !dims_ok(g, ndims, dims)) return GRAPH_BAD;
    const Source *s = text_source(g, "<index>", index);
    Cursor c = {.g = g, .source = s, .end = s->len};
    const Affine *e;
    if (!index_parse(&c, &e) || !at_end(&c)) return GRAPH_BAD;
    return graph_index_node(g, type, e, ndims, dims);
}

int graph_index_node(Graph *g, Type type, const Affine *index, int ndims, const int *dims) {
    if (!type_ok(g, type) || !dims_ok(g, ndims, dims)) return GRAPH_BAD;
    GraphNode n = {.kind = NODE_INDEX, .type = type, .index = index, .ndims = ndims, .dim = dims};
    for (int d = 0; d < g->dims.n; d++)
        if (index_uses(index, ATOM_ITER, d) && !graph_has_dim(&n, d)) {
            graph_report(g, DIAG_GRAPH_FOREIGN_DIM, g->dims.at[d].name);
            return GRAPH_BAD;
        }
    return append(g, n);
}

// --- Operations --------------------------------------------------------------------------------

static const char *const op_ids[] = {
#define OP(id, ...) #id,
#include "program/expr.def"
#undef OP
};

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

const char *graph_op_name(Arena *arena, ExprOp op) {
    char *name = arena_strndup(arena, op_ids[op], strlen(op_ids[op]));
    for (char *c = name; *c; c++) *c = lower(*c);
    return name;
}

ExprOp graph_op_find(const char *word, size_t len) {
    for (ExprOp op = 0; op < OP_COUNT; op++) {
        size_t same = 0;
        while (same < len && word[same] == lower(op_ids[op][same]) && word[same]) same++;
        if (same == len && !op_ids[op][len]) return op;
    }
    return OP_COUNT;
}

// All dimensions of the inputs in order of appearance; -1: there are too many.
static int union_dims(Graph *g, int n, const int *inputs, int *out) {
    int count = 0;
    for (int i = 0; i < n; i++) {
        const GraphNode *x = &g->nodes.at[inputs[i]];
        for (int k = 0; k < x->ndims; k++) {
            bool there = false;
            for (int j = 0; j < count; j++) there |= out[j] == x->dim[k];
            if (there) continue;
            if (count == PROGRAM_MAX_ITERS) return -1;
            out[count++] = x->dim[k];
        }
    }
    return count;
}

// The type of an operation on inputs whose common type is t.
static Type op_type(ExprOp op, Type t, bool reduces) {
    switch (op_info[op].class) {
    case OP_COMPARE:
    case OP_LOGIC: return TYPE_BOOL;
    case OP_MATH: return type_is_float(t) ? t : TYPE_F32;
    default: return reduces && (op == OP_ADD || op == OP_MUL) ? type_accumulator(t) : t;
    }
}

static bool arity_ok(Graph *g, ExprOp op, int n) {
    bool any = reduce_by(op) != REDUCE_ASSIGN;
    if (op == OP_CAST || n < 1 || (!any && n != op_info[op].arity)) {
        int arity = any ? 1 : op_info[op].arity;
        graph_report(g, DIAG_GRAPH_ARITY, graph_op_name(g->arena, op), arity, any ? " or more" : "",
                     arity == 1 && !any ? "" : "s", n);
        return false;
    }
    return true;
}

int graph_op(Graph *g, ExprOp op, int ninputs, const int *inputs, int ndims, const int *dims) {
    if ((int)op < 0 || op >= OP_COUNT) {
        graph_report(g, DIAG_GRAPH_HANDLE, "operation", (int)op);
        return GRAPH_BAD;
    }
    int all[PROGRAM_MAX_ITERS];
    if (!inputs_ok(g, ninputs, inputs) || !arity_ok(g, op, ninputs)) return GRAPH_BAD;
    int nall = union_dims(g, ninputs, inputs, all);
    if (nall < 0) {
        graph_report(g, DIAG_GRAPH_LIMIT, "dimensions of an operation", PROGRAM_MAX_ITERS);
        return GRAPH_BAD;
    }
    if (ndims < 0) ndims = nall, dims = all;
    if (!dims_ok(g, ndims, dims)) return GRAPH_BAD;
    GraphNode n = {.kind = NODE_OP, .op = op, .ninputs = ninputs, .input = inputs};
    n.ndims = ndims;
    n.dim = dims;
    bool reduces = false;
    for (int i = 0; i < nall; i++) {
        if (graph_has_dim(&n, all[i])) continue;
        reduces = true;
        if (reduce_by(op) != REDUCE_ASSIGN) continue;
        graph_report(g, DIAG_GRAPH_CANNOT_REDUCE, graph_op_name(g->arena, op),
                     g->dims.at[all[i]].name);
        return GRAPH_BAD;
    }
    if (reduces) n.reduce = reduce_by(op);
    Type common = TYPE_NONE;
    for (int i = op == OP_SELECT; i < ninputs; i++)
        common = type_promote(common, g->nodes.at[inputs[i]].type);
    if (op_info[op].trait == TRAIT_BITS && type_is_float(common)) {
        graph_report(g, DIAG_GRAPH_BITWISE, graph_op_name(g->arena, op), type_info[common].name);
        return GRAPH_BAD;
    }
    n.type = op_type(op, common, reduces);
    return append(g, n);
}

int graph_cast(Graph *g, Type type, int x) {
    if (!node_ok(g, x) || !type_ok(g, type)) return GRAPH_BAD;
    const GraphNode *n = &g->nodes.at[x];
    return append(g, (GraphNode){.kind = NODE_OP,
                                 .op = OP_CAST,
                                 .type = type,
                                 .ninputs = 1,
                                 .input = &x,
                                 .ndims = n->ndims,
                                 .dim = n->dim});
}

// --- Views and placements ----------------------------------------------------------------------

// Checks that every bare dimension of a relation belongs to the node or to an input.
static bool relations_ok(Graph *g, const GraphNode *n) {
    for (int r = 0; r < n->nrelations; r++)
        for (int d = 0; d < g->dims.n; d++) {
            bool mine = graph_has_dim(n, d);
            for (int i = 0; i < n->ninputs; i++)
                mine |= graph_has_dim(&g->nodes.at[n->input[i]], d);
            const Relation *rel = &n->relation[r];
            if (mine ||
                !(index_uses(rel->left, ATOM_ITER, d) || index_uses(rel->right, ATOM_ITER, d)))
                continue;
            relation_report(g, rel, DIAG_GRAPH_FOREIGN_DIM, g->dims.at[d].name);
            return false;
        }
    return true;
}

static bool parse_text(Graph *g, const char *text, Relations *out) {
    *out = (Relations){0};
    if (!text || !*text) return true;
    const Source *s = text_source(g, "<relations>", text);
    Cursor c = {.g = g, .source = s, .end = s->len};
    return relations_parse(&c, out) && at_end(&c);
}

bool graph_relate(Graph *g, const char *relations) {
    Relations r;
    return parse_text(g, relations, &r) && graph_relate_all(g, &r);
}

bool graph_relate_all(Graph *g, const Relations *r) {
    for (int i = 0; i < r->n; i++) {
        const Relation *rel = &r->at[i];
        if (rel->left->has_iter || rel->right->has_iter) {
            relation_report(g, rel, DIAG_GRAPH_RELATE_INDEX);
            return false;
        }
        vec_push(g->arena, &g->relations, *rel);
    }
    g->solved = false;
    return true;
}

int graph_view(Graph *g, int x, int ndims, const int *dims, const char *relations, int border) {
    Relations r;
    if (!node_ok(g, x) || !parse_text(g, relations, &r)) return GRAPH_BAD;
    return graph_view_node(g, x, ndims, dims, &r, border);
}

int graph_view_node(Graph *g, int x, int ndims, const int *dims, const Relations *r, int border) {
    if (!node_ok(g, x) || !dims_ok(g, ndims, dims) || !border_ok(g, border)) return GRAPH_BAD;
    const GraphNode *in = &g->nodes.at[x];
    GraphNode n = {.kind = NODE_VIEW,
                   .type = in->type,
                   .ninputs = 1,
                   .input = &x,
                   .ndims = ndims,
                   .dim = dims,
                   .nrelations = r->n,
                   .relation = r->at,
                   .border = border,
                   .views = in->kind == NODE_VIEW ? in->views + 1 : 1};
    if (n.views > GRAPH_MAX_VIEWS) {
        graph_report(g, DIAG_GRAPH_LIMIT, "views of views", GRAPH_MAX_VIEWS);
        return GRAPH_BAD;
    }
    return relations_ok(g, &n) ? append(g, n) : GRAPH_BAD;
}

int graph_place(Graph *g, Reduce op, int ninputs, const int *inputs, int ndims, const int *dims,
                const char *relations, int border) {
    Relations r;
    if (!inputs_ok(g, ninputs, inputs) || !parse_text(g, relations, &r)) return GRAPH_BAD;
    return graph_place_node(g, op, ninputs, inputs, ndims, dims, &r, border);
}

int graph_place_node(Graph *g, Reduce op, int ninputs, const int *inputs, int ndims,
                     const int *dims, const Relations *r, int border) {
    if (!inputs_ok(g, ninputs, inputs) || !dims_ok(g, ndims, dims) || !border_ok(g, border))
        return GRAPH_BAD;
    if (ninputs < 1) {
        graph_report(g, DIAG_GRAPH_ARITY, "place", 1, " or more", "s", ninputs);
        return GRAPH_BAD;
    }
    Type type = TYPE_NONE;
    for (int i = 0; i < ninputs; i++) type = type_promote(type, g->nodes.at[inputs[i]].type);
    if (op == REDUCE_ADD || op == REDUCE_MUL) type = type_accumulator(type);
    GraphNode n = {.kind = NODE_PLACE,
                   .type = type,
                   .reduce = op,
                   .ninputs = ninputs,
                   .input = inputs,
                   .ndims = ndims,
                   .dim = dims,
                   .nrelations = r->n,
                   .relation = r->at,
                   .border = border};
    return relations_ok(g, &n) ? append(g, n) : GRAPH_BAD;
}

// --- Pre- and post-operations ------------------------------------------------------------------

bool graph_pre(Graph *g, int reduction, int start) {
    if (!node_ok(g, reduction) || !node_ok(g, start)) return false;
    GraphNode *n = &g->nodes.at[reduction];
    if (n->kind != NODE_OP || n->reduce == REDUCE_ASSIGN || start >= reduction) {
        graph_report(g, DIAG_GRAPH_PRE);
        return false;
    }
    const GraphNode *s = &g->nodes.at[start];
    for (int i = 0; i < s->ndims; i++)
        if (!graph_has_dim(n, s->dim[i])) {
            graph_report(g, DIAG_GRAPH_PRE_DIM, g->dims.at[s->dim[i]].name);
            return false;
        }
    n->pre = start;
    return true;
}

// May the result of the node be updated in place? It must have storage of its own.
static bool updatable(const GraphNode *n) {
    return n->kind == NODE_PLACE || (n->kind == NODE_OP && (n->reduce != REDUCE_ASSIGN || n->post));
}

bool graph_label(Graph *g, int x, const char *name) {
    if (!node_ok(g, x)) return false;
    g->nodes.at[x].label = name_of(g->names, name);
    return true;
}

bool graph_post(Graph *g, int x) {
    if (!node_ok(g, x)) return false;
    GraphNode *n = &g->nodes.at[x];
    const GraphNode *in = n->ninputs ? &g->nodes.at[n->input[0]] : NULL;
    bool ok = n->kind == NODE_OP && n->reduce == REDUCE_ASSIGN && in && updatable(in);
    bool same = ok && n->ndims == in->ndims && n->type == in->type;
    for (int i = 0; same && i < n->ndims; i++) same = graph_has_dim(in, n->dim[i]);
    if (!same) graph_report(g, ok ? DIAG_GRAPH_POST_SHAPE : DIAG_GRAPH_POST);
    n->post = same;
    return same;
}

// --- Queries -----------------------------------------------------------------------------------

static const GraphNode *node_at(const Graph *g, int x) {
    return x >= 0 && x < g->nodes.n ? &g->nodes.at[x] : NULL;
}

int graph_rank(const Graph *g, int x) {
    const GraphNode *n = node_at(g, x);
    return n ? n->ndims : GRAPH_BAD;
}

int graph_node_dim(const Graph *g, int x, int i) {
    const GraphNode *n = node_at(g, x);
    return n && i >= 0 && i < n->ndims ? n->dim[i] : GRAPH_BAD;
}

Type graph_type(const Graph *g, int x) {
    const GraphNode *n = node_at(g, x);
    return n ? n->type : TYPE_NONE;
}
