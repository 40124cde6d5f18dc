// Facts about the statements of a bound Program that need no Schedule: what a statement reads, how
// its iterations relate to the elements they write, and how two statements relate.
//
//     const ProgramFacts *f = program_facts(arena, p);
//     if (stmt_reads(&f->stmt[2], t) && !follow_refused(f, 2, 1, host, NULL)) ...
//
// One name per fact, computed once. The analytic choice, the space, the lower bound, the lowering
// and the checker all ask here, so that one never allows what another refuses. Facts that depend on
// a Schedule (which loops two statements do share, where an initialisation stands) belong to the
// lowering; estimates (strides, cycles, lanes) belong to whoever estimates. Range inference keeps
// its own record of a statement: it runs before sizes and ranges exist.
#ifndef LW_PROGRAM_STMT_FACTS_H
#define LW_PROGRAM_STMT_FACTS_H

#include "program/program.h"

typedef struct StmtFacts {
    const Stmt *s;
    // Every access but the write, each once, those inside subscripts included and in front of what
    // they index: reads of the value, then of the write's subscripts, then of the constraints.
    int nreads;
    int nvalue; // the first `nvalue` of them belong to the value
    const Access *const *read;
    int nsure; // reads of the value that every iteration performs: no condition guards them
    const Access *const *sure;
    bool has_reduction;   // some iterator is a reduction
    bool reduces;         // some reduction iterator has several values
    bool empty;           // some iterator has no values: no iteration exists
    bool empty_reduction; // some reduction iterator has none: only the initialisation remains
    bool initialises;     // elements start from the identity (`op=!`), before any iteration
    bool injective;       // stmt_is_injective
    bool snapshot;        // stmt_needs_snapshot
    const int *class;     // per iterator, set by facts_classes; NULL before
} StmtFacts;

typedef struct ProgramFacts {
    const Program *p;
    StmtFacts *stmt; // per statement
} ProgramFacts;

StmtFacts stmt_facts(Arena *arena, const Stmt *s);
ProgramFacts *program_facts(Arena *arena, const Program *p); // without classes
// Sets the class of each iterator: iterators of two statements have the same class when they
// subscript the same dimension of a tensor that connects the statements, or, where no tensor does,
// when they have the same name. No two iterators of one statement share a class. Lowering merges
// loops of one class only.
void facts_classes(Arena *arena, ProgramFacts *f);

// --- One statement -------------------------------------------------------------------------------

// Calls fn on every access but the write, in the order of StmtFacts.read; repeated accesses are
// visited again.
void stmt_visit_reads(const Stmt *s, AccessVisit *fn, void *user);
const Access *stmt_first_read(const Stmt *s, int tensor); // stmt_read_of, where there are no facts
// Do distinct points of the iterators that are not reductions write distinct elements? False also
// where the subscripts do not show it, and for every scatter.
bool stmt_is_injective(const Stmt *s);
// Does no element have two iterations that write it? Reductions count; false also where the
// subscripts do not show it.
bool stmt_writes_once(const Stmt *s);
// Does the statement read its own tensor while several iterations, or the initialisation and an
// iteration, write one element? Lowering then reads a copy of the old elements.
bool stmt_needs_snapshot(const Stmt *s);
// Does it read its own tensor, ignoring elements of other steps?
bool stmt_reads_own(const Stmt *s);
// Do two accesses of statements that share `common` serial iterators touch one element in different
// steps only? False also where their subscripts do not tell.
bool steps_differ(const Access *a, const Access *b, int common);
// Can each element be computed from the subscripts of a read? The statement assigns a temporary
// without conditions and without rounding, and every iterator has a dimension for itself, plus a
// constant. It may be inlined if it is the tensor's only definition.
bool stmt_is_definition(const Program *p, const Stmt *s);

const Access *stmt_read_of(const StmtFacts *f, int tensor); // the first one; NULL: none
static inline bool stmt_reads(const StmtFacts *f, int tensor) { return stmt_read_of(f, tensor); }
bool stmt_touches(const StmtFacts *f, int tensor); // reads or writes

// --- Two statements ------------------------------------------------------------------------------

// Must the two keep their order? One writes a tensor that the other reads or writes.
bool stmts_depend(const StmtFacts *a, const StmtFacts *b);
// Does a statement with a number in [from, to] write a tensor that statement i reads?
bool stmt_overwritten(const ProgramFacts *f, int i, int from, int to);
// The last statement behind i that reads the tensor of i; i itself: none does.
int stmt_last_reader(const ProgramFacts *f, int i);
// The only reader, behind i, of a tensor that i alone writes; -1: there is none.
int stmt_only_reader(const ProgramFacts *f, int i);

// Access x of statement a and access y of statement b, to one tensor: whenever they touch the same
// element in one step of their `common` serial iterators, are iterator i of a and iterator j of b
// at the same distance from their starts? Then the two iterators may run in one loop without
// reordering these accesses. A question that takes too long is answered with no.
bool same_iteration(Arena *scratch, const Stmt *a, const Access *x, int i, const Stmt *b,
                    const Access *y, int j, int common);
// May iterator i of statement a and j of b run in one loop, inside those of their `common` serial
// iterators? Every pair of accesses to one tensor, one of them a write, must be of the same
// iteration. i or j < 0: the statements must not have such a pair.
bool stmts_share(Arena *scratch, const StmtFacts *a, int i, const StmtFacts *b, int j, int common);

// A statement follows a host (`after` in a Schedule) when it runs as its post-operation: in the
// host's loops, behind its reduction, on the element just finished.
//
// The iterator of the follower that is iterator i of its host: the one that stands alone in the
// dimension of the host's result in which i stands alone; -1: none.
int follower_iter(const StmtFacts *f, const Stmt *host, int i);
// Why statement i cannot follow statement h, as a clause for a diagnostic; NULL: it can. `host` has
// the statement that each one follows already, or -1; `windowed`, per tensor: it is computed at a
// loop of its readers (NULL: none is).
const char *follow_refused(const ProgramFacts *f, int i, int h, const int *host,
                           const bool *windowed);

#endif
