// Inside the verifier (private to src/verify): verify.c drives; verify_shape.c checks indices and
// sizes, verify_cover.c reads of unwritten elements, verify_walk.c small Trees point by point;
// verify_near.c proposes legal kinds of loops instead of illegal ones.
#ifndef LW_VERIFY_VERIFY_IMPL_H
#define LW_VERIFY_VERIFY_IMPL_H

#include "tree/tree_facts.h"
#include "verify/verify.h"

typedef struct Verifier {
    TreeFacts f;
    Verify *v;
    DiagList *diags;
    bool refused, unproven;
} Verifier;

// Notes that a question about a node was left open.
void not_proven(Verifier *v, const Node *node, const char *what);
// The system's answer, counted: by deps.c alone if there are other ways to decide, otherwise also
// with isl.
DepAnswer ask(Verifier *v, System *s);
DepAnswer decide(Verifier *v, System *s);

// Scope, affinity, sizes; false: the other checks cannot run.
bool verify_shape(Verifier *v, const Tree *t);
void verify_written(Verifier *v);
// Small Trees only: are the elements that these reads of the buffer want (`open`, per touch)
// written before? False: not proven.
bool verify_walk(Verifier *v, int buffer, const bool *open);

// The nearest legal kinds of the loops around a conflict in an unordered loop, as text; NULL: none.
struct Witness;
const char *verify_near(Verifier *v, const struct Witness *w);

#endif
