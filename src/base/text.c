#include "base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *room(Text *t, size_t more) {
    if (t->len + more + 1 > t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 128;
        while (cap < t->len + more + 1) cap *= 2;
        char *s = arena_alloc(t->arena, cap);
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

void text_int(Text *t, int64_t i) { text_printf(t, "%lld", (long long)i); }

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

void text_float(Text *t, double f, bool single) {
    if (isnan(f)) {
        text_add(t, "nan");
        return;
    }
    if (isinf(f)) {
        text_add(t, f < 0 ? "-inf" : "inf");
        return;
    }
    char buf[40];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(buf, sizeof buf, "%.*g", digits, f);
        double back = single ? (double)strtof(buf, NULL) : strtod(buf, NULL);
        if (back == f) break;
    }
    text_add(t, buf);
    if (!strpbrk(buf, ".en")) text_add(t, ".0");
}

const char *text_str(const Text *t) { return t->s ? t->s : ""; }
