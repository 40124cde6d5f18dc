// Schedule text (.lws): printing and parsing. docs/schedules.md explains it to users.
//
//     schedule  section*
//     section   LABEL ':' order NEWLINE, then option lines, which are indented
//     order     (loop | '|')*                      '|': what follows is closed behind the statement
//     loop      ITER ['/' STEP | '%' STEP] [':' MARK]
//     option    after LABEL | inline | at LOOP | privatise LOOP | storage
//               | copy TENSOR [at LOOP] storage | prefetch TENSOR at LOOP distance N level N
//               | cache TENSOR readonly|l1|l2|streaming
//               | skew ITER by ['-'] [N '*'] ITER {('+' | '-') [N '*'] ITER}
//               | groups N | nontemporal | accumulators N | unroll N | grain N | priority N
//     storage   [layout '(' DIM ['/' BLOCK] ... ')'] [place stack|scratch|shared] [align N]
//               [swizzle 32|64|128] [stages N] [by async]
//
// '#' begins a comment. Words are letters, digits, '_' and '.', or anything in backquotes; option
// words mean nothing in an order, so iterators may have any name.
#include "sched/schedule.h"

#include <string.h>

#include "base/bug.h"
#include "base/nearest.h"

const SchedStmt *schedule_find(const Schedule *s, Name label) {
    for (int i = 0; i < s->nstmts; i++)
        if (s->stmt[i]->label == label) return s->stmt[i];
    return NULL;
}

bool schedule_copies(const SchedStmt *s, Name tensor) {
    for (int i = 0; i < s->ncopies; i++)
        if (s->copy[i].tensor == tensor) return true;
    return false;
}

static const char *const mark[KIND_COUNT] = {
    [KIND_SERIAL] = "s",          [KIND_ANY] = "any",           [KIND_PARALLEL] = "p",
    [KIND_UNROLL] = "u",          [KIND_VECTOR] = "v",          [KIND_GRID_X] = "grid.x",
    [KIND_GRID_Y] = "grid.y",     [KIND_GRID_Z] = "grid.z",     [KIND_THREAD_X] = "thread.x",
    [KIND_THREAD_Y] = "thread.y", [KIND_THREAD_Z] = "thread.z", [KIND_WARP] = "warp",
    [KIND_LANE] = "lane",         [KIND_CLUSTER] = "cluster",
};

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || (unsigned char)c >= 0x80;
}

// --- Printing ----------------------------------------------------------------------------------

static void print_word(Text *out, Name name) {
    bool plain = name[0] != 0;
    for (const char *c = name; *c; c++) plain &= is_word(*c);
    text_printf(out, plain ? "%s" : "`%s`", name);
}

static void print_step(Text *out, Name iter, int64_t step, bool interleaved) {
    print_word(out, iter);
    if (step != 1 || interleaved)
        text_printf(out, "%c%lld", interleaved ? '%' : '/', (long long)step);
}

static void print_ref(Text *out, const char *word, const LoopRef *at) {
    if (!at->iter) return;
    text_add(out, word);
    print_step(out, at->iter, at->step, at->interleaved);
}

static void print_order(Text *out, const SchedStmt *s) {
    print_word(out, s->label);
    text_char(out, ':');
    for (int i = 0; i <= s->nloops; i++) {
        if (i == s->stage) text_add(out, " |");
        if (i == s->nloops) break;
        const SchedLoop *l = &s->loop[i];
        text_char(out, ' ');
        print_step(out, l->iter, l->step, l->interleaved);
        if (l->kind != KIND_SERIAL) text_printf(out, ":%s", mark[l->kind]);
    }
    text_char(out, '\n');
}

static void print_layout(Text *out, const Storage *s) {
    text_add(out, "layout (");
    for (int i = 0; i < s->ndims; i++) {
        if (i) text_char(out, ' ');
        print_step(out, s->dim[i].dim, s->dim[i].block, false);
    }
    text_char(out, ')');
}

// On one line behind a copy (`line` false), or an option line for each.
static void print_storage(Text *out, const Storage *s, bool line) {
    const char *before = line ? "    " : " ", *behind = line ? "\n" : "";
    if (s->ndims) {
        text_add(out, before);
        print_layout(out, s);
        text_add(out, behind);
    }
    if (*home_name[s->home]) text_printf(out, "%splace %s%s", before, home_name[s->home], behind);
    if (s->align) text_printf(out, "%salign %d%s", before, s->align, behind);
    if (s->swizzle) text_printf(out, "%sswizzle %d%s", before, s->swizzle, behind);
    if (s->stages) text_printf(out, "%sstages %d%s", before, s->stages, behind);
    if (s->async) text_printf(out, "%sby async%s", before, behind);
}

static void print_number(Text *out, const char *word, int64_t n) {
    if (n) text_printf(out, "    %s %lld\n", word, (long long)n);
}

// `+ 2*t`, `- s`; the first one without its plus.
static void print_term(Text *out, int64_t coef, Name iter, bool first) {
    if (coef < 0 || !first) text_add(out, first ? "-" : coef < 0 ? " - " : " + ");
    int64_t many = coef < 0 ? -coef : coef;
    if (many != 1) text_printf(out, "%lld*", (long long)many);
    print_word(out, iter);
}

static void print_skew(Text *out, const SchedSkew *k) {
    text_add(out, "    skew ");
    print_word(out, k->iter);
    text_add(out, " by ");
    for (int i = 0; i < k->nterms; i++) print_term(out, k->term[i].coef, k->term[i].iter, i == 0);
    text_char(out, '\n');
}

static void print_options(Text *out, const SchedStmt *s) {
    for (int i = 0; i < s->nskews; i++) print_skew(out, &s->skew[i]);
    if (s->after) {
        text_add(out, "    after ");
        print_word(out, s->after);
        text_char(out, '\n');
    }
    if (s->inlined) text_add(out, "    inline\n");
    print_ref(out, "    at ", &s->at);
    if (s->at.iter) text_char(out, '\n');
    print_ref(out, "    privatise ", &s->privatise);
    if (s->privatise.iter) text_char(out, '\n');
    print_storage(out, &s->storage, true);
    for (int i = 0; i < s->ncopies; i++) {
        text_add(out, "    copy ");
        print_word(out, s->copy[i].tensor);
        if (s->copy[i].as) text_printf(out, " as %s", type_info[s->copy[i].as].name);
        print_ref(out, " at ", &s->copy[i].at);
        print_storage(out, &s->copy[i].storage, false);
        text_char(out, '\n');
    }
    for (int i = 0; i < s->nprefetches; i++) {
        text_add(out, "    prefetch ");
        print_word(out, s->prefetch[i].tensor);
        print_ref(out, " at ", &s->prefetch[i].at);
        text_printf(out, " distance %lld level %d\n", (long long)s->prefetch[i].distance,
                    s->prefetch[i].level);
    }
    for (int i = 0; i < s->ncaches; i++) {
        text_add(out, "    cache ");
        print_word(out, s->cache[i].tensor);
        text_printf(out, " %s\n", load_cache_name[s->cache[i].cache]);
    }
    print_number(out, "groups", s->groups);
    if (s->nontemporal) text_add(out, "    nontemporal\n");
    print_number(out, "accumulators", s->accumulators);
    print_number(out, "unroll", s->unroll_limit);
    print_number(out, "grain", s->grain);
    print_number(out, "priority", s->priority);
}

void schedule_print(Text *out, const Schedule *s) {
    if (s->flatten) text_add(out, "flatten\n");
    for (int i = 0; i < s->nstmts; i++) {
        print_order(out, s->stmt[i]);
        print_options(out, s->stmt[i]);
    }
}

// --- Tokens ------------------------------------------------------------------------------------

typedef enum ScheduleTokenKind {
    TOKEN_END,
    TOKEN_LINE,
    TOKEN_INDENT,
    TOKEN_WORD,
    TOKEN_CHAR
} ScheduleTokenKind;

typedef struct ScheduleToken {
    ScheduleTokenKind kind;
    char c; // TOKEN_CHAR
    Name word;
    Range range;
} ScheduleToken;

typedef struct ScheduleParser {
    Arena *arena;
    Names *names;
    const Source *src;
    DiagList *diags;
    uint32_t at;
    ScheduleToken tok; // the next one
    bool failed;
} ScheduleParser;

// Lines: a LINE token begins a line in the first column, an INDENT token one that is indented;
// empty lines and comments give none.
static void next_line(ScheduleParser *p) {
    const char *t = p->src->text;
    for (;;) {
        uint32_t from = p->at;
        while (p->at < p->src->len && (t[p->at] == ' ' || t[p->at] == '\t' || t[p->at] == '\r'))
            p->at++;
        if (p->at < p->src->len && t[p->at] == '#')
            while (p->at < p->src->len && t[p->at] != '\n') p->at++;
        if (p->at >= p->src->len) {
            p->tok = (ScheduleToken){.kind = TOKEN_END, .range = {p->at, p->at}};
            return;
        }
        if (t[p->at] != '\n') {
            p->tok = (ScheduleToken){.kind = p->at > from ? TOKEN_INDENT : TOKEN_LINE,
                                     .range = {p->at, p->at}};
            return;
        }
        p->at++;
    }
}

static void next(ScheduleParser *p) {
    const char *t = p->src->text;
    while (p->at < p->src->len && (t[p->at] == ' ' || t[p->at] == '\t' || t[p->at] == '\r'))
        p->at++;
    if (p->at < p->src->len && t[p->at] == '#')
        while (p->at < p->src->len && t[p->at] != '\n') p->at++;
    uint32_t from = p->at;
    if (p->at >= p->src->len || t[p->at] == '\n') {
        next_line(p);
        p->tok.range = (Range){from, from};
        return;
    }
    bool quoted = t[p->at] == '`';
    if (quoted) {
        uint32_t end = p->at + 1;
        while (end < p->src->len && t[end] != '`' && t[end] != '\n') end++;
        if (end < p->src->len && t[end] == '`' && end > from + 1 &&
            !memchr(t + from, 0, end - from)) {
            p->at = end + 1;
            p->tok = (ScheduleToken){
                TOKEN_WORD, 0, name_intern(p->names, t + from + 1, end - from - 1), {from, p->at}};
            return;
        }
    }
    while (p->at < p->src->len && is_word(t[p->at])) p->at++;
    if (p->at > from) {
        p->tok = (ScheduleToken){
            TOKEN_WORD, 0, name_intern(p->names, t + from, p->at - from), {from, p->at}};
        return;
    }
    p->at++;
    p->tok = (ScheduleToken){TOKEN_CHAR, t[from], NULL, {from, p->at}};
}

static void fault(ScheduleParser *p, Range range, DiagId id, const char *a, const char *b) {
    if (!p->failed) diag_report(p->diags, range, id, a, b);
    p->failed = true;
}

static const char *found(const ScheduleParser *p) {
    switch (p->tok.kind) {
    case TOKEN_WORD: return arena_printf(p->arena, "'%s'", p->tok.word);
    case TOKEN_CHAR:
        return p->tok.c > ' ' && p->tok.c < 127 ? arena_printf(p->arena, "'%c'", p->tok.c)
                                                : "a character that is not text";
    default: return "the end of the line";
    }
}

static void expected(ScheduleParser *p, const char *what) {
    fault(p, p->tok.range, DIAG_SCHEDULE_EXPECTED, what, found(p));
}

static bool is_char(const ScheduleParser *p, char c) {
    return p->tok.kind == TOKEN_CHAR && p->tok.c == c;
}

static bool accept(ScheduleParser *p, char c) {
    if (!is_char(p, c)) return false;
    next(p);
    return true;
}

static Name word(ScheduleParser *p, const char *what, Range *range) {
    if (p->tok.kind != TOKEN_WORD) {
        expected(p, what);
        return NULL;
    }
    Name w = p->tok.word;
    if (range) *range = p->tok.range;
    next(p);
    return w;
}

static bool accept_word(ScheduleParser *p, const char *w) {
    if (p->tok.kind != TOKEN_WORD || strcmp(p->tok.word, w) != 0) return false;
    next(p);
    return true;
}

static int64_t number(ScheduleParser *p, int64_t least, int64_t most) {
    Range range;
    const char *what = least > 0 ? "a number of at least 1" : "a number";
    if (most < 10) what = arena_printf(p->arena, "a number from %d to %d", (int)least, (int)most);
    bool minus = least < 0 && accept(p, '-');
    Name w = word(p, what, &range);
    int64_t n = 0;
    for (const char *c = w ? w : ""; *c; c++) {
        if (*c < '0' || *c > '9' || n > most / 10 || *c - '0' > most - 10 * n) {
            fault(p, range, DIAG_SCHEDULE_NUMBER, w, what);
            return least;
        }
        n = 10 * n + (*c - '0');
    }
    if (w && n < least) fault(p, range, DIAG_SCHEDULE_NUMBER, w, what);
    return minus ? -n : n;
}

enum { MOST = INT32_MAX, MOST_LEVEL = 4 };

// --- Parsing -----------------------------------------------------------------------------------

static void parse_step(ScheduleParser *p, int64_t *step, bool *interleaved) {
    *step = 1;
    *interleaved = is_char(p, '%');
    if (is_char(p, '/') || is_char(p, '%')) {
        next(p);
        *step = number(p, 1, INT64_MAX / 4);
    }
}

static const char *nth_mark(const void *of, size_t i) {
    (void)of;
    return i < KIND_COUNT ? kind_name[i] : NULL;
}

static Kind parse_mark(ScheduleParser *p) {
    Range range;
    Name w = word(p, "a mark", &range);
    for (int k = 0; w && k < KIND_COUNT; k++)
        if (!strcmp(w, mark[k]) || !strcmp(w, kind_name[k])) return (Kind)k;
    if (!w || p->failed) return KIND_SERIAL;
    Diag *d = diag_report(p->diags, range, DIAG_SCHEDULE_UNKNOWN_MARK, w);
    const char *near = nearest(w, nth_mark, NULL);
    if (near) diag_note(p->diags, d, (Range){0, 0}, DIAG_DID_YOU_MEAN, near);
    p->failed = true;
    return KIND_SERIAL;
}

static void parse_order(ScheduleParser *p, SchedStmt *s) {
    VEC(SchedLoop) loops = {0};
    s->stage = -1;
    while (!p->failed && (p->tok.kind == TOKEN_WORD || p->tok.kind == TOKEN_CHAR)) {
        Range bar = p->tok.range;
        if (accept(p, '|')) {
            if (s->stage >= 0) fault(p, bar, DIAG_SCHEDULE_TWO_BARS, NULL, NULL);
            s->stage = loops.n;
            continue;
        }
        SchedLoop l = {0};
        l.iter = word(p, "a loop", &l.range);
        if (!l.iter) return;
        parse_step(p, &l.step, &l.interleaved);
        if (accept(p, ':')) l.kind = parse_mark(p);
        if (loops.n == TREE_MAX_DEPTH) fault(p, l.range, DIAG_SCHEDULE_ORDER_LONG, s->label, NULL);
        vec_push(p->arena, &loops, l);
    }
    s->loop = loops.at;
    s->nloops = loops.n;
}

static LoopRef parse_ref(ScheduleParser *p) {
    LoopRef r = {0};
    r.iter = word(p, "a loop", &r.range);
    if (r.iter) parse_step(p, &r.step, &r.interleaved);
    return r;
}

static void parse_layout(ScheduleParser *p, Storage *s) {
    VEC(LayoutDim) dims = {0};
    if (!accept(p, '(')) {
        expected(p, "'('");
        return;
    }
    while (!p->failed && !is_char(p, ')')) {
        LayoutDim d = {.block = 1};
        d.dim = word(p, "a dimension or ')'", &d.range);
        if (accept(p, '/')) d.block = number(p, 1, INT64_MAX / 4);
        vec_push(p->arena, &dims, d);
    }
    accept(p, ')');
    if (dims.n > 2 * PROGRAM_MAX_RANK)
        fault(p, dims.at[0].range, DIAG_SCHEDULE_LAYOUT_LONG, NULL, NULL);
    s->dim = dims.at;
    s->ndims = dims.n;
}

// Each option is said once.
static void once(ScheduleParser *p, Range at, bool said, const char *option) {
    if (said) fault(p, at, DIAG_SCHEDULE_OPTION_TWICE, option, NULL);
}

static void parse_place(ScheduleParser *p, Storage *s) {
    s->place = p->tok.range;
    for (int h = 0; h < HOME_COUNT; h++)
        if (*home_name[h] && accept_word(p, home_name[h])) {
            s->home = (BufferHome)h;
            return;
        }
    expected(p, "'register', 'stack', 'scratch' or 'shared'");
}

static void parse_swizzle(ScheduleParser *p, Storage *s) {
    static const struct {
        const char *word;
        int bytes;
    } of[] = {{"32", 32}, {"64", 64}, {"128", 128}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (accept_word(p, of[i].word)) {
            s->swizzle = of[i].bytes;
            return;
        }
    expected(p, "'32', '64' or '128'");
}

// One storage word, if there is one.
static bool parse_storage(ScheduleParser *p, Storage *s) {
    Range at = p->tok.range;
    if (accept_word(p, "layout")) {
        once(p, at, s->ndims, "layout");
        parse_layout(p, s);
    } else if (accept_word(p, "place")) {
        once(p, at, s->home != HOME_AUTO, "place");
        parse_place(p, s);
    } else if (accept_word(p, "align")) {
        once(p, at, s->align, "align");
        Range range = p->tok.range;
        s->align = (int)number(p, 1, 1 << 20);
        if (s->align & (s->align - 1)) fault(p, range, DIAG_SCHEDULE_ALIGN, NULL, NULL);
    } else if (accept_word(p, "swizzle")) {
        once(p, at, s->swizzle, "swizzle");
        parse_swizzle(p, s);
    } else if (accept_word(p, "stages")) {
        once(p, at, s->stages, "stages");
        s->stages = (int)number(p, 1, 8);
    } else if (accept_word(p, "by")) {
        once(p, at, s->async, "by");
        s->async = accept_word(p, "async");
        if (!s->async) expected(p, "'async'");
    } else
        return false;
    return !p->failed;
}

static Type parse_type(ScheduleParser *p) {
    Type type = TYPE_NONE;
    if (p->tok.kind == TOKEN_WORD) type = type_by_name(p->tok.word, (int)strlen(p->tok.word));
    if (type)
        next(p);
    else
        expected(p, "a type");
    return type;
}

static SchedCopy parse_copy(ScheduleParser *p) {
    SchedCopy c = {.storage.home = HOME_AUTO};
    c.tensor = word(p, "a tensor", &c.range);
    if (accept_word(p, "as")) c.as = parse_type(p);
    if (accept_word(p, "at")) c.at = parse_ref(p);
    while (parse_storage(p, &c.storage)) {}
    return c;
}

static SchedPrefetch parse_prefetch(ScheduleParser *p) {
    SchedPrefetch f = {.distance = 1, .level = 1};
    f.tensor = word(p, "a tensor", &f.range);
    if (!accept_word(p, "at"))
        expected(p, "'at'");
    else
        f.at = parse_ref(p);
    if (accept_word(p, "distance")) f.distance = number(p, 0, MOST);
    if (accept_word(p, "level")) f.level = (int)number(p, 1, MOST_LEVEL);
    return f;
}

static const char *nth_cache(const void *of, size_t i) {
    (void)of;
    return i + 1 < LOAD_CACHE_COUNT ? load_cache_name[i + 1] : NULL;
}

static LoadCache parse_operator(ScheduleParser *p) {
    for (int k = LOAD_AUTO + 1; k < LOAD_CACHE_COUNT && !p->failed; k++)
        if (accept_word(p, load_cache_name[k])) return (LoadCache)k;
    if (p->failed) return LOAD_AUTO;
    Diag *d = diag_report(p->diags, p->tok.range, DIAG_SCHEDULE_EXPECTED,
                          "'readonly', 'l1', 'l2' or 'streaming'", found(p));
    if (p->tok.kind == TOKEN_WORD) diag_suggest(p->diags, d, p->tok.word, nth_cache, NULL);
    p->failed = true;
    return LOAD_AUTO;
}

static bool is_number(Name w) {
    for (const char *c = w; *c; c++)
        if (*c < '0' || *c > '9') return false;
    return true;
}

// One term of a sum: `t` or `2*t`.
static SkewTerm parse_term(ScheduleParser *p, int64_t sign) {
    int64_t many = 1;
    if (p->tok.kind == TOKEN_WORD && is_number(p->tok.word)) {
        many = number(p, 1, MOST);
        if (!accept(p, '*')) expected(p, "'*' and an iterator");
    }
    return (SkewTerm){word(p, "an iterator", NULL), sign * many};
}

static SchedSkew parse_skew(ScheduleParser *p) {
    SchedSkew k = {0};
    k.iter = word(p, "an iterator", &k.range);
    SkewTerm *term = arena_new_n(p->arena, SkewTerm, PROGRAM_MAX_ITERS);
    if (!p->failed && !accept_word(p, "by")) expected(p, "'by'");
    int64_t sign = accept(p, '-') ? -1 : 1;
    for (bool more = true; more && !p->failed && k.nterms < PROGRAM_MAX_ITERS;) {
        term[k.nterms++] = parse_term(p, sign);
        sign = is_char(p, '-') ? -1 : 1;
        more = accept(p, '+') || accept(p, '-');
    }
    k.term = term;
    return k;
}

typedef struct Options {
    VEC(SchedSkew) skews;
    VEC(SchedCopy) copies;
    VEC(SchedPrefetch) prefetches;
    VEC(SchedCache) caches;
} Options;

static void parse_cache(ScheduleParser *p, Options *o) {
    SchedCache c = {0};
    c.tensor = word(p, "a tensor", &c.range);
    for (int i = 0; c.tensor && i < o->caches.n; i++)
        once(p, c.range, o->caches.at[i].tensor == c.tensor,
             arena_printf(p->arena, "cache %s", c.tensor));
    c.cache = parse_operator(p);
    vec_push(p->arena, &o->caches, c);
}

static const char *const option_name[] = {
    "after",        "inline", "at",    "privatise", "copy",   "prefetch", "nontemporal",
    "accumulators", "unroll", "grain", "priority",  "layout", "place",    "align",
    "stages",       "by",     "skew",  "swizzle",   "cache",  "groups",
};

static const char *nth_option(const void *of, size_t i) {
    (void)of;
    return i < sizeof option_name / sizeof *option_name ? option_name[i] : NULL;
}

static void unknown_option(ScheduleParser *p) {
    Diag *d = diag_report(p->diags, p->tok.range, DIAG_SCHEDULE_UNKNOWN_OPTION, p->tok.word);
    // The names that spaces and textbooks use.
    const char *near =
        !strcmp(p->tok.word, "pack") ? "copy" : nearest(p->tok.word, nth_option, NULL);
    if (near) diag_note(p->diags, d, (Range){0, 0}, DIAG_DID_YOU_MEAN, near);
    p->failed = true;
}

static void parse_option(ScheduleParser *p, SchedStmt *s, Options *o) {
    Range at = p->tok.range;
#define OPTION(name, said) (accept_word(p, name) && (once(p, at, said, name), true))
    if (p->tok.kind != TOKEN_WORD)
        expected(p, "an option");
    else if (OPTION("after", s->after))
        s->after = word(p, "a statement", NULL);
    else if (OPTION("inline", s->inlined))
        s->inlined = true;
    else if (OPTION("at", s->at.iter))
        s->at = parse_ref(p);
    else if (OPTION("privatise", s->privatise.iter))
        s->privatise = parse_ref(p);
    else if (OPTION("copy", false))
        vec_push(p->arena, &o->copies, parse_copy(p));
    else if (OPTION("skew", false))
        vec_push(p->arena, &o->skews, parse_skew(p));
    else if (OPTION("prefetch", false))
        vec_push(p->arena, &o->prefetches, parse_prefetch(p));
    else if (OPTION("cache", false))
        parse_cache(p, o);
    else if (OPTION("groups", s->groups)) {
        s->groups_range = at;
        s->groups = (int)number(p, 1, MOST);
    } else if (OPTION("nontemporal", s->nontemporal))
        s->nontemporal = true;
    else if (OPTION("accumulators", s->accumulators))
        s->accumulators = (int)number(p, 1, MOST);
    else if (OPTION("unroll", s->unroll_limit))
        s->unroll_limit = (int)number(p, 1, MOST);
    else if (OPTION("grain", s->grain))
        s->grain = number(p, 1, INT64_MAX / 4);
    else if (OPTION("priority", s->priority))
        s->priority = (int)number(p, -MOST, MOST);
    else if (!parse_storage(p, &s->storage) && !p->failed)
        unknown_option(p);
#undef OPTION
}

static void end_of_line(ScheduleParser *p) {
    if (p->tok.kind == TOKEN_WORD || p->tok.kind == TOKEN_CHAR) expected(p, "the end of the line");
}

// A line that begins with a word, but is none of a statement.
static void no_section(ScheduleParser *p, const SchedStmt *s) {
    bool option = false;
    for (size_t i = 0; nth_option(NULL, i); i++) option |= !strcmp(nth_option(NULL, i), s->label);
    Diag *d = diag_report(p->diags, p->tok.range, DIAG_SCHEDULE_EXPECTED, "':'", found(p));
    const char *near = option ? NULL : nearest(s->label, nth_option, NULL);
    if (option) diag_note(p->diags, d, s->range, DIAG_SCHEDULE_INDENT_NOTE);
    if (near) diag_note(p->diags, d, s->range, DIAG_DID_YOU_MEAN, near);
    p->failed = true;
}

static const SchedStmt *parse_section(ScheduleParser *p) {
    SchedStmt *s = arena_new(p->arena, SchedStmt);
    Options o = {0};
    s->storage.home = HOME_AUTO;
    s->label = word(p, "a statement's label", &s->range);
    if (!p->failed && !accept(p, ':')) no_section(p, s);
    parse_order(p, s);
    end_of_line(p);
    while (!p->failed && p->tok.kind == TOKEN_INDENT) {
        next(p);
        parse_option(p, s, &o);
        end_of_line(p);
    }
    s->copy = o.copies.at;
    s->ncopies = o.copies.n;
    s->skew = o.skews.at;
    s->nskews = o.skews.n;
    s->prefetch = o.prefetches.at;
    s->nprefetches = o.prefetches.n;
    s->cache = o.caches.at;
    s->ncaches = o.caches.n;
    return s;
}

// A first line `flatten`, which no statement's section can be: it has no colon.
static bool parse_flatten(ScheduleParser *p, Range *range) {
    ScheduleParser before = *p;
    if (p->tok.kind == TOKEN_LINE) next(p);
    *range = p->tok.range;
    if (accept_word(p, "flatten") && !is_char(p, ':')) {
        end_of_line(p);
        return true;
    }
    *p = before;
    return false;
}

Schedule *schedule_parse(Arena *arena, Names *names, const Source *source, DiagList *diags) {
    ScheduleParser p = {.arena = arena, .names = names, .src = source, .diags = diags};
    const Source *before = diags->source;
    VEC(const SchedStmt *) stmts = {0};
    Numbers section = {.arena = arena};
    diags->source = source;
    next_line(&p);
    Range flatten = {0, 0};
    bool flat = parse_flatten(&p, &flatten);
    while (!p.failed && p.tok.kind != TOKEN_END) {
        if (p.tok.kind == TOKEN_INDENT) {
            fault(&p, p.tok.range, DIAG_SCHEDULE_INDENT, NULL, NULL);
            break;
        }
        next(&p);
        const SchedStmt *s = parse_section(&p);
        if (!p.failed && numbers_get(&section, s->label) >= 0)
            fault(&p, s->range, DIAG_SCHEDULE_TWICE, s->label, NULL);
        if (!p.failed) numbers_put(&section, s->label, stmts.n);
        vec_push(arena, &stmts, s);
    }
    diags->source = before;
    if (p.failed) return NULL;
    Schedule *s = arena_new(arena, Schedule);
    *s = (Schedule){arena, names, source, stmts.n, stmts.at, flat, flatten};
    return s;
}
