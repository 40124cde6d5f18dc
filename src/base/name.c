#include "base/name.h"

#include <string.h>

typedef struct Key {
    const char *s;
    size_t len;
} Key;

static bool same(const void *key, const void *item) {
    const Key *k = key;
    const char *name = item;
    return !strncmp(name, k->s, k->len) && !name[k->len];
}

Names *names_fork(Arena *arena, const Names *names) {
    Names *own = arena_new(arena, Names);
    *own = (Names){arena, set_fork(arena, &names->set)};
    return own;
}

Name name_intern(Names *names, const char *s, size_t len) {
    Key key = {s, len};
    void **slot = set_find(names->arena, &names->set, hash_bytes(0, s, len), &key, same);
    if (!*slot) {
        *slot = arena_strndup(names->arena, s, len);
        names->set.n++;
    }
    return *slot;
}

Name name_of(Names *names, const char *s) { return name_intern(names, s, strlen(s)); }
