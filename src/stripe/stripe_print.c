// Prints a Tree as Stripe text. stripe_view.c decides on refinements and passed indices; this file
// prints them, and divides leaves into scalar statements.
//
// The canonical form has four blanks per level; statements numbered from 0 in each block; one line
// per constraint and refinement; kinds and other attributes of a node as tags, before its own tags
// and in a fixed order; scalars named after the refinement that they are loaded from, or by number.
#include "stripe/stripe_view.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/checked.h"

typedef struct PrintedScalar {
    const void *what; // an Expr, or the Access of a gathered subscript
    Name name;
} PrintedScalar;

typedef struct StripePrinter {
    Text *out;
    Planner *p;
    const Tree *t;
    Arena *arena;
    const PrintBlock *pb;
    int number; // of the next statement
    int depth;
    VEC(Name) taken;           // names of scalars in this block
    int temporaries;           // numbered scalars in this block
    const Leaf *leaf;          // the current one
    VEC(PrintedScalar) scalar; // of it
} StripePrinter;

static void indent(StripePrinter *w, int more) { text_fill(w->out, ' ', 4 * (w->depth + more)); }

static void print_name(Text *out, const char *name) {
    bool plain = stripe_plain(name);
    if (plain) {
        text_add(out, name);
        return;
    }
    text_char(out, '`');
    text_escape(out, name, '`');
    text_char(out, '`');
}

// --- Affines -----------------------------------------------------------------------------------

static void print_affine(StripePrinter *w, const Affine *a);

static Name scalar_of(const StripePrinter *w, const void *what) {
    for (int i = 0; i < w->scalar.n; i++)
        if (w->scalar.at[i].what == what) return w->scalar.at[i].name;
    return NULL;
}

// Sums and products are sorted by their printed form, not by the numbers of indices: first indices
// in the order of the block's list, then everything else by its text.
typedef struct PrintedPart {
    int rank;
    const char *text;
    int64_t coef;
    bool compound; // needs parentheses behind a factor
} PrintedPart;
typedef VEC(PrintedPart) Parts;

static int by_order(const void *a, const void *b) {
    const PrintedPart *x = a, *y = b;
    if ((x->coef < 0) != (y->coef < 0)) return x->coef < 0 ? 1 : -1;
    return x->rank != y->rank ? x->rank - y->rank : strcmp(x->text, y->text);
}

static int rank_of(const StripePrinter *w, const Atom *t) {
    const PrintBlock *pb = w->pb;
    Name name = t->kind == ATOM_ITER ? stripe_index_name(w->p, pb, t->index) : NULL;
    for (int i = 0; name && i < pb->b->nindex; i++)
        if (pb->index[i] == name) return i;
    for (int i = 0; name && i < pb->passed.n; i++)
        if (pb->passed.at[i].name == name) return pb->b->nindex + i;
    return INT_MAX;
}

static bool is_factor(const Affine *a) {
    if (a->n == 0) return a->constant >= 0;
    AtomKind kind = a->term[0].atom->kind;
    return a->n == 1 && a->constant == 0 && a->term[0].coef == 1 &&
           (kind == ATOM_ITER || kind == ATOM_READ || kind == ATOM_MIN || kind == ATOM_MAX);
}

static const char *affine_text(StripePrinter *w, const Affine *a, bool factor) {
    Text text = {.arena = w->arena}, *out = w->out;
    bool parens = factor && !is_factor(a);
    w->out = &text;
    if (parens) text_char(w->out, '(');
    print_affine(w, a);
    if (parens) text_char(w->out, ')');
    w->out = out;
    return text_str(&text);
}

// x*(y*z) is x*y*z.
static void factors(StripePrinter *w, const Affine *a, Parts *out) {
    bool product =
        a->n == 1 && a->constant == 0 && a->term[0].coef == 1 && a->term[0].atom->kind == ATOM_PROD;
    if (product) {
        factors(w, a->term[0].atom->a, out);
        factors(w, a->term[0].atom->b, out);
    } else {
        PrintedPart part = {.text = affine_text(w, a, true)};
        vec_push(w->arena, out, part);
    }
}

static void print_product(StripePrinter *w, const Atom *t) {
    Parts part = {0};
    factors(w, t->a, &part);
    factors(w, t->b, &part);
    qsort(part.at, (size_t)part.n, sizeof *part.at, by_order);
    for (int i = 0; i < part.n; i++) text_printf(w->out, "%s%s", i ? "*" : "", part.at[i].text);
}

static void print_extremum(StripePrinter *w, const Atom *t) {
    const char *a = affine_text(w, t->a, false), *b = affine_text(w, t->b, false);
    bool swap = strcmp(a, b) > 0;
    text_printf(w->out, "%s(%s, %s)", t->kind == ATOM_MIN ? "min" : "max", swap ? b : a,
                swap ? a : b);
}

static void print_atom(StripePrinter *w, const Atom *t) {
    Name name;
    switch (t->kind) {
    case ATOM_ITER:
        name = stripe_index_name(w->p, w->pb, t->index);
        if (!name) bug("an index was not passed in");
        print_name(w->out, name);
        break;
    case ATOM_READ:
        name = scalar_of(w, t->read);
        if (!name) bug("a gathered subscript was not loaded");
        text_printf(w->out, "$%s", name);
        break;
    case ATOM_MIN:
    case ATOM_MAX: print_extremum(w, t); break;
    case ATOM_PROD: print_product(w, t); break;
    case ATOM_DIV:
    case ATOM_MOD:
        text_add(w->out, affine_text(w, t->a, true));
        text_char(w->out, t->kind == ATOM_DIV ? '/' : '%');
        text_add(w->out, affine_text(w, t->b, true));
        break;
    case ATOM_PARAM: bug("a Tree has no parameters");
    }
}

static PrintedPart part_of(StripePrinter *w, const Term *term) {
    Text text = {.arena = w->arena}, *out = w->out;
    AtomKind kind = term->atom->kind;
    w->out = &text;
    print_atom(w, term->atom);
    w->out = out;
    return (PrintedPart){.rank = rank_of(w, term->atom),
                         .text = text_str(&text),
                         .coef = term->coef,
                         .compound = kind == ATOM_DIV || kind == ATOM_MOD || kind == ATOM_PROD};
}

// " + 2*i"; the first without blanks.
static void print_part(StripePrinter *w, const PrintedPart *p, bool first) {
    text_add(w->out, first ? (p->coef < 0 ? "-" : "") : p->coef < 0 ? " - " : " + ");
    uint64_t k = p->coef < 0 ? 0 - (uint64_t)p->coef : (uint64_t)p->coef;
    bool parens = p->text && p->compound && (k != 1 || p->coef < 0);
    if (!p->text || k != 1) text_printf(w->out, "%llu", (unsigned long long)k);
    if (!p->text) return;
    if (k != 1) text_char(w->out, '*');
    text_printf(w->out, parens ? "(%s)" : "%s", p->text);
}

// Positive terms, then the others, then the constant, which comes first if everything else is
// negative.
static void print_affine(StripePrinter *w, const Affine *a) {
    PrintedPart part[AFFINE_MAX_TERMS], constant = {.coef = a->constant};
    bool first = true;
    for (int i = 0; i < a->n; i++) part[i] = part_of(w, &a->term[i]);
    qsort(part, (size_t)a->n, sizeof *part, by_order);
    bool early = a->n == 0 || (part[0].coef < 0 && a->constant > 0);
    if (early) print_part(w, &constant, true), first = false;
    for (int i = 0; i < a->n; i++) print_part(w, &part[i], first), first = false;
    if (!early && a->constant) print_part(w, &constant, first);
}

// --- Tags and places ---------------------------------------------------------------------------

static bool plain_value(const char *s) {
    if (!*s) return false;
    for (; *s; s++)
        if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ||
              *s == '_' || *s == '.'))
            return false;
    return true;
}

static void print_tag(StripePrinter *w, const char *name, const char *value) {
    text_char(w->out, '#');
    print_name(w->out, name);
    if (value) {
        bool plain = plain_value(value);
        text_add(w->out, plain ? "=" : "=\"");
        if (plain)
            text_add(w->out, value);
        else
            text_escape(w->out, value, '"');
        if (!plain) text_char(w->out, '"');
    }
    text_char(w->out, ' ');
}

static void print_tags(StripePrinter *w, const Tags *tags) {
    for (int i = 0; i < tags->n; i++) print_tag(w, tags->at[i].name, tags->at[i].value);
}

static void print_number_tag(StripePrinter *w, const char *name, int64_t n) {
    if (n) print_tag(w, name, arena_printf(w->arena, "%lld", (long long)n));
}

static void print_place(StripePrinter *w, const Place *place) {
    if (!place->n) return;
    text_char(w->out, '<');
    for (int i = 0; i < place->n; i++) {
        const Unit *u = &place->unit[i];
        if (i) text_char(w->out, '/');
        print_name(w->out, u->name);
        if (!u->n) continue;
        text_char(w->out, '[');
        for (int k = 0; k < u->n; k++) {
            if (k) text_add(w->out, ", ");
            print_affine(w, u->at[k]);
        }
        text_char(w->out, ']');
    }
    text_char(w->out, '>');
}

// --- Scalar statements -------------------------------------------------------------------------

static bool scalar_taken(const StripePrinter *w, Name name) {
    for (int i = 0; i < w->taken.n; i++)
        if (w->taken.at[i] == name) return true;
    return false;
}

static Name new_scalar(StripePrinter *w, const void *what, Name like) {
    Name name = like;
    if (!like || !stripe_plain(like) || scalar_taken(w, like))
        name = name_of(w->t->names, arena_printf(w->arena, "%d", w->temporaries++));
    vec_push(w->arena, &w->taken, name);
    vec_push(w->arena, &w->scalar, ((PrintedScalar){what, name}));
    return name;
}

static void begin_statement(StripePrinter *w) {
    indent(w, 0);
    text_printf(w->out, "%d", w->number++);
}

static void load_subscripts(StripePrinter *w, const Access *a);

static void print_element(StripePrinter *w, const Access *a, bool write) {
    const PrintView *v = &w->pb->view.at[stripe_pick(w->t, w->pb, a, write)];
    bool origin = true;
    for (int d = 0; d < a->rank; d++) origin &= affine_is(stripe_relative(w->t, v, a, d), 0);
    print_name(w->out, v->name);
    if (origin) return;
    text_char(w->out, '[');
    for (int d = 0; d < a->rank; d++) {
        if (d) text_add(w->out, ", ");
        print_affine(w, stripe_relative(w->t, v, a, d));
    }
    text_char(w->out, ']');
}

static void print_load(StripePrinter *w, const void *what, const Access *a) {
    if (scalar_of(w, what)) return;
    load_subscripts(w, a);
    begin_statement(w);
    const PrintView *v = &w->pb->view.at[stripe_pick(w->t, w->pb, a, false)];
    LoadCache cache = leaf_cache(w->leaf, a->tensor);
    text_add(w->out, ": ");
    if (cache) print_tag(w, "cache", load_cache_name[cache]);
    text_printf(w->out, "$%s = load(", new_scalar(w, what, v->name));
    print_element(w, a, false);
    text_add(w->out, ")\n");
}

static void load_affine(StripePrinter *w, const Affine *a) {
    if (!a->has_read) return;
    for (int i = 0; i < a->n; i++) {
        const Atom *t = a->term[i].atom;
        if (t->kind == ATOM_READ) print_load(w, t->read, t->read);
        if (t->a) load_affine(w, t->a);
        if (t->b) load_affine(w, t->b);
    }
}

static void load_subscripts(StripePrinter *w, const Access *a) {
    for (int d = 0; d < a->rank; d++) load_affine(w, a->sub[d]);
}

static void print_literal(Text *out, Type type, Value v) {
    text_printf(out, "(%s)", type_info[type].stripe);
    value_print(out, type, v);
}

static void print_operation(StripePrinter *w, const Expr *e) {
    if (e->op == OP_CAST)
        text_printf(w->out, "as_%s(", type_info[e->type].stripe);
    else
        text_printf(w->out, "%s(", stripe_op_name(e->op));
    for (int i = 0; i < e->n; i++)
        text_printf(w->out, "%s$%s", i ? ", " : "", scalar_of(w, e->arg[i]));
    text_char(w->out, ')');
}

static void print_scalar(StripePrinter *w, const Expr *e) {
    if (scalar_of(w, e)) return;
    if (e->kind == EXPR_READ) {
        print_load(w, e, e->access);
        return;
    }
    for (int i = 0; i < e->n; i++) print_scalar(w, e->arg[i]);
    if (e->kind == EXPR_INDEX) load_affine(w, e->index);
    begin_statement(w);
    text_printf(w->out, ": $%s = ", new_scalar(w, e, NULL));
    if (e->kind == EXPR_CONST) {
        print_literal(w->out, e->type, e->value);
    } else if (e->kind == EXPR_INDEX) {
        text_add(w->out, "load_index(");
        print_affine(w, e->index);
        text_char(w->out, ')');
    } else {
        print_operation(w, e);
    }
    text_char(w->out, '\n');
}

// --- Nodes -------------------------------------------------------------------------------------

// `last` has the number of the statement that each child ended with.
static void print_deps(StripePrinter *w, const Node *n, const int *last) {
    if (n->ndeps >= 0) {
        text_char(w->out, '[');
        for (int i = 0; i < n->ndeps; i++) {
            if (i) text_add(w->out, ", ");
            if (n->deps[i] < 0)
                text_add(w->out, "parent");
            else
                text_int(w->out, last[n->deps[i]]);
        }
        text_char(w->out, ']');
    }
    text_add(w->out, ": ");
}

static bool is_post(const Tree *t, const Leaf *l) {
    return l->role == LEAF_POST ||
           (l->role == LEAF_UPDATE && t->program && l->stmt >= 0 && l->stmt < t->program->stmts.n &&
            t->program->stmts.at[l->stmt].post);
}

static void print_leaf(StripePrinter *w, const Leaf *l, const int *last) {
    w->scalar.n = 0;
    w->leaf = l;
    print_scalar(w, l->value);
    load_subscripts(w, l->write);
    begin_statement(w);
    print_deps(w, &l->node, last);
    if (l->role == LEAF_INIT) print_tag(w, "init", NULL);
    if (is_post(w->t, l)) print_tag(w, "post", NULL);
    if (l->unchecked) print_tag(w, "unchecked", NULL);
    if (l->nontemporal) print_tag(w, "nontemporal", NULL);
    print_number_tag(w, "accumulators", l->accumulators);
    print_tags(w, &l->node.tags);
    const PrintView *v = &w->pb->view.at[stripe_pick(w->t, w->pb, l->write, true)];
    print_element(w, l->write, true);
    text_printf(w->out, " = store($%s)", scalar_of(w, l->value));
    Reduce implied = l->role == LEAF_INIT ? REDUCE_ASSIGN : v->effective;
    if (l->op != implied) text_printf(w->out, ":%s", stripe_agg[l->op]);
    text_char(w->out, '\n');
}

static void print_operand(StripePrinter *w, const BlockView *v) {
    int at = stripe_operand(w->pb, v);
    if (at < 0) bug("a special works on what its block does not have");
    print_name(w->out, w->pb->view.at[at].name);
}

static void print_special(StripePrinter *w, const Special *s, const int *last) {
    begin_statement(w);
    print_deps(w, &s->node, last);
    print_tags(w, &s->node.tags);
    if (s->nouts > 1) text_char(w->out, '(');
    for (int i = 0; i < s->nouts; i++) {
        if (i) text_add(w->out, ", ");
        print_operand(w, &s->out[i]);
    }
    if (s->nouts > 1) text_char(w->out, ')');
    text_printf(w->out, " = %s(", s->op);
    for (int i = 0; i < s->nins; i++) {
        if (i) text_add(w->out, ", ");
        print_operand(w, &s->in[i]);
    }
    for (int i = 0; i < s->nparams; i++)
        text_printf(w->out, "%s%s=%s", i || s->nins ? ", " : "", s->param[i].name,
                    s->param[i].value);
    text_add(w->out, ")\n");
}

static void print_indices(StripePrinter *w, const PrintBlock *pb) {
    const Block *b = pb->b;
    int64_t points = 1;
    bool known = true;
    text_add(w->out, "[");
    for (int i = 0; i < b->nindex; i++) {
        const Index *x = &b->index[i];
        if (i) text_add(w->out, ", ");
        print_tags(w, &x->tags);
        print_name(w->out, pb->index[i]);
        if (x->passed) {
            text_add(w->out, " = ");
            w->pb = pb->up;
            print_affine(w, x->passed);
            w->pb = pb;
        } else {
            text_printf(w->out, ":%lld", (long long)x->extent);
            known = known && checked_mul(points, x->extent, &points);
        }
    }
    for (int i = 0; i < pb->passed.n; i++) {
        text_add(w->out, i || b->nindex ? ", " : "");
        print_name(w->out, pb->passed.at[i].name);
        text_add(w->out, " = ");
        print_name(w->out, stripe_index_name(w->p, pb->up, pb->passed.at[i].id));
    }
    text_char(w->out, ']');
    if (known) text_printf(w->out, ":%lld", (long long)points);
}

static void print_prefetch_tags(StripePrinter *w, const PrintBlock *pb, const PrintView *v) {
    for (int i = 0; i < w->t->prefetches.n; i++) {
        const Prefetch *f = &w->t->prefetches.at[i];
        if (f->at == pb->b && f->buffer == v->buffer)
            print_number_tag(w, arena_printf(w->arena, "prefetch%d", f->level), f->distance);
    }
}

static void print_dims(StripePrinter *w, const PrintView *v, const Buffer *b) {
    text_printf(w->out, " %s(", type_info[b->type].stripe);
    for (int d = 0; d < b->rank; d++)
        text_printf(w->out, d == b->bank_dim ? "%s{%lld}" : "%s%lld", d ? ", " : "",
                    (long long)v->size[d]);
    text_add(w->out, "):(");
    for (int d = 0; d < b->rank; d++)
        text_printf(w->out, "%s%lld", d ? ", " : "", (long long)b->stride[d]);
    text_char(w->out, ')');
}

static void print_view(StripePrinter *w, const PrintBlock *pb, const PrintView *v) {
    static const char *const dir[] = {"none", "in", "out", "inout"};
    const Buffer *b = &w->t->buffers.at[v->buffer];
    indent(w, 1);
    if (v->dir == VIEW_NONE) {
        if (*home_name[b->home]) print_tag(w, home_name[b->home], NULL);
        print_number_tag(w, "align", b->align);
    }
    print_prefetch_tags(w, pb, v);
    print_tags(w, &v->tags);
    text_printf(w->out, "%s ", dir[v->dir]);
    print_name(w->out, v->name);
    Name from = v->from >= 0 ? pb->up->view.at[v->from].name : v->name;
    if (from != v->name) text_add(w->out, " = ");
    if (from != v->name) print_name(w->out, from);
    print_place(w, &v->place);
    text_char(w->out, '[');
    for (int d = 0; d < b->rank; d++) {
        if (d) text_add(w->out, ", ");
        print_affine(w, stripe_offset(w->t, pb, v, d));
    }
    text_char(w->out, ']');
    if (v->has_agg) text_printf(w->out, ":%s", stripe_agg[v->agg]);
    print_dims(w, v, b);
    text_char(w->out, '\n');
}

static bool has_loop(const Block *b) {
    for (int i = 0; i < b->nindex; i++)
        if (!b->index[i].passed) return true;
    return false;
}

static void print_block_tags(StripePrinter *w, const Block *b) {
    if (b->kind != KIND_ANY && has_loop(b)) print_tag(w, kind_name[b->kind], NULL);
    print_number_tag(w, "unroll_limit", b->unroll_limit);
    print_number_tag(w, "grain", b->grain);
    print_tags(w, &b->node.tags);
}

static void print_body(StripePrinter *w, const PrintBlock *pb);

static void print_block(StripePrinter *w, const PrintBlock *pb) {
    const Block *b = pb->b;
    w->pb = pb;
    print_block_tags(w, b);
    text_add(w->out, "block");
    print_place(w, &b->place);
    text_char(w->out, ' ');
    print_indices(w, pb);
    text_add(w->out, " (");
    Name name = b->name || pb->up || !w->t->program ? b->name : w->t->program->name;
    if (name) text_printf(w->out, " // %s", name);
    text_char(w->out, '\n');
    for (int i = 0; i < b->nconstraints; i++) {
        indent(w, 1);
        print_affine(w, b->constraint[i]);
        text_add(w->out, " >= 0\n");
    }
    for (int i = 0; i < pb->view.n; i++) print_view(w, pb, &pb->view.at[i]);
    indent(w, 0);
    text_add(w->out, ") {\n");
    w->depth++;
    print_body(w, pb);
    w->depth--;
    indent(w, 0);
    text_add(w->out, "}\n");
}

static void print_child_block(StripePrinter *w, const PrintBlock *child, const int *last) {
    begin_statement(w);
    print_deps(w, &child->b->node, last);
    StripePrinter inner = {
        .out = w->out, .p = w->p, .t = w->t, .arena = w->arena, .depth = w->depth};
    print_block(&inner, child);
}

static void print_body(StripePrinter *w, const PrintBlock *pb) {
    const Block *b = pb->b;
    int *last = arena_new_n(w->arena, int, b->nchildren);
    for (int i = 0; i < b->nchildren; i++) {
        if (pb->child[i])
            print_child_block(w, pb->child[i], last);
        else if (b->child[i]->kind == NODE_LEAF)
            print_leaf(w, (const Leaf *)b->child[i], last);
        else
            print_special(w, (const Special *)b->child[i], last);
        last[i] = w->number - 1;
    }
}

void stripe_print(Text *out, const Tree *t) {
    Arena *arena = out->arena;
    Planner *p = stripe_planner(arena, t);
    StripePrinter w = {.out = out, .p = p, .t = t, .arena = arena};
    print_block(&w, stripe_plan_with(p));
}
