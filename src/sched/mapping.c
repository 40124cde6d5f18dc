// TC's mapping options; see mapping.h.
#include "sched/mapping.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/nearest.h"
#include "program/stmt_facts.h"

#define FUSIONS "Max, Min or Preserve3Coincident"
#define BOOLS   "true or false"

// --- Text --------------------------------------------------------------------------------------

// TC's presets. Their blocks and threads count with the option `gpu`.
#define BLOCKS_OF(n, ...)  .nblocks = n, .block = {__VA_ARGS__}
#define THREADS_OF(n, ...) .nthreads = n, .thread = {__VA_ARGS__}
static const struct {
    const char *name;
    Mapping m;
} presets[] = {
    {"naive",
     {.ntiles = 3,
      .tile = {32, 32, 32},
      .unroll = 1,
      BLOCKS_OF(2, 256, 256),
      THREADS_OF(2, 32, 8)}},
    {"unmapped", {0}},
    {"single-thread", {.ntiles = 1, .tile = {1}, .unroll = 1, BLOCKS_OF(1, 1), THREADS_OF(1, 1)}},
    {"pointwise",
     {.ntiles = 3,
      .tile = {32, 32, 32},
      .unroll = 128,
      BLOCKS_OF(3, 100, 100, 100),
      THREADS_OF(3, 32, 4, 4)}},
    {"mlp",
     {.ntiles = 1,
      .tile = {1},
      .unroll = 1,
      .outer.fusion = POLY_MAX,
      BLOCKS_OF(1, 128),
      THREADS_OF(1, 128)}},
    {"conv",
     {.ntiles = 4,
      .tile = {4, 8, 8, 8},
      .unroll = 1,
      BLOCKS_OF(3, 256, 256, 256),
      THREADS_OF(3, 4, 16, 4)}},
    {"groupconv",
     {.ntiles = 2, .tile = {1, 1}, .unroll = 1, BLOCKS_OF(2, 256, 256), THREADS_OF(3, 4, 16, 4)}},
};

typedef enum OptionKind {
    OUTER_FUSION,
    INNER_FUSION,
    BOTH_FUSION,
    FLAG,
    FIXED,
    BLOCKS,
    THREADS,
    TILE,
    UNROLL,
    WORD,
    GPU
} OptionKind;

// Options by name; flags set a byte of the Mapping. Sizes are always fixed, kernels call no
// library, point loops are those of the tile, threads keep their results in registers and load
// inputs through the read-only cache: a FIXED option only says so.
static const struct {
    const char *name;
    OptionKind kind;
    size_t at;
    bool inverted;
    const char *takes;
} options[] = {
    {"tile", TILE, 0, false, "up to 8 sizes, 0 or more"},
    {"unroll", UNROLL, 0, false, "a number from 0 to 4096"},
    {"fuse", OUTER_FUSION, 0, false, FUSIONS},
    {"scheduleFusionStrategy", BOTH_FUSION, 0, false, FUSIONS},
    {"outerScheduleFusionStrategy", OUTER_FUSION, 0, false, FUSIONS},
    {"intraTileScheduleFusionStrategy", INNER_FUSION, 0, false, FUSIONS},
    {"outerScheduleAllowSkewing", FLAG, offsetof(Mapping, outer.skew), false, BOOLS},
    {"outerSchedulePositiveOrthant", FLAG, offsetof(Mapping, outer.any_orthant), true, BOOLS},
    {"tileImperfectlyNested", FLAG, offsetof(Mapping, outermost), true, BOOLS},
    {"promote", WORD, offsetof(Mapping, promote), false, NULL},
    {"gpu", GPU, 0, false, NULL},
    {"mapToBlocks", BLOCKS, 0, false, "up to 3 numbers of blocks"},
    {"mapToThreads", THREADS, 0, false,
     "up to 3 numbers of threads with a product of at most 1024"},
    {"useSharedMemory", FLAG, offsetof(Mapping, shared), false, BOOLS},
    {"usePrivateMemory", FIXED, 0, false, "true"},
    {"useReadOnlyCache", FIXED, 0, false, "true"},
    {"fixParametersBeforeScheduling", FIXED, 0, false, "true"},
    {"matchLibraryCalls", FIXED, 0, false, "false"},
    {"intraTileScheduleAllowSkewing", FIXED, 0, false, "false"},
    {"intraTileSchedulePositiveOrthant", FIXED, 0, false, "true"},
};
enum { PRESETS = sizeof presets / sizeof *presets, OPTIONS = sizeof options / sizeof *options };
_Static_assert(MAPPING_MAX_TILES == 8 && MAPPING_MAX_UNROLL == 4096 && MAPPING_AXES == 3 &&
                   MAPPING_MAX_THREADS == 1024,
               "as `takes` says");

static const char *read_numbers(const char *t, int64_t *out, int most, int *n) {
    char *end;
    for (*n = 0; *t && *t != ')';) {
        errno = 0;
        int64_t v = strtoll(t, &end, 10);
        if (end == t || *n == most || v < 0 || errno) return NULL;
        out[(*n)++] = v;
        t = end;
        while (*t == ',' || *t == ' ') t++;
    }
    return *t == ')' ? t + 1 : NULL;
}

static const char *read_fusion(const char *t, PolyFusion *out) {
    static const struct {
        const char *name;
        PolyFusion fusion;
    } names[] = {{"Max)", POLY_MAX},
                 {"max)", POLY_MAX},
                 {"Min)", POLY_MIN},
                 {"min)", POLY_MIN},
                 {"preserve3)", POLY_PRESERVE3},
                 {"Preserve3Coincident)", POLY_PRESERVE3}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i].name);
        if (strncmp(t, names[i].name, n)) continue;
        *out = names[i].fusion;
        return t + n;
    }
    return NULL;
}

static const char *read_flag(const char *t, bool *out, bool inverted) {
    bool on = strncmp(t, "true)", 5) == 0;
    if (!on && strncmp(t, "false)", 6)) return NULL;
    *out = on != inverted;
    return t + (on ? 5 : 6);
}

static const char *read_fixed(const char *t, const char *value) {
    size_t n = strlen(value);
    return strncmp(t, value, n) == 0 && t[n] == ')' ? t + n + 1 : NULL;
}

// Numbers of at least 1 whose product is at most `most`.
static const char *read_axes(const char *t, int64_t most, int64_t *out, int *n) {
    int64_t all = 1;
    t = read_numbers(t, out, MAPPING_AXES, n);
    for (int i = 0; t && i < *n; i++)
        if (out[i] < 1 || !checked_mul(all, out[i], &all) || all > most) return NULL;
    return t && *n ? t : NULL;
}

static void take_axes(const Mapping *from, Mapping *m) {
    m->nblocks = from->nblocks;
    m->nthreads = from->nthreads;
    memcpy(m->block, from->block, sizeof m->block);
    memcpy(m->thread, from->thread, sizeof m->thread);
}

static const char *read_value(const char *t, int i, Mapping *m) {
    bool *flag = (bool *)((char *)m + options[i].at);
    int n = 1;
    switch (options[i].kind) {
    case WORD: *flag = true; return t;
    case GPU: take_axes(m->preset ? m->preset : &presets[0].m, m); return t;
    case FLAG: return read_flag(t, flag, options[i].inverted);
    case FIXED: return read_fixed(t, options[i].takes);
    case BLOCKS: return read_axes(t, INT64_MAX, m->block, &m->nblocks);
    case THREADS: return read_axes(t, MAPPING_MAX_THREADS, m->thread, &m->nthreads);
    case TILE: return read_numbers(t, m->tile, MAPPING_MAX_TILES, &m->ntiles);
    case UNROLL:
        t = read_numbers(t, &m->unroll, 1, &n);
        return t && n == 1 && m->unroll <= MAPPING_MAX_UNROLL ? t : NULL;
    case OUTER_FUSION: return read_fusion(t, &m->outer.fusion);
    case INNER_FUSION: return read_fusion(t, &m->inner);
    case BOTH_FUSION:
        t = read_fusion(t, &m->outer.fusion);
        m->inner = m->outer.fusion;
        return t;
    }
    return NULL;
}

static const char *nth_name(const void *of, size_t i) {
    (void)of;
    return i < OPTIONS ? options[i].name : i < OPTIONS + PRESETS ? presets[i - OPTIONS].name : NULL;
}

// Where a part of the text stands, if that is the source.
static Range range_of(const DiagList *diags, const char *t, size_t n) {
    const Source *s = diags->source;
    uintptr_t at = (uintptr_t)t, first = s ? (uintptr_t)s->text : 0;
    if (!s || at < first || at - first >= s->len) return nowhere;
    return (Range){(uint32_t)(at - first), (uint32_t)(at - first + n)};
}

static void report_name(const char *t, DiagList *diags) {
    char word[40] = "";
    size_t n = strcspn(t, "(. \t\r\n");
    memcpy(word, t, n < sizeof word ? n : sizeof word - 1);
    Diag *d = diag_report(diags, range_of(diags, t, n), DIAG_SPACE_MAPPING, word);
    diag_suggest(diags, d, word, nth_name, NULL);
}

// The rest of the text behind an option; NULL: it is none (reported).
static const char *read_option(const char *t, Mapping *m, DiagList *diags) {
    for (size_t i = 0; i < OPTIONS; i++) {
        size_t n = strlen(options[i].name);
        bool word = options[i].kind == WORD || options[i].kind == GPU;
        if (strncmp(t, options[i].name, n) || (!word && t[n] != '(')) continue;
        const char *value = t + n + !word, *end = read_value(value, (int)i, m);
        if (!end)
            diag_report(diags, range_of(diags, t, n), DIAG_MAPPING_VALUE, options[i].name,
                        options[i].takes, (int)strcspn(value, ")"), value);
        return end;
    }
    report_name(t, diags);
    return NULL;
}

bool mapping_parse(const char *t, Mapping *out, DiagList *diags) {
    *out = (Mapping){0};
    for (size_t i = 0; i < PRESETS; i++) {
        size_t n = strlen(presets[i].name);
        if (strncmp(t, presets[i].name, n) || (t[n] && !strchr(". \t\r\n", t[n]))) continue;
        *out = presets[i].m;
        out->preset = &presets[i].m;
        take_axes(&(Mapping){0}, out);
        t += n;
        break;
    }
    for (t += strspn(t, " \t\r\n"); t && *t;) {
        t = read_option(*t == '.' ? t + 1 : t, out, diags);
        if (t) t += strspn(t, " \t\r\n");
    }
    return t != NULL;
}

// --- Steps -------------------------------------------------------------------------------------

bool mapping_steps(Arena *arena, const Program *p, const Mapping *m, MappingSteps *out,
                   DiagList *diags) {
    const PolyScop *s = poly_scop(arena, p);
    *out = (MappingSteps){.scop = s, .canonical = poly_canonical(arena, s)};
    if (poly_schedule(arena, s, &m->outer, &out->fused) != POLY_OK) {
        diag_report(diags, (Range){0, 0}, DIAG_POLY_UNAVAILABLE, poly_missing());
        return false;
    }
    out->tiled = poly_tile(arena, s, out->fused, m->ntiles, m->tile, m->outermost);
    out->sunk = m->inner == POLY_MAX ? out->tiled : poly_sink(arena, s, out->tiled);
    return true;
}

// --- From a tree to a Schedule -----------------------------------------------------------------

typedef struct Writing {
    Arena *arena;
    const PolyScop *s;
    const Mapping *m;
    SchedStmt **section; // per statement of the Program
    int *rank;           // per statement: its place in the order of the tree
    int placed;
    int depth;
    const PolyMember *path[4 * PROGRAM_MAX_ITERS];
    bool failed; // a member is not a loop of a Schedule
} Writing;

// --- Skewed members ----------------------------------------------------------------------------

// Is the iterator a member of the path by itself?
static bool is_member(const Writing *w, int stmt, int iter) {
    for (int i = 0; i < w->depth; i++)
        if (poly_member_iter(w->s, w->path[i], stmt) == iter) return true;
    return false;
}

// The iterator whose loops a member is: itself, or the one that it skews by other members.
static int skewed_iter(const Writing *w, const PolyMember *m, int stmt) {
    const Stmt *st = w->s->stmt[stmt].s;
    const int64_t *row = m->value[stmt];
    int found = row ? poly_member_iter(w->s, m, stmt) : -1;
    for (int i = 0, others = 0; row && found < 0 && i < st->niters; i++, others = 0) {
        for (int k = 0; k < st->niters; k++) others += k != i && row[k] && !is_member(w, stmt, k);
        if (row[i] == 1 && !others && !is_member(w, stmt, i)) found = i;
    }
    return found;
}

static bool is_skewed(const Writing *w, const PolyMember *m, int stmt) {
    return m->value[stmt] && poly_member_iter(w->s, m, stmt) < 0;
}

static bool has_skews(const Writing *w, int stmt) {
    for (int i = 0; i < w->depth; i++)
        if (is_skewed(w, w->path[i], stmt)) return true;
    return false;
}

// Values that the loops of a member run over.
static int64_t member_extent(const Writing *w, const PolyMember *m, int stmt) {
    const Stmt *st = w->s->stmt[stmt].s;
    int64_t extent = 1;
    for (int i = 0; i < st->niters; i++)
        extent += llabs(m->value[stmt][i]) * max_i64(iter_extent(&st->iter[i]) - 1, 0);
    return extent;
}

static void write_skews(Writing *w, SchedStmt *g, int stmt) {
    const Stmt *st = w->s->stmt[stmt].s;
    SchedSkew *skew = arena_new_n(w->arena, SchedSkew, w->depth + 1);
    for (int i = 0; i < w->depth; i++) {
        const PolyMember *m = w->path[i];
        if (!is_skewed(w, m, stmt) || m->part == POLY_TILES) continue; // its points say it
        int iter = skewed_iter(w, m, stmt);
        SkewTerm *term = arena_new_n(w->arena, SkewTerm, st->niters);
        SchedSkew *k = &skew[g->nskews++];
        if (iter < 0) {
            w->failed = true;
            return;
        }
        *k = (SchedSkew){.iter = st->iter[iter].name, .term = term};
        for (int t = 0; t < st->niters; t++)
            if (t != iter && m->value[stmt][t])
                term[k->nterms++] = (SkewTerm){st->iter[t].name, m->value[stmt][t]};
    }
    g->skew = skew;
}

// The last loop of the steps in two, so that lowering may keep two of them (fold.c).
static void pair_steps(Writing *w, SchedStmt *g, const Stmt *st) {
    SchedLoop *loop = arena_new_n(w->arena, SchedLoop, g->nloops + 1);
    int at = 0, n = 0;
    while (at < g->nloops && (g->loop[at].iter != st->iter[0].name || g->loop[at].step > 1)) at++;
    for (int i = 0; i < g->nloops; i++) {
        if (i == at) loop[n++] = (SchedLoop){.iter = g->loop[i].iter, .step = 2};
        loop[n++] = g->loop[i];
    }
    g->loop = loop;
    g->nloops = n;
}

// --- Sections ----------------------------------------------------------------------------------

// The loop of a member, unless it has one iteration; false: none. Loops of steps stay around all,
// unless the statement is skewed.
static bool loop_of(Writing *w, const PolyMember *m, int stmt, SchedLoop *out) {
    const Stmt *st = w->s->stmt[stmt].s;
    int iter = skewed_iter(w, m, stmt);
    if (iter < 0 || (iter < st->serial && !has_skews(w, stmt))) return false;
    int64_t extent = member_extent(w, m, stmt), tile = m->tile;
    bool split = tile >= 1 && tile < extent;
    *out = (SchedLoop){.iter = st->iter[iter].name, .step = 1};
    if (m->part == POLY_TILES) out->step = tile;
    if (m->part == POLY_TILES) return split;
    return m->part != POLY_POINTS || !split || tile > 1;
}

static bool is_contiguous(const Stmt *s, Name iter) {
    int i = stmt_find_iter(s, iter);
    return s->write->rank && affine_coef(s->write->sub[s->write->rank - 1], i) == 1;
}

// The innermost loops in the order of memory: the contiguous one last, if it is a point loop there.
static void contiguous_last(const Stmt *s, SchedLoop *loop, const PolyMember **of, int n) {
    int first = n;
    while (first > 0 && of[first - 1]->coincident && of[first - 1]->part == of[n - 1]->part)
        first--;
    for (int i = first; i + 1 < n; i++)
        if (is_contiguous(s, loop[i].iter)) {
            SchedLoop last = loop[i];
            memmove(loop + i, loop + i + 1, (size_t)(n - 1 - i) * sizeof *loop);
            loop[n - 1] = last;
            return;
        }
}

// Iterations of the last loop of an order, inside its tiles.
static int64_t left_of(const Stmt *s, const SchedLoop *loop, int n, int at) {
    int64_t left = iter_extent(&s->iter[stmt_find_iter(s, loop[at].iter)]);
    for (int i = 0; i < n && i < at; i++)
        if (loop[i].iter == loop[at].iter && loop[i].step < left) left = loop[i].step;
    return left;
}

// Of a skewed statement, the loops of steps around the last one carry all dependences.
static void mark_loops(Writing *w, const Stmt *s, SchedLoop *loop, const PolyMember **of, int n,
                       bool skewed) {
    int inner = n;
    bool last = n && (of[n - 1]->coincident || skewed) && is_contiguous(s, loop[n - 1].iter);
    if (w->m->marks && last) loop[--inner].kind = KIND_VECTOR;
    if (w->m->marks && inner && of[0]->coincident) loop[0].kind = KIND_PARALLEL;
    int64_t copies = 1;
    for (int i = inner - 1; i >= 0 && w->m->unroll > 1 && loop[i].step == 1; i--) {
        copies *= left_of(s, loop, n, i);
        if (copies > w->m->unroll || loop[i].kind != KIND_SERIAL) return;
        loop[i].kind = KIND_UNROLL;
    }
}

// --- Blocks and threads --------------------------------------------------------------------------

// Blocks divide the leading parallel loops, the first one along x; where an axis has fewer blocks
// than the loop has iterations, each block runs several. Returns the number of loops that are added
// behind those of the blocks.
static int map_blocks(const Mapping *m, const Stmt *s, SchedLoop *loop, const PolyMember **of,
                      int *n) {
    SchedLoop rest[MAPPING_AXES];
    const PolyMember *rest_of[MAPPING_AXES];
    int grid = 0, added = 0;
    while (grid < m->nblocks && grid < *n && of[grid]->coincident && of[grid]->part != POLY_POINTS)
        grid++;
    for (int i = 0; i < grid; i++) {
        int64_t times = ceil_div(left_of(s, loop, *n, i), loop[i].step);
        int64_t each = ceil_div(times, m->block[i]);
        rest[added] = loop[i];
        rest_of[added] = of[i];
        added += each > 1;
        loop[i].step *= each;
        loop[i].kind = KIND_GRID_X + (Kind)i;
    }
    memmove(loop + grid + added, loop + grid, (size_t)(*n - grid) * sizeof *loop);
    memmove(of + grid + added, of + grid, (size_t)(*n - grid) * sizeof *of);
    memcpy(loop + grid, rest, (size_t)added * sizeof *loop);
    memcpy(of + grid, rest_of, (size_t)added * sizeof *of);
    *n += added;
    return added;
}

// Threads divide the innermost parallel loops over elements, the last one along x; those with more
// iterations than threads are cyclic.
static void map_threads(const Mapping *m, const Stmt *s, SchedLoop *loop, const PolyMember **of,
                        int *n) {
    int end = *n, first = end;
    while (first > 0 && end - first < m->nthreads && of[first - 1]->coincident &&
           of[first - 1]->part != POLY_TILES && loop[first - 1].kind == KIND_SERIAL &&
           loop[first - 1].step == 1)
        first--;
    for (int i = first; i < end; i++) {
        int axis = end - 1 - i;
        int64_t each = ceil_div(left_of(s, loop, end, i), m->thread[axis]);
        loop[i].kind = KIND_THREAD_X + (Kind)axis;
        if (each <= 1) continue;
        loop[*n] = (SchedLoop){.iter = loop[i].iter, .step = 1};
        of[(*n)++] = of[i];
        loop[i].step = each;
        loop[i].interleaved = true;
    }
}

// --- Copies --------------------------------------------------------------------------------------

// TC's rule: an input is worth shared memory if iterations use its elements again, or if threads
// along x do not access neighbours.
static bool is_worth_sharing(const Writing *w, const SchedStmt *g, int stmt, int tensor) {
    const StmtFacts *f = &w->s->facts->stmt[stmt];
    const Access *a = stmt_read_of(f, tensor);
    for (int r = 0; r < f->nvalue; r++)
        if (f->read[r]->tensor == tensor && f->read[r]->has_read) return false;
    if (!a) return false;
    for (int i = 0; i < f->s->niters; i++)
        if (!access_uses_iter(a, i) && iter_extent(&f->s->iter[i]) > 1) return true;
    for (int i = 0; i < g->nloops; i++) {
        int iter = stmt_find_iter(f->s, g->loop[i].iter);
        if (g->loop[i].kind == KIND_THREAD_X) return affine_coef(a->sub[a->rank - 1], iter) != 1;
    }
    return false;
}

static bool is_tile_loop(const SchedLoop *l) { return l->step > 1 && !l->interleaved; }

static void add_copies(Writing *w, SchedStmt *g, int stmt) {
    const Program *p = w->s->p;
    bool shared = w->m->shared && w->m->nthreads;
    int inside = 0;
    while (inside < g->nloops && is_tile_loop(&g->loop[inside])) inside++;
    if (!(w->m->promote || shared) || !inside) return;
    SchedCopy *copy = arena_new_n(w->arena, SchedCopy, p->ninputs);
    LoopRef at = {g->loop[inside - 1].iter, g->loop[inside - 1].step, false, {0, 0}};
    for (int t = 0; t < p->ninputs; t++)
        if (p->tensors.at[t].rank && stmt_reads(&w->s->facts->stmt[stmt], t) &&
            (!shared || is_worth_sharing(w, g, stmt, t)))
            copy[g->ncopies++] = (SchedCopy){.tensor = p->tensors.at[t].name,
                                             .at = at,
                                             .storage.home = shared ? HOME_SHARED : HOME_AUTO};
    g->copy = copy;
}

static void write_section(Writing *w, int stmt) {
    const PolyStmt *x = &w->s->stmt[stmt];
    if (x->init) return; // lowering places it
    SchedStmt *g = w->section[x->stmt];
    SchedLoop *loop = arena_new_n(w->arena, SchedLoop, w->depth + 2 * MAPPING_AXES + 1);
    const PolyMember *of[4 * PROGRAM_MAX_ITERS + 2 * MAPPING_AXES];
    for (int i = 0; i < w->depth; i++)
        if (loop_of(w, w->path[i], stmt, &loop[g->nloops])) of[g->nloops++] = w->path[i];
    contiguous_last(x->s, loop, of, g->nloops);
    write_skews(w, g, stmt);
    if (w->m->nblocks + w->m->nthreads == 0) {
        mark_loops(w, x->s, loop, of, g->nloops, g->nskews > 0);
    } else if (!g->nskews) { // one block runs skewed steps
        int added = map_blocks(w->m, x->s, loop, of, &g->nloops);
        map_threads(w->m, x->s, loop, of, &g->nloops);
        if (g->stage >= w->m->nblocks) g->stage += added;
    }
    g->loop = loop;
    if (g->nskews) pair_steps(w, g, x->s);
    g->unroll_limit = w->m->unroll > 1 ? (int)w->m->unroll : 0;
    add_copies(w, g, x->stmt);
    w->rank[x->stmt] = w->placed++;
}

static bool computes(const Writing *w, const PolyNode *node) {
    for (int i = 0; i < node->nstmts; i++)
        if (!w->s->stmt[node->stmt[i]].init) return true;
    return false;
}

// Loops of the statement on the path so far.
static int loops_above(Writing *w, int stmt) {
    int n = 0;
    SchedLoop loop;
    for (int i = 0; i < w->depth; i++) n += loop_of(w, w->path[i], stmt, &loop);
    return n;
}

// Statements behind a child share no loop below here with it.
static void write_bars(Writing *w, const PolyNode *node, int child) {
    bool more = false;
    for (int i = child + 1; i < node->n; i++) more |= computes(w, node->child[i]);
    for (int i = 0; more && i < node->child[child]->nstmts; i++) {
        const PolyStmt *x = &w->s->stmt[node->child[child]->stmt[i]];
        SchedStmt *g = w->section[x->stmt];
        if (!x->init && g->stage < 0) g->stage = loops_above(w, node->child[child]->stmt[i]);
    }
}

static void write_node(Writing *w, const PolyNode *node) {
    if (node->kind == POLY_LEAF) {
        for (int i = 0; i < node->nstmts; i++) write_section(w, node->stmt[i]);
        return;
    }
    if (node->kind == POLY_SEQUENCE) {
        for (int i = 0; i < node->n; i++) {
            write_bars(w, node, i);
            write_node(w, node->child[i]);
        }
        return;
    }
    int before = w->depth;
    for (int i = 0; i < node->n && w->depth < 4 * PROGRAM_MAX_ITERS; i++)
        w->path[w->depth++] = &node->member[i];
    write_node(w, node->child[0]);
    w->depth = before;
}

// Where the tree has another order of statements than the Program, priorities ask for it.
static void write_priorities(Writing *w, int n) {
    bool same = true;
    for (int i = 0; i < n; i++) same &= w->rank[i] == i;
    for (int i = 0; i < n && !same; i++) w->section[i]->priority = n - w->rank[i];
}

static const Schedule *write_schedule(Writing *w, const PolyNode *root) {
    const Program *p = w->s->p;
    int n = p->stmts.n;
    w->section = arena_new_n(w->arena, SchedStmt *, n + 1);
    w->rank = arena_new_n(w->arena, int, n + 1);
    for (int i = 0; i < n; i++) {
        w->section[i] = arena_new(w->arena, SchedStmt);
        *w->section[i] =
            (SchedStmt){.label = p->stmts.at[i].label, .stage = -1, .storage.home = HOME_AUTO};
    }
    write_node(w, root);
    write_priorities(w, n);
    Schedule *s = arena_new(w->arena, Schedule);
    *s = (Schedule){.arena = w->arena,
                    .names = p->names,
                    .nstmts = n,
                    .stmt = (const SchedStmt *const *)w->section};
    return s;
}

static bool is_of_one(const PolyScop *s, const PolyNode *node) {
    for (int i = 1; i < node->nstmts; i++)
        if (s->stmt[node->stmt[i]].stmt != s->stmt[node->stmt[0]].stmt) return false;
    return true;
}

// Are the loops that statements share iterators of each of them? One alone may skew its own.
static bool is_expressible(const PolyScop *s, const PolyNode *node) {
    PolyNode below = {.kind = POLY_LEAF}, only = *node;
    bool ok = true;
    if (node->kind == POLY_LEAF || is_of_one(s, node)) return true;
    if (node->kind == POLY_BAND) {
        only.child = (const PolyNode *const[]){&below};
        ok = poly_plain(s, &only, &(PolyOptions){0});
    }
    for (int i = 0; ok && i < (node->kind == POLY_BAND ? 1 : node->n); i++)
        ok = is_expressible(s, node->child[i]);
    return ok;
}

const Schedule *mapping_schedule(Arena *arena, const Program *p, const Mapping *m,
                                 DiagList *diags) {
    MappingSteps steps;
    if (!mapping_steps(arena, p, m, &steps, diags)) return NULL;
    Writing w = {.arena = arena, .s = steps.scop, .m = m};
    const Schedule *s =
        is_expressible(steps.scop, steps.fused) ? write_schedule(&w, steps.sunk) : NULL;
    if (s && !w.failed) return s;
    diag_report(diags, (Range){0, 0}, DIAG_MAPPING_SKEWED);
    return NULL;
}

// --- Reading -----------------------------------------------------------------------------------

static const char WORD_MAPPING[] = "mapping ";

bool schedule_is_mapping(const char *text) {
    return strncmp(text, WORD_MAPPING, strlen(WORD_MAPPING)) == 0;
}

const Schedule *schedule_read(Arena *arena, const Program *p, const Source *source,
                              DiagList *diags) {
    size_t word = strlen(WORD_MAPPING);
    if (!schedule_is_mapping(source->text)) return schedule_parse(arena, p->names, source, diags);
    const Source *before = diags->source;
    Mapping m;
    diags->source = source;
    bool ok = mapping_parse(source->text + word, &m, diags);
    diags->source = before;
    if (!ok) return NULL;
    m.marks = true;
    return mapping_schedule(arena, p, &m, diags);
}
