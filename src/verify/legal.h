// The judge: is an order of execution legal? All transformations, unordered loops and hand-written
// Trees use it.
//
// Two accesses of one element conflict unless they commute: reads do, and so do reductions by one
// operator. Take two conflicting instances x and y, and the loop around both (or the order of
// children) that decides their order. The conflict is a fault
//
//   * if that loop is unordered (Stripe's Definition 2),
//   * if the loop runs x first, and the Program's statements, or their steps, run y first,
//   * if the loop runs x first, and the Tree that this one was made from ran y first.
//
// Each case is a system of integer constraints. program/deps.c decides most of them in
// microseconds, src/poly (isl) the rest, both within a budget. A refusal has a witness: the two
// instances with numbers, and the element. An undecided case is "not proven".
//
// The verifier, the transformations and TeML call it; no other code decides about order.
#ifndef LW_VERIFY_LEGAL_H
#define LW_VERIFY_LEGAL_H

#include "tree/tree_facts.h"

typedef enum LegalRule {
    LEGAL_UNORDERED, // the loop that decides their order is unordered
    LEGAL_PROGRAM,   // the Program runs them in the other order
    LEGAL_BEFORE,    // the Tree before ran them in the other order
} LegalRule;

// The effect of the second of two instances on an element that the first one has accessed.
typedef enum LegalKind {
    LEGAL_FLOW,   // it reads a written element
    LEGAL_ANTI,   // it overwrites an element that was read
    LEGAL_OUTPUT, // it overwrites, or combines with, a written element
} LegalKind;
extern const char *const legal_kind_name[];

// One iteration of a leaf.
typedef struct Instance {
    const Use *use;
    const Touch *touch;
    const int64_t *at;  // per index around it, outermost first
    const int64_t *was; // for LEGAL_BEFORE: the indices around it in the Tree before
    const char *text;   // "(m=3, k=0)"
} Instance;

typedef struct Witness {
    const Tree *tree;   // the judged Tree
    const Tree *before; // LEGAL_BEFORE: the Tree that it was made from, perhaps by several steps
    LegalRule rule;
    LegalKind kind;
    // The source must run first; for LEGAL_UNORDERED either may be the source.
    Instance source, sink;
    const Index *loop; // runs the sink first, or is unordered; NULL: the order of children
    Kind loop_kind;
    int buffer;
    int64_t element[TREE_MAX_RANK]; // -1: from data
    const char *text;               // "C[3, 0]"
} Witness;

// The Tree that another one was made from.
typedef struct LegalBefore {
    TreeFacts facts;
    const Use **was;       // per leaf of the new Tree: its old leaf; NULL: it is new
    const Affine ***value; // per leaf, per old index: its value over new indices; NULL entries: the
                           // index itself
} LegalBefore;

typedef struct Legal {
    TreeFacts *f;
    const LegalBefore *before; // NULL: the conditions of the Tree itself
    void *user;                // Called for every fault, once per pair of accesses:
    void (*found)(void *user, const Witness *w); // with a witness,
    // without, if not proven.
    void (*open)(void *user, const Touch *a, const Touch *b, LegalRule rule);
    bool first;             // stop at the first fault
    int64_t questions;      // number of questions that needed a dependence test
    bool refused, unproven; // the answer
} Legal;

// Judges the Tree of l->f; both answers false: it is legal.
void legal_judge(Legal *l);

#endif
