// JSON lines: one object per entry, or per trial, every member by name.
//
//     {"format": 1, "name": "mm", "program": "program f {\n...", "strides": "", "target": "x86-64",
//      "cpu": "...", "isa": "avx512", "threads": 1, "schedule": "s0: i0/6 ...", "seconds": 1.2e-05,
//      "low": 1.19e-05, "high": 1.22e-05, "date": "2026-11-15T09:30:00Z", "samples": 101,
//      "bound": 1.1e-05, "chosen": 1.4e-05, "version": "0.1.0", "verified": "...", "origin":
//      "tuned", "pinned": false, "gap": 0.09}
//
// A trial has "state" and fewer of the other members. The reader accepts members in any order and
// ignores unknown ones; derived members (gap) are not read.
#define _GNU_SOURCE
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/checked.h"
#include "search/db_admin.h"

enum { FORMAT = 1 };

// Every member, in the order of writing.
typedef enum MemberKind { TEXT, NUMBER, INTEGER, COUNT, DATE, FLAG } MemberKind;
typedef enum MemberOf { OF_BOTH, OF_ENTRY, OF_TRIAL } MemberOf;

static const struct Member {
    const char *name;
    MemberKind kind;
    MemberOf of;
    size_t at; // in a DbRow
} members[] = {
#define AT(member) offsetof(DbRow, member)
    {"name", TEXT, OF_BOTH, AT(key.name)},
    {"program", TEXT, OF_BOTH, AT(key.program)},
    {"strides", TEXT, OF_BOTH, AT(key.strides)},
    {"target", TEXT, OF_BOTH, AT(key.target)},
    {"cpu", TEXT, OF_BOTH, AT(key.cpu)},
    {"isa", TEXT, OF_BOTH, AT(key.isa)},
    {"threads", COUNT, OF_BOTH, AT(key.threads)},
    {"schedule", TEXT, OF_BOTH, AT(entry.schedule)},
    {"seconds", NUMBER, OF_BOTH, AT(entry.seconds)},
    {"low", NUMBER, OF_BOTH, AT(entry.low)},
    {"high", NUMBER, OF_BOTH, AT(entry.high)},
    {"date", DATE, OF_BOTH, AT(entry.date)},
    {"state", TEXT, OF_TRIAL, AT(state)},
    {"samples", INTEGER, OF_ENTRY, AT(entry.samples)},
    {"bound", NUMBER, OF_ENTRY, AT(entry.bound)},
    {"chosen", NUMBER, OF_ENTRY, AT(entry.chosen)},
    {"version", TEXT, OF_ENTRY, AT(entry.version)},
    {"verified", TEXT, OF_ENTRY, AT(entry.verified)},
    {"origin", TEXT, OF_ENTRY, AT(entry.origin)},
    {"pinned", FLAG, OF_ENTRY, AT(entry.pinned)},
#undef AT
};
enum { MEMBERS = sizeof members / sizeof *members };

// --- Writing -------------------------------------------------------------------------------------

static void quote(Text *out, const char *s) {
    text_char(out, '"');
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            text_printf(out, "\\%c", c);
        else if (c == '\n')
            text_add(out, "\\n");
        else if (c < 0x20 || c == 0x7f)
            text_printf(out, "\\u%04x", c);
        else
            text_char(out, *s);
    }
    text_char(out, '"');
}

const char *db_date(Arena *arena, int64_t date) {
    time_t t = (time_t)date;
    struct tm tm;
    char text[64];
    if (!gmtime_r(&t, &tm) || !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm)) return "";
    return arena_strndup(arena, text, strlen(text));
}

static void print_member(Text *out, const struct Member *m, const DbRow *row) {
    const void *at = (const char *)row + m->at;
    text_printf(out, ", \"%s\": ", m->name);
    switch (m->kind) {
    case TEXT: quote(out, *(const char *const *)at ? *(const char *const *)at : ""); break;
    case NUMBER:
        text_float(out, isfinite(*(const double *)at) ? *(const double *)at : 0, false);
        break;
    case INTEGER: text_int(out, *(const int64_t *)at); break;
    case COUNT: text_int(out, *(const int *)at); break;
    case DATE: quote(out, db_date(out->arena, *(const int64_t *)at)); break;
    case FLAG: text_add(out, *(const bool *)at ? "true" : "false"); break;
    }
}

void db_row_print(Text *out, const DbRow *row) {
    MemberOf not = row->state ? OF_ENTRY : OF_TRIAL;
    text_printf(out, "{\"format\": %d", FORMAT);
    for (int i = 0; i < MEMBERS; i++)
        if (members[i].of != not ) print_member(out, &members[i], row);
    if (!row->state && row->entry.bound > 0) {
        text_add(out, ", \"gap\": ");
        text_float(out, round(db_gap(&row->entry) * 1e4) / 1e4, false);
    }
    text_add(out, "}\n");
}

// --- Reading -------------------------------------------------------------------------------------

typedef struct JsonReader {
    Arena *arena;
    const char *at, *end;
    const char *wrong;
} JsonReader;

static void spaces(JsonReader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r')) r->at++;
}

static bool accept(JsonReader *r, char c) {
    spaces(r);
    if (r->at == r->end || *r->at != c) return false;
    r->at++;
    return true;
}

static void fail(JsonReader *r, const char *why) {
    if (!r->wrong) r->wrong = why;
    r->at = r->end;
}

static int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// The character after \u, as UTF-8. Our writer produces no surrogate pairs.
static void unicode(JsonReader *r, Text *out) {
    unsigned c = 0;
    for (int i = 0; i < 4; i++) {
        int digit = r->at < r->end ? hex(*r->at++) : -1;
        if (digit < 0) return fail(r, "a string has a bad \\u");
        c = 16 * c + (unsigned)digit;
    }
    if (c == 0 || (c >= 0xd800 && c < 0xe000)) return fail(r, "a string has a bad \\u");
    if (c < 0x80) {
        text_char(out, (char)c);
    } else if (c < 0x800) {
        text_char(out, (char)(0xc0 | c >> 6));
        text_char(out, (char)(0x80 | (c & 63)));
    } else {
        text_char(out, (char)(0xe0 | c >> 12));
        text_char(out, (char)(0x80 | (c >> 6 & 63)));
        text_char(out, (char)(0x80 | (c & 63)));
    }
}

static const char *read_string(JsonReader *r) {
    static const char plain[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
    Text out = {.arena = r->arena};
    if (!accept(r, '"')) {
        fail(r, "a string was expected");
        return "";
    }
    while (r->at < r->end && *r->at != '"') {
        char c = *r->at++;
        if ((unsigned char)c < 0x20) {
            fail(r, "a string has a control character");
        } else if (c != '\\') {
            text_char(&out, c);
        } else if (r->at < r->end && *r->at == 'u') {
            r->at++;
            unicode(r, &out);
        } else {
            const char *p = r->at < r->end && *r->at ? strchr(plain, *r->at) : NULL;
            if (p) text_char(&out, means[p - plain]);
            if (p) r->at++;
            if (!p) fail(r, "a string has a bad escape");
        }
    }
    if (!accept(r, '"')) fail(r, "a string does not end");
    return text_str(&out);
}

static double read_number(JsonReader *r) {
    double f = 0;
    spaces(r);
    const char *from = r->at;
    while (r->at < r->end && *r->at && strchr("+-.0123456789eE", *r->at)) r->at++;
    if (!text_parse_float(from, (size_t)(r->at - from), false, &f) || !isfinite(f))
        fail(r, "a number was expected");
    return f;
}

static bool read_word(JsonReader *r, const char *word) {
    size_t n = strlen(word);
    spaces(r);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n) != 0) return false;
    r->at += n;
    return true;
}

static bool read_bool(JsonReader *r) {
    bool yes = read_word(r, "true");
    if (!yes && !read_word(r, "false")) fail(r, "true or false was expected");
    return yes;
}

static int64_t read_integer(JsonReader *r) {
    double f = read_number(r);
    if (f != floor(f) || fabs(f) > 9e15) fail(r, "a whole number was expected");
    return r->wrong ? 0 : (int64_t)f;
}

static int64_t read_date(JsonReader *r) {
    struct tm tm = {0};
    const char *text = read_string(r), *rest = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    if (!rest || *rest) fail(r, "a date was expected, such as 2026-11-15T09:30:00Z");
    return rest && !*rest ? (int64_t)timegm(&tm) : 0;
}

// Skips an unknown member: a string, number or word.
static void pass_over(JsonReader *r) {
    spaces(r);
    if (r->at < r->end && *r->at == '"')
        read_string(r);
    else if (!read_word(r, "true") && !read_word(r, "false") && !read_word(r, "null"))
        read_number(r);
}

static void read_member(JsonReader *r, const struct Member *m, DbRow *row) {
    void *at = (char *)row + m->at;
    switch (m->kind) {
    case TEXT: *(const char **)at = read_string(r); break;
    case NUMBER: *(double *)at = read_number(r); break;
    case INTEGER: *(int64_t *)at = read_integer(r); break;
    case COUNT: *(int *)at = (int)min_i64(max_i64(read_integer(r), -1), 1 << 20); break;
    case DATE: *(int64_t *)at = read_date(r); break;
    case FLAG: *(bool *)at = read_bool(r); break;
    }
}

static void read_named(JsonReader *r, const char *key, DbRow *row) {
    if (strcmp(key, "format") == 0) {
        if (read_integer(r) > FORMAT) fail(r, "it was written by a newer version");
        return;
    }
    for (int i = 0; i < MEMBERS; i++)
        if (strcmp(key, members[i].name) == 0) return read_member(r, &members[i], row);
    pass_over(r);
}

const char *db_row_parse(Arena *arena, const char *line, size_t len, DbRow *row) {
    JsonReader r = {.arena = arena, .at = line, .end = line + len};
    *row = (DbRow){.key = {.name = "", .strides = "", .sizes = ""}};
    if (!accept(&r, '{')) return "an object was expected";
    for (bool more = !accept(&r, '}'); more && !r.wrong;) {
        const char *key = read_string(&r);
        if (!accept(&r, ':')) fail(&r, "':' was expected");
        if (!r.wrong) read_named(&r, key, row);
        if (r.wrong) break;
        more = accept(&r, ',');
        if (!more && !accept(&r, '}')) fail(&r, "',' or '}' was expected");
    }
    spaces(&r);
    if (r.wrong) return r.wrong;
    if (r.at != r.end) return "something follows the object";
    const DbKey *k = &row->key;
    if (!k->program || !k->target || !k->cpu || !k->isa || !row->entry.schedule)
        return "program, target, cpu, isa and schedule are needed";
    if (row->entry.seconds < 0) return "its time is negative";
    return NULL;
}
