// Declarations shared by the files of this folder: registers, instructions, and the state of the
// kernel being printed.
#ifndef LW_CODE_PTX_PTX_IMPL_H
#define LW_CODE_PTX_PTX_IMPL_H

#include "code/ptx/ptx.h"

#include <string.h>

// Register classes by size: predicates, 16, 32 and 64 bits.
typedef enum RegClass { REG_PRED, REG_16, REG_32, REG_64, REG_CLASSES } RegClass;

// An operand: a register, or a literal as the bits of its class.
typedef struct Opnd {
    uint8_t class;
    bool literal;
    bool var; // a register that later instructions overwrite
    int reg;
    uint64_t bits;
} Opnd;

// An access with its address as a sum: base + rest + constant + Σ coef·(unrolled index).
typedef struct AccessPlan {
    const Access *access;
    bool hard;          // the address has run-time checks or subscripts that are read from memory
    bool varies;        // each value of an unrolled loop needs a plan of its own
    int row;            // hard: of a row whose address is computed once (ptx_row.c), or -1
    const Affine *soft; // of a row: bytes from its start, in terms of indices in registers
    const Affine *rest; // in bytes, in terms of indices that are in registers
    int64_t constant;
    int nterms;
    const struct UnrolledTerm {
        int id;
        int64_t coef;
    } * term;
    int align; // in bytes: a divisor of base + rest
} AccessPlan;

// An element whose value is in a register: either a copy of it, or its only place while it is
// pinned.
typedef struct Held {
    int buffer;
    const Affine *rest;
    int64_t constant;
    Opnd value;
    bool dirty, pinned, dead;
    int align;
    int promoted; // its number in the loop that keeps it in a register
    int branches; // surrounding branches where it was learnt
} Held;

// The elements of a list by buffer, rest and constant.
typedef struct HeldTable {
    struct HeldSlot {
        const Affine *rest;
        int64_t constant;
        int buffer;
        int number, stamp; // in the list; the slot is free unless the stamp is the table's
    } * slot;
    int cap, stamp;
} HeldTable;
typedef struct HeldSlot HeldSlot;

// A row of a table: subscripts that are checked or read from memory choose it (ptx_row.c).
typedef struct TableRow {
    int buffer;
    const Affine **sub; // per dimension; NULL: it does not choose the row
    unsigned checked;   // dimensions that are compared with their sizes
    bool open;          // straight-line code has computed its address
    Opnd address;
    const Affine *soft; // the last distance from its start that was computed
    Opnd at;
} TableRow;

// A guard of a node that need not be tested (ptx_idle.c).
typedef struct IdleGuard {
    const GpuNode *node;
    const Affine *guard;
} IdleGuard;

// Text in pieces, so that long texts can be joined without copying them.
typedef struct PtxPiece PtxPiece;
typedef struct PtxText {
    PtxPiece *first, *last;
} PtxText;

typedef struct Scope {
    PtxText head, body; // the index arithmetic of the scope, then its instructions
} Scope;

typedef struct KnownAffine {
    const Affine *a;
    int depth;
    bool wide;
    Opnd value;
} KnownAffine;

// See affine_fixed: `a` without unrolled loops, whose terms have this sum.
typedef struct FixedAffine {
    const Affine *a, *value;
    int64_t sum;
} FixedAffine;

// A guard whose predicate is in a register.
typedef struct AskedGuard {
    const Affine *guard;
    Opnd pred;
} AskedGuard;

// See address_key.
typedef struct AddressKey {
    const Affine *rest, *key;
    int buffer;
} AddressKey;

enum { RECENT_PLANS = 512, RECENT_KEYS = 64, SMALL_CONSTS = 256 };

typedef struct KernelWriter {
    Arena *arena;
    const GpuProgram *g;
    const GpuKernel *k;
    Tree *t;
    Exprs *x;
    DiagList *diags;
    int align; // bytes to which arguments are aligned
    bool failed;
    int nregs[REG_CLASSES];
    int nlabels;
    VEC(Scope *) scope;
    PtxText *out; // instructions are printed here
    // Indices
    int *depth;                        // per id: the scope that defines it; -1: none does
    Opnd *index;                       // per id: its register
    const Affine **fixed;              // per id: its value if the loop is being unrolled, else NULL
    int64_t *env;                      // the same value as a number
    const Affine *small[SMALL_CONSTS]; // constants that have been values of unrolled loops
    bool *unrolled;                    // per id
    VEC(KnownAffine) known;
    int *known_table, known_cap;
    FixedAffine *fixed_table;
    // Memory
    Opnd *base;  // per buffer: its address
    bool *empty; // per buffer: it has no elements
    VEC(Held) loc;
    VEC(Held) wanted; // elements that the straight-line code will read
    HeldTable loc_table, wanted_table;
    Numbers plan_of;
    VEC(AccessPlan) plans;
    int recent_plan[RECENT_PLANS];
    AddressKey recent_key[RECENT_KEYS];
    VEC(TableRow) row;
    VEC(const Affine *) assumed; // guards that hold here
    VEC(IdleGuard) idle;
    VEC(AskedGuard) asked; // while asks_once: a sequence whose guards do not depend on branches
    bool asks_once;
    const Leaf *leaf;
    Opnd status, scratch_base;
    bool checks, uses_local, uses_shared, swizzles;
    bool straight;             // the code is straight-line and was scanned
    bool near;                 // angles are known to be small: MI_RESCUE is not needed
    bool normal;               // quotients are known to be normal numbers
    int64_t shared;            // bytes of shared memory in use
    int serial;                // number of surrounding serial loops
    int branches;              // number of surrounding branches of guards
    bool fetching;             // operands are loaded one iteration ahead
    VEC(const GpuNode *) late; // copies to start after the loads of the first operands
    struct Promotion *promotion;
    bool accumulate, skip_post;
    struct KnownValue *values;          // ptx_known.c: operations whose results are in registers
    int block;                          // number of the current piece of straight-line code
    VEC(uint32_t) version[REG_CLASSES]; // per register: number of times it was overwritten
    Numbers *line_of;                   // per node of the Tree: its line, for comments; NULL: none
} KernelWriter;

// --- Text ---------------------------------------------------------------------------------------
RegClass class_of(Type t);
Opnd reg_new(KernelWriter *w, RegClass class);
Opnd lit(RegClass class, uint64_t bits);
Opnd lit_value(Type t, Value v); // of type_compute(t); a bool is 0 or 1 in 32 bits
void ins(KernelWriter *w, const char *op, int n, const Opnd *args);
#define INS(w, op, ...)                                                                            \
    ins(w, op, (int)(sizeof((Opnd[]){__VA_ARGS__}) / sizeof(Opnd)), (Opnd[]){__VA_ARGS__})
// The result of an instruction, in a new register.
Opnd ins_new(KernelWriter *w, RegClass class, const char *op, int n, const Opnd *args);
#define NEW(w, class, op, ...)                                                                     \
    ins_new(w, class, op, (int)(sizeof((Opnd[]){__VA_ARGS__}) / sizeof(Opnd)),                     \
            (Opnd[]){__VA_ARGS__})
enum { MOST_LINE = 320 };                       // bytes of an instruction
char *out_room(KernelWriter *w);                // has room for a line
void out_end(KernelWriter *w, char *to);        // the line ends before `to`
void ptx_text_join(PtxText *to, PtxText *from); // moves what is in `from` to the end
size_t ptx_text_size(const PtxText *p);         // in bytes
void ptx_text_print(Text *out, const PtxText *p);
// The pieces of a line: each function returns the end of what it wrote.
static inline char *put_text(char *to, const char *s) {
    size_t n = strlen(s);
    memcpy(to, s, n);
    return to + n;
}
char *put_int(char *to, int64_t i);
char *put_register(char *to, Opnd o);
char *put_mask(char *to, uint32_t bits);              // 0xff
char *put_slot(char *to, Opnd address, int64_t disp); // [%r1+0]
void line(KernelWriter *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
int label_new(KernelWriter *w);
void label_put(KernelWriter *w, int label);
void branch(KernelWriter *w, Opnd pred, bool when, int label);
Opnd moved(KernelWriter *w, Opnd o); // a copy in a new register that may be overwritten

// --- ptx_index.c ---------------------------------------------------------------------------------
// The value in a 32-bit register if it fits, else in a 64-bit one; `wide` requests 64 bits.
Opnd affine_value(KernelWriter *w, const Affine *a, bool wide);
// base + rest; one register for each `key`.
Opnd affine_plus(KernelWriter *w, const Affine *key, Opnd base, const Affine *rest);
// The scope in which an affine is computed, and what is known there: values by any key.
int affine_depth(const KernelWriter *w, const Affine *a);
KnownAffine *known_find(KernelWriter *w, const Affine *a, bool wide, bool add);
// The affine for the current values of unrolled loops.
const Affine *affine_fixed(KernelWriter *w, const Affine *a);
// Whether guards hold: no, yes, or only a test at run time can tell.
typedef enum Answer { ANSWER_NO, ANSWER_YES, ANSWER_ASK } Answer;
Answer guards_value(KernelWriter *w, const GpuNode *n, Opnd *pred);
Answer guard_known(KernelWriter *w, const Affine *a);
void scope_open(KernelWriter *w);
void scope_close(KernelWriter *w);
void known_drop(KernelWriter *w, int count);
bool fits_32(const KernelWriter *w, const Affine *a);
Opnd index_read(KernelWriter *w, const Access *a); // an element read as an index, in i64
// `bad` is a predicate: report the statement of this leaf.
void check_fail(KernelWriter *w, Opnd bad);

// --- ptx_memory.c --------------------------------------------------------------------------------
const AccessPlan *access_plan(KernelWriter *w, const Access *a);
int64_t plan_constant(const KernelWriter *w, const AccessPlan *p);
Opnd element_load(KernelWriter *w, const Access *a);
Held *element_pinned(KernelWriter *w, const Access *a); // NULL: it is not pinned
void element_store(KernelWriter *w, const Access *a, Opnd value);
int alignment_of(const KernelWriter *w, int buffer, const Affine *rest);
Opnd element_at(KernelWriter *w, int buffer, Opnd address, int64_t disp);
void element_put(KernelWriter *w, int buffer, Opnd address, int64_t disp, Opnd v);
void loc_drop(KernelWriter *w, Held *l);
void plans_clear(KernelWriter *w);  // call it when the ranges of indices change
void memory_flush(KernelWriter *w); // stores dirty elements, and forgets all that are not pinned
// The same where threads meet, in code that all of them run: elements of buffers that the kernel
// does not write stay known.
void memory_sync(KernelWriter *w);
// The same behind a branch: forgets what was learnt in it.
void memory_join(KernelWriter *w);
// Stores the dirty elements of a buffer, but still knows their values.
void memory_store(KernelWriter *w, int buffer);
// Before an element with this `rest` is read or written: stores the dirty elements of the buffer
// that may be the same, and forgets them before a write.
void memory_settle(KernelWriter *w, int buffer, const Affine *rest, bool write);
// Forgets the values that were learnt in a branch.
void memory_forget(KernelWriter *w, int from);
// Announces that the straight-line code will read it.
void memory_want(KernelWriter *w, const Access *a);
void wanted_clear(KernelWriter *w);
Held *loc_find(KernelWriter *w, int buffer, const Affine *rest, int64_t constant);
Held *loc_new(KernelWriter *w, int buffer, const Affine *rest, int64_t constant);
Opnd address_of(KernelWriter *w, int buffer, const Affine *rest, int64_t constant, int64_t *disp);
const char *space_name(const KernelWriter *w, int buffer);
bool needs_check(const KernelWriter *w, const Affine *sub, int64_t size);
bool mentions_unrolled(const KernelWriter *w, const Affine *a);
void divide_terms(KernelWriter *w, AccessPlan *p, const Affine *sum);
// base + the subscripts of the given dimensions, compared with sizes where that is needed.
Opnd checked_address(KernelWriter *w, const Access *a, unsigned dims, Opnd base);
Opnd base_of(KernelWriter *w, int buffer);
// The offset of an instruction; what it has no room for is added to `rest`.
const Affine *near_offset(KernelWriter *w, const Affine *rest, int64_t constant, int64_t *disp);
void copy_vector(KernelWriter *w, const GpuNode *n);

// --- ptx_swizzle.c -------------------------------------------------------------------------------
Opnd swizzle_register(KernelWriter *w, Swizzle z, Opnd offset);
// As address_of, in a buffer with a swizzle.
Opnd swizzle_address(KernelWriter *w, int buffer, Opnd base, const Affine *rest, int64_t constant,
                     int64_t *disp);

// --- ptx_row.c -----------------------------------------------------------------------------------
// Plans a hard access whose row is computed once; false: it has no such row.
bool row_plan(KernelWriter *w, const Access *a, AccessPlan *p);
Opnd row_address(KernelWriter *w, const AccessPlan *p, int64_t constant, int64_t *disp);
void rows_close(KernelWriter *w); // the straight-line code ends

// --- ptx_value.c ---------------------------------------------------------------------------------
Opnd expr_value(KernelWriter *w, const Expr *e);
Opnd convert(KernelWriter *w, Type to, Type from, Opnd v);
Opnd operation(KernelWriter *w, ExprOp op, Type type, const Opnd *args); // of type_compute(type)
Opnd combine(KernelWriter *w, Reduce op, Type type, Opnd a, Opnd b);
Opnd predicate(KernelWriter *w, Opnd v); // from a bool
Opnd wrapped(KernelWriter *w, Type t, Opnd v);
void reg_assign(KernelWriter *w, Opnd to, Opnd v);

// --- ptx_known.c ---------------------------------------------------------------------------------
typedef struct KnownValue KnownValue;
KnownValue *value_slot(KernelWriter *w, ExprOp op, Type type, const Opnd *v, bool *found);
Opnd value_found(const KnownValue *k);
void value_put(KernelWriter *w, KnownValue *k, ExprOp op, Type type, const Opnd *v, Opnd value);
void value_overwritten(KernelWriter *w, Opnd o);
void values_forget(KernelWriter *w);

// --- ptx_func.c ----------------------------------------------------------------------------------
Opnd func_value(KernelWriter *w, ExprOp op, Type type, const Opnd *args);

// --- ptx_body.c ----------------------------------------------------------------------------------
void body_emit(KernelWriter *w, const GpuNode *n);
void body_grid(KernelWriter *w);                   // the whole kernel
Opnd first_thread(KernelWriter *w, unsigned axes); // a predicate: number 0 on all of the axes
bool leaf_skipped(const KernelWriter *w, const Leaf *leaf);
typedef void LeafVisit(KernelWriter *w, const GpuNode *n, void *user);
// Calls fn for every instance of the leaves below: for all iterations of unrolled loops, and the
// first one of other loops.
void for_instances(KernelWriter *w, const GpuNode *n, LeafVisit *fn, void *user);
// The same for every element that the leaves below access: a loop that changes neither an element
// nor a relevant guard is visited once.
typedef struct ElementUse {
    // Is the guard relevant?
    bool (*guard)(const GpuNode *leaf, const Affine *guard, const void *user);
    bool (*access)(const GpuNode *leaf, const Access *a, const void *user);
} ElementUse;
void for_elements(KernelWriter *w, const GpuNode *n, const ElementUse *use, LeafVisit *fn,
                  void *user);
void index_set(KernelWriter *w, int id, int64_t v);        // sets the index of an unrolled loop
bool guard_always(const KernelWriter *w, const Affine *a); // do the ranges of indices prove it?

// --- ptx_idle.c ----------------------------------------------------------------------------------
// Does the store of the element that the leaf computes have this guard? The values of unrolled
// loops are substituted in the guard.
typedef bool KeepsGuard(KernelWriter *w, const GpuNode *leaf, const Affine *guard, void *user);
// Adds the idle guards below `root` to w->idle.
void idle_find(KernelWriter *w, const GpuNode *root, KeepsGuard *keeps, void *user);
bool guard_is_idle(const KernelWriter *w, const GpuNode *n, const Affine *a);

// --- ptx_promote.c -------------------------------------------------------------------------------
// Keeps elements in registers during a serial loop, and stores them afterwards.
void promote_enter(KernelWriter *w, const GpuNode *loop);
void promote_leave(KernelWriter *w);

// --- ptx_reduce.c --------------------------------------------------------------------------------
void reduce_emit(KernelWriter *w, const GpuNode *n);

#endif
