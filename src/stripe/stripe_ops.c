// The vocabulary of Stripe text.
#include "stripe/stripe_ops.h"

#include <string.h>

#include "base/bug.h"

// Other spellings of the same operations.
static const struct {
    const char *name;
    ExprOp op;
} aliases[] = {
    {"cmp_lt", OP_LT}, {"cmp_le", OP_LE},  {"cmp_gt", OP_GT},     {"cmp_ge", OP_GE},
    {"cmp_eq", OP_EQ}, {"cmp_ne", OP_NE},  {"le", OP_LE},         {"ge", OP_GE},
    {"ne", OP_NE},     {"xor", OP_BITXOR}, {"select", OP_SELECT},
};

const char *const stripe_agg[] = {
#define REDUCTION(id, name, operation, identity, stripe) stripe,
#include "program/reduce.def"
#undef REDUCTION
};

const char *stripe_op_name(ExprOp op) { return op_info[op].stripe; }

static bool same(const char *name, const char *word, int len) {
    return (int)strlen(name) == len && !memcmp(name, word, (size_t)len);
}

int stripe_op_find(const char *name, int len) {
    for (int op = 0; op < OP_COUNT; op++)
        if (op != OP_CAST && same(stripe_op_name((ExprOp)op), name, len)) return op;
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (same(aliases[i].name, name, len)) return (int)aliases[i].op;
    return -1;
}

bool stripe_plain(const char *name) {
    if (!((*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') || *name == '_'))
        return false;
    for (const char *c = name; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_' || *c == '.' ||
              (*c >= '0' && *c <= '9')))
            return false;
    return strcmp(name, "block") && strcmp(name, "const") && strcmp(name, "min") &&
           strcmp(name, "max");
}
