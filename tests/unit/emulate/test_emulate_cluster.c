// Clusters in the emulator: blocks that read each other's shared memory, with and without the
// barriers that they need.
#include "support/emulab.h"
#include "unit/check.h"

#include <stdio.h>
#include <string.h>

// Blocks of 64 threads in clusters of two. %s is the address of this thread's word of shared
// memory, %r the rank of its block, %o that of the other, %b the address of its element of the
// result, %f its value: the number of the thread in the grid.
static void kernel_text(char *into, size_t size, const char *body) {
    snprintf(into, size,
             "%s.extern .shared .align 16 .b8 smem[];\n"
             ".visible .entry k(.param .u64 p0)\n.maxntid 64,1,1\n.reqnctapercluster 2,1,1\n{\n"
             ".reg .b64 %%b, %%d;\n.reg .b32 %%t, %%s, %%r, %%o, %%q, %%c;\n.reg .f32 %%f, %%g;\n"
             ".reg .pred %%p;\n"
             "mov.u32 %%t, %%tid.x;\nmov.u32 %%c, %%ctaid.x;\nmov.u32 %%r, %%cluster_ctarank;\n"
             "xor.b32 %%o, %%r, 1;\nmov.u32 %%s, smem;\nmad.lo.u32 %%s, %%t, 4, %%s;\n"
             "mad.lo.u32 %%c, %%c, 64, %%t;\nld.param.u64 %%b, [p0];\n"
             "mad.wide.u32 %%b, %%c, 4, %%b;\ncvt.rn.f32.u32 %%f, %%c;\n%s\nret;\n}\n",
             emulab_head, body);
}

#define SHARE   "st.shared.f32 [%s], %f;\n"
#define ARRIVE  "barrier.cluster.arrive.release.aligned;\n"
#define WAIT    "barrier.cluster.wait.acquire.aligned;\n"
#define BARRIER ARRIVE WAIT
#define READ    "mapa.shared::cluster.u32 %q, %s, %o;\nld.shared::cluster.f32 %g, [%q];\n"
#define STORE   "st.global.f32 [%b], %g;\n"
// Writes the element of the thread with this number in the other block.
#define SEND                                                                                       \
    "ld.param.u64 %d, [p0];\nxor.b32 %q, %c, 64;\nmad.wide.u32 %d, %q, 4, %d;\n"                   \
    "st.global.f32 [%d], %f;\n"

static float result[256];

static DeviceStatus run_body(EmuLab *lab, const char *body, uint32_t blocks) {
    static char text[8192];
    void *data[1] = {result};
    size_t bytes[1] = {sizeof(float) * 64 * blocks};
    memset(result, 0, sizeof result);
    kernel_text(text, sizeof text, body);
    return emulab_run(lab, text, blocks, 64, 256, data, bytes, 1, 0);
}

TEST(blocks_of_a_cluster_read_each_other) {
    EmuLab lab;
    if (!CHECK(emulab_open(&lab))) return;
    DeviceStatus status = run_body(&lab, SHARE BARRIER READ BARRIER STORE, 4);
    if (!CHECK(status == DEVICE_OK)) printf("%s\n", lab.error.text);
    for (int i = 0; i < 256; i++) CHECK_F64_EQ(result[i], i ^ 64);
    // The address of a block's own shared memory is one of the cluster, too.
    status = run_body(&lab, SHARE "ld.shared::cluster.f32 %g, [%s];\n" STORE, 2);
    if (!CHECK(status == DEVICE_OK)) printf("%s\n", lab.error.text);
    // Twice, with work between arriving and waiting.
    status = run_body(&lab,
                      SHARE ARRIVE "add.rn.f32 %f, %f, 0f3F800000;\n" WAIT READ BARRIER
                                   "st.shared.f32 [%s], %g;\n" BARRIER READ BARRIER STORE,
                      2);
    if (!CHECK(status == DEVICE_OK)) printf("%s\n", lab.error.text);
    for (int i = 0; i < 128; i++) CHECK_F64_EQ(result[i], i);
    // Through global memory, of which L2 has one copy for all blocks.
    status = run_body(&lab, SEND BARRIER "ld.global.cg.f32 %g, [%b];\n" STORE, 2);
    if (!CHECK(status == DEVICE_OK)) printf("%s\n", lab.error.text);
    for (int i = 0; i < 128; i++) CHECK_F64_EQ(result[i], i ^ 64);
    emulab_close(&lab);
}

static const struct {
    const char *body, *says;
    uint32_t blocks;
} wrong[] = {
    {SHARE READ BARRIER STORE, "without a barrier in between", 2},
    {"mov.f32 %g, %f;\n" SHARE BARRIER READ "st.shared.f32 [%s], %g;\n" BARRIER STORE,
     "without a barrier in between", 2},
    {SHARE BARRIER READ STORE, "which may have ended", 2},
    // Block 1 reads first, and block 0 ends without knowing whether it has.
    {SHARE BARRIER "mov.f32 %g, %f;\nsetp.eq.u32 %p, %r, 0;\n@%p bra $x;\n" READ "$x:\n" STORE,
     "may access the shared memory of this block later", 2},
    {SHARE ARRIVE READ WAIT BARRIER STORE, "without a barrier in between", 2},
    {SHARE "bar.sync 0;\n" READ BARRIER STORE, "without a barrier in between", 2},
    {SHARE ARRIVE ARRIVE WAIT READ BARRIER STORE, "arrives twice", 2},
    {SHARE WAIT READ BARRIER STORE, "without having arrived", 2},
    {SHARE BARRIER
     "mapa.shared::cluster.u32 %q, %s, 2;\nld.shared::cluster.f32 %g, [%q];\n" BARRIER STORE,
     "to block 2 of a cluster of 2", 2},
    {SHARE BARRIER
     "mapa.shared::cluster.u32 %q, %s, %o;\nld.shared::cluster.f32 %g, [%q+256];\n" BARRIER STORE,
     "of shared memory, which has 256", 2},
    {SHARE BARRIER "mapa.shared::cluster.u32 %q, %s, %o;\nld.shared.f32 %g, [%q];\n" BARRIER STORE,
     "of shared memory, which has 256", 2},
    {"mov.f32 %g, %f;\nsetp.eq.u32 %p, %r, 0;\n@%p bra $x;\n" BARRIER "$x:\n" STORE,
     "waits forever", 2},
    {"setp.lt.u32 %p, %t, 16;\n@%p bra $x;\n" BARRIER "$x:\nmov.f32 %g, %f;\n" STORE,
     "other threads of its warp execute this barrier of the cluster", 2},
    {"mov.f32 %g, %f;\n" STORE, "in clusters of 2", 3},
    // A barrier orders the stores of the other block, but L1 may hold what was there before.
    {SEND BARRIER "ld.global.ca.f32 %g, [%b];\n", "another block wrote it in line", 2},
};

TEST(missing_barriers_of_a_cluster_are_found) {
    EmuLab lab;
    if (!CHECK(emulab_open(&lab))) return;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        DeviceStatus status = run_body(&lab, wrong[i].body, wrong[i].blocks);
        if (!CHECK(status != DEVICE_OK) || !CHECK(strstr(lab.error.text, wrong[i].says)))
            printf("  kernel %zu, %s: %s\n%s", i, wrong[i].says, status ? lab.error.text : "runs",
                   wrong[i].body);
    }
    emulab_close(&lab);
}
