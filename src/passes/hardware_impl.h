// The lines of machine descriptions and their attributes (private to src/passes).
#ifndef LW_PASSES_HARDWARE_IMPL_H
#define LW_PASSES_HARDWARE_IMPL_H

#include "passes/hardware.h"

typedef enum LineKind {
    LINE_MEMORY,
    LINE_COMPUTE,
    LINE_TRANSFER,
    LINE_STENCIL,
    LINE_INDEX,
    LINE_UNITS, // the kinds above have a name and attributes
    LINE_MACHINE = LINE_UNITS,
    LINE_INCLUDE,
    LINE_PASS,
    LINE_SET,
    LINE_DROP,
    LINE_KINDS
} LineKind;
extern const char *const hardware_line[LINE_KINDS];

typedef enum AttrKind {
    ATTR_BYTES,
    ATTR_COUNT,
    ATTR_FLAG,
    ATTR_REAL,
    ATTR_MEMORY,
    ATTR_COMPUTE,
    ATTR_TYPE,
    ATTR_EXTENT,
    ATTR_STRIDES
} AttrKind;

typedef struct Attr {
    LineKind line;
    const char *key;
    AttrKind kind;
    size_t at;
    double least, most;
    int64_t unset;
} Attr;

// The rows of hardware.def.
enum {
#define ATTR(line, key, kind, member, least, most, unset, what) ATTR_##line##_##key,
#include "passes/hardware.def"
#undef ATTR
    ATTRS
};
extern const Attr hardware_attrs[ATTRS];

// hardware_units.c: checks the units with own=yes; reports an error at `at`.
bool hardware_owners_are_good(const Hardware *h, Range at, DiagList *diags);

#endif
