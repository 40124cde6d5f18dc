// The comprehension language, private to this folder. docs/language.md is its reference.
//
//   tc_lex.c      bytes -> tokens, one at a time; each new name is copied once
//   tc_parse.c    tokens -> the syntax of syntax.h, with recovery at statements and functions
//   tc_builtin.c  the tables of type names and builtin functions
//   tc_hint.c     replacements for words and signs of other languages
//   tc_check.c    functions: names, signatures, types and extents of tensors
//   tc_stmt.c     statements: left side, `where`, legality of the write
//   tc_expr.c     expressions as values: typed Exprs
//   tc_index.c    expressions as subscripts and bounds: Affines; borders
//   tc_call.c     calls of functions, inlined, and concat
//   tc_parts.c    which declared results start from the caller's content
//   tc_emit.c     checked statements -> a Program with unknown ranges, and their inference
#ifndef LW_LANG_TC_H
#define LW_LANG_TC_H

#include "lang/tc/syntax.h"
#include "program/infer.h"

typedef enum Weak { WEAK_NOT, WEAK_INT, WEAK_FLOAT } Weak;

// The value of an expression. A weak value is built from literals only and takes the type of the
// other operand.
typedef struct TcVal {
    const Expr *e; // NULL: an error was reported
    Weak weak;
    const TcNode *rounded; // a weak value's division of integers with a remainder
    const TcNode *written; // the text of a weak value; NULL: any conversion is intended
} TcVal;

typedef enum SymKind { SYM_TENSOR, SYM_SCALAR, SYM_POISON } SymKind;

typedef struct Sym {
    Name name;
    SymKind kind;
    bool is_size;
    int tensor;
    Type type;           // the type of a scalar's value
    const Affine *value; // SYM_SCALAR: in terms of parameters of the Program
    const Affine *size;  // SYM_TENSOR: a size of the same name (W and W(i)), or NULL
    bool from_zero;      // an argument of a call: subscripts count from the tensor's origin
    Range range;
} Sym;

// The names of one function, or of one inlined call of it.
typedef struct TcFrame {
    TcFunc *func;
    Set syms;
    struct TcFrame *caller;
    // The call that was inlined, with the calls around it; NULL: none.
    const CallSite *call;
} TcFrame;

// A tensor under construction.
typedef struct Ten {
    Name name;
    Type type;     // NONE: not known yet
    Weak weak;     // known from literals only
    Weak literal;  // a recurrence over literals, which decide if no other operand does
    bool declared; // its type was given
    bool type_used;
    Role role;
    int rank;            // -1: not known
    const Affine **size; // NULL: to be inferred
    // Placeholders for inferred extents, -1: none; NULL: none at all.
    int *size_param, *origin_param;
    int defs;      // number of statements that define it so far
    bool in_steps; // read in a `for` that defines it: program_bind decides about each element
    Range range;
} Ten;

// A checked statement. It becomes a Stmt (or two) when all types are known.
typedef struct TcWork {
    const Access *write;
    Reduce op;
    bool init;
    bool scatter; // a written subscript is data-dependent
    bool meets;   // several indices of the left side may write one element
    int niters, nlhs;
    Iter *iter;
    int nconstraints;
    const Affine **constraint;
    TcVal value;
    Name hint;
    const CallSite *call;
    Range range, write_range;
    const Range *sub_range;
    int nreads;
    const InferRead *reads;
    int serial;      // its leading iterators, those of the surrounding `for`s
    const int *step; // the numbers of these `for`s
} TcWork;

// An open `for`: the iterator of its statements, and its number.
typedef struct TcSteps {
    const TcFor *at;
    const struct TcFrame *frame;
    Iter iter;
    int number;
} TcSteps;

typedef struct Let { // a definition of a `where`
    Name name;
    TcVal val;
} Let;

// Reads and uses of definitions, in the order of their occurrence: by the statement itself (owner
// -1) or by a definition. When the whole statement is known, they determine which reads it
// performs, and which only under a guard. Nothing is copied per use.
typedef struct OwnedRead {
    InferRead read;
    int owner;
} OwnedRead;

typedef struct LetUse {
    int owner, let;
    bool guarded;
} LetUse;

// A computed subscript, stored in a temporary over the indices that it uses: its value where the
// guards hold, otherwise 0.
typedef struct TcHoist {
    const Expr *e, *value;
    const InferGuard *guards;
    int tensor, n;
    int iter[PROGRAM_MAX_RANK];
    Range range;
} TcHoist;

typedef struct Seed {
    Type type;
    Weak weak;
} Seed;

typedef struct Used { // a name in use
    Name name;
    int next; // number for the next name derived from it
} Used;

typedef struct TcChecker {
    Arena *arena;
    const Source *source;
    Names *names;
    DiagList *diags;
    TcFile *file;
    Program *p;
    Exprs *x;
    TcFunc *func;
    int depth;       // depth of calls that led here
    bool poisoned;   // a called function has failed: fail silently
    bool changed;    // a type changed after it was used
    VEC(Seed) seeds; // types found in the previous round, by number
    VEC(Ten) tens;
    Set used; // names of tensors and parameters
    VEC(TcWork) works;
    VEC(InferStmt) infos; // parallel to p->stmts
    int last_serial;      // of the last emitted statement, with the numbers of its `for`s
    const int *last_step;
    VEC(Require) preconditions;
    VEC(InferExtent) standins; // placeholders for inferred extents: parameters p->params[nreal...]
    int nreal;
    bool full; // a limit was exceeded and reported
    Name name_true, name_false, name_inf, name_nan, name_axis;
    // The current statement.
    TcFrame *frame;
    const TcStmt *stmt;
    const Access *write; // its left side, once that is known
    VEC(TcSteps) steps;  // of the surrounding `for`s, outermost first
    int nsteps;          // number of `for`s so far
    VEC(Iter) iters;     // those of `steps` come first
    int nlhs;
    VEC(Let) lets; // visible definitions
    VEC(const Affine *) constraints;
    VEC(TcHoist) hoists;
    Numbers casts; // conversions that the program writes
    VEC(OwnedRead) reads;
    VEC(LetUse) uses;
    int owner;                // the definition being checked, -1: the statement itself
    bool unread;              // reads do not count (bounds have none)
    int guard;                // depth of ?: branches and right sides of && ||
    const InferGuard *guards; // the conditions of these
    bool untyped;             // the statement reads a tensor whose type is not known yet
    const char *no_index;     // the name of a part that must not depend on indices, or NULL
    Range padded;             // range of a pad() that excludes iterations
} TcChecker;

// tc_check.c
void tc_check_func(TcFile *file, TcFunc *f, Arena *arena, Names *names, const Source *source,
                   int depth, DiagList *diags);
Sym *tc_find(TcChecker *ck, TcFrame *frame, Name name); // NULL
Sym *tc_add_sym(TcChecker *ck, TcFrame *frame, Name name, SymKind kind, Range range);
bool tc_is_reserved(Name name);
bool tc_is_coordinate(Name name); // j0 j1 y0 y1: builtins only where they are called
bool tc_can_define(TcChecker *ck, TcFrame *frame, Name name, Range range); // reports when not
Name tc_fresh_name(TcChecker *ck, const char *prefix, Name base);
int tc_new_tensor(TcChecker *ck, Name name, Role role, Range range);
// A temporary of the compiler, named base_suffix.
int tc_temporary(TcChecker *ck, Name base, const char *suffix, Type type, int rank, Range range);
bool tc_rank_fits(TcChecker *ck, int rank, Range range); // reports when not
Type tc_tensor_type(TcChecker *ck, int tensor);          // for a read: marks the type as used
bool tc_type_fits(Type declared, Type type, Weak weak);
// Combines the type of a definition with those of the others. Returns false after a report if it
// does not fit the declared type.
bool tc_join_type(TcChecker *ck, int tensor, Type type, Weak weak, Range range);
const Affine *tc_extent(TcChecker *ck, int tensor, int dim);
const Affine *tc_origin(TcChecker *ck, int tensor, int dim);
void tc_require_equal(TcChecker *ck, const Affine *a, const Affine *b, Range range,
                      const char *format, ...) __attribute__((format(printf, 5, 6)));
// Warns once per location. Returns NULL if it was reported before, or another function has to
// report it.
Diag *tc_warn(TcChecker *ck, Range range, DiagId id, ...);

// tc_stmt.c
void tc_check_stmts(TcChecker *ck, TcFrame *frame);
void tc_put_work(TcChecker *ck, TcWork *w); // of the current statement
// The iterators of the surrounding `for`s, with room for `more`.
Iter *tc_step_iters(TcChecker *ck, int more);
// Subscript d of an element of the tensor that the name denotes, in the tensor's own coordinates.
const Affine *tc_own_subscript(TcChecker *ck, Name name, int d, const Affine *sub);
// The tensor that a target names; a new temporary is created. rank -1: any. Returns -1 after a
// report.
int tc_target(TcChecker *ck, TcFrame *frame, const TcTarget *target, int rank, Range range);

// tc_expr.c
TcVal tc_value(TcChecker *ck, const TcNode *n);
Type tc_value_type(TcVal v);
const Expr *tc_coerce(TcChecker *ck, TcVal v, Type type);
const Expr *tc_widen(TcChecker *ck, const Expr *e, Type type);
TcVal tc_select(TcChecker *ck, TcVal c, TcVal a, TcVal b);
const Access *tc_access(TcChecker *ck, const TcNode *n, int tensor, const Range **subs); // NULL
bool tc_readable(TcChecker *ck, int tensor, int n, Range range); // reports when not
void tc_report_undefined(TcChecker *ck, const TcNode *n);
// Suggests a name, or how to define one.
void tc_note_undefined(TcChecker *ck, Diag *d, const TcFrame *frame,
                       const TcNode *n); // a call of something other than a tensor
void tc_add_read(TcChecker *ck, const Access *a, ReadMode mode, Range range, const Range *subs);
const InferRead *tc_take_reads(TcChecker *ck, int *n); // all reads of the current statement

// tc_index.c
const Affine *tc_affine(TcChecker *ck, const TcNode *n, const char *what); // NULL: reported
void tc_put_hoists(TcChecker *ck); // as statements before the current one
TcVal tc_border(TcChecker *ck, const TcNode *n, TcBuiltinKind kind);

// tc_call.c: handles the statement and returns true if it is a call or a concat.
bool tc_call_stmt(TcChecker *ck, TcFrame *frame, const TcStmt *s);

// tc_parts.c
// Makes declared results in-out if they are defined only in part, or read before they are defined.
void tc_find_old_content(TcChecker *ck);

// tc_emit.c
bool tc_emit(TcChecker *ck);
bool tc_infer_func(TcChecker *ck);

#endif
