// Loopwright: a tensor compiler. This header is the whole public C API; docs/c-api.md is a tour.
//
//     lw_context *ctx = lw_context_new(NULL);
//     lw_module *mod;
//     if (lw_parse_file(ctx, "mv.tc", NULL, &mod)) die(lw_diag_text(ctx));
//     const lw_function *mv = lw_module_function(mod, 0);
//     lw_bound *b;
//     if (lw_bind(ctx, mv, (lw_size[]){{"M", 4}, {"K", 3}}, 2, &b)) die(lw_diag_text(ctx));
//     if (lw_run(ctx, b, (const DLTensor *const[]){&A, &x, &C}, 3, NULL)) die(lw_diag_text(ctx));
//
// A text becomes a *module*: one *function* per definition, with symbolic sizes. Binding sizes
// makes a *bound* function, whose shapes are numbers; running it takes DLPack tensors, inputs
// first, then outputs.
//
// Errors. Calls that can fail return a status, LW_OK (0) for success, and on failure store NULL in
// their result. The context keeps the diagnostics per thread, until the same thread's next such
// call on that context. The library never prints, exits or installs signal handlers. Out of memory
// is a status like any other: nothing leaks, and the context stays usable.
//
// Ownership. The caller owns the result of an lw_*_new, lw_parse* or lw_bind* call and frees it
// with the lw_*_free of its type (NULL is allowed). Everything else belongs to the object that
// returned it and lives as long as that object. A module outlives its handle while bound functions
// of it exist, and a context while any of its objects exists, so handles may be freed in any order.
// Strings are UTF-8, end in NUL, and are never NULL unless documented. Arguments are only read
// during the call; the library keeps no pointer to them.
//
// Threads. Any number of threads may use one context at once, and likewise a module, a function
// and a bound function, which are immutable. Freeing is the exception: no other thread may be using
// that handle.
//
// ABI. Handles are opaque. Enumerators keep their values. Structs that the library returns only
// ever grow at their end: use them through the returned pointers. Structs that the caller fills in
// begin with struct_size, which must be set to sizeof (zero is LW_MISUSE, because no member would
// be read); a zero in the other members means the default. The small structs without struct_size
// (lw_size, lw_window, lw_schedule_text) never change. Only names beginning with lw_ are exported.
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
// The part of DLPack's ABI that this header uses. To use dlpack.h itself, include it before this
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
    LW_ERROR = 1,       // the input is wrong; see the diagnostics
    LW_NO_MEMORY = 2,   // an allocation failed
    LW_MISUSE = 3,      // the call itself is wrong (NULL handle, bad enumerator, struct_size 0)
    LW_UNAVAILABLE = 4, // this build or this machine lacks the feature; see the diagnostics
} lw_status;

LW_API const char *lw_version(void);                 // "0.1.0"
LW_API const char *lw_status_name(lw_status status); // "out of memory"
// Did you mean ...? Returns the name that `word` most likely misspells; NULL if none is near.
LW_API const char *lw_nearest(const char *word, const char *const *names, size_t count);

// --- Context -------------------------------------------------------------------------------------
typedef struct lw_context_options {
    size_t struct_size;
    // All memory of the context comes from `alloc` and is returned to `free` with its size; any
    // thread that uses the context may call them. `alloc` returns memory aligned for any type, or
    // NULL if there is none. If both are NULL, the C library's functions are used.
    void *(*alloc)(void *user, size_t size);
    void (*free)(void *user, void *ptr, size_t size);
    // Called after each step of the compiler with its name and duration, by the thread that ran it.
    void (*trace)(void *user, const char *step, double microseconds);
    void *user;   // passed to all of these functions
    size_t chunk; // bytes per call of `alloc`; 0: from 16 KiB, doubling up to a megabyte
    // The tuning database (docs/tuning-database.md): a file, or several separated by colons of
    // which only the first is written; "none": none. NULL: LW_DB, or the default file. It is opened
    // at the first compilation without a schedule; SQLite allocates from the C library.
    const char *database;
    // A described processor family (docs/spaces.md) such as "zen4", to choose, bound and compile
    // for instead of this machine. The code runs only if this machine has its instructions. NULL:
    // LW_MACHINE, or this machine.
    const char *machine;
    // Called with the result of each step that the environment variable LW_DUMP lists ("all", or
    // names separated by commas: parse, bind, look_up, choose, lower, verify, generate), as text.
    void (*dump)(void *user, const char *step, const char *text);
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
    const char *file;             // NULL if there is no location; the next four are then 0
    int32_t line, column;         // of the first byte, counted from 1; columns count bytes
    int32_t end_line, end_column; // of the byte after the last one
    const char *text;             // lower case, no full stop
    size_t note_count;            // notes: origins, reasons, the fix
    const struct lw_diag *const *notes;
} lw_diag;

LW_API size_t lw_diag_count(lw_context *ctx);
LW_API const lw_diag *lw_diag_get(lw_context *ctx, size_t i); // NULL past the end
// All diagnostics as text, each with its source line and a caret; "" if there are none.
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
    bool unchecked; // unsafe: sets `unproven` and `unchecked_index`, and also applies illegal
                    // transformations of a TeML program
    bool partial;   // if some functions of a text have errors, the status is LW_ERROR, and the
                    // result is a module of the others, if there are any
    bool unproven;  // accept a Stripe program, or a step of a TeML program, that can be neither
                    // proven nor refuted
    bool unchecked_index; // compiled code does not check data-dependent subscripts: one outside its
                          // tensor reads or writes other memory
    bool as_written;      // run the loops of a Stripe program as written, even if it is flat
    const struct lw_size *parameters; // values of the parameters (`param`) of a TeML program, in
    size_t parameter_count;           // place of those in its text
    bool no_path; // the assignments of a TeML program without its transformations: loops are chosen
                  // for them, and Schedules apply
} lw_parse_options;

enum { LW_MAX_SOURCE = 16 * 1024 * 1024 }; // bytes of one text; a language may allow less

// `name` appears in diagnostics and determines the language if `options` does not. The text has
// `len` bytes, which may have any value. Warnings do not make a call fail.
LW_API lw_status lw_parse(lw_context *ctx, const char *name, const char *text, size_t len,
                          const lw_parse_options *options, lw_module **out);
LW_API lw_status lw_parse_file(lw_context *ctx, const char *path, const lw_parse_options *options,
                               lw_module **out);
// NumPy's einsum, "ij,jk->ik": a module of one function `einsum` with inputs in0, in1, ... and the
// output `out`. Only the types and shapes of the operands are read; the shapes determine
// broadcasting.
LW_API lw_status lw_parse_einsum(lw_context *ctx, const char *spec, const DLTensor *const *operands,
                                 size_t count, lw_module **out);

// The order of contraction. Three or more operands are contracted in pairs, in the cheapest order
// found, if that takes at least 10 % fewer operations than one nest over all labels.
typedef struct lw_einsum_options {
    size_t struct_size;
    double memory_limit; // limit on the elements of an intermediate result; 0: none
    bool as_written;     // one nest over all labels
    DLDataType dtype;    // type of the computation and of the result; zero: see docs/einsum.md
    // The order: for each step the number of its operands and their positions in the list of
    // remaining operands; its result is appended to that list. NULL: chosen.
    const int32_t *path;
    size_t path_length; // number of integers in `path`
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
    double flops;    // operations of all steps, and of sums over single operands before them
    double one_nest; // operations of one nest over all labels
    double largest;  // elements of the largest intermediate result; 0: there is none
} lw_einsum_plan;

// lw_parse_einsum with options, which may be NULL. Stores the chosen order in `plan`, unless that
// is NULL; it lives as long as the diagnostics of this call.
LW_API lw_status lw_parse_einsum_with(lw_context *ctx, const char *spec,
                                      const DLTensor *const *operands, size_t count,
                                      const lw_einsum_options *options, lw_module **out,
                                      const lw_einsum_plan **plan);
LW_API void lw_module_free(lw_module *mod);

LW_API size_t lw_module_function_count(const lw_module *mod);
LW_API const lw_function *lw_module_function(const lw_module *mod, size_t i); // NULL past the end
LW_API const lw_function *lw_module_find(const lw_module *mod, const char *name); // NULL: none
// The value of each name of a TeML program, as trees; NULL for other languages.
LW_API const char *lw_module_store(const lw_module *mod);

// A parameter of a TeML program: `param T = 32 in [8, 16, 32]`.
typedef struct lw_parameter {
    size_t struct_size;
    const char *name;
    int64_t value; // in this module
    size_t choice_count;
    const int64_t *choices; // the values that the text allows; none: any
} lw_parameter;
// NULL: there is no parameter `i`. Valid as long as the module.
LW_API const lw_parameter *lw_module_parameter(const lw_module *mod, size_t i);

// --- Functions: sizes still symbolic -------------------------------------------------------------
typedef enum lw_role {
    LW_INPUT = 0,
    LW_OUTPUT = 1,
    LW_INOUT = 2, // an output whose old content matters
    LW_TEMP = 3,  // a temporary
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
    const char *const *origin; // index of the first element per dimension, usually "0"
    const char *text;          // "f32(N, H - KH + 1) O"; a dimension with an origin is "1:N - 1"
} lw_tensor;

// An argument of a call, in the order of the signature: an input tensor, or an integer argument,
// which is a parameter.
typedef struct lw_argument {
    const char *name;
    int32_t tensor; // its number among the tensors; -1: an integer argument
    int32_t param;  // its number among the parameters; -1: a tensor
} lw_argument;

// For a NULL function, bound function or kernel, these queries and those below return an empty
// text, 0, NULL or -1.
LW_API const char *lw_function_name(const lw_function *f);
// "mv(f32(M, K) A, f32(K) x) -> (f32(M) C)"; in-out results are marked `inout`.
LW_API const char *lw_function_signature(const lw_function *f);
// The assignments of a TeML function as loops in the order of the text, without its path: two
// functions with the same arguments and assignments compute the same. "" in other languages.
LW_API const char *lw_function_assignments(const lw_function *f);
// Its loops are written in its text (Stripe, TeML): it is a Tree, and has no Schedule.
LW_API bool lw_function_is_tree(const lw_function *f);
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
// LW_ERROR. For bindings to other languages, whose errors a DLTensor cannot express.
LW_API lw_status lw_argument_error(lw_context *ctx, const lw_function *f, const char *name,
                                   const char *text);

// --- Binding sizes -------------------------------------------------------------------------------
typedef struct lw_size {
    const char *name;
    int64_t value;
} lw_size;

// Binds sizes by name, in any order. Each parameter of the function must occur exactly once.
LW_API lw_status lw_bind(lw_context *ctx, const lw_function *f, const lw_size *sizes, size_t count,
                         lw_bound **out);
// By position: values[i] is parameter i.
LW_API lw_status lw_bind_values(lw_context *ctx, const lw_function *f, const int64_t *values,
                                size_t count, lw_bound **out);
// Binds sizes from the shapes of arguments in the order of lw_run (NULL: not available), and the
// others by name. It is an error if arguments contradict each other or a given size.
LW_API lw_status lw_bind_tensors(lw_context *ctx, const lw_function *f, const DLTensor *const *args,
                                 size_t arg_count, const lw_size *sizes, size_t count,
                                 lw_bound **out);
LW_API void lw_bound_free(lw_bound *b);

LW_API const lw_function *lw_bound_function(const lw_bound *b);
LW_API int64_t lw_bound_value(const lw_bound *b, size_t param);
// Shape and type of tensor i (numbered as in the function): data NULL, strides compact.
LW_API const DLTensor *lw_bound_tensor(const lw_bound *b, size_t i); // NULL past the end
LW_API const int64_t *lw_bound_origin(const lw_bound *b, size_t i);  // ndim numbers
// Whether values of tensor i are used as subscripts. If so, lo to hi (inclusive) are values that
// are valid indices everywhere (lo > hi: there are none). lo is -1 where the program guards every
// use against negative ones, as in  I(b) >= 0 ? E(I(b)) : 0.
LW_API bool lw_bound_index_range(const lw_bound *b, size_t i, int64_t *lo, int64_t *hi);
// The number of statement iterations that a run executes; saturates at INT64_MAX.
LW_API int64_t lw_bound_instances(const lw_bound *b);
// Whether a run writes every element of result i. If not, elements may keep their content, so clear
// the memory of a new result first.
LW_API bool lw_bound_writes_all(const lw_bound *b, size_t i);

// --- Text forms ----------------------------------------------------------------------------------
typedef enum lw_stage {
    LW_STAGE_PROGRAM = 0,  // Program text (.lwp), which parses back to itself
    LW_STAGE_SCHEDULE = 1, // Schedule text (.lws), likewise; bound functions only, like the rest
    LW_STAGE_TREE = 2,     // the loops, one line each
    LW_STAGE_STRIPE = 3,   // the loops as Stripe text (.stripe), which parses back to itself
    LW_STAGE_ASM = 4,      // the machine code as assembly text, between the lines of the Tree
    LW_STAGE_REPORT = 5,   // an analysis of the code of each nest, and compile times
    LW_STAGE_PTX = 6,      // kernels for NVIDIA GPUs, as PTX text: docs/gpu.md
    LW_STAGE_SCHEDULE_TREE = 7, // the steps of polyhedral scheduling by TC's mapping options
    LW_STAGE_DEPENDENCES = 8,   // dependences between statements, memory- and value-based
    LW_STAGE_TEML = 9, // a TeML program whose path makes these loops, if there is one: docs/teml.md
} lw_stage;

// A Schedule: docs/schedules.md. All zero: chosen for the machine. The empty text: every loop as it
// is written. A machine description (docs/machines.md) may replace it: its passes make the loops.
typedef struct lw_schedule_text {
    const char *text; // a Schedule, or "mapping OPTIONS" (docs/proofs.md); NULL: none
    const char *name; // file name in diagnostics; may be NULL
} lw_schedule_text;

typedef struct lw_show_options {
    size_t struct_size;
    lw_schedule_text schedule;
    bool cost;       // Tree: the bytes that each block touches and moves, and its operations
    bool json;       // report or Tree: one JSON object; that of a Tree has the costs of each line
    const char *isa; // code: "scalar", "avx2" or "avx512", whether or not this machine has it;
                     // NULL: the best one of this machine
    int threads;     // to choose a schedule for; 0: LW_THREADS, or the processors of this process
    // "cuda:0" or "emulate". Schedule: the one of that device. PTX, with `json`: one JSON object
    // with the kernels as the device runs them (threads, registers, shared memory, blocks per
    // processor, waves), the loops that became kernels with their costs, and the code with the line
    // of its loop. NULL: no device.
    const char *device;
} lw_show_options;

// The text belongs to the context and lives as long as the diagnostics of this call.
LW_API lw_status lw_function_show(lw_context *ctx, const lw_function *f, lw_stage stage,
                                  const char **out);
LW_API lw_status lw_bound_show(lw_context *ctx, const lw_bound *b, lw_stage stage,
                               const char **out);
LW_API lw_status lw_bound_show_with(lw_context *ctx, const lw_bound *b, lw_stage stage,
                                    const lw_show_options *options, const char **out);

// --- Edits ---------------------------------------------------------------------------------------
// Schedules and Trees changed step by step: docs/edit.md. Both are immutable: an edit returns a new
// object, or LW_ERROR with the reason in the diagnostics; the old one stays valid, so keeping it is
// undo. An lw_schedule is a Schedule of a bound function, and every edit of it is correct; an
// lw_tree is any Tree, and an edit that its dependences forbid is refused.
typedef struct lw_schedule lw_schedule;
typedef struct lw_tree lw_tree;

typedef enum lw_loop_kind {
    LW_LOOP_SERIAL = 0,
    LW_LOOP_ANY = 1, // unordered
    LW_LOOP_PARALLEL = 2,
    LW_LOOP_UNROLL = 3,
    LW_LOOP_VECTOR = 4,
    LW_LOOP_GRID_X = 5,
    LW_LOOP_GRID_Y = 6,
    LW_LOOP_GRID_Z = 7,
    LW_LOOP_THREAD_X = 8,
    LW_LOOP_THREAD_Y = 9,
    LW_LOOP_THREAD_Z = 10,
    LW_LOOP_WARP = 11,
    LW_LOOP_LANE = 12,
    LW_LOOP_CLUSTER = 13, // blocks of a cluster
} lw_loop_kind;
LW_API const char *lw_loop_kind_name(lw_loop_kind kind); // "parallel"; NULL: no such kind

typedef enum lw_node_type {
    LW_NODE_LOOP = 0,
    LW_NODE_GUARD = 1, // a block without a loop
    LW_NODE_LEAF = 2,  // a statement, or its initialisation
    LW_NODE_SPECIAL = 3,
} lw_node_type;

// A node of a Tree. Nodes are numbered in pre-order.
typedef struct lw_node {
    lw_node_type type;
    int32_t parent;        // -1: none
    int32_t depth;         // number of enclosing nodes
    int32_t line;          // its line in the text, from 1; 0: none
    const char *text;      // that line, without indentation
    const char *statement; // label of the first statement of a loop, or of a leaf's; NULL: none
    // Of a loop:
    const char *name; // of its index
    const char *loop; // its name in edit scripts, "C:m/64"; NULL: no statement's order has it
    int64_t extent;
    lw_loop_kind kind;
    bool
        repeated; // around an initialisation or a post-operation: edits act on the statement's loop
    bool reduction; // over an iterator that the statement reduces
    int64_t tail;   // iterator values left for its last iteration, if the split does not divide; 0:
                    // it does
    // One whole execution:
    double touches; // bytes of distinct elements
    double moves;   // bytes loaded and stored by leaves, nothing kept
    double flops;
    double iterations; // of leaves
} lw_node;

// An access of a leaf, and its stride in elements along each loop around the leaf that changes it.
typedef struct lw_access {
    int32_t leaf;
    const char *buffer;
    bool write;
    size_t loop_count;
    const int32_t *loops; // numbers of nodes
    const int64_t *strides;
} lw_access;

// A schedule to edit. Of the options, schedule, isa and threads are used; NULL: the chosen one.
LW_API lw_status lw_schedule_new(lw_context *ctx, const lw_bound *b, const lw_show_options *options,
                                 lw_schedule **out);
LW_API void lw_schedule_free(lw_schedule *s);
LW_API const lw_bound *lw_schedule_bound(const lw_schedule *s);
// For lw_run_options, lw_compile_options and others.
LW_API lw_schedule_text lw_schedule_get(const lw_schedule *s);
LW_API const char *lw_schedule_tree(const lw_schedule *s); // its Tree, as of LW_STAGE_TREE
LW_API size_t lw_schedule_node_count(const lw_schedule *s);
LW_API const lw_node *lw_schedule_node(const lw_schedule *s, size_t i); // NULL past the end
LW_API size_t lw_schedule_access_count(const lw_schedule *s);
LW_API const lw_access *lw_schedule_access(const lw_schedule *s, size_t i); // NULL past the end
// The node of a loop: "C:m/64", or "m/64" if that is one loop only; -1: there is none, -2: several.
LW_API int lw_schedule_find(const lw_schedule *s, const char *loop);
LW_API int lw_schedule_cursor(const lw_schedule *s); // the node; -1: none

// Runs an edit script, "split m 64; swap; vectorize". Errors are located in it; `name` is its name
// in diagnostics, or NULL. The result has the cursor where the script left it.
LW_API lw_status lw_schedule_edit(lw_context *ctx, const lw_schedule *s, const char *name,
                                  const char *script, lw_schedule **out);
// Whether each of `count` scripts would be accepted, alone.
LW_API lw_status lw_schedule_accepts(lw_context *ctx, const lw_schedule *s,
                                     const char *const *scripts, size_t count, bool *out);
// The lower bound of the time of a call (docs/spaces.md) with the decisions of this schedule, as
// far as the space has them, in seconds. Measures the machine if necessary. `threads` as in
// lw_space_options.
LW_API lw_status lw_schedule_lower_bound(lw_context *ctx, const lw_schedule *s, int threads,
                                         double *out);
// The actions of scripts: "split [LOOP] N", and what it does. NULL past the end.
LW_API const char *lw_schedule_action(size_t i, const char **meaning);

// Single actions. Loops are numbers of nodes; the cursor follows the loop.
LW_API lw_status lw_schedule_goto(lw_context *ctx, const lw_schedule *s, int loop,
                                  lw_schedule **out);
LW_API lw_status lw_schedule_split(lw_context *ctx, const lw_schedule *s, int loop, int64_t inner,
                                   bool interleaved, lw_schedule **out);
LW_API lw_status lw_schedule_merge(lw_context *ctx, const lw_schedule *s, int loop,
                                   lw_schedule **out);
LW_API lw_status lw_schedule_swap(lw_context *ctx, const lw_schedule *s, int a, int b,
                                  lw_schedule **out);
LW_API lw_status lw_schedule_move(lw_context *ctx, const lw_schedule *s, int loop, int to,
                                  lw_schedule **out);
// The loops over the iterator of `loop` run ahead by `factor` times that of `by`; 0: no longer.
LW_API lw_status lw_schedule_skew(lw_context *ctx, const lw_schedule *s, int loop, int by,
                                  int64_t factor, lw_schedule **out);
LW_API lw_status lw_schedule_annotate(lw_context *ctx, const lw_schedule *s, int loop,
                                      lw_loop_kind kind, lw_schedule **out);
// loop -1: the whole tensor.
LW_API lw_status lw_schedule_copy_input(lw_context *ctx, const lw_schedule *s,
                                        const char *statement, const char *tensor, int loop,
                                        lw_schedule **out);
LW_API lw_status lw_schedule_drop_copy(lw_context *ctx, const lw_schedule *s, const char *statement,
                                       const char *tensor, lw_schedule **out);
LW_API lw_status lw_schedule_increase_reuse(lw_context *ctx, const lw_schedule *s,
                                            const char *statement, lw_schedule **out);
LW_API lw_status lw_schedule_decrease_reuse(lw_context *ctx, const lw_schedule *s,
                                            const char *statement, lw_schedule **out);
LW_API lw_status lw_schedule_compute_at(lw_context *ctx, const lw_schedule *s,
                                        const char *statement, int loop, lw_schedule **out);
LW_API lw_status lw_schedule_inline(lw_context *ctx, const lw_schedule *s, const char *statement,
                                    lw_schedule **out);
LW_API lw_status lw_schedule_after(lw_context *ctx, const lw_schedule *s, const char *statement,
                                   const char *host, lw_schedule **out);
LW_API lw_status lw_schedule_root(lw_context *ctx, const lw_schedule *s, const char *statement,
                                  lw_schedule **out);
LW_API lw_status lw_schedule_swap_dims(lw_context *ctx, const lw_schedule *s, const char *statement,
                                       int a, int b, lw_schedule **out);

// The Tree of a bound function; of the options, schedule, isa and threads are used. A new Tree
// keeps the one that it was made from.
LW_API lw_status lw_tree_new(lw_context *ctx, const lw_bound *b, const lw_show_options *options,
                             lw_tree **out);
LW_API void lw_tree_free(lw_tree *t);
LW_API const char *lw_tree_show(const lw_tree *t);   // one line per node, as of LW_STAGE_TREE
LW_API const char *lw_tree_stripe(const lw_tree *t); // Stripe text, for lw_parse
LW_API size_t lw_tree_node_count(const lw_tree *t);
LW_API const lw_node *lw_tree_node(const lw_tree *t, size_t i); // NULL past the end
// The node of `to` that node `i` of `from` has become; -1: gone.
LW_API int lw_tree_follow(const lw_tree *from, int i, const lw_tree *to);
// A module with the Tree as its one function.
LW_API lw_status lw_tree_module(lw_context *ctx, const lw_tree *t, lw_module **out);

// Runs a script of transformations; errors are located in `name` (NULL: "<edit>").
LW_API lw_status lw_tree_edit(lw_context *ctx, const lw_tree *t, const char *name,
                              const char *script, lw_tree **out);
// The i-th transformation of scripts, "split LOOP N", with its meaning; NULL past the end.
LW_API const char *lw_tree_action(size_t i, const char **meaning);

// docs/transformations.md shows each, and when it is legal.
LW_API lw_status lw_tree_split(lw_context *ctx, const lw_tree *t, int loop, int64_t inner,
                               bool interleaved, lw_tree **out);
LW_API lw_status lw_tree_merge(lw_context *ctx, const lw_tree *t, int loop, lw_tree **out);
LW_API lw_status lw_tree_interchange(lw_context *ctx, const lw_tree *t, int loop, lw_tree **out);
LW_API lw_status lw_tree_move(lw_context *ctx, const lw_tree *t, int node, int by, lw_tree **out);
LW_API lw_status lw_tree_sink(lw_context *ctx, const lw_tree *t, int leaf, int loop, lw_tree **out);
LW_API lw_status lw_tree_fuse(lw_context *ctx, const lw_tree *t, int loop, lw_tree **out);
LW_API lw_status lw_tree_distribute(lw_context *ctx, const lw_tree *t, int loop, int at,
                                    lw_tree **out);
LW_API lw_status lw_tree_unroll(lw_context *ctx, const lw_tree *t, int loop, lw_tree **out);
LW_API lw_status lw_tree_unroll_and_jam(lw_context *ctx, const lw_tree *t, int loop, int64_t factor,
                                        lw_tree **out);
LW_API lw_status lw_tree_annotate(lw_context *ctx, const lw_tree *t, int loop, lw_loop_kind kind,
                                  lw_tree **out);
LW_API lw_status lw_tree_tile(lw_context *ctx, const lw_tree *t, int loop, int64_t outer,
                              int64_t inner, lw_tree **out);
LW_API lw_status lw_tree_skew(lw_context *ctx, const lw_tree *t, int loop, int by, int64_t factor,
                              lw_tree **out);
LW_API lw_status lw_tree_peel(lw_context *ctx, const lw_tree *t, int loop, int64_t n,
                              lw_tree **out);
LW_API lw_status lw_tree_stage(lw_context *ctx, const lw_tree *t, const char *buffer, int loop,
                               lw_tree **out);
LW_API lw_status lw_tree_unstage(lw_context *ctx, const lw_tree *t, const char *buffer, int loop,
                                 lw_tree **out);
LW_API lw_status lw_tree_copy_input(lw_context *ctx, const lw_tree *t, const char *buffer, int loop,
                                    lw_tree **out);
LW_API lw_status lw_tree_drop_copy(lw_context *ctx, const lw_tree *t, const char *buffer,
                                   lw_tree **out);
LW_API lw_status lw_tree_swap_layout(lw_context *ctx, const lw_tree *t, const char *buffer, int a,
                                     int b, lw_tree **out);

// --- Passes --------------------------------------------------------------------------------------
// Stripe's passes over the loops of a bound function: docs/passes.md.

// The text of a machine description, with all that it includes: one that is shipped ("avx512"), or
// a file. NULL: this machine, as detected and measured. The text lives as long as that of
// lw_bound_show.
LW_API lw_status lw_machine_describe(lw_context *ctx, const char *name, const char **out);

typedef struct lw_passes_options {
    size_t struct_size;
    lw_schedule_text machine; // a description
    const char *until;        // label of the last pass to run; NULL: all
    lw_stage stage;           // LW_STAGE_TREE or LW_STAGE_STRIPE: the form of the loops;
                              // LW_STAGE_SCHEDULE: the Schedule that makes the last ones
    bool each;                // the loops after every pass that changed them
    bool explain;             // what each pass did to which block, and why
    bool cost;                // with LW_STAGE_TREE: as in lw_show_options
    bool json;                // a JSON array, one object per pass: the loops, notes, and the
                              // footprint of each block in each memory unit
} lw_passes_options;

// The loops after the passes of a machine.
LW_API lw_status lw_bound_passes(lw_context *ctx, const lw_bound *b,
                                 const lw_passes_options *options, const char **out);

// The simulator of a described machine, after its passes: docs/simulator.md.
typedef enum lw_simulation {
    LW_SIMULATION_TEXT = 0,
    LW_SIMULATION_JSON = 1, // one object
    LW_SIMULATION_SVG = 2,  // the timeline: a row per unit and transfer engine
} lw_simulation;

typedef struct lw_simulate_options {
    size_t struct_size;
    lw_schedule_text machine; // a description
    const char *until;        // label of the last pass to run; NULL: all
    lw_simulation form;
    // Execute the loops on these arguments, as lw_run takes them; results are stored. NULL: count
    // without executing. Both find the same tasks and times.
    const DLTensor *const *args;
    size_t count;
} lw_simulate_options;

// Cycles, transfers and memory of the loops on the machine. LW_ERROR, with a located diagnostic, if
// an access does not lie in the unit that it names, or a unit is too small.
LW_API lw_status lw_bound_simulate(lw_context *ctx, const lw_bound *b,
                                   const lw_simulate_options *options, const char **out);

// --- Spaces --------------------------------------------------------------------------------------
// The decisions that can be made about a bound function: docs/spaces.md.
typedef struct lw_space_options {
    size_t struct_size;
    lw_schedule_text schedule; // makes its decisions; its sizes and layouts become possible values
    const char *mapping;       // TC's mapping options, likewise; NULL: none
    const char *set;           // decisions to make, "kind(C.m.0) = VECTOR; ..."; NULL: none
    bool explain;              // name the constraint that removed each value
    bool complete;             // instead of a report: one random implementation as Schedule text
    int threads;               // 1: no parallel loops; 0: parallel loops
    int64_t samples;           // samples of each estimate; 0: 1000
    uint64_t seed;
    bool explain_bound; // instead of estimates: the lower bound of the time, as a tree
    bool json; // instead of a report: one JSON object with the bound, the time of each resource,
               // and the bound of every other value of each decision of `schedule`, in us
    const char *device; // the space of a GPU, "cuda:0" or "emulate"; NULL: this processor's
} lw_space_options;

// A report: the consequences of the decisions, the number of implementations, the lower bound of
// their time (at the rates of lw_machine_get, which explain_bound measures if necessary), and the
// open decisions. The text lives as long as that of lw_bound_show.
LW_API lw_status lw_bound_space(lw_context *ctx, const lw_bound *b, const lw_space_options *options,
                                const char **out);

// --- Files ---------------------------------------------------------------------------------------
typedef enum lw_emit {
    LW_EMIT_C = 0,      // stand-alone C99 source and its header: docs/c-output.md
    LW_EMIT_OBJ = 1,    // a relocatable ELF object of machine code, and its header: docs/aot.md
    LW_EMIT_ASM = 2,    // the same as text for the GNU assembler
    LW_EMIT_SO = 3,     // the same as a shared library, by the system's linker
    LW_EMIT_PTX = 4,    // kernels for NVIDIA GPUs, and a header that launches them: docs/gpu.md
    LW_EMIT_STRIPE = 5, // the loops as Stripe text, which parses back; no header: docs/trees.md
    LW_EMIT_CUBIN = 6,  // the kernels of PTX as machine code of one architecture, by libnvJitLink
                        // or ptxas (else LW_UNAVAILABLE), and the same header
} lw_emit;

typedef struct lw_emit_options {
    size_t struct_size;
    lw_schedule_text schedule;
    const char *name;   // name of the function in C; NULL: its own name
    const char *header; // file that C source includes; NULL: NAME.h; "": included in the source
    const char *isa;    // machine code: "scalar", "avx2" or "avx512", whether or not this machine
                        // has it; NULL: the best one of this machine. PTX and machine code of GPUs:
                        // "sm_80" (or NULL) and up
    int threads; // to choose a schedule for; 0: LW_THREADS, or the processors of this process
} lw_emit_options;

// The contents of a file and of its header. They belong to the context and live as long as the
// diagnostics of this call.
typedef struct lw_emitted {
    const char *function; // name in C
    const char *bytes;    // the file; a text ends with a NUL that is not counted
    size_t size;
    const char *header; // the header for C programs that use it; "" for Stripe text
    size_t header_size;
} lw_emitted;

LW_API lw_status lw_bound_emit(lw_context *ctx, const lw_bound *b, lw_emit what,
                               const lw_emit_options *options, lw_emitted *out);

// --- Running -------------------------------------------------------------------------------------
typedef enum lw_backend {
    LW_BACKEND_DEFAULT = 0, // the fastest available one
    LW_BACKEND_INTERP = 1,  // the reference interpreter: slow; it defines the meaning of programs
    LW_BACKEND_TREE = 2,    // the tree interpreter
    LW_BACKEND_C = 3,       // C, through the system's compiler
    LW_BACKEND_JIT = 4,     // machine code
    LW_BACKEND_GPU = 5,     // PTX, on lw_run_options.device; never the default
} lw_backend;

LW_API const char *lw_backend_name(lw_backend backend); // "interp"; NULL: no such backend
LW_API bool lw_backend_available(lw_backend backend);

// The cost of a run.
typedef struct lw_timing {
    size_t struct_size;
    lw_backend backend; // the one that ran
    double compile_us;  // 0 if nothing was compiled
    double run_us;
    // For compiled code with lw_run_options.measure_seconds; 0 otherwise:
    double median_us, p10_us, p90_us;
    int samples;
    // For compiled code, the work of one run:
    double flops; // operations; a fused multiply-add counts as two
    double bytes; // of all arguments
    size_t code_bytes;
    int threads;          // number of threads of parallel loops; 1: serial, or no parallel loop
    const char *isa;      // "avx512"; for compiled code, like the following members
    double written_bytes; // of results; in-out results also count as read
    int32_t float_bits;   // of the widest float type of the arguments, else of the computation; 0:
                          // no floats
    double best_us;       // the least of the samples of median_us
    const char *schedule; // its origin: "given", "chosen", "tuned" (from the tuning database),
                          // "hand" (stored by hand), "nearest" (tuned for other sizes)
    double int_ops;       // the integer operations among `flops`
    int chosen_threads;   // thread count that the schedule was chosen for; 0: it was given
    // If the schedule is "chosen" although the tuning database has one for these sizes, but for
    // another number of threads or another instruction set: these. 0 and NULL otherwise.
    int tuned_threads;
    const char *tuned_isa;
    double bound_us; // lower bound of the space, from tuning; 0: unknown. A median below it refutes
                     // the bound
    int kernels;     // gpu: of one run
    bool as_graph;   // gpu: they were launched as one CUDA graph, not one by one. Runs are from the
                     // second one on the same arguments on
} lw_timing;

typedef struct lw_run_options {
    size_t struct_size;
    lw_backend backend;
    bool accumulate;           // op=! starts from the content of the output, not the identity
    bool skip_post;            // skip post-operations
    bool trap_uninitialised;   // reading an element that was never written is an error (interp)
    lw_timing *timing;         // filled in by the run; may be NULL
    lw_schedule_text schedule; // not for the reference interpreter, which ignores loops
    double measure_seconds;    // jit: repeat the run for about this time, and fill in the medians
    int threads;     // jit: for parallel loops; 0: LW_THREADS, or the processors of this process
    const char *isa; // jit: highest instruction set, scalar, avx2 or avx512; NULL: LW_ISA, or all
    // gpu: "cuda:0", "cuda:1" ..., or "emulate", the emulator of PTX, which needs no GPU and checks
    // every access; NULL: "cuda:0". Setting it selects LW_BACKEND_GPU.
    const char *device;
    // gpu: the CUstream on which the run happens, for example torch's; NULL: the default stream.
    // The call waits for the results only if arguments are in host memory, if indices from data are
    // checked, or if `timing` is set.
    void *stream;
} lw_run_options;

// Runs on arguments in host memory: inputs, then outputs, with the shapes of lw_bound_tensor and
// any strides (but an output must not overlap itself). An output must not overlap another argument.
// With options.device, arguments may also be in the memory of that device (kDLCUDA); those in host
// memory are copied there and back.
// After a failure the content of the outputs is unspecified.
LW_API lw_status lw_run(lw_context *ctx, const lw_bound *b, const DLTensor *const *args,
                        size_t count, const lw_run_options *options);

// lw_parse_einsum, lw_bind_tensors and lw_run in one: out = einsum(spec, operands).
LW_API lw_status lw_einsum(lw_context *ctx, const char *spec, const DLTensor *const *operands,
                           size_t count, const DLTensor *out, const lw_run_options *options);

// --- Kernels -------------------------------------------------------------------------------------
// lw_run compiles on demand and caches its machine code. A kernel is the same machine code under
// the caller's control: the caller decides when it is compiled and freed, and running it needs no
// lookup. Many threads may run it at once.
typedef struct lw_compile_options {
    size_t struct_size;
    lw_schedule_text schedule;
    const char *isa; // highest instruction set, "scalar", "avx2" or "avx512"; NULL: LW_ISA, or all
    // Arguments with the strides to compile for, in the order of lw_run; NULL, or a NULL argument:
    // dense. Only types, shapes and strides are read.
    const DLTensor *const *args;
    int threads; // to choose a schedule for; 0: LW_THREADS, or the processors of this process
} lw_compile_options;

LW_API lw_status lw_compile(lw_context *ctx, const lw_bound *b, const lw_compile_options *options,
                            lw_kernel **out);
LW_API lw_kernel *lw_kernel_hold(lw_kernel *k); // adds a reference, and returns k
LW_API void lw_kernel_free(lw_kernel *k);       // drops a reference; the last one frees k

typedef struct lw_kernel_info {
    const char *name;     // of the function
    const char *isa;      // "avx512"
    size_t arg_count;     // inputs and outputs
    double flops;         // operations of one run; a fused multiply-add counts as two
    double bytes;         // of all arguments
    double written_bytes; // of results
    size_t code_bytes;
    int64_t scratch;        // bytes that lw_kernel_call needs for one thread
    int64_t thread_scratch; // bytes that it needs for every further thread
    bool parallel;          // has parallel loops
    double compile_us;      // 0: it was already compiled
    const char *schedule;   // as in lw_timing
    double int_ops;         // the integer operations among `flops`
} lw_kernel_info;

LW_API const lw_kernel_info *lw_kernel_get_info(const lw_kernel *k);
LW_API const lw_bound *lw_kernel_bound(const lw_kernel *k);
// Type, shape and strides of argument i: data NULL. NULL past the end.
LW_API const DLTensor *lw_kernel_tensor(const lw_kernel *k, size_t i);
// LW_STAGE_ASM or LW_STAGE_REPORT of this code, as lw_bound_show_with gives them.
LW_API lw_status lw_kernel_show(lw_context *ctx, const lw_kernel *k, lw_stage stage, bool json,
                                const char **out);

// Like lw_run, with checked arguments; they must have the strides that the kernel was compiled for.
// The backend, schedule and isa of the options are ignored.
LW_API lw_status lw_kernel_run(lw_context *ctx, const lw_kernel *k, const DLTensor *const *args,
                               size_t count, const lw_run_options *options);
// Calls the code without checking arguments: one pointer per argument to its first element, and
// scratch memory aligned to 64 bytes, or NULL if none is needed. Returns 0, or 1000 + the number of
// the statement whose subscript was out of range; or -1, without running, if scratch is NULL but
// needed. Parallel loops are divided among `threads` threads.
LW_API int lw_kernel_call(const lw_kernel *k, void *const *buffers, void *scratch, int threads);

// --- Tuning --------------------------------------------------------------------------------------
// Finds a fast schedule by measuring: docs/tuning.md. Candidates are compiled, checked against the
// reference and timed in separate processes; one that crashes, hangs or is wrong is recorded and
// never ends the tuning.
typedef enum lw_trial_state {
    LW_TRIAL_TIMED = 0,     // right, and timed
    LW_TRIAL_SLOW = 1,      // clearly slower: `seconds` is approximate, or a lower limit
    LW_TRIAL_DECLINED = 2,  // does not lower or compile
    LW_TRIAL_WRONG = 3,     // its result differs from the reference
    LW_TRIAL_CRASHED = 4,   // it, or its compilation, crashed the process
    LW_TRIAL_HUNG = 5,      // exceeded the time limit
    LW_TRIAL_CANCELLED = 6, // the tuning ended first
} lw_trial_state;

LW_API const char *lw_trial_state_name(lw_trial_state state); // "timed"; NULL: no such state
// The names of the strategies, terminated by NULL; the first is the default.
LW_API const char *const *lw_tune_strategies(void);

// One measured candidate; valid during the callback.
typedef struct lw_trial {
    int64_t number; // from 0, in the order of measuring
    lw_trial_state state;
    double at;                 // seconds since the tuning began
    double seconds, low, high; // of one call: the median and its 95 % confidence interval
    double bound;              // lower bound of implementations with its decisions; 0: unknown
    bool best;                 // became the best so far: its samples are significantly faster
    const char *schedule;      // text
    const char *reproducer;    // file that reproduces a failure; NULL: there was none
    double ratio; // median ratio to alternating samples of the best so far; 0: not compared
    int samples;  // number of samples of `seconds`
} lw_trial;

// A point of the curve of the best so far.
typedef struct lw_tune_point {
    double at; // seconds since the tuning began
    int64_t trials;
    double seconds;
} lw_tune_point;

// The state of a tuning.
typedef struct lw_tune_state {
    double elapsed; // seconds
    int64_t trials;
    int64_t count[8];          // number of trials by lw_trial_state
    double seconds, low, high; // of the best; 0: there is none yet
    double bound;              // lower bound of the whole space; 0: unknown
    double gap;                // (seconds - bound)/bound; 0: unknown
    double gflops;             // of the best; 0: unknown, or integers
    double peak;               // fraction of this machine's peak, 0 to 1; 0: unknown
    double kernel_time;        // seconds spent running candidates
    double compile_time;       // seconds spent compiling candidates
    double expected; // estimate of the least time of the tuning in seconds, whatever the budget
} lw_tune_state;

typedef struct lw_tune_options {
    size_t struct_size;
    // Budgets; the first that is exhausted ends the tuning. All zero: 5 seconds.
    double seconds;
    int64_t trials;
    double gap; // 0.03: stop when the best is within 3 % of the bound
    // The search.
    const char *strategy; // of lw_tune_strategies, with options, "beam width=8"; NULL: the first
    // The order of decisions: "given" (NULL), "reversed", "impact" (largest effect on the bound
    // first), or names of choices, "kind,size", whose decisions are made first.
    const char *order;
    uint64_t seed;
    int threads;                 // 0: LW_THREADS, or the processors of this process
    const char *isa;             // as in lw_run_options
    const DLTensor *const *args; // strides to tune for, as in lw_compile_options
    // Starting point; its sizes and layouts become possible values. Of a machine description the
    // parameters of its passes are tuned.
    lw_schedule_text schedule;
    const char *set; // fixed decisions, as in lw_space_options
    bool cold;       // flush the caches before every timed call
    // The database with the results of earlier tunings, which also stores this one's. NULL: LW_DB,
    // or the default file; "none".
    const char *db;
    bool again; // search even if the database has the result of such a search
    // The folder for reproducers; NULL: loopwright/failures in XDG_DATA_HOME; "none".
    const char *failures;
    const char *plugin; // distributes measurements over processes: docs/tuning.md; NULL: none
    // Callbacks; each may be NULL. They run on the calling thread.
    // `progress` is also called while the reference is computed, when there are no trials yet.
    void (*progress)(void *user, const lw_tune_state *state);
    void (*trial)(void *user, const lw_trial *trial);
    bool (*cancelled)(void *user); // true ends the tuning; the best so far is its result
    void *user;
    // Time candidates on the data of the inputs in `args` (those that are given and have data), and
    // on generated data for the others. Results are always checked on generated data.
    bool data;
    // Tune for a device, "cuda:0", whose times are those of runs in a CUDA graph; `threads` and
    // `isa` do not apply. "emulate": candidates are compared by an estimate from what the emulator
    // counts, not as times. NULL: this processor.
    const char *device;
} lw_tune_options;

// The result belongs to the context and lives as long as the diagnostics of this call.
typedef struct lw_tune_result {
    const lw_tune_state *state; // of the best: checked once more and timed in a fresh process
    const char *schedule;       // text, for lw_schedule_text
    const char *strategy; // strategy that found it; "database": there was no search; "chosen": the
                          // schedule chosen without search. That schedule with all times 0:
                          // "empty", nothing to compute; "cancelled", before the reference was done
    bool stored;          // in the database
    bool finished;        // everything was measured or ruled out: this is the best of the space
    bool served;          // this process measured for another, which has the result: all else is
                          // zero, and `finished` is set unless that process was lost
    double chosen;        // seconds of the schedule chosen without search; 0: unknown
    size_t point_count;   // the curve of the best so far
    const lw_tune_point *points;
    // Results that could not be checked, "K, L": on all available data they are constant, infinite
    // or NaN almost everywhere; NULL: none.
    const char *unchecked;
    // The schedule to start from is not in the space: it was measured as it is, and the search
    // started near it. `strategy` is "given" if nothing was faster.
    bool near;
    // A candidate ran faster than its lower bound, even at the rates of a new measurement of this
    // machine: the bound is wrong, and there is no certificate (state->bound is 0). "measured 1.8
    // us, below the bound of 2.2 us"; NULL: no.
    const char *refuted;
    const char *reproducer; // a file for a bug report; NULL: none was written
    // Of a machine description, which `schedule` then is: its lines that the given one lacks. NULL:
    // a Schedule was tuned.
    const char *changes;
    double described; // seconds of the given description; 0: unknown, or a Schedule was tuned
} lw_tune_result;

// Validates `strategy` and `order` as lw_tune would, without a function.
LW_API lw_status lw_tune_options_check(lw_context *ctx, const lw_tune_options *options);

// `options` may be NULL. If every candidate fails, the result is the schedule chosen without
// search; if that fails too, the call is an error.
LW_API lw_status lw_tune(lw_context *ctx, const lw_bound *b, const lw_tune_options *options,
                         const lw_tune_result **out);

// The result of comparing a schedule with the reference.
typedef struct lw_check_result {
    lw_trial_state state;   // LW_TRIAL_TIMED: it is right
    double seconds;         // of one call; 0: unknown
    const char *compared;   // method: "bit for bit, against interpreter"; NULL: there is no element
    const char *difference; // "C[2, 3] is 7, not 8; 3 of 64 elements differ"; NULL: not wrong
    const char *unchecked;  // results that could not be compared, as in lw_tune_result; NULL: none
    bool nothing;           // no result could be compared
} lw_check_result;

// Compiles the schedule of `options`, or the chosen one, runs it in a separate process and compares
// it with the reference like a candidate of lw_tune, on data generated from `seed`. Returns LW_OK
// even if it is wrong, LW_ERROR if it cannot be compiled.
LW_API lw_status lw_check(lw_context *ctx, const lw_bound *b, const lw_tune_options *options,
                          const lw_check_result **out);

// --- The tuning database -------------------------------------------------------------------------
// lw_run, lw_compile and others use tuned schedules if none is given; the functions below inspect
// and maintain the database: docs/tuning-database.md. All act on the context's database
// (lw_context_options.database). Results belong to the context and live as long as the diagnostics
// of the call. Unlike elsewhere, a database that cannot be used is an error here.
LW_API const char *lw_db_file(lw_context *ctx); // the file that is written; NULL: "none"

// One schedule for one kernel: a function with its sizes, strides and types, on a processor.
typedef struct lw_db_entry {
    int64_t kernel; // its number in the file
    int32_t rank;   // of this schedule among those of the kernel, from 0; rank 0 is used, unless it
                    // is slower than `chosen` and not pinned. With lw_db_options.check, -1 means a
                    // row that cannot be read, and all else is empty
    bool pinned;    // preferred to faster ones
    int32_t threads;
    const char *name;               // of the first tuned function with this kernel
    const char *program;            // canonical text: names are i0, t0, s0, ...
    const char *sizes;              // extents of the loops, by statement: "64,48,32"
    const char *strides;            // "": all arguments are dense
    const char *target, *cpu, *isa; // "x86-64", or "x86-64, cold": tuned with cold caches
    const char *schedule;           // in canonical names
    double seconds, low, high;      // of one call: the median and its 95 % confidence interval
    int64_t samples;
    double bound, gap;    // 0: unknown
    const char *date;     // "2026-11-15T09:30:00Z"
    const char *version;  // of the library
    const char *verified; // method of the comparison with the reference
    const char *origin;   // "tuned", "hand"
    int64_t trials;       // number of stored trials of the kernel
    double chosen;        // seconds of the schedule chosen without search; 0: unknown
    const char *wrong;    // with lw_db_options.check: why it would be ignored; NULL: it applies
    // With the names of the first tuned program; NULL: they are unknown.
    const char *named_sizes; // "M=64,K=32,N=48"
    const char *named_program, *named_schedule;
} lw_db_entry;

typedef struct lw_db_options {
    size_t struct_size;
    int64_t kernel; // only this one; 0: all
    bool best;      // only the first of each kernel
    bool check;     // lw_db_list: read the whole file, parse, lower and verify every schedule
    bool trials;    // lw_db_export, lw_db_merge: include trials
} lw_db_options;

// Lists entries by kernel, best first. `options` may be NULL, as everywhere.
LW_API lw_status lw_db_list(lw_context *ctx, const lw_db_options *options, const lw_db_entry **out,
                            size_t *count);

typedef struct lw_db_counts {
    size_t read, kept, refused, removed;
} lw_db_counts;

// JSON lines, the portable form: one object per entry. Imported and merged entries are parsed,
// lowered and verified first, and refused with a warning if they do not apply; the others are
// stored atomically. `counts` may be NULL.
LW_API lw_status lw_db_export(lw_context *ctx, const lw_db_options *options, const char **out);
LW_API lw_status lw_db_import(lw_context *ctx, const char *name, const char *text, size_t len,
                              lw_db_counts *counts);
LW_API lw_status lw_db_merge(lw_context *ctx, const char *file, const lw_db_options *options,
                             lw_db_counts *counts);

typedef struct lw_db_prune_options {
    size_t struct_size;
    int64_t keep; // number of fastest entries to keep per kernel; 0: all
    double days;  // delete entries older than this, unless pinned; 0: none
    bool trials;  // also delete trials, or with `days` the older ones
    bool bad;     // delete entries that do not apply
} lw_db_prune_options;

LW_API lw_status lw_db_prune(lw_context *ctx, const lw_db_prune_options *options,
                             lw_db_counts *counts);

// Stores a schedule by hand: compiles it, compares it with the reference and times it like a tuned
// one. Of the options, db, schedule, threads, isa, args, cold and seed are used. With `pin` it is
// used even if a stored schedule, or the one chosen without search, is faster.
LW_API lw_status lw_db_put(lw_context *ctx, const lw_bound *b, const lw_tune_options *options,
                           bool pin, const lw_tune_result **out);

// --- This machine --------------------------------------------------------------------------------
typedef enum lw_isa { LW_ISA_SCALAR = 0, LW_ISA_AVX2 = 1, LW_ISA_AVX512 = 2 } lw_isa;
typedef enum lw_level { LW_L1 = 0, LW_L2 = 1, LW_L3 = 2, LW_MEMORY = 3 } lw_level;
typedef enum lw_move { LW_LOAD = 0, LW_STORE = 1, LW_COPY = 2 } lw_move;

// The best measured rates of this machine. The last subscript is 0 for one core, 1 for all at once.
typedef struct lw_machine {
    const char *cpu;
    const char *isa;        // the highest available: "avx512"
    int32_t cores;          // processors of this process
    int64_t cache[3];       // bytes of L1 (data), L2, L3; 0: none
    double gflops[3][2][2]; // fused multiply-adds by lw_isa, in f32 and f64; 0: no such ISA
    double gbps[4][3]
               [2];   // by lw_level and lw_move; a copy counts both directions; 0: no such cache
    const char *json; // all of this as one JSON object
    const char *file; // file of the measurement; NULL: none
    bool measured;    // measured by this call, not read from the file
} lw_machine;

typedef struct lw_machine_options {
    size_t struct_size;
    bool remeasure;   // measure even if there is a file
    const char *file; // NULL: $XDG_CACHE_HOME/loopwright/machine-CPU-CORES.json; "": none
    bool improve; // measure even if there is a file, and keep the better of old and new rates: for
                  // a program faster than the old rates, which were measured in a slow phase
    const lw_timing *run; // NULL, or a run; rates by which it was too fast rise to its p10_us
} lw_machine_options;

// Measures for about two seconds with all cores busy, unless there is a file of an earlier
// measurement. The result belongs to the context and lives as long as the diagnostics of this call.
LW_API lw_status lw_machine_get(lw_context *ctx, const lw_machine_options *options,
                                const lw_machine **out);

// A device that runs kernels, by its name in lw_run_options.device. Rates are the best measured
// ones; 0: not measured, as those of "emulate".
typedef struct lw_device {
    const char *name;   // "cuda:0"
    const char *model;  // "NVIDIA H200"
    const char *target; // of PTX: "sm_90a"
    int32_t processors, clock_mhz;
    int64_t l2_bytes, memory_bytes;
    int64_t block_shared; // bytes of shared memory per block, at most
    double gflops[2];     // fused multiply-adds in f32 and f64
    double shared_gbps, l2_gbps;
    double gbps[3]; // of device memory, by lw_move; a copy counts both directions
    double launch_us;
    const char *json; // all of this as one JSON object
    const char *file; // file of the measurement; NULL: none
    bool measured;    // measured by this call, not read from the file
} lw_device;

// Measures for about a second unless there is a file of an earlier measurement,
// $XDG_CACHE_HOME/loopwright/gpu-MODEL-DRIVER.json. Lives like the result of lw_machine_get.
LW_API lw_status lw_device_get(lw_context *ctx, const char *name, const lw_machine_options *options,
                               const lw_device **out);

// The least time that this machine could need for the work of a run of compiled code: its
// operations at the peak rate of multiply-adds, or one transfer of its arguments between the
// processor and the innermost level that holds all of them, whichever takes longer. Every reported
// fraction of peak refers to this limit.
typedef struct lw_roof {
    double us;         // the larger of the next two
    double compute_us; // 0: no floats, or the rate is unknown
    double memory_us;
    bool compute; // the operations are the limit, not memory
    lw_level level;
    double peak; // GFLOP/s, or GB/s of this mix of loads and stores
    bool partly; // mostly integers, whose peak is not measured: there is no fraction of peak
} lw_roof;

LW_API lw_status lw_machine_roof(const lw_machine *machine, const lw_timing *timing, lw_roof *out);

// --- Graphs --------------------------------------------------------------------------------------
// Dataflow graphs with named dimensions and views by relations between indices; docs/graphs.md
// explains each function. Dimensions and nodes are small numbers. A call that fails returns LW_BAD,
// which every other call accepts silently, so that one mistake gives one diagnostic and only
// lw_graph_build must be checked. One thread at a time may use a graph.
typedef struct lw_graph lw_graph;

enum {
    LW_BAD = -1,
    // The border of a view, outside its input, is LW_BORDER_NONE (reading there is an error),
    // LW_BORDER_IDENTITY (the identity of the reduction that reads it), or a constant node.
    LW_BORDER_NONE = -1,
    LW_BORDER_IDENTITY = -2,
};

// Tap `taps` of the window at position `to` reads  from = step*to + dilation*taps - pad.  A step or
// dilation of 0 means 1.
typedef struct lw_window {
    int from, to, taps;
    int64_t step, dilation, pad;
} lw_window;

LW_API lw_status lw_graph_new(lw_context *ctx, const char *name, lw_graph **out);
LW_API lw_status lw_graph_parse(lw_context *ctx, const char *name, const char *text, size_t len,
                                lw_graph **out);
LW_API void lw_graph_free(lw_graph *g);
// Builds a module with the graph's one function; undetermined dimensions are its sizes. The graph
// may be built again.
LW_API lw_status lw_graph_build(lw_graph *g, lw_module **out);
// The graph as text for lw_graph_parse, or for Graphviz; it lives as long as the diagnostics.
LW_API lw_status lw_graph_text(lw_graph *g, const char **out);
LW_API lw_status lw_graph_dot(lw_graph *g, const char **out);

// Dimensions, found by name or created. Their size is a number, a parameter, or follows from
// relations such as "size(B) = 2*size(A) + 1".
LW_API int lw_graph_dim(lw_graph *g, const char *name);
LW_API int lw_graph_dim_fresh(lw_graph *g, const char *like);
LW_API lw_status lw_graph_dim_size(lw_graph *g, int dim, int64_t size);
LW_API lw_status lw_graph_dim_param(lw_graph *g, int dim);
LW_API lw_status lw_graph_relate(lw_graph *g, const char *relations);
// The size, if it is already a number; -1 if it depends on parameters or is undetermined.
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
// Names a node: the temporary that holds it, and its statement in schedules, have that name.
LW_API lw_status lw_graph_label(lw_graph *g, int x, const char *name);

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
