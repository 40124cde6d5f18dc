// Backbones, Spaces and propagation.
//
// The memory of a candidate is [existence, a byte per object] [choice 0: a domain per variable]
// [choice 1] ... [counters: two 64-bit numbers each], every part at a multiple of 8.
#include "space/space.h"

#include "base/bug.h"
#include "base/map.h"
#include "base/random.h"
#include "space/engine.h"

// --- Backbones -----------------------------------------------------------------------------------

typedef struct Pairing {
    int param, object;
} Pairing;

struct Backbone {
    Arena *arena;
    const SpaceDesc *desc;
    const void *host;
    VEC(const char *) name;
    VEC(bool) optional;
    struct {
        VEC(int) object;
        VEC(Pairing) pair;
    } * set;
};

Backbone *backbone_new(Arena *arena, const SpaceDesc *desc, const void *host) {
    Backbone *b = arena_new(arena, Backbone);
    b->arena = arena;
    b->desc = desc;
    b->host = host;
    b->set = arena_array(arena, (size_t)desc->nsets, sizeof *b->set);
    return b;
}

int backbone_object(Backbone *b, const char *name, bool optional) {
    vec_push(b->arena, &b->name, arena_strndup(b->arena, name, strlen(name)));
    vec_push(b->arena, &b->optional, optional);
    return b->name.n - 1;
}

void backbone_add(Backbone *b, int set, int object) {
    for (; set >= 0; set = b->desc->set[set].superset) // adding it twice does no harm
        vec_push(b->arena, &b->set[set].object, object);
}

void backbone_relate(Backbone *b, int set, int param, int object) {
    require(b->desc->set[set].param >= 0);
    vec_push(b->arena, &b->set[set].pair, ((Pairing){param, object}));
}

// --- Sets ----------------------------------------------------------------------------------------

static ObjectSet set_make(Arena *arena, const Backbone *b, int set) {
    int n = b->name.n, *item = arena_new_n(arena, int, n), *rank = arena_new_n(arena, int, n);
    bool *in = arena_new_n(arena, bool, n);
    ObjectSet s = {0, item, rank};
    for (int i = 0; i < b->set[set].object.n; i++) in[b->set[set].object.at[i]] = true;
    for (int i = 0; i < b->set[set].pair.n; i++) in[b->set[set].pair.at[i].object] = true;
    for (int o = 0; o < n; o++) {
        rank[o] = in[o] ? s.n : -1;
        if (in[o]) item[s.n++] = o;
    }
    return s;
}

// Lists of `to` by `from`: counting sort.
static void group(Arena *arena, const Backbone *b, int set, bool reverse, const int **first_out,
                  const int **item_out) {
    int n = b->name.n, m = b->set[set].pair.n;
    if (b->desc->set[set].param < 0) return;
    int *first = arena_new_n(arena, int, n + 2), *item = arena_new_n(arena, int, m);
    for (int i = 0; i < m; i++) {
        Pairing p = b->set[set].pair.at[i];
        first[(reverse ? p.object : p.param) + 2]++;
    }
    for (int o = 1; o <= n; o++) first[o + 1] += first[o];
    for (int i = 0; i < m; i++) {
        Pairing p = b->set[set].pair.at[i];
        item[first[(reverse ? p.object : p.param) + 1]++] = reverse ? p.param : p.object;
    }
    *first_out = first;
    *item_out = item;
}

// --- Variables -----------------------------------------------------------------------------------

static int instances(const Space *s, const ChoiceDesc *c) {
    int n = 1;
    if (c->arity == 2 && c->inverse) {
        int k = s->set[c->set[0]].n;
        return k * (k - 1) / 2;
    }
    for (int i = 0; i < c->arity; i++) n *= s->set[c->set[i]].n;
    return n;
}

static bool tuple_fits(const Space *s, const ChoiceDesc *c, int a, int b) {
    if (c->arity == 2 && a == b) return false;
    if (c->arity == 2 && c->family[1] >= 0 && !eng_in_family(s, c->family[1], a, b)) return false;
    if (c->arity == 2 && c->family[0] >= 0 && !eng_in_family(s, c->family[0], b, a)) return false;
    return true;
}

static void fill_vars(const Space *s, int choice, SpaceVar *var) {
    const ChoiceDesc *c = &s->desc->choice[choice];
    int n = c->arity > 0 ? s->set[c->set[0]].n : 1, m = c->arity > 1 ? s->set[c->set[1]].n : 1;
    for (int i = 0, at = 0; i < n; i++) {
        for (int j = 0; j < (c->inverse ? i : m); j++) {
            int a = c->arity > 0 ? s->set[c->set[0]].item[i] : -1;
            int b = c->arity > 1 ? s->set[c->set[1]].item[j] : -1;
            var[at++] = (SpaceVar){(int16_t)choice, (int16_t)a, (int16_t)b, tuple_fits(s, c, a, b)};
        }
    }
}

static void make_vars(Arena *arena, Space *s) {
    const SpaceDesc *d = s->desc;
    int *base = arena_new_n(arena, int, d->nchoices);
    uint32_t *offset = arena_new_n(arena, uint32_t, d->nchoices);
    uint32_t at = ((uint32_t)s->nobjects + 7) & ~7u;
    for (int counters = 0; counters < 2; counters++) {
        for (int k = 0; k < d->nchoices; k++) {
            if ((d->choice[k].kind == CHOICE_COUNTER) != counters) continue;
            int n = instances(s, &d->choice[k]);
            base[k] = s->nvars;
            offset[k] = at;
            s->nvars += n;
            at += ((uint32_t)(n * d->choice[k].width) + 7) & ~7u;
        }
        if (!counters) s->ndecisions = s->nvars;
    }
    SpaceVar *var = arena_new_n(arena, SpaceVar, s->nvars);
    for (int k = 0; k < d->nchoices; k++) fill_vars(s, k, var + base[k]);
    s->size = at;
    s->base = base;
    s->offset = offset;
    s->var = var;
}

// The variables of each object, in ascending order.
static void index_vars(Arena *arena, Space *s) {
    int *first = arena_new_n(arena, int, s->nobjects + 2);
    int *about = arena_new_n(arena, int, 2 * s->nvars);
    for (int v = 0; v < s->nvars; v++) {
        const SpaceVar *x = &s->var[v];
        if (x->a >= 0) first[x->a + 2]++;
        if (x->b >= 0 && x->b != x->a) first[x->b + 2]++;
    }
    for (int o = 1; o <= s->nobjects; o++) first[o + 1] += first[o];
    for (int v = 0; v < s->nvars; v++) {
        const SpaceVar *x = &s->var[v];
        if (x->a >= 0) about[first[x->a + 1]++] = v;
        if (x->b >= 0 && x->b != x->a) about[first[x->b + 1]++] = v;
    }
    s->about_first = first;
    s->about = about;
}

static void make_universes(Arena *arena, Space *s) {
    int64_t **universe = arena_new_n(arena, int64_t *, s->nvars);
    int *n = arena_new_n(arena, int, s->nvars);
    for (int v = 0; v < s->ndecisions; v++) {
        const SpaceVar *x = &s->var[v];
        if (s->desc->choice[x->choice].kind != CHOICE_INTEGER || !x->present) continue;
        int64_t values[SPACE_MAX_VALUES];
        n[v] = s->desc->universe(s, x->choice, x->a, x->b, values);
        require(n[v] >= 0 && n[v] <= SPACE_MAX_VALUES);
        universe[v] = arena_copy(arena, values, (size_t)n[v] * sizeof *values);
    }
    s->universe = universe;
    s->nuniverse = n;
}

// --- Domains -------------------------------------------------------------------------------------

static uint64_t ones(int n) { return n >= 64 ? ~0ull : (1ull << n) - 1; }

static uint8_t *place(const Space *s, const Cand *c, int var, int *width) {
    const SpaceVar *x = &s->var[var];
    *width = s->desc->choice[x->choice].width;
    return (uint8_t *)(uintptr_t)c + s->offset[x->choice] + (var - s->base[x->choice]) * *width;
}

uint64_t space_domain(const Space *s, const Cand *c, int var) {
    int width;
    const uint8_t *at = place(s, c, var, &width);
    return width == 1 ? *at : *(const uint64_t *)(const void *)at;
}

static void set_domain(const Space *s, Cand *c, int var, uint64_t dom) {
    int width;
    uint8_t *at = place(s, c, var, &width);
    if (width == 1)
        *at = (uint8_t)dom;
    else
        *(uint64_t *)(void *)at = dom;
}

static uint64_t whole_domain(const Space *s, int var) {
    const ChoiceDesc *c = &s->desc->choice[s->var[var].choice];
    if (!s->var[var].present) return 1;
    return ones(c->kind == CHOICE_INTEGER ? s->nuniverse[var] : c->nvalues);
}

int space_var(const Space *s, int choice, int a, int b, bool *flipped) {
    const ChoiceDesc *c = &s->desc->choice[choice];
    int i = c->arity > 0 ? (a < 0 ? -1 : s->set[c->set[0]].rank[a]) : 0;
    int j = c->arity > 1 ? (b < 0 ? -1 : s->set[c->set[1]].rank[b]) : 0;
    bool turn = c->inverse && i < j;
    if (flipped) *flipped = turn;
    if (i < 0 || j < 0 || (c->inverse && i == j)) return -1;
    int at = c->inverse     ? (turn ? j * (j - 1) / 2 + i : i * (i - 1) / 2 + j)
             : c->arity > 1 ? i * s->set[c->set[1]].n + j
                            : i;
    return s->var[s->base[choice] + at].present ? s->base[choice] + at : -1;
}

static uint64_t invert(const ChoiceDesc *c, uint64_t dom) {
    uint64_t out = 0;
    for (int i = 0; i < c->nvalues; i++)
        if (dom >> i & 1) out |= 1ull << c->inverse[i];
    return out;
}

uint64_t space_ask(const Space *s, const Cand *c, int choice, int a, int b) {
    bool flipped;
    int var = space_var(s, choice, a, b, &flipped);
    require(var >= 0);
    uint64_t dom = space_domain(s, c, var);
    return flipped ? invert(&s->desc->choice[choice], dom) : dom;
}

void space_count(const Space *s, const Cand *c, int choice, int a, int b, int64_t *min,
                 int64_t *max) {
    int width, var = space_var(s, choice, a, b, NULL);
    require(var >= s->ndecisions);
    const int64_t *at = (const void *)place(s, c, var, &width);
    *min = at[0];
    *max = at[1];
}

int64_t space_value(const Space *s, int var, int bit) { return s->universe[var][bit]; }

int space_bit(const Space *s, int var, int64_t value) {
    for (int i = 0; i < s->nuniverse[var]; i++)
        if (s->universe[var][i] == value) return i;
    return -1;
}

uint64_t eng_at_most(const Space *s, int var, int64_t k) {
    int n = 0;
    while (n < s->nuniverse[var] && s->universe[var][n] <= k) n++;
    return ones(n);
}

uint64_t eng_at_least(const Space *s, int var, int64_t k) { return ~eng_at_most(s, var, k - 1); }

uint64_t eng_equal(const Space *s, int var, int64_t k) {
    int bit = space_bit(s, var, k);
    return bit < 0 ? 0 : 1ull << bit;
}

uint64_t eng_common(const Space *s, int x, int y, uint64_t dom) {
    uint64_t out = 0;
    int i = 0;
    for (; dom; dom &= dom - 1) {
        int64_t v = s->universe[y][__builtin_ctzll(dom)];
        while (i < s->nuniverse[x] && s->universe[x][i] < v) i++;
        if (i < s->nuniverse[x] && s->universe[x][i] == v) out |= 1ull << i;
    }
    return out;
}

bool space_exists(const Space *s, const Cand *c, int object) {
    (void)s;
    return ((const uint8_t *)c)[object] != 0;
}

static bool tuple_exists(const uint8_t *v, const SpaceVar *x) {
    return x->present && (x->a < 0 || v[x->a]) && (x->b < 0 || v[x->b]);
}

bool space_dead(const Space *s, const Cand *c) {
    for (int v = 0; v < s->ndecisions; v++)
        if (!space_domain(s, c, v)) return true;
    return false;
}

int space_open(const Space *s, const Cand *c, int from) {
    for (int v = from; v < s->ndecisions; v++) {
        uint64_t dom = space_domain(s, c, v);
        if ((dom & (dom - 1)) && tuple_exists((const uint8_t *)c, &s->var[v])) return v;
    }
    return -1;
}

int space_count_open(const Space *s, const Cand *c) {
    int n = 0;
    for (int v = -1; (v = space_open(s, c, v + 1)) >= 0;) n++;
    return n;
}

uint64_t space_hash(const Space *s, const Cand *c) { return hash_bytes(s->desc->hash, c, s->size); }

// --- Propagation ---------------------------------------------------------------------------------

SpaceWork *space_work(Arena *arena, const Space *s) {
    SpaceWork *w = arena_new(arena, SpaceWork);
    w->s = s;
    w->arena = arena;
    w->queue = arena_new_n(arena, int, s->nvars + 1);
    w->queued = arena_new_n(arena, uint8_t, s->nvars + 1);
    w->fresh = arena_new_n(arena, int, s->nobjects + 1);
    w->spare = space_cand(arena, s);
    return w;
}

void eng_record(SpaceWork *w, int var, uint64_t removed) {
    Removal r = {var, removed, w->why[0], {w->why[1], w->why[2], w->why[3], w->why[4]}};
    vec_push(w->trace->arena, &w->trace->at, r);
}

static void recount(SpaceWork *w, int var) {
    const SpaceVar *x = &w->s->var[var];
    int width;
    int64_t *at = (void *)place(w->s, (Cand *)w->v, var, &width), min = 0, max = 0;
    w->s->desc->recount(w, x->choice, x->a, x->b, &min, &max);
    at[0] = min;
    at[1] = max;
}

// An object was created: its counters now have values, and its domains count.
static void birth(SpaceWork *w, int object) {
    const Space *s = w->s;
    int from = s->about_first[object], to = s->about_first[object + 1];
    for (int i = from; i < to; i++) {
        int v = s->about[i];
        if (v >= s->ndecisions && tuple_exists(w->v, &s->var[v])) recount(w, v);
    }
    s->desc->born(w, object);
    for (int i = from; i < to; i++) {
        int v = s->about[i];
        if (tuple_exists(w->v, &s->var[v])) eng_push(w, v);
    }
}

static void clear(SpaceWork *w) {
    for (; w->used; w->used--) {
        w->queued[w->queue[w->head]] = 0;
        if (++w->head == w->s->nvars) w->head = 0;
    }
    w->nfresh = 0;
}

bool eng_run(SpaceWork *w) {
    const Space *s = w->s;
    while (!w->dead && (w->used || w->nfresh)) {
        if (w->nfresh) {
            birth(w, w->fresh[--w->nfresh]);
            continue;
        }
        int var = w->queue[w->head];
        const SpaceVar *x = &s->var[var];
        w->used--;
        if (++w->head == s->nvars) w->head = 0;
        w->queued[var] = 0;
        if (!x->present || (var >= s->ndecisions && !tuple_exists(w->v, x))) continue;
        // The limits of a counter depend on everything that it counts, not only on its value.
        if (var >= s->ndecisions) recount(w, var);
        s->desc->changed(w, x->choice, x->a, x->b);
    }
    if (w->dead) clear(w);
    return !w->dead;
}

static void begin(SpaceWork *w, Cand *c) {
    w->v = (uint8_t *)c;
    w->dead = false;
    w->why[0] = -1;
    for (int i = 1; i < 5; i++) w->why[i] = -1;
}

// A dead candidate gets an empty domain, wherever the contradiction was found.
static bool end(SpaceWork *w, Cand *c) {
    bool alive = eng_run(w);
    if (!alive && w->s->ndecisions) set_domain(w->s, c, 0, 0);
    return alive;
}

bool space_keep(SpaceWork *w, Cand *c, int var, uint64_t keep) {
    uint64_t dom = space_domain(w->s, c, var), now = dom & keep;
    begin(w, c);
    if (now == dom) return dom != 0;
    if (w->trace) eng_record(w, var, dom & ~keep);
    set_domain(w->s, c, var, now);
    w->dead = now == 0;
    eng_push(w, var);
    return end(w, c);
}

bool space_decide(SpaceWork *w, Cand *c, int choice, int a, int b, uint64_t keep) {
    bool flipped;
    int var = space_var(w->s, choice, a, b, &flipped);
    require(var >= 0);
    return space_keep(w, c, var, flipped ? invert(&w->s->desc->choice[choice], keep) : keep);
}

bool space_decide_number(SpaceWork *w, Cand *c, int choice, int a, int64_t value) {
    int var = space_var(w->s, choice, a, -1, NULL);
    require(var >= 0);
    return space_keep(w, c, var, eng_equal(w->s, var, value));
}

int space_object(const Space *s, const char *name) {
    for (int o = 0; o < s->nobjects; o++)
        if (strcmp(s->name[o], name) == 0) return o;
    return -1;
}

bool space_apply(SpaceWork *w, Cand *c, const Decision *d, int n) {
    for (int i = 0; i < n; i++)
        if (!space_keep(w, c, d[i].var, d[i].keep)) return false;
    return true;
}

static bool make_root(SpaceWork *w, Cand *c) {
    const Space *s = w->s;
    memset((void *)c, 0, s->size);
    begin(w, c);
    for (int o = 0; o < s->nobjects; o++) w->v[o] = !s->optional[o];
    for (int v = 0; v < s->ndecisions; v++) {
        set_domain(s, c, v, whole_domain(s, v));
        if (s->var[v].present && !whole_domain(s, v)) w->dead = true;
    }
    for (int v = s->ndecisions; v < s->nvars; v++)
        if (tuple_exists(w->v, &s->var[v])) recount(w, v);
    if (!w->dead) s->desc->setup(w);
    for (int v = 0; v < s->ndecisions && !w->dead; v++)
        if (space_domain(s, c, v) != whole_domain(s, v)) eng_push(w, v);
    return end(w, c);
}

void space_trace(SpaceWork *w, SpaceTrace *trace) { w->trace = trace; }

bool space_trace_root(SpaceWork *w, Cand *c, SpaceTrace *trace) {
    SpaceTrace *old = w->trace;
    w->trace = trace;
    bool alive = make_root(w, c);
    w->trace = old;
    return alive;
}

Space *space_new(Arena *arena, const Backbone *b) {
    Space *s = arena_new(arena, Space);
    int nsets = b->desc->nsets;
    ObjectSet *set = arena_new_n(arena, ObjectSet, nsets);
    ObjectFamily *family = arena_new_n(arena, ObjectFamily, nsets);
    s->desc = b->desc;
    s->host = b->host;
    s->nobjects = b->name.n;
    require(s->nobjects <= SPACE_MAX_OBJECTS);
    s->name = b->name.at;
    s->optional = b->optional.at;
    for (int i = 0; i < nsets; i++) {
        set[i] = set_make(arena, b, i);
        group(arena, b, i, false, &family[i].first, &family[i].item);
        group(arena, b, i, true, &family[i].owner_first, &family[i].owner);
    }
    s->set = set;
    s->family = family;
    make_vars(arena, s);
    index_vars(arena, s);
    make_universes(arena, s);
    Cand *root = space_cand(arena, s);
    make_root(space_work(arena, s), root);
    s->root = root;
    return s;
}

// --- Descents ------------------------------------------------------------------------------------

// A random value whose candidate is alive; dead values are removed.
static bool take_random(SpaceWork *w, Cand *c, int var, uint64_t *random) {
    uint64_t left = space_domain(w->s, c, var);
    while (left) {
        uint64_t bit = random_bit(random, left);
        space_copy(w->s, w->spare, c);
        if (space_keep(w, w->spare, var, bit)) {
            space_copy(w->s, c, w->spare);
            return true;
        }
        left &= ~bit;
    }
    return false;
}

bool space_complete(SpaceWork *w, Cand *c, uint64_t *random) {
    if (space_dead(w->s, c)) return false;
    for (int var = 0;;) {
        var = space_open(w->s, c, var);
        if (var < 0) var = space_open(w->s, c, 0); // an object with earlier variables was created
        if (var < 0) return true;
        if (!take_random(w, c, var, random)) return false;
    }
}
