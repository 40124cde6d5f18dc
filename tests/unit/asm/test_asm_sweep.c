// Every form of every x86 instruction, over registers, addressing modes, displacement edges, masks,
// broadcasts and roundings, compared with two independent programs:
//
//     operands ── x86_emit ──▶ our bytes ──── Zydis ───▶ text     must equal our text
//         └────── x86_print ─▶ our text  ──── GNU as ──▶ bytes    must equal our bytes
//
// Forms are visited in turn and their operands drawn from lists of edges by a generator that a seed
// starts. LW_ASM_COUNT and LW_ASM_SEED choose the number of instructions and the seed:
//
//     LW_ASM_COUNT=5000000 LW_ASM_SEED=7 build/unit/test_asm_sweep
//
// Every form must have been chosen by the encoder at least once, so a form that another one hides
// fails the test. Jumps, and constants at labels, have a test of their own: a random program.

// link: -lZydis

#include "unit/check.h"
#include "asm/x86_form.h"

#include <Zydis/Zydis.h>
#include <elf.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { BATCH = 25000, TEXT = 160, NOISE = 15 };

typedef struct Case {
    X86Op op;
    X86Arg arg[4];
    unsigned n;
    uint32_t features;
    uint32_t offset; // of its bytes in the batch
    uint8_t length;
    char text[TEXT];
} Case;

// ---- Drawing operands -------------------------------------------------------------------------

static uint64_t random_state;

static uint64_t draw(void) { return check_random(&random_state); }
static unsigned below(unsigned n) { return (unsigned)((draw() >> 32) * n >> 32); }
static bool chance(unsigned percent) { return below(100) < percent; }
#define PICK(...) (((const int64_t[]){__VA_ARGS__})[below(sizeof((int64_t[]){__VA_ARGS__}) / 8)])

static unsigned draw_kind(unsigned kinds) {
    unsigned n = below((unsigned)__builtin_popcount(kinds));
    while (n--) kinds &= kinds - 1;
    return kinds & -kinds;
}

static unsigned draw_vector(const X86Form *f) {
    if (f->space == X86_EVEX && chance(60)) return (unsigned)PICK(16, 17, 23, 24, 30, 31, 15, 8);
    return below(16);
}

// Displacements around the limits of 8 bits, plain and scaled, and of 32 bits.
static int64_t draw_displacement(const X86Form *f, bool bcast) {
    int64_t n = INT64_C(1) << f->unit[bcast];
    switch (below(4)) {
    case 0: return PICK(0, 1, -1, 2, 4, 8, 16, 32, 64, 127, 128, -128, -129, 255, 256);
    case 1:
        return PICK(n, -n, n * 127, n * 128, n * -128, n * -129, n * 127 + 1, n * 127 - 1, n * 126,
                    n + 1, n / 2, n * -128 - 1, n * -128 + 1);
    case 2: return PICK(INT32_MAX, INT32_MIN, INT32_MAX - 1, INT32_MIN + 1, 0x1000, -0x1000, 0);
    default: return (int32_t)draw() >> below(31);
    }
}

static X86Arg draw_memory(const X86Form *f, unsigned kind) {
    static const uint8_t bases[] = {X86_RAX, X86_RCX, X86_RDX,   X86_RBX, X86_RSP, X86_RBP,
                                    X86_RSI, X86_RDI, X86_R8,    X86_R9,  X86_R10, X86_R11,
                                    X86_R12, X86_R13, X86_R14,   X86_R15, X86_RSP, X86_RBP,
                                    X86_R12, X86_R13, X86_NOREG, X86_RIP};
    bool bcast = f->allow & X86_USES_BCAST && chance(35);
    bool no_rip = kind != X86_M || f->flags & X86_F_SIB;
    unsigned base = bases[below(sizeof bases - no_rip)];
    unsigned index = kind == X86_M ? below(16) : draw_vector(f);
    if (kind == X86_M && (index == X86_RSP || base == X86_RIP || chance(40))) index = X86_NOREG;
    int64_t disp = draw_displacement(f, bcast);
    X86Arg m = kind == X86_M
                   ? x86_mem_index(base, index, index == X86_NOREG ? 0 : below(4), disp)
                   : x86_mem_vector(base, x86_reg((X86Kind)(kind >> 5), index), below(4), disp);
    if (f->flags & X86_F_SIZED || chance(50)) m = x86_sized(m, f->size);
    return bcast ? x86_bcast(m) : m;
}

static X86Arg draw_immediate(const X86Form *f) {
    int64_t any = (int64_t)draw() >> below(64);
    switch ((X86Imm)f->imm) {
    case X86_IMM_I8: return x86_imm(chance(50) ? (int8_t)any : PICK(0, 1, -1, 127, -128));
    case X86_IMM_B8:
        return x86_imm(chance(50) ? (uint8_t)any : PICK(0, 1, -1, 127, -128, 128, 255));
    case X86_IMM_U8:
        return x86_imm(chance(50) ? (uint8_t)any : PICK(0, 1, 2, 7, 31, 127, 128, 255));
    case X86_IMM_I16: return x86_imm(chance(50) ? (int16_t)any : PICK(128, -129, 0x7fff, -0x8000));
    case X86_IMM_I32:
        return x86_imm(chance(50) ? (int32_t)any : PICK(128, -129, INT32_MAX, INT32_MIN));
    case X86_IMM_D32:
        return x86_imm(chance(50) ? (uint32_t)any : PICK(0, -1, UINT32_MAX, INT32_MIN));
    case X86_IMM_I64:
        return x86_imm(chance(50) ? any : PICK(INT64_MAX, INT64_MIN, UINT32_MAX, 0x80000000));
    default: return x86_imm(1);
    }
}

static X86Arg draw_operand(const X86Form *f, unsigned slot) {
    unsigned kind = draw_kind(~f->reject >> 16 * slot & 0xffff);
    if (kind >= X86_M && kind <= X86_MZ) return draw_memory(f, kind);
    if (kind == X86_I) return draw_immediate(f);
    if (kind >= X86_X && kind <= X86_Z) return x86_reg((X86Kind)kind, draw_vector(f));
    if (kind == X86_K || kind == X86_T) return x86_reg((X86Kind)kind, below(8));
    if (f->flags & X86_F_AX && slot == 0) return x86_reg((X86Kind)kind, X86_RAX);
    if (f->flags & X86_F_CL && slot == 1) return x86_reg((X86Kind)kind, X86_RCX);
    return x86_reg((X86Kind)kind, below(16));
}

static void draw_decorations(const X86Form *f, Case *c) {
    bool memory = false;
    for (unsigned i = 0; i < c->n; i++)
        memory |= c->arg[i].kind >= X86_M && c->arg[i].kind <= X86_MZ;
    bool must = f->flags & X86_F_MUST_MASK;
    if (must || (f->allow & X86_USES_MASK && chance(50)))
        c->arg[0] = x86_masked(c->arg[0], 1 + below(7),
                               f->allow & X86_USES_ZERO &&
                                   c->arg[0].kind & (X86_X | X86_Y | X86_Z) && chance(50));
    if (memory) return;
    if (f->allow & X86_USES_ROUND && chance(40))
        c->arg[0] = x86_rounded(c->arg[0], (X86Round)(X86_NEAREST + below(4)));
    if (f->allow & X86_USES_SAE && chance(40)) c->arg[0] = x86_rounded(c->arg[0], X86_SAE);
}

static Case draw_case(X86Op op, const X86Form *f) {
    Case c = {.op = op, .features = UINT32_MAX};
    for (unsigned i = 0; i < 4; i++) c.arg[i] = X86_NO_ARG;
    if (f->flags & X86_F_VEX_TEXT) c.features &= ~(uint32_t)X86_HAS_AVX512VNNI;
    while (c.n < 4 && f->reject >> 16 * c.n & X86_NONE) {
        c.arg[c.n] = draw_operand(f, c.n);
        c.n++;
    }
    if (c.n) draw_decorations(f, &c);
    return c;
}

// Gathers and tile products want different registers: draw until they are.
static bool coincides(const X86Form *f, const Case *c) {
    if (!(f->flags & X86_F_DISTINCT)) return false;
    unsigned x = c->arg[0].reg, y = c->arg[1].kind == X86_T ? c->arg[1].reg : c->arg[1].index;
    return x == y || (f->space == X86_VEX && (x == c->arg[2].reg || y == c->arg[2].reg));
}

// ---- GNU as -----------------------------------------------------------------------------------

static void write_all(int fd, const char *data, size_t n) {
    while (n) {
        ssize_t k = write(fd, data, n);
        if (k <= 0) abort();
        data += k, n -= (size_t)k;
    }
}

static uint8_t *read_all(const char *path, size_t *n) {
    int fd = open(path, O_RDONLY);
    if (fd < 0) return NULL;
    off_t size = lseek(fd, 0, SEEK_END);
    uint8_t *data = malloc((size_t)size + 1);
    *n = (size_t)pread(fd, data, (size_t)size, 0);
    close(fd);
    return data;
}

// Moves section .text of an object file to the front of it.
static size_t text_section(uint8_t *object) {
    const Elf64_Ehdr *h = (const void *)object;
    const Elf64_Shdr *s = (const void *)(object + h->e_shoff);
    const char *names = (const char *)object + s[h->e_shstrndx].sh_offset;
    for (unsigned i = 0; i < h->e_shnum; i++)
        if (!strcmp(names + s[i].sh_name, ".text")) {
            size_t size = s[i].sh_size;
            memmove(object, object + s[i].sh_offset, size);
            return size;
        }
    return 0;
}

// The bytes that as makes of the text, or NULL.
static uint8_t *assemble(const char *text, size_t length, size_t *size) {
    char source[] = "/tmp/lw-asm-XXXXXX", object[sizeof source + 2];
    int fd = mkstemp(source);
    write_all(fd, text, length);
    close(fd);
    snprintf(object, sizeof object, "%s.o", source);
    char *argv[] = {"as", "-o", object, source, NULL};
    pid_t pid;
    int status = -1;
    if (posix_spawnp(&pid, "as", NULL, NULL, argv, environ) == 0) waitpid(pid, &status, 0);
    uint8_t *bytes = status == 0 ? read_all(object, size) : NULL;
    if (bytes) *size = text_section(bytes);
    if (bytes) unlink(source); // what as complains about can be looked at
    unlink(object);
    return bytes;
}

// ---- Zydis ------------------------------------------------------------------------------------

typedef struct Decoder {
    ZydisDecoder decoder;
    ZydisFormatter formatter;
} Decoder;

static void decoder_init(Decoder *d) {
    ZydisDecoderInit(&d->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisFormatter *f = &d->formatter;
    ZydisFormatterInit(f, ZYDIS_FORMATTER_STYLE_INTEL);
    ZydisFormatterSetProperty(f, ZYDIS_FORMATTER_PROP_FORCE_SIZE, ZYAN_TRUE);
    ZydisFormatterSetProperty(f, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
    ZydisFormatterSetProperty(f, ZYDIS_FORMATTER_PROP_IMM_SIGNEDNESS, ZYDIS_SIGNEDNESS_AUTO);
    ZydisFormatterSetProperty(f, ZYDIS_FORMATTER_PROP_IMM_PADDING, ZYDIS_PADDING_DISABLED);
    ZydisFormatterSetProperty(f, ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_PADDING_DISABLED);
    ZydisFormatterSetProperty(f, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE,
                              ZYDIS_PADDING_DISABLED);
    ZydisFormatterSetProperty(f, ZYDIS_FORMATTER_PROP_ADDR_PADDING_RELATIVE,
                              ZYDIS_PADDING_DISABLED);
}

// Length of the instruction at p, 0 if it is none; its text in `text`.
static unsigned decode(Decoder *d, const uint8_t *p, size_t n, char text[TEXT]) {
    ZydisDecodedInstruction in;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    if (ZYAN_FAILED(ZydisDecoderDecodeFull(&d->decoder, p, n, &in, operands))) return 0;
    ZydisFormatterFormatInstruction(&d->formatter, &in, operands, in.operand_count_visible, text,
                                    TEXT, ZYDIS_RUNTIME_ADDRESS_NONE, NULL);
    return in.length;
}

// ---- Accepted differences ---------------------------------------------------------------------

/* Texts that must be written differently for one of the two programs, and why. An entry that never
 * applies fails the test. */
typedef struct Difference {
    const char *why;
    const char *ours, *theirs; // part of the text
    unsigned long applied;
} Difference;

static Difference for_zydis[] = {
    {"as must be told to take AVX-VNNI, which has the names of AVX512-VNNI; Zydis prints them "
     "alike",
     "{vex} ", "", 0},
};
static Difference for_as[] = {
    {"as reads {k1} and {1to8} after an absolute address only when a segment is named", " ptr [0x",
     " ptr ds:[0x", 0},
    {"as has no name for the size of a tile configuration", "tilecfg zmmword ptr ", "tilecfg ", 0},
};
#define COUNT(array) (sizeof(array) / sizeof *(array))

static void rewrite(Difference *d, size_t n, const char *text, char out[TEXT]) {
    strcpy(out, text);
    for (; n--; d++) {
        char *at = strstr(out, d->ours), rest[TEXT];
        if (!at) continue;
        strcpy(rest, at + strlen(d->ours));
        sprintf(at, "%s%s", d->theirs, rest);
        d->applied++;
    }
}

static void check_applied(const Difference *d, size_t n) {
    for (; n--; d++)
        if (!CHECK(d->applied > 0)) printf("  needless: %s\n", d->why);
}

// ---- The comparison ---------------------------------------------------------------------------

typedef struct Sweep {
    Case *cases;
    unsigned count; // in this batch
    uint8_t *code;  // of this batch
    Asm a;
    Decoder decoder;
    unsigned *chosen; // per form
    unsigned long compared, text_errors, byte_errors, refused;
} Sweep;

static void print_bytes(const char *what, const uint8_t *p, unsigned n) {
    printf("    %-6s", what);
    for (unsigned i = 0; i < n; i++) printf(" %02x", p[i]);
    printf("\n");
}

static void compare_text(Sweep *s, const Case *c) {
    char theirs[TEXT] = "not an instruction";
    unsigned length = decode(&s->decoder, s->code + c->offset, 15, theirs);
    char ours[TEXT];
    rewrite(for_zydis, COUNT(for_zydis), c->text, ours);
    if (length == c->length && !strcmp(ours, theirs)) return;
    if (s->text_errors++ >= NOISE) return;
    printf("  ours   %s\n  Zydis  %s\n", c->text, theirs);
    print_bytes("bytes", s->code + c->offset, c->length);
}

static void compare_bytes(Sweep *s, const uint8_t *theirs, size_t size) {
    size_t at = 0;
    for (unsigned i = 0; i < s->count; i++) {
        const Case *c = &s->cases[i];
        const uint8_t *ours = s->code + c->offset;
        if (at + c->length <= size && !memcmp(theirs + at, ours, c->length)) {
            at += c->length;
            continue;
        }
        char text[TEXT];
        unsigned length = at < size ? decode(&s->decoder, theirs + at, size - at, text) : 0;
        if (s->byte_errors++ < NOISE) {
            printf("  %s\n", c->text);
            print_bytes("ours", ours, c->length);
            print_bytes("as", theirs + at, length);
        }
        at += length;
    }
    CHECK(at == size);
}

static void flush(Sweep *s) {
    char *text = malloc((size_t)s->count * (TEXT + 1) + 100);
    size_t length = (size_t)sprintf(text, ".intel_syntax noprefix\n");
    for (unsigned i = 0; i < s->count; i++) {
        compare_text(s, &s->cases[i]);
        rewrite(for_as, COUNT(for_as), s->cases[i].text, text + length);
        length += strlen(text + length);
        text[length++] = '\n';
    }
    size_t size = 0;
    uint8_t *theirs = assemble(text, length, &size);
    if (CHECK(theirs != NULL)) compare_bytes(s, theirs, size);
    free(theirs);
    free(text);
    s->compared += s->count;
    s->count = 0;
    s->a.at = s->a.start;
}

static void add(Sweep *s, Case c) {
    const X86Form *f = (s->a.features = c.features, x86_find(&s->a, c.op, c.arg));
    c.offset = (uint32_t)asm_size(&s->a);
    x86_emit(&s->a, c.op, c.arg);
    if (s->a.error != ASM_OK) {
        if (s->refused++ < NOISE) printf("  refused: %s, %u operands\n", x86_name(c.op), c.n);
        s->a.error = ASM_OK, s->a.end = s->a.start + BATCH * 16;
        return;
    }
    s->chosen[f - x86_forms]++;
    c.length = (uint8_t)(asm_size(&s->a) - c.offset);
    size_t n = x86_print(c.text, TEXT, c.features, c.op, c.arg);
    CHECK(n > 0 && n < TEXT);
    s->cases[s->count++] = c;
    if (s->count == BATCH) flush(s);
}

static bool is_jump(const X86Form *f) { return !(f->reject & X86_L); }

static void sweep(Sweep *s, unsigned long count) {
    while (s->compared + s->count < count)
        for (unsigned op = 0; op < X86_OP_COUNT; op++)
            for (unsigned i = x86_first[op]; i < x86_first[op + 1]; i++) {
                const X86Form *f = &x86_forms[i];
                if (is_jump(f)) continue;
                Case c = draw_case((X86Op)op, f);
                while (coincides(f, &c)) c = draw_case((X86Op)op, f);
                add(s, c);
            }
    flush(s);
}

static unsigned long number(const char *name, unsigned long otherwise) {
    const char *value = getenv(name);
    return value ? strtoul(value, NULL, 0) : otherwise;
}

static void sweep_start(Sweep *s) {
    random_state = number("LW_ASM_SEED", 1);
    *s = (Sweep){.cases = malloc(BATCH * sizeof(Case)),
                 .code = calloc(BATCH + 2, 16),
                 .chosen = calloc(x86_first[X86_OP_COUNT], sizeof(unsigned))};
    asm_init(&s->a, s->code, BATCH * 16);
    decoder_init(&s->decoder);
}

static void sweep_end(Sweep *s) {
    free(s->chosen);
    free(s->code);
    free(s->cases);
}

TEST(every_form_agrees_with_gas_and_zydis) {
    unsigned forms = x86_first[X86_OP_COUNT];
    Sweep s;
    sweep_start(&s);
    unsigned long least = 40ul * forms,
                  count = number("LW_ASM_COUNT", (unsigned long)check_rounds(250000));
    sweep(&s, count > least ? count : least);
    printf("  %lu instructions of %u forms compared\n", s.compared, forms);
    CHECK_INT_EQ((long)s.text_errors, 0);
    CHECK_INT_EQ((long)s.byte_errors, 0);
    CHECK_INT_EQ((long)s.refused, 0);
    for (unsigned op = 0; op < X86_OP_COUNT; op++)
        for (unsigned i = x86_first[op]; i < x86_first[op + 1]; i++)
            if (!is_jump(&x86_forms[i]) && !CHECK(s.chosen[i] > 0))
                printf("  never chosen: form %u of %s\n", i - x86_first[op], x86_name((X86Op)op));
    check_applied(for_zydis, COUNT(for_zydis));
    check_applied(for_as, COUNT(for_as));
    sweep_end(&s);
}

// ---- Features ---------------------------------------------------------------------------------

// What Zydis calls an instruction set, and what it asks of the processor. The first that begins so.
static const struct {
    const char *name;
    uint32_t need;
} sets[] = {
    {"AVX512_VNNI", X86_HAS_AVX512VNNI},
    {"AVX512_BF16", X86_HAS_AVX512BF16},
    {"AVX512_FP16", X86_HAS_AVX512FP16},
    {"AVX512_VBMI2", X86_HAS_AVX512VBMI2},
    {"AVX512_VBMI", X86_HAS_AVX512VBMI},
    {"AVX512_BITALG", X86_HAS_AVX512BITALG},
    {"AVX512_VPOPCNTDQ", X86_HAS_AVX512POPCNT},
    {"AVX512_IFMA", X86_HAS_AVX512IFMA},
    {"AVX512F", X86_HAS_AVX512F},
    {"AVX512BW", X86_HAS_AVX512BW},
    {"AVX512DQ", X86_HAS_AVX512DQ},
    {"AVX512CD", X86_HAS_AVX512CD},
    {"AVX_VNNI", X86_HAS_AVXVNNI},
    {"AVX2", X86_HAS_AVX2},
    {"AVX", X86_HAS_AVX},
    {"AMX", X86_HAS_AMX},
    {"FMA", X86_HAS_FMA},
    {"F16C", X86_HAS_F16C},
    {"BMI1", X86_HAS_BMI1},
    {"BMI2", X86_HAS_BMI2},
    {"LZCNT", X86_HAS_LZCNT},
    {"POPCNT", X86_HAS_POPCNT},
    {"PREFETCH_NOP", X86_HAS_PREFETCHW},
    {"", 0},
};

static uint32_t need_of(const char *set) {
    size_t i = 0, n = strlen(set);
    while (strncmp(set, sets[i].name, strlen(sets[i].name))) i++;
    bool part = n > 4 && (!strcmp(set + n - 4, "_128") || !strcmp(set + n - 4, "_256"));
    return sets[i].need | (part && !strncmp(set, "AVX512", 6) ? (uint32_t)X86_HAS_AVX512VL : 0);
}

TEST(features_agree_with_zydis) {
    Decoder d;
    decoder_init(&d);
    for (unsigned op = 0; op < X86_OP_COUNT; op++)
        for (unsigned i = x86_first[op]; i < x86_first[op + 1]; i++) {
            const X86Form *f = &x86_forms[i], *found = NULL;
            uint8_t code[32];
            Case c = {0};
            Asm a;
            for (int tries = 0; !is_jump(f) && found != f && tries < 1000; tries++) {
                c = draw_case((X86Op)op, f);
                asm_init(&a, code, sizeof code);
                a.features = c.features;
                found = coincides(f, &c) ? NULL : x86_find(&a, c.op, c.arg);
            }
            if (is_jump(f) || !CHECK(found == f)) continue;
            x86_emit(&a, c.op, c.arg);
            ZydisDecodedInstruction in;
            ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
            ZydisDecoderDecodeFull(&d.decoder, code, sizeof code, &in, operands);
            const char *set = ZydisISASetGetString(in.meta.isa_set);
            if (!CHECK(need_of(set) == f->need)) {
                x86_print(c.text, TEXT, c.features, c.op, c.arg);
                printf("  %s: %s, and not %x\n", c.text, set, f->need);
            }
        }
}

// ---- Operands that may be wrong ---------------------------------------------------------------

// An operand of any kind, sound or not.
static X86Arg draw_anything(const X86Form *f) {
    unsigned kind = 1u << below(15) & ~(unsigned)X86_L, n = below(chance(10) ? 40 : 32);
    if (kind == X86_I || kind == 0) return x86_imm((int64_t)draw() >> below(64));
    if (!(kind & X86_MEMORY)) return x86_reg((X86Kind)kind, n);
    int64_t disp = chance(90) ? draw_displacement(f, false) : (int64_t)draw();
    unsigned base = chance(80) ? below(17) : X86_NOREG + below(2), scale = below(chance(5) ? 6 : 4);
    X86Arg m = kind == X86_M ? x86_mem_index(base, chance(50) ? X86_NOREG : below(17), scale, disp)
                             : x86_mem_vector(base, x86_reg((X86Kind)(kind >> 5), n), scale, disp);
    return chance(50) ? m : x86_sized(m, 1u << below(7));
}

// Changes one thing about the operands.
static void mutate(const X86Form *f, Case *c) {
    X86Arg *x = &c->arg[below(c->n ? c->n : 1)];
    switch (below(8)) {
    case 0: *x = x86_masked(*x, below(9), chance(50)); break;
    case 1: *x = x86_rounded(*x, (X86Round)below(7)); break;
    case 2: *x = x86_bcast(*x); break;
    case 3: x->size = 0; break;
    case 4: *x = x86_sized(X86_NO_ARG.head == x->head ? x86_mem(0, 0) : *x, 1u << below(7)); break;
    case 5: c->arg[3] = draw_anything(f); break;
    case 6: {
        X86Arg *y = &c->arg[below(c->n ? c->n : 1)], z = *x;
        *x = *y, *y = z;
        break;
    }
    default: *x = draw_anything(f);
    }
    for (c->n = 0; c->n < 4 && c->arg[c->n].kind != X86_NONE;) c->n++;
}

/* Sound operands with one or two things changed: either the encoder refuses them, or all agree on
 * what they are. */
TEST(what_is_not_refused_agrees_too) {
    unsigned forms = x86_first[X86_OP_COUNT];
    unsigned long count = number("LW_ASM_COUNT", (unsigned long)check_rounds(250000));
    Sweep s;
    sweep_start(&s);
    for (unsigned long i = 0; i < count; i++) {
        unsigned form = below(forms), op = 0;
        while (x86_first[op + 1] <= form) op++;
        const X86Form *f = &x86_forms[form];
        if (is_jump(f)) continue;
        Case c = draw_case((X86Op)op, f);
        mutate(f, &c);
        if (chance(30)) mutate(f, &c);
        s.a.features = c.features;
        if (x86_find(&s.a, c.op, c.arg)) add(&s, c);
    }
    flush(&s);
    printf("  %lu of %lu instructions were accepted\n", s.compared, count);
    CHECK_INT_EQ((long)s.text_errors, 0);
    CHECK_INT_EQ((long)s.byte_errors, 0);
    sweep_end(&s);
}

// ---- Labels -----------------------------------------------------------------------------------

enum { JUMPS = 20000, LABELS = JUMPS / 4 };

// Our forward jumps are long; as would make some of them short.
static void print_to(char *text, const char *form, X86Op op, const X86Arg *args) {
    char line[TEXT];
    x86_print(line, sizeof line, UINT32_MAX, op, args);
    sprintf(text + strlen(text), "%s%s\n", form, line);
}

static void emit_jump(Asm *a, AsmLabel *to, char *text) {
    static const X86Op ops[] = {X86_jmp, X86_call, X86_jo,  X86_jno, X86_jb,  X86_jnb,
                                X86_jz,  X86_jnz,  X86_jbe, X86_ja,  X86_js,  X86_jns,
                                X86_jp,  X86_jnp,  X86_jl,  X86_jge, X86_jle, X86_jg};
    X86Op op = ops[below(sizeof ops / sizeof *ops)];
    print_to(text, to->pos < 0 && op != X86_call ? "{disp32} " : "", op,
             (X86Arg[4]){x86_to(to), X86_NO_ARG, X86_NO_ARG, X86_NO_ARG});
    x86_1(a, op, x86_to(to));
}

// Memory at a label, with 0, 1, 2 and 4 bytes of the instruction after the displacement.
static void emit_constant(Asm *a, AsmLabel *at, char *text) {
    X86Arg m = x86_mem_label(at), none = X86_NO_ARG, imm = x86_imm(1 + below(100));
    const struct {
        X86Op op;
        X86Arg args[4];
    } uses[] = {
        {X86_vmovups, {x86_zmm(below(32)), m, none, none}},
        {X86_vfmadd213pd, {x86_ymm(below(32)), x86_ymm(below(32)), x86_bcast(m), none}},
        {X86_vcmpps, {x86_k(below(8)), x86_zmm(below(32)), m, imm}},
        {X86_vblendvps, {x86_ymm(below(16)), x86_ymm(below(16)), m, x86_ymm(below(16))}},
        {X86_test, {x86_sized(m, 2), x86_imm(999), none, none}},
        {X86_mov, {x86_sized(m, 8), x86_imm(-999), none, none}},
        {X86_lea, {x86_r64(below(16)), m, none, none}},
    };
    unsigned i = below(sizeof uses / sizeof *uses);
    print_to(text, "", uses[i].op, uses[i].args);
    x86_emit(a, uses[i].op, uses[i].args);
}

TEST(labels_agree_with_gas) {
    static AsmLabel labels[LABELS];
    uint8_t *code = malloc(JUMPS * 16);
    char *text = calloc(JUMPS * 2, 100), *at = text;
    Asm a;
    random_state = number("LW_ASM_SEED", 1);
    asm_init(&a, code, JUMPS * 16);
    for (unsigned i = 0; i < LABELS; i++) labels[i] = asm_label(&a);
    at += sprintf(at, ".intel_syntax noprefix\n");
    for (unsigned i = 0, bound = 0; i < JUMPS; i++, at += strlen(at)) {
        if (i % 4 == 0) {
            asm_bind(&a, &labels[bound]);
            at += sprintf(at, "L%u:\n", labels[bound++].id);
        }
        // Mostly near labels, so that short and long distances are equally many.
        int64_t to = (int64_t)bound - 1 +
                     (chance(90) ? (int)below(40) - 20 : (int)below(LABELS) - LABELS / 2);
        AsmLabel *label = &labels[to < 0 ? 0 : to >= LABELS ? LABELS - 1 : to];
        (chance(60) ? emit_jump : emit_constant)(&a, label, at);
    }
    size_t size = 0;
    uint8_t *theirs = assemble(text, strlen(text), &size);
    CHECK_INT_EQ(asm_finish(&a), ASM_OK);
    CHECK_INT_EQ(size, asm_size(&a));
    CHECK(theirs && size == asm_size(&a) && !memcmp(theirs, code, size));
    free(theirs);
    free(text);
    free(code);
}
