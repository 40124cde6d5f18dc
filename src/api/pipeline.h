// The steps from a text to a result. pipeline() runs those from p->first up to the one asked for;
// each leaves its result in the Pipeline. An entry point of the API fills in what it has and asks
// for what it wants.
#ifndef LW_API_PIPELINE_H
#define LW_API_PIPELINE_H

#include "api/api.h"
#include "code/listing.h"

typedef enum Step { STEP_PARSE, STEP_BIND, STEP_EXECUTE } Step;

typedef struct Pipeline {
    Call *call;
    Step first; // what stands before it is done
    // parse: mod->source in `language` → mod->functions
    lw_language language;
    bool unproven;        // what is not proven of a Stripe program passes
    TemlTrust trust;      // in the transformations of a TeML program
    bool as_written;      // a Stripe program keeps its loops although it is flat
    bool unchecked_index; // indices from data are not checked
    bool partial;         // functions without errors are described although others have some
    lw_module *mod;
    const struct Lift *lift; // of a Stripe program: whether it keeps its loops, and why
    bool einsum;             // the source is einsum's subscripts, of these operands
    int noperands;
    const EinsumOperand *operands;
    EinsumOptions order; // in which they are multiplied
    EinsumPlan plan;
    // bind: bound->function, bound->values → bound->program and what describes it
    lw_bound *bound;
    // execute: bound->program on views → the outputs' contents
    const View *views;        // per argument
    const KernelCode *kernel; // of an lw_kernel: run this
    const lw_run_options *options;
    bool timed; // somebody wants to know:
    lw_timing timing;
} Pipeline;

lw_status pipeline(Pipeline *p, Step until);

// --- Back-ends, backend.c ------------------------------------------------------------------------

// What can run a bound Program on views. A back-end that compiles sets p->timing.compile_us.
typedef struct Tree Tree;
typedef struct Backend {
    lw_backend id;
    const char *name;
    lw_status (*execute)(Pipeline *p);
    bool schedules; // obeys a Schedule
} Backend;

// NULL when there is no such back-end; the default is the best that can execute.
const Backend *backend_find(lw_backend id);
const Backend *backend_for_schedule(void); // the best that obeys one

// After compiled code gave a status: a subscript that was computed left its tensor, and an
// interpreter says which. LW_ERROR.
lw_status explain_fault(Pipeline *p, const Tree *t);

double now_us(void);

// The C back-end, compile.c, and machine code, jit.c.
lw_status c_execute(Pipeline *p);
lw_status backend_jit(Pipeline *p);
// Finds or makes the code that backend_jit would run.
lw_status jit_code(Pipeline *p, const KernelCode **out);
// The machine that code is made for: at most `asked`; NULL: LW_ISA, or this one. NULL: reported.
const Machine *pick_machine(Call *call, const char *asked);
// False: the context was asked for a machine that there is not; reported.
bool machine_named(Call *call);
// This machine, or the one that the context pretends.
void detect_machine(const lw_context *ctx, Machine *m, int cap);

// --- Schedules, schedule.c -----------------------------------------------------------------------
// Operations, the same whatever the Schedule; of a Stripe program those of its Tree.
double bound_flops(Arena *scratch, const lw_bound *bound, const Tree *tree);
double bound_int_ops(Arena *scratch,
                     const lw_bound *bound); // of integers; of a Stripe program not told apart: 0
// Bytes of each argument that are touched, likewise.
const double *bound_bytes(Arena *scratch, const lw_bound *bound, const Tree *tree);
// Per argument, those of the views; NULL for NULL.
const int64_t *const *strides_of(Arena *arena, const Program *p, const View *views);
// What code is made for. Both may be NULL: this machine, dense arguments.
typedef struct Setting {
    const Machine *machine;
    const View *views; // per argument
    int threads;       // that a Schedule is chosen for; 0: the context's
} Setting;
// Nobody says how to run it.
bool is_chosen(const lw_bound *b, const lw_schedule_text *text);
// A number of threads that somebody asks for; 0: LW_THREADS, or the processors there are.
int threads_of(const Call *call, int threads);
// Would threads share loops of what is chosen without search?
bool chosen_in_parallel(Call *call, const Program *p, Setting setting);
// The bound Program, lowered under the text (NULL text: a Schedule is chosen for the setting; empty
// text: every loop as it is written). *schedule holds which.
typedef struct Schedule Schedule;
lw_status bound_lower(Call *call, const lw_bound *b, const lw_schedule_text *text, Setting setting,
                      const Schedule **schedule, const Tree **out);
// The first loop that asks for a grid of thread blocks; NULL: none.
const struct Block *grid_loop(const Tree *t);
// The same for a target without a grid: loops that ask for one are warned of.
lw_status bound_lower_cpu(Call *call, const lw_bound *b, const lw_schedule_text *text,
                          Setting setting, const Tree **out);

// --- Code as text, report.c ----------------------------------------------------------------------
// A named ISA is taken whether or not this machine has it. NULL, with a diagnostic: there is none
// such.
const Machine *show_machine(Call *call, const char *isa);
// Code for arguments with the strides of `views` (NULL: dense) with its Listing. `isa` names the
// instruction set, whether or not this machine has it; NULL: this machine's, capped by LW_ISA.
typedef struct Listed {
    const Tree *tree;
    const char *text; // of the Tree; line numbers of the code count in it
    Machine machine;
    Code code;
    Listing listing;
} Listed;
lw_status bound_listed(Call *call, const lw_bound *b, const lw_schedule_text *schedule,
                       const char *isa, int threads, const View *views, Listed *out);
// Warns of marks that the code does not keep: vector loops without lanes, parallel ones without
// threads. Only of loops that somebody wrote, and not where there are no lanes at all.
void warn_slow_loops(Call *call, const Tree *tree, const Machine *m, const Code *code);
// Of LW_STAGE_ASM and LW_STAGE_REPORT.
lw_status code_show(Call *call, const lw_bound *b, lw_stage stage, const lw_show_options *o,
                    const View *views, const char **out);

#endif
