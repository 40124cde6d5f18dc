// Tokens and syntax of the comprehension language, the tables of its names, and its limits.
#ifndef LW_LANG_TC_SYNTAX_H
#define LW_LANG_TC_SYNTAX_H

#include "lang/lang.h"

enum { // declared limits, beside those of program.h
    TC_MAX_SOURCE = 1 << 20,
    TC_MAX_BAD = 8,           // invalid bytes to report before the rest is ignored
    TC_MAX_NESTING = 256,     // depth of parentheses, operators and calls in one expression
    TC_MAX_WHERE = 1024,      // clauses of one `where`
    TC_MAX_CALL_DEPTH = 64,   // depth of functions that call functions
    TC_MAX_INLINED = 1 << 14, // statements and calls that calls bring in, over the whole file
};

// --- Tokens --------------------------------------------------------------------------------------
typedef enum TcTok {
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
} TcTok;

typedef struct TcToken {
    TcTok kind;
    bool first; // it is the first token of its line
    bool init;
    uint8_t op; // ExprOp of TOK_OP, Reduce of TOK_ASSIGN
    char c;
    Range range;
    Name name;
    union {
        int64_t i;
        double f;
    };
} TcToken;

typedef struct TcLexer {
    Arena *arena;
    Names *names;
    DiagList *diags;
    const char *text;
    uint32_t at, len;
    int nbad; // number of invalid bytes
    Name name_def, name_where;
} TcLexer;

void tc_lex_init(TcLexer *lx, Arena *arena, Names *names, const Source *source, DiagList *diags);
void tc_lex_next(TcLexer *lx, TcToken *out);

// --- Syntax --------------------------------------------------------------------------------------
typedef enum TcNodeKind {
    NODE_BAD,
    NODE_INT,
    NODE_FLOAT,
    NODE_NAME,
    NODE_DIM,   // name.i
    NODE_CALL,  // name(args): an access, a builtin, a cast or a function
    NODE_OP,    // op over args; SELECT is the ternary
    NODE_NAMED, // name = args[0], only among the arguments of a call
} TcNodeKind;

typedef struct TcNode TcNode;
struct TcNode {
    uint8_t kind, op;
    uint16_t height;
    int n;
    Range range, head; // `head` is the operator or the name
    union {
        int64_t i;
        double f;
    };
    Name name;
    TcNode *arg[];
};

typedef struct TcParam {
    Name name;
    Type type; // NONE: to be inferred (results only)
    bool shaped;
    int rank; // if it has a shape
    TcNode **dim;
    Range range, name_range; // of the whole parameter, and of its name
} TcParam;

typedef enum WhereKind { WHERE_RANGE, WHERE_LET, WHERE_EXISTS } WhereKind;

typedef struct TcWhere {
    WhereKind kind;
    Name name;
    Range range;   // of the name
    TcNode *a, *b; // lo and hi; the let's value; the exists's expression
} TcWhere;

typedef struct TcTarget { // the left side of a statement
    Name name;
    Range range; // of the name
} TcTarget;

// for name in a:b { ... }: the statements inside run step by step.
typedef struct TcFor TcFor;
struct TcFor {
    Name name;
    Range range; // of the name
    TcNode *a, *b;
    const TcFor *up; // the surrounding `for`
    int depth;       // number of surrounding `for`s
};

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
    TcNode **sub;
    Range write_range;
    TcNode *value;
    TcWhere *where;
    Name hint;
    const TcFor *steps; // the innermost `for` around it, or NULL
    TcStmt *next;
};

typedef enum FuncState {
    FUNC_NEW,
    FUNC_BUSY,    // being checked
    FUNC_CHECKED, // ranges are to be inferred
    FUNC_OK,
    FUNC_FAILED,
} FuncState;

typedef struct TcFunc TcFunc;
struct TcFunc {
    Name name;
    Range range; // of the name
    int ninputs, noutputs;
    TcParam *input, *output;
    TcStmt *stmts;
    FuncState state;
    bool broken;   // had syntax errors
    bool headless; // its header has errors: nothing is known about its names
    int depth;     // depth of the calls below it
    VEC(TcFunc *) calls;
    struct TcChecker *checker; // of a checked function, for inference
};

typedef struct TcFile {
    VEC(TcFunc *) funcs;
    Set by_name;
    VEC(TcFunc *) checked; // callees before their callers
    int inlined;           // statements of callees in all functions
} TcFile;

void tc_parse_file(TcFile *file, Arena *arena, Names *names, const Source *source, DiagList *diags);
TcFunc *tc_find_func(TcFile *file, Arena *arena, Name name); // NULL
const char *tc_nth_function(const void *file, size_t i);     // a Candidate of nearest.h

// --- Builtins ------------------------------------------------------------------------------------
typedef enum TcBuiltinKind {
    BUILTIN_OP, // an operation of expr.def
    BUILTIN_PAD,
    BUILTIN_CLAMP,
    BUILTIN_MIRROR,
    BUILTIN_CONCAT,
    BUILTIN_NONE, // known in other languages only: `instead` says what to write
} TcBuiltinKind;

typedef struct TcBuiltin {
    const char *name;
    TcBuiltinKind kind;
    ExprOp op;
    const char *instead;
} TcBuiltin;

const TcBuiltin *tc_builtin(const char *name, size_t len); // NULL
const char *tc_type_name_at(int i);                        // likewise
const TcBuiltin *tc_builtin_at(int i);                     // the table in order; NULL past its end
Type tc_type_name(const char *name, size_t len);           // NONE if it is not a type

// --- Hints ---------------------------------------------------------------------------------------
// The suggested replacement for a statement word or a function of another language; NULL: none.
const char *tc_word_hint(const char *word);
const char *tc_function_hint(const char *word);
const char *tc_range_hint(const char *word);
// The same for the sign at text[at], or for two signs of which it is the second.
const char *tc_sign_hint(const char *text, uint32_t len, uint32_t at);

#endif
