// The road from a text to a result. pipeline.c runs its steps in one function; each step leaves its
// result in the Compilation. An entry point of the API fills in what it has and asks for the step
// that it wants.
#ifndef LW_API_PIPELINE_H
#define LW_API_PIPELINE_H

#include "api/kernel.h"
#include "verify/verify.h"

// The steps in order; pipeline.c says what each one does.
#define STEPS(STEP)                                                                                \
    STEP(PARSE, parse)                                                                             \
    STEP(INFER, infer)                                                                             \
    STEP(BIND, bind)                                                                               \
    STEP(FIND, find)                                                                               \
    STEP(LOOK_UP, look_up)                                                                         \
    STEP(CHOOSE, choose)                                                                           \
    STEP(LOWER, lower)                                                                             \
    STEP(VERIFY, verify)                                                                           \
    STEP(PLAN, plan)                                                                               \
    STEP(GENERATE, generate)                                                                       \
    STEP(INSTALL, install)                                                                         \
    STEP(RUN, run)

typedef enum Step {
#define STEP(name, function) STEP_##name,
    STEPS(STEP)
#undef STEP
        STEP_COUNT
} Step;
extern const char *const step_name[STEP_COUNT]; // "parse", "bind", ...

typedef struct Backend Backend;
typedef struct DbEntry DbEntry;
typedef struct DbKey DbKey;
typedef struct Schedule Schedule;
typedef struct Lift Lift;

typedef struct Compilation {
    Call *call;
    Step first;             // the steps before it are done
    const Backend *backend; // that runs the result; NULL: nothing runs
    double us[STEP_COUNT];  // time of the steps except FIND and RUN, all tries together
    Step again;             // the step to go back to for another try; 0: none

    // parse: mod->source in `language` → parsed; infer: parsed → mod->functions
    lw_language language;
    bool unproven;        // accept properties of a Stripe program that are not proven
    TemlOptions teml;     // what a TeML program is given
    bool as_written;      // a Stripe program keeps its loops although it is flat
    bool no_path;         // loops are chosen for the assignments of a TeML program
    bool unchecked_index; // indices from data are not checked
    bool partial;         // functions without errors are described although others have some
    lw_module *mod;
    Module *parsed;
    struct Graph *graph; // a graph that was parsed, whose sizes are to be solved
    const Lift *lift;    // of a Stripe program: whether it keeps its loops, and why
    bool einsum;         // the source is einsum's subscripts, of these operands
    int noperands;
    const EinsumOperand *operands;
    EinsumOptions order; // in which they are multiplied
    EinsumPlan einsum_plan;

    // bind: bound->function, bound->values → bound->program and its description
    lw_bound *bound;

    // The target of the code
    lw_schedule_text text;       // no text: the database's Schedule or a chosen one; "": as written
    const Machine *machine;      // NULL: this machine
    const View *views;           // per argument; NULL: dense
    const DLTensor *const *args; // of a run: what the views are of
    int threads;                 // that a Schedule is chosen for; 0: the context's

    // find: the kernel that was compiled before, or a draft to complete
    Way way;
    KernelCode *draft;
    const KernelCode *kernel;

    // look_up: the Schedule of the tuning database, if it has one for these sizes or near ones
    const Program *program;          // a copy for this call: lowering adds to its pools
    const DbEntry *tuned;            // NULL: none
    const char *tuned_sizes;         // that it was tuned for; NULL: these
    const DbKey *wanted, *elsewhere; // there is none for this key, but for this one
    bool no_database;                // its Schedule was of no use

    // choose: the Schedule, and where it is from
    const Schedule *schedule;
    ScheduleOrigin origin;
    bool plain; // only orders and marks, which always lower

    // lower, verify
    const Tree *tree;
    VerifyAnswer verified; // in debug builds, and when LW_DUMP asks for it

    // plan: how the target compiles the Tree (Target.plan); NULL: not planned yet
    void *plan;

    // generate
    bool listed; // fill `listing`
    Code code;
    Listing listing;

    // run
    const lw_run_options *options;
    bool timed; // fill `timing`
    lw_timing timing;
} Compilation;

// Runs the steps from c->first to `until`.
lw_status pipeline(Compilation *c, Step until);
// A Compilation of a bound function that begins with look_up. `text` NULL: none.
Compilation compilation_of(Call *call, const lw_bound *b, const lw_schedule_text *text);
double compile_us(const Compilation *c); // that compiling took
double now_us(void);
// The steps that LW_DUMP lists, a bit each; -1: it names something else.
int dumped_steps(void);
bool is_dumped(const lw_context *ctx, Step s);

// --- The steps -----------------------------------------------------------------------------------
lw_status step_parse(Compilation *c); // step_front.c
lw_status step_infer(Compilation *c);
lw_status step_bind(Compilation *c);
lw_status step_find(Compilation *c);    // step_code.c
lw_status step_look_up(Compilation *c); // step_schedule.c
lw_status step_choose(Compilation *c);
lw_status step_lower(Compilation *c);
lw_status step_verify(Compilation *c);
lw_status step_plan(Compilation *c); // step_code.c
lw_status step_generate(Compilation *c);
lw_status step_install(Compilation *c);
lw_status step_run(Compilation *c); // backend.c

// --- Back-ends, backend.c ------------------------------------------------------------------------

// A way to run a bound Program on views.
struct Backend {
    lw_backend id;
    const char *name;
    Step needs; // the last step before `run`; from LOOK_UP on it obeys a Schedule
    lw_status (*run)(Compilation *c);
};

// Picks the back-end that the options ask for, or the best one. False: reported in *status.
bool pick_backend(Compilation *c, lw_status *status);
extern const Backend *const backend_jit;

// After compiled code gave a status: a subscript that was computed left its tensor, and an
// interpreter says which. LW_ERROR.
lw_status explain_fault(Compilation *c, const Tree *t);

lw_status c_run(Compilation *c);   // compile.c: C, by the system's compiler
lw_status gpu_run(Compilation *c); // device_run.c: PTX, on a device
lw_status jit_run(Compilation *c); // jit.c: c->kernel

// --- Machines, step_code.c -----------------------------------------------------------------------
// This machine, at most `asked`; NULL: LW_ISA. NULL: reported.
const Machine *pick_machine(Call *call, const char *asked);
// A machine to show code for: a named instruction set is taken whether or not this machine has it.
// NULL: reported.
const Machine *show_machine(Call *call, const char *isa);
// False: the context was asked for a machine that there is not; reported.
bool machine_named(Call *call);
// This machine, or the one that the context pretends.
void detect_machine(const lw_context *ctx, Machine *m, int cap);

// --- Schedules, step_schedule.c ------------------------------------------------------------------
// Operations, the same whatever the Schedule; of a Stripe program those of its Tree.
double bound_flops(Arena *scratch, const lw_bound *bound, const Tree *tree);
// Operations on integers; 0 for a Stripe program, where they are not counted separately.
double bound_int_ops(Arena *scratch, const lw_bound *bound);
// Bytes of each argument that are touched, likewise.
const double *bound_bytes(Arena *scratch, const lw_bound *bound, const Tree *tree);
// Per argument, those of the views; NULL for NULL.
const int64_t *const *strides_of(Arena *arena, const Program *p, const View *views);
// Is a Schedule chosen for it, because neither the caller nor the text gives one?
bool is_chosen(const lw_bound *b, const lw_schedule_text *text);
// The number of threads for a request; 0: LW_THREADS, or the number of processors.
int threads_of(const Call *call, int threads);
// Would threads divide loops of the Schedule that is chosen without search?
bool chosen_in_parallel(const Compilation *c, const Program *p);
// A copy of a Stripe or TeML function's Tree, for this call; specials are not expanded.
const Tree *own_tree(Call *call, const lw_bound *b);
// Is the text a machine description? Its passes then make c->tree (api_passes.c).
bool is_description(const lw_schedule_text *text);
// The description with its includes expanded; NULL after a report.
const char *description_in_full(Call *call, const lw_schedule_text *text);
// The Tree that the passes of a description without includes make; NULL after an error.
const Tree *passes_tree(Arena *arena, const Program *p, const char *text, DiagList *diags);
lw_status passes_lower(Compilation *c);
// The text of the Schedule that makes the Tree; NULL after an error: there is none.
const char *passes_schedule(Call *call, const Tree *t);
// The first loop that asks for a grid of thread blocks; NULL: none.
const struct Block *grid_loop(const Tree *t);
// Warns of such a loop, and of cache operators of loads; LW_ERROR where warnings are errors.
lw_status warn_grid(Compilation *c);
// A block of a Stripe text has indices around it as indices of its own. For a GPU, where a block is
// a loop that may be distributed, they are replaced by their values.
const Tree *without_passed(const Tree *t, DiagList *diags);

// --- Code as text, report.c ----------------------------------------------------------------------
// The Tree's text, whose lines the code's line numbers count.
const char *show_tree(Arena *arena, const Tree *t);
// Warns of marks that the code does not obey: vector loops without lanes, parallel loops without
// threads. Only for hand-written loops, and not if the instruction set has no lanes.
void warn_slow_loops(Compilation *c);
// LW_STAGE_ASM and LW_STAGE_REPORT.
lw_status code_show(Call *call, const lw_bound *b, lw_stage stage, const lw_show_options *o,
                    const View *views, const char **out);
// Of LW_STAGE_SCHEDULE_TREE and LW_STAGE_DEPENDENCES; show_poly.c.
lw_status poly_show(Call *call, const lw_bound *b, lw_stage stage, const lw_schedule_text *given,
                    const char **out);

#endif
