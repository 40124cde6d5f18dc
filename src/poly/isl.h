// The wall: isl's headers, and its functions as a table (private to src/poly).
//
//     Isl I;
//     if (!isl_load(&I)) ...                   // this machine has no isl
//     isl_ctx *ctx = isl_begin(&I, budget);    // NULL: no memory
//     ... I.set_is_empty(set) ...
//     isl_end(&I, ctx);
//
// The library is loaded at run time, because objects, wheels and embedded users must not need it;
// only its headers are needed to build, and without these everything here answers "unavailable".
// Errors never print: isl returns NULL, which its functions accept and pass on, so a chain of calls
// needs one check at its end. A budget of operations ends it the same way.
//
// Code that holds isl objects must not allocate from an arena, since running out of memory unwinds.
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

// False: the library is missing. It stays loaded, so that later calls only look up its functions,
// which takes some microseconds; the table is the caller's, because the library has no globals.
bool isl_load(Isl *I);
// A context that gives up after `operations` (0: never).
isl_ctx *isl_begin(const Isl *I, int64_t operations);
void isl_end(const Isl *I, isl_ctx *ctx);
#endif

#endif
