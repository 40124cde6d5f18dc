// Stripe text to a Tree: blocks, refinements and statements.
//
// Both dialects are read: the short one of the Stripe paper (no product of ranges, no statement
// tags) and the long one of PlaidML's dumps (":I", byte counts, exterior sizes, "new@0x...",
// "const", layouts). What has no meaning here is kept as a tag. Offsets are added to the parent's
// as soon as a refinement is read, so everything below is absolute.
//
// The outermost block names the tensors: around it stands a scope in which every name that it
// refines is an argument, as large as the block's ranges reach.
#include "tree/stripe_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/nearest.h"

static const int64_t LIMIT = (int64_t)1 << 61; // of index arithmetic, so that differences fit

void stripe_fail(StripeParser *p, Range range, DiagId id, ...) {
    if (p->failed) return;
    va_list args;
    va_start(args, id);
    diag_report_va(p->diags, range, id, args);
    va_end(args);
    p->failed = true;
}

// --- Tokens ------------------------------------------------------------------------------------

static void next(StripeParser *p) {
    p->tok = stripe_lex(&p->lx);
    if (p->tok.kind == ST_BAD) p->failed = true;
}

static bool is_mark(const StripeParser *p, const char *mark) {
    return p->tok.kind == ST_MARK && (int)strlen(mark) == p->tok.len &&
           !memcmp(p->tok.text, mark, (size_t)p->tok.len);
}

static bool token_is(const StripeToken *t, const char *word) {
    return t->kind == ST_NAME && !t->quoted && (int)strlen(word) == t->len &&
           !memcmp(t->text, word, (size_t)t->len);
}

static bool is_word(const StripeParser *p, const char *word) { return token_is(&p->tok, word); }

static void expected(StripeParser *p, const char *what) {
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

static bool accept(StripeParser *p, const char *mark) {
    if (p->failed || !is_mark(p, mark)) return false;
    next(p);
    return true;
}

static void expect(StripeParser *p, const char *mark) {
    if (!accept(p, mark)) expected(p, arena_printf(p->arena, "'%s'", mark));
}

static Name take_name(StripeParser *p, const char *what) {
    if (p->failed || p->tok.kind != ST_NAME) {
        expected(p, what);
        return name_of(p->names, "?");
    }
    Name name = name_intern(p->names, p->tok.text, (size_t)p->tok.len);
    next(p);
    return name;
}

static int64_t take_int(StripeParser *p, const char *what) {
    if (p->failed || p->tok.kind != ST_INT) {
        expected(p, what);
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
    next(p);
    return (int64_t)v;
}

static StripeToken peek(const StripeParser *p) {
    StripeLexer lx = p->lx;
    DiagList quiet = {.arena = p->arena};
    lx.diags = &quiet;
    return stripe_lex(&lx);
}

// --- Index expressions -------------------------------------------------------------------------

static const Affine *affine(StripeParser *p, const StripeScope *s, bool scalars);

static const Index *find_index(const StripeScope *s, Name name) {
    for (int i = 0; s && i < s->index.n; i++)
        if (s->index.at[i].name == name) return &s->index.at[i];
    return NULL;
}

static const Affine *index_atom(StripeParser *p, const StripeScope *s, Range range) {
    Name name = take_name(p, "an index");
    const Index *x = find_index(s, name);
    // An index that is passed in as it is goes by its own number, which says more to everybody.
    if (x && x->passed && affine_as_iter(x->passed) >= 0) return x->passed;
    if (x) return affine_iter(p->x, x->id);
    if (!p->failed) {
        Diag *d = diag_report(p->diags, range, DIAG_STRIPE_INDEX_UNKNOWN, name);
        for (const StripeScope *up = s ? s->up : NULL; up; up = up->up)
            if (find_index(up, name)) {
                diag_note(p->diags, d, (Range){0, 0}, DIAG_STRIPE_PASS_NOTE, name, name);
                break;
            }
    }
    p->failed = true;
    return affine_const(p->x, 0);
}

static const Affine *scalar_atom(StripeParser *p, StripeScope *s, bool allowed);

static const Affine *extremum(StripeParser *p, const StripeScope *s, bool scalars) {
    bool min = is_word(p, "min");
    next(p);
    expect(p, "(");
    const Affine *a = affine(p, s, scalars);
    while (accept(p, ",")) {
        const Affine *b = affine(p, s, scalars);
        a = min ? affine_min(p->x, a, b) : affine_max(p->x, a, b);
    }
    expect(p, ")");
    return a;
}

static const Affine *factor(StripeParser *p, const StripeScope *s, bool scalars) {
    const Affine *a = affine_const(p->x, 0);
    if (p->failed) return a;
    if (++p->parens > STRIPE_MAX_PARENS) {
        stripe_fail(p, p->tok.range, DIAG_STRIPE_NESTING, STRIPE_MAX_PARENS);
    } else if (accept(p, "-")) {
        a = affine_scale(p->x, factor(p, s, scalars), -1);
    } else if (accept(p, "+")) {
        a = factor(p, s, scalars);
    } else if (accept(p, "(")) {
        a = affine(p, s, scalars);
        expect(p, ")");
    } else if (p->tok.kind == ST_INT) {
        a = affine_const(p->x, take_int(p, "a number"));
    } else if (p->tok.kind == ST_SCALAR) {
        a = scalar_atom(p, (StripeScope *)s, scalars);
    } else if (is_word(p, "min") || is_word(p, "max")) {
        a = extremum(p, s, scalars);
    } else if (p->tok.kind == ST_NAME) {
        a = index_atom(p, s, p->tok.range);
    } else {
        expected(p, "an index expression");
    }
    p->parens--;
    return a;
}

static const Affine *product(StripeParser *p, const StripeScope *s, bool scalars) {
    const Affine *a = factor(p, s, scalars);
    while (!p->failed) {
        if (accept(p, "*"))
            a = affine_mul(p->x, a, factor(p, s, scalars));
        else if (accept(p, "/"))
            a = affine_div(p->x, a, factor(p, s, scalars));
        else if (accept(p, "%"))
            a = affine_mod(p->x, a, factor(p, s, scalars));
        else
            break;
    }
    return a;
}

// Everything that is computed at run time has to stay inside 64 bits, whatever the point.
static void check_affine(StripeParser *p, const Affine *a, Range range) {
    int64_t lo = 0, hi = 0;
    if (p->failed) return;
    if (p->x->too_large) stripe_fail(p, range, DIAG_STRIPE_TOO_LARGE);
    bool fits = !p->x->overflow && a->constant > -LIMIT && a->constant < LIMIT;
    for (int i = 0; i < a->n && fits; i++)
        fits = a->term[i].coef > -LIMIT && a->term[i].coef < LIMIT;
    if (fits && !p->gathers)
        fits = affine_bounds(a, p->lo, p->hi, &lo, &hi) && lo > -LIMIT && hi < LIMIT;
    if (!fits) stripe_fail(p, range, DIAG_STRIPE_OVERFLOW);
}

static const Affine *affine(StripeParser *p, const StripeScope *s, bool scalars) {
    Range range = p->tok.range;
    const Affine *a = product(p, s, scalars);
    while (!p->failed && !(p->one_line && p->parens == 0 && p->tok.first)) {
        if (accept(p, "+"))
            a = affine_add(p->x, a, product(p, s, scalars));
        else if (accept(p, "-"))
            a = affine_sub(p->x, a, product(p, s, scalars));
        else
            break;
    }
    check_affine(p, a, range);
    return p->failed ? affine_const(p->x, 0) : a;
}

// A list up to the closing bracket; at most STRIPE_MAX_RANK. Returns how many.
static int affine_list(StripeParser *p, const StripeScope *s, bool scalars, const char *close,
                       const Affine **out) {
    int n = 0;
    p->gathers = false;
    while (!p->failed && !is_mark(p, close)) {
        if (n == STRIPE_MAX_RANK) {
            stripe_fail(p, p->tok.range, DIAG_STRIPE_LIMIT, STRIPE_MAX_RANK, "dimensions");
            break;
        }
        out[n++] = affine(p, s, scalars);
        if (!accept(p, ",")) break;
    }
    expect(p, close);
    return n;
}

// --- Tags and places ---------------------------------------------------------------------------

static void push_tag(StripeParser *p, Tags *tags, const char *name, const char *value) {
    Tag *at = arena_new_n(p->arena, Tag, tags->n + 1);
    if (tags->n) memcpy(at, tags->at, sizeof(Tag) * (size_t)tags->n);
    at[tags->n] = (Tag){name_of(p->names, name), value ? name_of(p->names, value) : NULL};
    *tags = (Tags){tags->n + 1, at};
}

static Tags take_tags(StripeParser *p) {
    Tags tags = {0};
    while (!p->failed && p->tok.kind == ST_TAG) {
        const char *name = arena_strndup(p->arena, p->tok.text, (size_t)p->tok.len), *value = NULL;
        bool tight = p->tok.tight;
        next(p);
        if (tight && is_mark(p, "=") && p->tok.tight) {
            next(p);
            bool minus = accept(p, "-");
            if (p->tok.kind == ST_MARK || p->tok.kind == ST_END) {
                expected(p, "the value of the tag");
                break;
            }
            value = arena_printf(p->arena, "%s%.*s", minus ? "-" : "", p->tok.len, p->tok.text);
            next(p);
        }
        push_tag(p, &tags, name, value);
    }
    return tags;
}

// Takes a tag out of the list. A number is wanted where `number` is not NULL.
static bool pull_tag(StripeParser *p, Tags *tags, const char *name, Range range, int64_t *number) {
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

static bool has_tag(const Tags *tags, const char *name) {
    for (int i = 0; i < tags->n; i++)
        if (strcmp(tags->at[i].name, name) == 0) return true;
    return false;
}

// Behind "<": SRAM[bank]/PROC[i]>
static Place take_place(StripeParser *p, const StripeScope *s) {
    VEC(Unit) units = {0};
    do {
        Unit u = {.name = take_name(p, "the name of a unit")};
        if (accept(p, "[")) {
            const Affine *at[STRIPE_MAX_RANK];
            u.n = affine_list(p, s, false, "]", at);
            u.at = arena_copy(p->arena, at, sizeof *at * (size_t)u.n);
        }
        vec_push(p->arena, &units, u);
    } while (accept(p, "/"));
    expect(p, ">");
    return (Place){units.n, units.at};
}

// --- Indices and constraints -------------------------------------------------------------------

static void add_index(StripeParser *p, StripeScope *s, Index like, Range range) {
    if (find_index(s, like.name)) stripe_fail(p, range, DIAG_STRIPE_INDEX_TWICE, like.name);
    if (p->t->nindices + p->reserved >= TREE_MAX_INDICES)
        stripe_fail(p, range, DIAG_STRIPE_LIMIT, TREE_MAX_INDICES, "indices");
    if (!like.passed && ++s->loops > TREE_MAX_DEPTH)
        stripe_fail(p, range, DIAG_STRIPE_NESTING, TREE_MAX_DEPTH);
    if (p->failed) return;
    Index x = tree_index(p->t, like.name, like.extent);
    x.passed = like.passed;
    x.tags = like.tags;
    if (like.passed)
        affine_bounds(like.passed, p->lo, p->hi, &p->lo[x.id], &p->hi[x.id]);
    else
        p->lo[x.id] = 0, p->hi[x.id] = max_i64(like.extent - 1, 0);
    vec_push(p->arena, &s->index, x);
}

static void take_index(StripeParser *p, StripeScope *s) {
    bool paren = accept(p, "(");
    Index x = {.extent = 1, .tags = take_tags(p)};
    Range range = p->tok.range;
    x.name = take_name(p, "an index");
    if (accept(p, "=")) {
        p->gathers = false;
        x.passed = affine(p, s->up, false);
    } else {
        expect(p, ":");
        x.extent = take_int(p, "how many values the index takes");
        if (x.extent >= LIMIT) stripe_fail(p, range, DIAG_STRIPE_OVERFLOW);
    }
    if (paren) expect(p, ")");
    add_index(p, s, x, range);
}

static void take_indices(StripeParser *p, StripeScope *s) {
    int64_t points = 1;
    bool known = true;
    expect(p, "[");
    while (!p->failed && !is_mark(p, "]")) {
        take_index(p, s);
        if (!accept(p, ",")) break;
    }
    expect(p, "]");
    for (int i = 0; i < s->index.n; i++)
        known = known && checked_mul(points, s->index.at[i].extent, &points);
    if (!accept(p, ":")) return;
    Range range = p->tok.range;
    int64_t said = take_int(p, "the number of points");
    if (known && said != points)
        stripe_fail(p, range, DIAG_STRIPE_PRODUCT, (long long)points, (long long)said);
}

static void add_constraint(StripeParser *p, StripeScope *s, const Affine *a, Range range) {
    p->gathers = false;
    check_affine(p, a, range);
    vec_push(p->arena, &s->constraint, a);
}

// a >= b and its relatives, each as something that is >= 0.
static void take_constraint(StripeParser *p, StripeScope *s) {
    Range range = p->tok.range;
    p->gathers = false;
    p->one_line = true; // or the next constraint's sign would go on with this one
    const Affine *a = affine(p, s, false);
    if (p->failed) return;
    char sign = p->tok.kind == ST_MARK ? p->tok.text[0] : 0;
    bool equal = p->tok.len == 2;
    if ((sign != '>' && sign != '<' && sign != '=') || (sign == '=' && !equal)) {
        expected(p, "'>='");
        return;
    }
    next(p);
    const Affine *b = affine(p, s, false);
    p->one_line = false;
    if (p->failed) return;
    const Affine *d = sign == '<' ? affine_sub(p->x, b, a) : affine_sub(p->x, a, b);
    if (!equal) d = affine_add_const(p->x, d, -1);
    bool remainder = d->n == 1 && d->constant == 0 && d->term[0].coef == 1 &&
                     d->term[0].atom->kind == ATOM_MOD; // never negative
    if (sign == '=') add_constraint(p, s, affine_scale(p->x, d, -1), range);
    if (sign != '=' || !remainder) add_constraint(p, s, d, range);
}

// --- Refinements -------------------------------------------------------------------------------

static Refine *find_view(const StripeScope *s, Name name) {
    for (int i = 0; s && i < s->view.n; i++)
        if (s->view.at[i]->v.into == name) return s->view.at[i];
    return NULL;
}

static Type find_type(const char *name, int len) {
    for (int t = 1; t < TYPE_COUNT; t++)
        if ((int)strlen(type_info[t].stripe) == len &&
            !memcmp(type_info[t].stripe, name, (size_t)len))
            return (Type)t;
    return type_by_name(name, len);
}

static Type take_type(StripeParser *p) {
    Range range = p->tok.range;
    Name name = take_name(p, "a type");
    Type type = find_type(name, (int)strlen(name));
    if (!type) stripe_fail(p, range, DIAG_STRIPE_TYPE, name);
    return type;
}

static int int_list(StripeParser *p, int64_t *out, int *bank) {
    int n = 0;
    expect(p, "(");
    while (!p->failed && !is_mark(p, ")")) {
        if (n == STRIPE_MAX_RANK) {
            stripe_fail(p, p->tok.range, DIAG_STRIPE_LIMIT, STRIPE_MAX_RANK, "dimensions");
            break;
        }
        bool banked = bank && accept(p, "{");
        if (banked) *bank = n;
        out[n++] = take_int(p, "a number");
        if (banked) expect(p, "}");
        if (!accept(p, ",")) break;
    }
    expect(p, ")");
    return n;
}

static int find_agg(const char *name) {
    for (int i = 0; i < 5; i++)
        if (strcmp(name, stripe_agg[i]) == 0) return i;
    return -1;
}

static Reduce take_agg(StripeParser *p) {
    Range range = p->tok.range;
    Name name = take_name(p, "an aggregation");
    int agg = find_agg(name);
    if (agg < 0) stripe_fail(p, range, DIAG_STRIPE_AGG, name);
    return agg < 0 ? REDUCE_ASSIGN : (Reduce)agg;
}

// ":4 B", ":1.5 KiB": what the text says of sizes in bytes can be computed.
static void skip_bytes(StripeParser *p) {
    if (p->tok.kind != ST_INT && p->tok.kind != ST_FLOAT) return;
    next(p);
    if (p->tok.kind == ST_NAME) next(p);
}

// Everything of a refinement that stands in the text.
typedef struct Written {
    Tags tags;
    Range range;
    ViewDir dir;
    Name into, from; // `from` NULL: the same name, or none
    Range from_range;
    Place place;
    int noffsets, nsizes, nstrides, bank;
    const Affine *offset[STRIPE_MAX_RANK];
    int64_t size[STRIPE_MAX_RANK], stride[STRIPE_MAX_RANK];
    bool has_agg;
    Reduce agg;
    Type type;
} Written;

static bool is_dir(const StripeToken *t, ViewDir *dir) {
    static const char *const words[] = {"none", "in", "out", "inout"};
    for (int i = 0; i < 4; i++)
        if (token_is(t, words[i])) {
            *dir = (ViewDir)i;
            return true;
        }
    return false;
}

static bool refinement_next(const StripeParser *p) {
    ViewDir dir;
    return p->tok.kind == ST_TAG || (is_dir(&p->tok, &dir) && peek(p).kind == ST_NAME);
}

// fp32[layout][codec]:I(4, {8}):(8, 1):128 B, E(4, 8):128 B, cache[0]
static void take_shape(StripeParser *p, StripeScope *s, Written *w) {
    w->type = take_type(p);
    for (int i = 0; i < 2 && accept(p, "["); i++) {
        push_tag(p, &w->tags, i ? "codec" : "layout", take_name(p, "a layout"));
        expect(p, "]");
    }
    if (accept(p, ":")) {
        if (!is_word(p, "I")) expected(p, "'I'");
        next(p);
    }
    w->nsizes = int_list(p, w->size, &w->bank);
    if (!accept(p, ":")) return;
    w->nstrides = int_list(p, w->stride, NULL);
    if (accept(p, ":")) skip_bytes(p);
    while (!p->failed && is_mark(p, ",")) {
        next(p);
        int64_t ignored[STRIPE_MAX_RANK];
        const Affine *unit[STRIPE_MAX_RANK];
        if (is_word(p, "E")) {
            next(p);
            int_list(p, ignored, NULL);
            if (accept(p, ":")) skip_bytes(p);
        } else if (is_word(p, "cache")) {
            uint32_t from = peek(p).range.to;
            next(p);
            expect(p, "[");
            affine_list(p, s, false, "]", unit);
            if (p->failed) return;
            uint32_t to = from;
            while (p->lx.source->text[to] != ']') to++;
            push_tag(p, &w->tags, "cache",
                     arena_strndup(p->arena, p->lx.source->text + from, to - from));
        } else {
            expected(p, "'E' or 'cache'");
        }
    }
}

static Written take_written(StripeParser *p, StripeScope *s) {
    Written w = {.tags = take_tags(p), .range = p->tok.range, .bank = -1};
    if (!is_dir(&p->tok, &w.dir)) expected(p, "none, in, out or inout");
    next(p);
    if (is_word(p, "const") && peek(p).kind == ST_NAME) {
        push_tag(p, &w.tags, "const", NULL);
        next(p);
    }
    if (is_word(p, "new") && peek(p).kind == ST_MARK && peek(p).text[0] == '@') {
        next(p);
        next(p);
        int64_t address = take_int(p, "an address");
        push_tag(p, &w.tags, "address",
                 arena_printf(p->arena, "0x%08llx", (unsigned long long)address));
    }
    w.into = take_name(p, "the name of a refinement");
    w.from_range = p->tok.range;
    if (accept(p, "=")) {
        w.from_range = p->tok.range;
        w.from = take_name(p, "the name of a refinement of the enclosing block");
    }
    if (accept(p, "<")) w.place = take_place(p, s);
    expect(p, "[");
    w.noffsets = affine_list(p, s, false, "]", w.offset);
    if (accept(p, ":")) {
        w.has_agg = true;
        w.agg = take_agg(p);
    }
    take_shape(p, s, &w);
    if (!p->failed) w.range = (Range){w.range.from, w.from_range.from};
    if (w.noffsets != w.nsizes)
        stripe_fail(p, w.range, DIAG_STRIPE_RANK, w.into, w.nsizes, w.noffsets, "offsets");
    if (w.nstrides && w.nstrides != w.nsizes)
        stripe_fail(p, w.range, DIAG_STRIPE_RANK, w.into, w.nsizes, w.nstrides, "strides");
    return w;
}

// A buffer of these sizes, checked; strides row-major where none are written.
static int new_buffer(StripeParser *p, const Written *w, Name name, const int64_t *size,
                      BufferHome home) {
    int64_t stride[STRIPE_MAX_RANK], step = 1, span = type_info[w->type].bytes;
    bool fits = true;
    for (int d = w->nsizes - 1; d >= 0; d--) {
        stride[d] = w->nstrides ? w->stride[d] : step;
        fits = fits && checked_mul(step, max_i64(size[d], 1), &step);
    }
    for (int d = 0; d < w->nsizes && fits; d++)
        fits = checked_fma(max_i64(size[d] - 1, 0), stride[d], &span);
    fits = fits && checked_mul(span, 16, &span) && checked_mul(step, 16, &step);
    if (!fits) stripe_fail(p, w->range, DIAG_STRIPE_BUFFER, name);
    Buffer b = {.name = name,
                .type = w->type,
                .home = home,
                .tensor = -1,
                .rank = w->nsizes,
                .size = size,
                .stride = stride,
                .place = w->place,
                .bank_dim = w->bank,
                .tags = w->tags};
    int64_t align = 0;
    if (home != HOME_ARGUMENT) {
        if (pull_tag(p, &b.tags, "stack", w->range, NULL)) b.home = HOME_STACK;
        if (pull_tag(p, &b.tags, "scratch", w->range, NULL)) b.home = HOME_SCRATCH;
        if (pull_tag(p, &b.tags, "align", w->range, &align)) b.align = (int)align;
    }
    return tree_buffer(p->t, &b);
}

static const Affine **add_offsets(StripeParser *p, const Written *w, const Refine *parent) {
    const Affine **off = arena_new_n(p->arena, const Affine *, w->noffsets);
    p->gathers = false;
    for (int d = 0; d < w->noffsets; d++) {
        off[d] = parent ? affine_add(p->x, parent->v.offset[d], w->offset[d]) : w->offset[d];
        check_affine(p, off[d], w->range);
    }
    return off;
}

static void take_prefetches(StripeParser *p, Refine *r) {
    for (int i = 0; i < r->v.tags.n;) {
        Tag tag = r->v.tags.at[i];
        int64_t distance;
        if (strncmp(tag.name, "prefetch", 8) || tag.name[8] < '0' || tag.name[8] > '9' ||
            tag.name[9]) {
            i++;
            continue;
        }
        if (!pull_tag(p, &r->v.tags, tag.name, r->range, &distance)) return;
        vec_push(p->arena, &r->prefetch, tag);
    }
}

// The aggregations from the outermost refinement inwards must be one.
static void set_level(StripeParser *p, Refine *r, const Written *w) {
    Refine *outer = r->parent ? r->parent->level : NULL;
    bool own = w->has_agg && w->agg != REDUCE_ASSIGN;
    r->level = outer ? outer : own ? r : NULL;
    if (outer && own && outer->v.agg != w->agg)
        stripe_fail(p, w->range, DIAG_STRIPE_AGG_MIXED, w->into, stripe_agg[w->agg],
                    stripe_agg[outer->v.agg]);
    if (r->level != r || r->v.dir != VIEW_OUT || has_tag(&w->tags, "initialized")) return;
    r->starts = true;
    r->v.dir = VIEW_INOUT;
}

static void check_parent(StripeParser *p, const Written *w, const Refine *parent) {
    const Buffer *b = &p->t->buffers.at[parent->v.buffer];
    if (w->nsizes != b->rank) {
        stripe_fail(p, w->range, DIAG_STRIPE_RANK, w->into, b->rank, w->nsizes, "sizes");
        return;
    }
    if (w->type != parent->type)
        stripe_fail(p, w->range, DIAG_STRIPE_TYPE_DIFFERS, w->into, type_info[w->type].stripe,
                    type_info[parent->type].stripe);
    for (int d = 0; d < w->nstrides; d++)
        if (w->size[d] > 1 && b->size[d] > 1 && w->stride[d] != b->stride[d])
            stripe_fail(p, w->range, DIAG_STRIPE_STRIDES, w->into, d, (long long)w->stride[d],
                        (long long)b->stride[d]);
    if (w->dir != VIEW_IN && parent->v.dir == VIEW_IN)
        stripe_fail(p, w->range, DIAG_STRIPE_DIRECTION, w->into, parent->v.into);
    if (w->bank >= 0 && b->bank_dim >= 0 && w->bank != b->bank_dim)
        stripe_fail(p, w->range, DIAG_STRIPE_BANK, w->into, w->bank, b->bank_dim);
    if (w->bank >= 0) p->t->buffers.at[parent->v.buffer].bank_dim = w->bank;
}

static Refine *new_refine(StripeParser *p, const Written *w, Refine *parent) {
    Refine *r = arena_new(p->arena, Refine);
    *r = (Refine){.parent = parent, .range = w->range, .type = w->type, .rank = w->nsizes};
    r->v = (BlockView){.dir = w->dir,
                       .into = w->into,
                       .agg = w->agg,
                       .has_agg = w->has_agg,
                       .place = w->place,
                       .tags = w->tags};
    r->v.size = arena_copy(p->arena, w->size, sizeof(int64_t) * (size_t)w->nsizes);
    if (parent) r->v.buffer = parent->v.buffer;
    return r;
}

static void take_allocation(StripeParser *p, StripeScope *s, const Written *w) {
    if (w->from) stripe_fail(p, w->from_range, DIAG_STRIPE_NONE_FROM);
    for (int d = 0; d < w->noffsets; d++)
        if (!affine_is(w->offset[d], 0)) stripe_fail(p, w->range, DIAG_STRIPE_NONE_OFFSET, w->into);
    if (p->failed) return;
    Written own = *w;
    Refine *r = new_refine(p, w, NULL);
    take_prefetches(p, r);
    own.tags = r->v.tags;
    r->v.buffer = new_buffer(p, &own, w->into, w->size, HOME_AUTO);
    r->v.offset = add_offsets(p, w, NULL);
    vec_push(p->arena, &s->alloc, r->v.buffer);
    vec_push(p->arena, &s->view, r);
}

static void take_refinement(StripeParser *p, StripeScope *s, const Written *w) {
    if (find_view(s, w->into)) stripe_fail(p, w->range, DIAG_STRIPE_VIEW_TWICE, w->into);
    if (p->failed) return;
    if (w->dir == VIEW_NONE) {
        take_allocation(p, s, w);
        return;
    }
    Refine *parent = find_view(s->up, w->from ? w->from : w->into);
    if (!parent) {
        stripe_fail(p, w->range, DIAG_STRIPE_FROM_UNKNOWN, w->from ? w->from : w->into);
        return;
    }
    check_parent(p, w, parent);
    if (p->failed) return;
    Refine *r = new_refine(p, w, parent);
    r->v.offset = add_offsets(p, w, parent);
    take_prefetches(p, r);
    set_level(p, r, w);
    vec_push(p->arena, &s->view, r);
}

// --- Arguments ---------------------------------------------------------------------------------

// The tensor behind a refinement of the outermost block reaches as far as the block does.
static void new_argument(StripeParser *p, StripeScope *outside, const Written *w, ViewDir dir) {
    Name name = w->from ? w->from : w->into;
    int64_t size[STRIPE_MAX_RANK];
    if (find_view(outside, name)) stripe_fail(p, w->range, DIAG_STRIPE_VIEW_TWICE, name);
    for (int d = 0; d < w->nsizes && !p->failed; d++) {
        int64_t lo = 0, hi = 0;
        affine_bounds(w->offset[d], p->lo, p->hi, &lo, &hi);
        if (lo < 0) stripe_fail(p, w->range, DIAG_STRIPE_BEFORE, w->into, d, (long long)lo);
        if (!checked_add(hi, w->size[d], &size[d])) stripe_fail(p, w->range, DIAG_STRIPE_OVERFLOW);
    }
    if (p->failed) return;
    Written whole = *w;
    whole.dir = dir;
    whole.into = name;
    whole.has_agg = false;
    whole.agg = REDUCE_ASSIGN;
    Refine *r = new_refine(p, &whole, NULL);
    r->v.buffer = new_buffer(p, &whole, name, size, HOME_ARGUMENT);
    p->t->buffers.at[r->v.buffer].tensor = r->v.buffer;
    for (int d = 0; d < w->nsizes; d++) whole.offset[d] = affine_const(p->x, 0);
    r->v.offset = add_offsets(p, &whole, NULL);
    r->v.size = p->t->buffers.at[r->v.buffer].size;
    vec_push(p->arena, &outside->view, r);
}

// Inputs first, then outputs, each in the order of the text.
static void take_arguments(StripeParser *p, StripeScope *outside, const Written *w, int n) {
    for (int outputs = 0; outputs < 2; outputs++)
        for (int i = 0; i < n && !p->failed; i++)
            if (w[i].dir != VIEW_NONE && (w[i].dir != VIEW_IN) == outputs)
                new_argument(p, outside, &w[i], w[i].dir);
    p->t->nargs = outside->view.n;
}

// --- Statements --------------------------------------------------------------------------------

static const Block *take_block(StripeParser *p, StripeScope *up, Tags tags, StripeScope **out);

static int find_scalar(const StripeScope *s, Name name) {
    for (int i = s->scalar.n - 1; i >= 0; i--)
        if (s->scalar.at[i].name == name) return i;
    return -1;
}

static int use_scalar(StripeParser *p, StripeScope *s) {
    if (p->failed || p->tok.kind != ST_SCALAR) {
        expected(p, "a scalar");
        return 0;
    }
    Name name = name_intern(p->names, p->tok.text, (size_t)p->tok.len);
    int i = find_scalar(s, name);
    if (i < 0)
        stripe_fail(p, p->tok.range, DIAG_STRIPE_SCALAR_UNKNOWN, name);
    else
        s->scalar.at[i].last_use = s->stmt.n;
    next(p);
    return i;
}

static const Affine *scalar_atom(StripeParser *p, StripeScope *s, bool allowed) {
    if (!allowed) {
        stripe_fail(p, p->tok.range, DIAG_STRIPE_SCALAR_HERE);
        return affine_const(p->x, 0);
    }
    int i = use_scalar(p, s);
    p->gathers = true;
    return affine_iter(p->x, TREE_MAX_INDICES + (i < 0 ? 0 : i));
}

static Refine *use_view(StripeParser *p, StripeScope *s, Name name, Range range, bool write) {
    Refine *r = find_view(s, name);
    if (!r)
        stripe_fail(p, range, DIAG_STRIPE_VIEW_UNKNOWN, name);
    else if (write && r->v.dir == VIEW_IN)
        stripe_fail(p, range, DIAG_STRIPE_WRITE_IN, name);
    return r;
}

// Optional subscripts behind the name of a view, counted from where it begins.
static void take_subscripts(StripeParser *p, StripeScope *s, StripeStmt *st, Range range) {
    const Affine *sub[STRIPE_MAX_RANK];
    if (!accept(p, "[")) return;
    int n = affine_list(p, s, true, "]", sub);
    st->gathers |= p->gathers;
    if (p->failed || !st->view) return;
    if (n != st->view->rank)
        stripe_fail(p, range, DIAG_STRIPE_RANK, st->view->v.into, st->view->rank, n, "subscripts");
    st->sub = arena_copy(p->arena, sub, sizeof *sub * (size_t)n);
}

static Type const_type(StripeParser *p, bool *soft) {
    *soft = is_word(p, "int") || is_word(p, "float");
    if (is_word(p, "int")) return next(p), TYPE_I32;
    if (is_word(p, "float")) return next(p), TYPE_F32;
    return take_type(p);
}

static Value int_value(StripeParser *p, Type type, bool minus, Range range) {
    uint64_t v = 0;
    for (int i = 0; i < p->tok.len; i++) {
        uint64_t digit = (uint64_t)(p->tok.text[i] - '0');
        if (digit > 9 || v > (UINT64_MAX - digit) / 10) {
            stripe_fail(p, range, DIAG_STRIPE_NUMBER);
            return (Value){0};
        }
        v = v * 10 + digit;
    }
    Value value = {.i = (int64_t)(minus ? 0 - v : v)};
    Value back = type_round(type, value);
    bool negative = type != TYPE_U64 && minus ? value.i > 0 : type != TYPE_U64 && value.i < 0;
    if (back.i != value.i || negative) stripe_fail(p, range, DIAG_STRIPE_NUMBER);
    return back;
}

// (fp32)0.5, (i32)-3, (bool)true
static void take_const(StripeParser *p, StripeScope *s, StripeStmt *st) {
    bool soft, minus;
    st->kind = SS_CONST;
    next(p);
    st->type = const_type(p, &soft);
    expect(p, ")");
    Range range = p->tok.range;
    minus = accept(p, "-");
    if (p->failed) return;
    bool number = p->tok.kind == ST_INT || p->tok.kind == ST_FLOAT;
    if (st->type == TYPE_BOOL && (is_word(p, "true") || is_word(p, "false"))) {
        st->value.i = is_word(p, "true");
    } else if (type_is_float(st->type) && (number || is_word(p, "inf") || is_word(p, "nan"))) {
        double f = 0;
        if (!text_parse_float(p->tok.text, (size_t)p->tok.len, st->type != TYPE_F64, &f))
            stripe_fail(p, range, DIAG_STRIPE_NUMBER);
        st->value.f = minus ? -f : f;
        st->value = type_round(st->type, st->value);
    } else if (p->tok.kind == ST_INT) {
        st->value = int_value(p, st->type, minus, range);
    } else {
        expected(p, "a literal");
    }
    next(p);
    s->scalar.at[st->result].soft = soft;
}

static void take_arguments_of(StripeParser *p, StripeScope *s, StripeStmt *st) {
    expect(p, "(");
    while (!p->failed && !is_mark(p, ")")) {
        if (st->nargs == 4) {
            stripe_fail(p, p->tok.range, DIAG_STRIPE_LIMIT, 4, "operands");
            return;
        }
        st->arg[st->nargs++] = use_scalar(p, s);
        if (!accept(p, ",")) break;
    }
    expect(p, ")");
}

static const char *nth_op(const void *of, size_t i) {
    (void)of;
    return i < OP_COUNT ? stripe_op_name((ExprOp)i) : NULL;
}

static void unknown_operation(StripeParser *p, Range range, Name name) {
    if (p->failed) return;
    Diag *d = diag_report(p->diags, range, DIAG_STRIPE_OPERATION, name);
    const char *near = nearest(name, nth_op, NULL);
    if (near) diag_note(p->diags, d, (Range){0, 0}, DIAG_DID_YOU_MEAN, near);
    p->failed = true;
}

// as_fp32($x); PlaidML's as_float, as_int, as_uint and as_bool; ident and assign keep the value.
static bool take_cast(StripeStmt *st, const char *name) {
    static const struct {
        const char *name;
        Type type;
    } other[] = {{"float", TYPE_F32}, {"int", TYPE_I32}, {"uint", TYPE_U32}};
    st->kind = SS_CAST;
    if (!strcmp(name, "ident") || !strcmp(name, "assign")) return true;
    if (strncmp(name, "as_", 3)) return false;
    for (int i = 0; i < 3; i++)
        if (!strcmp(name + 3, other[i].name)) st->type = other[i].type;
    if (!st->type) st->type = find_type(name + 3, (int)strlen(name + 3));
    return st->type != TYPE_NONE;
}

static void take_intrinsic(StripeParser *p, StripeScope *s, StripeStmt *st) {
    Range range = p->tok.range;
    Name name = take_name(p, "an operation");
    if (p->failed) return;
    if (!strcmp(name, "load")) {
        st->kind = SS_LOAD;
        expect(p, "(");
        Range at = p->tok.range;
        Name view = take_name(p, "the name of a refinement");
        if (!p->failed) st->view = use_view(p, s, view, at, false);
        take_subscripts(p, s, st, at);
        expect(p, ")");
        return;
    }
    if (!strcmp(name, "load_index")) {
        st->kind = SS_INDEX;
        expect(p, "(");
        p->gathers = false;
        st->index = affine(p, s, true);
        st->gathers = p->gathers;
        expect(p, ")");
        return;
    }
    int op = stripe_op_find(name, (int)strlen(name)), arity = 1;
    if (op >= 0) {
        st->kind = SS_OP;
        st->op = (ExprOp)op;
        arity = op_info[op].arity;
    } else if (!take_cast(st, name)) {
        unknown_operation(p, range, name);
        return;
    }
    take_arguments_of(p, s, st);
    if (st->nargs != arity) stripe_fail(p, range, DIAG_STRIPE_ARITY, name, arity, st->nargs);
}

static void take_scalar_statement(StripeParser *p, StripeScope *s, StripeStmt *st) {
    Range range = p->tok.range;
    Name name = name_intern(p->names, p->tok.text, (size_t)p->tok.len);
    if (find_scalar(s, name) >= 0) stripe_fail(p, range, DIAG_STRIPE_SCALAR_TWICE, name);
    if (s->scalar.n == STRIPE_MAX_SCALARS)
        stripe_fail(p, range, DIAG_STRIPE_LIMIT, STRIPE_MAX_SCALARS, "scalars in one block");
    next(p);
    expect(p, "=");
    if (p->failed) return;
    // It is not known to its own operands.
    StripeScalar scalar = {.last_use = -1};
    vec_push(p->arena, &s->scalar, scalar);
    st->result = s->scalar.n - 1;
    if (is_mark(p, "("))
        take_const(p, s, st);
    else
        take_intrinsic(p, s, st);
    s->scalar.at[st->result].name = name;
}

static void take_store(StripeParser *p, StripeScope *s, StripeStmt *st) {
    st->kind = SS_STORE;
    expect(p, "(");
    st->nargs = 1;
    st->arg[0] = use_scalar(p, s);
    expect(p, ")");
    if (!accept(p, ":")) return;
    st->has_agg = true;
    st->agg = take_agg(p);
}

typedef struct Operands {
    int n;
    BlockView at[8];
} Operands;

static void add_operand(StripeParser *p, StripeScope *s, Operands *o, Name name, Range range,
                        bool write) {
    Refine *r = use_view(p, s, name, range, write);
    if (p->failed) return;
    if (o->n == 8)
        stripe_fail(p, range, DIAG_STRIPE_LIMIT, 8, "operands");
    else
        o->at[o->n++] = r->v;
}

// Behind the name of a special: (A, B, axis=1)
static void take_special(StripeParser *p, StripeScope *s, StripeStmt *st, const Operands *outs,
                         Name name, Range range) {
    Operands ins = {0};
    Tags params = {0};
    expect(p, "(");
    while (!p->failed && !is_mark(p, ")")) {
        Range at = p->tok.range;
        Name word = take_name(p, "an operand");
        if (accept(p, "=")) {
            int64_t value = take_int(p, "a number");
            push_tag(p, &params, word, arena_printf(p->arena, "%lld", (long long)value));
        } else {
            add_operand(p, s, &ins, word, at, false);
        }
        if (!accept(p, ",")) break;
    }
    expect(p, ")");
    if (p->failed) return;
    Special *sp = arena_new(p->arena, Special);
    *sp = (Special){.node = {.kind = NODE_SPECIAL, .tags = st->tags, .ndeps = -1},
                    .op = name,
                    .nouts = outs->n,
                    .nins = ins.n,
                    .out = arena_copy(p->arena, outs->at, sizeof(BlockView) * (size_t)outs->n),
                    .in = arena_copy(p->arena, ins.at, sizeof(BlockView) * (size_t)ins.n),
                    .nparams = params.n,
                    .param = params.at};
    st->kind = SS_SPECIAL;
    st->node = &sp->node;
    const char *wrong = special_check(p->arena, p->t, sp);
    if (wrong) stripe_fail(p, range, DIAG_STRIPE_SPECIAL, name, wrong);
    p->reserved += special_indices(p->t, sp);
    if (p->t->nindices + p->reserved > TREE_MAX_INDICES)
        stripe_fail(p, range, DIAG_STRIPE_LIMIT, TREE_MAX_INDICES, "indices");
    if (s->loops + special_indices(p->t, sp) > TREE_MAX_DEPTH)
        stripe_fail(p, range, DIAG_STRIPE_NESTING, TREE_MAX_DEPTH);
}

// R = store($x), R = copy(A), (R, S) = prng_step(T)
static void take_effect(StripeParser *p, StripeScope *s, StripeStmt *st) {
    Operands outs = {0};
    bool several = accept(p, "(");
    Range at = p->tok.range;
    do {
        at = p->tok.range;
        Name name = take_name(p, "a statement");
        if (!p->failed) add_operand(p, s, &outs, name, at, true);
        if (outs.n == 1) st->view = find_view(s, name);
        if (!several) take_subscripts(p, s, st, at);
    } while (several && accept(p, ","));
    if (several) expect(p, ")");
    expect(p, "=");
    Range range = p->tok.range;
    Name op = take_name(p, "store or a special");
    if (p->failed) return;
    if (!strcmp(op, "store") && !several) {
        take_store(p, s, st);
    } else if (special_find(op) < 0) {
        unknown_operation(p, range, op);
    } else if (st->sub) {
        stripe_fail(p, at, DIAG_STRIPE_SPECIAL, op, "it works on whole refinements");
    } else {
        take_special(p, s, st, &outs, op, range);
    }
}

static void take_deps(StripeParser *p, StripeStmt *st) {
    VEC(int64_t) deps = {0};
    st->dep_range = p->tok.range;
    expect(p, "[");
    while (!p->failed && !is_mark(p, "]")) {
        int64_t dep = -1;
        if (is_word(p, "parent"))
            next(p);
        else
            dep = take_int(p, "the number of a statement");
        vec_push(p->arena, &deps, dep);
        if (!accept(p, ",")) break;
    }
    expect(p, "]");
    st->ndeps = deps.n;
    st->dep = deps.at;
}

static void take_statement(StripeParser *p, StripeScope *s) {
    StripeStmt st = {.range = p->tok.range, .number = -1, .ndeps = -1, .result = -1, .child = -1};
    if (p->tok.kind == ST_INT) {
        st.number = take_int(p, "a statement");
        if (is_mark(p, "[")) take_deps(p, &st);
        expect(p, ":");
    }
    st.tags = take_tags(p);
    if (p->failed) return;
    st.range = p->tok.range;
    if (is_word(p, "block")) {
        st.kind = SS_BLOCK;
        StripeScope *inner = NULL;
        const Block *b = take_block(p, s, st.tags, &inner);
        st.node = b ? &b->node : NULL;
        st.scope = inner;
    } else if (p->tok.kind == ST_SCALAR) {
        take_scalar_statement(p, s, &st);
    } else if (p->tok.kind == ST_NAME || is_mark(p, "(")) {
        take_effect(p, s, &st);
    } else {
        expected(p, "a statement or '}'");
    }
    accept(p, ";");
    vec_push(p->arena, &s->stmt, st);
}

// --- Blocks ------------------------------------------------------------------------------------

static Kind pull_kind(StripeParser *p, Tags *tags, Range range, bool loops) {
    for (int k = 0; k < KIND_COUNT; k++)
        if (loops && pull_tag(p, tags, kind_name[k], range, NULL)) return (Kind)k;
    return loops ? KIND_ANY : KIND_SERIAL;
}

// Constraints and refinements. Those of the outermost block are collected first: they make the
// arguments.
static void take_header(StripeParser *p, StripeScope *s, bool outermost) {
    VEC(Written) written = {0};
    while (!p->failed && !is_mark(p, ")")) {
        if (refinement_next(p)) {
            Written w = take_written(p, s);
            if (p->failed) return;
            vec_push(p->arena, &written, w);
        } else {
            take_constraint(p, s);
        }
    }
    expect(p, ")");
    if (outermost) take_arguments(p, s->up, written.at, written.n);
    for (int i = 0; i < written.n && !p->failed; i++) take_refinement(p, s, &written.at[i]);
}

// The place of a block stands before the indices that it may use: it is read after them.
static void skip_place(StripeParser *p) {
    int depth = 0;
    while (!p->failed && p->tok.kind != ST_END && (depth || !is_mark(p, ">"))) {
        depth += is_mark(p, "[") ? 1 : is_mark(p, "]") ? -1 : 0;
        next(p);
    }
    expect(p, ">");
}

static void take_prefetch_of(StripeParser *p, const StripeScope *s, const Block *b) {
    for (int i = 0; i < s->view.n; i++) {
        const Refine *r = s->view.at[i];
        for (int k = 0; k < r->prefetch.n; k++) {
            Prefetch f = {.at = b,
                          .buffer = r->v.buffer,
                          .level = r->prefetch.at[k].name[8] - '0',
                          .distance = strtoll(r->prefetch.at[k].value, NULL, 10)};
            vec_push(p->arena, &p->t->prefetches, f);
        }
    }
}

static const Block *finish_block(StripeParser *p, StripeScope *s, Block *like) {
    VEC(BlockView) views = {0};
    for (int i = 0; i < s->view.n; i++)
        if (s->view.at[i]->parent) vec_push(p->arena, &views, s->view.at[i]->v);
    like->nindex = s->index.n, like->index = s->index.at;
    like->nconstraints = s->constraint.n, like->constraint = s->constraint.at;
    like->nallocs = s->alloc.n, like->alloc = s->alloc.at;
    like->nviews = views.n, like->view = views.at;
    const Block *b = tree_block(p->t, like, s->child.at, s->child.n);
    take_prefetch_of(p, s, b);
    return b;
}

static const Block *take_block(StripeParser *p, StripeScope *up, Tags tags, StripeScope **out) {
    StripeScope *s = arena_new(p->arena, StripeScope);
    *s = (StripeScope){.up = up, .depth = up->depth + 1, .loops = up->loops};
    *out = s;
    Range range = p->tok.range;
    if (s->depth > STRIPE_MAX_BLOCKS) {
        stripe_fail(p, range, DIAG_STRIPE_NESTING, STRIPE_MAX_BLOCKS);
        return NULL;
    }
    next(p);
    StripeParser at_place = *p;
    bool placed = accept(p, "<");
    if (placed) skip_place(p);
    take_indices(p, s);
    if (p->failed) return NULL;
    Block like = {.node = {.tags = tags, .ndeps = -1}};
    if (placed) {
        StripeLexer lx = p->lx;
        StripeToken tok = p->tok;
        p->lx = at_place.lx, p->tok = at_place.tok;
        next(p);
        like.place = take_place(p, s);
        p->lx = lx, p->tok = tok;
    }
    int len = 0;
    const char *name = is_mark(p, "(") ? stripe_lex_comment(&p->lx, &len) : NULL;
    if (name && len) like.name = name_intern(p->names, name, (size_t)len);
    expect(p, "(");
    take_header(p, s, up->up == NULL);
    expect(p, "{");
    while (!p->failed && !is_mark(p, "}")) take_statement(p, s);
    expect(p, "}");
    if (p->failed || !stripe_fold(p, s)) return NULL;
    int64_t n = 0;
    bool loops = s->loops > up->loops;
    like.kind = pull_kind(p, &like.node.tags, range, loops);
    if (pull_tag(p, &like.node.tags, "unroll_limit", range, &n)) like.unroll_limit = (int)n;
    if (pull_tag(p, &like.node.tags, "grain", range, &n)) like.grain = n;
    return p->failed ? NULL : finish_block(p, s, &like);
}

// --- The program -------------------------------------------------------------------------------

static const char *program_name(StripeParser *p, const Block *b) {
    if (b->name && stripe_plain(b->name)) return b->name;
    const char *file = p->lx.source->name, *slash = strrchr(file, '/');
    if (slash) file = slash + 1;
    const char *dot = strchr(file, '.');
    char *stem = arena_strndup(p->arena, file, dot ? (size_t)(dot - file) : strlen(file));
    return stripe_plain(stem) ? stem : "main";
}

static void make_program(StripeParser *p, const StripeScope *outside, const char *name) {
    Program *program = program_new(p->arena, p->names, name, strlen(name));
    for (int i = 0; i < p->t->nargs; i++) {
        const Refine *r = outside->view.at[i];
        const Buffer *b = &p->t->buffers.at[i];
        const Affine *size[STRIPE_MAX_RANK];
        for (int d = 0; d < b->rank; d++) size[d] = affine_const(program->exprs, b->size[d]);
        Role role = r->v.dir == VIEW_IN    ? ROLE_INPUT
                    : r->v.dir == VIEW_OUT ? ROLE_OUTPUT
                                           : ROLE_INOUT;
        program_tensor(program, b->name, b->type, role, b->rank, size);
        program->tensors.at[i].range = r->range;
        program->ninputs += role == ROLE_INPUT;
        program->noutputs += role != ROLE_INPUT;
    }
    program->source = p->lx.source;
    program->bound = true;
    p->t->program = program;
}

// Its argument by its name.
static bool is_whole(const Refine *r) {
    for (int d = 0; d < r->rank; d++)
        if (!affine_is(r->v.offset[d], 0) || r->v.size[d] != r->parent->v.size[d]) return false;
    return r->v.into == r->parent->v.into;
}

// The outermost block is the root unless it is a loop or has something to initialise.
static const Block *make_root(StripeParser *p, const Block *b, const StripeScope *s) {
    NodeList children = {0};
    bool plain = b->nindex == 0 && b->nconstraints == 0 && b->place.n == 0;
    for (int i = 0; i < s->view.n; i++) {
        Refine *r = s->view.at[i];
        plain &= !r->parent || is_whole(r);
        if (!r->starts || !r->updated) continue;
        stripe_init(p, b, r, &children);
        plain = false;
    }
    if (plain) {
        Block root = *b;
        root.nviews = 0, root.view = NULL;
        const Block *made = tree_block(p->t, &root, b->child, b->nchildren);
        for (int i = 0; i < p->t->prefetches.n; i++)
            if (p->t->prefetches.at[i].at == b) p->t->prefetches.at[i].at = made;
        return made;
    }
    vec_push(p->arena, &children, &b->node);
    Block root = {.node.ndeps = -1, .name = b->name};
    return tree_block(p->t, &root, children.at, children.n);
}

Tree *stripe_parse(Arena *arena, Names *names, const Source *source, DiagList *diags) {
    StripeParser *p = arena_new(arena, StripeParser);
    Exprs *x = arena_new(arena, Exprs);
    exprs_init(x, arena);
    *p = (StripeParser){.lx = {source, diags, arena, 0}, .arena = arena, .names = names, .x = x};
    p->diags = diags;
    p->t = tree_new(arena, x, names);
    p->lo = arena_new_n(arena, int64_t, TREE_MAX_INDICES);
    p->hi = arena_new_n(arena, int64_t, TREE_MAX_INDICES);
    const Source *before = diags->source;
    diags->source = source;
    StripeScope outside = {0}, *s = NULL;
    const Block *b = NULL;
    next(p);
    if (!p->failed && p->tok.kind == ST_INT) {
        take_int(p, "a statement");
        expect(p, ":");
    }
    Tags tags = take_tags(p);
    if (!p->failed && is_word(p, "block"))
        b = take_block(p, &outside, tags, &s);
    else
        expected(p, "a block");
    if (!p->failed && p->tok.kind != ST_END) expected(p, "the end of the text");
    if (!p->failed && b) {
        p->t->root = make_root(p, b, s);
        make_program(p, &outside, program_name(p, b));
    }
    diags->source = before;
    return p->failed || !b ? NULL : p->t;
}
