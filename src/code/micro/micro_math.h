// Operations without an instruction, as micro-operations. Private to code/.
//
//   micro_math.c     functions of floats
//   micro_integer.c  arithmetic of bool, division of integers
//   micro_cast.c     conversions
//   idiom.c          sequences that one instruction computes
#ifndef LW_CODE_MICRO_MICRO_MATH_H
#define LW_CODE_MICRO_MICRO_MATH_H

#include "code/micro/micro.h"

// Can `op` on operands of type `type` be expanded to micro-operations?
bool math_has(ExprOp op, Type type);
// Appends them to the segment; returns the value. Only if math_has.
int math_expand(Seg *s, const Machine *machine, ExprOp op, Type type, int width, const int *args);
// Their approximate number: the cost of a copy of the function in code.
int math_cost(ExprOp op, Type type);

// The same for operations on integers and bool.
bool integer_has(ExprOp op, Type type);
int integer_expand(Seg *s, const Machine *machine, ExprOp op, Type type, int width,
                   const int *args);

// x / k or x % k (OP_DIV, OP_MOD) of indices, i32 or i64, by a constant k > 0; `small`: x is
// between -INDEX_SMALL and INDEX_SMALL.
enum { INDEX_SMALL = 1 << 20 };
int index_expand(Seg *s, const Machine *machine, ExprOp op, Type type, int width, int x, int64_t k,
                 bool small);

// idiom.c: `val` >> bits, if it ends a sequence that one instruction computes; -1: it does not.
int idiom_shift(Seg *s, const Machine *machine, Type type, int width, int val, int bits);

// A value of type `from`, converted.
int cast_expand(Seg *s, const Machine *machine, Type to, Type from, int width, int x);

#endif
