// A device as a Machine of the target table: what spaces, bounds and databases know of it.
#ifndef LW_API_DEVICE_MACHINE_H
#define LW_API_DEVICE_MACHINE_H

#include "api/pipeline.h"
#include "run/device.h"
#include "run/device_rates.h"

// Of a device that is open.
Machine device_as_machine(Arena *arena, const DeviceInfo *info, const DeviceRates *rates);
// Of a device by name, asked in a child process: a GPU that was used in this process cannot be used
// by its children, and workers are such. False: reported.
bool device_machine(Call *call, const char *name, Machine *out);

// api_device.c: the rates that the file keeps. False: there are none.
bool device_rates_kept(Arena *arena, const DeviceInfo *info, DeviceRates *out);
void device_rates_keep(Arena *arena, const DeviceInfo *info, DeviceRates *r);

#endif
