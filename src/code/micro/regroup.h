// Groups of strided accesses of a segment that become whole vectors together. Private to code/:
// transpose.c, deinterleave.c.
#ifndef LW_CODE_MICRO_REGROUP_H
#define LW_CODE_MICRO_REGROUP_H

#include "code/micro/micro.h"

typedef struct Strided {
    const Ref *ref;
    int micro;
    bool store;
} Strided;

// Strided accesses with neighbouring first elements: column[0 .. n).
typedef struct Group {
    const Strided *column;
    int n;
    int at; // old micro in front of which a load group stands; behind which a store group does
    bool deinterleaved; // by deinterleave.c, not transposed
} Group;

typedef struct Regroup {
    Seg *s;
    Plan *p;
    VEC(Micro) out;
    Group *group;
    int ngroups;
    int *of;          // per old micro: its group, or -1
    VEC(int) numbers; // values of MI_LANE_NUMBERS
} Regroup;

int regroup_value(Regroup *t, Type type, int width);

// deinterleave.c: how many of the accesses, which are sorted by address, it does together, from the
// first on; 0: none.
int deinterleave_columns(const Regroup *t, const Strided *list, int n);
void deinterleave_loads(Regroup *t, const Group *g);
void deinterleave_stores(Regroup *t, const Group *g);

#endif
