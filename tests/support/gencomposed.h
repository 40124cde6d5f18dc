// Random programs of several statements, as people compose them: elementwise maps, reductions,
// updates in place and calls over a few matrices, vectors and scalars of mixed types, including
// bool and bytes. Later statements and functions read the results of earlier ones.
#ifndef SUPPORT_GENCOMPOSED_H
#define SUPPORT_GENCOMPOSED_H

#include "support/gennatural.h"

void composed_draw(Natural *out, uint64_t *state);

#endif
