// Clocks, and what many values say about one.
#ifndef LW_BENCH_STATS_H
#define LW_BENCH_STATS_H

double lab_now(void); // ns
double lab_cpu(void); // ns that this thread had a core

void sort_values(double *x, int n);
double quantile(const double *sorted, int n, double q);
double median(double *x, int n); // which are sorted; NAN: none

typedef struct Estimate {
    double median, low, high; // of a 95 % interval of the median
} Estimate;

// Of `n` values, which are sorted. Order statistics; of fewer than 6, Student's t of their
// logarithms.
Estimate estimate(double *x, int n);

#endif
