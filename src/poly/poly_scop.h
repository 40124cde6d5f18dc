// A scop as sets and maps of isl (private to src/poly). Statement n is the tuple S<n>, with one
// dimension per iterator of the Program's statement; tensor t is T<t>.
#ifndef LW_POLY_POLY_SCOP_H
#define LW_POLY_POLY_SCOP_H

#include "poly/poly.h"
#include "poly/poly_isl.h"

#ifdef POLY_HAS_ISL
typedef struct PolyIsl {
    const Isl *I;
    isl_ctx *ctx;
    const PolyScop *s;
} PolyIsl;

isl_space *scop_space(const PolyIsl *x, int stmt);
isl_set *scop_domain(const PolyIsl *x, int stmt);
// `may` is set if a subscript is unknown.
isl_map *scop_access(const PolyIsl *x, int stmt, const Access *a, bool *may);
// Access 0 is the write, the others are reads.
int scop_accesses(const PolyScop *s, int stmt);
const Access *scop_access_at(const PolyScop *s, int stmt, int i);
bool scop_reduces(const PolyStmt *s);
// Pairs of an instance of `a` and one of `b` that access the same element, at least one of them
// writing; NULL: none.
isl_map *scop_conflicts(const PolyIsl *x, int a, int b);
// scop_earlier takes pairs of instances of one statement, and keeps those whose first instance
// belongs to an earlier step; NULL: the statement has no steps. scop_in_steps does so for its
// conflicts.
isl_map *scop_earlier(const PolyIsl *x, int stmt, isl_map *pairs);
isl_map *scop_in_steps(const PolyIsl *x, int stmt);
// Consecutive updates of one element by a reduction; NULL: it has none.
isl_map *scop_steps(const PolyIsl *x, int stmt);
#endif

#endif
