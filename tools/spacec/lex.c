// Tokens of a description. Comments are // and /* */; code is in double quotes, may span several
// lines and is copied verbatim.
#include "spacec.h"

#include <string.h>

static char peek(const Lexer *lx, uint32_t at) {
    return at < lx->source->len ? lx->source->text[at] : 0;
}

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static void skip_blanks(Lexer *lx) {
    for (;;) {
        char c = peek(lx, lx->pos), next = peek(lx, lx->pos + 1);
        if (c == '/' && next == '/') {
            while (lx->pos < lx->source->len && peek(lx, lx->pos) != '\n') lx->pos++;
        } else if (c == '/' && next == '*') {
            const char *end = strstr(lx->source->text + lx->pos + 2, "*/");
            lx->pos = end ? (uint32_t)(end - lx->source->text) + 2 : lx->source->len;
        } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
            lx->pos++;
        } else {
            return;
        }
    }
}

static Token make(Lexer *lx, TokenKind kind, uint32_t from, uint32_t begin, uint32_t end) {
    Name text = name_intern(lx->names, lx->source->text + begin, end - begin);
    return (Token){kind, {from, lx->pos > from ? lx->pos : from}, text};
}

static Token lex_code(Lexer *lx) {
    uint32_t from = lx->pos++;
    while (lx->pos < lx->source->len && peek(lx, lx->pos) != '"') lx->pos++;
    if (lx->pos >= lx->source->len) {
        diag_report(lx->diags, (Range){from, from + 1}, DIAG_SPEC_UNCLOSED);
        return make(lx, TOK_BAD, from, from, from);
    }
    lx->pos++;
    return make(lx, TOK_CODE, from, from + 1, lx->pos - 1);
}

static Token lex_mark(Lexer *lx) {
    static const char *const marks[] = {"...", "||", "&&", "->", "==", "!=", "<=", ">=", "(",
                                        ")",   ":",  ",",  "=",  "/",  "|",  "<",  ">"};
    uint32_t from = lx->pos;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        size_t n = strlen(marks[i]);
        if (lx->source->len - from < n || memcmp(lx->source->text + from, marks[i], n)) continue;
        lx->pos += (uint32_t)n;
        return make(lx, i == 0 ? TOK_ELIDED : TOK_MARK, from, from, lx->pos);
    }
    do lx->pos++;
    while ((peek(lx, lx->pos) & 0xc0) == 0x80);
    diag_report(lx->diags, (Range){from, lx->pos}, DIAG_TEXT_CHARACTER);
    return make(lx, TOK_BAD, from, from, lx->pos);
}

Token lex_next(Lexer *lx) {
    skip_blanks(lx);
    uint32_t from = lx->pos;
    if (from >= lx->source->len) return make(lx, TOK_END, from, from, from);
    char c = peek(lx, from);
    if (c == '"') return lex_code(lx);
    if (c == '$') {
        for (lx->pos++; is_word(peek(lx, lx->pos));) lx->pos++;
        return make(lx, TOK_VAR, from, from + 1, lx->pos);
    }
    if (!is_word(c)) return lex_mark(lx);
    while (is_word(peek(lx, lx->pos))) lx->pos++;
    return make(lx, TOK_WORD, from, from, lx->pos);
}
