// Random programs as people write them: a table of shapes in TC text, each with random element
// types, functions and reductions, and sizes around the edges of tiles.
#ifndef SUPPORT_GENNATURAL_H
#define SUPPORT_GENNATURAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Natural {
    int shape;        // number
    const char *name; // of the shape
    char text[4096];  // the function to run is called k
    const char *sizes;
    bool padded; // indices may be -1: they are guarded
} Natural;

extern const int natural_shapes;
const char *natural_name(int shape);

// Draws a shape and its parameters.
void natural_draw(Natural *out, uint64_t *state);
// A value for the size or integer argument of this name.
int64_t natural_size(const Natural *n, const char *param, uint64_t *state);
// The smallest value that the shape allows, for shrinking.
int64_t natural_least(const Natural *n, const char *param);

#endif
