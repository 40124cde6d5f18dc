// Parsing Stripe text (private to src/stripe).
//
//   stripe_lex.c     tokens
//   stripe_read.c    index expressions, tags, places
//   stripe_parse.c   blocks and refinements
//   stripe_stmt.c    statements
//   stripe_fold.c    converts the statements of a block to children of the Tree
//   stripe_init.c    initialisations of `out:agg` refinements
#ifndef LW_STRIPE_STRIPE_IMPL_H
#define LW_STRIPE_STRIPE_IMPL_H

#include "stripe/stripe_ops.h"
#include "tree/special.h"

typedef enum StripeTokenKind {
    ST_END,
    ST_NAME,   // a word, or anything in backquotes
    ST_INT,    // decimal or 0x
    ST_FLOAT,  //
    ST_STRING, // in double quotes
    ST_SCALAR, // $word
    ST_TAG,    // #word
    ST_MARK,   // punctuation
    ST_BAD,    // reported already
} StripeTokenKind;

typedef struct StripeToken {
    StripeTokenKind kind;
    Range range;
    const char *text; // decoded, without $ and #; `len` bytes
    int len;
    bool quoted; // in backquotes: no keyword
    bool tight;  // the next character follows without a blank
    bool first;  // first token of its line
} StripeToken;

typedef struct StripeLexer {
    const Source *source;
    DiagList *diags;
    Arena *arena;
    uint32_t pos;
} StripeLexer;

StripeToken stripe_lex(StripeLexer *lx);
// The rest of the line after "//", if that comes next; NULL otherwise.
const char *stripe_lex_comment(StripeLexer *lx, int *len);

enum {
    STRIPE_MAX_BLOCKS = 64,          // nested
    STRIPE_MAX_PARENS = 100,         // nested in an index expression
    STRIPE_MAX_SCALARS = 16384,      // of one block
    STRIPE_MAX_RANK = TREE_MAX_RANK, // of arguments: PROGRAM_MAX_RANK
};

// A refinement while its block is read.
typedef struct Refine Refine;
struct Refine {
    BlockView v;    // offset absolute
    Refine *parent; // NULL: an argument or an allocation
    Range range;
    Type type;
    int rank;
    Refine *level; // the outermost refinement on the way here that aggregates, or NULL
    bool starts;   // of a level: `out`, so it starts from the identity
    bool updated;  // of a level: some store aggregates through it
    VEC(Tag) prefetch;
};

typedef enum StripeStmtKind {
    SS_LOAD,
    SS_INDEX,
    SS_CONST,
    SS_OP,
    SS_CAST,
    SS_STORE,
    SS_BLOCK,
    SS_SPECIAL,
} StripeStmtKind;

typedef struct StripeScope StripeScope;
typedef VEC(const Node *) NodeList;

typedef struct StripeStmt {
    StripeStmtKind kind;
    Range range;
    int64_t number; // -1: none written
    Tags tags;
    int ndeps; // -1: not given
    const int64_t *dep;
    Range dep_range;
    int result;         // scalar that it defines, or -1
    Refine *view;       // LOAD, STORE
    const Affine **sub; // relative to the view; NULL: where it begins
    bool gathers;       // sub or index mention scalars, as iterators from TREE_MAX_INDICES on
    const Affine *index;
    ExprOp op;
    Type type; // CONST, CAST
    Value value;
    int nargs, arg[4]; // scalars
    bool has_agg;      // STORE with an operator of its own
    Reduce agg;
    const Node *node;         // BLOCK, SPECIAL
    const StripeScope *scope; // BLOCK: its own
    int child;                // its place among the children of the block, once known
} StripeStmt;

typedef struct StripeScalar {
    Name name;
    int last_use;  // statement
    const Expr *e; // once known
    bool soft;     // a literal without a type of its own
} StripeScalar;

struct StripeScope {
    StripeScope *up;
    int depth; // blocks around it
    int loops; // indices on the path, itself included
    VEC(Index) index;
    VEC(const Affine *) constraint;
    VEC(Refine *) view; // in the order of the text, allocations too
    VEC(int) alloc;
    VEC(StripeStmt) stmt;
    VEC(StripeScalar) scalar;
    NodeList child;
};

typedef struct StripeParser {
    StripeLexer lx;
    StripeToken tok;
    uint32_t end; // of the token before
    Arena *arena;
    Names *names;
    Exprs *x;
    Tree *t;
    DiagList *diags;
    bool failed;
    int parens;
    bool in_place;    // in a place, tags stand for indices
    bool one_line;    // an index expression ends with its line
    int reserved;     // indices for the expansions of specials
    bool gathers;     // the index expression just read mentions a scalar
    int64_t *lo, *hi; // bounds per index id, inclusive
} StripeParser;

// Reports only the first error; others may be its consequences.
void stripe_fail(StripeParser *p, Range range, DiagId id, ...);

static const int64_t STRIPE_LIMIT = (int64_t)1 << 61; // of index arithmetic: differences fit too

// --- Tokens and what is made of them, stripe_read.c, stripe_parse.c, stripe_stmt.c ---------------
void stripe_next(StripeParser *p);
bool stripe_is_mark(const StripeParser *p, const char *mark);
bool stripe_token_is(const StripeToken *t, const char *word);
bool stripe_is_word(const StripeParser *p, const char *word);
void stripe_expected(StripeParser *p, const char *what);
bool stripe_accept(StripeParser *p, const char *mark);
void stripe_expect(StripeParser *p, const char *mark);
Name stripe_take_name(StripeParser *p, const char *what);
int64_t stripe_take_int(StripeParser *p, const char *what);
StripeToken stripe_peek(const StripeParser *p);
const Index *stripe_find_index(const StripeScope *s, Name name);
void stripe_check_affine(StripeParser *p, const Affine *a, Range range);
const Affine *stripe_affine(StripeParser *p, const StripeScope *s, bool scalars);
int stripe_affine_list(StripeParser *p, const StripeScope *s, bool scalars, const char *close,
                       const Affine **out);
void stripe_push_tag(StripeParser *p, Tags *tags, const char *name, const char *value);
Tags stripe_take_tags(StripeParser *p);
bool stripe_pull_tag(StripeParser *p, Tags *tags, const char *name, Range range, int64_t *number);
bool stripe_has_tag(const Tags *tags, const char *name);
Place stripe_take_place(StripeParser *p, const StripeScope *s);
Refine *stripe_find_view(const StripeScope *s, Name name);
Type stripe_find_type(const char *name, int len);
Type stripe_take_type(StripeParser *p);
Reduce stripe_take_agg(StripeParser *p);
const Affine *stripe_scalar_atom(StripeParser *p, StripeScope *s, bool allowed);
void stripe_take_statement(StripeParser *p, StripeScope *s);
const Block *stripe_take_block(StripeParser *p, StripeScope *up, Tags tags, StripeScope **out);

// Converts the statements of a block to children, in scope->child. Returns false after a report.
bool stripe_fold(StripeParser *p, StripeScope *s);

// Initialisations for the updates inside `block` of the buffer that `level` refines, appended to
// `out`.
void stripe_init(StripeParser *p, const Block *block, const Refine *level, NodeList *out);

#endif
