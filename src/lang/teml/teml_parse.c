// Parses TeML text to statements.
//
//     statement   NAME = ['@' NAME ':'] NAME '(' arguments ')'
//                 NAME '(' arguments ')'
//                 param NAME = argument ['in' list]
//                 for NAME in list-or-span '{' statements '}'
//                 def NAME '(' NAME, ... ')' '{' statements '}'
//                 return NAME
//                 import "file"
//     argument    nothing, a number, a list '[' argument, ... ']', a sum 2*i1 + N/2 - 1,
//                 or one of these '->' another
//
// The words param, for, def, return and import are names if '=' or '(' follows. A statement ends
// with its line unless a bracket is open; `#` and `//` begin comments. Built-ins check the kinds of
// their arguments. After an error, parsing continues with the next line.
#include "lang/teml/teml.h"

#include <string.h>

typedef enum TemlTok {
    TOK_END,
    TOK_LINE,
    TOK_NAME,
    TOK_INT,
    TOK_FLOAT,
    TOK_ARROW,
    TOK_STRING,
    TOK_MARK
} TemlTok;

typedef struct TemlParser {
    Arena *arena;
    Names *names;
    DiagList *diags;
    const Source *source;
    const char *text;
    uint32_t at, len;
    int depth, nbad;                     // open brackets; invalid bytes
    int blocks;                          // open braces
    uint32_t open[TEML_MAX_NESTING + 1]; // their positions
    bool failed;                         // the current statement has an error
    TemlTok kind;                        // the token: ...
    Range range;
    char mark;
    Name name;
    int64_t i;
    double f;
} TemlParser;

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
}

static char peek(const TemlParser *p, uint32_t ahead) {
    return p->at + ahead < p->len ? p->text[p->at + ahead] : 0;
}

// --- Tokens ------------------------------------------------------------------------------------

static void skip_blanks(TemlParser *p) {
    for (;; p->at++) {
        char c = peek(p, 0);
        bool comment = c == '#' || (c == '/' && peek(p, 1) == '/');
        if (comment)
            while (p->at < p->len && p->text[p->at] != '\n') p->at++;
        if (p->at >= p->len) return;
        c = p->text[p->at];
        if (c == '\n' && !p->depth) return;
        if (c != ' ' && c != '\t' && c != '\r' && c != '\n') return;
    }
}

static void fail(TemlParser *p, Range range, DiagId id, const char *what, const char *found) {
    if (!p->failed) diag_report(p->diags, range, id, what, found);
    p->failed = true;
}

static void lex_number(TemlParser *p) {
    uint32_t from = p->at;
    while (is_digit(peek(p, 0))) p->at++;
    bool real = peek(p, 0) == '.' && is_digit(peek(p, 1));
    if (real) do
            p->at++;
        while (is_digit(peek(p, 0)));
    uint32_t sign = peek(p, 1) == '-' || peek(p, 1) == '+';
    if ((peek(p, 0) == 'e' || peek(p, 0) == 'E') && is_digit(peek(p, 1 + sign))) {
        real = true;
        p->at += 1 + sign;
        while (is_digit(peek(p, 0))) p->at++;
    }
    while (is_word(peek(p, 0))) p->at++; // 3x is not a number
    p->range = (Range){from, p->at};
    p->kind = real ? TOK_FLOAT : TOK_INT;
    bool ok = text_parse_float(p->text + from, p->at - from, false, &p->f);
    p->i = 0;
    for (uint32_t k = from; k < p->at && !real && ok; k++)
        ok = is_digit(p->text[k]) && !__builtin_mul_overflow(p->i, (int64_t)10, &p->i) &&
             !__builtin_add_overflow(p->i, (int64_t)(p->text[k] - '0'), &p->i);
    if (!ok) fail(p, p->range, DIAG_TEML_NUMBER, NULL, NULL);
}

// The name of a file, in quotes on one line.
static void lex_string(TemlParser *p) {
    uint32_t from = ++p->at;
    while (p->at < p->len && p->text[p->at] != '"' && p->text[p->at] != '\n') p->at++;
    p->kind = TOK_STRING;
    p->name = name_intern(p->names, p->text + from, p->at - from);
    if (peek(p, 0) == '"')
        p->at++;
    else
        fail(p, (Range){from - 1, p->at}, DIAG_TEML_QUOTE, NULL, NULL);
}

// Invalid bytes are skipped, and the first few are reported.
static bool is_bad(TemlParser *p, char c) {
    if (strchr("=@:()[]{},+-*/\"", c) && c) return false;
    uint32_t from = p->at++;
    while (p->at < p->len && (p->text[p->at] & 0xc0) == 0x80) p->at++;
    if (p->nbad++ < TEML_MAX_BAD)
        diag_report(p->diags, (Range){from, p->at}, DIAG_TEML_CHARACTER);
    else
        p->at = p->len;
    p->failed = true;
    return true;
}

static void next(TemlParser *p) {
    do skip_blanks(p);
    while (p->at < p->len && p->text[p->at] != '\n' && !is_word(p->text[p->at]) &&
           is_bad(p, p->text[p->at]));
    uint32_t from = p->at;
    char c = peek(p, 0);
    p->kind = TOK_MARK;
    p->mark = c;
    if (p->at >= p->len) {
        p->kind = TOK_END;
    } else if (c == '\n') {
        p->kind = TOK_LINE;
        p->at++;
    } else if (is_digit(c)) {
        lex_number(p);
    } else if (is_word(c)) {
        while (is_word(peek(p, 0))) p->at++;
        p->kind = TOK_NAME;
        p->name = name_intern(p->names, p->text + from, p->at - from);
    } else if (c == '"') {
        lex_string(p);
    } else if (c == '-' && peek(p, 1) == '>') {
        p->kind = TOK_ARROW;
        p->at += 2;
    } else {
        p->at++;
    }
    p->range = (Range){from, p->at};
}

static const char *found(TemlParser *p) {
    if (p->kind == TOK_END) return "the end of the text";
    if (p->kind == TOK_LINE) return "the end of the line";
    uint32_t len = p->range.to - p->range.from;
    return arena_printf(p->arena, "'%.*s'", len > 40 ? 40 : (int)len, p->text + p->range.from);
}

static void expected(TemlParser *p, const char *what) {
    Range at = p->range;
    if (p->kind == TOK_LINE) at.to = at.from;
    fail(p, at, DIAG_TEML_EXPECTED, what, found(p));
}

static bool is_mark(const TemlParser *p, char c) { return p->kind == TOK_MARK && p->mark == c; }

static bool accept(TemlParser *p, char c) {
    if (p->failed || !is_mark(p, c)) return false;
    next(p);
    return true;
}

static void expect(TemlParser *p, char c) {
    if (!accept(p, c)) expected(p, (char[]){'\'', c, '\'', 0});
}

// The bracket counts as open before the next token is read, so that the statement may continue on
// the next line.
static bool open(TemlParser *p, char c) {
    if (p->failed || !is_mark(p, c)) return false;
    if (p->depth == TEML_MAX_NESTING) {
        fail(p, p->range, DIAG_TEML_NESTING, NULL, NULL);
        return false;
    }
    p->open[p->depth++] = p->range.from;
    next(p);
    return true;
}

// Does the line of this token begin a statement, `name =` or `codegen`?
static bool begins_statement(const TemlParser *p, uint32_t line) {
    static const char *const words[] = {"codegen", "init",   "param", "def",
                                        "for",     "import", "return"};
    while (line < p->len && strchr(" \t", p->text[line])) line++;
    uint32_t from = line;
    while (line < p->len && is_word(p->text[line])) line++;
    size_t n = line - from;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == n && !memcmp(words[i], p->text + from, n)) return true;
    while (line < p->len && strchr(" \t", p->text[line])) line++;
    return n && line < p->len && p->text[line] == '=';
}

// The innermost bracket is not closed. If the next statement has begun, it will be read.
static bool is_unclosed(TemlParser *p) {
    uint32_t from = p->open[p->depth - 1], line = p->range.from;
    while (line && p->text[line - 1] != '\n') line--;
    bool next_one = line > from && p->kind != TOK_END && begins_statement(p, line);
    if (p->kind != TOK_END && !next_one) return false;
    fail(p, (Range){from, from + 1}, DIAG_TEML_UNCLOSED, NULL, NULL);
    if (!next_one) return true;
    p->at = line;
    p->kind = TOK_LINE;
    return true;
}

static Range close(TemlParser *p, char c) {
    Range range = p->range;
    if (!is_mark(p, c)) {
        if (p->failed || is_unclosed(p)) return range;
        if (is_mark(p, '('))
            expected(p, "a name, to which the value of this call was assigned before");
        else
            expected(p, c == ')' ? "',' or ')'" : "',' or ']'");
        return range;
    }
    p->depth--;
    next(p);
    return range;
}

// --- Arguments ---------------------------------------------------------------------------------

static Syn *syn(TemlParser *p, SynKind kind, Range range) {
    Syn *s = arena_new(p->arena, Syn);
    s->kind = kind;
    s->range = range;
    return s;
}

typedef VEC(const Syn *) Syns;

static Syn *with(Syn *s, const Syns *list) {
    s->n = list->n;
    s->at = list->at;
    return s;
}

static const Syn *take_factor(TemlParser *p, const char *wanted) {
    Syn *s = syn(p, p->kind == TOK_INT ? SYN_INT : SYN_NAME, p->range);
    s->i = p->i;
    s->name = p->kind == TOK_NAME ? p->name : NULL;
    if (p->kind != TOK_INT && p->kind != TOK_NAME)
        expected(p, wanted);
    else
        next(p);
    return s;
}

// 2*i1, i1 or 2 is a TERM; with a second name or a divisor it is a PRODUCT. `sign` is the sign in
// the sum.
static const Syn *take_term(TemlParser *p, int sign) {
    Syn *s = syn(p, SYN_TERM, p->range);
    Syns factors = {0};
    s->i = sign;
    for (char by = '*'; by && !p->failed;) {
        const Syn *f = take_factor(p, factors.n ? "a number or a name" : "an argument");
        s->range.to = f->range.to;
        if (by == '/' || (f->name && s->name)) s->kind = SYN_PRODUCT;
        if (f->name) s->name = f->name;
        if (f->kind == SYN_INT && __builtin_mul_overflow(s->i, f->i, &s->i))
            fail(p, f->range, DIAG_TEML_NUMBER, NULL, NULL);
        if (by == '/') {
            Syn *over = syn(p, SYN_DIVISOR, f->range);
            const Syn *one[] = {f};
            over->n = 1;
            over->at = arena_copy(p->arena, one, sizeof one);
            f = over;
        }
        vec_push(p->arena, &factors, f);
        by = accept(p, '*') ? '*' : accept(p, '/') ? '/' : 0;
    }
    if (s->kind == SYN_TERM) return s;
    s->i = sign;
    return with(s, &factors);
}

static const Syn *take_sum(TemlParser *p) {
    Syns terms = {0};
    Syn *s = syn(p, SYN_SUM, p->range);
    int sign = accept(p, '-') ? -1 : 1;
    if (p->kind == TOK_FLOAT) {
        s->kind = SYN_FLOAT;
        s->f = sign * p->f;
        s->range.to = p->range.to;
        next(p);
        return s;
    }
    do {
        const Syn *term = take_term(p, sign);
        s->range.to = term->range.to;
        if (term->name || term->kind == SYN_PRODUCT)
            vec_push(p->arena, &terms, term);
        else if (__builtin_add_overflow(s->i, term->i, &s->i))
            fail(p, term->range, DIAG_TEML_NUMBER, NULL, NULL);
        sign = is_mark(p, '-') ? -1 : 1;
    } while (accept(p, '+') || accept(p, '-'));
    if (!terms.n) {
        s->kind = SYN_INT;
    } else if (terms.n == 1 && terms.at[0]->kind == SYN_TERM && terms.at[0]->i == 1 && !s->i) {
        s->kind = SYN_NAME;
        s->name = terms.at[0]->name;
    }
    return with(s, &terms);
}

static const Syn *take_argument(TemlParser *p);

static void take_list(TemlParser *p, char end, Syns *out) {
    bool more = !is_mark(p, end);
    while (more && !p->failed) {
        vec_push(p->arena, out, take_argument(p));
        if (out->n > TEML_MAX_ELEMENTS) {
            fail(p, p->range, DIAG_TEML_LONG, NULL, NULL);
            return;
        }
        more = accept(p, ',');
    }
}

static const Syn *take_plain(TemlParser *p) {
    if (is_mark(p, ',') || is_mark(p, ']') || is_mark(p, ')') || p->kind == TOK_ARROW)
        return syn(p, SYN_NONE, (Range){p->range.from, p->range.from});
    if (!is_mark(p, '[')) return take_sum(p);
    Syns items = {0};
    Syn *s = syn(p, SYN_LIST, p->range);
    if (!open(p, '[')) return s;
    take_list(p, ']', &items);
    if (!p->failed) s->range.to = close(p, ']').to;
    return with(s, &items);
}

static const Syn *take_argument(TemlParser *p) {
    const Syn *left = take_plain(p);
    if (p->failed || p->kind != TOK_ARROW) return left;
    Syns both = {0};
    Syn *s = syn(p, SYN_ARROW, left->range);
    next(p);
    vec_push(p->arena, &both, left);
    vec_push(p->arena, &both, take_plain(p));
    s->range.to = both.at[1]->range.to;
    return with(s, &both);
}

// --- Statements --------------------------------------------------------------------------------

static Name take_name(TemlParser *p, const char *what, Range *range) {
    Name name = p->name;
    *range = p->range;
    if (p->failed || p->kind != TOK_NAME) {
        expected(p, what);
        return NULL;
    }
    next(p);
    return name;
}

static void take_apply(TemlParser *p, TemlStmt *s) {
    Syns args = {0};
    s->builtin = take_name(p, "a statement", &s->head);
    if (!p->failed && !is_mark(p, '(') && !is_mark(p, '=')) expected(p, "'=' or '('");
    if (accept(p, '=')) {
        s->target = s->builtin;
        s->target_range = s->head;
        if (accept(p, '@')) {
            s->real = take_name(p, "the name of a tensor", &s->real_range);
            expect(p, ':');
        }
        s->builtin = take_name(p, "an operation", &s->head);
    }
    if (!p->failed && !is_mark(p, '(')) expected(p, "'('");
    if (!open(p, '(')) return;
    take_list(p, ')', &args);
    if (!p->failed) s->range.to = close(p, ')').to;
    s->n = args.n;
    s->arg = args.at;
}

static bool is_word_token(const TemlParser *p, const char *word) {
    return p->kind == TOK_NAME && strcmp(p->name, word) == 0;
}

static void give(TemlParser *p, TemlStmt *s, const Syn *arg) {
    const Syn **to = arena_new_n(p->arena, const Syn *, s->n + 1);
    for (int i = 0; i < s->n; i++) to[i] = s->arg[i];
    to[s->n++] = arg;
    s->arg = to;
    s->range.to = arg->range.to;
}

static TemlStmts take_block(TemlParser *p);

static void take_body(TemlParser *p, TemlStmt *s) {
    Range brace = p->range;
    if (p->failed || !is_mark(p, '{')) {
        expected(p, "'{'");
        return;
    }
    if (p->blocks == TEML_MAX_NESTING) {
        fail(p, p->range, DIAG_TEML_NESTING, NULL, NULL);
        return;
    }
    p->blocks++;
    next(p);
    s->body = take_block(p);
    p->blocks--;
    if (is_mark(p, '}'))
        next(p);
    else
        fail(p, brace, DIAG_TEML_UNCLOSED, NULL, NULL);
}

static void take_param(TemlParser *p, TemlStmt *s) {
    s->target = take_name(p, "the name of a parameter", &s->target_range);
    expect(p, '=');
    if (!p->failed) give(p, s, take_plain(p));
    if (p->failed || !is_word_token(p, "in")) return;
    next(p);
    give(p, s, take_plain(p));
}

static void take_for(TemlParser *p, TemlStmt *s) {
    s->target = take_name(p, "the name of a loop variable", &s->target_range);
    if (!p->failed && !is_word_token(p, "in")) expected(p, "'in'");
    if (p->failed) return;
    next(p);
    const Syn *from = take_plain(p);
    if (accept(p, ':')) {
        Syns both = {0};
        vec_push(p->arena, &both, from);
        vec_push(p->arena, &both, take_plain(p));
        from = with(syn(p, SYN_SPAN, range_join(from->range, both.at[1]->range)), &both);
    }
    give(p, s, from);
    take_body(p, s);
}

static void take_def(TemlParser *p, TemlStmt *s) {
    Syns args = {0};
    s->builtin = take_name(p, "the name of a function", &s->head);
    if (!p->failed && !is_mark(p, '(')) expected(p, "'('");
    if (!open(p, '(')) return;
    take_list(p, ')', &args);
    if (!p->failed) s->range.to = close(p, ')').to;
    s->n = args.n;
    s->arg = args.at;
    for (int i = 0; i < args.n && !p->failed; i++)
        if (args.at[i]->kind != SYN_NAME)
            fail(p, args.at[i]->range, DIAG_TEML_EXPECTED, "the name of a parameter", "this");
    take_body(p, s);
}

static void take_import(TemlParser *p, TemlStmt *s) {
    s->head = p->range;
    s->builtin = p->name;
    s->range.to = p->range.to;
    if (p->kind != TOK_STRING) expected(p, "the name of a file in quotes");
    if (!p->failed) next(p);
}

// The kind of the statement that begins here, by its first words; skips the keyword.
static TemlStmtKind take_keyword(TemlParser *p) {
    static const struct {
        const char *word;
        TemlStmtKind kind;
    } keyword[] = {{"param", TEML_PARAM},
                   {"for", TEML_FOR},
                   {"def", TEML_DEF},
                   {"return", TEML_RETURN},
                   {"import", TEML_IMPORT}};
    TemlParser ahead = *p;
    DiagList quiet = {.arena = p->arena, .source = p->source};
    ahead.diags = &quiet;
    next(&ahead);
    if (is_mark(&ahead, '=') || is_mark(&ahead, '(')) return TEML_APPLY;
    for (size_t i = 0; i < sizeof keyword / sizeof *keyword; i++) {
        if (!is_word_token(p, keyword[i].word)) continue;
        next(p);
        return keyword[i].kind;
    }
    return TEML_APPLY;
}

static bool take_statement(TemlParser *p, TemlStmt *s) {
    s->range = p->range;
    s->source = p->source;
    s->kind = take_keyword(p);
    switch (s->kind) {
    case TEML_PARAM: take_param(p, s); break;
    case TEML_FOR: take_for(p, s); break;
    case TEML_DEF: take_def(p, s); break;
    case TEML_RETURN: give(p, s, take_plain(p)); break;
    case TEML_IMPORT: take_import(p, s); break;
    default: take_apply(p, s); break;
    }
    if (!p->failed && p->kind != TOK_LINE && p->kind != TOK_END && !is_mark(p, '}'))
        expected(p, "the end of the statement");
    return !p->failed;
}

// Skips to the next line at which a statement may begin, and forgets open brackets.
static void recover(TemlParser *p) {
    p->failed = false;
    p->depth = 0;
    if (p->kind == TOK_LINE || p->kind == TOK_END) return;
    while (p->at < p->len && p->text[p->at] != '\n') p->at++;
    next(p);
}

// Statements up to the end of the text, or up to the closing brace of this block.
static TemlStmts take_block(TemlParser *p) {
    TemlStmts out = {0};
    while (p->kind != TOK_END && !(p->blocks && is_mark(p, '}'))) {
        TemlStmt s = {0};
        if (p->kind != TOK_LINE && !p->failed && take_statement(p, &s))
            vec_push(p->arena, &out, s);
        else if (p->failed)
            recover(p);
        if (p->kind == TOK_LINE) next(p);
    }
    return out;
}

TemlStmts teml_syntax(Arena *arena, Names *names, const Source *source, DiagList *diags) {
    TemlParser p = {.arena = arena, .names = names, .diags = diags, .source = source};
    p.text = source->text;
    p.len = source->len;
    if (source->len > TEML_MAX_SOURCE) {
        diag_report(diags, (Range){0, 0}, DIAG_TEML_SIZE, TEML_MAX_SOURCE);
        return (TemlStmts){0};
    }
    int before = diags->errors;
    next(&p);
    TemlStmts all = take_block(&p);
    if (!all.n && diags->errors == before) expected(&p, "a statement");
    return all;
}
