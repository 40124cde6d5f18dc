// The information for profilers and debuggers, read back.
#include "unit/check.h"

#include "loopwright.h"
#include "run/debug.h"

#include <dirent.h>
#include <elf.h>
#include <unistd.h>

static char folder[] = "/tmp/lw-debug-XXXXXX";

static char *read_file(const char *path, size_t *size) {
    FILE *f = fopen(path, "r");
    char *data = calloc(1, 1 << 20);
    *size = f ? fread(data, 1, (1 << 20) - 1, f) : 0;
    if (f) fclose(f);
    return data;
}

static void run_products(lw_context *ctx, const char *schedule) {
    static const char text[] = "def mm(float(N,N) A, float(N,N) B) -> (C) {"
                               " C(m,n) +=! A(m,k) * B(k,n) }";
    static float memory[3][24 * 24];
    for (int64_t n = 20; n <= 24; n += 4) {
        lw_module *mod;
        lw_bound *b;
        lw_size size = {"N", n};
        CHECK(!lw_parse(ctx, "mm.tc", text, strlen(text), NULL, &mod));
        CHECK(!lw_bind(ctx, lw_module_function(mod, 0), &size, 1, &b));
        DLTensor t[3];
        const DLTensor *args[3];
        for (size_t i = 0; i < 3; i++) {
            t[i] = *lw_bound_tensor(b, i);
            t[i].data = memory[i];
            args[i] = &t[i];
        }
        lw_run_options o = {.struct_size = sizeof o, .schedule = {schedule, "s.lws"}};
        CHECK(!lw_run(ctx, b, args, 3, &o));
        CHECK(!lw_run(ctx, b, args, 3, &o)); // not made again
        lw_bound_free(b);
        lw_module_free(mod);
    }
}

static lw_context *context_with(const char *perf, const char *gdb) {
    static bool made;
    if (!made) made = mkdtemp(folder) != NULL;
    setenv("LW_PERF", perf, 1);
    setenv("LW_GDB", gdb, 1);
    setenv("LW_DEBUG_DIR", folder, 1);
    lw_context *ctx = lw_context_new(NULL);
    unsetenv("LW_PERF");
    unsetenv("LW_GDB");
    unsetenv("LW_DEBUG_DIR");
    return ctx;
}

static void remove_folder(void) {
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[600];
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (e->d_name[0] != '.') unlink(path);
    }
    if (d) closedir(d);
    rmdir(folder);
}

TEST(debugging_is_off_unless_asked_for) {
    static const struct {
        const char *perf, *gdb;
        int want;
    } cases[] = {{"", "", 0},
                 {"map", "", DEBUG_MAP},
                 {"jitdump", "0", DEBUG_JITDUMP},
                 {"map,jitdump", "1", DEBUG_MAP | DEBUG_JITDUMP | DEBUG_GDB},
                 {"", "1", DEBUG_GDB},
                 {"maps", "", -1},
                 {"map,", "", DEBUG_MAP}};
    CHECK(debug_wanted() == 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("LW_PERF", cases[i].perf, 1);
        setenv("LW_GDB", cases[i].gdb, 1);
        CHECK_INT_EQ(debug_wanted(), cases[i].want);
    }
    unsetenv("LW_PERF");
    unsetenv("LW_GDB");
}

TEST(the_perf_map_names_each_kernel_once) {
    char path[64];
    unsigned long long start[2] = {0}, size[2] = {0};
    size_t n;
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    unlink(path);
    lw_context *ctx = context_with("map", "");
    run_products(ctx, "C: m n k\n");
    char *text = read_file(path, &n), *at = text;
    for (int i = 0; i < 2; i++) {
        char name[64];
        int used = 0;
        CHECK(sscanf(at, "%llx %llx %63s%n", &start[i], &size[i], name, &used) == 3);
        CHECK_STR_EQ(name, i ? "lw_mm_2" : "lw_mm_1");
        at += used + 1;
        CHECK(size[i] > 32 && ((unsigned char *)(uintptr_t)start[i])[0] == 0x53); // push rbx
    }
    CHECK(*at == 0);
    CHECK(start[0] + size[0] <= start[1] || start[1] + size[1] <= start[0]);
    free(text);
    unlink(path);
    lw_context_free(ctx);
}

static uint64_t number(const char *at, size_t bytes) {
    uint64_t v = 0;
    memcpy(&v, at, bytes);
    return v;
}

// One line: address, line and column, and the file's name.
static const char *see_lines(const char *at, uint64_t code, uint64_t count, int most) {
    uint64_t before = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t address = number(at, 8), line = number(at + 8, 4);
        CHECK(address >= code && (i == 0 || address > before));
        CHECK((int)line <= most);
        CHECK(strstr(at + 16, "/lw_mm_") && strstr(at + 16, ".tree"));
        before = address;
        at += 16 + strlen(at + 16) + 1;
    }
    return at;
}

TEST(the_jitdump_reads_back) {
    char path[600];
    size_t size, text_size;
    lw_context *ctx = context_with("jitdump", "");
    run_products(ctx, "C: m/4 n k m\n");
    snprintf(path, sizeof path, "%s/lw_mm_1.tree", folder);
    char *tree = read_file(path, &text_size);
    int most = 0;
    for (char *c = tree; *c; c++) most += *c == '\n';
    CHECK(most == 7 && strstr(tree, "C[4*m + m.1, n] += A[4*m + m.1, k]*B[k, n]"));
    snprintf(path, sizeof path, "%s/jit-%d.dump", folder, (int)getpid());
    char *dump = read_file(path, &size);
    CHECK(number(dump, 4) == 0x4a695444 && number(dump + 4, 4) == 1 && number(dump + 8, 4) == 40);
    CHECK(number(dump + 12, 4) == EM_X86_64 && number(dump + 20, 4) == (uint64_t)getpid());
    int loads = 0, lines = 0;
    uint64_t time = number(dump + 24, 8);
    for (const char *at = dump + 40; at < dump + size;) {
        uint64_t id = number(at, 4), total = number(at + 4, 4);
        CHECK(number(at + 8, 8) >= time);
        time = number(at + 8, 8);
        if (id == 2) {
            const char *end = see_lines(at + 32, number(at + 16, 8), number(at + 24, 8), most);
            CHECK(end == at + total && number(at + 24, 8) > 4);
            lines++;
        } else if (CHECK(id == 0)) {
            uint64_t address = number(at + 32, 8), bytes = number(at + 40, 8);
            const char *name = at + 56;
            CHECK(number(at + 24, 8) == address && number(at + 48, 8) == (uint64_t)++loads);
            CHECK(!strncmp(name, "lw_mm_", 6) && total == 56 + strlen(name) + 1 + bytes);
            CHECK(!memcmp(name + strlen(name) + 1, (void *)(uintptr_t)address, bytes));
        }
        if (!CHECK(total >= 16)) break;
        at += total;
    }
    CHECK(loads == 2 && lines == 2);
    free(tree);
    free(dump);
    lw_context_free(ctx);
    dump = read_file(path, &text_size); // closed
    CHECK(text_size == size + 16 && number(dump + size, 4) == 3);
    free(dump);
}

// As declared by gdb.
struct entry {
    struct entry *next, *prev;
    const char *file;
    uint64_t size;
};
extern struct descriptor {
    uint32_t version, action;
    struct entry *relevant, *first;
} __jit_debug_descriptor;

static const Elf64_Shdr *section(const struct entry *e, const char *name) {
    const Elf64_Ehdr *h = (const void *)e->file;
    const Elf64_Shdr *s = (const void *)(e->file + h->e_shoff);
    for (int i = 0; i < h->e_shnum; i++)
        if (!strcmp(e->file + s[h->e_shstrndx].sh_offset + s[i].sh_name, name)) return &s[i];
    return NULL;
}

TEST(gdb_has_a_file_for_each_kernel) {
    lw_context *ctx = context_with("", "1");
    CHECK(__jit_debug_descriptor.version == 1 && !__jit_debug_descriptor.first);
    run_products(ctx, "C: m n k\n");
    int n = 0;
    for (const struct entry *e = __jit_debug_descriptor.first; e; e = e->next, n++) {
        CHECK(!memcmp(e->file, ELFMAG, 4) && (!e->next || e->next->prev == e));
        const Elf64_Shdr *text = section(e, ".text"), *names = section(e, ".strtab");
        const Elf64_Shdr *line = section(e, ".debug_line"), *info = section(e, ".debug_info");
        if (!CHECK(text && names && line && info && section(e, ".debug_abbrev"))) break;
        CHECK(*(unsigned char *)(uintptr_t)text->sh_addr == 0x53);
        CHECK(!strncmp(e->file + names->sh_offset + 1, "lw_mm_", 6));
        CHECK(number(e->file + line->sh_offset, 4) == line->sh_size - 4);
        CHECK(number(e->file + info->sh_offset, 4) == info->sh_size - 4);
        CHECK(line->sh_offset + line->sh_size <= e->size);
    }
    CHECK(n == 2);
    lw_context_free(ctx);
    CHECK(!__jit_debug_descriptor.first);
    remove_folder();
}
