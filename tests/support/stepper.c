#include "support/stepper.h"

#include "run/exec.h"

#include <stdlib.h>
#include <string.h>

// --- Instructions as text ------------------------------------------------------------------------

enum { NO_REG = -1, VECTORS = 0, GENERALS = 32, MASKS = 48, REGS = 56, OPERANDS = 4 };
enum { FREE = WORK_COUNT, DIVIDE, SCALAR }; // in addition to Work
enum { ALL_ONES = REGS };

// A parsed instruction.
typedef struct Insn {
    int what;         // a Work, or one of the above
    bool full, wide;  // 512 bits; f64
    bool scalar_lane; // of one element
    bool loads, stores, fused;
    int bytes; // of its memory operand
    int lanes; // of a gather or scatter, which accesses `bytes` for each; otherwise 1
    int mask;  // of a gather or scatter; NO_REG: a vector that is all ones
    int from;  // of an instruction that sets a mask register: ALL_ONES, or the general register
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

// The mask of an AVX2 gather is a vector: known if all ones were written into it just before, by
// `vpcmpeqd ymm3, ymm3, ymm3`.
static bool is_whole(const Listing *l, const Insn *all, int i) {
    enum { LOOK_BACK = 6 };
    for (int k = i - 1; k >= 0 && k > i - LOOK_BACK; k--)
        for (int r = 0; begins(l->insns.at[k].text, "vpcmpeqd") && r < all[i].nreads; r++)
            if (all[k].writes == all[i].reads[r]) return true;
    return false;
}

// A gather or scatter accesses each lane of its mask by itself: `vgatherdps zmm1 {k2}, dword ptr
// [...]`, `vscatterdps dword ptr [...] {k2}, zmm1`. At least one, if the mask is not known.
static void read_lanes(const Listing *l, Insn *all, int i) {
    Insn *in = &all[i];
    const char *text = l->insns.at[i].text, *data = strchr(text, ' ');
    bool gathers = begins(text, "vgather") || begins(text, "vpgather");
    bool scatters = begins(text, "vscatter") || begins(text, "vpscatter");
    in->lanes = 1;
    in->mask = NO_REG;
    if ((!gathers && !scatters) || !data || !in->bytes) return;
    data = scatters ? strrchr(text, ' ') : data;
    for (int r = 0; r < in->nreads; r++)
        if (in->reads[r] >= MASKS) in->mask = in->reads[r];
    if (in->mask != NO_REG || is_whole(l, all, i))
        in->lanes = (data[1] == 'z' ? 64 : data[1] == 'y' ? 32 : 16) / in->bytes;
}

// `kxnorw k2, k2, k2`, or `kmovd k2, edx`.
static int mask_from(const char *text, const Insn *in) {
    bool ones = begins(text, "kxnor") && in->nreads == 2 && in->reads[0] == in->reads[1];
    if (ones) return ALL_ONES;
    return begins(text, "kmov") && in->nreads == 1 && !in->memory ? in->reads[0] : NO_REG;
}

static Insn *read_listing(Arena *arena, const Listing *l) {
    Insn *all = arena_new_n(arena, Insn, l->insns.n + 1);
    for (int i = 0; i < l->insns.n; i++) {
        all[i] = read_insn(l->insns.at[i].text, i ? l->insns.at[i - 1].text : NULL);
        all[i].from = mask_from(l->insns.at[i].text, &all[i]);
        read_lanes(l, all, i);
    }
    return all;
}

// --- Tracing -------------------------------------------------------------------------------------

// A copy of the kernel stores number and registers in front of every instruction:
//
//     constants and old code | recorder | lea rsp, [rsp-128]      below what the kernel may use
//                                       | push NUMBER
//                                       | call [recorder]         step_record
//                                       | lea rsp, [rsp+136]
//                                       | the instruction
//                                       | ...
//
// Jumps lead to the copies; what else is addressed relative to the instruction stays in front.

enum { LOGGED = 17 }; // sixteen registers, and the number

typedef struct StepLog {
    uint64_t *at, *end;
} StepLog;

StepLog step_log; // of step_record
void step_record(void);

__asm__(".text\n"
        "step_record:\n"
        "  pushfq\n"
        "  push %rax\n"
        "  push %rcx\n"
        "  mov step_log(%rip), %rcx\n"
        "  cmp step_log+8(%rip), %rcx\n"
        "  je 1f\n"
        "  mov %rdx, 16(%rcx)\n"
        "  mov %rbx, 24(%rcx)\n"
        "  mov %rbp, 40(%rcx)\n"
        "  mov %rsi, 48(%rcx)\n"
        "  mov %rdi, 56(%rcx)\n"
        "  mov %r8, 64(%rcx)\n"
        "  mov %r9, 72(%rcx)\n"
        "  mov %r10, 80(%rcx)\n"
        "  mov %r11, 88(%rcx)\n"
        "  mov %r12, 96(%rcx)\n"
        "  mov %r13, 104(%rcx)\n"
        "  mov %r14, 112(%rcx)\n"
        "  mov %r15, 120(%rcx)\n"
        "  mov 8(%rsp), %rax\n"
        "  mov %rax, (%rcx)\n"
        "  mov (%rsp), %rax\n"
        "  mov %rax, 8(%rcx)\n"
        "  lea 168(%rsp), %rax\n" // three pushes, a return address, NUMBER, and 128 bytes
        "  mov %rax, 32(%rcx)\n"
        "  mov 32(%rsp), %rax\n"
        "  mov %rax, 128(%rcx)\n"
        "  add $136, %rcx\n"
        "  mov %rcx, step_log(%rip)\n"
        "1: pop %rcx\n"
        "  pop %rax\n"
        "  popfq\n"
        "  ret\n");

static void put_i32(uint8_t *at, int64_t value) {
    int32_t v = (int32_t)value;
    memcpy(at, &v, sizeof v);
}

typedef struct Tracer {
    uint8_t *bytes;
    uint32_t size, slot; // so far; where the recorder's address is
    uint32_t *moved;     // where the copy of each instruction begins
    const int32_t *number;
} Tracer;

static void put(Tracer *t, const void *bytes, size_t n) {
    memcpy(t->bytes + t->size, bytes, n);
    t->size += (uint32_t)n;
}

static void put_record(Tracer *t, int number) {
    static const uint8_t code[] = {0x48, 0x8d, 0x64, 0x24, 0x80, 0x68, 0, 0,
                                   0,    0,    0xff, 0x15, 0,    0,    0, 0,
                                   0x48, 0x8d, 0xa4, 0x24, 0x88, 0,    0, 0};
    put(t, code, sizeof code);
    put_i32(t->bytes + t->size - 18, number);
    put_i32(t->bytes + t->size - 12, (int64_t)t->slot - (t->size - 8));
}

// The instruction. A short jump becomes a long one.
static void put_copy(Tracer *t, const uint8_t *code, const ListedInsn *in) {
    const uint8_t *from = code + in->offset;
    uint8_t longer[] = {0x0f, (uint8_t)(from[0] + 0x10), 0, 0, 0, 0}, always[5] = {0xe9};
    if (in->size == 2 && (from[0] & 0xf0) == 0x70)
        put(t, longer, sizeof longer);
    else if (in->size == 2 && from[0] == 0xeb)
        put(t, always, sizeof always);
    else
        put(t, from, in->size);
}

// The last four bytes, or those before an immediate operand, that hold the distance to its label.
static uint32_t field_of(const uint8_t *code, const ListedInsn *in) {
    int64_t distance = (int64_t)in->target - (in->offset + in->size);
    for (uint32_t after = 0; after + 4 < in->size; after++) {
        int32_t value;
        memcpy(&value, code + in->offset + in->size - 4 - after, sizeof value);
        if (value == distance) return 4 + after;
    }
    return 4; // of a short jump that is a long one now
}

static void put_target(Tracer *t, const uint8_t *code, const ListedInsn *in, uint32_t end) {
    int32_t to = t->number[in->target];
    int64_t target = to >= 0 ? t->moved[to] : (uint32_t)in->target;
    put_i32(t->bytes + end - field_of(code, in), target - end);
}

static Tracer trace_copy(Arena *arena, const Code *code, const Listing *l) {
    enum { SLOT = 64, EACH = 24 + 6 };
    size_t n = (size_t)l->insns.n, front = (code->size + 63) / 64 * 64;
    int32_t *number = arena_new_n(arena, int32_t, code->size + 1);
    Tracer t = {.bytes = arena_new_n(arena, uint8_t, front + SLOT + code->size + EACH * n),
                .moved = arena_new_n(arena, uint32_t, n + 1),
                .number = number};
    for (size_t i = 0; i <= code->size; i++) number[i] = -1;
    for (int i = 0; i < l->insns.n; i++) number[l->insns.at[i].offset] = i;
    void (*recorder)(void) = step_record;
    memcpy(t.bytes, code->bytes, code->size);
    memcpy(t.bytes + front, &recorder, sizeof recorder);
    t.slot = (uint32_t)front;
    t.size = (uint32_t)front + SLOT;
    for (int i = 0; i < l->insns.n; i++) {
        t.moved[i] = t.size;
        put_record(&t, i);
        put_copy(&t, code->bytes, &l->insns.at[i]);
    }
    for (int i = 0; i < l->insns.n; i++)
        if (l->insns.at[i].label >= 0)
            put_target(&t, code->bytes, &l->insns.at[i],
                       i + 1 < l->insns.n ? t.moved[i + 1] : t.size);
    return t;
}

static uint64_t value_of(const uint64_t *log, int reg) {
    return reg >= GENERALS && reg < MASKS ? log[reg - GENERALS] : 0;
}

// What is known of the mask registers.
typedef struct MaskValues {
    uint64_t at[REGS - MASKS];
} MaskValues;

// Of a mask that is computed, one lane is assumed.
static void set_mask(MaskValues *m, const Insn *in, const uint64_t *log) {
    if (in->writes < MASKS) return;
    bool copied = in->from >= MASKS && in->from < REGS;
    m->at[in->writes - MASKS] = in->from == ALL_ONES ? UINT64_MAX
                                : in->from == NO_REG ? 1
                                : copied             ? m->at[in->from - MASKS]
                                                     : value_of(log, in->from);
}

static Step step_of(const Insn *insn, const uint64_t *log, MaskValues *masks) {
    if (log[LOGGED - 1] == UINT64_MAX) return (Step){UINT32_MAX, 1, 0};
    const Insn *in = &insn[log[LOGGED - 1]];
    Step s = {.insn = (uint32_t)log[LOGGED - 1], .lanes = in->lanes};
    if (in->lanes > 1 && in->mask != NO_REG) {
        uint64_t used = masks->at[in->mask - MASKS] & (UINT64_MAX >> (64 - in->lanes));
        s.lanes = __builtin_popcountll(used);
    }
    set_mask(masks, in, log);
    if (in->memory)
        s.address = value_of(log, in->base) + value_of(log, in->index) * (uint64_t)in->scale +
                    (uint64_t)in->disp;
    return s;
}

// code_apply, which loads, computes and stores each lane.
static void traced_apply(int op, int type, int to, int n, void *values) {
    for (int i = 0; i < 3 * n && step_log.at < step_log.end; i++, step_log.at += LOGGED)
        step_log.at[LOGGED - 1] = UINT64_MAX;
    code_apply(op, type, to, n, values);
}

int step_kernel(const Code *code, const Listing *l, void *const *buffers, void *scratch,
                Arena *arena, Steps *steps) {
    static uint64_t log[MANY_STEPS][LOGGED];
    Tracer t = trace_copy(arena, code, l);
    const Insn *insn = read_listing(arena, l);
    MaskValues masks = {0};
    KernelEnv env = {.threads = 1, .apply = traced_apply};
    ExecArena *exec = exec_arena_new();
    ExecBlock *block = exec ? exec_add(exec, t.bytes, t.size) : NULL;
    int status = KERNEL_FORKED;
    step_log = (StepLog){log[0], log[0] + (size_t)MANY_STEPS * LOGGED};
    if (block) {
        void *entry = (uint8_t *)exec_entry(block) + t.moved[0];
        Kernel *kernel;
        memcpy(&kernel, &entry, sizeof entry);
        status = kernel(buffers, scratch, &env);
        exec_release(block);
    }
    exec_arena_free(exec);
    steps->cut = step_log.at == step_log.end;
    steps->n = (step_log.at - log[0]) / LOGGED;
    for (int64_t i = 0; i < steps->n; i++) steps->at[i] = step_of(insn, log[i], &masks);
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

static void occupy(Play *p, const Insn *in, int lanes) {
    const double *rate = p->f->work[in->full];
    double each = 1 / rate[WORK_ANY];
    p->issue += !in->fused;
    p->loads += in->loads ? lanes : 0;
    p->stores += in->stores ? lanes : 0;
    if (in->loads) p->in += in->bytes * lanes;
    if (in->stores) p->out += in->bytes * lanes;
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
    occupy(p, in, s->lanes);
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
