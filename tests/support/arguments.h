// Arguments and scratch memory of a kernel, each between guard pages.
#ifndef SUPPORT_ARGUMENTS_H
#define SUPPORT_ARGUMENTS_H

#include "support/guarded.h"
#include "support/proglab.h"

typedef struct Arguments {
    int n;
    Guarded *at;    // n arguments, then the scratch memory
    void **buffers; // of the arguments
    char *scratch;  // aligned to 64 bytes
    unsigned flags; // of KernelEnv
} Arguments;

// Copies the data. `low` is that of guarded_new.
Arguments arguments_new(Arena *arena, const LabData *data, InterpFlags flags, int64_t scratch,
                        bool low);
// Copies the arguments back into the data and frees them; false: bytes around an argument have
// changed.
bool arguments_end(const Arguments *a, const LabData *data);

#endif
