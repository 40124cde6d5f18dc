// Looking up Schedules where none is given, and what is said about it.
#include "api/database.h"

#include "api/kernel.h"
#include "base/checked.h"
#include "sched/schedule.h"
#include "verify/verify.h"

#include <string.h>
#include <time.h>

static const Range nowhere = {0, 0};

const char *const origin_name[] = {"given", "chosen", "tuned", "nearest", "hand"};

void database_complain(Call *call, Db *db) {
    const char *why = db_complaint(db, call->arena);
    if (why) diag_report(call->diags, nowhere, DIAG_DB_NOT_USED, why);
}

// A machine that is only described has no name: code for it runs here, if anywhere.
static Machine machine_of(Call *call, Setting setting) {
    const Machine *here = context_machine(call->ctx, target_host()->nisas);
    if (!here) arena_out_of_memory(call->arena);
    Machine m = setting.machine ? *setting.machine : *here;
    if (!m.cpu[0]) memcpy(m.cpu, here->cpu, sizeof m.cpu);
    return m;
}

static const Target *target_of(Setting setting) {
    return setting.machine ? setting.machine->target : target_host();
}

DbKey database_key(Call *call, const Canon *c, Setting setting) {
    const Program *p = canon_program(c);
    const int64_t *const *stride = strides_of(call->arena, p, setting.views);
    Machine *m = arena_new(call->arena, Machine);
    *m = machine_of(call, setting);
    return db_key(
        call->arena, c, stride,
        (DbMachine){m->target->name, m->cpu, machine_isa(m), threads_of(call, setting.threads)});
}

// --- Looking up ----------------------------------------------------------------------------------

typedef struct Lookup {
    Call *call;
    const Canon *canon;
    const DbKey *key;
    const Target *target;
    DiagList quiet; // what is wrong with a Schedule
    const Schedule *schedule;
    const Tree *tree;
} Lookup;

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

// `sizes`, or NULL: those that it was tuned for.
static bool apply(Lookup *l, const DbEntry *e, const char *sizes) {
    Arena *arena = l->call->arena;
    l->quiet = (DiagList){.arena = arena};
    l->schedule = canon_schedule_parse(arena, l->canon, e->schedule, &l->quiet);
    if (!l->schedule || (sizes && !canon_same_inside(arena, l->canon, l->schedule, sizes)))
        return false;
    l->tree = tree_lower(arena, canon_program(l->canon), l->schedule, &l->quiet);
    if (!l->tree) return false;
    bool axis = !l->target->has_grid && grid_loop(l->tree), modest = is_modest(l->tree);
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

// What was tuned with cold caches is used where nothing was with warm ones.
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
static const DbEntry *find(Lookup *l, Setting setting, const char **sizes) {
    const Program *p = canon_program(l->canon);
    bool several = l->key->threads > 1;
    DbKey one = *l->key;
    one.threads = 1;
    *sizes = NULL;
    const DbEntry *e = find_exact(l);
    if (e) return e;
    const DbEntry *serial = several ? db_best(l->call->ctx->db, l->call->arena, &one) : NULL;
    bool shared = serial && chosen_in_parallel(l->call, p, setting);
    if (serial && !shared && is_used(serial) && apply(l, serial, NULL)) return serial;
    e = find_near(l, l->key, sizes);
    if (e || !several || shared) return e;
    e = find_near(l, &one, sizes);
    return e && !chosen_in_parallel(l->call, p, setting) ? e : NULL;
}

// What was tuned for other threads or another instruction set is not used; it is worth a word.
static void look_elsewhere(Lookup *l) {
    DbKey other;
    Call *call = l->call;
    int isa;
    if (!db_elsewhere(call->ctx->db, call->arena, l->key, &other) ||
        !target_with_isa(other.isa, &isa))
        return;
    call->wanted = arena_copy(call->arena, l->key, sizeof *l->key);
    call->elsewhere = arena_copy(call->arena, &other, sizeof other);
}

bool database_lower(Call *call, const Program *p, Setting setting, const Schedule **schedule,
                    const Tree **out) {
    Db *db = call->ctx->db;
    const DbEntry *e = NULL;
    call->wanted = call->elsewhere = NULL;
    if (!call->no_database && db_stamp(db)) {
        const Canon *c = canon_of(call->arena, p);
        DbKey key = database_key(call, c, setting);
        Lookup l = {.call = call, .canon = c, .key = &key, .target = target_of(setting)};
        const char *sizes;
        e = find(&l, setting, &sizes);
        if (e) {
            *schedule = l.schedule;
            *out = l.tree;
            call->origin = sizes ? ORIGIN_NEAREST : by_hand(e) ? ORIGIN_HAND : ORIGIN_TUNED;
            call->tuned = e;
            call->tuned_sizes = sizes;
        } else {
            look_elsewhere(&l);
        }
    }
    database_complain(call, db);
    return e;
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

const char *database_origin(Call *call) {
    const DbEntry *e = call->tuned;
    const DbKey *want = call->wanted, *other = call->elsewhere;
    Text out = {.arena = call->arena};
    if (!e && other && call->origin == ORIGIN_CHOSEN)
        return arena_printf(call->arena, "chosen: tuned for %d thread%s of %s, not for %d of %s",
                            other->threads, other->threads == 1 ? "" : "s", other->isa,
                            want->threads, want->isa);
    if (!e) return NULL;
    if (call->origin == ORIGIN_NEAREST)
        text_printf(&out, "tuned for sizes %s: ", call->tuned_sizes);
    else
        text_printf(&out, "%s: ", by_hand(e) ? "by hand" : "tuned");
    print_seconds(&out, e->seconds);
    text_printf(&out, " on %s", day(call->arena, e->date));
    if (e->bound > 0) text_printf(&out, ", gap %.0f %%", 100 * db_gap(e));
    return text_str(&out);
}
