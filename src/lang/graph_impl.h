// Declarations shared by the files of the graph; graph.h is the interface.
//
//   graph.c        building nodes: checks and types
//   graph_index.c  relations and index expressions: text, linear forms, solving a view for its
//                  input's indices
//   graph_size.c   sizes from relations
//   graph_build.c  conversion to a Program
//   graph_text.c   text and Graphviz
//   graph_nn.c     compositions
//
// Index expressions are Affines in the graph's own pool: iterator d is the index of dimension d,
// and parameter d is its size.
#ifndef LW_LANG_GRAPH_IMPL_H
#define LW_LANG_GRAPH_IMPL_H

#include "lang/graph.h"

typedef struct Dimension {
    Name name;
    int64_t fixed;      // -1: not given
    bool param;         // asked to be a parameter
    const Affine *size; // once solved: over parameters of the dimensions that stay free
    Range range;
} Dimension;

typedef struct Relation {
    const Affine *left, *right;
    const Source *source;
    Range range;
} Relation;

typedef enum GraphNodeKind {
    NODE_READ,
    NODE_WRITE,
    NODE_CONST,
    NODE_INDEX,
    NODE_OP,
    NODE_VIEW,
    NODE_PLACE
} GraphNodeKind;

typedef struct GraphNode {
    GraphNodeKind kind;
    Type type;
    Name name;     // READ, WRITE: the tensor
    Name label;    // that its text or lw_graph_label gives it; NULL: none
    ExprOp op;     // OP
    Reduce reduce; // PLACE; of an OP: ASSIGN, or its reduction
    int ninputs;
    const int *input;
    int ndims;
    const int *dim;
    int nrelations;
    const Relation *relation;
    int border;
    int pre; // a reduction's start, or GRAPH_BAD
    bool post;
    Value value;         // CONST
    const Affine *index; // INDEX
    int views;           // VIEW: how many lie on top of each other
    const Source *source;
    Range range;
} GraphNode;

typedef VEC(Relation) Relations;

struct Graph {
    Arena *arena;
    Names *names;
    DiagList *diags;
    Name name;
    Exprs *exprs;
    VEC(Dimension) dims;
    VEC(GraphNode) nodes;
    Relations relations;        // of sizes, not bound to a node
    VEC(Require) preconditions; // of the solved sizes, in the graph's pool
    bool failed, solved;
    const Source *source; // where the call in progress comes from, when it comes from a text
    Range range;
};

// Reports at the call in progress, at a node, or at a relation; the graph has failed.
Diag *graph_report_at(Graph *g, const Source *source, Range range, DiagId id, ...);
#define graph_report(g, ...)       graph_report_at((g), (g)->source, (g)->range, __VA_ARGS__)
#define node_report(g, n, ...)     graph_report_at((g), (n)->source, (n)->range, __VA_ARGS__)
#define relation_report(g, r, ...) graph_report_at((g), (r)->source, (r)->range, __VA_ARGS__)

// The calls of graph.h with relations and index expressions that are parsed already.
int graph_index_node(Graph *g, Type type, const Affine *index, int ndims, const int *dims);
int graph_view_node(Graph *g, int x, int ndims, const int *dims, const Relations *r, int border);
int graph_place_node(Graph *g, Reduce op, int ninputs, const int *inputs, int ndims,
                     const int *dims, const Relations *r, int border);
bool graph_relate_all(Graph *g, const Relations *r);

const char *graph_op_name(Arena *arena, ExprOp op); // "mul": its id in lower case
ExprOp graph_op_find(const char *word, size_t len); // OP_COUNT: there is none
bool graph_has_dim(const GraphNode *n, int dim);
int graph_find_dim(const Graph *g, Name name); // -1
bool graph_name_ok(const char *name, size_t len);

// --- graph_index.c ----------------------------------------------------------------------------

// Reads from `at` up to `end`; each leaves `at` behind the text it read. False after a report.
typedef struct Cursor {
    Graph *g;
    const Source *source;
    uint32_t at, end;
    int depth;
} Cursor;
void cursor_blanks(Cursor *c);
bool cursor_word(Cursor *c, const char **word, size_t *len); // a name; false without a report
bool cursor_dim(Cursor *c, const char *word, size_t len, int *out); // false after a report
bool cursor_char(Cursor *c, char expected);                         // taken when it is there
bool cursor_expected(Cursor *c, const char *what); // reports "expected WHAT"; false
bool index_parse(Cursor *c, const Affine **out);
bool relations_parse(Cursor *c, Relations *out);
// Terms in an order that does not depend on how the expression came about.
void index_print(Text *out, const Graph *g, const Affine *a);
void relations_print(Text *out, const Graph *g, int n, const Relation *r);

// e = a·u + b for the iterator or parameter u (an atom of that kind and number), a and b free of
// it. False when e is not linear in u.
bool index_split(Exprs *x, const Affine *e, AtomKind kind, int u, const Affine **a,
                 const Affine **b);
bool index_uses(const Affine *e, AtomKind kind, int u);
// 1 or -1 when e's sign is evident (sizes being positive), else 0. The zero Affine has 0.
int index_sign(const Affine *e);

// The index of each dimension of `wanted` as a function of those of `known`, sizes replaced by
// their solution.
typedef struct ViewMapping {
    const Affine **index;      // per wanted dimension
    bool *inside;              // per wanted dimension: within its size by construction
    VEC(const Affine *) exact; // each must be 0 for the element to exist
} ViewMapping;
bool mapping_solve(Graph *g, const GraphNode *n, int nwanted, const int *wanted, int nknown,
                   const int *known, ViewMapping *out);

#endif
