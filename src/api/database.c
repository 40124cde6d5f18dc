// Looking up Schedules in the tuning database, and describing where a Schedule is from.
#include "api/database.h"

#include "base/checked.h"
#include "passes/hardware.h"
#include "sched/schedule.h"

#include <string.h>
#include <time.h>

const char *const origin_name[] = {"given", "chosen", "tuned", "nearest", "hand"};

void database_complain(Call *call, Db *db) {
    const char *why = db_complaint(db, call->arena);
    if (why) diag_report(call->diags, nowhere, DIAG_DB_NOT_USED, why);
}

// A machine that is only described has no name: code for it runs here, if anywhere.
static Machine machine_of(const Compilation *c) {
    const Machine *here = context_machine(c->call->ctx, target_host()->nisas);
    if (!here) arena_out_of_memory(c->call->arena);
    Machine m = c->machine ? *c->machine : *here;
    if (!m.cpu[0]) memcpy(m.cpu, here->cpu, sizeof m.cpu);
    return m;
}

DbKey database_key(const Compilation *c, const Canon *canon) {
    Arena *arena = c->call->arena;
    const int64_t *const *stride = strides_of(arena, canon_program(canon), c->views);
    Machine *m = arena_new(arena, Machine);
    *m = machine_of(c);
    return db_key(
        arena, canon, stride,
        (DbMachine){m->target->name, m->cpu, machine_isa(m), threads_of(c->call, c->threads)});
}

// --- Looking up ----------------------------------------------------------------------------------

typedef struct Lookup {
    Compilation *c;
    Call *call;
    const Canon *canon;
    const DbKey *key;
    DiagList quiet; // errors of the entry's Schedule
    const Schedule *schedule;
    const Tree *tree;
} Lookup;

static bool has_grid(const Compilation *c) {
    return (c->machine ? c->machine->target : target_host())->has_grid;
}

// Temporaries of a Schedule that was measured are no larger than a few times the arguments.
static bool is_modest(const Tree *t) {
    enum { TIMES = 16 };
    int64_t most = (int64_t)256 << 20, sum = 0;
    for (int i = 0; i < t->buffers.n; i++) {
        const Buffer *b = &t->buffers.at[i];
        int64_t bytes = type_info[b->type].bytes;
        for (int d = 0; d < b->rank; d++)
            if (!checked_mul(bytes, max_i64(b->size[d], 0), &bytes)) return false;
        if (i < t->nargs) {
            if (!checked_fma(bytes, TIMES, &most)) most = INT64_MAX;
        } else if (!checked_add(sum, bytes, &sum))
            return false;
    }
    return sum <= most;
}

// Parses and lowers the entry's Schedule. `sizes`: it was tuned for these; NULL: for the same.
static bool apply(Lookup *l, const DbEntry *e, const char *sizes) {
    Arena *arena = l->call->arena;
    l->quiet = (DiagList){.arena = arena};
    l->schedule = canon_schedule_parse(arena, l->canon, e->schedule, &l->quiet);
    if (!l->schedule || (sizes && !canon_same_inside(arena, l->canon, l->schedule, sizes)))
        return false;
    l->tree = tree_lower(arena, canon_program(l->canon), l->schedule, &l->quiet);
    if (!l->tree) return false;
    bool axis = !has_grid(l->c) && grid_loop(l->tree), modest = is_modest(l->tree);
    if (axis) diag_report(&l->quiet, nowhere, DIAG_DB_TARGET);
    if (!modest) diag_report(&l->quiet, nowhere, DIAG_DB_MEMORY);
    return !axis && modest && tree_verify(arena, l->tree, NULL, &l->quiet) != VERIFY_REFUSED;
}

static void ignored(Lookup *l) {
    const char *why = l->quiet.items.n ? l->quiet.items.at[0]->text : "it does not fit";
    diag_report(l->call->diags, nowhere, DIAG_DB_IGNORED, canon_program(l->canon)->name, why);
}

// What loses to the choice serves only those who search, unless a person says otherwise. Entries
// that are not used come last.
static bool is_used(const DbEntry *e) { return e->pinned || db_wins(e); }

static const DbEntry *find_key(Lookup *l, const DbKey *key) {
    Db *db = l->call->ctx->db;
    const DbEntry *best = db_best(db, l->call->arena, key), *all;
    if (!best || !is_used(best)) return NULL;
    if (apply(l, best, NULL)) return best;
    int n = db_all(db, l->call->arena, key, &all);
    for (int i = 0; i < n && is_used(&all[i]); i++) {
        if (apply(l, &all[i], NULL)) return &all[i];
        ignored(l);
    }
    return NULL;
}

// A result that was tuned with cold caches is used if there is none with warm ones.
static const DbEntry *find_exact(Lookup *l) {
    const DbEntry *e = find_key(l, l->key);
    DbKey cold = *l->key;
    cold.target = db_cold(l->call->arena, cold.target);
    return e ? e : find_key(l, &cold);
}

static bool by_hand(const DbEntry *e) { return strcmp(e->origin, "hand") == 0; }

// Was anything learned that choosing did not know?
static bool is_lesson(const DbEntry *e) {
    static const double worth = 1.05; // times as fast
    return worth * e->seconds < e->chosen;
}

static const DbEntry *find_near(Lookup *l, const DbKey *key, const char **sizes) {
    const DbEntry *e = db_nearest(l->call->ctx->db, l->call->arena, key, l->canon, sizes);
    return e && is_lesson(e) && apply(l, e, *sizes) ? e : NULL;
}

// These very sizes before near ones. What is known for one thread serves several where there is
// nothing to share among them.
static const DbEntry *find(Lookup *l, const char **sizes) {
    const Program *p = canon_program(l->canon);
    bool several = l->key->threads > 1;
    DbKey one = *l->key;
    one.threads = 1;
    *sizes = NULL;
    const DbEntry *e = find_exact(l);
    if (e) return e;
    const DbEntry *serial = several ? db_best(l->call->ctx->db, l->call->arena, &one) : NULL;
    bool shared = serial && chosen_in_parallel(l->c, p);
    if (serial && !shared && is_used(serial) && apply(l, serial, NULL)) return serial;
    e = find_near(l, l->key, sizes);
    if (e || !several || shared) return e;
    e = find_near(l, &one, sizes);
    return e && !chosen_in_parallel(l->c, p) ? e : NULL;
}

// A result for another number of threads or another instruction set is not used, but reported.
static void look_elsewhere(Lookup *l) {
    DbKey other;
    Call *call = l->call;
    int isa;
    if (!db_elsewhere(call->ctx->db, call->arena, l->key, &other) ||
        !target_with_isa(other.isa, &isa))
        return;
    l->c->wanted = arena_copy(call->arena, l->key, sizeof *l->key);
    l->c->elsewhere = arena_copy(call->arena, &other, sizeof other);
}

static void look_up(Compilation *c) {
    const Canon *canon = canon_of(c->call->arena, c->program);
    DbKey key = database_key(c, canon);
    Lookup l = {.c = c, .call = c->call, .canon = canon, .key = &key};
    const char *sizes;
    const DbEntry *e = find(&l, &sizes);
    if (!e) {
        look_elsewhere(&l);
        return;
    }
    c->schedule = l.schedule;
    c->tree = l.tree;
    c->origin = sizes ? ORIGIN_NEAREST : by_hand(e) ? ORIGIN_HAND : ORIGIN_TUNED;
    c->tuned = e;
    c->tuned_sizes = sizes;
}

void database_look_up(Compilation *c) {
    Db *db = c->call->ctx->db;
    c->tuned = NULL;
    c->wanted = c->elsewhere = NULL;
    if (!c->no_database && db_stamp(db)) look_up(c);
    database_complain(c->call, db);
}

const char *database_description(Compilation *c) {
    Call *call = c->call;
    Db *db = call->ctx->db;
    c->tuned = NULL;
    if (c->no_database || c->bound->function->tree || !db_stamp(db)) return NULL;
    const Canon *canon = canon_of(call->arena, program_fork(call->arena, c->bound->program));
    DbKey key = database_key(c, canon);
    key.target = db_machine(call->arena, key.target, c->text.text);
    const DbEntry *e = db_best(db, call->arena, &key);
    database_complain(call, db);
    if (!e || !hardware_is(e->schedule)) return NULL;
    c->tuned = e;
    return e->schedule;
}

void database_ignore(Compilation *c, const DiagList *why) {
    diag_report(c->call->diags, nowhere, DIAG_DB_IGNORED, c->bound->program->name,
                why->items.n ? why->items.at[0]->text : "it does not fit");
    c->tuned = NULL;
}

// --- Telling -------------------------------------------------------------------------------------

static const char *day(Arena *arena, int64_t date) {
    struct tm tm;
    time_t t = (time_t)date;
    char text[32];
    if (!gmtime_r(&t, &tm) || !strftime(text, sizeof text, "%Y-%m-%d", &tm)) return "?";
    return arena_strndup(arena, text, strlen(text));
}

static void print_seconds(Text *out, double s) {
    if (s < 1e-3)
        text_printf(out, "%.3g us", s * 1e6);
    else
        text_printf(out, s < 1 ? "%.4g ms" : "%.4g s", s < 1 ? s * 1e3 : s);
}

const char *database_origin(const Compilation *c) {
    Arena *arena = c->call->arena;
    const DbEntry *e = c->tuned;
    const DbKey *want = c->wanted, *other = c->elsewhere;
    Text out = {.arena = arena};
    if (!e && other && c->origin == ORIGIN_CHOSEN)
        return arena_printf(arena, "chosen: tuned for %d thread%s of %s, not for %d of %s",
                            other->threads, other->threads == 1 ? "" : "s", other->isa,
                            want->threads, want->isa);
    if (!e) return NULL;
    if (c->origin == ORIGIN_NEAREST)
        text_printf(&out, "tuned for sizes %s: ", c->tuned_sizes);
    else
        text_printf(&out, "%s: ", by_hand(e) ? "by hand" : "tuned");
    print_seconds(&out, e->seconds);
    text_printf(&out, " on %s", day(arena, e->date));
    if (e->bound > 0) text_printf(&out, ", gap %.0f %%", 100 * db_gap(e));
    return text_str(&out);
}
