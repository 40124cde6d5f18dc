// What a target is, as numbers. Code generators and cost models read these and never ask for a
// CPU's name.
#ifndef LW_MACHINE_MACHINE_H
#define LW_MACHINE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum Isa { ISA_SCALAR, ISA_AVX2, ISA_AVX512, ISA_COUNT } Isa;
extern const char *const isa_name[ISA_COUNT]; // "scalar", "avx2", "avx512"

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

typedef struct Rates {
    int cores;                                         // that "all" means
    double fma[ISA_COUNT][2][CORES_COUNT];             // GFLOP/s in f32 and f64; 0: no such ISA
    double move[LEVEL_COUNT][MOVE_COUNT][CORES_COUNT]; // GB/s; a copy counts both ways; 0: no cache
} Rates;

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
    int unroll_limit;   // default bound on the vector operations of one straight-line block
    const Rates *rates; // NULL: not measured
} Machine;

// This machine, capped at `cap` (ISA_COUNT: no cap). Looks at CPUID and XCR0 each time; no state.
void machine_detect(Machine *m, Isa cap);
// The machine as a given ISA would see it, for generating code that need not run here.
void machine_describe(Machine *m, Isa isa);
// -1 when unknown.
int isa_by_name(const char *name);

#endif
