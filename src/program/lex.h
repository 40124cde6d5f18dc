// Tokens of program text (docs/program-text.md).
#ifndef LW_PROGRAM_LEX_H
#define LW_PROGRAM_LEX_H

#include "base/diag.h"

typedef enum TokenKind {
    TOKEN_END,
    TOKEN_NAME,  // a word other than a keyword, or anything in backquotes
    TOKEN_WORD,  // a keyword: text names it
    TOKEN_INT,   // digits
    TOKEN_FLOAT, // digits with '.' or 'e'
    TOKEN_STRING,
    TOKEN_MARK, // punctuation and operators: text names it
    TOKEN_BAD,  // reported already
} TokenKind;

typedef struct Token {
    TokenKind kind;
    Range range;
    const char *text; // points into the source, `len` bytes; of names and strings: decoded
    int len;
    bool first; // on its line
} Token;

typedef struct Lexer {
    const Source *source;
    DiagList *diags;
    uint32_t pos; // behind the last token
    bool quiet;   // report nothing
} Lexer;

// The next token. What is none is reported and comes out as TOKEN_BAD.
Token lex_next(Lexer *lx);
// The character after the last token, blanks left out; 0 at the end.
char lex_peek(Lexer *lx);

#endif
