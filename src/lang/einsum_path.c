#include "lang/einsum_path.h"

#include <math.h>
#include <string.h>

enum { TRIALS = 96 };

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
    uint64_t random; // 0: no noise
} Greedy;

static double uniform(uint64_t *state) { // in (0, 1)
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return ((double)(*state >> 12) + 0.5) * 0x1p-52;
}

// Dimensions of at least two and of at least three of the terms that are left.
static void count_dims(Greedy *g) {
    DimSet once = 0;
    g->two = g->three = 0;
    for (int i = 0; i < g->n; i++) {
        g->three |= g->two & g->term[i].has;
        g->two |= once & g->term[i].has;
        once |= g->term[i].has;
    }
}

// What is left of two terms: what the output or a third one has.
static DimSet left_of(const Greedy *g, int a, int b) {
    DimSet x = g->term[a].has, y = g->term[b].has;
    return ((x | y) & g->p->output) | (x & y & g->three) | ((x ^ y) & g->two);
}

static double score(Greedy *g, int a, int b, DimSet result) {
    double s = path_size(g->p, result) - g->term[a].size - g->term[b].size;
    if (!(g->term[a].has & g->term[b].has))
        s = fabs(s) + 0x1p200; // products of nothing in common last
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

// False: some step has too many dimensions, and no other order was found.
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

static Path search_greedy(Arena *arena, const PathProblem *p, int trials) {
    Path best = path_all(arena, p);
    bool found = path_rank(best.step[0].all) <= p->max_dims;
    for (int i = 0; i < trials; i++) {
        Path path = path_new(arena, p);
        bool right = greedy(arena, p, i ? 0x9e3779b97f4a7c15u * (uint64_t)i : 0, &path);
        if (right && (!found || path.flops < best.flops)) best = path, found = true;
    }
    return best;
}

// --- The best of all -----------------------------------------------------------------------------

typedef struct Best {
    double cost;
    DimSet result;
    unsigned left; // one part of the subset; 0: none was found
} Best;

// Of orders that take as many operations, the one with less to write is better.
static double step_cost(const PathProblem *p, const PathStep *step) {
    return step->flops + path_size(p, step->result) / 1024;
}

// What is left of the subset's dimensions once it is one tensor: those that others need.
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

// Orders that cost more than the one that is known are left out early.
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

Path path_find(Arena *arena, const PathProblem *p) {
    if (p->n < 2) return path_all(arena, p);
    if (p->n > PATH_OPTIMAL) return finish(search_greedy(arena, p, TRIALS));
    return finish(optimal(arena, p, search_greedy(arena, p, 1)));
}

// --- Positions -----------------------------------------------------------------------------------

// The terms that are left before step `step`, in their order.
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

// The terms at these positions of the `*count` that are left make room for their product, at the
// end. A single term only moves there: labels that nothing else has were summed before.
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
