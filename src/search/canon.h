// Canonical names for Programs and Schedules, so that a renamed program finds its tuned Schedules.
//
// Iterators become i0, i1, ..., tensors t0, t1, ..., statements s0, s1, ..., in the order in which
// they first occur; the function is called `f`. Equal names stay equal, because statements may
// share loops by name. Everything else in the Program (order, types, sizes, subscripts) is
// unchanged.
//
//     program f {                                    C: m/64:p n k      is the Schedule
//         input t0: f32[64, 32]                      s0: i0/64:p i1 i2
//         ...
//         s0: for i0 in 0:64, i1 in 0:48, i2 in 0:32
//             t2[i0, i1] +=! t0[i0, i2]*t1[i2, i1]
//     }
//
// The family of a Program is its canonical text with 0 in place of every extent, bound and constant
// of a constraint: Programs that differ only in sizes are of one family.
#ifndef LW_SEARCH_CANON_H
#define LW_SEARCH_CANON_H

#include "sched/schedule.h"

typedef struct Canon Canon;

// The Program must be bound and its iterators have distinct names in each statement (as after
// parsing its text, or program_fork). Adds to its pool of names.
Canon *canon_of(Arena *arena, const Program *p);
const Program *canon_program(const Canon *c); // in its own names

const char *canon_text(Arena *arena, const Canon *c);
const char *canon_family(Arena *arena, const Canon *c);
// Extents of all iterators, by statement: "64,48,32;64,48".
const char *canon_sizes(Arena *arena, const Canon *c);

// The Program's own names, of iterators, tensors and statements, in the order of the canonical
// ones: "m,n,k A,B,C C". canon_rename translates a text in canonical names (a Program's, a
// Schedule's) to these names; unknown names are unchanged.
const char *canon_names(Arena *arena, const Canon *c);
const char *canon_rename(Arena *arena, const char *text, const char *names);

// A Schedule of the Program in canonical names, and back. NULL: it has a name that is not in the
// Program.
const Schedule *canon_schedule(Arena *arena, const Canon *c, const Schedule *s);
const Schedule *canon_restore(Arena *arena, const Canon *c, const Schedule *s);
// canon_schedule as text, the form in the database.
const char *canon_schedule_text(Arena *arena, const Canon *c, const Schedule *s);
// The text of the database as a Schedule of the Program; NULL with a diagnostic.
const Schedule *canon_schedule_parse(Arena *arena, const Canon *c, const char *text,
                                     DiagList *diags);

// Adapts a Schedule that was tuned for other sizes (their canon_sizes), in the Program's own names.
// NULL: the sizes are too different, or not of this Program.
const Schedule *canon_adapt(Arena *arena, const Canon *c, const Schedule *s, const char *sizes);
// Whether the inner loops are the same and only trip counts of outer loops differ: every step is
// kept, and if an extent differs, the outermost loop over it is neither vector nor unrolled and is
// outside every reduction (or is one). Register tiles and lanes are then as tuned.
bool canon_same_inside(Arena *arena, const Canon *c, const Schedule *s, const char *sizes);
// How far sizes are from this Program's: the sum over iterators of |log2|. INFINITY: one differs by
// more than a factor of two, or they are sizes of another Program.
double canon_distance(const Canon *c, const char *sizes);

#endif
