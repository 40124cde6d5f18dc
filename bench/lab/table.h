// What trials showed, as rows: lists with a bar each, printed for people or as JSON.
#ifndef LW_BENCH_TABLE_H
#define LW_BENCH_TABLE_H

#include "lab.h"

typedef enum BarKind {
    BAR_NONE,
    BAR_LIMIT, // at least `need` of what the machine can do
    BAR_PEER,  // at least `need` times the peer named `against`, or the best of all (NULL)
    BAR_MOST,  // at most `need`
} BarKind;

typedef struct Bar {
    BarKind kind;
    double need;
    const char *against;
    double limit; // of BAR_PEER: or so much of what the machine can do; 0: no such way out
} Bar;

typedef struct RowPeer {
    const char *name;
    double rate;
    Estimate ratio; // how many times faster ours is
    bool differs;   // its result is not ours
} RowPeer;

typedef struct Row {
    const char *list, *item, *unit;
    double rate;    // ours, in `unit`
    double of_peak; // fraction of what the machine can do; NAN: not asked
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

// The number that the bar speaks of (NAN: none), and whether it is met.
double row_value(const Row *r);
bool row_met(const Row *r);

void table_print(FILE *out, const Table *t, const char *list); // the rows of one list
void table_verdict(FILE *out, const Table *t);                 // geometric means, what is not met
void table_json(FILE *out, const Table *t, const char *machine);

#endif
