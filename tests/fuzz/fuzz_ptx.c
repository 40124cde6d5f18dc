// PTX text: any bytes parse or are refused with a line; each entry that parses runs on small
// buffers, within a limit of steps, to its end or to a located error.
#include "emulate/emulate.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BUFFERS = 3, BYTES = 512, STEPS = 20000, PARAMS = 8, BLOCK = 40 };

static void check(bool ok) {
    if (!ok) __builtin_trap();
}

static void launch(Arena *arena, const EmuModule *m, int entry, uint32_t threads) {
    static uint8_t bytes[BUFFERS][BYTES], defined[BUFFERS][BYTES];
    EmuBuffer buffer[BUFFERS];
    uint64_t value[PARAMS];
    uint8_t large[4096] = {0};
    const void *params[PARAMS];
    EmuCounts counts = {0};
    EmuError e;
    const EmuEntry *info = emu_entry(m, entry);
    if (info->nparams > PARAMS) return;
    memset(defined, 1, sizeof defined);
    for (int i = 0; i < BUFFERS; i++)
        buffer[i] = (EmuBuffer){
            .address = emu_address(i), .bytes = BYTES, .data = bytes[i], .defined = defined[i]};
    for (int i = 0; i < info->nparams; i++) {
        value[i] = emu_param_bytes(m, entry, i) == 8 ? emu_address(i % BUFFERS) : 3;
        params[i] = emu_param_bytes(m, entry, i) > 8 ? (void *)large : (void *)&value[i];
    }
    EmuMemory memory = {buffer, BUFFERS};
    EmuLaunch l = {.entry = entry,
                   .grid = {2, 1, 1},
                   .block = {threads, 1, 1},
                   .shared = 2048,
                   .shared_limit = 1 << 20,
                   .params = params,
                   .limit = STEPS};
    bool ok = emu_launch(arena, m, &l, &memory, &counts, &e);
    check(ok == !e.text[0]);
    check(counts.instructions <= STEPS + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Arena arena;
    EmuError e;
    arena_init(&arena, &allocator_libc);
    EmuModule *m = emu_parse(&arena, (const char *)data, size, &e);
    check((m == NULL) == (e.text[0] != 0));
    check(m || e.line > 0);
    for (int i = 0; m && i < emu_entry_count(m) && i < 4; i++) {
        launch(&arena, m, i, BLOCK);
        launch(&arena, m, i, 1);
    }
    arena_free(&arena);
    return 0;
}
