// The generated file from top to bottom: tables, access functions, rules, counters, triggers, and
// the SpaceDesc that names them all. An object is an int called o_NAME.
#include "spacec.h"

#include <string.h>

// --- Pieces --------------------------------------------------------------------------------------

static bool word_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static const char *item_of(Emit *e, const Var *v) {
    Name getter = e->spec->set.at[v->set.set].getter;
    for (int s = v->set.set; !getter && s >= 0; s = e->spec->set.at[s].superset)
        getter = e->spec->set.at[s].getter;
    const char *id = arena_printf(e->spec->arena, "o_%s", v->name);
    if (!getter) return id;
    Text t = {.arena = e->spec->arena};
    text_char(&t, '(');
    for (const char *c = getter; *c; c++) {
        if (strncmp(c, "$id", 3) == 0 && !word_char(c[3])) {
            text_add(&t, id);
            c += 2;
        } else
            text_char(&t, *c);
    }
    text_char(&t, ')');
    return text_str(&t);
}

const char *emit_code(Emit *e, const Scope *scope, Name code) {
    Text t = {.arena = e->spec->arena};
    for (const char *c = code; *c; c++) {
        size_t n = 0;
        while (word_char(c[n + 1])) n++;
        int v = -1;
        for (int i = 0; (*c == '$' || *c == '#') && i < scope->n; i++)
            if (strlen(scope->var[i].name) == n && memcmp(scope->var[i].name, c + 1, n) == 0) v = i;
        if (v < 0) {
            text_char(&t, *c);
            continue;
        }
        if (*c == '$')
            text_add(&t, item_of(e, &scope->var[v]));
        else
            text_printf(&t, "o_%s", scope->var[v].name);
        c += n;
    }
    return text_str(&t);
}

const char *emit_args(Emit *e, const Scope *scope, const Use *u) {
    const char *arg[2] = {"-1", "-1"};
    for (int i = 0; i < 2; i++)
        if (u->arg[i] >= 0)
            arg[i] = arena_printf(e->spec->arena, "o_%s", scope->var[u->arg[i]].name);
    return arena_printf(e->spec->arena, "%s, %s", arg[0], arg[1]);
}

// --- Access --------------------------------------------------------------------------------------

static void emit_index(Emit *e, const Choice *c) {
    int set[2] = {-1, -1};
    for (int i = 0; i < c->arity; i++) set[i] = set_plain(e->spec, c->scope.var[i].set.set);
    text_printf(e->out, "static inline int %s_index(const Space *s, int a, int b) {\n", c->name);
    text_add(e->out, "    (void)s, (void)a, (void)b;\n");
    if (c->arity == 0)
        text_add(e->out, "    return 0;\n");
    else if (c->arity == 1)
        text_printf(e->out, "    return s->set[%d].rank[a];\n", set[0]);
    else if (!c->symmetric)
        text_printf(e->out, "    return s->set[%d].rank[a] * s->set[%d].n + s->set[%d].rank[b];\n",
                    set[0], set[1], set[1]);
    else
        text_printf(e->out,
                    "    int i = s->set[%d].rank[a], j = s->set[%d].rank[b];\n"
                    "    return i > j ? i * (i - 1) / 2 + j : j * (j - 1) / 2 + i;\n",
                    set[0], set[0]);
    text_add(e->out, "}\n");
}

static bool turns(const Choice *c) {
    for (int i = 0; i < c->value.n; i++)
        if (c->inverse[i] != i) return true;
    return false;
}

static void emit_flip(Emit *e, const Choice *c) {
    text_printf(e->out, "static const uint8_t %s_flip[] = {", c->name);
    for (unsigned m = 0; m < 1u << c->value.n; m++)
        text_printf(e->out, "%s%u", m ? ", " : "", (unsigned)choice_invert(c, m));
    text_add(e->out, "};\n");
}

static void emit_domain(Emit *e, int k) {
    const Choice *c = &e->spec->choice.at[k];
    const char *n = c->name;
    bool small = c->kind == SPEC_ENUM && c->value.n <= 8;
    const char *type = small ? "uint8_t" : "uint64_t", *bits = small ? "8" : "64";
    if (c->symmetric) emit_flip(e, c);
    int set = c->symmetric ? set_plain(e->spec, c->scope.var[0].set.set) : 0;
    const char *turned =
        c->symmetric && turns(c)
            ? arena_printf(e->spec->arena, "    if (s->set[%d].rank[a] < s->set[%d].rank[b]) ", set,
                           set)
            : NULL;
    text_printf(e->out,
                "static inline %s %s_get(const SpaceWork *w, int a, int b) {\n"
                "    const Space *s = w->s;\n"
                "    %s d = ((const %s *)(w->v + s->offset[%d]))[%s_index(s, a, b)];\n",
                type, n, type, type, k, n);
    if (turned) text_printf(e->out, "%sd = %s_flip[d];\n", turned, n);
    text_add(e->out, "    return d;\n}\n");
    text_printf(e->out,
                "static inline void %s_keep(SpaceWork *w, int a, int b, uint64_t keep) {\n"
                "    const Space *s = w->s;\n"
                "    int i = %s_index(s, a, b);\n",
                n, n);
    if (turned)
        text_printf(e->out, "%skeep = %s_flip[keep & %u];\n", turned, n, (unsigned)choice_all(c));
    text_printf(
        e->out,
        "    eng_keep%s(w, s->base[%d] + i, &((%s *)(w->v + s->offset[%d]))[i], (%s)keep);\n"
        "}\n",
        bits, k, type, k, type);
}

static void emit_number(Emit *e, int k) {
    const Choice *c = &e->spec->choice.at[k];
    const char *n = c->name;
    if (c->kind == SPEC_COUNTER) {
        for (int hi = 0; hi < 2; hi++)
            text_printf(
                e->out,
                "static inline int64_t %s_%s(const SpaceWork *w, int a, int b) {\n"
                "    const Space *s = w->s;\n"
                "    return ((const int64_t *)(w->v + s->offset[%d]))[2 * %s_index(s, a, b)%s];\n"
                "}\n",
                n, hi ? "hi" : "lo", k, n, hi ? " + 1" : "");
        text_printf(e->out,
                    "static void %s_at_most(SpaceWork *w, int a, int b, int64_t k);\n"
                    "static void %s_at_least(SpaceWork *w, int a, int b, int64_t k);\n",
                    n, n);
        return;
    }
    static const char *const ends[] = {"lo", "min", "hi", "max"};
    for (int i = 0; i < 4; i += 2)
        text_printf(
            e->out,
            "static inline int64_t %s_%s(const SpaceWork *w, int a, int b) {\n"
            "    return eng_%s(w->s, w->s->base[%d] + %s_index(w->s, a, b), %s_get(w, a, b));\n"
            "}\n",
            n, ends[i], ends[i + 1], k, n, n);
    static const char *const bounds[] = {"at_most", "at_least", "equal"};
    for (int i = 0; i < 3; i++)
        text_printf(e->out,
                    "static inline void %s_%s(SpaceWork *w, int a, int b, int64_t k) {\n"
                    "    int v = w->s->base[%d] + %s_index(w->s, a, b);\n"
                    "    %s_keep(w, a, b, eng_%s(w->s, v, k));\n"
                    "}\n",
                    n, bounds[i], k, n, n, bounds[i]);
}

void emit_access(Emit *e) {
    for (int k = 0; k < e->spec->choice.n; k++) {
        const Choice *c = &e->spec->choice.at[k];
        emit_index(e, c);
        if (c->kind != SPEC_COUNTER) emit_domain(e, k);
        if (c->kind != SPEC_ENUM) emit_number(e, k);
    }
}

// --- Tables --------------------------------------------------------------------------------------

static void emit_sets(Emit *e) {
    text_add(e->out, "static const SetDesc sets[] = {\n");
    for (int i = 0; i < e->spec->set.n; i++) {
        const SetDef *d = &e->spec->set.at[i];
        text_printf(e->out, "    {\"%s\", %d, %d},\n", d->name, d->quotient >= 0 ? -1 : d->superset,
                    d->quotient >= 0 ? -1 : d->param);
    }
    text_add(e->out, "};\n");
}

static void emit_choice(Emit *e, int k) {
    const Choice *c = &e->spec->choice.at[k];
    static const char *const kind[] = {"CHOICE_ENUM", "CHOICE_INTEGER", "CHOICE_COUNTER"};
    int set[2] = {-1, -1}, family[2] = {-1, -1};
    for (int i = 0; i < c->arity; i++) {
        const SetRef *r = &c->scope.var[i].set;
        set[i] = set_plain(e->spec, r->set);
        if (r->param >= 0) family[i] = r->set;
    }
    int width = c->kind == SPEC_COUNTER ? 16 : c->kind == SPEC_ENUM && c->value.n <= 8 ? 1 : 8;
    text_printf(e->out, "    {\"%s\", %s, %d, {%d, %d}, {%d, %d}, %d, ", c->name, kind[c->kind],
                c->arity, set[0], set[1], family[0], family[1], c->value.n);
    text_printf(e->out, "%s, ",
                c->value.n ? arena_printf(e->spec->arena, "%s_values", c->name) : "NULL");
    text_printf(e->out, "%s, %s, %d},\n",
                c->symmetric ? arena_printf(e->spec->arena, "%s_inverse", c->name) : "NULL",
                c->half ? "true" : "false", width);
}

static void emit_choices(Emit *e) {
    for (int k = 0; k < e->spec->choice.n; k++) {
        const Choice *c = &e->spec->choice.at[k];
        if (!c->value.n) continue;
        text_printf(e->out, "static const char *const %s_values[] = {", c->name);
        for (int i = 0; i < c->value.n; i++)
            text_printf(e->out, "%s\"%s\"", i ? ", " : "", c->value.at[i]);
        text_add(e->out, "};\n");
        if (!c->symmetric) continue;
        text_printf(e->out, "static const uint8_t %s_inverse[] = {", c->name);
        for (int i = 0; i < c->value.n; i++)
            text_printf(e->out, "%s%d", i ? ", " : "", c->inverse[i]);
        text_add(e->out, "};\n");
    }
    text_add(e->out, "static const ChoiceDesc choices[] = {\n");
    for (int k = 0; k < e->spec->choice.n; k++) emit_choice(e, k);
    text_add(e->out, "};\n");
}

static void emit_rule_table(Emit *e) {
    for (int i = 0; i < e->spec->rule.n; i++) {
        const Scope *scope = &e->spec->rule.at[i].scope;
        text_printf(e->out, "static const char *const rule%d_vars[] = {", i);
        for (int v = 0; v < scope->n; v++) text_printf(e->out, "\"%s\", ", scope->var[v].name);
        text_add(e->out, "NULL};\n");
    }
    text_add(e->out, "static const RuleDesc rules[] = {\n");
    for (int i = 0; i < e->spec->rule.n; i++) {
        const Rule *r = &e->spec->rule.at[i];
        int line, column;
        source_position(e->spec->source, r->range.from, &line, &column);
        text_printf(e->out, "    {%d, \"", line);
        bool blank = false;
        for (uint32_t at = r->range.from; at < r->range.to; at++) {
            char c = e->spec->source->text[at];
            bool space = c == ' ' || c == '\n' || c == '\t';
            if (space && !blank) text_char(e->out, ' ');
            blank = space;
            if (c == '"' || c == '\\') text_char(e->out, '\\');
            if (!space) text_char(e->out, c);
        }
        text_printf(e->out, "\", %d, rule%d_vars},\n", r->scope.n, i);
    }
    text_add(e->out, "    {0, NULL, 0, NULL},\n};\n");
}

static void emit_universe(Emit *e) {
    text_add(e->out,
             "static int universe(const Space *s, int choice, int a, int b, int64_t *out) {\n"
             "    HOST(s)\n    (void)a, (void)b, (void)out;\n    switch (choice) {\n");
    for (int k = 0; k < e->spec->choice.n; k++) {
        const Choice *c = &e->spec->choice.at[k];
        if (c->kind != SPEC_INTEGER) continue;
        text_printf(e->out, "    case %d: {\n", k);
        for (int i = 0; i < c->arity; i++)
            text_printf(e->out, "        int o_%s = %s;\n        (void)o_%s;\n",
                        c->scope.var[i].name, i ? "b" : "a", c->scope.var[i].name);
        text_printf(e->out, "        return (%s);\n    }\n", emit_code(e, &c->scope, c->universe));
    }
    text_add(e->out, "    default: return 0;\n    }\n}\n");
}

// --- The header ----------------------------------------------------------------------------------

static const char *upper(Emit *e, const char *s) {
    char *out = arena_strndup(e->spec->arena, s, strlen(s));
    for (char *c = out; *c; c++)
        if (*c >= 'a' && *c <= 'z') *c = (char)(*c - 'a' + 'A');
    return out;
}

static void emit_header(Emit *e) {
    const Spec *s = e->spec;
    const char *up = upper(e, s->name);
    text_printf(e->out,
                "// Made by spacec from %s.\n#ifndef LW_GEN_%s_SPACE_H\n#define LW_GEN_%s_SPACE_H\n"
                "#include \"space/space.h\"\nextern const SpaceDesc %s_desc;\n",
                s->source->name, up, up, s->name);
    text_add(e->out, "enum {\n");
    for (int i = 0; i < s->set.n; i++)
        text_printf(e->out, "    %s_SET_%s = %d,\n", up, upper(e, s->set.at[i].name), i);
    for (int i = 0; i < s->choice.n; i++)
        text_printf(e->out, "    %s_%s = %d,\n", up, upper(e, s->choice.at[i].name), i);
    for (int i = 0; i < s->choice.n; i++)
        for (int v = 0; v < s->choice.at[i].value.n; v++)
            text_printf(e->out, "    %s_%s_%s = 1 << %d,\n", up, upper(e, s->choice.at[i].name),
                        s->choice.at[i].value.at[v], v);
    text_add(e->out, "};\n#endif\n");
}

void emit_space(const Spec *s, Text *c, Text *h) {
    Emit head = {s, h}, body = {s, c}, *e = &body;
    emit_header(&head);
    text_printf(c,
                "// Made by spacec from %s.\n#include \"%s_space.h\"\n#include \"space/engine.h\"\n"
                "#pragma GCC diagnostic ignored \"-Wunused-function\"\n"
                "#pragma GCC diagnostic ignored \"-Wunused-variable\"\n"
                "#pragma GCC diagnostic ignored \"-Wunused-parameter\"\n"
                "#pragma GCC diagnostic ignored \"-Wshadow\"\n"
                "#pragma GCC diagnostic ignored \"-Wconversion\"\n",
                s->source->name, s->name);
    if (s->header) text_printf(c, "#include \"%s\"\n", s->header);
    text_printf(c, "#define HOST(s) const %s *host = (s)->host; (void)host;\n\n",
                s->host_type ? s->host_type : "void");
    emit_sets(e);
    emit_choices(e);
    emit_rule_table(e);
    emit_access(e);
    emit_tables(e);
    emit_counters(e);
    emit_rules(e);
    emit_triggers(e);
    emit_universe(e);
    text_printf(
        c,
        "const SpaceDesc %s_desc = {\n    \"%s\", \"%s\", %lluull, %d, %d, %d, sets, choices, "
        "rules,\n    setup, changed, born, recount, universe,\n};\n",
        s->name, s->name, s->source->name,
        (unsigned long long)hash_bytes(1, s->source->text, s->source->len), s->set.n, s->choice.n,
        s->rule.n);
}
