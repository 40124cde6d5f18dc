// Loopwright: a tensor compiler. This header is the whole public C API; docs/c-api.md is its tour.
//
//     lw_context *ctx = lw_context_new(NULL);
//     lw_module *mod;
//     if (lw_parse_file(ctx, "mv.tc", NULL, &mod)) die(lw_diag_text(ctx));
//     const lw_function *mv = lw_module_function(mod, 0);
//     lw_bound *b;
//     if (lw_bind(ctx, mv, (lw_size[]){{"M", 4}, {"K", 3}}, 2, &b)) die(lw_diag_text(ctx));
//     if (lw_run(ctx, b, (const DLTensor *const[]){&A, &x, &C}, 3, NULL)) die(lw_diag_text(ctx));
//
// A text becomes a *module*: one *function* per definition, every size symbolic. Binding sizes
// makes a *bound* function, whose shapes are numbers; running it takes DLPack tensors, inputs
// first, then outputs.
//
// Errors. Calls that can fail return a status, LW_OK (0) for success, and on failure leave NULL in
// their result. What was wrong is kept in the context, per thread, until the same thread's next
// such call on that context. The library never prints, exits or installs signal handlers. Out of
// memory is a status like any other: nothing leaks, and the context stays usable.
//
// Ownership. What an lw_*_new, lw_parse* or lw_bind* call gives is the caller's, to be given back
// by the lw_*_free of its type (NULL is allowed). Everything else belongs to the object it was
// asked of and lives as long as that. A module outlives its handle while bound functions of it
// exist, and a context while anything made in it exists, so handles may be freed in any order.
// Strings are UTF-8, end in NUL, and are never NULL unless so said. Arguments are only read during
// the call; nothing the caller passed is kept.
//
// Threads. One context may be used by any number of threads at once, and so may a module, a
// function and a bound function, which never change. Freeing is the exception: no other thread may
// be using that handle.
//
// ABI. Handles are opaque. Enumerators keep their values. Structs that the library hands out only
// ever grow at their end: use them through the pointers given. Structs that the caller fills in
// begin with struct_size, to be set to sizeof (zero is LW_MISUSE: nothing that was set would be
// read); members after it that are zero mean the default. The small ones without it (lw_size,
// lw_window, lw_schedule_text) stay as they are. Only names beginning with lw_ are exported.
#ifndef LOOPWRIGHT_H
#define LOOPWRIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LW_VERSION_MAJOR 0
#define LW_VERSION_MINOR 1
#define LW_VERSION_PATCH 0

#if defined(__GNUC__)
#define LW_API __attribute__((visibility("default")))
#else
#define LW_API
#endif

// --- DLPack --------------------------------------------------------------------------------------
// The part of DLPack's ABI that is used here. To use dlpack.h itself, include it before this
// header.
#ifndef DLPACK_DLPACK_H_
typedef enum { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3 } DLDeviceType;
typedef struct {
    DLDeviceType device_type;
    int32_t device_id;
} DLDevice;
typedef enum { kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4, kDLBool = 6 } DLDataTypeCode;
typedef struct {
    uint8_t code; // DLDataTypeCode
    uint8_t bits;
    uint16_t lanes; // always 1 here
} DLDataType;
typedef struct {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape;
    int64_t *strides; // in elements; NULL: compact, row-major
    uint64_t byte_offset;
} DLTensor;
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lw_context lw_context;
typedef struct lw_module lw_module;
typedef struct lw_function lw_function;
typedef struct lw_bound lw_bound;
typedef struct lw_kernel lw_kernel;

typedef enum lw_status {
    LW_OK = 0,
    LW_ERROR = 1,       // something is wrong with the input; the diagnostics say what
    LW_NO_MEMORY = 2,   // an allocation failed
    LW_MISUSE = 3,      // the call itself is wrong (NULL handle, bad enumerator, struct_size 0)
    LW_UNAVAILABLE = 4, // asked for something this build or this machine does not have; diagnosed
} lw_status;

LW_API const char *lw_version(void);                 // "0.1.0"
LW_API const char *lw_status_name(lw_status status); // "out of memory"
// Did you mean ...? The name that `word` is most likely a misspelling of; NULL when none is near.
LW_API const char *lw_nearest(const char *word, const char *const *names, size_t count);

// --- Context -------------------------------------------------------------------------------------
typedef struct lw_context_options {
    size_t struct_size;
    // All memory of the context comes from `alloc` and goes back to `free` with its size; both may
    // be called by any thread that uses the context. `alloc` returns NULL when there is no memory,
    // else memory aligned for any type. Both NULL: the C library's.
    void *(*alloc)(void *user, size_t size);
    void (*free)(void *user, void *ptr, size_t size);
    // Called after each step of the compiler with its name and duration, by the thread that ran it.
    void (*trace)(void *user, const char *step, double microseconds);
    void *user;   // handed to all three
    size_t chunk; // bytes to take from `alloc` at a time; 0: from 16 KiB, doubling up to a megabyte
    // The tuning database (docs/tuning-database.md): a file, or several separated by colons of
    // which only the first is written; "none": none. NULL: LW_DB, or the usual place. It is opened
    // when something is first compiled without a schedule, and SQLite takes its memory from the C
    // library.
    const char *database;
    // A processor family that is described (docs/spaces.md), "zen4", to choose, bound and compile
    // for instead of the machine this runs on. Its code runs as far as this machine has the
    // instructions. NULL: LW_MACHINE, or this machine.
    const char *machine;
} lw_context_options;

// NULL when out of memory. `options` may be NULL.
LW_API lw_context *lw_context_new(const lw_context_options *options);
LW_API void lw_context_free(lw_context *ctx);

// --- Diagnostics of this thread's last call that returned a status -------------------------------
typedef enum lw_severity {
    LW_SEVERITY_NOTE = 0,
    LW_SEVERITY_WARNING = 1,
    LW_SEVERITY_ERROR = 2,
} lw_severity;

typedef struct lw_diag {
    lw_severity severity;
    const char *file;     // NULL when there is no place to point at; then the next five are 0
    int32_t line, column; // of the first byte, from 1; columns count bytes
    int32_t end_line, end_column; // of the byte after the last
    const char *text;             // lower case, no full stop
    size_t note_count;            // further lines: origins, reasons, the way out
    const struct lw_diag *const *notes;
} lw_diag;

LW_API size_t lw_diag_count(lw_context *ctx);
LW_API const lw_diag *lw_diag_get(lw_context *ctx, size_t i); // NULL past the end
// All of them as text, each with its source line and a caret; "" when there are none.
LW_API const char *lw_diag_text(lw_context *ctx);

// --- Modules -------------------------------------------------------------------------------------
typedef enum lw_language {
    LW_LANG_BY_NAME = 0, // by the extension of the file name
    LW_LANG_TC = 1,      // .tc   the comprehension language
    LW_LANG_PROGRAM = 2, // .lwp  Program text
    LW_LANG_GRAPH = 3,   // .lwg  a dataflow graph
    LW_LANG_STRIPE = 4,  // .stripe  Stripe text: a Tree, or a flat program
    LW_LANG_TEML = 5,    // .teml  tensor expressions and their loops as values
} lw_language;

typedef struct lw_parse_options {
    size_t struct_size;
    lw_language language;
    bool strict;    // warnings are errors
    bool unchecked; // both `unproven` and `unchecked_index`: unsafe. A TeML program's
                    // transformations are applied whether they are legal or not
    bool partial;   // where some functions of a text have errors, the status is LW_ERROR, and
                    // there is a module of the others all the same, if there are any
    bool unproven;  // a Stripe program, or a step of a TeML program, that can be neither proven nor
                    // refuted is taken as right
    bool unchecked_index; // compiled code does not check subscripts that are read from data: one
                          // outside its tensor reads or writes other memory
    bool as_written;      // a Stripe program runs the loops of its text, although they may be free
} lw_parse_options;

enum { LW_MAX_SOURCE = 16 * 1024 * 1024 }; // bytes of one text; a language may allow less

// `name` stands in diagnostics and gives the language, where `options` does not. `len` bytes; the
// text may hold anything. Warnings do not fail a call.
LW_API lw_status lw_parse(lw_context *ctx, const char *name, const char *text, size_t len,
                          const lw_parse_options *options, lw_module **out);
LW_API lw_status lw_parse_file(lw_context *ctx, const char *path, const lw_parse_options *options,
                               lw_module **out);
// NumPy's einsum, "ij,jk->ik": a module of one function `einsum` with inputs in0, in1, ... and the
// output `out`. Of the operands only types and shapes are looked at; broadcasting is resolved by
// the shapes.
LW_API lw_status lw_parse_einsum(lw_context *ctx, const char *spec, const DLTensor *const *operands,
                                 size_t count, lw_module **out);

// In which order operands are multiplied. Three and more are contracted in pairs, in the cheapest
// order that is found, where that takes clearly fewer operations than one nest of all labels.
typedef struct lw_einsum_options {
    size_t struct_size;
    double memory_limit; // elements of the largest intermediate result; 0: any
    bool as_written;     // one nest of all labels
    DLDataType dtype;    // to compute in, and of the result; zero: as docs/einsum.md says
    // The order: per step the number of its operands and their positions among those that are left,
    // to the end of which its result goes. NULL: chosen.
    const int32_t *path;
    size_t path_length; // of the whole list
} lw_einsum_options;

typedef struct lw_einsum_step {
    size_t count;
    const int32_t *operands; // their positions, ascending, as in `path`
    double flops;
    double size; // elements of the result
} lw_einsum_step;

typedef struct lw_einsum_plan {
    size_t step_count;
    const lw_einsum_step *steps;
    double flops;    // of all steps, and of sums over single operands before them
    double one_nest; // of one nest of all labels
    double largest;  // elements of the largest intermediate result; 0: there is none
} lw_einsum_plan;

// The same with options, which may be NULL, and the order that was chosen, in `plan` unless that is
// NULL; it lives as long as a diagnostic of this call would.
LW_API lw_status lw_parse_einsum_with(lw_context *ctx, const char *spec,
                                      const DLTensor *const *operands, size_t count,
                                      const lw_einsum_options *options, lw_module **out,
                                      const lw_einsum_plan **plan);
LW_API void lw_module_free(lw_module *mod);

LW_API size_t lw_module_function_count(const lw_module *mod);
LW_API const lw_function *lw_module_function(const lw_module *mod, size_t i); // NULL past the end
LW_API const lw_function *lw_module_find(const lw_module *mod, const char *name); // NULL: none
// Of a TeML program: the value of each name, as trees. NULL of other languages.
LW_API const char *lw_module_store(const lw_module *mod);

// --- Functions: sizes still symbolic -------------------------------------------------------------
typedef enum lw_role {
    LW_INPUT = 0,
    LW_OUTPUT = 1,
    LW_INOUT = 2, // an output whose old content matters
    LW_TEMP = 3,  // exists only inside
} lw_role;

typedef enum lw_param_kind {
    LW_SIZE = 0,   // names a dimension; at least 0
    LW_SCALAR = 1, // an integer argument, specialised like a size; any value of its type
} lw_param_kind;

typedef struct lw_param {
    const char *name;
    lw_param_kind kind;
    DLDataType dtype;
} lw_param;

typedef struct lw_tensor {
    const char *name;
    lw_role role;
    DLDataType dtype;
    int32_t ndim;
    const char *const *size;   // per dimension, over the parameters: "H - KH + 1"
    const char *const *origin; // index of the first element per dimension, mostly "0"
    const char *text;          // "f32(N, H - KH + 1) O"; a dimension with an origin is "1:N - 1"
} lw_tensor;

// What a call of the function takes, as the signature lists it: its inputs, and among them the
// integer arguments, which are parameters.
typedef struct lw_argument {
    const char *name;
    int32_t tensor; // its number among the tensors; -1: an integer argument
    int32_t param;  // its number among the parameters; -1: a tensor
} lw_argument;

// Asked of NULL (no such function), these and those below of bound functions and kernels answer
// with an empty text, 0, NULL or -1.
LW_API const char *lw_function_name(const lw_function *f);
// "mv(f32(M, K) A, f32(K) x) -> (f32(M) C)"; in-out results are marked `inout`.
LW_API const char *lw_function_signature(const lw_function *f);
LW_API size_t lw_function_param_count(const lw_function *f);
LW_API const lw_param *lw_function_param(const lw_function *f, size_t i);
// Tensors are numbered: inputs in the order of the signature, outputs, temporaries.
LW_API size_t lw_function_input_count(const lw_function *f);
LW_API size_t lw_function_output_count(const lw_function *f);
LW_API size_t lw_function_tensor_count(const lw_function *f); // temporaries included
LW_API const lw_tensor *lw_function_tensor(const lw_function *f, size_t i);
LW_API size_t lw_function_argument_count(const lw_function *f);
LW_API const lw_argument *lw_function_argument(const lw_function *f, size_t i); // NULL past the end
LW_API int lw_function_find_tensor(const lw_function *f, const char *name);     // -1: none
LW_API int lw_function_find_param(const lw_function *f, const char *name);      // -1: none

// Reports `text` as an error at the declaration of the tensor or parameter `name`, and returns
// LW_ERROR: for bindings to other languages, which find faults that a DLTensor cannot express.
LW_API lw_status lw_argument_error(lw_context *ctx, const lw_function *f, const char *name,
                                   const char *text);

// --- Binding sizes -------------------------------------------------------------------------------
typedef struct lw_size {
    const char *name;
    int64_t value;
} lw_size;

// By name, in any order. Each parameter of the function exactly once.
LW_API lw_status lw_bind(lw_context *ctx, const lw_function *f, const lw_size *sizes, size_t count,
                         lw_bound **out);
// By position: values[i] is parameter i.
LW_API lw_status lw_bind_values(lw_context *ctx, const lw_function *f, const int64_t *values,
                                size_t count, lw_bound **out);
// From the shapes of arguments, NULL for those not at hand, in the order of lw_run; and by name
// what they do not tell. Arguments that contradict each other, or a given size, are an error.
LW_API lw_status lw_bind_tensors(lw_context *ctx, const lw_function *f, const DLTensor *const *args,
                                 size_t arg_count, const lw_size *sizes, size_t count,
                                 lw_bound **out);
LW_API void lw_bound_free(lw_bound *b);

LW_API const lw_function *lw_bound_function(const lw_bound *b);
LW_API int64_t lw_bound_value(const lw_bound *b, size_t param);
// Shape and type of tensor i (numbered as in the function): data NULL, strides compact.
LW_API const DLTensor *lw_bound_tensor(const lw_bound *b, size_t i); // NULL past the end
LW_API const int64_t *lw_bound_origin(const lw_bound *b, size_t i);  // ndim numbers
// If values of tensor i are used as subscripts: true, and the values that surely stay inside the
// tensors they index, lo to hi inclusive (lo > hi: none does).
LW_API bool lw_bound_index_range(const lw_bound *b, size_t i, int64_t *lo, int64_t *hi);
// Statement instances that a run executes; saturates at INT64_MAX.
LW_API int64_t lw_bound_instances(const lw_bound *b);
// True: a run writes every element of result i, whatever it held. False: elements may keep their
// content, so clear the memory of a new result first.
LW_API bool lw_bound_writes_all(const lw_bound *b, size_t i);

// --- Text forms ----------------------------------------------------------------------------------
typedef enum lw_stage {
    LW_STAGE_PROGRAM = 0,  // Program text (.lwp), which parses back to itself
    LW_STAGE_SCHEDULE = 1, // Schedule text (.lws), likewise; of a bound function
    LW_STAGE_TREE = 2,     // its loops, one line each; of a bound function
    LW_STAGE_STRIPE = 3,   // the same as Stripe text (.stripe), which parses back to itself
    LW_STAGE_ASM = 4,      // its machine code as assembly text, between the lines of the Tree
    LW_STAGE_REPORT = 5,   // what became of each nest, and what it cost to compile
} lw_stage;

// How to run a function: docs/schedules.md. All zero: chosen for the machine. The empty text: every
// loop as it is written.
typedef struct lw_schedule_text {
    const char *text; // NULL: none
    const char *name; // stands in diagnostics; may be NULL
} lw_schedule_text;

typedef struct lw_show_options {
    size_t struct_size;
    lw_schedule_text schedule;
    bool cost;       // of a Tree: what each block touches, moves and computes
    bool json;       // of a report or a Tree: one JSON object; a Tree's has the costs of each line
    const char *isa; // of code: "scalar", "avx2" or "avx512", whether or not this machine has it;
                     // NULL: the best of this machine
    int threads;     // to choose a schedule for; 0: LW_THREADS, or the processors this process has
} lw_show_options;

// The text belongs to the context and lives as long as a diagnostic of this call would.
LW_API lw_status lw_function_show(lw_context *ctx, const lw_function *f, lw_stage stage,
                                  const char **out);
LW_API lw_status lw_bound_show(lw_context *ctx, const lw_bound *b, lw_stage stage,
                               const char **out);
LW_API lw_status lw_bound_show_with(lw_context *ctx, const lw_bound *b, lw_stage stage,
                                    const lw_show_options *options, const char **out);

// --- Spaces --------------------------------------------------------------------------------------
// Everything that may be decided about a bound function: docs/spaces.md.
typedef struct lw_space_options {
    size_t struct_size;
    lw_schedule_text schedule; // taken as decisions; its sizes and layouts join the choice
    const char *mapping;       // TC's mapping options, likewise; NULL: none
    const char *set;           // decisions to take, "kind(C.m.0) = VECTOR; ..."; NULL: none
    bool explain;              // which constraint removed which value
    bool complete;             // instead: one implementation at random, as Schedule text
    int threads;               // 1: no parallel loops; 0: parallel loops
    int64_t samples;           // of each estimate; 0: 1000
    uint64_t seed;
    bool explain_bound; // instead of estimates: the lower bound of the time, as a tree
    bool json; // instead: one JSON object with the bound, what each resource takes, and every
               // decision of `schedule` with the bound that each other value would have, in us
} lw_space_options;

// A report: what follows from the decisions, how many implementations there are, what none of them
// can be faster than (at the rates that lw_machine_get keeps, which explain_bound measures where
// there are none), what is open. The text lives as long as that of lw_bound_show.
LW_API lw_status lw_bound_space(lw_context *ctx, const lw_bound *b, const lw_space_options *options,
                                const char **out);

// --- Files ---------------------------------------------------------------------------------------
typedef enum lw_emit {
    LW_EMIT_C = 0,   // C99 source and its header, which stand alone: docs/c-output.md
    LW_EMIT_OBJ = 1, // a relocatable ELF object of machine code, and its header: docs/aot.md
    LW_EMIT_ASM = 2, // the same as text for the GNU assembler
    LW_EMIT_SO = 3,  // the same as a shared library, by the system's linker
} lw_emit;

typedef struct lw_emit_options {
    size_t struct_size;
    lw_schedule_text schedule;
    const char *name; // of the function; NULL: its own
    const char
        *header;     // how C source names its header; NULL: NAME.h; "": what it says stands inside
    const char *isa; // of machine code: "scalar", "avx2" or "avx512", whether or not this machine
                     // has it; NULL: the best of this machine
    int threads;     // to choose a schedule for; 0: LW_THREADS, or the processors this process has
} lw_emit_options;

// What a file holds. It belongs to the context and lives as long as a diagnostic of this call
// would.
typedef struct lw_emitted {
    const char *function; // as C spells its name
    const char *bytes;    // the file; a text ends with a NUL that is not counted
    size_t size;
    const char *header; // what a C program includes to use it
    size_t header_size;
} lw_emitted;

LW_API lw_status lw_bound_emit(lw_context *ctx, const lw_bound *b, lw_emit what,
                               const lw_emit_options *options, lw_emitted *out);

// --- Running -------------------------------------------------------------------------------------
typedef enum lw_backend {
    LW_BACKEND_DEFAULT = 0, // the best there is
    LW_BACKEND_INTERP = 1,  // the reference interpreter: slow, and the meaning of every program
    LW_BACKEND_TREE = 2,    // the tree interpreter
    LW_BACKEND_C = 3,       // C, through the system's compiler
    LW_BACKEND_JIT = 4,     // machine code
} lw_backend;

LW_API const char *lw_backend_name(lw_backend backend); // "interp"; NULL: no such backend
LW_API bool lw_backend_available(lw_backend backend);

// What a run cost, filled in when asked for.
typedef struct lw_timing {
    size_t struct_size;
    lw_backend backend; // the one that ran
    double compile_us;  // 0 when nothing was compiled
    double run_us;
    // Of compiled code, with lw_run_options.measure_seconds; 0 otherwise:
    double median_us, p10_us, p90_us;
    int samples;
    // Of compiled code: what it does in one run.
    double flops; // operations; a fused multiply-add counts two
    double bytes; // of all arguments
    size_t code_bytes;
    int threads; // that parallel loops were shared out to; 1: there are none, or there is but one
    const char *isa;      // "avx512"; of compiled code, as the rest
    double written_bytes; // of results; in-outs count among the bytes read too
    int32_t float_bits;   // of the widest floats among the arguments, or where there are none among
                          // what is computed; 0: none there either
    double best_us;       // with median_us
    const char *schedule; // where it was from: "given", "chosen", "tuned" (the tuning database had
                          // it), "hand" (by hand), "nearest" (for other sizes); of compiled code
    double int_ops;       // those among `flops` that are of integers
    int chosen_threads;   // that the schedule is for; 0: it was given
    // Where it is "chosen", and the tuning database has one for these very sizes, but for so many
    // threads and this instruction set: tune it for these. 0 and NULL otherwise.
    int tuned_threads;
    const char *tuned_isa;
    double bound_us; // as tuned: nothing in the space can be faster; 0: not known. A median below
                     // it shows that it is wrong
} lw_timing;

typedef struct lw_run_options {
    size_t struct_size;
    lw_backend backend;
    bool accumulate;           // op=! starts from what the output holds, not from the identity
    bool skip_post;            // leave out post-operations
    bool trap_uninitialised;   // reading an element that nothing wrote is an error (interp)
    lw_timing *timing;         // may be NULL
    lw_schedule_text schedule; // not for the reference interpreter, which has no loops to arrange
    double measure_seconds;    // jit: repeat for about so long, and fill in the medians
    int threads;     // jit: for parallel loops; 0: LW_THREADS, or the processors this process has
    const char *isa; // jit: at most this, scalar, avx2 or avx512; NULL: LW_ISA, or what there is
} lw_run_options;

// Runs on arguments in host memory: inputs, then outputs, shaped as lw_bound_tensor says, with any
// strides (those of an output must not make it overlap itself). An output must not overlap another
// argument. The outputs' content is unspecified after a failure.
LW_API lw_status lw_run(lw_context *ctx, const lw_bound *b, const DLTensor *const *args,
                        size_t count, const lw_run_options *options);

// lw_parse_einsum, lw_bind_tensors and lw_run in one: out = einsum(spec, operands).
LW_API lw_status lw_einsum(lw_context *ctx, const char *spec, const DLTensor *const *operands,
                           size_t count, const DLTensor *out, const lw_run_options *options);

// --- Kernels -------------------------------------------------------------------------------------
// lw_run compiles what it needs and finds it again by itself. A kernel is the same machine code in
// the caller's hand: compiled when the caller says so, kept as long as the caller keeps it, and run
// without looking anything up. It may be run by many threads at once.
typedef struct lw_compile_options {
    size_t struct_size;
    lw_schedule_text schedule;
    const char *isa; // at most this, "scalar", "avx2" or "avx512"; NULL: LW_ISA, or what there is
    // Arguments whose strides it is for, in the order of lw_run; NULL, or one that is NULL: dense.
    // Only types, shapes and strides are looked at.
    const DLTensor *const *args;
    int threads; // to choose a schedule for; 0: LW_THREADS, or the processors this process has
} lw_compile_options;

LW_API lw_status lw_compile(lw_context *ctx, const lw_bound *b, const lw_compile_options *options,
                            lw_kernel **out);
LW_API lw_kernel *lw_kernel_hold(lw_kernel *k); // counts one more user, and gives k
LW_API void lw_kernel_free(lw_kernel *k);       // one user less; the last frees it

typedef struct lw_kernel_info {
    const char *name;     // of the function
    const char *isa;      // "avx512"
    size_t arg_count;     // inputs and outputs
    double flops;         // operations of one run; a fused multiply-add counts two
    double bytes;         // of all arguments
    double written_bytes; // of results
    size_t code_bytes;
    int64_t scratch;        // bytes that lw_kernel_call needs, for one thread,
    int64_t thread_scratch; // and for every further one
    bool parallel;          // has loops that threads can share
    double compile_us;      // 0: it was there already
    const char *schedule;   // as in lw_timing
    double int_ops;         // those among `flops` that are of integers
} lw_kernel_info;

LW_API const lw_kernel_info *lw_kernel_get_info(const lw_kernel *k);
LW_API const lw_bound *lw_kernel_bound(const lw_kernel *k);
// Type, shape and strides of argument i: data NULL. NULL past the end.
LW_API const DLTensor *lw_kernel_tensor(const lw_kernel *k, size_t i);
// LW_STAGE_ASM or LW_STAGE_REPORT of this code, as lw_bound_show_with gives them.
LW_API lw_status lw_kernel_show(lw_context *ctx, const lw_kernel *k, lw_stage stage, bool json,
                                const char **out);

// As lw_run, arguments checked; they must have the strides that the kernel was compiled for. The
// options' backend, schedule and isa are the kernel's.
LW_API lw_status lw_kernel_run(lw_context *ctx, const lw_kernel *k, const DLTensor *const *args,
                               size_t count, const lw_run_options *options);
// The code alone, nothing checked: one pointer per argument to its first element, and scratch
// memory aligned to 64 bytes, NULL where none is needed. 0, or 1000 + the number of the statement
// whose subscript left its tensor; -1, and nothing ran, where scratch is NULL but needed. Loops
// marked parallel are shared by `threads` threads.
LW_API int lw_kernel_call(const lw_kernel *k, void *const *buffers, void *scratch, int threads);

// --- Tuning --------------------------------------------------------------------------------------
// Finds a fast schedule by measuring: docs/tuning.md. Candidates are compiled, checked against the
// reference and timed in processes of their own; one that crashes, hangs or is wrong is recorded
// and never ends the tuning.
typedef enum lw_trial_state {
    LW_TRIAL_TIMED = 0,     // right, and timed
    LW_TRIAL_SLOW = 1,      // not worth timing well: `seconds` is a rough figure, or a least one
    LW_TRIAL_DECLINED = 2,  // does not lower or compile
    LW_TRIAL_WRONG = 3,     // its result is not the reference's
    LW_TRIAL_CRASHED = 4,   // it, or its compilation, ended the process
    LW_TRIAL_HUNG = 5,      // over the time limit
    LW_TRIAL_CANCELLED = 6, // the tuning was ended first
} lw_trial_state;

LW_API const char *lw_trial_state_name(lw_trial_state state); // "timed"; NULL: no such state
// The names of the strategies, ended by NULL; the first is the default.
LW_API const char *const *lw_tune_strategies(void);

// One candidate that was tried; lives during the callback.
typedef struct lw_trial {
    int64_t number; // from 0, in the order of measuring
    lw_trial_state state;
    double at;                 // seconds since the tuning began
    double seconds, low, high; // of one call: the median and its 95 % confidence interval
    double bound;              // no implementation like it can be faster than this; 0: not known
    bool best;                 // taken as the best so far: surely faster, sample by sample
    const char *schedule;      // text
    const char *reproducer;    // file that shows what went wrong; NULL: nothing did
    double ratio; // to the best so far, measured in turn with it: the median; 0: it was not
    int samples;  // of which `seconds` is the median
} lw_trial;

// The best so far, as it became so.
typedef struct lw_tune_point {
    double at; // seconds since the tuning began
    int64_t trials;
    double seconds;
} lw_tune_point;

// Where a tuning stands.
typedef struct lw_tune_state {
    double elapsed; // seconds
    int64_t trials;
    int64_t count[8];          // of them, by lw_trial_state
    double seconds, low, high; // of the best; 0: there is none yet
    double bound;              // nothing in the space can be faster; 0: not known
    double gap;                // (seconds - bound)/bound; 0: not known
    double gflops;             // of the best; 0: not known, or of integers
    double peak;               // its share of what this machine can do, 0 to 1; 0: not known
    double kernel_time;        // seconds spent inside candidates
    double compile_time;       // and compiling them
    double expected; // seconds that it takes at least, by estimate, whatever the budget is
} lw_tune_state;

typedef struct lw_tune_options {
    size_t struct_size;
    // What ends it, whichever comes first; all zero: 5 seconds.
    double seconds;
    int64_t trials;
    double gap; // 0.03: when the best is within 3 % of the bound
    // How.
    const char *strategy; // of lw_tune_strategies, with options, "beam width=8"; NULL: the first
    // In which order decisions are taken: "given" (NULL), "reversed", "impact" (what moves the
    // bound most first), or names of choices, "kind,size", whose decisions come first.
    const char *order;
    uint64_t seed;
    int threads;                 // 0: LW_THREADS, or the processors this process has
    const char *isa;             // as in lw_run_options
    const DLTensor *const *args; // whose strides it is for, as in lw_compile_options
    lw_schedule_text schedule;   // to start from; its sizes and layouts join the choice
    const char *set;             // decisions that are not searched, as in lw_space_options
    bool cold;                   // caches are emptied before every call that is timed
    // The database that knows results of earlier tunings and keeps this one's. NULL: LW_DB, or the
    // usual place; "none".
    const char *db;
    bool again; // search although the database has the result of such a search
    // The folder for reproducers; NULL: loopwright/failures in XDG_DATA_HOME; "none".
    const char *failures;
    const char *plugin; // spreads measuring over processes: docs/tuning.md; NULL: none
    // Callbacks, each may be NULL; they run on the calling thread.
    // Also while the reference is computed: there are no trials yet.
    void (*progress)(void *user, const lw_tune_state *state);
    void (*trial)(void *user, const lw_trial *trial);
    bool (*cancelled)(void *user); // true ends the tuning; the best so far is its result
    void *user;
    // Candidates are timed on what inputs among `args` hold (those that are there, and have data),
    // and on data that are made up otherwise. Results are checked on data that are made up.
    bool data;
} lw_tune_options;

// It belongs to the context and lives as long as a diagnostic of this call would.
typedef struct lw_tune_result {
    const lw_tune_state *state; // of the best: checked once more and timed in a fresh process
    const char *schedule;       // text, for lw_schedule_text
    const char *strategy; // that found it; "database": nothing was searched; "chosen": it is what
                          // is chosen without search. The same, and all times are 0: "empty",
                          // there is nothing to compute; "cancelled", before there was a reference
    bool stored;          // in the database
    bool finished;        // everything was tried, or shown to be no better: this is the best
    bool served;          // this process measured for another, which has the result: all else
                          // is zero, and it is `finished` unless that one was lost
    double chosen;        // seconds of what is chosen without search; 0: not known
    size_t point_count;   // how the best came about
    const lw_tune_point *points;
    // Results that could not be checked, "K, L": they are the same, infinite or no numbers nearly
    // everywhere, on all data that there are to compare on; NULL: none.
    const char *unchecked;
    // The schedule to start from is not in the space: it was measured as it is, and the search
    // began near it. `strategy` is "given" where nothing was faster.
    bool near;
    // A candidate ran faster than its lower bound, also at the rates that this machine has when it
    // is measured again: the bound is wrong, and there is no certificate (state->bound is 0).
    // "measured 1.8 us, below the bound of 2.2 us"; NULL: no.
    const char *refuted;
    const char *reproducer; // a file that shows it, to be reported; NULL: none was written
} lw_tune_result;

// Whether `strategy` and `order` are right: what lw_tune would say of them, without a function.
LW_API lw_status lw_tune_options_check(lw_context *ctx, const lw_tune_options *options);

// `options` may be NULL. When every candidate fails the result is the schedule chosen without
// search, and where that fails too an error.
LW_API lw_status lw_tune(lw_context *ctx, const lw_bound *b, const lw_tune_options *options,
                         const lw_tune_result **out);

// What became of a schedule whose result was compared with the reference.
typedef struct lw_check_result {
    lw_trial_state state;   // LW_TRIAL_TIMED: it is right
    double seconds;         // of one call; 0: not known
    const char *compared;   // how: "bit for bit, against interpreter"; NULL: there is no element
    const char *difference; // "C[2, 3] is 7, not 8; 3 of 64 elements differ"; NULL: not wrong
    const char *unchecked;  // results that could not be compared, as in lw_tune_result; NULL: none
    bool nothing;           // no result could be compared
} lw_check_result;

// The schedule of `options`, or the one that is chosen, is compiled, run in a process of its own
// and compared with the reference as a candidate of lw_tune is: on data made up from `seed`.
// LW_OK also where it is wrong.
LW_API lw_status lw_check(lw_context *ctx, const lw_bound *b, const lw_tune_options *options,
                          const lw_check_result **out);

// --- The tuning database -------------------------------------------------------------------------
// What was tuned is found by lw_run, lw_compile and the rest where no schedule is given; these look
// at it and keep it in order: docs/tuning-database.md. All act on the context's database
// (lw_context_options.database). Results belong to the context and live as long as a diagnostic of
// the call would. Unlike everywhere else, a database that cannot be used is an error here.
LW_API const char *lw_db_file(lw_context *ctx); // that is written; NULL: no database is wanted

// One schedule for one kernel: a function with its sizes, strides and types, on a processor.
typedef struct lw_db_entry {
    int64_t kernel; // its number in the file
    int32_t rank;   // of this schedule among those of the kernel, from 0: the one that is used,
                    // unless it is slower than `chosen`, and not pinned; -1: with
                    // lw_db_options.check, a row that cannot be read: all else is empty
    bool pinned;    // used before faster ones
    int32_t threads;
    const char *name;               // of the function that was first tuned so
    const char *program;            // canonical text: names are i0, t0, s0, ...
    const char *sizes;              // extents of the loops, by statement: "64,48,32"
    const char *strides;            // "": all arguments are dense
    const char *target, *cpu, *isa; // "x86-64", or "x86-64, cold": tuned with cold caches
    const char *schedule;           // in canonical names
    double seconds, low, high;      // of one call: the median and its 95 % confidence interval
    int64_t samples;
    double bound, gap;    // 0: not known
    const char *date;     // "2026-11-15T09:30:00Z"
    const char *version;  // of the library
    const char *verified; // how its result was compared
    const char *origin;   // "tuned", "hand"
    int64_t trials;       // that are kept for the kernel
    double chosen;        // seconds of what is chosen without search; 0: not known
    const char *wrong;    // with lw_db_options.check: why it would be ignored; NULL: it applies
    // In the names of the program that was first tuned so; NULL: they are not known.
    const char *named_sizes; // "M=64,K=32,N=48"
    const char *named_program, *named_schedule;
} lw_db_entry;

typedef struct lw_db_options {
    size_t struct_size;
    int64_t kernel; // only this one; 0: all
    bool best;      // only the first of each kernel
    bool check;     // lw_db_list: read the whole file, parse, lower and verify every schedule
    bool trials;    // lw_db_export, lw_db_merge: everything that was tried, too
} lw_db_options;

// Entries by kernel, best first. `options` may be NULL, as everywhere.
LW_API lw_status lw_db_list(lw_context *ctx, const lw_db_options *options, const lw_db_entry **out,
                            size_t *count);

typedef struct lw_db_counts {
    size_t read, kept, refused, removed;
} lw_db_counts;

// JSON lines, the portable form: one object per entry. What is imported or merged is parsed,
// lowered and verified first, and refused with a warning where it does not apply; all of the rest
// is kept, or nothing. `counts` may be NULL.
LW_API lw_status lw_db_export(lw_context *ctx, const lw_db_options *options, const char **out);
LW_API lw_status lw_db_import(lw_context *ctx, const char *name, const char *text, size_t len,
                              lw_db_counts *counts);
LW_API lw_status lw_db_merge(lw_context *ctx, const char *file, const lw_db_options *options,
                             lw_db_counts *counts);

typedef struct lw_db_prune_options {
    size_t struct_size;
    int64_t keep; // the fastest of each kernel; 0: as many as there are
    double days;  // what is older goes, unless it is pinned; 0: nothing goes for its age
    bool trials;  // everything that was tried goes, too, or what of it is older
    bool bad;     // entries that do not apply go
} lw_db_prune_options;

LW_API lw_status lw_db_prune(lw_context *ctx, const lw_db_prune_options *options,
                             lw_db_counts *counts);

// A schedule by hand: compiled, compared with the reference and timed as a tuned one, and kept.
// Of the options db, schedule, threads, isa, args, cold and seed count. With `pin` it is used even
// where a faster one is known, or what is chosen without search is faster.
LW_API lw_status lw_db_put(lw_context *ctx, const lw_bound *b, const lw_tune_options *options,
                           bool pin, const lw_tune_result **out);

// --- This machine --------------------------------------------------------------------------------
typedef enum lw_isa { LW_ISA_SCALAR = 0, LW_ISA_AVX2 = 1, LW_ISA_AVX512 = 2 } lw_isa;
typedef enum lw_level { LW_L1 = 0, LW_L2 = 1, LW_L3 = 2, LW_MEMORY = 3 } lw_level;
typedef enum lw_move { LW_LOAD = 0, LW_STORE = 1, LW_COPY = 2 } lw_move;

// The best rates that were measured here. The last subscript is 0 for one core, 1 for all at once.
typedef struct lw_machine {
    const char *cpu;
    const char *isa;        // the best there is: "avx512"
    int32_t cores;          // that this process may use
    int64_t cache[3];       // bytes of L1 (data), L2, L3; 0: none
    double gflops[3][2][2]; // fused multiply-adds by lw_isa, in f32 and f64; 0: no such ISA
    double gbps[4][3][2];   // by lw_level and lw_move; a copy counts both ways; 0: no such cache
    const char *json;       // all of this as one JSON object
    const char *file;       // where it is kept; NULL: nowhere
    bool measured;          // by this call, not read from the file
} lw_machine;

typedef struct lw_machine_options {
    size_t struct_size;
    bool remeasure;   // even though there is a file
    const char *file; // NULL: $XDG_CACHE_HOME/loopwright/machine-CPU-CORES.json; "": nowhere
    bool improve; // the same, and of each rate the better one of both is kept: for when something
                  // is faster than what was measured, in a slow moment then
} lw_machine_options;

// Measures for about two seconds, all cores busy, unless that was done before and kept. It belongs
// to the context and lives as long as a diagnostic of this call would.
LW_API lw_status lw_machine_get(lw_context *ctx, const lw_machine_options *options,
                                const lw_machine **out);

// The least time that this machine could need for what a run of compiled code did: its operations
// at the peak rate of multiply-adds, and its arguments moved once between the processor and the
// innermost level that holds all of them. Whichever takes longer is the roof. This is the one limit
// that times are compared with, wherever a part of the peak is said.
typedef struct lw_roof {
    double us;         // the larger of the next two
    double compute_us; // 0: no floats, or the rate is not known
    double memory_us;
    bool compute; // it is the operations
    lw_level level;
    double peak; // GFLOP/s, or GB/s of this mix of loads and stores
    bool partly; // mostly integers, whose peak is not measured: no part of it can be said
} lw_roof;

LW_API lw_status lw_machine_roof(const lw_machine *machine, const lw_timing *timing, lw_roof *out);

// --- Graphs --------------------------------------------------------------------------------------
// Dataflow graphs with named dimensions and views by relations between indices; docs/graphs.md
// tells what each function means. Dimensions and nodes are small numbers. A call that fails gives
// LW_BAD, which every other call takes in silence, so that one mistake is one diagnostic and only
// lw_graph_build need be checked. A graph may be used by one thread at a time.
typedef struct lw_graph lw_graph;

enum {
    LW_BAD = -1,
    // What a view holds where its input has no element: nothing (such reads are errors),
    LW_BORDER_NONE = -1,
    // the identity of the reduction that reads it, or the value of a constant node, by its number.
    LW_BORDER_IDENTITY = -2,
};

// Tap `taps` of the window at position `to` reads  from = step*to + dilation*taps - pad.  0 means 1
// for steps and dilations.
typedef struct lw_window {
    int from, to, taps;
    int64_t step, dilation, pad;
} lw_window;

LW_API lw_status lw_graph_new(lw_context *ctx, const char *name, lw_graph **out);
LW_API lw_status lw_graph_parse(lw_context *ctx, const char *name, const char *text, size_t len,
                                lw_graph **out);
LW_API void lw_graph_free(lw_graph *g);
// A module with the graph's one function; dimensions left open are its sizes. The graph may be
// built again.
LW_API lw_status lw_graph_build(lw_graph *g, lw_module **out);
// Text that lw_graph_parse reads, and Graphviz; both live like a diagnostic of the call.
LW_API lw_status lw_graph_text(lw_graph *g, const char **out);
LW_API lw_status lw_graph_dot(lw_graph *g, const char **out);

// Dimensions: found by name or new; with a size, a parameter, or following from relations such as
// "size(B) = 2*size(A) + 1".
LW_API int lw_graph_dim(lw_graph *g, const char *name);
LW_API int lw_graph_dim_fresh(lw_graph *g, const char *like);
LW_API lw_status lw_graph_dim_size(lw_graph *g, int dim, int64_t size);
LW_API lw_status lw_graph_dim_param(lw_graph *g, int dim);
LW_API lw_status lw_graph_relate(lw_graph *g, const char *relations);
// The size as far as it is a number already; -1 when it depends on parameters or is open.
LW_API int64_t lw_graph_size(lw_graph *g, int dim);
LW_API int lw_graph_rank(lw_graph *g, int node);
LW_API int lw_graph_node_dim(lw_graph *g, int node, int i);

// Nodes. Operations have the names of graph text: "add", "mul", "max", "exp", "relu", "select" ...
// With ndims -1 a node has all dimensions of its inputs; dimensions that it lacks are reduced over
// by add, mul, min and max.
LW_API int lw_graph_read(lw_graph *g, const char *name, DLDataType dtype, int ndims,
                         const int *dims);
LW_API int lw_graph_write(lw_graph *g, const char *name, int x, int ndims, const int *dims);
LW_API int lw_graph_const(lw_graph *g, DLDataType dtype, double value);
LW_API int lw_graph_const_int(lw_graph *g, DLDataType dtype, int64_t value);
LW_API int lw_graph_index(lw_graph *g, DLDataType dtype, const char *index, int ndims,
                          const int *dims);
LW_API int lw_graph_op(lw_graph *g, const char *op, int ninputs, const int *inputs, int ndims,
                       const int *dims);
LW_API int lw_graph_cast(lw_graph *g, DLDataType dtype, int x);
LW_API int lw_graph_view(lw_graph *g, int x, int ndims, const int *dims, const char *relations,
                         int border);
// `op` is "" (each element once), "add", "mul", "min" or "max".
LW_API int lw_graph_place(lw_graph *g, const char *op, int ninputs, const int *inputs, int ndims,
                          const int *dims, const char *relations, int border);
LW_API lw_status lw_graph_pre(lw_graph *g, int reduction, int start);
LW_API lw_status lw_graph_post(lw_graph *g, int x);

// Compositions of the above.
LW_API int lw_graph_unary(lw_graph *g, const char *op, int x);
LW_API int lw_graph_binary(lw_graph *g, const char *op, int a, int b);
LW_API int lw_graph_reduce(lw_graph *g, const char *op, int x, int ndims, const int *dims);
LW_API int lw_graph_mean(lw_graph *g, int x, int ndims, const int *dims);
LW_API int lw_graph_transpose(lw_graph *g, int x, int ndims, const int *dims);
LW_API int lw_graph_rename(lw_graph *g, int x, int from, int to);
LW_API int lw_graph_slice(lw_graph *g, int x, int from, int to, int64_t first, int64_t size);
LW_API int lw_graph_pad(lw_graph *g, int x, int from, int to, int64_t before, int64_t after,
                        int border);
LW_API int lw_graph_concat(lw_graph *g, int n, const int *inputs, const int *dims, int to);
LW_API int lw_graph_flatten(lw_graph *g, int x, int ndims, const int *dims, int to);
LW_API int lw_graph_split(lw_graph *g, int x, int from, int outer, int inner, int64_t inner_size);
LW_API int lw_graph_window(lw_graph *g, int x, int n, const lw_window *windows, int border);
LW_API int lw_graph_conv(lw_graph *g, int x, int weights, int n, const lw_window *windows, int nsum,
                         const int *sum);
LW_API int lw_graph_maxpool(lw_graph *g, int x, int n, const lw_window *windows);
LW_API int lw_graph_avgpool(lw_graph *g, int x, int n, const lw_window *windows);
LW_API int lw_graph_softmax(lw_graph *g, int x, int dim);
LW_API int lw_graph_matmul(lw_graph *g, int a, int b, int sum);
LW_API int lw_graph_linear(lw_graph *g, int x, int weights, int bias,
                           int sum); // bias may be LW_BAD
LW_API int lw_graph_batch_norm(lw_graph *g, int x, int mean, int variance, int gamma, int beta,
                               double epsilon);

#ifdef __cplusplus
}
#endif
#endif
