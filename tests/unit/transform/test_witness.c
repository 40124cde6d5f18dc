// The judge against runs. Ten classic illegal transformations (docs/proofs.md), then random ones of
// random nests. Each refusal has a witness, which runs of the Tree before and of the forced one
// confirm: both instances touch the element, in one order before and in the other one (or in no
// order: an unordered loop) afterwards. Whatever is accepted computes the same.
#include "unit/check.h"

#include <string.h>

#include "transform/transform.h"
#include "tree/trace.h"
#include "unit/tree_run.h"
#include "verify/legal.h"

enum { SIZE = 8 };

// X[i + a, j + b] = 3*Y[i + c, j + d] + 1, in one or two loops; results tell the order apart.
typedef struct Line {
    int to, from; // buffers
    int64_t to_at[2], from_at[2];
    bool fixed; // it writes element a whatever i is
} Line;

typedef struct Case {
    const char *what;
    int rank, nlines;
    Line line[2];
    bool apart; // each line in a loop of its own
    LegalKind kind;
    const Tree *(*apply)(const Tree *t, int first, const TreeEdit *e);
} Case;

static const Tree *interchange(const Tree *t, int first, const TreeEdit *e) {
    return tree_interchange(t, first, e);
}
static const Tree *tile(const Tree *t, int first, const TreeEdit *e) {
    return tree_tile(t, first, 2, 2, e);
}
static const Tree *jam(const Tree *t, int first, const TreeEdit *e) {
    return tree_unroll_and_jam(t, first, 2, e);
}
static const Tree *parallel(const Tree *t, int first, const TreeEdit *e) {
    return tree_parallelize(t, first, e);
}
static const Tree *vector(const Tree *t, int first, const TreeEdit *e) {
    return tree_vectorize(t, first, e);
}
static const Tree *interleave(const Tree *t, int first, const TreeEdit *e) {
    return tree_split(t, first, 2, true, e);
}
static const Tree *fuse(const Tree *t, int first, const TreeEdit *e) {
    return tree_fuse(t, first, e);
}
static const Tree *distribute(const Tree *t, int first, const TreeEdit *e) {
    return tree_distribute(t, first, 1, e);
}
static const Tree *swap(const Tree *t, int first, const TreeEdit *e) {
    return tree_move(t, (TreeRef){first, 0}, 1, e);
}

static const Case cases[] = {
    {"interchange A[i+1,j] = A[i,j+1]",
     2,
     1,
     {{0, 0, {1, 0}, {0, 1}, false}},
     false,
     LEGAL_FLOW,
     interchange},
    {"tile A[i+1,j] = A[i,j+1]", 2, 1, {{0, 0, {1, 0}, {0, 1}, false}}, false, LEGAL_FLOW, tile},
    {"unroll and jam A[i,j+1] = A[i+1,j]",
     2,
     1,
     {{0, 0, {0, 1}, {1, 0}, false}},
     false,
     LEGAL_ANTI,
     jam},
    {"parallelize A[i+1] = A[i]",
     1,
     1,
     {{0, 0, {1, 0}, {0, 0}, false}},
     false,
     LEGAL_FLOW,
     parallel},
    {"vectorize A[i] = A[i+1]", 1, 1, {{0, 0, {0, 0}, {1, 0}, false}}, false, LEGAL_ANTI, vector},
    {"parallelize A[0] = B[i]",
     1,
     1,
     {{0, 1, {0, 0}, {0, 0}, true}},
     false,
     LEGAL_OUTPUT,
     parallel},
    {"interleave A[i+1] = A[i]",
     1,
     1,
     {{0, 0, {1, 0}, {0, 0}, false}},
     false,
     LEGAL_FLOW,
     interleave},
    {"fuse A[i] = B[i]; C[i] = A[i+1]",
     1,
     2,
     {{0, 1, {0, 0}, {0, 0}, false}, {2, 0, {0, 0}, {1, 0}, false}},
     true,
     LEGAL_FLOW,
     fuse},
    {"distribute A[i] = B[i]; B[i+1] = A[i]",
     1,
     2,
     {{0, 1, {0, 0}, {0, 0}, false}, {1, 0, {1, 0}, {0, 0}, false}},
     false,
     LEGAL_FLOW,
     distribute},
    {"swap A[i] = B[i]; C[i] = A[i]",
     1,
     2,
     {{0, 1, {0, 0}, {0, 0}, false}, {2, 0, {0, 0}, {0, 0}, false}},
     true,
     LEGAL_FLOW,
     swap},
};

static void add_buffer(TreeRun *r, Tree *t, const char *name, int rank) {
    Buffer b = {.name = name_of(&r->names, name),
                .home = HOME_ARGUMENT,
                .type = TYPE_F64,
                .tensor = -1,
                .rank = rank,
                .size = rank == 2 ? (int64_t[]){SIZE, SIZE} : (int64_t[]){SIZE},
                .stride = rank == 2 ? (int64_t[]){SIZE, 1} : (int64_t[]){1},
                .bank_dim = -1};
    tree_buffer(t, &b);
}

static const Node *line_node(TreeRun *r, Tree *t, const Case *c, const Line *line,
                             const Index *index) {
    Exprs *x = t->exprs;
    const Affine *to[2], *from[2];
    for (int d = 0; d < c->rank; d++) {
        const Affine *at = affine_iter(x, index[d].id);
        to[d] =
            line->fixed ? affine_const(x, line->to_at[d]) : affine_add_const(x, at, line->to_at[d]);
        from[d] = affine_add_const(x, at, line->from_at[d]);
    }
    const Expr *read = expr_read(x, TYPE_F64, access_make(x, line->from, c->rank, from));
    const Expr *one = expr_const(x, TYPE_F64, (Value){.f = 1});
    const Expr *factor = expr_const(x, TYPE_F64, (Value){.f = line == c->line ? 3 : 5});
    read = expr_op(x, OP_MUL, TYPE_F64, 2, (const Expr *[]){factor, read});
    Leaf leaf = {.node.ndeps = -1,
                 .write = access_make(x, line->to, c->rank, to),
                 .value = expr_op(x, OP_ADD, TYPE_F64, 2, (const Expr *[]){read, one}),
                 .stmt = -1};
    (void)r;
    return &tree_leaf(t, &leaf)->node;
}

static const Node *in_loops(Tree *t, const Case *c, const Index *index, const Node *const *body,
                            int n) {
    const Node *node = NULL;
    for (int d = c->rank - 1; d >= 0; d--) {
        node = &tree_loop(t, KIND_SERIAL, index[d], node ? &node : body, node ? 1 : n)->node;
    }
    return node;
}

static Tree *build(TreeRun *r, const Case *c) {
    Exprs *x = arena_new(&r->arena, Exprs);
    exprs_init(x, &r->arena);
    Tree *t = tree_new(&r->arena, x, &r->names);
    static const char *const names[] = {"A", "B", "C"};
    for (int i = 0; i < 3; i++) add_buffer(r, t, names[i], c->rank);
    t->nargs = 3;
    const Node *top[2], *body[2];
    int ntop = 0;
    Index index[2];
    for (int k = 0; k < c->nlines; k++) {
        for (int d = 0; d < c->rank && (!k || c->apart); d++)
            index[d] = tree_index(t, name_of(&r->names, d ? "j" : "i"), SIZE - 1);
        body[k] = line_node(r, t, c, &c->line[k], index);
        if (c->apart) top[ntop++] = in_loops(t, c, index, &body[k], 1);
    }
    if (!c->apart) top[ntop++] = in_loops(t, c, index, body, c->nlines);
    t->root = tree_block(t, &(Block){.node.ndeps = -1}, top, ntop);
    return t;
}

// --- Watching a run ------------------------------------------------------------------------------

typedef struct Watch {
    const Instance *who;
    bool before;      // by the indices of the Tree before
    const Leaf *leaf; // of that Tree
    int64_t element;  // number in its buffer
    int buffer;
    int clock, when; // -1: it did not run
    bool inside, touched;
} Watch;

static void enter_block(void *user, const Block *b) { (void)user, (void)b; }

static void begin_leaf(void *user, const Leaf *leaf, const TreeMoment *now) {
    Watch *w = user;
    w->clock++;
    w->inside = leaf == w->leaf;
    int n = 0;
    for (int i = 0; i < now->depth && w->inside; i++)
        for (int k = 0; k < now->path[i]->nindex; k++, n++) {
            int64_t want = w->before ? w->who->was[n] : w->who->at[n];
            w->inside &= now->value[now->path[i]->index[k].id] == want;
        }
    if (w->inside) w->when = w->clock;
}

static void note_access(void *user, int buffer, int64_t number, bool write, const int64_t *value) {
    Watch *w = user;
    (void)write, (void)value;
    w->touched |= w->inside && buffer == w->buffer && number == w->element;
}

static void make_views(TreeRun *r, View *views, int rank) {
    static const int64_t size[] = {SIZE, SIZE}, stride[] = {SIZE, 1};
    for (int i = 0; i < 3; i++) {
        double *data = arena_alloc(&r->arena, SIZE * SIZE * sizeof *data);
        for (int k = 0; k < SIZE * SIZE; k++) data[k] = 1 + 7 * k + 500 * i;
        views[i] = (View){data, TYPE_F64, rank, size, stride + 2 - rank};
    }
}

static Watch watch(TreeRun *r, const Tree *t, const Leaf *leaf, const Witness *x,
                   const Instance *who, bool before) {
    Watch w = {.who = who, .before = before, .leaf = leaf, .buffer = x->buffer, .when = -1};
    int rank = t->buffers.at[x->buffer].rank;
    for (int d = 0; d < rank; d++) w.element = w.element * SIZE + x->element[d];
    View views[3];
    make_views(r, views, rank);
    TreeObserver o = {.user = &w, .enter = enter_block, .leaf = begin_leaf, .access = note_access};
    CHECK(tree_interpret_observed(&r->arena, t, views, (InterpFlags){0}, &o, &r->diags));
    return w;
}

// Which line it is: each has a factor of its own.
static const Expr *factor_of(const Leaf *leaf) { return leaf->value->arg[0]->arg[0]; }

// The leaf of the Tree before that this one was made of.
static const Leaf *old_leaf(const Tree *before, const Instance *who) {
    for (int i = 0; i < tree_leaves(before); i++)
        if (factor_of(tree_leaf_at(before, i)) == factor_of(who->use->leaf))
            return tree_leaf_at(before, i);
    return NULL;
}

static void confirm(TreeRun *r, const Case *c, const Witness *w) {
    const Tree *forced = w->tree, *t = w->before;
    Watch source = watch(r, forced, w->source.use->leaf, w, &w->source, false);
    Watch sink = watch(r, forced, w->sink.use->leaf, w, &w->sink, false);
    CHECK(source.touched && sink.touched);
    if (w->rule == LEGAL_UNORDERED) {
        DiagList faults = {.arena = &r->arena};
        View views[3];
        make_views(r, views, c->rank);
        CHECK(!tree_trace(&r->arena, forced, views, NULL, &faults));
        CHECK(kind_is_unordered(w->loop_kind) && source.when != sink.when);
        return;
    }
    CHECK(sink.when < source.when); // now
    Watch first = watch(r, t, old_leaf(t, &w->source), w, &w->source, true);
    Watch second = watch(r, t, old_leaf(t, &w->sink), w, &w->sink, true);
    CHECK(first.touched && second.touched && first.when >= 0 && first.when < second.when);
}

TEST(ten_classic_illegal_transformations) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Case *c = &cases[i];
        TreeRun r;
        tr_init(&r);
        const Tree *t = build(&r, c);
        Witness w = {0};
        DiagList found = {.arena = &r.arena};
        TreeEdit e = {.diags = &found, .witness = &w};
        if (!CHECK(!c->apply(t, 0, &e) && w.text)) printf("  %s\n", c->what);
        if (CHECK(w.tree && w.kind == c->kind)) confirm(&r, c, &w);
        printf("  %-40s %s: %s then %s on %s\n", c->what, legal_kind_name[w.kind], w.source.text,
               w.sink.text, w.text);
        tr_end(&r);
    }
}

// --- Random nests --------------------------------------------------------------------------------

typedef struct Total {
    int64_t cases, shape, accepted, refused, open, changed;
} Total;

static int draw(uint64_t *state, int n) { return (int)(check_random(state) % (uint64_t)n); }

static Case random_case(uint64_t seed) {
    static const Tree *(*const apply[])(const Tree *, int, const TreeEdit *) = {
        interchange, tile, jam, parallel, vector, interleave, fuse, distribute, swap};
    uint64_t state = seed;
    Case c = {.what = "random", .rank = 1 + draw(&state, 2), .nlines = 1 + draw(&state, 2)};
    c.apply = apply[draw(&state, sizeof apply / sizeof *apply)];
    c.apart = c.nlines == 2 && draw(&state, 2);
    if (c.apply == fuse || c.apply == swap) c.nlines = 2, c.apart = true;
    if (c.apply == distribute) c.nlines = 2, c.apart = false;
    if (c.apply == interchange || c.apply == tile || c.apply == jam) c.rank = 2;
    if (c.apply == interchange || c.apply == tile || c.apply == jam) c.apart = false;
    for (int k = 0; k < c.nlines; k++) {
        Line *line = &c.line[k];
        line->to = draw(&state, 2);
        line->from = draw(&state, 3);
        line->fixed = draw(&state, 8) == 0;
        for (int d = 0; d < c.rank; d++) {
            line->to_at[d] = draw(&state, 2);
            line->from_at[d] = draw(&state, 2);
        }
    }
    return c;
}

// Do both compute the same?
static bool same_results(TreeRun *r, const Tree *a, const Tree *b, int rank) {
    View x[3], y[3];
    make_views(r, x, rank);
    make_views(r, y, rank);
    CHECK(tree_interpret(&r->arena, a, x, (InterpFlags){0}, &r->diags));
    CHECK(tree_interpret(&r->arena, b, y, (InterpFlags){0}, &r->diags));
    for (int i = 0; i < 3; i++)
        if (memcmp(x[i].data, y[i].data, SIZE * SIZE * sizeof(double))) return false;
    return true;
}

static bool runs_in_any_order(TreeRun *r, const Tree *t, int rank) {
    DiagList faults = {.arena = &r->arena};
    View views[3];
    make_views(r, views, rank);
    return tree_trace(&r->arena, t, views, NULL, &faults);
}

static void judge_one(uint64_t seed, Total *total) {
    Case c = random_case(seed);
    TreeRun r;
    tr_init(&r);
    const Tree *t = build(&r, &c);
    Witness w = {0};
    DiagList found = {.arena = &r.arena};
    TreeEdit e = {.diags = &found, .witness = &w};
    const Tree *now = c.apply(t, 0, &e);
    DiagId why = !now && CHECK(found.items.n) ? found.items.at[0]->id : DIAG_COUNT;
    total->cases++;
    total->accepted += now != NULL;
    total->shape += why == DIAG_EDIT_SHAPE;
    total->open += why == DIAG_EDIT_NOT_PROVEN;
    bool ok = !now || (CHECK(same_results(&r, t, now, c.rank)) &&
                       CHECK(runs_in_any_order(&r, now, c.rank)));
    if (!now && why != DIAG_EDIT_SHAPE && why != DIAG_EDIT_NOT_PROVEN && CHECK(w.tree)) {
        total->refused++;
        total->changed += !same_results(&r, t, w.tree, c.rank) || w.rule == LEGAL_UNORDERED;
        confirm(&r, &c, &w);
    }
    if (!ok) printf("  seed %llu\n", (unsigned long long)seed);
    tr_end(&r);
}

TEST(judge_agrees_with_runs_of_random_nests) {
    Total t = {0};
    int64_t rounds = check_long_rounds(2500);
    for (int64_t i = 0; i < rounds; i++) judge_one(check_first_seed() + (uint64_t)i, &t);
    printf("%lld cases: %lld accepted, all right; %lld refused with a confirmed witness, %lld of "
           "which change the result or race; %lld not proven, %lld by shape\n",
           (long long)t.cases, (long long)t.accepted, (long long)t.refused, (long long)t.changed,
           (long long)t.open, (long long)t.shape);
    CHECK(rounds < 100 || (t.accepted > rounds / 10 && t.refused > rounds / 10));
    CHECK(t.open == 0); // all subscripts are affine: every case is decided
}
