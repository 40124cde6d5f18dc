#include "lang/einsum_path.h"

#include <math.h>
#include <string.h>

enum { TRIALS = 24, GROUPS = 4 }; // greedy orders per group; the best of each group is refined
enum { MANY = 32 };               // with more operands than this, fewer orders are tried

double path_size(const PathProblem *p, DimSet set) {
    double size = 1;
    for (; set; set &= set - 1) {
        uint64_t low = (uint64_t)set;
        size *= p->size[low ? __builtin_ctzll(low) : 64 + __builtin_ctzll((uint64_t)(set >> 64))];
    }
    return size;
}

int path_rank(DimSet set) {
    return __builtin_popcountll((uint64_t)set) + __builtin_popcountll((uint64_t)(set >> 64));
}

// --- Steps ---------------------------------------------------------------------------------------

static double step_flops(const PathProblem *p, DimSet all, DimSet result, int terms) {
    int factor = terms > 1 ? terms - 1 : 1;
    return path_size(p, all) * (factor + ((all & ~result) != 0));
}

static bool may_be(const PathProblem *p, DimSet all, DimSet result, bool last) {
    if (path_rank(all) > p->max_dims) return false;
    return last || (path_rank(result) <= p->max_rank &&
                    (p->limit <= 0 || path_size(p, result) <= p->limit));
}

static void add_step(Arena *arena, const PathProblem *p, Path *path, int n, const int *term,
                     DimSet all, DimSet result) {
    PathStep *s = &path->step[path->n++];
    *s = (PathStep){n,      arena_new_n(arena, int, n),    all,
                    result, step_flops(p, all, result, n), path_size(p, result)};
    memcpy(s->term, term, sizeof *term * (size_t)n);
    path->flops += s->flops;
}

static Path path_new(Arena *arena, const PathProblem *p) {
    return (Path){.step = arena_new_n(arena, PathStep, p->n + 1)};
}

static Path finish(Path path) {
    for (int i = 0; i + 1 < path.n; i++) path.largest = fmax(path.largest, path.step[i].size);
    return path;
}

Path path_all(Arena *arena, const PathProblem *p) {
    Path path = path_new(arena, p);
    DimSet all = 0;
    int term[PATH_MAX];
    for (int i = 0; i < p->n; i++) all |= p->has[i], term[i] = i;
    add_step(arena, p, &path, p->n, term, all, p->output);
    return path;
}

// --- Greedy --------------------------------------------------------------------------------------

typedef struct PathTerm {
    int id;
    DimSet has;
    double size;
} PathTerm;

typedef struct Greedy {
    const PathProblem *p;
    PathTerm term[PATH_MAX];
    int n;
    DimSet two, three;
    uint64_t random; // 0: without noise
} Greedy;

static double uniform(uint64_t *state) { // in (0, 1)
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return ((double)(*state >> 12) + 0.5) * 0x1p-52;
}

// Finds the dimensions that occur in at least two, and in at least three, of the remaining terms.
static void count_dims(Greedy *g) {
    DimSet once = 0;
    g->two = g->three = 0;
    for (int i = 0; i < g->n; i++) {
        g->three |= g->two & g->term[i].has;
        g->two |= once & g->term[i].has;
        once |= g->term[i].has;
    }
}

// The labels of two terms that remain in their product: those of the output or of a third term.
static DimSet left_of(const Greedy *g, int a, int b) {
    DimSet x = g->term[a].has, y = g->term[b].has;
    return ((x | y) & g->p->output) | (x & y & g->three) | ((x ^ y) & g->two);
}

static double score(Greedy *g, int a, int b, DimSet result) {
    double s = path_size(g->p, result) - g->term[a].size - g->term[b].size;
    if (!(g->term[a].has & g->term[b].has))
        s = fabs(s) + 0x1p200; // products without a common label come last
    if (g->random) s -= fmax(1, fabs(s)) * -log(-log(uniform(&g->random)));
    return s;
}

static bool pick(Greedy *g, int *first, int *second) {
    double least = INFINITY;
    for (int a = 0; a < g->n; a++)
        for (int b = a + 1; b < g->n; b++) {
            DimSet result = left_of(g, a, b);
            if (!may_be(g->p, g->term[a].has | g->term[b].has, result, g->n == 2)) continue;
            double s = score(g, a, b, result);
            if (s < least) least = s, *first = a, *second = b;
        }
    return least < INFINITY;
}

// Returns false if every order found has a step with too many dimensions.
static bool greedy(Arena *arena, const PathProblem *p, uint64_t random, Path *path) {
    Greedy g = {.p = p, .n = p->n, .random = random};
    for (int i = 0; i < p->n; i++) g.term[i] = (PathTerm){i, p->has[i], path_size(p, p->has[i])};
    while (g.n > 1) {
        int a = 0, b = 0, term[PATH_MAX];
        count_dims(&g);
        if (!pick(&g, &a, &b)) {
            DimSet all = 0;
            for (int i = 0; i < g.n; i++) all |= g.term[i].has, term[i] = g.term[i].id;
            add_step(arena, p, path, g.n, term, all, p->output);
            return path_rank(all) <= p->max_dims;
        }
        DimSet all = g.term[a].has | g.term[b].has, result = left_of(&g, a, b);
        term[0] = g.term[a].id, term[1] = g.term[b].id;
        add_step(arena, p, path, 2, term, all, result);
        g.term[b] = g.term[--g.n];
        g.term[a] = (PathTerm){p->n + path->n - 1, result, path_size(p, result)};
    }
    return true;
}

// The best of `trials` orders, from number `first` on; number 0 has no noise.
static Path search_greedy(Arena *arena, const PathProblem *p, int first, int trials) {
    Path best = path_all(arena, p);
    bool found = path_rank(best.step[0].all) <= p->max_dims;
    for (int i = first; i < first + trials; i++) {
        Path path = path_new(arena, p);
        bool right = greedy(arena, p, i ? 0x9e3779b97f4a7c15u * (uint64_t)i : 0, &path);
        if (right && (!found || path.flops < best.flops)) best = path, found = true;
    }
    return best;
}

// --- The optimal order ---------------------------------------------------------------------------

typedef struct Best {
    double cost;
    DimSet result;
    unsigned left; // one part of the subset; 0: none found
} Best;

// Among orders with equal operations, the one that writes less is better.
static double step_cost(const PathProblem *p, const PathStep *step) {
    return step->flops + path_size(p, step->result) / 1024;
}

// The dimensions that remain when the subset is one tensor: those that other terms or the output
// need.
static DimSet needed(const PathProblem *p, unsigned subset) {
    DimSet inside = 0, outside = p->output;
    for (int i = 0; i < p->n; i++) *(subset >> i & 1 ? &inside : &outside) |= p->has[i];
    return inside & outside;
}

static int emit_subset(Arena *arena, const PathProblem *p, const Best *best, unsigned subset,
                       Path *path) {
    if (!(subset & (subset - 1))) return __builtin_ctz(subset);
    unsigned left = best[subset].left, right = subset & ~left;
    int term[2];
    term[0] = emit_subset(arena, p, best, left, path);
    term[1] = emit_subset(arena, p, best, right, path);
    add_step(arena, p, path, 2, term, best[left].result | best[right].result, best[subset].result);
    return p->n + path->n - 1;
}

// Prunes orders that cost more than the known one.
static Path optimal(Arena *arena, const PathProblem *p, Path known) {
    unsigned whole = (1u << p->n) - 1;
    double most = 0;
    for (int i = 0; i < known.n; i++) most += step_cost(p, &known.step[i]);
    Best *best = arena_new_n(arena, Best, whole + 1u);
    for (unsigned s = 1; s <= whole; s++) {
        best[s] = (Best){s & (s - 1) ? most : 0, needed(p, s), 0};
        if (!(s & (s - 1))) best[s].result = p->has[__builtin_ctz(s)];
        for (unsigned left = (s - 1) & s; left > (s & ~left); left = (left - 1) & s) {
            unsigned right = s & ~left;
            double parts = best[left].cost + best[right].cost;
            if (!(parts < best[s].cost)) continue;
            DimSet all = best[left].result | best[right].result, result = best[s].result;
            if (!may_be(p, all, result, s == whole)) continue;
            PathStep step = {.flops = step_flops(p, all, result, 2), .result = result};
            double cost = parts + step_cost(p, &step);
            if (cost < best[s].cost) best[s].cost = cost, best[s].left = left;
        }
    }
    if (!best[whole].left) return known;
    Path path = path_new(arena, p);
    emit_subset(arena, p, best, whole, &path);
    return path;
}

// --- Refining parts of a long order --------------------------------------------------------------
// An order of pairs is a binary tree. A part of it is a node with the nodes below it, down to some
// frontier. It is a small problem whose terms are the frontier; its optimal order replaces the
// part. This is repeated until no part improves.

enum { SMALL_PART = 8, PART = 11, ROUNDS = 8 }; // sizes of a part, in terms; rounds over all nodes

typedef struct PairTree {
    const PathProblem *p;
    int n; // nodes: operands, then steps; the last is the root
    int left[2 * PATH_MAX], right[2 * PATH_MAX];
    DimSet has[2 * PATH_MAX];
} PairTree;

typedef struct Frontier {
    int n, inner_count;
    int node[PART], inner[PART]; // inner: the nodes above the frontier, the top first
} Frontier;

static bool tree_of(const PathProblem *p, const Path *path, PairTree *t) {
    *t = (PairTree){.p = p, .n = p->n + path->n};
    for (int i = 0; i < p->n; i++) t->has[i] = p->has[i];
    for (int i = 0; i < path->n; i++) {
        const PathStep *s = &path->step[i];
        if (s->n != 2) return false;
        t->left[p->n + i] = s->term[0], t->right[p->n + i] = s->term[1];
        t->has[p->n + i] = s->result;
    }
    return true;
}

// Starting from `top`, repeatedly replaces the largest node that is not an operand by its two
// children.
static Frontier frontier_of(const PairTree *t, int top, int most_terms) {
    Frontier f = {.n = 1, .node = {top}};
    while (f.n < most_terms) {
        int at = -1;
        double most = -1;
        for (int i = 0; i < f.n; i++) {
            double size = path_size(t->p, t->has[f.node[i]]);
            if (f.node[i] >= t->p->n && size > most) most = size, at = i;
        }
        if (at < 0) break;
        int node = f.node[at];
        f.inner[f.inner_count++] = node;
        f.node[at] = t->left[node];
        f.node[f.n++] = t->right[node];
    }
    return f;
}

// The present order of the part below `node`, as a path of the small problem.
static int part_path(Arena *arena, const PathProblem *part, const PairTree *t, const Frontier *f,
                     int node, Path *path) {
    for (int i = 0; i < f->n; i++)
        if (f->node[i] == node) return i;
    int term[2];
    term[0] = part_path(arena, part, t, f, t->left[node], path);
    term[1] = part_path(arena, part, t, f, t->right[node], path);
    add_step(arena, part, path, 2, term, t->has[t->left[node]] | t->has[t->right[node]],
             t->has[node]);
    return part->n + path->n - 1;
}

// The steps of a better order reuse the numbers of the nodes that they replace; the last is the
// top.
static void put_part(PairTree *t, const Frontier *f, const Path *better) {
    int number[2 * PART];
    for (int i = 0; i < f->n; i++) number[i] = f->node[i];
    for (int i = 0; i < better->n; i++) number[f->n + i] = f->inner[i == better->n - 1 ? 0 : i + 1];
    for (int i = 0; i < better->n; i++) {
        int node = number[f->n + i];
        t->left[node] = number[better->step[i].term[0]];
        t->right[node] = number[better->step[i].term[1]];
        t->has[node] = better->step[i].result;
    }
}

static bool improve_part(Arena *arena, PairTree *t, int top, int most_terms) {
    Frontier f = frontier_of(t, top, most_terms);
    if (f.n < 3) return false;
    DimSet has[PART];
    for (int i = 0; i < f.n; i++) has[i] = t->has[f.node[i]];
    PathProblem part = *t->p;
    part.n = f.n, part.has = has, part.output = t->has[top];
    Path known = path_new(arena, &part);
    part_path(arena, &part, t, &f, top, &known);
    Path better = optimal(arena, &part, known);
    if (!(better.flops < known.flops * (1 - 1e-9))) return false;
    put_part(t, &f, &better);
    return true;
}

static int emit_node(Arena *arena, const PairTree *t, int node, Path *path) {
    if (node < t->p->n) return node;
    int term[2], a = t->left[node], b = t->right[node];
    term[0] = emit_node(arena, t, a, path);
    term[1] = emit_node(arena, t, b, path);
    add_step(arena, t->p, path, 2, term, t->has[a] | t->has[b], t->has[node]);
    return t->p->n + path->n - 1;
}

static Path refine(Arena *arena, const PathProblem *p, Path path, int most_terms) {
    PairTree t;
    if (!tree_of(p, &path, &t)) return path;
    bool better = true;
    for (int round = 0; round < ROUNDS && better; round++) {
        better = false;
        for (int node = t.n - 1; node >= p->n; node--) {
            ArenaMark mark = arena_mark(arena);
            better |= improve_part(arena, &t, node, most_terms);
            arena_release(arena, mark);
        }
    }
    Path made = path_new(arena, p);
    emit_node(arena, &t, t.n - 1, &made);
    return made;
}

// The time of a greedy order grows with the cube of the number of operands.
static int trials_of(int operands) {
    int times = operands > MANY ? operands / MANY * operands / MANY * operands / MANY : 1;
    return times < TRIALS ? TRIALS / times : 1;
}

Path path_find(Arena *arena, const PathProblem *p) {
    if (p->n < 2) return path_all(arena, p);
    if (p->n > PATH_OPTIMAL) {
        int trials = trials_of(p->n);
        Path best = refine(arena, p, search_greedy(arena, p, 0, trials), SMALL_PART);
        for (int i = 1; i < GROUPS; i++) {
            Path other = refine(arena, p, search_greedy(arena, p, i * trials, trials), SMALL_PART);
            if (other.flops < best.flops) best = other;
        }
        return finish(refine(arena, p, best, PART));
    }
    return finish(optimal(arena, p, search_greedy(arena, p, 0, 1)));
}

// --- Positions -----------------------------------------------------------------------------------

// The terms that remain before step `step`, in order.
static int left_before(const PathProblem *p, const Path *path, int step, int *left) {
    int n = 0;
    for (int i = 0; i < p->n; i++) left[n++] = i;
    for (int s = 0; s < step; s++) {
        int kept = 0;
        for (int i = 0; i < n; i++) {
            bool used = false;
            for (int k = 0; k < path->step[s].n; k++) used |= path->step[s].term[k] == left[i];
            if (!used) left[kept++] = left[i];
        }
        left[kept++] = p->n + s;
        n = kept;
    }
    return n;
}

void path_positions(const PathProblem *p, const Path *path, int step, int32_t *into) {
    int left[2 * PATH_MAX], n = left_before(p, path, step, left), k = 0;
    for (int i = 0; i < n; i++)
        for (int t = 0; t < path->step[step].n; t++)
            if (path->step[step].term[t] == left[i]) into[k++] = i;
}

// The terms at these positions, out of `*count` remaining ones, are replaced by their product at
// the end. A single term only moves to the end: labels that only it has were summed before.
static bool take_step(Arena *arena, const PathProblem *p, const int32_t *at, int n, Path *path,
                      int *left, int *count) {
    int term[PATH_MAX], kept = 0;
    DimSet all = 0, outside = p->output;
    bool used[PATH_MAX] = {false}, last = n == *count;
    for (int i = 0; i < n; i++) {
        if (at[i] < 0 || at[i] >= *count || used[at[i]]) return false;
        used[at[i]] = true;
        term[i] = left[at[i]];
    }
    for (int i = 0; i < *count; i++) {
        DimSet has = left[i] < p->n ? p->has[left[i]] : path->step[left[i] - p->n].result;
        *(used[i] ? &all : &outside) |= has;
        if (!used[i]) left[kept++] = left[i];
    }
    *count = kept + 1;
    left[kept] = n == 1 ? term[0] : p->n + path->n;
    if (n == 1) return true;
    if (!may_be(p, all, all & outside, last)) return false;
    add_step(arena, p, path, n, term, all, all & outside);
    return true;
}

bool path_given(Arena *arena, const PathProblem *p, const int32_t *list, size_t length, Path *out) {
    *out = path_new(arena, p);
    int left[PATH_MAX], count = p->n;
    for (int i = 0; i < count; i++) left[i] = i;
    for (size_t i = 0; i < length;) {
        int n = list[i++];
        if (n < 1 || n > count || (size_t)n > length - i) return false;
        if (!take_step(arena, p, list + i, n, out, left, &count)) return false;
        i += (size_t)n;
    }
    *out = finish(*out);
    return count == 1 && out->n > 0;
}
