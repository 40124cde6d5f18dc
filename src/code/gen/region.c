// Regions, whose tile stays in registers.
#include "code/gen/gen.h"

#include <string.h>

#include "base/bug.h"
#include "base/checked.h"

static bool same_lin(const Lin *a, const Lin *b) {
    return a->c == b->c && a->n == b->n && lin_same_terms(a->t, b->t, a->n);
}

// Which of its elements exist cannot be told where they would be loaded.
static void refuse(Gen *g, const PNode *leaf) {
    g->result.no_tile = leaf->number;
    g->result.why_no_tile = SPILL_MAYBE;
}

// An element of several leaves exists if it does for one. What only one of several conditions
// decides is not known well enough to keep it in a register.
static void pin_exists(Gen *g, Pin *p, const PNode *n, bool surely) {
    bool same = p->nconds == g->region.maybe.n;
    if (surely || !p->nconds) p->nconds = 0;
    for (int i = 0; i < p->nconds && same; i++) same = same_lin(p->cond[i], g->region.maybe.at[i]);
    if (p->nconds && !same) refuse(g, n);
}

// The pin of the element that a leaf writes; the number of pins: none.
static int find_pin(const Gen *g, const PNode *n, const Ref *r) {
    int i = 0;
    while (i < g->region.pins.n && (g->region.pins.at[i].buffer != n->write.buffer ||
                                    g->region.pins.at[i].ref.disp != r->disp))
        i++;
    return i;
}

// The tile: every element written under a real loop of the region.
// One element may be written by scalars (its initialisation) and by lanes (its reduction).
static void add_pin(Gen *g, const PNode *n, bool surely) {
    Ref r = gen_ref(g, n, &n->write, n->simd.width);
    int i = find_pin(g, n, &r);
    if (i == g->region.pins.n) {
        Pin p = {.buffer = n->write.buffer,
                 .ref = r,
                 .type = type_compute(n->write.type),
                 .line = n->line};
        if (r.lane) p.ref.active = (uint8_t)g->here.active;
        size_t bytes = (size_t)g->region.maybe.n * sizeof(const Lin *);
        if (!surely && bytes) p.cond = arena_copy(g->arena, g->region.maybe.at, bytes);
        p.nconds = p.cond ? g->region.maybe.n : 0;
        vec_push(g->arena, &g->region.pins, p);
    } else {
        pin_exists(g, &g->region.pins.at[i], n, surely);
    }
    Pin *p = &g->region.pins.at[i];
    if (n->form.split > 1 && p->parts.n && p->parts.op != n->leaf->op)
        p->parts.n = 1; // two alternating reductions
    else if (n->form.split > 1 && p->parts.n != 1)
        p->parts = (Parts){.n = (int8_t)n->form.split, .op = (uint8_t)n->leaf->op};
}

// Split reductions keep their parts behind the tile.
static void place_parts(Gen *g) {
    g->region.pinned = g->region.pins.n;
    for (int i = 0; i < g->region.pins.n; i++) {
        Parts *p = &g->region.pins.at[i].parts;
        if (p->n < 2) continue;
        p->pin = (int8_t)g->region.pinned;
        g->region.pinned += p->n - 1;
    }
}

// Pins that some leaf reduces along its vector loop, wherever in the region it stands.
static void find_lanes(Gen *g, int first, int last) {
    for (int l = first; l < last; l++) {
        const PNode *n = g->p->leaves.at[l];
        if (n->simd.width == 1 || n->write.lane || n->leaf->op == REDUCE_ASSIGN) continue;
        for (int i = 0; i < g->region.pins.n; i++) {
            Pin *p = &g->region.pins.at[i];
            if (p->buffer != n->write.buffer) continue;
            p->lanes = true;
            p->op = n->leaf->op;
            p->ref.width = p->ref.active = (uint8_t)n->simd.width;
        }
    }
    for (int l = first; l < last; l++) { // parts that are scalars do not go with lanes
        const PNode *n = g->p->leaves.at[l];
        for (int i = 0; i < g->region.pins.n && n->simd.width == 1 && n->form.split > 1; i++)
            if (g->region.pins.at[i].buffer == n->write.buffer && g->region.pins.at[i].lanes)
                g->region.pins.at[i].parts.n = 0;
    }
}

// May this copy's element be loaded and stored, whether a guard lets it through or not?
static bool is_inside(const Gen *g, const PNode *n) {
    const Mem *m = &n->write;
    if (g->p->exact || !plan_keeps_bytes(g->p, m)) return false;
    if (m->safe) return true;
    for (int d = 0; m->sub && d < m->access->rank; d++) {
        int64_t min, max,
            lanes =
                n->simd.width > 1 ? lin_coef(m->sub[d], n->simd.vloop) * (g->here.active - 1) : 0;
        gen_lin_limits(g, m->sub[d], &min, &max);
        *(lanes < 0 ? &min : &max) += lanes;
        if (min < 0 || max >= g->p->tree->buffers.at[m->buffer].size[d]) return false;
    }
    return m->sub != NULL;
}

// Is l >= 0 wherever a bound of `loop` holds? It is if it is a multiple of what the bound says and
// something more: bounds are divided by their common factors.
static bool follows_from(const Lin *l, const LoopBound *b, int loop) {
    int64_t times = lin_coef(l, loop) / b->k, least = l->c;
    if (times <= 0 || times * b->k != lin_coef(l, loop) || l->n != b->rest->n + 1) return false;
    for (int i = 0; i < b->rest->n; i++) {
        int64_t k;
        if (!checked_mul(times, b->rest->t[i].k, &k) || lin_coef(l, b->rest->t[i].loop) != k)
            return false;
    }
    return checked_fma(-times, b->rest->c, &least) && least >= 0;
}

// Is `l` >= 0 whenever the loops around it satisfy their own bounds?
static bool follows_from_loop(const Gen *g, const Lin *l) {
    const PNode *loop = l->n ? g->p->loop[l->t[l->n - 1].loop] : NULL;
    for (int i = 0; loop && i < loop->nbounds; i++)
        if (follows_from(l, &loop->bound[i], loop->loop)) return true;
    return false;
}

// May a machine loop have no iteration?
static bool may_be_empty(Gen *g, const PNode *n) {
    if (!gen_has_bounds(g, n)) return n->variant.limit == 0;
    for (int i = 0; i < n->nbounds; i++) {
        int64_t min, max;
        if (n->bound[i].k > 0) return true;
        gen_lin_limits(g, n->bound[i].rest, &min, &max);
        if (min < 0 && !follows_from_loop(g, n->bound[i].rest)) return true;
    }
    return false;
}

// A bound as it applies to one copy, over machine loops.
static const Lin *bound_of_copy(const Gen *g, const LoopBound *b, int64_t v) {
    LinTerm t[TREE_MAX_DEPTH * 2];
    int n = 0;
    int64_t c = b->rest->c + b->k * v;
    for (int i = 0; i < b->rest->n; i++) {
        const LinTerm *term = &b->rest->t[i];
        if (g->p->loop[term->loop]->form.real)
            t[n++] = *term;
        else
            c += term->k * g->here.value[term->loop];
    }
    return code_lin(g->arena, c, t, n);
}

// Pushes what decides at run time whether a copy exists; false: it changes inside the region.
static bool push_conditions(Gen *g, const PNode *n, const LoopBound *const *open, int nopen,
                            int64_t v, int first_inside) {
    for (int i = 0; i < nopen; i++) {
        const Lin *l = bound_of_copy(g, open[i], v);
        if (n->simd.vector || (l->n && l->t[l->n - 1].loop >= first_inside)) return false;
        vec_push(g->arena, &g->region.maybe, l);
    }
    return true;
}

typedef struct Pinning {
    int first_inside; // loops from here on are in the region
    bool under_real;
    bool maybe; // whether this copy runs is only known inside the region
    bool found; // all pins are: leaves outside of real loops tell whether theirs exist
} Pinning;

// A leaf beside the real loops, such as an initialisation, writes an element of the tile.
static void merge_pin(Gen *g, const PNode *n, bool surely) {
    Ref r = gen_ref(g, n, &n->write, n->simd.width);
    int i = find_pin(g, n, &r);
    if (i < g->region.pins.n) pin_exists(g, &g->region.pins.at[i], n, surely);
}

static bool holds_here(const Gen *g, const Lin *cond) {
    for (int i = 0; i < g->region.maybe.n; i++)
        if (same_lin(g->region.maybe.at[i], cond)) return true;
    return false;
}

// A leaf that reads an element of the tile must do so under the conditions under which the element
// is loaded; else there is no tile. The register of an element that does not exist holds anything.
static void check_reads(Gen *g, const PNode *n) {
    for (int k = 0; k < n->nreads; k++) {
        if (!n->read[k].off || n->read[k].gathers) continue; // computed: no tile if they overlap it
        Ref r = gen_ref(g, n, &n->read[k], n->simd.width);
        for (int i = 0; i < g->region.pins.n; i++) {
            const Pin *p = &g->region.pins.at[i];
            if (p->buffer != r.buffer || p->ref.disp != r.disp) continue;
            for (int c = 0; c < p->nconds; c++)
                if (!holds_here(g, p->cond[c])) refuse(g, n);
        }
    }
}

// Copies that exist in some iteration of the machine loops around: the others have no element
// (copy_exists in plan/regions.c).
static void leave_out_copies(Gen *g, const LoopBound *const *open, int nopen, int64_t *lo,
                             int64_t *hi) {
    for (int i = 0; i < nopen; i++) {
        int64_t min, max;
        gen_lin_limits(g, open[i]->rest, &min, &max);
        if (open[i]->k < 0)
            *hi = min_i64(*hi, floor_div(max, -open[i]->k) + 1);
        else
            *lo = max_i64(*lo, ceil_div(-max, open[i]->k));
    }
}

static void find_pins(Gen *g, const PNode *n, Pinning how) {
    if (!how.under_real && !how.found && !plan_pins(n)) return;
    if (n->kind == P_LEAF) {
        bool surely = (!how.maybe && !g->region.maybe.n) || is_inside(g, n);
        if (how.found) {
            if (!how.under_real) merge_pin(g, n, surely);
            check_reads(g, n);
            return;
        }
        if (how.under_real && how.maybe && !surely) refuse(g, n);
        if (how.under_real) add_pin(g, n, surely);
        return;
    }
    if (n->kind == P_GUARD) {
        int truth = gen_guard_truth(g, n);
        if (truth == 0) return;
        how.maybe |= truth < 0 && (n->nconds || n->nhard);
    }
    const LoopBound **open = NULL;
    int64_t lo = 0, hi = 1;
    int step = 1, nopen = 0;
    if (n->kind == P_LOOP && !n->form.real && !n->form.replay) {
        hi = n->extent;
        if (n->nbounds) open = arena_new_n(g->arena, const LoopBound *, n->nbounds);
        nopen = gen_limits(g, n, &lo, &hi, open);
        if (n->simd.vector) step = n->simd.lanes;
        int64_t first = lo; // of a vector, if it has lanes
        leave_out_copies(g, open, nopen, &lo, &hi);
        lo -= (lo - first) % step;
        if (nopen && plan_writes_skip(g->p, n)) how.maybe |= may_be_empty(g, n), nopen = 0;
    } else if (n->kind == P_LOOP) {
        how.maybe |= may_be_empty(g, n);
        how.under_real = true;
    }
    for (int64_t v = lo; v < hi; v += step) {
        Pinning copy = how;
        int around = g->region.maybe.n;
        if (n->kind == P_LOOP) g->here.value[n->loop] = v;
        if (n->kind == P_LOOP && n->simd.vector)
            g->here.active = n->form.real ? n->simd.lanes : (int)min_i64(hi - v, step);
        copy.maybe |= !push_conditions(g, n, open, nopen, v, how.first_inside);
        for (int i = 0; i < n->nchild; i++) find_pins(g, n->child[i], copy);
        g->region.maybe.n = around;
    }
    if (n->kind == P_LOOP) g->here.value[n->loop] = 0;
}

static bool has_conditions(const Gen *g) {
    bool has = false;
    for (int i = 0; i < g->region.pins.n && !has; i++) has = g->region.pins.at[i].nconds > 0;
    return has;
}

// Does the region end the life of this buffer?
static bool dead_after(const Gen *g, int buffer, PNode **at, int n) {
    const Plan *p = g->p;
    return buffer >= p->tree->nargs && p->first_leaf[buffer] >= at[0]->span.first &&
           p->last_leaf[buffer] < at[n - 1]->span.last && p->alloc_depth[buffer] >= at[0]->depth;
}

// The first access to each element of the tile, in the order of execution. A constant need not
// replace anything: such an element is not loaded.
typedef enum FirstAccess {
    FIRST_NONE,
    FIRST_CONSTANT, // surely
    FIRST_FLAGGED,  // surely, unless KERNEL_ACCUMULATE is set
    FIRST_OTHER
} FirstAccess;

// An access through m, which may be any element of its buffer if its address is computed.
static void touch(Gen *g, const PNode *n, const Mem *m, FirstAccess how, uint8_t *first) {
    bool any = !m->off || m->gathers || m->inner;
    Ref r = {0};
    if (!any) r = gen_ref(g, n, m, n->simd.width);
    for (int i = 0; i < g->region.pins.n; i++) {
        const Pin *p = &g->region.pins.at[i];
        if (p->buffer == m->buffer && (any || p->ref.disp == r.disp) && !first[i])
            first[i] = (uint8_t)(any ? FIRST_OTHER : how);
    }
}

// `how`: the access of an assignment that runs here.
static void first_accesses(Gen *g, const PNode *n, FirstAccess how, uint8_t *first) {
    int64_t lo = 0, hi = 1;
    int step = 1;
    if (n->kind == P_LEAF) {
        bool constant = n->leaf->op == REDUCE_ASSIGN && !n->nreads;
        for (int r = 0; r < n->nreads; r++) touch(g, n, &n->read[r], FIRST_OTHER, first);
        touch(g, n, &n->write, constant ? how : FIRST_OTHER, first);
        return;
    }
    if (n->kind == P_GUARD) {
        int truth = gen_guard_truth(g, n);
        bool flag = n->flag == KERNEL_ACCUMULATE && !n->nconds && !n->nhard && !n->form.deferred;
        if (truth == 0) return;
        if (truth < 0) how = flag && how == FIRST_CONSTANT ? FIRST_FLAGGED : FIRST_OTHER;
    } else if (n->form.real) {
        how = FIRST_OTHER; // it may have no iteration
    } else {
        if (gen_limits(g, n, &lo, &hi, NULL)) how = FIRST_OTHER;
        if (n->form.replay) hi = min_i64(lo + 1, hi); // all copies access the same elements
        if (n->simd.vector) step = n->simd.lanes;
    }
    for (int64_t v = lo; v < hi; v += step) {
        if (n->kind == P_LOOP) g->here.value[n->loop] = v;
        for (int i = 0; i < n->nchild; i++) first_accesses(g, n->child[i], how, first);
    }
    if (n->kind == P_LOOP) g->here.value[n->loop] = 0;
}

// Jumps to `none` unless the element exists.
static void test_pin(Gen *g, const Pin *p, AsmLabel *none) {
    for (int i = 0; i < p->nconds; i++) {
        gen_lin(g, p->cond[i]);
        gen_branch(g, GEN_NEGATIVE, GEN_A, GEN_NONE, none);
    }
}

// Loads elements whose first access is other than a constant; flagged: KERNEL_ACCUMULATE is set.
static void load_pins(Gen *g, const uint8_t *first, bool flagged) {
    for (int i = 0; i < g->region.pins.n; i++) {
        Pin *p = &g->region.pins.at[i];
        AsmLabel none = asm_label(&g->a);
        if (first[i] == FIRST_CONSTANT || (first[i] == FIRST_FLAGGED && !flagged)) continue;
        gen_line(g, p->line);
        test_pin(g, p, &none);
        Micro m = {.kind = MI_LOAD,
                   .type = p->type,
                   .from = p->ref.type,
                   .width = p->ref.width,
                   .ref = &p->ref,
                   .dst = 0,
                   .dst_reg = (int8_t)i,
                   .fold = -1};
        gen_emit(g, &m);
        if (p->nconds) g->isa->forget(g, false);
        asm_bind(&g->a, &none);
    }
}

// Of an element that may not exist.
static void store_pin(Gen *g, int i) {
    Pin *p = &g->region.pins.at[i];
    AsmLabel none = asm_label(&g->a);
    gen_pin_lanes(g, i, 0, false);
    gen_line(g, p->line);
    test_pin(g, p, &none);
    gen_emit(g, &(Micro){.kind = MI_STORE,
                         .type = p->type,
                         .from = p->type,
                         .width = p->ref.width,
                         .nargs = 1,
                         .arg_reg = {(int8_t)i},
                         .ref = &p->ref,
                         .dst = -1,
                         .fold = -1});
    g->isa->forget(g, false);
    asm_bind(&g->a, &none);
}

// One line after the other; pins stand in the order of their addresses, mostly.
static void fetch_pins(Gen *g) {
    int64_t line = INT64_MIN;
    for (int i = 0; i < g->region.pins.n; i++) {
        const Mem *m = g->region.pins.at[i].ref.mem;
        if (!m->fetch || m->ahead.lines) continue;
        Ref r = g->region.pins.at[i].ref;
        r.mem = m->next;
        r.disp += m->next->off->c - m->off->c;
        if (floor_div(r.disp, 64) == line) continue;
        line = floor_div(r.disp, 64);
        gen_emit(g, &(Micro){.kind = MI_FETCH, .op = FETCH_TO_WRITE, .ref = &r, .dst = -1});
        g->result.tricks[TRICK_PREFETCH]++;
    }
}

// The tile leaves its registers with the last segment.
static void close_pins(Gen *g, PNode **at, int n) {
    if (g->region.pins.n) gen_begin(g);
    for (int i = 0; i < g->region.pins.n; i++) {
        Loc *l = &g->seg->locs.at[i];
        if (g->region.pins.at[i].nconds) continue;
        l->pin = -1;
        l->dirty = !dead_after(g, g->region.pins.at[i].buffer, at, n);
        l->line = g->region.pins.at[i].line;
    }
    gen_close(g);
    for (int i = 0; i < g->region.pins.n; i++)
        if (g->region.pins.at[i].nconds && !dead_after(g, g->region.pins.at[i].buffer, at, n))
            store_pin(g, i);
}

static bool starts_with_guard(Gen *g, PNode *n) {
    bool lanes = false;
    for (int i = 0; i < n->nconds; i++) lanes |= gen_in_lanes(n, i);
    return n->kind == P_GUARD && !lanes && gen_guard_truth(g, n) < 0;
}

// Tails of vector loops: each gets a mask register.
static void add_mask(Gen *g, int lanes) {
    int i = 0;
    while (i < g->region.masks && g->region.mask[i] != lanes) i++;
    if (lanes && i == g->region.masks && g->region.masks < g->isa->masks)
        g->region.mask[g->region.masks++] = lanes;
}

static void find_masks(Gen *g, const PNode *n) {
    int64_t extent = n->kind != P_LOOP || !n->simd.vector ? 0
                     : n->variant.limit >= 0              ? n->variant.limit
                                                          : n->extent;
    add_mask(g, (int)(extent % (n->simd.lanes ? n->simd.lanes : 1)));
    for (int r = 0; n->kind == P_LEAF && r < n->nreads; r++)
        for (int at = n->read[r].repeat;
             at && at < n->simd.width && !gen_has_groups(g, &n->read[r]); at += n->read[r].repeat)
            add_mask(g, at);
    for (int c = 0; c < n->nchild; c++) find_masks(g, n->child[c]);
}

void gen_masks(Gen *g, PNode **at, int n) {
    g->region.masks = 0;
    for (int i = 0; i < n && g->m->has_mask; i++) find_masks(g, at[i]);
    g->isa->forget(g, false);
    g->isa->set_masks(g);
}

// Initialises the tile or loads what is there, by the guard in front of the region.
static void begin_by_guard(Gen *g, PNode *n, uint8_t *first) {
    AsmLabel other = asm_label(&g->a), join = asm_label(&g->a);
    gen_conditions(g, n, &other);
    PNode inner = *n;
    inner.flag = 0;
    inner.nconds = inner.nhard = 0;
    first_accesses(g, &inner, FIRST_CONSTANT, first);
    load_pins(g, first, false);
    gen_open(g);
    gen_children(g, n);
    gen_close(g);
    for (int i = 0; i < g->region.pins.n; i++) gen_pin_lanes(g, i, 0, false);
    gen_jump(g, &join);
    asm_bind(&g->a, &other);
    g->isa->forget(g, false);
    memset(first, FIRST_OTHER, (size_t)g->region.pins.n);
    load_pins(g, first, false);
    asm_bind(&g->a, &join);
    g->isa->forget(g, false);
}

// Loads the elements that the region needs. If copies inside initialise elements by the flag, it is
// tested once for all of them, so that nothing is loaded in vain.
static void begin_by_loads(Gen *g, PNode **at, int n, uint8_t *first) {
    AsmLabel other = asm_label(&g->a), join = asm_label(&g->a);
    bool flagged = false;
    for (int i = 0; i < n; i++) first_accesses(g, at[i], FIRST_CONSTANT, first);
    for (int i = 0; i < g->region.pins.n; i++) flagged |= first[i] == FIRST_FLAGGED;
    if (flagged) g->isa->branch_flags(g, KERNEL_ACCUMULATE, &other);
    load_pins(g, first, false);
    if (!flagged) return;
    gen_jump(g, &join);
    asm_bind(&g->a, &other);
    g->isa->forget(g, false);
    load_pins(g, first, true);
    asm_bind(&g->a, &join);
    g->isa->forget(g, false);
}

static void region(Gen *g, PNode **at, int n) {
    if (g->here.cases || at[0]->variant.adapted) {
        plan_adapt(g->p, at, n);
        at[0]->variant.adapted = true;
    }
    gen_masks(g, at, n);
    g->region.pins.n = 0;
    Pinning how = {.first_inside = g->p->nloops, .under_real = at[0]->form.pinned};
    for (int i = 0; i < n && how.first_inside == g->p->nloops; i++)
        how.first_inside = plan_first_loop(at[i], g->p->nloops);
    g->region.maybe.n = 0;
    for (int i = 0; i < n; i++) find_pins(g, at[i], how);
    how.found = true;
    for (int i = 0; i < n && has_conditions(g); i++) find_pins(g, at[i], how);
    find_lanes(g, at[0]->span.first, at[n - 1]->span.last);
    place_parts(g);
    uint8_t *first = arena_new_n(g->arena, uint8_t, g->region.pins.n + 1);
    bool guarded = g->region.pins.n && starts_with_guard(g, at[0]);
    g->region.open = true;
    if (guarded)
        begin_by_guard(g, at[0], first);
    else if (g->region.pins.n)
        begin_by_loads(g, at, n, first);
    fetch_pins(g);
    gen_open(g);
    for (int i = guarded; i < n; i++) gen_walk(g, at[i]);
    close_pins(g, at, n);
    g->region.open = false;
    g->region.pins.n = g->region.pinned = g->region.masks = 0;
}

static void emit_nodes(Gen *g, PNode **at, int n) {
    if (at[0]->form.region)
        region(g, at, n);
    else
        gen_walk(g, at[0]);
}

void gen_nodes(Gen *g, PNode **at, int n) {
    for (int i = 0, span; i < n; i += span) {
        int first = -1; // loop inside
        Interiors in;
        span = at[i]->form.region ? at[i]->form.region : 1;
        if (at[i]->form.region || (at[i]->kind == P_LOOP && at[i]->simd.vector)) {
            first = g->p->nloops;
            for (int j = i; j < i + span && first == g->p->nloops; j++)
                first = plan_first_loop(at[j], g->p->nloops);
        }
        AsmLabel other = asm_label(&g->a), done = asm_label(&g->a);
        bool twice = first >= 0 && gen_find_interiors(g, at + i, span, first, &in);
        if (twice) {
            gen_enter_interiors(g, &in, &other);
            gen_with_tails(g, at + i, span, first, emit_nodes);
            gen_leave_interiors(g, &in);
            gen_jump(g, &done);
            asm_bind(&g->a, &other);
        }
        gen_with_tails(g, at + i, span, first, emit_nodes);
        if (twice) asm_bind(&g->a, &done);
    }
}
