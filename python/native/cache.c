// Finds kernels by the types, shapes and strides for which they were compiled. One comparison finds
// the kernel that was used last; a hash table finds the others. A list in the order of use tells
// which one to drop when there are too many.
#include "native.h"

#include <string.h>

enum { FIRST_SLOTS = 16 };

static uint64_t hash_of(const int64_t *key, size_t n) {
    uint64_t h = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < n; i++) {
        h = (h ^ (uint64_t)key[i]) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    return h;
}

Entry *entry_new(const int64_t *key, size_t nkey) {
    Entry *e = PyMem_Malloc(sizeof *e + nkey * sizeof *key);
    if (!e) return PyErr_NoMemory(), NULL;
    memset(e, 0, sizeof *e);
    e->refs = 1;
    e->hash = hash_of(key, nkey);
    e->nkey = nkey;
    memcpy(e->key, key, nkey * sizeof *key);
    return e;
}

void entry_drop(Entry *e) {
    if (!e || --e->refs) return;
    lw_kernel_free(e->kernel);
    lw_bound_free(e->bound);
    PyMem_Free(e->schedule);
    PyMem_Free(e);
}

static bool is_key(const Entry *e, const int64_t *key, size_t nkey) {
    return e->nkey == nkey && !memcmp(e->key, key, nkey * sizeof *key);
}

static void unlink_use(Cache *c, Entry *e) {
    *(e->newer ? &e->newer->older : &c->newest) = e->older;
    *(e->older ? &e->older->newer : &c->oldest) = e->newer;
}

static void make_newest(Cache *c, Entry *e) {
    e->newer = NULL;
    e->older = c->newest;
    *(c->newest ? &c->newest->newer : &c->oldest) = e;
    c->newest = e;
}

Entry *cache_find(Cache *c, const int64_t *key, size_t nkey) {
    if (!c->n) return NULL;
    if (is_key(c->newest, key, nkey)) return c->newest;
    Entry *e = c->slot[hash_of(key, nkey) & (c->slots - 1)];
    while (e && !is_key(e, key, nkey)) e = e->next;
    if (!e) return NULL;
    unlink_use(c, e);
    make_newest(c, e);
    return e;
}

static void take_out(Cache *c, Entry *e) {
    Entry **at = &c->slot[e->hash & (c->slots - 1)];
    while (*at != e) at = &(*at)->next;
    *at = e->next;
    unlink_use(c, e);
    c->n--;
    entry_drop(e);
}

void cache_forget(Cache *c, const int64_t *key, size_t nkey) {
    Entry *e = cache_find(c, key, nkey);
    if (e) take_out(c, e);
}

void cache_limit(Cache *c, size_t most) {
    c->most = most;
    while (c->n > most) take_out(c, c->oldest);
}

void cache_clear(Cache *c) {
    while (c->n) take_out(c, c->oldest);
    PyMem_Free(c->slot);
    c->slot = NULL;
    c->slots = 0;
}

static bool grow(Cache *c) {
    if (c->n < c->slots) return true;
    size_t slots = c->slots ? 2 * c->slots : FIRST_SLOTS;
    Entry **at = PyMem_Calloc(slots, sizeof *at);
    if (!at) return PyErr_NoMemory(), false;
    for (Entry *e = c->oldest; e; e = e->newer) {
        e->next = at[e->hash & (slots - 1)];
        at[e->hash & (slots - 1)] = e;
    }
    PyMem_Free(c->slot);
    c->slot = at;
    c->slots = slots;
    return true;
}

bool cache_add(Cache *c, Entry *e) {
    if (!c->most) return true;
    Entry *old = cache_find(c, e->key, e->nkey);
    if (old) take_out(c, old);
    if (!grow(c)) return false;
    Entry **at = &c->slot[e->hash & (c->slots - 1)];
    e->next = *at;
    *at = e;
    make_newest(c, e);
    c->n++;
    e->refs++;
    cache_limit(c, c->most);
    return true;
}
