// Parsing PTX: the state of parse.c, and what decode.c needs of it.
#ifndef LW_EMULATE_PARSE_H
#define LW_EMULATE_PARSE_H

#include <setjmp.h>
#include <stdarg.h>

#include "emulate/impl.h"

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
const Op *emu_find_op(PtxParser *p, PtxWord spelling);

#endif
