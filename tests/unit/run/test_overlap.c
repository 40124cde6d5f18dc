// Whether strided arrays share memory, against marking every byte.
#include "unit/check.h"

#include "run/overlap.h"

#include <string.h>

enum { ROOM = 1 << 14 };

typedef struct Array {
    StridedArray s;
    int64_t size[4], stride[4];
} Array;

// Arrays of few elements, around the middle of the buffer; strides nest, nearly nest, or are
// random.
static Array random_array(uint64_t *state) {
    static const int bytes[] = {1, 2, 4, 8};
    Array a = {.s = {.bytes = bytes[check_random(state) % 4]}};
    a.s.rank = (int)(check_random(state) % 4);
    a.s.at = ROOM / 2 + check_random(state) % 64;
    int64_t step = 1 + (int64_t)(check_random(state) % 3);
    for (int d = a.s.rank - 1; d >= 0; d--) {
        uint64_t r = check_random(state);
        a.size[d] = r % 16 == 0 ? 0 : 1 + (int64_t)(r / 16 % 5);
        a.stride[d] = r / 128 % 3 ? step : (int64_t)(r / 512 % 41) - 20;
        if (r / 65536 % 4 == 0) a.stride[d] = -a.stride[d];
        step = step * (a.size[d] + (int64_t)(r / 524288 % 3)) - (int64_t)(r / 2097152 % 2);
        if (step > 60) step = 60;
    }
    return a;
}

static const StridedArray *pointed(Array *a) {
    a->s.size = a->size;
    a->s.stride = a->stride;
    return &a->s;
}

// Counts the elements at every byte; false if two overlap.
static bool mark(const Array *a, uint8_t *room) {
    int64_t at[4] = {0};
    bool alone = true;
    for (int d = 0; d < a->s.rank; d++)
        if (a->size[d] == 0) return true;
    for (;;) {
        int64_t offset = (int64_t)a->s.at;
        for (int d = 0; d < a->s.rank; d++) offset += at[d] * a->stride[d] * a->s.bytes;
        for (int k = 0; k < a->s.bytes; k++) alone &= !room[offset + k]++;
        int d = a->s.rank - 1;
        while (d >= 0 && ++at[d] == a->size[d]) at[d--] = 0;
        if (d < 0) return alone;
    }
}

TEST(overlap_agrees_with_marking_every_byte) {
    static uint8_t one[ROOM], two[ROOM];
    int64_t met = 0, rounds = check_long_rounds(100000);
    for (int64_t i = 0; i < rounds; i++) {
        uint64_t state = check_first_seed() + (uint64_t)i;
        Array a = random_array(&state), b = random_array(&state);
        memset(one, 0, sizeof one);
        memset(two, 0, sizeof two);
        bool alone = mark(&a, one), both = false;
        mark(&b, two);
        for (int k = 0; k < ROOM; k++) both |= one[k] && two[k];
        int64_t budget = 1 << 20;
        bool ok = CHECK(overlap_itself(pointed(&a), &budget) == (alone ? OVERLAP_NO : OVERLAP_YES));
        ok &= CHECK(overlap_test(&a.s, pointed(&b), &budget) == (both ? OVERLAP_YES : OVERLAP_NO));
        met += both;
        if (ok) continue;
        printf("seed %lld\n", (long long)check_first_seed() + i);
        return;
    }
    CHECK(rounds < 1000 || (met * 10 > rounds && met * 10 < 9 * rounds));
}

static OverlapAnswer halves(int64_t n, int64_t bytes_apart, int64_t *tries) {
    int64_t size[] = {n, n / 2}, stride[] = {n, 1}, budget = 1 << 16;
    StridedArray left = {4096, 4, 2, size, stride}, right = left;
    right.at += (uintptr_t)bytes_apart;
    OverlapAnswer answer = overlap_test(&left, &right, &budget);
    *tries = (1 << 16) - budget;
    return answer;
}

// Halves of one matrix, of any size: a few values are tried.
TEST(overlap_of_nested_dimensions_is_cheap) {
    for (int64_t n = 4; n <= (int64_t)1 << 30; n *= 2) {
        int64_t tries;
        CHECK(halves(n, 2 * n, &tries) == OVERLAP_NO && tries < 8);
        CHECK(halves(n, 2 * n - 4, &tries) == OVERLAP_YES && tries < 8);
        CHECK(halves(n, 2 * n - 3, &tries) == OVERLAP_YES && tries < 8);
        CHECK(halves(n, 4 * n * n, &tries) == OVERLAP_NO && tries < 8);
    }
}

// Strides that neither nest nor divide: exact within a bounded number of steps, or undecided.
TEST(overlap_of_strange_strides_is_bounded) {
    int64_t size[] = {8, 9, 10, 11}, budget = 1 << 16;
    int64_t primes[] = {1000003, 999983, 99991, 9973}, small[] = {7, 11, 13, 17};
    CHECK(overlap_itself(&(StridedArray){4096, 4, 4, size, primes}, &budget) == OVERLAP_NO);
    CHECK(overlap_itself(&(StridedArray){4096, 4, 4, size, small}, &budget) == OVERLAP_YES);
    int64_t many[16], odd[16];
    for (int i = 0; i < 16; i++) many[i] = 3, odd[i] = (((int64_t)1 << 40) + 2 * i * i + 1);
    budget = 1 << 16;
    CHECK(overlap_itself(&(StridedArray){4096, 1, 16, many, odd}, &budget) != OVERLAP_NO);
    CHECK(budget > -32);
}
