// Calls generated code and checks that it obeys the calling convention.
#ifndef SUPPORT_TRAMPOLINE_H
#define SUPPORT_TRAMPOLINE_H

#include <stdint.h>

// Calls `code` with four integer arguments and returns its result. Callee-saved registers, the
// stack pointer and the caller's frame, the control bits of MXCSR, the x87 control word, the
// direction flag and the upper halves of the vector registers must be as the System V ABI requires;
// otherwise *broken becomes the name of the first violation. Any thread may call it, even
// recursively.
int trampoline(void (*code)(void), const uintptr_t args[4], const char **broken);

#endif
