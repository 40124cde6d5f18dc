// The tables of names: types, with the paper's and the sized spellings, and builtin functions. Both
// are sorted for binary search; test_tc checks the order and that no operation of expr.def is
// missing.
#include "lang/tc/tc.h"

#include <string.h>

typedef struct TypeName {
    const char *name;
    Type type;
} TypeName;

static const TypeName type_names[] = {
    {"bf16", TYPE_BF16},  {"bfloat16", TYPE_BF16}, {"bool", TYPE_BOOL},   {"byte", TYPE_U8},
    {"double", TYPE_F64}, {"f16", TYPE_F16},       {"f32", TYPE_F32},     {"f64", TYPE_F64},
    {"float", TYPE_F32},  {"float16", TYPE_F16},   {"float32", TYPE_F32}, {"float64", TYPE_F64},
    {"half", TYPE_F16},   {"i16", TYPE_I16},       {"i32", TYPE_I32},     {"i64", TYPE_I64},
    {"i8", TYPE_I8},      {"int", TYPE_I32},       {"int16", TYPE_I16},   {"int32", TYPE_I32},
    {"int64", TYPE_I64},  {"int8", TYPE_I8},       {"u16", TYPE_U16},     {"u32", TYPE_U32},
    {"u64", TYPE_U64},    {"u8", TYPE_U8},         {"uint16", TYPE_U16},  {"uint32", TYPE_U32},
    {"uint64", TYPE_U64}, {"uint8", TYPE_U8},
};

#define CALL(name, op)                                                                             \
    { #name, BUILTIN_OP, OP_##op, NULL }
#define GONE(name, instead)                                                                        \
    { #name, BUILTIN_NONE, OP_ADD, instead }

static const TcBuiltin builtins[] = {
    CALL(abs, ABS),
    CALL(acos, ACOS),
    CALL(acosh, ACOSH),
    CALL(asin, ASIN),
    CALL(asinh, ASINH),
    CALL(atan, ATAN),
    CALL(atan2, ATAN2),
    CALL(atanh, ATANH),
    CALL(cbrt, CBRT),
    CALL(ceil, CEIL),
    {"clamp", BUILTIN_CLAMP, OP_ADD, NULL},
    {"concat", BUILTIN_CONCAT, OP_ADD, NULL},
    CALL(copysign, COPYSIGN),
    CALL(cos, COS),
    CALL(cosh, COSH),
    CALL(cospi, COSPI),
    GONE(cyl_bessel_i0, "j0 is the nearest builtin; sum the series of I0 in a statement"),
    GONE(cyl_bessel_i1, "j1 is the nearest builtin; sum the series of I1 in a statement"),
    CALL(erf, ERF),
    CALL(erfc, ERFC),
    GONE(erfcinv, "erfc is the nearest builtin; iterate Newton's step on it"),
    GONE(erfcx, "write exp(x*x) * erfc(x)"),
    GONE(erfinv, "erf is the nearest builtin; iterate Newton's step on it"),
    CALL(exp, EXP),
    CALL(exp10, EXP10),
    CALL(exp2, EXP2),
    CALL(expm1, EXPM1),
    CALL(fabs, FABS),
    CALL(fdim, FDIM),
    CALL(fdivide, FDIVIDE),
    CALL(floor, FLOOR),
    CALL(fma, FMA),
    CALL(fmax, FMAX),
    CALL(fmin, FMIN),
    CALL(fmod, FMOD),
    CALL(hypot, HYPOT),
    CALL(j0, J0),
    CALL(j1, J1),
    CALL(lgamma, LGAMMA),
    CALL(log, LOG),
    CALL(log10, LOG10),
    CALL(log1p, LOG1P),
    CALL(log2, LOG2),
    CALL(logb, LOGB),
    CALL(max, MAX),
    CALL(min, MIN),
    {"mirror", BUILTIN_MIRROR, OP_ADD, NULL},
    CALL(nextafter, NEXTAFTER),
    CALL(norm3d, NORM3D),
    CALL(norm4d, NORM4D),
    GONE(normcdf, "write 0.5 * erfc(-x * sqrt(0.5))"),
    GONE(normcdfinv, "erfc is the nearest builtin; iterate Newton's step on it"),
    {"pad", BUILTIN_PAD, OP_ADD, NULL},
    CALL(pow, POW),
    CALL(rcbrt, RCBRT),
    CALL(reciprocal, RECIP),
    CALL(relu, RELU),
    CALL(remainder, REMAINDER),
    CALL(rhypot, RHYPOT),
    CALL(rnorm3d, RNORM3D),
    CALL(rnorm4d, RNORM4D),
    CALL(round, ROUND),
    CALL(rsqrt, RSQRT),
    CALL(select, SELECT),
    CALL(sigmoid, SIGMOID),
    CALL(sin, SIN),
    CALL(sinh, SINH),
    CALL(sinpi, SINPI),
    CALL(sqrt, SQRT),
    CALL(tan, TAN),
    CALL(tanh, TANH),
    CALL(tgamma, TGAMMA),
    CALL(trunc, TRUNC),
    CALL(y0, Y0),
    CALL(y1, Y1),
};

enum {
    TYPE_NAMES = sizeof type_names / sizeof *type_names,
    BUILTINS = sizeof builtins / sizeof *builtins,
    LONGEST = 13, // cyl_bessel_i0
};

// Compares the NUL-terminated `entry` with the word.
static int compare(const char *entry, const char *word, size_t len) {
    int order = strncmp(entry, word, len);
    return order ? order : entry[len] != 0;
}

Type tc_type_name(const char *name, size_t len) {
    if (len < 2 || len > 8 || !memchr("bdfhiu", name[0], 6)) return TYPE_NONE;
    int lo = 0, hi = TYPE_NAMES;
    while (lo < hi) {
        int mid = (lo + hi) / 2, order = compare(type_names[mid].name, name, len);
        if (order == 0) return type_names[mid].type;
        *(order < 0 ? &lo : &hi) = order < 0 ? mid + 1 : mid;
    }
    return TYPE_NONE;
}

const char *tc_type_name_at(int i) { return i < TYPE_NAMES ? type_names[i].name : NULL; }

static const TcBuiltin *find(const char *name, size_t len) {
    int lo = 0, hi = BUILTINS;
    while (lo < hi) {
        int mid = (lo + hi) / 2, order = compare(builtins[mid].name, name, len);
        if (order == 0) return &builtins[mid];
        *(order < 0 ? &lo : &hi) = order < 0 ? mid + 1 : mid;
    }
    return NULL;
}

// The C library's single-precision names (sqrtf, fmaxf) mean the same functions.
const TcBuiltin *tc_builtin(const char *name, size_t len) {
    if (len < 2 || len > LONGEST + 1 || name[0] < 'a') return NULL; // all start in lower case
    const TcBuiltin *b = find(name, len);
    if (b || name[len - 1] != 'f') return b;
    b = find(name, len - 1);
    return b && b->kind == BUILTIN_OP && op_info[b->op].class == OP_MATH ? b : NULL;
}

const TcBuiltin *tc_builtin_at(int i) { return i < BUILTINS ? &builtins[i] : NULL; }
