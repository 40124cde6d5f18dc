// The tuning database on top of its files: finding the files, lookup, recording.
#define _GNU_SOURCE
#include "search/db.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/map.h"
#include "search/db_file.h"

// --- Opening -------------------------------------------------------------------------------------

static const char name_of_file[] = "/loopwright/tune.db";

// A program that runs with more privileges than its user ignores the environment.
static const char *environment(const char *name) {
    const char *value = secure_getenv(name);
    return value && *value ? value : NULL;
}

static void add_path(Text *out, const char *folder, size_t len, const char *more) {
    if (!len || *folder != '/') return;
    if (out->len) text_char(out, ':');
    text_add_n(out, folder, len);
    text_add(out, more);
    text_add(out, name_of_file);
}

static void default_paths(Text *out) {
    const char *data = environment("XDG_DATA_HOME"), *home = environment("HOME");
    const char *shared = environment("XDG_DATA_DIRS");
    if (data && *data == '/')
        add_path(out, data, strlen(data), "");
    else if (home)
        add_path(out, home, strlen(home), "/.local/share");
    if (!out->len) return;
    if (!shared) shared = "/usr/local/share:/usr/share";
    for (size_t len; *shared; shared += len + (shared[len] == ':')) {
        len = strcspn(shared, ":");
        add_path(out, shared, len, "");
    }
}

typedef struct Opening {
    Arena arena;
    const char *where;
    const char *paths;
    bool usual; // the default, not a named file
} Opening;

static void find_paths(void *arg) {
    Opening *o = arg;
    Text out = {.arena = &o->arena};
    const char *where = o->where && *o->where ? o->where : environment("LW_DB");
    o->usual = !where;
    if (!where)
        default_paths(&out);
    else if (strcmp(where, "none") != 0)
        text_add(&out, where);
    o->paths = text_str(&out);
}

// `paths`, separated by colons, becomes the files of the Db.
static void take_paths(Db *db, const char *paths) {
    char *at = strcpy(db->paths, paths);
    while (at && db->nfiles < DB_MAX_FILES) {
        char *colon = strchr(at, ':');
        if (colon) *colon = 0;
        if (*at) db->file[db->nfiles] = (DbFile){.path = at, .shared = db->nfiles > 0};
        db->nfiles += *at != 0;
        at = colon ? colon + 1 : NULL;
    }
}

static Db *new_db(const Allocator *allocator, const char *paths) {
    size_t size = sizeof(Db) + strlen(paths) + 1;
    Db *db = allocator->alloc(allocator->user, size);
    if (!db) return NULL;
    memset(db, 0, sizeof *db);
    db->allocator = *allocator;
    db->size = size;
    db->read_ms = DB_READ_MS;
    db->write_ms = DB_WRITE_MS;
    pthread_mutex_init(&db->lock, NULL);
    fork_mark_init(&db->fork);
    take_paths(db, paths);
    return db;
}

bool db_new(const Allocator *allocator, const char *where, Db **out) {
    Opening o = {.where = where};
    *out = NULL;
    arena_init(&o.arena, allocator);
    bool enough = arena_try(&o.arena, find_paths, &o);
    if (enough && *o.paths) enough = (*out = new_db(allocator, o.paths)) != NULL;
    if (*out) (*out)->usual = o.usual;
    arena_free(&o.arena);
    if (*out && !(*out)->nfiles) { // only colons
        db_free(*out);
        *out = NULL;
    }
    return enough;
}

void db_free(Db *db) {
    if (!db) return;
    // A child does not close its parent's connections.
    bool inherited = fork_happened(&db->fork);
    for (int i = 0; i < db->nfiles && !inherited; i++) db_file_close(&db->file[i]);
    for (int i = 0; i < db->nfiles && inherited; i++)
        if (db->file[i].family.arena.allocator) arena_free(&db->file[i].family.arena);
    if (inherited) fork_settled(&db->fork);
    pthread_mutex_destroy(&db->lock);
    fork_mark_free(&db->fork);
    Allocator allocator = db->allocator;
    allocator.free(allocator.user, db, db->size);
}

const char *db_path(const Db *db) { return db->file[0].path; }

const char *db_complaint(Db *db, Arena *arena) {
    int waits = 1;
    if (!db || atomic_load_explicit(&db->wrong, memory_order_relaxed) != 1 ||
        !atomic_compare_exchange_strong(&db->wrong, &waits, 2))
        return NULL;
    return arena_strndup(arena, db->why, strlen(db->why));
}

// SQLite must not be used across a fork: a child drops its parent's connections without closing
// them, and opens the files again.
static void after_fork(Db *db) {
    pthread_mutex_init(&db->lock, NULL);
    for (int i = 0; i < db->nfiles; i++) {
        DbFile *f = &db->file[i];
        memset(f->stmt, 0, sizeof f->stmt);
        f->handle = NULL;
        if (f->state == FILE_OPEN) f->state = FILE_CLOSED;
        f->family.key.family = NULL; // numbers of another connection
    }
    fork_settled(&db->fork);
}

void db_locked(Db *db, Arena *arena, void (*body)(void *arg), void *arg) {
    if (fork_happened(&db->fork)) after_fork(db);
    pthread_mutex_lock(&db->lock);
    bool enough = arena_try(arena, body, arg);
    for (int i = 0; i < db->nfiles; i++) {
        DbFile *f = &db->file[i];
        for (int k = 0; k < DB_STATEMENT_COUNT; k++)
            if (f->stmt[k] && sqlite3_stmt_busy(f->stmt[k])) sqlite3_reset(f->stmt[k]);
        if (f->handle && !sqlite3_get_autocommit(f->handle)) db_rollback(db, f);
    }
    pthread_mutex_unlock(&db->lock);
    if (!enough) arena_out_of_memory(arena);
}

static void look(Db *db) {
    if (fork_happened(&db->fork)) after_fork(db);
    pthread_mutex_lock(&db->lock);
    for (int i = 0; i < db->nfiles; i++) db_file_open(db, &db->file[i], false);
    atomic_store(&db->looked, true);
    pthread_mutex_unlock(&db->lock);
}

const char *db_trouble(const Db *db) { return atomic_load(&db->wrong) > 0 ? db->why : NULL; }

unsigned db_stamp(Db *db) {
    if (!db) return 0;
    if (!atomic_load_explicit(&db->looked, memory_order_acquire)) look(db);
    return atomic_load_explicit(&db->stamp, memory_order_relaxed);
}

// --- Keys ----------------------------------------------------------------------------------------

static bool is_dense(const Tensor *t, const int64_t *stride) {
    int64_t dense = 1;
    if (tensor_elements(t) == 0) return true; // whatever its strides
    for (int d = t->rank - 1; d >= 0; d--) {
        if (tensor_size(t, d) > 1 && stride[d] != dense) return false;
        dense *= tensor_size(t, d);
    }
    return true;
}

// "64,1;;" : the first argument's, the second and third are dense. "" when all are.
static const char *strides_text(Arena *arena, const Program *p, const int64_t *const *stride) {
    Text out = {.arena = arena};
    bool any = false;
    for (int t = 0; stride && t < p->ninputs + p->noutputs; t++) {
        const Tensor *tensor = &p->tensors.at[t];
        if (t) text_char(&out, ';');
        if (!stride[t] || is_dense(tensor, stride[t])) continue;
        any = true;
        for (int d = 0; d < tensor->rank; d++) {
            if (d) text_char(&out, ',');
            text_int(&out, stride[t][d]);
        }
    }
    return any ? text_str(&out) : "";
}

const char *db_cold(Arena *arena, const char *target) {
    return arena_printf(arena, "%s, cold", target);
}

const char *db_machine(Arena *arena, const char *target, const char *text) {
    const char *name = strstr(text, "machine ");
    size_t len = name ? strcspn(name + 8, " \n") : 0;
    return arena_printf(arena, "%s, machine %.*s %016" PRIx64, target, (int)len,
                        name ? name + 8 : "", hash_bytes(0, text, strlen(text)));
}

bool db_is_machine(const DbKey *key) { return strstr(key->target, ", machine ") != NULL; }

DbKey db_key(Arena *arena, const Canon *c, const int64_t *const *stride, DbMachine machine) {
    const Program *p = canon_program(c);
    return (DbKey){.program = canon_text(arena, c),
                   .strides = strides_text(arena, p, stride),
                   .target = machine.target,
                   .cpu = machine.cpu,
                   .isa = machine.isa,
                   .threads = machine.threads,
                   .name = p->name,
                   .family = canon_family(arena, c),
                   .sizes = canon_sizes(arena, c)};
}

double db_gap(const DbEntry *e) { return e->bound > 0 ? (e->seconds - e->bound) / e->bound : -1; }

bool db_wins(const DbEntry *e) { return e->chosen <= 0 || e->seconds <= e->chosen; }

static void bind_key(sqlite3_stmt *s, const DbKey *key) {
    db_bind_text(s, 1, key->program);
    db_bind_text(s, 2, key->strides);
    db_bind_text(s, 3, key->target);
    db_bind_text(s, 4, key->cpu);
    db_bind_text(s, 5, key->isa);
    sqlite3_bind_int(s, 6, key->threads);
}

// --- Reading -------------------------------------------------------------------------------------

typedef struct Reading {
    Db *db;
    Arena *arena;
    const DbKey *key;
    const Canon *canon;
    int most;
    VEC(DbEntry) found;
    const char *sizes;
    double distance;
} Reading;

bool db_read_entry(Arena *arena, sqlite3_stmt *s, int at, DbEntry *e) {
    *e = (DbEntry){.schedule = db_text(arena, s, at),
                   .seconds = sqlite3_column_double(s, at + 1),
                   .low = sqlite3_column_double(s, at + 2),
                   .high = sqlite3_column_double(s, at + 3),
                   .samples = sqlite3_column_int64(s, at + 4),
                   .bound = sqlite3_column_double(s, at + 5),
                   .date = sqlite3_column_int64(s, at + 6),
                   .version = db_text(arena, s, at + 7),
                   .verified = db_text(arena, s, at + 8),
                   .origin = db_text(arena, s, at + 9),
                   .pinned = sqlite3_column_int(s, at + 10) != 0,
                   .chosen = sqlite3_column_double(s, at + 11)};
    return e->schedule && e->version && e->verified && e->origin && e->seconds >= 0 &&
           sqlite3_column_type(s, at + 1) == SQLITE_FLOAT && isfinite(e->seconds);
}

static void read_entries(Reading *r, DbFile *f, sqlite3_stmt *s) {
    enum { MOST = 64 }; // rows to look at
    int found = 0;
    for (int n = 0; n < MOST && found < r->most && db_row(r->db, f, s); n++) {
        DbEntry e;
        if (!db_read_entry(r->arena, s, 0, &e)) continue;
        vec_push(r->arena, &r->found, e);
        found++;
    }
}

// The same order as in the SQL statements.
static bool comes_before(const DbEntry *a, const DbEntry *b) {
    if (a->pinned != b->pinned) return a->pinned;
    return db_wins(a) != db_wins(b) ? db_wins(a) : a->seconds < b->seconds;
}

// Merges the sorted entries of several files. Stable, so that the user's own come before shared
// ones.
static void sort_entries(Reading *r) {
    for (int i = 1; i < r->found.n; i++) {
        DbEntry e = r->found.at[i];
        int at = i;
        for (; at > 0 && comes_before(&e, &r->found.at[at - 1]); at--)
            r->found.at[at] = r->found.at[at - 1];
        r->found.at[at] = e;
    }
}

// The row of a key; 0: there is none. Two simple statements, because SQLite takes longer to parse a
// join than to run both.
static int64_t find_kernel(Db *db, DbFile *f, const DbKey *key) {
    sqlite3_stmt *s = db_prepare(db, f, DB_FIND);
    if (!s) return 0;
    bind_key(s, key);
    if (!db_row(db, f, s)) return 0; // the statement may be gone
    int64_t id = sqlite3_column_int64(s, 0);
    sqlite3_reset(s);
    return id;
}

static void read_best(void *arg) {
    Reading *r = arg;
    for (int i = 0; i < r->db->nfiles; i++) {
        DbFile *f = &r->db->file[i];
        if (!db_file_open(r->db, f, false)) continue;
        int64_t id = find_kernel(r->db, f, r->key);
        sqlite3_stmt *s = id ? db_prepare(r->db, f, DB_BEST_OF) : NULL;
        if (!s) continue;
        sqlite3_bind_int64(s, 1, id);
        read_entries(r, f, s);
    }
    sort_entries(r);
}

int db_all(Db *db, Arena *arena, const DbKey *key, const DbEntry **out) {
    Reading r = {.db = db, .arena = arena, .key = key, .most = 64};
    *out = NULL;
    if (!db_stamp(db)) return 0;
    db_locked(db, arena, read_best, &r);
    *out = r.found.at;
    return r.found.n;
}

const DbEntry *db_best(Db *db, Arena *arena, const DbKey *key) {
    Reading r = {.db = db, .arena = arena, .key = key, .most = 1};
    if (!db_stamp(db)) return NULL;
    db_locked(db, arena, read_best, &r);
    return r.found.n ? &r.found.at[0] : NULL;
}

typedef struct Searched {
    Db *db;
    const DbKey *key;
    const DbSearch *search;
    bool found;
} Searched;

static void bind_search(sqlite3_stmt *s, int64_t kernel, const DbSearch *search) {
    sqlite3_bind_int64(s, 1, kernel);
    db_bind_text(s, 2, search->strategy);
    sqlite3_bind_double(s, 3, search->seconds);
    sqlite3_bind_double(s, 4, search->trials);
    sqlite3_bind_double(s, 5, search->gap);
}

static void read_searched(void *arg) {
    Searched *r = arg;
    for (int i = 0; i < r->db->nfiles && !r->found; i++) {
        DbFile *f = &r->db->file[i];
        if (!db_file_open(r->db, f, false) || !db_has_searches(f)) continue;
        int64_t id = find_kernel(r->db, f, r->key);
        sqlite3_stmt *s = id ? db_prepare(r->db, f, DB_SEARCHED) : NULL;
        if (!s) continue;
        bind_search(s, id, r->search);
        if ((r->found = db_row(r->db, f, s))) sqlite3_reset(s);
    }
}

bool db_searched(Db *db, Arena *arena, const DbKey *key, const DbSearch *search) {
    Searched r = {.db = db, .key = key, .search = search};
    if (db_stamp(db)) db_locked(db, arena, read_searched, &r);
    return r.found;
}

typedef struct Elsewhere {
    Db *db;
    Arena *arena;
    const DbKey *key;
    DbKey other;
    bool found;
} Elsewhere;

static void read_elsewhere(void *arg) {
    Elsewhere *e = arg;
    for (int i = 0; i < e->db->nfiles && !e->found; i++) {
        DbFile *f = &e->db->file[i];
        sqlite3_stmt *s = db_file_open(e->db, f, false) ? db_prepare(e->db, f, DB_ELSEWHERE) : NULL;
        if (!s) continue;
        bind_key(s, e->key);
        if (!db_row(e->db, f, s)) continue;
        e->other = *e->key;
        e->other.isa = db_text(e->arena, s, 0);
        e->other.threads = sqlite3_column_int(s, 1);
        e->found = e->other.isa && e->other.threads > 0;
        sqlite3_reset(s);
    }
}

bool db_elsewhere(Db *db, Arena *arena, const DbKey *key, DbKey *other) {
    Elsewhere e = {.db = db, .arena = arena, .key = key};
    if (!db_stamp(db)) return false;
    db_locked(db, arena, read_elsewhere, &e);
    *other = e.other;
    return e.found;
}

// Takes the best entry of a kernel if it is nearer than the nearest so far.
static void take_nearer(Reading *r, DbFile *f, int64_t id, const char *sizes, double far) {
    sqlite3_stmt *s = db_prepare(r->db, f, DB_BEST_OF);
    DbEntry e;
    if (!s) return;
    sqlite3_bind_int64(s, 1, id);
    bool found = false;
    for (int n = 0; n < DB_KEEP && !found && db_row(r->db, f, s); n++)
        found = db_read_entry(r->arena, s, 0, &e);
    if (!found) return;
    r->found.n = 0;
    vec_push(r->arena, &r->found, e);
    r->sizes = sizes;
    r->distance = far;
}

// Whether the cache of a family agrees with the file.
static bool is_current(Reading *r, DbFile *f) {
    DbFamily *y = &f->family;
    sqlite3_stmt *s = db_prepare(r->db, f, DB_DATA_VERSION);
    int64_t changes = f->handle ? sqlite3_total_changes(f->handle) : 0;
    int64_t version = s && db_row(r->db, f, s) ? sqlite3_column_int64(s, 0) : -1;
    if (s) sqlite3_reset(s);
    bool same = y->key.family && y->version == version && y->changes == changes &&
                y->key.threads == r->key->threads && !*y->key.strides == !*r->key->strides &&
                !strcmp(y->key.family, r->key->family) && !strcmp(y->key.cpu, r->key->cpu) &&
                !strcmp(y->key.isa, r->key->isa) && !strcmp(y->key.target, r->key->target);
    y->version = version;
    y->changes = changes;
    return same;
}

static void hold_family(Reading *r, DbFile *f) {
    enum { MOST = 1000 };
    DbFamily *y = &f->family;
    Arena *arena = &y->arena;
    if (f->state != FILE_OPEN) return;
    y->key.family = NULL;
    if (!arena->allocator) arena_init(arena, &r->db->allocator);
    arena_release(arena, (ArenaMark){0});
    arena->try = r->arena->try;
    y->id = arena_new_n(arena, int64_t, MOST);
    y->sizes = arena_new_n(arena, const char *, MOST);
    y->n = 0;
    sqlite3_stmt *s = db_prepare(r->db, f, *r->key->strides ? DB_STRIDED : DB_FAMILY);
    if (!s) return;
    db_bind_text(s, 1, r->key->family);
    db_bind_text(s, 2, r->key->target);
    db_bind_text(s, 3, r->key->cpu);
    db_bind_text(s, 4, r->key->isa);
    sqlite3_bind_int(s, 5, r->key->threads);
    while (y->n < MOST && f->state == FILE_OPEN && db_row(r->db, f, s)) {
        const char *sizes = db_text(arena, s, 1);
        if (!sizes) continue;
        y->id[y->n] = sqlite3_column_int64(s, 0);
        y->sizes[y->n++] = sizes;
    }
    if (f->state != FILE_OPEN) return; // the cache is gone
    y->key = *r->key;                  // copies, because the caller's are temporary
    y->key.family = arena_strndup(arena, r->key->family, strlen(r->key->family));
    y->key.strides = *r->key->strides ? "strided" : "";
    y->key.target = arena_strndup(arena, r->key->target, strlen(r->key->target));
    y->key.cpu = arena_strndup(arena, r->key->cpu, strlen(r->key->cpu));
    y->key.isa = arena_strndup(arena, r->key->isa, strlen(r->key->isa));
}

static void read_family(Reading *r, DbFile *f) {
    DbFamily *y = &f->family;
    if (!is_current(r, f)) hold_family(r, f);
    for (int i = 0; i < y->n && f->state == FILE_OPEN; i++) {
        double far = canon_distance(r->canon, y->sizes[i]);
        if (far < r->distance)
            take_nearer(r, f, y->id[i], arena_strndup(r->arena, y->sizes[i], strlen(y->sizes[i])),
                        far);
    }
}

static void read_nearest(void *arg) {
    Reading *r = arg;
    r->distance = INFINITY;
    for (int i = 0; i < r->db->nfiles; i++)
        if (db_file_open(r->db, &r->db->file[i], false)) read_family(r, &r->db->file[i]);
}

const DbEntry *db_nearest(Db *db, Arena *arena, const DbKey *key, const Canon *c,
                          const char **sizes) {
    Reading r = {.db = db, .arena = arena, .key = key, .canon = c, .most = 1};
    if (!db_stamp(db)) return NULL;
    db_locked(db, arena, read_nearest, &r);
    *sizes = r.sizes;
    return r.found.n ? &r.found.at[0] : NULL;
}

// --- Writing -------------------------------------------------------------------------------------

typedef struct DbWriting {
    Db *db;
    const DbKey *key;
    const DbEntry *entries;
    int nentries;
    const DbSearch *search; // or NULL
    const DbTrial *trials;
    int ntrials;
    bool kept;
} DbWriting;

int64_t db_kernel_row(Db *db, DbFile *f, const DbKey *key) {
    int64_t id = find_kernel(db, f, key);
    if (id || f->state != FILE_OPEN) return id;
    sqlite3_stmt *family = db_prepare(db, f, DB_ADD_FAMILY);
    if (!family) return 0;
    db_bind_text(family, 1, key->family);
    if (!db_step(db, f, DB_ADD_FAMILY)) return 0;
    sqlite3_stmt *add = db_prepare(db, f, DB_ADD_KERNEL);
    if (!add) return 0;
    bind_key(add, key);
    db_bind_text(add, 7, key->name);
    db_bind_text(add, 8, key->family);
    db_bind_text(add, 9, key->sizes);
    return db_step(db, f, DB_ADD_KERNEL) ? sqlite3_last_insert_rowid(f->handle) : 0;
}

bool db_add_best(Db *db, DbFile *f, int64_t kernel, const DbEntry *e) {
    sqlite3_stmt *s = db_prepare(db, f, DB_ADD_BEST);
    if (!s) return false;
    sqlite3_bind_int64(s, 1, kernel);
    db_bind_text(s, 2, e->schedule);
    sqlite3_bind_double(s, 3, e->seconds);
    sqlite3_bind_double(s, 4, e->low);
    sqlite3_bind_double(s, 5, e->high);
    sqlite3_bind_int64(s, 6, e->samples);
    sqlite3_bind_double(s, 7, e->bound);
    sqlite3_bind_int64(s, 8, e->date ? e->date : (int64_t)time(NULL));
    db_bind_text(s, 9, e->version ? e->version : LW_BUILD_VERSION);
    db_bind_text(s, 10, e->verified);
    db_bind_text(s, 11, e->origin ? e->origin : "tuned");
    sqlite3_bind_int(s, 12, e->pinned);
    sqlite3_bind_double(s, 13, e->chosen);
    if (!db_step(db, f, DB_ADD_BEST)) return false;
    s = db_prepare(db, f, DB_DROP_WORST);
    if (!s) return false;
    sqlite3_bind_int64(s, 1, kernel);
    sqlite3_bind_int(s, 2, DB_KEEP);
    return db_step(db, f, DB_DROP_WORST);
}

static bool add_trials(Db *db, DbFile *f, int64_t kernel, const DbWriting *w) {
    sqlite3_stmt *s = db_prepare(db, f, DB_ADD_TRIAL);
    if (!s) return false;
    sqlite3_bind_int64(s, 1, kernel);
    sqlite3_bind_int64(s, 7, (int64_t)time(NULL));
    for (int i = 0; i < w->ntrials; i++) {
        const DbTrial *t = &w->trials[i];
        db_bind_text(s, 2, t->schedule);
        db_bind_text(s, 3, t->state);
        sqlite3_bind_double(s, 4, t->seconds);
        sqlite3_bind_double(s, 5, t->low);
        sqlite3_bind_double(s, 6, t->high);
        if (!db_step(db, f, DB_ADD_TRIAL)) return false;
    }
    return true;
}

static bool add_search(Db *db, DbFile *f, int64_t kernel, const DbSearch *search) {
    sqlite3_stmt *s = db_prepare(db, f, DB_ADD_SEARCH);
    if (!s) return false;
    bind_search(s, kernel, search);
    sqlite3_bind_int64(s, 6, (int64_t)time(NULL));
    return db_step(db, f, DB_ADD_SEARCH);
}

static void write_rows(void *arg) {
    DbWriting *w = arg;
    DbFile *f = &w->db->file[0];
    if (!db_file_open(w->db, f, true) || !db_begin(w->db, f)) return;
    int64_t kernel = db_kernel_row(w->db, f, w->key);
    bool ok = kernel && f->state == FILE_OPEN;
    for (int i = 0; i < w->nentries && ok; i++) ok = db_add_best(w->db, f, kernel, &w->entries[i]);
    if (ok && w->search) ok = add_search(w->db, f, kernel, w->search);
    if (ok && w->ntrials) ok = add_trials(w->db, f, kernel, w);
    if (ok)
        w->kept = db_commit(w->db, f);
    else
        db_rollback(w->db, f);
    if (w->kept && w->nentries) atomic_fetch_add(&w->db->records, 1);
    db_restamp(w->db);
}

static bool write(Db *db, Arena *scratch, DbWriting *w) {
    if (!db) return false;
    db_locked(db, scratch, write_rows, w);
    return w->kept;
}

bool db_record(Db *db, Arena *scratch, const DbKey *key, const DbEntry *entry) {
    return db_record_search(db, scratch, key, entry, 1, NULL);
}

bool db_record_search(Db *db, Arena *scratch, const DbKey *key, const DbEntry *entries, int n,
                      const DbSearch *search) {
    DbWriting w = {.db = db, .key = key, .entries = entries, .nentries = n, .search = search};
    return write(db, scratch, &w);
}

bool db_trials(Db *db, Arena *scratch, const DbKey *key, const DbTrial *trials, int n) {
    DbWriting w = {.db = db, .key = key, .trials = trials, .ntrials = n};
    return n == 0 || write(db, scratch, &w);
}
