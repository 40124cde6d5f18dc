// loopwright bench: compares programs with the limits of the machine and with peers.
//
//   bench.c         the command: selection of suites, the machine, history
//   bench_suite.c   the suites: a table of programs, sizes, and tasks of the peers
//   bench_jobs.c    the plan of a run: open rows alternate, pass by pass
//   bench_item.c    one item: compiled, checked, measured together with its peers
//   bench_kernel.c  a program with operands, ready to be called; C compilers on the same program
//   bench_time.c    the suites that measure compile and parse times
//   bench_agree.c   comparison of two runs
//   bench_why.c     reasons why a peer wins a row
//   bench_out.c     rows as a table, as CSV, as Markdown, as JSON
//
// bench/lab (lab.h) does the measurements, also for the programs in bench/.
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "lab/rivals.h" // first, because it defines _GNU_SOURCE
#include "peers/peer.h"

#include "cli.h"

enum { BENCH_ARGS = 32 };

// --- Items ---------------------------------------------------------------------------------------

typedef struct BenchItem {
    const char *suite, *group, *name;
    const char *program; // text; NULL: the file of the command line
    const char *sizes;   // "M=64,N=64"
    const char *task;    // task of the peers; NULL: none
    bool slow;           // not for --quick
    bool rounded;        // results may differ by rounding
    bool c;              // compare with C compilers too
    bool halide;         // compare with Halide under the same schedule
    int taps;            // operand 1 is a filter in blocks, KO CO taps CI KI; 0: it is not
    double moved;        // bytes that it moves, if not those of its arguments (tables); or 0
    const char *isa;     // NULL: the best available
    int threads;         // 0: one
    const char *paper;   // result in a paper, in a few words; NULL: none
} BenchItem;

// Ended by a NULL suite.
extern const BenchItem bench_items[];

typedef struct BenchSuite {
    const char *name, *what;
    const char *note; // remark on a paper's numbers; NULL: none
} BenchSuite;

extern const BenchSuite bench_suites[]; // ended by a NULL name

// --- Results -------------------------------------------------------------------------------------

typedef struct BenchKernel BenchKernel;

typedef struct BenchPeer {
    const char *name;
    double ns, cold_ns;
    double compile_us; // 0: not asked
    Estimate ratio;    // its time divided by ours
    bool differs;      // its result differs from ours: it does not count
    bool other;        // another algorithm
} BenchPeer;

typedef struct BenchRow {
    const BenchItem *item;
    char *sizes, *schedule; // texts
    bool tuned;             // the schedule is from the tuning database
    char *check;            // the reference of the comparison
    char *note;             // why there is no number
    bool wrong;             // its result differs from the reference
    char *remark;           // printed next to the row
    double halide_us;       // Halide's time to compile the same schedule; 0: not measured
    double flops, int_ops, bytes, instances, code_bytes; // int_ops: of integers, among flops
    Estimate ns;
    double best_ns, cold_ns, compile_us;
    bool compute;      // bound by compute, not by memory
    double of_peak;    // fraction of the machine's peak in this run
    double roof_ns;    // by the rates of the machine
    const char *level; // the level of memory that holds its arguments
    int passes;        // number of passes
    int npeers;
    BenchPeer peer[TRIAL_ENTRIES];
    double *times; // for suites that measure times: a sorted distribution, us
    int ntimes;
} BenchRow;

typedef struct Bench {
    Cli *cli;
    Lab lab;
    char peers[1024]; // the folder
    bool alone;       // it has no peers
    const char *only_peers;
    bool quick;
    lw_schedule_text loops; // --schedule or --machine
    char *loops_memory;
    lw_context *compiler; // of the suites that measure time
    const lw_machine *machine;
    char *machine_json;
    char date[32], run[64];
    BenchRow *row;
    int n, cap;
    double begun, deadline; // in lab_now time; 0: none
    FILE *out;              // the table; NULL: none
} Bench;

int bench_open(Bench *b);
void bench_close(Bench *b);
const BenchItem *bench_find(const char *suite, const char *name);
void bench_describe(Bench *b); // describes the machine
BenchRow *bench_row(Bench *b, const BenchItem *item);
// The fastest peer that counts; NULL: none.
const BenchPeer *bench_best(const BenchRow *r);
int bench_program(Bench *b); // the file of the command line
int bench_agree(Cli *cli);   // --agree

// A row while it is measured.
typedef struct BenchJob BenchJob;
typedef struct BenchKind {
    void (*open)(Bench *b, BenchJob *j,
                 BenchRow *r); // everything except measuring; a note means that there is no number
    void (*sample)(Bench *b, BenchJob *j); // called after each pass; may be NULL
    void (*finish)(Bench *b, BenchJob *j, BenchRow *r);
} BenchKind;

extern const BenchKind bench_kernels, bench_compiles, bench_shapes, bench_fronts;
void bench_jobs(Bench *b, BenchJob *jobs, int n); // measures and prints them
void bench_note(BenchJob *j, double us);          // one more of a job's own times
// The items of the suites `compile` and `front`, and how they are measured; NULL: there are no
// more.
const BenchItem *bench_time_item(int number, const BenchKind **kind);
// The limit of the machine for a kernel that moves `bytes` bytes; false: unknown.
bool bench_roof(const Bench *b, const BenchKernel *k, double bytes, lw_roof *roof);
// Bound program to kernel, once; schedule NULL: as chosen.
double bench_compile_us(const Bench *b, const BenchItem *item, const char *schedule);
double bench_file_compile_us(Bench *b); // the same of the file

// --- A program with operands ---------------------------------------------------------------------

struct BenchKernel {
    lw_context *ctx; // its own, unless `shared`
    bool shared;     // the context belongs to another owner
    int serial;      // number appended to the function's name; 0: none
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
    char *given;  // its given schedule; NULL: chosen
    char *folder; // of files for C compilers; removed with the kernel
    char *error;
};

struct BenchJob {
    const BenchItem *item;
    const BenchKind *kind;
    int row; // its number
    Trial *trial;
    BenchKernel kernel, chosen; // chosen: under --machine, the same program as chosen
    int limits;                 // first entry of the machine's limits
    double limit;               // work per call of the limits
    bool differs[TRIAL_ENTRIES];
    double *us; // its own times
    int n, cap;
};

// `database`: the tuning database; NULL: the default. Suites use "none", so that results do not
// depend on earlier tunings.
lw_context *bench_context(const char *database);
// If the item has no program, the file and options of `cli` are used.
void bench_kernel_open(BenchKernel *k, Bench *b, const BenchItem *item);
// The same under a schedule, given as text; NULL: as chosen.
void bench_kernel_open_with(BenchKernel *k, Bench *b, const BenchItem *item, const char *schedule);
bool bench_kernel_bind(BenchKernel *k, const BenchItem *item); // only parses and binds
void bench_kernel_close(BenchKernel *k);
void bench_kernel_call(void *kernel);
void bench_kernel_flush(void *kernel);
// The reference interpreter's results in place of the kernel's; false: it failed.
bool bench_kernel_refer(BenchKernel *k, lw_backend backend, void **out);
// Whether `x` equals this kernel's first result, up to rounding relative to its largest element.
bool bench_kernel_same(const BenchKernel *k, const void *x, bool rounded);
// Writes the program as C under a schedule (NULL: as chosen; "": as written) and what the peer `cc`
// needs to run it. Returns the path of that description, to be freed; NULL: failure.
char *bench_kernel_c(BenchKernel *k, const char *schedule, const char *name);
char *bench_text(const char *text); // a copy on one line, without comments

// The loops as they are written, as C, compiled by a C compiler with -O3 -march=native and loaded.
typedef struct BenchCompiled {
    BenchKernel *kernel; // the kernel whose operands it uses
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

void bench_print_group(Bench *b, int first, int end); // rows of one group, as a table
void bench_print_csv(const Bench *b);
void bench_print_markdown(const Bench *b);
void bench_row_json(Json *j, const Bench *b, const BenchRow *r); // members
// The reason why a peer wins a row.
const char *bench_why(const BenchRow *r, const BenchPeer *p);
const char *bench_given(const BenchRow *r, const BenchPeer *p); // data prepared beforehand; or ""
double bench_rate(const BenchRow *r, double ns);                // in the row's unit
const char *bench_unit(const BenchRow *r);

#endif
