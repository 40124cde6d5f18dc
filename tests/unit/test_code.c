// What the x86-64 generator refuses, and what it says then.
#include "check.h"

#include "code/code.h"
#include "support/proglab.h"
#include "tree/schedule.h"

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
    CHECK(!code_x86(&lab.arena, t, &m, &code, &lab.diags));
    CHECK_STR_EQ(lab_errors(&lab), "error: the x86-64 back-end declines this program: division of "
                                   "indices by a variable\n");
    lab_end(&lab);
}
