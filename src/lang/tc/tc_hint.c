// Suggests replacements for words and signs of other languages. None of these words is reserved: a
// program may use them as names, so they are looked up only after an error.
#include "lang/tc/tc.h"

#include <string.h>

typedef struct Hint {
    const char *word, *text;
} Hint;

#define NO_LOOPS                                                                                   \
    "an index runs over all of its range by itself; 'where i in 0:N' limits it. Only recurrences " \
    "need 'for t in 1:T { ... }'"
#define TERNARY   "to choose between two values write 'condition ? a : b'"
#define OPERATORS "the operators are spelled '&&', '||' and '!'"
#define LEAVE_OUT "leave it out: a tensor is defined by assigning to it, and its type follows"
#define RESULTS   "the results are named behind '->'; define them by assigning, as in 'O(i) = ...'"

static const Hint words[] = {
    {"for", NO_LOOPS},    {"while", NO_LOOPS},   {"if", TERNARY},    {"then", TERNARY},
    {"else", TERNARY},    {"and", OPERATORS},    {"or", OPERATORS},  {"not", OPERATORS},
    {"return", RESULTS},  {"let", LEAVE_OUT},    {"var", LEAVE_OUT}, {"auto", LEAVE_OUT},
    {"const", LEAVE_OUT}, {"tensor", LEAVE_OUT},
};

#define RANGES     "a range is written 'i in 0:N', and ends before N"
#define TRANSPOSED "what is transposed is read with its subscripts exchanged: 'A(j,i)'"

#define SUMS                                                                                       \
    "a sum is an assignment: with 'Y(i) +=! X(i,j)', what only the right side has is summed"

static const Hint functions[] = {
    {"sum", SUMS},
    {"reduce_sum", SUMS},
    {"mean", "sum with 'S(i) +=! X(i,j)', then divide by the size of the dimension, 'X.1'"},
    {"prod", "a product is an assignment: 'Y(i) *=! X(i,j)'"},
    {"gelu", "write '0.5 * x * (1 + erf(x * 0.70710678))'"},
    {"silu", "write 'x * sigmoid(x)'"},
    {"swish", "write 'x * sigmoid(x)'"},
    {"softplus", "write 'log1p(exp(x))'"},
    {"softmax", "write it in three statements: 'M(i) max=! X(i,j)', 'S(i) +=! exp(X(i,j) - M(i))', "
                "'Y(i,j) = exp(X(i,j) - M(i)) / S(i)'"},
    {"dot", SUMS},
    {"matmul", SUMS},
    {"maximum", "write 'max(a, b)'; the largest of a row is an assignment, 'Y(i) max=! X(i,j)'"},
    {"minimum", "write 'min(a, b)'; the least of a row is an assignment, 'Y(i) min=! X(i,j)'"},
    {"clip", "write 'min(max(x, low), high)'"},
    {"square", "write 'x * x'"},
    {"power", "write 'pow(x, y)'"},
    {"where", TERNARY},
    {"transpose", TRANSPOSED},
};

static const Hint signs[] = {
    {"@", "a product of matrices is 'C(m,n) +=! A(m,k) * B(k,n)'"},
    {"..", RANGES},
    {":=", "an assignment is written '='"},
    {"==", "an assignment is written '='"},
    {"'", TRANSPOSED},
    {"\u00d7", "write '*'"}, // multiplication sign
    {"\u00b7", "write '*'"}, // middle dot
    {"\u2212", "write '-'"}, // minus
    {"\u2264", "write '<='"},
    {"\u2265", "write '>='"},
    {"\u2260", "write '!='"},
    {"\u2211", SUMS},
    {"\u03a3", SUMS},
};

static const char *find(const Hint *hint, size_t n, const char *word) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(hint[i].word, word)) return hint[i].text;
    return NULL;
}

const char *tc_word_hint(const char *word) {
    const char *hint = find(words, sizeof words / sizeof *words, word);
    return hint || tc_type_name(word, strlen(word)) == TYPE_NONE ? hint : LEAVE_OUT;
}

const char *tc_sign_hint(const char *text, uint32_t len, uint32_t at) {
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        uint32_t n = (uint32_t)strlen(signs[i].word);
        uint32_t from = n == 2 && at && text[at - 1] == signs[i].word[0] ? at - 1 : at;
        if (from + n <= len && !memcmp(text + from, signs[i].word, n)) return signs[i].text;
    }
    return NULL;
}

const char *tc_range_hint(const char *word) { return strcmp(word, "range") ? NULL : RANGES; }

const char *tc_function_hint(const char *word) {
    return find(functions, sizeof functions / sizeof *functions, word);
}
