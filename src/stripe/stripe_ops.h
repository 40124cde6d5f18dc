// What printer and parser of Stripe text have in common: the names of operations and tags.
#ifndef LW_STRIPE_STRIPE_OPS_H
#define LW_STRIPE_STRIPE_OPS_H

#include "stripe/stripe.h"

// Names of operations in Stripe text; the other operations have the names of op_info.
const char *stripe_op_name(ExprOp op);
int stripe_op_find(const char *name, int len); // ExprOp, or -1
// "add" and so on; "assign" for REDUCE_ASSIGN.
extern const char *const stripe_agg[]; // by Reduce
// Whether a tensor, scalar or tag can be written without backquotes.
bool stripe_plain(const char *name);

#endif
