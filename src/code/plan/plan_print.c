// Prints a Plan for LW_DUMP=plan: the lines of the Tree, with the decisions about each loop, guard
// and leaf after `#`, then the pointers and the declined optimisations.
//
//     for m in 11                    # machine loop
//       for m.1 in 6 where ...       # region of 2 nodes, unrolled
//         for n in 16 vector         # 2 vectors of 8 lanes, unrolled
//           C[6*m + m.1, n] = 0.0    # 8 lanes
//       for k in 64                  # machine loop, 8 copies of the body
//         ...
//     pointer 0: C + 384*m
#include "code/plan/plan.h"

enum { COLUMN = 48 }; // where decisions begin

typedef struct PlanPrinter {
    Text *out;
    const Plan *p;
    TreeLines lines;
    bool any;   // the line has a decision
    int region; // nodes of the region that begins at the next line; 0: none
} PlanPrinter;

// The loop's name in the Tree's text.
static const char *loop_name(const PlanPrinter *x, int loop) {
    int line = x->p->loop[loop]->line;
    Name name = line > 0 && line < x->lines.n ? x->lines.at[line].loop : NULL;
    return name ? name : "?";
}

static void begin(PlanPrinter *x, const PNode *n, int depth) {
    const char *text = n->line > 0 && n->line < x->lines.n ? x->lines.at[n->line].text : "";
    size_t start = x->out->len;
    if (n->kind == P_GUARD) text = "if";
    text_printf(x->out, "%*s%s", 2 * depth, "", text);
    int pad = COLUMN - (int)(x->out->len - start);
    text_printf(x->out, "%*s", pad > 1 ? pad : 1, "");
    x->any = false;
}

#define DECISION(x, ...)                                                                           \
    (text_add((x)->out, (x)->any ? ", " : "# "), (x)->any = true,                                  \
     text_printf((x)->out, __VA_ARGS__))

static void print_loop(PlanPrinter *x, const PNode *n) {
    long long extent = (long long)n->extent;
    if (n->threads.parallel) {
        DECISION(x, "parallel, at least %lld iterations per task", (long long)n->threads.grain);
        if (n->threads.collapse) DECISION(x, "with %d loops below it", n->threads.collapse);
    }
    if (n->simd.vector) {
        int lanes = n->simd.lanes;
        long long vectors = (extent + lanes - 1) / lanes;
        DECISION(x, "%lld vector%s of %d lanes", vectors, vectors == 1 ? "" : "s", lanes);
    }
    if (n->form.real)
        DECISION(x, "machine loop");
    else if (extent > 1)
        DECISION(x, "unrolled");
    if (n->form.unroll > 1) DECISION(x, "%d copies of the body", n->form.unroll);
}

static void print_leaf(PlanPrinter *x, const PNode *n) {
    if (n->simd.width > 1) DECISION(x, "%d lanes", n->simd.width);
    if (n->dot.n > 1) DECISION(x, "%d products per instruction", n->dot.n);
    if (n->form.split > 1) DECISION(x, "%d partial sums", n->form.split);
}

static void print_node(PlanPrinter *x, const PNode *n, int depth) {
    bool shown = n->kind != P_GUARD || n->nconds + n->nhard > 0;
    if (n->form.region) x->region = n->form.region;
    if (shown) {
        begin(x, n, depth);
        if (x->region > 1) DECISION(x, "region of %d nodes", x->region);
        if (x->region == 1) DECISION(x, "region");
        x->region = 0;
        if (n->kind == P_LOOP) print_loop(x, n);
        if (n->kind == P_LEAF) print_leaf(x, n);
        if (n->kind == P_GUARD) DECISION(x, "conditions: %d", n->nconds + n->nhard);
        while (x->out->len && x->out->s[x->out->len - 1] == ' ') x->out->len--;
        text_char(x->out, '\n');
    }
    for (int i = 0; i < n->nchild; i++) print_node(x, n->child[i], depth + shown);
}

static void print_streams(PlanPrinter *x) {
    const Plan *p = x->p;
    for (int i = 0; i < p->streams.n; i++) {
        const Stream *s = &p->streams.at[i];
        text_printf(x->out, "pointer %d: %s", i, p->tree->buffers.at[s->buffer].name);
        for (int k = 0; k < s->n; k++)
            text_printf(x->out, " + %lld*%s", (long long)s->t[k].k, loop_name(x, s->t[k].loop));
        text_char(x->out, '\n');
    }
}

static void print_loss(PlanPrinter *x, const CodeLoss *l) {
    if (!l->why) return;
    text_printf(x->out, "line %d: ", l->line);
    loss_print(x->out, l);
    text_char(x->out, '\n');
}

void plan_print(Text *out, const Plan *p) {
    PlanPrinter x = {.out = out, .p = p, .lines = tree_show_lines(out->arena, p->tree)};
    print_node(&x, p->root, 0);
    print_streams(&x);
    for (int i = 0; i < p->losses.n; i++) print_loss(&x, &p->losses.at[i]);
    for (int i = 0; i < p->leaves.n; i++) print_loss(&x, &p->leaves.at[i]->form.spill);
}
