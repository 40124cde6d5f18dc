// Graphs through the API: each call of lang/graph.h inside the frame of a call.
//
// A graph lives in a module of its own, its *home*, for its arena and names; what it builds are
// further modules that hold that one. A graph keeps all that was ever reported about it: each call
// shows what is new in it, and building shows everything. A graph that ran out of memory halfway
// through a call is broken, and says so from then on.
#include "api/pipeline.h"

#include "base/nearest.h"
#include "lang/graph.h"

#include <string.h>
#include <strings.h>

struct lw_graph {
    lw_module *home;
    Graph *graph;
    DiagList diags; // all of them, in home's arena
    int shown;      // how many the calls before this one showed
    bool broken;
};

_Static_assert(sizeof(lw_window) == sizeof(GraphWindow), "lw_window is GraphWindow");

// --- The frame of a call -------------------------------------------------------------------------

// Whatever a function of graph.h takes, by the name it has there.
typedef struct Args {
    const char *name, *text, *op;
    bool combines; // op must be able to
    Type type;
    ExprOp code; // of `op`, once it is found
    bool found;
    int64_t *result;
    int x, y, from, to, border, ninputs, ndims, nwindows, more[3];
    const int *inputs, *dims;
    const GraphWindow *windows;
    int64_t first, size;
    double value;
} Args;

typedef int Do(Graph *g, const Args *a);

typedef struct GraphCall {
    lw_graph *g;
    Do *fn;
    Args a;
    int result;
} GraphCall;

static const char *const op_names[] = {
#define OP(id, ...) #id,
#include "program/expr.def"
#undef OP
};

static const char *nth_op(const void *of, size_t i) {
    (void)of;
    return i < OP_COUNT ? op_names[i] : NULL;
}

static bool find_op(lw_graph *g, Args *a) {
    for (int i = 0; i < OP_COUNT; i++)
        if (strcasecmp(op_names[i], a->op) == 0) a->code = (ExprOp)i, a->found = true;
    bool combines =
        a->code == OP_ADD || a->code == OP_MUL || a->code == OP_MIN || a->code == OP_MAX;
    if (a->found && (combines || !a->combines)) return true;
    if (a->found) {
        diag_report(&g->diags, (Range){0, 0}, DIAG_GRAPH_CANNOT_COMBINE, a->op);
        return false;
    }
    Diag *d = diag_report(&g->diags, (Range){0, 0}, DIAG_GRAPH_NO_OP, (int)strlen(a->op), a->op);
    const char *near = nearest(a->op, nth_op, NULL);
    if (near) diag_note(&g->diags, d, (Range){0, 0}, DIAG_DID_YOU_MEAN, near);
    return false;
}

static void enter(Call *call, lw_graph *g) {
    call_source(call, g->home);
    call_join(call, &g->home->arena);
    g->shown = g->diags.items.n;
    g->broken = true; // until leave()
}

// Shows what was reported since enter(), which may be nothing.
static lw_status leave(Call *call, lw_graph *g) {
    bool wrong = false;
    for (int i = g->shown; i < g->diags.items.n; i++) {
        Diag *d = g->diags.items.at[i];
        wrong = wrong || d->severity == SEVERITY_ERROR;
        vec_push(call->arena, &call->diags->items, d);
    }
    g->broken = false;
    return wrong ? LW_ERROR : LW_OK;
}

static lw_status graph_body(Call *call, void *args) {
    GraphCall *c = args;
    enter(call, c->g);
    if (!c->a.op || find_op(c->g, &c->a)) c->result = c->fn(c->g->graph, &c->a);
    return leave(call, c->g);
}

static lw_status lost(const lw_graph *g) {
    return call_no_memory(g->home->ctx, "error: out of memory: an earlier call ran out of it, and "
                                        "the graph lacks what it should have added\n");
}

// What stands for a text that must be given and was not.
static const char absent[] = "";
#define GIVEN(text) ((text) ? (text) : absent)

// The parameter that is NULL although it must not be, or NULL.
static const char *missing(const Args *a) {
    if (a->name == absent) return "name";
    if (a->op == absent) return "op";
    if (a->text == absent) return "text";
    if (a->ndims > 0 && !a->dims) return "dims";
    if (a->ninputs > 0 && !a->inputs) return "inputs";
    return a->nwindows > 0 && !a->windows ? "windows" : NULL;
}

static lw_status run(GraphCall *c) {
    c->result = GRAPH_BAD;
    if (!c->g) return LW_MISUSE; // there is no context to say it in
    const char *what = missing(&c->a);
    if (what) return call_null(c->g->home->ctx, what);
    if (c->g->broken) return lost(c->g);
    return call_run(c->g->home->ctx, graph_body, c);
}

static int node(GraphCall *c) { return run(c) ? GRAPH_BAD : c->result; }

static lw_status done(GraphCall *c) {
    lw_status status = run(c);
    return status ? status : c->result > 0 ? LW_OK : LW_ERROR;
}

// --- Life ----------------------------------------------------------------------------------------

typedef struct OpenCall {
    const char *name, *text; // text NULL: a new graph
    size_t len;
    lw_module *home;
    lw_graph *graph;
} OpenCall;

static bool is_name(const char *s) {
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    return n > 0 && !s[n] && !(*s >= '0' && *s <= '9');
}

static lw_status open_body(Call *call, void *args) {
    OpenCall *o = args;
    if (o->len > LW_MAX_SOURCE) {
        diag_report(call->diags, (Range){0, 0}, DIAG_SOURCE_TOO_LONG, o->name, LW_MAX_SOURCE);
        return LW_ERROR;
    }
    if (!o->text && !is_name(o->name)) {
        diag_report(call->diags, (Range){0, 0}, DIAG_GRAPH_NAME, o->name);
        return LW_ERROR;
    }
    lw_module *home = module_new(call, &o->home);
    lw_graph *g = arena_new(&home->arena, lw_graph);
    g->home = home;
    g->diags = (DiagList){.arena = &home->arena};
    if (o->text) {
        const char *name = arena_strndup(&home->arena, o->name, strlen(o->name));
        home->source =
            (Source){name, arena_strndup(&home->arena, o->text, o->len), (uint32_t)o->len};
        call_source(call, home);
        g->diags.source = &home->source;
        g->graph = graph_parse(&home->arena, &home->names, &home->source, &g->diags);
    } else {
        call_source(call, home);
        g->graph = graph_new(&home->arena, &home->names, o->name, &g->diags);
    }
    o->graph = g;
    return leave(call, g);
}

static lw_status open_graph(lw_context *ctx, OpenCall *o, lw_graph **out) {
    lw_status status = call_run(ctx, open_body, o);
    if (status == LW_OK)
        *out = o->graph;
    else
        lw_module_free(o->home);
    return status;
}

lw_status lw_graph_new(lw_context *ctx, const char *name, lw_graph **out) {
    if (!out) return call_null(ctx, "out");
    *out = NULL;
    return name ? open_graph(ctx, &(OpenCall){.name = name}, out) : call_null(ctx, "name");
}

lw_status lw_graph_parse(lw_context *ctx, const char *name, const char *text, size_t len,
                         lw_graph **out) {
    if (!out) return call_null(ctx, "out");
    *out = NULL;
    if (!name || !text) return call_null(ctx, name ? "text" : "name");
    return open_graph(ctx, &(OpenCall){.name = name, .text = text, .len = len}, out);
}

void lw_graph_free(lw_graph *g) {
    if (g) lw_module_free(g->home);
}

// --- Out -----------------------------------------------------------------------------------------

typedef struct BuildCall {
    lw_graph *g;
    lw_module *mod;
} BuildCall;

static lw_status build_body(Call *call, void *args) {
    BuildCall *b = args;
    enter(call, b->g);
    lw_module *mod = module_new(call, &b->mod);
    mod->parent = b->g->home;
    module_hold(mod->parent);
    Module programs = {0};
    b->g->shown = 0;
    Program *p = b->g->diags.errors ? NULL : graph_build(&mod->arena, b->g->graph);
    lw_status status = leave(call, b->g);
    if (status || !p) return LW_ERROR;
    vec_push(&mod->arena, &programs.programs, p);
    module_describe(mod, &programs);
    return LW_OK;
}

lw_status lw_graph_build(lw_graph *g, lw_module **out) {
    if (out) *out = NULL;
    if (!g) return LW_MISUSE; // there is no context to say it in
    if (!out) return call_null(g->home->ctx, "out");
    if (g->broken) return lost(g);
    BuildCall b = {.g = g};
    lw_status status = call_run(g->home->ctx, build_body, &b);
    if (status == LW_OK)
        *out = b.mod;
    else
        lw_module_free(b.mod);
    return status;
}

typedef struct TextCall {
    const lw_graph *g;
    void (*print)(Text *out, const Graph *g);
    const char *text;
} TextCall;

static lw_status text_body(Call *call, void *args) {
    TextCall *t = args;
    Text text = {.arena = call->arena};
    call_join(call, &t->g->home->arena); // printing interns names
    t->print(&text, t->g->graph);
    t->text = text_str(&text);
    return LW_OK;
}

static lw_status text(lw_graph *g, void (*print)(Text *out, const Graph *g), const char **out) {
    if (out) *out = NULL;
    if (!g) return LW_MISUSE; // there is no context to say it in
    if (!out) return call_null(g->home->ctx, "out");
    if (g->broken) return lost(g);
    TextCall t = {g, print, NULL};
    lw_status status = call_run(g->home->ctx, text_body, &t);
    if (status == LW_OK) *out = t.text;
    return status;
}

lw_status lw_graph_text(lw_graph *g, const char **out) { return text(g, graph_print, out); }
lw_status lw_graph_dot(lw_graph *g, const char **out) { return text(g, graph_dot, out); }

// --- The calls -----------------------------------------------------------------------------------

// ENTRY(kind, (parameters), members of Args, call of graph.h)
#define ENTRY(RESULT, KIND, NAME, PARAMETERS, CALL, ...)                                           \
    static int do_##NAME(Graph *g, const Args *a) {                                                \
        (void)a;                                                                                   \
        return (CALL);                                                                             \
    }                                                                                              \
    RESULT lw_graph_##NAME PARAMETERS {                                                            \
        return KIND(&(GraphCall){.g = g, .fn = do_##NAME, .a = {__VA_ARGS__}});                    \
    }
#define NODE(...) ENTRY(int, node, __VA_ARGS__)
#define DONE(...) ENTRY(lw_status, done, __VA_ARGS__)
NODE(dim, (lw_graph * g, const char *name), graph_dim(g, a->name), .name = GIVEN(name))
NODE(dim_fresh, (lw_graph * g, const char *like), graph_dim_fresh(g, a->name), .name = GIVEN(like))
DONE(dim_size, (lw_graph * g, int dim, int64_t size), graph_dim_size(g, a->x, a->size), .x = dim,
     .size = size)
DONE(dim_param, (lw_graph * g, int dim), graph_dim_param(g, a->x), .x = dim)
DONE(relate, (lw_graph * g, const char *relations), graph_relate(g, a->text),
     .text = GIVEN(relations))
NODE(rank, (lw_graph * g, int node_), graph_rank(g, a->x), .x = node_)
NODE(node_dim, (lw_graph * g, int node_, int i), graph_node_dim(g, a->x, a->y), .x = node_, .y = i)
NODE(read, (lw_graph * g, const char *name, DLDataType dtype, int ndims, const int *dims),
     graph_read(g, a->name, a->type, a->ndims, a->dims), .name = GIVEN(name),
     .type = type_of(dtype), .ndims = ndims, .dims = dims)
NODE(write, (lw_graph * g, const char *name, int x, int ndims, const int *dims),
     graph_write(g, a->name, a->x, a->ndims, a->dims), .name = GIVEN(name), .x = x, .ndims = ndims,
     .dims = dims)
NODE(const, (lw_graph * g, DLDataType dtype, double value), graph_const(g, a->type, a->value),
     .type = type_of(dtype), .value = value)
NODE(const_int, (lw_graph * g, DLDataType dtype, int64_t value),
     graph_const_int(g, a->type, a->size), .type = type_of(dtype), .size = value)
NODE(index, (lw_graph * g, DLDataType dtype, const char *index, int ndims, const int *dims),
     graph_index(g, a->type, a->text, a->ndims, a->dims), .type = type_of(dtype),
     .text = GIVEN(index), .ndims = ndims, .dims = dims)
NODE(op, (lw_graph * g, const char *op, int ninputs, const int *inputs, int ndims, const int *dims),
     graph_op(g, a->code, a->ninputs, a->inputs, a->ndims, a->dims), .op = GIVEN(op),
     .ninputs = ninputs, .inputs = inputs, .ndims = ndims, .dims = dims)
NODE(cast, (lw_graph * g, DLDataType dtype, int x), graph_cast(g, a->type, a->x),
     .type = type_of(dtype), .x = x)
NODE(view, (lw_graph * g, int x, int ndims, const int *dims, const char *relations, int border),
     graph_view(g, a->x, a->ndims, a->dims, a->text, a->border), .x = x, .ndims = ndims,
     .dims = dims, .text = GIVEN(relations), .border = border)
DONE(pre, (lw_graph * g, int reduction, int start), graph_pre(g, a->x, a->y), .x = reduction,
     .y = start)
DONE(label, (lw_graph * g, int x, const char *name), graph_label(g, a->x, a->name), .x = x,
     .name = GIVEN(name))
DONE(post, (lw_graph * g, int x), graph_post(g, a->x), .x = x)
NODE(unary, (lw_graph * g, const char *op, int x), graph_unary(g, a->code, a->x), .op = GIVEN(op),
     .x = x)
NODE(binary, (lw_graph * g, const char *op, int x, int y), graph_binary(g, a->code, a->x, a->y),
     .op = GIVEN(op), .x = x, .y = y)
NODE(reduce, (lw_graph * g, const char *op, int x, int ndims, const int *dims),
     graph_reduce(g, a->code, a->x, a->ndims, a->dims), .op = GIVEN(op), .x = x, .ndims = ndims,
     .dims = dims)
NODE(mean, (lw_graph * g, int x, int ndims, const int *dims),
     graph_mean(g, a->x, a->ndims, a->dims), .x = x, .ndims = ndims, .dims = dims)
NODE(transpose, (lw_graph * g, int x, int ndims, const int *dims),
     graph_transpose(g, a->x, a->ndims, a->dims), .x = x, .ndims = ndims, .dims = dims)
NODE(rename, (lw_graph * g, int x, int from, int to), graph_rename(g, a->x, a->from, a->to), .x = x,
     .from = from, .to = to)
NODE(slice, (lw_graph * g, int x, int from, int to, int64_t first, int64_t size),
     graph_slice(g, a->x, a->from, a->to, a->first, a->size), .x = x, .from = from, .to = to,
     .first = first, .size = size)
NODE(pad, (lw_graph * g, int x, int from, int to, int64_t before, int64_t after, int border),
     graph_pad(g, a->x, a->from, a->to, a->first, a->size, a->border), .x = x, .from = from,
     .to = to, .first = before, .size = after, .border = border)
NODE(concat, (lw_graph * g, int n, const int *inputs, const int *dims, int to),
     graph_concat(g, a->ninputs, a->inputs, a->dims, a->to), .ninputs = n, .inputs = inputs,
     .dims = dims, .to = to)
NODE(flatten, (lw_graph * g, int x, int ndims, const int *dims, int to),
     graph_flatten(g, a->x, a->ndims, a->dims, a->to), .x = x, .ndims = ndims, .dims = dims,
     .to = to)
NODE(split, (lw_graph * g, int x, int from, int outer, int inner, int64_t inner_size),
     graph_split(g, a->x, a->from, a->to, a->y, a->size), .x = x, .from = from, .to = outer,
     .y = inner, .size = inner_size)
NODE(window, (lw_graph * g, int x, int n, const lw_window *windows, int border),
     graph_window(g, a->x, a->nwindows, a->windows, a->border), .x = x, .nwindows = n,
     .windows = (const GraphWindow *)windows, .border = border)
NODE(conv,
     (lw_graph * g, int x, int weights, int n, const lw_window *windows, int nsum, const int *sum),
     graph_conv(g, a->x, a->y, a->nwindows, a->windows, a->ndims, a->dims), .x = x, .y = weights,
     .nwindows = n, .windows = (const GraphWindow *)windows, .ndims = nsum, .dims = sum)
NODE(maxpool, (lw_graph * g, int x, int n, const lw_window *windows),
     graph_maxpool(g, a->x, a->nwindows, a->windows), .x = x, .nwindows = n,
     .windows = (const GraphWindow *)windows)
NODE(avgpool, (lw_graph * g, int x, int n, const lw_window *windows),
     graph_avgpool(g, a->x, a->nwindows, a->windows), .x = x, .nwindows = n,
     .windows = (const GraphWindow *)windows)
NODE(softmax, (lw_graph * g, int x, int dim), graph_softmax(g, a->x, a->y), .x = x, .y = dim)
NODE(matmul, (lw_graph * g, int x, int y, int sum), graph_matmul(g, a->x, a->y, a->to), .x = x,
     .y = y, .to = sum)
NODE(linear, (lw_graph * g, int x, int weights, int bias, int sum),
     graph_linear(g, a->x, a->y, a->from, a->to), .x = x, .y = weights, .from = bias, .to = sum)
NODE(batch_norm, (lw_graph * g, int x, int mean, int variance, int gamma, int beta, double epsilon),
     graph_batch_norm(g, a->x, a->y, a->more[0], a->more[1], a->more[2], a->value), .x = x,
     .y = mean, .more = {variance, gamma, beta}, .value = epsilon)

static int do_place(Graph *g, const Args *a) {
    Reduce op = a->op ? reduce_by(a->code) : REDUCE_ASSIGN;
    return graph_place(g, op, a->ninputs, a->inputs, a->ndims, a->dims, a->text, a->border);
}

int lw_graph_place(lw_graph *g, const char *op, int ninputs, const int *inputs, int ndims,
                   const int *dims, const char *relations, int border) {
    Args a = {.op = op && *op ? op : NULL,
              .combines = true,
              .ninputs = ninputs,
              .inputs = inputs,
              .ndims = ndims,
              .dims = dims,
              .text = GIVEN(relations),
              .border = border};
    return node(&(GraphCall){.g = g, .fn = do_place, .a = a});
}

static int do_size(Graph *g, const Args *a) {
    if (graph_solve(g)) *a->result = graph_size(g, a->x);
    return 0;
}

int64_t lw_graph_size(lw_graph *g, int dim) {
    int64_t size = -1;
    run(&(GraphCall){.g = g, .fn = do_size, .a = {.x = dim, .result = &size}});
    return size;
}
