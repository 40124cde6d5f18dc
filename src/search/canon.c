// Canonical names and their inverse.
//
// To print a Program with canonical names, its head is copied: names are stored in its tensors,
// statements and iterators, while subscripts and expressions refer to them by number. So the copy
// shares everything except those three arrays, and program_print does the rest.
#include "search/canon.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/map.h"

typedef struct Alias {
    Name own, canon;
    int64_t extent; // of an iterator, at its first occurrence
} Alias;

// The aliases of one kind of name, in both directions.
typedef struct Aliases {
    Set by_own, by_canon;
    char letter;
} Aliases;

struct Canon {
    const Program *program;
    Aliases iter, tensor, label;
};

static int64_t extent_of(const Iter *i) { return iter_hi(i) - iter_lo(i); }

// --- Aliases -------------------------------------------------------------------------------------

static uint64_t hash_of(Name name) { return hash_bytes(0, name, strlen(name)); }
static bool same_own(const void *key, const void *item) {
    return strcmp(((const Alias *)item)->own, key) == 0;
}
static bool same_canon(const void *key, const void *item) {
    return strcmp(((const Alias *)item)->canon, key) == 0;
}

static void alias_add(Arena *arena, Names *names, Aliases *a, Name own, int64_t extent) {
    void **slot = set_find(arena, &a->by_own, hash_of(own), own, same_own);
    if (*slot) return;
    Alias *new = arena_new(arena, Alias);
    char canon[16] = {a->letter};
    size_t len = 1;
    int n = a->by_own.n++, digits = 1;
    for (int k = n; k >= 10; k /= 10) digits++;
    for (int d = digits; d > 0; d--, n /= 10) canon[d] = (char)('0' + n % 10);
    len += (size_t)digits;
    *new = (Alias){own, name_intern(names, canon, len), extent};
    *slot = new;
    *set_find(arena, &a->by_canon, hash_of(new->canon), new->canon, same_canon) = new;
    a->by_canon.n++;
}

// NULL: there is none.
static Name alias_of(Arena *arena, Aliases *a, Name name, bool back) {
    Set *set = back ? &a->by_canon : &a->by_own;
    const Alias *found = *set_find(arena, set, hash_of(name), name, back ? same_canon : same_own);
    if (!found) return NULL;
    return back ? found->own : found->canon;
}

Canon *canon_of(Arena *arena, const Program *p) {
    Canon *c = arena_new(arena, Canon);
    *c = (Canon){p, {.letter = 'i'}, {.letter = 't'}, {.letter = 's'}};
    for (int t = 0; t < p->tensors.n; t++)
        alias_add(arena, p->names, &c->tensor, p->tensors.at[t].name, 0);
    for (int i = 0; i < p->stmts.n; i++) {
        const Stmt *s = &p->stmts.at[i];
        alias_add(arena, p->names, &c->label, s->label, 0);
        for (int k = 0; k < s->niters; k++)
            alias_add(arena, p->names, &c->iter, s->iter[k].name, extent_of(&s->iter[k]));
    }
    return c;
}

const Program *canon_program(const Canon *c) { return c->program; }

// --- Programs ------------------------------------------------------------------------------------

static Program renamed(Arena *arena, const Canon *c) {
    Canon *own = (Canon *)c; // a lookup may only grow its sets
    Program p = *c->program;
    p.name = "f";
    p.preconditions.n = 0;
    p.tensors.at = arena_copy(arena, p.tensors.at, (size_t)p.tensors.n * sizeof *p.tensors.at);
    p.stmts.at = arena_copy(arena, p.stmts.at, (size_t)p.stmts.n * sizeof *p.stmts.at);
    for (int t = 0; t < p.tensors.n; t++)
        p.tensors.at[t].name = alias_of(arena, &own->tensor, p.tensors.at[t].name, false);
    for (int i = 0; i < p.stmts.n; i++) {
        Stmt *s = &p.stmts.at[i];
        s->label = alias_of(arena, &own->label, s->label, false);
        s->hint = NULL;
        s->iter = arena_copy(arena, s->iter, (size_t)s->niters * sizeof *s->iter);
        for (int k = 0; k < s->niters; k++)
            s->iter[k].name = alias_of(arena, &own->iter, s->iter[k].name, false);
    }
    return p;
}

static const char *print(Arena *arena, const Program *p) {
    Text text = {.arena = arena};
    program_print(&text, p);
    return text_str(&text);
}

const char *canon_text(Arena *arena, const Canon *c) {
    Program p = renamed(arena, c);
    return print(arena, &p);
}

// --- Original names ------------------------------------------------------------------------------

static void add_names(Text *out, Arena *arena, const Aliases *a) {
    Aliases *own = (Aliases *)a; // a lookup may only grow its sets
    for (int i = 0; i < a->by_canon.n; i++) {
        const char *canon = arena_printf(arena, "%c%d", a->letter, i);
        text_printf(out, "%s%s", i ? "," : "", alias_of(arena, own, canon, true));
    }
}

const char *canon_names(Arena *arena, const Canon *c) {
    Text out = {.arena = arena};
    add_names(&out, arena, &c->iter);
    text_char(&out, ' ');
    add_names(&out, arena, &c->tensor);
    text_char(&out, ' ');
    add_names(&out, arena, &c->label);
    return text_str(&out);
}

// The n-th of names separated by commas; *len 0: there is none.
static const char *nth_name(const char *names, int64_t n, size_t *len) {
    for (;; names++) {
        *len = strcspn(names, ", ");
        if (n-- == 0) return names;
        names += *len;
        if (*names != ',') return *len = 0, names;
    }
}

static bool is_letter(char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The original name of a word of `len` characters; *own 0: the word itself. i8 may also be a type,
// which is followed by a bracket.
static const char *own_name(const char *word, size_t len, const char *const part[3], size_t *own) {
    const char *letters = "its", *kind = strchr(letters, *word);
    int64_t n = 0;
    *own = 0;
    if (len < 2 || len > 8 || !kind || !part[kind - letters]) return NULL;
    for (size_t i = 1; i < len; i++) {
        if (!is_digit(word[i])) return NULL;
        n = 10 * n + (word[i] - '0');
    }
    if (*word == 'i' && word[len] && strchr("[(", word[len])) return NULL;
    return nth_name(part[kind - letters], n, own);
}

const char *canon_rename(Arena *arena, const char *text, const char *names) {
    Text out = {.arena = arena};
    const char *part[3] = {names};
    for (int i = 1; i < 3; i++) {
        part[i] = part[i - 1] ? strchr(part[i - 1], ' ') : NULL;
        if (part[i]) part[i]++;
    }
    for (size_t len; *text; text += len) {
        len = 1;
        bool word = is_letter(*text) || *text == '_';
        while (word && (is_letter(text[len]) || is_digit(text[len]) || text[len] == '_')) len++;
        size_t own = 0;
        const char *name = word ? own_name(text, len, part, &own) : NULL;
        text_add_n(&out, own ? name : text, own ? own : len);
    }
    return text_str(&out);
}

// The same without its constant.
static const Affine *without_constant(Arena *arena, const Affine *a) {
    Affine *copy = arena_copy(arena, a, sizeof *a + (size_t)a->n * sizeof *a->term);
    copy->constant = 0;
    return copy;
}

static const Affine **without_constants(Arena *arena, const Affine *const *a, int n) {
    const Affine **out = arena_new_n(arena, const Affine *, n);
    for (int i = 0; i < n; i++) out[i] = without_constant(arena, a[i]);
    return out;
}

const char *canon_family(Arena *arena, const Canon *c) {
    Program p = renamed(arena, c);
    for (int t = 0; t < p.tensors.n; t++) {
        Tensor *tensor = &p.tensors.at[t];
        tensor->size = without_constants(arena, tensor->size, tensor->rank);
        tensor->origin = without_constants(arena, tensor->origin, tensor->rank);
    }
    for (int i = 0; i < p.stmts.n; i++) {
        Stmt *s = &p.stmts.at[i];
        s->constraint = without_constants(arena, s->constraint, s->nconstraints);
        for (int k = 0; k < s->niters; k++) {
            s->iter[k].lo = without_constant(arena, s->iter[k].lo);
            s->iter[k].hi = without_constant(arena, s->iter[k].hi);
        }
    }
    return print(arena, &p);
}

const char *canon_sizes(Arena *arena, const Canon *c) {
    Text text = {.arena = arena};
    for (int i = 0; i < c->program->stmts.n; i++) {
        const Stmt *s = &c->program->stmts.at[i];
        if (i) text_char(&text, ';');
        for (int k = 0; k < s->niters; k++) {
            if (k) text_char(&text, ',');
            text_int(&text, extent_of(&s->iter[k]));
        }
    }
    return text_str(&text);
}

// --- Schedules -----------------------------------------------------------------------------------

typedef struct Renamer {
    Arena *arena;
    Canon *c;
    bool back, failed;
} Renamer;

// Lowering adds names derived from those of the Program, and a Schedule may use them:
// `C.A` is the copy of A that C reads, `C.part` its partial results, `k.p` the iterator over them,
// `d2` a dimension of a copy that no iterator subscripts alone. An underscore is added to a label
// that is already used.

static Name joined(Renamer *r, Name label, const char *what) {
    Names *names = r->c->program->names;
    const char *text = arena_printf(r->arena, "%s.%s", label, what);
    Aliases *tensor = &r->c->tensor, *stmt = &r->c->label;
    while (r->back &&
           (alias_of(r->arena, tensor, text, false) || alias_of(r->arena, stmt, text, false)))
        text = arena_printf(r->arena, "%s_", text);
    return name_of(names, text);
}

static Name label_to(Renamer *r, const char *name);

// NULL: the Program has no such tensor; likewise for label_to and iter_to.
static Name tensor_to(Renamer *r, const char *name) {
    Name to = alias_of(r->arena, &r->c->tensor, name, r->back);
    return to || !strchr(name, '.') ? to : label_to(r, name);
}

static Name label_to(Renamer *r, const char *name) {
    enum { MOST_DOTS = 10 }; // every way to split the name is tried
    Name to = alias_of(r->arena, &r->c->label, name, r->back);
    size_t len = strlen(name);
    int dots = 0;
    for (const char *c = name; *c; c++) dots += *c == '.';
    if (dots > MOST_DOTS) return to;
    for (size_t dot = len; !to && dot-- > 1;) {
        if (name[dot] != '.') continue;
        Name left = label_to(r, arena_strndup(r->arena, name, dot));
        size_t end = len;
        for (bool more = left != NULL; more && !to; more = name[--end] == '_' && end > dot + 1) {
            const char *right = arena_strndup(r->arena, name + dot + 1, end - dot - 1);
            Name what = strcmp(right, "part") == 0 ? right : tensor_to(r, right);
            if (what) to = joined(r, left, what);
        }
    }
    return to;
}

static Name iter_to(Renamer *r, const char *name) {
    Name to = alias_of(r->arena, &r->c->iter, name, r->back);
    size_t len = strlen(name);
    if (to) return to;
    if (name[0] == 'd' && len > 1 && strspn(name + 1, "0123456789") == len - 1)
        return name_of(r->c->program->names, name);
    if (len < 3 || strcmp(name + len - 2, ".p") != 0) return NULL;
    to = iter_to(r, arena_strndup(r->arena, name, len - 2));
    return to ? name_of(r->c->program->names, arena_printf(r->arena, "%s.p", to)) : NULL;
}

static Name rename(Renamer *r, Name (*to)(Renamer *r, const char *name), Name name) {
    Name now = name ? to(r, name) : NULL;
    r->failed |= name && !now;
    return now ? now : name;
}

static LoopRef rename_ref(Renamer *r, LoopRef ref) {
    ref.iter = rename(r, iter_to, ref.iter);
    return ref;
}

// Dimensions are also named by number.
static Storage rename_storage(Renamer *r, Storage s) {
    LayoutDim *dim = arena_copy(r->arena, s.dim, (size_t)s.ndims * sizeof *dim);
    for (int i = 0; i < s.ndims; i++)
        if (dim[i].dim[0] < '0' || dim[i].dim[0] > '9') dim[i].dim = rename(r, iter_to, dim[i].dim);
    s.dim = dim;
    return s;
}

static const SchedStmt *rename_stmt(Renamer *r, const SchedStmt *from) {
    SchedStmt *s = arena_copy(r->arena, from, sizeof *from);
    SchedLoop *loop = arena_copy(r->arena, s->loop, (size_t)s->nloops * sizeof *loop);
    SchedCopy *copy = arena_copy(r->arena, s->copy, (size_t)s->ncopies * sizeof *copy);
    SchedPrefetch *prefetch =
        arena_copy(r->arena, s->prefetch, (size_t)s->nprefetches * sizeof *prefetch);
    SchedCache *cache = arena_copy(r->arena, s->cache, (size_t)s->ncaches * sizeof *cache);
    s->label = rename(r, label_to, s->label);
    s->after = rename(r, label_to, s->after);
    s->at = rename_ref(r, s->at);
    s->privatise = rename_ref(r, s->privatise);
    s->storage = rename_storage(r, s->storage);
    for (int i = 0; i < s->nloops; i++) loop[i].iter = rename(r, iter_to, loop[i].iter);
    for (int i = 0; i < s->ncopies; i++) {
        copy[i].tensor = rename(r, tensor_to, copy[i].tensor);
        copy[i].at = rename_ref(r, copy[i].at);
        copy[i].storage = rename_storage(r, copy[i].storage);
    }
    for (int i = 0; i < s->nprefetches; i++) {
        prefetch[i].tensor = rename(r, tensor_to, prefetch[i].tensor);
        prefetch[i].at = rename_ref(r, prefetch[i].at);
    }
    for (int i = 0; i < s->ncaches; i++) cache[i].tensor = rename(r, tensor_to, cache[i].tensor);
    s->loop = loop;
    s->copy = copy;
    s->prefetch = prefetch;
    s->cache = cache;
    return s;
}

static const Schedule *rename_schedule(Arena *arena, const Canon *c, const Schedule *s, bool back) {
    Renamer r = {arena, (Canon *)c, back, false};
    const SchedStmt **stmt = arena_new_n(arena, const SchedStmt *, s->nstmts);
    for (int i = 0; i < s->nstmts; i++) stmt[i] = rename_stmt(&r, s->stmt[i]);
    if (r.failed) return NULL;
    Schedule *out = arena_new(arena, Schedule);
    *out = (Schedule){arena, c->program->names, NULL, s->nstmts, stmt, s->flatten, {0, 0}};
    return out;
}

const Schedule *canon_schedule(Arena *arena, const Canon *c, const Schedule *s) {
    return rename_schedule(arena, c, s, false);
}

const Schedule *canon_restore(Arena *arena, const Canon *c, const Schedule *s) {
    return rename_schedule(arena, c, s, true);
}

const char *canon_schedule_text(Arena *arena, const Canon *c, const Schedule *s) {
    const Schedule *canon = canon_schedule(arena, c, s);
    if (!canon) return NULL;
    Text text = {.arena = arena};
    schedule_print(&text, canon);
    return text_str(&text);
}

const Schedule *canon_schedule_parse(Arena *arena, const Canon *c, const char *text,
                                     DiagList *diags) {
    Source *source = arena_new(arena, Source);
    *source = (Source){"<tuned>", text, (uint32_t)strlen(text)};
    const Schedule *s = schedule_parse(arena, c->program->names, source, diags);
    if (!s) return NULL;
    const Schedule *own = canon_restore(arena, c, s);
    if (!own) diag_report(diags, (Range){0, 0}, DIAG_DB_NAMES);
    return own;
}

// --- Schedules of other sizes --------------------------------------------------------------------
//
// If each size is within a factor of two, a Schedule keeps its order, marks, copies and hints, and
// its steps are adapted to the sizes. Per iterator, from the smallest step:
//
//   * a step that covers the new extent becomes the extent;
//   * a step that divided the old extent and does not divide the new one becomes the nearest that
//     does, if there is one within a third of it that is a multiple of the step inside it (of a
//     vector's worth of elements if the iterator is the vector loop);
//   * every other step is unchanged.
//
// A pair of iterator and step is replaced consistently throughout the Schedule: in loops, in the
// places of copies and windows, in blocks of layouts.

// Calls `see` with each extent of `sizes` and the Program's. False: they are not sizes of this
// Program, or `see` returned false.
typedef bool SeeExtents(void *user, const Iter *iter, int64_t old);
static bool sizes_read(const Canon *c, const char *sizes, SeeExtents *see, void *user) {
    for (int i = 0; i < c->program->stmts.n; i++) {
        const Stmt *s = &c->program->stmts.at[i];
        if (i && *sizes++ != ';') return false;
        for (int k = 0; k < s->niters; k++) {
            int64_t n = 0;
            if (k && *sizes++ != ',') return false;
            if (*sizes < '0' || *sizes > '9') return false;
            for (; *sizes >= '0' && *sizes <= '9'; sizes++)
                if (!checked_mul(n, 10, &n) || !checked_add(n, *sizes - '0', &n)) return false;
            if (!see(user, &s->iter[k], n)) return false;
        }
    }
    return !*sizes;
}

static bool add_distance(void *user, const Iter *iter, int64_t old) {
    int64_t now = extent_of(iter);
    if (old == now) return true;
    if (old <= 0 || now <= 0) return false;
    double ratio = old > now ? (double)old / (double)now : (double)now / (double)old;
    *(double *)user *= ratio;
    return ratio <= 2;
}

double canon_distance(const Canon *c, const char *sizes) {
    double product = 1; // one logarithm at the end
    return sizes_read(c, sizes, add_distance, &product) ? log2(product) : INFINITY;
}

// The new value of one step.
typedef struct CanonStep {
    int64_t old, now;
} CanonStep;

// One iterator: its extents, and its steps in the Schedule.
typedef struct Stride {
    const Alias *alias;
    int64_t old;
    bool vector; // runs in lanes
    VEC(CanonStep) steps;
} Stride;

typedef struct Adapter {
    Arena *arena;
    Canon *c;
    Set strides;
} Adapter;

static bool same_stride(const void *key, const void *item) {
    return ((const Stride *)item)->alias == key;
}

static Stride *stride_of(Adapter *a, Name iter) {
    const Alias *alias = *set_find(a->arena, &a->c->iter.by_own, hash_of(iter), iter, same_own);
    if (!alias) return NULL;
    void **slot =
        set_find(a->arena, &a->strides, (uint64_t)(uintptr_t)alias >> 4, alias, same_stride);
    if (*slot) return *slot;
    Stride *s = arena_new(a->arena, Stride);
    s->alias = alias;
    s->old = -1;
    a->strides.n++;
    return *slot = s;
}

static bool note_extent(void *user, const Iter *iter, int64_t old) {
    Stride *s = stride_of(user, iter->name);
    if (s->old < 0) s->old = old;
    return true;
}

// Kept in ascending order.
static void note_loop(Adapter *a, const SchedLoop *l) {
    Stride *s = stride_of(a, l->iter);
    int64_t step = l->step;
    int at = 0;
    if (s) s->vector |= l->kind == KIND_VECTOR;
    while (s && at < s->steps.n && s->steps.at[at].old < step) at++;
    if (!s || step <= 1 || (at < s->steps.n && s->steps.at[at].old == step)) return;
    vec_push(a->arena, &s->steps, ((CanonStep){step, step}));
    for (int i = s->steps.n - 1; i > at; i--) s->steps.at[i] = s->steps.at[i - 1];
    s->steps.at[at] = (CanonStep){step, step};
}

static int64_t fit_step(int64_t step, int64_t old, int64_t now, int64_t unit) {
    if (step >= now) return max_i64(now, 1);
    if (old % step || now % step == 0) return step;
    for (int64_t away = 0; 3 * away <= step; away++) {
        if ((step - away) % unit == 0 && now % (step - away) == 0) return step - away;
        if ((step + away) % unit == 0 && now % (step + away) == 0) return step + away;
    }
    return step;
}

static void fit_steps(Stride *s) {
    enum { VECTOR = 16 };
    for (int i = 0; i < s->steps.n; i++) {
        CanonStep *step = &s->steps.at[i], *inner = i ? &s->steps.at[i - 1] : NULL;
        int64_t unit = s->vector ? min_i64(step->old & -step->old, VECTOR) : 1;
        if (inner && step->old % inner->old == 0) unit = inner->now;
        step->now = fit_step(step->old, s->old, s->alias->extent, unit);
        if (inner) step->now = max_i64(step->now, inner->now);
    }
}

static void adapt_step(Adapter *a, Name iter, int64_t *step) {
    const Stride *s = iter && *step > 1 ? stride_of(a, iter) : NULL;
    for (int i = 0; s && i < s->steps.n; i++)
        if (s->steps.at[i].old == *step) {
            *step = s->steps.at[i].now;
            return;
        }
}

static Storage adapt_storage(Adapter *a, Storage s) {
    LayoutDim *dim = arena_copy(a->arena, s.dim, (size_t)s.ndims * sizeof *dim);
    for (int i = 0; i < s.ndims; i++) adapt_step(a, dim[i].dim, &dim[i].block);
    s.dim = dim;
    return s;
}

static const SchedStmt *adapt_stmt(Adapter *a, const SchedStmt *from) {
    SchedStmt *s = arena_copy(a->arena, from, sizeof *from);
    SchedLoop *loop = arena_copy(a->arena, s->loop, (size_t)s->nloops * sizeof *loop);
    SchedCopy *copy = arena_copy(a->arena, s->copy, (size_t)s->ncopies * sizeof *copy);
    SchedPrefetch *prefetch =
        arena_copy(a->arena, s->prefetch, (size_t)s->nprefetches * sizeof *prefetch);
    adapt_step(a, s->at.iter, &s->at.step);
    adapt_step(a, s->privatise.iter, &s->privatise.step);
    s->storage = adapt_storage(a, s->storage);
    for (int i = 0; i < s->nloops; i++) adapt_step(a, loop[i].iter, &loop[i].step);
    for (int i = 0; i < s->ncopies; i++) {
        adapt_step(a, copy[i].at.iter, &copy[i].at.step);
        copy[i].storage = adapt_storage(a, copy[i].storage);
    }
    for (int i = 0; i < s->nprefetches; i++)
        adapt_step(a, prefetch[i].at.iter, &prefetch[i].at.step);
    s->loop = loop;
    s->copy = copy;
    s->prefetch = prefetch;
    return s;
}

// Computes every new step. False: the sizes are too different.
static bool fit_all(Adapter *a, const Schedule *s, const char *sizes) {
    if (isinf(canon_distance(a->c, sizes))) return false;
    sizes_read(a->c, sizes, note_extent, a);
    for (int i = 0; i < s->nstmts; i++)
        for (int k = 0; k < s->stmt[i]->nloops; k++) note_loop(a, &s->stmt[i]->loop[k]);
    for (int i = 0; i < a->strides.cap; i++)
        if (a->strides.at[i]) fit_steps(a->strides.at[i]);
    return true;
}

static bool steps_stay(const Stride *s) {
    for (int i = 0; i < s->steps.n; i++)
        if (s->steps.at[i].now != s->steps.at[i].old) return false;
    return true;
}

// Whether only the trip count of its outermost loop changes, and nothing inside a tile.
static bool only_more_turns(const SchedStmt *section, const Stmt *st, const Iter *iter) {
    for (int k = 0; section && k < section->nloops; k++) {
        const SchedLoop *l = &section->loop[k];
        const Iter *of = NULL;
        for (int i = 0; i < st->niters; i++)
            if (strcmp(st->iter[i].name, l->iter) == 0) of = &st->iter[i];
        if (of == iter) return l->kind != KIND_VECTOR && l->kind != KIND_UNROLL;
        if (of && of->reduction && !iter->reduction) return false;
    }
    return false;
}

bool canon_same_inside(Arena *arena, const Canon *c, const Schedule *s, const char *sizes) {
    Adapter a = {arena, (Canon *)c, {0}};
    if (s->flatten || !fit_all(&a, s, sizes)) return false; // steps are not those of one iterator
    for (int i = 0; i < c->program->stmts.n; i++) {
        const Stmt *st = &c->program->stmts.at[i];
        const SchedStmt *section = NULL;
        for (int k = 0; k < s->nstmts; k++)
            if (strcmp(s->stmt[k]->label, st->label) == 0) section = s->stmt[k];
        if (section && (section->after || section->inlined)) continue;
        for (int k = 0; k < st->niters; k++) {
            const Stride *stride = stride_of(&a, st->iter[k].name);
            if (!steps_stay(stride)) return false;
            if (stride->old == extent_of(&st->iter[k])) continue;
            if (!only_more_turns(section, st, &st->iter[k])) return false;
        }
    }
    return true;
}

const Schedule *canon_adapt(Arena *arena, const Canon *c, const Schedule *s, const char *sizes) {
    Adapter a = {arena, (Canon *)c, {0}};
    if (s->flatten || !fit_all(&a, s, sizes)) return NULL;
    Schedule *out = arena_copy(arena, s, sizeof *s);
    const SchedStmt **stmt = arena_new_n(arena, const SchedStmt *, s->nstmts);
    for (int i = 0; i < s->nstmts; i++) stmt[i] = adapt_stmt(&a, s->stmt[i]);
    out->stmt = stmt;
    return out;
}
