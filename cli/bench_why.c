// Where a peer wins: what is known of that row, what was tried, what remains. By row, the first
// that fits; then by what the peer was given. A row that is won needs no line here and may keep it:
// it is printed only where the row is lost.
#include "bench.h"

#include <string.h>

#define ITS_OWN " (it got images and filters in layouts of its own, reorders not counted)"

static const struct {
    const char *suite, *group, *item, *peer; // NULL: any; an item by how it begins
    const char *why;
} known[] = {
    {"gemm", "square", "16", NULL,
     "a call of 0.1 us: half of it is the way into the kernel; tried: no scratch, no prologue "
     "beyond "
     "the registers used"},
    {"gemm", "square", "512", "packed B",
     "it got B packed beforehand; with B packed our loops run at 96 to 98 % of peak, the rest is "
     "the "
     "copy. Tried: prefetching the next rows in the copy, panels of 64, 80 and 96 columns"},
    {"gemm", "square", NULL, "packed B",
     "it got B packed beforehand; our time has the packing of each panel in it"},
    {"gemm", "skinny", "1024 x 8", NULL,
     "N is half a vector, so half of every multiply-add is masked off; OpenBLAS turns the product "
     "around and fills its vectors along M. Tried: 28 rows to a tile; remains: vectors along M "
     "with a "
     "transposed store"},
    {"gemm", "skinny", "8 x 1024", NULL,
     "B is read once for 8 rows, from L3: the peer packed it beforehand. Tried: prefetching B; "
     "remains: nothing that the shape allows to reuse"},
    {"gemm", "skinny", NULL, "packed B",
     "it got B packed beforehand, and with few rows packing is a larger part of our time"},
    {"conv", "3x3, plain filters", "512@7", NULL,
     "filters of 9.4 MB come from L3 once and are packed on the way, which the peer had done "
     "beforehand; and it leaves out the taps in the border, 18 % of the operations at 7 x 7. "
     "Tried: "
     "panels of 32 to 96 filters, prefetching; remains: skipping border taps without a test inside "
     "the loop over channels"},
    {"conv", "3x3, plain filters", "256@14", NULL,
     "packing the filters, which the peer had done beforehand, and 14 columns that tiles of 5 or 7 "
     "divide unevenly. Tried: both, and packing by one or two rows of taps"},
    {"conv", "3x3, plain filters", NULL, NULL,
     "our time has the packing of the filters in it, the peer's has not" ITS_OWN},
    {"conv", "3x3, filters in blocks", NULL, NULL,
     "the border is written first, a copy of the image, where the peer tests for it" ITS_OWN},
    {"conv", "ResNet-50 1x1", "512 to 2048@7", NULL,
     "49 pixels are 12 tiles of 4 and one of 1, and filters of 4 MB are packed, which the peer had "
     "done beforehand. Tried: pixels as one loop of 49 in tiles of 7"},
    {"conv", "ResNet-50 1x1", NULL, NULL,
     "rows of the image are not joined into one loop, so tiles of 6 pixels leave a rest in each "
     "row, "
     "and filters are read as they lie" ITS_OWN},
    {"conv", "MobileNet-v2 pointwise", NULL, NULL,
     "as the 1x1 layers of ResNet-50: a rest of a tile in each row" ITS_OWN},
    {"conv", "grouped", "32 x 4@", NULL,
     "a group has 4 filters, a quarter of a vector: our lanes are filters of one group, the peer's "
     "are 16 channels of four groups at once, which its layout puts side by side" ITS_OWN
     ". Remains: lanes across groups, with a broadcast within each"},
    {"conv", "grouped", "32 x 8@", NULL,
     "a group has 8 filters, half a vector; as for groups of 4" ITS_OWN},
    {"conv", "grouped", NULL, NULL,
     "the border is written first, and a group's filters lie 32 apart, so that each vector of them "
     "is "
     "on a line of its own; the peer had them reordered beforehand. Tried: packing them per group, "
     "which costs more than it gives at 7 x 7 and 14 x 14"},
    {"conv", "depthwise", NULL, NULL,
     "nine multiply-adds to a load: both wait for the image. The peer keeps three rows of it in "
     "registers across h, we across w"},
    {"conv", "two cores", NULL, NULL, "rows are shared out once, to two threads, without stealing"},
    {"memory", "rows", "layer norm", NULL,
     "three passes over a row (mean, variance, result), as the program says; the peer has two"},
    {"memory", "streams", NULL, NULL,
     "both stand at what memory gives; stores past the caches differ"},
    {"loopstack", NULL, "DWCONV", NULL,
     "LLVM hoists the filter's nine vectors out of the loop over rows; ours are loaded for each "
     "row"},
    {"loopstack", NULL, "MM", NULL, "the same loops; LLVM places the loads of B earlier"},
    {"teml", NULL, "helm", NULL,
     "loops of 13 doubles leave lanes empty, and what gcc unrolls has none. Tried: two elements to "
     "a "
     "vector loop; remains: lanes across elements, which the order of the data does not give"},
    {"teml", NULL, "interp", NULL,
     "loops of 7 doubles leave one lane in eight empty, and what gcc unrolls has none"},
    {"compile", NULL, "gemm", "libxsmm",
     "it emits one fixed form of kernel by its shape; ours parses a program, chooses loops by the "
     "machine, and works for any of them. The kernel alone is 30 to 60 us"},
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
    return "nothing is known of this row yet; `loopwright explain` shows its loops and their "
           "bound, "
           "`loopwright tune` looks further";
}
