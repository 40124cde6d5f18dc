// gdb's JIT interface: a list of ELF files in memory, and a function in which the debugger sets a
// breakpoint, and which is called when the list changes. Each file has one section for the code (at
// its address, without content), one symbol, and DWARF 4 for one function: .debug_info has its
// name, .debug_line its lines, .debug_frame the rules to unwind to its caller.
#include "run/debug.h"

#include <elf.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// --- The interface: names and layout are gdb's -------------------------------------------------

struct jit_code_entry {
    struct jit_code_entry *next, *prev;
    const char *symfile_addr;
    uint64_t symfile_size;
};

struct jit_descriptor {
    uint32_t version;
    uint32_t action_flag;
    struct jit_code_entry *relevant_entry, *first_entry;
};

enum { JIT_NOACTION, JIT_REGISTER, JIT_UNREGISTER };

void __jit_debug_register_code(void);
extern struct jit_descriptor __jit_debug_descriptor;

// The debugger reads memory here: no store may be delayed or removed.
__attribute__((noinline, used)) void __jit_debug_register_code(void) {
    __asm__ volatile("" ::: "memory");
}
struct jit_descriptor __jit_debug_descriptor = {.version = 1};

// The list is global to the process, and so is its lock: the id of the process that holds it; 0:
// free. A child may take it from a parent that held it during fork.
static _Atomic pid_t __jit_debug_lock;

static void lock(void) {
    pid_t me = getpid(), holder = 0;
    while (!atomic_compare_exchange_weak(&__jit_debug_lock, &holder, me))
        if (holder == me) holder = 0;
}

static void unlock(void) { atomic_store(&__jit_debug_lock, 0); }

struct DebugEntry {
    struct jit_code_entry entry;
    char file[];
};

static void tell(struct jit_code_entry *e, uint32_t action) {
    __jit_debug_descriptor.relevant_entry = e;
    __jit_debug_descriptor.action_flag = action;
    __jit_debug_register_code();
    __jit_debug_descriptor.action_flag = JIT_NOACTION;
    __jit_debug_descriptor.relevant_entry = NULL;
}

// --- The file ------------------------------------------------------------------------------------

// Bytes are counted in a first pass and written in a second one.
typedef struct ElfOut {
    char *at; // NULL: only counting
    size_t n;
} ElfOut;

static void bytes(ElfOut *o, const void *data, size_t size) {
    if (o->at) memcpy(o->at + o->n, data, size);
    o->n += size;
}

static void u8(ElfOut *o, unsigned v) { bytes(o, &(uint8_t){(uint8_t)v}, 1); }
static void u16(ElfOut *o, unsigned v) { bytes(o, &(uint16_t){(uint16_t)v}, 2); }
static void u32(ElfOut *o, size_t v) { bytes(o, &(uint32_t){(uint32_t)v}, 4); }
static void u64(ElfOut *o, uint64_t v) { bytes(o, &v, 8); }
static void text(ElfOut *o, const char *s) { bytes(o, s, strlen(s) + 1); }

static void uleb(ElfOut *o, uint64_t v) {
    for (; v >= 128; v >>= 7) u8(o, (unsigned)(v & 127) | 128);
    u8(o, (unsigned)v);
}

static void sleb(ElfOut *o, int64_t v) {
    for (; v < -64 || v > 63; v >>= 7) u8(o, (unsigned)(v & 127) | 128);
    u8(o, (unsigned)(v & 127));
}

// A length before its contents, filled in when these are written.
static size_t begin_unit(ElfOut *o) {
    u32(o, 0);
    return o->n;
}

static void end_unit(ElfOut *o, size_t from) {
    uint32_t size = (uint32_t)(o->n - from);
    if (o->at) memcpy(o->at + from - 4, &size, 4);
}

enum { // DWARF 4
    TAG_COMPILE_UNIT = 0x11,
    TAG_SUBPROGRAM = 0x2e,
    AT_NAME = 0x03,
    AT_STMT_LIST = 0x10,
    AT_LOW_PC = 0x11,
    AT_HIGH_PC = 0x12,
    AT_LANGUAGE = 0x13,
    AT_COMP_DIR = 0x1b,
    AT_DECL_FILE = 0x3a,
    AT_DECL_LINE = 0x3b,
    AT_EXTERNAL = 0x3f,
    FORM_ADDR = 0x01,
    FORM_DATA8 = 0x07,
    FORM_STRING = 0x08,
    FORM_DATA1 = 0x0b,
    FORM_SEC_OFFSET = 0x17,
    FORM_FLAG_PRESENT = 0x19,
    LANG_C99 = 0x0c,
    LNS_COPY = 1,
    LNS_ADVANCE_PC = 2,
    LNS_ADVANCE_LINE = 3,
    LNE_END_SEQUENCE = 1,
    LNE_SET_ADDRESS = 2,
};

static void abbreviations(ElfOut *o) {
    static const uint8_t table[] = {1,
                                    TAG_COMPILE_UNIT,
                                    1,
                                    AT_NAME,
                                    FORM_STRING,
                                    AT_COMP_DIR,
                                    FORM_STRING,
                                    AT_LANGUAGE,
                                    FORM_DATA1,
                                    AT_LOW_PC,
                                    FORM_ADDR,
                                    AT_HIGH_PC,
                                    FORM_DATA8,
                                    AT_STMT_LIST,
                                    FORM_SEC_OFFSET,
                                    0,
                                    0,
                                    2,
                                    TAG_SUBPROGRAM,
                                    0,
                                    AT_NAME,
                                    FORM_STRING,
                                    AT_EXTERNAL,
                                    FORM_FLAG_PRESENT,
                                    AT_LOW_PC,
                                    FORM_ADDR,
                                    AT_HIGH_PC,
                                    FORM_DATA8,
                                    AT_DECL_FILE,
                                    FORM_DATA1,
                                    AT_DECL_LINE,
                                    FORM_DATA1,
                                    0,
                                    0,
                                    0};
    bytes(o, table, sizeof table);
}

static void info(ElfOut *o, const GdbCode *c) {
    uint64_t at = (uint64_t)(uintptr_t)c->code;
    size_t unit = begin_unit(o);
    u16(o, 4);
    u32(o, 0); // its abbreviations
    u8(o, 8);
    uleb(o, 1);
    text(o, c->file);
    text(o, c->folder);
    u8(o, LANG_C99);
    u64(o, at);
    u64(o, c->size);
    u32(o, 0); // its lines
    uleb(o, 2);
    text(o, c->name);
    u64(o, at);
    u64(o, c->size);
    u8(o, 1);
    u8(o, 1);
    u8(o, 0);
    end_unit(o, unit);
}

static void line_header(ElfOut *o, const GdbCode *c) {
    static const uint8_t operands[] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
    u16(o, 4);
    size_t header = begin_unit(o);
    u8(o, 1);            // bytes of the shortest instruction
    u8(o, 1);            // operations in one
    u8(o, 1);            // lines are statements
    u8(o, (unsigned)-5); // line base and range of opcodes that are not used here
    u8(o, 14);
    u8(o, sizeof operands + 1);
    bytes(o, operands, sizeof operands);
    u8(o, 0); // no folders except the unit's
    text(o, c->file);
    u8(o, 0);
    u8(o, 0);
    u8(o, 0);
    u8(o, 0);
    end_unit(o, header);
}

static void lines(ElfOut *o, const GdbCode *c) {
    size_t unit = begin_unit(o);
    line_header(o, c);
    u8(o, 0);
    uleb(o, 9);
    u8(o, LNE_SET_ADDRESS);
    u64(o, (uint64_t)(uintptr_t)c->code);
    uint32_t at = 0;
    int line = 1;
    for (int i = 0; i < c->nlines; i++) {
        int now = c->lines[i].line;
        if (i == 0 && !now) now = 1; // a function without a first line accepts no breakpoint
        u8(o, LNS_ADVANCE_PC);
        uleb(o, c->lines[i].offset - at);
        u8(o, LNS_ADVANCE_LINE);
        sleb(o, now - line);
        u8(o, LNS_COPY);
        at = c->lines[i].offset;
        line = now;
    }
    u8(o, LNS_ADVANCE_PC);
    uleb(o, c->size - at);
    u8(o, 0);
    uleb(o, 1);
    u8(o, LNE_END_SEQUENCE);
    end_unit(o, unit);
}

// --- Frames --------------------------------------------------------------------------------------

enum { // DWARF 4 and its numbers of registers
    CFA_ADVANCE_LOC4 = 0x04,
    CFA_SAME_VALUE = 0x08,
    CFA_DEF_CFA = 0x0c,
    CFA_DEF_CFA_EXPRESSION = 0x0f,
    CFA_OFFSET = 0x80,
    OP_DEREF = 0x06,
    OP_CONST1S = 0x09,
    OP_AND = 0x1a,
    OP_PLUS_UCONST = 0x23,
    OP_BREG_RSP = 0x77,
    RAX = 0,
    RBX = 3,
    RSP = 7,
    RETURN_ADDRESS = 16,
};
static const uint8_t kept[] = {RBX, 6, 12, 13, 14, 15};

static void frame_base(ElfOut *o, const KernelFrame *f) {
    uint64_t above = 8 + 8 * (uint64_t)f->kept;
    if (f->rule != FRAME_SLOT) {
        u8(o, CFA_DEF_CFA);
        uleb(o, f->rule == FRAME_RSP ? RSP : f->rule == FRAME_RAX ? RAX : RBX);
        uleb(o, f->rule == FRAME_RBX ? 8 + 8 * (uint64_t)f->at : above);
        return;
    }
    for (int counting = 1; counting >= 0; counting--) { // the length of the expression first
        ElfOut count = {0}, *e = counting ? &count : o;
        u8(e, OP_BREG_RSP);
        sleb(e, 63);
        u8(e, OP_CONST1S);
        u8(e, (unsigned)-64);
        u8(e, OP_AND);
        u8(e, OP_PLUS_UCONST);
        uleb(e, (uint64_t)f->at);
        u8(e, OP_DEREF);
        u8(e, OP_PLUS_UCONST);
        uleb(e, above);
        if (!counting) continue;
        u8(o, CFA_DEF_CFA_EXPRESSION);
        uleb(o, count.n);
    }
}

static void frame_rules(ElfOut *o, const GdbCode *c) {
    uint32_t at = 0;
    int now = 0;
    for (int i = 0; i < c->nframes; i++) {
        const KernelFrame *f = &c->frames[i];
        if (f->offset != at) u8(o, CFA_ADVANCE_LOC4), u32(o, f->offset - at);
        at = f->offset;
        frame_base(o, f);
        for (; now < f->kept; now++) u8(o, CFA_OFFSET | kept[now]), uleb(o, (uint64_t)now + 2);
        for (; now > f->kept; now--) u8(o, CFA_SAME_VALUE), uleb(o, kept[now - 1]);
    }
}

static void frames(ElfOut *o, const GdbCode *c) {
    size_t common = begin_unit(o);
    u32(o, 0xffffffff);
    u8(o, 1);
    text(o, "");
    uleb(o, 1);
    sleb(o, -8);
    u8(o, RETURN_ADDRESS);
    u8(o, CFA_DEF_CFA), uleb(o, RSP), uleb(o, 8);
    u8(o, CFA_OFFSET | RETURN_ADDRESS), uleb(o, 1);
    while (o->n % 8 != 0) u8(o, 0);
    end_unit(o, common);
    size_t function = begin_unit(o);
    u32(o, 0); // the common part
    u64(o, (uint64_t)(uintptr_t)c->code);
    u64(o, c->size);
    frame_rules(o, c);
    while (o->n % 8 != 0) u8(o, 0);
    end_unit(o, function);
}

// --- Sections ------------------------------------------------------------------------------------

enum { S_NONE, S_TEXT, S_SYMTAB, S_STRTAB, S_SHSTRTAB, S_ABBREV, S_INFO, S_LINE, S_FRAME, S_COUNT };
static const char section_names[] = "\0.text\0.symtab\0.strtab\0.shstrtab\0.debug_abbrev\0"
                                    ".debug_info\0.debug_line\0.debug_frame";

static uint32_t section_name(int section) {
    size_t at = 0;
    for (int i = 0; i < section; i++) at += strlen(section_names + at) + 1;
    return (uint32_t)at;
}

static void symbols(ElfOut *o, const GdbCode *c) {
    Elf64_Sym s[2] = {{0}, {0}};
    s[1].st_name = 1;
    s[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    s[1].st_shndx = S_TEXT;
    s[1].st_size = c->size;
    bytes(o, s, sizeof s);
}

static void content(ElfOut *o, const GdbCode *c, int section) {
    switch (section) {
    case S_SYMTAB: symbols(o, c); break;
    case S_STRTAB:
        u8(o, 0);
        text(o, c->name);
        break;
    case S_SHSTRTAB: bytes(o, section_names, sizeof section_names); break;
    case S_ABBREV: abbreviations(o); break;
    case S_INFO: info(o, c); break;
    case S_LINE: lines(o, c); break;
    case S_FRAME: frames(o, c); break;
    }
}

// Header, section headers, contents; `sections` is filled in by counting.
static void elf(ElfOut *o, const GdbCode *c, Elf64_Shdr *sections) {
    Elf64_Ehdr h = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_REL,
        .e_machine = EM_X86_64,
        .e_version = EV_CURRENT,
        .e_shoff = sizeof h,
        .e_ehsize = sizeof h,
        .e_shentsize = sizeof *sections,
        .e_shnum = S_COUNT,
        .e_shstrndx = S_SHSTRTAB};
    bytes(o, &h, sizeof h);
    bytes(o, sections, S_COUNT * sizeof *sections);
    for (int i = S_SYMTAB; i < S_COUNT; i++) {
        while (o->n % 8) u8(o, 0);
        size_t from = o->n;
        content(o, c, i);
        sections[i].sh_name = section_name(i);
        sections[i].sh_offset = from;
        sections[i].sh_size = o->n - from;
        sections[i].sh_addralign = 8;
    }
}

static void describe(const GdbCode *c, Elf64_Shdr *sections) {
    memset(sections, 0, S_COUNT * sizeof *sections);
    for (int i = S_SYMTAB; i < S_COUNT; i++) sections[i].sh_type = SHT_PROGBITS;
    sections[S_STRTAB].sh_type = sections[S_SHSTRTAB].sh_type = SHT_STRTAB;
    sections[S_SYMTAB].sh_type = SHT_SYMTAB;
    sections[S_SYMTAB].sh_link = S_STRTAB;
    sections[S_SYMTAB].sh_info = 1;
    sections[S_SYMTAB].sh_entsize = sizeof(Elf64_Sym);
    sections[S_TEXT] = (Elf64_Shdr){.sh_name = section_name(S_TEXT),
                                    .sh_type = SHT_NOBITS,
                                    .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                                    .sh_addr = (Elf64_Addr)(uintptr_t)c->code,
                                    .sh_offset = sizeof(Elf64_Ehdr),
                                    .sh_size = c->size,
                                    .sh_addralign = 16};
}

// --- Kernels -----------------------------------------------------------------------------------

DebugEntry *gdb_add(const GdbCode *c) {
    Elf64_Shdr sections[S_COUNT];
    ElfOut count = {0};
    describe(c, sections);
    elf(&count, c, sections);
    DebugEntry *e = malloc(sizeof *e + count.n);
    if (!e) return NULL;
    ElfOut out = {.at = e->file};
    elf(&out, c, sections);
    e->entry = (struct jit_code_entry){.symfile_addr = e->file, .symfile_size = out.n};
    lock();
    struct jit_code_entry *first = __jit_debug_descriptor.first_entry;
    e->entry.next = first;
    if (first) first->prev = &e->entry;
    __jit_debug_descriptor.first_entry = &e->entry;
    tell(&e->entry, JIT_REGISTER);
    unlock();
    return e;
}

void debug_remove(DebugEntry *e) {
    if (!e) return;
    lock();
    struct jit_code_entry *n = &e->entry;
    if (n->prev)
        n->prev->next = n->next;
    else
        __jit_debug_descriptor.first_entry = n->next;
    if (n->next) n->next->prev = n->prev;
    tell(n, JIT_UNREGISTER);
    unlock();
    free(e);
}
