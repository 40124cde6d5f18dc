// Converts tokens to syntax by recursive descent; operators by precedence climbing.
//
// A statement ends where its expression ends, so line ends are never needed; they only help
// recovery. After an error the parser continues at the next token that starts a line outside
// parentheses and could start a statement, or at `}` or `def`. A reported error leaves a NODE_BAD
// or a function marked broken, about which later steps stay silent.
#include "lang/tc/tc.h"

#include <string.h>

#include "base/nearest.h"

typedef struct TcParser {
    TcLexer lx;
    TcToken t;      // the current token
    uint32_t ended; // the end of the previous token
    Arena *arena;
    DiagList *diags;
    int depth;
    bool failed;         // the current statement or header has an error; one report each
    bool recovered;      // the rest was guessed to be a statement: report nothing if it is not
    TcToken before;      // the token before the current one
    Diag *report;        // the last report of fail_expected
    VEC(TcNode *) stack; // lists being parsed
    Name name_in, name_exists, name_for;
    const TcFor *steps; // the innermost open `for`
} TcParser;

static void advance(TcParser *ps) {
    ps->ended = ps->t.range.to;
    ps->before = ps->t;
    tc_lex_next(&ps->lx, &ps->t);
    while (ps->t.kind == TOK_BAD) {
        bool first = ps->t.first;
        ps->failed = true;
        tc_lex_next(&ps->lx, &ps->t);
        ps->t.first |= first;
    }
}

static bool at(const TcParser *ps, char c) { return ps->t.kind == TOK_PUNCT && ps->t.c == c; }

static bool at_name(const TcParser *ps, Name name) {
    return ps->t.kind == TOK_NAME && ps->t.name == name;
}

static bool at_op(const TcParser *ps, ExprOp op) { return ps->t.kind == TOK_OP && ps->t.op == op; }

// The current token as messages show it.
static const char *found(TcParser *ps) {
    if (ps->t.kind == TOK_END) return "the end of the file";
    uint32_t len = ps->t.range.to - ps->t.range.from;
    return arena_printf(ps->arena, "'%.*s'", (int)(len > 40 ? 40 : len),
                        ps->lx.text + ps->t.range.from);
}

// The range of the current token; the end of the file is its last byte.
static Range here(const TcParser *ps) {
    Range r = ps->t.range;
    if (ps->t.kind == TOK_END) r = (Range){ps->ended ? ps->ended - 1 : 0, ps->ended};
    return r;
}

// Is the current token part of these two characters, written without a blank?
static bool within(const TcParser *ps, const char pair[2]) {
    uint32_t from = ps->t.range.from;
    const char *s = ps->lx.text + from;
    return ps->t.kind == TOK_OP && ((from + 1 < ps->lx.len && !memcmp(s, pair, 2)) ||
                                    (from > 0 && !memcmp(s - 1, pair, 2)));
}

// Reports once per statement or header.
static Diag *fail_expected(TcParser *ps, const char *what) {
    if (ps->failed) return NULL;
    ps->failed = true;
    Diag *d = diag_report(ps->diags, here(ps), DIAG_TC_EXPECTED, what, found(ps));
    ps->report = d;
    if (within(ps, "//") || within(ps, "/*"))
        diag_note(ps->diags, d, (Range){0, 0}, DIAG_TC_COMMENT_NOTE);
    else if (within(ps, "**"))
        diag_note(ps->diags, d, (Range){0, 0}, DIAG_TC_POWER_NOTE);
    return d;
}

// Adds the suggested replacement, if one is known, below a report.
static void instead(TcParser *ps, Diag *d, const char *hint) {
    if (d && hint) diag_note(ps->diags, d, (Range){0, 0}, DIAG_TC_INSTEAD_NOTE, hint);
}

static bool accept(TcParser *ps, char c) {
    if (!at(ps, c)) return false;
    advance(ps);
    return true;
}

static bool expect(TcParser *ps, char c, const char *what) {
    if (accept(ps, c)) return true;
    fail_expected(ps, what);
    return false;
}

// --- Expressions ---------------------------------------------------------------------------------

static TcNode *expression(TcParser *ps);

static TcNode *new_node(TcParser *ps, TcNodeKind kind, Range range, int n) {
    TcNode *node = arena_alloc(ps->arena, sizeof(TcNode) + (size_t)n * sizeof(TcNode *));
    node->kind = (uint8_t)kind;
    node->n = n;
    node->range = node->head = range;
    return node;
}

static TcNode *bad(TcParser *ps, Range range) { return new_node(ps, NODE_BAD, range, 0); }

static void too_deep(TcParser *ps, Range range) {
    if (ps->failed) return;
    ps->failed = true;
    Diag *d = diag_report(ps->diags, range, DIAG_TC_TOO_DEEP, TC_MAX_NESTING);
    diag_note(ps->diags, d, (Range){0, 0}, DIAG_TC_TOO_DEEP_NOTE);
}

// Later steps walk the syntax recursively, so its height is limited.
static void measure(TcParser *ps, TcNode *node) {
    int height = 0;
    for (int i = 0; i < node->n; i++)
        if (node->arg[i]->height > height) height = node->arg[i]->height;
    node->height = (uint16_t)(height + 1);
    if (node->height > TC_MAX_NESTING) too_deep(ps, node->head);
}

static TcNode *op_node(TcParser *ps, ExprOp op, Range head, int n, TcNode *const *args) {
    Range range = range_join(n > 1 ? args[0]->range : head, args[n - 1]->range);
    TcNode *node = new_node(ps, NODE_OP, range, n);
    node->op = (uint8_t)op;
    node->head = head;
    memcpy(node->arg, args, (size_t)n * sizeof *args);
    measure(ps, node);
    return node;
}

// Does the current parenthesis, after a name inside an expression, start the next statement `(a, b)
// = f(x)` rather than subscripts? A read is never followed by `=`.
static bool starts_tuple(const TcParser *ps) {
    const char *s = ps->lx.text, *end = s + ps->lx.len;
    const char *p = s + ps->t.range.to;
    while (p < end &&
           (*p == '_' || *p == ',' || *p == ' ' || *p == '\n' || *p == '\t' || *p == '\r' ||
            (*p >= '0' && *p <= '9') || ((*p | 32) >= 'a' && (*p | 32) <= 'z')))
        p++;
    if (p == end || *p != ')') return false;
    for (p++; p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r');) p++;
    return p < end && *p == '=' && (p + 1 == end || p[1] != '=');
}

// Parses a list up to `)`, pushes it on the stack, and returns the number of its elements.
static int list(TcParser *ps, bool named) {
    int n = 0;
    bool more = !at(ps, ')');
    while (!ps->failed && more) {
        TcNode *e = expression(ps);
        if (named && ps->t.kind == TOK_ASSIGN && ps->t.op == REDUCE_ASSIGN &&
            e->kind == NODE_NAME) {
            advance(ps);
            TcNode *value = expression(ps), *pair;
            pair = new_node(ps, NODE_NAMED, range_join(e->range, value->range), 1);
            pair->head = e->range;
            pair->name = e->name;
            pair->arg[0] = value;
            e = pair;
        }
        vec_push(ps->arena, &ps->stack, e);
        n++;
        more = accept(ps, ',');
    }
    expect(ps, ')', "',' or ')'");
    return n;
}

static void pop_list(TcParser *ps, int n, TcNode **out) {
    ps->stack.n -= n;
    if (n) memcpy(out, ps->stack.at + ps->stack.n, (size_t)n * sizeof *out);
}

static TcNode *call(TcParser *ps, TcToken name) {
    advance(ps); // (
    int n = list(ps, true);
    TcNode *node = new_node(ps, NODE_CALL, (Range){name.range.from, ps->ended}, n);
    node->head = name.range;
    node->name = name.name;
    pop_list(ps, n, node->arg);
    measure(ps, node);
    if (!ps->failed && at(ps, '(') && ps->t.range.from == ps->ended) { // f(A)(i)
        Diag *d = diag_report(ps->diags, node->range, DIAG_TC_CALL_SUBSCRIPTED);
        diag_note(ps->diags, d, (Range){0, 0}, DIAG_TC_CALL_INSIDE_NOTE, name.name);
        ps->failed = true;
    }
    return node;
}

static TcNode *brackets(TcParser *ps, TcToken name) {
    if (!ps->failed) {
        Diag *d = diag_report(ps->diags, here(ps), DIAG_TC_BRACKETS);
        diag_note(ps->diags, d, (Range){0, 0}, DIAG_TC_BRACKETS_NOTE, name.name);
    }
    ps->failed = true;
    return bad(ps, name.range);
}

static TcNode *primary(TcParser *ps) {
    TcToken t = ps->t;
    TcNode *node;
    switch (t.kind) {
    case TOK_INT:
    case TOK_FLOAT:
        advance(ps);
        node = new_node(ps, t.kind == TOK_INT ? NODE_INT : NODE_FLOAT, t.range, 0);
        node->i = t.i; // the union holds either
        return node;
    case TOK_NAME:
        advance(ps);
        if (at(ps, '(') && !starts_tuple(ps)) return call(ps, t);
        if (at(ps, '[')) return brackets(ps, t);
        node = new_node(ps, NODE_NAME, t.range, 0);
        node->name = t.name;
        return node;
    case TOK_DIM:
        advance(ps);
        node = new_node(ps, NODE_DIM, t.range, 0);
        node->name = t.name;
        node->i = t.i;
        return node;
    default: break;
    }
    if (accept(ps, '(')) {
        node = expression(ps);
        expect(ps, ')', "')'");
        if (!ps->failed) node->range = (Range){t.range.from, ps->ended}; // quoted as written
        return node;
    }
    Diag *d = fail_expected(ps, "an expression");
    if (at(ps, ':'))
        instead(ps, d, "there are no slices: give every dimension an index, as in 'A(i,j)'");
    return bad(ps, here(ps));
}

static TcNode *unary(TcParser *ps) {
    if (!at_op(ps, OP_SUB) && !at_op(ps, OP_NOT)) return primary(ps);
    TcToken t = ps->t;
    advance(ps);
    if (++ps->depth > TC_MAX_NESTING) too_deep(ps, t.range);
    TcNode *a = ps->failed ? bad(ps, t.range) : unary(ps);
    ps->depth--;
    return op_node(ps, t.op == OP_SUB ? OP_NEG : OP_NOT, t.range, 1, &a);
}

// The precedence of the current operator; 0: none.
static int strength(const TcParser *ps) {
    return ps->t.kind == TOK_OP ? op_info[ps->t.op].tc_binds : 0;
}

// Parses operators with a precedence of at least `least`, left-associative.
static TcNode *binary(TcParser *ps, int least) {
    TcNode *a = unary(ps);
    for (int s; !ps->failed && (s = strength(ps)) >= least && s > 0;) {
        TcToken t = ps->t;
        advance(ps);
        a = op_node(ps, (ExprOp)t.op, t.range, 2, (TcNode *[]){a, binary(ps, s + 1)});
    }
    return a;
}

static TcNode *expression(TcParser *ps) {
    if (++ps->depth > TC_MAX_NESTING) too_deep(ps, here(ps));
    TcNode *a = ps->failed ? bad(ps, here(ps)) : binary(ps, 1);
    if (at(ps, '?') && !ps->failed) {
        Range head = ps->t.range;
        advance(ps);
        TcNode *b = expression(ps);
        expect(ps, ':', "':'");
        a = op_node(ps, OP_SELECT, head, 3, (TcNode *[]){a, b, expression(ps)});
    }
    ps->depth--;
    return a;
}

// --- Statements ----------------------------------------------------------------------------------

static void bounds(TcParser *ps, TcNode **a, TcNode **b) {
    *a = expression(ps);
    if (!accept(ps, ':')) {
        Diag *d = fail_expected(ps, "':' between the bounds of the range");
        instead(ps, d, (*a)->kind == NODE_CALL ? tc_range_hint((*a)->name) : NULL);
    }
    *b = expression(ps);
}

static void where_clause(TcParser *ps, TcWhere *w) {
    TcToken t = ps->t;
    *w = (TcWhere){.name = t.name, .range = t.range};
    if (t.kind != TOK_NAME) {
        Diag *d = fail_expected(ps, "a range, a definition or 'exists' after 'where'");
        if (d) diag_note(ps->diags, d, (Range){0, 0}, DIAG_TC_WHERE_NOTE);
        return;
    }
    advance(ps);
    if (at_name(ps, ps->name_in)) {
        advance(ps);
        bounds(ps, &w->a, &w->b);
    } else if (ps->t.kind == TOK_ASSIGN && ps->t.op == REDUCE_ASSIGN) {
        advance(ps);
        w->kind = WHERE_LET;
        w->a = expression(ps);
    } else if (t.name == ps->name_exists) {
        w->kind = WHERE_EXISTS;
        w->a = expression(ps);
    } else {
        Diag *d = fail_expected(ps, "'in' or '='");
        if (d) diag_note(ps->diags, d, (Range){0, 0}, DIAG_TC_WHERE_NOTE);
    }
}

static void where_list(TcParser *ps, TcStmt *s) {
    VEC(TcWhere) v = {0};
    do {
        TcWhere w;
        where_clause(ps, &w);
        if (!ps->failed) vec_push(ps->arena, &v, w);
        if (v.n > TC_MAX_WHERE && !ps->failed) {
            diag_report(ps->diags, w.range, DIAG_TC_TOO_MANY, "clauses in one 'where'",
                        TC_MAX_WHERE);
            ps->failed = true;
        }
    } while (!ps->failed && accept(ps, ','));
    s->where = v.at;
    s->nwhere = v.n;
}

static void library_hint(TcParser *ps, TcStmt *s) {
    advance(ps); // <=>
    TcToken name = ps->t;
    if (name.kind != TOK_NAME) {
        fail_expected(ps, "the name of a library call after '<=>'");
        return;
    }
    advance(ps);
    if (!at(ps, '(')) {
        fail_expected(ps, "'('");
        return;
    }
    call(ps, name);
    s->hint = name_intern(ps->lx.names, ps->lx.text + name.range.from, ps->ended - name.range.from);
}

static void add_target(TcParser *ps, TcStmt *s) {
    if (ps->t.kind != TOK_NAME) {
        fail_expected(ps, "the name of a tensor");
        return;
    }
    TcTarget *old = s->target;
    s->target = arena_new_n(ps->arena, TcTarget, s->ntargets + 1);
    if (old) memcpy(s->target, old, (size_t)s->ntargets * sizeof *old);
    s->target[s->ntargets++] = (TcTarget){ps->t.name, ps->t.range};
    advance(ps);
}

// (a, b) = ...
static void tuple(TcParser *ps, TcStmt *s) {
    s->tuple = true;
    advance(ps);
    do add_target(ps, s);
    while (!ps->failed && s->ntargets < TC_MAX_NESTING && accept(ps, ','));
    expect(ps, ')', "',' or ')'");
}

static void left_side(TcParser *ps, TcStmt *s) {
    if (at(ps, '(')) {
        tuple(ps, s);
    } else {
        TcToken name = ps->t;
        add_target(ps, s);
        if (at(ps, '[')) brackets(ps, name);
        if (accept(ps, '(')) {
            s->subscripts = true;
            s->nsubs = list(ps, false);
            s->sub = arena_new_n(ps->arena, TcNode *, s->nsubs);
            pop_list(ps, s->nsubs, s->sub);
        }
    }
    s->write_range = (Range){s->range.from, ps->ended};
}

// Finds a word of another language at the point of the error: before it (`O(i) = if A(i) > 0`), as
// the first word (`for i in`), or in place of an assignment (`A(i) else 0`).
static bool foreign_word(TcParser *ps, const TcToken *before, const TcToken *first) {
    const TcToken *word[] = {before, first, &ps->t};
    for (int i = first->first; i < 3; i++) { // ignore words on the line above
        const char *hint = word[i]->kind == TOK_NAME ? tc_word_hint(word[i]->name) : NULL;
        if (!hint) continue;
        Diag *d = diag_report(ps->diags, word[i]->range, DIAG_TC_FOREIGN, word[i]->name);
        instead(ps, d, hint);
        ps->failed = true;
        return true;
    }
    return false;
}

static void assign_expected(TcParser *ps, const TcToken *before, const TcToken *first) {
    if (ps->recovered) ps->failed = true;
    if (ps->failed || foreign_word(ps, before, first)) return;
    bool minus = at_op(ps, OP_SUB), over = at_op(ps, OP_DIV);
    Diag *d = fail_expected(ps, "'=', '+=', '*=', 'min=', 'max=' or one of them with '!'");
    if ((minus || over) && !within(ps, "//") && !within(ps, "/*"))
        diag_note(ps->diags, d, (Range){0, 0}, DIAG_TC_ASSIGN_NOTE, minus ? '-' : '/');
    if (at(ps, ':') || at_op(ps, OP_EQ))
        instead(ps, d, tc_sign_hint(ps->lx.text, ps->lx.len, ps->t.range.from));
}

static TcStmt *statement(TcParser *ps) {
    TcStmt *s = arena_new(ps->arena, TcStmt);
    const TcToken before = ps->before, first = ps->t;
    ps->report = NULL;
    s->range = first.range;
    s->steps = ps->steps;
    left_side(ps, s);
    const char *hint = ps->failed && first.kind == TOK_NAME ? tc_word_hint(first.name) : NULL;
    instead(ps, ps->report, hint); // for (i = 0; ...
    if (ps->t.kind != TOK_ASSIGN) {
        assign_expected(ps, &before, &first);
        return s;
    }
    s->op = (Reduce)ps->t.op;
    s->init = ps->t.init;
    s->op_range = ps->t.range;
    advance(ps);
    if (!ps->failed) s->value = expression(ps);
    if (!ps->failed && ps->t.kind == TOK_HINT) library_hint(ps, s);
    if (!ps->failed && ps->t.kind == TOK_WHERE) {
        advance(ps);
        where_list(ps, s);
    }
    s->range.to = ps->ended;
    return s;
}

// Continues at a token that could start a statement: the first token of a line, outside parentheses
// and outside braces of other languages.
static void recover(TcParser *ps) {
    int open = 0, braces = 0;
    ps->failed = false;
    for (;; advance(ps)) {
        if (ps->t.kind == TOK_END || ps->t.kind == TOK_DEF) break;
        if (at(ps, '}') && braces-- == 0) break;
        if (at(ps, '{')) braces++;
        if (ps->t.first && braces == 0 && open <= 0 && (ps->t.kind == TOK_NAME || at(ps, '(')))
            break;
        if (at(ps, '(') || at(ps, '[')) open++;
        if (at(ps, ')') || at(ps, ']')) open--;
        if (ps->t.kind == TOK_WHERE) open = 0;
    }
    ps->failed = false;
}

// --- Steps ---------------------------------------------------------------------------------------

// `for` is an ordinary name unless another name follows.
static bool at_for(const TcParser *ps) {
    uint32_t at = ps->t.range.to, len = ps->lx.len;
    if (!at_name(ps, ps->name_for)) return false;
    while (at < len && (ps->lx.text[at] == ' ' || ps->lx.text[at] == '\t')) at++;
    char c = at < len ? ps->lx.text[at] : 0;
    return at > ps->t.range.to && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_');
}

static void step_clause(TcParser *ps) {
    TcFor *f = arena_new(ps->arena, TcFor);
    *f = (TcFor){.name = ps->t.name, .range = ps->t.range, .up = ps->steps};
    if (ps->t.kind != TOK_NAME) {
        fail_expected(ps, "the name of an index");
        return;
    }
    advance(ps);
    if (at_name(ps, ps->name_in))
        advance(ps);
    else
        fail_expected(ps, "'in' and a range");
    if (!ps->failed) bounds(ps, &f->a, &f->b);
    f->depth = f->up ? f->up->depth + 1 : 0;
    if (f->depth >= PROGRAM_MAX_ITERS && !ps->failed) {
        diag_report(ps->diags, f->range, DIAG_TC_TOO_MANY, "'for' inside each other",
                    PROGRAM_MAX_ITERS);
        ps->failed = true;
    }
    ps->steps = f;
}

static void statements(TcParser *ps, TcFunc *f, TcStmt ***last);

// for t in 1:T, u in 0:K { statements }
static void steps(TcParser *ps, TcFunc *f, TcStmt ***last) {
    const TcFor *around = ps->steps;
    ps->report = NULL;
    advance(ps); // for
    do step_clause(ps);
    while (!ps->failed && accept(ps, ','));
    if (!ps->failed && !at(ps, '{')) {
        Diag *d = fail_expected(ps, "'{' and the statements that run step by step");
        instead(ps, d, "an index without order needs no loop: 'where i in 0:N' limits it");
    }
    Range brace = ps->t.range;
    if (!ps->failed) {
        advance(ps);
        statements(ps, f, last);
        if (!accept(ps, '}')) {
            ps->failed = false;
            Diag *d = fail_expected(ps, "'}'");
            diag_note(ps->diags, d, brace, DIAG_TC_BRACE_NOTE);
        }
    }
    ps->steps = around;
}

static void statements(TcParser *ps, TcFunc *f, TcStmt ***last) {
    TcStmt *latest = NULL;
    while (!at(ps, '}') && ps->t.kind != TOK_END && ps->t.kind != TOK_DEF) {
        if (at(ps, ';')) {
            Diag *d = diag_report(ps->diags, here(ps), DIAG_TC_SEMICOLON);
            diag_note(ps->diags, d, (Range){0, 0}, DIAG_TC_SEMICOLON_NOTE);
            f->broken = true;
            advance(ps);
            continue;
        }
        ps->failed = false;
        if (at_for(ps)) {
            steps(ps, f, last);
            latest = NULL;
        } else if (ps->t.kind != TOK_NAME && !at(ps, '(')) {
            Diag *d = fail_expected(ps, "a statement or '}'");
            if (at(ps, ':') && latest && latest->nwhere)
                instead(ps, d, "a range has no step: write '2*i' in the subscripts");
            advance(ps);
        } else {
            bool same_line = !ps->t.first;
            TcStmt *s = statement(ps), *previous = same_line ? latest : NULL;
            if (ps->failed) s->value = bad(ps, s->range), s->nwhere = 0;
            if (ps->failed && previous) // perhaps the previous statement was meant to continue
                previous->value = bad(ps, previous->range), previous->nwhere = 0;
            latest = s;
            if (s->ntargets) **last = s, *last = &s->next;
        }
        ps->recovered = ps->failed;
        if (ps->failed) {
            f->broken = true;
            recover(ps);
        }
    }
}

static void body(TcParser *ps, TcFunc *f, int errors) {
    Range brace = ps->t.range;
    TcStmt **last = &f->stmts;
    ps->steps = NULL;
    advance(ps); // {
    statements(ps, f, &last);
    f->broken |= ps->diags->errors != errors; // of its numbers too
    if (accept(ps, '}')) return;
    f->broken = true;
    ps->failed = false;
    Diag *d = fail_expected(ps, "'}'");
    diag_note(ps->diags, d, brace, DIAG_TC_BRACE_NOTE);
}

// --- Functions -----------------------------------------------------------------------------------

static void dimensions(TcParser *ps, TcParam *p) {
    advance(ps); // (
    p->shaped = true;
    p->rank = list(ps, false);
    p->dim = arena_new_n(ps->arena, TcNode *, p->rank);
    pop_list(ps, p->rank, p->dim);
}

static const char *nth_type(const void *of, size_t i) {
    (void)of;
    return tc_type_name_at((int)i);
}

static void fail_type(TcParser *ps, const TcToken *t) {
    Diag *d = diag_report(ps->diags, t->range, DIAG_TC_UNKNOWN_TYPE, t->name);
    const char *near = nearest(t->name, nth_type, NULL);
    ps->failed = true;
    if (strcmp(t->name, "inout") == 0)
        instead(ps, d, "a tensor that is updated in place is a result alone: '-> (float(N) A)'");
    else if (near)
        diag_note(ps->diags, d, nowhere, DIAG_DID_YOU_MEAN, near);
    else
        diag_note(ps->diags, d, nowhere, DIAG_TC_UNKNOWN_TYPE_NOTE);
}

// type [dims] name, or (for results) just a name.
static void parameter(TcParser *ps, TcParam *p, bool result) {
    *p = (TcParam){.range = ps->t.range};
    TcToken t = ps->t;
    if (t.kind != TOK_NAME) {
        fail_expected(ps, result ? "a result: a name, or a type and a name"
                                 : "a parameter: a type and a name");
        return;
    }
    advance(ps);
    p->type = tc_type_name(t.name, strlen(t.name));
    if (p->type == TYPE_NONE && !at(ps, '(') && ps->t.kind != TOK_NAME) {
        if (!result && !ps->failed) {
            ps->failed = true;
            Diag *d = diag_report(ps->diags, t.range, DIAG_TC_UNTYPED, t.name);
            diag_note(ps->diags, d, (Range){0, 0}, DIAG_TC_UNTYPED_NOTE, t.name, t.name);
        }
        p->name = t.name;
        p->name_range = t.range;
        return;
    }
    if (p->type == TYPE_NONE) {
        if (!ps->failed) fail_type(ps, &t);
        return;
    }
    if (at(ps, '(')) dimensions(ps, p);
    if (ps->t.kind != TOK_NAME) {
        Diag *d = fail_expected(ps, "the name of the parameter");
        if (at(ps, '[')) instead(ps, d, "sizes stand in parentheses: 'float(M,N) A'");
        return;
    }
    p->name = ps->t.name;
    p->name_range = ps->t.range;
    p->range.to = ps->t.range.to;
    advance(ps);
}

static int parameters(TcParser *ps, TcParam **out, bool result) {
    VEC(TcParam) v = {0};
    bool more = !at(ps, ')');
    while (!ps->failed && more) {
        TcParam p;
        parameter(ps, &p, result);
        if (!ps->failed) vec_push(ps->arena, &v, p);
        more = !ps->failed && accept(ps, ',');
    }
    if (!accept(ps, ')')) {
        Diag *d = fail_expected(ps, "',' or ')'");
        if (at(ps, '(') || at(ps, '['))
            instead(ps, d, "the sizes stand behind the type: 'float(M,N) A'");
    }
    *out = v.at;
    return v.n;
}

static void header(TcParser *ps, TcFunc *f) {
    if (ps->t.kind != TOK_NAME) {
        fail_expected(ps, "the name of the function");
        return;
    }
    f->name = ps->t.name;
    f->range = ps->t.range;
    advance(ps);
    if (!expect(ps, '(', "'('")) return;
    f->ninputs = parameters(ps, &f->input, false);
    if (ps->failed) return;
    if (ps->t.kind != TOK_ARROW) {
        instead(ps, fail_expected(ps, "'->' and the results"),
                "name the results behind the parameters: 'def f(float(N) A) -> (B) { ... }'");
        return;
    }
    advance(ps);
    if (!at(ps, '(')) {
        Diag *d = fail_expected(ps, "'(' before the results");
        if (d && ps->t.kind == TOK_NAME)
            diag_note(ps->diags, d, (Range){0, 0}, DIAG_TC_RESULT_NOTE, ps->t.name);
        return;
    }
    advance(ps);
    f->noutputs = parameters(ps, &f->output, true);
    if (!ps->failed && !at(ps, '{')) fail_expected(ps, "'{'");
}

static uint64_t name_hash(Name name) { return hash_mix(0, (uint64_t)(uintptr_t)name); }

static bool same_func(const void *key, const void *item) {
    return ((const TcFunc *)item)->name == key;
}

TcFunc *tc_find_func(TcFile *file, Arena *arena, Name name) {
    if (!file->by_name.n) return NULL;
    return *set_find(arena, &file->by_name, name_hash(name), name, same_func);
}

const char *tc_nth_function(const void *file, size_t i) {
    const TcFile *f = file;
    return i < (size_t)f->funcs.n ? f->funcs.at[i]->name : NULL;
}

static void add_func(TcParser *ps, TcFile *file, TcFunc *f) {
    void **slot = set_find(ps->arena, &file->by_name, name_hash(f->name), f->name, same_func);
    if (*slot) {
        const TcFunc *old = *slot;
        Diag *d = diag_report(ps->diags, f->range, DIAG_TC_FUNC_TWICE, f->name);
        diag_note(ps->diags, d, old->range, DIAG_TC_FIRST_NOTE);
        return;
    }
    if (tc_type_name(f->name, strlen(f->name))) {
        Diag *d = diag_report(ps->diags, f->range, DIAG_TC_RESERVED, f->name);
        diag_note(ps->diags, d, (Range){0, 0}, DIAG_TC_RENAME_NOTE);
        f->broken = true;
    }
    *slot = f;
    file->by_name.n++;
    vec_push(ps->arena, &file->funcs, f);
}

static void function(TcParser *ps, TcFile *file) {
    TcFunc *f = arena_new(ps->arena, TcFunc);
    int errors = ps->diags->errors;
    ps->failed = false;
    advance(ps); // def
    header(ps, f);
    f->broken = f->headless = ps->failed;
    if (f->broken) // parse the body anyway, to find its errors
        while (!at(ps, '{') && ps->t.kind != TOK_DEF && ps->t.kind != TOK_END) advance(ps);
    if (at(ps, '{')) body(ps, f, errors);
    if (f->name) add_func(ps, file, f);
}

void tc_parse_file(TcFile *file, Arena *arena, Names *names, const Source *source,
                   DiagList *diags) {
    TcParser ps = {.arena = arena, .diags = diags};
    if (source->len > TC_MAX_SOURCE) {
        diag_report(diags, (Range){0, 0}, DIAG_TC_TOO_LARGE, source->len, TC_MAX_SOURCE);
        return;
    }
    tc_lex_init(&ps.lx, arena, names, source, diags);
    ps.name_in = name_of(names, "in");
    ps.name_exists = name_of(names, "exists");
    ps.name_for = name_of(names, "for");
    advance(&ps);
    while (ps.t.kind != TOK_END) {
        if (ps.t.kind == TOK_DEF) {
            function(&ps, file);
            continue;
        }
        ps.failed = false;
        Diag *d = fail_expected(&ps, "'def' and a function");
        if (ps.t.kind == TOK_NAME)
            instead(&ps, d, "statements stand in a function: 'def f(float(N) A) -> (B) { ... }'");
        while (ps.t.kind != TOK_DEF && ps.t.kind != TOK_END) advance(&ps);
    }
}
