// Limits of the code generator that do not depend on the instruction set. The choice of
// Schedules, the Space, the lower bound and the generator itself read them; each is defined here
// once. A bound stays a bound when a limit changes, since the generator obeys the same number.
#ifndef LW_MACHINE_LIMITS_H
#define LW_MACHINE_LIMITS_H

#include "base/types.h"
#include "machine/machine.h"

enum {
    // Straight-line code
    LIMIT_UNROLL = 256,       // vector operations of one block; the default of Machine.unroll_limit
    LIMIT_MARKED_UNROLL = 16, // a loop marked `unroll` may have this many times as many
    LIMIT_ASSIGNED_COPIES = 32, // likewise if it only assigns: its copies share nothing
    LIMIT_BODY_COPIES = 8,      // of the body of a machine loop that is not unrolled whole
    LIMIT_BODY_PART = 3,        // these copies take at most 3/8 of the unroll limit
    LIMIT_BODY_WHOLE = 8,

    // Registers
    LIMIT_PARTS = 8,           // accumulators that one reduction is split into
    LIMIT_OTHER_REGISTERS = 4, // vector registers that a tile leaves to operands and scratch values

    // Lanes
    LIMIT_VECTOR_BYTES = 64, // of the widest vector
    LIMIT_LANES = 16,        // of it, of 4 bytes each
    LIMIT_NEAR = 4,          // elements from lane to lane, at most, to be picked from whole vectors
    LIMIT_COMB = 8,       // columns, at most, that are separated by shuffles (micro/deinterleave.c)
    LIMIT_COMB_HALF = 4,  // likewise where vectors have less than 64 bytes
    LIMIT_NO_COMB = 7,    // a transpose takes fewer shuffles for this many columns
    LIMIT_COMB_LANES = 4, // of each column, at least
    LIMIT_TRANSPOSE = 4,  // rows and columns, at least, of a block that is transposed in registers
    LIMIT_TRANSPOSE_BYTES = 32, // of its rows, at least: two pieces of 16 bytes

    // Products of narrow integers
    LIMIT_WORD = 4, // bytes of operands that one lane takes together (plan/dots.c)

    // Memory
    LIMIT_ALIGN = 64, // bytes that buffers are aligned to: a cache line, and the widest vector

    // Threads
    LIMIT_TASK = 1 << 14, // vector operations that are worth a task: some microseconds
};

// Bytes of a lane that computes in this type: vectors have no narrower lanes.
static inline int lane_bytes(Type t) { return type_info[type_compute(t)].bits == 64 ? 8 : 4; }

// May `columns` elements from lane to lane be separated by shuffles, or merged for a store?
static inline bool can_comb(const Machine *m, int64_t columns) {
    int most = m->vector_bytes >= 64 ? LIMIT_COMB : m->vector_bytes > 8 ? LIMIT_COMB_HALF : 0;
    return columns >= 2 && columns <= most && columns != LIMIT_NO_COMB;
}

// Shuffles per column of this number of columns; 0: they are not separated by shuffles.
static inline int comb_shuffles(const Machine *m, int64_t columns) {
    static const int shuffles[LIMIT_COMB + 1] = {0, 0, 1, 2, 2, 4, 3, 0, 3};
    return can_comb(m, columns) ? shuffles[columns] : 0;
}

// Are all of these columns, `width` lanes of `bytes` each, transposed in registers rather than
// separated? Blocks of as many columns as lanes take log2(width) shuffles per column.
static inline bool is_transposed(const Machine *m, int64_t columns, int64_t width, int bytes) {
    int rounds = 0;
    while (INT64_C(1) << rounds < width) rounds++;
    return width >= LIMIT_TRANSPOSE && width * bytes >= LIMIT_TRANSPOSE_BYTES &&
           columns % width == 0 && rounds <= comb_shuffles(m, columns);
}

// Products of narrow integers that one instruction adds up in a lane of LIMIT_WORD bytes: four of
// u8 by i8 with VNNI, otherwise two of i16, to which operands are converted (*as; TYPE_NONE: they
// are not). 0: there is no such instruction for these types.
static inline int dot_products(const Machine *m, Type a, Type b, Type *as) {
    bool bytes = (a == TYPE_U8 && b == TYPE_I8) || (a == TYPE_I8 && b == TYPE_U8);
    bool narrow =
        (a == TYPE_I16 || type_widens(a, TYPE_I16)) && (b == TYPE_I16 || type_widens(b, TYPE_I16));
    bool fours = bytes && m->has_vnni && m->has_mask;
    *as = fours ? TYPE_NONE : TYPE_I16;
    return m->vector_bytes <= 8 || !narrow ? 0 : fours ? 4 : 2;
}

#endif
