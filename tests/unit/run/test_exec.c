// Memory for code: references, mappings, and that nothing is writable and executable at once.
#include "unit/check.h"

#include "run/exec.h"

#include <stdio.h>
#include <string.h>

enum { CHUNK = 1 << 20 };

// mov eax, n; ret
static ExecBlock *constant(ExecArena *a, uint8_t n, size_t size) {
    uint8_t *code = calloc(1, size);
    memcpy(code, (uint8_t[]){0xb8, n, 0, 0, 0, 0xc3}, 6);
    ExecBlock *b = exec_add(a, code, size);
    free(code);
    return b;
}

static int call(const ExecBlock *b) { return ((int (*)(void))exec_entry(b))(); }

TEST(code_stays_as_long_as_somebody_holds_it) {
    ExecArena *a = exec_arena_new_private(); // a mapping for each
    ExecBlock *x = constant(a, 11, 100), *y = constant(a, 22, 100);
    size_t both = exec_arena_mapped(a);
    exec_retain(x);
    exec_release(x);
    CHECK(exec_arena_mapped(a) == both && call(x) == 11 && call(y) == 22);
    exec_release(x);
    CHECK(exec_arena_mapped(a) == both / 2 && call(y) == 22);
    exec_release(y);
    CHECK(exec_arena_mapped(a) == 0);
    exec_arena_free(a);
}

TEST(memory_of_code_that_is_gone_comes_back) {
    ExecArena *a = exec_arena_new();
    ExecBlock *kept = constant(a, 7, 100), *b[64];
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 64; i++) b[i] = constant(a, (uint8_t)i, CHUNK / 8);
        CHECK(exec_arena_mapped(a) >= 8 * CHUNK);
        for (int i = 0; i < 64; i++) CHECK(call(b[i]) == i);
        for (int i = 0; i < 64; i++) exec_release(b[i]);
        CHECK(exec_arena_mapped(a) <= 2 * CHUNK);
        CHECK(call(kept) == 7);
    }
    exec_release(kept);
    exec_arena_free(a);
}

TEST(large_code_has_a_mapping_of_its_own) {
    ExecArena *a = exec_arena_new();
    ExecBlock *small = constant(a, 1, 64), *large = constant(a, 2, 3 * CHUNK + 5);
    CHECK(call(small) == 1 && call(large) == 2);
    CHECK(exec_arena_mapped(a) >= 4 * CHUNK);
    exec_release(large);
    exec_release(small);
    exec_arena_free(a);
}

// Mappings that are writable and executable, and those of code memory that are writable.
static int writable_and_executable(void) {
    FILE *f = fopen("/proc/self/maps", "r");
    char line[512];
    int n = 0;
    while (f && fgets(line, sizeof line, f)) {
        const char *rights = strchr(line, ' ');
        n += rights && rights[2] == 'w' && (rights[3] == 'x' || strstr(line, "memfd:loopwright"));
    }
    if (f) fclose(f);
    return n;
}

TEST(nothing_is_writable_and_executable) {
    ExecArena *a = exec_arena_new(), *b = exec_arena_new_private();
    int before = writable_and_executable();
    ExecBlock *x = constant(a, 3, 64), *y = constant(b, 4, 64);
    CHECK(call(x) == 3 && call(y) == 4);
    CHECK_INT_EQ(writable_and_executable(), before);
    CHECK(before == 0);
    exec_release(x);
    exec_release(y);
    exec_arena_free(a);
    exec_arena_free(b);
}
