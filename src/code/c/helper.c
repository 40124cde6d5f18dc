// Decides which static functions the output needs, and prints them from helper.def.
#include "code/c/c_impl.h"

#include <string.h>

typedef struct HelperInfo {
    const char *name;
    bool typed;
    const char *text;
} HelperInfo;

static const HelperInfo info[HELPER_COUNT] = {
#define HELPER(id, name, types, text) {name, types, text},
#include "code/c/helper.def"
#undef HELPER
};

static void note(CUnit *u, Helper h, Type type) { u->used[h] |= 1u << type; }

// Marks what the text of a helper calls or includes.
static void note_needs(CUnit *u, Helper h) {
    switch (h) {
    case HELPER_TO_F16:
    case HELPER_FROM_F16:
    case HELPER_TO_BF16:
        note(u, HELPER_BITS, TYPE_NONE);
        note(u, HELPER_FLOAT, TYPE_NONE);
        break;
    case HELPER_FROM_BF16: note(u, HELPER_FLOAT, TYPE_NONE); break;
    case HELPER_LGAMMA: u->posix = u->math = true; break;
    case HELPER_FMINP:
    case HELPER_FMAXP:
    case HELPER_FMIN:
    case HELPER_FMAX:
    case HELPER_FMOD:
    case HELPER_COSPI:
    case HELPER_SINPI:
    case HELPER_SIGMOID:
    case HELPER_NORM3D:
    case HELPER_NORM4D:
    case HELPER_RNORM4D: u->math = true; break;
    default: break;
    }
}

const char *helper(CUnit *u, Helper h, Type type) {
    note(u, h, info[h].typed ? type : TYPE_NONE);
    note_needs(u, h);
    if (!info[h].typed) return arena_printf(u->arena, "lw_%s", info[h].name);
    return arena_printf(u->arena, "lw_%s_%s", info[h].name, type_info[type].name);
}

// --- Text --------------------------------------------------------------------------------------

// The limits of an integer type as C spells them, and the floats at and beyond which they hold.
static void add_limit(Text *out, Type t, bool max, bool as_float) {
    bool is_signed = type_info[t].class == CLASS_INT;
    int bits = type_info[t].bits;
    if (as_float && max)
        text_printf(out, "0x1p%d", is_signed ? bits - 1 : bits);
    else if (as_float)
        text_printf(out, is_signed ? "-0x1p%d" : "0", bits - 1);
    else if (!max && !is_signed)
        text_char(out, '0');
    else
        text_printf(out, "%s%d_%s", is_signed ? "INT" : "UINT", bits, max ? "MAX" : "MIN");
}

// Expands one $word of a template; returns the rest.
static const char *expand(Text *out, const char *at, Type t) {
    static const struct {
        const char *word;
        int what;
    } words[] = {{"$max_f", 0}, {"$min_f", 1}, {"$max", 2}, {"$min", 3}, {"$n", 4},
                 {"$T", 5},     {"$U", 6},     {"$f", 7},   {"$b", 8}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t len = strlen(words[i].word);
        if (strncmp(at, words[i].word, len) != 0) continue;
        switch (words[i].what) {
        case 0:
        case 1:
        case 2:
        case 3: add_limit(out, t, !(words[i].what & 1), words[i].what < 2); break;
        case 4: text_add(out, type_info[t].name); break;
        case 5: text_add(out, c_value_type(t)); break;
        case 6: text_add(out, type_info[t].bits > 32 ? "uint64_t" : "uint32_t"); break;
        case 7: text_add(out, t == TYPE_F64 ? "" : "f"); break;
        default: text_int(out, type_info[t].bits);
        }
        return at + len;
    }
    text_char(out, *at);
    return at + 1;
}

void helpers_print(const CUnit *u, Text *out) {
    for (int h = 0; h < HELPER_COUNT; h++)
        for (int t = 0; t < TYPE_COUNT; t++) {
            if (!(u->used[h] >> t & 1)) continue;
            for (const char *at = info[h].text; *at;)
                if (*at == '$')
                    at = expand(out, at, (Type)t);
                else
                    text_char(out, *at++);
            text_char(out, '\n');
        }
}
