// Targets: the kinds of machines that Loopwright compiles for, one row of data each.
//
//     const Target *t = target_host();                         // this processor's
//     t->detect(&machine, t->nisas);
//     const Schedule *s = t->choose(arena, program, &options);
//     target_compile(t, arena, tree_lower(arena, program, s, diags), &machine, &code, NULL, diags);
//     t->load(&loader, &code, NULL, &loaded);
//     loaded.entry(buffers, scratch, &env);
//
// To add a target, write its functions and add a row to the table in target.c. No other code knows
// its name: api/ and tune/ find it by target_host, by the name of one of its instruction sets
// (target_with_isa) or by its name in a tuning database (target_by_name).
//
// The layers above treat code as bytes. The bytes of a processor are machine code, which `load`
// copies to executable pages. The bytes of a device may be text, which `load` passes to the
// device's driver; `entry` is then a function of the library that launches the kernel, which it
// finds in KernelEnv.user.
#ifndef LW_TARGET_TARGET_H
#define LW_TARGET_TARGET_H

#include "asm/asm.h"
#include "choose/choose.h"
#include "code/listing.h"
#include "machine/gpu_machine.h"
#include "run/debug.h"
#include "run/exec.h"
#include "space/bound.h"
#include "space/cpu.h"

enum { TARGET_MAX_ISAS = 8 };

// --- The Space of a target -----------------------------------------------------------------------

// The Space of one Program on one target.
typedef struct ProgramSpace {
    Space *space;
    const Program *program; // the Program of its Schedules: the flattened one, if that is used
    const void *own;        // data of TargetSpace's functions, such as a CpuSpace
} ProgramSpace;

typedef struct TargetSpace {
    // False: the Program is too large (reported).
    bool (*make)(Arena *arena, const Program *p, const CpuOptions *o, ProgramSpace *out,
                 DiagList *diags);
    // The Schedule of a full candidate.
    const Schedule *(*schedule)(Arena *arena, const ProgramSpace *s, const Cand *c);
    // Converts a Schedule to decisions, see cpu_read. NULL after an error.
    Decision *(*read)(Arena *arena, const ProgramSpace *s, const Schedule *schedule,
                      DiagList *diags, int *n);
    // The lower bound. NULL: the machine's rates are not known.
    BoundModel *(*bound)(Arena *arena, const ProgramSpace *s, const BoundOptions *o);
} TargetSpace;

// Of a Space whose `own` is a CpuSpace, as those of processors and GPUs.
bool target_space(const CpuSpace *cs, ProgramSpace *out); // false: `cs` is NULL
const Schedule *target_schedule(Arena *arena, const ProgramSpace *s, const Cand *c);
Decision *target_read(Arena *arena, const ProgramSpace *s, const Schedule *schedule,
                      DiagList *diags, int *n);

// --- Loaded code ---------------------------------------------------------------------------------

// Where `load` puts code; a row uses the members that its code needs.
typedef struct Loader {
    ExecArena *exec; // executable pages
    Debug *debug;    // for gdb or perf; NULL: not requested
} Loader;

typedef struct Loaded {
    Kernel *entry;
    void *user;        // KernelEnv.user of calls of `entry`; NULL: the thread pool
    ExecBlock *block;  // where the machine code is, or NULL
    DebugEntry *debug; // or NULL
} Loaded;

// --- Files ---------------------------------------------------------------------------------------

typedef enum EmitKind { EMIT_ASM, EMIT_OBJECT } EmitKind;

// A kernel with its Listing, to be written as a file.
typedef struct EmitInput {
    const Tree *tree;
    const char *text; // of the Tree: its lines become comments in assembly text
    const Machine *machine;
    const Code *code;
    const Listing *listing;
    const char *name; // of the function; NULL: the Program's
} EmitInput;

typedef struct EmitOutput {
    const char *function, *header; // the C function, and the text that declares it
    size_t header_size;
    const void *bytes;
    size_t size;
} EmitOutput;

// --- Measuring -----------------------------------------------------------------------------------

// Loops that measure the peak rates of the machine. As functions they are
//
//     void f(void *to, const void *from, int64_t bytes, int64_t passes, int64_t at);
//
// and run `passes` iterations. The numbers are operations per iteration.
typedef struct TargetProbes {
    double (*fma)(Asm *a, Width w, bool f64);       // floating-point operations
    double (*work)(Asm *a, Width w, WorkKind work); // independent instructions
    // Operations that each wait for the previous one; LATENCY_COUNT: operations of one cycle.
    double (*chain)(Asm *a, Latency of);
    // Moves `move_unroll` vectors, from `at` on around a buffer whose bytes are a power of two.
    void (*move)(Asm *a, const Machine *m, int move, bool past_caches);
    int move_unroll;
} TargetProbes;

// --- The row -------------------------------------------------------------------------------------

// A device target may omit `pretend`, `probes`, `description`, `list` and `emit` and, until it runs
// and tunes, also `load`, `unload` and `space`. The host's row is complete: it has an instruction
// set for each Width, in the order of the widths.
typedef struct Target {
    const char *name; // "x86-64"; tuning databases store it

    // The machine. Names of instruction sets are unique among all targets. They are in ascending
    // order: code for isa[i] also runs on isa[i + 1]. A `cap` limits the instruction set; `nisas`:
    // no limit.
    int nisas; // TARGET_MAX_ISAS at most
    const char *const *isa;
    void (*detect)(Machine *m, int cap);
    void (*describe)(Machine *m, int isa);                 // a generic machine
    void (*pretend)(Machine *m, const Family *f, int cap); // a machine of a processor family
    const TargetProbes *probes;                            // NULL: its rates are not measured
    const char *(*description)(const Machine *m); // the shipped description (machines/) of its like

    // The Schedule
    bool has_grid; // loops may run on a grid of thread blocks (`m:grid.x`)
    const Schedule *(*choose)(Arena *arena, const Program *p, const ChooseOptions *o);
    const TargetSpace *space;

    // The code, in two steps. `plan` maps the Tree to lanes, threads and registers, or to the
    // kernels of a device. It returns NULL with a diagnostic if the target declines the Tree.
    // `before`: a plan that `generate` answered with CODE_REPLAN, or NULL.
    void *(*plan)(Arena *arena, const Tree *tree, const Machine *m, void *before, DiagList *diags);
    void (*print_plan)(Text *out, const void *plan); // NULL: it has no text
    // `listing`: NULL, or filled for `list` and `emit`.
    CodeAnswer (*generate)(void *plan, Code *out, Listing *listing, DiagList *diags);
    // The code as text between the lines of the Tree's text.
    void (*list)(Text *out, const Code *code, const Listing *listing, const char *tree_text);
    bool (*emit)(Arena *arena, EmitKind kind, const EmitInput *in, EmitOutput *out,
                 DiagList *diags);

    // Running. `debug` describes the kernel for Loader.debug; NULL where that is NULL. False: no
    // memory.
    bool (*load)(const Loader *to, const Code *code, DebugCode *debug, Loaded *out);
    void (*unload)(Loaded *loaded);
} Target;

const Target *target_host(void);                          // the target that runs in this process
const Target *target_by_name(const char *name);           // NULL: none
const Target *target_with_isa(const char *isa, int *out); // *out: its number there; NULL: none
int target_isa(const Target *t, const char *isa);         // its number, or -1
// Runs both steps, repeating them if necessary. Returns false with a diagnostic if the Tree is
// declined.
bool target_compile(const Target *t, Arena *arena, const Tree *tree, const Machine *m, Code *out,
                    Listing *listing, DiagList *diags);
// The instruction sets of a target by its name, ended by NULL; NULL: there is no such target.
const char *const *target_isas(const char *name);

// The name of a machine's instruction set.
static inline const char *machine_isa(const Machine *m) { return m->target->isa[m->isa]; }

extern const Target target_x86;    // target_x86.c
extern const Target target_nvidia; // target_nvidia.c

#endif
