// Shared by the checks of a bound Program; check.h lists the checks.
//
//   check.c    instances and pairs of instances: subscripts stay inside, '=' writes once, in-place
//   cover.c    a statement reads elements only after they were written
#ifndef LW_PROGRAM_CHECK_IMPL_H
#define LW_PROGRAM_CHECK_IMPL_H

#include "program/check.h"
#include "program/deps.h"

enum { MAX_FACTS = 32 };

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
bool box_next(const Box *b, int64_t *at); // the next point in lexicographic order; false: wrapped
Box check_stmt_box(const Stmt *st);
void check_facts(const Checker *c, const Guard *guards, Facts *f);
void check_tighten(Box *b, const Facts *f); // the box without points where the facts cannot hold
// Whether the instance exists and its guards hold. MAYBE: that depends on data.
Exists check_performed(const Checker *c, const Guard *guards, const int64_t *at);
const char *check_show_instance(const Checker *c, const int64_t *at, const char *before);

// --- cover.c -----------------------------------------------------------------------------------

// The current statement reads the element under the guards. Reports when nothing wrote it.
void cover_read(Checker *c, const Access *read, const Guard *guards);
// Statement i, or another step of the current one, may have run.
void cover_write(Checker *c, int i);

#endif
