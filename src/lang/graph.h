// LoopTool's dataflow graph: tensors as nodes, dimensions by name, views by index relations.
//
// Handles are small integers: a *dimension* (graph_dim) and a *node* (everything that returns one).
// A node has an ordered list of dimensions and a type; its inputs are earlier nodes. The kinds:
//
//   read    an input tensor                   write   an output tensor
//   const   a number                          index   the value of an index expression
//   op      an operation of expr.def, element by element. Inputs are broadcast over dimensions
//           that they lack. add, mul, min and max take any number of inputs, and reduce over the
//           inputs' dimensions that the node itself lacks
//   view    its input under other indices:  H = Ho + Kh,  K = M*size(N) + N,  Np = N + 1
//   place   the reverse: copies inputs to parts of a larger tensor (concatenation, writing through
//           a view)
//
// Relations are text, `left = right` separated by commas, over dimensions (their index), size(D)
// Relations are text, `left = right` separated by commas, over dimensions (meaning their index),
// size(D) and integers with + - * / % min max. A relation without a bare dimension relates sizes.
// The others relate indices, and imply a relation of sizes: the largest indices of both sides are
// equal.
//
// The size of a dimension is a number (graph_dim_size), or follows from relations, or becomes a
// parameter of the Program that is bound later. Parameters are first the dimensions given to
// graph_dim_param, then the remaining dimensions of reads.
//
// graph_build makes the same Program as the comprehension language. A view costs nothing: it
// becomes subscripts. Each op, and each input of a place, becomes a statement. An op that is used
// once, by a reduction over the same dimensions, is computed inside that reduction: mul, then add
// over k, is `C[m, n] +=! A[m, k]*B[k, n]`.
//
// A call (or graph_build) reports its errors to the DiagList. A call that fails returns GRAPH_BAD,
// which every other call accepts silently, so that one mistake gives one diagnostic.
#ifndef LW_LANG_GRAPH_H
#define LW_LANG_GRAPH_H

#include "program/program.h"

typedef struct Graph Graph;

enum {
    GRAPH_BAD = -1,
    GRAPH_MAX_DIMS = PROGRAM_MAX_PARAMS,
    GRAPH_MAX_NODES = PROGRAM_MAX_STMTS / 2,
    GRAPH_MAX_VIEWS = 64, // views of views, one above the other
    GRAPH_MAX_INPUTS = 64,

    // The value of a view where its input has no element: none, so that reading there is an error;
    GRAPH_BORDER_NONE = -1,
    // the identity of the reduction that reads the view, so that those elements take no part (a sum
    // of products counts as reading the products' operands), and 0 for every other node;
    GRAPH_BORDER_IDENTITY = -2,
    // or the value of a const node, given by its handle.
};

Graph *graph_new(Arena *arena, Names *names, const char *name, DiagList *diags);

// --- Dimensions --------------------------------------------------------------------------------
int graph_dim(Graph *g, const char *name);       // found by name, or new
int graph_dim_fresh(Graph *g, const char *like); // new, with a name like `like`
bool graph_dim_size(Graph *g, int dim, int64_t size);
bool graph_dim_param(Graph *g, int dim);            // a parameter, even if its size could be solved
bool graph_relate(Graph *g, const char *relations); // of sizes

// Solves all sizes. False after a report: proposals that disagree, no integer solution, a negative
// size. A dimension that nothing determines is reported when something needs it.
bool graph_solve(Graph *g);
// After graph_solve: the size as a number; -1 when it depends on parameters or is not determined.
int64_t graph_size(const Graph *g, int dim);

// --- Nodes -------------------------------------------------------------------------------------
int graph_read(Graph *g, const char *name, Type type, int ndims, const int *dims);
int graph_write(Graph *g, const char *name, int x, int ndims, const int *dims);
int graph_const(Graph *g, Type type, double value);
int graph_const_int(Graph *g, Type type, int64_t value);
int graph_index(Graph *g, Type type, const char *index, int ndims, const int *dims);
// ndims -1: every dimension of the inputs, in order of appearance.
int graph_op(Graph *g, ExprOp op, int ninputs, const int *inputs, int ndims, const int *dims);
int graph_cast(Graph *g, Type type, int x);
int graph_view(Graph *g, int x, int ndims, const int *dims, const char *relations, int border);
// Puts each input where the relations say. With an `op` other than ASSIGN, elements that coincide
// are combined. Elements that no input covers hold the border; GRAPH_BORDER_NONE promises that
// there are none.
int graph_place(Graph *g, Reduce op, int ninputs, const int *inputs, int ndims, const int *dims,
                const char *relations, int border);

// Pre-operation: the reduction starts from the elements of `start` instead of the identity.
bool graph_pre(Graph *g, int reduction, int start);
// Post-operation: an element-wise op x whose first input is a reduction (or another post-operation)
// becomes a statement that updates that result in place, and that the run-time flag "skip
// post-operations" leaves out.
bool graph_post(Graph *g, int x);
// Names a node; the temporary that holds it, and its statement, get that name if it is free.
bool graph_label(Graph *g, int x, const char *name);

int graph_rank(const Graph *g, int x); // GRAPH_BAD without such a node
int graph_node_dim(const Graph *g, int x, int i);
Type graph_type(const Graph *g, int x);

// --- Out and in --------------------------------------------------------------------------------
// The Program, with the graph's free dimensions as parameters; NULL when anything was reported, now
// or before.
Program *graph_build(Arena *arena, Graph *g);
// Line-based text (docs/graphs.md). Parsing what was printed gives the same graph and the same
// text.
void graph_print(Text *out, const Graph *g);
Graph *graph_parse(Arena *arena, Names *names, const Source *source, DiagList *diags);
void graph_dot(Text *out, const Graph *g); // Graphviz

// --- Compositions, graph_nn.c ------------------------------------------------------------------
// Each is a few nodes of the above. Dimensions named `to` are the caller's, new or not.
int graph_unary(Graph *g, ExprOp op, int x);
int graph_binary(Graph *g, ExprOp op, int a, int b); // over the dimensions of both
int graph_reduce(Graph *g, ExprOp op, int x, int ndims, const int *dims); // over these
int graph_mean(Graph *g, int x, int ndims, const int *dims);              // over these
int graph_transpose(Graph *g, int x, int ndims, const int *dims);         // the same, in this order
int graph_rename(Graph *g, int x, int from, int to);
int graph_slice(Graph *g, int x, int from, int to, int64_t first, int64_t size);
int graph_pad(Graph *g, int x, int from, int to, int64_t before, int64_t after, int border);
int graph_concat(Graph *g, int n, const int *inputs, const int *dims, int to); // along dims[i]
int graph_flatten(Graph *g, int x, int ndims, const int *dims, int to);        // row-major
int graph_split(Graph *g, int x, int from, int outer, int inner, int64_t inner_size);

// A window over dimension `from`: tap `taps` of the window at position `to` reads
// from = step*to + dilation*taps - pad. Steps and dilations of 0 mean 1.
typedef struct GraphWindow {
    int from, to, taps;
    int64_t step, dilation, pad;
} GraphWindow;
int graph_window(Graph *g, int x, int n, const GraphWindow *w, int border);
// Products of the windows of x with the weights, summed over all taps and the dimensions `sum`
// (channels). Dimensions that both have and that are not summed stay: depthwise convolution.
int graph_conv(Graph *g, int x, int weights, int n, const GraphWindow *w, int nsum, const int *sum);
int graph_maxpool(Graph *g, int x, int n, const GraphWindow *w);
int graph_avgpool(Graph *g, int x, int n, const GraphWindow *w); // padding counts, as 0
int graph_softmax(Graph *g, int x, int dim);
int graph_matmul(Graph *g, int a, int b, int sum);
int graph_linear(Graph *g, int x, int weights, int bias, int sum); // + bias unless GRAPH_BAD
// gamma*(x - mean)/sqrt(variance + epsilon) + beta
int graph_batch_norm(Graph *g, int x, int mean, int variance, int gamma, int beta, double epsilon);

#endif
