// Statistics of a few noisy times: the median and its 95 % confidence interval by order statistics,
// for any distribution of noise.
#ifndef LW_SEARCH_SAMPLE_H
#define LW_SEARCH_SAMPLE_H

typedef struct Estimated {
    double median, low, high;
} Estimated;

// Sorts the n > 0 values. Below six the interval is the whole range: 94 % for five.
Estimated sample_estimate(double *x, int n);

#endif
