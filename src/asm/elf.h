#ifndef LW_ASM_ELF_H
#define LW_ASM_ELF_H
/* A relocatable ELF64 object for x86-64: one section of code, the functions it defines, and those
 * of others that it calls. As everything in asm/ this allocates nothing: elf_size says how many
 * bytes elf_write will fill. */

#include <stddef.h>
#include <stdint.h>

typedef struct ElfSymbol {
    const char *name;
    uint64_t offset, size; // in the code; of a function that is defined here
    int defined;           // 0: of another object
} ElfSymbol;

// The 32-bit field at `offset` is to hold the distance from its own end to a symbol.
typedef struct ElfCall {
    uint64_t offset;
    uint32_t symbol; // its number in ElfObject.symbols
} ElfCall;

typedef struct ElfObject {
    const uint8_t *code; // aligned to 64 bytes wherever it is loaded
    size_t code_size;
    const ElfSymbol *symbols;
    size_t nsymbols;
    const ElfCall *calls;
    size_t ncalls;
} ElfObject;

size_t elf_size(const ElfObject *o);
void elf_write(const ElfObject *o, void *into); // elf_size bytes

#endif
