// A Space: every implementation of one Program on one target, with some decisions made and some
// open.
//
//     description ── tools/spacec ──▶ SpaceDesc        what may be decided, and what excludes what
//     Program ── cpu.c ──▶ Backbone                    the objects it is decided for
//     SpaceDesc + Backbone ── space_new ──▶ Space      variables, universes, the root candidate
//     Cand                                             one flat vector of domains
//
// Objects are numbers with a name ("C.m.1"): statements, loops, copies, regions of memory. They
// belong to sets that the description names; a set may have a parameter (the loops of one
// statement). An object is optional if a decision creates it (a packed copy, its memory): it and
// its variables are in every candidate, but it exists in a candidate only after a trigger fired.
//
// A variable is one choice for one tuple of objects: size(C.m.1), order(C.m.0, C.k.0). Its domain
// is a set of at most 64 values, one bit each: values of an enumeration in the order of the
// description, or positions in the sorted universe of an integer. For a symmetric or antisymmetric
// choice only half of the pairs are stored. Counters are numbers that follow from domains, [least,
// most]; they are not decisions.
//
// A candidate is space->size bytes: existence, domains, counters. Copying it is one memcpy, and it
// contains everything that is known about it. It is dead if some domain is empty, and an
// implementation if every variable of existing objects has one value.
//
// Making a decision means intersecting a domain and propagating to the fixpoint:
//   * monotone: domains only shrink, and objects are only created;
//   * confluent: the same decisions in any order give the same bytes (a decision about an object
//     that does not exist yet waits in its domain).
// Constraint instances are generated code and never stored. Propagation needs scratch memory, a
// SpaceWork, one per thread; a Space itself is immutable and may be shared.
#ifndef LW_SPACE_SPACE_H
#define LW_SPACE_SPACE_H

#include "base/diag.h"

#include <string.h>

enum {
    SPACE_MAX_VALUES = 64,
    SPACE_MAX_OBJECTS = 2048,
};

typedef struct Cand Cand;           // space->size bytes
typedef struct SpaceWork SpaceWork; // engine.h

// --- Descriptions (generated) --------------------------------------------------------------------

typedef struct SetDesc {
    const char *name;
    int superset; // -1: none
    int param;    // the set of its parameter; -1: a plain set
} SetDesc;

typedef enum ChoiceKind { CHOICE_ENUM, CHOICE_INTEGER, CHOICE_COUNTER } ChoiceKind;

typedef struct ChoiceDesc {
    const char *name;
    ChoiceKind kind;
    int arity;     // 0 to 2
    int set[2];    // of the objects
    int family[2]; // if not -1: the object must also be in this family of the other object
    int nvalues;   // of an enumeration
    const char *const *value;
    const uint8_t *inverse; // (anti)symmetric: value of (a, b) -> value of (b, a); NULL: neither
    bool half;              // of a counter only the least value is known
    int width;              // bytes of a domain: 1 or 8; of a counter 16
} ChoiceDesc;

typedef struct RuleDesc {
    int line;         // of the description
    const char *text; // the constraint as written
    int nvars;
    const char *const *var; // names of the variables that it quantifies over
} RuleDesc;

typedef struct Space Space;

typedef struct SpaceDesc {
    const char *name, *file;
    uint64_t hash; // of its text
    int nsets, nchoices, nrules;
    const SetDesc *set;
    const ChoiceDesc *choice;
    const RuleDesc *rule;
    // Generated code. `object` is an object that was just created.
    void (*setup)(SpaceWork *w);
    void (*changed)(SpaceWork *w, int choice, int a, int b);
    void (*born)(SpaceWork *w, int object);
    void (*recount)(SpaceWork *w, int choice, int a, int b, int64_t *min, int64_t *max);
    int (*universe)(const Space *s, int choice, int a, int b,
                    int64_t *out); // at most 64, ascending
} SpaceDesc;

// --- Backbones -----------------------------------------------------------------------------------

typedef struct ObjectSet {
    int n;
    const int *item; // ascending
    const int *rank; // per object: its position in `item`, or -1
} ObjectSet;

// Members of object o: item[first[o]] ... item[first[o + 1] - 1]; owners of a member likewise.
typedef struct ObjectFamily {
    const int *first, *item, *owner_first, *owner;
} ObjectFamily;

typedef struct Backbone Backbone;
Backbone *backbone_new(Arena *arena, const SpaceDesc *desc, const void *host);
int backbone_object(Backbone *b, const char *name, bool optional);
void backbone_add(Backbone *b, int set, int object); // also to its supersets
// `object`, which is in the superset, is in set(param).
void backbone_relate(Backbone *b, int set, int param, int object);

// --- Spaces --------------------------------------------------------------------------------------

typedef struct SpaceVar {
    int16_t choice;
    int16_t a, b; // objects; -1: none
    bool present; // false: the tuple has no such variable (a pair of one object)
} SpaceVar;

struct Space {
    const SpaceDesc *desc;
    const void *host; // the data that code in the description uses
    int nobjects;
    const char *const *name;
    const bool *optional;
    const ObjectSet *set;
    const ObjectFamily *family; // per set
    int nvars;                  // decisions first, then counters
    int ndecisions;
    const SpaceVar *var;
    const int *about_first, *about; // of object o: about[about_first[o]] ... are its variables
    const int *base;                // per choice: its first variable
    const uint32_t *offset;         // per choice: its first byte in a candidate
    int64_t *const *universe;       // per variable of an integer choice, ascending; NULL otherwise
    const int *nuniverse;
    uint32_t size; // bytes of a candidate
    // After propagation; dead if the description contradicts itself on this backbone.
    const Cand *root;
};

// Always returns a Space; space_dead(s, s->root) tells whether it is empty.
Space *space_new(Arena *arena, const Backbone *b);
SpaceWork *space_work(Arena *arena, const Space *s);

static inline Cand *space_cand(Arena *arena, const Space *s) { return arena_alloc(arena, s->size); }
static inline void space_copy(const Space *s, Cand *to, const Cand *from) {
    memcpy((void *)to, (const void *)from, s->size);
}

bool space_dead(const Space *s, const Cand *c);
bool space_exists(const Space *s, const Cand *c, int object);
// The variable of a choice for these objects (-1: none), and whether (a, b) is stored as (b, a).
int space_var(const Space *s, int choice, int a, int b, bool *flipped);
uint64_t space_domain(const Space *s, const Cand *c, int var);
// The values for objects in the given order, flipped if they are stored the other way round.
uint64_t space_ask(const Space *s, const Cand *c, int choice, int a, int b);
void space_count(const Space *s, const Cand *c, int choice, int a, int b, int64_t *min,
                 int64_t *max);
// For an integer: the value of a bit, the bit of a value (-1: not in the universe), its least
// value.
int64_t space_value(const Space *s, int var, int bit);
int space_bit(const Space *s, int var, int64_t value);

// Keeps the values in `keep` and propagates. False: dead.
bool space_keep(SpaceWork *w, Cand *c, int var, uint64_t keep);
// The same by objects, with values as seen from (a, b); and for an integer, a single value.
bool space_decide(SpaceWork *w, Cand *c, int choice, int a, int b, uint64_t keep);
bool space_decide_number(SpaceWork *w, Cand *c, int choice, int a, int64_t value);
int space_object(const Space *s, const char *name); // by name; -1: none
// Makes several decisions; stops at the first that makes the candidate dead.
typedef struct Decision {
    int var;
    uint64_t keep;
} Decision;
bool space_apply(SpaceWork *w, Cand *c, const Decision *d, int n);

// The first variable from `from` on that has several values left and whose objects exist; -1: none.
// Variables are numbered choice by choice in the order of the description, so a description lists
// the most important choices first.
int space_open(const Space *s, const Cand *c, int from);
int space_count_open(const Space *s, const Cand *c);
static inline bool space_full(const Space *s, const Cand *c) { return space_open(s, c, 0) < 0; }
uint64_t space_hash(const Space *s, const Cand *c);

// Random descent: makes the open decisions in order, each with a random live value. Returns false
// at a dead end (no value of some variable survives); `c` is then the candidate before it.
bool space_complete(SpaceWork *w, Cand *c, uint64_t *random);

// --- Why -----------------------------------------------------------------------------------------

// Values that a rule removed, for some objects.
typedef struct Removal {
    int var;
    uint64_t removed;
    int rule;      // -1: the decision itself
    int object[4]; // what the rule's variables stand for; -1: it has fewer. [3] == -2: the rule is
                   // one of a table, and the three may stand for its variables in another order
} Removal;
typedef struct SpaceTrace {
    Arena *arena;
    VEC(Removal) at;
} SpaceTrace;
// While set, propagation records what it removes. NULL ends recording.
void space_trace(SpaceWork *w, SpaceTrace *trace);
// The trace of propagating the root from the beginning: why values were excluded from the start.
bool space_trace_root(SpaceWork *w, Cand *c, SpaceTrace *trace);
void removal_print(Text *out, const Space *s, const Removal *r);
// Reports that these decisions make a candidate dead: which of them does, the variable that has no
// values left, and the constraints that removed them.
void space_report_dead(Arena *arena, SpaceWork *w, const Cand *from, const Decision *d, int n,
                       DiagList *diags);
// Only its notes.
void space_note_dead(Arena *arena, SpaceWork *w, const Cand *from, const Decision *d, int n,
                     DiagList *diags, Diag *diag);

// --- Text (text.c) -------------------------------------------------------------------------------
//     size(C.m.1) = 6
//     kind(C.m.0) in SERIAL|PARALLEL
//     order(C.m.0, C.k.0) = OUTER
// A candidate prints as its differences from the root, one line per variable, in order; reading
// them gives the same bytes. The same lines are actions: a list of them can be replayed.
void space_print(Text *out, const Space *s, const Cand *c);
void space_print_var(Text *out, const Space *s, int var);
void space_print_values(Text *out, const Space *s, int var, uint64_t values);
// Parses one or more lines as decisions (`is` and `=`, `in`, `is not`, `<=`, `>=`). NULL after an
// error.
Decision *space_parse(Arena *arena, const Space *s, const Source *source, DiagList *diags, int *n);

// --- How many (count.c) --------------------------------------------------------------------------
typedef struct SpaceEstimate {
    double mean, half_width; // of a 95 % confidence interval
    int64_t samples;
} SpaceEstimate;
// The number of implementations below a candidate: Knuth's descents, Chen's stratified sampling
// (strata: depth and number of open decisions).
SpaceEstimate space_knuth(SpaceWork *w, Arena *scratch, const Cand *c, int64_t samples,
                          uint64_t seed);
SpaceEstimate space_chen(SpaceWork *w, Arena *scratch, const Cand *c, int64_t samples,
                         uint64_t seed);
// The fraction of random descents that end dead.
SpaceEstimate space_dead_ends(SpaceWork *w, Arena *scratch, const Cand *c, int64_t samples,
                              uint64_t seed);

#endif
