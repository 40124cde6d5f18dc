// The printer of machine descriptions: canonical text, which parses back to the same description.
#include "passes/hardware_impl.h"

#include <string.h>

static void print_number(Text *out, double x, bool bytes) {
    int64_t i = (int64_t)x;
    if ((double)i != x)
        text_printf(out, "%.15g", x);
    else if (bytes && i >= 1 << 20 && i % (1 << 20) == 0)
        text_printf(out, "%lldMiB", (long long)(i >> 20));
    else if (bytes && i >= 1 << 10 && i % (1 << 10) == 0)
        text_printf(out, "%lldKiB", (long long)(i >> 10));
    else
        text_int(out, i);
}

static void print_strides(Text *out, const Strides *s) {
    for (int i = 0; i < s->n; i++) {
        if (i) text_char(out, ',');
        if (s->at[i] == STRIDE_ANY)
            text_add(out, "any");
        else
            text_int(out, s->at[i]);
    }
}

static bool is_unset(const Attr *a, const char *at) {
    if (a->kind == ATTR_STRIDES) return ((const Strides *)at)->n == 0;
    if (a->kind == ATTR_EXTENT) return false;
    if (a->kind == ATTR_REAL) return *(const double *)at == (double)a->unset;
    return *(const int64_t *)at == a->unset;
}

static void print_attrs(Text *out, const Hardware *h, LineKind line, const void *of) {
    for (int k = 0; k < ATTRS; k++) {
        const Attr *a = &hardware_attrs[k];
        const char *at = (const char *)of + a->at;
        if (a->line != line || is_unset(a, at)) continue;
        text_printf(out, " %s=", a->key);
        int64_t i = a->kind == ATTR_STRIDES || a->kind == ATTR_REAL ? 0 : *(const int64_t *)at;
        switch (a->kind) {
        case ATTR_MEMORY: text_add(out, h->memory.at[i].name); break;
        case ATTR_COMPUTE: text_add(out, h->compute.at[i].name); break;
        case ATTR_TYPE: text_add(out, type_info[i].name); break;
        case ATTR_STRIDES: print_strides(out, (const Strides *)at); break;
        case ATTR_REAL: print_number(out, *(const double *)at, false); break;
        case ATTR_FLAG: text_add(out, i ? "yes" : "no"); break;
        case ATTR_EXTENT:
            if (i < 0) {
                text_add(out, "any");
                break;
            } // fall through
        case ATTR_BYTES:
        case ATTR_COUNT: print_number(out, (double)i, a->kind == ATTR_BYTES); break;
        }
    }
    text_char(out, '\n');
}

static void print_pass(Text *out, const PassCall *c) {
    text_printf(out, "pass %s", c->pass->name);
    if (strcmp(c->label, c->pass->name) != 0) text_printf(out, " as=%s", c->label);
    for (int k = 0; k < pass_params(c->pass); k++)
        if (c->value[k].given) text_printf(out, " %s=%s", c->pass->param[k].name, c->value[k].text);
    text_char(out, '\n');
}

// A unit is printed after those that its line names.
static void print_memory(Text *out, const Hardware *h, int i, bool *done) {
    if (i < 0 || done[i]) return;
    done[i] = true;
    print_memory(out, h, (int)h->memory.at[i].in, done);
    text_printf(out, "%s %s", hardware_line[LINE_MEMORY], h->memory.at[i].name);
    print_attrs(out, h, LINE_MEMORY, &h->memory.at[i]);
}

static void print_compute(Text *out, const Hardware *h, int i, bool *done) {
    if (i < 0 || done[i]) return;
    done[i] = true;
    print_compute(out, h, (int)h->compute.at[i].of, done);
    text_printf(out, "%s %s", hardware_line[LINE_COMPUTE], h->compute.at[i].name);
    print_attrs(out, h, LINE_COMPUTE, &h->compute.at[i]);
}

void hardware_print(Text *out, const Hardware *h) {
    bool *memory = arena_new_n(out->arena, bool, h->memory.n + 1);
    bool *compute = arena_new_n(out->arena, bool, h->compute.n + 1);
    text_printf(out, "machine %s", h->name);
    if (*h->summary) text_printf(out, " \"%s\"", h->summary);
    text_char(out, '\n');
    for (int i = 0; i < h->memory.n; i++) print_memory(out, h, i, memory);
    for (int i = 0; i < h->compute.n; i++) print_compute(out, h, i, compute);
    for (int i = 0; i < h->transfer.n; i++) {
        text_printf(out, "%s %s", hardware_line[LINE_TRANSFER], h->transfer.at[i].name);
        print_attrs(out, h, LINE_TRANSFER, &h->transfer.at[i]);
    }
    for (int i = 0; i < h->stencil.n; i++) {
        const Stencil *s = &h->stencil.at[i];
        text_printf(out, "stencil %s", s->name);
        print_attrs(out, h, LINE_STENCIL, s);
        for (int k = 0; k < s->nindex; k++) {
            text_printf(out, "  index %s", s->index[k].name);
            print_attrs(out, h, LINE_INDEX, &s->index[k]);
        }
    }
    for (int i = 0; i < h->pass.n; i++) print_pass(out, &h->pass.at[i]);
}
