// What the code in the test descriptions sees.
#ifndef TESTS_SPACES_HOSTS_H
#define TESTS_SPACES_HOSTS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct MemBlock {
    int64_t (*size)(void);
} MemBlock;

typedef struct ListingDim {
    int nsizes;
    int64_t sizes[8];
} ListingDim;

typedef struct ListingMapping {
    int array; // an object
} ListingMapping;

typedef struct ListingHost {
    MemBlock block[8];
    ListingDim dim[16];
    ListingMapping mapping[16];
    int64_t max_threads;
    uint32_t may_gain[16]; // per instruction, a bit per dimension
} ListingHost;

static const struct { int64_t local_mem_size; } gpu = {48};

static inline int listing_sizes(const ListingDim *d, int64_t *out) {
    for (int i = 0; i < d->nsizes; i++) out[i] = d->sizes[i];
    return d->nsizes;
}

static inline bool listing_may_gain(const ListingHost *h, int inst, int dim) {
    return h->may_gain[inst] >> dim & 1;
}

// counts.space
typedef struct CountsValues {
    int n;
    int64_t at[4]; // ascending
} CountsValues;

typedef struct CountsItem {
    CountsValues amount, factor;
    int64_t fixed;
} CountsItem;

typedef struct CountsHost {
    CountsItem item[4];
    int64_t least[3], most[3]; // of total, fixed, volume
} CountsHost;

static inline int counts_values(const CountsValues *v, int64_t *out) {
    for (int i = 0; i < v->n; i++) out[i] = v->at[i];
    return v->n;
}

#endif
