// Stripe text: any bytes parse or are diagnosed; what parses prints as something that parses to the
// same text, shows, expands, and is verified; what is verified is lifted, or says why not.
#include "stripe/lift.h"
#include "stripe/stripe.h"
#include "tree/special.h"
#include "verify/verify.h"

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
    Source source = {"fuzz.stripe", arena_strndup(&arena, (const char *)data, size),
                     (uint32_t)size};
    Tree *t = stripe_parse(&arena, &names, &source, &diags);
    check((t != NULL) == (diags.errors == 0));
    if (t) {
        Text first = {.arena = &arena}, second = {.arena = &arena}, show = {.arena = &arena};
        stripe_print(&first, t);
        Source printed = {"printed.stripe", text_str(&first), (uint32_t)first.len};
        Tree *again = stripe_parse(&arena, &names, &printed, &diags);
        // Passed indices are written out and count: only their number may be too large now.
        if (!again && strstr(diags.items.at[0]->text, "more than")) {
            arena_free(&arena);
            return 0;
        }
        check(again != NULL);
        stripe_print(&second, again);
        check(!strcmp(text_str(&first), text_str(&second)));
        tree_show(&show, tree_expand(t), false);
        Verify verify = {.unchecked = true};
        if (size < 1500 && tree_verify(&arena, t, &verify, &diags) == VERIFY_OK) {
            Lift lift = tree_lift(&arena, tree_expand(t));
            check(!lift.program == (lift.reason != LIFT_LIFTED));
        }
    }
    Text text = {.arena = &arena};
    for (int i = 0; i < diags.items.n; i++) diag_print(&text, diags.items.at[i]);
    arena_free(&arena);
    return 0;
}
