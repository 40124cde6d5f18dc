// The comprehension language, private to this folder. docs/language.md is its reference.
//
//   tc_lex.c      bytes -> tokens, one at a time, nothing copied but each new name once
//   tc_parse.c    tokens -> the syntax below, with recovery at statements and functions
//   tc_builtin.c  the tables of type names and builtin functions
//   tc_check.c    functions: signatures, statements, types of tensors; emits the Program
//   tc_write.c    what a statement may write: once with '=', and reads of itself
//   tc_emit.c     checked statements -> the Program; ranges inferred
//   tc_expr.c     expressions: as values (typed Exprs) and as subscripts (Affines)
//   tc_border.c   pad, clamp, mirror
//   tc_call.c     calls of functions, inlined, and concat
#ifndef LW_LANG_TC_H
#define LW_LANG_TC_H

#include "lang/lang.h"
#include "program/infer.h"

enum { // declared limits, beside those of program.h
    TC_MAX_SOURCE = 1 << 20,
    TC_MAX_NESTING = 256,     // of parentheses, operators and calls in one expression
    TC_MAX_WHERE = 1024,      // clauses of one `where`
    TC_MAX_CALL_DEPTH = 64,   // functions calling functions
    TC_MAX_INLINED = 1 << 14, // statements and calls brought in by calls, over the whole file
};

// --- Tokens
// -----------------------------------------------------------------------------------------------
typedef enum Tok {
    TOK_END,
    TOK_BAD, // reported already
    TOK_NAME,
    TOK_DIM, // A.0: name and i
    TOK_INT,
    TOK_FLOAT,
    TOK_ASSIGN, // =  +=  max=! ...: op and init
    TOK_ARROW,
    TOK_HINT, // <=>
    TOK_OP,   // an operator between or before expressions: op
    TOK_DEF,
    TOK_WHERE,
    TOK_PUNCT, // ( ) { } [ ] , : ? ; : c
} Tok;

typedef struct Token {
    Tok kind;
    bool first; // of its line
    bool init;
    uint8_t op; // ExprOp of TOK_OP, Reduce of TOK_ASSIGN
    char c;
    Range range;
    Name name;
    union {
        int64_t i;
        double f;
    };
} Token;

typedef struct Lexer {
    Arena *arena;
    Names *names;
    DiagList *diags;
    const char *text;
    uint32_t at, len;
    Name name_def, name_where;
} Lexer;

void tc_lex_init(Lexer *lx, Arena *arena, Names *names, const Source *source, DiagList *diags);
void tc_lex_next(Lexer *lx, Token *out);

// --- Syntax
// -----------------------------------------------------------------------------------------------
typedef enum NodeKind {
    NODE_BAD,
    NODE_INT,
    NODE_FLOAT,
    NODE_NAME,
    NODE_DIM,   // name.i
    NODE_CALL,  // name(args): an access, a builtin, a cast or a function
    NODE_OP,    // op over args; SELECT is the ternary
    NODE_NAMED, // name = args[0], only among the arguments of a call
} NodeKind;

typedef struct Node Node;
struct Node {
    uint8_t kind, op;
    uint16_t height;
    int n;
    Range range, head; // head: the operator, the name
    union {
        int64_t i;
        double f;
    };
    Name name;
    Node *arg[];
};

typedef struct TcParam {
    Name name;
    Type type; // NONE: to be inferred (results only)
    bool shaped;
    int rank; // when shaped
    Node **dim;
    Range range, name_range; // the whole of it, its name
} TcParam;

typedef enum WhereKind { WHERE_RANGE, WHERE_LET, WHERE_EXISTS } WhereKind;

typedef struct TcWhere {
    WhereKind kind;
    Name name;
    Range range; // of the name
    Node *a, *b; // lo and hi; the let's value; the exists's expression
} TcWhere;

typedef struct TcTarget { // what a statement defines
    Name name;
    Range range; // of the name
} TcTarget;

typedef struct TcStmt TcStmt;
struct TcStmt {
    Range range, op_range;
    bool tuple;      // (a, b) = f(x)
    bool subscripts; // written with parentheses
    Reduce op;
    bool init;
    int ntargets; // 1 unless tuple
    TcTarget *target;
    int nsubs, nwhere;
    Node **sub;
    Range write_range;
    Node *value;
    TcWhere *where;
    Name hint;
    TcStmt *next;
};

typedef enum FuncState { FUNC_NEW, FUNC_BUSY, FUNC_OK, FUNC_FAILED } FuncState;

typedef struct TcFunc TcFunc;
struct TcFunc {
    Name name;
    Range range; // of the name
    int ninputs, noutputs;
    TcParam *input, *output;
    TcStmt *stmts;
    FuncState state;
    bool broken;   // had syntax errors
    bool headless; // even its header had: nothing is known about its names
    int depth;     // of calls below it
    Program *program;
};

typedef struct TcFile {
    VEC(TcFunc *) funcs;
    Set by_name;
} TcFile;

void tc_parse_file(TcFile *file, Arena *arena, Names *names, const Source *source, DiagList *diags);
TcFunc *tc_find_func(TcFile *file, Arena *arena, Name name); // NULL

// --- Builtins
// ---------------------------------------------------------------------------------------------
typedef enum BuiltinKind {
    BUILTIN_OP, // an operation of expr.def
    BUILTIN_PAD,
    BUILTIN_CLAMP,
    BUILTIN_MIRROR,
    BUILTIN_CONCAT,
    BUILTIN_NONE, // known elsewhere, not here: `instead` says what to write
} BuiltinKind;

typedef struct Builtin {
    const char *name;
    BuiltinKind kind;
    ExprOp op;
    const char *instead;
} Builtin;

const Builtin *tc_builtin(const char *name, size_t len); // NULL
const Builtin *tc_builtin_at(int i);                     // the table in order; NULL past its end
Type tc_type_name(const char *name, size_t len);         // NONE when it is no type

// --- Checking
// ---------------------------------------------------------------------------------------------
typedef enum Weak { WEAK_NOT, WEAK_INT, WEAK_FLOAT } Weak;

// The value of an expression. Weak: built from literals only; takes the type of what it meets.
typedef struct Val {
    const Expr *e; // NULL: poisoned, reported already
    Weak weak;
} Val;

typedef enum SymKind { SYM_TENSOR, SYM_SCALAR, SYM_POISON } SymKind;

typedef struct Sym {
    Name name;
    SymKind kind;
    bool is_size;
    int tensor;
    Type type;           // of a scalar's value
    const Affine *value; // SYM_SCALAR: in parameters of the Program
    const Affine *size;  // SYM_TENSOR: a size of the same name (W and W(i)), or NULL
    Range range;
} Sym;

// The names of one function, or of one inlined call of it.
typedef struct Frame {
    TcFunc *func;
    Set syms;
    struct Frame *caller;
    Range call; // where the caller calls
} Frame;

// A tensor under construction.
typedef struct Ten {
    Name name;
    Type type;     // NONE while nothing is known
    Weak weak;     // known from literals only
    bool declared; // its type was given
    bool type_used;
    Role role;
    int rank;                       // -1: not known
    const Affine **size;            // NULL: inferred
    int *size_param, *origin_param; // stand-ins for inferred extents, -1: none; NULL: none at all
    int defs;                       // statements that define it so far
    Range range;
} Ten;

// A statement that was checked; becomes a Stmt (or two) when all types are known.
typedef struct Work {
    const Access *write;
    Reduce op;
    bool init;
    bool scatter;
    int niters, nlhs;
    Iter *iter;
    int nconstraints;
    const Affine **constraint;
    Val value;
    Name hint;
    Range range, write_range;
    const Range *sub_range;
    int nreads;
    const InferRead *reads;
} Work;

typedef struct Let { // a definition of a `where`
    Name name;
    Val val;
} Let;

// Reads and uses of definitions, as they occur: by the statement itself (owner -1) or by a
// definition. Which reads a statement performs, and which only under a guard, follows when all is
// known; nothing is copied per use.
typedef struct OwnedRead {
    InferRead read;
    int owner;
} OwnedRead;

typedef struct LetUse {
    int owner, let;
    bool guarded;
} LetUse;

typedef struct StandIn { // a parameter that stands for an inferred extent
    int tensor, dim;
    bool origin;
} StandIn;

typedef struct Seed {
    Type type;
    Weak weak;
} Seed;

typedef struct Used { // a name in use
    Name name;
    int next; // number of the next name made from it
} Used;

typedef struct Checker {
    Arena *arena;
    const Source *source;
    Names *names;
    DiagList *diags;
    TcFile *file;
    Program *p;
    Exprs *x;
    TcFunc *func;
    int *inlined;    // of the whole file
    int depth;       // of calls that led here
    bool poisoned;   // something called has failed: fail silently
    bool again;      // a further round: types changed after they were used; warnings were given
    bool changed;    // a type changed after it was used
    VEC(Seed) seeds; // types found in the round before, by number
    VEC(Ten) tens;
    Set used; // names of tensors and parameters
    VEC(Work) works;
    VEC(InferStmt) infos; // parallel to p->stmts
    VEC(Require) requires;
    VEC(StandIn) standins; // of parameters p->params[nreal...]
    int nreal;
    bool full; // a limit was reported
    Name name_true, name_false, name_inf, name_nan, name_axis;
    // the statement at hand
    Frame *frame;
    const TcStmt *stmt;
    VEC(Iter) iters;
    int nlhs;
    VEC(Let) lets; // those that are visible
    VEC(const Affine *) constraints;
    VEC(OwnedRead) reads;
    VEC(LetUse) uses;
    int owner;            // the definition being checked, -1: the statement itself
    bool unread;          // reads do not count: bounds have none
    int guard;            // depth of ?: branches and right sides of && ||
    const char *no_index; // what must not depend on indices, or NULL
    Range padded;         // of a pad() that leaves instances out
} Checker;

// tc_check.c
void tc_check_func(TcFile *file, TcFunc *f, Arena *arena, Names *names, const Source *source,
                   int depth, int *inlined, DiagList *diags);
void tc_check_stmts(Checker *ck, Frame *frame);
Sym *tc_find(Checker *ck, Frame *frame, Name name);
Sym *tc_add_sym(Checker *ck, Frame *frame, Name name, SymKind kind, Range range);
int tc_new_tensor(Checker *ck, Name name, Role role, Range range);
bool tc_join_type(Checker *ck, int tensor, Type type, Weak weak, Range range);
Type tc_tensor_type(Checker *ck, int tensor); // for a read: marks the type as used
const Affine *tc_extent(Checker *ck, int tensor, int dim);
const Affine *tc_origin(Checker *ck, int tensor, int dim);
bool tc_type_fits(Type declared, Type type, Weak weak);
void tc_require(Checker *ck, const Affine *what, const char *why, Range range);
void tc_require_equal(Checker *ck, const Affine *a, const Affine *b, Range range,
                      const char *format, ...) __attribute__((format(printf, 5, 6)));
void tc_use_name(Checker *ck, Name name);
Name tc_fresh_name(Checker *ck, const char *prefix, Name base);
int tc_target(Checker *ck, Frame *frame, const TcTarget *target, int rank, Range range);
Diag *tc_warn(Checker *ck, Range range, DiagId id, ...);

// tc_write.c: '=' writes each element once; reads of the written tensor itself
void tc_check_write(Checker *ck, const TcStmt *s, const Work *w);

// tc_emit.c
bool tc_emit(Checker *ck);

// tc_expr.c
Val tc_value(Checker *ck, const Node *n);
const InferRead *tc_take_reads(Checker *ck, int *n);  // of the statement at hand, all in all
void tc_report_undefined(Checker *ck, const Node *n); // a call of what is no tensor
bool tc_readable(Checker *ck, int tensor, int n, Range range); // reports when not
// tc_index.c
const Affine *tc_affine(Checker *ck, const Node *n, const char *what); // NULL: reported
const Access *tc_access(Checker *ck, const Node *n, int tensor, const Range **subs);
const Expr *tc_coerce(Checker *ck, Val v, Type type);
const Expr *tc_widen(Checker *ck, const Expr *e, Type type);
Val tc_select(Checker *ck, Val c, Val a, Val b, Range range);
void tc_add_read(Checker *ck, const Access *a, ReadMode mode, Range range, const Range *subs);
Type tc_value_type(Val v);

const Affine *tc_expr_affine(Checker *ck, Val v); // NULL: it is not one
// tc_border.c
Val tc_border(Checker *ck, const Node *n, BuiltinKind kind);

// tc_call.c: true when the statement is a call or a concat (and then it was dealt with)
bool tc_call_stmt(Checker *ck, Frame *frame, const TcStmt *s);

#endif
