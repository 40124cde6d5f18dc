/* Instructions as text: Intel syntax as Zydis formats it (sizes always shown, hexadecimal, lower
 * case), which GNU as reads back under `.intel_syntax noprefix`. The form that the encoder would
 * take tells the size of memory operands. */

#include "asm/x86_form.h"

typedef struct Out {
    char *at, *end; // end: where the terminator must fit
    size_t length;  // of the whole text, written or not
} Out;

static void out_char(Out *o, char c) {
    if (o->at < o->end) *o->at++ = c;
    o->length++;
}

static void out(Out *o, const char *text) {
    while (*text) out_char(o, *text++);
}

static void out_decimal(Out *o, unsigned n) {
    if (n >= 10) out_decimal(o, n / 10);
    out_char(o, (char)('0' + n % 10));
}

static void out_hex(Out *o, uint64_t n) {
    out(o, "0x");
    int shift = 60;
    while (shift && n >> shift == 0) shift -= 4;
    for (; shift >= 0; shift -= 4) out_char(o, "0123456789abcdef"[n >> shift & 15]);
}

static void out_signed(Out *o, int64_t n) {
    if (n < 0) out_char(o, '-');
    out_hex(o, n < 0 ? -(uint64_t)n : (uint64_t)n);
}

// ---- Operands ---------------------------------------------------------------------------------

static void out_general(Out *o, unsigned kind, unsigned n) {
    static const char low[8][4] = {"ax", "cx", "dx", "bx", "sp", "bp", "si", "di"};
    if (n >= 8) {
        out_char(o, 'r');
        out_decimal(o, n);
        out(o, kind == X86_G8 ? "b" : kind == X86_G16 ? "w" : kind == X86_G32 ? "d" : "");
        return;
    }
    if (kind == X86_G8) {
        out_char(o, low[n][0]);
        if (n >= 4) out_char(o, low[n][1]);
        out_char(o, 'l');
        return;
    }
    out(o, kind == X86_G32 ? "e" : kind == X86_G64 ? "r" : "");
    out(o, low[n]);
}

static void out_numbered(Out *o, const char *stem, unsigned n) {
    out(o, stem);
    out_decimal(o, n);
}

static void out_register(Out *o, unsigned kind, unsigned n) {
    switch (kind) {
    case X86_X: out_numbered(o, "xmm", n); break;
    case X86_Y: out_numbered(o, "ymm", n); break;
    case X86_Z: out_numbered(o, "zmm", n); break;
    case X86_K: out_numbered(o, "k", n); break;
    case X86_T: out_numbered(o, "tmm", n); break;
    default: out_general(o, kind, n);
    }
}

static void out_size(Out *o, unsigned bytes) {
    static const char *const name[] = {
        [1] = "byte ptr ",     [2] = "word ptr ",     [4] = "dword ptr ",    [8] = "qword ptr ",
        [16] = "xmmword ptr ", [32] = "ymmword ptr ", [64] = "zmmword ptr ",
    };
    if (bytes) out(o, name[bytes]);
}

static void out_address(Out *o, const X86Arg *m) {
    bool any = m->reg != X86_NOREG || m->index != X86_NOREG;
    if (m->reg == X86_RIP || m->reg == X86_AT)
        out(o, "rip");
    else if (m->reg != X86_NOREG)
        out_general(o, X86_G64, m->reg);
    if (m->index != X86_NOREG) {
        if (m->reg != X86_NOREG) out_char(o, '+');
        out_register(o, m->kind == X86_M ? X86_G64 : m->kind >> 5, m->index);
        out_char(o, '*');
        out_decimal(o, 1u << m->scale);
    }
    if (m->reg == X86_AT) {
        out_numbered(o, "+L", m->label->id);
    } else if (!any) {
        out_hex(o, (uint64_t)m->value);
    } else if (m->value) {
        if (m->value > 0) out_char(o, '+');
        out_signed(o, m->value);
    }
}

static void out_memory(Out *o, const X86Form *f, const X86Arg *m) {
    out_size(o, m->bcast ? x86_element(f) : f->size);
    out_char(o, '[');
    out_address(o, m);
    out_char(o, ']');
    if (!m->bcast) return;
    out_numbered(o, " {1to", f->size / x86_element(f));
    out_char(o, '}');
}

// Bytes of small types wrap to the value that the processor sees.
static void out_immediate(Out *o, const X86Form *f, int64_t value) {
    switch ((X86Imm)f->imm) {
    case X86_IMM_U8:
    case X86_IMM_ONE: out_hex(o, (uint64_t)value); break;
    case X86_IMM_B8: out_signed(o, (int8_t)value); break;
    case X86_IMM_D32: out_signed(o, (int32_t)value); break;
    default: out_signed(o, value);
    }
}

static void out_operand(Out *o, const X86Form *f, const X86Arg *x) {
    switch ((X86Kind)x->kind) {
    case X86_M:
    case X86_MX:
    case X86_MY:
    case X86_MZ: out_memory(o, f, x); break;
    case X86_I: out_immediate(o, f, x->value); break;
    case X86_L: out_numbered(o, "L", x->label->id); break;
    default: out_register(o, x->kind, x->reg);
    }
    if (x->mask) out_numbered(o, " {k", x->mask), out_char(o, '}');
    if (x->zero) out(o, " {z}");
}

// ---- Instructions -----------------------------------------------------------------------------

const char *x86_name(X86Op op) {
    static const char *const name[] = {
#define OP(NAME, ...) #NAME,
#include "asm/x86.def"
    };
    return name[op];
}

static void out_mnemonic(Out *o, const X86Form *f, X86Op op) {
    if (f->flags & X86_F_VEX_TEXT) out(o, "{vex} ");
    for (const char *s = x86_name(op); *s; s++) out_char(o, *s == '_' ? ' ' : *s);
}

// Rounding comes after the last operand that is not an immediate.
static void out_operands(Out *o, const X86Form *f, const X86Arg *args) {
    static const char *const round[] = {"",          " {rn-sae}", " {rd-sae}",
                                        " {ru-sae}", " {rz-sae}", " {sae}"};
    unsigned n = 0;
    while (n < 4 && args[n].kind != X86_NONE) n++;
    for (unsigned i = 0; i < n; i++) {
        out(o, i ? ", " : " ");
        out_operand(o, f, &args[i]);
        if (i + 1 == n ? args[i].kind != X86_I : i + 2 == n && args[n - 1].kind == X86_I)
            out(o, round[args[0].round]);
    }
}

size_t x86_print(char *text, size_t size, uint32_t features, X86Op op, const X86Arg args[4]) {
    Asm anywhere = {.features = features};
    Out o = {.at = text, .end = size ? text + size - 1 : text};
    const X86Form *f = x86_find(&anywhere, op, args);
    if (f) {
        out_mnemonic(&o, f, op);
        out_operands(&o, f, args);
    }
    if (size) *o.at = 0;
    return o.length;
}
