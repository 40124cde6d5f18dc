// spacec IN.space OUT_DIR: writes OUT_DIR/IN_space.c and .h. With IN alone it only checks.
#include "spacec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_file(Arena *a, const char *path, uint32_t *len) {
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    Text t = {.arena = a};
    char buffer[4096];
    size_t n;
    while ((n = fread(buffer, 1, sizeof buffer, f)) > 0) text_add_n(&t, buffer, n);
    bool failed = ferror(f) != 0; // a folder can be opened but not read
    fclose(f);
    if (failed) return NULL;
    *len = (uint32_t)t.len;
    return arena_strndup(a, text_str(&t), t.len);
}

static bool write_file(const char *path, const Text *t) {
    FILE *f = fopen(path, "wb");
    if (!f) return false;
    bool ok = fwrite(text_str(t), 1, t->len, f) == t->len;
    return fclose(f) == 0 && ok;
}

static Name stem(Names *names, const char *path) {
    const char *slash = strrchr(path, '/'), *from = slash ? slash + 1 : path;
    return name_intern(names, from, strcspn(from, "."));
}

static int compile(Arena *arena, const char *in, const char *out) {
    Names names = {.arena = arena};
    uint32_t len;
    const char *text = read_file(arena, in, &len);
    if (!text) {
        fprintf(stderr, "%s: error: cannot be read\n", in);
        return 1;
    }
    Source source = {in, text, len};
    DiagList diags = {.arena = arena, .source = &source};
    Spec spec = {.arena = arena, .names = &names, .source = &source, .diags = &diags};
    spec.name = stem(&names, in);
    bool ok = spec_parse(&spec) && spec_check(&spec);
    Text shown = {.arena = arena};
    for (int i = 0; i < diags.items.n; i++) diag_print(&shown, diags.items.at[i]);
    fputs(text_str(&shown), stderr);
    if (!ok) return 1;
    Text c = {.arena = arena}, h = {.arena = arena};
    emit_space(&spec, &c, &h);
    if (!out) return 0;
    const char *stub = arena_printf(arena, "%s/%s_space", out, spec.name);
    if (write_file(arena_printf(arena, "%s.h", stub), &h) &&
        write_file(arena_printf(arena, "%s.c", stub), &c))
        return 0;
    fprintf(stderr, "%s: error: cannot write\n", stub);
    return 1;
}

int main(int argc, char **argv) {
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: spacec FILE.space [FOLDER]\n");
        return 2;
    }
    Arena arena;
    arena_init(&arena, &allocator_libc);
    int status = compile(&arena, argv[1], argc > 2 ? argv[2] : NULL);
    arena_free(&arena);
    return status;
}
