// The numbers of a device through the API, and the file that keeps its measured rates.
#include "api/cache_file.h"
#include "api/device_machine.h"
#include "api/devices.h"
#include "base/checked.h"
#include "run/device_rates.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct DeviceCall {
    const char *name;
    lw_machine_options options;
    const lw_device *out;
} DeviceCall;

// The rates and their names in the file.
typedef struct RateField {
    const char *key;
    size_t offset;
} RateField;
static const RateField fields[] = {
    {"fma_f32_gflops", offsetof(DeviceRates, fma_f32)},
    {"fma_f64_gflops", offsetof(DeviceRates, fma_f64)},
    {"shared_gbps", offsetof(DeviceRates, shared)},
    {"l2_gbps", offsetof(DeviceRates, l2)},
    {"read_gbps", offsetof(DeviceRates, read)},
    {"write_gbps", offsetof(DeviceRates, write)},
    {"copy_gbps", offsetof(DeviceRates, copy)},
    {"launch_us", offsetof(DeviceRates, launch_us)},
};
enum { FIELDS = sizeof fields / sizeof *fields };

static double *rate_of(DeviceRates *r, int i) { return (double *)((char *)r + fields[i].offset); }

// A file is used only if it begins with exactly these facts.
static void write_facts(Text *t, const DeviceInfo *i) {
    text_add(t, "{\"format\": 1, \"model\": \"");
    text_json(t, i->model);
    text_printf(t,
                "\", \"target\": \"%s\", \"driver\": %d, \"processors\": %d, \"clock_mhz\": %d, "
                "\"l2_bytes\": %lld, \"memory_bytes\": %lld, \"block_shared\": %d",
                i->target, i->driver, i->processors, i->clock_khz / 1000, (long long)i->l2_bytes,
                (long long)i->memory_bytes, i->block_shared);
}

static const char *to_json(Arena *arena, const DeviceInfo *info, DeviceRates *r) {
    Text t = {.arena = arena};
    write_facts(&t, info);
    for (int i = 0; i < FIELDS; i++) {
        text_printf(&t, ", \"%s\": ", fields[i].key);
        text_float(&t, round(*rate_of(r, i) * 1000) / 1000, false);
    }
    text_add(&t, "}\n");
    return text_str(&t);
}

static bool from_json(Arena *arena, const char *text, const DeviceInfo *info, DeviceRates *r) {
    Text facts = {.arena = arena};
    write_facts(&facts, info);
    if (strncmp(text, text_str(&facts), facts.len) != 0) return false;
    text += facts.len;
    for (int i = 0; i < FIELDS; i++) {
        size_t key = strlen(fields[i].key);
        if (strncmp(text, ", \"", 3) != 0 || strncmp(text + 3, fields[i].key, key) != 0 ||
            strncmp(text + 3 + key, "\": ", 3) != 0)
            return false;
        text += key + 6;
        size_t n = strspn(text, "0123456789.e+-");
        double *v = rate_of(r, i);
        if (!n || !text_parse_float(text, n, false, v) || !isfinite(*v) || *v < 0) return false;
        text += n;
    }
    return strcmp(text, "}\n") == 0;
}

static lw_device *describe(Arena *arena, const DeviceInfo *i, DeviceRates *r) {
    lw_device *out = arena_new(arena, lw_device);
    *out = (lw_device){.name = arena_strndup(arena, i->name, strlen(i->name)),
                       .model = arena_strndup(arena, i->model, strlen(i->model)),
                       .target = arena_strndup(arena, i->target, strlen(i->target)),
                       .processors = i->processors,
                       .clock_mhz = i->clock_khz / 1000,
                       .l2_bytes = i->l2_bytes,
                       .memory_bytes = i->memory_bytes,
                       .block_shared = i->block_shared,
                       .gflops = {r->fma_f32, r->fma_f64},
                       .shared_gbps = r->shared,
                       .l2_gbps = r->l2,
                       .gbps = {r->read, r->write, r->copy},
                       .launch_us = r->launch_us,
                       .json = to_json(arena, i, r)};
    return out;
}

static const char *rates_path(Arena *arena, const DeviceCall *d, const DeviceInfo *i) {
    if (d->options.file) return *d->options.file ? d->options.file : NULL;
    return cache_file(
        arena, arena_printf(arena, "gpu-%s-%d.json", cache_slug(arena, i->model), i->driver));
}

bool device_rates_kept(Arena *arena, const DeviceInfo *info, DeviceRates *out) {
    const char *path = rates_path(arena, &(DeviceCall){0}, info), *text;
    return path && cache_read(arena, path, &text) && from_json(arena, text, info, out);
}

void device_rates_keep(Arena *arena, const DeviceInfo *info, DeviceRates *r) {
    const char *path = rates_path(arena, &(DeviceCall){0}, info);
    if (path) cache_write(arena, path, to_json(arena, info, r));
}

static lw_status get_device(Call *call, void *args) {
    DeviceCall *g = args;
    Arena *arena = call->arena;
    Device *d = context_device(call, g->name);
    if (!d) return LW_ERROR;
    const DeviceInfo *info = device_info(d);
    DeviceRates r = {0};
    DeviceError e;
    const char *path = rates_path(arena, g, info), *text;
    bool emulated = device_is_emulated(d);
    bool kept = !emulated && !g->options.remeasure && path && cache_read(arena, path, &text) &&
                from_json(arena, text, info, &r);
    if (!kept && !emulated && device_measure(d, 1, &r, &e)) {
        diag_report(call->diags, nowhere, DIAG_DEVICE, info->name, e.text);
        return LW_ERROR;
    }
    lw_device *out = describe(arena, info, &r);
    out->measured = !kept && !emulated;
    if (out->measured && path && !cache_write(arena, path, out->json)) {
        diag_report(call->diags, nowhere, DIAG_MACHINE_KEEP, path, strerror(errno));
        path = NULL;
    }
    out->file = emulated ? NULL : path;
    g->out = out;
    return LW_OK;
}

lw_status lw_device_get(lw_context *ctx, const char *name, const lw_machine_options *options,
                        const lw_device **out) {
    DeviceCall g = {.name = name};
    if (out) *out = NULL;
    if (!name) return call_null(ctx, "name");
    if (!out) return call_null(ctx, "out");
    if (!options_copy(&g.options, sizeof g.options, options)) return call_unsized(ctx);
    lw_status status = call_run(ctx, get_device, &g);
    if (status == LW_OK) *out = g.out;
    return status;
}
