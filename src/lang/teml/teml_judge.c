// Checks loop values. Transformations are applied without checks. Then the order in which the
// result runs its statements is compared with the order in which the program defined them
// (tree_agrees), and marked loops must allow any order (tree_verify). A composite step such as tile
// is checked only at its end, so its intermediate nests may be wrong.
#include "lang/teml/teml.h"

#include <string.h>

#include "transform/transform.h"
#include "verify/verify.h"

// The assignments as they were defined, one nest after the other.
static const Tree *as_defined(Teml *t, const TemlLoop *loop) {
    const Node **nest = arena_new_n(t->arena, const Node *, loop->nbuilt + 1);
    for (int i = 0; i < loop->nbuilt; i++) nest[i] = loop->built[i]->nest;
    return teml_tree(t, nest, loop->nbuilt);
}

// The first error, or the first unproven property if `unproven` is set; NULL: none.
static const char *first_fault(const Teml *t, const DiagList *found, bool unproven) {
    if (unproven && t->options->trust == TEML_UNPROVEN) return NULL;
    return found->items.n ? found->items.at[0]->text : "it is not proven";
}

bool teml_right(Teml *t, const TemlLoop *loop, const char *verb, const char **why) {
    DiagList found = {.arena = t->diags->arena};
    TreeEdit e = {.diags = &found};
    const Tree *now = teml_tree(t, loop->node, loop->n);
    Tree *alone = teml_tree(t, loop->node, loop->n);
    alone->program = NULL; // only functions know the initial contents
    *why = NULL;
    VerifyAnswer answer = tree_verify(t->arena, alone, NULL, &found);
    if (answer != VERIFY_OK) *why = first_fault(t, &found, answer == VERIFY_UNPROVEN);
    if (*why) return false;
    found.items.n = 0;
    if (tree_agrees(as_defined(t, loop), now, verb, &e)) return true;
    *why = first_fault(t, &found, found.items.n && found.items.at[0]->id == DIAG_EDIT_NOT_PROVEN);
    const char *prefix = arena_printf(t->arena, "cannot %s: ", verb);
    if (*why && !strncmp(*why, prefix, strlen(prefix))) *why += strlen(prefix);
    return !*why;
}
