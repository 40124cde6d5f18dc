// The descriptions of machines/. The assembler includes their text in the library, so they are
// found wherever the library is installed.
#include "passes/hardware.h"

#include <string.h>

#define EMBED(NAME, FILE)                                                                          \
    __asm__(".section .rodata\n"                                                                   \
            ".hidden lw_machine_" #NAME "\n"                                                       \
            ".globl lw_machine_" #NAME "\nlw_machine_" #NAME ":\n"                                 \
            ".incbin \"machines/" FILE ".lwm\"\n.byte 0\n"                                         \
            ".previous\n");                                                                        \
    extern const char lw_machine_##NAME[] __attribute__((visibility("hidden")))

EMBED(avx2, "avx2");
EMBED(avx512, "avx512");
EMBED(avx512_vnni, "avx512-vnni");
EMBED(neon, "neon");
EMBED(sm90, "nvidia-sm90");
EMBED(accelerator, "accelerator");

static const struct {
    const char *name, *text;
} shipped[] = {
    {"avx2", lw_machine_avx2},
    {"avx512", lw_machine_avx512},
    {"avx512-vnni", lw_machine_avx512_vnni},
    {"neon", lw_machine_neon},
    {"nvidia-sm90", lw_machine_sm90},
    {"accelerator", lw_machine_accelerator},
};

int shipped_count(void) { return (int)(sizeof shipped / sizeof *shipped); }

const char *shipped_name(int i) { return i < shipped_count() ? shipped[i].name : NULL; }

const char *shipped_text(const char *name) {
    for (int i = 0; i < shipped_count(); i++)
        if (strcmp(shipped[i].name, name) == 0) return shipped[i].text;
    return NULL;
}
