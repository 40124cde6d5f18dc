// The checks themselves: a check that holds passes, and its value is true.
#include "unit/check.h"

TEST(checks_are_expressions) {
    CHECK(CHECK(1 + 1 == 2));
    CHECK(CHECK_INT_EQ(INT64_C(-3), -3));
    CHECK(CHECK_STR_EQ("tile", "tile"));
    CHECK(CHECK_F64_EQ(0.1 + 0.2, 0.30000000000000004));
}

TEST(rounds_are_at_least_one) {
    CHECK(check_rounds(1) == 1);
    CHECK(check_rounds(100000) >= 1);
}

TEST(random_numbers_are_reproducible) {
    uint64_t a = 7, b = 7;
    CHECK(check_random(&a) == check_random(&b));
    CHECK(check_random(&a) != 7);
    CHECK(a != b);
}
