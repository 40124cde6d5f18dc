// The scalar types, their values, and the one promotion table.
//
// f16 and bf16 are storage types: arithmetic on them happens in f32 and rounds when a value is
// stored or cast explicitly (type_compute). A conversion from f64 goes through f32, like two casts
// (and as processors do): 1 + 2^-11 + 2^-40 rounds to 1 + 2^-11, then to 1. A bool is stored as one
// byte, 0 or 1.
#ifndef LW_BASE_TYPES_H
#define LW_BASE_TYPES_H

#include <stdbool.h>
#include <stdint.h>

typedef enum Type {
    TYPE_NONE, // not known yet
#define TYPE(id, ...) TYPE_##id,
#include "base/types.def"
#undef TYPE
    TYPE_COUNT
} Type;

typedef enum TypeClass { CLASS_NONE, CLASS_BOOL, CLASS_INT, CLASS_UINT, CLASS_FLOAT } TypeClass;

// A row of types.def, which explains the columns.
typedef struct TypeInfo {
    const char *name;   // sized name: "f32"
    const char *stripe; // its name in Stripe text: "fp32"
    const char *c_stored;
    const char *c_value;
    const char *numpy; // type code "f4"; "": none
    TypeClass class;
    int bits, bytes;
    Type compute, lane, sum;
    int precision, bias; // of floats; 0 for other types
} TypeInfo;

extern const TypeInfo type_info[TYPE_COUNT];

static inline bool type_is_float(Type t) { return type_info[t].class == CLASS_FLOAT; }
static inline bool type_is_integer(Type t) { // signed or unsigned, not bool
    return type_info[t].class == CLASS_INT || type_info[t].class == CLASS_UINT;
}

static inline bool type_is_unsigned(Type t) { // unsigned integers and bool
    return type_info[t].class == CLASS_UINT || type_info[t].class == CLASS_BOOL;
}

// The type in which arithmetic on t happens: f32 for f16 and bf16, t itself otherwise.
static inline Type type_compute(Type t) { return type_info[t].compute; }

// True for floats that are stored in fewer bits than they are computed in: f16 and bf16. Such a
// value rounds to t when it is stored or cast.
static inline bool type_is_storage(Type t) { return type_info[t].compute != t; }

// The type in which a + or * reduction over data of type t accumulates: f32 for f16 and bf16, i32
// for bool and integers narrower than 32 bits, t itself otherwise.
static inline Type type_accumulator(Type t) { return type_info[t].sum; }

// The common type of two operands:
//   equal types stay; bool with another type gives the other type;
//   a float wins over any integer; of two floats the wider wins, f16 with bf16 gives f32;
//   of two integers of the same sign the wider wins; of mixed sign, the signed type that holds both
//   (i64 when none does).
Type type_promote(Type a, Type b);
// Whether `wide` is a wider type of the same kind that holds every value of `t`.
bool type_widens(Type t, Type wide);

// Sized names only ("f32", "u8", "bool"); TYPE_NONE when unknown. Languages add their own aliases.
Type type_by_name(const char *name, int len);

// One scalar. Integers (and bool) are kept sign- or zero-extended in `i`, every float in `f`
// (f32 and narrower hold a double that is exactly representable in f32).
typedef union Value {
    double f;
    int64_t i;
} Value;

// Rounds or wraps a value that is already of t's class to what t can hold. For f16/bf16 this rounds
// to storage precision, to nearest even.
Value type_round(Type t, Value v);
// Conversion between any two types: float to integer saturates, NaN gives 0; integers wrap; to
// bool: v != 0.
Value type_convert(Type to, Type from, Value v);
// Memory access; `p` need not be aligned.
Value type_load(Type t, const void *p);
void type_store(Type t, void *p, Value v); // rounds
// Identity of the reduction: used by op=! and by padding. `op` is '+', '*', '<' (min) or '>' (max).
Value type_identity(Type t, char op);

// The bits of an f32 in a storage float of t, rounded to nearest even, and back. NaN stays a quiet
// NaN.
uint32_t type_pack(Type t, float f);
float type_unpack(Type t, uint32_t bits);

#endif
