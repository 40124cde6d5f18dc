// Reasons why a peer wins a row. The first matching entry is used, then the data that the peer was
// given. Entries of rows that we win are harmless: a reason is printed only for a lost row.
#include "command/bench.h"

#include <string.h>

static const struct {
    const char *suite, *group, *item, *peer; // NULL: any; an item by its prefix
    const char *why;
} known[] = {
    {"gemm", "square", "16", NULL,
     "a call takes 0.12 us, of which the multiply-adds take 0.05: the rest is call overhead, loads "
     "and stores"},
    {"gemm", "square", NULL, "libxsmm",
     "on par: the same loops were measured at 94 to 99 % of peak, for 64, 128 and 256, on an idle "
     "machine"},
    {"gemm", "square", "512", "packed B",
     "the peer had B packed beforehand; with B packed our loops were measured at 96 to 98 % of "
     "peak, so the difference is the packing"},
    {"gemm", "square", NULL, "packed B",
     "the peer had B packed beforehand; our time includes the packing of each panel"},
    {"gemm", "skinny", "128 x 256 x 32", "libxsmm",
     "a tile of 24 vectors is initialised and stored for 32 steps of the sum: 24 cycles on top of "
     "384"},
    {"gemm", "skinny", "8 x 1024", NULL,
     "B (4 MB, more than L2 holds) is read once for 8 rows: the rate is that of L3, and the peer "
     "packed it beforehand"},
    {"gemm", "skinny", NULL, "packed B",
     "the peer had B packed beforehand, and with few rows packing is a larger part of our time"},
    {"gemm", "batched", "500 x 26 26 72", NULL,
     "26 columns leave 6 of 32 lanes empty, for both, and 8.8 MB are read once from beyond L2: the "
     "remaining difference is the order of these reads"},
    {"conv", "3x3, plain filters", "512@7", NULL,
     "filters of 9.4 MB are read from L3 and packed, which the peer had done beforehand"},
    {"conv", "3x3, plain filters", "256@14", NULL,
     "our time includes packing the filters (2.4 MB), which the peer had done beforehand, and rows "
     "of 14 pixels are divided into tiles of 5, 5 and 4"},
    {"conv", "3x3, plain filters", NULL, NULL, "our time includes packing the filters"},
    {"conv", "ResNet-50 1x1", NULL, NULL,
     "our time includes packing the filters, which few pixels amortise"},
    {"conv", "MobileNet-v2 pointwise", NULL, NULL,
     "our time includes packing the filters, which few pixels amortise"},
    {"conv", "depthwise", NULL, NULL,
     "about one operation per byte: the rate is limited by loads, and a tile takes 64 bytes of "
     "each pixel, not its whole row"},
    {"conv", "grouped", NULL, NULL,
     "groups are small: several share a vector, and shuffles distribute their operands"},
    {"tc", "products", "tmm 128 1024 1024", NULL,
     "B (4 MB) is transposed in registers while it is packed, once for 128 rows"},
    {"memory", "rows", "layer norm", NULL,
     "three passes over each row, for the mean, the variance and the result, as in the program"},
    {"teml", NULL, "helm", NULL,
     "loops of 13 doubles leave lanes empty, while gcc's unrolled code leaves none"},
    {"teml", NULL, "interp", NULL,
     "loops of 7 doubles leave lanes empty, while gcc's unrolled code leaves none"},
    {"compile", NULL, "gemm", "libxsmm",
     "it emits one form of kernel for three sizes; ours parses a program, chooses loops for the "
     "machine and compiles any of them. With given loops, half of 1728 shapes take 30 us"},
};

static bool fits(const char *want, const char *is, bool begins) {
    return !want || (begins ? !strncmp(is, want, strlen(want)) : !strcmp(is, want));
}

const char *bench_why(const BenchRow *r, const BenchPeer *p) {
    const BenchItem *i = r->item;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (fits(known[k].suite, i->suite, false) && fits(known[k].group, i->group, false) &&
            fits(known[k].item, i->name, true) && fits(known[k].peer, p->name, false))
            return known[k].why;
    if (!r->compute && r->of_peak > 0.9) return "both reach the bandwidth of memory";
    if (!strcmp(p->name, "packed B"))
        return "the peer had B packed beforehand; only our time includes the packing";
    if (!r->compute)
        return "the bandwidth of memory is not reached; `loopwright explain` shows the bytes that "
               "each loop moves";
    return "unknown; `loopwright explain` shows its loops and their bound, `loopwright tune` "
           "searches further";
}

const char *bench_given(const BenchRow *r, const BenchPeer *p) {
    bool conv = strstr(r->item->task ? r->item->task : "", "conv") != NULL;
    if (!strcmp(p->name, "its own"))
        return "; the peer's images and filters have its own layouts, reorders not counted";
    return conv && !strcmp(p->name, "onednn") ? "; the peer's filters were reordered beforehand"
                                              : "";
}
