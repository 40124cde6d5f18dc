// What the files of this folder share: registers, instructions, and the kernel being written.
#ifndef LW_CODE_PTX_PTX_IMPL_H
#define LW_CODE_PTX_PTX_IMPL_H

#include "code/ptx/ptx.h"

// Registers by size: predicates, 16, 32 and 64 bits.
typedef enum RegClass { REG_PRED, REG_16, REG_32, REG_64, REG_CLASSES } RegClass;

// An operand: a register, or bits of the class as a literal.
typedef struct Opnd {
    uint8_t class;
    bool literal;
    bool var; // a register that later instructions overwrite
    int reg;
    uint64_t bits;
} Opnd;

// An access with its address taken apart: base + rest + constant + Σ coef·(unrolled index).
typedef struct AccessPlan {
    const Access *access;
    bool hard;          // checked, or with subscripts that are read from memory
    const Affine *rest; // bytes; over registers
    int64_t constant;
    int nterms;
    const struct UnrolledTerm {
        int id;
        int64_t coef;
    } * term;
    int align; // bytes by which `rest` is divisible, the buffer's base included
} AccessPlan;

// An element whose value is known, or a register that is an element.
typedef struct Held {
    int buffer;
    const Affine *rest;
    int64_t constant;
    Opnd value;
    bool dirty, pinned, dead;
    int align;
} Held;

// A guard of a node that need not be asked (ptx_idle.c).
typedef struct IdleGuard {
    const GpuNode *node;
    const Affine *guard;
} IdleGuard;

typedef struct Scope {
    Text head, body; // index arithmetic of the scope, then its instructions
} Scope;

typedef struct KnownAffine {
    const Affine *a;
    int depth;
    bool wide;
    Opnd value;
} KnownAffine;

typedef struct KernelWriter {
    Arena *arena;
    const GpuProgram *g;
    const GpuKernel *k;
    Tree *t;
    Exprs *x;
    DiagList *diags;
    int align; // of arguments
    bool failed;
    int nregs[REG_CLASSES];
    int nlabels;
    VEC(Scope *) scope;
    Text *out; // where instructions go now
    // Indices
    int *depth;           // per id: the scope that defines it; -1: not open
    Opnd *index;          // per id: its register
    const Affine **fixed; // per id: its value where the loop is unrolled, else NULL
    int64_t *env;         // the same as a number
    bool *unrolled;       // per id
    VEC(KnownAffine) known;
    int *known_table, known_cap;
    // Memory
    Opnd *base; // per buffer: its address
    VEC(Held) loc;
    int *loc_table, loc_cap;
    VEC(Held) wanted; // elements that the straight-line code will read
    int *wanted_table, wanted_cap;
    Numbers plan_of;
    VEC(AccessPlan) plans;
    VEC(const Affine *) assumed; // guards that hold here
    VEC(IdleGuard) idle;
    const Leaf *leaf;
    Opnd status, scratch_base;
    bool checks, uses_local, uses_shared;
    bool straight;             // inside straight-line code that was scanned
    bool near;                 // angles are small: no rescue
    int64_t shared;            // bytes in use
    int serial;                // serial loops around
    bool fetching;             // operands are loaded ahead
    VEC(const GpuNode *) late; // copies to begin once the first operands are being loaded
    struct Promotion *promotion;
    bool accumulate, skip_post;
    struct KnownValue *values;          // ptx_known.c: operations whose results are in registers
    int block;                          // straight-line code so far
    VEC(uint32_t) version[REG_CLASSES]; // per register: how often it was overwritten
    Numbers *line_of;                   // per node of the Tree: its line, for comments; NULL: none
} KernelWriter;

// --- Text ---------------------------------------------------------------------------------------
RegClass class_of(Type t);
Opnd reg_new(KernelWriter *w, RegClass class);
Opnd lit(RegClass class, uint64_t bits);
Opnd lit_value(Type t, Value v); // of type_compute(t); bool as 0 or 1 in 32 bits
void ins(KernelWriter *w, const char *op, int n, const Opnd *args);
#define INS(w, op, ...)                                                                            \
    ins(w, op, (int)(sizeof((Opnd[]){__VA_ARGS__}) / sizeof(Opnd)), (Opnd[]){__VA_ARGS__})
// The result of an instruction, in a new register.
Opnd ins_new(KernelWriter *w, RegClass class, const char *op, int n, const Opnd *args);
#define NEW(w, class, op, ...)                                                                     \
    ins_new(w, class, op, (int)(sizeof((Opnd[]){__VA_ARGS__}) / sizeof(Opnd)),                     \
            (Opnd[]){__VA_ARGS__})
void opnd_print(Text *out, Opnd o);
void line(KernelWriter *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
int label_new(KernelWriter *w);
void label_put(KernelWriter *w, int label);
void branch(KernelWriter *w, Opnd pred, bool when, int label);
Opnd moved(KernelWriter *w, Opnd o); // in a register of its own that may be overwritten

// --- ptx_index.c ---------------------------------------------------------------------------------
// The value in 32 bits if it fits, else in 64; `wide` asks for 64.
Opnd affine_value(KernelWriter *w, const Affine *a, bool wide);
// base + rest, one register for each `key`.
Opnd affine_plus(KernelWriter *w, const Affine *key, Opnd base, const Affine *rest);
// A predicate: all guards hold. `none`: nothing to ask.
typedef enum Answer { ANSWER_NO, ANSWER_YES, ANSWER_ASK } Answer;
Answer guards_value(KernelWriter *w, const GpuNode *n, Opnd *pred);
Answer guard_known(KernelWriter *w, const Affine *a);
void scope_open(KernelWriter *w);
void scope_close(KernelWriter *w);
void known_drop(KernelWriter *w, int count);
bool fits_32(const KernelWriter *w, const Affine *a);
Opnd index_read(KernelWriter *w, const Access *a); // an element as an index, i64
void check_fail(KernelWriter *w, Opnd bad);        // predicate: report this leaf's statement

// --- ptx_memory.c --------------------------------------------------------------------------------
const AccessPlan *access_plan(KernelWriter *w, const Access *a);
int64_t plan_constant(const KernelWriter *w, const AccessPlan *p);
Opnd element_load(KernelWriter *w, const Access *a);
void element_store(KernelWriter *w, const Access *a, Opnd value);
int alignment_of(const KernelWriter *w, int buffer, const Affine *rest);
Opnd element_at(KernelWriter *w, int buffer, Opnd address, int64_t disp);
void element_put(KernelWriter *w, int buffer, Opnd address, int64_t disp, Opnd v);
void loc_drop(KernelWriter *w, Held *l);
void plans_clear(KernelWriter *w);  // the ranges of indices change
void memory_flush(KernelWriter *w); // stores what is dirty, forgets what is not pinned
void memory_store(KernelWriter *w,
                  int buffer); // stores what is dirty of a buffer, and still knows it
// Before an element with this `rest` is read or written: stores the dirty elements of the buffer
// that may be the same, and forgets them before a write.
void memory_settle(KernelWriter *w, int buffer, const Affine *rest, bool write);
void memory_forget(KernelWriter *w, int from);      // what was learnt in a branch
void memory_want(KernelWriter *w, const Access *a); // the straight-line code will read it
void wanted_clear(KernelWriter *w);
Held *loc_find(KernelWriter *w, int buffer, const Affine *rest, int64_t constant);
Held *loc_new(KernelWriter *w, int buffer, const Affine *rest, int64_t constant);
Opnd address_of(KernelWriter *w, int buffer, const Affine *rest, int64_t constant, int64_t *disp);
const char *space_name(const KernelWriter *w, int buffer);
void copy_vector(KernelWriter *w, const GpuNode *n);

// --- ptx_value.c ---------------------------------------------------------------------------------
Opnd expr_value(KernelWriter *w, const Expr *e);
Opnd convert(KernelWriter *w, Type to, Type from, Opnd v);
Opnd operation(KernelWriter *w, ExprOp op, Type type, const Opnd *args); // of type_compute(type)
Opnd combine(KernelWriter *w, Reduce op, Type type, Opnd a, Opnd b);
Opnd predicate(KernelWriter *w, Opnd v); // of a bool
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
bool func_has(ExprOp op, Type type);
Opnd func_value(KernelWriter *w, ExprOp op, Type type, const Opnd *args);

// --- ptx_body.c ----------------------------------------------------------------------------------
void body_emit(KernelWriter *w, const GpuNode *n);
void body_grid(KernelWriter *w);                   // the whole kernel
Opnd first_thread(KernelWriter *w, unsigned axes); // predicate: number 0 on the axes
bool leaf_skipped(const KernelWriter *w, const Leaf *leaf);
typedef void LeafVisit(KernelWriter *w, const GpuNode *n, void *user);
// Calls fn for every instance of the leaves below, unrolled loops run, others at their first value.
void for_instances(KernelWriter *w, const GpuNode *n, LeafVisit *fn, void *user);
// The same for every element that leaves below touch: a loop that changes neither an element nor a
// guard that matters runs once.
typedef struct ElementUse {
    bool (*guard)(const GpuNode *leaf, const Affine *guard, const void *user); // does it matter?
    bool (*access)(const GpuNode *leaf, const Access *a, const void *user);
} ElementUse;
void for_elements(KernelWriter *w, const GpuNode *n, const ElementUse *use, LeafVisit *fn,
                  void *user);
void index_set(KernelWriter *w, int id, int64_t v);        // of an unrolled loop
bool guard_always(const KernelWriter *w, const Affine *a); // by the ranges of indices

// --- ptx_idle.c ----------------------------------------------------------------------------------
// Does the store of the element that the leaf computes have the guard, given at the values of
// unrolled loops?
typedef bool KeepsGuard(KernelWriter *w, const GpuNode *leaf, const Affine *guard, void *user);
// Adds the idle guards below to w->idle.
void idle_find(KernelWriter *w, const GpuNode *root, KeepsGuard *keeps, void *user);
bool guard_is_idle(const KernelWriter *w, const GpuNode *n, const Affine *a);

// --- ptx_promote.c -------------------------------------------------------------------------------
// Keeps elements in registers during a serial loop, and puts them back.
void promote_enter(KernelWriter *w, const GpuNode *loop);
void promote_leave(KernelWriter *w);

// --- ptx_reduce.c --------------------------------------------------------------------------------
void reduce_emit(KernelWriter *w, const GpuNode *n);

#endif
