// Regions, whose tile stays in registers, and the variants of code that tails need.
#include "code/x86/gen.h"

#include <string.h>

#include "base/bug.h"
#include "base/checked.h"
#include "base/fault.h"
#include "base/kernel_abi.h"
#include "code/x86/mem.h"

// The tile: every element written under a real loop of the region.
// One element may be written by scalars (its initialisation) and by lanes (its reduction).
static void add_pin(Gen *g, const PNode *n) {
    Ref r = gen_ref(g, n, &n->write, n->width);
    int i = 0;
    while (i < g->pins.n &&
           (g->pins.at[i].buffer != n->write.buffer || g->pins.at[i].ref.disp != r.disp))
        i++;
    if (i == g->pins.n) {
        Pin p = {.buffer = n->write.buffer,
                 .ref = r,
                 .type = type_compute(n->write.type),
                 .line = n->line};
        if (r.lane) p.ref.active = (uint8_t)g->active;
        vec_push(g->arena, &g->pins, p);
    }
    Pin *p = &g->pins.at[i];
    if (n->split > 1 && p->parts.n && p->parts.op != n->leaf->op)
        p->parts.n = 1; // two reductions in turn
    else if (n->split > 1 && p->parts.n != 1)
        p->parts = (Parts){.n = (int8_t)n->split, .op = (uint8_t)n->leaf->op};
}

// Split reductions keep their parts behind the tile.
static void place_parts(Gen *g) {
    g->pinned = g->pins.n;
    for (int i = 0; i < g->pins.n; i++) {
        Parts *p = &g->pins.at[i].parts;
        if (p->n < 2) continue;
        p->pin = (int8_t)g->pinned;
        g->pinned += p->n - 1;
    }
}

// Pins that some leaf reduces along its vector loop, wherever in the region it stands.
static void find_lanes(Gen *g, int first, int last) {
    for (int l = first; l < last; l++) {
        const PNode *n = g->p->leaves.at[l];
        if (n->width == 1 || n->write.lane || n->leaf->op == REDUCE_ASSIGN) continue;
        for (int i = 0; i < g->pins.n; i++) {
            Pin *p = &g->pins.at[i];
            if (p->buffer != n->write.buffer) continue;
            p->lanes = true;
            p->op = n->leaf->op;
            p->ref.width = p->ref.active = (uint8_t)n->width;
        }
    }
    for (int l = first; l < last; l++) { // parts that are scalars do not go with lanes
        const PNode *n = g->p->leaves.at[l];
        for (int i = 0; i < g->pins.n && n->width == 1 && n->split > 1; i++)
            if (g->pins.at[i].buffer == n->write.buffer && g->pins.at[i].lanes)
                g->pins.at[i].parts.n = 0;
    }
}

// Is this copy's element inside its buffer, whether a guard lets it through or not?
static bool is_inside(const Gen *g, const PNode *n) {
    const Mem *m = &n->write;
    if (m->safe) return true;
    for (int d = 0; m->sub && d < m->access->rank; d++) {
        int64_t min, max,
            lanes = n->width > 1 ? lin_coef(m->sub[d], n->vloop) * (g->active - 1) : 0;
        gen_lin_limits(g, m->sub[d], &min, &max);
        *(lanes < 0 ? &min : &max) += lanes;
        if (min < 0 || max >= g->p->tree->buffers.at[m->buffer].size[d]) return false;
    }
    return m->sub != NULL;
}

// `maybe`: whether this copy runs is only known at run time.
static void find_pins(Gen *g, const PNode *n, bool under_real, bool maybe) {
    if (!under_real && !plan_pins(n)) return;
    if (n->kind == P_LEAF) {
        if (under_real && maybe && !is_inside(g, n) && !FAULT(tile_of_maybe))
            g->no_tile = n->number;
        if (under_real) add_pin(g, n);
        return;
    }
    if (n->kind == P_GUARD) {
        int truth = gen_guard_truth(g, n);
        if (truth == 0) return;
        maybe |= truth < 0 && (n->nconds || n->nhard);
    }
    int64_t lo = 0, hi = 1;
    int step = 1;
    if (n->kind == P_LOOP && !n->real && !n->replay) {
        const Bound *open[16];
        hi = n->extent;
        if (n->nbounds <= 16) maybe |= gen_limits(g, n, &lo, &hi, open) > 0;
        if (n->vector) step = n->lanes;
    } else if (n->kind == P_LOOP) {
        maybe |= gen_has_bounds(g, n);
        under_real = true;
    }
    for (int64_t v = lo; v < hi; v += step) {
        if (n->kind == P_LOOP) g->value[n->loop] = v;
        if (n->kind == P_LOOP && n->vector)
            g->active = n->real ? n->lanes : (int)min_i64(hi - v, step);
        for (int i = 0; i < n->nchild; i++) find_pins(g, n->child[i], under_real, maybe);
    }
    if (n->kind == P_LOOP) g->value[n->loop] = 0;
}

// Does the region end the life of this buffer?
static bool dead_after(const Gen *g, int buffer, PNode **at, int n) {
    const Plan *p = g->p;
    return buffer >= p->tree->nargs && p->first_leaf[buffer] >= at[0]->first &&
           (p->last_leaf[buffer] < at[n - 1]->last || FAULT(result_not_stored)) &&
           p->alloc_depth[buffer] >= at[0]->depth;
}

// Elements that the region surely assigns before it reads anything: those of leading assignments
// of constants. False: whatever follows comes too late.
static bool mark_assigned(Gen *g, const PNode *n, bool *assigned) {
    if (n->kind == P_LEAF) {
        if ((n->leaf->op != REDUCE_ASSIGN && !FAULT(tile_not_loaded)) || n->nreads) return false;
        Ref r = gen_ref(g, n, &n->write, n->width);
        for (int i = 0; i < g->pins.n; i++)
            if (g->pins.at[i].buffer == n->write.buffer && g->pins.at[i].ref.disp == r.disp)
                assigned[i] = true;
        return true;
    }
    if (n->kind == P_GUARD && gen_guard_truth(g, n) != 1) return false;
    int64_t lo = 0, hi = 1;
    int step = 1;
    if (n->kind == P_LOOP) {
        const Bound *open[16];
        if (n->real || n->nbounds > 16 || gen_limits(g, n, &lo, &hi, open)) return false;
        if (n->vector) step = n->lanes;
    }
    bool more = true;
    for (int64_t v = lo; v < hi && more; v += step) {
        if (n->kind == P_LOOP) g->value[n->loop] = v;
        for (int i = 0; i < n->nchild && more; i++) more = mark_assigned(g, n->child[i], assigned);
    }
    if (n->kind == P_LOOP) g->value[n->loop] = 0;
    return more;
}

static void load_pins(Gen *g, const bool *except) {
    for (int i = 0; i < g->pins.n; i++) {
        Pin *p = &g->pins.at[i];
        if (except && except[i]) continue;
        gen_line(g, p->line);
        Micro m = {.kind = MI_LOAD,
                   .type = p->type,
                   .from = p->ref.type,
                   .width = p->ref.width,
                   .ref = &p->ref,
                   .dst = 0,
                   .dst_reg = (int8_t)i,
                   .fold = -1};
        x86_micro(g, &m);
    }
}

// One line after the other; pins stand in the order of their addresses, mostly.
static void fetch_pins(Gen *g) {
    int64_t line = INT64_MIN;
    for (int i = 0; i < g->pins.n; i++) {
        const Mem *m = g->pins.at[i].ref.mem;
        if (!m->fetch || m->spread.lines) continue;
        Ref r = g->pins.at[i].ref;
        r.mem = m->next;
        r.disp += m->next->off->c - m->off->c;
        if (floor_div(r.disp, 64) == line) continue;
        line = floor_div(r.disp, 64);
        gen_prefetch(g, &(Micro){.kind = MI_FETCH, .op = FETCH_TO_WRITE, .ref = &r});
        g->tricks[TRICK_PREFETCH]++;
    }
}

// The tile leaves its registers with the last segment.
static void close_pins(Gen *g, PNode **at, int n) {
    if (g->pins.n) gen_begin(g);
    for (int i = 0; i < g->pins.n; i++) {
        Loc *l = &g->seg->locs.at[i];
        l->pin = -1;
        l->dirty = !dead_after(g, g->pins.at[i].buffer, at, n);
        l->line = g->pins.at[i].line;
    }
    gen_close(g);
}

static bool starts_with_guard(Gen *g, PNode *n) {
    bool lanes = false;
    for (int i = 0; i < n->nconds; i++) lanes |= gen_in_lanes(n, i);
    return n->kind == P_GUARD && !lanes && gen_guard_truth(g, n) < 0;
}

// Tails of vector loops: each gets a mask register.
static void add_mask(Gen *g, int lanes) {
    int i = 0;
    while (i < g->masks && g->mask[i] != lanes) i++;
    if (lanes && i == g->masks && g->masks < 4) g->mask[g->masks++] = lanes;
}

static void find_masks(Gen *g, const PNode *n) {
    int64_t extent = n->kind != P_LOOP || !n->vector ? 0 : n->limit >= 0 ? n->limit : n->extent;
    add_mask(g, (int)(extent % (n->lanes ? n->lanes : 1)));
    for (int r = 0; n->kind == P_LEAF && r < n->nreads; r++)
        for (int at = n->read[r].repeat; at && at < n->width && !gen_has_groups(g, &n->read[r]);
             at += n->read[r].repeat)
            add_mask(g, at);
    for (int c = 0; c < n->nchild; c++) find_masks(g, n->child[c]);
}

void gen_masks(Gen *g, PNode **at, int n) {
    g->masks = 0;
    for (int i = 0; i < n && gen_is_wide(g); i++) find_masks(g, at[i]);
    gen_set_masks(g);
}

static void region(Gen *g, PNode **at, int n) {
    gen_masks(g, at, n);
    g->pins.n = 0;
    for (int i = 0; i < n; i++) find_pins(g, at[i], at[0]->pinned, false);
    find_lanes(g, at[0]->first, at[n - 1]->last);
    place_parts(g);
    bool *assigned = arena_new_n(g->arena, bool, g->pins.n + 1);
    int from = 0;
    g->in_region = true;
    if (g->pins.n && starts_with_guard(g, at[0])) { // initialise, or load what is there
        AsmLabel other = asm_label(&g->a), join = asm_label(&g->a);
        gen_conditions(g, at[0], &other);
        PNode inner = *at[0];
        inner.flag = 0;
        inner.nconds = inner.nhard = 0;
        mark_assigned(g, &inner, assigned);
        load_pins(g, assigned);
        gen_open(g);
        gen_children(g, at[0]);
        gen_close(g);
        for (int i = 0; i < g->pins.n; i++) gen_pin_lanes(g, i, 0, false);
        x86_1(&g->a, X86_jmp, x86_to(&join));
        asm_bind(&g->a, &other);
        g->k1 = 0;
        load_pins(g, NULL);
        asm_bind(&g->a, &join);
        g->k1 = 0;
        from = 1;
    } else if (g->pins.n) {
        mark_assigned(g, at[0], assigned);
        load_pins(g, assigned);
    }
    fetch_pins(g);
    gen_open(g);
    for (int i = from; i < n; i++) gen_walk(g, at[i]);
    close_pins(g, at, n);
    g->in_region = false;
    g->pins.n = g->pinned = g->masks = 0;
}

// ---- Tails
//
// A split that does not divide bounds its inner loop by the outer index: full in all iterations but
// the last. Where such a loop is unrolled, or counted by several copies, the code around it is made
// once per number of iterations it can have, and the right one is chosen at run time. Loops with
// too many possible numbers keep their tests.

enum { MAX_TAILS = 4, MAX_TAIL_VALUES = 4, MAX_VARIANTS = 9 };

// Loops with the same bounds (those of an initialisation and of its update, say) share a tail.
typedef struct Tail {
    PNode *loop;
    VEC(PNode *) same;
    int n;
    int64_t value[MAX_TAIL_VALUES]; // the full extent first
    const PNode *outer; // the one loop that decides, full before its index `turn`; or NULL
    int64_t turn;
} Tail;

typedef struct Tails {
    int n;
    Tail at[MAX_TAILS];
} Tails;

static int64_t bound_limit(const Bound *b, int64_t rest) { return floor_div(rest, -b->k) + 1; }

// Iterations of a bounded loop when the loops around it stand at g->value.
static int64_t limit_now(const Gen *g, const PNode *n) {
    int64_t v = n->extent;
    for (int i = 0; i < n->nbounds; i++) {
        const Bound *b = &n->bound[i];
        int64_t rest = b->rest->c;
        for (int k = 0; k < b->rest->n; k++) rest += b->rest->t[k].k * g->value[b->rest->t[k].loop];
        v = min_i64(v, bound_limit(b, rest));
    }
    return max_i64(0, v);
}

static bool tail_value(Tail *t, int64_t v) {
    for (int i = 0; i < t->n; i++)
        if (t->value[i] == v) return true;
    if (t->n == MAX_TAIL_VALUES) return false;
    t->value[t->n++] = v;
    return true;
}

// Runs through the values of the real loops that bound the tail; false when there are too many.
static bool tail_values(Gen *g, Tail *t, PNode *const *outer, int n, int64_t *budget) {
    if (n == 0) return --*budget > 0 && tail_value(t, limit_now(g, t->loop));
    bool ok = true;
    int64_t before = g->value[outer[0]->loop];
    for (int64_t v = 0; v < outer[0]->extent && ok; v++) {
        g->value[outer[0]->loop] = v;
        ok = tail_values(g, t, outer + 1, n - 1, budget);
    }
    g->value[outer[0]->loop] = before;
    return ok;
}

// Most tails begin at one index of one loop: then a comparison chooses.
static void find_turn(Gen *g, Tail *t, const PNode *outer) {
    int64_t before = g->value[outer->loop], turn = -1;
    bool sharp = before == 0 && t->n == 2;
    for (int64_t v = 0; v < outer->extent && sharp; v++) {
        g->value[outer->loop] = v;
        bool full = limit_now(g, t->loop) == t->value[0];
        if (!full && turn < 0) turn = v;
        if (full && turn >= 0) sharp = false;
    }
    g->value[outer->loop] = before;
    if (!sharp || turn < 0) return;
    t->outer = outer;
    t->turn = turn;
}

static bool is_real_outside(const Gen *g, int loop, int first_inside) {
    return loop < first_inside && g->p->loop[loop]->real;
}

static bool same_bounds(const PNode *a, const PNode *b) {
    if (a->extent != b->extent || a->nbounds != b->nbounds) return false;
    for (int i = 0; i < a->nbounds; i++) {
        const Lin *x = a->bound[i].rest, *y = b->bound[i].rest;
        if (a->bound[i].k != b->bound[i].k || (x->c != y->c && !FAULT(tails_confused)) ||
            x->n != y->n || !lin_same_terms(x->t, y->t, x->n))
            return false;
    }
    return true;
}

static bool join_tail(Gen *g, Tails *tails, PNode *n) {
    for (int i = 0; i < tails->n; i++) {
        if (!same_bounds(tails->at[i].loop, n)) continue;
        vec_push(g->arena, &tails->at[i].same, n);
        return true;
    }
    return false;
}

static void set_limit(Tail *t, int64_t limit) {
    t->loop->limit = limit;
    for (int i = 0; i < t->same.n; i++) t->same.at[i]->limit = limit;
}

static void find_tails(Gen *g, PNode *n, int first_inside, Tails *tails) {
    if (n->kind == P_LOOP && n->nbounds && gen_has_bounds(g, n) && !join_tail(g, tails, n) &&
        tails->n < MAX_TAILS) {
        PNode *outer[8];
        int nouter = 0;
        bool ok = true;
        for (int i = 0; i < n->nbounds && ok; i++) {
            const Bound *b = &n->bound[i];
            ok = b->k < 0;
            for (int k = 0; k < b->rest->n && ok; k++) {
                PNode *l = g->p->loop[b->rest->t[k].loop];
                if (l->loop >= first_inside) ok = false;
                if (!is_real_outside(g, l->loop, first_inside)) continue;
                int j = 0;
                while (j < nouter && outer[j] != l) j++;
                if (j == nouter && nouter == 8)
                    ok = false;
                else if (j == nouter)
                    outer[nouter++] = l;
            }
        }
        Tail t = {.loop = n, .n = 1, .value = {n->extent}};
        int64_t budget = 1 << 14;
        if (ok && tail_values(g, &t, outer, nouter, &budget)) {
            if (nouter == 1) find_turn(g, &t, outer[0]);
            tails->at[tails->n++] = t;
        }
    }
    for (int i = 0; i < n->nchild; i++) find_tails(g, n->child[i], first_inside, tails);
}

// Jumps to `other` unless the loop has exactly `value` iterations here.
static void test_tail(Gen *g, const Tail *t, int64_t value, AsmLabel *other) {
    Asm *a = &g->a;
    if (t->outer && t->turn == (int32_t)t->turn) {
        x86_2(a, X86_cmp, gen_item(gen_counter(g, t->outer->loop)), x86_imm(t->turn));
        x86_1(a, value == t->value[0] ? (FAULT(tail_chosen_late) ? X86_jnle : X86_jnl) : X86_jl,
              x86_to(other));
        return;
    }
    gen_line(g, t->loop->line);
    x86_set(a, X86_RAX, t->loop->extent);
    for (int i = 0; i < t->loop->nbounds; i++) { // rax = min(rax, limit)
        const Bound *b = &t->loop->bound[i];
        x86_1(a, X86_push, x86_r64(X86_RAX));
        g->depth += 8;
        gen_lin(g, b->rest);
        gen_divide(g, -b->k, false);
        x86_2(a, X86_add, x86_r64(X86_RAX), x86_imm(1));
        gen_pop(g, X86_RCX);
        x86_2(a, X86_cmp, x86_r64(X86_RCX), x86_r64(X86_RAX));
        x86_2(a, X86_cmovl, x86_r64(X86_RAX), x86_r64(X86_RCX));
    }
    x86_2(a, X86_cmp, x86_r64(X86_RAX), x86_imm(value));
    if (value == 0)
        x86_1(a, X86_jnle, x86_to(other)); // at most 0
    else if (value == t->loop->extent)
        x86_1(a, X86_jl, x86_to(other));
    else
        x86_1(a, X86_jnz, x86_to(other));
}

static void emit_nodes(Gen *g, PNode **at, int n) {
    if (at[0]->region)
        region(g, at, n);
    else
        gen_walk(g, at[0]);
}

static void know_turn(Gen *g, const Tail *t, bool full) {
    LinTerm counter = {.loop = t->outer->loop, .k = 1};
    Known k = {code_lin(g->arena, 0, &counter, 1), full ? 0 : t->turn,
               full ? t->turn - 1 : INT64_MAX};
    vec_push(g->arena, &g->known, k);
}

// One combination of tails after the other, each behind its test.
static void variants(Gen *g, Tails *tails, int k, AsmLabel *done, PNode **at, int n) {
    if (k == tails->n) {
        emit_nodes(g, at, n);
        x86_1(&g->a, X86_jmp, x86_to(done));
        return;
    }
    Tail *t = &tails->at[k];
    for (int i = 0; i < t->n; i++) {
        AsmLabel other = asm_label(&g->a);
        bool last = i == t->n - 1;
        if (!last) test_tail(g, t, t->value[i], &other);
        set_limit(t, t->value[i]);
        if (t->outer) know_turn(g, t, i == 0);
        variants(g, tails, k + 1, done, at, n);
        if (t->outer) g->known.n--;
        if (!last) asm_bind(&g->a, &other);
    }
    set_limit(t, -1);
}

// A region, or something else by itself, with variants for its tails.
static void with_tails(Gen *g, PNode **at, int n, int first_inside) {
    Tails tails = {0};
    int combinations = 1;
    for (int j = 0; j < n && first_inside >= 0; j++) find_tails(g, at[j], first_inside, &tails);
    for (int j = 0; j < tails.n; j++) {
        if (combinations * tails.at[j].n > MAX_VARIANTS)
            tails.n = j;
        else
            combinations *= tails.at[j].n;
    }
    if (!tails.n) {
        emit_nodes(g, at, n);
        return;
    }
    AsmLabel done = asm_label(&g->a);
    variants(g, &tails, 0, &done, at, n);
    asm_bind(&g->a, &done);
}

void gen_nodes(Gen *g, PNode **at, int n) {
    for (int i = 0, span; i < n; i += span) {
        int first = -1; // loop inside
        Interiors in;
        span = at[i]->region ? at[i]->region : 1;
        if (at[i]->region || (at[i]->kind == P_LOOP && at[i]->vector)) {
            first = g->p->nloops;
            for (int j = i; j < i + span && first == g->p->nloops; j++)
                first = plan_first_loop(at[j], g->p->nloops);
        }
        AsmLabel other = asm_label(&g->a), done = asm_label(&g->a);
        bool twice = first >= 0 && gen_find_interiors(g, at + i, span, first, &in);
        if (twice) {
            gen_enter_interiors(g, &in, &other);
            with_tails(g, at + i, span, first);
            gen_leave_interiors(g, &in);
            x86_1(&g->a, X86_jmp, x86_to(&done));
            asm_bind(&g->a, &other);
        }
        with_tails(g, at + i, span, first);
        if (twice) asm_bind(&g->a, &done);
    }
}
