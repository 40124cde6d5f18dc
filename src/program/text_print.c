// Programs as text; the language is described in docs/program-text.md, the parser is text_parse.c.
//
//     program mv(M, K) {
//         input A: f32[M, K]
//         input x: f32[K]
//         output C: f32[M]
//
//         C: for i in 0:M, k in 0:K
//             C[i] +=! A[i, k]*x[k]
//     }
#include "program/program.h"

#include <string.h>

static const char *const role_name[] = {"input", "output", "inout", "temp"};

typedef struct Printer {
    Text *out;
    const Program *p;
    PrintNames names;
    VEC(int) blocks; // per open block: the serial iterators up to it
} Printer;

// Before inference some sizes are not known (`?`), nor are some ranges, and there are no labels.
static void print_list(Printer *pr, const Affine *const *a, int n) {
    text_char(pr->out, '[');
    for (int d = 0; d < n; d++) {
        if (d) text_add(pr->out, ", ");
        if (a[d])
            affine_print(pr->out, a[d], &pr->names);
        else
            text_char(pr->out, '?');
    }
    text_char(pr->out, ']');
}

static void print_head(Printer *pr) {
    const Program *p = pr->p;
    text_add(pr->out, "program ");
    name_print(pr->out, p->name);
    if (p->params.n) text_char(pr->out, '(');
    for (int i = 0; i < p->params.n; i++) {
        const Param *param = &p->params.at[i];
        if (i) text_add(pr->out, ", ");
        name_print(pr->out, param->name);
        if (param->kind == PARAM_SCALAR) text_printf(pr->out, ": %s", type_info[param->type].name);
    }
    text_add(pr->out, p->params.n ? ") {\n" : " {\n");
}

static void print_tensor(Printer *pr, const Tensor *t) {
    bool shifted = false;
    text_printf(pr->out, "    %s ", role_name[t->role]);
    name_print(pr->out, t->name);
    text_printf(pr->out, ": %s", type_info[t->type].name);
    print_list(pr, t->size, t->rank);
    for (int d = 0; d < t->rank; d++) shifted |= t->origin[d] && !affine_is(t->origin[d], 0);
    if (shifted) text_add(pr->out, " from "), print_list(pr, t->origin, t->rank);
    text_char(pr->out, '\n');
}

static void print_require(Printer *pr, const Require *r) {
    text_add(pr->out, r->warn ? "    expect " : "    require ");
    affine_print(pr->out, r->what, &pr->names);
    text_add(pr->out, " >= 0");
    if (r->why) {
        text_add(pr->out, " \"");
        text_escape(pr->out, r->why, '"');
        text_char(pr->out, '"');
    }
    text_char(pr->out, '\n');
}

// --- Statements --------------------------------------------------------------------------------

static bool name_taken(const Program *p, const Stmt *st, const Name *given, Name name, int self) {
    for (int i = 0; i < p->params.n; i++)
        if (!strcmp(p->params.at[i].name, name)) return true;
    for (int i = 0; i < st->niters; i++)
        if (i != self && !strcmp(i < self ? given[i] : st->iter[i].name, name)) return true;
    return false;
}

// (Compared by spelling: printing interns nothing, so that several threads may print a Program.)
void program_name_iters(Arena *arena, const Program *p, const Stmt *st, Name *names) {
    for (int i = 0; i < st->niters; i++) {
        Name name = names[i] = st->iter[i].name;
        for (int k = 1; name_taken(p, st, names, names[i], i); k++)
            names[i] = arena_printf(arena, "%s.%d", name, k);
    }
}

static void print_iters(Printer *pr, const Stmt *st, int from, int to) {
    for (int i = from; i < to; i++) {
        text_add(pr->out, i > from ? ", " : "for ");
        name_print(pr->out, pr->names.iters[i]);
        if (!st->iter[i].hi) continue; // not inferred yet
        text_add(pr->out, " in ");
        affine_print(pr->out, st->iter[i].lo, &pr->names);
        text_char(pr->out, ':');
        affine_print(pr->out, st->iter[i].hi, &pr->names);
    }
}

static void print_domain(Printer *pr, const Stmt *st) {
    if (st->niters > st->serial) text_char(pr->out, ' ');
    print_iters(pr, st, st->serial, st->niters);
    for (int c = 0; c < st->nconstraints; c++) {
        text_add(pr->out, c ? ", " : " if ");
        affine_print(pr->out, st->constraint[c], &pr->names);
        text_add(pr->out, " >= 0");
    }
}

static void indent(Printer *pr) {
    for (int i = 0; i <= pr->blocks.n; i++) text_add(pr->out, "    ");
}

// Closes the blocks of serial iterators until at most `joined` of these are open.
static void close_blocks(Printer *pr, int joined) {
    while (pr->blocks.n && vec_last(&pr->blocks) > joined) {
        pr->blocks.n--;
        indent(pr);
        text_add(pr->out, "}\n");
    }
}

static void open_block(Printer *pr, const Stmt *st) {
    int open = pr->blocks.n ? vec_last(&pr->blocks) : 0;
    if (st->serial == open) return;
    text_char(pr->out, '\n');
    indent(pr);
    print_iters(pr, st, open, st->serial);
    text_add(pr->out, " {");
    vec_push(pr->out->arena, &pr->blocks, st->serial);
}

static void print_stmt(Printer *pr, const Stmt *st) {
    Name iters[PROGRAM_MAX_ITERS];
    program_name_iters(pr->out->arena, pr->p, st, iters);
    pr->names.iters = iters;
    close_blocks(pr, st->joined);
    open_block(pr, st);
    text_char(pr->out, '\n');
    indent(pr);
    name_print(pr->out, st->label ? st->label : pr->p->tensors.at[st->write->tensor].name);
    text_char(pr->out, ':');
    print_domain(pr, st);
    if (st->post) text_add(pr->out, " post");
    if (st->unchecked) text_add(pr->out, " unchecked");
    if (st->hint) {
        text_add(pr->out, " hint \"");
        text_escape(pr->out, st->hint, '"');
        text_char(pr->out, '"');
    }
    text_char(pr->out, '\n');
    indent(pr);
    text_add(pr->out, "    ");
    access_print(pr->out, st->write, &pr->names);
    text_printf(pr->out, " %s%s ", reduce_name[st->op], st->init ? "!" : "");
    expr_print(pr->out, st->value, &pr->names);
    text_char(pr->out, '\n');
}

void program_print(Text *out, const Program *p) {
    Name *params = arena_new_n(out->arena, Name, p->params.n);
    Name *tensors = arena_new_n(out->arena, Name, p->tensors.n);
    for (int i = 0; i < p->params.n; i++) params[i] = p->params.at[i].name;
    for (int i = 0; i < p->tensors.n; i++) tensors[i] = p->tensors.at[i].name;
    Printer pr = {.out = out, .p = p, .names = {.params = params, .tensors = tensors}};
    print_head(&pr);
    for (int i = 0; i < p->tensors.n; i++) print_tensor(&pr, &p->tensors.at[i]);
    for (int i = 0; i < p->preconditions.n; i++) print_require(&pr, &p->preconditions.at[i]);
    for (int i = 0; i < p->stmts.n; i++) print_stmt(&pr, &p->stmts.at[i]);
    close_blocks(&pr, 0);
    text_add(out, "}\n");
}
