// Random programs of several statements, as people compose them: elementwise maps, reductions,
// updates in place and calls over a few matrices, vectors and scalars of mixed types, bool and
// bytes among them. What a statement makes, later ones and functions read.
#ifndef SUPPORT_GENCOMPOSED_H
#define SUPPORT_GENCOMPOSED_H

#include "support/gennatural.h"

void composed_draw(Natural *out, uint64_t *state);

#endif
