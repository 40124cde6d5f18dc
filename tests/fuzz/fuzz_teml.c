// TeML: any bytes run or are diagnosed; functions are Trees that print as Stripe text, and their
// loops before transformations verify.
#include "lang/lang.h"
#include "stripe/stripe.h"
#include "verify/verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok) {
    if (!ok) __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Arena arena, scratch;
    arena_init(&arena, &allocator_libc);
    arena_init(&scratch, &allocator_libc);
    Names names = {.arena = &arena};
    DiagList diags = {.arena = &arena};
    if (size > 4096) size = 4096;
    Source source = {"fuzz.teml", arena_strndup(&arena, (const char *)data, size), (uint32_t)size};
    TemlOptions options = {.trust = size % 2 ? TEML_UNCHECKED : TEML_PROVEN};
    TemlResult r = teml_parse(&arena, &scratch, &names, &source, &options, &diags);
    check(r.module->trees.n == r.module->programs.n);
    for (int i = 0; i < r.module->trees.n; i++) {
        Text text = {.arena = &arena};
        DiagList quiet = {.arena = &arena};
        stripe_print(&text, r.module->trees.at[i]);
        check(tree_verify(&arena, r.module->references.at[i], NULL, &quiet) != VERIFY_REFUSED);
    }
    Text text = {.arena = &arena};
    for (int i = 0; i < diags.items.n; i++) diag_print(&text, diags.items.at[i]);
    arena_free(&arena);
    arena_free(&scratch);
    return 0;
}
