// The device "emulate": memory and modules for src/emulate, with the limits of sm_90.
//
// A lock makes runs exclusive. Buffers are numbered in the order of allocation, and messages use
// these numbers. The slots of freed buffers are reused.
#include "run/device_impl.h"

#include "base/checked.h"
#include "emulate/emulate.h"
#include "run/timing.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Emulated {
    Device device;
    pthread_mutex_t lock;
    EmuMemory memory;
    int capacity;
    Arena scratch;
    EmuCounts counts;
    double cycles; // of all launches, an estimate
} Emulated;

typedef struct EmulatedCode {
    DeviceCode code;
    Arena arena;
    EmuModule *module;
    int *entry; // of each launch
} EmulatedCode;

struct DeviceEvent {
    double us;
};

struct DeviceGraph {
    DeviceCode *code;
    uint64_t *args;
    int times;
};

static const DeviceInfo emulated_info = {
    .name = "emulate",
    .model = "PTX emulator",
    .target = "sm_90",
    .capability = 90,
    .ptx_version = 90,
    .warp = 32,
    .processors = 132,
    .clock_khz = 1980000,
    .block_threads = 1024,
    .processor_threads = 2048,
    .processor_blocks = 32,
    .processor_registers = 65536,
    .block_registers = 65536,
    .thread_registers = 255,
    .block_shared = 232448,
    .block_shared_static = 49152,
    .processor_shared = 233472,
    .block_shared_reserved = 1024,
    .cluster_blocks = 1,
    .grid = {2147483647, 65535, 65535},
    .l2_bytes = 60ll << 20,
    .memory_bytes = 1ll << 36,
};

// --- Memory --------------------------------------------------------------------------------------

static int free_slot(Emulated *m) {
    for (int i = 0; i < m->memory.n; i++)
        if (!m->memory.at[i].address) return i;
    if (m->memory.n == m->capacity) {
        int capacity = m->capacity ? 2 * m->capacity : 16;
        EmuBuffer *at = realloc(m->memory.at, (size_t)capacity * sizeof *at);
        if (!at) return -1;
        m->memory.at = at;
        m->capacity = capacity;
    }
    return m->memory.n++;
}

static uint64_t emulated_alloc(Device *d, size_t bytes, DeviceError *e) {
    Emulated *m = (Emulated *)d;
    uint64_t address = 0;
    uint8_t *data = malloc(bytes + 1), *defined = calloc(bytes + 1, 1);
    pthread_mutex_lock(&m->lock);
    int slot = data && defined ? free_slot(m) : -1;
    if (slot >= 0) {
        address = emu_address(slot);
        m->memory.at[slot] =
            (EmuBuffer){.address = address, .bytes = bytes, .data = data, .defined = defined};
    }
    pthread_mutex_unlock(&m->lock);
    if (address) return address;
    free(data);
    free(defined);
    device_fail(e, DEVICE_NO_MEMORY, "no memory for a buffer of %zu bytes", bytes);
    return 0;
}

static EmuBuffer *buffer_of(const Emulated *m, uint64_t address) {
    uint64_t slot = (address >> EMU_SLOT_SHIFT) - 1;
    return slot < (uint64_t)m->memory.n && m->memory.at[slot].address ? &m->memory.at[slot] : NULL;
}

static void emulated_release(Device *d, uint64_t address) {
    Emulated *m = (Emulated *)d;
    pthread_mutex_lock(&m->lock);
    EmuBuffer *b = buffer_of(m, address);
    if (b) {
        free(b->data);
        free(b->defined);
        *b = (EmuBuffer){0};
    }
    pthread_mutex_unlock(&m->lock);
}

// The buffer that contains all of these bytes, and the offset of the first; NULL: there is none.
static EmuBuffer *range_of(const Emulated *m, uint64_t address, size_t bytes, size_t *offset,
                           DeviceError *e) {
    EmuBuffer *b = buffer_of(m, address);
    if (b && address >= b->address && address - b->address <= b->bytes &&
        bytes <= b->bytes - (size_t)(address - b->address)) {
        *offset = (size_t)(address - b->address);
        return b;
    }
    device_fail(e, DEVICE_FAULT, "%zu bytes at address 0x%llx are not in one buffer", bytes,
                (unsigned long long)address);
    return NULL;
}

// Bytes of the host, or (`from` NULL) of one value.
static DeviceStatus put_bytes(Device *d, uint64_t to, const void *from, uint8_t value, size_t bytes,
                              DeviceError *e) {
    Emulated *m = (Emulated *)d;
    size_t at = 0;
    pthread_mutex_lock(&m->lock);
    EmuBuffer *b = range_of(m, to, bytes, &at, e);
    if (b && from) memcpy(b->data + at, from, bytes);
    if (b && !from) memset(b->data + at, value, bytes);
    if (b) memset(b->defined + at, 1, bytes);
    pthread_mutex_unlock(&m->lock);
    return b ? DEVICE_OK : DEVICE_FAULT;
}

static DeviceStatus emulated_write(Device *d, uint64_t to, const void *from, size_t bytes,
                                   DeviceStream s, DeviceError *e) {
    (void)s;
    return put_bytes(d, to, from, 0, bytes, e);
}

static DeviceStatus emulated_fill(Device *d, uint64_t to, uint8_t value, size_t bytes,
                                  DeviceStream s, DeviceError *e) {
    (void)s;
    return put_bytes(d, to, NULL, value, bytes, e);
}

// Reading undefined bytes is an error: a kernel failed to write an element.
static DeviceStatus emulated_read(Device *d, void *to, uint64_t from, size_t bytes, DeviceStream s,
                                  DeviceError *e) {
    Emulated *m = (Emulated *)d;
    size_t at = 0;
    DeviceStatus status = DEVICE_OK;
    (void)s;
    pthread_mutex_lock(&m->lock);
    EmuBuffer *b = range_of(m, from, bytes, &at, e);
    const uint8_t *hole = b ? memchr(b->defined + at, 0, bytes) : NULL;
    if (hole)
        status = device_fail(e, DEVICE_FAULT,
                             "byte %zu of buffer %d is read back, but no kernel wrote it",
                             (size_t)(hole - b->defined), (int)(b - m->memory.at));
    else if (b)
        memcpy(to, b->data + at, bytes);
    else
        status = DEVICE_FAULT;
    pthread_mutex_unlock(&m->lock);
    return status;
}

// --- Code ----------------------------------------------------------------------------------------

static void emulated_unload(Device *d, DeviceCode *code) {
    EmulatedCode *c = (EmulatedCode *)code;
    code_free(d, code);
    arena_free(&c->arena);
    free(c->entry);
    free(c);
}

typedef struct ParseCall {
    EmulatedCode *code;
    const DeviceProgram *program;
    EmuError error;
} ParseCall;

static void parse_body(void *arg) {
    ParseCall *p = arg;
    p->code->module = emu_parse(&p->code->arena, p->program->text, p->program->len, &p->error);
}

static bool find_entries(EmulatedCode *c, DeviceError *e) {
    for (int i = 0; i < c->code.nlaunches; i++) {
        const DeviceLaunch *l = &c->code.launches[i];
        int entry = c->entry[i] = emu_find(c->module, l->kernel);
        if (entry < 0) {
            device_fail(e, DEVICE_REFUSED, "the PTX text has no entry '%s'", l->kernel);
            return false;
        }
        const EmuEntry *info = emu_entry(c->module, entry);
        bool fits = info->nparams == l->nparams;
        for (int k = 0; fits && k < l->nparams; k++) {
            int bytes = l->params[k].buffer >= 0 ? 8 : l->params[k].bytes;
            fits = emu_param_bytes(c->module, entry, k) == bytes;
        }
        if (!fits) {
            device_fail(e, DEVICE_REFUSED, "the entry '%s' has other parameters than its launch",
                        l->kernel);
            return false;
        }
        c->code.info[i].registers = info->live;
        c->code.info[i].local_bytes = info->local_bytes;
        c->code.info[i].static_bytes = info->static_bytes;
    }
    return true;
}

static DeviceCode *emulated_load(Device *d, const DeviceProgram *p, DeviceError *e) {
    EmulatedCode *c = calloc(1, sizeof *c);
    if (!c) {
        device_fail(e, DEVICE_NO_MEMORY, "out of memory");
        return NULL;
    }
    arena_init(&c->arena, &allocator_libc);
    c->entry = calloc((size_t)p->nlaunches + 1, sizeof *c->entry);
    ParseCall call = {.code = c, .program = p};
    bool parsed = c->entry && arena_try(&c->arena, parse_body, &call);
    if (!parsed)
        device_fail(e, DEVICE_NO_MEMORY, "out of memory");
    else if (!c->module)
        device_fail(e, DEVICE_REFUSED, "PTX line %d: %s", call.error.line, call.error.text);
    else if (code_init(d, &c->code, p, e) && find_entries(c, e))
        return &c->code;
    emulated_unload(d, &c->code);
    return NULL;
}

typedef struct LaunchCall {
    Emulated *m;
    EmulatedCode *code;
    int number;
    const uint64_t *args;
    bool ok;
    EmuError error;
} LaunchCall;

static void launch_body(void *arg) {
    LaunchCall *c = arg;
    const DeviceLaunch *l = &c->code->code.launches[c->number];
    Arena *scratch = &c->m->scratch;
    uint64_t *values = arena_new_n(scratch, uint64_t, l->nparams + 1);
    const void **params = arena_new_n(scratch, const void *, l->nparams + 1);
    for (int i = 0; i < l->nparams; i++) {
        values[i] = code_param(&c->code->code, &l->params[i], c->args);
        params[i] = &values[i];
    }
    EmuLaunch launch = {.entry = c->code->entry[c->number],
                        .shared = l->shared,
                        .shared_limit = (uint32_t)emulated_info.block_shared,
                        .params = params};
    memcpy(launch.grid, l->grid, sizeof launch.grid);
    memcpy(launch.block, l->block, sizeof launch.block);
    c->ok = emu_launch(scratch, c->code->module, &launch, &c->m->memory, &c->m->counts, &c->error);
}

// The least time that the counts of a launch allow, on as many processors as it has blocks, where
// each warp waits some cycles for each of its instructions, in each wave of blocks. A load and a
// store reach L2 once after the other.
static double cycles_of(const EmuCounts *from, const EmuCounts *to, const DeviceLaunch *l) {
    static const double issued = 4, sector = 32, l2_bytes = 64, wait = 4, round_trips = 2 * 283;
    const DeviceInfo *d = &emulated_info;
    double instructions = (double)(to->instructions - from->instructions);
    double sectors = (double)(to->load_sectors + to->store_sectors) -
                     (double)(from->load_sectors + from->store_sectors);
    double blocks = (double)l->grid[0] * l->grid[1] * l->grid[2];
    int warps = (int)((l->block[0] * l->block[1] * l->block[2] + 31) / 32);
    int resident = (int)min_i64(d->processor_blocks, d->processor_threads / (32 * warps));
    resident =
        (int)min_i64(resident, d->processor_shared / ((int)l->shared + d->block_shared_reserved));
    double waves = ceil(blocks / (d->processors * (double)(resident > 1 ? resident : 1)));
    double cycles = instructions / issued;
    cycles = fmax(cycles, (double)(to->shared_wavefronts - from->shared_wavefronts));
    cycles = fmax(cycles, sector * sectors / l2_bytes);
    cycles /= fmin(d->processors, blocks);
    return round_trips + fmax(cycles, wait * waves * instructions / (blocks * warps));
}

static DeviceStatus launch(Emulated *m, EmulatedCode *code, int number, const uint64_t *args,
                           DeviceError *e) {
    const uint32_t *cluster = code->code.launches[number].cluster;
    if (cluster[0] > 1 || cluster[1] > 1 || cluster[2] > 1)
        return device_fail(e, DEVICE_REFUSED,
                           "the emulator takes clusters from .reqnctapercluster only");
    LaunchCall call = {.m = m, .code = code, .number = number, .args = args};
    EmuCounts before = m->counts;
    ArenaMark mark = arena_mark(&m->scratch);
    bool memory = arena_try(&m->scratch, launch_body, &call);
    arena_release(&m->scratch, mark);
    if (!memory) return device_fail(e, DEVICE_NO_MEMORY, "out of memory");
    if (!call.ok) return device_fail(e, DEVICE_FAULT, "%s", call.error.text);
    m->cycles += cycles_of(&before, &m->counts, &code->code.launches[number]);
    return DEVICE_OK;
}

// Makes temporary buffers undefined at the start of each run.
static void forget_temporaries(Emulated *m, const DeviceCode *code) {
    for (int i = 0; i < code->ntemps; i++) {
        EmuBuffer *b = buffer_of(m, code->buffers[i]);
        memset(b->defined, 0, b->bytes);
    }
}

static DeviceStatus emulated_run(Device *d, DeviceCode *code, const uint64_t *args, DeviceStream s,
                                 DeviceError *e) {
    Emulated *m = (Emulated *)d;
    DeviceStatus status = DEVICE_OK;
    if (code->has_status) status = device_fill(d, code->buffers[code->ntemps], 0, 4, s, e);
    pthread_mutex_lock(&m->lock);
    forget_temporaries(m, code);
    EmuTraffic *sum = calloc((size_t)m->memory.n + 1, sizeof *sum);
    if (!sum) status = device_fail(e, DEVICE_NO_MEMORY, "out of memory");
    for (int i = 0; i < code->nlaunches && !status; i++) {
        status = launch(m, (EmulatedCode *)code, i, args, e);
        for (int b = 0; b < m->memory.n; b++) {
            const EmuTraffic *t = &m->memory.at[b].traffic;
            sum[b].loaded += t->loaded;
            sum[b].load_touched += t->load_touched;
            sum[b].stored += t->stored;
            sum[b].store_touched += t->store_touched;
            sum[b].load_sectors += t->load_sectors;
            sum[b].store_sectors += t->store_sectors;
        }
    }
    for (int b = 0; sum && b < m->memory.n; b++) m->memory.at[b].traffic = sum[b];
    free(sum);
    pthread_mutex_unlock(&m->lock);
    return status;
}

// --- Streams, events, graphs ---------------------------------------------------------------------

static DeviceStatus emulated_wait(Device *d, DeviceStream s, DeviceError *e) {
    (void)d, (void)s, (void)e;
    return DEVICE_OK;
}

static DeviceEvent *emulated_event_new(Device *d, DeviceError *e) {
    (void)d;
    DeviceEvent *v = calloc(1, sizeof *v);
    if (!v) device_fail(e, DEVICE_NO_MEMORY, "out of memory");
    return v;
}
static void emulated_event_free(Device *d, DeviceEvent *v) {
    (void)d;
    free(v);
}
static DeviceStatus emulated_event_record(Device *d, DeviceEvent *v, DeviceStream s,
                                          DeviceError *e) {
    (void)d, (void)s, (void)e;
    v->us = 1e6 * wall_clock();
    return DEVICE_OK;
}
static DeviceStatus emulated_event_elapsed(Device *d, DeviceEvent *from, DeviceEvent *to,
                                           double *us, DeviceError *e) {
    (void)d, (void)e;
    *us = to->us - from->us;
    return DEVICE_OK;
}

static void emulated_graph_free(Device *d, DeviceGraph *g) {
    (void)d;
    free(g->args);
    free(g);
}
static DeviceGraph *emulated_graph_new(Device *d, DeviceCode *code, const uint64_t *args, int times,
                                       DeviceError *e) {
    DeviceGraph *g = calloc(1, sizeof *g);
    if (g) {
        *g = (DeviceGraph){code, calloc((size_t)code->nargs + 1, sizeof *args), times};
        if (g->args && code->nargs) memcpy(g->args, args, (size_t)code->nargs * sizeof *args);
        if (g->args) return g;
        emulated_graph_free(d, g);
    }
    device_fail(e, DEVICE_NO_MEMORY, "out of memory");
    return NULL;
}
static DeviceStatus emulated_graph_run(Device *d, DeviceGraph *g, DeviceStream s, DeviceError *e) {
    DeviceStatus status = DEVICE_OK;
    for (int i = 0; i < g->times && !status; i++) status = emulated_run(d, g->code, g->args, s, e);
    return status;
}

// --- Counts --------------------------------------------------------------------------------------

static void emulated_counts(const Device *d, DeviceCounts *into, bool reset) {
    Emulated *m = (Emulated *)d;
    pthread_mutex_lock(&m->lock);
    const EmuCounts *c = &m->counts;
    *into = (DeviceCounts){
        .instructions = c->instructions,
        .lane_instructions = c->lane_instructions,
        .fma = c->fma,
        .shared_wavefronts = c->shared_wavefronts,
        .shared_ideal = c->shared_ideal,
        .load_sectors = c->load_sectors,
        .store_sectors = c->store_sectors,
        .load_bytes = c->load_bytes,
        .store_bytes = c->store_bytes,
        .barriers = c->barriers,
        .cycles = m->cycles,
    };
    if (reset) m->counts = (EmuCounts){0}, m->cycles = 0;
    pthread_mutex_unlock(&m->lock);
}

static bool emulated_traffic(const Device *d, uint64_t address, DeviceTraffic *into) {
    Emulated *m = (Emulated *)d;
    pthread_mutex_lock(&m->lock);
    const EmuBuffer *b = buffer_of(m, address);
    if (b)
        *into = (DeviceTraffic){b->traffic.loaded,       b->traffic.load_touched,
                                b->traffic.stored,       b->traffic.store_touched,
                                b->traffic.load_sectors, b->traffic.store_sectors};
    pthread_mutex_unlock(&m->lock);
    return b != NULL;
}

static void emulated_close(Device *d) {
    Emulated *m = (Emulated *)d;
    for (int i = 0; i < m->memory.n; i++) {
        free(m->memory.at[i].data);
        free(m->memory.at[i].defined);
    }
    free(m->memory.at);
    arena_free(&m->scratch);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

static const DeviceKind emulated_kind = {
    .close = emulated_close,
    .alloc = emulated_alloc,
    .release = emulated_release,
    .write = emulated_write,
    .read = emulated_read,
    .fill = emulated_fill,
    .load = emulated_load,
    .unload = emulated_unload,
    .run = emulated_run,
    .wait = emulated_wait,
    .event_new = emulated_event_new,
    .event_free = emulated_event_free,
    .event_record = emulated_event_record,
    .event_elapsed = emulated_event_elapsed,
    .graph_new = emulated_graph_new,
    .graph_free = emulated_graph_free,
    .graph_run = emulated_graph_run,
    .counts = emulated_counts,
    .traffic = emulated_traffic,
};

Device *device_open_emulated(DeviceError *e) {
    Emulated *m = calloc(1, sizeof *m);
    if (!m || pthread_mutex_init(&m->lock, NULL)) {
        free(m);
        device_fail(e, DEVICE_NO_MEMORY, "out of memory");
        return NULL;
    }
    m->device = (Device){&emulated_kind, emulated_info};
    arena_init(&m->scratch, &allocator_libc);
    return &m->device;
}
