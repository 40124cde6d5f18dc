// Prints the kernels of a Tree as PTX, the text that the NVIDIA driver or ptxas assembles.
//
// All kernels have the same parameters: one .u64 per argument tensor (a device pointer to the
// element at its origin), then .u64 scratch and .u64 status:
//
//   scratch  PtxCode.scratch bytes of device memory, aligned to 256, uninitialised
//   status   a .u32 that is 0 at the start; a kernel stores KERNEL_BAD_INDEX + statement when an
//            index from data is out of range
//
// The launches run one after the other, in order. Registers are untyped (.b16, .b32, .b64), so any
// instruction of their size takes them. The symbol `smem` is the dynamic shared memory, `local` the
// local memory.
//
//   ptx_unit.c    the module, its launches          ptx_body.c     loops, guards, leaves
//   ptx_memory.c  loads and stores of elements      ptx_promote.c  elements kept in registers
//   ptx_reduce.c  reductions over threads           ptx_index.c    hoisted index arithmetic
//   ptx_value.c   expressions, conversions          ptx_func.c     functions of floats
//   ptx_formula.c functions as formulas             ptx_special.c  erf; gamma, Bessel, for f32
//   ptx_gamma.c   gamma functions of f64            ptx_bessel.c   Bessel functions of f64
//   ptx_known.c   results in registers              ptx_idle.c     unnecessary guards
//   ptx_program.c the program for a device          ptx_text.c     operands, instructions
#ifndef LW_CODE_PTX_PTX_H
#define LW_CODE_PTX_PTX_H

#include "base/device_abi.h"
#include "code/gpu/gpu.h"

typedef struct PtxLaunch {
    const char *name;
    unsigned grid[3], block[3];
    unsigned shared; // bytes of dynamic shared memory
} PtxLaunch;

typedef struct PtxOptions {
    int sm;                     // the least compute capability to support, 80 or more; 0: 80
    const GpuMachine *machine;  // whose limits hold; NULL: gpu_machine_of(sm)
    int align;                  // bytes to which arguments are aligned; 0: 16
    bool accumulate, skip_post; // as KernelEnv.flags, but decided when the text is printed
    // Add comments "// N |" with the line number in the Tree's text (tree_show).
    bool lines;
} PtxOptions;

typedef struct PtxCode {
    const char *name; // the prefix of the kernels' names, an identifier
    const char *text;
    size_t size;
    int nlaunches;
    const PtxLaunch *launch;
    int64_t scratch;
    bool checks; // some kernel may set the status
    const GpuProgram *program;
} PtxCode;

// Returns false with a diagnostic if the Tree uses a function that has no implementation in PTX.
bool ptx_print(GpuProgram *g, const PtxOptions *options, PtxCode *out, DiagList *diags);
// Maps the Tree (gpu_map) and prints it.
bool ptx_make(Arena *arena, const Tree *t, const char *name, const PtxOptions *options,
              PtxCode *out, DiagList *diags);
// Prints the C header that belongs to the PTX file: a function that launches the kernels.
void ptx_header(Text *out, const PtxCode *code, const Tree *t);
// The program that a device loads and runs; `nargs` is the number of arguments of the Tree.
DeviceProgram *ptx_program(Arena *arena, const PtxCode *code, int nargs);

#endif
