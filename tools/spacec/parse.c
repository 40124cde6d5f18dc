// Parses a description. Names are declared before they are used, so they are resolved immediately;
// the first error of an item is reported and the parser continues with the next item.
#include "spacec.h"

#include <stdlib.h>
#include <string.h>

typedef struct Parser {
    Spec *s;
    Lexer lx;
    Token tok;
    uint32_t end; // of the previous token
    bool failed;  // in this item
} Parser;

// --- Tokens --------------------------------------------------------------------------------------

static void next(Parser *p) {
    p->end = p->tok.range.to;
    p->tok = lex_next(&p->lx);
}

static bool at(const Parser *p, const char *text) {
    bool plain = p->tok.kind == TOK_WORD || p->tok.kind == TOK_MARK || p->tok.kind == TOK_ELIDED;
    return plain && strcmp(p->tok.text, text) == 0;
}

static bool take(Parser *p, const char *text) {
    if (p->failed || !at(p, text)) return false;
    next(p);
    return true;
}

static void expected(Parser *p, const char *what) {
    if (!p->failed && p->tok.kind == TOK_END)
        diag_report(p->s->diags, p->tok.range, DIAG_TEXT_EXPECTED_END, what);
    else if (!p->failed && p->tok.kind != TOK_BAD)
        diag_report(p->s->diags, p->tok.range, DIAG_TEXT_EXPECTED, what,
                    (int)(p->tok.range.to - p->tok.range.from),
                    p->s->source->text + p->tok.range.from);
    p->failed = true;
}

static void need(Parser *p, const char *text) {
    if (!p->failed && !take(p, text)) expected(p, arena_printf(p->s->arena, "'%s'", text));
}

static Token need_kind(Parser *p, TokenKind kind, const char *what) {
    Token t = p->tok;
    if (!p->failed && t.kind == kind)
        next(p);
    else
        expected(p, what);
    return t;
}

static bool item_word(const Token *t) {
    static const char *const words[] = {"set",     "quotient", "choice", "define",
                                        "require", "trigger",  "host"};
    for (size_t i = 0; t->kind == TOK_WORD && i < sizeof words / sizeof *words; i++)
        if (strcmp(t->text, words[i]) == 0) return true;
    return false;
}

static void fault(Parser *p, Range range, DiagId id, Name name) {
    if (!p->failed) diag_report(p->s->diags, range, id, name);
    p->failed = true;
}

// --- Names ---------------------------------------------------------------------------------------

static int find_set(const Spec *s, Name name) {
    for (int i = 0; i < s->set.n; i++)
        if (s->set.at[i].name == name) return i;
    return -1;
}

int spec_find_choice(const Spec *s, Name name) {
    for (int i = 0; i < s->choice.n; i++)
        if (s->choice.at[i].name == name) return i;
    return -1;
}

// An unknown set or choice. If it is declared further down, a note says so.
static void unknown(Parser *p, Token t, DiagId id) {
    if (p->failed) return;
    Diag *d = diag_report(p->s->diags, t.range, id, t.text);
    p->failed = true;
    Lexer lx = p->lx;
    DiagList quiet = {.arena = p->s->arena, .source = p->s->source};
    lx.diags = &quiet;
    Name before = NULL;
    for (Token u = lex_next(&lx); u.kind != TOK_END; u = lex_next(&lx)) {
        static const char *const heads[] = {"set", "quotient", "enum", "integer", "counter"};
        bool declares = false;
        for (size_t i = 0; before && i < sizeof heads / sizeof *heads; i++)
            declares |= strcmp(before, heads[i]) == 0;
        if (declares && u.kind == TOK_WORD && u.text == t.text) {
            diag_note(p->s->diags, d, u.range, DIAG_SPEC_LATER_NOTE);
            return;
        }
        before = u.kind == TOK_WORD ? u.text : NULL;
    }
}

static int find_var(Parser *p, const Scope *scope, Token t) {
    for (int i = 0; i < scope->n; i++)
        if (scope->var[i].name == t.text) return i;
    fault(p, t.range, DIAG_SPEC_UNKNOWN_VARIABLE, t.text);
    return 0;
}

static void declare(Parser *p, Scope *scope, Token t, SetRef set) {
    for (int i = 0; i < scope->n; i++)
        if (scope->var[i].name == t.text) fault(p, t.range, DIAG_TEXT_DUPLICATE, t.text);
    if (!p->failed && scope->n == MAX_VARS)
        diag_report(p->s->diags, t.range, DIAG_PROGRAM_LIMIT, scope->n + 1, "variables", MAX_VARS);
    if (scope->n == MAX_VARS) p->failed = true;
    if (!p->failed) scope->var[scope->n++] = (Var){t.text, set, t.range};
}

// `Dimensions` or `OwnDims($inst)`
static SetRef set_ref(Parser *p, const Scope *scope) {
    Token t = need_kind(p, TOK_WORD, "the name of a set");
    SetRef r = {p->failed ? 0 : find_set(p->s, t.text), -1};
    if (!p->failed && r.set < 0) unknown(p, t, DIAG_SPEC_UNKNOWN_SET);
    if (p->failed) return (SetRef){0, -1};
    if (take(p, "(")) {
        Token v = need_kind(p, TOK_VAR, "a variable");
        if (!p->failed) r.param = find_var(p, scope, v);
        need(p, ")");
    }
    bool wants = p->s->set.at[r.set].param >= 0;
    if (!p->failed && wants != (r.param >= 0)) fault(p, t.range, DIAG_SPEC_PARAMETER, t.text);
    return r;
}

// `$x in SET`
static void variable(Parser *p, Scope *scope) {
    Token v = need_kind(p, TOK_VAR, "a variable");
    need(p, "in");
    SetRef set = set_ref(p, scope);
    if (!p->failed) declare(p, scope, v, set);
}

static void foralls(Parser *p, Scope *scope) {
    while (take(p, "forall")) {
        variable(p, scope);
        need(p, ":");
    }
}

// --- Sets ----------------------------------------------------------------------------------------

// An elided body needs no `end`.
static bool elided(Parser *p) {
    if (!take(p, "...")) return false;
    take(p, "end");
    return true;
}

static void set_field(Parser *p, SetDef *d) {
    Token key = need_kind(p, TOK_WORD, "a field, 'disjoint' or 'end'");
    if (!p->failed && strcmp(key.text, "disjoint") == 0) {
        need(p, ":");
        do {
            Token t = need_kind(p, TOK_WORD, "the name of a set");
            int other = p->failed ? 0 : find_set(p->s, t.text);
            if (other < 0) unknown(p, t, DIAG_SPEC_UNKNOWN_SET);
            if (!p->failed) vec_push(p->s->arena, &d->disjoint, other);
        } while (take(p, ","));
        return;
    }
    Scope own = {0}; // of `reverse forall $x in S = ...`
    if (take(p, "forall")) variable(p, &own);
    need(p, "=");
    if (take(p, "...")) return;
    Token code = need_kind(p, TOK_CODE, "code");
    if (!p->failed && strcmp(key.text, "item_getter") == 0) d->getter = code.text;
}

static void set_body(Parser *p, SetDef *d) {
    while (!p->failed) {
        if (take(p, "end")) return;
        if (at(p, "...")) {
            if (elided(p)) return;
        }
        set_field(p, d);
    }
}

static SetDef set_new(Parser *p, Token t) {
    if (!p->failed && find_set(p->s, t.text) >= 0) fault(p, t.range, DIAG_TEXT_DUPLICATE, t.text);
    return (SetDef){
        .name = t.text, .range = t.range, .superset = -1, .param = -1, .quotient = -1, .base = -1};
}

static void parse_set(Parser *p) {
    SetDef d = set_new(p, need_kind(p, TOK_WORD, "the name of a set"));
    Scope scope = {0};
    if (take(p, "(")) {
        variable(p, &scope);
        need(p, ")");
        if (!p->failed) d.param = scope.var[0].set.set;
    }
    if (take(p, "subsetof")) d.superset = set_ref(p, &scope).set;
    need(p, ":");
    set_body(p, &d);
    if (!p->failed) vec_push(p->s->arena, &p->s->set, d);
}

// --- Conditions ----------------------------------------------------------------------------------

static uint64_t value_mask(Parser *p, const Choice *c, Token t) {
    for (int i = 0; i < c->value.n; i++)
        if (c->value.at[i] == t.text) return 1ull << i;
    for (int i = 0; i < c->alias.n; i++)
        if (c->alias.at[i].name == t.text) return c->alias.at[i].mask;
    if (!p->failed) diag_report(p->s->diags, t.range, DIAG_SPEC_UNKNOWN_VALUE, t.text, c->name);
    p->failed = true;
    return 0;
}

static uint64_t value_set(Parser *p, const Choice *c) {
    uint64_t mask = 0;
    do {
        Token t = need_kind(p, TOK_WORD, "a value");
        if (!p->failed) mask |= value_mask(p, c, t);
    } while (take(p, "|"));
    return mask;
}

// choice($x, $y)
static Use use(Parser *p, const Scope *scope) {
    Token t = need_kind(p, TOK_WORD, "a choice or code");
    Use u = {-1, {-1, -1}, NULL};
    if (!p->failed) u.choice = spec_find_choice(p->s, t.text);
    if (!p->failed && u.choice < 0) unknown(p, t, DIAG_SPEC_UNKNOWN_CHOICE);
    need(p, "(");
    int n = 0;
    while (!p->failed && !at(p, ")")) {
        Token v = need_kind(p, TOK_VAR, "a variable");
        int var = p->failed ? 0 : find_var(p, scope, v);
        if (n < 2) u.arg[n] = var;
        n++;
        if (!take(p, ",")) break;
    }
    need(p, ")");
    if (p->failed) return u;
    const Choice *c = &p->s->choice.at[u.choice];
    if (n != c->arity) {
        diag_report(p->s->diags, t.range, DIAG_SPEC_ARITY, t.text, c->arity, n);
        p->failed = true;
    }
    for (int i = 0; i < n && i < 2 && !p->failed; i++) {
        const Var *v = &scope->var[u.arg[i]];
        if (!set_within(p->s, v->set.set, set_plain(p->s, c->scope.var[i].set.set))) {
            diag_report(p->s->diags, t.range, DIAG_SPEC_WRONG_SET, v->name,
                        p->s->set.at[v->set.set].name, c->name,
                        p->s->set.at[c->scope.var[i].set.set].name);
            p->failed = true;
        }
    }
    return u;
}

static bool comparison(Parser *p, Cmp *cmp) {
    static const char *const marks[] = {"<", "<=", ">", ">=", "==", "!="};
    for (int i = 0; i < 6; i++)
        if (take(p, marks[i])) {
            *cmp = (Cmp)i;
            return true;
        }
    return false;
}

static void compare(Parser *p, const Scope *scope, Atom *a) {
    const Choice *c = &p->s->choice.at[a->left.choice];
    Range place = p->tok.range;
    a->kind = ATOM_CMP;
    if (p->tok.kind == TOK_CODE) {
        a->right = (Use){-1, {-1, -1}, p->tok.text};
        next(p);
    } else {
        a->right = use(p, scope);
        if (p->failed) return;
        const Choice *other = &p->s->choice.at[a->right.choice];
        if (c->kind == SPEC_ENUM || other->kind == SPEC_ENUM) {
            bool same = a->left.choice == a->right.choice;
            if (!same || (a->cmp != CMP_EQ && a->cmp != CMP_NE))
                fault(p, place, DIAG_SPEC_NOT_NUMBER, c->name);
            a->kind = ATOM_SAME;
        }
        return;
    }
    if (c->kind == SPEC_ENUM) fault(p, place, DIAG_SPEC_NOT_NUMBER, c->name);
}

static Atom condition(Parser *p, const Scope *scope) {
    Atom a = {.range = p->tok.range};
    if (p->tok.kind == TOK_CODE) {
        a.kind = ATOM_CODE;
        a.left = (Use){-1, {-1, -1}, p->tok.text};
        next(p);
        return a;
    }
    if (at(p, "true") || at(p, "false")) {
        a.kind = ATOM_CONST;
        a.value = at(p, "true");
        next(p);
        return a;
    }
    a.left = use(p, scope);
    if (p->failed) return a;
    const Choice *c = &p->s->choice.at[a.left.choice];
    if (take(p, "is")) {
        bool negated = take(p, "not");
        a.kind = ATOM_ENUM;
        if (c->kind != SPEC_ENUM) fault(p, a.range, DIAG_SPEC_NOT_ENUM, c->name);
        if (!p->failed) a.mask = value_set(p, c);
        if (negated) a.mask = choice_all(c) & ~a.mask;
    } else if (comparison(p, &a.cmp)) {
        compare(p, scope, &a);
    } else {
        expected(p, "'is' or a comparison");
    }
    a.range.to = p->end;
    return a;
}

static void disjunction(Parser *p, Rule *r) {
    r->range = p->tok.range;
    r->table = -1;
    do {
        Atom a = condition(p, &r->scope);
        if (p->failed) return;
        vec_push(p->s->arena, &r->atom, a);
    } while (take(p, "||"));
    r->range.to = p->end;
}

// --- Rules and triggers --------------------------------------------------------------------------

static void parse_require(Parser *p) {
    Scope scope = {0};
    foralls(p, &scope);
    do {
        Rule r = {.scope = scope};
        disjunction(p, &r);
        if (!p->failed) vec_push(p->s->arena, &p->s->rule, r);
    } while (!p->failed && !item_word(&p->tok) && p->tok.kind != TOK_END);
}

static void parse_trigger(Parser *p) {
    Trigger t = {.range = p->tok.range};
    foralls(p, &t.scope);
    t.code = need_kind(p, TOK_CODE, "code").text;
    need(p, "when");
    take(p, ":");
    do {
        Atom a = condition(p, &t.scope);
        if (p->failed) return;
        vec_push(p->s->arena, &t.when, a);
    } while (take(p, "&&"));
    vec_push(p->s->arena, &p->s->trigger, t);
}

// --- Choices -------------------------------------------------------------------------------------

static void requires_clauses(Parser *p, Choice *c, uint64_t mask) {
    while (take(p, "requires")) {
        Rule r = {.scope = c->scope};
        foralls(p, &r.scope);
        disjunction(p, &r);
        if (p->failed) return;
        Atom other = {.kind = ATOM_ENUM,
                      .left = {p->s->choice.n, {0, c->arity > 1 ? 1 : -1}, NULL},
                      .mask = ~mask,
                      .range = r.range};
        vec_push(p->s->arena, &r.atom, other);
        vec_push(p->s->arena, &p->s->rule, r);
    }
}

static void enum_value(Parser *p, Choice *c) {
    Token t = need_kind(p, TOK_WORD, "the name of a value");
    for (int i = 0; i < c->value.n; i++)
        if (c->value.at[i] == t.text) fault(p, t.range, DIAG_TEXT_DUPLICATE, t.text);
    need(p, ":");
    if (p->failed) return;
    if (c->value.n == MAX_VALUES) {
        diag_report(p->s->diags, t.range, DIAG_PROGRAM_LIMIT, c->value.n + 1, "values", MAX_VALUES);
        p->failed = true;
        return;
    }
    c->inverse[c->value.n] = c->value.n;
    vec_push(p->s->arena, &c->value, t.text);
    requires_clauses(p, c, 1ull << (c->value.n - 1));
}

static void enum_alias(Parser *p, Choice *c) {
    Token t = need_kind(p, TOK_WORD, "the name of an alias");
    need(p, "=");
    Alias a = {t.text, value_set(p, c)};
    need(p, ":");
    if (!p->failed) vec_push(p->s->arena, &c->alias, a);
    if (!p->failed) requires_clauses(p, c, a.mask);
}

static void enum_inverses(Parser *p, Choice *c) {
    c->symmetric = true;
    need(p, ":");
    while (!p->failed && p->tok.kind == TOK_WORD && !at(p, "end") && !at(p, "value")) {
        Token t = p->tok;
        uint64_t from = value_mask(p, c, t);
        next(p);
        need(p, "->");
        Token u = need_kind(p, TOK_WORD, "a value");
        uint64_t to = p->failed ? 1 : value_mask(p, c, u);
        if (p->failed) return;
        c->inverse[__builtin_ctzll(from)] = __builtin_ctzll(to);
        c->inverse[__builtin_ctzll(to)] = __builtin_ctzll(from);
    }
}

static void enum_body(Parser *p, Choice *c) {
    while (!p->failed && !take(p, "end")) {
        if (at(p, "...")) { // elided: a yes or no, unless values were given
            c->elided = true;
            if (elided(p)) break;
        }
        if (take(p, "value"))
            enum_value(p, c);
        else if (take(p, "alias"))
            enum_alias(p, c);
        else if (take(p, "antisymmetric"))
            enum_inverses(p, c);
        else if (take(p, "symmetric"))
            c->symmetric = true;
        else
            expected(p, "'value', 'alias', 'symmetric', 'antisymmetric' or 'end'");
    }
    if (c->elided && !c->value.n && !p->failed) {
        static const char *const yes_no[] = {"FALSE", "TRUE"};
        for (int i = 0; i < 2; i++) {
            c->inverse[i] = i;
            vec_push(p->s->arena, &c->value, name_of(p->s->names, yes_no[i]));
        }
    }
    if (!p->failed && !c->value.n) fault(p, c->range, DIAG_SPEC_NO_VALUES, c->name);
    bool pair = c->arity == 2 && c->scope.var[0].set.set == c->scope.var[1].set.set;
    if (!p->failed && c->symmetric && !pair) fault(p, c->range, DIAG_SPEC_SYMMETRY, c->name);
}

static void counter_body(Parser *p, Choice *c) {
    if (take(p, "base")) c->base = need_kind(p, TOK_CODE, "code").text;
    foralls(p, &c->scope);
    c->product = at(p, "mul");
    if (!take(p, "mul")) need(p, "sum");
    if (p->tok.kind == TOK_CODE) {
        c->amount = (Use){-1, {-1, -1}, p->tok.text};
        if (c->product && strtoll(p->tok.text, NULL, 10) < 0)
            fault(p, p->tok.range, DIAG_SPEC_FACTOR, p->tok.text);
        next(p);
    } else {
        Range place = p->tok.range;
        c->amount = use(p, &c->scope);
        if (!p->failed && p->s->choice.at[c->amount.choice].kind == SPEC_ENUM)
            fault(p, place, DIAG_SPEC_NOT_NUMBER, p->s->choice.at[c->amount.choice].name);
    }
    if (take(p, "when")) {
        take(p, ":");
        while (!p->failed && !at(p, "end")) {
            Atom a = condition(p, &c->scope);
            if (!p->failed) vec_push(p->s->arena, &c->when, a);
            take(p, "&&");
        }
    }
    need(p, "end");
}

static void choice_head(Parser *p, Choice *c) {
    Token t = need_kind(p, TOK_WORD, "the name of a choice");
    c->name = t.text;
    c->range = t.range;
    if (!p->failed && spec_find_choice(p->s, t.text) >= 0)
        fault(p, t.range, DIAG_TEXT_DUPLICATE, t.text);
    need(p, "(");
    while (!p->failed && !at(p, ")")) {
        variable(p, &c->scope);
        if (!take(p, ",")) break;
    }
    need(p, ")");
    need(p, ":");
    c->arity = c->scope.n;
    if (!p->failed && c->arity > 2) {
        diag_report(p->s->diags, t.range, DIAG_PROGRAM_LIMIT, c->arity, "objects of a choice", 2);
        p->failed = true;
    }
}

static void parse_choice(Parser *p) {
    Choice c = {0};
    bool internal = take(p, "internal");
    c.half = take(p, "half") || internal;
    if (take(p, "enum")) {
        choice_head(p, &c);
        if (!p->failed) enum_body(p, &c);
    } else if (take(p, "integer")) {
        c.kind = SPEC_INTEGER;
        choice_head(p, &c);
        c.universe = need_kind(p, TOK_CODE, "code").text;
        need(p, "end");
    } else if (take(p, "counter")) {
        c.kind = SPEC_COUNTER;
        choice_head(p, &c);
        if (!p->failed) counter_body(p, &c);
    } else {
        expected(p, "'enum', 'integer' or 'counter'");
    }
    if (!p->failed) vec_push(p->s->arena, &p->s->choice, c);
}

// --- Quotients -----------------------------------------------------------------------------------

// The boolean choice that marks the representative of a class.
static int representative(Parser *p, Name name, Range range, const Scope *scope) {
    Choice c = {.name = name, .range = range, .scope = *scope, .arity = scope->n};
    static const char *const yes_no[] = {"FALSE", "TRUE"};
    if (spec_find_choice(p->s, name) >= 0) fault(p, range, DIAG_TEXT_DUPLICATE, name);
    for (int i = 0; i < 2; i++) {
        c.inverse[i] = i;
        vec_push(p->s->arena, &c.value, name_of(p->s->names, yes_no[i]));
    }
    vec_push(p->s->arena, &p->s->choice, c);
    return p->s->choice.n - 1;
}

static void parse_quotient(Parser *p) {
    Quotient q = {.range = p->tok.range};
    SetDef d = set_new(p, need_kind(p, TOK_WORD, "the name of a set"));
    if (take(p, "(")) {
        variable(p, &q.scope);
        need(p, ")");
        if (!p->failed) d.param = q.scope.var[0].set.set;
    }
    need(p, "of");
    variable(p, &q.scope);
    need(p, ":");
    Token name = need_kind(p, TOK_WORD, "the name of a choice");
    need(p, "=");
    do {
        Atom a = condition(p, &q.scope);
        if (p->failed) return;
        vec_push(p->s->arena, &q.when, a);
    } while (take(p, "&&"));
    need(p, "/");
    Token equiv = need_kind(p, TOK_WORD, "a choice");
    if (p->failed) return;
    q.equiv = spec_find_choice(p->s, equiv.text);
    if (q.equiv < 0) {
        unknown(p, equiv, DIAG_SPEC_UNKNOWN_CHOICE);
        return;
    }
    need(p, "is");
    if (!p->failed) q.mask = value_set(p, &p->s->choice.at[q.equiv]);
    d.base = q.scope.var[q.scope.n - 1].set.set;
    d.superset = d.base;
    d.getter = p->s->set.at[d.base].getter;
    set_body(p, &d);
    if (p->failed) return;
    q.set = p->s->set.n;
    q.repr = d.quotient = representative(p, name.text, name.range, &q.scope);
    vec_push(p->s->arena, &p->s->set, d);
    vec_push(p->s->arena, &p->s->quotient, q);
}

// --- Whole files ---------------------------------------------------------------------------------

static void parse_host(Parser *p) {
    p->s->host_type = need_kind(p, TOK_CODE, "the type of the host").text;
    need(p, "from");
    p->s->header = need_kind(p, TOK_CODE, "a header").text;
}

static void parse_item(Parser *p) {
    p->failed = false;
    if (take(p, "set"))
        parse_set(p);
    else if (take(p, "quotient"))
        parse_quotient(p);
    else if (take(p, "choice") || take(p, "define"))
        parse_choice(p);
    else if (take(p, "require"))
        parse_require(p);
    else if (take(p, "trigger"))
        parse_trigger(p);
    else if (take(p, "host"))
        parse_host(p);
    else if (at(p, "include"))
        fault(p, p->tok.range, DIAG_SPEC_INCLUDE, NULL);
    else
        expected(p, "'set', 'quotient', 'choice', 'require', 'trigger' or 'host'");
}

bool spec_parse(Spec *s) {
    Parser p = {.s = s, .lx = {s->source, s->diags, s->names, 0}};
    next(&p);
    while (p.tok.kind != TOK_END) {
        uint32_t from = p.tok.range.from;
        parse_item(&p);
        if (p.failed && p.tok.range.from == from && p.tok.kind != TOK_END) next(&p);
        while (p.failed && p.tok.kind != TOK_END && !item_word(&p.tok)) next(&p);
    }
    return s->diags->errors == 0;
}
