// Parses the text of a module: directives, declarations and labels; decode.c reads the statements.
#include "emulate/parse.h"

#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_REGISTERS = 1 << 16,
    MAX_CODE = 1 << 20,
    MAX_BYTES = 1 << 20, // of shared or local memory that a text may declare
};

_Noreturn void ptx_refuse(PtxParser *p, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(p->error->text, sizeof p->error->text, format, args);
    va_end(args);
    p->error->line = p->line;
    longjmp(p->refused, 1);
}

// --- Words ---------------------------------------------------------------------------------------

bool ptx_word_is(PtxWord w, const char *s) {
    return strlen(s) == w.len && memcmp(w.s, s, w.len) == 0;
}

void ptx_skip_blanks(PtxParser *p) {
    while (p->at < p->end) {
        if (*p->at == '\n') p->line++;
        if (isspace((unsigned char)*p->at)) {
            p->at++;
        } else if (p->end - p->at > 1 && p->at[0] == '/' && p->at[1] == '/') {
            while (p->at < p->end && *p->at != '\n') p->at++;
        } else if (p->end - p->at > 1 && p->at[0] == '/' && p->at[1] == '*') {
            for (p->at += 2; p->end - p->at > 1 && !(p->at[0] == '*' && p->at[1] == '/'); p->at++)
                if (*p->at == '\n') p->line++;
            p->at = p->end - p->at > 1 ? p->at + 2 : p->end;
        } else {
            return;
        }
    }
}

bool ptx_next_is(PtxParser *p, char c) {
    ptx_skip_blanks(p);
    return p->at < p->end && *p->at == c;
}

bool ptx_accept(PtxParser *p, char c) {
    if (!ptx_next_is(p, c)) return false;
    p->at++;
    return true;
}

void ptx_expect(PtxParser *p, char c) {
    if (ptx_accept(p, c)) return;
    if (p->at == p->end) ptx_refuse(p, "expected '%c', found the end of the text", c);
    ptx_refuse(p, "expected '%c', found '%c'", c, *p->at);
}

static bool in_word(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

PtxWord ptx_identifier(PtxParser *p) {
    ptx_skip_blanks(p);
    PtxWord w = {p->at, 0};
    while (p->at < p->end && in_word(*p->at)) p->at++;
    w.len = (size_t)(p->at - w.s);
    if (!w.len) ptx_refuse(p, "expected a name");
    return w;
}

// Extends a word by the parts after its dots: "ld.global.L1::no_allocate.f32", "%tid.x".
static PtxWord dotted(PtxParser *p, PtxWord w) {
    while (p->at < p->end) {
        bool twice = *p->at == ':' && p->end - p->at > 1 && p->at[1] == ':';
        if (twice) p->at++;
        if (!twice && *p->at != '.' && !in_word(*p->at)) break;
        p->at++;
    }
    w.len = (size_t)(p->at - w.s);
    return w;
}

// A word after a dot: ".reg".
static PtxWord directive(PtxParser *p) {
    ptx_expect(p, '.');
    return ptx_identifier(p);
}

int64_t ptx_integer(PtxParser *p) {
    ptx_skip_blanks(p);
    bool negative = ptx_accept(p, '-');
    ptx_skip_blanks(p);
    char digits[32];
    int n = 0;
    while (p->at < p->end && isalnum((unsigned char)*p->at) && n < 30) digits[n++] = *p->at++;
    digits[n] = 0;
    if (n > 1 && (digits[n - 1] == 'U' || digits[n - 1] == 'u')) digits[--n] = 0;
    char *end;
    uint64_t value = strtoull(digits, &end, 0);
    if (!n || *end) ptx_refuse(p, "expected an integer, found '%s'", digits);
    return (int64_t)(negative ? 0 - value : value);
}

// --- Constants -----------------------------------------------------------------------------------

EmuOperand ptx_constant(PtxParser *p, uint64_t value, int bits) {
    if (bits < 32) bits = 32;
    int *head = &p->constant_head[(value ^ value >> 29 ^ value >> 23) & 255];
    for (int i = *head; i; i = p->constants.at[i - 1].next)
        if (p->constants.at[i - 1].value == value && p->constants.at[i - 1].bits == bits)
            return (EmuOperand){
                .row = p->constants.at[i - 1].row, .bits = (uint16_t)bits, .constant = true};
    Constant c = {value, bits, p->constant_bytes, *head};
    p->constant_bytes += (uint32_t)(LANES * bits / 8);
    vec_push(p->arena, &p->constants, c);
    *head = p->constants.n;
    return (EmuOperand){.row = c.row, .bits = (uint16_t)bits, .constant = true};
}

static uint8_t *constant_rows(PtxParser *p) {
    uint8_t *rows = arena_alloc(p->arena, p->constant_bytes + 8);
    for (int i = 0; i < p->constants.n; i++) {
        Constant c = p->constants.at[i];
        for (size_t l = 0; l < LANES; l++)
            memcpy(rows + c.row + l * (size_t)c.bits / 8, &c.value, (size_t)c.bits / 8);
    }
    return rows;
}

static bool is_hex(const char *s, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!isxdigit((unsigned char)s[i])) return false;
    return true;
}

// The bits of a literal of this type: 0fXXXXXXXX and 0dXXXXXXXXXXXXXXXX give bits, 1.5 a value.
static uint64_t literal(PtxParser *p, PtxType type) {
    ptx_skip_blanks(p);
    char text[40];
    int n = 0;
    const char *s = p->at;
    while (s < p->end && n < 38 &&
           (isalnum((unsigned char)*s) || *s == '.' || (*s == '-' && n == 0) ||
            ((*s == '-' || *s == '+') && n && (text[n - 1] | 32) == 'e' &&
             !(n > 1 && text[1] == 'x'))))
        text[n++] = *s++;
    text[n] = 0;
    char kind = n > 2 && text[0] == '0' ? text[1] : 0;
    if ((kind == 'f' || kind == 'F') && n == 10 && is_hex(text + 2, 8)) {
        p->at = s;
        uint32_t low = (uint32_t)strtoul(text + 2, NULL, 16);
        if (type != PTX_F64) return low;
        float f;
        memcpy(&f, &low, 4);
        double d = f;
        uint64_t bits;
        memcpy(&bits, &d, 8);
        return bits;
    }
    if ((kind == 'd' || kind == 'D') && n == 18 && is_hex(text + 2, 16)) {
        p->at = s;
        return strtoull(text + 2, NULL, 16);
    }
    if (!strchr(text, '.')) return (uint64_t)ptx_integer(p);
    double d;
    if (!text_parse_float(text, (size_t)n, false, &d))
        ptx_refuse(p, "expected a number, found '%s'", text);
    p->at = s;
    float f = (float)d;
    uint32_t low;
    uint64_t bits;
    memcpy(&low, &f, 4);
    memcpy(&bits, &d, 8);
    return type == PTX_F64 ? bits : low;
}

// --- Registers -----------------------------------------------------------------------------------

static uint32_t new_row(PtxParser *p, int bits) {
    uint32_t row = p->row_bytes;
    if (bits > 1) p->row_bytes += bits == 64 ? 256 : 128;
    return row;
}

static void declare_register(PtxParser *p, PtxWord name, int bits, int64_t count) {
    if (count < 0 || count > MAX_REGISTERS || p->names.n + count > MAX_REGISTERS)
        ptx_refuse(p, "more than %d registers", MAX_REGISTERS);
    Reg r = {.name = name.s, .len = name.len, .count = count ? (int)count : -1, .bits = bits};
    r.id = (uint32_t)p->names.n;
    r.row = p->row_bytes;
    for (int64_t i = 0; i < (count ? count : 1); i++) {
        new_row(p, bits);
        vec_push(p->arena, &p->names, NULL);
    }
    vec_push(p->arena, &p->regs, r);
}

// .reg .b32 %r<10>, %x;
static void parse_registers(PtxParser *p) {
    PtxWord type = directive(p);
    PtxType t = ptx_type(type.s, type.len);
    if (t == PTX_NONE) ptx_refuse(p, "no registers of type .%.*s", (int)type.len, type.s);
    do {
        PtxWord name = ptx_identifier(p);
        int64_t count = 0;
        if (ptx_accept(p, '<')) {
            count = ptx_integer(p);
            ptx_expect(p, '>');
            if (count <= 0) ptx_refuse(p, "a range of no registers");
        }
        declare_register(p, name, ptx_info[t].bits, count);
    } while (ptx_accept(p, ','));
    ptx_expect(p, ';');
}

static bool find_register(PtxParser *p, PtxWord name, EmuOperand *into) {
    size_t digits = 0;
    while (digits < name.len && digits < 8 && isdigit((unsigned char)name.s[name.len - 1 - digits]))
        digits++;
    for (int i = 0; i < p->regs.n; i++) {
        const Reg *r = &p->regs.at[i];
        int64_t number = 0;
        if (r->count < 0) {
            if (r->len != name.len || memcmp(r->name, name.s, name.len) != 0) continue;
        } else {
            if (r->len >= name.len || memcmp(r->name, name.s, r->len) != 0 ||
                name.len - r->len > digits)
                continue;
            for (size_t k = r->len; k < name.len; k++) number = number * 10 + (name.s[k] - '0');
            if (number >= r->count) continue;
        }
        uint32_t width = r->bits == 1 ? 0 : r->bits == 64 ? 256 : 128;
        *into = (EmuOperand){.row = r->row + (uint32_t)number * width,
                             .id = r->id + (uint32_t)number,
                             .bits = (uint16_t)(r->bits == 8 ? 16 : r->bits)};
        if (!p->names.at[into->id])
            p->names.at[into->id] = arena_strndup(p->arena, name.s, name.len);
        return true;
    }
    return false;
}

static const char *const special_names[SPECIAL_COUNT] = {
    "%tid.x",   "%tid.y",   "%tid.z",       "%ntid.x",         "%ntid.y",   "%ntid.z",
    "%ctaid.x", "%ctaid.y", "%ctaid.z",     "%nctaid.x",       "%nctaid.y", "%nctaid.z",
    "%laneid",  "%warpid",  "%lanemask_lt", "%cluster_ctarank"};

static bool find_special(PtxParser *p, PtxWord name, EmuOperand *into) {
    for (int i = 0; i < SPECIAL_COUNT; i++) {
        if (!ptx_word_is(name, special_names[i])) continue;
        uint32_t *row = &p->entry->special[i];
        if (!*row) *row = new_row(p, 32) + 1;
        *into = (EmuOperand){.row = *row - 1, .bits = 32};
        return true;
    }
    return false;
}

static int register_bits(PtxType type) {
    int bits = ptx_info[type].bits;
    return bits == 8 ? 16 : bits;
}

static void check_width(PtxParser *p, PtxWord name, EmuOperand o, PtxType type, bool wider) {
    int bits = register_bits(type);
    bool fits = wider && bits > 1 ? o.bits >= bits : o.bits == bits;
    if (!fits)
        ptx_refuse(p, "register %.*s has %d bits, but .%s needs %d", (int)name.len, name.s, o.bits,
                   ptx_info[type].name, ptx_info[type].bits);
}

EmuOperand ptx_register(PtxParser *p, PtxType type, bool wider) {
    PtxWord name = ptx_identifier(p);
    EmuOperand o;
    if (!find_register(p, name, &o))
        ptx_refuse(p, "no register is called '%.*s'", (int)name.len, name.s);
    check_width(p, name, o, type, wider);
    return o;
}

static const Symbol *find_symbol(const PtxParser *p, PtxWord name) {
    for (int i = p->symbols.n - 1; i >= 0; i--)
        if (ptx_word_is(name, p->symbols.at[i].name)) return &p->symbols.at[i];
    return NULL;
}

static uint64_t symbol_address(PtxParser *p, const Symbol *s) {
    if (s->space == SPACE_LOCAL || s->space == SPACE_CONST) return s->offset;
    if (!s->dynamic) return SHARED_BASE + s->offset;
    p->dynamic_used = true;
    return SHARED_BASE + ((p->shared + s->align - 1) / s->align * s->align);
}

EmuOperand ptx_source(PtxParser *p, PtxType type, bool wider) {
    ptx_skip_blanks(p);
    if (p->at == p->end) ptx_refuse(p, "expected an operand, found the end of the text");
    if (isdigit((unsigned char)*p->at) || *p->at == '-' || *p->at == '.')
        return ptx_constant(p, literal(p, type), register_bits(type));
    PtxWord name = ptx_identifier(p);
    EmuOperand o;
    if (find_register(p, name, &o)) {
        check_width(p, name, o, type, wider);
        return o;
    }
    if (*name.s == '%') {
        name = dotted(p, name);
        if (find_special(p, name, &o)) {
            check_width(p, name, o, type, wider);
            return o;
        }
    }
    const Symbol *s = find_symbol(p, name);
    if (!s) ptx_refuse(p, "nothing is called '%.*s'", (int)name.len, name.s);
    return ptx_constant(p, symbol_address(p, s), register_bits(type));
}

EmuOperand ptx_predicate(PtxParser *p, bool may_negate) {
    bool negated = may_negate && ptx_accept(p, '!');
    EmuOperand o = ptx_register(p, PTX_PRED, false);
    o.negated = negated;
    return o;
}

// [%r1], [%r1+16], [smem-4], [param]
void ptx_address(PtxParser *p, Ins *ins, EmuSpace space) {
    ptx_expect(p, '[');
    ptx_skip_blanks(p);
    PtxWord name = ptx_identifier(p);
    EmuOperand o;
    const Symbol *s = find_symbol(p, name);
    const EmuParam *param = NULL;
    for (int i = 0; i < p->params.n; i++)
        if (ptx_word_is(name, p->params.at[i].name)) param = &p->params.at[i];
    ins->offset = 0;
    if (space == SPACE_PARAM) {
        if (!param) ptx_refuse(p, "no parameter is called '%.*s'", (int)name.len, name.s);
        o = ptx_constant(p, param->offset, 64);
    } else if (find_register(p, name, &o)) {
        bool narrow = o.bits == 32 && space != SPACE_GLOBAL;
        if (o.bits != 64 && !narrow)
            ptx_refuse(p, "register %.*s has %d bits: it cannot hold this address", (int)name.len,
                       name.s, o.bits);
    } else if (s && s->space == space) {
        o = ptx_constant(p, symbol_address(p, s), 64);
    } else if (isdigit((unsigned char)*name.s)) {
        p->at = name.s;
        o = ptx_constant(p, (uint64_t)ptx_integer(p), 64);
    } else {
        ptx_refuse(p, "'%.*s' is no address in this memory", (int)name.len, name.s);
    }
    if (ptx_accept(p, '+')) ins->offset = ptx_integer(p); // PTX has no '-' here, but "+-4"
    if (ins->offset < -(1 << 23) || ins->offset >= 1 << 23)
        ptx_refuse(p, "the offset of an address must fit 24 bits");
    ptx_expect(p, ']');
    ins->src[0] = o;
    ins->nsrc = 1;
}

int ptx_vector(PtxParser *p, PtxType type, bool source, EmuOperand *into, int most) {
    int n = 0;
    ptx_expect(p, '{');
    do {
        if (n == most) ptx_refuse(p, "a vector of more than %d operands", most);
        into[n++] = source ? ptx_source(p, type, true) : ptx_register(p, type, true);
    } while (ptx_accept(p, ','));
    ptx_expect(p, '}');
    return n;
}

// --- Labels --------------------------------------------------------------------------------------

int ptx_label(PtxParser *p, PtxWord name) {
    for (int i = 0; i < p->labels.n; i++)
        if (p->labels.at[i].len == name.len && memcmp(p->labels.at[i].name, name.s, name.len) == 0)
            return i;
    PtxLabel l = {name.s, name.len, -1, p->line};
    vec_push(p->arena, &p->labels, l);
    return p->labels.n - 1;
}

static void resolve_labels(PtxParser *p) {
    for (int i = 0; i < p->labels.n; i++)
        if (p->labels.at[i].pc < 0) {
            p->line = p->labels.at[i].line;
            ptx_refuse(p, "no label is called '%.*s'", (int)p->labels.at[i].len,
                       p->labels.at[i].name);
        }
    for (int i = 0; i < p->code.n; i++)
        if (p->code.at[i].run == emu_do_branch)
            p->code.at[i].offset = p->labels.at[p->code.at[i].offset].pc;
}

// --- Declarations --------------------------------------------------------------------------------

static int64_t array_elements(PtxParser *p, bool *open) {
    int64_t count = 1;
    *open = false;
    while (ptx_accept(p, '[')) {
        if (ptx_accept(p, ']')) {
            *open = true;
            continue;
        }
        int64_t n = ptx_integer(p);
        if (n < 0 || n > MAX_BYTES || (n && count > MAX_BYTES / n))
            ptx_refuse(p, "an array of more than %d elements", MAX_BYTES);
        count *= n;
        ptx_expect(p, ']');
    }
    return count;
}

// .align 16 .b8; *align is 0 if none is given.
static PtxType parse_aligned_type(PtxParser *p, int64_t *align) {
    *align = 0;
    PtxWord w = directive(p);
    if (ptx_word_is(w, "align")) {
        *align = ptx_integer(p);
        w = directive(p);
    }
    PtxType type = ptx_type(w.s, w.len);
    if (type == PTX_NONE || type == PTX_PRED)
        ptx_refuse(p, "expected a type, found .%.*s", (int)w.len, w.s);
    return type;
}

// .align 16 .b8 name[64]; after .shared or .local
static void parse_variable(PtxParser *p, EmuSpace space) {
    int64_t align;
    PtxType type = parse_aligned_type(p, &align);
    PtxWord name = ptx_identifier(p);
    bool open;
    int64_t bytes = array_elements(p, &open) * ptx_info[type].bits / 8;
    if (align == 0) align = ptx_info[type].bits / 8;
    if (align < 1 || align > 4096 || (align & (align - 1)))
        ptx_refuse(p, "the alignment must be a power of two");
    Symbol s = {arena_strndup(p->arena, name.s, name.len),
                space,
                0,
                (uint32_t)bytes,
                (uint32_t)align,
                open};
    uint32_t *used = space == SPACE_SHARED ? &p->shared : &p->local;
    if (open && space != SPACE_SHARED) ptx_refuse(p, "an array needs a size");
    if (!open) {
        if (space == SPACE_SHARED && p->dynamic_used)
            ptx_refuse(p, "'%s' moves the dynamic shared memory, whose address was used above",
                       s.name);
        s.offset = (uint32_t)((*used + align - 1) / align * align);
        if (s.offset + bytes > MAX_BYTES)
            ptx_refuse(p, "more than %d bytes of variables", MAX_BYTES);
        *used = s.offset + (uint32_t)bytes;
    }
    vec_push(p->arena, &p->symbols, s);
    ptx_expect(p, ';');
}

// .const .align 8 .b64 name[] = {1, 2};
static void parse_constant(PtxParser *p) {
    int64_t align;
    PtxType type = parse_aligned_type(p, &align);
    int size = ptx_info[type].bits / 8;
    if (align < size) align = size;
    if (align > 4096 || (align & (align - 1)))
        ptx_refuse(p, "the alignment must be a power of two");
    PtxWord name = ptx_identifier(p);
    bool open;
    array_elements(p, &open);
    while (p->module->constants.n % align) vec_push(p->arena, &p->module->constants, 0);
    Symbol s = {arena_strndup(p->arena, name.s, name.len),
                SPACE_CONST,
                (uint32_t)p->module->constants.n,
                0,
                (uint32_t)align,
                false};
    vec_push(p->arena, &p->symbols, s);
    ptx_expect(p, '=');
    ptx_expect(p, '{');
    do {
        uint64_t value = literal(p, type);
        for (int i = 0; i < size; i++)
            vec_push(p->arena, &p->module->constants, (uint8_t)(value >> 8 * i));
        if (p->module->constants.n > 65536) ptx_refuse(p, "more than 65536 bytes of constants");
    } while (ptx_accept(p, ','));
    ptx_expect(p, '}');
    ptx_expect(p, ';');
    p->module_symbols = p->symbols.n;
}

// .param .align 64 .b8 map[128], and so on
static void parse_param(PtxParser *p) {
    int64_t align = 0;
    PtxType type = PTX_NONE;
    if (!ptx_word_is(directive(p), "param")) ptx_refuse(p, "expected .param");
    while (ptx_next_is(p, '.')) {
        PtxWord w = directive(p);
        if (ptx_word_is(w, "align"))
            align = ptx_integer(p);
        else if (ptx_type(w.s, w.len) != PTX_NONE)
            type = ptx_type(w.s, w.len);
        else if (!ptx_word_is(w, "ptr") && !ptx_word_is(w, "global"))
            ptx_refuse(p, "unknown property .%.*s of a parameter", (int)w.len, w.s);
    }
    if (type == PTX_NONE || type == PTX_PRED) ptx_refuse(p, "a parameter needs a type");
    PtxWord name = ptx_identifier(p);
    bool open;
    uint32_t size = (uint32_t)ptx_info[type].bits / 8;
    if (align < size) align = size;
    int64_t bytes = array_elements(p, &open) * size;
    if (align > 4096 || bytes > 4096 || open) ptx_refuse(p, "a parameter of more than 4096 bytes");
    uint32_t end = p->params.n ? vec_last(&p->params).offset + vec_last(&p->params).bytes : 0;
    uint32_t offset = (uint32_t)((end + align - 1) / align * align);
    EmuParam param = {arena_strndup(p->arena, name.s, name.len), offset, (uint32_t)bytes};
    if (offset + bytes > 32764) ptx_refuse(p, "more than 32764 bytes of parameters");
    vec_push(p->arena, &p->params, param);
}

static int64_t product_of_three(PtxParser *p) {
    int64_t n = ptx_integer(p);
    for (int i = 1; i < 3 && ptx_accept(p, ','); i++) {
        int64_t m = ptx_integer(p);
        n = n < 0 || m < 0 || n > 1 << 20 || m > 1 << 20 ? -1 : n * m;
    }
    if (n < 1 || n > 1 << 20) ptx_refuse(p, "a block or cluster of this size is not possible");
    return n;
}

static void parse_entry_directives(PtxParser *p) {
    EmuEntry *info = &p->entry->info;
    while (ptx_next_is(p, '.')) {
        PtxWord w = directive(p);
        if (ptx_word_is(w, "maxntid") || ptx_word_is(w, "reqntid")) {
            info->max_threads = (int)product_of_three(p);
            info->exact_threads = ptx_word_is(w, "reqntid");
        } else if (ptx_word_is(w, "minnctapersm")) {
            info->min_blocks = (int)ptx_integer(p);
        } else if (ptx_word_is(w, "maxnreg")) {
            ptx_integer(p);
        } else if (ptx_word_is(w, "reqnctapercluster")) {
            info->cluster = (int)ptx_integer(p);
            if (info->cluster < 1 || info->cluster > MOST_CLUSTER)
                ptx_refuse(p, "a cluster has 1 to %d blocks", MOST_CLUSTER);
            for (int i = 0; i < 2 && ptx_accept(p, ','); i++)
                if (ptx_integer(p) != 1) ptx_refuse(p, "the emulator has clusters along x only");
        } else if (!ptx_word_is(w, "explicitcluster")) {
            ptx_refuse(p, "unknown directive .%.*s", (int)w.len, w.s);
        }
    }
}

// --- Statements ----------------------------------------------------------------------------------

static void skip_to(PtxParser *p, char c) {
    while (p->at < p->end && *p->at != c) {
        if (*p->at == '\n') p->line++;
        p->at++;
    }
    if (p->at < p->end && c != '\n') p->at++;
}

static void parse_local_directive(PtxParser *p) {
    PtxWord w = directive(p);
    if (ptx_word_is(w, "reg"))
        parse_registers(p);
    else if (ptx_word_is(w, "shared"))
        parse_variable(p, SPACE_SHARED);
    else if (ptx_word_is(w, "local"))
        parse_variable(p, SPACE_LOCAL);
    else if (ptx_word_is(w, "pragma"))
        skip_to(p, ';');
    else if (ptx_word_is(w, "loc"))
        skip_to(p, '\n');
    else
        ptx_refuse(p, "unknown directive .%.*s", (int)w.len, w.s);
}

static void parse_statement(PtxParser *p) {
    Ins ins = {0};
    if (ptx_accept(p, '@')) ins.guard = ptx_predicate(p, true);
    PtxWord w = ptx_identifier(p);
    int line = p->line;
    if (!ins.guard.bits && ptx_next_is(p, ':') && (p->end - p->at < 2 || p->at[1] != ':')) {
        p->at++;
        int number = ptx_label(p, w);
        PtxLabel *l = &p->labels.at[number];
        if (l->pc >= 0) ptx_refuse(p, "the label '%.*s' is there twice", (int)w.len, w.s);
        l->pc = p->code.n;
        return;
    }
    ins.line = p->line = line;
    p->at = w.s + w.len;
    ptx_decode(p, dotted(p, w), &ins);
    ptx_expect(p, ';');
    if (p->code.n == MAX_CODE) ptx_refuse(p, "more than %d instructions", MAX_CODE);
    vec_push(p->arena, &p->code, ins);
}

static void finish_entry(PtxParser *p) {
    Entry *e = p->entry;
    Ins last = {.run = emu_do_return, .line = p->line};
    vec_push(p->arena, &p->code, last);
    resolve_labels(p);
    e->code = p->code.at;
    e->ncode = p->code.n;
    e->params = p->params.at;
    e->info.nparams = p->params.n;
    e->param_bytes = p->params.n ? vec_last(&p->params).offset + vec_last(&p->params).bytes : 0;
    e->constants = constant_rows(p);
    e->row_bytes = p->row_bytes + 128;
    e->nregs = p->names.n;
    e->reg_names = p->names.at;
    e->shared_static = p->shared;
    e->dynamic_align = 1;
    for (int i = 0; i < p->symbols.n; i++)
        if (p->symbols.at[i].dynamic && p->symbols.at[i].align > e->dynamic_align)
            e->dynamic_align = p->symbols.at[i].align;
    e->info.static_bytes = (int)p->shared;
    e->info.local_bytes = (int)p->local;
    e->info.registers = e->nregs - 1;
    e->info.instructions = e->ncode - 1;
    e->info.live = emu_live_registers(p->arena, e);
}

static void parse_entry(PtxParser *p) {
    Entry blank = {0};
    vec_push(p->arena, &p->module->entries, blank);
    p->entry = &vec_last(&p->module->entries);
    PtxWord name = ptx_identifier(p);
    if (isdigit((unsigned char)*name.s))
        ptx_refuse(p, "'%.*s' begins with a digit: that is no name", (int)name.len, name.s);
    p->entry->info.name = arena_strndup(p->arena, name.s, name.len);
    uint32_t shared = p->shared;
    p->regs.n = p->labels.n = 0;
    memset(&p->code, 0, sizeof p->code);
    memset(&p->params, 0, sizeof p->params);
    memset(&p->names, 0, sizeof p->names);
    memset(p->constant_head, 0, sizeof p->constant_head);
    p->constants.n = 0;
    p->row_bytes = p->constant_bytes = p->local = 0;
    p->dynamic_used = false;
    vec_push(p->arena, &p->names, "a constant");
    if (ptx_accept(p, '(') && !ptx_accept(p, ')')) {
        do parse_param(p);
        while (ptx_accept(p, ','));
        ptx_expect(p, ')');
    }
    parse_entry_directives(p);
    ptx_expect(p, '{');
    while (!ptx_accept(p, '}')) {
        if (p->at == p->end) ptx_refuse(p, "the entry '%s' does not end", p->entry->info.name);
        if (ptx_next_is(p, '.'))
            parse_local_directive(p);
        else if (!ptx_accept(p, ';'))
            parse_statement(p);
    }
    finish_entry(p);
    p->symbols.n = p->module_symbols;
    p->shared = shared;
}

static void parse_module(PtxParser *p) {
    for (ptx_skip_blanks(p); p->at < p->end; ptx_skip_blanks(p)) {
        PtxWord w = directive(p);
        if (ptx_word_is(w, "version")) {
            skip_to(p, '\n');
        } else if (ptx_word_is(w, "target") || ptx_word_is(w, "file")) {
            skip_to(p, '\n');
        } else if (ptx_word_is(w, "address_size")) {
            if (ptx_integer(p) != 64) ptx_refuse(p, "addresses have 64 bits");
        } else if (ptx_word_is(w, "entry")) {
            parse_entry(p);
        } else if (ptx_word_is(w, "const")) {
            parse_constant(p);
        } else if (ptx_word_is(w, "shared")) {
            parse_variable(p, SPACE_SHARED);
            p->module_symbols = p->symbols.n;
        } else if (!ptx_word_is(w, "visible") && !ptx_word_is(w, "extern") &&
                   !ptx_word_is(w, "weak")) {
            ptx_refuse(p, "unknown directive .%.*s", (int)w.len, w.s);
        }
    }
}

EmuModule *emu_parse(Arena *arena, const char *text, size_t len, EmuError *e) {
    PtxParser *p = arena_new(arena, PtxParser);
    *e = (EmuError){0};
    p->arena = arena;
    p->module = arena_new(arena, EmuModule);
    p->at = p->module->text = arena_strndup(arena, text, len);
    p->end = p->at + len;
    p->module->len = len;
    p->line = 1;
    p->error = e;
    if (setjmp(p->refused)) return NULL;
    parse_module(p);
    return p->module;
}

int emu_entry_count(const EmuModule *m) { return m->entries.n; }
const EmuEntry *emu_entry(const EmuModule *m, int i) {
    return i >= 0 && i < m->entries.n ? &m->entries.at[i].info : NULL;
}
int emu_find(const EmuModule *m, const char *name) {
    for (int i = 0; i < m->entries.n; i++)
        if (strcmp(m->entries.at[i].info.name, name) == 0) return i;
    return -1;
}
int emu_param_bytes(const EmuModule *m, int entry, int i) {
    return (int)m->entries.at[entry].params[i].bytes;
}
