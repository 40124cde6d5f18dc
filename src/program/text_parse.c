// The parser of program text (docs/program-text.md): recursive descent over tokens made on demand.
//
// Errors: the first mistake of an item is reported and the rest of it skipped, up to the next line
// that begins a declaration or a labelled statement. Statements are skipped when a declaration
// failed: every use of the missing name would be an error too. The next line that begins a program
// is parsed in any case.
#include "program/text_impl.h"

#include <string.h>

// --- Declarations ------------------------------------------------------------------------------

static void check_size(Parser *ps, Range range) {
    Exprs *x = ps->p->exprs;
    if (!ps->bad && x->overflow) diag_report(ps->diags, range, DIAG_PROGRAM_OVERFLOW);
    if (!ps->bad && x->too_large) diag_report(ps->diags, range, DIAG_PROGRAM_TOO_LARGE);
    if (x->overflow || x->too_large) fail(ps);
    x->overflow = x->too_large = false;
}

static void duplicate(Parser *ps, Range range, Name name) {
    if (!ps->bad) diag_report(ps->diags, range, DIAG_TEXT_DUPLICATE, name);
    fail(ps);
}

static void parse_param(Parser *ps) {
    Range range = ps->token.range;
    Name name = expect_name(ps, "the name of a parameter");
    Type type = TYPE_NONE;
    if (ps->bad || too_many(ps, range, "parameters", ps->p->params.n, PROGRAM_MAX_PARAMS)) return;
    if (accept(ps, ":")) {
        type = accept_type(ps);
        if (!type_is_integer(type)) expected(ps, "an integer type");
    }
    if (program_find_param(ps->p, name) >= 0) duplicate(ps, range, name);
    if (ps->bad) return;
    int i = program_param(ps->p, name, type ? PARAM_SCALAR : PARAM_SIZE);
    ps->p->params.at[i].range = range;
    if (type) ps->p->params.at[i].type = type;
}

static void parse_head(Parser *ps) {
    expect(ps, "program");
    Name name = expect_name(ps, "the name of the program");
    if (name) ps->p->name = name;
    if (accept(ps, "(") && !accept(ps, ")")) {
        do parse_param(ps);
        while (!ps->bad && accept(ps, ","));
        expect(ps, ")");
    }
    expect(ps, "{");
}

// "[a, b]"
static int parse_list(Parser *ps, const Affine *out[PROGRAM_MAX_RANK]) {
    int n = 0;
    expect(ps, "[");
    while (!ps->bad && !is(ps, "]")) {
        if (too_many(ps, ps->token.range, "dimensions", n, PROGRAM_MAX_RANK)) break;
        out[n++] = text_affine(ps);
        if (!accept(ps, ",")) break;
    }
    expect(ps, "]");
    return n;
}

static void no_reads(Parser *ps, const Affine *const *a, int n, Range range) {
    for (int d = 0; d < n && !ps->bad; d++) {
        if (!a[d]->has_read) continue;
        diag_report(ps->diags, range, DIAG_TEXT_NO_READS);
        fail(ps);
    }
}

static void parse_tensor(Parser *ps, Role role) {
    Program *p = ps->p;
    const Affine *size[PROGRAM_MAX_RANK], *origin[PROGRAM_MAX_RANK];
    Range range = ps->token.range;
    Name name = expect_name(ps, "the name of a tensor");
    if (ps->bad || too_many(ps, range, "tensors", p->tensors.n, PROGRAM_MAX_TENSORS)) return;
    if (numbers_get(&ps->tensors, name) >= 0) duplicate(ps, range, name);
    expect(ps, ":");
    Type type = accept_type(ps);
    if (type == TYPE_NONE) expected(ps, "a type");
    int rank = parse_list(ps, size), origins = 0;
    bool shifted = !ps->bad && accept(ps, "from");
    if (shifted) origins = parse_list(ps, origin);
    if (shifted && !ps->bad && origins != rank) {
        diag_report(ps->diags, range, DIAG_TEXT_RANK, name, rank, origins);
        fail(ps);
    }
    no_reads(ps, size, rank, range);
    no_reads(ps, origin, origins, range);
    check_size(ps, range);
    if (ps->bad) return;
    numbers_put(&ps->tensors, name, p->tensors.n);
    program_tensor(p, name, type, role, rank, size);
    Tensor *t = &vec_last(&p->tensors);
    t->range = range;
    for (int d = 0; d < origins; d++) t->origin[d] = origin[d];
}

static void parse_require(Parser *ps, bool warn) {
    const Affine *what[2];
    Range range = ps->token.range;
    int n = text_condition(ps, what);
    no_reads(ps, what, n, range);
    check_size(ps, range);
    const char *why = NULL;
    if (at(ps, TOKEN_STRING)) {
        why = arena_strndup(ps->arena, ps->token.text, (size_t)ps->token.len);
        next(ps);
    }
    for (int i = 0; i < n && !ps->bad; i++)
        vec_push(ps->arena, &ps->p->preconditions,
                 ((Require){.what = what[i], .why = why, .range = range, .warn = warn}));
}

// --- Statements --------------------------------------------------------------------------------

static void parse_iter(Parser *ps, Stmt *st) {
    Range range = ps->token.range;
    Name name = expect_name(ps, "the name of an iterator");
    if (ps->bad || too_many(ps, range, "iterators", st->niters, PROGRAM_MAX_ITERS)) return;
    for (int i = 0; i < st->niters; i++)
        if (st->iter[i].name == name) duplicate(ps, range, name);
    expect(ps, "in");
    ps->st = NULL; // ranges know parameters only
    const Affine *bounds[2] = {text_affine(ps), NULL};
    expect(ps, ":");
    bounds[1] = text_affine(ps);
    ps->st = st;
    no_reads(ps, bounds, 2, range);
    if (ps->bad) return;
    st->iter[st->niters++] = (Iter){.name = name, .lo = bounds[0], .hi = bounds[1], .range = range};
}

static void parse_constraints(Parser *ps, Stmt *st) {
    VEC(const Affine *) all = {0};
    do {
        const Affine *two[2];
        Range range = ps->token.range;
        int n = text_condition(ps, two);
        no_reads(ps, two, n, range);
        for (int i = 0; i < n; i++) vec_push(ps->arena, &all, two[i]);
    } while (!ps->bad && accept(ps, ","));
    st->constraint = all.at;
    st->nconstraints = all.n;
}

static void parse_flags(Parser *ps, Stmt *st) {
    for (;;) {
        if (accept(ps, "post")) {
            st->post = true;
        } else if (accept(ps, "unchecked")) {
            st->unchecked = true;
        } else if (accept(ps, "hint")) {
            if (!at(ps, TOKEN_STRING)) expected(ps, "a string");
            if (ps->bad) return;
            st->hint = name_intern(ps->p->names, ps->token.text, (size_t)ps->token.len);
            next(ps);
        } else {
            return;
        }
    }
}

static void parse_operator(Parser *ps, Stmt *st) {
    for (int op = REDUCE_ASSIGN; op <= REDUCE_MAX; op++) {
        const char *name = reduce_name[op], *init = arena_printf(ps->arena, "%s!", name);
        bool plain = accept(ps, name);
        if (!plain && (op == REDUCE_ASSIGN || !accept(ps, init))) continue;
        st->op = (Reduce)op;
        st->init = !plain;
        return;
    }
    expected(ps, "'=', '+=', '*=', 'min=' or 'max='");
}

static void parse_label(Parser *ps, Stmt *st, Name label, Range range) {
    if (numbers_get(&ps->labels, label) >= 0) duplicate(ps, range, label);
    st->label = label;
    next(ps); // the colon
}

static void open_block(Parser *ps, const Stmt *st, Range range) {
    int outer = ps->serial.n;
    if (too_many(ps, range, "blocks inside each other", ps->blocks.n, PROGRAM_MAX_ITERS)) return;
    for (int i = outer; i < st->niters; i++) vec_push(ps->arena, &ps->serial, st->iter[i]);
    vec_push(ps->arena, &ps->blocks, outer);
}

static void close_block(Parser *ps) {
    ps->serial.n = ps->blocks.at[--ps->blocks.n];
    if (ps->joined > ps->serial.n) ps->joined = ps->serial.n;
}

// Label, domain, constraints and flags; gives the name of the tensor that is written, and its
// place. NULL also for iterators that open a block.
static Name parse_domain(Parser *ps, Stmt *st, Range *target) {
    *target = ps->token.range;
    if (at(ps, TOKEN_NAME)) {
        Name name = expect_name(ps, "");
        if (!is(ps, ":")) return name;
        parse_label(ps, st, name, *target);
    }
    if (accept(ps, "for")) {
        do parse_iter(ps, st);
        while (!ps->bad && accept(ps, ","));
        if (!st->label && accept(ps, "{")) {
            open_block(ps, st, *target);
            return NULL;
        }
    }
    if (accept(ps, "if")) parse_constraints(ps, st);
    parse_flags(ps, st);
    *target = ps->token.range;
    return expect_name(ps, "the element that is written");
}

static void parse_stmt(Parser *ps) {
    Program *p = ps->p;
    Iter iters[PROGRAM_MAX_ITERS];
    Stmt st = {.iter = iters, .serial = ps->serial.n, .joined = ps->joined};
    for (int i = 0; i < st.serial; i++) iters[st.niters++] = ps->serial.at[i];
    ps->st = &st;
    Name name = parse_domain(ps, &st, &st.range);
    if (!ps->bad && !name) {
        ps->st = NULL;
        return;
    }
    if (!ps->bad) st.write = text_access(ps, name, st.range);
    if (!ps->bad) parse_operator(ps, &st);
    Range value = ps->token.range;
    if (!ps->bad) st.value = text_expr(ps, 0);
    st.range.to = value.to = ps->end;
    check_size(ps, st.range);
    ps->st = NULL;
    if (ps->bad) return;
    const Tensor *t = &p->tensors.at[st.write->tensor];
    if (st.value->type != t->type) {
        diag_report(ps->diags, value, DIAG_TEXT_VALUE_TYPE, t->name, type_info[t->type].name,
                    type_info[st.value->type].name);
        fail(ps);
        return;
    }
    st.iter = arena_copy(ps->arena, iters, (size_t)st.niters * sizeof(Iter));
    if (st.label) numbers_put(&ps->labels, st.label, p->stmts.n);
    ps->joined = st.serial;
    *program_stmt(p, st.range) = st;
}

// --- The whole ---------------------------------------------------------------------------------

static const char *const declarations[] = {"input", "output", "inout", "temp", "require", "expect"};
enum { DECLARE_REQUIRE = 4, DECLARE_EXPECT, DECLARATIONS };

static int accept_declaration(Parser *ps) {
    for (int i = 0; i < DECLARATIONS; i++)
        if (accept(ps, declarations[i])) return i;
    return -1;
}

static bool at_declaration(const Parser *ps) {
    for (int i = 0; i < DECLARATIONS; i++)
        if (is(ps, declarations[i])) return true;
    return false;
}

static bool at_program(const Parser *ps) { return ps->token.first && is(ps, "program"); }

static bool at_body_end(const Parser *ps) {
    return ps->token.kind == TOKEN_END || is(ps, "}") || at_program(ps);
}

// Continues after a mistake: at a line that begins a declaration, a labelled statement or one with
// a domain, or at the end. `item` is where the faulty item began.
static void recover(Parser *ps, uint32_t item) {
    uint32_t line = ps->token.range.from;
    while (line > 0 && ps->lex.source->text[line - 1] != '\n') line--;
    ps->lex.quiet = true;
    if (line > item) { // the mistake may have been a missing end: look at this line from its start
        ps->lex.pos = line;
        next(ps);
        ps->token.first = true;
    }
    ps->bad = false;
    ps->nesting = 0;
    ps->st = NULL;
    while (!at_body_end(ps)) {
        bool labelled = at(ps, TOKEN_NAME) && lex_peek(&ps->lex) == ':';
        if (ps->token.first && (at_declaration(ps) || is(ps, "for") || labelled)) break;
        next(ps);
        ps->bad = false;
    }
    ps->lex.quiet = false;
}

static void parse_body(Parser *ps) {
    bool sound = true; // the declarations
    while (!at_body_end(ps) || (ps->blocks.n && is(ps, "}"))) {
        if (ps->blocks.n && accept(ps, "}")) {
            close_block(ps);
            continue;
        }
        if (too_many(ps, ps->token.range, "statements", ps->p->stmts.n, PROGRAM_MAX_STMTS)) return;
        uint32_t item = ps->token.range.from;
        int d = accept_declaration(ps);
        if (d < 0 && !sound) return;
        if (d >= DECLARE_REQUIRE)
            parse_require(ps, d == DECLARE_EXPECT);
        else if (d >= 0)
            parse_tensor(ps, (Role)d);
        else
            parse_stmt(ps);
        if (!ps->bad) continue;
        sound &= d < 0;
        recover(ps, item);
    }
    expect(ps, "}");
}

// Continues after a faulty program, at the next one.
static void skip_program(Parser *ps) {
    ps->lex.quiet = true;
    ps->bad = false;
    for (; ps->token.kind != TOKEN_END && !at_program(ps); ps->bad = false) next(ps);
    ps->nesting = 0;
    ps->st = NULL;
    ps->lex.quiet = false;
}

static Program *parse_one(Parser *ps, Names *names) {
    int before = ps->diags->errors;
    ps->p = program_new(ps->arena, names, "", 0);
    ps->tensors = ps->labels = (Numbers){.arena = ps->arena};
    ps->serial.n = ps->blocks.n = ps->joined = 0;
    ps->p->source = ps->lex.source;
    parse_head(ps);
    if (!ps->bad) parse_body(ps);
    return !ps->bad && ps->diags->errors == before && program_finish(ps->p, ps->diags) ? ps->p
                                                                                       : NULL;
}

int program_parse_all(Arena *arena, Names *names, const Source *source, DiagList *diags,
                      Program ***out) {
    const Source *outer = diags->source;
    VEC(Program *) list = {0};
    diags->source = source;
    Parser *ps = arena_new(arena, Parser);
    *ps = (Parser){.arena = arena, .lex = {.source = source, .diags = diags}, .diags = diags};
    if (source->len > PROGRAM_MAX_SOURCE) {
        diag_report(diags, (Range){0, 0}, DIAG_TEXT_SIZE, PROGRAM_MAX_SOURCE);
    } else {
        next(ps);
        do {
            Program *p = parse_one(ps, names);
            bool twice = false;
            if (!p) skip_program(ps);
            for (int i = 0; p && i < list.n; i++) twice |= list.at[i]->name == p->name;
            if (twice) diag_report(diags, (Range){0, 0}, DIAG_TEXT_PROGRAM_TWICE, p->name);
            if (p && !twice) vec_push(arena, &list, p);
        } while (ps->token.kind != TOKEN_END);
    }
    diags->source = outer;
    *out = list.at;
    return list.n;
}

Program *program_parse(Arena *arena, Names *names, const Source *source, DiagList *diags) {
    Program **all;
    int before = diags->errors, n = program_parse_all(arena, names, source, diags, &all);
    if (n > 1) diag_report(diags, (Range){0, 0}, DIAG_TEXT_ONE_PROGRAM, n);
    return n == 1 && diags->errors == before ? all[0] : NULL;
}
