#include "search/sample.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

Estimated sample_estimate(double *x, int n) {
    qsort(x, (size_t)n, sizeof *x, ascending);
    int out = n < 6 ? 0 : (int)floor((n - 1.96 * sqrt(n)) / 2); // outside, at each end
    double middle = n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
    return (Estimated){middle, x[out], x[n - 1 - out]};
}
