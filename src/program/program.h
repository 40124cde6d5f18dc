// A Program: what to compute. Tensors, iterators and statements; no order of iterations, no loops.
//
// Statements run one after the other. A statement
//
//     T[f(i)] op= value(i)      for all i in its domain
//
// has a domain (a box, one half-open range per iterator, less the points where some constraint is
// negative), one write, an operator, and an expression over reads. All reads happen before any
// write of the statement, so the order of its instances never matters, except that a floating-point
// reduction may be reassociated.
//
// Serial iterators are the exception. The first `serial` iterators of a statement run in order, and
// a statement shares the first `joined` of them with the statement before it:
//
//     for t in 1:T {                  G  serial 1, joined 0
//         G[t, j] = f(H[t - 1, j])    H  serial 1, joined 1
//         H[t, j] = g(G[t, j])
//     }
//
// For every value of t, in rising order, G runs and then H, each for this value alone: the rules
// for statements hold within one step. Statements that share serial iterators are a group.
//
// The operator and `init`:
//     =                 each element is written by at most one instance
//     += *= min= max=   the value is combined into the element; += of an OP_MUL rounds once (fused)
//     init (op=!)       starts from the identity: every element that the iterators on the left
//                       select, whatever the constraints say and even where a reduction is
//                       empty; of a scatter, the whole tensor
//
// A reduction accumulates in the type of its tensor: front-ends give f16 results an f32 temporary.
//
// Sizes are Affines over parameters until program_bind() puts in numbers. Of a bound Program every
// PARAM is gone, every extent and range is a constant, every declared precondition was checked.
//
// Storage: a tensor holds elements origin[d] <= index < origin[d] + size[d]; subscripts are in the
// iterators' own coordinates, so element (x, y) stands at (x - origin[0])·stride + ... Inputs and
// most results have origin 0.
//
// Built by front-ends (src/lang), by program text (text_parse.c) or by hand with program_* below;
// everything lives in the Program's arena. Immutable once built: program_bind and rewrites make new
// Programs.
#ifndef LW_PROGRAM_PROGRAM_H
#define LW_PROGRAM_PROGRAM_H

#include "base/diag.h"
#include "program/expr.h"

enum { // declared limits; exceeding one is a diagnostic
    PROGRAM_MAX_RANK = 16,
    PROGRAM_MAX_ITERS = 32, // of one statement
    PROGRAM_MAX_STMTS = 4096,
    PROGRAM_MAX_TENSORS = 4096,
    PROGRAM_MAX_PARAMS = 256,
    PROGRAM_MAX_SOURCE = 1 << 20, // bytes of program text
};

typedef enum ParamKind {
    PARAM_SIZE,   // a dimension's name; at least 0
    PARAM_SCALAR, // an integer scalar argument; any value; specialised at compile time
} ParamKind;

typedef struct Param {
    Name name;
    ParamKind kind;
    Type type; // of a scalar argument, as declared (values of it are range-checked); i64 for sizes
    Range range;
} Param;

typedef enum Role {
    ROLE_INPUT,  // read only
    ROLE_OUTPUT, // written before it is read
    ROLE_INOUT,  // its old content matters
    ROLE_TEMP,   // exists only inside
} Role;

typedef struct Tensor {
    Name name;
    Type type;
    Role role;
    int rank;
    const Affine **size;   // per dimension
    const Affine **origin; // per dimension; 0 for inputs
    Range range;           // where it was declared or first defined
} Tensor;

typedef struct Iter {
    Name name;
    const Affine *lo, *hi; // half-open
    bool reduction;        // does not determine the element that is written
    Range range;
} Iter;

// Where a statement comes from that a call brought in: the call, and the one around it.
typedef struct CallSite {
    Range range;
    const struct CallSite *up;
} CallSite;

typedef enum Reduce {
#define REDUCTION(id, ...) REDUCE_##id,
#include "program/reduce.def"
#undef REDUCTION
} Reduce;

typedef struct Stmt {
    const Access *write; // subscripts may contain READ atoms (scatter); if op is ASSIGN, only those
                         // that are the same for all instances
    Reduce op;
    bool init;
    bool post;      // a post-operation: skipped under the run-time flag "skip post-operations"
    bool unchecked; // gathers of this statement are not checked at run time
    bool unproven;  // set by program_bind: some subscript was neither proven nor refuted to stay
                    // inside its tensor, so running it needs a check (gathers always do)
    int niters;
    Iter *iter;
    int serial; // iterators that run in order, the first ones
    int joined; // serial iterators shared with the statement before, the first ones
    int nconstraints;
    const Affine **constraint; // each >= 0; instances where one fails do not exist
    const Expr *value;         // of the tensor's type
    Name
        label; // unique in the Program; the tensor's name, with .1, .2 ... when it is defined again
    Name hint; // text of a `<=>` clause, or NULL
    Range range;
    const CallSite *call; // NULL: it is in the function itself
} Stmt;

// A condition on parameters that must hold when they are bound, unless some input has no elements:
// what >= 0.
typedef struct Require {
    const Affine *what;
    const char *why; // "subscript 'h + kh' of 'I' stays below H": shown when it fails
    Range range;
    const CallSite *call;
    int stmt;  // 1 + the statement whose accesses it is about, 0: none; waived where that has none
    bool warn; // not an error: `what` elements are left out
    int about; // of warnings that share a number other than 0, one is given
} Require;

typedef struct Program {
    Arena *arena;
    Exprs *exprs; // the pool all Affines and Exprs of this Program are in
    Names *names;
    Name name;
    const Source *source; // the text that ranges refer to; may be NULL
    VEC(Param) params;
    VEC(Tensor)
    tensors; // arguments first: inputs in signature order, then outputs, then temporaries
    VEC(Stmt) stmts;
    VEC(Require) preconditions;
    int ninputs, noutputs; // tensors[0..ninputs) and tensors[ninputs..ninputs+noutputs); INOUT
                           // counts as output
    bool bound;
} Program;

// --- Building ----------------------------------------------------------------------------------
Program *program_new(Arena *arena, Names *names, const char *name, size_t len);
int program_param(Program *p, Name name, ParamKind kind); // find or add; number
int program_tensor(Program *p, Name name, Type type, Role role, int rank,
                   const Affine *const *size);
Stmt *program_stmt(Program *p, Range range); // appended, zeroed
// Adds the calls that led there to diagnostic `first` and those behind it.
void program_note_calls(DiagList *diags, int first, const CallSite *call);
int program_find_tensor(const Program *p, Name name); // -1
int program_find_param(const Program *p, Name name);  // -1
int stmt_find_iter(const Stmt *s, Name name);         // -1
// The serial iterators that statements a <= b share, of which they run one step after the other.
int stmts_common(const Program *p, int a, int b);
// The first statement of the group that statement i belongs to, and the one behind its last.
int group_first(const Program *p, int i);
int group_end(const Program *p, int i);
// Every front-end calls this last: it sets labels, `reduction` flags and roles from use (read
// before written: in-out), and makes the structural checks below. Reports and returns false when
// the Program is ill-formed.
bool program_finish(Program *p, DiagList *diags);

// The same Program with separate pools, so that rewrites may add to them unseen by others.
// Iterators have the names of the text form. It lives no longer than `p`.
Program *program_fork(Arena *arena, const Program *p);

// --- Binding -----------------------------------------------------------------------------------
// values[i] is parameter i. Reports (ranges empty or contradictory, preconditions violated, sizes
// that overflow, subscripts outside their tensor with the offending instance) and returns NULL on
// failure.
Program *program_bind(Arena *arena, const Program *p, const int64_t *values, DiagList *diags);

// A bound Program with one step of every group, in the middle: its serial iterators have one value.
// `p` itself where there are none. For estimates; elements of other steps may be read that nothing
// writes.
const Program *program_one_step(Arena *arena, const Program *p);

// Of a bound Program: extents as numbers.
int64_t tensor_size(const Tensor *t, int d);
int64_t tensor_origin(const Tensor *t, int d);
int64_t tensor_elements(const Tensor *t);
static inline int64_t iter_lo(const Iter *i) { return i->lo->constant; }
static inline int64_t iter_hi(const Iter *i) { return i->hi->constant; }
static inline int64_t iter_extent(const Iter *i) {
    return iter_hi(i) > iter_lo(i) ? iter_hi(i) - iter_lo(i) : 0;
}

// --- Text form (.lwp), text.c --------------------------------------------------------------------

// print(parse(t)) == t for every t that print produced. See docs/program-text.md.
void program_print(Text *out, const Program *p);
// The names that it prints iterators by: one that is also the name of a parameter or of another
// iterator gets a number, so that subscripts read unambiguously.
void program_name_iters(Arena *arena, const Program *p, const Stmt *st, Name *names);
Program *program_parse(Arena *arena, Names *names, const Source *source, DiagList *diags);
// A text may hold several, one after the other. Returns the correct ones and their number.
int program_parse_all(Arena *arena, Names *names, const Source *source, DiagList *diags,
                      Program ***out);

// --- Meaning, interp.c ---------------------------------------------------------------------------

// A strided view of user memory, in elements. NULL data is allowed when there are no elements.
typedef struct View {
    void *data;
    Type type;
    int rank;
    const int64_t *size;
    const int64_t *stride; // in elements, may be 0 or negative for inputs; NULL: dense, row-major
} View;

typedef struct InterpFlags {
    bool accumulate; // `init` statements add to what is there in an argument instead of starting
                     // from the identity
    bool skip_post;
    bool trap_uninitialised; // reads of elements that nothing wrote are errors
} InterpFlags;

// Runs a bound Program. views[t] for every argument tensor t < ninputs + noutputs; temporaries are
// allocated in `scratch`. Reports gathers out of range (naming element and index) and the traps
// asked for.
bool program_interpret(Arena *scratch, const Program *p, const View *views, InterpFlags flags,
                       DiagList *diags);

// By Reduce
extern const char *const reduce_name[];   // "=", "+=", "*=", "min=", "max="
extern const ExprOp reduce_op[];          // the operation that combines
Reduce reduce_by(ExprOp op);              // the reduction of an operation; REDUCE_ASSIGN: none
Value reduce_start(Type type, Reduce op); // the identity of the reduction

// The same value in 32-bit integers where its use needs no more; iterators lie in lo to hi,
// inclusive. See narrow.c.
const Expr *expr_narrow(Exprs *x, const Expr *e, const int64_t *lo, const int64_t *hi);

#endif
