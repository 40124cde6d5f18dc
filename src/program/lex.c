// The tokens of program text, made on demand.
#include "program/lex.h"

#include "program/expr.h"

#include <string.h>

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static char peek(const Lexer *lx, uint32_t at) {
    return at < lx->source->len ? lx->source->text[at] : 0;
}

// Skips blanks and comments; whether a new line began.
static bool skip_blanks(Lexer *lx) {
    bool line = lx->pos == 0;
    for (; lx->pos < lx->source->len; lx->pos++) {
        char c = lx->source->text[lx->pos];
        if (c == '#')
            while (lx->pos + 1 < lx->source->len && lx->source->text[lx->pos + 1] != '\n')
                lx->pos++;
        else if (c == '\n')
            line = true;
        else if (c != ' ' && c != '\t' && c != '\r')
            break;
    }
    return line;
}

static int hex_digit(char c) {
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// `...` and "...", with \x41 for bytes and \ before anything else that stands for itself.
static void lex_quoted(Lexer *lx, Token *t, char quote) {
    Text out = {.arena = lx->diags->arena};
    uint32_t at = lx->pos + 1;
    for (; peek(lx, at) != quote; at++) {
        char c = peek(lx, at);
        bool escaped = c == '\\';
        if (escaped) c = peek(lx, ++at);
        int high = hex_digit(peek(lx, at + 1)), low = high < 0 ? -1 : hex_digit(peek(lx, at + 2));
        if (escaped && c == 'x' && low >= 0 && (high || low)) {
            c = (char)(high * 16 + low);
            at += 2;
        } else if (c == 0 || c == '\n') { // not closed on this line
            if (!lx->quiet) diag_report(lx->diags, (Range){lx->pos, at}, DIAG_TEXT_UNCLOSED, quote);
            lx->pos = at;
            t->kind = TOKEN_BAD;
            return;
        }
        text_char(&out, c);
    }
    t->text = text_str(&out);
    t->len = (int)out.len;
    lx->pos = at + 1;
    t->kind = quote == '"' ? TOKEN_STRING : TOKEN_NAME;
}

static void lex_number(Lexer *lx, Token *t) {
    uint32_t at = lx->pos;
    t->kind = TOKEN_INT;
    while (is_digit(peek(lx, at))) at++;
    if (peek(lx, at) == '.') {
        t->kind = TOKEN_FLOAT;
        for (at++; is_digit(peek(lx, at));) at++;
    }
    uint32_t exp = at + 1;
    if (peek(lx, exp) == '+' || peek(lx, exp) == '-') exp++;
    if (peek(lx, at) == 'e' && is_digit(peek(lx, exp))) {
        t->kind = TOKEN_FLOAT;
        for (at = exp; is_digit(peek(lx, at));) at++;
    }
    lx->pos = at;
}

static void lex_word(Lexer *lx, Token *t) {
    uint32_t at = lx->pos;
    while (is_letter(peek(lx, at)) || is_digit(peek(lx, at)) || peek(lx, at) == '.') at++;
    t->len = (int)(at - lx->pos);
    t->kind = name_reserved(t->text, t->len) ? TOKEN_WORD : TOKEN_NAME;
    lx->pos = at;
    bool extremum = t->len == 3 && (!memcmp(t->text, "min", 3) || !memcmp(t->text, "max", 3));
    if (!extremum || peek(lx, at) != '=' || peek(lx, at + 1) == '=') return;
    t->kind = TOKEN_MARK; // min= and max=, with ! when it follows at once
    lx->pos = at + 1 + (peek(lx, at + 1) == '!' && peek(lx, at + 2) != '=');
}

static void lex_mark(Lexer *lx, Token *t) {
    static const char *const marks[] = {"+=!", "*=!", "<=", ">=", "==", "!=", "&&", "||",
                                        "<<",  ">>",  "+=", "*=", "+",  "-",  "*",  "/",
                                        "%",   "<",   ">",  "=",  "!",  "&",  "|",  "^",
                                        "(",   ")",   "[",  "]",  "{",  "}",  ",",  ":"};
    t->kind = TOKEN_MARK;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        size_t n = strlen(marks[i]);
        if (n > lx->source->len - lx->pos || memcmp(t->text, marks[i], n)) continue;
        lx->pos += (uint32_t)n;
        return;
    }
    uint32_t at = lx->pos++;
    while ((peek(lx, lx->pos) & 0xc0) == 0x80) lx->pos++; // the rest of a UTF-8 character
    if (!lx->quiet) diag_report(lx->diags, (Range){at, lx->pos}, DIAG_TEXT_CHARACTER);
    t->kind = TOKEN_BAD;
}

Token lex_next(Lexer *lx) {
    bool first = skip_blanks(lx);
    Token t = {.kind = TOKEN_END, .text = lx->source->text + lx->pos, .first = first};
    uint32_t from = lx->pos;
    char c = peek(lx, from);
    if (from >= lx->source->len)
        t.kind = TOKEN_END;
    else if (c == '`' || c == '"')
        lex_quoted(lx, &t, c);
    else if (is_digit(c))
        lex_number(lx, &t);
    else if (is_letter(c))
        lex_word(lx, &t);
    else
        lex_mark(lx, &t);
    t.range = (Range){from, lx->pos > from ? lx->pos : from};
    bool decoded = c == '`' || c == '"';
    if (!decoded || t.kind == TOKEN_BAD) t.len = (int)(lx->pos - from);
    return t;
}

char lex_peek(Lexer *lx) {
    uint32_t at = lx->pos;
    while (peek(lx, at) == ' ') at++;
    return peek(lx, at);
}
