// Compiles PTX text to machine code without a GPU: by libnvJitLink, or by ptxas.
#ifndef LW_RUN_ASSEMBLE_H
#define LW_RUN_ASSEMBLE_H

#include "run/cc.h"

// Stores the machine code for a target such as "sm_90" in `into`, which has room for *size bytes;
// *size becomes the number of bytes. LW_GPU_COMPILER=ptxas skips libnvJitLink. CC_MISSING: neither
// is available, and `message` is the name of the ptxas that was tried.
CcResult assemble_ptx(const char *text, size_t bytes, const char *target, void *into, size_t *size,
                      char *message, size_t message_size);

#endif
