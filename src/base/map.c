#include "base/map.h"

#include <string.h>

uint64_t hash_bytes(uint64_t h, const void *p, size_t n) {
    const char *at = p;
    h = hash_mix(h, n);
    for (; n >= 8; n -= 8, at += 8) {
        uint64_t x;
        memcpy(&x, at, 8);
        h = hash_mix(h, x);
    }
    uint64_t rest = 0;
    if (n) memcpy(&rest, at, n);
    return hash_mix(h, rest);
}

static void place(Set *s, uint64_t hash, void *item) {
    uint64_t mask = (uint64_t)s->cap - 1, i = hash & mask;
    while (s->at[i]) i = (i + 1) & mask;
    s->at[i] = item;
    s->hash[i] = hash;
}

static void rehash(Arena *arena, Set *s) {
    Set old = *s;
    s->cap = old.cap ? old.cap * 4 : 32;
    s->at = arena_new_n(arena, void *, s->cap);
    s->hash = arena_new_n(arena, uint64_t, s->cap);
    for (int i = 0; i < old.cap; i++)
        if (old.at[i]) place(s, old.hash[i], old.at[i]);
}

Set set_fork(Arena *arena, const Set *s) {
    Set t = *s;
    if (!t.cap) return t;
    t.at = arena_copy(arena, s->at, (size_t)t.cap * sizeof *t.at);
    t.hash = arena_copy(arena, s->hash, (size_t)t.cap * sizeof *t.hash);
    return t;
}

void **set_find(Arena *arena, Set *s, uint64_t hash, const void *key, SetSame *same) {
    if (2 * (s->n + 1) > s->cap) rehash(arena, s);
    uint64_t mask = (uint64_t)s->cap - 1, i = hash & mask;
    for (; s->at[i]; i = (i + 1) & mask)
        if (s->hash[i] == hash && same(key, s->at[i])) return &s->at[i];
    s->hash[i] = hash;
    return &s->at[i];
}

typedef struct Numbered {
    const void *key;
    int number;
} Numbered;

static bool same_key(const void *key, const void *item) {
    return ((const Numbered *)item)->key == key;
}

static void **slot_of(Numbers *m, const void *key) {
    return set_find(m->arena, &m->set, hash_mix(0, (uint64_t)(uintptr_t)key), key, same_key);
}

void numbers_put(Numbers *m, const void *key, int number) {
    void **slot = slot_of(m, key);
    if (*slot) return;
    Numbered *item = arena_new(m->arena, Numbered);
    *item = (Numbered){key, number};
    *slot = item;
    m->set.n++;
}

int numbers_get(Numbers *m, const void *key) {
    if (!m->set.n) return -1;
    const Numbered *item = *slot_of(m, key);
    return item ? item->number : -1;
}
