// Prints a TeML program that makes the Tree of a Program: tensors, an assignment for each
// statement, then strips, order, marks and fusion. The iterators at the leaves (64*m + m.1) tell
// which strips the loops are.
//
// Not every Tree has such a program: TeML cannot express copies, windows, smaller temporaries and
// most kinds of loops. The text is therefore run, and its loops must be those of the Tree.
// Initialisations are not compared, because `init` precedes all loops.
#include "lang/teml/teml.h"

#include <string.h>

#include "tree/tree_facts.h"

// A loop around a leaf: a digit of an iterator, coef * loop.
typedef struct PathLevel {
    int iter;
    int64_t coef;
    Kind kind;
} PathLevel;

typedef struct PathPrinter {
    Arena *arena;
    const Tree *t;
    const Program *p;
    TreeFacts facts;
    Text out;
    Name iters[PROGRAM_MAX_ITERS]; // i1, i2, ...
    int nvirtual;
    const char *why; // why there is no program; NULL: none so far
    const Use **use; // per statement
    int *common;     // number of loops that a statement shares with the previous one
    const char **loop;
} PathPrinter;

static void no_path(PathPrinter *w, const char *why) {
    if (!w->why) w->why = why;
}

// A name that no tensor has.
static const char *free_name(const PathPrinter *w, const char *like) {
    const char *name = like;
    while (program_find_tensor(w->p, name_of(w->p->names, name)) >= 0)
        name = arena_printf(w->arena, "%s_", name);
    return name;
}

// --- Assignments -------------------------------------------------------------------------------

static void print_tensors(PathPrinter *w) {
    for (int i = 0; i < w->p->tensors.n; i++) {
        const Tensor *t = &w->p->tensors.at[i];
        text_printf(&w->out, "%s = tensor(%s, [", t->name, type_info[t->type].name);
        for (int d = 0; d < t->rank; d++)
            text_printf(&w->out, "%s%lld", d ? ", " : "", (long long)tensor_size(t, d));
        text_add(&w->out, "])\n");
    }
}

static const char *subscripts(PathPrinter *w, const Access *a) {
    Text out = {.arena = w->arena};
    for (int d = 0; d < a->rank; d++) {
        for (int i = 0; i < a->sub[d]->n; i++)
            if (a->sub[d]->term[i].atom->kind != ATOM_ITER)
                no_path(w, "a subscript is no sum of iterators");
        text_add(&out, d ? ", " : "[");
        affine_print(&out, a->sub[d], &(PrintNames){.iters = w->iters});
    }
    text_add(&out, a->rank ? "]" : "[]");
    teml_unquote(&out, 0);
    return text_str(&out);
}

static const char *op_name(PathPrinter *w, const Expr *e) {
    switch (e->kind == EXPR_OP && e->n == 2 ? e->op : OP_NEG) {
    case OP_ADD: return "add";
    case OP_SUB: return "sub";
    case OP_MUL: return "mul";
    case OP_DIV: return "div";
    default: no_path(w, "an expression is not made of +, -, * and / of tensors"); return "?";
    }
}

// An operand: its name, and its iterators ("" for a virtual one).
typedef struct PathOperand {
    const char *name, *list;
} PathOperand;

static PathOperand print_operand(PathPrinter *w, const Expr *e) {
    if (e->kind == EXPR_READ)
        return (PathOperand){w->p->tensors.at[e->access->tensor].name, subscripts(w, e->access)};
    const char *op = op_name(w, e);
    if (w->why) return (PathOperand){"?", ""};
    PathOperand a = print_operand(w, e->arg[0]), b = print_operand(w, e->arg[1]);
    const char *name = free_name(w, arena_printf(w->arena, "v%d", ++w->nvirtual));
    text_printf(&w->out, "%s = v%s(%s, %s, [%s, %s])\n", name, op, a.name, b.name, a.list, b.list);
    return (PathOperand){name, ""};
}

// The name of a statement's assignment: C, or C_1 if it writes C again.
static const char *assignment_name(PathPrinter *w, const Stmt *st) {
    char *name = arena_printf(w->arena, "%s", st->label);
    bool plain = true;
    for (char *c = name; *c; c++)
        if (*c == '.') *c = '_', plain = false;
    return plain ? name : free_name(w, name);
}

// TeML can only initialise whole tensors.
static bool starts_whole(const PathPrinter *w, const Stmt *st) {
    const Tensor *t = &w->p->tensors.at[st->write->tensor];
    for (int d = 0; d < t->rank; d++) {
        int k = affine_as_iter(st->write->sub[d]);
        if (k < 0 || iter_lo(&st->iter[k]) || iter_hi(&st->iter[k]) != tensor_size(t, d))
            return false;
        for (int e = 0; e < d; e++)
            if (st->write->sub[e] == st->write->sub[d]) return false;
    }
    return true;
}

static void print_assignment(PathPrinter *w, const Stmt *st) {
    const char *tensor = w->p->tensors.at[st->write->tensor].name, *name = assignment_name(w, st);
    const char *left = subscripts(w, st->write);
    const char *real = strcmp(name, tensor) ? arena_printf(w->arena, "@%s: ", tensor) : "";
    const Expr *e = st->value;
    if (st->op != REDUCE_ASSIGN && st->op != REDUCE_ADD) no_path(w, "a reduction is not a sum");
    if (st->init && !starts_whole(w, st)) no_path(w, "a sum starts in a part of its tensor only");
    if (st->nconstraints || st->serial) no_path(w, "a statement has conditions or runs in steps");
    if (w->why) return;
    if (st->op == REDUCE_ADD) {
        PathOperand v = print_operand(w, e);
        text_printf(&w->out, "%s = %sadd(%s, %s, [%s, %s] -> %s)\n", name, real, tensor, v.name,
                    left, v.list, left);
        if (st->init) text_printf(&w->out, "init(%s, 0)\n", tensor);
    } else if (e->kind == EXPR_READ) {
        PathOperand v = print_operand(w, e);
        text_printf(&w->out, "%s = %seq(%s, %s -> %s)\n", name, real, v.name, v.list, left);
    } else {
        const char *op = op_name(w, e);
        if (w->why) return;
        PathOperand a = print_operand(w, e->arg[0]), b = print_operand(w, e->arg[1]);
        text_printf(&w->out, "%s = %s%s(%s, %s, [%s, %s] -> %s)\n", name, real, op, a.name, b.name,
                    a.list, b.list, left);
    }
}

// --- Loops -------------------------------------------------------------------------------------

// Loops of one iteration do not count.
static int shared_loops(const Use *a, const Use *b) {
    int n = 0;
    for (int d = facts_common(a, b).indices - 1; d >= 0; d--) n += a->index[d]->extent != 1;
    return n;
}

// Finds the one leaf of each statement.
static void find_uses(PathPrinter *w) {
    int n = w->p->stmts.n;
    w->use = arena_new_n(w->arena, const Use *, n + 1);
    w->common = arena_new_n(w->arena, int, n + 1);
    for (int i = 0; i < w->facts.use.n; i++) {
        const Use *u = &w->facts.use.at[i];
        const Leaf *leaf = u->leaf;
        if (leaf->role == LEAF_INIT) continue;
        if (leaf->stmt < 0 || !leaf->iter) no_path(w, "it copies, or combines partial results");
        if (leaf->role == LEAF_POST || leaf->nontemporal || leaf->accumulators)
            no_path(w, "it has post-operations, accumulators or nontemporal stores");
        if (leaf->ncaches) no_path(w, "its loads have cache operators");
        if (w->why) return;
        if (w->use[leaf->stmt]) no_path(w, "a statement runs in several places");
        w->use[leaf->stmt] = u;
    }
    for (int s = 0; s < n; s++)
        if (!w->use[s]) no_path(w, "a statement is inlined");
    for (int s = 1; s < n && !w->why; s++) w->common[s] = shared_loops(w->use[s - 1], w->use[s]);
}

// The loops around a leaf as digits of the statement's iterators; returns their number. An iterator
// with a single value counts as the innermost loop.
static int levels_of(PathPrinter *w, const Use *u, int niters, PathLevel *out) {
    int64_t last[PROGRAM_MAX_ITERS];
    int n = 0;
    for (int k = 0; k < niters; k++) last[k] = INT64_MAX;
    for (int d = 0; d < u->nindex; d++) {
        if (u->index[d]->extent == 1) continue;
        PathLevel level = {.iter = -1, .kind = u->of[d]->kind};
        for (int k = 0; k < niters; k++) {
            int64_t coef = affine_coef(u->leaf->iter[k], u->index[d]->id);
            if (!coef) continue;
            if (level.iter >= 0 || coef < 1 || coef >= last[k])
                no_path(w, "a loop is not a strip of one iterator");
            level.iter = k, level.coef = last[k] = coef;
        }
        if (level.iter < 0) no_path(w, "a loop is not a strip of one iterator");
        if (level.kind != KIND_SERIAL && level.kind != KIND_PARALLEL && level.kind != KIND_VECTOR)
            no_path(w, "a loop is neither serial nor parallel nor vector");
        if (w->why) return 0;
        out[n++] = level;
    }
    for (int k = 0; k < niters; k++) {
        if (last[k] == INT64_MAX) out[n++] = (PathLevel){.iter = k, .coef = 1};
        if (last[k] != 1 && last[k] != INT64_MAX) no_path(w, "a strip has no loop inside");
    }
    return n;
}

// Prints the strips of each iterator; `now` receives the levels afterwards.
static int print_strips(PathPrinter *w, const char *loop, const PathLevel *want, int n, int niters,
                        PathLevel *now) {
    int depth = 0;
    for (int k = 0; k < niters; k++)
        for (int d = 0; d < n; d++) {
            if (want[d].iter != k) continue;
            now[depth++] = want[d];
            if (want[d].coef > 1)
                text_printf(&w->out, "%s = stripmine(%s, %d, %lld)\n", loop, loop, depth,
                            (long long)want[d].coef);
        }
    return depth;
}

// From the innermost level on, moves each loop in to its place; the others keep their order.
static void print_order(PathPrinter *w, const char *loop, const PathLevel *want, PathLevel *now,
                        int n) {
    for (int at = n - 1; at > 0; at--) {
        int from = 0;
        while (now[from].iter != want[at].iter || now[from].coef != want[at].coef) from++;
        if (from == at) continue;
        text_printf(&w->out, "%s = interchange_n(%s, %d, %d)\n", loop, loop, from + 1, at - from);
        memmove(now + from, now + from + 1, (size_t)(at - from) * sizeof *now);
        now[at] = want[at];
    }
}

static void print_nest(PathPrinter *w, int s, const char *loop) {
    const Stmt *st = &w->p->stmts.at[s];
    PathLevel want[TREE_MAX_DEPTH], now[TREE_MAX_DEPTH];
    int n = levels_of(w, w->use[s], st->niters, want);
    if (w->why) return;
    text_printf(&w->out, "%s = build(%s)\n", loop, assignment_name(w, st));
    print_strips(w, loop, want, n, st->niters, now);
    print_order(w, loop, want, now, n);
    for (int d = 0; d < n; d++)
        if (want[d].kind != KIND_SERIAL)
            text_printf(&w->out, "%s = %s(%s, %d)\n", loop,
                        want[d].kind == KIND_PARALLEL ? "parallelize" : "vectorize", loop, d + 1);
}

// Statements that share loops form one value; the last value gets the function's name.
static void print_loops(PathPrinter *w) {
    int n = w->p->stmts.n, last = n - 1;
    const char *group = NULL;
    Text all = {.arena = w->arena};
    while (last > 0 && w->common[last]) last--;
    for (int s = 0; s < n && !w->why; s++) {
        bool first = !s || !w->common[s];
        const char *own = free_name(w, arena_printf(w->arena, "l%d", s + 1));
        if (first) group = s == last ? free_name(w, w->p->name) : own;
        print_nest(w, s, first ? group : own);
        if (first)
            text_printf(&all, "%s%s", s ? ", " : "", group);
        else
            text_printf(&w->out, "%s = fuse_outer(%s, %s, %d)\n", group, group, own, w->common[s]);
    }
    text_printf(&w->out, "codegen(%s)\n", text_str(&all));
}

// --- Comparing Trees ---------------------------------------------------------------------------

static bool is_start(const Leaf *leaf) {
    return leaf->role == LEAF_INIT ||
           (leaf->op == REDUCE_ASSIGN && leaf->value->kind == EXPR_CONST);
}

// Loops and leaves without the names of loops and without initialisations.
static const char *loops_text(Arena *arena, const Tree *t) {
    TreeFacts f;
    Text out = {.arena = arena};
    const Use *before = NULL;
    facts_collect(&f, arena, t);
    Name *index = arena_new_n(arena, Name, t->nindices + 1);
    Name *buffer = arena_new_n(arena, Name, t->buffers.n + 1);
    PrintNames names = {.iters = index, .tensors = buffer};
    Exprs *x = t->exprs;
    const Affine **value = arena_new_n(arena, const Affine *, t->nindices + 1);
    const Affine *zero = affine_const(x, 0);
    for (int i = 0; i < t->buffers.n; i++) buffer[i] = t->buffers.at[i].name;
    for (int i = 0; i < f.use.n; i++) {
        const Use *u = &f.use.at[i];
        if (is_start(u->leaf)) continue;
        text_printf(&out, "%d\n", before ? shared_loops(before, u) : 0);
        for (int d = 0, depth = 0; d < u->nindex; d++) {
            value[u->index[d]->id] = u->index[d]->extent == 1 ? zero : NULL;
            if (u->index[d]->extent == 1) continue;
            index[u->index[d]->id] = arena_printf(arena, "x%d", depth++);
            text_printf(&out, "%lld %s", (long long)u->index[d]->extent, kind_name[u->of[d]->kind]);
            for (int c = 0; c < u->of[d]->nconstraints; c++) {
                text_add(&out, ", ");
                affine_print(&out, affine_substitute(x, u->of[d]->constraint[c], value, NULL),
                             &names);
            }
            text_char(&out, '\n');
        }
        access_print(&out, access_substitute(x, u->leaf->write, value, NULL, NULL, NULL), &names);
        text_printf(&out, " %s ", reduce_name[u->leaf->op]);
        expr_print(&out, expr_substitute(x, u->leaf->value, value, NULL, NULL, NULL), &names);
        text_char(&out, '\n');
        before = u;
    }
    return text_str(&out);
}

static void check_text(PathPrinter *w) {
    Arena *arena = w->arena;
    DiagList found = {.arena = arena};
    TemlOptions options = {.trust = TEML_PROVEN};
    Source *source = arena_new(arena, Source);
    *source = (Source){"<path>", text_str(&w->out), (uint32_t)w->out.len};
    TemlResult r = teml_parse(arena, arena, w->p->names, source, &options, &found);
    if (found.errors || r.module->trees.n != 1) {
        no_path(w, found.items.n ? found.items.at[0]->text : "it does not run");
        return;
    }
    if (strcmp(loops_text(arena, r.module->trees.at[0]), loops_text(arena, w->t)))
        no_path(w, "those of TeML have other guards, temporaries or values");
}

// A Schedule may merge dimensions (`flatten`); the function then has other arguments.
static bool has_own_arguments(const Tree *t) {
    const Program *p = t->program, *given = t->given;
    for (int i = 0; given && i < given->ninputs + given->noutputs; i++) {
        const Tensor *a = &p->tensors.at[i], *b = &given->tensors.at[i];
        if (a->rank != b->rank) return true;
        for (int d = 0; d < a->rank; d++)
            if (tensor_size(a, d) != tensor_size(b, d)) return true;
    }
    return false;
}

const char *teml_path(Arena *arena, const Tree *t, DiagList *diags) {
    PathPrinter w = {.arena = arena, .t = t, .p = t->program, .out.arena = arena};
    for (int k = 0; k < PROGRAM_MAX_ITERS; k++)
        w.iters[k] = name_of(t->names, arena_printf(arena, "i%d", k + 1));
    if (has_own_arguments(t)) no_path(&w, "the Schedule merges dimensions of arguments");
    if (t->given && t->given->tensors.n < w.p->tensors.n)
        no_path(&w, "the Schedule adds tensors: copies, or partial results");
    if (t->prefetches.n) no_path(&w, "it prefetches");
    if (!w.why) facts_collect(&w.facts, arena, t);
    if (!w.why) find_uses(&w);
    if (!w.why) print_tensors(&w);
    for (int s = 0; s < w.p->stmts.n && !w.why; s++) print_assignment(&w, &w.p->stmts.at[s]);
    if (!w.why) print_loops(&w);
    if (!w.why) check_text(&w);
    if (!w.why) return text_str(&w.out);
    diag_report(diags, (Range){0, 0}, DIAG_TEML_REFUSED,
                arena_printf(arena, "no TeML path makes these loops: %s", w.why));
    return NULL;
}
