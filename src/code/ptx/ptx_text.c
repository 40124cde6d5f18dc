// Prints operands and instructions.
#include "code/ptx/ptx_impl.h"

#include "base/bug.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

RegClass class_of(Type t) {
    Type c = type_compute(t);
    return c == TYPE_BOOL ? REG_PRED : type_info[c].bits == 64 ? REG_64 : REG_32;
}

Opnd reg_new(KernelWriter *w, RegClass class) {
    return (Opnd){.class = (uint8_t) class, .reg = w->nregs[class]++};
}

Opnd lit(RegClass class, uint64_t bits) {
    return (Opnd){.class = (uint8_t) class, .literal = true, .bits = bits};
}

Opnd lit_value(Type t, Value v) {
    Type c = type_compute(t);
    if (c == TYPE_F32) {
        float f = (float)v.f;
        uint32_t bits;
        memcpy(&bits, &f, 4);
        return lit(REG_32, bits);
    }
    if (type_info[c].bits == 64) {
        uint64_t bits;
        memcpy(&bits, &v, 8);
        return lit(REG_64, bits);
    }
    return lit(c == TYPE_BOOL ? REG_PRED : REG_32, (uint32_t)v.i);
}

// --- Pieces of a text ----------------------------------------------------------------------------

struct PtxPiece {
    PtxPiece *next;
    size_t size, room;
    char s[];
};

char *out_room(KernelWriter *w) {
    enum { SMALL = 1 << 10, LARGE = 1 << 14 };
    PtxText *out = w->out;
    if (!out->last || out->last->room - out->last->size < MOST_LINE) {
        size_t room = out->last ? LARGE : SMALL;
        PtxPiece *p = arena_raw(w->arena, sizeof *p + room);
        *p = (PtxPiece){.room = room};
        ptx_text_join(out, &(PtxText){p, p});
    }
    return out->last->s + out->last->size;
}

void out_end(KernelWriter *w, char *to) { w->out->last->size = (size_t)(to - w->out->last->s); }

void ptx_text_join(PtxText *to, PtxText *from) {
    if (!from->first) return;
    if (to->last)
        to->last->next = from->first;
    else
        to->first = from->first;
    to->last = from->last;
    *from = (PtxText){0};
}

size_t ptx_text_size(const PtxText *p) {
    size_t sum = 0;
    for (const PtxPiece *i = p->first; i; i = i->next) sum += i->size;
    return sum;
}

void ptx_text_print(Text *out, const PtxText *p) {
    for (const PtxPiece *i = p->first; i; i = i->next) text_add_n(out, i->s, i->size);
}

// --- Pieces of a line ----------------------------------------------------------------------------

static const char pair[] = "0001020304050607080910111213141516171819"
                           "2021222324252627282930313233343536373839"
                           "4041424344454647484950515253545556575859"
                           "6061626364656667686970717273747576777879"
                           "8081828384858687888990919293949596979899";

static char *put_pair(char *to, unsigned i) { // with leading zeros
    memcpy(to, &pair[2 * i], 2);
    return to + 2;
}

static char *put_short(char *to, unsigned i) {
    if (i >= 10) return put_pair(to, i);
    *to++ = (char)('0' + i);
    return to;
}

static char *put_natural(char *to, uint64_t i) {
    if (i < 100) return put_short(to, (unsigned)i);
    if (i >= 10000) return put_pair(put_natural(to, i / 100), (unsigned)(i % 100));
    return put_pair(put_short(to, (unsigned)i / 100), (unsigned)i % 100); // most registers
}

char *put_int(char *to, int64_t i) {
    if (i >= 0) return put_natural(to, (uint64_t)i);
    *to++ = '-';
    return put_natural(to, 0 - (uint64_t)i);
}

static char *put_hex(char *to, uint64_t bits, int digits) {
    for (int i = digits - 1; i >= 0; i--) *to++ = "0123456789abcdef"[bits >> 4 * i & 15];
    return to;
}

char *put_mask(char *to, uint32_t bits) {
    return put_hex(put_text(to, "0x"), bits, bits ? (35 - __builtin_clz(bits)) / 4 : 1);
}

char *put_slot(char *to, Opnd address, int64_t disp) {
    to = put_text(put_register(put_text(to, "["), address), "+");
    return put_text(put_int(to, disp), "]");
}

char *put_register(char *to, Opnd o) {
    *to++ = '%';
    *to++ = "phrd"[o.class];
    return put_int(to, o.reg);
}

typedef enum LiteralForm { FORM_INT, FORM_F32, FORM_F64 } LiteralForm;

// Float instructions need literals in a hexadecimal spelling.
static LiteralForm form_of(const char *op, size_t n) {
    if (n <= 4) return FORM_INT;
    return !memcmp(op + n - 4, ".f32", 4)   ? FORM_F32
           : !memcmp(op + n - 4, ".f64", 4) ? FORM_F64
                                            : FORM_INT;
}

static char *put_literal(char *to, Opnd o, LiteralForm form) {
    if (o.class < REG_32) return put_int(put_text(to, "0x"), (int64_t)o.bits); // 0 or 1
    if (form == FORM_F32) return put_hex(put_text(to, "0f"), o.bits, 8);
    if (form == FORM_F64) return put_hex(put_text(to, "0d"), o.bits, 16);
    return put_int(to, o.class == REG_32 ? (int32_t)o.bits : (int64_t)o.bits);
}

void ins(KernelWriter *w, const char *op, int n, const Opnd *args) {
    size_t length = strlen(op);
    char *to = out_room(w);
    *to++ = '\t';
    memcpy(to, op, length);
    to += length;
    for (int i = 0; i < n; i++) {
        if (i) *to++ = ',';
        *to++ = ' ';
        to = args[i].literal ? put_literal(to, args[i], form_of(op, length))
                             : put_register(to, args[i]);
    }
    *to++ = ';';
    *to++ = '\n';
    out_end(w, to);
    if (n) value_overwritten(w, args[0]);
}

Opnd ins_new(KernelWriter *w, RegClass class, const char *op, int n, const Opnd *args) {
    Opnd all[8] = {reg_new(w, class)};
    for (int i = 0; i < n; i++) all[i + 1] = args[i];
    ins(w, op, n + 1, all);
    return all[0];
}

void line(KernelWriter *w, const char *format, ...) {
    char *to = out_room(w);
    *to++ = '\t';
    va_list args;
    va_start(args, format);
    int n = vsnprintf(to, MOST_LINE - 2, format, args);
    va_end(args);
    if (n < 0 || n >= MOST_LINE - 2) bug("a line of PTX is too long");
    to[n] = '\n';
    out_end(w, to + n + 1);
}

int label_new(KernelWriter *w) { return w->nlabels++; }
void label_put(KernelWriter *w, int label) {
    out_end(w, put_text(put_int(put_text(out_room(w), "$L"), label), ":\n"));
    values_forget(w);
}

void branch(KernelWriter *w, Opnd pred, bool when, int label) {
    char *to = put_text(out_room(w), when ? "\t@" : "\t@!");
    to = put_text(put_register(to, pred), " bra $L");
    out_end(w, put_text(put_int(to, label), ";\n"));
}

Opnd moved(KernelWriter *w, Opnd o) {
    if (o.class == REG_PRED) {
        Opnd p = predicate(w, o);
        Opnd q = reg_new(w, REG_PRED);
        INS(w, "and.pred", q, p, p);
        return q;
    }
    return NEW(w, o.class, o.class == REG_64 ? "mov.b64" : "mov.b32", o);
}
