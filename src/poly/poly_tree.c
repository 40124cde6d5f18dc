// Schedule trees: construction, tiling, sinking, printing; see poly.h and poly_tree.h.
#include "poly/poly_tree.h"

#include <string.h>

// --- Construction ------------------------------------------------------------------------------

static const PolyNode *leaf(Arena *arena, int n, const int *stmt) {
    PolyNode *node = arena_new(arena, PolyNode);
    *node = (PolyNode){.kind = POLY_LEAF, .nstmts = n, .stmt = stmt};
    return node;
}

// A band around the child; without members, the child itself.
static const PolyNode *band(Arena *arena, int n, const PolyMember *member, const PolyNode *child) {
    if (!n) return child;
    PolyNode *node = arena_new(arena, PolyNode);
    *node = (PolyNode){.kind = POLY_BAND, .nstmts = child->nstmts, .stmt = child->stmt, .n = n};
    node->member = arena_copy(arena, member, (size_t)n * sizeof *member);
    node->child = arena_copy(arena, &child, sizeof child);
    return node;
}

const PolyNode *poly_sequence(Arena *arena, int n, const PolyNode *const *child) {
    if (n == 1) return child[0];
    PolyNode *node = arena_new(arena, PolyNode);
    *node = (PolyNode){.kind = POLY_SEQUENCE, .n = n};
    for (int i = 0; i < n; i++) node->nstmts += child[i]->nstmts;
    int *stmt = arena_new_n(arena, int, node->nstmts + 1), at = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < child[i]->nstmts; k++) stmt[at++] = child[i]->stmt[k];
    node->stmt = stmt;
    node->child = arena_copy(arena, child, (size_t)(n + 1) * sizeof *child);
    return node;
}

void poly_add_inits(const PolyScop *s, PolyMember *m) {
    const int64_t **value = (const int64_t **)m->value;
    for (int i = 0; i + 1 < s->n; i++) {
        const int64_t *row = value[i + 1];
        if (!s->stmt[i].init || !row) continue;
        bool reduces = false;
        for (int k = 0; k < s->stmt[i].s->niters; k++)
            reduces |= row[k] && s->stmt[i].s->iter[k].reduction;
        if (!reduces) value[i] = row;
    }
}

// A member that is iterator `iter` of one statement.
static PolyMember own_member(Arena *arena, const PolyScop *s, int stmt, int iter) {
    const Stmt *st = s->stmt[stmt].s;
    const int64_t **value = arena_new_n(arena, const int64_t *, s->n);
    int64_t *row = arena_new_n(arena, int64_t, POLY_ROW);
    row[iter] = 1;
    value[stmt] = row;
    // Iterations write different elements.
    bool apart = s->facts->stmt[s->stmt[stmt].stmt].injective;
    bool free = !st->iter[iter].reduction && iter >= st->serial;
    return (PolyMember){.value = value, .coincident = apart && free};
}

const PolyNode *poly_canonical_of(Arena *arena, const PolyScop *s, int n, const int *stmt) {
    const PolyNode **child = arena_new_n(arena, const PolyNode *, n + 1);
    for (int i = 0; i < n; i++) {
        const PolyStmt *st = &s->stmt[stmt[i]];
        PolyMember member[PROGRAM_MAX_ITERS];
        for (int k = 0; k < st->niters; k++) member[k] = own_member(arena, s, stmt[i], st->iter[k]);
        int *own = arena_copy(arena, &stmt[i], sizeof *own);
        child[i] = band(arena, st->niters, member, leaf(arena, 1, own));
    }
    return poly_sequence(arena, n, child);
}

const PolyNode *poly_single(Arena *arena, const PolyScop *s, int n, const int *stmt) {
    PolyMember member[PROGRAM_MAX_ITERS];
    int last = stmt[n - 1], count = s->stmt[last].s->niters;
    for (int i = 0; i < count; i++) {
        member[i] = own_member(arena, s, last, i);
        poly_add_inits(s, &member[i]);
    }
    return poly_tidy(arena, s, band(arena, count, member, leaf(arena, n, stmt)));
}

const PolyNode *poly_canonical(Arena *arena, const PolyScop *s) {
    int *all = arena_new_n(arena, int, s->n + 1);
    for (int i = 0; i < s->n; i++) all[i] = i;
    return poly_canonical_of(arena, s, s->n, all);
}

const PolyNode *poly_nest(Arena *arena, const PolyNode *b) {
    const PolyNode *out = b->child[0];
    for (int i = b->n - 1; i >= 0; i--) out = band(arena, 1, &b->member[i], out);
    return out;
}

// --- Normalisation -----------------------------------------------------------------------------

static bool has_all(const PolyMember *m, const PolyNode *node) {
    for (int i = 0; i < node->nstmts; i++)
        if (!m->value[node->stmt[i]]) return false;
    return true;
}

static bool has_some(const PolyMember *m, const PolyNode *node) {
    for (int i = 0; i < node->nstmts; i++)
        if (m->value[node->stmt[i]]) return true;
    return false;
}

// The outermost iterator on which the member depends, for the last statement that has it.
static int place_of(const PolyMember *m, const PolyNode *node) {
    const int64_t *row = NULL;
    for (int i = 0; i < node->nstmts; i++)
        if (m->value[node->stmt[i]]) row = m->value[node->stmt[i]];
    for (int k = 0; row && k < PROGRAM_MAX_ITERS; k++)
        if (row[k]) return k;
    return PROGRAM_MAX_ITERS;
}

static void sort_members(PolyMember *m, int n, const PolyNode *node) {
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && place_of(&m[k], node) < place_of(&m[k - 1], node); k--) {
            PolyMember swap = m[k];
            m[k] = m[k - 1];
            m[k - 1] = swap;
        }
}

// In a nest of one statement of the Program, the only dependences are those between updates of its
// reduction and those between steps.
static void mark_parallel(const PolyScop *s, PolyMember *m, const PolyNode *node) {
    int last = node->stmt[node->nstmts - 1], stmt = s->stmt[last].stmt;
    if (s->stmt[last].s->serial) return;
    for (int i = 0; i < node->nstmts; i++)
        if (s->stmt[node->stmt[i]].stmt != stmt) return;
    int iter = m->value[last] ? poly_member_iter(s, m, last) : -1;
    if (iter >= 0 && s->facts->stmt[stmt].injective)
        m->coincident = !s->stmt[last].s->iter[iter].reduction;
}

static int least_of(const PolyNode *n) {
    int least = n->stmt[0];
    for (int i = 1; i < n->nstmts; i++) least = n->stmt[i] < least ? n->stmt[i] : least;
    return least;
}

static int most_of(const PolyNode *n) {
    int most = n->stmt[0];
    for (int i = 1; i < n->nstmts; i++) most = n->stmt[i] > most ? n->stmt[i] : most;
    return most;
}

// The parts of a node that may have separate loops: the children of a sequence, or the statements.
static int parts_of(Arena *arena, const PolyNode *node, const PolyNode ***out) {
    int n = node->kind == POLY_SEQUENCE ? node->n : node->nstmts;
    *out = arena_new_n(arena, const PolyNode *, n + 1);
    if (node->kind == POLY_BAND) return 0;
    for (int i = 0; i < n; i++)
        (*out)[i] = node->kind == POLY_SEQUENCE ? node->child[i] : leaf(arena, 1, &node->stmt[i]);
    return n;
}

// Moves members that some statements lack into the parts of the child. This is legal because every
// dependence between statements goes from an earlier to a later one of the Program.
static const PolyNode *push_down(Arena *arena, const PolyScop *s, int n, const PolyMember *m,
                                 const PolyNode *child) {
    if (!n) return poly_tidy(arena, s, child);
    const PolyNode **part;
    int parts = parts_of(arena, child, &part);
    if (!parts) return NULL;
    for (int i = 1; i < parts; i++)
        for (int k = i; k > 0 && least_of(part[k]) < least_of(part[k - 1]); k--) {
            const PolyNode *swap = part[k];
            part[k] = part[k - 1];
            part[k - 1] = swap;
        }
    for (int i = 0; i < parts; i++) {
        if (i && most_of(part[i - 1]) > least_of(part[i])) return NULL;
        PolyMember own[PROGRAM_MAX_ITERS * 2];
        int count = 0;
        for (int k = 0; k < n && count < PROGRAM_MAX_ITERS * 2; k++)
            if (has_some(&m[k], part[i])) own[count++] = m[k];
        part[i] = poly_tidy(arena, s, band(arena, count, own, part[i]));
        if (!part[i]) return NULL;
    }
    return poly_sequence(arena, parts, part);
}

const PolyNode *poly_tidy(Arena *arena, const PolyScop *s, const PolyNode *node) {
    if (!node || (node->nstmts < 2 && node->kind == POLY_LEAF)) return node;
    if (node->kind == POLY_LEAF) {
        const PolyNode **part;
        int n = parts_of(arena, node, &part);
        return poly_sequence(arena, n, part);
    }
    if (node->kind == POLY_SEQUENCE) {
        const PolyNode **child = arena_new_n(arena, const PolyNode *, node->n + 1);
        for (int i = 0; i < node->n; i++)
            if (!(child[i] = poly_tidy(arena, s, node->child[i]))) return NULL;
        return poly_sequence(arena, node->n, child);
    }
    PolyMember *all = arena_new_n(arena, PolyMember, 2 * node->n), *some = all + node->n;
    int n = 0, rest = 0;
    for (int i = 0; i < node->n; i++) {
        if (has_all(&node->member[i], node))
            all[n++] = node->member[i];
        else if (has_some(&node->member[i], node))
            some[rest++] = node->member[i];
    }
    sort_members(all, n, node);
    sort_members(some, rest, node);
    for (int i = 0; i < n; i++) mark_parallel(s, &all[i], node);
    const PolyNode *child = push_down(arena, s, rest, some, node->child[0]);
    return child ? band(arena, n, all, child) : NULL;
}

// --- Matching ----------------------------------------------------------------------------------

static int member_iter(const PolyScop *s, const PolyMember *m, int stmt) {
    return m->value[stmt] ? poly_member_iter(s, m, stmt) : -1;
}

// May the two members run in one loop, for every statement of both nests?
static bool members_match(Arena *arena, const PolyScop *s, const PolyNode *a, const PolyMember *m,
                          const PolyNode *b, const PolyMember *k) {
    for (int i = 0; i < a->nstmts; i++)
        for (int j = 0; j < b->nstmts; j++) {
            const PolyStmt *p = &s->stmt[a->stmt[i]], *q = &s->stmt[b->stmt[j]];
            int x = member_iter(s, m, a->stmt[i]), y = member_iter(s, k, b->stmt[j]);
            if (p->init || q->init) continue; // they follow their statements
            if (x < 0 || y < 0) return false;
            const StmtFacts *f = &s->facts->stmt[p->stmt], *g = &s->facts->stmt[q->stmt];
            if (iter_extent(&p->s->iter[x]) != iter_extent(&q->s->iter[y]) ||
                !stmts_share(arena, f, x, g, y, 0))
                return false;
        }
    return true;
}

static PolyMember joined(Arena *arena, const PolyScop *s, const PolyMember *m,
                         const PolyMember *k) {
    const int64_t **value = arena_new_n(arena, const int64_t *, s->n);
    for (int i = 0; i < s->n; i++) value[i] = m->value[i] ? m->value[i] : k->value[i];
    return (PolyMember){.value = value, .coincident = true};
}

const PolyNode *poly_match(Arena *arena, const PolyScop *s, const PolyNode *a, const PolyNode *b) {
    if (a->kind != POLY_BAND || b->kind != POLY_BAND) return NULL;
    PolyMember *shared = arena_new_n(arena, PolyMember, 2 * a->n + b->n);
    PolyMember *rest_a = shared + a->n, *rest_b = rest_a + a->n;
    int n = 0, na = 0, nb = 0;
    bool *taken = arena_new_n(arena, bool, b->n);
    for (int i = 0; i < a->n; i++) {
        int with = -1;
        for (int k = 0; k < b->n && with < 0 && a->member[i].coincident; k++)
            if (!taken[k] && b->member[k].coincident &&
                members_match(arena, s, a, &a->member[i], b, &b->member[k]))
                with = k;
        if (with < 0)
            rest_a[na++] = a->member[i];
        else
            shared[n++] = joined(arena, s, &a->member[i], &b->member[with]);
        if (with >= 0) taken[with] = true;
    }
    for (int k = 0; k < b->n; k++)
        if (!taken[k]) rest_b[nb++] = b->member[k];
    const PolyNode *child[] = {band(arena, na, rest_a, a->child[0]),
                               band(arena, nb, rest_b, b->child[0]), NULL};
    return n ? band(arena, n, shared, poly_sequence(arena, 2, child)) : NULL;
}

// --- Properties --------------------------------------------------------------------------------

// The iterator that the row is, up to a constant; -1: it has another form.
static int as_iterator(const Stmt *s, const int64_t *row) {
    int found = -1;
    for (int i = 0; i < s->niters; i++) {
        if (!row[i]) continue;
        if (row[i] != 1 || found >= 0) return -1;
        found = i;
    }
    return found;
}

int poly_member_iter(const PolyScop *s, const PolyMember *m, int stmt) {
    const int64_t *row = m->value[stmt];
    return row ? as_iterator(s->stmt[stmt].s, row) : -1;
}

static bool plain_row(const Stmt *s, const int64_t *row, const PolyOptions *o) {
    for (int i = 0; i < s->niters; i++)
        if (row[i] < 0 && !o->any_orthant) return false;
    return o->skew || as_iterator(s, row) >= 0;
}

static bool plain_member(const PolyScop *s, const PolyMember *m, const PolyNode *node,
                         const PolyOptions *o) {
    int64_t start = 0;
    bool known = false;
    for (int i = 0; i < node->nstmts; i++) {
        const int64_t *row = m->value[node->stmt[i]];
        const Stmt *st = s->stmt[node->stmt[i]].s;
        if (!row) continue;
        if (!plain_row(st, row, o)) return false;
        if (o->skew) continue;
        int64_t from = iter_lo(&st->iter[as_iterator(st, row)]) + row[POLY_ROW - 1];
        if (known && from != start) return false;
        start = from;
        known = true;
    }
    return true;
}

bool poly_plain(const PolyScop *s, const PolyNode *node, const PolyOptions *o) {
    if (node->kind == POLY_LEAF) return true;
    for (int i = 0; node->kind == POLY_BAND && i < node->n; i++)
        if (!plain_member(s, &node->member[i], node, o)) return false;
    for (int i = 0; i < (node->kind == POLY_BAND ? 1 : node->n); i++)
        if (!poly_plain(s, node->child[i], o)) return false;
    return true;
}

bool poly_spans(const PolyNode *node) {
    for (int i = 0; i < node->nstmts; i++) {
        bool any = false;
        for (int k = 0; k < node->n; k++) any |= node->member[k].value[node->stmt[i]] != NULL;
        if (!any) return false;
    }
    return true;
}

int poly_coincident(const PolyNode *root) {
    int n = 0;
    for (int i = 0; root->kind == POLY_BAND && i < root->n; i++) n += root->member[i].coincident;
    return n;
}

// --- Tiling and sinking ------------------------------------------------------------------------

static const PolyNode *tile_at(Arena *arena, const PolyScop *s, const PolyNode *node, int depth,
                               int n, const int64_t *tile, bool outermost) {
    if (node->kind == POLY_LEAF) return node;
    if (node->kind == POLY_SEQUENCE) {
        const PolyNode **child = arena_new_n(arena, const PolyNode *, node->n + 1);
        for (int i = 0; i < node->n; i++)
            child[i] = tile_at(arena, s, node->child[i], depth, n, tile, outermost);
        return poly_sequence(arena, node->n, child);
    }
    PolyMember *tiles = arena_new_n(arena, PolyMember, 2 * node->n), *points = tiles + node->n;
    int ntiles = 0;
    for (int i = 0; i < node->n; i++) {
        int64_t size = depth + i < n ? tile[depth + i] : 0;
        points[i] = node->member[i];
        if (size < 1) continue;
        points[i].part = POLY_POINTS;
        points[i].tile = size;
        tiles[ntiles] = points[i];
        tiles[ntiles++].part = POLY_TILES;
    }
    const PolyNode *child = node->child[0];
    if (!outermost) child = tile_at(arena, s, child, depth + node->n, n, tile, false);
    return band(arena, ntiles, tiles, band(arena, node->n, points, child));
}

const PolyNode *poly_tile(Arena *arena, const PolyScop *s, const PolyNode *root, int n,
                          const int64_t *tile, bool outermost) {
    return tile_at(arena, s, root, 0, n, tile, outermost);
}

typedef struct Sunk {
    int n;
    PolyMember member[PROGRAM_MAX_ITERS * 2];
} Sunk;

static const PolyNode *sink(Arena *arena, const PolyNode *node, const Sunk *above) {
    if (node->kind == POLY_LEAF) {
        PolyMember own[PROGRAM_MAX_ITERS * 2];
        int n = 0;
        for (int i = 0; i < above->n; i++)
            if (has_some(&above->member[i], node)) own[n++] = above->member[i];
        return band(arena, n, own, node);
    }
    if (node->kind == POLY_SEQUENCE) {
        const PolyNode **child = arena_new_n(arena, const PolyNode *, node->n + 1);
        for (int i = 0; i < node->n; i++) child[i] = sink(arena, node->child[i], above);
        return poly_sequence(arena, node->n, child);
    }
    Sunk more = *above;
    PolyMember *stay = arena_new_n(arena, PolyMember, node->n);
    int n = 0;
    for (int i = 0; i < node->n; i++) {
        const PolyMember *m = &node->member[i];
        bool sinks = m->part == POLY_POINTS && m->coincident && more.n < PROGRAM_MAX_ITERS * 2;
        if (sinks)
            more.member[more.n++] = *m;
        else
            stay[n++] = *m;
    }
    return band(arena, n, stay, sink(arena, node->child[0], &more));
}

const PolyNode *poly_sink(Arena *arena, const PolyScop *s, const PolyNode *root) {
    (void)s;
    return sink(arena, root, &(Sunk){0});
}

// --- Text --------------------------------------------------------------------------------------

static void print_instance(Text *out, const PolyStmt *s) {
    text_printf(out, "%s(", s->label);
    for (int i = 0; i < s->niters; i++)
        text_printf(out, "%s%s", i ? ", " : "", s->s->iter[s->iter[i]].name);
    text_char(out, ')');
}

static void print_row(Text *out, const PolyScop *s, int stmt, const PolyMember *m) {
    Exprs *x = s->p->exprs;
    const Stmt *st = s->stmt[stmt].s;
    const int64_t *row = m->value[stmt];
    Name names[PROGRAM_MAX_ITERS];
    const Affine *a = affine_const(x, row ? row[POLY_ROW - 1] : 0);
    for (int i = 0; row && i < st->niters; i++) {
        a = affine_add(x, a, affine_scale(x, affine_iter(x, i), row[i]));
        names[i] = st->iter[i].name;
    }
    const Affine *size = affine_const(x, m->tile > 1 ? m->tile : 1);
    if (m->part == POLY_TILES) a = affine_scale(x, affine_div(x, a, size), size->constant);
    if (m->part == POLY_POINTS) a = affine_mod(x, a, size);
    affine_print(out, a, &(PrintNames){.iters = names});
}

static void print_domain(Text *out, const PolyScop *s) {
    text_add(out, "domain\n");
    for (int i = 0; i < s->n; i++) {
        const PolyStmt *st = &s->stmt[i];
        text_add(out, "  ");
        print_instance(out, st);
        for (int k = 0; k < st->niters; k++) {
            const Iter *iter = &st->s->iter[st->iter[k]];
            text_printf(out, "%s %lld <= %s < %lld", k ? "," : ":", (long long)iter_lo(iter),
                        iter->name, (long long)iter_hi(iter));
        }
        text_char(out, '\n');
    }
}

static void indent(Text *out, int depth) {
    for (int i = 0; i < depth; i++) text_add(out, "  ");
}

static void print_band(Text *out, const PolyScop *s, const PolyNode *node, int depth) {
    indent(out, depth);
    text_add(out, "band");
    for (int i = 0; i < node->n; i++)
        text_add(out, node->member[i].coincident ? " parallel" : " serial");
    text_char(out, '\n');
    for (int i = 0; i < node->nstmts; i++) {
        indent(out, depth + 1);
        print_instance(out, &s->stmt[node->stmt[i]]);
        text_add(out, " -> (");
        for (int k = 0; k < node->n; k++) {
            if (k) text_add(out, ", ");
            print_row(out, s, node->stmt[i], &node->member[k]);
        }
        text_add(out, ")\n");
    }
}

static void print_node(Text *out, const PolyScop *s, const PolyNode *node, int depth) {
    if (node->kind == POLY_LEAF) return;
    if (node->kind == POLY_BAND) {
        print_band(out, s, node, depth);
        print_node(out, s, node->child[0], depth + 1);
        return;
    }
    indent(out, depth);
    text_add(out, "sequence\n");
    for (int i = 0; i < node->n; i++) {
        indent(out, depth + 1);
        text_add(out, "filter");
        for (int k = 0; k < node->child[i]->nstmts; k++) {
            text_add(out, k ? ", " : " ");
            print_instance(out, &s->stmt[node->child[i]->stmt[k]]);
        }
        text_char(out, '\n');
        print_node(out, s, node->child[i], depth + 2);
    }
}

void poly_print(Text *out, const PolyScop *s, const PolyNode *root) {
    print_domain(out, s);
    print_node(out, s, root, 0);
}
