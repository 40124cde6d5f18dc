// PTX: the kernels of a Tree as text that the driver or ptxas assembles.
//
// Every kernel has the same parameters: one .u64 per argument tensor (a device pointer to the
// element at its origin), then .u64 scratch, .u64 status:
//
//   scratch  PtxCode.scratch bytes of device memory, aligned to 256, uninitialised
//   status   a .u32 that starts at 0; KERNEL_BAD_INDEX + statement after an index from data was
//            out of range
//
// The launches run one after the other, in order. Registers are untyped (.b16, .b32, .b64): any
// instruction of their size takes them. Dynamic shared memory is the symbol `smem`, local memory
// the symbol `local`.
//
//   ptx_unit.c    the module, its launches          ptx_body.c     loops, guards, leaves
//   ptx_memory.c  elements: loads, stores           ptx_promote.c  elements that a loop keeps
//   ptx_reduce.c  reductions over threads           ptx_index.c    index arithmetic, hoisted
//   ptx_value.c   expressions, conversions          ptx_func.c     functions of floats
//   ptx_formula.c formulas of others                ptx_special.c  erf, gamma, Bessel functions
//   ptx_known.c   results that are in registers     ptx_idle.c     guards that nobody asks
//   ptx_program.c as a program of a device          ptx_text.c     operands, instructions
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
    int sm;                     // the least compute capability, 80 or 90; 0: 80
    int align;                  // bytes to which arguments are aligned; 0: 16
    bool accumulate, skip_post; // as KernelEnv.flags: decided when the text is made
    bool lines;                 // comments "// N |": the line of the Tree's text (tree_show)
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

// False, with a diagnostic, where the Tree has something that PTX cannot say: a function without an
// implementation on this target.
bool ptx_print(GpuProgram *g, const PtxOptions *options, PtxCode *out, DiagList *diags);
// Maps the Tree (gpu_map) and prints it.
bool ptx_make(Arena *arena, const Tree *t, const char *name, const PtxOptions *options,
              PtxCode *out, DiagList *diags);
// The C header of the text as a file: a function that launches the kernels.
void ptx_header(Text *out, const PtxCode *code, const Tree *t);
// What a device loads and runs; `nargs` is that of the Tree.
DeviceProgram *ptx_program(Arena *arena, const PtxCode *code, int nargs);

#endif
