#include "base/text.h"

#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *room(Text *t, size_t more) {
    if (t->len + more + 1 > t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 128;
        while (cap < t->len + more + 1) cap *= 2;
        char *s = arena_raw(t->arena, cap);
        if (t->len) memcpy(s, t->s, t->len);
        t->s = s;
        t->cap = cap;
    }
    return t->s + t->len;
}

void text_add_n(Text *t, const char *s, size_t n) {
    char *to = room(t, n);
    if (n) memcpy(to, s, n);
    to[n] = 0;
    t->len += n;
}

void text_add(Text *t, const char *s) { text_add_n(t, s, strlen(s)); }

void text_char(Text *t, char c) { text_add_n(t, &c, 1); }

void text_fill(Text *t, char c, int count) {
    if (count <= 0) return;
    char *to = room(t, (size_t)count);
    memset(to, c, (size_t)count);
    to[count] = 0;
    t->len += (size_t)count;
}

void text_int(Text *t, int64_t i) {
    char digits[24];
    char *at = digits + sizeof digits;
    uint64_t rest = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
    do *--at = (char)('0' + rest % 10);
    while (rest /= 10);
    if (i < 0) *--at = '-';
    text_add_n(t, at, (size_t)(digits + sizeof digits - at));
}

void text_printf(Text *t, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    size_t space = t->cap - t->len;
    int len = vsnprintf(space ? t->s + t->len : NULL, space, format, args);
    if (len > 0 && (size_t)len >= space)
        vsnprintf(room(t, (size_t)len), (size_t)len + 1, format, again);
    if (len > 0) t->len += (size_t)len;
    va_end(again);
    va_end(args);
}

// Adds a number with '.' in place of the decimal separator of the locale.
static void add_point(Text *t, const char *s) {
    while (*s) {
        size_t plain = strspn(s, "0123456789+-e");
        text_add_n(t, s, plain);
        s += plain;
        size_t point = strcspn(s, "0123456789+-e");
        if (point) text_char(t, '.');
        s += point;
    }
}

void text_float(Text *t, double f, bool single) {
    if (isnan(f)) {
        text_add(t, "nan");
        return;
    }
    if (isinf(f)) {
        text_add(t, f < 0 ? "-inf" : "inf");
        return;
    }
    char buf[48];
    int digits = 0;
    double back;
    do {
        snprintf(buf, sizeof buf, "%.*e", digits, f);
        back = single ? (double)strtof(buf, NULL) : strtod(buf, NULL);
    } while (back != f && ++digits < 17);
    int exponent = atoi(strchr(buf, 'e') + 1), decimals = digits - exponent;
    if (exponent >= -5 && exponent < (single ? 7 : 15)) // integers below that are exact
        snprintf(buf, sizeof buf, "%.*f", decimals > 1 ? decimals : 1, f);
    add_point(t, buf);
}

bool text_parse_float(const char *s, size_t len, bool single, double *out) {
    const char *point = localeconv()->decimal_point;
    char buf[512];
    size_t n = 0, width = strlen(point);
    for (size_t i = 0; i < len; i++) {
        if (n + width + 1 > sizeof buf || !s[i] || s[i] == ' ') return false;
        if (s[i] == '.')
            memcpy(buf + n, point, width), n += width;
        else
            buf[n++] = s[i];
    }
    buf[n] = 0;
    char *end;
    *out = single ? (double)strtof(buf, &end) : strtod(buf, &end);
    return n > 0 && *end == 0;
}

const char *text_str(const Text *t) { return t->s ? t->s : ""; }

void text_escape(Text *t, const char *s, char quote) {
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '\\' || *s == quote) text_char(t, '\\');
        if (c < 32 || c == 127)
            text_printf(t, "\\x%02x", c);
        else
            text_char(t, *s);
    }
}

// The number of bytes of a character in UTF-8; 0: they are none.
static int utf8_length(const unsigned char *s) {
    int n = *s < 0x80 ? 1 : *s >= 0xc2 && *s < 0xe0 ? 2 : *s >= 0xe0 && *s < 0xf0 ? 3 : 0;
    if (*s >= 0xf0 && *s < 0xf5) n = 4;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if (n == 3 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f))) return 0;
    if (n == 4 && ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))) return 0;
    return n;
}

void text_json(Text *t, const char *s) {
    for (const unsigned char *c = (const unsigned char *)s; *c;) {
        int n = utf8_length(c);
        if (n == 0)
            text_add(t, "\\ufffd");
        else if (*c == '\n')
            text_add(t, "\\n");
        else if (*c < 32 || *c == 127)
            text_printf(t, "\\u%04x", *c);
        else if (*c == '"' || *c == '\\')
            text_printf(t, "\\%c", *c);
        else
            text_add_n(t, (const char *)c, (size_t)n);
        c += n ? n : 1;
    }
}
