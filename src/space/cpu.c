// The backbone of a Program: its objects, and what may be decided about each.
//
//     facts ──▶ levels of each iterator ──▶ objects ──▶ relations ──▶ space_new
//
// The facts are those of program/stmt_facts.h, and where a statement may move (cpu_moves.c).
#include "space/cpu_build.h"

#include "base/bug.h"
#include "base/checked.h"
#include "machine/gpu_machine.h"

enum {
    FEW_OBJECTS = 160,   // with more, iterators get fewer levels
    MANY_OBJECTS = 1000, // with more, there is no space
    MANY_LOOPS = 24,     // of one statement: one level each when there are more
    MANY_COPIES = 4,     // of one statement
};

static bool is_temp(const SpaceBuild *x, int tensor) {
    return x->p->tensors.at[tensor].role == ROLE_TEMP;
}
static const SchedStmt *given(const SpaceBuild *x, Name label) {
    return x->o->given ? schedule_find(x->o->given, label) : NULL;
}

// --- Levels and sizes ----------------------------------------------------------------------------

// The section with the loops of a statement: of its partial results, where it has them.
static const SchedStmt *given_loops(const SpaceBuild *x, Name label) {
    const SchedStmt *g = given(x, label);
    if (!g || !g->privatise.iter) return g;
    return given(x, name_of(x->p->names, arena_printf(x->arena, "%s.part", label)));
}

static int levels_written(const SpaceBuild *x, const Stmt *s, int iter) {
    const SchedStmt *whole = given(x, s->label), *g = given_loops(x, s->label);
    int n = whole && whole->privatise.iter == s->iter[iter].name; // divided into parts
    for (int i = 0; g && i < g->nloops; i++) {
        if (g->loop[i].iter != s->iter[iter].name) continue;
        n += 1 + (!n && cpu_is_thread(g->loop[i].kind)); // inside of a loop that runs once
    }
    return (int)min_i64(n, x->gpu ? CPU_MAX_LEVELS : CPU_LEVELS);
}

// Is it a loop over a whole iterator that the given Schedule unrolls? Its size is known only if it
// is not split.
static bool unrolled_whole(const SpaceBuild *x, const Stmt *s, int iter) {
    const SchedStmt *g = x->o->literal ? given(x, s->label) : NULL;
    bool whole = false;
    for (int i = 0; g && i < g->nloops; i++)
        if (g->loop[i].iter == s->iter[iter].name) whole = g->loop[i].kind == KIND_UNROLL;
    return whole && levels_written(x, s, iter) == 1;
}

static int levels_wanted(const SpaceBuild *x, const Stmt *s, int iter) {
    if (iter < s->serial) return 1;
    int64_t extent = iter_extent(&s->iter[iter]);
    bool others = false;
    for (int k = 0; k < s->niters; k++) others |= !s->iter[k].reduction;
    int n = x->levels;
    if (s->niters * n > MANY_LOOPS) n = 1;
    if (s->iter[iter].reduction && others && n > 2 && !x->gpu) n = 2;
    if (extent < 32 && n > 2) n = 2;
    if (extent < (s->iter[iter].reduction ? 16 : 4)) n = 1;
    int written = levels_written(x, s, iter);
    return written > n ? written : n;
}

static bool is_step(const SpaceBuild *x, int i, int iter) {
    return iter < stmt_of(x, i)->s->serial;
}

static bool may_be_one(const SpaceBuild *x, int i, int k, int j, int l) {
    return !is_step(x, i, k) && !is_step(x, j, l) &&
           stmt_of(x, i)->class[k] == stmt_of(x, j)->class[l] &&
           iter_extent(&stmt_of(x, i)->s->iter[k]) == iter_extent(&stmt_of(x, j)->s->iter[l]);
}

// A loop that is unrolled as a whole, and loops that may be merged with it, are not split.
static void keep_whole(SpaceBuild *x, int i, int k) {
    x->nlevels[i][k] = 1;
    for (int j = 0; j < x->p->stmts.n; j++)
        for (int l = 0; l < stmt_of(x, j)->s->niters; l++)
            if (may_be_one(x, i, k, j, l) && levels_written(x, stmt_of(x, j)->s, l) <= 1)
                x->nlevels[j][l] = 1;
}

// Iterators of one class and extent have the same number of levels, so that their loops can be one.
static int plan_levels(SpaceBuild *x) {
    int total = 0, n = x->p->stmts.n;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < stmt_of(x, i)->s->niters; k++)
            x->nlevels[i][k] = levels_wanted(x, stmt_of(x, i)->s, k);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < stmt_of(x, i)->s->niters; k++)
            for (int j = 0; j < n; j++)
                for (int l = 0; l < stmt_of(x, j)->s->niters; l++)
                    if (may_be_one(x, i, k, j, l) && x->nlevels[j][l] > x->nlevels[i][k])
                        x->nlevels[i][k] = x->nlevels[j][l];
    for (int i = 0; i < n; i++)
        for (int k = 0; k < stmt_of(x, i)->s->niters; k++)
            if (unrolled_whole(x, stmt_of(x, i)->s, k)) keep_whole(x, i, k);
    for (int i = 0; i < n; i++) {
        total += 2;
        for (int k = 0; k < stmt_of(x, i)->s->niters; k++) total += x->nlevels[i][k];
    }
    return total;
}

typedef struct SplitSizes {
    int64_t at[SPACE_MAX_VALUES];
    int n;
} SplitSizes;

static void add_size(SplitSizes *s, int64_t v, int64_t extent) {
    if (v < 1 || v >= extent || s->n == SPACE_MAX_VALUES) return;
    int i = s->n;
    for (int k = 0; k < s->n; k++)
        if (s->at[k] == v) return;
    for (; i > 0 && s->at[i - 1] > v; i--) s->at[i] = s->at[i - 1];
    s->at[i] = v;
    s->n++;
}

// Threads and blocks come in powers of two; so do tiles, or they divide the range.
static void gpu_sizes(SplitSizes *z, int64_t extent) {
    enum { LARGEST = 4096 };
    for (int64_t v = 2; v < 2 * extent && v <= LARGEST; v *= 2) add_size(z, v, 2 * extent);
    for (int64_t v = 2; v <= 16 && v <= extent; v++)
        if (extent % v == 0) add_size(z, v, 2 * extent);
    if (extent <= 1024) add_size(z, extent, 2 * extent);
}

// First the sizes of the given Schedule; then powers of two, small numbers, divisors, and parts of
// the extent.
static void tile_sizes(SpaceBuild *x, const Stmt *s, int iter, CpuObject *out) {
    SplitSizes z = {.at = {1}, .n = 1};
    int64_t extent = iter_extent(&s->iter[iter]), outer = 0;
    const SchedStmt *g = given_loops(x, s->label), *whole = given(x, s->label);
    if (whole && whole->privatise.iter == s->iter[iter].name) outer = whole->privatise.step;
    for (int i = 0; g && i < g->nloops; i++) {
        if (g->loop[i].iter != s->iter[iter].name) continue;
        if (!outer && cpu_is_thread(g->loop[i].kind))
            add_size(&z, ceil_div(extent, max_i64(g->loop[i].step, 1)), 2 * extent);
        if (outer && g->loop[i].step > 0)
            add_size(&z, outer / g->loop[i].step, x->gpu ? 2 * extent : extent);
        outer = g->loop[i].step;
    }
    if (x->gpu) gpu_sizes(&z, extent);
    for (int64_t v = 2; !x->gpu && v < extent && v > 0; v *= 2) add_size(&z, v, extent);
    if (x->gpu) {
        out->nsizes = z.n;
        out->sizes = arena_copy(x->arena, z.at, (size_t)z.n * sizeof *z.at);
        return;
    }
    for (int64_t v = 2; v <= 16; v++) add_size(&z, v, extent);
    for (int64_t v = 6; v < extent && v <= 3072; v *= 2) add_size(&z, v, extent);
    for (int64_t v = 2; v * v <= extent && v < 4096; v++)
        if (extent % v == 0) add_size(&z, v, extent), add_size(&z, extent / v, extent);
    for (int64_t k = 2; k <= 16; k++) add_size(&z, ceil_div(extent, k), extent);
    out->nsizes = z.n;
    out->sizes = arena_copy(x->arena, z.at, (size_t)z.n * sizeof *z.at);
}

// --- Objects -------------------------------------------------------------------------------------

// A name that is valid in the text form.
static const char *clean(SpaceBuild *x, const char *name) {
    char *out = arena_strndup(x->arena, name, strlen(name));
    for (char *c = out; *c; c++) {
        bool word = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                    (*c >= '0' && *c <= '9') || *c == '_' || *c == '.';
        if (!word) *c = '_';
    }
    return out;
}

// A new object; the host's table grows with it.
static int object_new(SpaceBuild *x, const char *name, bool optional, CpuObject like) {
    int n = x->h->nobjects++;
    CpuObject *old = x->h->object;
    if ((n & (n - 1)) == 0) { // the table doubles
        x->h->object = arena_new_n(x->arena, CpuObject, n ? 2 * n : 1);
        if (n) memcpy(x->h->object, old, (size_t)n * sizeof *old);
    }
    x->h->object[n] = like;
    for (int k = 0; k < n; k++) // names are unique; two tensors may look alike once cleaned
        if (strcmp(x->name.at[k], name) == 0) name = arena_printf(x->arena, "%s~%d", name, n);
    vec_push(x->arena, &x->name, name);
    return backbone_object(x->b, name, optional);
}

// The section of the given Schedule for this label, if it has loops, or more than a place and a
// priority.
static const SchedStmt *own_section(const SpaceBuild *x, Name label) {
    const SchedStmt *g = given(x, label);
    return g && !cpu_section_is_plain(g) ? g : NULL;
}

static CpuObject blank(int stmt) {
    return (CpuObject){
        .stmt = stmt, .iter = -1, .host = -1, .reader = -1, .comp = -1, .tensor = -1};
}

static const int64_t accumulator_counts[] = {0, 1, 2, 4, LIMIT_PARTS};
static const int64_t prefetch_distances[] = {0, 2, 8};

static const int64_t *with_value(SpaceBuild *x, const int64_t *from, int *n, int64_t value) {
    SplitSizes z = {.n = 0};
    for (int i = 0; i < *n; i++) z.at[z.n++] = from[i];
    if (value == 0) return from;
    add_size(&z, value, INT64_MAX);
    *n = z.n;
    return arena_copy(x->arena, z.at, (size_t)z.n * sizeof *z.at);
}

// The section with the loops of a statement (its own, or that of its partial results), if it has
// prefetches.
static const SchedStmt *fetching_section(const SpaceBuild *x, const SchedStmt *g) {
    if (g) g = given_loops(x, g->label);
    return g && g->nprefetches ? g : NULL;
}

static void make_comp(SpaceBuild *x, int i) {
    const StmtFacts *c = stmt_of(x, i);
    CpuObject o = blank(i);
    const SchedStmt *g = given(x, c->s->label);
    o.tensor = c->s->write->tensor;
    o.host = cpu_find_host(x->arena, x->facts, i);
    o.may_follow = o.host >= 0;
    o.may_inline = cpu_may_inline(x->arena, x->facts, i);
    o.reader = stmt_only_reader(x->facts, i);
    o.may_recompute = !x->gpu && cpu_may_recompute(x->arena, x->facts, i, o.reader);
    o.ntops = c->s->niters;
    o.own = fetching_section(x, g);
    o.nsizes = 5;
    o.sizes = with_value(x, accumulator_counts, &o.nsizes, g ? g->accumulators : 0);
    x->comp[i] = object_new(x, clean(x, c->s->label), false, o);
    add(x, CPU_SET_COMPS, x->comp[i]);
    if (cpu_reduces(stmt_of(x, i))) add(x, CPU_SET_REDUCERS, x->comp[i]);
    bool reread = stmt_reads(c, o.tensor);
    for (int k = i + 1; k < x->p->stmts.n; k++) reread |= stmt_reads(stmt_of(x, k), o.tensor);
    if (o.own) add(x, CPU_SET_FETCHERS, x->comp[i]);
    if (!reread && !is_temp(x, o.tensor) && c->s->op == REDUCE_ASSIGN && !c->s->write->has_read)
        add(x, CPU_SET_STREAMS, x->comp[i]);
}

// Replaces statement numbers by objects, once all objects exist.
static void link_comps(SpaceBuild *x) {
    for (int i = 0; i < x->p->stmts.n; i++) {
        CpuObject *o = &x->h->object[x->comp[i]];
        if (o->host >= 0) o->host = x->comp[o->host];
        if (o->reader >= 0) o->reader = x->comp[o->reader];
        if (o->may_follow) relate(x, CPU_SET_HOST, x->comp[i], o->host);
        if (o->may_recompute) relate(x, CPU_SET_READER, x->comp[i], o->reader);
        for (int k = 0; k < x->p->stmts.n; k++) {
            if (k < i && stmt_reads(stmt_of(x, i), stmt_of(x, k)->s->write->tensor))
                relate(x, CPU_SET_PRODUCERS, x->comp[i], x->comp[k]);
            if (k > i && stmts_depend(stmt_of(x, i), stmt_of(x, k)))
                relate(x, CPU_SET_USERS, x->comp[i], x->comp[k]);
        }
    }
}

// Inlining q moves its reads into its readers, which excludes other moves.
static void relate_inlined(SpaceBuild *x, int q) {
    int n = x->p->stmts.n;
    bool *may = arena_new_n(x->arena, bool, 2 * n), *reached = may + n;
    for (int k = 0; k < n; k++) may[k] = x->h->object[x->comp[k]].may_inline;
    cpu_reach(x->facts, q, may, reached);
    for (int c = 0; c < n && may[q]; c++) {
        const CpuObject *o = &x->h->object[x->comp[c]];
        bool moves = o->may_inline || o->may_recompute, blocks = false;
        if (moves && reached[c] &&
            stmt_overwritten(x->facts, q, c + 1, stmt_last_reader(x->facts, c)))
            relate(x, CPU_SET_SPOILERS, x->comp[c], x->comp[q]);
        for (int k = o->may_follow ? x->h->object[o->host].stmt : c; k < c; k++)
            blocks |= reached[k];
        if (blocks && stmt_reads(stmt_of(x, q), stmt_of(x, c)->s->write->tensor))
            relate(x, CPU_SET_BLOCKERS, x->comp[c], x->comp[q]);
    }
}

static bool always_nested(const SpaceBuild *x, int i) {
    const CpuObject *o = &x->h->object[x->comp[i]];
    return !o->may_follow && !o->may_inline && !o->may_recompute;
}

static void make_dim(SpaceBuild *x, int i, int iter, int level) {
    const Stmt *s = stmt_of(x, i)->s;
    CpuObject o = blank(i);
    o.iter = iter;
    o.level = level;
    o.nlevels = x->nlevels[i][iter];
    o.class = stmt_of(x, i)->class[iter];
    o.extent = iter_extent(&s->iter[iter]);
    o.reduction = s->iter[iter].reduction;
    o.step = iter < s->serial;
    o.may_parallel = x->o->threads > 1 && !o.step;
    bool sized = level > 0 || o.nlevels == 1;
    o.may_unroll = sized && !o.step;
    o.may_meet = !o.reduction || !s->nconstraints;
    o.may_cluster = o.reduction && o.may_meet && !o.step && stmt_of(x, i)->injective;
    if (level > 0) {
        tile_sizes(x, s, iter, &o);
    } else if (sized) {
        o.nsizes = 1;
        o.sizes = arena_copy(x->arena, &o.extent, sizeof o.extent);
    }
    const char *name =
        arena_printf(x->arena, "%s.%s.%d", clean(x, s->label), clean(x, s->iter[iter].name), level);
    int d = object_new(x, name, !always_nested(x, i), o);
    add(x, CPU_SET_DIMENSIONS, d);
    if (level == 0) add(x, CPU_SET_TOPS, d);
    if (level == 0 && o.nlevels > 1) add(x, CPU_SET_TILED, d);
    if (level + 1 < o.nlevels) backbone_add(x->b, x->words->splits, d);
    if (sized) add(x, level ? CPU_SET_TILES : CPU_SET_STATICDIMS, d);
    if (o.reduction) add(x, CPU_SET_REDUCTIONS, d);
    if (o.step) add(x, CPU_SET_STEPS, d);
}

static void make_nest(SpaceBuild *x, int i) {
    const Stmt *s = stmt_of(x, i)->s;
    bool optional = !always_nested(x, i);
    const char *name = arena_printf(x->arena, "%s.body", clean(x, s->label));
    x->body[i] = object_new(x, name, optional, blank(i));
    add(x, CPU_SET_BODIES, x->body[i]);
    x->first_dim[i] = x->h->nobjects;
    for (int k = 0; k < s->niters; k++)
        for (int level = 0; level < x->nlevels[i][k]; level++) make_dim(x, i, k, level);
    x->ndims[i] = x->h->nobjects - x->first_dim[i];
}

// --- Windows, memory, accesses -------------------------------------------------------------------

// Is it an operand, not only part of a subscript? (Those may vanish when what they index is
// inlined.)
static bool operand(const Expr *e, int tensor) {
    if (e->kind == EXPR_READ) return e->access->tensor == tensor;
    for (int i = 0; e->kind == EXPR_OP && i < e->n; i++)
        if (operand(e->arg[i], tensor)) return true;
    return false;
}

// Is an element read more than once, at a place that follows from the iterators?
static bool reused(const StmtFacts *c, int tensor) {
    bool used[PROGRAM_MAX_ITERS] = {false}, all = true;
    for (int r = 0; r < c->nreads; r++) {
        const Access *a = c->read[r];
        if (a->tensor != tensor) continue;
        if (a->has_read) return false;
        for (int i = 0; i < c->s->niters; i++)
            for (int d = 0; d < a->rank; d++) used[i] |= affine_uses_iter(a->sub[d], i);
    }
    for (int i = 0; i < c->s->niters; i++) all &= used[i] || iter_extent(&c->s->iter[i]) <= 1;
    return !all;
}

static const SchedCopy *copy_given(const SpaceBuild *x, Name label, Name tensor) {
    const SchedStmt *g = given(x, label);
    for (int i = 0; g && i < g->ncopies; i++)
        if (g->copy[i].tensor == tensor) return &g->copy[i];
    return NULL;
}

static int64_t bytes_of(const SpaceBuild *x, int tensor, Type as) {
    const Tensor *t = &x->p->tensors.at[tensor];
    return eng_mul(tensor_elements(t), type_info[as ? as : t->type].bytes);
}

static void relate_reader(SpaceBuild *x, int window, int reader) {
    for (int k = 0; k < x->ndims[reader]; k++) {
        int d = x->first_dim[reader] + k;
        const CpuObject *o = &x->h->object[d];
        if (o->step) continue;
        relate(x, CPU_SET_READERDIMS, window, d);
        if (o->level > 0) relate(x, CPU_SET_READERTILES, window, d);
        if (is_tiled(o)) relate(x, CPU_SET_READERTILED, window, d);
        if (has_inside(o)) relate_in(x, x->words->reader_splits, window, d);
    }
}

// Relates all statements on whose results the tensor depends, directly or indirectly.
static void relate_inputs(SpaceBuild *x, int window, int tensor, int before, int depth) {
    for (int k = 0; k < before && depth < 16; k++) {
        const StmtFacts *c = stmt_of(x, k);
        if (c->s->write->tensor != tensor) continue;
        relate(x, CPU_SET_INPUTS, window, x->body[k]);
        for (int r = 0; r < c->nreads; r++)
            if (c->read[r]->tensor != tensor)
                relate_inputs(x, window, c->read[r]->tensor, k, depth + 1);
    }
}

// Relates statements that overwrite it later: they must not run while the window is in use.
static void relate_writers(SpaceBuild *x, int window, int tensor, int after) {
    for (int k = after; k < x->p->stmts.n; k++)
        if (stmt_of(x, k)->s->write->tensor == tensor)
            relate(x, CPU_SET_INPUTS, window, x->body[k]);
}

// Does the tensor change in the steps of statement i?
static bool changes_in_steps(const SpaceBuild *x, int i, int tensor) {
    bool changes = false;
    for (int k = group_first(x->p, i); stmt_of(x, i)->s->serial && k < group_end(x->p, i); k++)
        changes |= stmt_of(x, k)->s->write->tensor == tensor;
    return changes;
}

// A copy contains elements of all steps, so a statement that writes one of them must not move
// before it.
static void relate_passing(SpaceBuild *x, int pack, int i, int tensor) {
    for (int c = i + 1; c < x->p->stmts.n; c++) {
        const CpuObject *o = &x->h->object[x->comp[c]];
        bool writes = stmt_of(x, c)->s->write->tensor == tensor;
        if (writes && o->may_follow && x->h->object[o->host].stmt < i)
            relate(x, CPU_SET_PASSING, pack, x->comp[c]);
    }
}

// The loops over elements of the copy: one iterator per subscript of the only read.
static void relate_box(SpaceBuild *x, int window, int reader, int tensor) {
    const StmtFacts *f = stmt_of(x, reader);
    const Access *a = NULL;
    for (int r = 0; r < f->nreads; r++) {
        if (f->read[r]->tensor != tensor) continue;
        if (a) return;
        a = f->read[r];
    }
    for (int k = 0; a && k < x->ndims[reader]; k++) {
        int d = x->first_dim[reader] + k, in = 0;
        const CpuObject *o = &x->h->object[d];
        for (int s = 0; s < a->rank; s++) in += affine_as_iter(a->sub[s]) == o->iter;
        if (o->level > 0 && in == 1) relate_in(x, x->words->box_tiles, window, d);
    }
}

static void make_copy(SpaceBuild *x, int i, int tensor) {
    const StmtFacts *c = stmt_of(x, i);
    const Tensor *t = &x->p->tensors.at[tensor];
    CpuObject o = blank(i);
    o.tensor = tensor;
    o.comp = x->comp[i];
    o.reader = x->comp[i];
    o.extent = tensor_elements(t);
    o.changes = changes_in_steps(x, i, tensor);
    o.lanes = x->o->machine.vector_bytes / lane_bytes(t->type);
    int wide = 0;
    for (int d = 0; d < t->rank; d++) wide += tensor_size(t, d) > 1;
    o.may_turn = wide > 1 && o.lanes >= LIMIT_TRANSPOSE;
    const SchedCopy *g = copy_given(x, c->s->label, t->name);
    o.as = g ? g->as : copy_type(c->s, tensor, t->type);
    o.bytes = type_info[o.as ? o.as : t->type].bytes;
    o.own =
        own_section(x, name_of(x->p->names, arena_printf(x->arena, "%s.%s", c->s->label, t->name)));
    // Only arguments of whole words, which nothing writes, are copied without passing registers.
    o.may_async = x->gpu && tensor < x->p->ninputs && !o.as && type_info[t->type].bytes >= 4;
    const char *name = arena_printf(x->arena, "%s.%s", clean(x, c->s->label), clean(x, t->name));
    int pack = object_new(x, name, false, o);
    int w = object_new(x, arena_printf(x->arena, "%s.at", name), true, o);
    add(x, CPU_SET_PACKS, pack);
    add(x, CPU_SET_COPIES, w);
    relate(x, CPU_SET_PACKSOF, x->comp[i], pack);
    relate(x, CPU_SET_COPIESOF, x->comp[i], w);
    vec_push(x->arena, &x->h->copies, w);
    relate_reader(x, w, i);
    relate_inputs(x, w, tensor, i, 0);
    relate_writers(x, w, tensor, i + 1);
    for (int k = 0; k < x->p->stmts.n; k++)
        if (stmt_of(x, k)->s->write->tensor == tensor && is_temp(x, tensor))
            relate(x, CPU_SET_COPIED, pack, x->comp[k]);
    relate_passing(x, pack, i, tensor);
    o.comp = -1;
    o.extent = bytes_of(x, tensor, o.as);
    o.may_as_read = !x->gpu && t->rank > 1;
    o.given = g && g->storage.ndims;
    o.storage = g ? &g->storage : NULL;
    int r = object_new(x, arena_printf(x->arena, "%s.mem", name), true, o);
    add(x, CPU_SET_REGIONS, r);
    relate_in(x, x->words->memory_of, w, r);
    relate_box(x, w, i, tensor);
}

static void make_copies(SpaceBuild *x, int i) {
    const StmtFacts *c = stmt_of(x, i);
    int made = 0;
    for (int t = 0; t < x->p->tensors.n && !cpu_is_apart(c) && c->s->niters; t++) {
        const Tensor *tensor = &x->p->tensors.at[t];
        if (t == c->s->write->tensor || !stmt_reads(c, t) || !tensor->rank) continue;
        if (tensor_elements(tensor) < 2 || !operand(c->s->value, t)) continue;
        if (changes_in_steps(x, i, t) && tensor->rank + c->s->serial > PROGRAM_MAX_RANK) continue;
        bool wanted = copy_given(x, c->s->label, tensor->name) != NULL;
        if (!wanted && (made == MANY_COPIES || !reused(c, t))) continue;
        make_copy(x, i, t);
        made++;
    }
}

static void make_window(SpaceBuild *x, int i) {
    const CpuObject *comp = &x->h->object[x->comp[i]];
    const Stmt *s = stmt_of(x, i)->s;
    x->window[i] = -1;
    if (!comp->may_recompute) return;
    CpuObject o = blank(i);
    int reader = x->h->object[comp->reader].stmt;
    o.reader = comp->reader;
    o.extent = tensor_elements(&x->p->tensors.at[s->write->tensor]);
    o.first = s->serial;
    o.nsizes = s->niters - s->serial;
    o.own = own_section(x, s->label);
    const char *name = arena_printf(x->arena, "%s.at", clean(x, s->label));
    int w = x->window[i] = object_new(x, name, true, o);
    add(x, CPU_SET_RECOMPUTED, w);
    relate(x, CPU_SET_WINDOWOF, x->comp[i], w);
    relate_reader(x, w, reader);
    for (int r = 0; r < stmt_of(x, i)->nreads; r++) {
        relate_inputs(x, w, stmt_of(x, i)->read[r]->tensor, i, 0);
        relate_writers(x, w, stmt_of(x, i)->read[r]->tensor, i + 1);
    }
}

static bool plain_subscripts(const Access *a) {
    for (int d = 0; d < a->rank; d++)
        if (affine_as_iter(a->sub[d]) < 0) return false;
    return true;
}

static void make_region(SpaceBuild *x, int i) {
    const Stmt *s = stmt_of(x, i)->s;
    int tensor = s->write->tensor, writers = 0;
    x->region[i] = -1;
    if (!is_temp(x, tensor)) return;
    for (int k = 0; k < x->p->stmts.n; k++) {
        bool writes = stmt_of(x, k)->s->write->tensor == tensor;
        if (writes && k < i) return; // the first definition has it
        writers += writes;
    }
    const CpuObject *comp = &x->h->object[x->comp[i]];
    const SchedStmt *g = given(x, s->label);
    CpuObject o = blank(i);
    o.tensor = tensor;
    o.comp = x->comp[i];
    o.reader = comp->reader;
    o.extent = bytes_of(x, tensor, TYPE_NONE);
    o.may_as_written = !x->gpu && writers == 1 && s->write->rank > 1 && plain_subscripts(s->write);
    o.may_as_read = !x->gpu && comp->reader >= 0 && s->write->rank > 1;
    o.given = g && g->storage.ndims;
    o.storage = g ? &g->storage : NULL;
    const char *name = arena_printf(x->arena, "%s.mem", clean(x, x->p->tensors.at[tensor].name));
    x->region[i] = object_new(x, name, comp->may_inline, o);
    add(x, CPU_SET_REGIONS, x->region[i]);
}

// Is there a decision about the statement's reads of a tensor? On a GPU, the caches that they use;
// those of a processor need not see what others write.
static bool decides_reads(const SpaceBuild *x, int i, int t) {
    const StmtFacts *c = stmt_of(x, i);
    const Access *a = stmt_read_of(c, t);
    if (x->gpu && x->p->tensors.at[t].role != ROLE_INPUT) return false;
    return a && !a->has_read && a->rank && t != c->s->write->tensor && operand(c->s->value, t);
}

static bool gives_cache(const SpaceBuild *x, const SchedStmt *g, int t) {
    for (int k = 0; g && k < g->ncaches; k++)
        if (g->cache[k].tensor == x->p->tensors.at[t].name) return true;
    return false;
}

static void make_accesses(SpaceBuild *x, int i) {
    const StmtFacts *c = stmt_of(x, i);
    x->first_access[i] = x->h->nobjects;
    for (int t = 0; t < x->p->ninputs + x->p->noutputs && c->s->niters; t++) {
        if (!decides_reads(x, i, t)) continue;
        if (x->h->nobjects - x->first_access[i] == MANY_COPIES) break;
        CpuObject o = blank(i);
        const SchedStmt *g = given(x, c->s->label);
        o.tensor = t;
        o.nsizes = 3;
        o.sizes = prefetch_distances;
        for (int k = 0; g && k < g->nprefetches; k++)
            if (g->prefetch[k].tensor == x->p->tensors.at[t].name)
                o.sizes = with_value(x, o.sizes, &o.nsizes, g->prefetch[k].distance);
        o.given = gives_cache(x, g, t) || gives_cache(x, given_loops(x, c->s->label), t);
        const char *name = arena_printf(x->arena, "%s.%s.read", clean(x, c->s->label),
                                        clean(x, x->p->tensors.at[t].name));
        int o_number = object_new(x, name, !always_nested(x, i), o);
        add(x, CPU_SET_ACCESSES, o_number);
        relate(x, CPU_SET_ACCESSESOF, x->comp[i], o_number);
        for (int k = 0; k < x->h->copies.n; k++) {
            const CpuObject *copy = &x->h->object[x->h->copies.at[k]];
            if (copy->stmt != i || copy->tensor != t) continue;
            x->h->object[o_number].may_async = copy->may_async;
            relate(x, CPU_SET_REPLACES, x->h->copies.at[k] - 1, o_number);
            relate_in(x, x->words->copied_by, x->h->copies.at[k], o_number);
        }
    }
    x->naccesses[i] = x->h->nobjects - x->first_access[i];
}

// --- All of it -----------------------------------------------------------------------------------

static void plan_all(SpaceBuild *x) {
    int s = x->p->stmts.n;
    x->nlevels = arena_new_n(x->arena, int *, s);
    for (int i = 0; i < s; i++)
        x->nlevels[i] = arena_new_n(x->arena, int, stmt_of(x, i)->s->niters);
    int **array[] = {&x->first_dim, &x->ndims,        &x->comp,      &x->body, &x->window,
                     &x->region,    &x->first_access, &x->naccesses, &x->parts};
    for (size_t k = 0; k < sizeof array / sizeof *array; k++)
        *array[k] = arena_new_n(x->arena, int, s);
    x->levels = x->o->levels ? x->o->levels : 3;
    while (plan_levels(x) > FEW_OBJECTS && x->levels > 1) x->levels--;
}

static void share_arrays(SpaceBuild *x) {
    CpuHost *h = x->h;
    h->comp = x->comp;
    h->body = x->body;
    h->first_dim = x->first_dim;
    h->ndims = x->ndims;
    h->first_access = x->first_access;
    h->naccesses = x->naccesses;
    h->window = x->window;
    h->region = x->region;
    h->parts = x->parts;
}

static void given_numbers(SpaceBuild *x) {
    CpuHost *h = x->h;
    if (!x->gpu) h->nunroll = 1;
    h->ngrain = 1;
    for (int i = 0; x->o->given && i < x->o->given->nstmts; i++) {
        const SchedStmt *g = x->o->given->stmt[i];
        SplitSizes u = {.n = 0}, r = {.n = 0};
        for (int k = 0; k < h->nunroll; k++) u.at[u.n++] = h->unroll[k];
        for (int k = 0; k < h->ngrain; k++) r.at[r.n++] = h->grain[k];
        if (g->unroll_limit && u.n < 8) add_size(&u, g->unroll_limit, INT64_MAX);
        if (g->grain && r.n < 8) add_size(&r, g->grain, INT64_MAX);
        memcpy(h->unroll, u.at, sizeof h->unroll);
        memcpy(h->grain, r.at, sizeof h->grain);
        h->nunroll = u.n;
        h->ngrain = r.n;
    }
}

// Registers of a thread, and code that one may run.
static void gpu_limits(CpuHost *h, const GpuMachine *m) {
    static const int64_t limits[] = {0, 1, 16, 128};
    enum { REGISTERS = 255, COPIES = 1024 };
    h->registers = REGISTERS;
    h->shared = gpu_block_shared(m);
    h->cluster = m->cluster;
    h->unroll_limit = COPIES;
    h->nunroll = (int)(sizeof limits / sizeof *limits);
    memcpy(h->unroll, limits, sizeof limits);
}

// The largest number of copies of a statement that the given Schedule unrolls.
static int64_t most_copies(const SpaceBuild *x) {
    int64_t most = 1;
    for (int i = 0; x->o->given && i < x->p->stmts.n; i++) {
        const SchedStmt *g = given(x, stmt_of(x, i)->s->label);
        int64_t product = 1;
        for (int k = 0; g && k < g->nloops; k++)
            if (g->loop[k].kind == KIND_UNROLL)
                product = eng_mul(product, max_i64(1, schedule_extent(stmt_of(x, i)->s, g, k)));
        most = max_i64(most, product);
    }
    return most;
}

CpuSpace *cpu_space(Arena *arena, const Program *p, const CpuOptions *options, DiagList *diags) {
    SpaceBuild *x = arena_new(arena, SpaceBuild);
    CpuOptions *o = arena_copy(arena, options, sizeof *options);
    bool flatten = o->flatten || (o->given && o->given->flatten);
    Flat flat = flatten ? program_flatten(arena, p) : (Flat){p, NULL};
    p = flat.p;
    o->given = schedule_groups(arena, p, o->given, diags);
    if (options->given && !o->given) return NULL;
    x->words = cpu_words(arena, o->desc ? o->desc : &cpu_desc);
    x->gpu = x->words->by >= 0;
    x->arena = arena;
    x->p = p;
    x->o = o;
    x->diags = diags;
    ProgramFacts *facts = program_facts(arena, p);
    facts_classes(arena, facts);
    x->facts = facts;
    x->places = schedule_places(arena, p);
    x->h = arena_new(arena, CpuHost);
    x->h->p = p;
    int64_t copies = most_copies(x), limit = o->machine.unroll_limit, sums = 16;
    if (o->machine.vector_registers > 0) sums = o->machine.vector_registers;
    x->h->unroll_limit = max_i64(limit > 0 ? limit : 64, o->literal ? copies : 1);
    x->h->stack_limit = 16384;
    x->h->registers = max_i64(sums, copies);
    if (x->gpu) gpu_limits(x->h, o->machine.gpu);
    x->b = backbone_new(arena, x->words->desc, x->h);
    plan_all(x);
    if (plan_levels(x) > MANY_OBJECTS) {
        diag_report(diags, (Range){0, 0}, DIAG_SPACE_TOO_LARGE, plan_levels(x), MANY_OBJECTS);
        return NULL;
    }
    given_numbers(x);
    int n = p->stmts.n;
    for (int i = 0; i < n; i++) make_comp(x, i);
    link_comps(x);
    for (int i = 0; i < n; i++) relate_inlined(x, i);
    for (int i = 0; i < n; i++) make_nest(x, i);
    for (int i = 0; i < n; i++) {
        make_copies(x, i);
        make_window(x, i);
        make_region(x, i);
        make_accesses(x, i);
        cpu_relate_parts(x, i);
    }
    share_arrays(x);
    cpu_relate_all(x);
    cpu_relate_followers(x);
    CpuSpace *cs = arena_new(arena, CpuSpace);
    *cs = (CpuSpace){space_new(arena, x->b), x->words, x->h, p, x->facts, flat};
    return cs;
}
