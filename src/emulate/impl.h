// Data of the emulator: decoded instructions. parse.h has the state of the parser, warp.h the warps
// that execute instructions.
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

// Addresses of shared memory begin at SHARED_BASE. Those of block r of a cluster, as mapa gives
// them, have r + 1 above RANK_SHIFT.
enum { LANES = 32, BARRIERS = 16, SHARED_BASE = 1024, RANK_SHIFT = 24, MOST_CLUSTER = 16 };

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
typedef enum AccessKind {
    ACCESS_READ,
    ACCESS_READ_L1,   // .ca: other blocks' stores may be missing in it
    ACCESS_READ_ONLY, // .nc: nothing may store to it during the launch
    ACCESS_WRITE,
    ACCESS_ATOMIC,
    ACCESS_ATOMIC_READ
} AccessKind;
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
    uint8_t what;  // AtomOp, comparison, rounding, kind of shuffle or load, bytes of a cp.async
    uint8_t what2; // of a cp.async: the AccessKind of its loads
    bool flag;     // .sat; .wrap
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

// A row of ptx_ops.def.
typedef struct Op {
    const char *name;
    Exec *run;
    uint8_t nsrc;
    PtxType result, src[4];
} Op;

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

#endif
