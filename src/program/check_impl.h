// Shared by the checks of a bound Program; check.h lists the checks.
//
//   check.c       instances: subscripts stay inside
//   check_meet.c  pairs of instances: '=' writes once, in-place statements
//   cover.c       a statement reads elements only after they were written
#ifndef LW_PROGRAM_CHECK_IMPL_H
#define LW_PROGRAM_CHECK_IMPL_H

#include "program/check.h"
#include "program/deps.h"

enum {
    MAX_FACTS = 32,
    MAX_POINTS = 1 << 16, // points that one question may examine
};

// A condition that decides whether a read is performed: `cond` must have come out as `holds`.
typedef struct Guard {
    const Expr *cond;
    bool holds;
    const struct Guard *up;
} Guard;

typedef struct Box {
    int n;
    int64_t lo[PROGRAM_MAX_ITERS], hi[PROGRAM_MAX_ITERS]; // inclusive
} Box;

// Affines that are >= 0 wherever an access is performed.
typedef struct Facts {
    const Affine *at[MAX_FACTS];
    int n;
    bool whole; // they imply all guards
} Facts;

typedef struct Writer Writer;

typedef struct Checker {
    Arena *scratch;
    Program *p;
    int stmt; // the current statement, and its number
    Stmt *st;
    Box box;
    DiagList *diags;
    Writer **writers; // per tensor: definitions by earlier statements and by those of the group,
                      // newest first
    int64_t points;   // that may still be examined, by effort
    int64_t work;     // that deps.c may still spend
    bool ok;
} Checker;

typedef enum Exists { NO, MAYBE, YES } Exists;

// --- check.c -----------------------------------------------------------------------------------

bool box_empty(const Box *b);
int64_t box_points(const Box *b);                          // MAX_POINTS + 1: there are more
void box_point(const Box *b, int64_t number, int64_t *at); // in lexicographic order
bool box_next(const Box *b, int64_t *at); // the next point in lexicographic order; false: wrapped
Box check_stmt_box(const Stmt *st);
void check_facts(const Checker *c, const Guard *guards, Facts *f);
void check_tighten(Box *b, const Facts *f); // the box without points where the facts cannot hold
// Whether the instance exists and its guards hold. MAYBE: that depends on data.
Exists check_performed(const Checker *c, const Guard *guards, const int64_t *at);
Box check_sample(const Box *b); // its low corner, of at most MAX_POINTS points
// The work per point: the access, and everything that decides whether it is performed.
int64_t check_effort(const Checker *c, const Access *a, const Guard *guards);
// Whether all points may be examined, at `each` effort; if so they are counted.
bool check_affordable(Checker *c, const Box *b, int64_t each);
// An access (NULL: none) in the box, where the facts hold, as a side of a question to deps.c.
DepSide check_side(const Checker *c, const Box *b, const Facts *f, const Access *a);
// The facts and one more, a >= 0; false: there is no room, or it overflows.
bool check_with_fact(const Checker *c, const Facts *f, const Affine *a, Facts *out);
const char *check_show_instance(const Checker *c, const int64_t *at, const char *before);

// --- check_meet.c ------------------------------------------------------------------------------

void check_once(Checker *c); // '=' writes each element once
void check_in_place(Checker *c, const Access *read, const Guard *guards);

// --- cover.c -----------------------------------------------------------------------------------

// The current statement reads the element under the guards. Reports when nothing wrote it.
void cover_read(Checker *c, const Access *read, const Guard *guards);
// Statement i, or another step of the current one, may have run.
void cover_write(Checker *c, int i);

#endif
