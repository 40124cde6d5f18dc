// A JSON reader: a value is validated completely, then members are searched for in its text.
// Nothing is copied or stored.
#include "cli.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 64 };

static const char *space(const char *s) {
    while (*s == ' ' || *s == '\t' || *s == '\r' || *s == '\n') s++;
    return s;
}

// Each of these returns the end of a value, or NULL if there is no such value.

static const char *string(const char *s) {
    if (*s++ != '"') return NULL;
    for (; *s != '"'; s++) {
        if ((unsigned char)*s < 0x20) return NULL;
        if (*s != '\\') continue;
        if (!*++s || !strchr("\"\\/bfnrtu", *s)) return NULL;
        for (int i = 0; i < 4 && *s == 'u'; i++)
            if (!isxdigit((unsigned char)s[i + 1])) return NULL;
    }
    return s + 1;
}

static const char *number(const char *s) {
    s += *s == '-';
    if (!isdigit((unsigned char)*s)) return NULL;
    s += strspn(s, "0123456789");
    if (*s == '.') {
        if (!isdigit((unsigned char)*++s)) return NULL;
        s += strspn(s, "0123456789");
    }
    if (*s != 'e' && *s != 'E') return s;
    s += 1 + (s[1] == '+' || s[1] == '-');
    return isdigit((unsigned char)*s) ? s + strspn(s, "0123456789") : NULL;
}

static const char *value(const char *s, int depth);

static const char *many(const char *s, int depth) {
    char end = *s == '{' ? '}' : ']';
    s = space(s + 1);
    if (*s == end) return s + 1;
    for (;; s = space(s + 1)) {
        if (end == '}') {
            s = string(s);
            if (s) s = space(s);
            if (!s || *s != ':') return NULL;
            s = space(s + 1);
        }
        s = value(s, depth + 1);
        if (!s) return NULL;
        s = space(s);
        if (*s == end) return s + 1;
        if (*s != ',') return NULL;
    }
}

static const char *value(const char *s, int depth) {
    static const char *const words[] = {"true", "false", "null"};
    if (*s == '"') return string(s);
    if (*s == '{' || *s == '[') return depth < DEEPEST ? many(s, depth) : NULL;
    for (int i = 0; i < 3; i++)
        if (!strncmp(s, words[i], strlen(words[i]))) return s + strlen(words[i]);
    return number(s);
}

bool json_valid(const char *text) {
    const char *end = value(space(text), 0);
    return end && !*space(end);
}

const char *json_member(const char *object, const char *key) {
    const char *s = space(object);
    size_t n = strlen(key);
    if (*s != '{') return NULL;
    for (s = space(s + 1); *s == '"'; s = space(s + 1)) {
        const char *name = s + 1;
        s = space(string(s)); // ':'
        const char *at = space(s + 1);
        if (!strncmp(name, key, n) && name[n] == '"') return at;
        s = space(value(at, 0));
        if (*s != ',') return NULL;
    }
    return NULL;
}

const char *json_element(const char *array, int i) {
    const char *s = space(array);
    if (*s != '[') return NULL;
    for (s = space(s + 1); *s != ']'; s = space(s + 1)) {
        if (i-- == 0) return s;
        s = space(value(s, 0));
        if (*s != ',') return NULL;
    }
    return NULL;
}

double json_number(const char *object, const char *key, double otherwise) {
    const char *at = json_member(object, key);
    return at && number(at) ? strtod(at, NULL) : otherwise;
}

bool json_is(const char *object, const char *key, const char *text) {
    const char *at = json_member(object, key), *end = at ? value(at, 0) : NULL;
    size_t n = strlen(text);
    if (!end || *at != '"') return at && !strncmp(at, text, n) && end == at + n;
    return (size_t)(end - at) == n + 2 && !strncmp(at + 1, text, n);
}

char *json_text(const char *object, const char *key) {
    const char *at = json_member(object, key), *end = at ? value(at, 0) : NULL;
    if (!end) return NULL;
    bool quoted = *at == '"';
    return cli_printf("%.*s", (int)(end - at) - 2 * quoted, at + quoted);
}
