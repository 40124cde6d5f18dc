// Functions of floats, as micro-operations. Private to code/.
#ifndef LW_CODE_MATH_H
#define LW_CODE_MATH_H

#include "code/micro.h"

// Can `op` on operands of type `type` be made of micro-operations?
bool math_has(ExprOp op, Type type);
// Appends them to the segment; the value. Only where math_has.
int math_expand(Seg *s, const Machine *machine, ExprOp op, Type type, int width, const int *args);
// How many there are, about: what a copy of the function costs in code.
int math_cost(ExprOp op, Type type);

#endif
