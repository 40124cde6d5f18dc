// JSON lines of the tuning database: they parse back to the written rows, and no input does harm.
#include "unit/check.h"

#include "search/db_admin.h"
#include "support/proglab.h"
#include "target/target.h"

#include <unistd.h>

static const char program[] = "program f {\n    input t0: f32[8]\n    output t1: f32[]\n\n"
                              "    s0: for i0 in 0:8\n        t1[] +=! t0[i0]\n}\n";

static DbRow some_row(void) {
    return (DbRow){.key = {.name = "a \"name\"\\ with\ttabs and \xc3\xa4",
                           .program = program,
                           .strides = "2;",
                           .target = "x86-64",
                           .cpu = "a processor",
                           .isa = "avx2",
                           .threads = 3},
                   .entry = {.schedule = "s0: i0/4 i0\n",
                             .seconds = 1.25e-6,
                             .low = 1e-6,
                             .high = 1.0 / 3,
                             .samples = 17,
                             .bound = 1e-6,
                             .date = 1700000000,
                             .version = "9.9",
                             .verified = "bit for bit",
                             .origin = "hand",
                             .pinned = true}};
}

static const char *line_of(Lab *lab, const DbRow *row) {
    Text out = {.arena = &lab->arena};
    db_row_print(&out, row);
    return text_str(&out);
}

TEST(db_json_reads_what_it_writes) {
    Lab lab;
    lab_begin(&lab);
    for (int trial = 0; trial < 2; trial++) {
        DbRow row = some_row(), read;
        if (trial) row.state = "crashed";
        const char *line = line_of(&lab, &row);
        CHECK(!db_row_parse(&lab.arena, line, strlen(line) - 1, &read));
        CHECK_STR_EQ(line_of(&lab, &read), line);
        CHECK_STR_EQ(read.key.name, row.key.name);
        CHECK_F64_EQ(read.entry.high, 1.0 / 3);
        CHECK(!db_row_check(&lab.arena, &read, target_isas));
        CHECK_STR_EQ(read.key.sizes, "8");
        CHECK(read.key.family && strstr(read.key.family, "f32[0]"));
    }
    lab_end(&lab);
}

TEST(db_json_says_what_is_wrong) {
    static const struct {
        const char *line, *why;
    } bad[] = {
        {"", "an object was expected"},
        {"[]", "an object was expected"},
        {"{\"name\" \"x\"}", "':' was expected"},
        {"{\"name\": \"x\" \"cpu\": \"y\"}", "',' or '}' was expected"},
        {"{\"name\": x}", "a string was expected"},
        {"{\"name\": \"\\u12\"}", "a string has a bad \\u"},
        {"{\"name\": \"\\u0000\"}", "a string has a bad \\u"},
        {"{\"name\": \"\\ud800\"}", "a string has a bad \\u"},
        {"{\"name\": \"\\x\"}", "a string has a bad escape"},
        {"{\"name\": \"x", "a string does not end"},
        {"{\"name\": \"\x01\"}", "a string has a control character"},
        {"{\"seconds\": soon}", "a number was expected"},
        {"{\"seconds\": 1e999}", "a number was expected"},
        {"{\"samples\": 1.5}", "a whole number was expected"},
        {"{\"pinned\": 1}", "true or false was expected"},
        {"{\"date\": \"yesterday\"}", "a date was expected, such as 2026-11-15T09:30:00Z"},
        {"{\"format\": 7}", "it was written by a newer version"},
        {"{\"other\": [1]}", "a number was expected"},
        {"{} more", "something follows the object"},
        {"{}", "program, target, cpu, isa and schedule are needed"},
    };
    Lab lab;
    lab_begin(&lab);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        DbRow row;
        CHECK_STR_EQ(db_row_parse(&lab.arena, bad[i].line, strlen(bad[i].line), &row), bad[i].why);
    }
    lab_end(&lab);
}

TEST(db_json_entries_are_checked) {
    static const struct {
        const char *program, *schedule, *why;
    } bad[] = {
        {"nonsense", "", "expected"},
        {"program f(N) { input t0: f32[N] output t1: f32[N]\ns0: for i0 in 0:N t1[i0] = t0[i0] }",
         "", "its program has open sizes"},
        {"program g {\n    input t0: f32[8]\n    output t1: f32[]\n\n"
         "    s0: for i0 in 0:8\n        t1[] +=! t0[i0]\n}\n",
         "", "its program is not in canonical form"},
        {program, "s0: i0:nonsense\n", "nonsense"},
        {program, "s1: i0\n", "it uses names that the program does not have"},
        {program, "s0: i0/4:v i0\n", "vector"},
    };
    Lab lab;
    lab_begin(&lab);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        DbRow row = some_row();
        row.key.program = bad[i].program;
        row.entry.schedule = bad[i].schedule;
        const char *why = db_row_check(&lab.arena, &row, target_isas);
        if (!CHECK(why && strstr(why, bad[i].why))) printf("%zu: %s\n", i, why ? why : "(nothing)");
    }
    lab_end(&lab);
}

// The members other than program and schedule are validated too.
TEST(db_json_keys_are_checked) {
    static const struct {
        const char *strides, *target, *isa;
        int threads;
        double seconds;
        const char *why;
    } rows[] = {
        {"2;", "x86-64", "avx2", 3, 1, NULL},
        {"-2;", "x86-64, cold", "scalar", 1024, 1e-9, NULL},
        {"", "x86-64", "avx2", 0, 1, "its threads are not 1 to 1024"},
        {"", "x86-64", "avx2", -5, 1, "its threads are not 1 to 1024"},
        {"", "x86-64", "avx2", 1025, 1, "its threads are not 1 to 1024"},
        {"", "x86-64", "neon", 1, 1, "'x86-64' has no instruction set 'neon'"},
        {"", "aarch64", "neon", 1, 1, "no target 'aarch64' is known"},
        {"", "x86-64", "avx2", 1, 0, "its time is not above 0"},
        {"foo", "x86-64", "avx2", 1, 1, "'foo' are no strides of its arguments"},
        {"2", "x86-64", "avx2", 1, 1, "'2' are no strides of its arguments"},
        {"2;;", "x86-64", "avx2", 1, 1, "'2;;' are no strides of its arguments"},
        {"2,1;", "x86-64", "avx2", 1, 1, "'2,1;' are no strides of its arguments"},
        {" 2;", "x86-64", "avx2", 1, 1, "' 2;' are no strides of its arguments"},
        {"2;1", "x86-64", "avx2", 1, 1, "'2;1' are no strides of its arguments"},
    };
    Lab lab;
    lab_begin(&lab);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        DbRow row = some_row();
        row.key.strides = rows[i].strides;
        row.key.target = rows[i].target;
        row.key.isa = rows[i].isa;
        row.key.threads = rows[i].threads;
        row.entry.seconds = rows[i].seconds;
        const char *why = db_row_check(&lab.arena, &row, target_isas);
        if (!CHECK(why ? rows[i].why && !strcmp(why, rows[i].why) : !rows[i].why))
            printf("%zu: %s\n", i, why ? why : "(nothing)");
        row.state = "declined"; // has no time
        row.entry.seconds = 0;
        why = db_row_check(&lab.arena, &row, target_isas);
        CHECK(!why == (!rows[i].why || rows[i].seconds == 0));
    }
    lab_end(&lab);
}

TEST(db_json_mutated) {
    static const char bytes[] = "{}[]\",:\\u0e9-+.tfn \x01\x80\xff";
    uint64_t state = 5;
    int64_t read = 0;
    for (int64_t i = 0; i < check_rounds(20000); i++) {
        Lab lab;
        lab_begin(&lab);
        DbRow row = some_row(), got;
        const char *line = line_of(&lab, &row);
        size_t n = strlen(line) - 1;
        char *text = arena_copy(&lab.arena, line, n + 1);
        int changes = 1 + (int)(check_random(&state) % 3);
        for (int k = 0; k < changes; k++) {
            size_t at = check_random(&state) % n;
            switch (check_random(&state) % 3) {
            case 0: text[at] = bytes[check_random(&state) % (sizeof bytes - 1)]; break;
            case 1: n = at + 1; break;
            default: memmove(text + at, text + at + 1, n - at); break;
            }
        }
        if (!db_row_parse(&lab.arena, text, n, &got)) {
            read++;
            db_row_check(&lab.arena, &got, target_isas);
        }
        lab_end(&lab);
    }
    CHECK(read > 0);
}

// Merging in any order, completely or in parts, once or twice, gives the same rows.
TEST(db_json_merging_commutes) {
    Lab lab;
    lab_begin(&lab);
    const char *want = NULL;
    for (int order = 0; order < 3; order++) {
        Db *db;
        unlink("merge.db");
        unlink("merge.db-wal");
        unlink("merge.db-shm");
        CHECK(db_new(&allocator_libc, "merge.db", &db));
        for (int i = 0; i < 60; i++) {
            int k = order == 0 ? i : order == 1 ? 59 - i : i * 7 % 60;
            DbRow row = some_row();
            row.key.threads = 1 + k % 2;
            row.entry.pinned = k == 31;
            row.entry.schedule = arena_printf(&lab.arena, "s0: i0/%d i0\n", 1 + k % 15);
            row.entry.seconds = 1 + (k * 13 % 30) / 8.0;
            row.entry.chosen = k % 4 * 0.9; // some of them lost to it
            CHECK(!db_row_check(&lab.arena, &row, target_isas));
            CHECK_INT_EQ(db_record_rows(db, &lab.arena, &row, 1), 1);
            if (k % 3 == 0) CHECK_INT_EQ(db_record_rows(db, &lab.arena, &row, 1), 1);
        }
        DbRows rows = db_rows(db, &lab.arena, 0, false);
        CHECK(rows.n >= 2 * DB_KEEP);
        Text out = {.arena = &lab.arena};
        for (int threads = 1; threads <= 2; threads++)
            for (int i = 0; i < rows.n; i++)
                if (rows.at[i].key.threads == threads) db_row_print(&out, &rows.at[i]);
        if (!want) want = text_str(&out);
        CHECK_STR_EQ(text_str(&out), want);
        db_free(db);
    }
    lab_end(&lab);
}
