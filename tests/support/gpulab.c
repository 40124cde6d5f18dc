#include "support/gpulab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool gpulab_open(GpuLab *g) {
    DeviceError e;
    const char *name = getenv("LW_TEST_DEVICE");
    *g = (GpuLab){.device = device_open(name ? name : "emulate", &e)};
    if (!g->device) snprintf(g->text, sizeof g->text, "%s", e.text);
    return g->device != NULL;
}

void gpulab_close(GpuLab *g) {
    if (g->device) device_close(g->device);
}

static size_t bytes_of(const View *v) {
    size_t n = (size_t)type_info[v->type].bytes;
    for (int d = 0; d < v->rank; d++) n *= (size_t)v->size[d];
    return n;
}

GpuResult gpulab_run_code(GpuLab *g, Lab *lab, const Tree *t, const PtxCode *code,
                          const LabData *data) {
    DeviceError e = {0};
    DeviceProgram *p = ptx_program(&lab->arena, code, t->nargs);
    DeviceCode *loaded = device_load(g->device, p, &e);
    if (!loaded) {
        snprintf(g->text, sizeof g->text, "load: %s", e.text);
        return GPU_BROKEN;
    }
    uint64_t address[64];
    DeviceStatus status = DEVICE_OK;
    for (int i = 0; i < t->nargs; i++) {
        size_t n = bytes_of(&data->view[i]);
        address[i] = device_alloc(g->device, n, &e);
        if (n) device_write(g->device, address[i], data->view[i].data, n, NULL, &e);
    }
    device_counts_reset(g->device);
    status = device_run(g->device, loaded, address, NULL, &e);
    if (!status) status = device_check(g->device, loaded, NULL, &e);
    device_counts(g->device, &g->counts);
    for (int i = 0; i < t->nargs; i++) {
        size_t n = bytes_of(&data->view[i]);
        if (n && !status) device_read(g->device, data->view[i].data, address[i], n, NULL, &e);
        device_free(g->device, address[i]);
    }
    device_unload(g->device, loaded);
    if (status) snprintf(g->text, sizeof g->text, "run: %s", e.text);
    return status == DEVICE_OK ? GPU_OK : status == DEVICE_BAD_INDEX ? GPU_BAD_INDEX : GPU_BROKEN;
}

GpuResult gpulab_run(GpuLab *g, Lab *lab, const Tree *t, const LabData *data, InterpFlags flags) {
    PtxCode code;
    PtxOptions o = {.sm = 90,
                    .machine = &gpu_machine_h200,
                    .accumulate = flags.accumulate,
                    .skip_post = flags.skip_post};
    if (!ptx_make(&lab->arena, t, "k", &o, &code, &lab->diags)) {
        snprintf(g->text, sizeof g->text, "%s", lab_errors(lab));
        return GPU_DECLINED;
    }
    return gpulab_run_code(g, lab, t, &code, data);
}

// --- ptxas ---------------------------------------------------------------------------------------

const char *gpulab_difference(GpuLab *g, Lab *lab, const Program *p, const char *schedule,
                              PtxCode *code) {
    const Schedule *s = schedule ? lab_schedule(lab, schedule) : NULL;
    Tree *t = tree_lower(&lab->arena, p, s, &lab->diags);
    PtxOptions o = {.sm = schedule && strstr(schedule, ":cluster") ? 90 : 80,
                    .machine = &gpu_machine_h200};
    if (!t || !ptx_make(&lab->arena, t, "k", &o, code, &lab->diags)) return lab_errors(lab);
    LabData want = lab_data(lab, p, 1), got = lab_copy(lab, p, &want);
    const char *what = NULL;
    if (!lab_run(lab, p, &want))
        what = "the interpreter refuses the program";
    else if (gpulab_run_code(g, lab, t, code, &got) != GPU_OK)
        what = g->text;
    else
        what = lab_difference(lab, p, &got, &want);
    return what ? arena_printf(&lab->arena, "%s\n%s", what, code->text) : NULL;
}

static const char *ptxas(void) {
    const char *asked = getenv("LW_PTXAS");
    if (asked) return asked;
    if (system("ptxas --version > /dev/null 2>&1") == 0) return "ptxas";
    if (access("/usr/local/cuda/bin/ptxas", X_OK) == 0) return "/usr/local/cuda/bin/ptxas";
    return NULL;
}

bool gpulab_has_ptxas(void) { return ptxas() != NULL; }

bool gpulab_assembles(const char *text, const char *arch, bool may_spill, char *why, size_t size) {
    char name[] = "/tmp/lw-ptx-XXXXXX", command[512];
    int fd = mkstemp(name);
    if (fd < 0) return false;
    size_t len = strlen(text);
    bool ok = write(fd, text, len) == (ssize_t)len;
    close(fd);
    snprintf(command, sizeof command, "%s -v -arch=%s -o /dev/null %s 2>&1", ptxas(), arch, name);
    FILE *f = ok ? popen(command, "r") : NULL;
    char row[512];
    size_t n = 0;
    why[0] = 0;
    while (f && fgets(row, sizeof row, f)) {
        const char *spill = strstr(row, "bytes stack frame, ");
        bool spills = spill && atoi(spill + strlen("bytes stack frame, ")) > 0;
        if (spills && !may_spill) ok = false;
        if (!spills && strstr(row, " info ")) continue;
        if (spill && !spills) continue;
        if (n + strlen(row) < size) n += (size_t)snprintf(why + n, size - n, "%s", row);
    }
    ok = f && pclose(f) == 0 && ok;
    unlink(name);
    return ok;
}
