// The tuning database through the API: tuned schedules are used automatically, and a damaged
// database costs a warning but never a result.
#include "unit/check.h"

#include "api/database.h"
#include "loopwright.h"

#include <unistd.h>

static const char matmul[] = "def mm(float(M,K) A, float(K,N) B) -> (C) {\n"
                             "    C(m,n) +=! A(m,k) * B(k,n)\n}\n";
static const char renamed[] = "def times(float(X,Z) left, float(Z,Y) right) -> (out) {\n"
                              "    out(i,j) +=! left(i,q) * right(q,j)\n}\n";

typedef struct Bench {
    lw_context *ctx;
    lw_module *mod;
    lw_bound *bound;
} Bench;

static void remove_files(const char *path) {
    char name[256];
    static const char *const more[] = {"", "-wal", "-shm", "-journal"};
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "%s%s", path, more[i]);
        unlink(name);
    }
}

static void begin(Bench *b, const char *database, const char *text, int64_t m, int64_t n,
                  int64_t k) {
    lw_context_options o = {.struct_size = sizeof o, .database = database};
    lw_parse_options tc = {.struct_size = sizeof tc, .language = LW_LANG_TC};
    *b = (Bench){.ctx = lw_context_new(&o)};
    CHECK(b->ctx && !lw_parse(b->ctx, "t.tc", text, strlen(text), &tc, &b->mod));
    int64_t values[3];
    const lw_function *f = lw_module_function(b->mod, 0);
    for (size_t i = 0; i < 3; i++) {
        const char *name = lw_function_param(f, i)->name;
        values[i] = strchr("MX", *name) ? m : strchr("NY", *name) ? n : k;
    }
    CHECK(!lw_bind_values(b->ctx, f, values, 3, &b->bound));
}

static void end(Bench *b) {
    lw_bound_free(b->bound);
    lw_module_free(b->mod);
    lw_context_free(b->ctx);
}

typedef struct Put {
    const lw_bound *bound;
    const char *schedule;
    double seconds;
    int threads;
    bool kept;
    double chosen; // 0: twice as long
    bool pinned, cold;
} Put;

// Records an entry as the tuner does.
static lw_status put_body(Call *call, void *arg) {
    Put *p = arg;
    const Program *own = program_fork(call->arena, p->bound->program);
    const Canon *c = canon_of(call->arena, own);
    Compilation compiled = {.call = call, .threads = p->threads};
    DbKey key = database_key(&compiled, c);
    DbEntry e = {.schedule = p->schedule, .seconds = p->seconds, .bound = p->seconds / 2};
    e.verified = "exact";
    e.chosen = p->chosen > 0 ? p->chosen : 2 * p->seconds;
    e.pinned = p->pinned;
    if (p->cold) key.target = db_cold(call->arena, key.target);
    p->kept = db_record(call->ctx->db, call->scratch, &key, &e);
    database_complain(call, call->ctx->db);
    return LW_OK;
}

static bool put(Bench *b, const char *schedule, double us, int threads) {
    Put p = {.bound = b->bound, .schedule = schedule, .seconds = us * 1e-6, .threads = threads};
    CHECK(!call_run(b->ctx, put_body, &p));
    return p.kept;
}

static const char *schedule_of(Bench *b) {
    const char *text = "failed";
    CHECK(!lw_bound_show(b->ctx, b->bound, LW_STAGE_SCHEDULE, &text));
    return text;
}

// Runs on ones; returns the origin of the Schedule.
static const char *run(Bench *b, int threads) {
    static float data[3][256 * 256];
    DLTensor t[3];
    const DLTensor *args[3];
    int64_t k = 0;
    for (int i = 0; i < 3; i++) {
        t[i] = *lw_bound_tensor(b->bound, (size_t)i);
        t[i].data = data[i];
        args[i] = &t[i];
        for (int e = 0; e < 256 * 256; e++) data[i][e] = i == 2 ? -1 : 1;
        if (i == 0) k = t[i].shape[1];
    }
    lw_timing timing = {.struct_size = sizeof timing};
    lw_run_options o = {.struct_size = sizeof o, .timing = &timing, .threads = threads};
    CHECK(!lw_run(b->ctx, b->bound, args, 3, &o));
    for (int64_t e = 0; e < t[2].shape[0] * t[2].shape[1]; e++)
        if (!CHECK(data[2][e] == (float)k)) break;
    return timing.schedule;
}

TEST(api_database_is_used_without_asking) {
    Bench b;
    remove_files("used.db");
    begin(&b, "used.db", matmul, 64, 48, 32);
    CHECK_STR_EQ(run(&b, 1), "chosen");
    CHECK(access("used.db", F_OK) != 0);
    CHECK(put(&b, "s0: i0/4 i1/16 i2 i0 i1:v\n", 10, 1));
    CHECK_STR_EQ(run(&b, 1), "tuned"); // although a kernel was compiled before
    CHECK_STR_EQ(run(&b, 2), "tuned"); // nothing to share among threads
    CHECK_INT_EQ(lw_diag_count(b.ctx), 0);
    lw_show_options o = {.struct_size = sizeof o, .threads = 1};
    const char *text = "";
    CHECK(!lw_bound_show_with(b.ctx, b.bound, LW_STAGE_REPORT, &o, &text));
    CHECK(strstr(text, "\n  schedule tuned: 10 us on 20"));
    CHECK(strstr(text, ", gap 100 %\n"));
    o.json = true;
    CHECK(!lw_bound_show_with(b.ctx, b.bound, LW_STAGE_REPORT, &o, &text));
    CHECK(strstr(text, "\"schedule\": \"tuned\""));
    CHECK(!lw_bound_show_with(b.ctx, b.bound, LW_STAGE_SCHEDULE, &o, &text));
    CHECK(strncmp(text, "# tuned: ", 9) == 0 && strstr(text, "\nC: m/4 n/16 k m n:v\n"));
    lw_kernel *k;
    lw_compile_options c = {.struct_size = sizeof c, .threads = 1};
    CHECK(!lw_compile(b.ctx, b.bound, &c, &k));
    CHECK_STR_EQ(lw_kernel_get_info(k)->schedule, "tuned");
    CHECK(!lw_kernel_show(b.ctx, k, LW_STAGE_REPORT, false, &text));
    CHECK(strstr(text, "\n  schedule tuned: "));
    lw_kernel_free(k);
    end(&b);
}

// An entry that lost to the chosen schedule is not used, here or for other sizes, unless pinned.
TEST(api_database_does_not_use_losers) {
    Bench b, near;
    remove_files("lost.db");
    begin(&b, "lost.db", matmul, 64, 48, 32);
    begin(&near, "lost.db", matmul, 80, 48, 32);
    Put p = {.bound = b.bound,
             .schedule = "s0: i0/4 i1/16 i2 i0 i1:v\n",
             .seconds = 2e-6,
             .chosen = 1e-6,
             .threads = 1};
    CHECK(!call_run(b.ctx, put_body, &p) && p.kept);
    CHECK_STR_EQ(run(&b, 1), "chosen");
    CHECK_STR_EQ(run(&near, 1), "chosen");
    CHECK_STR_EQ(run(&b, 2), "chosen");
    p.pinned = true;
    CHECK(!call_run(b.ctx, put_body, &p) && p.kept);
    CHECK_STR_EQ(run(&b, 1), "tuned");
    CHECK_STR_EQ(run(&near, 1), "chosen");
    end(&b);
    end(&near);
}

// Results for cold caches are separate; they are used only if there is nothing else.
TEST(api_database_keeps_cold_apart) {
    Bench b;
    remove_files("cold.db");
    begin(&b, "cold.db", matmul, 64, 48, 32);
    Put p = {.bound = b.bound,
             .schedule = "s0: i0/8 i1/16 i2 i0 i1:v\n",
             .seconds = 1e-6,
             .threads = 1,
             .cold = true};
    CHECK(!call_run(b.ctx, put_body, &p) && p.kept);
    CHECK_STR_EQ(run(&b, 1), "tuned");
    CHECK(put(&b, "s0: i0/4 i1/16 i2 i0 i1:v\n", 10, 1));
    lw_show_options o = {.struct_size = sizeof o, .threads = 1};
    const char *text = "";
    CHECK(!lw_bound_show_with(b.ctx, b.bound, LW_STAGE_SCHEDULE, &o, &text));
    CHECK(strstr(text, "\nC: m/4 n/16 k m n:v\n"));
    end(&b);
}

TEST(api_database_for_one_thread_is_not_for_several) {
    Bench b;
    remove_files("threads.db");
    begin(&b, "threads.db", matmul, 256, 256, 256);
    CHECK(put(&b, "s0: i0/4 i1/16 i2 i0 i1:v\n", 1000, 1));
    CHECK_STR_EQ(run(&b, 1), "tuned");
    CHECK_STR_EQ(run(&b, 2), "chosen");
    CHECK(put(&b, "s0: i0/4:p i1/16 i2 i0 i1:v\n", 600, 2));
    CHECK_STR_EQ(run(&b, 2), "tuned");
    end(&b);
}

TEST(api_database_finds_renamed_programs) {
    Bench b;
    remove_files("renamed.db");
    setenv("LW_THREADS", "1", 1);
    begin(&b, "renamed.db", matmul, 64, 48, 32);
    CHECK(put(&b, "s0: i0/4 i1/16 i2 i0 i1:v\n", 10, 1));
    end(&b);
    begin(&b, "renamed.db", renamed, 64, 48, 32);
    CHECK(strstr(schedule_of(&b), "\nout: i/4 j/16 q i j:v\n"));
    CHECK_STR_EQ(run(&b, 0), "tuned");
    end(&b);
    begin(&b, "none", renamed, 64, 48, 32);
    CHECK_STR_EQ(run(&b, 0), "chosen");
    end(&b);
    unsetenv("LW_THREADS");
}

TEST(api_database_nearest_size_is_a_start) {
    Bench b;
    remove_files("nearest.db");
    setenv("LW_THREADS", "1", 1);
    begin(&b, "nearest.db", matmul, 64, 48, 32);
    CHECK(put(&b, "s0: i0/16 i1/16 i2 i0 i1:v\n", 10, 1));
    end(&b);
    begin(&b, "nearest.db", matmul, 80, 96, 33);
    CHECK_STR_EQ(run(&b, 0), "nearest");
    CHECK_STR_EQ(run(&b, 2), "nearest"); // nothing to share among threads
    const char *text = schedule_of(&b);
    if (!CHECK(strncmp(text, "# tuned for sizes 64,48,32: 10 us", 33) == 0)) printf("%s\n", text);
    if (!CHECK(strstr(text, "\nC: m/16 n/16 k m n:v\n"))) printf("%s\n", text);
    end(&b);
    begin(&b, "nearest.db", matmul, 140, 48, 32); // too far
    CHECK_STR_EQ(run(&b, 0), "chosen");
    end(&b);
    begin(&b, "nearest.db", matmul, 60, 48, 32); // 16 does not divide it
    CHECK_STR_EQ(run(&b, 0), "chosen");
    end(&b);
    unsetenv("LW_THREADS");
}

// Each of these would be wrong or impossible: it is ignored with a warning, and the next one is
// used.
TEST(api_database_checks_what_it_reads) {
    static const struct {
        const char *schedule, *why;
    } bad[] = {
        {"s0: i0 /\n", "expected"},
        {"s1: i0\n", "it uses names that the program does not have"},
        {"s0: i0 i9\n", "it uses names that the program does not have"},
        {"s0: i1:v i0 i2\n", "vector"},
        {"s0: i0:grid.x i1 i2\n", "its loops are for another target"},
        {"s0: i0\n    copy t7\n", "it uses names that the program does not have"},
        {"", ""}, // every loop as written, which is valid
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Bench b;
        remove_files("bad.db");
        begin(&b, "bad.db", matmul, 64, 48, 32);
        CHECK(put(&b, bad[i].schedule, 1, 1));
        CHECK(put(&b, "s0: i0/4 i1/16 i2 i0 i1:v\n", 10, 1));
        CHECK_STR_EQ(run(&b, 1), "tuned");
        CHECK_INT_EQ(lw_diag_count(b.ctx), *bad[i].why != 0);
        if (lw_diag_count(b.ctx)) {
            const lw_diag *d = lw_diag_get(b.ctx, 0);
            CHECK_INT_EQ(d->severity, LW_SEVERITY_WARNING);
            CHECK(strncmp(d->text, "a tuned schedule for 'mm' is ignored: ", 38) == 0);
            if (!CHECK(strstr(d->text, bad[i].why))) printf("%s\n", d->text);
        }
        end(&b);
    }
}

// A quarter of a terabyte for partial sums.
TEST(api_database_has_no_say_over_memory) {
    Bench b;
    remove_files("large.db");
    begin(&b, "large.db", matmul, 1024, 1024, 65536);
    CHECK(put(&b, "s0: i0 i1 i2.p\n    privatise i2\ns0.part: i2.p i0 i1 i2\n", 1, 1));
    lw_show_options o = {.struct_size = sizeof o, .threads = 1};
    const char *text = "";
    CHECK(!lw_bound_show_with(b.ctx, b.bound, LW_STAGE_SCHEDULE, &o, &text));
    CHECK(text[0] == 'C');
    CHECK(lw_diag_count(b.ctx) == 1 &&
          strstr(lw_diag_text(b.ctx), "it needs more memory than any measured schedule"));
    end(&b);
}

TEST(api_database_that_is_broken_is_one_warning) {
    Bench b;
    FILE *f = fopen("broken.db", "wb");
    for (int i = 0; i < 9000; i++) fputc("not a database\n"[i % 15], f);
    fclose(f);
    begin(&b, "broken.db", matmul, 64, 48, 32);
    CHECK_STR_EQ(run(&b, 1), "chosen");
    if (CHECK_INT_EQ(lw_diag_count(b.ctx), 1)) {
        CHECK_STR_EQ(lw_diag_get(b.ctx, 0)->text,
                     "no tuning database: 'broken.db' is not a database");
        CHECK_INT_EQ(lw_diag_get(b.ctx, 0)->severity, LW_SEVERITY_WARNING);
    }
    CHECK_STR_EQ(run(&b, 2), "chosen");
    CHECK_INT_EQ(lw_diag_count(b.ctx), 0);
    CHECK(!put(&b, "s0: i0 i1 i2\n", 1, 1));
    CHECK_INT_EQ(lw_diag_count(b.ctx), 0);
    end(&b);
}

// --- Out of memory -------------------------------------------------------------------------------

static int left;
static void *few_alloc(void *user, size_t size) {
    (void)user;
    return left-- > 0 ? malloc(size) : NULL;
}
static void few_free(void *user, void *p, size_t size) { (void)user, (void)size, free(p); }

// A context that finds its Schedule in a database, with the n-th allocation failing: the call is
// out of memory or gives a result, no lock stays held, and the context works afterwards.
TEST(api_database_out_of_memory) {
    Bench b;
    remove_files("few.db");
    begin(&b, "few.db", matmul, 64, 48, 32);
    CHECK(put(&b, "s0: i0/4 i1/16 i2 i0 i1:v\n", 10, 1));
    end(&b);
    lw_context_options o = {
        .struct_size = sizeof o, .alloc = few_alloc, .free = few_free, .database = "few.db"};
    o.chunk = 4096;
    lw_parse_options tc = {.struct_size = sizeof tc, .language = LW_LANG_TC};
    lw_size sizes[] = {{"M", 64}, {"N", 48}, {"K", 32}};
    bool done = false;
    int n = 0;
    for (; n < 2000 && !done; n++) {
        lw_module *mod = NULL;
        lw_bound *bound = NULL;
        const char *text = NULL;
        const lw_db_entry *entry;
        size_t count = 0;
        left = n;
        lw_context *ctx = lw_context_new(&o);
        if (!ctx) continue;
        lw_show_options show = {.struct_size = sizeof show, .threads = 1};
        lw_status status = lw_parse(ctx, "t.tc", matmul, strlen(matmul), &tc, &mod);
        if (!status) status = lw_bind(ctx, lw_module_function(mod, 0), sizes, 3, &bound);
        if (!status) status = lw_bound_show_with(ctx, bound, LW_STAGE_SCHEDULE, &show, &text);
        if (!status) CHECK(strncmp(text, "# tuned", 7) == 0);
        if (!status) status = lw_db_list(ctx, NULL, &entry, &count);
        if (!status) status = lw_db_export(ctx, NULL, &text);
        if (!status) CHECK_INT_EQ(count, 1);
        CHECK(status == LW_OK || status == LW_NO_MEMORY);
        done = status == LW_OK;
        left = 100000;
        if (bound) CHECK(!lw_bound_show_with(ctx, bound, LW_STAGE_SCHEDULE, &show, &text));
        lw_bound_free(bound);
        lw_module_free(mod);
        lw_context_free(ctx);
    }
    CHECK(done && n > 10);
}
