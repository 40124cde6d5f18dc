// Every transformation on the example of its comment, its refusals, references, the cursor, and
// errors that the trace checker finds.
#include "tree/trace.h"
#include "transform/transform.h"
#include "verify/verify.h"
#include "unit/tree_run.h"

static TreeEdit edit(TreeRun *r) {
    r->diags.items.n = r->diags.errors = 0;
    return (TreeEdit){.diags = &r->diags};
}

// The Tree, or the reason of a refusal. A Tree must compute its Program.
static const char *shown(TreeRun *r, const Tree *t) {
    if (!t) return tr_diags(r);
    Text out = {.arena = &r->arena};
    tree_show(&out, t, false);
    if (r->p) {
        CHECK(tr_same(r, t, (InterpFlags){0}, 5));
        View *views = arena_new_n(&r->arena, View, r->p->ninputs + r->p->noutputs);
        tr_fill(r, views, 5);
        CHECK(tree_trace(&r->arena, t, views, NULL, &r->diags));
        CHECK_STR_EQ(tr_diags(r), "");
    }
    return text_str(&out);
}

// The id of the n-th loop in pre-order.
static bool nth(void *user, const Node *node, int depth, const Block *parent) {
    (void)depth, (void)parent;
    int *state = user;
    const Block *b = as_block(node);
    for (int i = 0; b && i < b->nindex; i++)
        if (state[0]-- == 0) state[1] = b->index[i].id;
    return true;
}
static int loop(const Tree *t, int n) {
    int state[2] = {n, -1};
    tree_walk(t, nth, state);
    return state[1];
}

static const char scale[] = "program f { input A: f32[10] output B: f32[10]\n"
                            "B: for i in 0:10  B[i] = A[i]*2.0 }";
static const char outer[] = "program f { input A: f32[3] input B: f32[4] output C: f32[3, 4]\n"
                            "C: for i in 0:3, j in 0:4  C[i, j] = A[i]*B[j] }";
static const char two[] = "program f { input A: f32[4] temp T: f32[4] output C: f32[4]\n"
                          "T: for i in 0:4  T[i] = A[i] + 1.0\nC: for i in 0:4  C[i] = T[i]*2.0 }";
static const char ends[] =
    "program f { input A: f32[11] output B: f32[10] output C: f32[11]\n"
    "B: for i in 0:10  B[i] = A[i]*2.0\nC: for j in 0:11  C[j] = A[j] + 1.0 }";
static const char sum[] = "program f { input A: f32[4, 3] output C: f32[4]\n"
                          "C: for i in 0:4, k in 0:3  C[i] +=! A[i, k] }";

TEST(split_and_merge) {
    TreeRun r;
    tr_begin(&r, scale);
    TreeEdit e = edit(&r);
    const Tree *t = tr_lower(&r, NULL), *s = tree_split(t, loop(t, 0), 4, false, &e);
    CHECK_STR_EQ(shown(&r, s), "for i in 3\n"
                               "  for i.1 in 4 where 9 - 4*i - i.1 >= 0\n"
                               "    B[4*i + i.1] = A[4*i + i.1]*2.0\n");
    CHECK_STR_EQ(shown(&r, tree_split(t, loop(t, 0), 4, true, &e)),
                 "for i in 3\n"
                 "  for i.1 in 4 where 9 - i - 3*i.1 >= 0\n"
                 "    B[i + 3*i.1] = A[i + 3*i.1]*2.0\n");
    CHECK_STR_EQ(shown(&r, tree_merge(s, loop(s, 0), &e)),
                 "for i in 12 where 9 - i >= 0\n  B[i] = A[i]*2.0\n");
    CHECK_STR_EQ(shown(&r, tree_split(t, loop(t, 0), 0, false, &e)),
                 "error: cannot split: the inner extent does not fit\n");
    e = edit(&r);
    CHECK_STR_EQ(shown(&r, tree_merge(t, loop(t, 0), &e)),
                 "error: cannot merge: no loop stands alone inside it\n");
    tr_end(&r);
}

TEST(interchange_merge_tile_and_jam) {
    TreeRun r;
    tr_begin(&r, outer);
    TreeEdit e = edit(&r);
    const Tree *t = tr_lower(&r, NULL);
    int i = loop(t, 0);
    CHECK_STR_EQ(shown(&r, tree_interchange(t, i, &e)),
                 "for j in 4\n  for i in 3\n    C[i, j] = A[i]*B[j]\n");
    CHECK_STR_EQ(shown(&r, tree_merge(t, i, &e)),
                 "for i in 12\n  C[i/4, i - 4*(i/4)] = A[i/4]*B[i - 4*(i/4)]\n");
    CHECK_STR_EQ(shown(&r, tree_tile(t, i, 2, 2, &e)),
                 "for i in 2\n  for j in 2\n    for i.1 in 2 where 2 - 2*i - i.1 >= 0\n"
                 "      for j.1 in 2\n"
                 "        C[2*i + i.1, 2*j + j.1] = A[2*i + i.1]*B[2*j + j.1]\n");
    CHECK_STR_EQ(shown(&r, tree_unroll_and_jam(t, i, 2, &e)),
                 "for i in 2\n  for j in 4\n    if 2 - 2*i >= 0\n"
                 "      C[2*i, j] = A[2*i]*B[j]\n    if 1 - 2*i >= 0\n"
                 "      C[2*i + 1, j] = A[2*i + 1]*B[j]\n");
    CHECK_STR_EQ(shown(&r, tree_peel(t, i, 2, &e)),
                 "for i in 2\n  for j in 4\n    C[i, j] = A[i]*B[j]\n"
                 "for i in 1\n  for j in 4\n    C[i + 2, j] = A[i + 2]*B[j]\n");
    CHECK_STR_EQ(shown(&r, tree_unroll(t, loop(t, 1), &e)),
                 "for i in 3\n  C[i, 0] = A[i]*B[0]\n  C[i, 1] = A[i]*B[1]\n"
                 "  C[i, 2] = A[i]*B[2]\n  C[i, 3] = A[i]*B[3]\n");
    tr_end(&r);
}

TEST(fuse_distribute_move_and_sink) {
    TreeRun r;
    tr_begin(&r, two);
    TreeEdit e = edit(&r);
    const Tree *t = tr_lower(&r, "T: | i\n");
    CHECK_STR_EQ(shown(&r, t), "T f32[4] 16 B\nfor i in 4\n  T[i] = A[i] + 1.0\n"
                               "for i in 4\n  C[i] = T[i]*2.0\n");
    const Tree *fused = tree_fuse(t, loop(t, 0), &e);
    CHECK_STR_EQ(shown(&r, fused), "T f32[4] 16 B\nfor i in 4\n  T[i] = A[i] + 1.0\n"
                                   "  C[i] = T[i]*2.0\n");
    CHECK_STR_EQ(shown(&r, tree_distribute(fused, loop(fused, 0), 1, &e)), shown(&r, t));
    // The allocation follows into the loop, and out again.
    int buffer = t->nargs;
    const Tree *small = tree_unstage(fused, buffer, loop(fused, 0), &e);
    CHECK_STR_EQ(shown(&r, small), "for i in 4\n  T f32[] 4 B\n  T[] = A[i] + 1.0\n"
                                   "  C[i] = T[]*2.0\n");
    CHECK(!tree_distribute(small, loop(small, 0), 1, &e));
    CHECK_STR_EQ(tr_diags(&r), "error: cannot distribute: both halves use what an iteration "
                               "allocates\n");
    e = edit(&r);
    CHECK_STR_EQ(shown(&r, tree_stage(small, small->buffers.n - 1, loop(small, 0), &e)),
                 shown(&r, fused));
    CHECK(!tree_move(t, (TreeRef){loop(t, 0), -1}, 1, &e));
    CHECK(strstr(tr_diags(&r), "error: cannot move: 'C' at (i=0) runs before 'T' at (i=0), which "
                               "comes first in the program; both access T[0] (flow dependence)"));
    e = edit(&r);
    CHECK(!tree_move(fused, (TreeRef){-1, 0}, 1, &e));
    tr_end(&r);

    // Loops with different ends keep their own ends.
    tr_begin(&r, ends);
    e = edit(&r);
    t = tr_lower(&r, NULL);
    t = tree_split(t, loop(t, 0), 4, false, &e);
    t = tree_split(t, loop(t, 2), 4, false, &e);
    t = tree_fuse(t, loop(t, 0), &e);
    CHECK_STR_EQ(shown(&r, tree_fuse(t, loop(t, 1), &e)),
                 "for i in 3\n  for i.1 in 4\n    if 9 - 4*i - i.1 >= 0\n"
                 "      B[4*i + i.1] = A[4*i + i.1]*2.0\n    if 10 - 4*i - i.1 >= 0\n"
                 "      C[4*i + i.1] = A[4*i + i.1] + 1.0\n");
    tr_end(&r);

    tr_begin(&r, sum);
    e = edit(&r);
    t = tr_lower(&r, NULL);
    CHECK_STR_EQ(shown(&r, tree_sink(t, 0, loop(t, 1), &e)),
                 "for i in 4\n  for k in 3\n    if -k >= 0\n      C[i] = 0.0\n"
                 "    C[i] += A[i, k]\n");
    CHECK_STR_EQ(shown(&r, tree_distribute(t, loop(t, 0), 1, &e)),
                 "for i in 4\n  C[i] = 0.0\nfor i in 4\n  for k in 3\n    C[i] += A[i, k]\n");
    tr_end(&r);
}

TEST(kinds) {
    TreeRun r;
    tr_begin(&r, sum);
    TreeEdit e = edit(&r);
    const Tree *t = tr_lower(&r, NULL);
    int i = loop(t, 0), k = loop(t, 1);
    CHECK_STR_EQ(shown(&r, tree_parallelize(t, i, &e)),
                 "for i in 4 parallel\n  C[i] = 0.0\n  for k in 3\n    C[i] += A[i, k]\n");
    CHECK_STR_EQ(shown(&r, tree_vectorize(t, k, &e)),
                 "for i in 4\n  C[i] = 0.0\n  for k in 3 vector\n    C[i] += A[i, k]\n");
    const Tree *g = tree_bind(t, i, KIND_GRID_X, &e);
    CHECK_STR_EQ(shown(&r, g),
                 "for i in 4 grid.x\n  C[i] = 0.0\n  for k in 3\n    C[i] += A[i, k]\n");
    CHECK_STR_EQ(shown(&r, tree_annotate(t, k, KIND_ANY, &e)),
                 "for i in 4\n  C[i] = 0.0\n  for k in 3 any\n    C[i] += A[i, k]\n");
    const Tree *tagged = tree_tag(t, k, (Tag){name_of(&r.names, "hot"), NULL}, &e);
    CHECK(tree_loop_at(tagged, k)->node.tags.n == 1);
    CHECK(t->root != tagged->root && tree_loop_at(t, k)->node.tags.n == 0);
    CHECK_STR_EQ(shown(&r, tree_vectorize(t, i, &e)),
                 "error: cannot vectorize: other loops run inside it\n");
    e = edit(&r);
    CHECK_STR_EQ(shown(&r, tree_bind(g, k, KIND_GRID_X, &e)),
                 "error: cannot bind: that axis is taken on the way\n");
    e = edit(&r);
    CHECK(!tree_bind(t, i, KIND_PARALLEL, &e));
    e = edit(&r);
    const Tree *s = tree_sink(t, 0, k, &e); // the initialisation inside: k may not be parallel
    CHECK_STR_EQ(shown(&r, tree_parallelize(s, k, &e)),
                 "error: cannot parallelize: the loop over 'k' is parallel, but iterations (i=0, "
                 "k=0) and (i=0, k=1) both access C[0], other than by one aggregation "
                 "(output dependence)\n");
    e = edit(&r);
    e.unchecked = true;
    CHECK(tree_parallelize(s, k, &e));
    tr_end(&r);
}

TEST(copies_and_layouts) {
    TreeRun r;
    tr_begin(&r, "program f { input A: f32[12] output B: f32[3, 4]\n"
                 "B: for i in 0:3, j in 0:4  B[i, j] = A[4*i + j] }");
    TreeEdit e = edit(&r);
    const Tree *t = tr_lower(&r, NULL), *c = tree_copy_input(t, 0, loop(t, 0), &e);
    CHECK_STR_EQ(shown(&r, c), "for i in 3\n  A.copy f32[4] 16 B\n  for d in 4\n"
                               "    if 4*i + d >= 0 and 11 - 4*i - d >= 0\n"
                               "      A.copy[d] = A[4*i + d]\n"
                               "  for j in 4\n    B[i, j] = A.copy[j]\n");
    CHECK_STR_EQ(shown(&r, tree_drop_copy(c, c->buffers.n - 1, &e)), shown(&r, t));
    const Tree *u = tree_unroll(c, loop(c, 1), &e); // four copies of an element each
    CHECK_STR_EQ(shown(&r, tree_drop_copy(u, u->buffers.n - 1, &e)),
                 "error: cannot drop the copy: it is not filled by one copy\n");
    e = edit(&r);
    const Tree *s = tree_stage(c, c->buffers.n - 1, loop(c, 0), &e);
    CHECK_STR_EQ(shown(&r, tree_swap_layout(s, s->buffers.n - 1, 0, 1, &e)),
                 "A.copy f32[4, 3] 48 B\nfor i in 3\n  for d in 4\n"
                 "    if 4*i + d >= 0 and 11 - 4*i - d >= 0\n"
                 "      A.copy[d, i] = A[4*i + d]\n"
                 "  for j in 4\n    B[i, j] = A.copy[j, i]\n");
    CHECK_STR_EQ(shown(&r, tree_copy_input(t, 1, loop(t, 0), &e)),
                 "error: cannot copy: the loop writes it\n");
    e = edit(&r);
    CHECK_STR_EQ(shown(&r, tree_drop_copy(t, 0, &e)),
                 "error: cannot drop the copy: that is no allocation\n");
    tr_end(&r);
}

// for i in 3: for j in 4: B[i + 1, j] = B[i, j + 1], of no Program: distance (1, -1).
static Tree *skewed(TreeRun *r, Exprs *x) {
    tr_init(r);
    exprs_init(x, &r->arena);
    Tree *t = tree_new(&r->arena, x, &r->names);
    Buffer b = {.name = name_of(&r->names, "B"),
                .type = TYPE_F32,
                .tensor = -1,
                .rank = 2,
                .size = (int64_t[]){4, 5},
                .stride = (int64_t[]){5, 1},
                .bank_dim = -1};
    tree_buffer(t, &b);
    t->nargs = 1;
    Index i = tree_index(t, name_of(&r->names, "i"), 3),
          j = tree_index(t, name_of(&r->names, "j"), 4);
    const Affine *at[] = {affine_iter(x, i.id), affine_iter(x, j.id)};
    const Affine *to[] = {affine_add_const(x, at[0], 1), at[1]};
    const Affine *from[] = {at[0], affine_add_const(x, at[1], 1)};
    Leaf leaf = {.node.ndeps = -1,
                 .write = access_make(x, 0, 2, to),
                 .value = expr_read(x, TYPE_F32, access_make(x, 0, 2, from)),
                 .stmt = -1};
    const Node *node = &tree_leaf(t, &leaf)->node;
    node = &tree_loop(t, KIND_SERIAL, j, &node, 1)->node;
    node = &tree_loop(t, KIND_SERIAL, i, &node, 1)->node;
    t->root = tree_block(t, &(Block){.node.ndeps = -1}, &node, 1);
    return t;
}

TEST(dependences_refuse) {
    TreeRun r;
    Exprs x;
    const Tree *t = skewed(&r, &x);
    TreeEdit e = edit(&r);
    CHECK_STR_EQ(shown(&r, tree_interchange(t, loop(t, 0), &e)),
                 "error: cannot interchange: 'B' at (j=1, i=0) would run after 'B' at (j=0, "
                 "i=1), which depends on it through B[1, 1] (flow dependence)\n");
    e = edit(&r);
    CHECK(!tree_tile(t, loop(t, 0), 2, 2, &e));
    CHECK(r.diags.items.n == 1 && r.diags.items.at[0]->id == DIAG_EDIT_ORDER);
    e = edit(&r);
    CHECK(tree_parallelize(t, loop(t, 1), &e) && !tree_parallelize(t, loop(t, 0), &e));
    e = edit(&r);
    CHECK_STR_EQ(
        shown(&r, tree_split(t, loop(t, 0), 2, true, &e)),
        "error: cannot split: 'B' at (i=1, i.1=0, j=1) would run after 'B' at (i=0, i.1=1, "
        "j=0), which depends on it through B[2, 1] (flow dependence)\n");
    e = edit(&r);
    e.unchecked = true;
    CHECK(tree_interchange(t, loop(t, 0), &e));
    // The elements that a gather reads cannot be decided.
    tr_end(&r);
    tr_begin(&r, "program f { input I: i32[4] inout C: f32[4]\n"
                 "C: for i in 0:4  C[I[i]] += 1.0\nC.1: for i in 0:4  C[i] = C[i]*2.0 }");
    t = tr_lower(&r, NULL);
    e = edit(&r);
    CHECK(!tree_fuse(t, loop(t, 0), &e));
    CHECK(strstr(tr_diags(&r), "not proven"));
    Tree *bare = arena_copy(&r.arena, t, sizeof *t);
    bare->program = NULL;
    e = edit(&r);
    CHECK(!tree_fuse(bare, loop(t, 0), &e));
    CHECK_STR_EQ(tr_diags(&r),
                 "error: cannot fuse: not proven that 'C' and 'C' keep their order\n");
    tr_end(&r);
}

TEST(references_survive_and_the_cursor_walks) {
    TreeRun r;
    tr_begin(&r, outer);
    TreeEdit e = edit(&r);
    const Tree *t = tr_lower(&r, NULL);
    int i = loop(t, 0), j = loop(t, 1);
    const Tree *s = tree_split(t, i, 2, false, &e);
    CHECK(tree_loop_at(s, j) && !tree_loop_at(s, i) && tree_loop_at(s, t->nindices));
    CHECK(tree_leaves(s) == 1 && tree_follow(t, 0, s) == 0 && tree_follow(t, 1, s) == -1);
    CHECK(tree_parent_of(s, (TreeRef){-1, 0}) == tree_loop_at(s, j));
    TreeCursor c = {t, i};
    c = cursor_split(c, 2, &e);
    CHECK(c.t != t && c.loop == loop(c.t, 0));
    c = cursor_down(c);
    CHECK(c.loop == loop(c.t, 1));
    c = cursor_swap(c, &e);
    CHECK(c.loop == loop(c.t, 2) && cursor_next(c).loop == c.loop);
    c = cursor_annotate(c, KIND_PARALLEL, &e);
    CHECK_STR_EQ(shown(&r, c.t),
                 "for i in 2\n  for j in 4\n    for i.1 in 2 parallel where 2 - 2*i - i.1 >= 0\n"
                 "      C[2*i + i.1, j] = A[2*i + i.1]*B[j]\n");
    c = cursor_up(c);
    CHECK(c.loop == j && cursor_next(c).loop == loop(c.t, 2));
    c = cursor_merge(c, &e);
    CHECK(c.loop == loop(c.t, 1));
    TreeCursor stuck = cursor_merge(c, &e);
    CHECK(stuck.t == c.t && stuck.loop == c.loop);
    const Tree *part = tree_subtree(t, j, (int64_t[]){2, 0});
    r.p = NULL;
    CHECK_STR_EQ(shown(&r, part), "for j in 4\n  C[2, j] = A[2]*B[j]\n");
    tr_end(&r);
}

// --- The trace checker -------------------------------------------------------------------------

static const char *traced(TreeRun *r, const Tree *t) {
    View *views = arena_new_n(&r->arena, View, r->p->ninputs + r->p->noutputs);
    tr_fill(r, views, 3);
    r->diags.items.n = r->diags.errors = 0;
    CHECK(!tree_trace(&r->arena, t, views, NULL, &r->diags));
    return r->diags.items.n ? r->diags.items.at[0]->text : "";
}

TEST(traces_find_faults) {
    TreeRun r;
    tr_begin(&r, sum);
    const Tree *t = tr_lower(&r, NULL);
    TreeEdit e = edit(&r);
    e.unchecked = true;
    const Tree *s = tree_sink(t, 0, loop(t, 1), &e);
    CHECK_STR_EQ(traced(&r, tree_parallelize(s, loop(t, 1), &e)),
                 "iteration (i=0, k=2) reads C[0], which nothing wrote");
    CHECK_STR_EQ(traced(&r, tree_move(t, (TreeRef){-1, 0}, 1, &e)),
                 "iteration (i=0, k=0) reads C[0], which nothing wrote");
    // A missing iteration, an extra one, one outside the domain.
    Tree *wrong = arena_copy(&r.arena, t, sizeof *t);
    const Block *b = as_block(t->root->child[0]);
    Index less = b->index[0];
    less.extent = 3;
    Block like = *b;
    like.index = &less;
    const Node *child = &tree_block(wrong, &like, b->child, b->nchildren)->node;
    wrong->root = tree_block(wrong, t->root, &child, 1);
    CHECK_STR_EQ(traced(&r, wrong), "statement 'C': iteration (i=3, k=0) never runs");
    const Node *twice[] = {t->root->child[0], t->root->child[0]};
    wrong->root = tree_block(wrong, t->root, twice, 2);
    CHECK_STR_EQ(traced(&r, wrong), "statement 'C': iteration (i=0) runs a second time");
    tr_end(&r);

    tr_begin(&r, "program f { inout C: f32[4] output D: f32[4]\n"
                 "D: for i in 0:4  D[i] = C[i]\nC: for i in 0:4  C[i] = 1.0 }");
    t = tr_lower(&r, "D: | i\n");
    e = edit(&r);
    e.unchecked = true;
    CHECK_STR_EQ(traced(&r, tree_move(t, (TreeRef){loop(t, 0), -1}, 1, &e)),
                 "iteration (i=0) runs before (i=0), which comes first in the program; both access "
                 "C[0]");
    tr_end(&r);

    tr_begin(&r, "program f { inout C: f32[4, 4]\nC: for i in 0:4, j in 0:4  C[i, j] = 1.0\n"
                 "C.1: for i in 0:4, j in 0:4  C[j, i] = 2.0 }");
    t = tr_lower(&r, NULL);
    e = edit(&r);
    e.unchecked = true;
    const Tree *f = tree_fuse(t, loop(t, 0), &e);
    if (CHECK(f))
        CHECK_STR_EQ(traced(&r, tree_parallelize(f, loop(f, 0), &e)),
                     "parallel iterations (i=3, j=2) and (i=2, j=3) conflict on C[2, 3]");
    tr_end(&r);

    // One scratch element for four: each reader except the last finds the value of another.
    tr_begin(&r, two);
    t = tr_lower(&r, "T: | i\n");
    Tree *folded = arena_copy(&r.arena, t, sizeof *t);
    const Block *w = as_block(t->root->child[0]), *q = as_block(t->root->child[1]);
    const Affine *zero = affine_const(t->exprs, 0);
    Leaf leaf = *as_leaf(w->child[0]);
    leaf.write = access_make(t->exprs, t->nargs, 1, &zero);
    const Node *to = &tree_leaf(folded, &leaf)->node;
    leaf = *as_leaf(q->child[0]);
    leaf.value = expr_read(t->exprs, TYPE_F32, access_make(t->exprs, t->nargs, 1, &zero));
    const Node *from = &tree_leaf(folded, &leaf)->node;
    const Node *loops[] = {&tree_block(folded, w, &to, 1)->node,
                           &tree_block(folded, q, &from, 1)->node};
    folded->root = tree_block(folded, t->root, loops, 2);
    CHECK_STR_EQ(traced(&r, folded), "iteration (i=0) reads T[0], which holds element 3 of 'T' "
                                     "instead of the requested one");
    tr_end(&r);
}
