// Reading Stripe text: tokens, index expressions, tags and places.
#include "stripe/stripe_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

void stripe_fail(StripeParser *p, Range range, DiagId id, ...) {
    if (p->failed) return;
    va_list args;
    va_start(args, id);
    diag_report_va(p->diags, range, id, args);
    va_end(args);
    p->failed = true;
}

// --- Tokens ------------------------------------------------------------------------------------

void stripe_next(StripeParser *p) {
    p->end = p->tok.range.to;
    p->tok = stripe_lex(&p->lx);
    if (p->tok.kind == ST_BAD) p->failed = true;
}

bool stripe_is_mark(const StripeParser *p, const char *mark) {
    return p->tok.kind == ST_MARK && (int)strlen(mark) == p->tok.len &&
           !memcmp(p->tok.text, mark, (size_t)p->tok.len);
}

bool stripe_token_is(const StripeToken *t, const char *word) {
    return t->kind == ST_NAME && !t->quoted && (int)strlen(word) == t->len &&
           !memcmp(t->text, word, (size_t)t->len);
}

bool stripe_is_word(const StripeParser *p, const char *word) {
    return stripe_token_is(&p->tok, word);
}

void stripe_expected(StripeParser *p, const char *what) {
    if (p->failed) return;
    if (p->tok.kind == ST_END) {
        stripe_fail(p, p->tok.range, DIAG_STRIPE_EXPECTED, what, "the end of the text");
        return;
    }
    const char *found = p->lx.source->text + p->tok.range.from;
    int len = (int)(p->tok.range.to - p->tok.range.from);
    stripe_fail(p, p->tok.range, DIAG_STRIPE_EXPECTED, what,
                arena_printf(p->arena, "'%.*s'", len > 40 ? 40 : len, found));
}

bool stripe_accept(StripeParser *p, const char *mark) {
    if (p->failed || !stripe_is_mark(p, mark)) return false;
    stripe_next(p);
    return true;
}

void stripe_expect(StripeParser *p, const char *mark) {
    if (!stripe_accept(p, mark)) stripe_expected(p, arena_printf(p->arena, "'%s'", mark));
}

Name stripe_take_name(StripeParser *p, const char *what) {
    if (p->failed || p->tok.kind != ST_NAME) {
        stripe_expected(p, what);
        return name_of(p->names, "?");
    }
    Name name = name_intern(p->names, p->tok.text, (size_t)p->tok.len);
    stripe_next(p);
    return name;
}

int64_t stripe_take_int(StripeParser *p, const char *what) {
    if (p->failed || p->tok.kind != ST_INT) {
        stripe_expected(p, what);
        return 0;
    }
    bool hex = p->tok.len > 2 && p->tok.text[1] == 'x';
    uint64_t v = 0;
    for (int i = hex ? 2 : 0; i < p->tok.len; i++) {
        char c = p->tok.text[i];
        uint64_t digit = (uint64_t)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
        if (v > ((uint64_t)INT64_MAX - digit) / (hex ? 16 : 10)) {
            stripe_fail(p, p->tok.range, DIAG_STRIPE_NUMBER);
            return 0;
        }
        v = v * (hex ? 16 : 10) + digit;
    }
    stripe_next(p);
    return (int64_t)v;
}

StripeToken stripe_peek(const StripeParser *p) {
    StripeLexer lx = p->lx;
    DiagList quiet = {.arena = p->arena};
    lx.diags = &quiet;
    return stripe_lex(&lx);
}

// --- Index expressions -------------------------------------------------------------------------

const Index *stripe_find_index(const StripeScope *s, Name name) {
    for (int i = 0; s && i < s->index.n; i++)
        if (s->index.at[i].name == name) return &s->index.at[i];
    return NULL;
}

static const Affine *index_atom(StripeParser *p, const StripeScope *s, Range range) {
    Name name = stripe_take_name(p, "an index");
    const Index *x = stripe_find_index(s, name);
    // An index that is passed in unchanged keeps its own number, which is more precise.
    if (x && x->passed && affine_as_iter(x->passed) >= 0) return x->passed;
    if (x) return affine_iter(p->x, x->id);
    if (!p->failed) {
        Diag *d = diag_report(p->diags, range, DIAG_STRIPE_INDEX_UNKNOWN, name);
        for (const StripeScope *up = s ? s->up : NULL; up; up = up->up)
            if (stripe_find_index(up, name)) {
                diag_note(p->diags, d, (Range){0, 0}, DIAG_STRIPE_PASS_NOTE, name, name);
                break;
            }
    }
    p->failed = true;
    return affine_const(p->x, 0);
}

// In a place, #bank is the index of the block that has that tag.
static const Affine *tag_atom(StripeParser *p, const StripeScope *s) {
    Range range = p->tok.range;
    Name tag = name_intern(p->names, p->tok.text, (size_t)p->tok.len);
    stripe_next(p);
    for (int i = 0; s && i < s->index.n; i++)
        if (stripe_has_tag(&s->index.at[i].tags, tag)) return affine_iter(p->x, s->index.at[i].id);
    stripe_fail(p, range, DIAG_STRIPE_INDEX_TAG, tag);
    return affine_const(p->x, 0);
}

static const Affine *extremum(StripeParser *p, const StripeScope *s, bool scalars) {
    bool min = stripe_is_word(p, "min");
    stripe_next(p);
    stripe_expect(p, "(");
    const Affine *a = stripe_affine(p, s, scalars);
    while (stripe_accept(p, ",")) {
        const Affine *b = stripe_affine(p, s, scalars);
        a = min ? affine_min(p->x, a, b) : affine_max(p->x, a, b);
    }
    stripe_expect(p, ")");
    return a;
}

static const Affine *factor(StripeParser *p, const StripeScope *s, bool scalars) {
    const Affine *a = affine_const(p->x, 0);
    if (p->failed) return a;
    if (++p->parens > STRIPE_MAX_PARENS) {
        stripe_fail(p, p->tok.range, DIAG_STRIPE_NESTING, STRIPE_MAX_PARENS);
    } else if (stripe_accept(p, "-")) {
        a = affine_scale(p->x, factor(p, s, scalars), -1);
    } else if (stripe_accept(p, "+")) {
        a = factor(p, s, scalars);
    } else if (stripe_accept(p, "(")) {
        a = stripe_affine(p, s, scalars);
        stripe_expect(p, ")");
    } else if (p->tok.kind == ST_INT) {
        a = affine_const(p->x, stripe_take_int(p, "a number"));
    } else if (p->tok.kind == ST_SCALAR) {
        a = stripe_scalar_atom(p, (StripeScope *)s, scalars);
    } else if (stripe_is_word(p, "min") || stripe_is_word(p, "max")) {
        a = extremum(p, s, scalars);
    } else if (p->tok.kind == ST_TAG && p->in_place) {
        a = tag_atom(p, s);
    } else if (p->tok.kind == ST_NAME) {
        a = index_atom(p, s, p->tok.range);
    } else {
        stripe_expected(p, "an index expression");
    }
    p->parens--;
    return a;
}

static const Affine *product(StripeParser *p, const StripeScope *s, bool scalars) {
    const Affine *a = factor(p, s, scalars);
    while (!p->failed) {
        if (stripe_accept(p, "*"))
            a = affine_mul(p->x, a, factor(p, s, scalars));
        else if (stripe_accept(p, "/"))
            a = affine_div(p->x, a, factor(p, s, scalars));
        else if (stripe_accept(p, "%"))
            a = affine_mod(p->x, a, factor(p, s, scalars));
        else
            break;
    }
    return a;
}

// Index arithmetic at run time must fit in 64 bits at every point.
void stripe_check_affine(StripeParser *p, const Affine *a, Range range) {
    int64_t lo = 0, hi = 0;
    if (p->failed) return;
    if (p->x->too_large) stripe_fail(p, range, DIAG_STRIPE_TOO_LARGE);
    bool fits = !p->x->overflow && a->constant > -STRIPE_LIMIT && a->constant < STRIPE_LIMIT;
    for (int i = 0; i < a->n && fits; i++)
        fits = a->term[i].coef > -STRIPE_LIMIT && a->term[i].coef < STRIPE_LIMIT;
    if (fits && !p->gathers)
        fits = affine_bounds(a, p->lo, p->hi, &lo, &hi) && lo > -STRIPE_LIMIT && hi < STRIPE_LIMIT;
    if (!fits) stripe_fail(p, range, DIAG_STRIPE_OVERFLOW);
}

const Affine *stripe_affine(StripeParser *p, const StripeScope *s, bool scalars) {
    Range range = p->tok.range;
    const Affine *a = product(p, s, scalars);
    while (!p->failed && !(p->one_line && p->parens == 0 && p->tok.first)) {
        if (stripe_accept(p, "+"))
            a = affine_add(p->x, a, product(p, s, scalars));
        else if (stripe_accept(p, "-"))
            a = affine_sub(p->x, a, product(p, s, scalars));
        else
            break;
    }
    stripe_check_affine(p, a, range);
    return p->failed ? affine_const(p->x, 0) : a;
}

// A list up to the closing bracket, with at most STRIPE_MAX_RANK elements. Returns their number.
int stripe_affine_list(StripeParser *p, const StripeScope *s, bool scalars, const char *close,
                       const Affine **out) {
    int n = 0;
    p->gathers = false;
    while (!p->failed && !stripe_is_mark(p, close)) {
        if (n == STRIPE_MAX_RANK) {
            stripe_fail(p, p->tok.range, DIAG_STRIPE_LIMIT, STRIPE_MAX_RANK, "dimensions");
            break;
        }
        out[n++] = stripe_affine(p, s, scalars);
        if (!stripe_accept(p, ",")) break;
    }
    stripe_expect(p, close);
    return n;
}

// --- Tags and places ---------------------------------------------------------------------------

void stripe_push_tag(StripeParser *p, Tags *tags, const char *name, const char *value) {
    Tag *at = arena_new_n(p->arena, Tag, tags->n + 1);
    if (tags->n) memcpy(at, tags->at, sizeof(Tag) * (size_t)tags->n);
    at[tags->n] = (Tag){name_of(p->names, name), value ? name_of(p->names, value) : NULL};
    *tags = (Tags){tags->n + 1, at};
}

Tags stripe_take_tags(StripeParser *p) {
    Tags tags = {0};
    while (!p->failed && p->tok.kind == ST_TAG) {
        const char *name = arena_strndup(p->arena, p->tok.text, (size_t)p->tok.len), *value = NULL;
        bool tight = p->tok.tight;
        stripe_next(p);
        if (tight && stripe_is_mark(p, "=") && p->tok.tight) {
            stripe_next(p);
            bool minus = stripe_accept(p, "-");
            if (p->tok.kind == ST_MARK || p->tok.kind == ST_END) {
                stripe_expected(p, "the value of the tag");
                break;
            }
            value = arena_printf(p->arena, "%s%.*s", minus ? "-" : "", p->tok.len, p->tok.text);
            stripe_next(p);
        }
        stripe_push_tag(p, &tags, name, value);
    }
    return tags;
}

// Removes a tag from the list. It must have a number if `number` is not NULL.
bool stripe_pull_tag(StripeParser *p, Tags *tags, const char *name, Range range, int64_t *number) {
    for (int i = 0; i < tags->n; i++) {
        if (strcmp(tags->at[i].name, name) != 0) continue;
        char *end = NULL;
        const char *value = tags->at[i].value;
        if (!number && value) continue;
        if (number) {
            long long v = value ? strtoll(value, &end, 10) : 0;
            if (!value || *end || v <= 0 || v > INT32_MAX || *value < '0' || *value > '9') {
                stripe_fail(p, range, DIAG_STRIPE_TAG, name);
                return false;
            }
            *number = v;
        }
        Tag *at = arena_copy(p->arena, tags->at, sizeof(Tag) * (size_t)tags->n);
        memmove(at + i, at + i + 1, sizeof(Tag) * (size_t)(tags->n - i - 1));
        *tags = (Tags){tags->n - 1, at};
        return true;
    }
    return false;
}

bool stripe_has_tag(const Tags *tags, const char *name) {
    for (int i = 0; i < tags->n; i++)
        if (strcmp(tags->at[i].name, name) == 0) return true;
    return false;
}

// Behind "<": SRAM[bank]/PROC[i]>
Place stripe_take_place(StripeParser *p, const StripeScope *s) {
    VEC(Unit) units = {0};
    do {
        Unit u = {.name = stripe_take_name(p, "the name of a unit")};
        if (stripe_accept(p, "[")) {
            const Affine *at[STRIPE_MAX_RANK];
            p->in_place = true;
            u.n = stripe_affine_list(p, s, false, "]", at);
            p->in_place = false;
            u.at = arena_copy(p->arena, at, sizeof *at * (size_t)u.n);
        }
        vec_push(p->arena, &units, u);
    } while (stripe_accept(p, "/"));
    stripe_expect(p, ">");
    return (Place){units.n, units.at};
}
