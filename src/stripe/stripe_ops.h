// Names of operations and tags, shared by the printer and the parser of Stripe text.
#ifndef LW_STRIPE_STRIPE_OPS_H
#define LW_STRIPE_STRIPE_OPS_H

#include "stripe/stripe.h"

// Names of operations in Stripe text; the other operations have the names of op_info.
const char *stripe_op_name(ExprOp op);
int stripe_op_find(const char *name, int len); // ExprOp, or -1
// "add" and so on; "assign" for REDUCE_ASSIGN.
extern const char *const stripe_agg[]; // by Reduce
// Can a tensor, scalar or tag be written without backquotes?
bool stripe_plain(const char *name);

#endif
