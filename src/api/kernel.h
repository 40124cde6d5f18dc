// Compiled kernels, and finding them again.
//
// A kernel is compiled for a bound Program, a Way to run it and the strides of the arguments. Each
// thread keeps its most recent kernels in its slot and finds them without a lock. Behind the slots,
// the context has a table with a bounded number of kernels, keyed by the bytes of all of the above,
// which evicts by second chance. Kernels are reference-counted: an evicted one is freed when the
// last slot drops it.
#ifndef LW_API_KERNEL_H
#define LW_API_KERNEL_H

#include "api/api.h"
#include "base/kernel_abi.h"
#include "machine/machine.h"
#include "run/exec.h"

// A Schedule; or NULL for a chosen one, with a number for everything that the choice depends on:
// one thread or several; if the tuning database has entries, its stamp and the number of threads.
typedef struct Way {
    const char *schedule;
    const char *isa; // as the target's row has it: compared by address
    unsigned choice; // 0 where there is a Schedule, and no machine description
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
    int tuned_threads; // the database has an entry for this other number of threads; 0: none
    const char *tuned_isa;
    double bound; // lower bound in seconds, from the database; 0: not known
    uint64_t hash;
    size_t schedule; // its place in the key; 0: none
    size_t key_size;
    int64_t key[]; // the strides of all arguments; then bytes: Way, Program, Schedule
} KernelCode;

// The one that was made before, or NULL. It stays until this thread's next call.
const KernelCode *kernel_find(Slot *slot, const lw_bound *b, Way way, const View *views);

// Was it made for arguments with these strides?
bool kernel_fits(const KernelCode *k, const View *views, int n);

// The same through the context's table. If it has none either, *draft is a kernel without code, in
// the call's arena, to complete and keep.
const KernelCode *kernel_look_up(Call *call, const lw_bound *b, Way way, const View *views,
                                 KernelCode **draft);
// Puts the completed draft into the table and the thread's slot, and returns the kernel to run. It
// owns the draft's code, which is also freed if memory runs out, which ends the call.
const KernelCode *kernel_keep(Call *call, const lw_bound *b, Way way, const KernelCode *draft);
void kernel_drop(lw_context *ctx, KernelCode *k);

// Parts of a context that are created at their first use; NULL: no memory.
ExecArena *context_exec(lw_context *ctx);
Pool *context_pool(lw_context *ctx);
const Machine *context_machine(lw_context *ctx, int cap); // of the host target; NULL: no memory

void kernels_init(lw_context *ctx);
void kernels_free(lw_context *ctx);
void slot_forget_kernels(lw_context *ctx, Slot *slot);
size_t kernels_count(lw_context *ctx);

#endif
