#define _GNU_SOURCE
#include "support/stepper.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

// --- Instructions as text ------------------------------------------------------------------------

enum { NO_REG = -1, VECTORS = 0, GENERALS = 32, MASKS = 48, REGS = 56, OPERANDS = 4 };
enum { FREE = WORK_COUNT, DIVIDE, SCALAR }; // in addition to Work

// A parsed instruction.
typedef struct Insn {
    int what;         // a Work, or one of the above
    bool full, wide;  // 512 bits; f64
    bool scalar_lane; // of one element
    bool loads, stores, fused;
    int bytes; // of its memory operand
    int lanes; // of a gather whose mask is all ones: loads of `bytes` each; otherwise 1
    int writes, nreads, reads[8];
    int base, index, scale;
    int64_t disp;
    bool memory;
} Insn;

static int general(const char *name, size_t n) {
    static const char *const names[16][4] = {
        {"rax", "eax", "ax", "al"},      {"rcx", "ecx", "cx", "cl"},
        {"rdx", "edx", "dx", "dl"},      {"rbx", "ebx", "bx", "bl"},
        {"rsp", "esp", "sp", "spl"},     {"rbp", "ebp", "bp", "bpl"},
        {"rsi", "esi", "si", "sil"},     {"rdi", "edi", "di", "dil"},
        {"r8", "r8d", "r8w", "r8b"},     {"r9", "r9d", "r9w", "r9b"},
        {"r10", "r10d", "r10w", "r10b"}, {"r11", "r11d", "r11w", "r11b"},
        {"r12", "r12d", "r12w", "r12b"}, {"r13", "r13d", "r13w", "r13b"},
        {"r14", "r14d", "r14w", "r14b"}, {"r15", "r15d", "r15w", "r15b"}};
    for (int r = 0; r < 16; r++)
        for (int k = 0; k < 4; k++)
            if (strlen(names[r][k]) == n && !strncmp(name, names[r][k], n)) return r;
    return NO_REG;
}

static int reg_of(const char *s, size_t n) {
    if (n >= 4 && (s[0] == 'x' || s[0] == 'y' || s[0] == 'z') && !strncmp(s + 1, "mm", 2))
        return VECTORS + atoi(s + 3);
    if (n == 2 && s[0] == 'k' && s[1] >= '0' && s[1] <= '7') return MASKS + s[1] - '0';
    int r = general(s, n);
    return r < 0 ? NO_REG : GENERALS + r;
}

static size_t word(const char *s) { return strcspn(s, " ,[]+-*{}\0"); }

static void add_read(Insn *in, int reg) {
    if (reg != NO_REG && in->nreads < 8) in->reads[in->nreads++] = reg;
}

// "[rax+rcx*4+0x10]", "[rip+...]" has no register.
static void read_memory(Insn *in, const char *s) {
    bool minus = false;
    in->memory = true;
    in->base = in->index = NO_REG;
    in->scale = 1;
    in->disp = 0;
    for (s++; *s && *s != ']';) {
        size_t n = word(s);
        int reg = reg_of(s, n);
        if (n == 0) {
            minus = *s == '-';
            s++;
        } else if (reg != NO_REG) {
            add_read(in, reg);
            if (s[n] == '*') {
                in->index = reg;
                in->scale = atoi(s + n + 1);
                n += 1 + word(s + n + 1);
            } else if (in->base == NO_REG) {
                in->base = reg;
            } else {
                in->index = reg;
            }
            s += n;
        } else {
            int64_t value = (int64_t)strtoull(s, NULL, 0);
            in->disp += minus ? -value : value;
            s += n;
        }
    }
}

static int size_word(const char *s) {
    static const struct {
        const char *name;
        int bytes;
    } sizes[] = {{"byte", 1},     {"word", 2},     {"dword", 4},   {"qword", 8},
                 {"xmmword", 16}, {"ymmword", 32}, {"zmmword", 64}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t n = strlen(sizes[i].name);
        if (!strncmp(s, sizes[i].name, n) && s[n] == ' ') return sizes[i].bytes;
    }
    return 0;
}

static bool begins(const char *s, const char *with) { return !strncmp(s, with, strlen(with)); }

static bool one_of(const char *s, const char *const *list) {
    for (; *list; list++)
        if (begins(s, *list)) return true;
    return false;
}

static void classify(Insn *in, const char *name) {
    static const char *const mul[] = {"vfm", "vfnm", "vmulp", "vmuls", NULL};
    static const char *const add[] = {"vaddp", "vadds", "vsubp", "vsubs", NULL};
    static const char *const shuffle[] = {
        "vperm",  "vshuf",   "vunpck",     "vpunpck",     "vpshuf", "vinsert", "vextract", "vpack",
        "valign", "vpalign", "vbroadcast", "vpbroadcast", "vcompr", "vexpand", NULL};
    static const char *const move[] = {
        "mov",  "vmova",      "vmovu", "vmovnt", "vmovs", "vmovd",    "vmovq", "vmaskm", "vpmask",
        "kmov", "vzeroupper", "nop",   "push",   "pop",   "prefetch", "ret",   "endbr",  NULL};
    size_t n = strcspn(name, " ");
    in->wide = n > 1 && name[n - 1] == 'd' && (name[n - 2] == 'p' || name[n - 2] == 's');
    in->scalar_lane = n > 1 && name[n - 2] == 's' && (name[n - 1] == 's' || name[n - 1] == 'd');
    if (one_of(name, move))
        in->what = FREE;
    else if (one_of(name, mul))
        in->what = WORK_MUL;
    else if (one_of(name, add))
        in->what = WORK_ADD;
    else if (begins(name, "vdiv") || begins(name, "vsqrt"))
        in->what = DIVIDE;
    else if (begins(name, "vpmulld") || begins(name, "vpmullq"))
        in->what = WORK_IMUL;
    else if (one_of(name, shuffle))
        in->what = in->memory && !strstr(name, "perm") ? FREE : WORK_SHUFFLE;
    else
        in->what = name[0] == 'v' ? WORK_ANY : name[0] == 'k' ? FREE : SCALAR;
}

static bool same_sources(const Insn *in, const int *operand, int n) {
    return !in->memory && n >= 2 && operand[n - 1] == operand[n - 2] && operand[n - 1] != NO_REG;
}

// The registers that it reads and writes, for Intel syntax and the instructions of our generator:
// the first operand is written unless the instruction compares or stores.
static void read_operands(Insn *in, const char *name, const char *s) {
    static const char *const keeps[] = {"vfm", "vfnm", "vpdp",    "vpternlog", "add",  "sub", "and",
                                        "or",  "xor",  "imul",    "inc",       "dec",  "neg", "not",
                                        "sh",  "sa",   "vpermt2", "vpermi2",   "cmov", NULL};
    static const char *const only_reads[] = {"cmp",  "test",    "vucomis", "vcomis", "vptest",
                                             "push", "kortest", "j",       "call",   NULL};
    int operand[OPERANDS] = {NO_REG, NO_REG, NO_REG, NO_REG}, n = 0;
    bool memory_first = false, merged = false;
    in->writes = NO_REG;
    while (*s && n < OPERANDS) {
        s += strspn(s, " ,");
        if (!*s) break;
        int bytes = size_word(s);
        const char *bracket = strchr(s, '['), *comma = strchr(s, ',');
        if (bracket && (!comma || bracket < comma)) {
            read_memory(in, bracket);
            in->bytes = bytes;
            if (n == 0) memory_first = true;
            s = strchr(bracket, ']') + 1;
        } else {
            operand[n] = reg_of(s, word(s));
            s += word(s);
        }
        while (s[strspn(s, " ")] == '{') { // a mask, {z}, {1to16}, or a rounding
            s += strspn(s, " ");
            int mask = reg_of(s + 1, word(s + 1));
            if (mask != NO_REG) add_read(in, mask), merged |= n == 0 && !strstr(s, "{z}");
            s += strcspn(s, "}") + 1;
        }
        n++;
        s += strcspn(s, ",");
    }
    bool reads = one_of(name, only_reads) && !begins(name, "jmp");
    for (int i = 1; i < n; i++) add_read(in, operand[i]);
    if (reads || one_of(name, keeps) || (merged && !memory_first)) add_read(in, operand[0]);
    if (!reads) in->writes = operand[0];
    in->stores = memory_first && !reads && !begins(name, "prefetch") && !begins(name, "lea");
    in->loads =
        in->memory && !begins(name, "lea") && (!memory_first || reads || one_of(name, keeps));
    bool zeroes = begins(name, "xor") || begins(name, "vpxor") || begins(name, "vxor");
    if (zeroes && same_sources(in, operand, n)) {
        in->nreads = 0;
        in->what = FREE;
    }
}

static Insn read_insn(const char *text, const char *before) {
    Insn in = {.base = NO_REG, .index = NO_REG, .writes = NO_REG};
    static const char *const fuses[] = {"cmp", "test", "add", "sub", "inc", "dec", "and", NULL};
    in.full = strstr(text, "zmm") != NULL;
    in.memory = strchr(text, '[') != NULL;
    classify(&in, text);
    read_operands(&in, text, text + strcspn(text, " "));
    in.fused = text[0] == 'j' && before && one_of(before, fuses);
    return in;
}

// A gather loads each lane by itself. Its mask is known if all ones were written into it just
// before: `kxnorw k2, k2, k2`, or `vpcmpeqd ymm3, ymm3, ymm3` for AVX2.
static int gathered_lanes(const Listing *l, const Insn *all, int i) {
    enum { LOOK_BACK = 6 };
    const char *text = l->insns.at[i].text, *first = strchr(text, ' ');
    if ((!begins(text, "vgather") && !begins(text, "vpgather")) || !first) return 1;
    int width = first[1] == 'z' ? 64 : first[1] == 'y' ? 32 : 16;
    for (int k = i - 1; k >= 0 && k > i - LOOK_BACK; k--) {
        const char *before = l->insns.at[k].text;
        bool ones = begins(before, "kxnor") || begins(before, "vpcmpeqd");
        for (int r = 0; ones && r < all[i].nreads; r++)
            if (all[k].writes == all[i].reads[r]) return width / all[i].bytes;
    }
    return 1;
}

static Insn *read_listing(Arena *arena, const Listing *l) {
    Insn *all = arena_new_n(arena, Insn, l->insns.n + 1);
    for (int i = 0; i < l->insns.n; i++) {
        all[i] = read_insn(l->insns.at[i].text, i ? l->insns.at[i - 1].text : NULL);
        all[i].lanes = gathered_lanes(l, all, i);
    }
    return all;
}

// --- Stepping ------------------------------------------------------------------------------------

enum { TRAP_FLAG = 0x100 };

static struct {
    const Insn *insn;
    const int32_t *number; // by offset; -1: no instruction begins there
    uintptr_t code;
    size_t size;
    Steps *steps;
    volatile sig_atomic_t running;
} stepped;

static uint64_t value_of(const ucontext_t *uc, int reg) {
    static const int place[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                  REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                  REG_R12, REG_R13, REG_R14, REG_R15};
    bool one = reg >= GENERALS && reg < MASKS;
    return one ? (uint64_t)uc->uc_mcontext.gregs[place[reg - GENERALS]] : 0;
}

static uint64_t address_of(const ucontext_t *uc, const Insn *in) {
    if (!in->memory) return 0;
    return value_of(uc, in->base) + value_of(uc, in->index) * (uint64_t)in->scale +
           (uint64_t)in->disp;
}

// Before each instruction while the flag is set.
static void on_trap(int sig, siginfo_t *info, void *context) {
    (void)sig, (void)info;
    ucontext_t *uc = context;
    uintptr_t at = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP] - stepped.code;
    Steps *s = stepped.steps;
    if (!stepped.running || s->n == s->room) {
        s->cut |= stepped.running != 0;
        uc->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
        return;
    }
    int32_t number = at < stepped.size ? stepped.number[at] : -1;
    Step step = {UINT32_MAX, 0};
    if (number >= 0) step = (Step){(uint32_t)number, address_of(uc, &stepped.insn[number])};
    s->at[s->n++] = step;
}

int step_kernel(const Listing *l, Kernel *entry, size_t size, void *const *buffers, void *scratch,
                const KernelEnv *env, Arena *arena, Steps *steps) {
    struct sigaction act = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO}, old;
    int32_t *number = arena_new_n(arena, int32_t, size + 1);
    for (size_t i = 0; i <= size; i++) number[i] = -1;
    for (int i = 0; i < l->insns.n; i++) number[l->insns.at[i].offset] = i;
    void *place;
    memcpy(&place, &entry, sizeof place);
    stepped.insn = read_listing(arena, l);
    stepped.number = number;
    stepped.code = (uintptr_t)place;
    stepped.size = size;
    stepped.steps = steps;
    steps->n = 0;
    steps->cut = false;
    sigaction(SIGTRAP, &act, &old);
    stepped.running = 1;
    __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq\n"
                     "lea 128(%%rsp), %%rsp" ::
                         : "cc", "memory"); // not in the red zone
    int status = entry(buffers, scratch, env);
    stepped.running = 0;
    __asm__ volatile("nop; nop" ::: "memory"); // the trap that ends it
    sigaction(SIGTRAP, &old, NULL);
    return status;
}

// --- Simulation ----------------------------------------------------------------------------------

enum { WINDOW = 512, CELLS = 1 << 14 };

// The time when a stored word of four bytes is available, by address.
typedef struct Cell {
    uint64_t word;
    double ready;
} Cell;

typedef struct Play {
    const Family *f;
    double ready[REGS];
    double done[WINDOW];
    double last; // everything up to here is done
    Cell *cell;
    // Cycles of pipes, and instructions.
    double work[WORK_COUNT], divide, scalar, issue, loads, stores, in, out;
} Play;

static Cell *cell_of(Play *p, uint64_t word) {
    return &p->cell[(word * 0x9e3779b97f4a7c15ull) >> 50 & (CELLS - 1)];
}

static double memory_ready(Play *p, uint64_t address, int bytes) {
    double ready = 0;
    for (uint64_t w = address / 4; w <= (address + (uint64_t)bytes - 1) / 4; w++) {
        const Cell *c = cell_of(p, w);
        if (c->word == w && c->ready > ready) ready = c->ready;
    }
    return ready;
}

static void occupy(Play *p, const Insn *in) {
    const double *rate = p->f->work[in->full];
    double each = 1 / rate[WORK_ANY];
    p->issue += !in->fused;
    p->loads += in->loads ? in->lanes : 0;
    p->stores += in->stores;
    if (in->loads) p->in += in->bytes * in->lanes;
    if (in->stores) p->out += in->bytes;
    p->scalar += in->what == SCALAR && !in->fused;
    if (in->what == FREE || in->what == SCALAR) return;
    p->work[WORK_ANY] += each;
    if (in->what == DIVIDE)
        p->divide += p->f->divide[in->wide][in->scalar_lane ? 0 : in->full ? 2 : 1];
    else if (in->what != WORK_ANY)
        p->work[in->what] += 1 / rate[in->what];
    if (in->what == WORK_MUL || in->what == WORK_ADD) p->work[WORK_FLOAT] += 1 / rate[WORK_FLOAT];
}

static double latency_of(const Play *p, const Insn *in, bool fma) {
    if (in->what == WORK_MUL) return p->f->latency[fma ? LATENCY_FMA : LATENCY_MUL];
    if (in->what == WORK_ADD) return p->f->latency[LATENCY_ADD];
    return in->what < FREE || in->what == DIVIDE ? 1 : 0;
}

static void play_one(Play *p, const Insn *in, const Step *s, int64_t i, bool fma) {
    double start = p->done[i % WINDOW]; // room in the window
    for (int r = 0; r < in->nreads; r++)
        if (p->ready[in->reads[r]] > start) start = p->ready[in->reads[r]];
    if (in->loads && s->address) {
        double ready = memory_ready(p, s->address, in->bytes);
        if (ready > start) start = ready;
    }
    double end = start + latency_of(p, in, fma);
    if (in->writes != NO_REG) p->ready[in->writes] = end;
    for (uint64_t w = s->address / 4; in->stores && w <= (s->address + (uint64_t)in->bytes - 1) / 4;
         w++)
        *cell_of(p, w) = (Cell){w, end};
    if (end > p->last) p->last = end;
    p->done[i % WINDOW] = p->last; // in order
    occupy(p, in);
}

double step_seconds(Arena *arena, const Listing *l, const Steps *steps, const Family *f,
                    const char **why) {
    const Insn *insn = read_listing(arena, l);
    Play *p = arena_new(arena, Play);
    p->f = f;
    p->cell = arena_new_n(arena, Cell, CELLS);
    for (int64_t i = 0; i < steps->n; i++) {
        const Step *s = &steps->at[i];
        if (s->insn == UINT32_MAX) { // in a function that the kernel calls
            p->issue++;
            p->work[WORK_ANY] += 1 / f->work[0][WORK_ANY];
            continue;
        }
        const char *text = l->insns.at[s->insn].text;
        play_one(p, &insn[s->insn], s, i, begins(text, "vfm") || begins(text, "vfnm"));
    }
    const struct {
        const char *name;
        double cycles;
    } all[] = {{"mul", p->work[WORK_MUL]},
               {"add", p->work[WORK_ADD]},
               {"float", p->work[WORK_FLOAT]},
               {"imul", p->work[WORK_IMUL]},
               {"shuffle", p->work[WORK_SHUFFLE]},
               {"vector", p->work[WORK_ANY]},
               {"divide", p->divide},
               {"scalar", p->scalar / f->scalar},
               {"issue", p->issue / f->issue},
               {"load", p->loads / f->loads},
               {"store", p->stores / f->stores},
               {"bytes in", p->in / f->load_bytes},
               {"bytes out", p->out / f->store_bytes},
               {"latency", p->last}};
    size_t most = 0;
    for (size_t i = 1; i < sizeof all / sizeof *all; i++)
        if (all[i].cycles > all[most].cycles) most = i;
    *why = all[most].name;
    return all[most].cycles / f->ghz * 1e-9;
}
