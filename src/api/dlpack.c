// Between DLPack and our own types.
#include "api/api.h"

static const uint8_t dl_code[TYPE_COUNT] = {
#define TYPE(id, name, class, bits, compute, lane, sum, precision, bias, stored, value, stripe,    \
             dlpack, numpy)                                                                        \
    [TYPE_##id] = dlpack,
#include "base/types.def"
#undef TYPE
};

DLDataType dtype_of(Type type) {
    if (type == TYPE_NONE) return (DLDataType){0, 0, 0};
    return (DLDataType){dl_code[type], (uint8_t)type_info[type].bits, 1};
}

Type type_of(DLDataType dtype) {
    for (Type t = TYPE_NONE + 1; t < TYPE_COUNT; t++) {
        DLDataType d = dtype_of(t);
        if (d.code == dtype.code && d.bits == dtype.bits && d.lanes == dtype.lanes) return t;
    }
    return TYPE_NONE;
}

const char *dtype_name(Arena *arena, DLDataType dtype) {
    Type type = type_of(dtype);
    if (type != TYPE_NONE) return type_info[type].name;
    return arena_printf(arena, "DLPack type %d with %d bits and %d lanes", dtype.code, dtype.bits,
                        dtype.lanes);
}

const char *shape_text(Arena *arena, int ndim, const int64_t *shape) {
    Text t = {.arena = arena};
    text_char(&t, '(');
    for (int d = 0; d < ndim; d++) {
        if (d) text_add(&t, ", ");
        text_int(&t, shape[d]);
    }
    text_char(&t, ')');
    return text_str(&t);
}
