// Shared by the files of the parser of program text.
//
//   text_parse.c  programs, declarations, statements
//   text_expr.c   affines, accesses, conditions, expressions
#ifndef LW_PROGRAM_TEXT_IMPL_H
#define LW_PROGRAM_TEXT_IMPL_H

#include "program/program.h"

#include "program/lex.h"

#include <string.h>

// Printed text parses back: a node within a node takes two levels at most, as in a - (b - c).
enum { MAX_NESTING = 2 * EXPRS_MAX_DEPTH + 8 };

typedef struct Parser {
    Program *p;
    Arena *arena;
    Lexer lex;
    DiagList *diags;
    Token token;  // the current one
    uint32_t end; // of the one before
    bool bad;     // the current item is in error: nothing is accepted any more
    int nesting;
    const Stmt *st;   // whose iterators are in scope, or NULL
    VEC(Iter) serial; // of the open blocks
    VEC(int) blocks;  // of each one: serial iterators around it
    int joined;       // serial iterators that the last statement has, too
    Numbers tensors, labels;
} Parser;

// --- Looking at the next token -----------------------------------------------------------------

static inline void next(Parser *ps) {
    ps->end = ps->token.range.to;
    ps->token = lex_next(&ps->lex);
    ps->bad |= ps->token.kind == TOKEN_BAD;
}

static inline void fail(Parser *ps) { ps->bad = true; }

static inline bool at(const Parser *ps, TokenKind kind) {
    return !ps->bad && ps->token.kind == kind;
}

static inline bool is(const Parser *ps, const char *mark) {
    const Token *t = &ps->token;
    return (at(ps, TOKEN_MARK) || at(ps, TOKEN_WORD)) && (size_t)t->len == strlen(mark) &&
           !memcmp(t->text, mark, (size_t)t->len);
}

static inline bool accept(Parser *ps, const char *mark) {
    if (!is(ps, mark)) return false;
    next(ps);
    return true;
}

static inline void expected(Parser *ps, const char *what) {
    const Token *t = &ps->token;
    if (!ps->bad && t->kind == TOKEN_END)
        diag_report(ps->diags, t->range, DIAG_TEXT_EXPECTED_END, what);
    else if (!ps->bad)
        diag_report(ps->diags, t->range, DIAG_TEXT_EXPECTED, what,
                    t->len > 40 ? 40 : (int)(t->range.to - t->range.from),
                    ps->lex.source->text + t->range.from);
    fail(ps);
}

static inline bool expect(Parser *ps, const char *mark) {
    if (accept(ps, mark)) return true;
    expected(ps, arena_printf(ps->arena, "'%s'", mark));
    return false;
}

static inline Name expect_name(Parser *ps, const char *what) {
    if (!at(ps, TOKEN_NAME)) {
        expected(ps, what);
        return NULL;
    }
    Name name = name_intern(ps->p->names, ps->token.text, (size_t)ps->token.len);
    next(ps);
    return name;
}

static inline Type accept_type(Parser *ps) {
    if (!at(ps, TOKEN_WORD)) return TYPE_NONE;
    Type t = type_by_name(ps->token.text, ps->token.len);
    if (t != TYPE_NONE) next(ps);
    return t;
}

static inline bool too_many(Parser *ps, Range range, const char *what, int n, int limit) {
    if (n < limit) return false;
    if (!ps->bad) diag_report(ps->diags, range, DIAG_PROGRAM_LIMIT, n + 1, what, limit);
    fail(ps);
    return true;
}

static inline bool enter(Parser *ps) {
    if (++ps->nesting <= MAX_NESTING) return true;
    if (!ps->bad) diag_report(ps->diags, ps->token.range, DIAG_TEXT_NESTING, MAX_NESTING);
    fail(ps);
    return false;
}

// text_expr.c. After a mistake the results are zero, and Parser.bad is set.
const Affine *text_affine(Parser *ps);
const Access *text_access(Parser *ps, Name name, Range range); // its subscripts
int text_condition(Parser *ps, const Affine *out[2]);
const Expr *text_expr(Parser *ps, int least);

#endif
