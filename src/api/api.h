// The objects behind the handles of loopwright.h, and the frame in which every entry point runs.
//
// An entry point that can fail packs its arguments in a struct and hands a body to call_run:
//
//     lw_status lw_thing(lw_context *ctx, ...) {
//         Thing t = {...};
//         return call_run(ctx, thing, &t);
//     }
//
// call_run finds this thread's slot in the context, forgets the slot's last diagnostics, runs the
// body under arena_try, and afterwards converts the diagnostics to lw_diags. Everything that only
// lives until the thread's next call (diagnostics, printed texts, scratch) is allocated in the
// slot's arena. Objects that outlive the call bring an arena of their own, and share the slot's
// unwinding by call_join while it runs.
//
// Objects are counted: a bound function holds its module, a module holds its context, a slot holds
// the module that its diagnostics point into. So handles can be freed in any order, and none of it
// needs a lock.
#ifndef LW_API_API_H
#define LW_API_API_H

#include "base/diag.h"
#include "lang/lang.h"
#include "loopwright.h"
#include "machine/machine.h"
#include "run/debug.h"
#include "run/exec.h"
#include "run/fork.h"
#include "run/pool.h"
#include "target/target.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct KernelCode KernelCode; // kernel.h
typedef struct Db Db;                 // search/db.h

// A kernel that the thread ran not long ago, and the bound function that it ran for.
typedef struct SlotKernel {
    uint64_t bound; // its serial number; 0: none
    KernelCode *code;
} SlotKernel;
enum { SLOT_KERNELS = 16, SLOT_LISTS = 64 };

// One thread's last call.
typedef struct Slot Slot;
struct Slot {
    Slot *next;
    pthread_t thread;
    lw_context *ctx;
    Arena arena;
    ArenaMark empty; // the arena with nothing but its first chunk
    Arena scratch;   // empty between calls
    DiagList diags;
    lw_module *holds; // owner of the Source that diagnostics point into, or NULL
    size_t ndiags;    // the diagnostics as the API shows them
    const lw_diag **shown;
    const char *text;
    char plain[256]; // a text without allocation: out of memory, or misuse
    SlotKernel kernel[SLOT_KERNELS];
    void *work; // memory that kernels use, kept from call to call
    size_t work_size;
};

// Compiled kernels by their keys, kernel.c.
typedef struct Kernels {
    pthread_mutex_t lock;
    ForkMark fork;
    KernelCode **at;
    size_t n, cap, hand, code_bytes;
} Kernels;

struct lw_context {
    Allocator allocator;
    void (*trace)(void *user, const char *step, double microseconds);
    void (*dump)(void *user, const char *step, const char *text);
    int dump_steps; // LW_DUMP, see pipeline.h
    atomic_int refs;
    _Atomic(Slot *) slots[SLOT_LISTS]; // lists by thread; slots are only ever added
    atomic_ullong serial;              // of bound functions
    atomic_llong tunings;              // with other processes
    Kernels kernels;
    _Atomic(ExecArena *) exec;
    _Atomic(Pool *) pool;
    _Atomic(Machine *) machine[TARGET_MAX_ISAS + 1]; // the host target's, by cap
    int debug_what;                                  // LW_PERF and LW_GDB; -1: not understood
    Debug *debug;                                    // or NULL
    struct Devices *devices;                         // devices.c; NULL: none was used
    Db *db;                                          // the tuning database; NULL: none is wanted
    int isa_cap;                                     // LW_ISA, of the host target; -1: not one
    const struct Family *pretended; // lw_context_options.machine; NULL: this machine
    bool no_machine;                // there is none of that name
    int threads;                    // LW_THREADS, or processors; 0: not a number
    atomic_bool starved;            // there was no memory for a thread's slot
};

// A description of one Program, made when it is parsed so that queries neither allocate nor fail.
struct lw_function {
    lw_module *module;
    const Program *program;
    const struct Tree *tree; // of a TeML program, and of a Stripe program that keeps its loops,
                             // specials expanded; `program` has only its arguments. NULL: the
                             // Program is all there is
    const struct Lift *lift; // of a Stripe program: whether it keeps them, and why; else NULL
    const struct Tree *reference; // of a TeML program: the loops before transformations
    const char *text;             // source of the Tree; part of the key of its kernels
    const char *assignments;      // of a TeML program: the reference as loops; NULL: none
    const char *signature;
    lw_param *params;
    lw_tensor *tensors;
    size_t narguments;
    lw_argument *arguments;
};

struct lw_module {
    lw_context *ctx;
    lw_module *parent; // whose names it uses, or NULL
    atomic_int refs;
    Arena arena;
    Names names;
    Source source;
    double front_us;   // that parsing took
    bool strict;       // warnings are errors, when sizes are bound too
    const char *store; // of a TeML program, as text
    int nparams;       // of it
    const lw_parameter *params;
    int nfunctions;
    lw_function *functions;
};

typedef struct IndexRange {
    bool used;
    int64_t lo, hi; // inclusive; from -1 where the program guards every use against it
    int64_t least;  // the program also guards against values below lo, down to this one
} IndexRange;

struct lw_bound {
    lw_context *ctx;
    atomic_int refs; // kernels hold it
    const lw_function *function;
    Arena arena;
    const Program *program; // bound
    int64_t *values;        // per parameter
    DLTensor *tensors;
    int64_t **origins;
    IndexRange *ranges;
    int64_t instances;
    uint64_t serial;      // from 1, in its context
    _Atomic(char *) text; // the Program's, once a kernel was made for it
    double bind_us;       // that binding took
};

// --- Calls, context.c ----------------------------------------------------------------------------
// Where a Schedule is from.
typedef enum ScheduleOrigin {
    ORIGIN_GIVEN,
    ORIGIN_CHOSEN,
    ORIGIN_TUNED,
    ORIGIN_NEAREST,
    ORIGIN_HAND
} ScheduleOrigin;
extern const char *const origin_name[]; // "given", "chosen", "tuned", ...

typedef struct Call {
    lw_context *ctx;
    DLDevice device; // whose memory arguments may be in, beside the host's; {0}: none
    Slot *slot;
    Arena *arena;   // the slot's: until this thread's next call
    Arena *scratch; // until this call ends; for large data
    DiagList *diags;
    Arena *joined[4]; // further arenas that unwind with this call
    int njoined;
} Call;

typedef lw_status CallBody(Call *call, void *args);
lw_status call_run(lw_context *ctx, CallBody *body, void *args);
// Returns LW_MISUSE before anything ran, and replaces the diagnostics of the previous call by the
// cause. The others have a cause that many calls share.
__attribute__((format(printf, 2, 3))) lw_status call_misuse(lw_context *ctx, const char *why, ...);
lw_status call_null(lw_context *ctx, const char *argument);
lw_status call_unsized(lw_context *ctx);
lw_status call_threads(lw_context *ctx, int threads);
#define UNSIZED          "the options have no struct_size: set it to their sizeof"
#define NEGATIVE_THREADS "'threads' is %d, and must not be negative"
// The same inside of a call.
__attribute__((format(printf, 2, 3))) lw_status call_misused(Call *call, const char *why, ...);
// LW_NO_MEMORY, likewise; why, as a text that is not copied.
lw_status call_no_memory(lw_context *ctx, const char *text);
// Ends a call as arena_out_of_memory does; the user is told that "WHAT N bytes".
_Noreturn void call_lacks(Call *call, const char *what, size_t bytes);
// Running out of memory in `a` ends this call too; until the call ends.
void call_join(Call *call, Arena *a);
void call_part(Call *call); // from all that were joined
// Ranges of diagnostics now point into this module's source, which stays alive with them.
void call_source(Call *call, lw_module *mod);
// An object of the context: zeroed, counted memory outside any arena. Ends the call when there is
// none.
void *call_new(Call *call, size_t size);

void context_hold(lw_context *ctx);
void context_drop(lw_context *ctx);
void module_hold(lw_module *mod);

// --- Modules, module.c ---------------------------------------------------------------------------

// Puts the new module in *into at once: the entry point frees it from there when the call fails.
lw_module *module_new(Call *call, lw_module **into);
// Fills in the functions from parsed Programs.
void module_describe(lw_module *mod, const Module *programs);
// Says that a Stripe program is a Tree, and why it is no Program. LW_ERROR.
lw_status function_is_tree(Call *call, const lw_function *f);

// --- Binding and running -------------------------------------------------------------------------
typedef struct BindArgs {
    const lw_function *f;
    const DLTensor *const *args; // or NULL
    size_t nargs;
    const lw_size *sizes; // or NULL
    size_t nsizes;
    const int64_t *values; // or NULL: by position
} BindArgs;
// From bound->program: shapes, origins, index ranges, instances.
void bound_describe(lw_bound *b);
void bound_hold(lw_bound *b);
lw_status bind_open(Call *call, const BindArgs *args, lw_bound **into);
// With `kernel`, that one is run and no other.
lw_status run_arguments(Call *call, const lw_bound *b, const KernelCode *kernel,
                        const DLTensor *const *args, size_t count, const lw_run_options *options);
// Where tensor t was declared.
Range declared(const lw_function *f, int t);
// Checks type, shape and device of argument t and reports a mismatch.
bool argument_fits(Call *call, const lw_bound *b, int t, const DLTensor *a);
// Views with the strides of arguments that fit; where there is none, dense and without data.
void view_arguments(const lw_bound *b, const DLTensor *const *args, View *views);
// The same after checking them as lw_run does. False: reported.
bool check_arguments(Call *call, const lw_bound *b, const DLTensor *const *args, size_t count,
                     View *views);
lw_status run_bound(Call *call, const lw_bound *b, const DLTensor *const *args, size_t count,
                    const lw_run_options *options);

// --- DLPack, dlpack.c ----------------------------------------------------------------------------
DLDataType dtype_of(Type type);
Type type_of(DLDataType dtype); // TYPE_NONE: not one of ours
const char *dtype_name(Arena *arena, DLDataType dtype);
// "(4, 3)"
const char *shape_text(Arena *arena, int ndim, const int64_t *shape);
// A struct that begins with struct_size, from a caller whose version of it may be shorter; the rest
// is zero. False: struct_size was not set, so that the caller's values would be ignored.
bool options_copy(void *into, size_t size, const void *from);

#endif
