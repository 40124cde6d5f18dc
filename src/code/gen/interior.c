// Where conditions surely hold.
//
// Borders and windows are conditions: a padded convolution adds up what lies inside its image only.
// They depend on where the loops around a region stand, and for most of their iterations all of
// them hold, whatever the loops inside do:
//
//     for w in 28                                    first = 1, last = 26
//       region: ... where 4*w + y - 1 >= 0 ...       y in 0:3
//
// So the code of such a region is made twice, behind one comparison or two a loop: for the interior
// without any test, and for everywhere else. Conditions that two machine loops decide together stay
// tests in both. Two copies are not worth it for what is tested seldom: around machine loops, or in
// front of an innermost one (loop.c).
#include "code/gen/gen.h"

#include "base/checked.h"

// A condition: k·index of `own` + rest >= 0, or the rest alone.
typedef struct Condition {
    const Lin *rest;
    int64_t k;
    const PNode *own; // NULL: the rest alone
    bool seldom;      // tested seldom; or the end of a split, which regions know how to handle
} Condition;

static int64_t least_of(int64_t k, int64_t lo, int64_t hi) { return k * (k < 0 ? hi : lo); }

static Interior *interior_of(Interiors *in, const PNode *loop) {
    for (int i = 0; i < in->n; i++)
        if (in->at[i].loop == loop) return &in->at[i];
    if (in->n == MAX_INTERIORS || loop->extent > INT32_MAX) return NULL;
    in->at[in->n] = (Interior){loop, 0, loop->extent - 1, false};
    return &in->at[in->n++];
}

// Of a vector loop, the counter is the index of the first lane.
static int lanes_of(const PNode *loop) { return loop->simd.vector ? loop->simd.lanes : 1; }

// Where the one machine loop outside that decides makes the condition hold for all inside.
static void narrow(const Gen *g, const Condition *c, int first_inside, Interiors *in) {
    int64_t rest = c->rest->c, k = 0;
    const PNode *outer = NULL;
    if (c->own) rest += least_of(c->k, 0, c->own->extent - 1);
    for (int i = 0; i < c->rest->n; i++) {
        const LinTerm *t = &c->rest->t[i];
        const PNode *loop = g->p->loop[t->loop];
        if (t->loop >= first_inside)
            rest += least_of(t->k, 0, loop->extent - 1);
        else if (loop->form.real && outer)
            return;
        else if (loop->form.real)
            outer = loop, k = t->k;
        else
            rest += t->k * g->here.value[t->loop];
    }
    if (!outer || rest + least_of(k, 0, outer->extent - 1) >= 0) return;
    rest += least_of(k, 0, lanes_of(outer) - 1);
    Interior *x = interior_of(in, outer);
    if (!x) return;
    if (k > 0)
        x->first = max_i64(x->first, ceil_div(-rest, k));
    else
        x->last = min_i64(x->last, floor_div(rest, -k));
    x->worth |= !c->seldom;
}

// Conditions that a value chooses by.
static void look_in_value(const Gen *g, const Expr *e, int first_inside, Interiors *in) {
    const Lin *condition = e->type == TYPE_BOOL ? code_condition(g->p, e) : NULL;
    if (condition) narrow(g, &(Condition){.rest = condition}, first_inside, in);
    for (int i = 0; e->kind == EXPR_OP && !condition && i < e->n; i++)
        look_in_value(g, e->arg[i], first_inside, in);
}

static void look_in_leaf(const Gen *g, const PNode *n, int first_inside, Interiors *in) {
    look_in_value(g, n->leaf->value, first_inside, in);
    for (int r = 0; r < n->nreads; r++)
        for (int i = 0; n->read[r].piece && i < n->read[r].piece->nconds; i++)
            narrow(g, &(Condition){.rest = n->read[r].piece->cond[i]}, first_inside, in);
}

// `around`: the machine loop of the region that n stands in, -1: none.
static void look(const Gen *g, const PNode *n, int first_inside, int around, Interiors *in) {
    bool seldom = gen_has_machine_loop(n);
    for (int i = 0; n->kind == P_LOOP && n->variant.limit < 0 && i < n->nbounds; i++) {
        const LoopBound *b = &n->bound[i];
        bool tail = gen_ends_split(g, n, b, first_inside);
        narrow(g, &(Condition){b->rest, b->k, n, tail || seldom}, first_inside, in);
    }
    for (int i = 0; n->kind == P_GUARD && i < n->nconds; i++) {
        bool still = around >= 0 && !lin_coef(n->cond[i], around);
        narrow(g, &(Condition){.rest = n->cond[i], .seldom = seldom || still}, first_inside, in);
    }
    if (n->kind == P_LEAF && n->simd.width > 1) look_in_leaf(g, n, first_inside, in);
    if (n->kind == P_LOOP && n->form.real) around = n->loop;
    for (int i = 0; i < n->nchild; i++) look(g, n->child[i], first_inside, around, in);
}

bool gen_find_interiors(const Gen *g, PNode *const *at, int n, int first_inside, Interiors *in) {
    *in = (Interiors){0};
    for (int i = 0; i < n; i++) look(g, at[i], first_inside, -1, in);
    bool worth = false;
    int kept = 0;
    for (int i = 0; i < in->n; i++) {
        const Interior *x = &in->at[i];
        if (2 * (x->last - x->first + 1) < x->loop->extent) continue;
        worth |= x->worth;
        in->at[kept++] = *x;
    }
    in->n = kept;
    return worth;
}

void gen_enter_interiors(Gen *g, const Interiors *in, AsmLabel *other) {
    for (int i = 0; i < in->n; i++) {
        const Interior *x = &in->at[i];
        int loop = x->loop->loop;
        int64_t first = x->first - g->here.value[loop], last = x->last - g->here.value[loop];
        GenArg counter = gen_at(gen_counter(g, loop));
        if (x->first > 0) gen_branch(g, GEN_LT, counter, gen_const(first), other);
        if (x->last < x->loop->extent - 1) gen_branch(g, GEN_GT, counter, gen_const(last), other);
        LinTerm sum = {.loop = loop, .k = 1};
        gen_know(g, code_lin(g->arena, 0, &sum, 1), first, last + lanes_of(x->loop) - 1);
    }
}

void gen_leave_interiors(Gen *g, const Interiors *in) { g->here.known.n -= in->n; }
