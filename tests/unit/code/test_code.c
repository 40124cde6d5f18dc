// Trees that the x86-64 generator refuses, and its diagnostics.
#include "unit/check.h"

#include "code/code.h"
#include "support/proglab.h"
#include "sched/schedule.h"
#include "target/target.h"

// Division of an index by an index has no instruction sequence here.
TEST(code_says_what_it_declines) {
    Lab lab;
    lab_begin(&lab);
    Machine m;
    machine_describe(&m, ISA_AVX512);
    Exprs *x = arena_new(&lab.arena, Exprs);
    exprs_init(x, &lab.arena);
    Tree *t = tree_new(&lab.arena, x, &lab.names);
    int64_t size = 4, stride = 1;
    int b = tree_buffer(t, &(Buffer){.name = name_of(&lab.names, "A"),
                                     .type = TYPE_F32,
                                     .tensor = -1,
                                     .rank = 1,
                                     .size = &size,
                                     .stride = &stride,
                                     .bank_dim = -1});
    t->nargs = 1;
    Index i = tree_index(t, name_of(&lab.names, "i"), 4);
    const Affine *at =
        affine_div(x, affine_iter(x, i.id), affine_add_const(x, affine_iter(x, i.id), 1));
    Leaf leaf = {.node = {.kind = NODE_LEAF, .ndeps = -1},
                 .op = REDUCE_ASSIGN,
                 .stmt = -1,
                 .write = access_make(x, b, 1, &at),
                 .value = expr_float(x, TYPE_F32, 1)};
    const Node *children[] = {&tree_leaf(t, &leaf)->node};
    const Node *loops[] = {&tree_loop(t, KIND_SERIAL, i, children, 1)->node};
    t->root = tree_block(t, &(Block){.node = {.kind = NODE_BLOCK, .ndeps = -1}}, loops, 1);
    Code code;
    CHECK(!target_compile(&target_x86, &lab.arena, t, &m, &code, NULL, &lab.diags));
    CHECK_STR_EQ(lab_errors(&lab), "error: the code generator declines this program: division of "
                                   "indices by a variable\n");
    lab_end(&lab);
}

// The line numbers of tree_lines by leaf: the position of its statement in the text.
typedef struct LeafLines {
    const int *line;
    int node, n, at[8];
} LeafLines;

static bool note_leaf(void *user, const Node *node, int depth, const Block *parent) {
    (void)depth, (void)parent;
    LeafLines *l = user;
    if (node->kind == NODE_LEAF && l->n < 8) l->at[l->n++] = l->line[l->node];
    l->node++;
    return true;
}

static const char *nth_line(const char *text, int n) {
    while (--n > 0 && text) text = strchr(text, '\n') ? strchr(text, '\n') + 1 : NULL;
    return text;
}

// Every statement and loop has instructions, in a sorted table within the code.
TEST(code_knows_the_lines_of_its_tree) {
    Lab lab;
    lab_begin(&lab);
    const Program *p = lab_program(&lab,
                                   "program mm { input A: f32[50, 700] input B: f32[700, 90]\n"
                                   "output C: f32[50, 90]\n"
                                   "C: for i in 0:50, j in 0:90, k in 0:700\n"
                                   "  C[i, j] +=! A[i, k]*B[k, j] }",
                                   NULL);
    if (!CHECK(p)) return;
    Tree *t = tree_lower(&lab.arena, p, NULL, &lab.diags);
    Text text = {.arena = &lab.arena};
    tree_show(&text, t, false);
    LeafLines leaves = {.line = tree_lines(&lab.arena, t)};
    tree_walk(t, note_leaf, &leaves);
    CHECK(leaves.n == 2);
    CHECK(strstr(nth_line(text_str(&text), leaves.at[0]), "C[i, j] = 0"));
    CHECK(strstr(nth_line(text_str(&text), leaves.at[1]), "C[i, j] += "));
    Machine m;
    Code code;
    machine_describe(&m, ISA_AVX512);
    CHECK(target_compile(&target_x86, &lab.arena, t, &m, &code, NULL, &lab.diags));
    bool seen[32] = {false};
    CHECK(code.nlines > 0 && code.lines[0].offset == 0);
    for (int i = 0; i < code.nlines; i++) {
        CHECK(code.lines[i].offset < code.size && code.lines[i].line < 32);
        CHECK(!i || (code.lines[i - 1].offset < code.lines[i].offset &&
                     code.lines[i - 1].line != code.lines[i].line));
        seen[code.lines[i].line] = true;
    }
    for (int line = 0; nth_line(text_str(&text), line) && *nth_line(text_str(&text), line); line++)
        CHECK(seen[line] || (printf("no code for line %d\n", line), false));
    lab_end(&lab);
}
