// Devices: names, memory, loading and launching. The emulator runs the kernels; run/cuda.c is
// tested with a driver that needs no GPU (support/fake/libcuda.c).
#include "unit/check.h"

#include "base/kernel_abi.h"
#include "run/device.h"
#include "run/device_rates.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char text[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    // p[i]++ for i < n
    ".visible .entry bump(.param .u64 p, .param .u32 n) {\n"
    ".reg .b32 %r<4>;\n.reg .b64 %a;\n.reg .pred %p;\n"
    "mov.u32 %r0, %tid.x;\nld.param.u32 %r1, [n];\nsetp.ge.u32 %p, %r0, %r1;\n@%p ret;\n"
    "ld.param.u64 %a, [p];\nmad.wide.u32 %a, %r0, 4, %a;\n"
    "ld.global.u32 %r2, [%a];\nadd.u32 %r2, %r2, 1;\nst.global.u32 [%a], %r2;\nret;\n}\n"
    // *status = value
    ".visible .entry tell(.param .u64 status, .param .u32 value) {\n"
    ".reg .b32 %r;\n.reg .b64 %a;\n"
    "ld.param.u64 %a, [status];\nld.param.u32 %r, [value];\n"
    "st.global.u32 [%a], %r;\nret;\n}\n";

// Two launches of `bump`, the second on the upper half of 8 words.
static const DeviceParam all[] = {{.buffer = 0}, {.buffer = -1, .value = 8, .bytes = 4}};
static const DeviceParam upper[] = {{.buffer = 0, .offset = 16},
                                    {.buffer = -1, .value = 4, .bytes = 4}};
static const DeviceLaunch launches[] = {{"bump", {1, 1, 1}, {32, 1, 1}, {1, 1, 1}, 0, 2, all},
                                        {"bump", {1, 1, 1}, {32, 1, 1}, {0, 0, 0}, 0, 2, upper}};
static const DeviceProgram program = {
    .text = text, .len = sizeof text - 1, .nlaunches = 2, .launches = launches, .nargs = 1};

TEST(device_names_are_checked) {
    static const char *const names[] = {"",        "gpu",           "cuda:",    "cuda:x",
                                        "cuda:-1", "cuda:12345678", "emulate:0"};
    DeviceError e;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        CHECK(!device_open(names[i], &e));
        CHECK(e.status == DEVICE_ABSENT && strstr(e.text, "no device is called"));
    }
}

static void run_twice(Device *d) {
    uint32_t words[8] = {0, 10, 20, 30, 40, 50, 60, 70}, got[8];
    DeviceError e;
    DeviceCode *code = device_load(d, &program, &e);
    if (!CHECK(code != NULL)) {
        printf("  %s\n", e.text);
        return;
    }
    uint64_t p = device_alloc(d, sizeof words, &e);
    CHECK(device_write(d, p, words, sizeof words, NULL, &e) == DEVICE_OK);
    CHECK(device_run(d, code, &p, NULL, &e) == DEVICE_OK);
    CHECK(device_check(d, code, NULL, &e) == DEVICE_OK);
    CHECK(device_read(d, got, p, sizeof got, NULL, &e) == DEVICE_OK);
    for (uint32_t i = 0; i < 8; i++) CHECK_INT_EQ(got[i], 10 * i + (i < 4 ? 1u : 2u));
    DeviceGraph *g = device_graph_new(d, code, &p, 3, &e);
    CHECK(g && device_graph_run(d, g, NULL, &e) == DEVICE_OK);
    CHECK(device_read(d, got, p, sizeof got, NULL, &e) == DEVICE_OK);
    for (uint32_t i = 0; i < 8; i++) CHECK_INT_EQ(got[i], 10 * i + 4 * (i < 4 ? 1u : 2u));
    CHECK_STR_EQ(device_kernel_info(code, 1)->name, "bump");
    CHECK(!device_kernel_info(code, 2));
    device_graph_free(d, g);
    device_free(d, p);
    device_unload(d, code);
}

TEST(device_emulate_runs_launches_in_order) {
    DeviceError e;
    Device *d = device_open("emulate", &e);
    if (!CHECK(d != NULL)) return;
    CHECK(device_is_emulated(d));
    CHECK_INT_EQ(device_info(d)->warp, 32);
    run_twice(d);
    device_close(d);
}

// A status word that a kernel sets is a bad index of that statement.
TEST(device_status_word_names_a_statement) {
    DeviceParam params[] = {{.buffer = 2},
                            {.buffer = -1, .value = KERNEL_BAD_INDEX + 5, .bytes = 4}};
    DeviceLaunch launch = {"tell", {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, 0, 2, params};
    size_t temp = 64;
    DeviceProgram p = {.text = text,
                       .len = sizeof text - 1,
                       .nlaunches = 1,
                       .launches = &launch,
                       .nargs = 1,
                       .ntemps = 1,
                       .temp_bytes = &temp,
                       .has_status = true};
    DeviceError e;
    Device *d = device_open("emulate", &e);
    DeviceCode *code = device_load(d, &p, &e);
    uint64_t a = device_alloc(d, 4, &e);
    if (!CHECK(code != NULL)) return;
    CHECK(device_status_buffer(&p) == 2);
    CHECK(device_run(d, code, &a, NULL, &e) == DEVICE_OK);
    CHECK(device_check(d, code, NULL, &e) == DEVICE_BAD_INDEX);
    CHECK_INT_EQ(e.statement, 5);
    device_unload(d, code);
    device_free(d, a);
    device_close(d);
}

TEST(device_refuses_wrong_programs) {
    DeviceError e;
    Device *d = device_open("emulate", &e);
    DeviceLaunch launch = launches[0];
    DeviceProgram p = program;
    p.nlaunches = 1;
    p.launches = &launch;
    launch.kernel = "bumpy";
    CHECK(!device_load(d, &p, &e) && e.status == DEVICE_REFUSED &&
          strstr(e.text, "no entry 'bumpy'"));
    launch = launches[0];
    launch.nparams = 1;
    CHECK(!device_load(d, &p, &e) && strstr(e.text, "other parameters"));
    launch = launches[0];
    launch.block[0] = 2048;
    DeviceCode *code = device_load(d, &p, &e);
    uint64_t a = device_alloc(d, 32, &e);
    CHECK(code && device_run(d, code, &a, NULL, &e) == DEVICE_FAULT && strstr(e.text, "2048"));
    uint32_t word;
    CHECK(device_read(d, &word, a, 4, NULL, &e) == DEVICE_FAULT); // undefined
    CHECK(device_write(d, a + 30, &word, 4, NULL, &e) == DEVICE_FAULT);
    device_unload(d, code);
    device_close(d);
}

// --- CUDA ----------------------------------------------------------------------------------------

typedef struct FakeDriver {
    int (*leaks)(void), (*compilations)(void), (*launches)(void), (*waits)(void);
    void (*refuse_graphs)(int yes);
} FakeDriver;

// Compiles the fake driver and loads it: dlopen then takes it for libcuda.so.1. False: no compiler.
static bool load_fake(const char *folder, FakeDriver *out) {
    char command[1024], path[512];
    snprintf(path, sizeof path, "%s/fake.so", folder);
    const char *slash = strstr(__FILE__, "unit/");
    snprintf(command, sizeof command,
             "cc -std=gnu11 -O1 -shared -fPIC -Wl,-soname,libcuda.so.1 -o %s "
             "%.*ssupport/fake/libcuda.c",
             path, (int)(slash - __FILE__), __FILE__);
    if (system(command) != 0) return false;
    void *fake = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!fake) return false;
    out->leaks = (int (*)(void))dlsym(fake, "fake_leaks");
    out->compilations = (int (*)(void))dlsym(fake, "fake_compilations");
    out->launches = (int (*)(void))dlsym(fake, "fake_launches");
    out->waits = (int (*)(void))dlsym(fake, "fake_waits");
    out->refuse_graphs = (void (*)(int))dlsym(fake, "fake_refuse_graphs");
    return out->leaks && out->compilations && out->launches && out->waits && out->refuse_graphs;
}

static void copy_much(Device *d) {
    enum { BYTES = (19 << 20) + 3 };
    char *from = malloc(BYTES), *to = calloc(1, BYTES);
    DeviceError e;
    for (size_t i = 0; i < BYTES; i++) from[i] = (char)(i * 2654435761u >> 13);
    uint64_t p = device_alloc(d, BYTES, &e);
    CHECK(device_write(d, p, from, BYTES, NULL, &e) == DEVICE_OK);
    CHECK(device_read(d, to, p, BYTES, NULL, &e) == DEVICE_OK);
    CHECK(memcmp(from, to, BYTES) == 0);
    device_free(d, p);
    free(from);
    free(to);
}

// Runs the two kernels of the program; the calls of the driver that launched them.
static int run_on(Device *d, DeviceCode *code, const FakeDriver *fake, uint64_t address,
                  bool as_graph) {
    DeviceError e;
    int before = fake ? fake->launches() : 0;
    CHECK(device_run(d, code, &address, NULL, &e) == DEVICE_OK);
    CHECK_INT_EQ(device_ran_as_graph(code), as_graph);
    return fake ? fake->launches() - before : as_graph ? 1 : 2;
}

// The kernels of a program go as one graph from the second run on the same arguments on. Several
// sets of arguments have graphs of their own, each with its addresses. `fake`: NULL on a GPU.
static void run_as_graphs(Device *d, const FakeDriver *fake) {
    enum { SETS = 3, RUNS = 5, MANY = 9 };
    uint32_t words[8] = {0}, got[8];
    uint64_t p[MANY];
    DeviceError e;
    DeviceCode *code = device_load(d, &program, &e);
    if (!CHECK(code != NULL)) return;
    for (int i = 0; i < MANY; i++) {
        p[i] = device_alloc(d, sizeof words, &e);
        CHECK(device_write(d, p[i], words, sizeof words, NULL, &e) == DEVICE_OK);
    }
    for (int run = 0; run < RUNS; run++)
        for (int i = 0; i < SETS; i++)
            CHECK_INT_EQ(run_on(d, code, fake, p[i], run > 0), run > 0 ? 1 : 2);
    // More sets in turn than are remembered: no graph is ever made.
    for (int run = 0; run < RUNS; run++)
        for (int i = SETS; i < MANY; i++) CHECK_INT_EQ(run_on(d, code, fake, p[i], false), 2);
    CHECK(device_check(d, code, NULL, &e) == DEVICE_OK);
    for (int i = 0; i < MANY; i++) {
        CHECK(device_read(d, got, p[i], sizeof got, NULL, &e) == DEVICE_OK);
        for (int k = 0; k < 8; k++) CHECK_INT_EQ(got[k], k < 4 ? RUNS : 2 * RUNS);
        device_free(d, p[i]);
    }
    device_unload(d, code);
}

// A driver that makes no graphs: every run launches its kernels.
static void run_without_graphs(Device *d, const FakeDriver *fake) {
    uint32_t words[8] = {0};
    DeviceError e;
    DeviceCode *code = device_load(d, &program, &e);
    uint64_t p = device_alloc(d, sizeof words, &e);
    CHECK(device_write(d, p, words, sizeof words, NULL, &e) == DEVICE_OK);
    fake->refuse_graphs(1);
    for (int run = 0; run < 3; run++) CHECK_INT_EQ(run_on(d, code, fake, p, false), 2);
    CHECK(!device_graph_new(d, code, &p, 1, &e) && strstr(e.text, "making a graph"));
    fake->refuse_graphs(0);
    CHECK(device_read(d, words, p, sizeof words, NULL, &e) == DEVICE_OK);
    CHECK_INT_EQ(words[7], 6);
    device_free(d, p);
    device_unload(d, code);
}

// A run of a program with temporary buffers waits for the last one if that was on another stream;
// on a stream that is captured nothing waits.
static void run_on_streams(Device *d, const FakeDriver *fake) {
    struct {
        void *into;
    } streams[2] = {{NULL}, {NULL}}, captured = {calloc(1, 1 << 16)};
    uint32_t words[8] = {0};
    size_t temp = 64;
    DeviceError e;
    for (int temps = 0; temps < 2; temps++) {
        DeviceProgram p = program;
        p.ntemps = temps;
        p.temp_bytes = &temp;
        DeviceCode *code = device_load(d, &p, &e);
        uint64_t at = device_alloc(d, sizeof words, &e);
        CHECK(device_write(d, at, words, sizeof words, NULL, &e) == DEVICE_OK);
        DeviceStream order[] = {&streams[0], &streams[0], &streams[1], NULL, &captured, NULL};
        int before = fake->waits();
        for (size_t i = 0; i < sizeof order / sizeof *order; i++)
            CHECK(device_run(d, code, &at, order[i], &e) == DEVICE_OK);
        CHECK_INT_EQ(fake->waits() - before, temps ? 2 : 0);
        device_free(d, at);
        device_unload(d, code);
    }
    free(captured.into);
}

static void check_failures_of_cuda(Device *d) {
    DeviceError e;
    DeviceProgram p = program;
    CHECK(!device_alloc(d, (size_t)2 << 30, &e) && e.status == DEVICE_NO_MEMORY);
    CHECK(strstr(e.text, "out of memory"));
    p.text = "nonsense";
    p.len = strlen(p.text);
    CHECK(!device_load(d, &p, &e) && e.status == DEVICE_REFUSED);
    CHECK(strstr(e.text, "does not compile: line 3: nonsense"));
    p.text = "broken bump";
    p.len = strlen(p.text);
    CHECK(!device_load(d, &p, &e) && strstr(e.text, "CUDA error 200"));
}

TEST(device_cuda_uses_the_driver_well) {
    char folder[] = "/tmp/lw-fake-XXXXXX", remove[64];
    FakeDriver fake;
    DeviceError e;
    Device *gpu = device_open("cuda:0", &e);
    if (gpu) { // the real one
        run_twice(gpu);
        run_as_graphs(gpu, NULL);
        copy_much(gpu);
        device_close(gpu);
        return;
    }
    if (!strstr(e.text, "no CUDA driver") || !CHECK(mkdtemp(folder))) return; // no GPU
    CHECK(!device_open("cuda", &e) && e.status == DEVICE_ABSENT);
    CHECK(strstr(e.text, "no CUDA driver"));
    CHECK(device_count(&e) == 0);
    if (!load_fake(folder, &fake)) return;
    setenv("LW_GPU_CACHE", folder, 1);
    setenv("LW_GPU_COMPILER", "driver", 1);
    CHECK_INT_EQ(device_count(&e), 2);
    CHECK(!device_open("cuda:2", &e) && strstr(e.text, "this machine has 2 CUDA devices"));
    for (int round = 0; round < 2; round++) {
        Device *d = device_open("cuda:1", &e);
        if (!CHECK(d != NULL)) return;
        CHECK_STR_EQ(device_info(d)->name, "cuda:1");
        CHECK_STR_EQ(device_info(d)->target, "sm_90a");
        run_twice(d);
        CHECK_INT_EQ(fake.compilations(), round ? 3 : 1); // the second time it is in the cache
        copy_much(d);
        run_as_graphs(d, &fake);
        run_without_graphs(d, &fake);
        run_on_streams(d, &fake);
        check_failures_of_cuda(d);
        device_close(d);
        CHECK_INT_EQ(fake.leaks(), 0);
    }
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    CHECK(system(remove) == 0);
}

// The kernels that measure a GPU's peaks run on the emulator, which checks their accesses.
TEST(device_rates_come_from_right_kernels) {
    DeviceError e;
    Device *d = device_open("emulate", &e);
    DeviceRates r;
    if (!CHECK(device_measure(d, 10000, &r, &e) == DEVICE_OK)) printf("  %s\n", e.text);
    CHECK(r.fma_f32 > 0 && r.fma_f64 > 0 && r.shared > 0 && r.l2 > 0 && r.read > 0);
    CHECK(r.write > 0 && r.copy > 0 && r.launch_us > 0);
    DeviceCounts c;
    device_counts(d, &c);
    CHECK_INT_EQ(c.shared_wavefronts, c.shared_ideal);
    CHECK_INT_EQ(32 * (c.load_sectors + c.store_sectors), c.load_bytes + c.store_bytes);
    device_close(d);
}
