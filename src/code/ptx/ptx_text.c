// Prints operands and instructions.
#include "code/ptx/ptx_impl.h"

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

void opnd_print(Text *out, Opnd o) {
    static const char *const prefix[] = {"%p", "%h", "%r", "%d"};
    if (o.literal) {
        text_printf(out, o.class == REG_64 ? "0x%llx" : "0x%llx", (unsigned long long)o.bits);
        return;
    }
    text_add(out, prefix[o.class]);
    text_int(out, o.reg);
}

// Float instructions need literals in a hexadecimal spelling.
static void arg_print(Text *out, Opnd o, const char *op) {
    if (o.literal && o.class >= REG_32) {
        size_t n = strlen(op);
        bool f32 = n > 4 && !strcmp(op + n - 4, ".f32"), f64 = n > 4 && !strcmp(op + n - 4, ".f64");
        if (f32 || f64) {
            text_printf(out, f64 ? "0d%016llx" : "0f%08llx", (unsigned long long)o.bits);
            return;
        }
        if (o.class == REG_32)
            text_int(out, (int32_t)o.bits);
        else
            text_int(out, (int64_t)o.bits);
        return;
    }
    opnd_print(out, o);
}

void ins(KernelWriter *w, const char *op, int n, const Opnd *args) {
    Text *out = w->out;
    text_char(out, '\t');
    text_add(out, op);
    for (int i = 0; i < n; i++) {
        text_add(out, i ? ", " : " ");
        arg_print(out, args[i], op);
    }
    text_add(out, ";\n");
    if (n) value_overwritten(w, args[0]);
}

Opnd ins_new(KernelWriter *w, RegClass class, const char *op, int n, const Opnd *args) {
    Opnd all[8] = {reg_new(w, class)};
    for (int i = 0; i < n; i++) all[i + 1] = args[i];
    ins(w, op, n + 1, all);
    return all[0];
}

void line(KernelWriter *w, const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    text_char(w->out, '\t');
    text_add(w->out, text);
    text_char(w->out, '\n');
}

int label_new(KernelWriter *w) { return w->nlabels++; }
void label_put(KernelWriter *w, int label) {
    text_printf(w->out, "$L%d:\n", label);
    values_forget(w);
}

void branch(KernelWriter *w, Opnd pred, bool when, int label) {
    text_printf(w->out, "\t@%s%%p%d bra $L%d;\n", when ? "" : "!", pred.reg, label);
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
