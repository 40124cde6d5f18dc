// Checked 64-bit arithmetic for sizes, strides and offsets. Each function returns false on overflow
// and leaves *out unspecified. Division and remainder are floor, as everywhere in Loopwright.
#ifndef LW_BASE_CHECKED_H
#define LW_BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

static inline bool checked_add(int64_t a, int64_t b, int64_t *out) {
    return !__builtin_add_overflow(a, b, out);
}
static inline bool checked_sub(int64_t a, int64_t b, int64_t *out) {
    return !__builtin_sub_overflow(a, b, out);
}
static inline bool checked_mul(int64_t a, int64_t b, int64_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}
// *out += a * b
static inline bool checked_fma(int64_t a, int64_t b, int64_t *out) {
    int64_t p;
    return checked_mul(a, b, &p) && checked_add(*out, p, out);
}

// Floor division and modulo. By the arithmetic of the language x/0 = 0 and x%0 = 0; MIN/-1 wraps.
static inline int64_t floor_div(int64_t a, int64_t b) {
    if (b == 0) return 0;
    if (b == -1) return (int64_t)(0 - (uint64_t)a);
    int64_t q = a / b;
    return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}
static inline int64_t floor_mod(int64_t a, int64_t b) {
    if (b == 0 || b == -1) return 0;
    int64_t r = a % b;
    return r + ((r != 0 && (r < 0) != (b < 0)) ? b : 0);
}
static inline int64_t ceil_div(int64_t a, int64_t b) { // b > 0
    return floor_div(a, b) + (floor_mod(a, b) != 0);
}
static inline int64_t min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t max_i64(int64_t a, int64_t b) { return a > b ? a : b; }

// The greatest common divisor, not negative; gcd(0, b) is |b|.
static inline int64_t gcd_i64(int64_t a, int64_t b) {
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a < 0 ? -a : a;
}

#endif
