// Clocks and statistics.
#ifndef LW_BENCH_STATS_H
#define LW_BENCH_STATS_H

double lab_now(void); // ns
double lab_cpu(void); // ns of processor time of this thread

void sort_values(double *x, int n);
double quantile(const double *sorted, int n, double q);
double median(double *x, int n); // sorts x; NAN: no values

typedef struct Estimate {
    double median, low, high; // of a 95 % interval of the median
} Estimate;

// Sorts the `n` values. Order statistics; for fewer than 6, Student's t of their logarithms.
Estimate estimate(double *x, int n);

#endif
