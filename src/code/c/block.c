// Prints blocks as C: loops, guards, buffers.
//
// A constraint becomes a bound of the loop that it limits (the tail of a split), an `if` outside
// the loops that it does not depend on, or an `if` inside. If every leaf below a block is skipped
// under one flag, a single `if (init)` or `if (post)` encloses the block.
//
// Parallel loops become `omp parallel for` and vector loops `omp simd`, if no two iterations update
// the same element. If all iterations update one element, it becomes a variable with a reduction
// clause. Other loops whose iterations update common elements run in order.
#include "code/c/c_impl.h"

#include "base/bug.h"
#include "base/checked.h"
#include "tree/tree_facts.h"

#include <string.h>

enum { STACK_BUFFER = 16 << 10, STACK_ALL = 128 << 10, UNROLL_MOST = 64, COPIES_MOST = 256 };

// --- Contents of a node --------------------------------------------------------------------------

static bool is_empty(const Node *n) {
    const Block *b = as_block(n);
    if (!b) return false;
    for (int i = 0; i < b->nindex; i++)
        if (!b->index[i].passed && b->index[i].extent <= 0) return true;
    for (int i = 0; i < b->nchildren; i++)
        if (!is_empty(b->child[i])) return false;
    return true;
}

// Are all leaves below skipped under the flag?
static bool all_skipped(const CWriter *w, const Node *n, bool of_init) {
    const Block *b = as_block(n);
    bool init, post;
    if (!b) {
        c_skippable(w, (const Leaf *)n, &init, &post);
        return of_init ? init : post;
    }
    for (int i = 0; i < b->nchildren; i++)
        if (!is_empty(b->child[i]) && !all_skipped(w, b->child[i], of_init)) return false;
    return true;
}

typedef VEC(const Leaf *) Leaves;

static void collect(const CWriter *w, const Node *n, Leaves *out) {
    const Block *b = as_block(n);
    if (!b) vec_push(w->arena, out, (const Leaf *)n);
    for (int i = 0; b && i < b->nchildren; i++) collect(w, b->child[i], out);
}

// The only child, if it is a block without anything in between.
static const Block *inner_of(const Block *b) {
    return b->nchildren == 1 && b->nallocs == 0 ? as_block(b->child[0]) : NULL;
}

static bool uses_own(const Block *b, const Affine *a) {
    for (int i = 0; i < b->nindex; i++)
        if (affine_uses_iter(a, b->index[i].id)) return true;
    return false;
}

// --- Names and scopes --------------------------------------------------------------------------

static const char *fresh(CWriter *w, const char *like) {
    const char *base = c_identifier(w->arena, like ? like : "i"), *name = base;
    size_t len = strlen(base);
    bool digit = len && base[len - 1] >= '0' && base[len - 1] <= '9';
    for (int k = 1; c_name_taken(w, name); k++)
        name = arena_printf(w->arena, "%s%s%d", base, digit ? "_" : "", k);
    return name;
}

static void open_index(CWriter *w, const Index *x) {
    CIndex *c = &w->index[x->id];
    c->name = fresh(w, x->name);
    c->depth = w->depth;
    w->lo[x->id] = 0;
    w->hi[x->id] = max_i64(x->extent - 1, 0);
    if (x->passed && !affine_bounds(x->passed, w->lo, w->hi, &w->lo[x->id], &w->hi[x->id])) {
        w->lo[x->id] = INT32_MIN;
        w->hi[x->id] = INT32_MAX;
    }
    vec_push(w->arena, &w->scope, c->name);
}

static bool is_settled(const CWriter *w, const Affine *a) {
    for (int i = 0; i < w->settled.n; i++)
        if (w->settled.at[i] == a) return true;
    return affine_is_const(a) && a->constant >= 0;
}

typedef VEC(const Affine *) Conditions;

// The conditions that can be tested before the loops of `b`: constraints of `b`, and of blocks that
// form its whole body, that use none of their indices.
static void front_of(const CWriter *w, const Block *b, Conditions *out) {
    const Block *path[TREE_MAX_DEPTH * 2];
    int n = 0;
    for (const Block *at = b; at && n < TREE_MAX_DEPTH * 2; at = inner_of(at)) {
        path[n++] = at;
        for (int i = 0; i < at->nconstraints; i++) {
            const Affine *c = at->constraint[i];
            bool own = c->has_read || is_settled(w, c);
            for (int p = 0; p < n && !own; p++) own = uses_own(path[p], c);
            if (!own) vec_push(w->arena, out, c);
        }
    }
}

// --- Lines -------------------------------------------------------------------------------------

static void open_if(CWriter *w, const Affine *const *at, int n) {
    Text out = {.arena = w->arena};
    for (int i = 0; i < n; i++) {
        if (i) text_add(&out, " && ");
        c_condition(w, &out, at[i]);
        vec_push(w->arena, &w->settled, at[i]);
    }
    c_line(w, "if (%s) {", text_str(&out));
    w->indent++;
}

static void close_brace(CWriter *w) {
    w->indent--;
    c_line(w, "}");
}

static const char *affine_text(CWriter *w, const Affine *a) {
    Text out = {.arena = w->arena};
    c_affine(w, &out, a);
    return text_str(&out);
}

// --- Bounds ------------------------------------------------------------------------------------

typedef struct LoopBounds {
    const Affine *from, *to; // half-open
} LoopBounds;

// The index of `b` that the constraint bounds: the last of its own indices that occurs, linearly;
// -1: none.
static int bounded_index(const Block *b, const Affine *c) {
    if (c->has_read) return -1;
    for (int i = b->nindex - 1; i >= 0; i--) {
        int id = b->index[i].id;
        if (!affine_uses_iter(c, id)) continue;
        if (b->index[i].passed) return -1;
        for (int k = 0; k < c->n; k++) {
            const Atom *a = c->term[k].atom;
            bool here = a->kind == ATOM_ITER && a->index == id;
            if (!here && (a->a ? affine_uses_iter(a->a, id) || affine_uses_iter(a->b, id) : false))
                return -1;
        }
        return affine_coef(c, id) ? i : -1;
    }
    return -1;
}

static void narrow(CWriter *w, LoopBounds *b, const Affine *c, const Index *x) {
    Exprs *pool = w->t->exprs;
    int64_t coef = affine_coef(c, x->id), lo, hi;
    const Affine *rest = affine_sub(pool, c, affine_scale(pool, affine_iter(pool, x->id), coef));
    const Affine *step = affine_const(pool, coef < 0 ? -coef : coef);
    const Affine *whole = affine_div(pool, rest, step);
    if (coef < 0) {
        const Affine *to = affine_add_const(pool, whole, 1);
        bool known = affine_bounds(to, w->lo, w->hi, &lo, &hi);
        if (known && lo >= x->extent) return;
        bool only = known && hi <= x->extent && affine_is(b->to, x->extent);
        b->to = only ? to : affine_min(pool, b->to, to);
    } else {
        const Affine *from = affine_scale(pool, whole, -1);
        bool known = affine_bounds(from, w->lo, w->hi, &lo, &hi);
        if (known && hi <= 0) return;
        bool only = known && lo >= 0 && affine_is(b->from, 0);
        b->from = only ? from : affine_max(pool, b->from, from);
    }
}

// --- Iterations that update common elements ------------------------------------------------------

// An update of an element, as seen along one dimension from one parallel index.
typedef struct LoopReach {
    int64_t coef;   // of the index
    int64_t lo, hi; // range of the constant and of all terms inside the loop
    int64_t gcd;    // of the coefficients inside
    const Affine *outside;
} LoopReach;

// Returns false if the subscript is not linear or has passed indices of the loop.
static bool reach_of(CWriter *w, const Affine *sub, int id, int depth, LoopReach *out) {
    Exprs *x = w->t->exprs;
    *out = (LoopReach){.lo = sub->constant, .hi = sub->constant};
    const Affine *outside = affine_const(x, 0);
    if (!sub->linear) return false;
    for (int i = 0; i < sub->n; i++) {
        int at = sub->term[i].atom->index;
        int64_t coef = sub->term[i].coef;
        const CIndex *c = &w->index[at];
        bool inside = !c->name || c->depth >= depth; // opened later, or now
        if (at == id)
            out->coef = coef;
        else if (!inside)
            outside = affine_add(x, outside, affine_scale(x, affine_iter(x, at), coef));
        else if (w->extent[at] < 0)
            return false;
        else {
            int64_t more;
            if (!checked_mul(coef, max_i64(w->extent[at] - 1, 0), &more)) return false;
            if (!checked_add(more < 0 ? out->lo : out->hi, more, more < 0 ? &out->lo : &out->hi))
                return false;
            if (w->extent[at] > 1) out->gcd = gcd_i64(out->gcd, coef);
        }
    }
    out->outside = outside;
    return true;
}

// Do different values of the index always select different elements in dimension d?
static bool apart_in(CWriter *w, const Leaves *all, int buffer, int d, int id, int depth) {
    LoopReach sum = {0};
    int n = 0;
    for (int i = 0; i < all->n; i++) {
        LoopReach r;
        const Leaf *leaf = all->at[i];
        if (leaf->write->tensor != buffer || leaf->op == REDUCE_ASSIGN) continue;
        if (!reach_of(w, leaf->write->sub[d], id, depth, &r) || !r.coef) return false;
        if (!n++) {
            sum = r;
            continue;
        }
        if (r.coef != sum.coef || r.outside != sum.outside) return false;
        sum.lo = min_i64(sum.lo, r.lo);
        sum.hi = max_i64(sum.hi, r.hi);
        sum.gcd = 0;
    }
    int64_t coef = sum.coef < 0 ? -sum.coef : sum.coef, span;
    if (sum.hi - sum.lo < coef) return true;
    return n == 1 && sum.gcd && checked_mul(coef, max_i64(w->extent[id] - 1, 0), &span) &&
           span < sum.gcd;
}

// The first leaf through which iterations of the index may update a common element; NULL: none.
static const Leaf *meeting(CWriter *w, const Leaves *all, int id, int depth) {
    for (int i = 0; i < all->n; i++) {
        const Leaf *leaf = all->at[i];
        int buffer = leaf->write->tensor;
        const CBuffer *b = &w->buffer[buffer];
        // Allocated inside: private to the iteration.
        if (leaf->op == REDUCE_ASSIGN || !b->open) continue;
        bool apart = false;
        for (int d = 0; d < leaf->write->rank && !apart; d++)
            apart = apart_in(w, all, buffer, d, id, depth);
        if (!apart) return leaf;
    }
    return NULL;
}

typedef struct BlockTouch {
    int buffer, count;
} BlockTouch;

static void count_touch(void *user, const Access *a, bool guarded) {
    (void)guarded;
    BlockTouch *t = user;
    t->count += a->tensor == t->buffer;
}

// Can the element that the leaf updates be kept in a variable around the loops from `depth` on?
static bool is_sum(CWriter *w, const Leaves *all, const Leaf *leaf, int depth) {
    Type t = w->t->buffers.at[leaf->write->tensor].type;
    if (!c_is_plain(t) || (leaf->op != REDUCE_ADD && leaf->op != REDUCE_MUL) || w->sum)
        return false;
    for (int d = 0; d < leaf->write->rank; d++) {
        const Affine *sub = leaf->write->sub[d];
        if (!sub->linear) return false;
        for (int i = 0; i < sub->n; i++) {
            const CIndex *c = &w->index[sub->term[i].atom->index];
            if (!c->name || c->depth >= depth) return false;
        }
    }
    BlockTouch touch = {leaf->write->tensor, 0};
    for (int i = 0; i < all->n; i++) {
        touch.count += all->at[i]->write->tensor == touch.buffer;
        expr_visit_accesses(all->at[i]->value, count_touch, &touch);
        for (int d = 0; d < all->at[i]->write->rank; d++)
            affine_visit_accesses(all->at[i]->write->sub[d], count_touch, &touch);
    }
    return touch.count == 1 && c_bounded(w, leaf->write);
}

// --- Pragmas -----------------------------------------------------------------------------------

static void see_read(void *user, const Access *a, bool guarded) {
    (void)guarded;
    *(bool *)user |= a->has_read;
}

static bool expr_checks(const CWriter *w, const Leaf *leaf) {
    const Program *p = w->t->program;
    bool gathers = leaf->write->has_read;
    expr_visit_accesses(leaf->value, see_read, &gathers);
    bool unproven =
        p && leaf->stmt >= 0 && leaf->stmt < p->stmts.n && p->stmts.at[leaf->stmt].unproven;
    return gathers || unproven;
}

static bool simple_body(const CWriter *w, const Block *b) {
    for (int i = 0; i < b->nchildren; i++) {
        const Block *inner = as_block(b->child[i]);
        if (inner && (inner->nindex || !simple_body(w, inner))) return false;
        if (!inner && expr_checks(w, (const Leaf *)b->child[i])) return false;
    }
    return true;
}

// The number of loops from `b` on that OpenMP may divide as one.
static int collapsible(CWriter *w, const Block *b, const Leaves *all, int depth) {
    int n = 0;
    for (const Block *at = b; at && at->kind == KIND_PARALLEL; at = inner_of(at)) {
        Conditions front = {0};
        if (at != b) front_of(w, at, &front);
        if (front.n || (at->nconstraints && at != b)) break;
        int bounds = 0;
        for (int i = 0; i < at->nconstraints; i++) bounds += !is_settled(w, at->constraint[i]);
        for (int i = 0; i < at->nindex; i++) {
            if (at->index[i].passed || (n && bounds)) return n;
            if (n && meeting(w, all, at->index[i].id, depth)) return n;
            n++;
        }
        if (bounds) break;
    }
    return n ? n : 1;
}

typedef struct BlockPlan {
    const char *pragma; // "omp parallel for", "omp simd"; NULL: none
    const Leaf *sum;    // kept in a variable
    const Leaf *meets;  // the reason why it runs in order
    int collapse;
} BlockPlan;

static BlockPlan plan_block(CWriter *w, const Block *b) {
    BlockPlan plan = {.collapse = 1};
    bool parallel = b->kind == KIND_PARALLEL && !w->parallel;
    bool vector = b->kind == KIND_VECTOR && b->nindex == 1 && simple_body(w, b);
    int loops = 0;
    for (int i = 0; i < b->nindex; i++) {
        if (b->index[i].passed) return plan;
        loops++;
    }
    if (!loops || (!parallel && !vector)) return plan;
    if (loops == 1 && b->index[0].extent == 1) return plan;
    Leaves all = {0};
    collect(w, &b->node, &all);
    for (int i = 0; i < loops && !plan.meets; i++)
        plan.meets = meeting(w, &all, b->index[i].id, w->depth);
    if (plan.meets && is_sum(w, &all, plan.meets, w->depth)) {
        plan.sum = plan.meets;
        plan.meets = NULL;
    }
    if (plan.meets) return plan;
    if (parallel && !plan.sum) plan.collapse = collapsible(w, b, &all, w->depth);
    plan.pragma = parallel ? "omp parallel for" : "omp simd";
    return plan;
}

static void print_pragma(CWriter *w, const BlockPlan *plan, const Block *b, bool status) {
    Text out = {.arena = w->arena};
    text_printf(&out, "#pragma %s", plan->pragma);
    if (plan->collapse > 1) text_printf(&out, " collapse(%d)", plan->collapse);
    if (plan->sum)
        text_printf(&out, " reduction(%c : %s)", plan->sum->op == REDUCE_ADD ? '+' : '*',
                    w->sum_name);
    if (status) text_add(&out, " reduction(max : status)");
    if (b->grain > 1 && b->kind == KIND_PARALLEL)
        text_printf(&out, " schedule(dynamic, %lld)", (long long)b->grain);
    w->u->pragmas = true;
    w->u->parallel |= b->kind == KIND_PARALLEL;
    c_line(w, "%s", text_str(&out));
}

// --- Buffers -----------------------------------------------------------------------------------

static void open_buffer(CWriter *w, int number) {
    const Buffer *b = &w->t->buffers.at[number];
    CBuffer *c = &w->buffer[number];
    const char *type = c_type(b->type);
    if (c->scalar) {
        c_line(w, "%s %s = 0;", type, c->name);
    } else if (c->on_stack) {
        if (b->align > type_info[b->type].bytes)
            c_line(w, "LW_ALIGN(%d) %s %s[%lld];", b->align, type, c->name, (long long)c->span);
        else
            c_line(w, "%s %s[%lld];", type, c->name, (long long)c->span);
    } else {
        c_line(w, "%s *const restrict %s = (void *)(%s + %lld); // %lld elements", type, c->name,
               w->parallel ? "own" : "scratch", (long long)c->offset, (long long)c->span);
    }
    if (!c->read) c_line(w, "(void)%s;", c->name); // written but never read
}

// Decides where a buffer lives, before its uses are printed.
static void place_buffer(CWriter *w, int number) {
    const Buffer *b = &w->t->buffers.at[number];
    CBuffer *c = &w->buffer[number];
    int64_t bytes = c->span * type_info[b->type].bytes;
    c->open = true;
    c->scalar = c->span == 1;
    c->on_stack = c->scalar || (b->home != HOME_SCRATCH && bytes <= STACK_BUFFER &&
                                w->stack + bytes <= STACK_ALL);
    if (c->on_stack) {
        w->u->locals = true;
        w->stack += bytes;
        return;
    }
    c->offset = w->scratch;
    w->scratch += (bytes + 63) & ~(int64_t)63;
    w->most_scratch = max_i64(w->most_scratch, w->scratch);
}

// --- Blocks ------------------------------------------------------------------------------------

static void write_node(CWriter *w, const Node *n);

// Prints the children to a separate text first, because their contents decide what must be
// declared.
static void write_children(CWriter *w, const Block *b) {
    int64_t stack = w->stack, scratch = w->scratch;
    Text *outer = w->out, inner = {.arena = w->arena};
    for (int i = 0; i < b->nallocs; i++) place_buffer(w, b->alloc[i]);
    w->out = &inner;
    for (int i = 0; i < b->nchildren; i++) write_node(w, b->child[i]);
    w->out = outer;
    for (int i = 0; i < b->nallocs; i++) {
        if (w->buffer[b->alloc[i]].used) open_buffer(w, b->alloc[i]);
        w->buffer[b->alloc[i]].open = false;
    }
    text_add_n(w->out, text_str(&inner), inner.len);
    w->stack = stack;
    w->scratch = scratch;
}

// Prints the body of a parallel iteration, with private memory for buffers that are too large for
// the stack.
static void write_own(CWriter *w, const Block *b) {
    int64_t scratch = w->scratch, most = w->most_scratch;
    Text *outer = w->out, inner = {.arena = w->arena};
    w->scratch = w->most_scratch = 0;
    w->out = &inner;
    write_children(w, b);
    int64_t bytes = w->most_scratch;
    bool needs = bytes > 0;
    if (needs) { // print it again, one level deeper
        inner.len = 0;
        w->scratch = w->most_scratch = 0;
        w->indent++;
        write_children(w, b);
        w->indent--;
    }
    w->out = outer;
    if (needs) {
        w->u->memory = w->checks = true;
        c_line(w, "char *const memory = malloc(%lld);", (long long)(bytes + 63));
        c_line(w, "if (memory) {");
        w->indent++;
        c_line(w, "char *const own = memory + (64 - (uintptr_t)memory %% 64) %% 64;");
        text_add_n(w->out, text_str(&inner), inner.len);
        w->indent--;
        c_line(w, "} else {");
        c_line(w, "    status = 1;");
        c_line(w, "}");
        c_line(w, "free(memory);");
    } else {
        text_add_n(w->out, text_str(&inner), inner.len);
    }
    w->scratch = scratch;
    w->most_scratch = most;
}

static void write_body(CWriter *w, const Block *b, const Conditions *inside) {
    int settled = w->settled.n;
    if (inside->n) open_if(w, inside->at, inside->n);
    if (w->parallel && w->collapse == 0) {
        w->collapse = -1;
        write_own(w, b);
    } else
        write_children(w, b);
    if (inside->n) close_brace(w);
    w->settled.n = settled;
}

// The unroll factor of index i in a block with `inside` copies of leaves: up to COPIES_MOST copies
// in all, inner loops first. Compilers take minutes for more.
static int64_t unrolled(const Block *b, int i, int64_t inside) {
    int64_t extent = b->index[i].extent;
    if (b->kind != KIND_UNROLL || b->index[i].passed || extent > UNROLL_MOST) return 1;
    return max_i64(1, min_i64(extent, COPIES_MOST / max_i64(1, inside)));
}

static int64_t copies_of(const Node *n);

// Copies of leaves in the body of index i.
static int64_t copies_inside(const Block *b, int i) {
    int64_t copies = 0;
    for (int k = 0; k < b->nchildren; k++) copies += copies_of(b->child[k]);
    for (int k = b->nindex - 1; k > i; k--) copies *= unrolled(b, k, copies);
    return copies;
}

static int64_t copies_of(const Node *n) {
    const Block *b = as_block(n);
    return b ? copies_inside(b, -1) : 1;
}

static void write_loop(CWriter *w, const Block *b, int i, const LoopBounds *at) {
    const Index *x = &b->index[i];
    int64_t times = b->kind == KIND_UNROLL ? unrolled(b, i, copies_inside(b, i)) : 1;
    if (times > 1) {
        w->u->pragmas = true;
        c_line(w, "#pragma GCC unroll %lld", (long long)times);
    }
    const char *name = w->index[x->id].name;
    c_line(w, "for (int64_t %s = %s; %s < %s; %s++) {", name, affine_text(w, at->from), name,
           affine_text(w, at->to), name);
    if (w->collapse > 0) w->collapse--;
    w->indent++;
}

static bool has_loops(const Block *b) {
    for (int i = 0; i < b->nchildren; i++) {
        const Block *c = as_block(b->child[i]);
        if (c && (c->nindex || has_loops(c))) return true;
    }
    return false;
}

enum { LEAVES_COMPARED = 64 }; // more leaves are assumed to conflict

typedef struct OtherAccess {
    const Access *write;
    bool found;
} OtherAccess;

static void look_for_other(void *user, const Access *a, bool guarded) {
    OtherAccess *o = user;
    (void)guarded;
    o->found |= a->tensor == o->write->tensor && a != o->write;
}

// May one iteration read an element that another one wrote?
static bool reads_back(const CWriter *w, const Block *b) {
    Leaves all = {0};
    collect(w, &b->node, &all);
    if (all.n > LEAVES_COMPARED) return true;
    for (int i = 0; i < all.n; i++) {
        OtherAccess o = {.write = all.at[i]->write};
        for (int k = 0; k < all.n && !o.found; k++)
            expr_visit_accesses(all.at[k]->value, look_for_other, &o);
        if (o.found) return true;
    }
    return false;
}

// GCC 12 unrolls inner loops and then vectorises the loop around them, although its iterations
// depend on each other: T[8*i + j + 18] = T[8*i + j + 8] + ...
static void keep_order(CWriter *w, bool dependent) {
    if (dependent) c_line(w, "LW_IN_ORDER;");
}

static void write_loops(CWriter *w, const Block *b) {
    Exprs *x = w->t->exprs;
    LoopBounds *bounds = arena_new_n(w->arena, LoopBounds, b->nindex + 1);
    Conditions inside = {0};
    for (int i = 0; i < b->nindex; i++)
        bounds[i] = (LoopBounds){affine_const(x, 0), affine_const(x, b->index[i].extent)};
    for (int i = 0; i < b->nconstraints; i++) {
        const Affine *c = b->constraint[i];
        if (is_settled(w, c)) continue;
        int at = bounded_index(b, c);
        if (at >= 0)
            narrow(w, &bounds[at], c, &b->index[at]);
        else
            vec_push(w->arena, &inside, c);
    }
    int loops = 0;
    for (int i = 0; i < b->nindex; i++) {
        if (b->index[i].passed) continue;
        write_loop(w, b, i, &bounds[i]);
        loops++;
    }
    bool nested = has_loops(b), serial = !kind_is_unordered(b->kind);
    bool dependent = loops && loops + nested > 1 && serial && reads_back(w, b);
    write_body(w, b, &inside);
    keep_order(w, dependent && nested);
    while (loops--) {
        close_brace(w);
        keep_order(w, dependent && loops);
    }
}

static void open_sum(CWriter *w, const Leaf *leaf) {
    Type t = w->t->buffers.at[leaf->write->tensor].type;
    w->leaf = leaf;
    const char *element = c_element(w, leaf->write);
    w->buffer[leaf->write->tensor].read = true;
    w->leaf = NULL;
    w->sum_name = fresh(w, leaf->op == REDUCE_ADD ? "sum" : "product");
    c_line(w, "%s %s = %s;", c_value_type(t), w->sum_name, element);
    w->sum = leaf;
}

static void close_sum(CWriter *w, const Leaf *leaf) {
    w->sum = NULL;
    w->leaf = leaf;
    c_line(w, "%s = %s;", c_element(w, leaf->write), w->sum_name);
    w->leaf = NULL;
}

// Prints the loops with their pragma, which is only known after them: it names the status if they
// have one.
static void write_planned(CWriter *w, const Block *b, const BlockPlan *plan) {
    if (plan->sum) {
        c_line(w, "{");
        w->indent++;
        open_sum(w, plan->sum);
    }
    bool parallel = plan->pragma && b->kind == KIND_PARALLEL, checks = w->checks;
    Text *outer = w->out, inner = {.arena = w->arena};
    if (parallel) {
        w->parallel = w->has_parallel = true;
        w->collapse = plan->collapse;
        w->checks = false;
    }
    w->out = &inner;
    if (plan->meets)
        c_line(w, "// in order: iterations meet in %s", w->buffer[plan->meets->write->tensor].name);
    write_loops(w, b);
    w->out = outer;
    if (plan->pragma) print_pragma(w, plan, b, parallel && w->checks);
    text_add_n(w->out, text_str(&inner), inner.len);
    if (parallel) {
        w->parallel = false;
        w->collapse = -1;
        w->checks |= checks;
    }
    if (plan->sum) {
        close_sum(w, plan->sum);
        close_brace(w);
    }
}

static void write_block(CWriter *w, const Block *b) {
    int settled = w->settled.n, scope = w->scope.n, passed = 0;
    Conditions front = {0};
    front_of(w, b, &front);
    if (front.n) open_if(w, front.at, front.n);
    w->depth++;
    for (int i = 0; i < b->nindex; i++) {
        open_index(w, &b->index[i]);
        if (!b->index[i].passed) continue;
        if (!passed++) {
            c_line(w, "{");
            w->indent++;
        }
        c_line(w, "const int64_t %s = %s;", w->index[b->index[i].id].name,
               affine_text(w, b->index[i].passed));
        c_line(w, "(void)%s;", w->index[b->index[i].id].name);
    }
    BlockPlan plan = plan_block(w, b);
    write_planned(w, b, &plan);
    if (passed) close_brace(w);
    for (int i = 0; i < b->nindex; i++) w->index[b->index[i].id].name = NULL;
    w->depth--;
    w->scope.n = scope;
    if (front.n) close_brace(w);
    w->settled.n = settled;
}

static void write_plain(CWriter *w, const Node *n) {
    if (as_block(n))
        write_block(w, as_block(n));
    else
        c_leaf(w, as_leaf(n));
}

// Prints a node under a condition; a single line goes on the line of the condition.
static void write_under(CWriter *w, const Node *n, const char *condition) {
    Text *outer = w->out, inner = {.arena = w->arena};
    w->out = &inner;
    w->indent++;
    write_plain(w, n);
    w->indent--;
    w->out = outer;
    const char *text = text_str(&inner), *end = strchr(text, '\n');
    if (end && !end[1]) {
        c_line(w, "if (%s) %.*s", condition, (int)(end - text) - 4 * (w->indent + 1),
               text + 4 * (w->indent + 1));
        return;
    }
    c_line(w, "if (%s) {", condition);
    text_add_n(w->out, text, inner.len);
    c_line(w, "}");
}

static void write_node(CWriter *w, const Node *n) {
    if (is_empty(n)) return;
    if (n->kind == NODE_SPECIAL) bug("a special is expanded before it is written");
    bool init = !w->under_init && all_skipped(w, n, true);
    bool post = !w->under_post && all_skipped(w, n, false);
    if (!init && !post) {
        write_plain(w, n);
        return;
    }
    bool under_init = w->under_init, under_post = w->under_post;
    w->under_init |= init;
    w->under_post |= post;
    w->uses_init |= init;
    w->uses_post |= post;
    write_under(w, n, init && post ? "init && post" : init ? "init" : "post");
    w->under_init = under_init;
    w->under_post = under_post;
}

static bool note_extents(void *user, const Node *n, int depth, const Block *parent) {
    (void)depth, (void)parent;
    CWriter *w = user;
    const Block *b = as_block(n);
    for (int i = 0; b && i < b->nindex; i++) {
        const Index *x = &b->index[i];
        w->extent[x->id] = x->passed ? -1 : x->extent;
        w->hi[x->id] = max_i64(x->extent - 1, 0);
    }
    return true;
}

void c_tree(CWriter *w) {
    tree_walk(w->t, note_extents, w);
    for (int i = 0; i < w->t->nargs; i++) w->buffer[i].open = true;
    w->collapse = -1;
    write_node(w, &w->t->root->node);
}
