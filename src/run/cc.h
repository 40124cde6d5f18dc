// Runs the system's C compiler: from C text to a loaded shared library, or as a linker. Runs CUDA's
// assembler in the same way.
//
// The compiler is $CC (words separated by blanks) or cc. It is started directly, without a shell,
// in a temporary folder that only this user can access and that is removed when the call returns.
#ifndef LW_RUN_CC_H
#define LW_RUN_CC_H

#include <stdbool.h>
#include <stddef.h>

typedef struct Library Library;

typedef enum CcResult {
    CC_OK,
    CC_MISSING, // there is no such compiler; `message` is its name
    CC_FAILED,  // it failed; `message` is the beginning of its output
    CC_SYSTEM,  // no temporary folder, no process, not loadable; `message` says which
} CcResult;

typedef struct CcOptions {
    const char *compiler;     // NULL: $CC, or cc
    const char *const *flags; // terminated by NULL; NULL: -O3 -march=native -ffp-contract=off
    bool openmp;              // -fopenmp; if the compiler has no OpenMP, loops run on one thread
} CcOptions;

CcResult cc_load(const char *source, const CcOptions *options, Library **out, char *message,
                 size_t size);
// Links the object file into a shared library and stores it in `into`, which has room for *size
// bytes; *size becomes the number of bytes.
CcResult cc_link(const void *object, size_t bytes, void *into, size_t *size, char *message,
                 size_t message_size);
// The same with ptxas: from PTX text to machine code for a target such as "sm_90". ptxas is
// $LW_PTXAS, or the one in PATH, or the one of /usr/local/cuda.
CcResult cc_assemble_ptx(const char *text, size_t bytes, const char *target, void *into,
                         size_t *size, char *message, size_t message_size);
void *library_find(const Library *library, const char *symbol); // NULL: it has none
void library_close(Library *library);

#endif
