// Known programs of every shape, with sizes as parameters, for trying schedules.
#ifndef SUPPORT_SHAPES_H
#define SUPPORT_SHAPES_H

typedef struct Shape {
    const char *text; // program text
    int nparams;
} Shape;

extern const Shape shapes[];
extern const int nshapes;

#endif
