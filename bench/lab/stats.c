#include "stats.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

double lab_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

double lab_cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void sort_values(double *x, int n) { qsort(x, (size_t)n, sizeof *x, by_value); }

double quantile(const double *sorted, int n, double q) {
    int i = (int)(q * n);
    return n ? sorted[i < n ? i : n - 1] : NAN;
}

double median(double *x, int n) {
    sort_values(x, n);
    return n ? x[n / 2] : (double)NAN;
}

// Too few values for order statistics: assumes that their logarithms are normally distributed.
static Estimate student(const double *x, int n) {
    static const double t95[] = {0, 0, 12.706, 4.303, 3.182, 2.776}; // by number of values
    double sum = 0, squares = 0;
    for (int i = 0; i < n; i++) sum += log(x[i]);
    for (int i = 0; i < n; i++) squares += pow(log(x[i]) - sum / n, 2);
    double half = t95[n] * sqrt(squares / (n - 1) / n), middle = exp(sum / n);
    return (Estimate){x[n / 2], fmin(x[0], middle * exp(-half)),
                      fmax(x[n - 1], middle * exp(half))};
}

// Order statistics, without assumptions about the distribution: the median is between the d-th
// smallest and the d-th largest value with probability 1 - 2 P(fewer than d of n below it), for the
// largest d with 95 % or more. The next narrower pair has a lower probability; the interval is
// interpolated between the two (Hettmansperger and Sheather's weights) to 95 %.
Estimate estimate(double *x, int n) {
    sort_values(x, n);
    if (n < 2) return n ? (Estimate){x[0], x[0], x[0]} : (Estimate){NAN, NAN, NAN};
    if (n < 6 && x[0] > 0) return student(x, n);
    double p = pow(0.5, n), below = p; // P(exactly d - 1), P(fewer than d)
    int d = 1;
    for (double next; (next = p * (n - d + 1) / d, below + next <= 0.025); d++)
        p = next, below += next;
    double outer = 1 - 2 * below, inner = 1 - 2 * (below + p * (n - d + 1) / d);
    double part = fmax(0, (outer - 0.95) / (outer - inner));
    double weight = (n - d) * part / (d + (n - 2 * d) * part);
    int low = d - 1, high = n - d;
    return (Estimate){x[n / 2], x[low] + weight * (x[low + 1] - x[low]),
                      x[high] - weight * (x[high] - x[high - 1])};
}
