// Data of the emulator: decoded instructions, and the warps that execute them.
//
// parse.c reads a text; decode.c converts each statement to an Ins, an Exec function with resolved
// operands. A register is a row of 32 lanes of 4 or 8 bytes each (types of 8 and 16 bits use 4).
// Constants are rows too, shared by all warps. Predicates are masks of 32 lanes. Each register also
// has a mask of the lanes whose value is defined.
//
// alu.c implements the arithmetic of ptx_ops.def, convert.c cvt, memory.c loads and stores with
// their checks, shadow.c race detection, sync.c barriers, shuffles and votes; run.c schedules
// warps.
#ifndef LW_EMULATE_IMPL_H
#define LW_EMULATE_IMPL_H

#include <setjmp.h>
#include <stdarg.h>

#include "base/vec.h"
#include "emulate/emulate.h"

typedef struct Warp Warp;
typedef struct Ins Ins;
typedef struct EmuMachine EmuMachine;
typedef void Exec(Warp *w, const Ins *ins, uint32_t mask);

// --- Types of PTX --------------------------------------------------------------------------------

typedef enum EmuKind { KIND_BITS, KIND_SIGNED, KIND_UNSIGNED, KIND_FLOAT, KIND_PRED } EmuKind;

typedef enum PtxType {
    PTX_NONE,
#define PTX(id, name, kind, bits) PTX_##id,
#include "emulate/emulate_types.def"
#undef PTX
    PTX_COUNT
} PtxType;

typedef struct PtxInfo {
    const char *name;
    EmuKind kind;
    int bits;
} PtxInfo;
extern const PtxInfo ptx_info[PTX_COUNT];
PtxType ptx_type(const char *name, size_t len); // for example of "f32"; PTX_NONE: no such type

// --- Instructions --------------------------------------------------------------------------------

// A row of lanes, or a predicate. `id` selects its mask of defined lanes; constants have id 0.
typedef struct EmuOperand {
    uint32_t row;  // bytes from the start of the warp's rows, or of the constants
    uint32_t id;   // of the register
    uint16_t bits; // 1 (predicate), 16, 32 or 64
    bool constant;
    bool negated; // !%p
} EmuOperand;

typedef enum EmuSpace {
    SPACE_GLOBAL,
    SPACE_SHARED,
    SPACE_CLUSTER, // shared memory of any block of the cluster
    SPACE_LOCAL,
    SPACE_PARAM,
    SPACE_CONST
} EmuSpace;
typedef enum AtomOp {
    ATOM_ADD,
    ATOM_MIN,
    ATOM_MAX,
    ATOM_AND,
    ATOM_OR,
    ATOM_XOR,
    ATOM_EXCH,
    ATOM_CAS,
    ATOM_INC,
    ATOM_DEC
} AtomOp;
// The possible relations between a and b, as bits.
enum { CMP_LT = 1, CMP_EQ = 2, CMP_GT = 4, CMP_UNORDERED = 8 };

enum { MAX_DST = 4, MAX_SRC = 5 };

struct Ins {
    Exec *run;
    int line;
    EmuOperand guard; // bits == 0: there is none
    uint8_t ndst, nsrc;
    bool plain; // a row of ptx_ops.def: lanes are defined where all sources are
    EmuOperand dst[MAX_DST], src[MAX_SRC]; // for a memory access, src[0] is the address
    int64_t offset;                        // of an address; the pc of a branch; the count of a wait
    PtxType type;                          // of elements; the result of cvt
    PtxType from;                          // the source of cvt
    EmuSpace space;
    uint8_t count; // elements of a vector access
    uint8_t what;  // AtomOp, comparison, rounding, kind of shuffle, bytes of a cp.async
    uint8_t what2;
    bool flag; // .sat; .wrap
};

typedef struct EmuParam {
    const char *name;
    uint32_t offset, bytes;
} EmuParam;

typedef struct Symbol {
    const char *name;
    EmuSpace space;
    uint32_t offset, bytes, align;
    bool dynamic; // it lies behind all other shared memory
} Symbol;

typedef struct Entry {
    EmuEntry info;
    Ins *code; // the last instruction returns
    int ncode;
    EmuParam *params;
    uint32_t param_bytes;
    uint8_t *constants; // rows
    uint32_t row_bytes; // of a warp's registers
    int nregs;          // number of registers with an id; id 0 is for constants
    uint32_t shared_static, dynamic_align;
    uint32_t special[16];   // rows of %tid.x ... plus 1; 0: not used
    const char **reg_names; // by id
} Entry;

struct EmuModule {
    VEC(Entry) entries;
    const char *text;
    size_t len;
    VEC(uint8_t) constants; // .const variables
};

// Rows of special registers, filled in when a warp starts.
typedef enum EmuSpecial {
    SPECIAL_TID_X,
    SPECIAL_TID_Y,
    SPECIAL_TID_Z,
    SPECIAL_NTID_X,
    SPECIAL_NTID_Y,
    SPECIAL_NTID_Z,
    SPECIAL_CTAID_X,
    SPECIAL_CTAID_Y,
    SPECIAL_CTAID_Z,
    SPECIAL_NCTAID_X,
    SPECIAL_NCTAID_Y,
    SPECIAL_NCTAID_Z,
    SPECIAL_LANE,
    SPECIAL_WARP,
    SPECIAL_LT,
    SPECIAL_RANK, // of the block in its cluster
    SPECIAL_COUNT
} EmuSpecial;

// --- Parsing -------------------------------------------------------------------------------------

typedef struct Reg {
    const char *name; // without the number of a range: "%r"
    size_t len;
    int from, count; // %r0, %r1, ...; count -1: a single register of this name
    uint32_t row, id;
    int bits;
} Reg;

typedef struct PtxLabel {
    const char *name;
    size_t len;
    int pc; // -1: not seen yet
    int line;
} PtxLabel;

typedef struct Constant {
    uint64_t value;
    int bits;
    uint32_t row;
    int next; // next one with the same hash, plus 1; 0: none
} Constant;

typedef struct PtxParser {
    Arena *arena;
    EmuModule *module;
    Entry *entry;
    const char *at, *end; // of the text
    int line;
    VEC(Reg) regs;
    VEC(PtxLabel) labels;
    VEC(Symbol) symbols; // those of the module, then those of the entry
    VEC(Ins) code;
    VEC(EmuParam) params;
    VEC(Constant) constants;
    int constant_head[256];
    VEC(const char *) names; // of registers, by id
    uint32_t row_bytes, constant_bytes;
    uint32_t shared, local;
    int module_symbols;
    bool dynamic_used;     // the code uses an address of dynamic shared memory
    const struct Op **ops; // hash table of the spellings
    EmuError *error;
    jmp_buf refused;
} PtxParser;

__attribute__((format(printf, 2, 3))) _Noreturn void ptx_refuse(PtxParser *p, const char *format,
                                                                ...);

typedef struct PtxWord {
    const char *s;
    size_t len;
} PtxWord;
bool ptx_word_is(PtxWord w, const char *s);
void ptx_skip_blanks(PtxParser *p);
bool ptx_accept(PtxParser *p, char c);
void ptx_expect(PtxParser *p, char c);
PtxWord ptx_identifier(PtxParser *p); // refuses if there is none
EmuOperand ptx_constant(PtxParser *p, uint64_t value, int bits);

// Decodes the statement after its guard: mnemonic with its modifiers, operands, semicolon. Fills in
// *ins.
void ptx_decode(PtxParser *p, PtxWord mnemonic, Ins *ins);
// Parse operands for decode.c. `type` is the type of the instruction. A register must have its
// width, or, with `wider`, at least that width.
EmuOperand ptx_register(PtxParser *p, PtxType type, bool wider);
EmuOperand ptx_source(PtxParser *p, PtxType type, bool wider); // a register or a constant
EmuOperand ptx_predicate(PtxParser *p, bool may_negate);
void ptx_address(PtxParser *p, Ins *ins, EmuSpace space);
int ptx_vector(PtxParser *p, PtxType type, bool source, EmuOperand *into, int most);
int64_t ptx_integer(PtxParser *p);
bool ptx_next_is(PtxParser *p, char c);
int ptx_label(PtxParser *p, PtxWord name);

// The row of ptx_ops.def with this spelling, or NULL.
typedef struct Op {
    const char *name;
    Exec *run;
    uint8_t nsrc;
    PtxType result, src[4];
} Op;
const Op *emu_find_op(PtxParser *p, PtxWord spelling);
Exec *emu_compare(PtxType type); // for setp; NULL: unsupported type
bool emu_is_fma_f32(const Ins *ins);
Exec emu_do_select, emu_do_move, emu_do_pack, emu_do_unpack, emu_do_convert, emu_do_load,
    emu_do_store, emu_do_atom, emu_do_cp_async, emu_do_commit, emu_do_wait, emu_do_barrier,
    emu_do_arrive, emu_do_warp_barrier, emu_do_shuffle, emu_do_vote, emu_do_ballot, emu_do_active,
    emu_do_redux, emu_do_mapa, emu_do_cluster_arrive, emu_do_cluster_wait, emu_do_branch,
    emu_do_return, emu_do_nothing, emu_do_trap, emu_do_lop3, emu_do_pred_and, emu_do_pred_or,
    emu_do_pred_xor, emu_do_pred_not, emu_do_pred_move;

// emulate_live.c: the largest number of 32-bit registers that are live at a time.
int emu_live_registers(Arena *scratch, const Entry *e);

// --- Running -------------------------------------------------------------------------------------

// Addresses of shared memory begin at SHARED_BASE. Those of block r of a cluster, as mapa gives
// them, have r + 1 above RANK_SHIFT.
enum { LANES = 32, BARRIERS = 16, SHARED_BASE = 1024, RANK_SHIFT = 24, MOST_CLUSTER = 16 };

// The last access to some bytes: block, thread, and the clock of its warp. 0: none.
typedef uint64_t Access;

// The accesses to 4 bytes, or to 1 byte if a smaller access has occurred.
typedef struct Cell {
    Access writer, reader, reader2; // two readers, of different warps if possible
    int writer_line, reader_line;
    uint32_t touched; // in this launch: 1 if loaded, 2 if stored
} Cell;

enum { PAGE_CELLS = 1024 };
typedef struct Shadow {
    Cell **page;
    size_t npages;
    int shift; // 2: cells of 4 bytes; 0: of one
} Shadow;

// A cp.async that was issued and whose thread has not yet waited for it.
typedef struct Copy {
    uint64_t source;
    uint32_t target;
    uint8_t bytes, source_bytes;
    uint8_t lane;
    int line;
    uint8_t data[16], defined[16]; // of the source when it was issued
    int group;                     // number of the commit that ended it; -1: not committed
} Copy;

typedef struct EmuGroup { // threads of a warp with equal program counters
    uint32_t mask;
    int pc;
} EmuGroup;

// A range of checked memory: its data, its defined bytes, and the accesses to it.
typedef struct EmuPlace {
    uint8_t *data, *state;
    Shadow *shadow;
    EmuBuffer *buffer; // NULL: not in global memory
    size_t offset, size;
} EmuPlace;

struct Warp {
    EmuMachine *m;
    struct EmuBlock *b;
    int index; // in the block
    uint8_t *rows;
    uint32_t *defined, *pred; // per register id
    EmuGroup groups[LANES];
    int ngroups, current;
    uint32_t live, born; // threads that have not returned; all threads of the warp
    int waits;           // the barrier that it waits for; -1: it runs; BARRIERS: the cluster's
    bool arrived;        // at the barrier of the cluster, for which it has not waited yet
    int phase;           // of that barrier, when it arrived
    uint32_t clock;
    // Clocks of the other warps' accesses that happened before: of the warps of this cluster, block
    // by block.
    uint32_t *seen;
    int hole_line; // line of the last load of undefined bytes, which `hole` locates; 0: none
    EmuPlace hole;
    VEC(Copy) copies;
    int groups_committed[LANES];
    uint8_t *local;
};

typedef struct Barrier {
    uint32_t arrived, waiting; // warps
    uint32_t clock[LANES];     // maximum over the warps that have arrived
    int threads;               // that have arrived
    int expected;              // 0: no thread has arrived yet
    int line;
} Barrier;

// A block that runs: the blocks of a cluster do so together.
typedef struct EmuBlock {
    uint32_t at[3];  // in the grid
    uint32_t number; // counted from 1
    int rank;        // in the cluster
    Warp *warps;
    Barrier barriers[BARRIERS];
    uint8_t *shared;
    uint8_t *shared_state; // per byte: STATE_UNDEFINED ...
    Shadow shared_shadow;
    bool ends;        // one of its threads has returned
    uint32_t *remote; // per warp of the cluster: the clock of its last access to this shared memory
    int *remote_line;
} EmuBlock;

struct EmuMachine {
    Arena *arena;
    const EmuModule *module;
    const Entry *entry;
    const EmuLaunch *launch;
    EmuMemory *memory;
    EmuCounts *counts;
    EmuError *error;
    jmp_buf failed;
    uint8_t *params;
    int threads, nwarps; // of a block
    uint32_t shared_bytes;
    // The blocks of the current cluster; a grid without clusters has one block in each.
    int nblocks;
    EmuBlock *blocks;
    int arrived, phase;       // warps at the barrier of the cluster; the number of its completions
    uint32_t *clock, *passed; // maximum over these warps; the same when the barrier last completed
    int arrive_line;
    Shadow *global_shadow; // by slot
    const Ins *current;
    int64_t steps;
};

enum { STATE_UNDEFINED, STATE_DEFINED, STATE_IN_FLIGHT };

static inline void *row_of(const Warp *w, const EmuOperand *o) {
    return (o->constant ? w->m->entry->constants : w->rows) + o->row;
}
static inline uint32_t lane_u32(const Warp *w, const EmuOperand *o, int lane) {
    return ((const uint32_t *)row_of(w, o))[lane];
}
// The bits of a lane, for any width of its register.
static inline uint64_t lane_bits(const Warp *w, const EmuOperand *o, int lane) {
    return o->bits == 64 ? ((const uint64_t *)row_of(w, o))[lane] : lane_u32(w, o, lane);
}
static inline void set_lane(const Warp *w, const EmuOperand *o, int lane, uint64_t bits) {
    if (o->bits == 64)
        ((uint64_t *)row_of(w, o))[lane] = bits;
    else
        ((uint32_t *)row_of(w, o))[lane] = (uint32_t)bits;
}
static inline uint32_t pred_mask(const Warp *w, const EmuOperand *o) {
    return o->negated ? ~w->pred[o->id] : w->pred[o->id];
}
static inline void define(Warp *w, const EmuOperand *o, uint32_t mask, uint32_t defined) {
    w->defined[o->id] = (w->defined[o->id] & ~mask) | (mask & defined);
}

// Ends the launch with an error; `format` describes what the thread did wrong.
__attribute__((format(printf, 3, 4))) _Noreturn void emu_fault(Warp *w, int lane,
                                                               const char *format, ...);
// The same for an undefined register `o`, used as `what`, with the load that its value may come
// from.
_Noreturn void emu_fault_undefined(Warp *w, int lane, const char *what, const EmuOperand *o);
_Noreturn void emu_fault_block(EmuMachine *m, const EmuBlock *b, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

// Checks bounds and alignment, and returns the accessed range.
EmuPlace emu_locate(Warp *w, int lane, EmuSpace space, uint64_t address, int bytes, bool aligned);

// Race detection, shadow.c: reports a race of this access with earlier ones, and records it.
typedef enum AccessKind { ACCESS_READ, ACCESS_WRITE, ACCESS_ATOMIC, ACCESS_ATOMIC_READ } AccessKind;
void emu_shadow_reset(EmuMachine *m, Shadow *s, size_t bytes);
void emu_access(Warp *w, int lane, const EmuPlace *at, int bytes, AccessKind kind, bool same_value);
void emu_describe(const EmuMachine *m, const EmuPlace *at, char *into, size_t size);

// Clusters, cluster.c. The number of a warp in its cluster; a thread accesses the shared memory of
// another block, or returns.
static inline int emu_number(const Warp *w) { return w->b->rank * w->m->nwarps + w->index; }
EmuBlock *emu_remote(Warp *w, int lane, uint64_t address);
void emu_leave(Warp *w);

// Counting, emulate_count.c.
int emu_wavefronts(const uint32_t *address, uint32_t mask, int bytes, bool load, int *ideal);
int emu_sectors(const uint64_t *address, uint32_t mask, int bytes);

uint16_t emu_round_f16(double value); // to nearest even
uint16_t emu_round_bf16(double value);
double emu_widen_f16(uint16_t bits);
double emu_widen_bf16(uint16_t bits);

#endif
