// docs/passes.md has a row for every parameter of every pass: meaning, unit, default, range.
#include "unit/check.h"

#include "base/arena.h"
#include "base/text.h"
#include "passes/hardware.h"
#include "support/files.h"

#include <stdlib.h>
#include <string.h>

static const char *const kind_text[] = {
    [PASS_INT] = "count",
    [PASS_BYTES] = "bytes",
    [PASS_REAL] = "number",
    [PASS_FLAG] = "yes or no",
    [PASS_TAGS] = "tags",
    [PASS_MEMORY] = "memory unit",
    [PASS_COMPUTE] = "compute unit",
    [PASS_TRANSFER] = "transfer engine",
    [PASS_STENCIL] = "stencils",
    [PASS_NAME] = "word",
};

static void add_default(Text *out, const PassParam *p) {
    if (p->kind == PASS_FLAG)
        text_add(out, p->value != 0 ? "yes" : "no");
    else if (p->kind == PASS_INT || p->kind == PASS_BYTES || p->kind == PASS_REAL)
        text_printf(out, "%g", p->value);
    else
        text_add(out, "none");
}

static void add_range(Text *out, const PassParam *p) {
    if (p->kind != PASS_INT && p->kind != PASS_BYTES && p->kind != PASS_REAL)
        text_add(out, "-");
    else if (p->most >= 9e18)
        text_printf(out, "%.0f or more", p->least);
    else if (p->kind == PASS_REAL)
        text_printf(out, "%g to %g", p->least, p->most);
    else
        text_printf(out, "%.0f to %.0f", p->least, p->most);
}

static const char *row_of(Arena *arena, const PassParam *p) {
    Text out = {.arena = arena};
    text_printf(&out, "| `%s` | %s | %s | ", p->name, p->what, kind_text[p->kind]);
    add_default(&out, p);
    text_add(&out, " | ");
    add_range(&out, p);
    text_add(&out, " |\n");
    return text_str(&out);
}

// The part of the page about one pass, as it should be.
static const char *part_of(Arena *arena, const PassInfo *p) {
    Text out = {.arena = arena};
    text_printf(
        &out,
        "**%s**: %s.\n\n| parameter | meaning | unit | default | range |\n|---|---|---|---|---|\n",
        p->name, p->summary);
    for (int i = 0; i < pass_params(p); i++) text_add(&out, row_of(arena, &p->param[i]));
    return text_str(&out);
}

TEST(every_parameter_is_documented) {
    Arena arena;
    arena_init(&arena, &allocator_libc);
    const char *text = project_file(&arena, "docs/passes.md");
    for (int i = 0; CHECK(text) && i < pass_count; i++) {
        const char *want = pass_params(&pass_info[i]) ? part_of(&arena, &pass_info[i]) : "";
        if (!CHECK(strstr(text, want))) printf("docs/passes.md should have\n\n%s\n", want);
    }
    arena_free(&arena);
}
