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

// lw_schedule_new and lw_tree_new up to the end of their call: checks the arguments and
// runs `body`. What is in `made` afterwards is the caller's.
typedef struct EditNew {
    const lw_bound *bound;
    lw_show_options options;
    union {
        lw_schedule *schedule;
        lw_tree *tree;
    } made;
} EditNew;
lw_status edit_new(lw_context *ctx, lw_status body(Call *call, void *arg), EditNew *n,
                   const lw_show_options *options);

// A script, or a text of ours, as a source in the call's arena; name NULL: "<edit>".
Source *edit_source(Call *call, const char *name, const char *text);
lw_status edit_script(lw_context *ctx, const char *script); // not LW_OK: NULL, or too long

#endif
