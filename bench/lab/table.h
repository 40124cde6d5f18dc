// Results of trials as rows: lists with a bar each, printed as a table or as JSON.
#ifndef LW_BENCH_TABLE_H
#define LW_BENCH_TABLE_H

#include "lab.h"

typedef enum BarKind {
    BAR_NONE,
    BAR_LIMIT, // at least the fraction `need` of the machine's limit
    BAR_PEER,  // at least `need` times the peer named `against`, or the best of all (NULL)
    BAR_MOST,  // at most `need`
} BarKind;

typedef struct Bar {
    BarKind kind;
    double need;
    const char *against;
    double limit; // of BAR_PEER: alternatively this fraction of the machine's limit; 0: none
} Bar;

typedef struct RowPeer {
    const char *name;
    double rate;
    Estimate ratio; // its time divided by ours
    bool differs;   // its result differs from ours
} RowPeer;

typedef struct Row {
    const char *list, *item, *unit;
    double rate;    // ours, in `unit`
    double of_peak; // fraction of the machine's limit; NAN: not measured
    int npeers;
    RowPeer peer[TRIAL_ENTRIES];
    Bar bar;
    const char *note; // why there is no number
} Row;

typedef struct Table {
    int n, cap;
    Row *row;
} Table;

Row *table_row(Table *t, const char *list, const char *item, const char *unit);
void table_free(Table *t);

// The value that the bar applies to (NAN: none), and whether it is met.
double row_value(const Row *r);
bool row_met(const Row *r);

void table_print(FILE *out, const Table *t, const char *list); // the rows of one list
void table_verdict(FILE *out, const Table *t); // geometric means, bars that are not met
void table_json(FILE *out, const Table *t, const char *machine);

#endif
