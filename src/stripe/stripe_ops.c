// The vocabulary of Stripe text.
#include "stripe/stripe_ops.h"

#include <string.h>

#include "base/bug.h"

static const char *const names[OP_COUNT] = {
    [OP_ADD] = "add",        [OP_SUB] = "sub",      [OP_MUL] = "mul",        [OP_DIV] = "div",
    [OP_MOD] = "mod",        [OP_NEG] = "neg",      [OP_BITAND] = "bit_and", [OP_BITOR] = "bit_or",
    [OP_BITXOR] = "bit_xor", [OP_SHL] = "bit_left", [OP_SHR] = "bit_right",  [OP_LT] = "lt",
    [OP_LE] = "lte",         [OP_GT] = "gt",        [OP_GE] = "gte",         [OP_EQ] = "eq",
    [OP_NE] = "neq",         [OP_AND] = "and",      [OP_OR] = "or",          [OP_NOT] = "not",
    [OP_SELECT] = "cond",
};

// Other spellings of the same operations.
static const struct {
    const char *name;
    ExprOp op;
} aliases[] = {
    {"cmp_lt", OP_LT}, {"cmp_le", OP_LE},  {"cmp_gt", OP_GT},     {"cmp_ge", OP_GE},
    {"cmp_eq", OP_EQ}, {"cmp_ne", OP_NE},  {"le", OP_LE},         {"ge", OP_GE},
    {"ne", OP_NE},     {"xor", OP_BITXOR}, {"select", OP_SELECT},
};

const char *const stripe_agg[5] = {"assign", "add", "mul", "min", "max"};

const char *stripe_op_name(ExprOp op) { return names[op] ? names[op] : op_info[op].name; }

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
