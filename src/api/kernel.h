// Compiled kernels, and finding them again.
//
// A kernel is made for a bound Program, a Way to run it and the strides of the arguments. Each
// thread keeps those it ran last in its slot and finds them without a lock; behind that stands a
// table of the context, keyed by all of the above as bytes, which holds a bounded number of kernels
// and gives up those that were not used for longest (second chance). Kernels are counted: one that
// is given up goes when the last thread that ran it has run enough others.
#ifndef LW_API_KERNEL_H
#define LW_API_KERNEL_H

#include "api/api.h"
#include "base/kernel_abi.h"
#include "machine/machine.h"
#include "run/exec.h"

// A Schedule or, with NULL, one that is chosen: for one thread, or for several; as the tuning
// database stands for so many threads, where it may know one.
typedef struct Way {
    const char *schedule;
    const char *isa; // as the target's row has it: compared by address
    unsigned choice; // 0 where there is a Schedule
} Way;

typedef struct KernelCode {
    atomic_int refs;
    atomic_bool used; // since the table last looked
    const Target *target;
    Loaded loaded;
    int64_t scratch, thread_scratch; // code/code.h
    int parallel;
    size_t code_bytes;
    double flops, int_ops, bytes, written_bytes;
    int float_bits; // program_float_bits
    const char *isa;
    unsigned choice; // of its Way
    int threads;     // that it was chosen for; 0 where there is a Schedule
    ScheduleOrigin origin;
    int tuned_threads; // what else it is tuned for; 0: nothing
    const char *tuned_isa;
    double bound; // seconds that nothing can beat, as the database has it; 0: not known
    uint64_t hash;
    size_t schedule; // its place in the key; 0: none
    size_t key_size;
    int64_t key[]; // the strides of all arguments; then bytes: Way, Program, Schedule
} KernelCode;

// The one that was made before, or NULL. It stays until this thread's next call.
const KernelCode *kernel_find(Slot *slot, const lw_bound *b, Way way, const View *views);

// Was it made for arguments with these strides?
bool kernel_fits(const KernelCode *k, const View *views, int n);

// The same through the context's table; where it is not there either, *draft is what to fill in
// with code and keep. It lives in the call's arena.
const KernelCode *kernel_look_up(Call *call, const lw_bound *b, Way way, const View *views,
                                 KernelCode **draft);
// Gives what was drafted to the table and to the thread's slot: the kernel to run. The place of
// the Schedule's text in memory helps to find it again. The draft's block goes with it,
// also when this runs out of memory, which ends the call.
const KernelCode *kernel_keep(Call *call, const lw_bound *b, Way way, const KernelCode *draft);
void kernel_drop(lw_context *ctx, KernelCode *k);

// What of a context is made when it is first needed; NULL: no memory.
ExecArena *context_exec(lw_context *ctx);
Pool *context_pool(lw_context *ctx);
const Machine *context_machine(lw_context *ctx, int cap); // of the host target; NULL: no memory

void kernels_init(lw_context *ctx);
void kernels_free(lw_context *ctx);
void slot_forget_kernels(lw_context *ctx, Slot *slot);
size_t kernels_count(lw_context *ctx);

#endif
