#include "support/emulab.h"

#include <string.h>

const char emulab_head[] = ".version 8.0\n.target sm_90\n.address_size 64\n";

bool emulab_open(EmuLab *lab) {
    lab->device = device_open("emulate", &lab->error);
    return lab->device != NULL;
}

void emulab_close(EmuLab *lab) { device_close(lab->device); }

DeviceStatus emulab_run(EmuLab *lab, const char *text, uint32_t blocks, uint32_t threads,
                        uint32_t shared, void *const *data, const size_t *bytes, int n, int nin) {
    uint64_t args[8];
    DeviceParam params[8];
    Device *d = lab->device;
    DeviceError *e = &lab->error;
    for (int i = 0; i < n; i++) {
        args[i] = device_alloc(d, bytes[i], e);
        if (i < nin) device_write(d, args[i], data[i], bytes[i], NULL, e);
        params[i] = (DeviceParam){.buffer = i};
    }
    DeviceLaunch launch = {"k", {blocks, 1, 1}, {threads, 1, 1}, {1, 1, 1}, shared, n, params};
    DeviceProgram program = {
        .text = text, .len = strlen(text), .nlaunches = 1, .launches = &launch, .nargs = n};
    DeviceCode *code = device_load(d, &program, e);
    DeviceStatus status = code ? device_run(d, code, args, NULL, e) : e->status;
    for (int i = nin; i < n && !status; i++)
        status = device_read(d, data[i], args[i], bytes[i], NULL, e);
    device_unload(d, code);
    for (int i = 0; i < n; i++) device_free(d, args[i]);
    return status;
}
