// Patterns of places: "SRAM[4]/*", "*[*, 0]", "DRAM".
#include "tree/place.h"

#include <string.h>

#include "base/checked.h"

typedef struct PatternUnit {
    const char *name; // NULL: any
    bool counted;     // numbers are given
    int n;
    const int64_t *at; // INT64_MIN: any
} PatternUnit;

struct PlacePattern {
    int n;
    const PatternUnit *unit;
};

typedef struct Reader {
    Arena *arena;
    const char *at;
    const char *error;
} Reader;

static void blanks(Reader *r) {
    while (*r->at == ' ') r->at++;
}

static bool word_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static int64_t read_number(Reader *r) {
    int64_t v = 0;
    if (*r->at == '*') {
        r->at++;
        return INT64_MIN;
    }
    if (*r->at < '0' || *r->at > '9') r->error = "expected a number or '*'";
    for (; *r->at >= '0' && *r->at <= '9' && !r->error; r->at++)
        if (!checked_mul(v, 10, &v) || !checked_add(v, *r->at - '0', &v))
            r->error = "the number does not fit in 64 bits";
    return v;
}

static void read_numbers(Reader *r, PatternUnit *u) {
    VEC(int64_t) numbers = {0};
    u->counted = true;
    do {
        r->at++;
        blanks(r);
        if (*r->at == ']' && !numbers.n) break;
        int64_t v = read_number(r);
        vec_push(r->arena, &numbers, v);
        blanks(r);
    } while (*r->at == ',' && !r->error);
    if (!r->error && *r->at != ']') r->error = "expected ']'";
    if (!r->error) r->at++;
    u->n = numbers.n;
    u->at = numbers.at;
}

static PatternUnit read_unit(Reader *r) {
    PatternUnit u = {0};
    blanks(r);
    const char *from = r->at;
    if (*r->at == '*') {
        r->at++;
    } else {
        while (word_char(*r->at)) r->at++;
        if (r->at == from) r->error = "expected a unit or '*'";
        u.name = arena_strndup(r->arena, from, (size_t)(r->at - from));
    }
    blanks(r);
    if (!r->error && *r->at == '[') read_numbers(r, &u);
    blanks(r);
    return u;
}

PlacePattern *place_pattern(Arena *arena, const char *text, const char **error) {
    Reader r = {.arena = arena, .at = text};
    VEC(PatternUnit) units = {0};
    blanks(&r);
    bool more = *r.at != 0;
    while (more && !r.error) {
        PatternUnit u = read_unit(&r);
        vec_push(arena, &units, u);
        more = *r.at == '/';
        if (more) r.at++;
    }
    if (!r.error && *r.at) r.error = "expected '/'";
    if (error) *error = r.error;
    if (r.error) return NULL;
    PlacePattern *p = arena_new(arena, PlacePattern);
    *p = (PlacePattern){units.n, units.at};
    return p;
}

static bool unit_matches(const PatternUnit *p, const Unit *u) {
    if (p->name && strcmp(p->name, u->name) != 0) return false;
    if (!p->counted) return true;
    if (p->n != u->n) return false;
    for (int i = 0; i < u->n; i++)
        if (p->at[i] != INT64_MIN && !affine_is(u->at[i], p->at[i])) return false;
    return true;
}

bool place_matches(const PlacePattern *pattern, const Place *place) {
    if (pattern->n != place->n) return false;
    for (int i = 0; i < place->n; i++)
        if (!unit_matches(&pattern->unit[i], &place->unit[i])) return false;
    return true;
}
