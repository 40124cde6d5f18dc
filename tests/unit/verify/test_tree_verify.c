// Every refusal of the verifier, each with its witness. Trees are built by hand: a loop over x with
// N iterations, of some kind, with leaves inside.
#include "verify/verify.h"
#include "unit/tree_run.h"

typedef struct Hand {
    TreeRun r;
    Exprs exprs;
    Tree *t;
    const Node *node[8]; // children of the loop
    int n;
} Hand;

static void hand_begin(Hand *h) {
    tr_init(&h->r);
    exprs_init(&h->exprs, &h->r.arena);
    h->t = tree_new(&h->r.arena, &h->exprs, &h->r.names);
    h->n = 0;
}

static int hand_buffer(Hand *h, const char *name, BufferHome home, int64_t n, int64_t m) {
    Buffer b = {.name = name_of(&h->r.names, name),
                .type = TYPE_F32,
                .home = home,
                .tensor = -1,
                .rank = m ? 2 : 1,
                .size = (int64_t[]){n, m},
                .stride = (int64_t[]){m ? m : 1, 1},
                .bank_dim = -1};
    int number = tree_buffer(h->t, &b);
    if (home == HOME_ARGUMENT) h->t->nargs = number + 1;
    return number;
}

static Index hand_index(Hand *h, const char *name, int64_t extent) {
    return tree_index(h->t, name_of(&h->r.names, name), extent);
}

// k*i + c
static const Affine *at(Hand *h, int64_t k, Index i, int64_t c) {
    Exprs *x = &h->exprs;
    return affine_add_const(x, affine_scale(x, affine_iter(x, i.id), k), c);
}

static const Expr *hand_read(Hand *h, int buffer, const Affine *sub) {
    return expr_read(&h->exprs, TYPE_F32, access_make(&h->exprs, buffer, 1, &sub));
}

static const Node *hand_leaf(Hand *h, int buffer, const Affine *sub, Reduce op, const Expr *value) {
    Leaf leaf = {.node.ndeps = -1,
                 .op = op,
                 .write = access_make(&h->exprs, buffer, 1, &sub),
                 .value = value ? value : expr_float(&h->exprs, TYPE_F32, 1.0),
                 .stmt = -1};
    return &tree_leaf(h->t, &leaf)->node;
}

static const Node *hand_loop(Hand *h, Kind kind, Index i) {
    const Node *loop = &tree_loop(h->t, kind, i, h->node, h->n)->node;
    h->n = 0;
    return loop;
}

static const char *hand_verify(Hand *h, const Node *const *child, int n, const int *alloc,
                               int nallocs) {
    Block root = {.node.ndeps = -1, .alloc = alloc, .nallocs = nallocs};
    h->t->root = tree_block(h->t, &root, child, n);
    h->r.diags.items.n = h->r.diags.errors = 0;
    VerifyAnswer a = tree_verify(&h->r.arena, h->t, NULL, &h->r.diags);
    CHECK(a == VERIFY_OK || h->r.diags.errors > 0);
    return tr_diags(&h->r);
}

static const char *verify_loop(Hand *h, Kind kind, Index i) {
    const Node *loop = hand_loop(h, kind, i);
    return hand_verify(h, &loop, 1, NULL, 0);
}

static const Kind bound_kinds[] = {KIND_ANY,      KIND_PARALLEL, KIND_VECTOR,  KIND_GRID_X,
                                   KIND_THREAD_X, KIND_GRID_Z,   KIND_THREAD_Y};

TEST(unordered_blocks_assign_each_element_once) {
    for (size_t k = 0; k < sizeof bound_kinds / sizeof *bound_kinds; k++) {
        Hand h;
        hand_begin(&h);
        int c = hand_buffer(&h, "C", HOME_ARGUMENT, 4, 0);
        Index i = hand_index(&h, "i", 4);
        h.node[h.n++] = hand_leaf(&h, c, at(&h, 0, i, 2), REDUCE_ASSIGN, NULL);
        const char *want =
            arena_printf(&h.r.arena,
                         "error: the loop over 'i' is %s, but iterations (i=0) and (i=1) both "
                         "assign C[2] (output dependence)\n",
                         kind_name[bound_kinds[k]]);
        CHECK_STR_EQ(verify_loop(&h, bound_kinds[k], i), want);
        h.node[h.n++] = hand_leaf(&h, c, at(&h, 0, i, 2), REDUCE_ASSIGN, NULL);
        CHECK_STR_EQ(verify_loop(&h, KIND_SERIAL, i), "");
        h.node[h.n++] = hand_leaf(&h, c, at(&h, 0, i, 2), REDUCE_ADD, NULL); // the same operator
        CHECK_STR_EQ(verify_loop(&h, bound_kinds[k], i), "");
        h.node[h.n++] = hand_leaf(&h, c, at(&h, -1, i, 3), REDUCE_ASSIGN, NULL);
        CHECK_STR_EQ(verify_loop(&h, bound_kinds[k], i), "");
        tr_end(&h.r);
    }
}

TEST(unordered_blocks_read_nothing_that_another_iteration_writes) {
    Hand h;
    hand_begin(&h);
    int c = hand_buffer(&h, "C", HOME_ARGUMENT, 5, 0);
    Index i = hand_index(&h, "i", 4);
    h.node[h.n++] =
        hand_leaf(&h, c, at(&h, 1, i, 0), REDUCE_ASSIGN, hand_read(&h, c, at(&h, 1, i, 1)));
    CHECK_STR_EQ(verify_loop(&h, KIND_PARALLEL, i),
                 "error: the loop over 'i' is parallel, but iteration (i=0) reads C[1], which "
                 "iteration (i=1) writes (anti dependence)\n");
    h.node[h.n++] = // the other way round
        hand_leaf(&h, c, at(&h, 1, i, 1), REDUCE_ASSIGN, hand_read(&h, c, at(&h, 1, i, 0)));
    CHECK_STR_EQ(verify_loop(&h, KIND_PARALLEL, i),
                 "error: the loop over 'i' is parallel, but iteration (i=1) reads C[1], which "
                 "iteration (i=0) writes (flow dependence)\n");
    h.node[h.n++] =
        hand_leaf(&h, c, at(&h, 1, i, 0), REDUCE_ASSIGN, hand_read(&h, c, at(&h, 1, i, 0)));
    CHECK_STR_EQ(verify_loop(&h, KIND_PARALLEL, i), "");
    h.node[h.n++] =
        hand_leaf(&h, c, at(&h, 2, i, -3), REDUCE_ASSIGN, hand_read(&h, c, at(&h, 2, i, -2)));
    CHECK(strstr(verify_loop(&h, KIND_ANY, i), "outside 'C'")); // C[-3]
    tr_end(&h.r);
}

TEST(unordered_blocks_carry_aggregations_by_one_operator_only) {
    Hand h;
    hand_begin(&h);
    int c = hand_buffer(&h, "C", HOME_ARGUMENT, 1, 0);
    Index i = hand_index(&h, "i", 3);
    const Affine *zero = at(&h, 0, i, 0);
    static const Reduce ops[] = {REDUCE_ADD, REDUCE_MUL, REDUCE_MIN, REDUCE_MAX};
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++) {
            h.node[h.n++] = hand_leaf(&h, c, zero, ops[a], NULL);
            h.node[h.n++] = hand_leaf(&h, c, zero, ops[b], NULL);
            const char *want =
                a == b ? ""
                       : arena_printf(&h.r.arena,
                                      "error: the loop over 'i' is any, but iterations (i=0) and "
                                      "(i=1) combine into C[0] with '%s' and with '%s' "
                                      "(output dependence)\n",
                                      reduce_name[ops[a]], reduce_name[ops[b]]);
            CHECK_STR_EQ(verify_loop(&h, KIND_ANY, i), want);
        }
    h.node[h.n++] = hand_leaf(&h, c, zero, REDUCE_ADD, hand_read(&h, c, zero));
    CHECK_STR_EQ(verify_loop(&h, KIND_PARALLEL, i),
                 "error: the loop over 'i' is parallel, but iterations (i=0) and (i=1) both "
                 "access C[0], other than by one aggregation (anti dependence)\n");
    h.node[h.n++] = hand_leaf(&h, c, zero, REDUCE_ASSIGN, NULL);
    h.node[h.n++] = hand_leaf(&h, c, zero, REDUCE_ADD, NULL);
    CHECK(strstr(verify_loop(&h, KIND_VECTOR, i), "other than by one aggregation"));
    tr_end(&h.r);
}

TEST(accesses_stay_inside_buffers_and_views) {
    Hand h;
    hand_begin(&h);
    int c = hand_buffer(&h, "C", HOME_ARGUMENT, 4, 0);
    Index i = hand_index(&h, "i", 4);
    h.node[h.n++] = hand_leaf(&h, c, at(&h, 1, i, 1), REDUCE_ASSIGN, NULL);
    CHECK_STR_EQ(verify_loop(&h, KIND_SERIAL, i),
                 "error: iteration (i=3) accesses C[4], outside 'C'\n");
    // A guard keeps it inside.
    const Affine *guard = at(&h, -1, i, 2);
    const Node *leaf = hand_leaf(&h, c, at(&h, 1, i, 1), REDUCE_ASSIGN, NULL);
    h.node[h.n++] = &tree_guard(h.t, &guard, 1, leaf)->node;
    CHECK_STR_EQ(verify_loop(&h, KIND_SERIAL, i), "");
    // A view of elements i .. i+1, an access to i+2.
    const Affine *offset = at(&h, 1, i, 0);
    BlockView view = {.dir = VIEW_INOUT, .buffer = c, .offset = &offset, .size = (int64_t[]){2}};
    Block b = {.node.ndeps = -1, .nindex = 1, .index = &i, .nviews = 1, .view = &view};
    const Affine *two = at(&h, -1, i, 1);
    b.constraint = &two;
    b.nconstraints = 1;
    leaf = hand_leaf(&h, c, at(&h, 1, i, 2), REDUCE_ASSIGN, NULL);
    const Node *block = &tree_block(h.t, &b, &leaf, 1)->node;
    CHECK(strstr(hand_verify(&h, &block, 1, NULL, 0),
                 "error: iteration (i=0) accesses C[2], outside a view of 'C' around it"));
    // The view itself against the buffer: 4 iterations of two elements reach C[4].
    b.nconstraints = 0;
    leaf = hand_leaf(&h, c, at(&h, 1, i, 0), REDUCE_ASSIGN, NULL);
    block = &tree_block(h.t, &b, &leaf, 1)->node;
    CHECK_STR_EQ(hand_verify(&h, &block, 1, NULL, 0),
                 "error: iteration (i=3) has a view that reaches C[4], outside the enclosing "
                 "view of 'C'\n");
    // And against its parent's.
    Index j = hand_index(&h, "j", 2);
    const Affine *none = at(&h, 0, j, 1), *of_j = at(&h, 1, j, 1);
    BlockView outer = {.dir = VIEW_OUT, .buffer = c, .offset = &none, .size = (int64_t[]){1}};
    view.offset = &of_j;
    view.size = (int64_t[]){1};
    Block inner = {.node.ndeps = -1, .nindex = 1, .index = &j, .nviews = 1, .view = &view};
    Block around = {.node.ndeps = -1, .nviews = 1, .view = &outer};
    leaf = hand_leaf(&h, c, at(&h, 1, j, 1), REDUCE_ASSIGN, NULL);
    block = &tree_block(h.t, &inner, &leaf, 1)->node;
    const Node *top = &tree_block(h.t, &around, &block, 1)->node;
    CHECK(strstr(hand_verify(&h, &top, 1, NULL, 0),
                 "error: iteration (j=1) has a view that reaches C[2]"));
    view.dir = VIEW_IN;
    block = &tree_block(h.t, &inner, &leaf, 1)->node;
    CHECK(strstr(hand_verify(&h, &block, 1, NULL, 0),
                 "error: 'C' is written through a view that is only 'in'"));
    tr_end(&h.r);
}

TEST(scratch_is_written_before_it_is_read) {
    Hand h;
    hand_begin(&h);
    int c = hand_buffer(&h, "C", HOME_ARGUMENT, 12, 0), t = hand_buffer(&h, "T", HOME_AUTO, 12, 0);
    Index o = hand_index(&h, "o", 3), w = hand_index(&h, "w", 4), r = hand_index(&h, "r", 12);
    const Affine *sub = affine_add(&h.exprs, at(&h, 4, o, 0), at(&h, 1, w, 0));
    h.node[h.n++] = hand_leaf(&h, t, sub, REDUCE_ASSIGN, NULL);
    const Node *inner = hand_loop(&h, KIND_SERIAL, w);
    h.node[h.n++] = inner;
    const Node *writer = hand_loop(&h, KIND_SERIAL, o);
    h.node[h.n++] =
        hand_leaf(&h, c, at(&h, 1, r, 0), REDUCE_ASSIGN, hand_read(&h, t, at(&h, 1, r, 0)));
    const Node *reader = hand_loop(&h, KIND_SERIAL, r);
    const Node *good[] = {writer, reader}, *bad[] = {reader, writer};
    CHECK_STR_EQ(hand_verify(&h, good, 2, &t, 1), "");
    CHECK_STR_EQ(hand_verify(&h, bad, 2, &t, 1),
                 "error: iteration (r=0) reads T[0] before anything writes it\n");
    // A guard excludes the last element.
    const Affine *guard = affine_add_const(&h.exprs, affine_scale(&h.exprs, sub, -1), 10);
    h.node[h.n++] = &tree_guard(h.t, &guard, 1, hand_leaf(&h, t, sub, REDUCE_ASSIGN, NULL))->node;
    inner = hand_loop(&h, KIND_SERIAL, w);
    h.node[h.n++] = inner;
    const Node *partly[] = {hand_loop(&h, KIND_SERIAL, o), reader};
    CHECK_STR_EQ(hand_verify(&h, partly, 2, &t, 1),
                 "error: iteration (r=11) reads T[11] before anything writes it\n");
    tr_end(&h.r);
}

TEST(indices_and_buffers_are_in_scope) {
    Hand h;
    hand_begin(&h);
    int c = hand_buffer(&h, "C", HOME_ARGUMENT, 4, 0), t = hand_buffer(&h, "T", HOME_AUTO, 4, 0);
    Index i = hand_index(&h, "i", 4), j = hand_index(&h, "j", 4);
    h.node[h.n++] = hand_leaf(&h, c, at(&h, 1, j, 0), REDUCE_ASSIGN, NULL);
    CHECK_STR_EQ(verify_loop(&h, KIND_SERIAL, i),
                 "error: an affine uses index 1 outside the block that has it\n");
    h.node[h.n++] = hand_leaf(&h, c, at(&h, 1, i, 0), REDUCE_ASSIGN, NULL);
    h.node[0] = hand_loop(&h, KIND_SERIAL, i);
    h.n = 1;
    CHECK_STR_EQ(verify_loop(&h, KIND_SERIAL, i),
                 "error: index 'i' (number 0) is not unique among the indices around it\n");
    h.node[h.n++] = hand_leaf(&h, t, at(&h, 1, i, 0), REDUCE_ASSIGN, NULL);
    CHECK_STR_EQ(verify_loop(&h, KIND_SERIAL, i),
                 "error: 'T' (buffer 1) is used outside the block that allocates it\n");
    h.node[h.n++] = hand_leaf(&h, 7, at(&h, 1, i, 0), REDUCE_ASSIGN, NULL);
    CHECK(strstr(verify_loop(&h, KIND_SERIAL, i),
                 "a leaf names buffer 7, which does not exist or cannot stand there"));
    h.node[h.n++] = hand_leaf(&h, c, at(&h, 1, i, 0), REDUCE_ASSIGN, NULL);
    Block again = {.node.ndeps = -1, .nallocs = 1, .alloc = &t};
    const Node *block = &tree_block(h.t, &again, h.node, 0)->node;
    CHECK(strstr(hand_verify(&h, &block, 1, &t, 1),
                 "'T' (buffer 1) is allocated again inside the block that allocates it"));
    CHECK(strstr(hand_verify(&h, &block, 0, &c, 1),
                 "an allocation names buffer 0, which does not exist or cannot stand there"));
    const Affine *two[] = {at(&h, 1, i, 0), at(&h, 1, i, 0)};
    Leaf leaf = {.write = access_make(&h.exprs, c, 2, two),
                 .value = expr_float(&h.exprs, TYPE_F32, 0),
                 .stmt = -1};
    h.n = 0;
    h.node[h.n++] = &tree_leaf(h.t, &leaf)->node;
    CHECK(strstr(verify_loop(&h, KIND_SERIAL, i),
                 "'C' is used with 2 subscripts, which is not its number of dimensions"));
    tr_end(&h.r);
}

TEST(indices_are_affine_and_fit) {
    Hand h;
    hand_begin(&h);
    Exprs *x = &h.exprs;
    int c = hand_buffer(&h, "C", HOME_ARGUMENT, 4, 0);
    Index i = hand_index(&h, "i", 4);
    h.node[h.n++] =
        hand_leaf(&h, c, affine_mul(x, at(&h, 1, i, 0), at(&h, 1, i, 0)), REDUCE_ASSIGN, NULL);
    CHECK(strstr(verify_loop(&h, KIND_SERIAL, i), "not proven: an index is a product of indices"));
    h.node[h.n++] =
        hand_leaf(&h, c, affine_div(x, affine_const(x, 3), at(&h, 1, i, 1)), REDUCE_ADD, NULL);
    CHECK(strstr(verify_loop(&h, KIND_SERIAL, i), "not proven: an index divides by"));
    h.node[h.n++] = hand_leaf(&h, c, affine_param(x, 0), REDUCE_ADD, NULL);
    CHECK(strstr(verify_loop(&h, KIND_SERIAL, i), "is not an affine function of indices"));
    h.node[h.n++] = hand_leaf(&h, c, at(&h, INT64_MAX / 2, i, 0), REDUCE_ADD, NULL);
    CHECK_STR_EQ(verify_loop(&h, KIND_SERIAL, i),
                 "error: the range of an index expression overflows 56 bits\n");
    Index bad = hand_index(&h, "n", -1);
    h.node[h.n++] = hand_leaf(&h, c, at(&h, 0, bad, 0), REDUCE_ADD, NULL);
    CHECK(
        strstr(verify_loop(&h, KIND_SERIAL, bad),
               "index 'n' has extent -1; expected at least 0, and 1 where its value is passed in"));
    const Node *node = hand_leaf(&h, c, at(&h, 0, i, 0), REDUCE_ADD, NULL);
    for (int k = 0; k < TREE_MAX_DEPTH + 1; k++)
        node = &tree_loop(h.t, KIND_SERIAL, hand_index(&h, "d", 1), &node, 1)->node;
    CHECK_STR_EQ(hand_verify(&h, &node, 1, NULL, 0),
                 "error: more nested blocks than the limit of 64\n");
    int64_t huge = INT64_MAX / 2;
    hand_buffer(&h, "H", HOME_ARGUMENT, huge, 0);
    CHECK_STR_EQ(hand_verify(&h, &node, 0, NULL, 0), "error: the range of H overflows 64 bits\n");
    tr_end(&h.r);
}

TEST(specials_are_verified_by_their_expansion) {
    Hand h;
    hand_begin(&h);
    int c = hand_buffer(&h, "C", HOME_ARGUMENT, 4, 0);
    Index i = hand_index(&h, "i", 2);
    const Affine *from = at(&h, 0, i, 0);
    BlockView view = {.dir = VIEW_OUT, .buffer = c, .offset = &from, .size = (int64_t[]){4}};
    Special zero = {.node = {.kind = NODE_SPECIAL, .ndeps = -1},
                    .op = name_of(&h.r.names, "zero"),
                    .nouts = 1,
                    .out = &view};
    h.node[h.n++] = &zero.node;
    CHECK_STR_EQ(verify_loop(&h, KIND_SERIAL, i), "");
    h.node[h.n++] = &zero.node;
    CHECK(strstr(verify_loop(&h, KIND_PARALLEL, i), "both assign C[0]"));
    tr_end(&h.r);
}

// With a Program: two statements in the wrong order.
TEST(sources_run_before_sinks) {
    TreeRun r;
    tr_begin(&r, "program f { input A: f32[4] output B: f32[4] output C: f32[4]\n"
                 "B: for i in 0:4  B[i] = A[i]\nC: for i in 0:4  C[i] = B[3 - i] }");
    Tree *t = tr_lower(&r, NULL);
    CHECK(tree_verify(&r.arena, t, NULL, &r.diags) == VERIFY_OK);
    const Node *swapped[] = {t->root->child[1], t->root->child[0]};
    t->root = tree_block(t, t->root, swapped, 2);
    CHECK(tree_verify(&r.arena, t, NULL, &r.diags) == VERIFY_REFUSED);
    const char *got = tr_diags(&r);
    CHECK(strstr(got, "'C' at (i=3) runs before 'B' at (i=0), which comes first in the program; "
                      "both access B[0] (flow dependence)"));
    CHECK(strstr(got, "iteration (i=0) reads B[3] before anything writes it"));
    tr_end(&r);
}

TEST(inputs_are_only_read) {
    TreeRun r;
    tr_begin(&r, "program f { input A: f32[4] output B: f32[4]\nB: for i in 0:4  B[i] = A[i] }");
    Tree *t = tr_lower(&r, NULL);
    const Block *loop = as_block(t->root->child[0]);
    Leaf leaf = *as_leaf(loop->child[0]);
    leaf.write = access_make(t->exprs, 0, 1, leaf.write->sub);
    const Node *child = &tree_leaf(t, &leaf)->node;
    child = &tree_block(t, loop, &child, 1)->node;
    t->root = tree_block(t, t->root, &child, 1);
    CHECK(tree_verify(&r.arena, t, NULL, &r.diags) == VERIFY_REFUSED);
    CHECK(strstr(tr_diags(&r), "'A' (buffer 0) is an input of the program and is written"));
    tr_end(&r);
}

TEST(what_is_not_proven_passes_unchecked) {
    TreeRun r;
    tr_begin(&r, "program f { input I: i32[4] inout C: f32[9]\n"
                 "C: for i in 0:4  C[I[i]] += 1.0\nC.1: for i in 0:4  C[i] = C[i]*2.0 }");
    Tree *t = tr_lower(&r, "C: i:p\n");
    CHECK(tree_verify(&r.arena, t, NULL, &r.diags) == VERIFY_OK); // one operator
    const Leaf *leaf = NULL;
    const Block *loop = as_block(t->root->child[0]);
    leaf = as_leaf(loop->child[0]);
    Leaf assign = *leaf;
    assign.op = REDUCE_ASSIGN;
    const Node *child = &tree_leaf(t, &assign)->node;
    const Node *both[] = {&tree_block(t, loop, &child, 1)->node, t->root->child[1]};
    t->root = tree_block(t, t->root, both, 2);
    CHECK(tree_verify(&r.arena, t, NULL, &r.diags) == VERIFY_UNPROVEN);
    CHECK(strstr(tr_diags(&r), "not proven: iterations of an unordered block do not conflict"));
    Verify v = {.unchecked = true};
    CHECK(tree_verify(&r.arena, t, &v, &r.diags) == VERIFY_OK && v.undecided > 0);
    tr_end(&r);
}
