// Calls generated code and checks that it kept its side of the calling convention.
#ifndef SUPPORT_TRAMPOLINE_H
#define SUPPORT_TRAMPOLINE_H

#include <stdint.h>

// Calls `code` with four integer arguments and returns its result. Callee-saved registers, the
// stack pointer and the caller's frame, the control bits of MXCSR, the x87 control word, the
// direction flag and the upper halves of the vector registers must be as the System V ABI wants
// them; where one is not, *broken becomes its name. Any thread, also from within such a call.
int trampoline(void (*code)(void), const uintptr_t args[4], const char **broken);

#endif
