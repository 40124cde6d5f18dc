// Suggests alternatives to a refused step. It shows the loops before and after the step, and the
// nearest legal steps of its kind: other levels, fewer levels, other strips, the loops in the other
// order, or the step after a skew. Each suggestion is applied and checked first; most are found
// within a millisecond.
#include "lang/teml/teml.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_NAMED = 3, MOST_TRIED = 64, MOST_OF_ALL = 256, MOST_LINES = 16, MOST_COLUMNS = 60 };

typedef struct Near {
    Teml *t;
    const TemlStmt *s; // the refused statement
    Text out;
    int tried, named;
} Near;

// --- Trying ------------------------------------------------------------------------------------

static const Syn *number(Teml *t, int64_t i) {
    Syn *syn = arena_new(t->arena, Syn);
    *syn = (Syn){.kind = SYN_INT, .i = i};
    return syn;
}

// The value of a step; NULL, without a diagnostic, if it is refused.
static TemlValue *applied(Teml *t, const TemlStmt *s) {
    DiagList *diags = t->diags, found = {.arena = diags->arena};
    found.source = diags->source;
    found.strict = diags->strict;
    t->diags = &found;
    t->probing = true;
    TemlValue *v = teml_apply(t, s);
    if (t->x->overflow || t->x->too_large) v = NULL;
    t->x->overflow = t->x->too_large = false;
    t->probing = false;
    t->diags = diags;
    return v;
}

// Is the step legal? Its results are discarded.
static bool is_legal(Teml *t, const TemlStmt *s) {
    Tree base = *t->base;
    bool legal = applied(t, s) != NULL;
    *t->base = base;
    return legal;
}

// Inside a function, its local names are written without the name of the function.
static const char *own_name(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

static void print_syn(Text *out, const Syn *syn) {
    if (syn->kind == SYN_NAME) text_add(out, own_name(syn->name));
    if (syn->kind == SYN_INT) text_printf(out, "%lld", (long long)syn->i);
    if (syn->kind != SYN_LIST) return;
    for (int i = 0; i < syn->n; i++) {
        text_add(out, i ? ", " : "[");
        print_syn(out, syn->at[i]);
    }
    text_char(out, ']');
}

static void print_step(Text *out, const TemlStmt *s) {
    text_printf(out, "%s(", s->builtin);
    for (int i = 0; i < s->n; i++) {
        if (i) text_add(out, ", ");
        print_syn(out, s->arg[i]);
    }
    text_char(out, ')');
}

static TemlStmt step_like(Near *near, const char *builtin, int n, const Syn *const *arg) {
    TemlStmt s = *near->s;
    s.builtin = name_of(near->t->names, builtin);
    s.n = n;
    s.arg = (const Syn **)arg;
    return s;
}

// May another step be tried? The limit keeps programs with many refused steps fast.
static bool tries_more(Near *near) {
    if (near->named == MOST_NAMED || near->tried == MOST_TRIED) return false;
    if (near->t->tried == MOST_OF_ALL) return false;
    near->tried++;
    near->t->tried++;
    return true;
}

// Suggests the step if it is legal. Returns false if there are enough suggestions.
static bool try(Near *near, const char *builtin, int n, const Syn *const *arg) {
    TemlStmt s = step_like(near, builtin, n, arg);
    if (!tries_more(near)) return false;
    if (!is_legal(near->t, &s)) return true;
    if (near->named++) text_add(&near->out, "; ");
    print_step(&near->out, &s);
    return true;
}

static int depth_of(const TemlLoop *l) {
    int depth = 0;
    const Block *b = l->bare ? NULL : as_block(l->node[0]);
    for (; b && b->nindex == 1; b = b->nchildren == 1 ? as_block(b->child[0]) : NULL) depth++;
    return depth;
}

static int depth_of_argument(Near *near) {
    return depth_of(teml_find(near->t, near->s->arg[0]->name)->loop);
}

// --- Suggestions, by kind of step ---------------------------------------------------------------

// The same step at another level, the nearest first; a third argument stays.
static void other_levels(Near *near, const char *builtin) {
    const TemlStmt *s = near->s;
    int depth = depth_of_argument(near);
    for (int away = 1; away < depth; away++)
        for (int side = -1; side <= 1; side += 2) {
            int64_t level = s->arg[1]->i + side * away;
            const Syn *arg[] = {s->arg[0], number(near->t, level), s->n > 2 ? s->arg[2] : NULL};
            if (level >= 1 && level <= depth && !try(near, builtin, s->n, arg)) return;
        }
}

static void other_pairs(Near *near) {
    const TemlStmt *s = near->s;
    const Syn *list = s->arg[1];
    int64_t a = s->n > 2 ? s->arg[1]->i : list->at[0]->i;
    int64_t b = s->n > 2 ? s->arg[2]->i : list->at[1]->i;
    int depth = depth_of_argument(near);
    for (int away = 1; away < 2 * depth; away++)
        for (int i = 1; i <= depth; i++)
            for (int k = i + 1; k <= depth; k++) {
                int64_t far = llabs(i - (a < b ? a : b)) + llabs(k - (a < b ? b : a));
                const Syn *arg[] = {s->arg[0], number(near->t, i), number(near->t, k)};
                if (far == away && !try(near, "interchange", 3, arg)) return;
            }
}

static void moved_less(Near *near) {
    const TemlStmt *s = near->s;
    for (int64_t n = s->arg[2]->i - 1; n > 0; n--)
        if (!try(near, "interchange_n", 3,
                 (const Syn *[]){s->arg[0], s->arg[1], number(near->t, n)}))
            return;
    other_levels(near, "interchange_n");
}

static void fused_otherwise(Near *near) {
    const TemlStmt *s = near->s;
    for (int64_t r = s->arg[2]->i; r > 0; r--) {
        const Syn *deep = number(near->t, r);
        if (r < s->arg[2]->i)
            try(near, "fuse_outer", 3, (const Syn *[]){s->arg[0], s->arg[1], deep});
        try(near, "fuse_outer", 3, (const Syn *[]){s->arg[1], s->arg[0], deep});
    }
}

// Strips of one iteration in as few levels as possible, which leaves these levels unchanged.
static void tiled_less(Near *near) {
    const TemlStmt *s = near->s;
    int depth = depth_of_argument(near);
    for (int kept = 1; kept < depth && depth <= 6; kept++)
        for (unsigned set = 1; set < 1u << depth; set++) {
            if (__builtin_popcount(set) != kept) continue;
            Syn *list = arena_new(near->t->arena, Syn);
            *list = (Syn){.kind = SYN_LIST, .n = depth, .range = s->arg[1]->range};
            list->at = arena_new_n(near->t->arena, const Syn *, depth);
            for (int k = 0; k < depth; k++)
                list->at[k] = set >> k & 1                  ? number(near->t, 1)
                              : s->arg[1]->kind == SYN_LIST ? s->arg[1]->at[k]
                                                            : s->arg[1];
            if (!try(near, "tile", 2, (const Syn *[]){s->arg[0], list})) return;
        }
}

// Is the step legal on a skewed loop, which has a temporary name?
static bool legal_after(Near *near, const TemlStmt *skew) {
    Teml *t = near->t;
    Tree base = *t->base;
    TemlValue *v = applied(t, skew);
    const char *own = own_name(near->s->arg[0]->name);
    Syn loop = {.kind = SYN_NAME,
                .name = name_of(t->names, arena_printf(t->arena, "%s_skewed", own))};
    const Syn **arg = arena_new_n(t->arena, const Syn *, near->s->n);
    for (int i = 0; i < near->s->n; i++) arg[i] = i ? near->s->arg[i] : &loop;
    TemlStmt s = step_like(near, near->s->builtin, near->s->n, arg);
    bool legal = false;
    if (v && !teml_find(t, loop.name)) {
        vec_push(t->arena, &t->store, ((TemlBinding){loop.name, v}));
        legal = applied(t, &s) != NULL;
        t->store.n--;
    }
    *t->base = base;
    if (!legal) return false;
    if (near->named++) text_add(&near->out, "; ");
    print_step(&near->out, &s);
    text_printf(&near->out, " after %s = ", loop.name);
    print_step(&near->out, skew);
    return true;
}

// A wavefront: skews an inner level by an outer one, once or twice.
static void skewed_first(Near *near) {
    const Syn *arg[4] = {near->s->arg[0]};
    int depth = depth_of_argument(near);
    for (int f = 1; f <= 2; f++)
        for (int by = 1; by < depth; by++)
            for (int level = by + 1; level <= depth; level++) {
                arg[1] = number(near->t, by);
                arg[2] = number(near->t, level);
                arg[3] = number(near->t, f);
                TemlStmt skew = step_like(near, "skew", f > 1 ? 4 : 3, arg);
                if (!tries_more(near) || legal_after(near, &skew)) return;
            }
}

static const char *nearest(Near *near) {
    const char *b = near->s->builtin;
    if (!strcmp(b, "parallelize") || !strcmp(b, "vectorize") || !strcmp(b, "fuse_inner"))
        other_levels(near, b);
    if (!strcmp(b, "interchange")) other_pairs(near);
    if (!strcmp(b, "interchange_n")) moved_less(near);
    if (!strcmp(b, "fuse_outer")) fused_otherwise(near);
    if (!strcmp(b, "tile")) tiled_less(near);
    if (!strcmp(b, "unroll_and_jam")) {
        try(near, "unroll", 3, near->s->arg);
        other_levels(near, b);
    }
    if (strcmp(b, "fuse_outer") && strcmp(b, "fuse_inner")) skewed_first(near);
    return near->named ? text_str(&near->out) : NULL;
}

// --- Before and after ---------------------------------------------------------------------------

static int columns(const char *line, size_t len) {
    int n = 0;
    for (size_t i = 0; i < len; i++) n += ((unsigned char)line[i] & 0xc0) != 0x80; // UTF-8
    return n;
}

static int widest(const char *text) {
    int most = 0;
    for (size_t len; *text; text += len + (text[len] == '\n')) {
        len = strcspn(text, "\n");
        int wide = columns(text, len);
        most = wide > most && wide <= MOST_COLUMNS ? wide : most;
    }
    return most;
}

// Two texts side by side, line by line.
static const char *side_by_side(Arena *arena, const char *left, const char *right) {
    Text out = {.arena = arena};
    int column = widest(left) + 2;
    for (int n = 0; *left || *right; n++) {
        size_t a = strcspn(left, "\n"), b = strcspn(right, "\n");
        if (n == MOST_LINES) {
            text_add(&out, "\n  ...");
            break;
        }
        int wide = columns(left, a);
        text_printf(&out, "\n%.*s", (int)a, left);
        if (b) text_printf(&out, "%*s%.*s", wide < column ? column - wide : 2, "", (int)b, right);
        left += a + (left[a] == '\n');
        right += b + (right[b] == '\n');
    }
    return text_str(&out);
}

void teml_explain(Teml *t, const TemlStmt *s, const TemlLoop *after, Diag *d) {
    Text left = {.arena = t->arena}, right = {.arena = t->arena};
    for (int i = 0; i < s->n; i++) {
        const TemlValue *v = s->arg[i]->kind == SYN_NAME ? teml_find(t, s->arg[i]->name) : NULL;
        if (v && v->kind == VALUE_LOOP) teml_loop_print(&left, t, v->loop);
    }
    teml_loop_print(&right, t, after);
    diag_note(t->diags, d, (Range){0, 0}, DIAG_TEML_LOOPS_NOTE,
              side_by_side(t->arena, text_str(&left), text_str(&right)));
    Near near = {.t = t, .s = s, .out.arena = t->arena};
    const char *legal = nearest(&near);
    if (legal) diag_note(t->diags, d, (Range){0, 0}, DIAG_EDIT_NEAR_NOTE, legal);
}
