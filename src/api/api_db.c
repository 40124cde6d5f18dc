// The tuning database through the API: looking at it, and keeping it in order.
#include "api/database.h"

#include "search/db_admin.h"

#include <string.h>
#include <time.h>

// The context's database, or an error.
static Db *database(Call *call) {
    if (!call->ctx->db) {
        Diag *d = diag_report(call->diags, nowhere, DIAG_DB_NONE);
        diag_note(call->diags, d, nowhere, DIAG_DB_NONE_NOTE);
    }
    return call->ctx->db;
}

// After something was done to it: what cannot be done with a database is an error here.
static lw_status settled(Call *call, const Db *db) {
    const char *why = db_trouble(db);
    if (why) diag_report(call->diags, nowhere, DIAG_DB_FAILED, why);
    return why ? LW_ERROR : LW_OK;
}

const char *lw_db_file(lw_context *ctx) { return ctx && ctx->db ? db_path(ctx->db) : NULL; }

// --- Looking -------------------------------------------------------------------------------------

typedef struct DbCall {
    lw_db_options options;
    lw_db_prune_options prune;
    const char *name, *text; // of an import, or the file to merge
    size_t len;
    size_t count;
    const lw_db_entry *entries;
    const char *jsonl;
    lw_db_counts counts;
} DbCall;

// "mm M=64,N=48 m,n A,B C": the function, and what is known beyond it.
static void describe_names(Call *call, const char *name, lw_db_entry *out) {
    size_t len = strcspn(name, " ");
    out->name = arena_strndup(call->arena, name, len);
    if (!name[len]) return;
    const char *sizes = name + len + 1;
    len = strcspn(sizes, " ");
    out->named_sizes = arena_strndup(call->arena, sizes, len);
    if (!sizes[len]) return;
    out->named_program = canon_rename(call->arena, out->program, sizes + len + 1);
    static const char head[] = "program f ";
    if (strncmp(out->named_program, head, sizeof head - 1) == 0)
        out->named_program = arena_printf(call->arena, "program %s %s", out->name,
                                          out->named_program + sizeof head - 1);
    out->named_schedule = canon_rename(call->arena, out->schedule, sizes + len + 1);
}

static lw_db_entry describe(Call *call, const DbRow *row) {
    const DbKey *k = &row->key;
    const DbEntry *e = &row->entry;
    double gap = db_gap(e);
    lw_db_entry out = {.kernel = row->kernel,
                       .rank = row->rank,
                       .pinned = e->pinned,
                       .threads = k->threads,
                       .program = k->program,
                       .sizes = k->sizes,
                       .strides = k->strides,
                       .target = k->target,
                       .cpu = k->cpu,
                       .isa = k->isa,
                       .schedule = e->schedule,
                       .seconds = e->seconds,
                       .low = e->low,
                       .high = e->high,
                       .samples = e->samples,
                       .bound = e->bound,
                       .gap = gap > 0 ? gap : 0,
                       .chosen = e->chosen,
                       .date = db_date(call->arena, e->date),
                       .version = e->version,
                       .verified = e->verified,
                       .origin = e->origin,
                       .trials = row->trials};
    describe_names(call, k->name, &out);
    return out;
}

static lw_status list_body(Call *call, void *arg) {
    DbCall *c = arg;
    Db *db = database(call);
    if (!db) return LW_ERROR;
    DbRows rows = db_rows(db, call->arena, c->options.kernel, false);
    lw_db_entry *entries = arena_new_n(call->arena, lw_db_entry, rows.n + 1);
    const char *file = c->options.check ? db_check_file(db, call->arena) : NULL;
    for (int i = 0; i < rows.n; i++) {
        bool bad = rows.at[i].wrong;
        if (bad ? !c->options.check : c->options.best && rows.at[i].rank) continue;
        entries[c->count] = describe(call, &rows.at[i]);
        if (c->options.check)
            entries[c->count].wrong = db_row_check(call->arena, &rows.at[i], target_isas);
        c->count++;
    }
    c->entries = entries;
    if (file && !db_trouble(db)) {
        diag_report(call->diags, nowhere, DIAG_DB_FAILED, file);
        return LW_ERROR;
    }
    return settled(call, db);
}

lw_status lw_db_list(lw_context *ctx, const lw_db_options *options, const lw_db_entry **out,
                     size_t *count) {
    if (!out || !count) return call_null(ctx, out ? "count" : "out");
    *out = NULL;
    *count = 0;
    DbCall c = {0};
    if (!options_copy(&c.options, sizeof c.options, options)) return call_unsized(ctx);
    lw_status status = call_run(ctx, list_body, &c);
    if (status) return status;
    *out = c.entries;
    *count = c.count;
    return LW_OK;
}

static lw_status export_body(Call *call, void *arg) {
    DbCall *c = arg;
    Db *db = database(call);
    if (!db) return LW_ERROR;
    DbRows rows = db_rows(db, call->arena, c->options.kernel, c->options.trials);
    Text out = {.arena = call->arena};
    for (int i = 0; i < rows.n; i++)
        if (!rows.at[i].wrong && (!c->options.best || !rows.at[i].rank))
            db_row_print(&out, &rows.at[i]);
    c->jsonl = text_str(&out);
    return settled(call, db);
}

lw_status lw_db_export(lw_context *ctx, const lw_db_options *options, const char **out) {
    if (!out) return call_null(ctx, "out");
    *out = NULL;
    DbCall c = {0};
    if (!options_copy(&c.options, sizeof c.options, options)) return call_unsized(ctx);
    lw_status status = call_run(ctx, export_body, &c);
    if (!status) *out = c.jsonl;
    return status;
}

// --- Adding --------------------------------------------------------------------------------------

// Those that apply. `what` with that number it is.
static void take(Call *call, DbCall *c, DbRows *good, DbRow row, const char *wrong,
                 const char *what, int number) {
    c->counts.read++;
    if (!wrong) wrong = db_row_check(call->arena, &row, target_isas);
    if (!wrong) {
        vec_push(call->arena, good, row);
        return;
    }
    c->counts.refused++;
    diag_report(call->diags, nowhere, DIAG_DB_REFUSED, c->name, what, number, wrong);
}

static lw_status keep(Call *call, DbCall *c, Db *db, const DbRows *good) {
    c->counts.kept = (size_t)db_record_rows(db, call->scratch, good->at, good->n);
    return settled(call, db);
}

static lw_status import_body(Call *call, void *arg) {
    DbCall *c = arg;
    Db *db = database(call);
    DbRows good = {0};
    int line = 0;
    if (!db) return LW_ERROR;
    for (const char *at = c->text, *last = at + c->len; at < last;) {
        line++;
        const char *end = memchr(at, '\n', (size_t)(last - at));
        if (!end) end = last;
        size_t len = (size_t)(end - at), blank = 0;
        while (blank < len && strchr(" \t\r", at[blank]) && at[blank]) blank++;
        if (blank < len) {
            DbRow row;
            const char *wrong = db_row_parse(call->arena, at, len, &row);
            take(call, c, &good, row, wrong, "line", line);
        }
        at = end + 1;
    }
    return keep(call, c, db, &good);
}

static lw_status count_call(lw_context *ctx, CallBody *body, DbCall *c, lw_db_counts *counts) {
    if (counts) *counts = (lw_db_counts){0};
    lw_status status = call_run(ctx, body, c);
    if (counts) *counts = c->counts;
    return status;
}

lw_status lw_db_import(lw_context *ctx, const char *name, const char *text, size_t len,
                       lw_db_counts *counts) {
    if (!text) return call_null(ctx, "text");
    DbCall c = {.name = name ? name : "<import>", .text = text, .len = len};
    return count_call(ctx, import_body, &c, counts);
}

typedef struct Merge {
    Call *call;
    DbCall *c;
    Db *db, *other;
    lw_status status;
} Merge;

static void merge(void *arg) {
    Merge *m = arg;
    DbRows rows = db_rows(m->other, m->call->arena, 0, m->c->options.trials), good = {0};
    const char *why = db_trouble(m->other);
    if (why || !db_stamp(m->other)) {
        why = why ? why : arena_printf(m->call->arena, "'%s' does not exist", m->c->name);
        diag_report(m->call->diags, nowhere, DIAG_DB_FAILED, why);
        m->status = LW_ERROR;
        return;
    }
    for (int i = 0; i < rows.n; i++) take(m->call, m->c, &good, rows.at[i], NULL, "entry", i + 1);
    m->status = keep(m->call, m->c, m->db, &good);
}

static lw_status merge_body(Call *call, void *arg) {
    Merge m = {.call = call, .c = arg, .db = database(call)};
    if (!m.db) return LW_ERROR;
    if (!db_new(&call->ctx->allocator, m.c->name, &m.other)) arena_out_of_memory(call->arena);
    if (!m.other) return call_misused(call, "'file' is '%s', which is not a file", m.c->name);
    bool enough = arena_try(call->arena, merge, &m);
    db_free(m.other);
    if (!enough) arena_out_of_memory(call->arena);
    return m.status;
}

lw_status lw_db_merge(lw_context *ctx, const char *file, const lw_db_options *options,
                      lw_db_counts *counts) {
    if (!file) return call_null(ctx, "file");
    if (!*file) return call_misuse(ctx, "'file' is empty");
    DbCall c = {.name = file};
    if (!options_copy(&c.options, sizeof c.options, options)) return call_unsized(ctx);
    return count_call(ctx, merge_body, &c, counts);
}

// --- Taking away ---------------------------------------------------------------------------------

static bool prune_bad(Call *call, Db *db, lw_db_counts *counts) {
    DbRows rows = db_rows(db, call->arena, 0, false);
    for (int i = 0; i < rows.n; i++) {
        if (rows.at[i].wrong || !db_row_check(call->arena, &rows.at[i], target_isas)) continue;
        if (!db_remove(db, call->scratch, &rows.at[i])) return false;
        counts->removed++;
    }
    return true;
}

static lw_status prune_body(Call *call, void *arg) {
    DbCall *c = arg;
    Db *db = database(call);
    if (!db) return LW_ERROR;
    const lw_db_prune_options *o = &c->prune;
    if (o->bad && !prune_bad(call, db, &c->counts)) return settled(call, db);
    DbPrune what = {.keep = o->keep > 0 ? o->keep : -1, .trials = o->trials, .unreadable = o->bad};
    if (o->days > 0) what.before = (int64_t)time(NULL) - (int64_t)(o->days * 86400);
    int64_t removed = db_prune(db, call->scratch, &what);
    if (removed > 0) c->counts.removed += (size_t)removed;
    return settled(call, db);
}

lw_status lw_db_prune(lw_context *ctx, const lw_db_prune_options *options, lw_db_counts *counts) {
    DbCall c = {0};
    if (!options_copy(&c.prune, sizeof c.prune, options)) return call_unsized(ctx);
    if (c.prune.keep < 0 || !(c.prune.days >= 0))
        return call_misuse(ctx, "'%s' of the options is negative",
                           c.prune.keep < 0 ? "keep" : "days");
    return count_call(ctx, prune_body, &c, counts);
}
