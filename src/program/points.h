// How many instances a statement has under its constraints.
#ifndef LW_PROGRAM_POINTS_H
#define LW_PROGRAM_POINTS_H

#include "program/program.h"

// A bit for each iterator that constraints connect to `first`, directly or not, itself included.
uint32_t points_tied(const Stmt *s, int first);
// Points over iterators that are connected to each other and to no other one. *exact is cleared
// where the number is estimated, because there are too many points or data decide.
double points_count(const Stmt *s, uint32_t iters, bool *exact);
// Of all iterators.
double stmt_points(const Stmt *s, bool *exact);

// A reduction of a value under conditions and a constant elsewhere: code may skip its iterations.
bool stmt_skips(const Stmt *s);
// The statement with its conditions on indices as constraints: the iterations that are performed.
Stmt stmt_performed(Arena *arena, Exprs *x, const Stmt *s);

#endif
