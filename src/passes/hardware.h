// Machine descriptions: the text form (.lwm, docs/machines.md), the parsed form, parser and
// printer.
//
//     machine toy "one small memory"
//     memory DRAM line=64
//     memory SRAM in=DRAM size=4KiB banks=2
//     compute PROC in=SRAM count=2
//     transfer DMA from=DRAM to=SRAM bandwidth=16 latency=64
//     stencil mac16 startup=32 rate=256
//       index m size=16 out=any in=any,0
//       index n size=16 out=1 in=0,1
//       index k size=any out=0 in=any,any
//     pass flatten
//     pass autotile as=tile reqs=#contraction fits=SRAM
//
// `include NAME` takes over the lines of another description. A later line about a unit of the same
// name changes the attributes that it lists, `set LABEL` changes parameters of a pass, and `drop
// LABEL` removes a pass. Printing writes the combined result; print(parse(print(h))) equals
// print(h) byte for byte.
//
// hardware.def lists the attributes of units, passes.def the passes and their parameters.
#ifndef LW_PASSES_HARDWARE_H
#define LW_PASSES_HARDWARE_H

#include "base/diag.h"
#include "base/name.h"
#include "base/types.h"
#include "base/vec.h"

enum { STENCIL_MAX_INDICES = 8, STENCIL_MAX_TENSORS = 4, PASS_MAX_PARAMS = 32, HARDWARE_MAX = 256 };

typedef struct MemoryUnit {
    Name name;
    int64_t in; // number of the memory unit that fills it; -1: it is the outermost
    int64_t size, line, banks, ways, align;
    double bandwidth;
} MemoryUnit;

typedef struct ComputeUnit {
    Name name;
    int64_t in, of; // -1: none
    int64_t own;    // each unit has a copy of the memory `in` of its own
    int64_t count;
    double rate;
} ComputeUnit;

typedef struct Transfer {
    Name name;
    int64_t from, to; // memory units
    int64_t of;       // each of these compute units has one; -1: there is one
    double bandwidth;
    int64_t latency;
} Transfer;

// The stride with which an index of a stencil may run through a tensor.
enum { STRIDE_ANY = -1, STRIDE_NONE = 0, STRIDE_ONE = 1 };
typedef struct Strides {
    int n;
    signed char at[STENCIL_MAX_TENSORS];
} Strides;

typedef struct StencilIndex {
    Name name;
    int64_t size; // -1: any
    Strides out, in_;
} StencilIndex;

typedef struct Stencil {
    Name name;
    int64_t type; // Type
    int64_t startup;
    double rate;
    int nindex;
    StencilIndex index[STENCIL_MAX_INDICES];
} Stencil;

typedef enum PassKind {
    PASS_INT,
    PASS_BYTES,
    PASS_REAL,
    PASS_FLAG,
    PASS_TAGS,     // "#a,#b"
    PASS_MEMORY,   // a memory unit
    PASS_COMPUTE,  // a compute unit
    PASS_TRANSFER, // a transfer engine
    PASS_STENCIL,  // names of stencils, "a,b"
    PASS_NAME,     // one word
} PassKind;

typedef struct PassParam {
    const char *name;
    PassKind kind;
    double value, least, most; // the default and the range of numbers
    const char *what;
} PassParam;

typedef struct PassInfo {
    const char *name, *summary;
    PassParam param[PASS_MAX_PARAMS + 1]; // ended by a NULL name
} PassInfo;
extern const PassInfo pass_info[];
extern const int pass_count;
const PassInfo *pass_find(const char *name); // NULL: none
int pass_params(const PassInfo *p);

typedef struct PassValue {
    bool given;
    double number;
    const char *text; // for kinds that are not numbers; "": not given
} PassValue;

// One entry of the list of passes.
typedef struct PassCall {
    const PassInfo *pass;
    Name label; // unique in the list
    PassValue value[PASS_MAX_PARAMS];
} PassCall;

typedef struct Hardware {
    Name name;
    const char *summary; // "": none
    VEC(MemoryUnit) memory;
    VEC(ComputeUnit) compute;
    VEC(Transfer) transfer;
    VEC(Stencil) stencil;
    VEC(PassCall) pass;
} Hardware;

// Returns the text of an included description, or NULL with the reason in *why.
typedef const Source *HardwareInclude(void *user, Arena *arena, const char *name,
                                      const Source *from, const char **why);
// Returns NULL after an error. If `include` is NULL, only shipped descriptions can be included.
const Hardware *hardware_parse(Arena *arena, Names *names, const Source *source,
                               HardwareInclude *include, void *user, DiagList *diags);
void hardware_print(Text *out, const Hardware *h);
// Is the text a description? Its first word then is `machine` or `include`.
bool hardware_is(const char *text);

int hardware_memory(const Hardware *h, Name name); // -1: none
int hardware_compute(const Hardware *h, Name name);
int hardware_transfer(const Hardware *h, Name name);
const Stencil *hardware_stencil(const Hardware *h, const char *name, size_t len); // NULL: none

// hardware_units.c: a compute unit counts as inside of itself.
int64_t hardware_units(const Hardware *h, int compute); // all units of this kind on the machine
int64_t hardware_inside(const Hardware *h, int compute, int around); // per unit `around`; 0: none
int hardware_works_on(const Hardware *h, int compute);               // a memory; -1: none
int hardware_outermost(const Hardware *h);                           // memory; -1: none
// The compute units that have a copy of the memory of their own each; -1: there is one for all.
int hardware_owner(const Hardware *h, int memory);
int64_t hardware_copies(const Hardware *h, int memory);
// Is one of the units a[m] and b[n] inside of the other?
bool hardware_together(const Hardware *h, int a, int64_t m, int b, int64_t n);

// The descriptions of machines/, which are part of the library.
int shipped_count(void);
const char *shipped_name(int i);
const char *shipped_text(const char *name); // NULL: none

// hardware_moves.c: lines for tuning, each of which changes one parameter of one pass ("set tile
// share=0.5") or drops a pass. Returns their number.
int hardware_moves(Arena *arena, const Hardware *h, const char *const **out);

#endif
