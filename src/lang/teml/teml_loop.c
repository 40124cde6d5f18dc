// Loop transformations (equations 19 to 29). Each finds the loops at the given levels, applies
// transform/transform.h without checks, and then checks the result as a whole.
//
// Level r is reached through loops with one child each, as in the patterns of the paper. A strip
// keeps its bounds inside the loop over strips: 4*o <= i < 4*o + 4 has no meaning outside of o.
#include "lang/teml/teml.h"

#include "base/checked.h"
#include "transform/transform.h"

Tree *teml_tree(Teml *t, const Node *const *node, int n) {
    Tree *tree = arena_copy(t->arena, t->base, sizeof *t->base);
    Block root = {.node.ndeps = -1};
    tree->buffers.cap = tree->buffers.n;
    tree->program = t->parts;
    tree->root = tree_block(tree, &root, node, n);
    return tree;
}

// --- Levels ------------------------------------------------------------------------------------

static const Block *as_loop(const Node *node) {
    const Block *b = as_block(node);
    return b && b->nindex == 1 ? b : NULL;
}

// The loop at a level of a nest; NULL: there is none. *reached is the last existing level.
static const Block *loop_at(const Node *node, int64_t level, int *reached) {
    const Block *b = as_loop(node);
    for (*reached = 0; b; b = b->nchildren == 1 ? as_loop(b->child[0]) : NULL)
        if (++*reached == level) return b;
    return NULL;
}

// Is there a loop below the last of the chain?
static bool is_imperfect(const Node *node) {
    const Block *b = as_block(node);
    if (!b) return false;
    bool inner = false;
    for (int i = 0; i < b->nchildren; i++) {
        inner |= as_loop(b->child[i]) != NULL;
        if (is_imperfect(b->child[i])) return true;
    }
    return inner && b->nchildren > 1;
}

static void bad_level(Teml *t, const TemlStmt *s, int arg, const Syn *syn, const TemlLoop *l,
                      int reached, const char *rule) {
    Name name = s->arg[arg]->name;
    if (l->bare)
        diag_report(t->diags, s->arg[arg]->range, DIAG_TEML_BARE, s->builtin, name, rule);
    else if (is_imperfect(l->node[0]) && syn->i > reached)
        diag_report(t->diags, syn->range, DIAG_TEML_IMPERFECT, name, reached, rule);
    else
        diag_report(t->diags, syn->range, DIAG_TEML_LEVEL, (long long)syn->i, name, reached,
                    reached == 1 ? "" : "s", rule);
}

static const Block *level_of(Teml *t, const TemlStmt *s, int arg, const TemlLoop *l, const Syn *syn,
                             const char *rule) {
    int reached = 0;
    const Block *b = l->bare ? NULL : loop_at(l->node[0], syn->i, &reached);
    if (!b) bad_level(t, s, arg, syn, l, reached, rule);
    return b;
}

// The number of loops of a perfect nest; 0 after a report if the nest is not perfect.
static int perfect_depth(Teml *t, const TemlStmt *s, const TemlLoop *l, const char *rule) {
    int reached = 0;
    if (!l->bare) loop_at(l->node[0], -1, &reached);
    if (reached && !is_imperfect(l->node[0])) return reached;
    bad_level(t, s, 0, &(Syn){.range = s->arg[0]->range, .i = reached + 1}, l, reached, rule);
    return 0;
}

// --- Applying ----------------------------------------------------------------------------------

typedef struct Apply {
    Teml *t;
    const TemlStmt *s;
    DiagList refused;
    TreeEdit edit;
    const Tree *now; // NULL: refused
    const char *rule;
} Apply;

static void apply_begin(Apply *p, Teml *t, const TemlStmt *s, const char *rule,
                        const Node *const *node, int n) {
    *p = (Apply){.t = t, .s = s, .rule = rule, .refused.arena = t->diags->arena};
    p->edit = (TreeEdit){&p->refused, .unchecked = true};
    p->now = teml_tree(t, node, n);
}

// Continues with the Tree after a step, and adopts its new index numbers.
static bool step(Apply *p, const Tree *made) {
    p->now = made;
    if (!made) return false;
    p->t->base->buffers = made->buffers;
    p->t->base->nindices = made->nindices;
    return true;
}

typedef struct Leaves {
    Teml *t;
    int n;
    bool crossed; // a strip is outside its loop over strips
    const Block *path[TREE_MAX_DEPTH * 2];
} Leaves;

// Of the indices that form an iterator, the last one with factor 1 must be inside the others.
static bool keeps_strips(const Leaves *l, const Leaf *leaf, int depth, int niters) {
    for (int k = 0; k < niters; k++) {
        const Affine *a = leaf->iter[k];
        bool strip = false;
        for (int d = 0; d < depth; d++) {
            int64_t c = l->path[d]->nindex == 1 ? affine_coef(a, l->path[d]->index[0].id) : 0;
            if (strip && c > 1) return false; // negative: the loop is skewed
            if (c == 1 && a->n > 1) strip = true;
        }
    }
    return true;
}

static bool look_at(void *user, const Node *node, int depth, const Block *parent) {
    Leaves *l = user;
    const Leaf *leaf = as_leaf(node);
    (void)parent;
    if (as_block(node) && depth < TREE_MAX_DEPTH * 2) l->path[depth] = as_block(node);
    if (!leaf) return true;
    l->n++;
    int niters = l->t->parts->stmts.at[leaf->stmt].niters;
    if (depth <= TREE_MAX_DEPTH * 2) l->crossed |= !keeps_strips(l, leaf, depth, niters);
    return true;
}

static bool is_wellformed(Apply *p) {
    Leaves leaves = {.t = p->t};
    tree_walk(p->now, look_at, &leaves);
    if (leaves.crossed) {
        diag_report(p->t->diags, p->s->range, DIAG_TEML_STRIP_ORDER, p->s->builtin, p->rule);
        return false;
    }
    if (leaves.n <= TEML_MAX_LEAVES) return true;
    diag_report(p->t->diags, p->s->range, DIAG_TEML_LEAVES, TEML_MAX_LEAVES);
    return false;
}

static TemlValue *judged(Teml *t, const TemlStmt *s, const TemlLoop *loop) {
    const char *why;
    if (t->options->trust < TEML_UNCHECKED && !teml_right(t, loop, s->builtin, &why)) {
        Diag *d = diag_report(t->diags, s->range, DIAG_TEML_ILLEGAL, s->builtin, why);
        if (t->probing) return NULL;
        teml_explain(t, s, loop, d);
        diag_note(t->diags, d, (Range){0, 0}, DIAG_TEML_ILLEGAL_NOTE);
        return NULL;
    }
    TemlValue *v = teml_value(t, VALUE_LOOP);
    v->loop = loop;
    return v;
}

// The loop value of the result, which runs the assignments `built`.
static TemlValue *apply_end(Apply *p, int nbuilt, TemlBuilt *const *built) {
    Teml *t = p->t;
    if (!p->now) {
        const char *why = p->refused.items.n ? p->refused.items.at[0]->text : "it does not fit";
        diag_report(t->diags, p->s->range, DIAG_TEML_REFUSED, why);
        return NULL;
    }
    if (!is_wellformed(p)) return NULL;
    TemlLoop *l = arena_new(t->arena, TemlLoop);
    *l = (TemlLoop){.n = p->now->root->nchildren, .node = p->now->root->child};
    l->nbuilt = nbuilt;
    l->built = built;
    l->bare = l->n != 1 || !as_loop(l->node[0]);
    return judged(t, p->s, l);
}

// --- build -------------------------------------------------------------------------------------

TemlValue *teml_build(Teml *t, const TemlStmt *s, int op) {
    TemlValue *v = teml_operand(t, s, 0);
    (void)op;
    if (!v) return NULL;
    if (v->kind != VALUE_ASSIGN) {
        const char *what = v->kind == VALUE_LOOP     ? "a loop"
                           : v->kind == VALUE_TENSOR ? "a tensor without a value"
                                                     : "a virtual tensor";
        diag_report(t->diags, s->arg[0]->range, DIAG_TEML_BUILD, s->arg[0]->name, what);
        return NULL;
    }
    TemlBuilt **built = arena_new(t->arena, TemlBuilt *);
    const Node **node = arena_new(t->arena, const Node *);
    TemlLoop *l = arena_new(t->arena, TemlLoop);
    if (t->base->nindices > TREE_MAX_INDICES / 2) {
        diag_report(t->diags, s->range, DIAG_TEML_LEAVES, TEML_MAX_LEAVES);
        return NULL;
    }
    built[0] = teml_build_nest(t, v->assign);
    node[0] = built[0]->nest;
    *l = (TemlLoop){.n = 1, .node = node, .nbuilt = 1, .built = built, .bare = !as_loop(node[0])};
    TemlValue *out = teml_value(t, VALUE_LOOP);
    out->loop = l;
    return out;
}

// --- Strips and order --------------------------------------------------------------------------

static bool check_strip(Teml *t, const TemlStmt *s, const Syn *size, const Block *b) {
    int64_t extent = b->index[0].extent;
    if (size->i < 1) {
        diag_report(t->diags, size->range, DIAG_TEML_STRIP, (long long)size->i);
        return false;
    }
    if (!t->diags->strict || extent % min_i64(size->i, extent) == 0) return true;
    diag_report(t->diags, size->range, DIAG_TEML_DIVIDES, (long long)size->i, b->index[0].name,
                (long long)extent);
    (void)s;
    return false;
}

// A strip longer than the loop is the whole loop.
static bool split(Apply *p, const Block *b, const Syn *size) {
    if (!check_strip(p->t, p->s, size, b)) return false;
    int64_t inner = min_i64(size->i, max_i64(b->index[0].extent, 1));
    step(p, tree_split(p->now, b->index[0].id, inner, false, &p->edit));
    return true;
}

TemlValue *teml_stripmine(Teml *t, const TemlStmt *s, int op) {
    int64_t r, v;
    Apply p;
    (void)op;
    const TemlLoop *l = teml_loop_argument(t, s, 0);
    if (!l || !teml_int_argument(t, s, 1, "a level", &r)) return NULL;
    if (!teml_int_argument(t, s, 2, "a strip size", &v)) return NULL;
    const Block *b = level_of(t, s, 0, l, s->arg[1], "equation 20");
    if (!b) return NULL;
    apply_begin(&p, t, s, "equation 20", l->node, l->n);
    return split(&p, b, s->arg[2]) ? apply_end(&p, l->nbuilt, l->built) : NULL;
}

static int loop_id(const Block *b) { return b->index[0].id; }

// Exchanges levels a < b: the former moves in through the levels between, the latter moves out.
static void swap_levels(Apply *p, const Node *nest, int a, int b) {
    int reached;
    int first = loop_id(loop_at(nest, a, &reached));
    for (int k = a; k < b && p->now; k++) step(p, tree_interchange(p->now, first, &p->edit));
    for (int k = b - 1; k > a && p->now; k--)
        step(p, tree_interchange(p->now, loop_id(loop_at(nest, k, &reached)), &p->edit));
}

// interchange(l, 2, 3), or interchange(l, [2, 3]) as in a listing of the paper.
static bool take_levels(Teml *t, const TemlStmt *s, const Syn *level[2]) {
    const Syn *list = s->arg[1];
    bool pair = s->n == 2 && list->kind == SYN_LIST && list->n == 2;
    for (int i = 0; i < 2; i++) {
        level[i] = pair ? list->at[i] : i < s->n - 1 ? s->arg[i + 1] : NULL;
        if (level[i] && level[i]->kind == SYN_INT) continue;
        teml_argument(t, s, pair || !level[i] ? 1 : i + 1,
                      level[i] && !pair ? "a level" : "[level, level], or two levels");
        return false;
    }
    return true;
}

TemlValue *teml_interchange(Teml *t, const TemlStmt *s, int op) {
    const Syn *level[2];
    Apply p;
    (void)op;
    const TemlLoop *l = teml_loop_argument(t, s, 0);
    if (!l || !take_levels(t, s, level)) return NULL;
    for (int i = 0; i < 2; i++)
        if (!level_of(t, s, 0, l, level[i], "equation 21")) return NULL;
    int64_t a = min_i64(level[0]->i, level[1]->i), b = max_i64(level[0]->i, level[1]->i);
    apply_begin(&p, t, s, "equation 21", l->node, l->n);
    swap_levels(&p, l->node[0], (int)a, (int)b);
    return apply_end(&p, l->nbuilt, l->built);
}

// Moves level r in through the next n levels.
static void move_in(Apply *p, const Block *b, int64_t n) {
    for (int64_t k = 0; k < n && p->now; k++)
        step(p, tree_interchange(p->now, loop_id(b), &p->edit));
}

TemlValue *teml_interchange_n(Teml *t, const TemlStmt *s, int op) {
    int64_t r, n, last;
    Apply p;
    (void)op;
    const TemlLoop *l = teml_loop_argument(t, s, 0);
    if (!l || !teml_int_argument(t, s, 1, "a level", &r)) return NULL;
    if (!teml_int_argument(t, s, 2, "a number of levels", &n)) return NULL;
    const Block *b = level_of(t, s, 0, l, s->arg[1], "equation 28");
    if (!b) return NULL;
    Syn target = *s->arg[2];
    if (n < 0 || !checked_add(r, n, &last)) return teml_argument(t, s, 2, "a number of levels");
    target.i = last;
    if (!level_of(t, s, 0, l, &target, "equation 28")) return NULL;
    apply_begin(&p, t, s, "equation 28", l->node, l->n);
    move_in(&p, b, n);
    return apply_end(&p, l->nbuilt, l->built);
}

// Strip-mines the first n levels, by size[k] or by one size for all.
static bool split_all(Apply *p, const TemlLoop *l, int n, const Syn *size) {
    int reached;
    for (int k = 1; k <= n && p->now; k++) {
        const Syn *own = size->kind == SYN_LIST ? size->at[k - 1] : size;
        if (!split(p, loop_at(l->node[0], k, &reached), own)) return false;
    }
    return true;
}

TemlValue *teml_stripmine_n(Teml *t, const TemlStmt *s, int op) {
    int64_t n, v;
    Apply p;
    (void)op;
    const TemlLoop *l = teml_loop_argument(t, s, 0);
    if (!l || !teml_int_argument(t, s, 1, "a number of levels", &n)) return NULL;
    if (!teml_int_argument(t, s, 2, "a strip size", &v)) return NULL;
    if (!level_of(t, s, 0, l, s->arg[1], "equation 27")) return NULL;
    apply_begin(&p, t, s, "equation 27", l->node, l->n);
    return split_all(&p, l, (int)n, s->arg[2]) ? apply_end(&p, l->nbuilt, l->built) : NULL;
}

static bool take_tile(Teml *t, const TemlStmt *s, int depth) {
    const Syn *size = s->arg[1];
    bool list = size->kind == SYN_LIST;
    for (int i = 0; list && i < size->n; i++) list &= size->at[i]->kind == SYN_INT;
    if (size->kind == SYN_INT || (list && size->n == depth)) return true;
    teml_argument(t, s, 1, arena_printf(t->arena, "a size, or a list of %d", depth));
    return false;
}

// After the split, loops over strips and strips alternate; strip k moves inside all others.
TemlValue *teml_tile(Teml *t, const TemlStmt *s, int op) {
    int reached;
    Apply p;
    (void)op;
    const TemlLoop *l = teml_loop_argument(t, s, 0);
    int depth = l ? perfect_depth(t, s, l, "equation 29") : 0;
    if (!depth || !take_tile(t, s, depth)) return NULL;
    apply_begin(&p, t, s, "equation 29", l->node, l->n);
    if (!split_all(&p, l, depth, s->arg[1])) return NULL;
    for (int r = 2; r <= depth + 1 && p.now; r++)
        move_in(&p, loop_at(p.now->root->child[0], r, &reached), 2 * depth - r);
    return apply_end(&p, l->nbuilt, l->built);
}

// --- Fusion ------------------------------------------------------------------------------------

// Do loops of equal extents have the same range? Compares guards after renaming the iterators
// of `b` to those of `a`.
static bool same_range(Teml *t, const Block *a, const Block *b, const Affine **of) {
    of[loop_id(b)] = affine_iter(t->x, loop_id(a));
    if (a->nconstraints != b->nconstraints) return false;
    for (int i = 0; i < a->nconstraints; i++)
        if (affine_substitute(t->x, b->constraint[i], of, NULL) != a->constraint[i]) return false;
    return true;
}

static bool can_fuse(Teml *t, const TemlStmt *s, const Block *a, const Block *b, int level,
                     const Affine **of, const char *rule) {
    const Index *i = &a->index[0], *j = &b->index[0];
    if (i->extent != j->extent) {
        diag_report(t->diags, s->range, DIAG_TEML_FUSE_RANGE, level, i->name, (long long)i->extent,
                    j->name, (long long)j->extent, rule);
        return false;
    }
    if (!same_range(t, a, b, of)) {
        diag_report(t->diags, s->range, DIAG_TEML_FUSE_STRIP, level, i->name, j->name,
                    (long long)i->extent, rule);
        return false;
    }
    if (a->kind == b->kind) return true;
    diag_report(t->diags, s->range, DIAG_TEML_FUSE_MARK, level, kind_name[a->kind],
                kind_name[b->kind]);
    return false;
}

// The assignments of both loops, in order of definition; NULL after a report if one is in both.
static TemlBuilt *const *merged(Teml *t, const TemlStmt *s, const TemlLoop *a, const TemlLoop *b) {
    TemlBuilt **out = arena_new_n(t->arena, TemlBuilt *, a->nbuilt + b->nbuilt);
    int i = 0, k = 0;
    for (int n = 0; n < a->nbuilt + b->nbuilt; n++) {
        bool left =
            k == b->nbuilt || (i < a->nbuilt && a->built[i]->of->number <= b->built[k]->of->number);
        out[n] = left ? a->built[i++] : b->built[k++];
        if (!n || out[n] != out[n - 1]) continue;
        diag_report(t->diags, s->range, DIAG_TEML_TWICE, t->tensors.at[out[n]->of->tensor].name);
        return NULL;
    }
    return out;
}

TemlValue *teml_fuse_outer(Teml *t, const TemlStmt *s, int op) {
    int64_t r;
    int reached;
    Apply p;
    (void)op;
    const TemlLoop *l[2] = {teml_loop_argument(t, s, 0), teml_loop_argument(t, s, 1)};
    if (!l[0] || !l[1] || !teml_int_argument(t, s, 2, "a level", &r)) return NULL;
    for (int i = 0; i < 2; i++)
        if (!level_of(t, s, i, l[i], s->arg[2], "equation 22")) return NULL;
    TemlBuilt *const *built = merged(t, s, l[0], l[1]);
    if (!built) return NULL;
    const Affine **of = arena_new_n(t->arena, const Affine *, t->base->nindices);
    const Node *both[] = {l[0]->node[0], l[1]->node[0]};
    apply_begin(&p, t, s, "equation 22", both, 2);
    for (int k = 1; k <= r && p.now; k++) {
        const Block *a = loop_at(both[0], k, &reached), *b = loop_at(both[1], k, &reached);
        if (!can_fuse(t, s, a, b, k, of, "equation 22")) return NULL;
        step(&p, tree_fuse(p.now, loop_id(a), &p.edit));
    }
    return apply_end(&p, l[0]->nbuilt + l[1]->nbuilt, built);
}

TemlValue *teml_fuse_inner(Teml *t, const TemlStmt *s, int op) {
    int64_t r;
    Apply p;
    (void)op;
    const TemlLoop *l = teml_loop_argument(t, s, 0);
    if (!l || !teml_int_argument(t, s, 1, "a level", &r)) return NULL;
    Syn around = *s->arg[1];
    around.i = r - 1;
    const Block *b = r == 1 ? NULL : level_of(t, s, 0, l, &around, "equation 23");
    if (r != 1 && !b) return NULL;
    const Node *const *child = b ? b->child : l->node;
    int n = b ? b->nchildren : l->n;
    const Affine **of = arena_new_n(t->arena, const Affine *, t->base->nindices);
    for (int i = 0; i < n; i++) {
        if (!as_loop(child[i])) {
            diag_report(t->diags, s->arg[1]->range, DIAG_TEML_FUSE_INNER, (long long)r,
                        s->arg[0]->name);
            return NULL;
        }
        if (i && !can_fuse(t, s, as_loop(child[0]), as_loop(child[i]), (int)r, of, "equation 23"))
            return NULL;
    }
    apply_begin(&p, t, s, "equation 23", l->node, l->n);
    for (int i = 1; i < n && p.now; i++)
        step(&p, tree_fuse(p.now, loop_id(as_loop(child[0])), &p.edit));
    return apply_end(&p, l->nbuilt, l->built);
}

// --- Unrolling ---------------------------------------------------------------------------------

static bool few_iterations(Teml *t, const TemlStmt *s, const Block *b, int64_t n) {
    if (n <= TREE_MAX_UNROLL) return true;
    diag_report(t->diags, s->range, DIAG_TEML_UNROLL, b->index[0].name, (long long)n,
                TREE_MAX_UNROLL);
    return false;
}

// With a third argument it unrolls partially: strips of that size.
TemlValue *teml_unroll(Teml *t, const TemlStmt *s, int op) {
    int64_t r, v = 0;
    Apply p;
    (void)op;
    const TemlLoop *l = teml_loop_argument(t, s, 0);
    if (!l || !teml_int_argument(t, s, 1, "a level", &r)) return NULL;
    if (s->n > 2 && !teml_int_argument(t, s, 2, "a strip size", &v)) return NULL;
    const Block *b = level_of(t, s, 0, l, s->arg[1], "equation 25");
    if (!b) return NULL;
    int64_t extent = b->index[0].extent;
    if (!few_iterations(t, s, b, s->n > 2 ? min_i64(v, extent) : extent)) return NULL;
    apply_begin(&p, t, s, "equation 25", l->node, l->n);
    int loop = s->n > 2 ? t->base->nindices + 1 : loop_id(b);
    if (s->n > 2 && !split(&p, b, s->arg[2])) return NULL;
    if (p.now) step(&p, tree_unroll(p.now, loop, &p.edit));
    return apply_end(&p, l->nbuilt, l->built);
}

// Strip-mines level r, moves the strips innermost and unrolls them.
TemlValue *teml_jam(Teml *t, const TemlStmt *s, int op) {
    int64_t r, v;
    Apply p;
    (void)op;
    const TemlLoop *l = teml_loop_argument(t, s, 0);
    if (!l || !teml_int_argument(t, s, 1, "a level", &r)) return NULL;
    if (!teml_int_argument(t, s, 2, "a strip size", &v)) return NULL;
    const Block *b = level_of(t, s, 0, l, s->arg[1], "equation 25");
    if (!b || !perfect_depth(t, s, l, "equation 25") || !check_strip(t, s, s->arg[2], b))
        return NULL;
    v = min_i64(v, max_i64(b->index[0].extent, 1));
    if (!few_iterations(t, s, b, v)) return NULL;
    apply_begin(&p, t, s, "equation 25", l->node, l->n);
    step(&p, tree_unroll_and_jam(p.now, loop_id(b), v, &p.edit));
    return apply_end(&p, l->nbuilt, l->built);
}

// Skews level q by level r, or by a multiple of it: i2 becomes i2 + f*i1.
TemlValue *teml_skew(Teml *t, const TemlStmt *s, int op) {
    int64_t r, q, f = 1;
    Apply p;
    (void)op;
    const TemlLoop *l = teml_loop_argument(t, s, 0);
    if (!l || !teml_int_argument(t, s, 1, "a level", &r)) return NULL;
    if (!teml_int_argument(t, s, 2, "a level", &q)) return NULL;
    if (s->n > 3 && !teml_int_argument(t, s, 3, "a factor", &f)) return NULL;
    const Block *by = level_of(t, s, 0, l, s->arg[1], "equation 21");
    const Block *b = by ? level_of(t, s, 0, l, s->arg[2], "equation 21") : NULL;
    if (!b) return NULL;
    if (r >= q) {
        diag_report(t->diags, s->range, DIAG_TEML_REFUSED,
                    arena_printf(t->arena,
                                 "level %lld is not around level %lld: skew(%s, %lld, %lld) skews "
                                 "the inner level by the outer one",
                                 (long long)r, (long long)q, s->arg[0]->name,
                                 (long long)min_i64(r, q), (long long)max_i64(r, q)));
        return NULL;
    }
    apply_begin(&p, t, s, "equation 21", l->node, l->n);
    step(&p, tree_skew(p.now, loop_id(b), loop_id(by), f, &p.edit));
    return apply_end(&p, l->nbuilt, l->built);
}

// --- Marks -------------------------------------------------------------------------------------

// The nest with another kind of loop at a level.
static const Node *marked(Teml *t, const Node *node, int64_t level, Kind kind) {
    Block like = *as_block(node);
    const Node *child = level > 1 ? marked(t, like.child[0], level - 1, kind) : NULL;
    if (level == 1) like.kind = kind;
    return &tree_block(t->base, &like, child ? &child : like.child, like.nchildren)->node;
}

TemlValue *teml_mark(Teml *t, const TemlStmt *s, int op) {
    int64_t r;
    const TemlLoop *l = teml_loop_argument(t, s, 0);
    if (!l || !teml_int_argument(t, s, 1, "a level", &r)) return NULL;
    if (!level_of(t, s, 0, l, s->arg[1], "section 3.3.3")) return NULL;
    const Node **node = arena_new(t->arena, const Node *);
    TemlLoop *out = arena_new(t->arena, TemlLoop);
    node[0] = marked(t, l->node[0], r, (Kind)op);
    *out = *l;
    out->node = node;
    return judged(t, s, out);
}
