// Runs the kernel "k" of a PTX text on the emulator.
#ifndef LW_TESTS_EMULAB_H
#define LW_TESTS_EMULAB_H

#include "run/device.h"

typedef struct EmuLab {
    Device *device;
    DeviceError error; // of the last run
} EmuLab;

// .version, .target and .address_size
extern const char emulab_head[];

bool emulab_open(EmuLab *lab);
void emulab_close(EmuLab *lab);
// Its parameters are the addresses of n buffers of bytes[i] bytes; the first `nin` of them start
// with data[i], and data of the others is copied back.
DeviceStatus emulab_run(EmuLab *lab, const char *text, uint32_t blocks, uint32_t threads,
                        uint32_t shared, void *const *data, const size_t *bytes, int n, int nin);

#endif
