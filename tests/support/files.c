#include "support/files.h"

#include <stdio.h>
#include <stdlib.h>

char *project_file(Arena *arena, const char *path) {
    const char *root = getenv("LW_ROOT");
    FILE *f = fopen(arena_printf(arena, "%s/%s", root ? root : ".", path), "rb");
    if (!f) return NULL;
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    char *text = arena_alloc(arena, (size_t)(size > 0 ? size : 0) + 1);
    text[fread(text, 1, (size_t)(size > 0 ? size : 0), f)] = 0;
    fclose(f);
    return text;
}
