/* ELF64, as <elf.h> would describe it: the header, the sections' contents, the section table.
 *
 *     header │ .text │ .rela.text │ .symtab │ .strtab │ .shstrtab │ section table
 */
#include "asm/elf.h"

#include <string.h>

enum { HEADER = 64, SECTION = 64, SYMBOL = 24, RELA = 24, ALIGN = 64 };
enum { S_NULL, S_TEXT, S_RELA, S_SYMTAB, S_STRTAB, S_NAMES, S_STACK, SECTIONS };

static const char names[] = "\0.text\0.rela.text\0.symtab\0.strtab\0.shstrtab\0.note.GNU-stack";
static const uint32_t name_at[SECTIONS] = {0, 1, 7, 18, 26, 34, 44};

// Where each section's content begins, and how long it is.
typedef struct Layout {
    size_t at[SECTIONS], size[SECTIONS], table, total;
} Layout;

static size_t align(size_t n, size_t to) { return (n + to - 1) & ~(to - 1); }

static Layout lay_out(const ElfObject *o) {
    Layout l = {0};
    size_t strings = 1;
    for (size_t i = 0; i < o->nsymbols; i++) strings += strlen(o->symbols[i].name) + 1;
    l.size[S_TEXT] = o->code_size;
    l.size[S_RELA] = o->ncalls * RELA;
    l.size[S_SYMTAB] = (o->nsymbols + 1) * SYMBOL;
    l.size[S_STRTAB] = strings;
    l.size[S_NAMES] = sizeof names;
    size_t at = HEADER;
    for (int i = S_TEXT; i < SECTIONS; i++) {
        at = align(at, i == S_TEXT ? ALIGN : 8);
        l.at[i] = at;
        at += l.size[i];
    }
    l.table = align(at, 8);
    l.total = l.table + SECTIONS * SECTION;
    return l;
}

size_t elf_size(const ElfObject *o) { return lay_out(o).total; }

// Little-endian fields of 2, 4 and 8 bytes, one after the other.
static uint8_t *put(uint8_t *p, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) *p++ = (uint8_t)(value >> 8 * i);
    return p;
}

static void put_header(uint8_t *p, const Layout *l) {
    static const uint8_t ident[16] = {0x7f, 'E', 'L', 'F', 2 /* 64 bits */, 1 /* little */, 1};
    enum { RELOCATABLE = 1, X86_64 = 62 };
    memcpy(p, ident, sizeof ident);
    p = put(p + sizeof ident, RELOCATABLE, 2);
    p = put(p, X86_64, 2);
    p = put(p, 1, 4);
    p = put(p, 0, 8); // entry
    p = put(p, 0, 8); // program headers
    p = put(p, l->table, 8);
    p = put(p, 0, 4);
    p = put(p, HEADER, 2);
    p = put(p, 0, 2);
    p = put(p, 0, 2);
    p = put(p, SECTION, 2);
    p = put(p, SECTIONS, 2);
    put(p, S_NAMES, 2);
}

typedef struct ElfSection {
    uint32_t type;
    uint64_t flags;
    uint32_t link, info;
    uint64_t align, entry;
} ElfSection;

static void put_sections(uint8_t *p, const Layout *l) {
    enum { PROGBITS = 1, SYMTAB = 2, STRTAB = 3, RELOCATIONS = 4, ALLOC_EXEC = 6, INFO_LINK = 64 };
    static const ElfSection section[SECTIONS] = {
        [S_TEXT] = {PROGBITS, ALLOC_EXEC, 0, 0, ALIGN, 0},
        [S_RELA] = {RELOCATIONS, INFO_LINK, S_SYMTAB, S_TEXT, 8, RELA},
        [S_SYMTAB] = {SYMTAB, 0, S_STRTAB, 1 /* the first that is global */, 8, SYMBOL},
        [S_STRTAB] = {STRTAB, 0, 0, 0, 1, 0},
        [S_NAMES] = {STRTAB, 0, 0, 0, 1, 0},
        [S_STACK] = {PROGBITS, 0, 0, 0, 1, 0}, // the stack need not be executable
    };
    for (int i = 0; i < SECTIONS; i++) {
        const ElfSection *s = &section[i];
        p = put(p, name_at[i], 4);
        p = put(p, s->type, 4);
        p = put(p, s->flags, 8);
        p = put(p, 0, 8);
        p = put(p, l->at[i], 8);
        p = put(p, l->size[i], 8);
        p = put(p, s->link, 4);
        p = put(p, s->info, 4);
        p = put(p, s->align, 8);
        p = put(p, s->entry, 8);
    }
}

static void put_symbols(const ElfObject *o, uint8_t *p, char *strings) {
    enum { GLOBAL_FUNCTION = 1 << 4 | 2, GLOBAL = 1 << 4 };
    size_t at = 1;
    p += SYMBOL; // the first means nothing
    for (size_t i = 0; i < o->nsymbols; i++) {
        const ElfSymbol *s = &o->symbols[i];
        p = put(p, at, 4);
        p = put(p, s->defined ? GLOBAL_FUNCTION : GLOBAL, 1);
        p = put(p, 0, 1);
        p = put(p, s->defined ? S_TEXT : 0, 2);
        p = put(p, s->defined ? s->offset : 0, 8);
        p = put(p, s->defined ? s->size : 0, 8);
        size_t n = strlen(s->name) + 1;
        memcpy(strings + at, s->name, n);
        at += n;
    }
}

void elf_write(const ElfObject *o, void *into) {
    enum { PLT32 = 4 };
    Layout l = lay_out(o);
    uint8_t *file = into;
    memset(file, 0, l.total);
    put_header(file, &l);
    if (o->code_size) memcpy(file + l.at[S_TEXT], o->code, o->code_size);
    uint8_t *p = file + l.at[S_RELA];
    for (size_t i = 0; i < o->ncalls; i++) {
        p = put(p, o->calls[i].offset, 8);
        p = put(p, (uint64_t)(o->calls[i].symbol + 1) << 32 | PLT32, 8);
        p = put(p, (uint64_t)-4,
                8); // distances count from the end of the field
    }
    put_symbols(o, file + l.at[S_SYMTAB], (char *)file + l.at[S_STRTAB]);
    memcpy(file + l.at[S_NAMES], names, sizeof names);
    put_sections(file + l.table, &l);
}
