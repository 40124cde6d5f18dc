// A JSON writer: appends to a string and inserts commas.
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add(Json *j, const char *s, size_t n) {
    if (j->len + n + 1 > j->cap) {
        size_t cap = (j->len + n + 1) * 2;
        char *text = cli_alloc(cap);
        if (j->len) memcpy(text, j->text, j->len);
        free(j->text);
        j->text = text, j->cap = cap;
    }
    memcpy(j->text + j->len, s, n);
    j->len += n;
    j->text[j->len] = 0;
}

static void add_str(Json *j, const char *s) { add(j, s, strlen(s)); }

// Bytes that are not UTF-8 become U+FFFD, so that the output is JSON for any file name.
static size_t utf8_length(const unsigned char *s) {
    size_t n = *s < 0x80                 ? 1
               : *s >= 0xc2 && *s < 0xe0 ? 2
               : *s >= 0xe0 && *s < 0xf0 ? 3
               : *s >= 0xf0 && *s < 0xf5 ? 4
                                         : 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if (n == 3 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f))) return 0;
    if (n == 4 && ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))) return 0;
    return n;
}

static void quote(Json *j, const char *text) {
    add(j, "\"", 1);
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        char escape[8];
        size_t n = utf8_length(s);
        if (n == 0) {
            add_str(j, "\\ufffd");
            n = 1;
        } else if (*s == '"' || *s == '\\') {
            add(j, (char[]){'\\', (char)*s}, 2);
        } else if (*s == '\n') {
            add_str(j, "\\n");
        } else if (*s < 0x20 || *s == 0x7f) {
            snprintf(escape, sizeof escape, "\\u%04x", *s);
            add_str(j, escape);
        } else {
            add(j, (const char *)s, n);
        }
        s += n;
    }
    add(j, "\"", 1);
}

static void begin(Json *j, const char *key) {
    if (j->comma) add_str(j, ", ");
    j->comma = true;
    if (!key) return;
    quote(j, key);
    add_str(j, ": ");
}

void json_open(Json *j, const char *key, char bracket) {
    begin(j, key);
    add(j, &bracket, 1);
    j->comma = false;
}

void json_close(Json *j, char bracket) {
    add(j, &bracket, 1);
    j->comma = true;
}

void json_str(Json *j, const char *key, const char *s) {
    begin(j, key);
    if (s)
        quote(j, s);
    else
        add_str(j, "null");
}

void json_int(Json *j, const char *key, int64_t i) {
    char text[32];
    begin(j, key);
    snprintf(text, sizeof text, "%lld", (long long)i);
    add_str(j, text);
}

void json_num(Json *j, const char *key, double f) {
    char text[40];
    begin(j, key);
    if (!isfinite(f)) return add_str(j, "null");
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, f);
        if (strtod(text, NULL) == f) break;
    }
    add_str(j, text);
}

void json_bool(Json *j, const char *key, bool b) {
    begin(j, key);
    add_str(j, b ? "true" : "false");
}

void json_array(Json *j, const char *key, const Json *elements) {
    json_open(j, key, '[');
    if (elements->len) add(j, elements->text, elements->len);
    json_close(j, ']');
}

void json_raw(Json *j, const char *key, const char *text) {
    begin(j, key);
    for (; *text; text++)
        if (*text != '\n') add(j, text, 1);
}
