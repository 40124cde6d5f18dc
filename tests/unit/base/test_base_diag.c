// Printed diagnostics: location, line, caret range, notes.
#include "unit/check.h"

#include "base/diag.h"

static Arena arena;

static Range at(const Source *source, const char *what) {
    uint32_t from = (uint32_t)(strstr(source->text, what) - source->text);
    return (Range){from, from + (uint32_t)strlen(what)};
}

static const char *printed(const Source *source, Range range, const char *text) {
    DiagList list = {.arena = &arena, .source = source};
    Text out = {.arena = &arena};
    diag_print(&out, diag_report(&list, range, DIAG_NONE, text));
    return text_str(&out);
}

TEST(the_caret_range_stands_under_the_place) {
    static const char text[] = "def f() {\n  C(i) = B(k)\n\tx \xe2\x86\x92 y\n}";
    Source source = {"mv.tc", text, sizeof text - 1};
    arena_init(&arena, &allocator_libc);
    CHECK_STR_EQ(printed(&source, at(&source, "B(k)"), "no B"), "mv.tc:2:10: note: no B\n"
                                                                "    C(i) = B(k)\n"
                                                                "           ^~~~\n");
    // a tab is one blank; the arrow is one column although it has three bytes
    CHECK_STR_EQ(printed(&source, at(&source, "y"), "no y"), "mv.tc:3:8: note: no y\n"
                                                             "   x \xe2\x86\x92 y\n"
                                                             "       ^\n");
    // a range over several lines is shown as far as its first
    CHECK_STR_EQ(printed(&source, (Range){4, source.len}, "all"), "mv.tc:1:5: note: all\n"
                                                                  "  def f() {\n"
                                                                  "      ^~~~~\n");
    // the end of the text is a valid location, {0,0} is none
    CHECK_STR_EQ(printed(&source, (Range){source.len, source.len}, "end"), "mv.tc:4:2: note: end\n"
                                                                           "  }\n"
                                                                           "   ^\n");
    CHECK_STR_EQ(printed(&source, (Range){0, 0}, "nowhere"), "note: nowhere\n");
    arena_free(&arena);
}

TEST(notes_follow_their_diagnostic) {
    static const char text[] = "a b";
    Source source = {"x.tc", text, sizeof text - 1};
    arena_init(&arena, &allocator_libc);
    DiagList list = {.arena = &arena, .source = &source};
    Diag *d = diag_report(&list, at(&source, "b"), DIAG_NONE, "what");
    diag_note(&list, d, at(&source, "a"), DIAG_NONE, "where from");
    diag_note(&list, d, (Range){0, 0}, DIAG_NONE, "way out");
    Text out = {.arena = &arena};
    diag_print(&out, d);
    CHECK_STR_EQ(text_str(&out), "x.tc:1:3: note: what\n  a b\n    ^\n"
                                 "x.tc:1:1: note: where from\n  a b\n  ^\nnote: way out\n");
    arena_free(&arena);
}

TEST(a_list_keeps_so_many_and_counts_the_rest) {
    arena_init(&arena, &allocator_libc);
    DiagList list = {.arena = &arena};
    for (int i = 0; i < DIAG_MAX + 5; i++) diag_report(&list, (Range){0, 0}, DIAG_NONE, "more");
    CHECK_INT_EQ(list.items.n, DIAG_MAX);
    CHECK_INT_EQ(list.dropped, 5);
    arena_free(&arena);
}
