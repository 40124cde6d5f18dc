// Graph text: any bytes parse or are diagnosed; what parses prints as something that parses to the
// same text, exports to Graphviz, and builds or is diagnosed.
#include "lang/graph.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok) {
    if (!ok) __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Arena arena;
    arena_init(&arena, &allocator_libc);
    Names names = {.arena = &arena};
    DiagList diags = {.arena = &arena};
    Source source = {"fuzz.lwg", arena_strndup(&arena, (const char *)data, size), (uint32_t)size};
    Graph *g = graph_parse(&arena, &names, &source, &diags);
    check((g != NULL) == (diags.errors == 0));
    if (g) {
        Text first = {.arena = &arena}, second = {.arena = &arena}, dot = {.arena = &arena};
        graph_print(&first, g);
        Source printed = {"printed.lwg", text_str(&first), (uint32_t)first.len};
        Graph *again = graph_parse(&arena, &names, &printed, &diags);
        check(again != NULL);
        graph_print(&second, again);
        check(!strcmp(text_str(&first), text_str(&second)));
        graph_dot(&dot, g);
        check((graph_build(&arena, g) != NULL) == (diags.errors == 0));
    }
    Text text = {.arena = &arena};
    for (int i = 0; i < diags.items.n; i++) diag_print(&text, diags.items.at[i]);
    arena_free(&arena);
    return 0;
}
