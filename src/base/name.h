// Interned strings: one pointer per spelling within a compilation, so names compare with ==.
#ifndef LW_BASE_NAME_H
#define LW_BASE_NAME_H

#include "base/map.h"

typedef const char *Name;

typedef struct Names {
    Arena *arena;
    Set set;
} Names;

// A pool that starts with the names of another and grows independently.
Names *names_fork(Arena *arena, const Names *names);
Name name_intern(Names *names, const char *s, size_t len);
Name name_of(Names *names, const char *s); // NUL-terminated

#endif
