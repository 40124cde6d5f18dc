// Groups of strided accesses in a segment that are replaced by whole vectors together. Private to
// code/: transpose.c, deinterleave.c.
#ifndef LW_CODE_MICRO_REGROUP_H
#define LW_CODE_MICRO_REGROUP_H

#include "code/micro/micro.h"

typedef struct Strided {
    const Ref *ref;
    int micro;
    bool store;
} Strided;

// Strided accesses with adjacent first elements: column[0 .. n).
typedef struct Group {
    const Strided *column;
    int n;
    int at; // the old micro before which a load group is placed, or after which a store group is
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

// deinterleave.c: how many of the accesses, sorted by address and from the first on, it handles
// together; 0: none.
int deinterleave_columns(const Regroup *t, const Strided *list, int n);
void deinterleave_loads(Regroup *t, const Group *g);
void deinterleave_stores(Regroup *t, const Group *g);

#endif
