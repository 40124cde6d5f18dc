// Listings of generated code: the encoder's text of each instruction against what Zydis reads in
// the finished bytes, over random programs, schedules and instruction sets.
// link: -lZydis
#include "unit/check.h"

#include "code/listing.h"
#include "code/x86/aot.h"
#include "support/genprog.h"
#include "support/gensched.h"
#include "support/proglab.h"
#include "sched/schedule.h"
#include "target/target.h"

#include <Zydis/Zydis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void formatter_init(ZydisFormatter *f) {
    ZydisFormatterInit(f, ZYDIS_FORMATTER_STYLE_INTEL);
    ZydisFormatterSetProperty(f, ZYDIS_FORMATTER_PROP_FORCE_SIZE, ZYAN_TRUE);
    ZydisFormatterSetProperty(f, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
    ZydisFormatterSetProperty(f, ZYDIS_FORMATTER_PROP_IMM_SIGNEDNESS, ZYDIS_SIGNEDNESS_AUTO);
    ZydisFormatterSetProperty(f, ZYDIS_FORMATTER_PROP_IMM_PADDING, ZYDIS_PADDING_DISABLED);
    ZydisFormatterSetProperty(f, ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_PADDING_DISABLED);
}

// Where the instruction's relative operand points; -1: it has none.
static int64_t target_of(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *operands,
                         uint64_t at) {
    for (int i = 0; i < in->operand_count_visible; i++) {
        bool jump = operands[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && operands[i].imm.is_relative;
        bool rip = operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
                   operands[i].mem.base == ZYDIS_REGISTER_RIP;
        ZyanU64 target;
        if ((jump || rip) && ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(in, &operands[i], at, &target)))
            return (int64_t)target;
    }
    return -1;
}

static bool agrees(const Code *code, const ListedInsn *l, const ZydisDecoder *decoder,
                   const ZydisFormatter *formatter) {
    ZydisDecodedInstruction in;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    char text[256];
    if (ZYAN_FAILED(ZydisDecoderDecodeFull(decoder, code->bytes + l->offset, code->size - l->offset,
                                           &in, operands)))
        return false;
    ZydisFormatterFormatInstruction(formatter, &in, operands, in.operand_count_visible, text,
                                    sizeof text, l->offset, ZYAN_NULL);
    int64_t target = target_of(&in, operands, l->offset);
    bool same = in.length == l->size && (l->label >= 0) == (target >= 0);
    if (l->label >= 0) { // labels have names: what stands before must agree, and the place
        size_t n = strcspn(l->text, "L");
        if (l->text[n - 1] == '+') n -= 5; // "[rip+L3]" reads as an address there
        same = same && target == l->target && strncmp(text, l->text, n) == 0;
    } else {
        same = same && strcmp(text, l->text) == 0;
    }
    if (!same) printf("  at %u: ours %s; Zydis %s\n", l->offset, l->text, text);
    return same;
}

// Every instruction agrees, and between them there is nothing but padding.
static void check_listing(const Code *code, const Listing *l) {
    ZydisDecoder decoder;
    ZydisFormatter formatter;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    formatter_init(&formatter);
    uint32_t at = 0;
    for (int i = 0; i < l->insns.n; i++) {
        const ListedInsn *in = &l->insns.at[i];
        if (!CHECK(in->offset >= at && in->offset < at + 64)) return;
        if (!CHECK(agrees(code, in, &decoder, &formatter))) return;
        at = in->offset + in->size;
    }
    CHECK(at <= code->size);
}

TEST(listings_agree_with_zydis) {
    int64_t instructions = 0;
    for (int64_t i = 0; i < check_rounds(100); i++) {
        Lab lab;
        lab_begin(&lab);
        const Program *p = genprog(&lab, (uint64_t)i);
        GenSched gen = {.state = (uint64_t)i};
        const Schedule *s = gen_schedule(&gen, &lab.arena, p);
        const Tree *t = tree_lower(&lab.arena, p, s, &lab.diags);
        for (int isa = ISA_SCALAR; t && isa < ISA_COUNT; isa++) {
            Machine m;
            Code code, plain;
            Listing listing;
            machine_describe(&m, (Isa)isa);
            if (!target_compile(&target_x86, &lab.arena, t, &m, &code, &listing, &lab.diags))
                continue;
            check_listing(&code, &listing);
            instructions += listing.insns.n;
            // Listening changes nothing.
            CHECK(target_compile(&target_x86, &lab.arena, t, &m, &plain, NULL, &lab.diags));
            CHECK(plain.size == code.size && !memcmp(plain.bytes, code.bytes, code.size));
        }
        lab_end(&lab);
    }
    CHECK(instructions > 10 * check_rounds(100));
}

// --- Instructions that results do not show -------------------------------------------------------

// The kernel for AVX-512, listed and checked; NULL where something went wrong.
static const Listing *list(Lab *lab, const char *program, const char *schedule, Code *code) {
    const Program *p = lab_program(lab, program, NULL);
    Source src = {"s.lws", schedule, (uint32_t)strlen(schedule)};
    const Schedule *s = p ? schedule_parse(&lab->arena, p->names, &src, &lab->diags) : NULL;
    const Tree *t = s ? tree_lower(&lab->arena, p, s, &lab->diags) : NULL;
    Listing *l = arena_new(&lab->arena, Listing);
    Machine m;
    machine_describe(&m, ISA_AVX512);
    if (!CHECK(t && target_compile(&target_x86, &lab->arena, t, &m, code, l, &lab->diags)))
        return NULL;
    check_listing(code, l);
    return l;
}

// How many instructions contain the text, and the last of them.
static int find(const Listing *l, const char *text, int *last) {
    int n = 0;
    for (int i = 0; l && i < l->insns.n; i++)
        if (strstr(l->insns.at[i].text, text)) n++, *last = i;
    return n;
}

// Others may see a kernel's results as soon as it has returned.
TEST(a_fence_ends_kernels_that_store_past_the_caches) {
    Lab lab;
    Code code;
    int fence = 0, store = 0;
    lab_begin(&lab);
    const Listing *l = list(&lab,
                            "program c { input A: f32[512] output C: f32[512]\n"
                            "C: for i in 0:512  C[i] = A[i] }",
                            "C: i:v\n    nontemporal", &code);
    CHECK(find(l, "vmovntps", &store) > 0);
    CHECK(find(l, "sfence", &fence) == 1);
    lab_end(&lab);
}

// A comparison with a constant in memory has an immediate behind its label.
TEST(labels_of_comparisons_are_listed) {
    Lab lab;
    Code code;
    int at = 0;
    lab_begin(&lab);
    const Listing *l = list(&lab,
                            "program g { input T: f32[10] input I: i32[37] output O: f32[37]\n"
                            "O: for i in 0:37  O[i] = T[I[i]] }",
                            "O: i:v", &code);
    CHECK(find(l, "vpcmpud", &at) > 0);
    CHECK(l && l->insns.at[at].label >= 0);
    lab_end(&lab);
}

// Elements further than 2 GiB from where a tensor begins.
TEST(far_elements_have_far_addresses) {
    Lab lab;
    Code code;
    int at = 0;
    lab_begin(&lab);
    const Listing *l = list(&lab,
                            "program f { input A: f32[3, 1073741824] output C: f32[3]\n"
                            "C: for i in 0:3  C[i] = A[i, 5] }",
                            "C: i:u", &code);
    CHECK(find(l, "0x100000014", &at) == 1);
    CHECK(find(l, "0x200000014", &at) == 1);
    lab_end(&lab);
}

// --- GNU as --------------------------------------------------------------------------------------

typedef struct Expected {
    uint8_t *bytes;
    size_t size;
} Expected;

// Adds the function's assembly text to the file; its bytes are what as should make of it.
static bool add_function(FILE *file, uint64_t seed, int isa, int number, Expected *out) {
    Lab lab;
    Machine m;
    Code code;
    Listing listing;
    Aot aot;
    lab_begin(&lab);
    const Program *p = genprog(&lab, seed);
    GenSched gen = {.state = seed};
    const Tree *t = tree_lower(&lab.arena, p, gen_schedule(&gen, &lab.arena, p), &lab.diags);
    machine_describe(&m, (Isa)isa);
    char name[16];
    snprintf(name, sizeof name, "f%d", number);
    bool ok = t && target_compile(&target_x86, &lab.arena, t, &m, &code, &listing, &lab.diags) &&
              aot_make(&lab.arena, t, &m, name, &code, &listing, &aot, &lab.diags);
    if (ok) {
        Text text = {.arena = &lab.arena}, tree = {.arena = &lab.arena};
        tree_show(&tree, t, false);
        aot_asm(&aot, text_str(&tree), &text);
        fputs(text_str(&text), file);
        *out = (Expected){malloc(aot.code.size), aot.code.size};
        memcpy(out->bytes, aot.code.bytes, aot.code.size);
        for (size_t i = 0; i < aot.object.ncalls; i++) // the linker fills these in
            memset(out->bytes + aot.object.calls[i].offset, 0, 4);
    }
    lab_end(&lab);
    return ok;
}

TEST(assembly_text_gives_the_same_bytes) {
    enum { MOST = 64 };
    char path[] = "/tmp/listing-XXXXXX", command[256];
    Expected want[3 * MOST];
    int n = 0, rounds = (int)check_rounds(MOST);
    int fd = mkstemp(path);
    if (!CHECK(fd >= 0)) return;
    FILE *file = fdopen(fd, "w");
    for (int i = 0; i < rounds; i++)
        for (int isa = ISA_SCALAR; isa < ISA_COUNT; isa++)
            n += add_function(file, (uint64_t)(i + 5000), isa, n, &want[n]);
    fclose(file);
    snprintf(command, sizeof command, "as %s -o %s.o && objcopy -O binary -j .text %s.o %s", path,
             path, path, path);
    if (!CHECK(system(command) == 0) || !CHECK(n > 0)) return;
    file = fopen(path, "rb");
    for (int i = 0; i < n; i++) {
        uint8_t *got = malloc(want[i].size);
        long at = ftell(file);
        CHECK(fseek(file, (at + 63) & ~63L, SEEK_SET) == 0); // each begins at a multiple of 64
        CHECK(fread(got, 1, want[i].size, file) == want[i].size);
        size_t k = 0;
        while (k < want[i].size && got[k] == want[i].bytes[k]) k++;
        if (!CHECK(k == want[i].size)) printf("  function f%d differs at %zu\n", i, k);
        free(got);
        free(want[i].bytes);
    }
    fclose(file);
    snprintf(command, sizeof command, "%s.o", path);
    remove(command);
    remove(path);
}
