// Affine arithmetic, in one place for the whole compiler.
//
// An Affine is  constant + Σ coefficient · atom.  Atoms are iterators, parameters, and everything
// that is not linear, each an opaque unit: floor division and modulo, minimum and maximum, a
// product of two affines, an integer read from a tensor (gather). So a quasi-affine subscript, a
// symbolic size such as (H - KH)/s + 1, and a gather are all the same type, and "is this affine?"
// is a question about the atoms that occur.
//
// Affines are immutable and hash-consed in their Exprs pool: equal means ==. Terms are sorted by
// atom_compare, which looks at structure only, so a sum has one spelling whatever order its parts
// were made in; coefficients are never 0. Constructors simplify: constants fold, products
// distribute over sums, (k·x + r)/k = x + r/k, (k·x + r)%k = r%k, min(x, x + 1) = x.
//
// Overflow of a coefficient or constant is not undefined: the pool's `overflow` flag is set and the
// result is 0. The same holds for nodes that grow beyond the limits below (`too_large`), so
// recursion over nodes is safe and work on them is bounded. Whoever builds expressions from user
// input checks the flags and reports.
#ifndef LW_PROGRAM_AFFINE_H
#define LW_PROGRAM_AFFINE_H

#include "base/name.h"
#include "base/text.h"

typedef struct Affine Affine;
typedef struct Atom Atom;
typedef struct Access Access;
typedef struct Exprs Exprs;

enum {
    AFFINE_MAX_TERMS = 64,
    EXPRS_MAX_DEPTH = 1000,   // of nodes within nodes
    EXPRS_MAX_WEIGHT = 50000, // nodes of an expression when written out as a tree
};

typedef enum AtomKind {
    ATOM_ITER,  // iterator number `index` (of the statement, or of the Tree)
    ATOM_PARAM, // parameter number `index` of the Program
    ATOM_DIV,   // floor(a / b)
    ATOM_MOD,   // a - b * floor(a / b)
    ATOM_MIN,   // min(a, b)
    ATOM_MAX,   // max(a, b)
    ATOM_READ,  // the integer that `read` reads
    ATOM_PROD,  // a * b, neither constant; single atoms unless the expanded product had too many
                // terms
} AtomKind;

struct Atom {
    AtomKind kind;
    int id;    // order of creation in the pool
    int index; // ITER and PARAM
    int depth, weight;
    bool has_iter, has_param, has_read;
    const Affine *a, *b;
    const Access *read;
};

typedef struct Term {
    const Atom *atom;
    int64_t coef;
} Term;

struct Affine {
    int64_t constant;
    int n; // number of terms
    int depth, weight;
    bool has_iter, has_param, has_read; // whether such an atom occurs anywhere inside
    bool linear;                        // all atoms are ITER (no PARAM, DIV, MOD, ...)
    Term term[];
};

const Affine *affine_const(Exprs *x, int64_t c);
const Affine *affine_iter(Exprs *x, int index);
const Affine *affine_param(Exprs *x, int index);
const Affine *affine_read(Exprs *x, const Access *read);

const Affine *affine_add(Exprs *x, const Affine *a, const Affine *b);
const Affine *affine_sub(Exprs *x, const Affine *a, const Affine *b);
const Affine *affine_scale(Exprs *x, const Affine *a, int64_t k);
const Affine *affine_add_const(Exprs *x, const Affine *a, int64_t k);
const Affine *affine_mul(Exprs *x, const Affine *a, const Affine *b);
const Affine *affine_div(Exprs *x, const Affine *a, const Affine *b); // floor
const Affine *affine_mod(Exprs *x, const Affine *a, const Affine *b);
const Affine *affine_min(Exprs *x, const Affine *a, const Affine *b);
const Affine *affine_max(Exprs *x, const Affine *a, const Affine *b);
// k + Σ coef·atom from parts in any order; equal atoms are added up.
const Affine *affine_make(Exprs *x, int64_t constant, const Term *terms, int n);

static inline bool affine_is_const(const Affine *a) { return a->n == 0; }
static inline bool affine_is(const Affine *a, int64_t k) { return a->n == 0 && a->constant == k; }
// Total orders by structure; 0 means the same.
int atom_compare(const Atom *a, const Atom *b);
int affine_compare(const Affine *a, const Affine *b);
// The coefficient of iterator `index` at the top level (0 if it does not occur there).
int64_t affine_coef(const Affine *a, int index);
// Does iterator `index` occur anywhere, inside atoms included?
bool affine_uses_iter(const Affine *a, int index);
uint32_t affine_iter_mask(const Affine *a); // the iterators outside of reads
// If `a` is exactly one iterator (coefficient 1, constant 0): its number, else -1.
int affine_as_iter(const Affine *a);

// Replaces atoms: iterators by iters[index] (NULL entry or NULL array: keep), parameters by
// params[index], and rebuilds (and so simplifies) the nodes that contain them; then passes every
// access inside, with substituted subscripts, through `map` (NULL: keep). With `import` everything
// is rebuilt in the pool x although it came from another one.
typedef const Access *AccessMap(void *user, Exprs *x, const Access *access);
typedef struct Subst {
    const Affine *const *iters, *const *params;
    AccessMap *map;
    void *user;
    bool import;
} Subst;
const Affine *affine_subst(Exprs *x, const Affine *a, const Subst *s);
const Affine *affine_substitute(Exprs *x, const Affine *a, const Affine *const *iters,
                                const Affine *const *params);

// Value at a point. `iters` and `params` give the atoms' values (NULL when none occur); READ atoms
// call `read` (NULL: a bug). False on overflow of 64 bits: of a product, of the running sum of all
// atoms but iterators (in the order of terms), or when the iterators and the constant are added to
// it as one number. Every back-end computes in that order, so they agree on what overflows.
typedef bool AffineRead(void *user, const Access *access, int64_t *out);
bool affine_eval(const Affine *a, const int64_t *iters, const int64_t *params, AffineRead *read,
                 void *user, int64_t *out);

// Bounds over a box: lo[i] <= iterator i <= hi[i] (inclusive). Exact for linear ones; safe for the
// rest. False when unbounded (a READ or PARAM occurs) or on overflow.
bool affine_bounds(const Affine *a, const int64_t *lo, const int64_t *hi, int64_t *min,
                   int64_t *max);

// Index arithmetic is exact because it is kept small: over the whole box of a statement's iterators
// an affine, every part of it and every partial sum lie within this distance of 0, in a Program; in
// a Tree, whose loops are longer where splits do not divide, within the second. No address reaches
// as far. So negations, differences and multiples by a vector's lanes fit in 64 bits everywhere.
// program_bind and tree_reaches refuse the rest. Elements read from tensors do not count:
// subscripts that use them are checked at run time.
#define AFFINE_REACH      ((int64_t)1 << 48)
#define AFFINE_REACH_TREE ((int64_t)1 << 56)
// The distance over a box; INT64_MAX when it does not fit in 64 bits.
int64_t affine_reach(const Affine *a, const int64_t *lo, const int64_t *hi);

// "2*i + k - 1". Iterators print as iter_names[index] ("i0", "i1" ... when NULL), parameters
// likewise ("p0"), reads through access_print.
typedef struct PrintNames {
    const Name *iters, *params, *tensors;
} PrintNames;
void affine_print(Text *out, const Affine *a, const PrintNames *names);

#endif
