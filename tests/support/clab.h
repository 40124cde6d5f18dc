// Compiles many Trees with one run of a C compiler.
//
//     CLab c;
//     clab_begin(&c);
//     int k = clab_add(&c, lab, tree);             // any number
//     CHECK(clab_compile(&c, "gcc", flags, ...));
//     clab_run(&c, k, &data, flags, low);
//     clab_end(&c);
#ifndef SUPPORT_CLAB_H
#define SUPPORT_CLAB_H

#include "code/c/c.h"
#include "run/cc.h"
#include "support/proglab.h"

typedef struct CLab {
    Arena arena;
    CUnit *unit;
    DiagList diags;
    VEC(CFunction) functions;
    Library *library;
    char message[2048]; // of the compiler
} CLab;

void clab_begin(CLab *c);
void clab_end(CLab *c);
int clab_add(CLab *c, Tree *t); // its number; -1: declined
const char *clab_source(CLab *c);
// Compiles all Trees; closes a library that was loaded before.
bool clab_compile(CLab *c, const char *compiler, const char *const *flags, bool openmp);
bool clab_has(const char *compiler);
// The kernel's status; -1: there is no such kernel; -2: it wrote outside its buffers, which lie
// against guard pages as in jitlab.h.
int clab_run(CLab *c, int number, const LabData *data, InterpFlags flags, bool low);

#endif
