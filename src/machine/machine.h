// A target as numbers. Code generators and cost models read these and never the name of a CPU.
#ifndef LW_MACHINE_MACHINE_H
#define LW_MACHINE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Vectors of one element (scalar code), of 256 bits and of 512 bits.
typedef enum Width { WIDTH_ONE, WIDTH_HALF, WIDTH_FULL, WIDTH_COUNT } Width;
// Lanes of a vector of f32, or (`f64`) of f64.
static inline int width_lanes(Width w, bool f64) {
    return w == WIDTH_ONE ? 1 : (w == WIDTH_FULL ? 64 : 32) / (f64 ? 8 : 4);
}

// The number of an instruction set in its target's list (Target.isa). These are those of x86-64, in
// the order of their widths; code that serves all targets asks for a Width or a capability instead.
typedef enum Isa { ISA_SCALAR, ISA_AVX2, ISA_AVX512, ISA_COUNT } Isa;
extern const char *const isa_name[ISA_COUNT + 1]; // "scalar", "avx2", "avx512", NULL
static inline Width isa_width(Isa isa) { return (Width)isa; }

// The execution resource that an instruction occupies for a cycle. An instruction may need several:
// arithmetic with a memory operand counts as a load and as arithmetic.
typedef enum Port {
    PORT_FMA,     // multiply, add, multiply-add of floats
    PORT_VECTOR,  // any vector operation except moves
    PORT_SHUFFLE, // permutes, broadcasts from registers, inserts, extracts
    PORT_LOAD,
    PORT_STORE,
    PORT_SCALAR, // general registers, jumps
    PORT_ISSUE,  // all instructions: issued per cycle
    PORT_COUNT
} Port;
extern const char *const port_name[PORT_COUNT];

// The best measured rates of this machine (api/rates.c): of one core, and of all at once.
enum { CORES_ONE, CORES_ALL, CORES_COUNT };
enum { LEVEL_L1, LEVEL_L2, LEVEL_L3, LEVEL_MEMORY, LEVEL_COUNT };
enum { MOVE_LOAD, MOVE_STORE, MOVE_COPY, MOVE_COUNT };

// Vector arithmetic, by execution pipe.
typedef enum WorkKind {
    WORK_MUL,     // multiplies and multiply-adds of floats
    WORK_ADD,     // adds and subtracts
    WORK_FLOAT,   // either of these
    WORK_IMUL,    // multiplies of integers
    WORK_SHUFFLE, // permutations of lanes
    WORK_ANY,     // all vector operations, including those above
    WORK_COUNT
} WorkKind;
extern const char *const work_name[WORK_COUNT];

// Operations whose latency limits a chain of sums.
typedef enum Latency { LATENCY_ADD, LATENCY_MUL, LATENCY_FMA, LATENCY_COUNT } Latency;
extern const char *const latency_name[LATENCY_COUNT];

typedef struct Rates {
    int cores;                                         // number of cores of CORES_ALL
    double fma[WIDTH_COUNT][2][CORES_COUNT];           // GFLOP/s in f32 and f64; 0: no such width
    double move[LEVEL_COUNT][MOVE_COUNT][CORES_COUNT]; // GB/s; a copy counts twice; 0: no cache
    // One core; 0: not measured.
    double ghz;                           // clock frequency
    double work[WIDTH_COUNT][WORK_COUNT]; // 10^9 instructions a second
    double latency[LATENCY_COUNT];        // picoseconds
} Rates;

// A column of machine_cost.def.
typedef enum CostColumn {
    COST_AVX512, // of families that name no other one
    COST_SCALAR,
    COST_AVX2,
    COST_ZEN4,
    COST_ZEN5,
    COST_COLUMNS
} CostColumn;

// A processor family (family.c): the best throughput of one core per cycle. "Half" is 256 bits and
// less, "full" 512 bits.
typedef struct Family {
    const char *name; // "zen4"; "unknown": the best of all
    Isa isa;          // the widest one
    bool has_vnni, has_popcount, has_bf16, has_fp16, has_amx;
    bool slow_gather;           // gathers and scatters are microcode
    CostColumn costs;           // of AVX-512 code
    double ghz;                 // of a typical processor
    double work[2][WORK_COUNT]; // instructions issued, half and full
    double divide[2][3];        // cycles between divisions of f32, f64: one element, half, full
    int latency[LATENCY_COUNT]; // cycles
    int scalar, issue;          // operations on general registers; instructions
    int loads, stores, load_bytes, store_bytes;
    int64_t cache[3];        // of a typical processor: L1d, L2, L3
    double gbps[3];          // likewise, loads of one core from L2, L3, memory
    int plan[2][PORT_COUNT]; // Machine.ports of AVX2 and AVX-512
} Family;

int family_count(void);
const Family *family_at(int i);
const Family *family_by_name(const char *name);                        // NULL: none such
const Family *family_of(const char *vendor, unsigned cpuid_signature); // never NULL
// The rates that a measurement of a machine of the family would give at best.
void family_rates(const Family *f, Rates *out);

typedef struct Machine {
    Isa isa;
    Width width;          // of its vectors
    char cpu[64];         // the brand string
    int vector_bytes;     // 64, 32, or 8 for scalar code
    int vector_registers; // 32 or 16
    int fma_ports;        // FMAs started per cycle
    int fma_latency;      // cycles
    int load_ports, store_ports;
    int ports[PORT_COUNT]; // number of each; consistent with fma_ports, load_ports and store_ports
    bool folds_broadcast;  // arithmetic accepts an embedded broadcast from memory
    bool has_mask;         // masks every lane of every type
    bool has_cvt64;        // converts between 64-bit integers and floats
    bool has_exponents;    // extracts exponents and mantissas, and scales by powers of two
    bool has_popcount;     // counts the ones of integers
    bool has_vnni, has_bf16, has_fp16, has_amx;
    int64_t cache[4]; // bytes of L1d, L2, L3 (0: none); [0] unused
    int line_bytes;
    int unroll_limit; // default limit on the vector operations of one straight-line block
    const Family *family;
    const Rates *rates;             // NULL: not measured
    const struct MachineCost *cost; // NULL: its column of machine_cost.def
    const struct Target *target;    // its row in target/target.c; NULL: nobody asked
    const struct GpuMachine *gpu;   // gpu_machine.h; NULL: it is no GPU
} Machine;

// The elements of this many bytes that an instruction works on.
static inline int machine_lanes(const Machine *m, int64_t bytes) {
    return m->width == WIDTH_ONE || bytes > m->vector_bytes ? 1 : (int)(m->vector_bytes / bytes);
}

// This machine, capped at `cap` (ISA_COUNT: no cap). Reads CPUID and XCR0 each time; no state.
void machine_detect(Machine *m, Isa cap);
// A generic machine of the given ISA, for generating code that need not run here.
void machine_describe(Machine *m, Isa isa);
// A machine of a family, capped at `cap`. Its code runs where the ISA does (machine_fit).
void machine_pretend(Machine *m, const Family *f, Isa cap);
// Removes from `m` the features that `host` does not have.
void machine_fit(Machine *m, const Machine *host);

#endif
