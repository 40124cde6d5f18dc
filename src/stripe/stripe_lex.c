// Tokens of Stripe text. Blanks and line ends separate; "//" begins a comment.
#include "stripe/stripe_impl.h"

#include <string.h>

static char at(const StripeLexer *lx, uint32_t pos) {
    return pos < lx->source->len ? lx->source->text[pos] : 0;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || is_digit(c);
}
static bool is_letter(char c) { return is_word(c) && !is_digit(c) && c != '.'; }
static bool is_hex(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// Skips blanks and comments; returns whether a new line began.
static bool skip(StripeLexer *lx) {
    bool first = lx->pos == 0;
    for (;;) {
        char c = at(lx, lx->pos);
        first |= c == '\n';
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
            lx->pos++;
        } else if (c == '/' && at(lx, lx->pos + 1) == '/') {
            while (lx->pos < lx->source->len && at(lx, lx->pos) != '\n') lx->pos++;
        } else {
            return first;
        }
    }
}

const char *stripe_lex_comment(StripeLexer *lx, int *len) {
    uint32_t from = lx->pos;
    while (at(lx, from) == ' ' || at(lx, from) == '\t') from++;
    if (at(lx, from) != '/' || at(lx, from + 1) != '/') return NULL;
    for (from += 2; at(lx, from) == ' ' || at(lx, from) == '\t';) from++;
    uint32_t to = from;
    while (to < lx->source->len && at(lx, to) != '\n') to++;
    lx->pos = to;
    while (to > from && (at(lx, to - 1) == ' ' || at(lx, to - 1) == '\t' || at(lx, to - 1) == '\r'))
        to--;
    *len = (int)(to - from);
    return lx->source->text + from;
}

static int hex_value(char c) { return is_digit(c) ? c - '0' : (c | 32) - 'a' + 10; }

// A name or a string up to its quote, on one line: \ before the quote and \, \x0a for any byte.
static void lex_quoted(StripeLexer *lx, StripeToken *t, char quote) {
    Text out = {.arena = lx->arena};
    uint32_t from = lx->pos++;
    for (;;) {
        char c = at(lx, lx->pos++);
        if (c == 0 || c == '\n') {
            lx->pos--;
            diag_report(lx->diags, (Range){from, lx->pos}, DIAG_STRIPE_UNCLOSED);
            t->kind = ST_BAD;
            return;
        }
        if (c == quote) break;
        if (c == '\\') {
            c = at(lx, lx->pos++);
            if (c == 'x' && is_hex(at(lx, lx->pos)) && is_hex(at(lx, lx->pos + 1))) {
                c = (char)(hex_value(at(lx, lx->pos)) * 16 + hex_value(at(lx, lx->pos + 1)));
                lx->pos += 2;
            }
            if (c == 0) {
                diag_report(lx->diags, (Range){from, lx->pos}, DIAG_STRIPE_UNCLOSED);
                t->kind = ST_BAD;
                return;
            }
        }
        text_char(&out, c);
    }
    t->text = text_str(&out);
    t->len = (int)out.len;
    t->quoted = true;
}

static void lex_number(StripeLexer *lx, StripeToken *t) {
    uint32_t p = lx->pos;
    t->kind = ST_INT;
    if (at(lx, p) == '0' && at(lx, p + 1) == 'x' && is_hex(at(lx, p + 2))) {
        for (p += 2; is_hex(at(lx, p));) p++;
        lx->pos = p;
        return;
    }
    while (is_digit(at(lx, p))) p++;
    if (at(lx, p) == '.' && is_digit(at(lx, p + 1))) {
        t->kind = ST_FLOAT;
        for (p++; is_digit(at(lx, p));) p++;
    } else if (at(lx, p) == '.' && !is_word(at(lx, p + 1))) {
        t->kind = ST_FLOAT;
        p++;
    }
    uint32_t e = p + 1;
    if (at(lx, e) == '+' || at(lx, e) == '-') e++;
    if ((at(lx, p) == 'e' || at(lx, p) == 'E') && is_digit(at(lx, e))) {
        t->kind = ST_FLOAT;
        for (p = e; is_digit(at(lx, p));) p++;
    }
    lx->pos = p;
}

static void lex_word(StripeLexer *lx, StripeToken *t) {
    t->text = lx->source->text + lx->pos;
    while (is_word(at(lx, lx->pos))) lx->pos++;
    t->len = (int)(lx->source->text + lx->pos - t->text);
}

static void lex_mark(StripeLexer *lx, StripeToken *t) {
    static const char marks[] = "()[]{}<>=+-*/%,:@;";
    char c = at(lx, lx->pos), d = at(lx, lx->pos + 1);
    t->kind = ST_MARK;
    if ((c == '>' || c == '<' || c == '=') && d == '=') {
        lx->pos += 2;
    } else if (c && strchr(marks, c)) {
        lx->pos++;
    } else {
        uint32_t from = lx->pos++;
        while ((at(lx, lx->pos) & 0xc0) == 0x80) lx->pos++; // the rest of a UTF-8 character
        diag_report(lx->diags, (Range){from, lx->pos}, DIAG_STRIPE_CHARACTER);
        t->kind = ST_BAD;
    }
}

// $word and #word; the word may be quoted.
static void lex_sigil(StripeLexer *lx, StripeToken *t, StripeTokenKind kind) {
    uint32_t from = lx->pos++;
    t->kind = kind;
    if (at(lx, lx->pos) == '`')
        lex_quoted(lx, t, '`');
    else
        lex_word(lx, t);
    if (t->kind == kind && t->len == 0) {
        Diag *d = diag_report(lx->diags, (Range){from, lx->pos}, DIAG_STRIPE_CHARACTER);
        if (kind == ST_TAG) diag_note(lx->diags, d, (Range){0, 0}, DIAG_STRIPE_COMMENT_NOTE);
        t->kind = ST_BAD;
    }
}

StripeToken stripe_lex(StripeLexer *lx) {
    bool first = skip(lx);
    StripeToken t = {.kind = ST_END, .text = lx->source->text + lx->pos, .first = first};
    uint32_t from = lx->pos;
    char c = at(lx, from);
    if (from >= lx->source->len) {
        t.range = (Range){from ? from - 1 : 0, from};
        return t;
    }
    if (c == '$' || c == '#') {
        lex_sigil(lx, &t, c == '$' ? ST_SCALAR : ST_TAG);
    } else if (c == '`' || c == '"') {
        t.kind = c == '`' ? ST_NAME : ST_STRING;
        lex_quoted(lx, &t, c);
        if (t.kind == ST_NAME && t.len == 0) {
            diag_report(lx->diags, (Range){from, lx->pos}, DIAG_STRIPE_CHARACTER);
            t.kind = ST_BAD;
        }
    } else if (is_digit(c)) {
        lex_number(lx, &t);
        t.len = (int)(lx->pos - from);
    } else if (is_letter(c)) {
        t.kind = ST_NAME;
        lex_word(lx, &t);
    } else {
        lex_mark(lx, &t);
        t.len = (int)(lx->pos - from);
    }
    t.range = (Range){from, lx->pos};
    char after = at(lx, lx->pos);
    t.tight = after && after != ' ' && after != '\t' && after != '\n' && after != '\r';
    return t;
}
