// The verifier; see verify.h. It checks, in this order: shape, accesses and views, the order of
// accesses (legal.h), and reads of unwritten elements.
#include "verify/verify_impl.h"

#include "base/bug.h"
#include "base/checked.h"
#include "tree/special.h"
#include "verify/legal.h"

void not_proven(Verifier *v, const Node *node, const char *what) {
    v->v->undecided++;
    v->unproven = true;
    if (v->v->unchecked) return;
    Diag *d = diag_report(v->diags, tree_range(v->f.t, node), DIAG_TREE_NOT_PROVEN, what);
    diag_note(v->diags, d, (Range){0, 0}, DIAG_TREE_UNCHECKED_NOTE);
}

DepAnswer ask(Verifier *v, System *s) {
    v->v->questions++;
    return system_solve(s);
}

DepAnswer decide(Verifier *v, System *s) {
    v->v->questions++;
    return system_decide(s);
}

static const Use *use_of(const Verifier *v, const Touch *t) { return &v->f.use.at[t->use]; }

static const char *name_of_leaf(const Verifier *v, const Leaf *leaf) {
    const Tree *t = v->f.t;
    if (leaf->stmt >= 0 && t->program && leaf->stmt < t->program->stmts.n)
        return t->program->stmts.at[leaf->stmt].label;
    return t->buffers.at[leaf->write->tensor].name;
}

static const Buffer *buffer_of(const Verifier *v, const Access *a) {
    return &v->f.t->buffers.at[a->tensor];
}

// --- Bounds of accesses --------------------------------------------------------------------------

// a + b is a negative constant: they cannot both be >= 0.
static bool exclude(const Affine *a, const Affine *b) {
    int64_t sum;
    if (a->n != b->n || !checked_add(a->constant, b->constant, &sum) || sum >= 0) return false;
    for (int i = 0; i < a->n; i++)
        if (a->term[i].atom != b->term[i].atom || a->term[i].coef != -b->term[i].coef) return false;
    return true;
}

static bool excluded(const Use *u, const Touch *t, const Affine *bad) {
    for (int i = 0; i < u->depth; i++)
        for (int c = 0; c < u->path[i]->nconstraints; c++)
            if (exclude(u->path[i]->constraint[c], bad)) return true;
    for (int i = 0; i < t->nfacts; i++)
        if (exclude(t->fact[i], bad)) return true;
    return false;
}

// Is there an instance of the access with `bad` >= 0? Reports it as `id`.
static bool find_bad(Verifier *v, const Touch *t, const Affine *bad, DiagId id, const char *where) {
    const Use *u = use_of(v, t);
    int64_t min, max;
    if (affine_bounds(bad, v->f.lo, v->f.hi, &min, &max) && max < 0) return false;
    if (excluded(u, t, bad)) return false;
    System s;
    Point p;
    system_init(&s, &v->f);
    system_enter(&s, u, &p, 0, NULL);
    system_facts(&s, &p, t);
    system_least(&s, system_value(&s, &p, bad));
    DepAnswer answer = decide(v, &s);
    if (answer == DEP_NO) return false;
    if (answer == DEP_YES && t->whole) {
        diag_report(v->diags, tree_access_range(v->f.t, u->leaf, t->access), id, point_show(&s, &p),
                    element_show(&s, &p, t->access), where);
        v->refused = true;
    } else
        not_proven(v, &u->leaf->node, "an access stays inside its buffer");
    return true;
}

// Accesses that binding left to a run-time check: gathers, and unproven ones.
static bool checked_at_run_time(const Verifier *v, const Touch *t) {
    const Leaf *leaf = use_of(v, t)->leaf;
    const Program *p = v->f.t->program;
    return p && leaf->stmt >= 0 && p->stmts.at[leaf->stmt].unproven;
}

static void check_inside(Verifier *v, const Touch *t) {
    const Buffer *b = buffer_of(v, t->access);
    if (t->guarded && !t->whole && checked_at_run_time(v, t)) return;
    for (int d = 0; d < t->access->rank; d++) {
        const Affine *sub = t->access->sub[d];
        int64_t min, max;
        if (sub->has_read) continue;
        if (affine_bounds(sub, v->f.lo, v->f.hi, &min, &max) && min >= 0 && max < b->size[d])
            continue;
        const Affine *below = affine_add_const(v->f.x, affine_scale(v->f.x, sub, -1), -1);
        const Affine *above = affine_add_const(v->f.x, sub, -b->size[d]);
        if (find_bad(v, t, below, DIAG_TREE_OUTSIDE, b->name) ||
            find_bad(v, t, above, DIAG_TREE_OUTSIDE, b->name))
            return;
    }
}

// --- Views -------------------------------------------------------------------------------------

// The view of a buffer in a block. NULL if there are several, since it is unknown which one an
// access uses; then the views further out must contain it.
static const BlockView *view_in(const Block *b, int buffer) {
    const BlockView *found = NULL;
    for (int i = 0; i < b->nviews; i++) {
        if (b->view[i].buffer != buffer || b->view[i].dir == VIEW_NONE) continue;
        if (found) return NULL;
        found = &b->view[i];
    }
    return found;
}

static void check_direction(Verifier *v, const Touch *t, const BlockView *view) {
    bool write = t->kind != TOUCH_READ;
    if (view->dir == VIEW_INOUT || view->dir == (write ? VIEW_OUT : VIEW_IN)) return;
    diag_report(v->diags, tree_access_range(v->f.t, use_of(v, t)->leaf, t->access),
                DIAG_TREE_VIEW_DIRECTION, buffer_of(v, t->access)->name, write ? "written" : "read",
                write ? "in" : "out");
    v->refused = true;
}

// Checks an access against every view around it.
static void check_views(Verifier *v, const Touch *t) {
    const Use *u = use_of(v, t);
    const Buffer *b = buffer_of(v, t->access);
    for (int i = u->depth - 1; i >= 0; i--) {
        const BlockView *view = u->path[i]->nviews ? view_in(u->path[i], t->access->tensor) : NULL;
        if (!view) continue;
        check_direction(v, t, view);
        for (int d = 0; d < b->rank && view->offset && view->size; d++) {
            if (t->access->sub[d]->has_read) continue;
            const Affine *from = affine_sub(v->f.x, t->access->sub[d], view->offset[d]);
            const Affine *below = affine_add_const(v->f.x, affine_scale(v->f.x, from, -1), -1);
            const Affine *above = affine_add_const(v->f.x, from, -view->size[d]);
            if (find_bad(v, t, below, DIAG_TREE_VIEW_OUTSIDE, b->name) ||
                find_bad(v, t, above, DIAG_TREE_VIEW_OUTSIDE, b->name))
                return;
        }
    }
}

static bool constrained(const Node *node) {
    const Block *b = as_block(node);
    if (b && b->nconstraints) return true;
    for (int i = 0; b && i < b->nchildren; i++)
        if (constrained(b->child[i])) return true;
    return false;
}

// Checks a view against the enclosing one. In a block with constraints, checking its accesses is
// enough.
static void check_child_view(Verifier *v, const Use *u, int at, const BlockView *view) {
    const Buffer *b = &v->f.t->buffers.at[view->buffer];
    const BlockView *outer = NULL;
    for (int i = at - 1; i >= 0 && !outer; i--) outer = view_in(u->path[i], view->buffer);
    if (!view->offset || !view->size || constrained(&u->path[at]->node)) return;
    for (int d = 0; d < b->rank; d++)
        if (view->size[d] <= 0) return; // an empty view may lie anywhere
    Use head = *u;                      // an iteration of the block itself
    head.depth = at + 1;
    head.nindex = 0;
    for (int i = 0; i <= at; i++) head.nindex += u->path[i]->nindex;
    for (int d = 0; d < b->rank; d++) {
        const Affine *from = view->offset[d];
        bool known = outer && outer->offset && outer->size;
        if (known) from = affine_sub(v->f.x, from, outer->offset[d]);
        int64_t room = (known ? outer->size[d] : b->size[d]) - view->size[d], min, max;
        if (affine_bounds(from, v->f.lo, v->f.hi, &min, &max) && min >= 0 && max <= room) continue;
        for (int side = 0; side < 2; side++) {
            System s;
            Point p;
            system_init(&s, &v->f);
            system_enter(&s, &head, &p, 0, NULL);
            const Affine *bad = affine_add_const(v->f.x, affine_scale(v->f.x, from, side ? 1 : -1),
                                                 side ? -room - 1 : -1);
            system_least(&s, system_value(&s, &p, bad));
            DepAnswer answer = decide(v, &s);
            if (answer == DEP_NO) continue;
            if (answer == DEP_UNDECIDED) {
                not_proven(v, &u->path[at]->node, "a view lies inside its parent's");
                return;
            }
            Access *corner =
                arena_alloc(v->f.arena, sizeof *corner + (size_t)b->rank * sizeof from);
            *corner = (Access){.tensor = view->buffer, .rank = b->rank};
            for (int k = 0; k < b->rank; k++)
                corner->sub[k] = affine_add_const(
                    v->f.x, view->offset[k], side && k == d ? max_i64(view->size[k] - 1, 0) : 0);
            diag_report(v->diags, tree_range(v->f.t, &u->path[at]->node), DIAG_TREE_VIEW_PARENT,
                        point_show(&s, &p), element_show(&s, &p, corner), b->name);
            v->refused = true;
            return;
        }
    }
}

static void check_child_views(Verifier *v) {
    for (int i = 0; i < v->f.use.n; i++) {
        const Use *u = &v->f.use.at[i];
        for (int at = 0; at < u->depth; at++) {
            const Block *b = u->path[at];
            bool seen = false; // under an earlier leaf
            if (i) {
                Common c = facts_common(u, &v->f.use.at[i - 1]);
                seen = at < c.blocks;
            }
            for (int k = 0; k < b->nviews && !seen; k++)
                if (b->view[k].dir != VIEW_NONE) check_child_view(v, u, at, &b->view[k]);
        }
    }
}

// --- Order -------------------------------------------------------------------------------------

static void report_unordered(Verifier *v, const Witness *w) {
    const Touch *a = w->source.touch, *b = w->sink.touch;
    const char *index = w->loop->name ? w->loop->name : "i", *kind = kind_name[w->loop_kind];
    bool second = a->kind != TOUCH_READ && b->kind == TOUCH_READ; // the read is to blame
    const Instance *blamed = second ? &w->sink : &w->source;
    Range at = tree_access_range(v->f.t, blamed->use->leaf, blamed->touch->access);
    bool reads = a->kind == TOUCH_READ || b->kind == TOUCH_READ, first = a->kind == TOUCH_READ;
    bool assigns = a->kind == TOUCH_ASSIGN || b->kind == TOUCH_ASSIGN;
    Diag *d;
    if (a->kind == TOUCH_ASSIGN && b->kind == TOUCH_ASSIGN)
        d = diag_report(v->diags, at, DIAG_TREE_ASSIGNED_TWICE, index, kind, w->source.text,
                        w->sink.text, w->text);
    else if (a->kind == TOUCH_REDUCE && b->kind == TOUCH_REDUCE)
        d = diag_report(v->diags, at, DIAG_TREE_MIXED, index, kind, w->source.text, w->sink.text,
                        w->text, reduce_name[w->source.use->leaf->op],
                        reduce_name[w->sink.use->leaf->op]);
    else if (assigns && reads)
        d = diag_report(v->diags, at, DIAG_TREE_READS_WRITTEN, index, kind,
                        first ? w->source.text : w->sink.text, w->text,
                        first ? w->sink.text : w->source.text, legal_kind_name[w->kind]);
    else
        d = diag_report(v->diags, at, DIAG_TREE_CARRIED, index, kind, w->source.text, w->sink.text,
                        w->text, legal_kind_name[w->kind]);
    const char *near = v->v->near ? verify_near(v, w) : NULL;
    if (near) diag_note(v->diags, d, (Range){0, 0}, DIAG_EDIT_NEAR_NOTE, near);
}

static void report_order(void *user, const Witness *w) {
    Verifier *v = user;
    v->refused = true;
    if (w->rule == LEGAL_UNORDERED) {
        report_unordered(v, w);
        return;
    }
    diag_report(v->diags, tree_range(v->f.t, &w->source.use->leaf->node), DIAG_TREE_SINK_FIRST,
                name_of_leaf(v, w->sink.use->leaf), w->sink.text,
                name_of_leaf(v, w->source.use->leaf), w->source.text, w->text,
                legal_kind_name[w->kind]);
}

static void report_open(void *user, const Touch *a, const Touch *b, LegalRule rule) {
    Verifier *v = user;
    (void)b;
    not_proven(v, &use_of(v, a)->leaf->node,
               rule == LEGAL_UNORDERED ? "iterations of an unordered block do not conflict"
                                       : "statements run in the order of the program");
}

static void check_order(Verifier *v) {
    Legal l = {.f = &v->f, .user = v, .found = report_order, .open = report_open};
    legal_judge(&l);
    v->v->questions += l.questions;
}

VerifyAnswer tree_verify(Arena *scratch, const Tree *t, Verify *options, DiagList *diags) {
    Verify own = {0};
    t = tree_expand(t);
    ArenaMark mark = arena_mark(scratch);
    const Source *before = diags->source;
    if (t->program && t->program->source) diags->source = t->program->source;
    Verifier v = {.v = options ? options : &own, .diags = diags, .f.arena = scratch, .f.t = t};
    if (verify_shape(&v, t)) {
        facts_collect(&v.f, scratch, t);
        for (int i = 0; i < v.f.touch.n; i++) check_inside(&v, &v.f.touch.at[i]);
        for (int i = 0; i < v.f.touch.n; i++) check_views(&v, &v.f.touch.at[i]);
        check_child_views(&v);
        check_order(&v);
        verify_written(&v);
    }
    diags->source = before;
    // Memory of `scratch` that the pool of expressions or the diagnostics refer to stays allocated.
    if (diags->arena != scratch && t->exprs->arena != scratch) arena_release(scratch, mark);
    if (v.refused) return VERIFY_REFUSED;
    return v.unproven && !v.v->unchecked ? VERIFY_UNPROVEN : VERIFY_OK;
}
