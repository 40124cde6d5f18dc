// isl's headers, and its functions as a table. Private to src/poly: no other folder sees isl.
//
//     Isl I;
//     if (!isl_load(&I)) ...                   // this machine has no isl
//     isl_ctx *ctx = isl_begin(&I, budget);    // NULL: no memory
//     ... I.set_is_empty(set) ...
//     isl_end(&I, ctx);
//
// The library is loaded at run time, so that objects, wheels and embedding programs do not depend
// on it. Building needs only its headers; without them every function here reports that isl is
// unavailable. Errors are not printed: isl returns NULL, which its functions accept and pass on, so
// one check at the end of a chain of calls is enough. Exceeding the budget of operations has the
// same effect.
//
// Code that holds isl objects must not allocate from an arena, because running out of memory
// unwinds the stack.
#ifndef LW_POLY_ISL_H
#define LW_POLY_ISL_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__has_include) && !defined(LW_NO_ISL)
#if __has_include(<isl/schedule_node.h>)
#define POLY_HAS_ISL 1
#endif
#endif

#ifdef POLY_HAS_ISL
#include <isl/aff.h>
#include <isl/ctx.h>
#include <isl/flow.h>
#include <isl/id.h>
#include <isl/local_space.h>
#include <isl/map.h>
#include <isl/options.h>
#include <isl/point.h>
#include <isl/schedule.h>
#include <isl/schedule_node.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/union_map.h>
#include <isl/union_set.h>
#include <isl/val.h>

typedef struct Isl {
#define ISL(name) __typeof__(&isl_##name) name;
#include "poly/isl.def"
#undef ISL
} Isl;

// Returns false if the library is missing. The library stays loaded; later calls only look up its
// functions, in some microseconds. The caller owns the table, because the library has no globals.
bool isl_load(Isl *I);
// A context in which isl gives up after `operations` (0: never).
isl_ctx *isl_begin(const Isl *I, int64_t operations);
void isl_end(const Isl *I, isl_ctx *ctx);
#endif

#endif
