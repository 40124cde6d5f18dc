// loopwright bench: programs against what the machine can do and against whoever else does the
// same.
//
//   bench.c         the command: which suites, the machine, history
//   bench_suite.c   the suites: a table of programs, sizes, and what peers are asked
//   bench_jobs.c    the plan of a run: rows that are open at once take turns, pass by pass
//   bench_item.c    one item: compiled, checked, measured beside its peers
//   bench_kernel.c  a program with operands, ready to be called; C compilers on the same program
//   bench_time.c    the suites whose measure is time to compile and to parse
//   bench_agree.c   two runs compared
//   bench_why.c     what is known of rows that a peer wins
//   bench_out.c     rows as a table, as CSV, as Markdown, as JSON
//
// How it is measured is bench/lab's matter (lab.h), shared with the programs in bench/.
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "lab/rivals.h" // first: it asks for GNU's part of the C library
#include "peers/peer.h"

#include "cli.h"

enum { BENCH_ARGS = 32 };

// --- What is measured ----------------------------------------------------------------------------

typedef struct BenchItem {
    const char *suite, *group, *name;
    const char *program; // text; NULL: the file of the command line
    const char *sizes;   // "M=64,N=64"
    const char *task;    // what peers are asked; NULL: none
    bool slow;           // not for --quick
    bool rounded;        // results may differ by rounding
    bool c;              // beside C compilers too
    bool halide;         // and beside Halide, under the same schedule
    int taps;            // operand 1 is a filter in blocks, KO CO taps CI KI; 0: it is not
    double moved;        // bytes that it moves, where that is not its arguments' (tables); or 0
    const char *isa;     // NULL: the best there is
    int threads;         // 0: one
    const char *paper;   // what a paper says of it, in a few words; NULL: nothing
} BenchItem;

// Ended by a NULL suite.
extern const BenchItem bench_items[];

typedef struct BenchSuite {
    const char *name, *what;
    const char *note; // on a paper's numbers; NULL: nothing
} BenchSuite;

extern const BenchSuite bench_suites[]; // ended by a NULL name

// --- What was found ------------------------------------------------------------------------------

typedef struct BenchKernel BenchKernel;

typedef struct BenchPeer {
    const char *name;
    double ns, cold_ns;
    double compile_us; // 0: not asked
    Estimate ratio;    // how many times faster ours is
    bool differs;      // its result is not ours: it does not count
    bool other;        // another algorithm
} BenchPeer;

typedef struct BenchRow {
    const BenchItem *item;
    char *sizes, *schedule; // texts
    bool tuned;             // the schedule is from the tuning database
    char *check;            // what the result was compared with
    char *note;             // why there is no number
    bool wrong;             // its result is not that of the reference
    char *remark;           // something to say beside it
    double halide_us;       // that Halide took to compile the same schedule; 0: not asked
    double flops, int_ops, bytes, instances, code_bytes; // int_ops: of integers, among flops
    Estimate ns;
    double best_ns, cold_ns, compile_us;
    bool compute;      // operations are what takes longest, not moving
    double of_peak;    // of what the machine could do in this run
    double roof_ns;    // by the rates of the machine
    const char *level; // which memory holds its arguments
    int passes;        // that it was measured in
    int npeers;
    BenchPeer peer[TRIAL_ENTRIES];
    double *times; // of suites that measure times: a distribution, us, sorted
    int ntimes;
} BenchRow;

typedef struct Bench {
    Cli *cli;
    Lab lab;
    char peers[1024]; // the folder
    bool alone;       // nobody is in it
    const char *only_peers;
    bool quick;
    lw_context *compiler; // of the suites that measure time
    const lw_machine *machine;
    char *machine_json;
    char date[32], run[64];
    BenchRow *row;
    int n, cap;
    double begun, deadline; // by lab_now; 0: there is none
    FILE *out;              // for people; NULL: none
} Bench;

int bench_open(Bench *b);
void bench_close(Bench *b);
const BenchItem *bench_find(const char *suite, const char *name);
void bench_describe(Bench *b); // says what machine it is
BenchRow *bench_row(Bench *b, const BenchItem *item);
// The peer that is hardest to beat; NULL: none counts.
const BenchPeer *bench_best(const BenchRow *r);
int bench_program(Bench *b); // the file of the command line
int bench_agree(Cli *cli);   // --agree

// A row while it is measured.
typedef struct BenchJob BenchJob;
typedef struct BenchKind {
    void (*open)(Bench *b, BenchJob *j,
                 BenchRow *r);             // all but measuring; a note: there is no number
    void (*sample)(Bench *b, BenchJob *j); // behind each pass; NULL: nothing
    void (*finish)(Bench *b, BenchJob *j, BenchRow *r);
} BenchKind;

extern const BenchKind bench_kernels, bench_compiles, bench_shapes, bench_fronts;
void bench_jobs(Bench *b, BenchJob *jobs, int n); // measures and prints them
void bench_note(BenchJob *j, double us);          // one more of a job's own times
// The items of the suites `compile` and `front`, and how they are measured; NULL: there are no
// more.
const BenchItem *bench_time_item(int number, const BenchKind **kind);
// What the machine could do at most with a kernel that moves so many bytes; false: not known.
bool bench_roof(const Bench *b, const BenchKernel *k, double bytes, lw_roof *roof);
double bench_compile_us(const Bench *b, const BenchItem *item); // bound program to kernel, once
double bench_file_compile_us(Bench *b);                         // the same of the file

// --- A program with operands ---------------------------------------------------------------------

struct BenchKernel {
    lw_context *ctx; // its own, unless
    bool shared;     // it is somebody else's; then
    int serial;      // makes the function's name another one; 0: it stays
    lw_module *module;
    lw_bound *bound;
    lw_kernel *kernel;
    const lw_kernel_info *info;
    int n, inputs;
    void *buffer[BENCH_ARGS];
    PeerPool pool; // what they are in
    int threads;
    size_t bytes[BENCH_ARGS];
    void *scratch;
    char *given;  // its schedule, unless it is chosen
    char *folder; // of files for C compilers; removed with the kernel
    char *error;
};

struct BenchJob {
    const BenchItem *item;
    const BenchKind *kind;
    int row; // its number
    Trial *trial;
    BenchKernel kernel;
    int limits;   // entries from here on are what the machine can do,
    double limit; // with so much work a call
    bool differs[TRIAL_ENTRIES];
    double *us; // times of its own
    int n, cap;
};

// `database`: of tuned schedules, NULL the usual one. Suites take "none": what they measure does
// not depend on what somebody tuned last week.
lw_context *bench_context(const char *database);
// `cli` has a file and options of its own where the item has no program.
void bench_kernel_open(BenchKernel *k, Bench *b, const BenchItem *item);
// The same under a schedule, given as text; NULL: as chosen.
void bench_kernel_open_with(BenchKernel *k, Bench *b, const BenchItem *item, const char *schedule);
bool bench_kernel_bind(BenchKernel *k, const BenchItem *item); // parses and binds, no more
void bench_kernel_close(BenchKernel *k);
void bench_kernel_call(void *kernel);
void bench_kernel_flush(void *kernel);
// The reference interpreter's results in place of the kernel's; false: it failed.
bool bench_kernel_refer(BenchKernel *k, lw_backend backend, void **out);
// Is `x` this kernel's first result, up to `tolerance` of its largest element?
bool bench_kernel_same(const BenchKernel *k, const void *x, bool rounded);
// Writes the program as C under a schedule (NULL: as chosen; "": as written) and what the peer `cc`
// needs to run it; the path of that description, to be freed. NULL: it cannot be done.
char *bench_kernel_c(BenchKernel *k, const char *schedule, const char *name);
char *bench_text(const char *text); // a copy on one line, without comments

// The loops as they are written, as C, compiled by a C compiler with -O3 -march=native and loaded.
typedef struct BenchCompiled {
    BenchKernel *kernel; // whose operands it runs on
    int (*run)(void *const *buffers, void *scratch, const void *env);
    void *library, *scratch;
} BenchCompiled;
bool bench_has_compiler(const char *compiler);
bool bench_kernel_compile(BenchKernel *k, const char *compiler, BenchCompiled *out);
void bench_compiled_call(void *compiled);
void bench_compiled_close(BenchCompiled *c); // before its kernel

// The Program and the Schedule as texts, for peers that take both; as above.
char *bench_kernel_texts(BenchKernel *k, const char *isa);

// --- Rows as text --------------------------------------------------------------------------------

void bench_print_group(Bench *b, int first, int end); // rows of one group, for people
void bench_print_csv(const Bench *b);
void bench_print_markdown(const Bench *b);
void bench_row_json(Json *j, const Bench *b, const BenchRow *r); // members
// What is known of a row that a peer wins.
const char *bench_why(const BenchRow *r, const BenchPeer *p);
const char *bench_given(const BenchRow *r, const BenchPeer *p); // what it had beforehand; or ""
double bench_rate(const BenchRow *r, double ns);                // in the row's unit
const char *bench_unit(const BenchRow *r);

#endif
