// The emulator's checks: kernels that a GPU may run without complaint, but that are wrong, and the
// right kernels next to them. Also threads together (barriers, shuffles, votes) and counts.
#include "support/emulab.h"
#include "unit/check.h"

#include <stdio.h>
#include <string.h>

// A kernel with buffers p0 (64 floats, given) and p1 (64 floats, a result), addresses of this
// thread's elements in %a and %b, its number in %t, %s the shared memory, 4*tid in %o.
static void kernel_text(char *into, size_t size, const char *body) {
    snprintf(into, size,
             "%s.extern .shared .align 16 .b8 smem[];\n"
             ".const .align 4 .f32 table[] = {1.5, 0f40200000, 3.5, 4.5};\n"
             ".visible .entry k(.param .u64 p0, .param .u64 p1)\n.maxntid 64,1,1\n{\n"
             ".reg .b64 %%a, %%b, %%c;\n.reg .b32 %%t, %%s, %%o, %%l, %%r<10>;\n"
             ".reg .f32 %%f<10>;\n.reg .pred %%p, %%q;\n"
             "mov.u32 %%t, %%tid.x;\nshl.b32 %%o, %%t, 2;\nmov.u32 %%l, %%laneid;\n"
             "ld.param.u64 %%a, [p0];\nld.param.u64 %%b, [p1];\n"
             "mad.wide.u32 %%a, %%t, 4, %%a;\nmad.wide.u32 %%b, %%t, 4, %%b;\n"
             "mov.u32 %%s, smem;\nadd.u32 %%s, %%s, %%o;\n%s\nret;\n}\n",
             emulab_head, body);
}

static float given[64], result[64];

static DeviceStatus run_body(EmuLab *lab, const char *body, uint32_t blocks) {
    static char text[8192];
    void *data[2] = {given, result};
    size_t bytes[2] = {sizeof given, sizeof result};
    for (int i = 0; i < 64; i++) given[i] = (float)(i + 1);
    memset(result, 0, sizeof result);
    kernel_text(text, sizeof text, body);
    return emulab_run(lab, text, blocks, 64, 1024, data, bytes, 2, 1);
}

typedef struct Wrong {
    const char *body;
    const char *says; // in the message
    uint32_t blocks;
} Wrong;

#define LOAD  "ld.global.f32 %f0, [%a];\n"
#define STORE "st.global.f32 [%b], %f1;\n"
#define SHARE "st.shared.f32 [%s], %f0;\n"
#define OTHER                                                                                      \
    "xor.b32 %r0, %o, 252;\nmov.u32 %r1, smem;\nadd.u32 %r1, %r1, %r0;\n" // of thread 63-t
#define READ  "ld.shared.f32 %f1, [%r1];\n"
#define ASYNC "cp.async.ca.shared.global [%s], [%a], 4;\n"

static const Wrong wrong[] = {
    // Addresses.
    {"ld.global.f32 %f1, [%a+4];\n" STORE, "at byte 256 of buffer 0, which has 256", 1},
    {"ld.global.f32 %f1, [%a+-4];\n" STORE, "4 before the beginning of buffer 0", 1},
    {"ld.global.f32 %f1, [%a+2];\n" STORE, "not a multiple of 4", 1},
    {"ld.global.v2.f32 {%f1, %f2}, [%a];\n" STORE, "not a multiple of 8", 1},
    {"mov.b64 %a, 0;\nld.global.f32 %f1, [%a];\n" STORE, "belongs to no buffer", 1},
    {LOAD "st.shared.f32 [%s+1024], %f0;\n", "at byte 1024 of shared memory, which has 1024", 1},
    {LOAD "st.shared.f32 [%s+-4], %f0;\n", "4 before the beginning of shared memory", 1},
    {"mov.u64 %c, table;\nld.const.f32 %f1, [%c+16];\n",
     "at byte 16 of constant memory, which has 16", 1},
    // Undefined values.
    {"ld.shared.f32 %f1, [%s];\n" STORE,
     "stores to global memory, but %f1 is undefined; line 22 loaded byte 0 of shared memory, which "
     "nothing had written",
     1},
    {"add.rn.f32 %f1, %f0, %f0;\n" STORE, "undefined", 1},
    {"add.u32 %r1, %s, %r9;\nld.shared.f32 %f1, [%r1];\n", "the address %r1 is undefined", 1},
    {"@%p bra $end;\n$end:\n", "the predicate %p is undefined", 1},
    {"setp.lt.u32 %p, %t, 32;\n@%p st.global.f32 [%b], 0f00000000;\n", "no kernel wrote it", 1},
    // Races in shared memory.
    {LOAD SHARE OTHER READ STORE, "which nothing had written", 1},
    {LOAD SHARE "bar.warp.sync -1;\n" OTHER READ STORE, "which nothing had written", 1},
    {LOAD "mov.u32 %r1, smem;\nst.shared.f32 [%r1], %f0;\n", "without a barrier in between", 1},
    {LOAD SHARE "bar.sync 0;\n" OTHER READ "st.shared.f32 [%s], %f1;\n",
     "without a barrier in between", 1},
    // The second warp reads what the first one wrote, the first what the second will write.
    {LOAD SHARE "setp.lt.u32 %p, %t, 32;\n@%p ret;\n" OTHER READ STORE,
     "without a barrier in between", 1},
    {ASYNC "cp.async.wait_all;\nsetp.lt.u32 %p, %t, 32;\n@%p ret;\n" OTHER READ STORE,
     "without a barrier in between", 1},
    // A barrier of the first warp alone does not order the second.
    {LOAD SHARE "setp.lt.u32 %p, %t, 32;\n@!%p bra $l;\nbar.sync 1, 32;\n$l:\n" OTHER READ STORE,
     "which nothing had written", 1},
    // Races in global memory: between threads, and between blocks.
    {LOAD "ld.param.u64 %c, [p1];\nst.global.f32 [%c], %f0;\n", "without a barrier in between", 1},
    {LOAD "mov.u32 %r0, %ctaid.x;\ncvt.rn.f32.u32 %f1, %r0;\n" STORE, "block (0,0,0)", 2},
    {LOAD "add.rn.f32 %f1, %f0, %f0;\nst.global.f32 [%a], %f1;\n" STORE, "wrote", 2},
    // What the read-only cache holds must not change.
    {"ld.global.nc.f32 %f0, [%a];\nadd.rn.f32 %f1, %f0, %f0;\nst.global.f32 [%a], %f1;\n",
     "writes byte 0 of buffer", 1},
    {LOAD "st.global.f32 [%a], %f0;\nld.global.nc.f32 %f1, [%a];\n",
     "through the read-only cache; written in line", 1},
    // cp.async.
    {ASYNC "cp.async.commit_group;\nld.shared.f32 %f1, [%s];\n" STORE, "has not waited", 1},
    {ASYNC "cp.async.commit_group;\ncp.async.wait_group 1;\nld.shared.f32 %f1, [%s];\n" STORE,
     "has not waited", 1},
    {ASYNC "cp.async.wait_group 0;\nld.shared.f32 %f1, [%s];\n" STORE, "has not waited", 1},
    {ASYNC "cp.async.commit_group;\ncp.async.wait_group 0;\n" OTHER READ STORE,
     "which nothing had written", 1},
    {ASYNC "st.global.f32 [%a], 0f00000000;\ncp.async.wait_all;\n", "changed before this wait", 1},
    {LOAD SHARE "bar.sync 0;\n" OTHER READ ASYNC "cp.async.wait_all;\n",
     "without a barrier in between", 1},
    {ASYNC ASYNC, "has not waited", 1},
    {"cp.async.ca.shared.global [%s], [%a+4], 4;\n", "which has 256", 1},
    // Divergence.
    {"setp.lt.u32 %p, %t, 7;\n@%p bra $l;\nbar.sync 0;\n$l:\n", "is elsewhere", 1},
    {"setp.lt.u32 %p, %t, 7;\n@%p ret;\nbar.sync 0;\n", "returned before this barrier", 1},
    {"setp.lt.u32 %p, %t, 32;\n@%p bra $l;\nbar.sync 0;\n$l:\n", "waits forever", 1},
    {"setp.lt.u32 %p, %t, 7;\n@%p shfl.sync.bfly.b32 %r0, %t, 1, 31, -1;\n", "is named by the mask",
     1},
    {"setp.lt.u32 %p, %t, 7;\n@%p bra.uni $l;\n$l:\n", "disagree", 1},
    {LOAD "setp.lt.u32 %p, %l, 16;\n@!%p bra $l;\n"
          "shfl.sync.down.b32 %r0, %t, 8, 31, 0x0000ffff;\ncvt.rn.f32.u32 %f1, %r0;\n" STORE
          "$l:\n",
     "undefined", 1},
    {"bar.sync 0, 48;\n", "a barrier of 48 threads", 1},
    {"bar.sync 16;\n", "there are 16 barriers", 1},
    {"trap;\n", "stops the launch", 1},
};

TEST(emulate_finds_wrong_kernels) {
    EmuLab lab;
    if (!CHECK(emulab_open(&lab))) return;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        DeviceStatus status = run_body(&lab, wrong[i].body, wrong[i].blocks);
        if (!CHECK(status == DEVICE_FAULT) || !CHECK(strstr(lab.error.text, wrong[i].says)))
            printf("  kernel %zu, %s: %s\n%s", i, wrong[i].says, status ? lab.error.text : "runs",
                   wrong[i].body);
    }
    emulab_close(&lab);
}

// Right kernels, each with the element t of its result.
typedef struct Right {
    const char *body;
    float (*value)(int t);
    uint32_t blocks;
} Right;

static float mirrored(int t) { return (float)(64 - t); }
static float plain(int t) { return (float)(t + 1); }
static float warp_sum(int t) { return t < 32 ? 528 : 1552; }
static float rotated(int t) { return (float)(t / 32 * 32 + (t + 1) % 32 + 1); }
static float shifted_up(int t) { return (float)(t % 32 < 4 ? t + 1 : t - 3); }
static float parity(int t) { return (float)(t & 1); }
static float half_zero(int t) { return t < 32 ? (float)(t + 1) : 0; }
static float count64(int t) { return t == 0 ? 64 : 0; }
static float loops(int t) { return (float)(t % 5 * 3); }
static float tabled(int t) { return (float)(t % 4) + 1.5f; }
static float votes_of(int t) { return t < 32 ? 7 : 0; }

static const Right right[] = {
    {LOAD SHARE "bar.sync 0;\n" OTHER READ STORE, mirrored, 1},
    {ASYNC "cp.async.commit_group;\ncp.async.wait_group 0;\nbar.sync 0;\n" OTHER READ STORE,
     mirrored, 1},
    {ASYNC "cp.async.wait_all;\nld.shared.f32 %f1, [%s];\n" STORE, plain, 1},
    // Blocks store equal values: no race.
    {LOAD "mov.f32 %f1, %f0;\n" STORE, plain, 2},
    {"ld.global.nc.L1::no_allocate.f32 %f1, [%a];\n" STORE, plain, 1},
    {"ld.global.cg.f32 %f1, [%a];\n" STORE, plain, 1},
    {"ld.global.cs.f32 %f1, [%a];\n" STORE, plain, 1},
    {LOAD "st.global.cg.f32 [%b], %f0;\nld.global.ca.f32 %f1, [%b];\n" STORE, plain, 1},
    // Two warps pass data through named barriers, one only arrives.
    {LOAD SHARE
     "setp.lt.u32 %p, %t, 32;\n@%p bra $x;\nbar.arrive 1, 64;\nbar.sync 2, 64;\n"
     "bra.uni $y;\n$x:\nbar.sync 1, 64;\nbar.arrive 2, 64;\n$y:\nbar.sync 0;\n" OTHER READ STORE,
     mirrored, 1},
    // Within a warp bar.warp.sync is enough.
    {LOAD SHARE "bar.warp.sync -1;\nadd.u32 %r0, %t, 1;\nand.b32 %r0, %r0, 31;\n"
                "and.b32 %r2, %t, 32;\nor.b32 %r0, %r0, %r2;\nmov.u32 %r1, smem;\n"
                "mad.lo.u32 %r1, %r0, 4, %r1;\n" READ STORE,
     rotated, 1},
    {LOAD "mov.f32 %f1, %f0;\n"
          "shfl.sync.bfly.b32 %f2, %f1, 16, 31, -1;\nadd.rn.f32 %f1, %f1, %f2;\n"
          "shfl.sync.bfly.b32 %f2, %f1, 8, 31, -1;\nadd.rn.f32 %f1, %f1, %f2;\n"
          "shfl.sync.bfly.b32 %f2, %f1, 4, 31, -1;\nadd.rn.f32 %f1, %f1, %f2;\n"
          "shfl.sync.bfly.b32 %f2, %f1, 2, 31, -1;\nadd.rn.f32 %f1, %f1, %f2;\n"
          "shfl.sync.bfly.b32 %f2, %f1, 1, 31, -1;\nadd.rn.f32 %f1, %f1, %f2;\n" STORE,
     warp_sum, 1},
    {LOAD "shfl.sync.up.b32 %f1, %f0, 4, 0, -1;\n" STORE, shifted_up, 1},
    {"and.b32 %r0, %t, 1;\nsetp.ne.u32 %p, %r0, 0;\nselp.f32 %f1, 0f3F800000, 0f00000000, %p;\n"
     "" STORE,
     parity, 1},
    // A register that only some threads define, and that only they use.
    {"setp.lt.u32 %p, %t, 32;\n@%p ld.global.f32 %f0, [%a];\n"
     "selp.f32 %f1, %f0, 0f00000000, %p;\n" STORE,
     half_zero, 1},
    // src-size 0 reads nothing and stores zeros.
    {"setp.lt.u32 %p, %t, 32;\nselp.u32 %r0, 4, 0, %p;\n"
     "cp.async.ca.shared.global [%s], [%a], 4, %r0;\ncp.async.wait_all;\n"
     "ld.shared.f32 %f1, [%s];\n" STORE,
     half_zero, 1},
    // Atomics need no barrier among themselves.
    {"mov.f32 %f1, 0f00000000;\n" STORE "bar.sync 0;\nld.param.u64 %c, [p1];\n"
     "red.global.add.f32 [%c], 0f3F800000;\n",
     count64, 1},
    {"mov.u64 %c, table;\nand.b32 %r0, %t, 3;\nmad.wide.u32 %c, %r0, 4, %c;\n"
     "ld.const.f32 %f1, [%c];\n" STORE,
     tabled, 1},
    // Divergent loops reconverge.
    {"rem.u32 %r0, %t, 5;\nmov.u32 %r1, 0;\nmov.u32 %r2, 0;\n$loop:\nsetp.ge.u32 %p, %r1, %r0;\n"
     "@%p bra $done;\nadd.u32 %r2, %r2, 3;\nadd.u32 %r1, %r1, 1;\nbra $loop;\n$done:\nbar.sync 0;\n"
     "cvt.rn.f32.u32 %f1, %r2;\n" STORE,
     loops, 1},
    {"setp.lt.u32 %p, %t, 3;\nvote.sync.ballot.b32 %r0, %p, -1;\ncvt.rn.f32.u32 %f1, %r0;\n" STORE,
     votes_of, 1},
    {"mov.b64 %c, {%t, %o};\nmov.b64 {%r0, %r1}, %c;\nadd.u32 %r0, %r0, 1;\n"
     "cvt.rn.f32.u32 %f1, %r0;\n" STORE,
     plain, 1},
};

TEST(emulate_runs_right_kernels) {
    EmuLab lab;
    if (!CHECK(emulab_open(&lab))) return;
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        DeviceStatus status = run_body(&lab, right[i].body, right[i].blocks);
        if (!CHECK(status == DEVICE_OK)) {
            printf("  kernel %zu: %s\n%s", i, lab.error.text, right[i].body);
            continue;
        }
        for (int t = 0; t < 64; t++) CHECK_F64_EQ(result[t], right[i].value(t));
    }
    emulab_close(&lab);
}

// --- Texts that are refused ----------------------------------------------------------------------

static const char *const refused[][2] = {
    {"mul.f32 %f0, %f0, %f0;\n", "does not know 'mul.f32'"},
    {"ex2.approx.f32 %f0, %f0;\n", "does not know 'ex2.approx.f32'"},
    {"add.rn.f32 %f0, %f0, %a;\n", "has 64 bits"},
    {"add.rn.f32 %f0, %f0, %nothing;\n", "nothing is called"},
    {"bra $nowhere;\n", "no label is called '$nowhere'"},
    {"ld.f32 %f0, [%a];\n", "needs a state space"},
    {"cvt.f32.s32 %f0, %r0;\n", "needs a rounding mode"},
    {"cp.async.cg.shared.global [%s], [%a], 4;\n", "with .cg only 16"},
    {"ld.shared.nc.f32 %f0, [%s];\n", "loads from global memory use the read-only cache"},
    {"ld.global.v4.f64 {%a, %a, %a, %a}, [%a];\n", "at most 16 bytes"},
    {"add.u32 %r0, %r1\n", "expected ','"},
    {"setp.lt.b32 %p, %r0, %r1;\n", "does not compare .b32"},
    {".reg .b32 %x<100000>;\n", "registers"},
    {"wgmma.fence.sync.aligned;\n", "does not know"},
    {"$a:\n$a:\n", "twice"},
};

TEST(emulate_refuses_texts_it_does_not_know) {
    EmuLab lab;
    if (!CHECK(emulab_open(&lab))) return;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        DeviceStatus status = run_body(&lab, refused[i][0], 1);
        if (!CHECK(status == DEVICE_REFUSED) || !CHECK(strstr(lab.error.text, refused[i][1])))
            printf("  %s: %s\n", refused[i][0], status ? lab.error.text : "runs");
    }
    emulab_close(&lab);
}

// --- Counts --------------------------------------------------------------------------------------

// Wavefronts and sectors of one warp instruction with these addresses.
static DeviceCounts count_of(EmuLab *lab, const char *body) {
    DeviceCounts c;
    device_counts_reset(lab->device);
    DeviceStatus status = run_body(lab, body, 1);
    if (!CHECK(status == DEVICE_OK)) printf("  %s\n", lab->error.text);
    device_counts(lab->device, &c);
    return c;
}

#define ZERO     "mov.f32 %f1, 0f00000000;\n" STORE
#define PITCH(n) "mov.u32 %r1, smem;\nand.b32 %r0, %t, 7;\nmad.lo.u32 %r1, %r0, " #n ", %r1;\n"

TEST(emulate_counts_bank_conflicts) {
    EmuLab lab;
    if (!CHECK(emulab_open(&lab))) return;
    // Consecutive words: one wavefront per warp.
    DeviceCounts c = count_of(&lab, ZERO "st.shared.f32 [%s], %f1;\n");
    CHECK_INT_EQ(c.shared_wavefronts, 2);
    CHECK_INT_EQ(c.shared_ideal, 2);
    // Eight rows 128 bytes apart, one bank: 8 wavefronts per warp (threads store equal words).
    c = count_of(&lab, ZERO PITCH(128) "st.shared.f32 [%r1], %f1;\n");
    CHECK_INT_EQ(c.shared_wavefronts, 16);
    CHECK_INT_EQ(c.shared_ideal, 2);
    // The same rows with 4 bytes of padding.
    c = count_of(&lab, ZERO PITCH(124) "st.shared.f32 [%r1], %f1;\n");
    CHECK_INT_EQ(c.shared_wavefronts, 2);
    // 16 bytes a thread: four quarter-warps.
    c = count_of(&lab, ZERO "mov.u32 %r1, smem;\nmad.lo.u32 %r1, %t, 16, %r1;\n"
                            "st.shared.v4.f32 [%r1], {%f1, %f1, %f1, %f1};\n");
    CHECK_INT_EQ(c.shared_wavefronts, 8);
    CHECK_INT_EQ(c.shared_ideal, 8);
    // Loads of 16 bytes whose neighbours read the same: half as many.
    c = count_of(&lab,
                 ZERO "mov.u32 %r1, smem;\nmad.lo.u32 %r1, %t, 16, %r1;\n"
                      "st.shared.v4.f32 [%r1], {%f1, %f1, %f1, %f1};\nbar.sync 0;\n"
                      "shr.u32 %r2, %t, 1;\nmov.u32 %r1, smem;\nmad.lo.u32 %r1, %r2, 16, %r1;\n"
                      "ld.shared.v4.f32 {%f2, %f3, %f4, %f5}, [%r1];\n");
    CHECK_INT_EQ(c.shared_wavefronts, 8 + 4);
    emulab_close(&lab);
}

TEST(emulate_counts_sectors_and_bytes) {
    EmuLab lab;
    if (!CHECK(emulab_open(&lab))) return;
    DeviceCounts c = count_of(&lab, LOAD "mov.f32 %f1, %f0;\n" STORE);
    CHECK_INT_EQ(c.load_sectors, 8);
    CHECK_INT_EQ(c.store_sectors, 8);
    CHECK_INT_EQ(c.load_bytes, 256);
    CHECK_INT_EQ(c.lane_instructions % 64, 0);
    // All threads read one word: one sector per warp.
    c = count_of(&lab, "ld.param.u64 %c, [p0];\nld.global.f32 %f1, [%c];\n" STORE);
    CHECK_INT_EQ(c.load_sectors, 2);
    CHECK_INT_EQ(c.load_bytes, 256);
    emulab_close(&lab);
}

// Each input read once: loaded == touched.
TEST(emulate_knows_what_is_read_twice) {
    EmuLab lab;
    if (!CHECK(emulab_open(&lab))) return;
    char text[4096];
    DeviceError e;
    for (int twice = 0; twice < 2; twice++) {
        kernel_text(text, sizeof text,
                    twice ? LOAD "ld.global.f32 %f1, [%a];\nadd.rn.f32 %f1, %f0, %f1;\n" STORE
                          : LOAD "mov.f32 %f1, %f0;\n" STORE);
        uint64_t args[2] = {device_alloc(lab.device, 256, &e), device_alloc(lab.device, 256, &e)};
        DeviceParam params[2] = {{.buffer = 0}, {.buffer = 1}};
        DeviceLaunch launch = {"k", {1, 1, 1}, {64, 1, 1}, {1, 1, 1}, 1024, 2, params};
        DeviceProgram p = {
            .text = text, .len = strlen(text), .nlaunches = 1, .launches = &launch, .nargs = 2};
        DeviceCode *code = device_load(lab.device, &p, &e);
        DeviceTraffic in, out;
        device_fill(lab.device, args[0], 0, 256, NULL, &e);
        if (!CHECK(code && device_run(lab.device, code, args, NULL, &e) == DEVICE_OK)) return;
        CHECK(device_traffic(lab.device, args[0], &in) &&
              device_traffic(lab.device, args[1], &out));
        CHECK_INT_EQ(in.loaded, twice ? 512 : 256);
        CHECK_INT_EQ(in.load_touched, 256);
        CHECK_INT_EQ(out.stored, 256);
        CHECK_INT_EQ(out.store_touched, 256);
        CHECK_INT_EQ(out.loaded, 0);
        device_unload(lab.device, code);
    }
    emulab_close(&lab);
}
