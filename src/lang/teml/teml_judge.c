// Is a loop value still right? Transformations are applied as asked; then the order in which the
// result runs its statements is compared, at once, with the order in which the program defined
// them (tree_agrees), and loops that were marked must allow any order (tree_verify). So a path
// may lead through a nest that would be wrong only if nothing judges it there: composites such as
// tile are judged at their end.
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

// The first thing that is wrong, or not proven where that matters; NULL: nothing.
static const char *first_fault(const Teml *t, const DiagList *found, bool unproven) {
    if (unproven && t->options->trust == TEML_UNPROVEN) return NULL;
    return found->items.n ? found->items.at[0]->text : "it is not proven";
}

bool teml_right(Teml *t, const TemlLoop *loop, const char *verb, const char **why) {
    DiagList found = {.arena = t->diags->arena};
    TreeEdit e = {.diags = &found};
    const Tree *now = teml_tree(t, loop->node, loop->n);
    Tree *alone = teml_tree(t, loop->node, loop->n);
    alone->program = NULL; // initial contents are known to functions only
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
