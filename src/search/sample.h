// What a few noisy times say: the median and a 95 % confidence interval of it, by order statistics,
// whatever the noise looks like.
#ifndef LW_SEARCH_SAMPLE_H
#define LW_SEARCH_SAMPLE_H

typedef struct Estimated {
    double median, low, high;
} Estimated;

// Of n > 0 values, which are sorted. Below six the interval is all of them: 94 % at five.
Estimated sample_estimate(double *x, int n);

#endif
