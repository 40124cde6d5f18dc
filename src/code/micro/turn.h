// Groups of strided accesses of a segment that are done together. Private to code/: turn.c, comb.c.
#ifndef LW_CODE_MICRO_TURN_H
#define LW_CODE_MICRO_TURN_H

#include "code/micro/micro.h"

typedef struct Strided {
    const Ref *ref;
    int micro;
    bool store;
} Strided;

// Strided accesses side by side: column[0 .. n).
typedef struct Group {
    const Strided *column;
    int n;
    int at;    // old micro in front of which a load group stands; behind which a store group does
    bool comb; // by comb.c
} Group;

typedef struct Turn {
    Seg *s;
    Plan *p;
    VEC(Micro) out;
    Group *group;
    int ngroups;
    int *of;          // per old micro: its group, or -1
    VEC(int) numbers; // values of MI_PICKS
} Turn;

int turn_value(Turn *t, Type type, int width);

// comb.c: how many of the accesses, which are in the order of their places, from the first on, it
// does together; 0: none.
int comb_columns(const Turn *t, const Strided *list, int n);
void comb_loads(Turn *t, const Group *g);
void comb_stores(Turn *t, const Group *g);

#endif
