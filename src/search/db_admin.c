#include "search/db_admin.h"

#include <stdlib.h>
#include <string.h>

#include "run/pool.h"
#include "search/db_file.h"
#include "verify/verify.h"

// A statement that is used once. NULL: the file is off now.
static sqlite3_stmt *prepare(Db *db, DbFile *f, const char *sql) {
    sqlite3_stmt *s = NULL;
    int code = sqlite3_prepare_v2(f->handle, sql, -1, &s, NULL);
    if (code) db_failed(db, f, code, false);
    return s;
}

// --- Listing -------------------------------------------------------------------------------------

typedef struct RowListing {
    Db *db;
    Arena *arena;
    int64_t kernel;
    bool trials;
    DbRows rows;
} RowListing;

enum { KEY_COLUMNS = 9 }; // of DB_KEY_COLUMNS

static bool read_key(Arena *arena, sqlite3_stmt *s, DbRow *row) {
    row->kernel = sqlite3_column_int64(s, 0);
    row->key = (DbKey){.name = db_text(arena, s, 1),
                       .program = db_text(arena, s, 2),
                       .strides = db_text(arena, s, 3),
                       .target = db_text(arena, s, 4),
                       .cpu = db_text(arena, s, 5),
                       .isa = db_text(arena, s, 6),
                       .threads = sqlite3_column_int(s, 7),
                       .sizes = db_text(arena, s, 8)};
    const DbKey *k = &row->key;
    return k->name && k->program && k->strides && k->target && k->cpu && k->isa && k->sizes;
}

static bool read_row(Arena *arena, sqlite3_stmt *s, DbRow *row) {
    row->trials = sqlite3_column_int64(s, KEY_COLUMNS);
    return read_key(arena, s, row) && db_read_entry(arena, s, KEY_COLUMNS + 1, &row->entry);
}

static const DbRow unreadable = {
    .rank = -1,
    .wrong = "a row cannot be read",
    .key =
        {.name = "", .program = "", .strides = "", .target = "", .cpu = "", .isa = "", .sizes = ""},
    .entry = {.schedule = "", .version = "", .verified = "", .origin = ""},
};

static void list_best(RowListing *l, DbFile *f) {
    sqlite3_stmt *s = db_prepare(l->db, f, DB_LIST);
    if (!s) return;
    sqlite3_bind_int64(s, 1, l->kernel);
    int64_t kernel = 0;
    int rank = 0;
    while (db_row(l->db, f, s)) {
        DbRow row = {0};
        bool right = read_row(l->arena, s, &row);
        if (row.kernel != kernel) rank = 0;
        kernel = row.kernel;
        if (!right) row = unreadable;
        row.kernel = kernel;
        if (right) row.rank = rank++;
        vec_push(l->arena, &l->rows, row);
    }
}

static void list_trials(RowListing *l, DbFile *f) {
    sqlite3_stmt *s = db_prepare(l->db, f, DB_LIST_TRIALS);
    if (!s) return;
    sqlite3_bind_int64(s, 1, l->kernel);
    while (db_row(l->db, f, s)) {
        DbRow row = {.state = db_text(l->arena, s, KEY_COLUMNS + 1)};
        row.entry = (DbEntry){.schedule = db_text(l->arena, s, KEY_COLUMNS),
                              .seconds = sqlite3_column_double(s, KEY_COLUMNS + 2),
                              .low = sqlite3_column_double(s, KEY_COLUMNS + 3),
                              .high = sqlite3_column_double(s, KEY_COLUMNS + 4),
                              .date = sqlite3_column_int64(s, KEY_COLUMNS + 5)};
        if (read_key(l->arena, s, &row) && row.state && row.entry.schedule)
            vec_push(l->arena, &l->rows, row);
    }
}

static void list(void *arg) {
    RowListing *l = arg;
    DbFile *f = &l->db->file[0];
    if (!db_file_open(l->db, f, false)) return;
    list_best(l, f);
    if (l->trials && f->state == FILE_OPEN) list_trials(l, f);
}

DbRows db_rows(Db *db, Arena *arena, int64_t kernel, bool trials) {
    RowListing l = {.db = db, .arena = arena, .kernel = kernel, .trials = trials};
    db_locked(db, arena, list, &l);
    return l.rows;
}

// --- Checking ------------------------------------------------------------------------------------

static const char *first_of(const DiagList *diags) {
    return diags->items.n ? diags->items.at[0]->text : "it does not apply";
}

// "40,1;;1,64", as db_key writes it.
static bool strides_fit(const Program *p, const char *text) {
    if (!*text) return true;
    for (int t = 0; t < p->ninputs + p->noutputs; t++) {
        if (t && *text++ != ';') return false;
        if (!*text || *text == ';') continue;
        for (int d = 0; d < p->tensors.at[t].rank; d++) {
            char *end;
            if (d && *text++ != ',') return false;
            if (!strchr("-0123456789", *text)) return false; // strtoll accepts more
            strtoll(text, &end, 10);
            if (end == text) return false;
            text = end;
        }
    }
    return !*text;
}

// Checks the members other than program and Schedule.
static const char *check_target(Arena *arena, const DbKey *k, DbTargets *targets) {
    size_t n = strcspn(k->target, ",");
    const char *name = arena_strndup(arena, k->target, n);
    const char *const *isa = targets(name);
    bool plain = !k->target[n] || strcmp(k->target, db_cold(arena, name)) == 0;
    if (!isa || (!plain && !db_is_machine(k)))
        return arena_printf(arena, "no target '%s' is known", k->target);
    while (*isa && strcmp(*isa, k->isa) != 0) isa++;
    return *isa ? NULL : arena_printf(arena, "'%s' has no instruction set '%s'", k->target, k->isa);
}

static const char *check_rest(Arena *arena, const Program *p, const DbRow *row,
                              DbTargets *targets) {
    const DbKey *k = &row->key;
    const char *wrong = check_target(arena, k, targets);
    if (wrong) return wrong;
    if (k->threads < 1 || k->threads > POOL_MAX_THREADS)
        return arena_printf(arena, "its threads are not 1 to %d", POOL_MAX_THREADS);
    if (!strides_fit(p, k->strides))
        return arena_printf(arena, "'%s' are no strides of its arguments", k->strides);
    return row->state || row->entry.seconds > 0 ? NULL : "its time is not above 0";
}

const char *db_row_check(Arena *arena, DbRow *row, DbTargets *targets) {
    if (row->wrong) return row->wrong;
    Names *names = arena_new(arena, Names);
    DiagList *diags = arena_new(arena, DiagList);
    Source source = {"<program>", row->key.program, (uint32_t)strlen(row->key.program)};
    names->arena = arena;
    diags->arena = arena;
    const Program *read = program_parse(arena, names, &source, diags);
    int64_t none = 0;
    if (!read || read->params.n) return read ? "its program has open sizes" : first_of(diags);
    const Program *p = program_bind(arena, read, &none, diags);
    if (!p) return first_of(diags);
    const Canon *c = canon_of(arena, p);
    if (strcmp(canon_text(arena, c), row->key.program) != 0)
        return "its program is not in canonical form";
    row->key.family = canon_family(arena, c);
    row->key.sizes = canon_sizes(arena, c);
    if (db_is_machine(
            &row->key)) // its description is read, and its loops verified, when it is used
        return strncmp(row->entry.schedule, "machine ", 8) == 0 ? check_rest(arena, p, row, targets)
                                                                : "it is no machine description";
    const Schedule *s = canon_schedule_parse(arena, c, row->entry.schedule, diags);
    const Tree *t = s ? tree_lower(arena, p, s, diags) : NULL;
    if (!t || tree_verify(arena, t, NULL, diags) == VERIFY_REFUSED) return first_of(diags);
    return check_rest(arena, p, row, targets);
}

typedef struct Checking {
    Db *db;
    Arena *arena;
    const char *wrong;
} Checking;

static void check_file(void *arg) {
    Checking *c = arg;
    DbFile *f = &c->db->file[0];
    if (!db_file_open(c->db, f, false)) return;
    sqlite3_stmt *s = prepare(c->db, f, "PRAGMA integrity_check(1)");
    char text[200] = "";
    bool row = s && db_row(c->db, f, s);
    if (row) {
        const char *said = (const char *)sqlite3_column_text(s, 0);
        strncat(text, said ? said : "", sizeof text - 1);
    }
    sqlite3_finalize(s);
    if (row && strcmp(text, "ok") != 0) c->wrong = arena_strndup(c->arena, text, strlen(text));
}

const char *db_check_file(Db *db, Arena *arena) {
    Checking c = {.db = db, .arena = arena};
    db_locked(db, arena, check_file, &c);
    return c.wrong ? c.wrong : db_trouble(db);
}

// --- Changing ------------------------------------------------------------------------------------

typedef struct Change {
    Db *db;
    Arena *arena;
    const DbRow *rows;
    int n;
    const DbPrune *prune;
    int64_t count; // number of rows stored or deleted
    bool done;
} Change;

// Runs one statement with up to two numbers and a text; counts the changed rows.
static bool change(Change *c, DbFile *f, const char *sql, int64_t a, int64_t b, const char *text) {
    sqlite3_stmt *s = prepare(c->db, f, sql);
    if (!s) return false;
    sqlite3_bind_int64(s, 1, a);
    if (text)
        db_bind_text(s, 2, text);
    else
        sqlite3_bind_int64(s, 2, b);
    int code = sqlite3_step(s);
    sqlite3_finalize(s);
    if (code != SQLITE_DONE) db_failed(c->db, f, code, true);
    if (code == SQLITE_DONE) c->count += sqlite3_changes(f->handle);
    return code == SQLITE_DONE;
}

static bool add_trial_once(Change *c, DbFile *f, int64_t kernel, const DbRow *row) {
    const DbEntry *e = &row->entry;
    sqlite3_stmt *s =
        prepare(c->db, f,
                "INSERT INTO trial(kernel, schedule, state, seconds, low, high, date) SELECT ?1, "
                "?2, ?3, ?4, ?5, ?6, ?7 WHERE NOT EXISTS (SELECT 1 FROM trial WHERE kernel = ?1 "
                "AND schedule = ?2 AND state = ?3 AND seconds = ?4 AND date = ?7)");
    if (!s) return false;
    sqlite3_bind_int64(s, 1, kernel);
    db_bind_text(s, 2, e->schedule);
    db_bind_text(s, 3, row->state);
    sqlite3_bind_double(s, 4, e->seconds);
    sqlite3_bind_double(s, 5, e->low);
    sqlite3_bind_double(s, 6, e->high);
    sqlite3_bind_int64(s, 7, e->date);
    int code = sqlite3_step(s);
    sqlite3_finalize(s);
    if (code != SQLITE_DONE) db_failed(c->db, f, code, true);
    return code == SQLITE_DONE;
}

static void finish(Change *c, DbFile *f, bool ok) {
    if (ok)
        c->done = db_commit(c->db, f);
    else
        db_rollback(c->db, f);
    if (c->done) atomic_fetch_add(&c->db->records, 1);
    db_restamp(c->db);
}

static void record_rows(void *arg) {
    Change *c = arg;
    DbFile *f = &c->db->file[0];
    if (!db_file_open(c->db, f, true) || !db_begin(c->db, f)) return;
    bool ok = true;
    for (int i = 0; i < c->n && ok; i++) {
        const DbRow *row = &c->rows[i];
        int64_t kernel = db_kernel_row(c->db, f, &row->key);
        ok = kernel && (row->state ? add_trial_once(c, f, kernel, row)
                                   : db_add_best(c->db, f, kernel, &row->entry));
    }
    finish(c, f, ok);
}

int db_record_rows(Db *db, Arena *scratch, const DbRow *rows, int n) {
    Change c = {.db = db, .rows = rows, .n = n};
    if (n) db_locked(db, scratch, record_rows, &c);
    return c.done ? n : 0;
}

static const char drop_kernels[] = "DELETE FROM kernel WHERE id NOT IN (SELECT kernel FROM best) "
                                   "AND id NOT IN (SELECT kernel FROM trial)";
static const char drop_searches[] =
    "DELETE FROM search WHERE kernel NOT IN (SELECT id FROM kernel)";
static const char drop_families[] =
    "DELETE FROM family WHERE id NOT IN (SELECT family FROM kernel)";

// Deletes unreferenced kernels; they do not count.
static bool drop_empty(Change *c, DbFile *f) {
    int64_t count = c->count;
    bool ok = change(c, f, drop_kernels, 0, 0, NULL) && change(c, f, drop_searches, 0, 0, NULL) &&
              change(c, f, drop_families, 0, 0, NULL);
    c->count = count;
    return ok;
}

// Matches the stored value exactly, whatever its type.
static bool drop_unreadable(Change *c, DbFile *f, Arena *arena) {
    sqlite3_stmt *all = db_prepare(c->db, f, DB_LIST);
    sqlite3_stmt *drop = prepare(c->db, f, "DELETE FROM best WHERE kernel = ? AND schedule = ?");
    if (all) sqlite3_bind_int64(all, 1, 0);
    int code = SQLITE_DONE;
    while (all && drop && code == SQLITE_DONE && db_row(c->db, f, all)) {
        DbRow row = {0};
        if (read_row(arena, all, &row)) continue;
        sqlite3_bind_int64(drop, 1, row.kernel);
        sqlite3_bind_value(drop, 2, sqlite3_column_value(all, KEY_COLUMNS + 1));
        code = sqlite3_step(drop);
        if (code == SQLITE_DONE) c->count += sqlite3_changes(f->handle);
        sqlite3_reset(drop);
    }
    sqlite3_finalize(drop);
    if (code != SQLITE_DONE) db_failed(c->db, f, code, true);
    return code == SQLITE_DONE && f->state == FILE_OPEN;
}

static void prune(void *arg) {
    Change *c = arg;
    const DbPrune *p = c->prune;
    DbFile *f = &c->db->file[0];
    if (!db_file_open(c->db, f, false) || !db_begin(c->db, f)) return;
    bool ok = !p->unreadable || drop_unreadable(c, f, c->arena);
    if (ok && p->before)
        ok = change(c, f, "DELETE FROM best WHERE NOT pinned AND date < ?", p->before, 0, NULL);
    if (ok && p->keep >= 0)
        ok = change(
            c, f,
            "DELETE FROM best WHERE (kernel, schedule) IN (SELECT kernel, schedule FROM "
            "(SELECT kernel, schedule, row_number() OVER (PARTITION BY kernel ORDER BY " DB_WINS
            " DESC, seconds) AS place FROM best WHERE NOT pinned) WHERE place > ?)",
            p->keep, 0, NULL);
    if (ok && p->trials)
        ok = change(c, f, "DELETE FROM trial WHERE ?1 = 0 OR date < ?1", p->before, 0, NULL);
    finish(c, f, ok && drop_empty(c, f));
    if (c->done) sqlite3_exec(f->handle, "VACUUM", NULL, NULL, NULL);
}

int64_t db_prune(Db *db, Arena *scratch, const DbPrune *what) {
    Change c = {.db = db, .arena = scratch, .prune = what};
    db_locked(db, scratch, prune, &c);
    return c.done ? c.count : db_trouble(db) ? -1 : 0;
}

static void remove_row(void *arg) {
    Change *c = arg;
    DbFile *f = &c->db->file[0];
    if (!db_file_open(c->db, f, false) || !db_begin(c->db, f)) return;
    bool ok = change(c, f, "DELETE FROM best WHERE kernel = ? AND schedule = ?", c->rows->kernel, 0,
                     c->rows->entry.schedule);
    finish(c, f, ok && drop_empty(c, f));
}

bool db_remove(Db *db, Arena *scratch, const DbRow *row) {
    Change c = {.db = db, .rows = row, .n = 1};
    db_locked(db, scratch, remove_row, &c);
    return c.done;
}
