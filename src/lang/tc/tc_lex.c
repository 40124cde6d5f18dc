// Converts bytes to tokens, on demand. The only state is a position; a token is a byte range, and a
// name is interned once.
//
// Blanks and line ends have no meaning, except that a token records whether it is the first of its
// line (the parser recovers there). `#` starts a comment. A word (letters, digits, _) is a number
// if it is a complete C literal, otherwise a name: 2LUT and 1st are names, 1e5 and 0x1f are
// numbers. A name directly followed by `.` and digits is one token, the extent A.0.
#define _GNU_SOURCE
#include "lang/tc/tc.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

enum { C_BLANK = 1, C_LINE = 2, C_DIGIT = 4, C_ALPHA = 8, C_WORD = C_DIGIT | C_ALPHA };

static const uint8_t class_of[256] = {
    [' '] = C_BLANK,         ['\t'] = C_BLANK,        ['\r'] = C_BLANK,        ['\n'] = C_LINE,
    ['0' ... '9'] = C_DIGIT, ['a' ... 'z'] = C_ALPHA, ['A' ... 'Z'] = C_ALPHA, ['_'] = C_ALPHA,
};

static unsigned char peek(const TcLexer *lx, uint32_t ahead) {
    uint32_t at = lx->at + ahead;
    return at < lx->len ? (unsigned char)lx->text[at] : 0;
}

static bool is(const TcLexer *lx, uint32_t ahead, int class) {
    return (class_of[peek(lx, ahead)] & class) != 0;
}

void tc_lex_init(TcLexer *lx, Arena *arena, Names *names, const Source *source, DiagList *diags) {
    *lx = (TcLexer){.arena = arena, .names = names, .diags = diags};
    lx->text = source->text;
    lx->len = source->len;
    lx->name_def = name_of(names, "def");
    lx->name_where = name_of(names, "where");
}

// --- Numbers -------------------------------------------------------------------------------------

// The value of a float literal, independent of the locale of the process. Numbers of up to 15
// digits and powers of ten up to 22 are exact in a double, so one operation rounds once; the C
// library converts other literals.
static double float_value(TcLexer *lx, const char *s, uint32_t len) {
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    int64_t digits = 0;
    int scale = 0, count = 0, exponent = 0;
    uint32_t i = 0;
    bool point = false, plain = !(len > 1 && (s[1] == 'x' || s[1] == 'X'));
    for (; plain && i < len && (s[i] == '.' || (class_of[(unsigned char)s[i]] & C_DIGIT)); i++) {
        if (s[i] == '.') {
            point = true;
            continue;
        }
        if (++count <= 15) digits = digits * 10 + (s[i] - '0');
        scale -= point;
    }
    if (plain && i < len) {
        bool negative = s[++i] == '-';
        if (s[i] == '-' || s[i] == '+') i++;
        for (; i < len && exponent < 10000; i++) exponent = exponent * 10 + (s[i] - '0');
        if (negative) exponent = -exponent;
    }
    int e = scale + exponent;
    if (plain && count <= 15 && e >= -22 && e <= 22)
        return e < 0 ? (double)digits / power[-e] : (double)digits * power[e];
    char *copy = arena_strndup(lx->arena, s, len);
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c) arena_out_of_memory(lx->arena);
    double value = strtod_l(copy, NULL, c);
    freelocale(c);
    return value;
}

// False: it has more than 64 bits.
static bool int_value(const char *s, uint32_t len, uint64_t *out) {
    uint64_t value = 0, base = 10;
    uint32_t i = 0;
    if (len > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) base = 16, i = 2;
    for (; i < len; i++) {
        unsigned c = (unsigned char)s[i];
        uint64_t digit = c <= '9' ? c - '0' : (c | 32) - 'a' + 10;
        if (__builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return false;
    }
    *out = value;
    return true;
}

static int64_t take_int(TcLexer *lx, Range range, uint32_t len) {
    uint64_t value;
    bool fits = int_value(lx->text + lx->at, len, &value);
    if (fits && value <= INT64_MAX) return (int64_t)value;
    Diag *d = diag_report(lx->diags, range, fits ? DIAG_TC_BIG_NUMBER : DIAG_TC_HUGE_NUMBER);
    diag_note(lx->diags, d, (Range){0, 0},
              fits ? DIAG_TC_BIG_NUMBER_NOTE : DIAG_TC_HUGE_NUMBER_NOTE);
    return 0;
}

static uint32_t skip_class(const TcLexer *lx, uint32_t at, int class) {
    while (is(lx, at, class)) at++;
    return at;
}

static uint32_t skip_hex(const TcLexer *lx, uint32_t at) {
    while (is(lx, at, C_DIGIT) || ((peek(lx, at) | 32) >= 'a' && (peek(lx, at) | 32) <= 'f')) at++;
    return at;
}

// The end of the exponent that starts at `at` with `letter`; `at` if there is none.
static uint32_t skip_exponent(const TcLexer *lx, uint32_t at, char letter) {
    if ((peek(lx, at) | 32) != letter) return at;
    uint32_t sign = peek(lx, at + 1) == '+' || peek(lx, at + 1) == '-';
    uint32_t digits = at + 1 + sign;
    return is(lx, digits, C_DIGIT) ? skip_class(lx, digits, C_DIGIT) : at;
}

static uint32_t skip_int_suffix(const TcLexer *lx, uint32_t at) {
    if ((peek(lx, at) | 32) == 'u') at++;
    if ((peek(lx, at) | 32) == 'l') at += peek(lx, at + 1) == peek(lx, at) ? 2 : 1;
    if ((peek(lx, at) | 32) == 'u') at++;
    return at;
}

// A literal at the current position; false if the word here is a name (2LUT).
static bool lex_number(TcLexer *lx, TcToken *t) {
    bool hex = peek(lx, 0) == '0' && (peek(lx, 1) | 32) == 'x' && skip_hex(lx, 2) > 2;
    uint32_t whole = hex ? skip_hex(lx, 2) : skip_class(lx, 0, C_DIGIT), end = whole;
    bool point = peek(lx, end) == '.';
    if (point) end = hex ? skip_hex(lx, end + 1) : skip_class(lx, end + 1, C_DIGIT);
    uint32_t value_end = skip_exponent(lx, end, hex ? 'p' : 'e');
    bool is_float = point || value_end > end;
    end = value_end;
    if (is_float && ((peek(lx, end) | 32) == 'f' || (peek(lx, end) | 32) == 'l')) end++;
    if (!is_float) end = skip_int_suffix(lx, end);
    if (is(lx, end, C_WORD)) {
        if (!point) return false;
        end = skip_class(lx, end, C_WORD);
        t->range.to = lx->at + end;
        diag_report(lx->diags, t->range, DIAG_TC_BAD_NUMBER, (int)end, lx->text + lx->at);
        t->kind = TOK_INT, t->i = 0;
    } else if (is_float) {
        t->kind = TOK_FLOAT;
        t->f = float_value(lx, lx->text + lx->at, value_end);
    } else {
        t->kind = TOK_INT;
        t->range.to = lx->at + end;
        t->i = take_int(lx, t->range, whole);
    }
    lx->at += end;
    return true;
}

// --- Words and operators -------------------------------------------------------------------------

static void lex_word(TcLexer *lx, TcToken *t) {
    const char *s = lx->text + lx->at;
    uint32_t len = skip_class(lx, 0, C_WORD);
    unsigned char next = peek(lx, len);
    // min= and max= are one token, but  x == max==y  is not an assignment.
    if (len == 3 && next == '=' && peek(lx, 4) != '=' && s[0] == 'm' &&
        (!memcmp(s, "min", 3) || !memcmp(s, "max", 3))) {
        t->kind = TOK_ASSIGN;
        t->op = s[1] == 'i' ? REDUCE_MIN : REDUCE_MAX;
        t->init = peek(lx, 4) == '!';
        lx->at += 4 + t->init;
        return;
    }
    t->name = name_intern(lx->names, s, len);
    t->kind = t->name == lx->name_def ? TOK_DEF : t->name == lx->name_where ? TOK_WHERE : TOK_NAME;
    if (next == '.' && is(lx, len + 1, C_DIGIT) && t->kind == TOK_NAME) {
        uint32_t end = skip_class(lx, len + 1, C_DIGIT);
        t->kind = TOK_DIM;
        uint64_t dim;
        bool fits = int_value(s + len + 1, end - len - 1, &dim) && dim <= INT64_MAX;
        t->i = fits ? (int64_t)dim : INT64_MAX;
        len = end;
    }
    lx->at += len;
}

static void op_token(TcLexer *lx, TcToken *t, uint32_t len, ExprOp op) {
    t->kind = TOK_OP;
    t->op = (uint8_t)op;
    lx->at += len;
}

static void assign_token(TcLexer *lx, TcToken *t, uint32_t len, Reduce op) {
    t->kind = TOK_ASSIGN;
    t->op = (uint8_t)op;
    t->init = op != REDUCE_ASSIGN && peek(lx, len) == '!';
    lx->at += len + t->init;
}

static void punct_token(TcLexer *lx, TcToken *t, char c) {
    t->kind = TOK_PUNCT;
    t->c = c;
    lx->at++;
}

static void bad_byte(TcLexer *lx, TcToken *t) {
    unsigned char c = peek(lx, 0);
    const char *hint = tc_sign_hint(lx->text, lx->len, lx->at), *text = lx->text + lx->at;
    t->kind = TOK_BAD;
    uint32_t len = 1, whole = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    while (len < whole && (peek(lx, len) & 0xc0) == 0x80) len++;
    lx->at += len;
    t->range.to = lx->at;
    bool shown = len == whole && (c < 0x80 ? c > 32 && c < 127 : c >= 0xc2 && c < 0xf5);
    Diag *d = shown ? diag_report(lx->diags, t->range, DIAG_TC_BAD_CHARACTER, (int)len, text)
                    : diag_report(lx->diags, t->range, DIAG_TC_BAD_BYTE, c);
    if (hint) diag_note(lx->diags, d, (Range){0, 0}, DIAG_TC_INSTEAD_NOTE, hint);
    if (++lx->nbad < TC_MAX_BAD) return;
    diag_report(lx->diags, t->range, DIAG_TC_NOT_TEXT);
    lx->at = lx->len;
}

static void lex_operator(TcLexer *lx, TcToken *t) {
    unsigned char c = peek(lx, 0), d = peek(lx, 1);
    switch (c) {
    case '+': d == '=' ? assign_token(lx, t, 2, REDUCE_ADD) : op_token(lx, t, 1, OP_ADD); return;
    case '*': d == '=' ? assign_token(lx, t, 2, REDUCE_MUL) : op_token(lx, t, 1, OP_MUL); return;
    case '=': d == '=' ? op_token(lx, t, 2, OP_EQ) : assign_token(lx, t, 1, REDUCE_ASSIGN); return;
    case '-':
        if (d == '>')
            t->kind = TOK_ARROW, lx->at += 2;
        else
            op_token(lx, t, 1, OP_SUB);
        return;
    case '<':
        if (d == '=' && peek(lx, 2) == '>')
            t->kind = TOK_HINT, lx->at += 3;
        else if (d == '<')
            op_token(lx, t, 2, OP_SHL);
        else
            op_token(lx, t, d == '=' ? 2 : 1, d == '=' ? OP_LE : OP_LT);
        return;
    case '>':
        if (d == '>')
            op_token(lx, t, 2, OP_SHR);
        else
            op_token(lx, t, d == '=' ? 2 : 1, d == '=' ? OP_GE : OP_GT);
        return;
    case '!': op_token(lx, t, d == '=' ? 2 : 1, d == '=' ? OP_NE : OP_NOT); return;
    case '/': op_token(lx, t, 1, OP_DIV); return;
    case '%': op_token(lx, t, 1, OP_MOD); return;
    case '^': op_token(lx, t, 1, OP_BITXOR); return;
    case '&': op_token(lx, t, d == '&' ? 2 : 1, d == '&' ? OP_AND : OP_BITAND); return;
    case '|': op_token(lx, t, d == '|' ? 2 : 1, d == '|' ? OP_OR : OP_BITOR); return;
    case '(':
    case ')':
    case '{':
    case '}':
    case '[':
    case ']':
    case ',':
    case ':':
    case '?':
    case ';': punct_token(lx, t, (char)c); return;
    case 0xe2: // the arrow →
        if (d == 0x86 && peek(lx, 2) == 0x92) {
            t->kind = TOK_ARROW;
            lx->at += 3;
            return;
        }
        break;
    default: break;
    }
    bad_byte(lx, t);
}

static bool skip_blanks(TcLexer *lx) {
    bool line = lx->at == 0;
    for (; lx->at < lx->len; lx->at++) {
        unsigned char c = (unsigned char)lx->text[lx->at];
        if (class_of[c] & C_LINE) {
            line = true;
        } else if (c == '#') {
            const char *end = memchr(lx->text + lx->at, '\n', lx->len - lx->at);
            lx->at = end ? (uint32_t)(end - lx->text) - 1 : lx->len - 1;
        } else if (!(class_of[c] & C_BLANK)) {
            break;
        }
    }
    return line;
}

void tc_lex_next(TcLexer *lx, TcToken *t) {
    *t = (TcToken){.kind = TOK_END};
    t->first = skip_blanks(lx);
    t->range.from = t->range.to = lx->at;
    if (lx->at >= lx->len) {
        t->first = true;
        return;
    }
    if (is(lx, 0, C_DIGIT) || (peek(lx, 0) == '.' && is(lx, 1, C_DIGIT))) {
        if (!lex_number(lx, t)) lex_word(lx, t);
    } else if (is(lx, 0, C_ALPHA)) {
        lex_word(lx, t);
    } else {
        lex_operator(lx, t);
    }
    t->range.to = lx->at;
}
