// The choice of a Schedule, statement by statement. See choose.h.
#include "choose/choose_impl.h"
#include "program/piece.h"
#include "sched/flatten.h"

#include "base/checked.h"

#include <math.h>
#include <stdlib.h>

// --- What a statement does -----------------------------------------------------------------------

static bool atom_uses(const Atom *a, int iter) {
    if (a->kind == ATOM_ITER) return a->index == iter;
    if (!a->has_iter) return false;
    if (a->a && affine_uses_iter(a->a, iter)) return true;
    if (a->b && affine_uses_iter(a->b, iter)) return true;
    for (int d = 0; a->read && d < a->read->rank; d++)
        if (affine_uses_iter(a->read->sub[d], iter)) return true;
    return false;
}

// Reductions that share a subscript with another iterator.
static void see_windows(ChooseStmt *n, const Affine *sub) {
    for (int i = 0; i < n->s->niters && sub->n > 1; i++)
        if (n->s->iter[i].reduction && affine_uses_iter(sub, i)) n->windows |= (uint64_t)1 << i;
}

// `pitch`: elements between neighbours of dimension d.
static void see_subscript(const ChooseStmt *n, ChooseRef *r, int d, int64_t pitch) {
    const Affine *sub = r->likely->sub[d];
    for (int t = 0; t < sub->n; t++) {
        const Atom *atom = sub->term[t].atom;
        for (int i = 0; i < n->s->niters; i++) {
            if (!atom_uses(atom, i)) continue;
            r->uses[i] = true;
            r->in[d] |= UINT32_C(1) << i;
            r->reduced |= n->s->iter[i].reduction;
            if (atom->kind == ATOM_ITER) {
                if (!checked_fma(sub->term[t].coef, pitch, &r->stride[i])) r->hard[i] = true;
            } else
                r->hard[i] = true;
        }
    }
}

// The iterator that a subscript consists of, or the first of its parts; else -1.
static int whole_iter(const Chooser *c, const ChooseStmt *n, const Affine *sub) {
    int first = -1;
    if (affine_as_iter(sub) >= 0 || !c->parts.n || !sub->linear || sub->constant)
        return affine_as_iter(sub);
    for (int i = 0; i < sub->n; i++)
        if (first < 0 || sub->term[i].atom->index < first) first = sub->term[i].atom->index;
    for (int k = 0, i = first; k < sub->n; k++, i++) {
        int64_t by = 1;
        for (int q = 0; q < c->parts.n; q++)
            if (c->parts.at[q].name == n->s->iter[i].name) by = c->parts.at[q].by;
        if (affine_coef(sub, i) != by || (by == 1) != (k + 1 == sub->n)) return -1;
    }
    return first;
}

static bool is_lone(const Chooser *c, const ChooseStmt *n, const Access *a) {
    for (int d = 0; d < a->rank; d++) {
        int i = whole_iter(c, n, a->sub[d]);
        if (i < 0) return false;
        for (int k = 0; k < d; k++)
            if (whole_iter(c, n, a->sub[k]) == i) return false;
    }
    return a->rank > 0;
}

int subscript_iter(const ChooseStmt *n, const Affine *sub) {
    int found = -1;
    for (int t = 0; t < sub->n; t++) {
        const Atom *atom = sub->term[t].atom;
        if (atom->kind != ATOM_ITER) return -1;
        if (n->extent[atom->index] > 1 && found >= 0) return -1;
        if (n->extent[atom->index] > 1) found = atom->index;
    }
    return found;
}

static bool is_stepped(const ChooseStmt *n, const Access *a) {
    for (int d = 0; d < a->rank; d++) {
        int i = subscript_iter(n, a->sub[d]);
        if (i < 0) return false;
        for (int k = 0; k < d; k++)
            if (subscript_iter(n, a->sub[k]) == i) return false;
    }
    return a->rank > 0;
}

// A(i, k) and A(j, k): a copy may serve both (pack in choose_order.c).
static void see_twins(ChooseStmt *n, int k, int r) {
    ChooseRef *a = &n->ref[k], *b = &n->ref[r];
    int differ = 0, at = 0;
    bool twins = a->once && b->once && a->lone && b->lone;
    for (int d = 0; d < a->access->rank; d++)
        if (a->access->sub[d] != b->access->sub[d]) differ++, at = d;
    a->once = b->once = false;
    a->twin = b->twin = 0;
    if (!twins || differ != 1) return;
    int mine = affine_as_iter(a->access->sub[at]), yours = affine_as_iter(b->access->sub[at]);
    if (mine < 0 || yours < 0) return;
    a->twin = r, a->own = mine;
    b->twin = k, b->own = yours;
}

static bool lanes_compute(const Chooser *c, const Affine *sub, bool inner);

// A part of a subscript that vectors can compute (lane_atom in code/plan/plan_lanes.c).
static bool lanes_compute_atom(const Chooser *c, const Term *t, bool inner) {
    const Atom *a = t->atom;
    switch (a->kind) {
    case ATOM_ITER: return true;
    case ATOM_READ:
        inner |= t->coef != 1;
        return access_is_linear(a->read) &&
               (!inner || type_info[c->p->tensors.at[a->read->tensor].type].bytes <= 4);
    case ATOM_DIV:
    case ATOM_MOD:
        if (!affine_is_const(a->b) || a->b->constant <= 0) return false;
        return lanes_compute(c, a->a, true);
    case ATOM_MIN:
    case ATOM_MAX: return lanes_compute(c, a->a, true) && lanes_compute(c, a->b, true);
    case ATOM_PROD:
        return !a->has_read && lanes_compute(c, a->a, true) && lanes_compute(c, a->b, true);
    default: return false;
    }
}

static bool lanes_compute(const Chooser *c, const Affine *sub, bool inner) {
    int reads = 0;
    for (int i = 0; i < sub->n; i++) reads += sub->term[i].atom->kind == ATOM_READ;
    for (int i = 0; i < sub->n; i++)
        if (!lanes_compute_atom(c, &sub->term[i], inner || reads > 1)) return false;
    return true;
}

// Can a vector be gathered wherever the address is not linear?
static bool can_gather(const Chooser *c, const ChooseStmt *n, const ChooseRef *r) {
    bool can = c->m->has_mask && r->bytes >= 4 && !n->s->nconstraints;
    for (int d = 0; d < r->access->rank && can; d++)
        can = lanes_compute(c, r->access->sub[d], false);
    return can;
}

static void see_access(Chooser *c, ChooseStmt *n, const Access *a) {
    if (n->nrefs == MAX_REFS) n->known = false;
    if (n->nrefs == MAX_REFS) return;
    for (int k = 1; k < n->nrefs; k++)
        if (n->ref[k].access == a) return;
    const Tensor *t = &c->p->tensors.at[a->tensor];
    const int64_t *given =
        c->o->stride && a->tensor < c->p->ninputs + c->p->noutputs ? c->o->stride[a->tensor] : NULL;
    ChooseRef *r = &n->ref[n->nrefs++];
    *r = (ChooseRef){.access = a, .bytes = type_info[t->type].bytes, .lone = is_lone(c, n, a)};
    r->likely = n->nrefs > 1 ? likely_access(c->p->exprs, n->s, a) : a;
    r->stepped = is_stepped(n, a);
    r->gathers = n->nrefs > 1 && can_gather(c, n, r);
    int64_t pitch = 1;
    for (int d = a->rank - 1; d >= 0; d--) {
        see_subscript(n, r, d, given ? given[d] : pitch);
        see_windows(n, r->likely->sub[d]);
        if (!checked_mul(pitch, max_i64(tensor_size(t, d), 1), &pitch)) n->known = false;
    }
    r->size = r->bytes;
    for (int i = 0; i < n->s->niters; i++)
        if (r->uses[i]) r->size *= (double)n->extent[i];
    r->size = fmin(r->size, (double)tensor_elements(t) * r->bytes); // of windows
    for (int i = 0; i < n->s->niters; i++)
        r->crooked |= llabs(r->stride[i]) > 1 && r->stride[i] * r->bytes % c->m->line_bytes != 0;
    r->once = t->role == ROLE_INPUT;
    for (int k = 1; k < n->nrefs - 1; k++)
        if (n->ref[k].access->tensor == a->tensor) see_twins(n, k, n->nrefs - 1);
}

typedef struct See {
    Chooser *c;
    ChooseStmt *n;
} See;

static void see_read(void *user, const Access *a, bool guarded) {
    See *see = user;
    (void)guarded;
    see_access(see->c, see->n, a);
}

static uint64_t used_by(const ChooseStmt *n, const Expr *e) {
    uint64_t uses = 0;
    for (int i = 0; i < n->s->niters; i++) {
        bool any = e->kind == EXPR_INDEX && affine_uses_iter(e->index, i);
        for (int d = 0; e->kind == EXPR_READ && d < e->access->rank; d++)
            any |= affine_uses_iter(e->access->sub[d], i);
        uses |= (uint64_t)any << i;
    }
    return uses;
}

static void see_condition(ChooseStmt *n, const Expr *e) {
    n->asked |= used_by(n, e);
    for (int i = 0; e->kind == EXPR_OP && i < e->n; i++) see_condition(n, e->arg[i]);
}

static void see_work(ChooseStmt *n, uint64_t uses, double ops) {
    int i = 0;
    while (i < n->nworks && n->work[i].uses != uses) i++;
    if (i == MAX_WORK) n->work[--i].uses |= uses;
    n->work[i].ops += ops;
    n->work[i].uses |= uses;
    if (i == n->nworks) n->nworks++;
}

// Counts operations; of `last`, the product that a sum adds, only its operands. Returns the
// iterators that the value depends on.
static uint64_t see_value(ChooseStmt *n, const Expr *e, const Expr *last, int *bytes) {
    if (e->kind != EXPR_INDEX && e->type != TYPE_BOOL)
        *bytes = (int)max_i64(*bytes, lane_bytes(e->type));
    if (e->kind != EXPR_OP) return used_by(n, e);
    bool guard = e->type == TYPE_BOOL || e->op == OP_SELECT;
    bool slow = e->op == OP_DIV && type_is_float(e->type);
    double ops = op_info[e->op].class == OP_MATH ? n->cost->math_ops
                 : slow                          ? n->cost->divide_ops
                                                 : 1;
    uint64_t uses = 0;
    if (e->op == OP_SELECT) see_condition(n, e->arg[0]);
    for (int i = 0; i < e->n; i++) uses |= see_value(n, e->arg[i], last, bytes);
    *(guard ? &n->guards : &n->ops) += ops;
    if (!guard && e != last) see_work(n, uses, ops);
    return uses;
}

// Cycles of traffic from beyond L2.
static double memory_cycles(const Chooser *c, const ChooseStmt *n) {
    double bytes = 0;
    for (int r = 0; r < n->nrefs; r++) {
        double elements = (double)tensor_elements(&c->p->tensors.at[n->ref[r].access->tensor]);
        bytes += fmin(elements, n->instances) * n->ref[r].bytes;
    }
    return bytes > (double)c->m->cache[2] ? bytes / c->cost->argument_rate : 0;
}

// Without masks narrow results have no lanes (SERIAL_NARROW); copies widen narrow operands.
// A reduction of rows of them then keeps its results in registers, instead of loading and storing
// them in the order that suits lanes.
static bool reduces_narrowly(const Chooser *c, const ChooseStmt *n) {
    Type type = c->p->tensors.at[n->s->write->tensor].type;
    bool rows = !c->m->has_mask && n->reduces && type_is_integer(type) && n->ref[0].bytes < 4;
    int v = 0;
    while (v < n->s->niters && n->ref[0].stride[v] != 1) v++;
    if (v == n->s->niters) return false;
    for (int r = 1; r < n->nrefs; r++) rows &= llabs(n->ref[r].stride[v]) <= LIMIT_NEAR;
    return rows;
}

static void see(Chooser *c, ChooseStmt *n, const Stmt *s) {
    *n = (ChooseStmt){.s = s,
                      .cost = c->cost,
                      .known = true,
                      .place.after = -1,
                      .window = -1,
                      .pair = -1,
                      .instances = 1};
    n->ref = arena_new_n(c->arena, ChooseRef, MAX_REFS);
    for (int i = 0; i < s->niters; i++) {
        n->extent[i] = iter_hi(&s->iter[i]) - iter_lo(&s->iter[i]);
        n->known &= n->extent[i] > 0;
        n->instances *= (double)max_i64(n->extent[i], 0);
        n->reduces |= s->iter[i].reduction && s->op != REDUCE_ASSIGN;
    }
    int bytes = lane_bytes(c->p->tensors.at[s->write->tensor].type);
    see_divisors(n);
    see_access(c, n, s->write);
    expr_visit_accesses(s->value, see_read, &(See){c, n});
    const Expr *value = likely_value(c->p->exprs, s, s->value);
    bool fused = s->op == REDUCE_ADD && value->kind == EXPR_OP && value->op == OP_MUL;
    see_value(n, value, fused ? value : NULL, &bytes);
    if (fused) n->ops--;
    if (s->op != REDUCE_ASSIGN) n->ops++;
    n->guards += c->cost->constraint_ops * s->nconstraints;
    for (int i = 0; i < s->niters; i++)
        for (int k = 0; k < s->nconstraints; k++)
            if (affine_uses_iter(s->constraint[k], i)) n->guarded |= (uint64_t)1 << i;
    for (int i = 0; i < s->niters && s->nconstraints; i++)
        if (s->iter[i].reduction &&
            (n->window < 0 || n->guarded >> i & 1 || !(n->guarded >> n->window & 1)))
            n->window = i;
    n->injective = stmt_is_injective(s);
    n->lanes = reduces_narrowly(c, n) ? 1 : machine_lanes(c->m, bytes);
    n->memory = memory_cycles(c, n);
    n->cycles = n->instances / n->lanes * fmax(n->ops, n->nrefs) / c->cost->op_rate + n->memory;
    for (int i = 0; i < s->niters; i++) n->known &= !n->ref[0].hard[i];
    for (int k = 0; k < s->nconstraints; k++) n->known &= !s->constraint[k]->has_read;
    n->known &= !s->write->has_read && s->niters <= PROGRAM_MAX_ITERS / 2;
}

// --- Fusion --------------------------------------------------------------------------------------

// May statement i follow h? `host`: what each statement before i follows.
static bool may_follow(const Chooser *c, const ProgramFacts *f, int i, int h, const int *host) {
    if (!c->nest[i].known || !c->nest[h].known || !c->nest[h].reduces) return false;
    for (int k = h + 1; k < i; k++)
        if (!c->nest[k].known && host[k] != h) return false;
    return !follow_refused(f, i, h, host, NULL);
}

static void choose_followers(Chooser *c) {
    int *latest = arena_new_n(c->arena, int, c->p->tensors.n + 1); // 1 + the latest writer
    int *host = arena_new_n(c->arena, int, c->p->stmts.n);
    const ProgramFacts *f = program_facts(c->arena, c->p);
    for (int i = 0; i < c->p->stmts.n; i++) {
        ChooseStmt *n = &c->nest[i];
        host[i] = -1;
        for (int r = 1; r < n->nrefs; r++) { // the latest writer of an operand
            int h = latest[n->ref[r].access->tensor] - 1;
            while (h > n->place.after && !may_follow(c, f, i, h, host))
                h = host[h]; // both behind that
            if (h > n->place.after) host[i] = n->place.after = h;
        }
        latest[n->s->write->tensor] = i + 1;
    }
}

// --- Threads -------------------------------------------------------------------------------------

static bool is_free(const ChooseStmt *n, int at) {
    for (int i = 0; i < n->s->niters; i++)
        if (n->s->iter[i].name == n->out.loop[at].iter)
            return !n->s->iter[i].reduction && n->ref[0].uses[i] && !n->ref[0].hard[i] &&
                   n->out.loop[at].kind == KIND_SERIAL;
    return false;
}

static bool same_first(const ChooseStmt *a, const ChooseStmt *b) {
    return a->out.nloops > 1 && b->out.nloops > 1 && a->out.loop[0].step == b->out.loop[0].step &&
           a->out.loop[0].iter == b->out.loop[0].iter;
}

static int64_t trips(const ChooseStmt *n, int at) {
    for (int i = 0; i < n->s->niters; i++)
        if (n->s->iter[i].name == n->out.loop[at].iter)
            return ceil_div(n->extent[i], max_i64(n->out.loop[at].step, 1));
    return 1;
}

// The number of statements from `from` on that begin with the same loop.
static int run_of(const Chooser *c, int from, double *cycles) {
    const ChooseStmt *first = NULL;
    int n = 0;
    *cycles = 0;
    for (; from + n < c->p->stmts.n; n++) {
        const ChooseStmt *next = &c->nest[from + n];
        if (!is_moved(next) && first && !same_first(first, next)) break;
        if (!is_moved(next) && !first) first = next;
        *cycles += next->cycles;
    }
    return n;
}

// Is this the outermost loop of its iterator?
static bool is_first(const ChooseStmt *n, int at) {
    for (int i = 0; i < at; i++)
        if (n->out.loop[i].iter == n->out.loop[at].iter) return false;
    return true;
}

// Divides a single loop in lanes into parts of whole vectors and lines.
static void split_row(ChooseStmt *n) {
    if (n->out.nloops != 1 || n->out.loop[0].kind != KIND_VECTOR || n->out.loop[0].step > 1) return;
    int64_t extent = trips(n, 0), least = n->cost->row_part * n->lanes;
    int64_t part = ceil_div(ceil_div(extent, n->cost->parallel_tasks), least) * least;
    if (part >= extent) return;
    n->out.loop[1] = n->out.loop[0];
    n->out.loop[0] = (SchedLoop){.iter = n->out.loop[1].iter, .step = part, .kind = KIND_SERIAL};
    n->out.nloops = 2;
    n->out.perfect = 2;
}

// Marks the outermost loop as parallel; in a nest that shares no loops, as many as give enough
// tasks.
static void mark_parallel(ChooseStmt *n, bool alone) {
    int64_t tasks = 1;
    if (alone) split_row(n);
    for (int at = 0; at + 1 < n->out.nloops && tasks < n->cost->parallel_tasks; at++) {
        if (!is_free(n, at) || !is_first(n, at) || (at > 0 && (!alone || at >= n->out.perfect)))
            return;
        n->out.loop[at].kind = KIND_PARALLEL;
        tasks *= trips(n, at);
    }
}

static void choose_threads(Chooser *c) {
    double cycles, worth = c->o->worth > 0 ? c->o->worth : c->cost->parallel_worth;
    for (int i = 0, n; i < c->p->stmts.n; i += n) {
        n = run_of(c, i, &cycles);
        if (cycles < worth) continue;
        int nests = 0;
        for (int k = i; k < i + n; k++) nests += !is_moved(&c->nest[k]);
        for (int k = i; k < i + n; k++)
            if (!is_moved(&c->nest[k])) mark_parallel(&c->nest[k], nests == 1);
    }
}

// --- All of it -----------------------------------------------------------------------------------

// A temporary that is complete before its only reader runs may be packed like an argument.
static void see_temporaries(const Chooser *c, ChooseStmt *n) {
    for (int r = 1; r < n->nrefs; r++) {
        int t = n->ref[r].access->tensor, reads = 0;
        if (c->p->tensors.at[t].role != ROLE_TEMP || !c->users.writes[t]) continue;
        if (c->users.last[t] >= n - c->nest || c->nest[c->users.last[t]].place.inlined) continue;
        for (int k = 1; k < n->nrefs; k++) reads += n->ref[k].access->tensor == t;
        n->ref[r].once = reads == 1;
    }
}

// Chooses a reduction with divided iterators of the result as parts, and takes over its loops.
static bool choose_parts(Chooser *c, ChooseStmt *n) {
    ChooseStmt was = *n, now;
    const Stmt *parts = c->o->plain ? NULL : divide_result(c, n);
    if (!parts) return false;
    see(c, n, parts);
    see_temporaries(c, n);
    n->injective = was.injective;
    n->out = was.out;
    if (n->known) choose_contraction(c, n);
    merge_parts(c, n);
    now = *n;
    *n = was;
    if (!now.out.nloops) return false;
    n->out = now.out;
    n->cycles = now.cycles;
    return true;
}

static void choose(Chooser *c, ChooseStmt *n) {
    bool inlined = n->place.inlined;
    n->out.head = (SchedStmt){.label = n->s->label, .stage = -1, .inlined = inlined};
    if (n->place.after >= 0) choose_release(c, n);
    if (inlined || n->instances <= 1 || n->place.after >= 0) return;
    if (!n->known)
        choose_scatter(n);
    else if (!n->reduces)
        choose_pointwise(c, n);
    else if (!choose_phases(c, n) && !choose_parts(c, n))
        choose_contraction(c, n);
    add_levels(n);
}

static Schedule *write_out(Chooser *c) {
    Schedule *s = arena_new(c->arena, Schedule);
    int most = 1;
    for (int i = 0; i < c->p->stmts.n; i++) most += 1 + c->nest[i].out.head.ncopies;
    const SchedStmt **list = arena_new_n(c->arena, const SchedStmt *, most);
    *s = (Schedule){.arena = c->arena, .names = c->p->names, .stmt = list};
    for (int i = 0; i < c->p->stmts.n; i++) {
        ChooseStmt *n = &c->nest[i];
        if (n->place.after >= 0)
            n->out.head.after = c->nest[n->place.after].s->label;
        else if (!n->out.nloops && !n->place.inlined)
            continue;
        merge_parts(c, n);
        n->out.head.loop = n->out.loop;
        n->out.head.nloops = n->out.nloops;
        list[s->nstmts++] = &n->out.head;
        n->out.head.copy = n->out.copy;
        for (int k = 0; k < n->out.head.ncopies; k++)
            if (n->out.section[k]->nloops) list[s->nstmts++] = n->out.section[k];
    }
    return s;
}

// Are there reductions whose rows are no multiple of a tile? (Other statements need no flat form:
// the generator collapses their loops.)
static bool is_ragged(const Program *p, const Flat *f, int64_t tile) {
    for (int i = 0; i < p->stmts.n; i++) {
        const Stmt *s = &p->stmts.at[i], *flat = &f->p->stmts.at[i];
        bool reduces = false, ragged = false;
        for (int k = 0; k < flat->niters; k++) reduces |= flat->iter[k].reduction;
        const int *last = f->last[s->write->tensor];
        const Tensor *t = &p->tensors.at[s->write->tensor];
        for (int d = 0, from = 0; d < flat->write->rank; from = last[d++] + 1)
            ragged |= last[d] > from && tensor_size(t, last[d]) % tile;
        if (reduces && ragged) return true;
    }
    return false;
}

// --- Steps ---------------------------------------------------------------------------------------

static bool written_in_steps(const Program *p, int stmt, Name tensor) {
    for (int k = group_first(p, stmt); k < group_end(p, stmt); k++)
        if (p->tensors.at[p->stmts.at[k].write->tensor].name == tensor) return true;
    return false;
}

// A copy of what the steps do not change is made once, before all of them; what they change is
// copied at a loop, or not at all.
static void copy_once(const Program *p, int stmt, Section *out) {
    int n = 0;
    for (int k = 0; k < out->head.ncopies; k++) {
        SchedCopy copy = out->copy[k];
        bool changes = written_in_steps(p, stmt, copy.tensor);
        if (changes && !copy.at.iter) continue;
        if (!changes) copy.at = (LoopRef){0};
        out->section[n] = out->section[k];
        out->copy[n++] = copy;
    }
    out->head.ncopies = n;
}

// The section was chosen for one step: the loops of serial iterators go.
static void strip_steps(Chooser *c, int stmt) {
    const Stmt *s = c->nest[stmt].s;
    Section *out = &c->nest[stmt].out;
    int n = 0, stage = out->head.stage;
    for (int i = 0; i < out->nloops; i++) {
        int iter = stmt_find_iter(s, out->loop[i].iter);
        bool step = iter >= 0 && iter < s->serial;
        if (step && i < out->head.stage) stage--;
        if (!step) out->loop[n++] = out->loop[i];
    }
    out->nloops = n;
    out->head.stage = stage;
    copy_once(c->p, stmt, out);
}

// Do steps of the statement alone compute a temporary that leaves the cache? If the order of the
// steps ends with `t/2 t`, lowering may keep two of them (sched/fold.c).
static bool may_fold(const Chooser *c, int stmt) {
    const Stmt *s = c->nest[stmt].s;
    const Tensor *t = &c->p->tensors.at[s->write->tensor];
    if (s->serial != 1 || s->op != REDUCE_ASSIGN || t->role != ROLE_TEMP) return false;
    if (group_end(c->p, stmt) - group_first(c->p, stmt) > 1 || is_moved(&c->nest[stmt]))
        return false;
    return tensor_elements(t) * type_info[t->type].bytes > c->m->cache[2] &&
           affine_uses_iter(s->write->sub[0], 0) && stmt_first_read(s, s->write->tensor);
}

// t/2 t in front of the loops of a step.
static void keep_two_steps(Chooser *c, int stmt) {
    Section *out = &c->nest[stmt].out;
    Name t = c->nest[stmt].s->iter[0].name;
    if (out->nloops + 2 > MAX_LOOPS) return;
    for (int i = out->nloops - 1; i >= 0; i--) out->loop[i + 2] = out->loop[i];
    out->loop[0] = (SchedLoop){.iter = t, .step = 2};
    out->loop[1] = (SchedLoop){.iter = t, .step = 1};
    out->nloops += 2;
    if (out->head.stage >= 0) out->head.stage += 2;
}

// The dimension of the written tensor that iterator i alone subscripts, in the write and in all
// reads of it, so that no step reads what another value of i wrote; -1: none.
static int own_dim(const ChooseStmt *n, int i) {
    const Access *w = n->s->write;
    for (int d = 0; d < w->rank; d++) {
        bool own = affine_as_iter(w->sub[d]) == i;
        for (int r = 1; r < n->nrefs && own; r++)
            if (n->ref[r].access->tensor == w->tensor) own = n->ref[r].access->sub[d] == w->sub[d];
        if (own) return d;
    }
    return -1;
}

// Is a statement alone in its steps a recurrence along contiguous rows, one for each value of the
// other iterators?
static bool is_row_scan(const Chooser *c, int stmt) {
    const ChooseStmt *n = &c->nest[stmt];
    const Stmt *s = n->s;
    if (s->serial != 1 || s->op != REDUCE_ASSIGN || !n->known || s->nconstraints) return false;
    if (group_end(c->p, stmt) - group_first(c->p, stmt) > 1 || is_moved(n)) return false;
    if (llabs(n->ref[0].stride[0]) != 1 || n->out.head.ncopies) return false;
    bool rows = false;
    for (int i = 1; i < s->niters; i++) {
        if (s->iter[i].reduction || (n->extent[i] > 1 && own_dim(n, i) < 0)) return false;
        rows |= n->extent[i] > 1;
    }
    return rows && stmt_first_read(s, s->write->tensor);
}

// a i/8 t i:u: each step waits for the one before, and those of several rows overlap. Rows whose
// elements meet in few sets of L1 are fewer.
static void scan_rows(const Chooser *c, int stmt, double steps) {
    ChooseStmt *n = &c->nest[stmt];
    Section *out = &n->out;
    int64_t rows = c->cost->scan_rows;
    int last = n->s->niters - 1;
    while (n->extent[last] < 2) last--;
    int64_t pitch = llabs(n->ref[0].stride[last]) * n->ref[0].bytes;
    if (pitch * rows / 2 % c->cost->way_bytes == 0) rows /= 2;
    rows = ceil_div(n->extent[last], ceil_div(n->extent[last], rows));
    double worth = c->o->worth > 0 ? c->o->worth : c->cost->parallel_worth;
    out->nloops = 0;
    for (int i = 1; i < n->s->niters; i++) nest_loop(n, i, i == last ? rows : 1, KIND_SERIAL);
    if (!c->o->serial && n->cycles * steps >= worth) out->loop[0].kind = KIND_PARALLEL;
    nest_loop(n, 0, 1, KIND_SERIAL);
    if (rows > 1) nest_loop(n, last, 1, KIND_UNROLL);
    out->head.stage = -1;
}

static double steps_of(const Program *p, int stmt) {
    return (double)max_i64(iter_extent(&p->stmts.at[stmt].iter[0]), 1);
}

static Schedule *choose_all(Arena *arena, const Program *p, const ChooseOptions *o) {
    const Program *whole = p;
    p = program_one_step(arena, p);
    Chooser c = {.arena = arena,
                 .p = p,
                 .given = p,
                 .o = o,
                 .m = o->machine,
                 .cost = machine_cost(o->machine)};
    c.nest = arena_new_n(arena, ChooseStmt, p->stmts.n + 1);
    if (!o->plain) p = c.p = divide_reductions(&c);
    for (int i = 0; i < p->stmts.n; i++) see(&c, &c.nest[i], &p->stmts.at[i]);
    c.users = chooser_users(&c);
    share_divisors(&c);
    if (!o->plain) choose_followers(&c);
    if (!o->plain) choose_places(&c);
    for (int i = 0; i < p->stmts.n && !o->plain; i++) see_temporaries(&c, &c.nest[i]);
    for (int i = 0; i < p->stmts.n; i++) choose(&c, &c.nest[i]);
    if (!o->plain) choose_blocks(&c);
    if (!o->serial) choose_threads(&c);
    for (int i = 0; i < p->stmts.n; i++)
        if (p->stmts.at[i].serial) strip_steps(&c, i);
    for (int i = 0; i < p->stmts.n && !o->plain; i++)
        if (is_row_scan(&c, i))
            scan_rows(&c, i, steps_of(whole, i));
        else if (may_fold(&c, i))
            keep_two_steps(&c, i);
    return write_out(&c);
}

const Schedule *choose_schedule(Arena *arena, const Program *p, const ChooseOptions *o) {
    const Machine *m = o->machine;
    int64_t wide = machine_cost(m)->ragged_vectors * m->vector_bytes / lane_bytes(TYPE_F32);
    Flat flat = o->plain ? (Flat){p, NULL} : program_flatten(arena, p);
    if (!flat.last || !is_ragged(p, &flat, wide) || !flat_fits(&flat, p, o->stride))
        return choose_all(arena, p, o);
    ChooseOptions flattened = *o;
    flattened.stride = flat_strides(arena, &flat, o->stride);
    Schedule *s = choose_all(arena, flat.p, &flattened);
    s->flatten = true;
    return s;
}
