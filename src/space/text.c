// The text form of candidates and decisions, and of reasons.
#include "space/space.h"

#include "base/bug.h"

#include <stdlib.h>

// --- Printing ------------------------------------------------------------------------------------

void space_print_var(Text *out, const Space *s, int var) {
    const SpaceVar *x = &s->var[var];
    text_printf(out, "%s(", s->desc->choice[x->choice].name);
    if (x->a >= 0) text_add(out, s->name[x->a]);
    if (x->b >= 0) text_printf(out, ", %s", s->name[x->b]);
    text_char(out, ')');
}

void space_print_values(Text *out, const Space *s, int var, uint64_t values) {
    const ChoiceDesc *c = &s->desc->choice[s->var[var].choice];
    bool first = true;
    for (; values; values &= values - 1) {
        int bit = __builtin_ctzll(values);
        if (!first) text_char(out, '|');
        first = false;
        if (c->kind == CHOICE_INTEGER)
            text_int(out, s->universe[var][bit]);
        else
            text_add(out, c->value[bit]);
    }
}

void space_print(Text *out, const Space *s, const Cand *c) {
    for (int v = 0; v < s->ndecisions; v++) {
        uint64_t dom = space_domain(s, c, v);
        if (!s->var[v].present || dom == space_domain(s, s->root, v)) continue;
        space_print_var(out, s, v);
        text_add(out, dom & (dom - 1) ? " in " : " = ");
        space_print_values(out, s, v, dom);
        text_char(out, '\n');
    }
}

void removal_print(Text *out, const Space *s, const Removal *r) {
    space_print_var(out, s, r->var);
    text_add(out, " loses ");
    space_print_values(out, s, r->var, r->removed);
    if (r->rule < 0) {
        text_add(out, ": decided");
        return;
    }
    const RuleDesc *rule = &s->desc->rule[r->rule];
    text_printf(out, ": %s:%d, %s", s->desc->file, rule->line, rule->text);
    for (int i = 0; i < rule->nvars && i < 4; i++)
        if (r->object[i] >= 0)
            text_printf(out, "%s %s%s%s%s",
                        i                    ? ","
                        : r->object[3] == -2 ? " for"
                                             : " with",
                        r->object[3] == -2 ? "" : "$", r->object[3] == -2 ? "" : rule->var[i],
                        r->object[3] == -2 ? "" : " = ", s->name[r->object[i]]);
}

// --- Reading -------------------------------------------------------------------------------------

typedef struct Reader {
    Arena *arena;
    const Space *s;
    const Source *source;
    DiagList *diags;
    uint32_t at;
    bool failed;
} Reader;

static char peek(const Reader *r) { return r->at < r->source->len ? r->source->text[r->at] : 0; }

static void blanks(Reader *r) {
    while (peek(r) == ' ' || peek(r) == '\t') r->at++;
}

static bool word_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '~' || c == '-';
}

static Range word(Reader *r) {
    blanks(r);
    Range range = {r->at, r->at};
    while (word_char(peek(r))) r->at++;
    range.to = r->at;
    return range;
}

static bool is(const Reader *r, Range range, const char *name) {
    size_t n = range.to - range.from;
    return strlen(name) == n && memcmp(r->source->text + range.from, name, n) == 0;
}

static const char *spelled(Reader *r, Range range) {
    return arena_strndup(r->arena, r->source->text + range.from, range.to - range.from);
}

static bool take(Reader *r, const char *mark) {
    size_t n = strlen(mark);
    blanks(r);
    if (r->source->len - r->at < n || memcmp(r->source->text + r->at, mark, n)) return false;
    r->at += (uint32_t)n;
    return true;
}

static void need(Reader *r, const char *mark) {
    if (r->failed || take(r, mark)) return;
    Range here = {r->at, r->at};
    while (here.to < r->source->len && r->source->text[here.to] != '\n' && here.to - here.from < 12)
        here.to++;
    diag_report(r->diags, here, DIAG_TEXT_EXPECTED, arena_printf(r->arena, "'%s'", mark),
                (int)(here.to - here.from), r->source->text + here.from);
    r->failed = true;
}

static int object(Reader *r) {
    Range range = word(r);
    for (int o = 0; o < r->s->nobjects; o++)
        if (is(r, range, r->s->name[o])) return o;
    if (!r->failed) diag_report(r->diags, range, DIAG_SPACE_UNKNOWN_OBJECT, spelled(r, range));
    r->failed = true;
    return 0;
}

// choice(a, b): the variable, and whether values have to be turned round.
static int variable(Reader *r, bool *flipped) {
    Range name = word(r);
    int choice = -1, o[2] = {-1, -1}, n = 0;
    for (int k = 0; k < r->s->desc->nchoices; k++)
        if (is(r, name, r->s->desc->choice[k].name)) choice = k;
    if (choice < 0 || r->s->desc->choice[choice].kind == CHOICE_COUNTER) {
        diag_report(r->diags, name, DIAG_SPEC_UNKNOWN_CHOICE, spelled(r, name));
        r->failed = true;
        return -1;
    }
    need(r, "(");
    for (; !r->failed && n < r->s->desc->choice[choice].arity; n++) {
        if (n) need(r, ",");
        if (!r->failed) o[n] = object(r);
    }
    need(r, ")");
    if (r->failed) return -1;
    int var = space_var(r->s, choice, o[0], o[1], flipped);
    name.to = r->at;
    if (var < 0) diag_report(r->diags, name, DIAG_SPACE_NO_VARIABLE, spelled(r, name));
    r->failed |= var < 0;
    return var;
}

static uint64_t bound(const Space *s, int var, int64_t k, bool above) {
    uint64_t out = 0;
    for (int i = 0; i < s->nuniverse[var]; i++)
        if (above ? s->universe[var][i] >= k : s->universe[var][i] <= k) out |= 1ull << i;
    return out;
}

static uint64_t value(Reader *r, int var, int how) {
    const ChoiceDesc *c = &r->s->desc->choice[r->s->var[var].choice];
    Range range = word(r);
    char *end;
    const char *text = spelled(r, range);
    int64_t k = strtoll(text, &end, 10);
    if (c->kind == CHOICE_INTEGER && *text && !*end) {
        if (how) return bound(r->s, var, k, how > 0);
        int bit = space_bit(r->s, var, k);
        if (bit >= 0) return 1ull << bit;
    }
    for (int i = 0; c->kind == CHOICE_ENUM && i < c->nvalues; i++)
        if (is(r, range, c->value[i])) return 1ull << i;
    if (!r->failed) diag_report(r->diags, range, DIAG_SPEC_UNKNOWN_VALUE, text, c->name);
    r->failed = true;
    return 0;
}

static Decision line(Reader *r) {
    bool flipped = false, not = false;
    Decision d = {variable(r, &flipped), 0};
    int how = 0;
    if (r->failed) return d;
    if (take(r, "is not") || take(r, "!="))
        not = true;
    else if (take(r, "<="))
        how = -1;
    else if (take(r, ">="))
        how = 1;
    else if (!take(r, "==") && !take(r, "is ") && !take(r, "in "))
        need(r, "=");
    do {
        if (!r->failed) d.keep |= value(r, d.var, how);
    } while (take(r, "|"));
    const ChoiceDesc *c = &r->s->desc->choice[r->s->var[d.var].choice];
    if (flipped && !r->failed) {
        uint64_t turned = 0;
        for (int i = 0; i < c->nvalues; i++)
            if (d.keep >> i & 1) turned |= 1ull << c->inverse[i];
        d.keep = turned;
    }
    if (not ) d.keep = ~d.keep;
    blanks(r);
    if (!r->failed && peek(r) && peek(r) != '\n' && peek(r) != ';') need(r, "|");
    return d;
}

Decision *space_parse(Arena *arena, const Space *s, const Source *source, DiagList *diags, int *n) {
    Reader r = {arena, s, source, diags, 0, false};
    VEC(Decision) all = {0};
    const Source *old = diags->source;
    diags->source = source;
    while (!r.failed) {
        while (peek(&r) == ' ' || peek(&r) == '\n' || peek(&r) == ';' || peek(&r) == '\r') r.at++;
        if (r.at >= source->len) break;
        if (peek(&r) == '#') {
            while (r.at < source->len && peek(&r) != '\n') r.at++;
            continue;
        }
        Decision d = line(&r);
        if (!r.failed) vec_push(arena, &all, d);
    }
    diags->source = old;
    *n = all.n;
    if (r.failed) return NULL;
    return all.n ? all.at : arena_new(arena, Decision);
}
