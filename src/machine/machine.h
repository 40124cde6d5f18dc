// What a target is, as numbers. Code generators and cost models read these and never ask for a
// CPU's name.
#ifndef LW_MACHINE_MACHINE_H
#define LW_MACHINE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum Isa { ISA_SCALAR, ISA_AVX2, ISA_AVX512, ISA_COUNT } Isa;
extern const char *const isa_name[ISA_COUNT]; // "scalar", "avx2", "avx512"
// Lanes of a vector of f32, or (`wide`) of f64; scalar code has one.
static inline int isa_lanes(Isa isa, bool wide) {
    return isa == ISA_SCALAR ? 1 : (isa == ISA_AVX512 ? 64 : 32) / (wide ? 8 : 4);
}

// What an instruction occupies for a cycle. An instruction may need several: a folded load counts
// as a load and as its arithmetic.
typedef enum Port {
    PORT_FMA,     // multiply, add, multiply-add of floats
    PORT_VECTOR,  // any work on vectors but moving them
    PORT_SHUFFLE, // moving lanes about: permutes, broadcasts from registers, inserts, extracts
    PORT_LOAD,
    PORT_STORE,
    PORT_SCALAR, // general registers, jumps
    PORT_ISSUE,  // everything: instructions started per cycle
    PORT_COUNT
} Port;
extern const char *const port_name[PORT_COUNT];

// Best rates that this machine was measured at (api/measure.c): of one core, and of all at once.
enum { CORES_ONE, CORES_ALL, CORES_COUNT };
enum { LEVEL_L1, LEVEL_L2, LEVEL_L3, LEVEL_MEMORY, LEVEL_COUNT };
enum { MOVE_LOAD, MOVE_STORE, MOVE_COPY, MOVE_COUNT };

// Arithmetic of vectors, by the pipes that take it.
typedef enum WorkKind {
    WORK_MUL,     // multiplies and multiply-adds of floats
    WORK_ADD,     // adds and subtracts
    WORK_FLOAT,   // either of them
    WORK_IMUL,    // multiplies of integers
    WORK_SHUFFLE, // moving lanes about
    WORK_ANY,     // everything that works on vectors, the others among it
    WORK_COUNT
} WorkKind;
extern const char *const work_name[WORK_COUNT];

// Operations that sums wait for.
typedef enum Latency { LATENCY_ADD, LATENCY_MUL, LATENCY_FMA, LATENCY_COUNT } Latency;
extern const char *const latency_name[LATENCY_COUNT];

typedef struct Rates {
    int cores;                                         // that "all" means
    double fma[ISA_COUNT][2][CORES_COUNT];             // GFLOP/s in f32 and f64; 0: no such ISA
    double move[LEVEL_COUNT][MOVE_COUNT][CORES_COUNT]; // GB/s; a copy counts both ways; 0: no cache
    // Of one core; 0: not measured.
    double ghz;                         // of its clock
    double work[ISA_COUNT][WORK_COUNT]; // 10^9 instructions a second, at the width of the ISA
    double latency[LATENCY_COUNT];      // picoseconds
} Rates;

// A processor family (family.c): what one core does in a cycle at best. "Half" is 256 bits and
// less, "full" 512.
typedef struct Family {
    const char *name; // "zen4"; "unknown": the best of all
    Isa isa;          // the widest
    bool has_vnni, has_bf16, has_fp16, has_amx;
    double ghz;                 // of a typical one
    double work[2][WORK_COUNT]; // instructions started, half and full
    double divide[2][3];        // cycles between divisions of f32, f64: one element, half, full
    int latency[LATENCY_COUNT]; // cycles
    int scalar, issue;          // operations of general registers; instructions
    int loads, stores, load_bytes, store_bytes;
    int64_t cache[3];        // of a typical one: L1d, L2, L3
    double gbps[3];          // likewise, loads of one core from L2, L3, memory
    int plan[2][PORT_COUNT]; // Machine.ports of AVX2 and AVX-512: what a planner counts with
} Family;

int family_count(void);
const Family *family_at(int i);
const Family *family_by_name(const char *name);                        // NULL: none such
const Family *family_of(const char *vendor, unsigned cpuid_signature); // never NULL
// What a machine of the family would be measured at, if it did its best.
void family_rates(const Family *f, Rates *out);

typedef struct Machine {
    Isa isa;
    char cpu[64];         // the brand string
    int vector_bytes;     // 64, 32, or 8 for scalar code
    int vector_registers; // 32 or 16
    int fma_ports;        // FMAs started per cycle
    int fma_latency;      // cycles
    int load_ports, store_ports;
    int ports[PORT_COUNT]; // how many of each there are; the three above are among them
    bool folds_broadcast;  // arithmetic takes an embedded broadcast from memory
    bool has_mask;         // masks every lane of every type
    bool has_cvt64;        // converts between 64-bit integers and floats
    bool has_exponents;    // takes floats apart and scales them by powers of two
    bool has_vnni, has_bf16, has_fp16, has_amx;
    int64_t cache[4]; // bytes of L1d, L2, L3 (0: none); [0] unused
    int line_bytes;
    int unroll_limit; // default bound on the vector operations of one straight-line block
    const Family *family;
    const Rates *rates; // NULL: not measured
} Machine;

// This machine, capped at `cap` (ISA_COUNT: no cap). Looks at CPUID and XCR0 each time; no state.
void machine_detect(Machine *m, Isa cap);
// The machine as a given ISA would see it, for generating code that need not run here.
void machine_describe(Machine *m, Isa isa);
// A machine of a family, capped at `cap`. Its code runs where the ISA does (machine_fit).
void machine_pretend(Machine *m, const Family *f, Isa cap);
// Takes from `m` what `host` does not have.
void machine_fit(Machine *m, const Machine *host);
// -1 when unknown.
int isa_by_name(const char *name);

#endif
