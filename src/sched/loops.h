// A Schedule together with the Tree that it lowers to, changed loop by loop.
//
//     Loops x = {.arena = arena, .p = p};
//     if (loops_open(&x, schedule, diags) && loops_act(&x, &action, diags)) ... x.s, x.tree
//
// An action on a loop that statements share acts on the order of each of them, so they still share
// it afterwards; an exchange of two loops concerns the statements that have both. What lowering
// refuses, the action refuses, with lowering's reason. On a refusal nothing changes.
//
// A script is a list of actions with a cursor: "split m 64; swap; vectorize n". action.def lists
// them; docs/edit.md describes scripts.
#ifndef LW_SCHED_LOOPS_H
#define LW_SCHED_LOOPS_H

#include "sched/schedule.h"

// A loop: number `at` in the full order of a statement. Label NULL: none.
typedef struct Spot {
    Name label;
    int at;
} Spot;

// A loop of the Tree that the Schedule names, in pre-order.
typedef struct LoopNode {
    const Block *block;
    int index;  // its id
    int parent; // in this list; -1: none
    Spot spot;  // of the first statement that has it
} LoopNode;

typedef struct Loops {
    Arena *arena;
    const Program *p;
    const Schedule *s;
    const Tree *tree;
    LoopMap map;
    VEC(LoopNode) node;
    Spot cursor; // none: there are no loops
} Loops;

typedef enum ActionId {
#define ACTION(id, word, operands, usage, meaning) ACTION_##id,
#include "sched/action.def"
#undef ACTION
    ACTION_COUNT
} ActionId;

typedef struct ActionInfo {
    const char *word, *operands, *usage, *meaning;
} ActionInfo;
extern const ActionInfo action_info[ACTION_COUNT];

typedef struct Action {
    ActionId id;
    Spot loop, other; // no label: the cursor's; the loop inside
    int64_t n, m;
    Kind kind;
    Name label, host; // statements
    Name tensor;
    Range range; // in a script, for refusals
} Action;

// Lowers; the cursor goes to the first loop. `s` may be NULL: the naive Schedule. False: reported.
bool loops_open(Loops *x, const Schedule *s, DiagList *diags);
// False: refused, and nothing changed. Undo is the script's.
bool loops_act(Loops *x, const Action *a, DiagList *diags);
// Runs a script; at the first error, or refusal, nothing has changed.
bool loops_script(Loops *x, const Source *script, DiagList *diags);

const FullOrder *loops_order(const Loops *x, Name label); // NULL: none
// The spot of a loop of the Tree, also of a repeated one; no label: the Schedule does not name it.
Spot loops_spot(const Loops *x, int index);
int loops_index(const Loops *x, Spot spot);        // the Tree's index; -1: none
int loops_find(const Loops *x, Spot spot);         // in `node`; -1: none
const char *loops_name(const Loops *x, Spot spot); // "C:m/6", as scripts write it
LoopRef loops_ref(const SchedLoop *l);

#endif
