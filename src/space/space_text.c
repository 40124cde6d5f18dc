// Prints and parses candidates and decisions, and prints reasons.
#include "space/engine.h"

#include "base/bug.h"
#include "base/nearest.h"

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

typedef struct SpaceReader {
    Arena *arena;
    const Space *s;
    const Source *source;
    DiagList *diags;
    uint32_t at;
    bool failed;
} SpaceReader;

static char peek(const SpaceReader *r) {
    return r->at < r->source->len ? r->source->text[r->at] : 0;
}

static void blanks(SpaceReader *r) {
    while (peek(r) == ' ' || peek(r) == '\t') r->at++;
}

static bool word_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '~' || c == '-';
}

static Range word(SpaceReader *r) {
    blanks(r);
    Range range = {r->at, r->at};
    while (word_char(peek(r))) r->at++;
    range.to = r->at;
    return range;
}

static bool is(const SpaceReader *r, Range range, const char *name) {
    size_t n = range.to - range.from;
    return strlen(name) == n && memcmp(r->source->text + range.from, name, n) == 0;
}

static const char *spelled(SpaceReader *r, Range range) {
    return arena_strndup(r->arena, r->source->text + range.from, range.to - range.from);
}

static bool take(SpaceReader *r, const char *mark) {
    size_t n = strlen(mark);
    blanks(r);
    if (r->source->len - r->at < n || memcmp(r->source->text + r->at, mark, n)) return false;
    r->at += (uint32_t)n;
    return true;
}

static void need(SpaceReader *r, const char *mark) {
    if (r->failed || take(r, mark)) return;
    Range here = {r->at, r->at};
    while (here.to < r->source->len && r->source->text[here.to] != '\n' && here.to - here.from < 12)
        here.to++;
    diag_report(r->diags, here, DIAG_TEXT_EXPECTED, arena_printf(r->arena, "'%s'", mark),
                (int)(here.to - here.from), r->source->text + here.from);
    r->failed = true;
}

// Names that may have been intended.
typedef struct Meant {
    const Space *s;
    int choice, set;
    Arena *arena; // of nth_decision
} Meant;

static const char *nth_object(const void *of, size_t i) {
    const Meant *m = of;
    const ObjectSet *set = &m->s->set[m->set];
    return i < (size_t)set->n ? m->s->name[set->item[i]] : NULL;
}

static const char *nth_choice(const void *of, size_t i) {
    const Meant *m = of;
    for (int k = 0; k < m->s->desc->nchoices; k++)
        if (m->s->desc->choice[k].kind != CHOICE_COUNTER && i-- == 0)
            return m->s->desc->choice[k].name;
    return NULL;
}

static const char *nth_value(const void *of, size_t i) {
    const Meant *m = of;
    const ChoiceDesc *c = &m->s->desc->choice[m->choice];
    return i < (size_t)c->nvalues ? c->value[i] : NULL;
}

// Of this choice.
static const char *nth_decision(const void *of, size_t i) {
    const Meant *m = of;
    for (int v = 0; v < m->s->ndecisions; v++)
        if (m->s->var[v].choice == m->choice && m->s->var[v].present && i-- == 0) {
            Text t = {.arena = m->arena};
            space_print_var(&t, m->s, v);
            return text_str(&t);
        }
    return NULL;
}

// An object of the set that this choice is about.
static int object(SpaceReader *r, int choice, int n) {
    Range range = word(r);
    for (int o = 0; o < r->s->nobjects; o++)
        if (is(r, range, r->s->name[o])) return o;
    if (r->failed) return 0;
    Diag *d = diag_report(r->diags, range, DIAG_SPACE_UNKNOWN_OBJECT, spelled(r, range));
    Meant m = {.s = r->s, .choice = choice, .set = r->s->desc->choice[choice].set[n]};
    diag_suggest(r->diags, d, spelled(r, range), nth_object, &m);
    r->failed = true;
    return 0;
}

// choice(a, b): the variable, and whether values must be flipped.
static int variable(SpaceReader *r, bool *flipped) {
    Range name = word(r);
    int choice = -1, o[2] = {-1, -1}, n = 0;
    for (int k = 0; k < r->s->desc->nchoices; k++)
        if (is(r, name, r->s->desc->choice[k].name)) choice = k;
    if (choice < 0 || r->s->desc->choice[choice].kind == CHOICE_COUNTER) {
        Diag *d = diag_report(r->diags, name, DIAG_SPEC_UNKNOWN_CHOICE, spelled(r, name));
        diag_suggest(r->diags, d, spelled(r, name), nth_choice, &(Meant){.s = r->s});
        r->failed = true;
        return -1;
    }
    need(r, "(");
    for (; !r->failed && n < r->s->desc->choice[choice].arity; n++) {
        if (n) need(r, ",");
        if (!r->failed) o[n] = object(r, choice, n);
    }
    need(r, ")");
    if (r->failed) return -1;
    int var = space_var(r->s, choice, o[0], o[1], flipped);
    name.to = r->at;
    if (var >= 0) return var;
    Diag *d = diag_report(r->diags, name, DIAG_SPACE_NO_VARIABLE, spelled(r, name));
    Meant m = {.s = r->s, .choice = choice, .arena = r->diags->arena};
    diag_suggest(r->diags, d, spelled(r, name), nth_decision, &m);
    r->failed = true;
    return var;
}

static uint64_t bound(const Space *s, int var, int64_t k, bool above) {
    uint64_t out = 0;
    for (int i = 0; i < s->nuniverse[var]; i++)
        if (above ? s->universe[var][i] >= k : s->universe[var][i] <= k) out |= 1ull << i;
    return out;
}

static uint64_t value(SpaceReader *r, int var, int how) {
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
    if (r->failed) return 0;
    Diag *d = diag_report(r->diags, range, DIAG_SPEC_UNKNOWN_VALUE, text, c->name);
    Meant m = {.s = r->s, .choice = r->s->var[var].choice};
    Text all = {.arena = r->arena};
    if (c->kind == CHOICE_INTEGER) {
        space_print_values(&all, r->s, var, ~0ull >> (64 - r->s->nuniverse[var]));
        diag_note(r->diags, d, (Range){0, 0}, DIAG_THERE_ARE, text_str(&all));
    } else {
        diag_suggest(r->diags, d, text, nth_value, &m);
    }
    r->failed = true;
    return 0;
}

static Decision line(SpaceReader *r) {
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
    SpaceReader r = {arena, s, source, diags, 0, false};
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

// --- Dead ends -----------------------------------------------------------------------------------

enum { MANY_REASONS = 5 };

// Notes why this variable has lost any of these values.
static int note_reasons(const Space *s, const SpaceTrace *trace, int var, uint64_t values,
                        DiagList *diags, Diag *d) {
    int n = 0;
    for (int i = 0; i < trace->at.n && n < MANY_REASONS; i++) {
        const Removal *r = &trace->at.at[i];
        if (r->var != var || !(r->removed & values)) continue;
        Text why = {.arena = diags->arena};
        removal_print(&why, s, r);
        diag_note(diags, d, (Range){0, 0}, DIAG_NONE, text_str(&why));
        n++;
    }
    return n;
}

// The variable that lost its last value first; -1: none did.
static int first_empty(Arena *arena, const Space *s, const Cand *from, const SpaceTrace *trace) {
    uint64_t *left = arena_new_n(arena, uint64_t, s->ndecisions);
    for (int v = 0; v < s->ndecisions; v++) left[v] = space_domain(s, from, v);
    for (int i = 0; i < trace->at.n; i++) {
        const Removal *r = &trace->at.at[i];
        if (r->var < s->ndecisions && !(left[r->var] &= ~r->removed)) return r->var;
    }
    return -1;
}

void space_note_dead(Arena *arena, SpaceWork *w, const Cand *from, const Decision *d, int n,
                     DiagList *diags, Diag *diag) {
    const Space *s = w->s;
    SpaceTrace trace = {.arena = arena}, root = {.arena = arena};
    Cand *c = space_cand(arena, s), *spare = space_cand(arena, s);
    space_copy(s, c, from);
    space_trace(w, &trace);
    int at = 0;
    while (at < n && space_keep(w, c, d[at].var, d[at].keep)) at++;
    space_trace(w, NULL);
    int var = first_empty(arena, s, from, &trace);
    if (at == n || var < 0) return;
    Text what = {.arena = diags->arena};
    space_print_var(&what, s, d[at].var);
    text_add(&what, " = ");
    space_print_values(&what, s, d[at].var, d[at].keep);
    text_add(&what, " cannot be");
    if (var != d[at].var) {
        text_add(&what, ", it leaves nothing for ");
        space_print_var(&what, s, var);
    }
    diag_note(diags, diag, (Range){0, 0}, DIAG_NONE, text_str(&what));
    uint64_t values = var == d[at].var ? d[at].keep : ~0ull;
    if (note_reasons(s, &trace, var, values, diags, diag)) return;
    space_trace_root(w, spare, &root);
    note_reasons(s, &root, var, values, diags, diag);
}

void space_report_dead(Arena *arena, SpaceWork *w, const Cand *from, const Decision *d, int n,
                       DiagList *diags) {
    Diag *diag = diag_report(diags, (Range){0, 0}, DIAG_SPACE_DEAD);
    space_note_dead(arena, w, from, d, n, diags, diag);
}
