// The code buffer, labels, errors and printing of src/asm, and a few instructions that run.
// test_asm_sweep.c compares every instruction with other programs.

#include "unit/check.h"
#include "asm/x86_form.h"

#include <sys/mman.h>

#define RAX x86_r64(X86_RAX)
#define EAX x86_r32(X86_RAX)
#define NO  X86_NO_ARG

typedef struct Buffer {
    Asm a;
    uint8_t code[512];
} Buffer;

static void start(Buffer *b) {
    memset(b->code, 0xcc, sizeof b->code);
    asm_init(&b->a, b->code, sizeof b->code);
}

// The bytes so far are these.
static bool holds(const Buffer *b, const char *hex) {
    char text[sizeof b->code * 2 + 1] = "";
    for (size_t i = 0; i < asm_size(&b->a); i++) sprintf(text + 2 * i, "%02x", b->code[i]);
    if (!strcmp(text, hex)) return true;
    printf("  got %s, want %s\n", text, hex);
    return false;
}

// ---- Errors -----------------------------------------------------------------------------------

typedef struct Bad {
    const char *why;
    X86Op op;
    X86Arg arg[4];
} Bad;

static bool refused(const Bad *c, uint32_t features) {
    Buffer b;
    start(&b);
    b.a.features = features;
    x86_emit(&b.a, c->op, c->arg);
    if (b.a.error == ASM_BAD_OPERANDS && asm_size(&b.a) == 0) return true;
    printf("  accepted: %s\n", c->why);
    return false;
}

TEST(invalid_operands_are_errors) {
    X86Arg m = x86_mem(X86_RAX, 0), z = x86_zmm(1), y = x86_ymm(2), x = x86_xmm(3);
    X86Arg wild = x86_mem_vector(X86_RAX, z, 2, 0), one = x86_imm(1);
    const Bad bad[] = {
        {"vectors of two lengths", X86_vaddps, {z, y, z, NO}},
        {"two widths", X86_add, {EAX, RAX, NO, NO}},
        {"two memory operands", X86_mov, {m, m, NO, NO}},
        {"register of another class", X86_vaddps, {z, RAX, z, NO}},
        {"opmask for vector", X86_vaddps, {x86_k(1), z, z, NO}},
        {"too few operands", X86_vaddps, {z, z, NO, NO}},
        {"too many operands", X86_add, {RAX, RAX, RAX, NO}},
        {"operands out of order", X86_add, {NO, RAX, RAX, NO}},
        {"immediate destination", X86_mov, {one, RAX, NO, NO}},
        {"rsp as index", X86_mov, {RAX, x86_mem_index(X86_RBX, X86_RSP, 1, 0), NO, NO}},
        {"rip with index", X86_mov, {RAX, x86_mem_index(X86_RIP, X86_RBX, 1, 0), NO, NO}},
        {"rip with vector index",
         X86_vgatherdps,
         {x86_masked(x86_zmm(5), 1, false), x86_mem_vector(X86_RIP, z, 0, 0), NO, NO}},
        {"scale 16", X86_mov, {RAX, x86_mem_index(X86_RBX, X86_RCX, 4, 0), NO, NO}},
        {"displacement 2^31", X86_mov, {RAX, x86_mem(X86_RBX, INT64_C(1) << 31), NO, NO}},
        {"displacement below -2^31",
         X86_mov,
         {RAX, x86_mem(X86_RBX, INT32_MIN - INT64_C(1)), NO, NO}},
        {"base 16", X86_mov, {RAX, x86_mem(16, 0), NO, NO}},
        {"index 16", X86_mov, {RAX, x86_mem_index(X86_RBX, 16, 0, 0), NO, NO}},
        {"general register 16", X86_mov, {x86_r64(16), RAX, NO, NO}},
        {"xmm32", X86_vaddps, {x86_xmm(32), x, x, NO}},
        {"k8", X86_knotw, {x86_k(8), x86_k(0), NO, NO}},
        {"label as memory", X86_vaddps, {z, z, x86_to(NULL), NO}},
        {"xmm16 without EVEX", X86_vblendvps, {x86_xmm(16), x, x, x}},
        {"xmm16 as fourth operand", X86_vblendvps, {x, x, x, x86_xmm(16)}},
        {"xmm16 as AVX2 gather mask",
         X86_vgatherdps,
         {x86_xmm(1), x86_mem_vector(X86_RAX, x86_xmm(2), 0, 0), x86_xmm(16), NO}},
        {"ymm31 in an AVX2 instruction", X86_vpand, {x86_ymm(31), y, y, NO}},
        {"opmask without EVEX", X86_vpand, {x86_masked(y, 1, false), y, y, NO}},
        {"opmask on a general instruction", X86_add, {x86_masked(RAX, 1, false), RAX, NO, NO}},
        {"opmask where EVEX has none", X86_vmovntps, {x86_masked(m, 1, false), z, NO, NO}},
        {"opmask k8", X86_vaddps, {x86_masked(z, 8, false), z, z, NO}},
        {"opmask on a source", X86_vaddps, {z, x86_masked(z, 1, false), z, NO}},
        {"zeroing without opmask", X86_vaddps, {x86_masked(z, 0, true), z, z, NO}},
        {"zeroing a store", X86_vmovups, {x86_masked(m, 1, true), z, NO, NO}},
        {"zeroing a compare", X86_vcmpps, {x86_masked(x86_k(1), 2, true), z, z, one}},
        {"zeroing a gather", X86_vgatherdps, {x86_masked(x86_zmm(5), 1, true), wild, NO, NO}},
        {"broadcast of a register", X86_vaddps, {z, z, x86_bcast(z), NO}},
        {"broadcast of bytes", X86_vpaddb, {z, z, x86_bcast(m), NO}},
        {"broadcast store", X86_vmovups, {x86_bcast(m), z, NO, NO}},
        {"broadcast in compress", X86_vcompressps, {x86_bcast(m), z, NO, NO}},
        {"broadcast without EVEX", X86_vpand, {y, y, x86_bcast(m), NO}},
        {"rounding with memory", X86_vaddps, {x86_rounded(z, X86_UP), z, m, NO}},
        {"rounding of 256 bits", X86_vaddps, {x86_rounded(y, X86_UP), y, y, NO}},
        {"rounding where only sae is", X86_vmaxps, {x86_rounded(z, X86_UP), z, z, NO}},
        {"sae where rounding is", X86_vaddps, {x86_rounded(z, X86_SAE), z, z, NO}},
        {"rounding of an exact conversion", X86_vcvtsi2sd, {x86_rounded(x, X86_UP), x, EAX, NO}},
        {"rounding on a source", X86_vaddps, {z, z, x86_rounded(z, X86_UP), NO}},
        {"rounding mode 6", X86_vaddps, {x86_rounded(z, (X86Round)6), z, z, NO}},
        {"gather without opmask", X86_vgatherdps, {x86_zmm(5), wild, NO, NO}},
        {"scatter without opmask", X86_vscatterdps, {wild, z, NO, NO}},
        {"gather into its index", X86_vgatherdps, {x86_masked(z, 1, false), wild, NO, NO}},
        {"AVX2 gather, mask is data",
         X86_vgatherdps,
         {x, x86_mem_vector(X86_RAX, x86_xmm(7), 0, 0), x, NO}},
        {"AVX2 gather, mask is index",
         X86_vgatherdps,
         {x, x86_mem_vector(X86_RAX, x86_xmm(7), 0, 0), x86_xmm(7), NO}},
        {"a tile twice", X86_tdpbf16ps, {x86_tmm(1), x86_tmm(2), x86_tmm(1), NO}},
        {"a tile at rip", X86_tileloadd, {x86_tmm(1), x86_mem(X86_RIP, 0), NO, NO}},
        {"gather of plain memory", X86_vgatherdps, {x86_masked(z, 1, false), m, NO, NO}},
        {"index vector of the wrong length",
         X86_vgatherdpd,
         {x86_masked(x86_zmm(5), 1, false), wild, NO, NO}},
        {"plain load with vector index", X86_vmovups, {x86_zmm(5), wild, NO, NO}},
        {"general index as vector",
         X86_vgatherdps,
         {x86_masked(z, 1, false), x86_mem_vector(X86_RAX, RAX, 0, 0), NO, NO}},
        {"immediate of 33 bits", X86_add, {RAX, x86_imm(INT64_C(1) << 31), NO, NO}},
        {"immediate of 9 bits", X86_add, {x86_r8(X86_RCX), x86_imm(256), NO, NO}},
        {"shift by 256", X86_shl, {RAX, x86_imm(256), NO, NO}},
        {"shift by another register", X86_shl, {RAX, x86_r8(X86_RDX), NO, NO}},
        {"negative control byte", X86_vpshufd, {z, z, x86_imm(-1), NO}},
        {"memory without size", X86_inc, {m, NO, NO, NO}},
        {"memory of unknown width", X86_vcvtpd2ps, {x, m, NO, NO}},
        {"wrong memory size", X86_mov, {RAX, x86_sized(m, 4), NO, NO}},
        {"size of no operand", X86_inc, {x86_sized(m, 3), NO, NO, NO}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) CHECK(refused(&bad[i], UINT32_MAX));
}

TEST(features_that_are_off_are_errors) {
    const uint32_t avx2 = X86_HAS_AVX | X86_HAS_AVX2 | X86_HAS_FMA;
    X86Arg z = x86_zmm(1), y = x86_ymm(2), high = x86_ymm(20), m = x86_mem(X86_RAX, 0);
    const Bad bad[] = {
        {"512 bits", X86_vaddps, {z, z, z, NO}},
        {"ymm20", X86_vaddps, {high, y, y, NO}},
        {"broadcast", X86_vaddps, {y, y, x86_bcast(m), NO}},
        {"opmask", X86_kmovw, {x86_k(1), EAX, NO, NO}},
        {"f16c", X86_vcvtph2ps, {y, x86_xmm(1), NO, NO}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) CHECK(refused(&bad[i], avx2));
    CHECK(refused(&(Bad){"no VL", X86_vaddps, {high, y, y, NO}}, avx2 | X86_HAS_AVX512F));
    CHECK(refused(&(Bad){"no AVX2", X86_vpaddd, {y, y, y, NO}}, X86_HAS_AVX));
    Buffer b;
    start(&b);
    b.a.features = avx2;
    x86_3(&b.a, X86_vfmadd231ps, y, y, y);
    CHECK_INT_EQ(asm_finish(&b.a), ASM_OK);
}

TEST(errors_stick) {
    Buffer b;
    start(&b);
    x86_0(&b.a, X86_ret);
    x86_1(&b.a, X86_inc, x86_mem(X86_RAX, 0));
    AsmLabel label = asm_label(&b.a);
    asm_bind(&b.a, &label);
    x86_0(&b.a, X86_ret);
    x86_align(&b.a, 16);
    asm_fill(&b.a, 16, 0);
    asm_bytes(&b.a, "abc", 3);
    asm_fail(&b.a, ASM_FULL);
    CHECK_INT_EQ(asm_finish(&b.a), ASM_BAD_OPERANDS);
    CHECK(holds(&b, "c3"));
    CHECK(asm_error_text(b.a.error)[0] != 0);
}

// A few instructions of many lengths, a label and data.
static void emit_sample(Asm *a) {
    AsmLabel constant = asm_label(a), loop = asm_label(a);
    x86_2(a, X86_mov, RAX, x86_imm(INT64_MIN));
    asm_bind(a, &loop);
    x86_3(a, X86_vaddps, x86_zmm(20), x86_zmm(3), x86_mem_label(&constant));
    x86_0(a, X86_ret);
    x86_4(a, X86_vcmpps, x86_k(1), x86_zmm(9), x86_mem_index(X86_R12, X86_R9, 2, 12345),
          x86_imm(2));
    x86_1(a, X86_jnz, x86_to(&loop));
    x86_align(a, 16);
    asm_bind(a, &constant);
    asm_bytes(a, "constants", 9);
}

TEST(a_full_buffer_is_an_error) {
    Buffer whole, part;
    start(&whole);
    emit_sample(&whole.a);
    size_t size = asm_size(&whole.a);
    CHECK_INT_EQ(asm_finish(&whole.a), ASM_OK);
    for (size_t room = 0; room <= size; room++) {
        start(&part);
        asm_init(&part.a, part.code, room);
        emit_sample(&part.a);
        CHECK_INT_EQ(part.a.error, room < size ? ASM_FULL : ASM_OK);
        for (size_t i = room; i < sizeof part.code; i++)
            if (!CHECK(part.code[i] == 0xcc)) break;
    }
    CHECK(!memcmp(part.code, whole.code, size));
}

// Grows by the least, into memory that moves every time.
static bool grow_by_need(Asm *a, size_t need) {
    size_t size = asm_size(a), room = size + need;
    if (room > *(size_t *)a->user) return false;
    uint8_t *bigger = malloc(room);
    memcpy(bigger, a->start, size);
    free(a->start);
    a->start = bigger, a->at = bigger + size, a->end = bigger + room;
    return true;
}

TEST(a_buffer_grows) {
    Buffer whole;
    start(&whole);
    emit_sample(&whole.a);
    size_t most = asm_size(&whole.a);
    for (int enough = 1; enough >= 0; enough--, most--) {
        Asm a;
        asm_init(&a, malloc(1), 1);
        a.grow = grow_by_need;
        a.user = &most;
        emit_sample(&a);
        CHECK_INT_EQ(a.error, enough ? ASM_OK : ASM_FULL);
        if (enough) CHECK(!memcmp(a.start, whole.code, asm_size(&whole.a)));
        free(a.start);
    }
}

TEST(labels_must_be_bound_once) {
    Buffer b;
    start(&b);
    AsmLabel label = asm_label(&b.a), twice = asm_label(&b.a);
    x86_1(&b.a, X86_jmp, x86_to(&label));
    CHECK_INT_EQ(asm_finish(&b.a), ASM_BAD_LABEL);
    start(&b);
    asm_bind(&b.a, &twice);
    CHECK_INT_EQ(asm_finish(&b.a), ASM_OK);
    asm_bind(&b.a, &twice);
    CHECK_INT_EQ(asm_finish(&b.a), ASM_BAD_LABEL);
}

// ---- Bytes by hand ----------------------------------------------------------------------------

TEST(labels_connect_both_ways) {
    Buffer b;
    start(&b);
    AsmLabel back = asm_label(&b.a), on = asm_label(&b.a);
    asm_bind(&b.a, &back);
    x86_1(&b.a, X86_jz, x86_to(&on));     // 0
    x86_1(&b.a, X86_call, x86_to(&on));   // 6
    x86_1(&b.a, X86_jmp, x86_to(&back));  // 11
    x86_1(&b.a, X86_call, x86_to(&back)); // 13
    asm_bind(&b.a, &on);                  // 18
    CHECK_INT_EQ(asm_finish(&b.a), ASM_OK);
    CHECK(holds(&b, "0f840c000000e807000000ebf3e8eeffffff"));
}

TEST(constants_count_from_the_end_of_the_instruction) {
    Buffer b;
    start(&b);
    AsmLabel c = asm_label(&b.a);
    x86_4(&b.a, X86_vcmpps, x86_k(1), x86_zmm(0), x86_mem_label(&c), x86_imm(2)); // 0: 11 bytes
    x86_2(&b.a, X86_cmp, x86_sized(x86_mem_label(&c), 4), x86_imm(1000));         // 11: 10 bytes
    x86_2(&b.a, X86_lea, RAX, x86_mem_label(&c));                                 // 21: 7 bytes
    asm_fill(&b.a, 32, 0);
    asm_bind(&b.a, &c); // 32
    x86_2(&b.a, X86_lea, RAX, x86_mem_label(&c));
    CHECK_INT_EQ(asm_finish(&b.a), ASM_OK);
    CHECK(holds(&b, "62f17c48c20d1500000002" // 32 - 11
                    "813d0b000000e8030000"   // 32 - 21
                    "488d0504000000"         // 32 - 28
                    "00000000"
                    "488d05f9ffffff"));
}

// Backward jumps are short as far as they reach, to the byte.
TEST(short_jumps_reach_128_bytes_back) {
    for (unsigned distance = 120; distance < 135; distance++) {
        Buffer b;
        start(&b);
        AsmLabel back = asm_label(&b.a);
        asm_bind(&b.a, &back);
        for (unsigned i = 0; i < distance; i++) x86_0(&b.a, X86_nop);
        x86_1(&b.a, X86_jnz, x86_to(&back));
        CHECK_INT_EQ(asm_size(&b.a), distance + (distance + 2 <= 128 ? 2 : 6));
    }
}

TEST(constants_take_the_shortest_mov) {
    const struct {
        int64_t value;
        const char *bytes;
    } set[] = {
        {0, "41bf00000000"},
        {UINT32_MAX, "41bfffffffff"},
        {-1, "49c7c7ffffffff"},
        {INT32_MIN, "49c7c700000080"},
        {INT64_C(1) << 32, "49bf0000000001000000"},
        {INT32_MIN - INT64_C(1), "49bfffffff7fffffffff"},
    };
    for (size_t i = 0; i < sizeof set / sizeof *set; i++) {
        Buffer b;
        start(&b);
        x86_set(&b.a, X86_R15, set[i].value);
        CHECK(holds(&b, set[i].bytes));
    }
}

/* Without a size, memory may fit only one form. Two forms of one instruction that take the same
 * other operands and different sizes of memory must both ask for the size. */
TEST(memory_sizes_are_never_guessed) {
    for (unsigned op = 0; op < X86_OP_COUNT; op++)
        for (unsigned i = x86_first[op]; i < x86_first[op + 1]; i++)
            for (unsigned j = i + 1; j < x86_first[op + 1]; j++) {
                const X86Form *f = &x86_forms[i], *g = &x86_forms[j];
                uint64_t both = ~(f->reject | g->reject), memory = (uint64_t)X86_M << 16 * f->rm;
                if (f->rm != g->rm || f->size == g->size || !(both & memory)) continue;
                bool same = true; // kinds exist that both take
                for (unsigned k = 0; k < 4; k++) same &= (both >> 16 * k & 0xffff) != 0;
                if (same && !CHECK(f->flags & g->flags & X86_F_SIZED))
                    printf("  %s, forms %u and %u\n", x86_name((X86Op)op), i - x86_first[op],
                           j - x86_first[op]);
            }
}

// ---- Text -------------------------------------------------------------------------------------

TEST(text_fits_its_buffer) {
    const X86Arg args[4] = {x86_masked(x86_zmm(3), 1, true), x86_zmm(30),
                            x86_bcast(x86_mem(X86_RSI, 64)), NO};
    const char *want = "vfmadd231ps zmm3 {k1} {z}, zmm30, dword ptr [rsi+0x40] {1to16}";
    char text[100];
    CHECK_INT_EQ(x86_print(text, sizeof text, UINT32_MAX, X86_vfmadd231ps, args), strlen(want));
    CHECK_STR_EQ(text, want);
    memset(text, '#', sizeof text);
    CHECK_INT_EQ(x86_print(text, 5, UINT32_MAX, X86_vfmadd231ps, args), strlen(want));
    CHECK_STR_EQ(text, "vfma");
    CHECK(text[5] == '#');
    CHECK_INT_EQ(x86_print(NULL, 0, UINT32_MAX, X86_vfmadd231ps, args), strlen(want));
    CHECK_INT_EQ(x86_print(text, sizeof text, UINT32_MAX, X86_add, args), 0);
    CHECK_STR_EQ(text, "");
}

static void list(Asm *a, size_t offset, unsigned op, const void *args) {
    char *text = a->user;
    size_t n = strlen(text);
    n += (size_t)sprintf(text + n, "%zu ", offset);
    n += x86_print(text + n, 100, a->features, (X86Op)op, args);
    strcpy(text + n, "\n");
}

TEST(a_listener_hears_every_instruction) {
    Buffer b;
    char text[500] = "";
    start(&b);
    b.a.listen = list;
    b.a.user = text;
    emit_sample(&b.a);
    x86_1(&b.a, X86_inc, x86_mem(X86_RAX, 0)); // refused, and not heard
    CHECK_STR_EQ(text, "0 mov rax, -0x8000000000000000\n"
                       "10 vaddps zmm20, zmm3, zmmword ptr [rip+L0]\n"
                       "20 ret\n"
                       "21 vcmpps k1, zmm9, zmmword ptr [r12+r9*4+0x3039], 0x2\n"
                       "33 jnz L1\n");
}

// ---- Running ----------------------------------------------------------------------------------

// Makes code executable; NULL where that is not allowed.
static void *load(const Buffer *b) {
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return NULL;
    memcpy(page, b->code, asm_size(&b->a));
    return mprotect(page, 4096, PROT_READ | PROT_EXEC) ? NULL : page;
}

TEST(padding_runs) {
    for (unsigned offset = 0; offset < 64; offset++) {
        Buffer b;
        start(&b);
        for (unsigned i = 0; i < offset; i++) x86_0(&b.a, X86_nop);
        x86_align(&b.a, 64);
        CHECK_INT_EQ(asm_size(&b.a), offset ? 64 : 0);
        x86_set(&b.a, X86_RAX, 1234);
        x86_0(&b.a, X86_ret);
        int (*f)(void) = (int (*)(void))load(&b);
        if (!CHECK(f != NULL)) return;
        CHECK_INT_EQ(f(), 1234);
        munmap((void *)f, 4096);
    }
}

// long f(const int *p, long n): sum of n numbers
TEST(a_loop_runs) {
    Buffer b;
    start(&b);
    AsmLabel loop = asm_label(&b.a), done = asm_label(&b.a);
    X86Arg n = x86_r64(X86_RSI), value = x86_r64(X86_RCX);
    x86_2(&b.a, X86_xor, EAX, EAX);
    x86_2(&b.a, X86_test, n, n);
    x86_1(&b.a, X86_jle, x86_to(&done));
    asm_bind(&b.a, &loop);
    x86_2(&b.a, X86_movsxd, value, x86_mem_index(X86_RDI, X86_RSI, 2, -4));
    x86_2(&b.a, X86_add, RAX, value);
    x86_1(&b.a, X86_dec, n);
    x86_1(&b.a, X86_jnz, x86_to(&loop));
    asm_bind(&b.a, &done);
    x86_0(&b.a, X86_ret);
    CHECK_INT_EQ(asm_finish(&b.a), ASM_OK);
    long (*f)(const int *, long) = (long (*)(const int *, long))load(&b);
    if (!CHECK(f != NULL)) return;
    const int data[] = {5, -100, 2000000000, 2000000000, 7};
    CHECK_INT_EQ(f(data, 5), INT64_C(3999999912));
    CHECK_INT_EQ(f(data, 2), -95);
    CHECK_INT_EQ(f(data, 0), 0);
}

// void f(float *out, const float *x): out = x * 3 + out, of n numbers by mask or by vector
static void emit_axpy(Asm *a, unsigned n, bool avx512) {
    AsmLabel three = asm_label(a);
    X86Arg v = avx512 ? x86_zmm(17) : x86_ymm(1), x = x86_mem(X86_RSI, 0),
           out = x86_mem(X86_RDI, 0);
    X86Arg w = avx512 ? x86_zmm(18) : x86_ymm(2), c = x86_mem_label(&three);
    if (avx512) {
        x86_set(a, X86_RAX, (1 << n) - 1);
        x86_2(a, X86_kmovw, x86_k(3), EAX);
        x86_2(a, X86_vmovups, x86_masked(v, 3, true), x);
        x86_2(a, X86_vmovups, x86_masked(w, 3, true), out);
        x86_3(a, X86_vfmadd231ps, w, v, x86_bcast(c));
        x86_2(a, X86_vmovups, x86_masked(out, 3, false), w);
    } else {
        x86_2(a, X86_vbroadcastss, x86_ymm(9), c);
        x86_2(a, X86_vmovups, v, x);
        x86_2(a, X86_vmovups, w, out);
        x86_3(a, X86_vfmadd231ps, w, v, x86_ymm(9));
        x86_2(a, X86_vmovups, out, w);
    }
    x86_0(a, X86_vzeroupper);
    x86_0(a, X86_ret);
    asm_bind(a, &three);
    asm_bytes(a, &(float){3}, 4);
}

static void run_axpy(unsigned n, bool avx512) {
    Buffer b;
    start(&b);
    emit_axpy(&b.a, n, avx512);
    CHECK_INT_EQ(asm_finish(&b.a), ASM_OK);
    void (*f)(float *, const float *) = (void (*)(float *, const float *))load(&b);
    if (!CHECK(f != NULL)) return;
    float out[16], x[16];
    for (int i = 0; i < 16; i++) out[i] = (float)i, x[i] = (float)(i * i);
    f(out, x);
    for (int i = 0; i < 16; i++)
        CHECK_F64_EQ(out[i], i < (int)n ? (double)(3 * i * i + i) : (double)i);
}

TEST(vectors_run) {
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) run_axpy(8, false);
    if (__builtin_cpu_supports("avx512f")) run_axpy(13, true);
}
