// Where a peer wins: what is known of that row, what was tried, what remains. By row, the first
// that fits; then by what the peer was given. A row that is won needs no line here and may keep it:
// it is printed only where the row is lost.
#include "command/bench.h"

#include <string.h>

static const struct {
    const char *suite, *group, *item, *peer; // NULL: any; an item by how it begins
    const char *why;
} known[] = {
    {"gemm", "square", "16", NULL,
     "a call takes 0.12 us, of which the multiply-adds are 0.05: the rest is the way in, loads and "
     "stores"},
    {"gemm", "square", NULL, "libxsmm",
     "level with it: the same loops were measured at 94 to 99 % of peak, for 64, 128 and 256, "
     "while "
     "nobody else had the machine"},
    {"gemm", "square", "512", "packed B",
     "it got B packed beforehand; with B packed our loops were measured at 96 to 98 % of peak, "
     "what "
     "is missing is the packing"},
    {"gemm", "square", NULL, "packed B",
     "it got B packed beforehand; our time has the packing of each panel in it"},
    {"gemm", "skinny", "128 x 256 x 32", "libxsmm",
     "a tile of 24 vectors is begun and stored for 32 steps of the sum: 24 cycles beside 384"},
    {"gemm", "skinny", "8 x 1024", NULL,
     "B (4 MB, more than L2 holds) is read once for 8 rows: the rate is that of L3, and the peer "
     "packed it beforehand"},
    {"gemm", "skinny", NULL, "packed B",
     "it got B packed beforehand, and with few rows packing is a larger part of our time"},
    {"gemm", "batched", "500 x 26 26 72", NULL,
     "26 columns leave 6 of 32 lanes empty, for both, and 8.8 MB come from beyond L2 once: what is "
     "left is the order in which they come"},
    {"conv", "3x3, plain filters", "512@7", NULL,
     "filters of 9.4 MB come from L3 and are packed on the way, which the peer had done "
     "beforehand"},
    {"conv", "3x3, plain filters", "256@14", NULL,
     "the filters (2.4 MB) are packed in our time, which the peer had done beforehand, and rows of "
     "14 pixels are tiles of 5, 5 and 4"},
    {"conv", "3x3, plain filters", NULL, NULL, "our time has the packing of the filters in it"},
    {"conv", "ResNet-50 1x1", NULL, NULL,
     "our time has the packing of the filters in it, which few pixels pay for"},
    {"conv", "MobileNet-v2 pointwise", NULL, NULL,
     "our time has the packing of the filters in it, which few pixels pay for"},
    {"conv", "depthwise", NULL, NULL,
     "about one operation a byte: the rate is that of loads, and a tile takes 64 bytes of each "
     "pixel, not its whole row"},
    {"conv", "grouped", NULL, NULL,
     "groups are small: several share a vector, and what they multiply is spread by shuffles"},
    {"tc", "products", "tmm 128 1024 1024", NULL,
     "B (4 MB) is turned around in registers as it is packed, once for 128 rows"},
    {"memory", "rows", "layer norm", NULL,
     "three sweeps over each row, for the mean, the variance and the result, as the program says"},
    {"teml", NULL, "helm", NULL,
     "loops of 13 doubles leave lanes empty, and what gcc unrolls has none"},
    {"teml", NULL, "interp", NULL,
     "loops of 7 doubles leave lanes empty, and what gcc unrolls has none"},
    {"compile", NULL, "gemm", "libxsmm",
     "it emits one form of kernel by three sizes; ours parses a program, chooses loops by the "
     "machine and compiles any of them. With the loops given, half of 1728 shapes take 30 us"},
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
    if (!r->compute && r->of_peak > 0.9) return "both stand at what memory gives";
    if (!strcmp(p->name, "packed B"))
        return "it got B packed beforehand; packing is in our time and not in its";
    if (!r->compute)
        return "what memory gives is not reached; `loopwright explain` shows what each loop moves";
    return "no reason is known; `loopwright explain` shows its loops and their bound, `loopwright "
           "tune` looks further";
}

const char *bench_given(const BenchRow *r, const BenchPeer *p) {
    bool conv = strstr(r->item->task ? r->item->task : "", "conv") != NULL;
    if (!strcmp(p->name, "its own"))
        return "; the peer's images and filters lie in layouts of its own, reorders not counted";
    return conv && !strcmp(p->name, "onednn") ? "; the peer's filters were reordered beforehand"
                                              : "";
}
