// Descriptions that have the objects of cpu.c, by their names.
#include "space/cpu_impl.h"

#include "base/bug.h"
#include "space/cpu_space.h"

static int choice_named(const SpaceDesc *d, const char *name) {
    for (int i = 0; i < d->nchoices; i++)
        if (!strcmp(d->choice[i].name, name)) return i;
    return -1;
}

static int set_named(const SpaceDesc *d, const char *name) {
    for (int i = 0; i < d->nsets; i++)
        if (!strcmp(d->set[i].name, name)) return i;
    return -1;
}

// The values of an enumeration as numbers of a table of names.
static void read_marks(CpuWords *w) {
    static const struct {
        const char *name;
        Kind kind;
    } kinds[] = {
        {"SERIAL", KIND_SERIAL},     {"PARALLEL", KIND_PARALLEL}, {"UNROLL", KIND_UNROLL},
        {"VECTOR", KIND_VECTOR},     {"GRID_X", KIND_GRID_X},     {"GRID_Y", KIND_GRID_Y},
        {"GRID_Z", KIND_GRID_Z},     {"THREAD_X", KIND_THREAD_X}, {"THREAD_Y", KIND_THREAD_Y},
        {"THREAD_Z", KIND_THREAD_Z}, {"WARP", KIND_WARP},         {"LANE", KIND_LANE},
        {"CLUSTER", KIND_CLUSTER}};
    const ChoiceDesc *c = &w->desc->choice[w->choice[CPU_KIND]];
    require(c->nvalues <= CPU_MAX_MARKS);
    for (int i = 0; i < c->nvalues; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            if (!strcmp(kinds[k].name, c->value[i])) w->kind[i] = kinds[k].kind;
}

static void read_homes(CpuWords *w) {
    static const struct {
        const char *name;
        BufferHome home;
    } homes[] = {{"AUTO", HOME_AUTO},
                 {"STACK", HOME_STACK},
                 {"SCRATCH", HOME_SCRATCH},
                 {"SHARED", HOME_SHARED}};
    const ChoiceDesc *c = &w->desc->choice[w->choice[CPU_HOME]];
    require(c->nvalues <= CPU_MAX_MARKS);
    for (int i = 0; i < c->nvalues; i++)
        for (size_t k = 0; k < sizeof homes / sizeof *homes; k++)
            if (!strcmp(homes[k].name, c->value[i])) w->home[i] = homes[k].home;
}

const CpuWords *cpu_words(Arena *arena, const SpaceDesc *desc) {
    CpuWords *w = arena_new(arena, CpuWords);
    int *choice = arena_new_n(arena, int, cpu_desc.nchoices);
    int *set = arena_new_n(arena, int, cpu_desc.nsets);
    for (int i = 0; i < cpu_desc.nchoices; i++)
        choice[i] = choice_named(desc, cpu_desc.choice[i].name);
    for (int i = 0; i < cpu_desc.nsets; i++) set[i] = set_named(desc, cpu_desc.set[i].name);
    *w = (CpuWords){.desc = desc,
                    .choice = choice,
                    .set = set,
                    .by = choice_named(desc, "by"),
                    .stages = choice_named(desc, "stages"),
                    .swizzle = choice_named(desc, "swizzle"),
                    .copied = choice_named(desc, "copied"),
                    .cache = choice_named(desc, "cache"),
                    .splits = set_named(desc, "Splits"),
                    .split_partners = set_named(desc, "SplitPartners"),
                    .reader_splits = set_named(desc, "ReaderSplits"),
                    .memory_of = set_named(desc, "MemoryOf"),
                    .box_tiles = set_named(desc, "BoxTiles"),
                    .copied_by = set_named(desc, "CopiedBy")};
    read_marks(w);
    read_homes(w);
    return w;
}
