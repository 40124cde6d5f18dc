// A Tree: one implementation of a Program, fully decided. Nested blocks, statement leaves, buffers.
//
//   block   a list of indices, each running 0 <= i < extent; its children run, in order, for all
//   leaf    one statement instance per point of the enclosing indices: buffer[subs] op= value
//   special a named operation on buffers with a defining expansion (copy, zero, gather, ...)
//   buffer  memory: an argument of the Program, or an allocation that belongs to a block
//
// All Affines in a Tree are over the Tree's own indices: ATOM_ITER number = Index.id, unique in the
// Tree, so an expression means the same anywhere below its index. Subscripts are absolute
// coordinates of the buffer (0 <= sub < size). Views (Stripe's refinements) only say what part of a
// buffer a block touches: they are derived when the text is printed, and kept where somebody wrote
// them (with their names, tags and places).
//
// A non-dividing split is a block with a constraint: m = 64*mo + mi, with M-1 - 64*mo - mi >= 0.
// Children run only where all constraints of the enclosing blocks hold. A guard is a block without
// indices.
//
// Reductions. The update leaf is `C op= value`. Its initialisation is a leaf of its own (LEAF_INIT,
// C = identity) with its own loops, placed in front of the last run of consecutive reduction loops
// and guarded by "first" of the reduction loops further out (-k >= 0 for each); post-operations
// stand behind that run, guarded by "last". Nothing comes first in an unordered reduction loop: the
// run then begins with the outermost of those. Where distinct points write one element (scatter,
// D[i + j]) the initialisation is a nest of its own before the statement.
//
// Kinds. any, parallel, vector, grid and thread blocks are bound by Stripe's Definition 2: no
// element is assigned by two iterations, none reads what another writes; reductions (op != ASSIGN)
// into one element are allowed and privatised by the back-end. serial and unroll run in index
// order, first index outermost.
//
// Nodes are immutable, in an arena, shared between Trees: a transformation copies the path it
// changes.
#ifndef LW_TREE_TREE_H
#define LW_TREE_TREE_H

#include "program/program.h"

enum {
    TREE_MAX_DEPTH = 64,       // nested indices on any path
    TREE_MAX_RANK = 48,        // of a buffer: dimensions and their blocks
    TREE_MAX_STACK = 64 << 10, // bytes of a buffer there
    TREE_MAX_INDICES = 16384,  // in the whole Tree
};

typedef enum Kind {
    KIND_SERIAL,
    KIND_ANY, // unordered
    KIND_PARALLEL,
    KIND_UNROLL,
    KIND_VECTOR,
    KIND_GRID_X,
    KIND_GRID_Y,
    KIND_GRID_Z,
    KIND_THREAD_X,
    KIND_THREAD_Y,
    KIND_THREAD_Z,
    KIND_WARP,    // digits of the number of a thread's warp in its block
    KIND_LANE,    // and of its number in the warp
    KIND_CLUSTER, // the number of a block in its cluster
    KIND_COUNT
} Kind;
extern const char *const kind_name[KIND_COUNT];

// A tag: #name or #name=value.
typedef struct Tag {
    Name name;
    Name value; // NULL: none; else its text
} Tag;

typedef struct Tags {
    int n;
    const Tag *at;
} Tags;

typedef struct Index {
    Name name;
    int id; // the ATOM_ITER number
    int64_t extent;
    const Affine
        *passed; // not NULL: the index equals this function of enclosing indices (extent is 1)
    Tags tags;
} Index;

// Where something lives or runs: "DRAM", "SRAM[bank]/PROC[i]". Empty: not said.
typedef struct Unit {
    Name name;
    int n;
    const Affine **at; // unit numbers
} Unit;
typedef struct Place {
    int n;
    const Unit *unit;
} Place;

typedef enum BufferHome {
    HOME_ARGUMENT, // the caller's memory: tensor number `tensor` of the Program
    HOME_AUTO,     // allocation; the back-end picks registers, stack or scratch
    HOME_STACK,
    HOME_SCRATCH,
    HOME_REGISTER, // small enough to be kept in registers
    HOME_SHARED,   // of a GPU: the memory that the threads of a block share
    HOME_COUNT
} BufferHome;
extern const char *const home_name[HOME_COUNT]; // "" where nothing has to be said

// Memory. Element (x0, x1, ...) is at Σ x·stride. An allocation is live during one iteration of
// the block that lists it in `allocs`, uninitialised at its start.
typedef struct Buffer {
    Name name;
    Type type;
    BufferHome home;
    int tensor; // the Program's tensor that it holds (a part of), or -1
    int rank;
    const int64_t *size,
        *stride;        // elements; strides of arguments are those that the code is specialised to
    const int *of_view; // of an argument: the dimension of the caller's view that each runs along;
                        // NULL: the same
    int align;          // bytes; 0: the element's
    Place place;
    int bank_dim; // dimension spread over banks, or -1
    int swizzle;  // of a GPU, in shared memory: 32, 64 or 128, see machine/bit_matrix.h; 0: none
    int stages;   // of a GPU: copied `stages` - 1 iterations ahead of its use; 0, 1: not ahead
    bool async;   // of a GPU: copied without passing through registers
    Tags tags;
} Buffer;

typedef enum NodeKind { NODE_BLOCK, NODE_LEAF, NODE_SPECIAL } NodeKind;

typedef struct Node {
    NodeKind kind;
    Range range; // in the source of the Tree's Program; {0, 0}: see its statement, or nowhere
    Tags tags;
    int ndeps; // statement dependence list as written; -1: not given
    const int *deps;
} Node;

typedef enum ViewDir { VIEW_NONE, VIEW_IN, VIEW_OUT, VIEW_INOUT } ViewDir;

// The part of a buffer that a block may access. The view starts at `offset` (a function of the
// indices of this block and of enclosing ones) and has `size` elements per dimension.
typedef struct BlockView {
    ViewDir dir;
    int buffer;
    Name into; // its name inside the block
    const Affine **offset;
    const int64_t *size;
    const int64_t *stride; // NULL: the buffer's
    Reduce agg;
    bool has_agg;
    Place place;
    Tags tags;
} BlockView;

typedef struct Block {
    Node node;
    Kind kind;
    Name name; // comment after "//" in Stripe text, or NULL
    int nindex;
    const Index *index;
    int nconstraints;
    const Affine *const *constraint; // each >= 0
    int nallocs;
    const int *alloc; // buffers that live here
    int nviews;       // 0 with views == NULL: to be derived
    const BlockView *view;
    int nchildren;
    const Node *const *child;
    Place place;
    int unroll_limit; // 0: the machine's default
    int64_t grain;    // parallel: least number of iterations per task; 0: automatic
} Block;

typedef enum LeafRole { LEAF_UPDATE, LEAF_INIT, LEAF_POST } LeafRole;

// Of a GPU: the cache operator of the loads of one buffer.
typedef enum LoadCache {
    LOAD_AUTO,      // read-only where the kernel writes nothing to the buffer
    LOAD_READONLY,  // ld.global.nc
    LOAD_L1,        // ld.global.ca
    LOAD_L2,        // ld.global.cg: not in L1
    LOAD_STREAMING, // ld.global.cs: evicted first
    LOAD_CACHE_COUNT
} LoadCache;
extern const char *const load_cache_name[LOAD_CACHE_COUNT];

typedef struct CachedRead {
    int buffer;
    LoadCache cache;
} CachedRead;

typedef struct Leaf {
    Node node;
    LeafRole role;
    Reduce op;
    const Access *write; // tensor = buffer number
    const Expr *value;   // reads: tensor = buffer number
    int stmt; // the Program's statement it comes from, or -1 (copies, hand-written Trees)
    const Affine *const
        *iter;        // that statement's iterators (raw values), or NULL; INIT: NULL where reduced
    bool unchecked;   // gathers and scatters need no index check
    bool nontemporal; // stores bypass the cache
    int accumulators; // independent partial results; 0: automatic
    int ncaches;
    const CachedRead *cache; // of loads that are not LOAD_AUTO
} Leaf;

// Specials execute by their defining expansion; see special.c for the list.
typedef struct Special {
    Node node;
    Name op; // "copy", "zero", "gather", ...
    int nouts, nins;
    const BlockView *out, *in; // the parts of buffers that it works on
    int nparams;
    const Tag *param;
} Special;

// A prefetch request that goes with a block: fetch what `buffer` needs `distance` iterations ahead
// into `level`.
typedef struct Prefetch {
    const Block *at;
    int buffer, level;
    int64_t distance;
} Prefetch;

// Nodes in common: where Trees are made with one pool, equal subtrees are one (pool.c).
typedef struct TreePool TreePool;

// Where a text loads an element. The location of a leaf is its store.
typedef struct LoadPlace {
    const Access *access;
    Range range;
} LoadPlace;

typedef struct Tree {
    Arena *arena;
    TreePool *pool; // NULL: its nodes are its own
    Exprs *exprs;
    Names *names;
    const Program *program; // bound; NULL for a hand-written Tree
    const Program *given;   // before a Schedule rewrote it; NULL: there was none
    VEC(Buffer) buffers;    // arguments first, numbered as the Program's tensors 0..nargs
    int nargs;
    int nindices;      // ids in use are below this
    const Block *root; // no indices
    VEC(Prefetch) prefetches;
    VEC(LoadPlace) loads; // of a text that was parsed
} Tree;

// --- Building ----------------------------------------------------------------------------------
// Parts are copied into the arena; arrays may be on the caller's stack.
Tree *tree_new(Arena *arena, Exprs *exprs, Names *names);
TreePool *tree_pool(Arena *arena);         // the arena that the shared nodes live in
int tree_buffer(Tree *t, const Buffer *b); // number
// Strides of an argument, from its caller's view of it.
const int64_t *buffer_strides(Arena *arena, const Buffer *b, const View *view);
// "f32[64, 7, 7]": an argument as its caller sees it, flat here or not.
void argument_print(Text *out, const Tree *t, int argument);
// The Tree for arguments with these strides (NULL: as it was lowered): a copy that may be changed.
Tree *tree_for_views(Arena *arena, const Tree *t, const View *views);
// The same Tree with pools of its own, so that what is made of it may add to them. It lives no
// longer than `t`.
Tree *tree_fork(Arena *arena, const Tree *t);
Index tree_index(Tree *t, Name name, int64_t extent); // fresh id
const Block *tree_block(Tree *t, const Block *like, const Node *const *children, int nchildren);
const Block *tree_loop(Tree *t, Kind kind, Index index, const Node *const *children, int nchildren);
const Block *tree_guard(Tree *t, const Affine *const *constraints, int n, const Node *child);
const Leaf *tree_leaf(Tree *t, const Leaf *like);

// How the leaf loads from a buffer.
static inline LoadCache leaf_cache(const Leaf *leaf, int buffer) {
    for (int i = 0; i < leaf->ncaches; i++)
        if (leaf->cache[i].buffer == buffer) return leaf->cache[i].cache;
    return LOAD_AUTO;
}

static inline const Block *as_block(const Node *n) {
    return n->kind == NODE_BLOCK ? (const Block *)n : 0;
}
static inline const Leaf *as_leaf(const Node *n) {
    return n->kind == NODE_LEAF ? (const Leaf *)n : 0;
}

// Where in the source of the Tree's Program a node comes from, to point at; {0, 0}: nowhere.
Range tree_range(const Tree *t, const Node *node);
// Where the leaf reads or writes the element: at its load, if there is a text that has one.
Range tree_access_range(const Tree *t, const Leaf *leaf, const Access *access);

// --- Walking -----------------------------------------------------------------------------------
// The one way to walk: pre-order, `depth` = number of enclosing blocks. Return false to skip the
// children.
typedef bool TreeVisit(void *user, const Node *node, int depth, const Block *parent);
void tree_walk(const Tree *t, TreeVisit *fn, void *user);

// Whether index expressions stay exact: each within AFFINE_REACH_TREE of 0 over the whole extents
// of the loops around it. Of a Program that was bound only absurdly long splits make it otherwise.
bool tree_reaches(Arena *scratch, const Tree *t);

// --- Reading, tree_show.c ----------------------------------------------------------------------
// One line per loop, allocation and leaf; with `cost`, what each block touches, moves and computes.
void tree_show(Text *out, const Tree *t, bool cost);
// The line of that text, from 1, of each node, by its number in the order of
// tree_walk; 0 for the root, or a grouping below it, without one.
const int *tree_lines(Arena *arena, const Tree *t);
// The lines themselves; the first is empty, so that they are numbered from 1.
typedef struct TreeLine {
    const Node *node; // NULL: memory or a prefetch
    int depth;
    const char *text; // without indentation
    Name loop;        // the index of a loop as it is shown, "m.1"; NULL: no loop
} TreeLine;
typedef VEC(TreeLine) TreeLines;
TreeLines tree_show_lines(Arena *arena, const Tree *t);

#endif
