// Nodes of Trees as the API describes them, for schedules (api_edit.c) and Trees (api_tree.c).
#ifndef LW_API_NODES_H
#define LW_API_NODES_H

#include "api/api.h"
#include "sched/loops.h"

typedef struct NodeList {
    const char *text; // of the Tree
    size_t n;
    lw_node *at;
    const Node **node;
    size_t naccesses;
    lw_access *access;
} NodeList;

// Describes every node but the root in `arena`; scratch memory is the call's. `loops` may be NULL.
NodeList nodes_describe(Call *call, Arena *arena, const Tree *t, const Loops *loops);

// A Tree of the bound function under the options' Schedule, in the call's arena.
lw_status edit_lower(Call *call, const lw_bound *b, const lw_show_options *o,
                     const Schedule **schedule, const Tree **out);

#endif
