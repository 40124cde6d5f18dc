// Targets: the kinds of machines that Loopwright compiles for, one row of data each.
//
//     const Target *t = target_host();                         // this processor's
//     t->detect(&machine, t->nisas);
//     const Schedule *s = t->choose(arena, program, &options);
//     target_compile(t, arena, tree_lower(arena, program, s, diags), &machine, &code, NULL, diags);
//     t->load(&loader, &code, NULL, &loaded);
//     loaded.entry(buffers, scratch, &env);
//
// To add a target, write its functions and add a row to the table in target.c. Nothing outside of
// the row knows its name: api/ and tune/ reach it by target_host, by the name of one of its
// instruction sets (target_with_isa) or by its name in a tuning database (target_by_name).
//
// Code is bytes to the layers above. A processor's bytes are machine code, which `load` copies to
// executable pages. A device's bytes may be text, which `load` hands to the device's driver; then
// `entry` is a function of the library that launches the kernel, and finds it in KernelEnv.user.
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
    const Program *program; // that Schedules refer to: the flat one, if that is used
    const void *own;        // what TargetSpace's functions need: a CpuSpace
} ProgramSpace;

typedef struct TargetSpace {
    // False: the Program is too large (reported).
    bool (*make)(Arena *arena, const Program *p, const CpuOptions *o, ProgramSpace *out,
                 DiagList *diags);
    // The Schedule of a full candidate.
    const Schedule *(*schedule)(Arena *arena, const ProgramSpace *s, const Cand *c);
    // A Schedule as decisions, see cpu_read. NULL: reported as an error.
    Decision *(*read)(Arena *arena, const ProgramSpace *s, const Schedule *schedule,
                      DiagList *diags, int *n);
    // The lower bound. NULL: the machine's rates are not known.
    BoundModel *(*bound)(Arena *arena, const ProgramSpace *s, const BoundOptions *o);
} TargetSpace;

// --- Loaded code ---------------------------------------------------------------------------------

// The places that `load` puts code to; a row uses those that its code needs.
typedef struct Loader {
    ExecArena *exec; // executable pages
    Debug *debug;    // gdb or perf; NULL: nobody watches
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

// Loops that show what the machine can do at best. As functions they are
//
//     void f(void *to, const void *from, int64_t bytes, int64_t passes, int64_t at);
//
// and run `passes` iterations. The numbers are operations per iteration.
typedef struct TargetProbes {
    double (*fma)(Asm *a, Isa isa, bool f64);       // floating-point operations
    double (*work)(Asm *a, Isa isa, WorkKind work); // instructions that wait for nothing
    // Operations that each wait for the one before; LATENCY_COUNT: of one cycle.
    double (*chain)(Asm *a, Latency of);
    // Moves `move_unroll` vectors, from `at` on around a buffer whose bytes are a power of two.
    void (*move)(Asm *a, const Machine *m, int move, bool past_caches);
    int move_unroll;
} TargetProbes;

// --- The row -------------------------------------------------------------------------------------

// A device target may leave out `pretend` and `emit`, and until it is run and tuned also `load`,
// `unload` and `space`; the host's row is whole.
typedef struct Target {
    const char *name; // "x86-64"; tuning databases store it

    // The machine. Instruction sets have names that no other target uses, in ascending order: what
    // runs on isa[i] runs on isa[i + 1]. A `cap` limits the instruction set; `nisas`: no limit.
    int nisas; // TARGET_MAX_ISAS at most
    const char *const *isa;
    void (*detect)(Machine *m, int cap);
    void (*describe)(Machine *m, int isa);                 // a generic machine
    void (*pretend)(Machine *m, const Family *f, int cap); // a machine of a processor family
    const TargetProbes *probes;                            // NULL: its rates are not measured

    // The Schedule
    bool has_grid; // loops may run on a grid of thread blocks (`m:grid.x`)
    const Schedule *(*choose)(Arena *arena, const Program *p, const ChooseOptions *o);
    const TargetSpace *space;

    // The code, in two steps. `plan` maps the Tree to lanes, threads and registers, or to the
    // kernels of a device; NULL, with a diagnostic, when the Tree holds something that the target
    // declines. `before`: a plan that `generate` answered with CODE_REPLAN, or NULL.
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
// Both steps, with as many plans as it takes. False: the Tree is declined, with a diagnostic.
bool target_compile(const Target *t, Arena *arena, const Tree *tree, const Machine *m, Code *out,
                    Listing *listing, DiagList *diags);
// The instruction sets of a target by its name, ended by NULL; NULL: there is no such target.
const char *const *target_isas(const char *name);

// The name of a machine's instruction set.
static inline const char *machine_isa(const Machine *m) { return m->target->isa[m->isa]; }

extern const Target target_x86;    // target_x86.c
extern const Target target_nvidia; // target_nvidia.c

#endif
