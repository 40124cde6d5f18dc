// Scalar expressions: the value that one instance of a statement computes.
//
// Nodes are immutable and hash-consed in an Exprs pool together with Affines: equal means ==. Every
// node has its type; arithmetic happens in type_compute(type), and a value of type f16 or bf16
// rounds to storage only by a CAST or a store. Operands of ARITH and COMPARE have one common type:
// conversions are explicit CAST nodes, inserted by whoever builds the expression (expr_cast gives
// the operand back when nothing is to be done).
//
//   EXPR_CONST   a literal                         EXPR_INDEX   the value of an Affine, an i64
//   EXPR_READ    an element of a tensor            EXPR_OP      an operation of expr.def
//
// SELECT(c, a, b) evaluates only the branch it selects: reads under it are performed, and checked,
// only there. AND and OR evaluate their right operand only when needed. DIV and MOD of integers are
// floor; x/0 = x%0 = 0. MOD of floats is floor as well (sign of the divisor); FMOD is C's. Shifts
// take the count modulo the width. MIN and MAX propagate NaN and order -0 < +0. RELU(x) is MAX(x,
// 0). `+=` of a MUL rounds once (fused), see program.h.
#ifndef LW_PROGRAM_EXPR_H
#define LW_PROGRAM_EXPR_H

#include "base/types.h"
#include "base/vec.h"
#include "program/affine.h"

typedef enum ExprOp {
#define OP(id, ...) OP_##id,
#include "program/expr.def"
#undef OP
    OP_COUNT
} ExprOp;

typedef enum OpClass { OP_ARITH, OP_COMPARE, OP_LOGIC, OP_MATH, OP_OTHER } OpClass;

typedef enum OpCost { COST_FREE, COST_ONE, COST_LONG } OpCost;
typedef enum OpTrait { TRAIT_PLAIN, TRAIT_BITS, TRAIT_LAZY, TRAIT_EXACT } OpTrait;

// A row of expr.def, which explains the columns.
typedef struct OpInfo {
    const char *name;
    int arity;
    OpClass class;
    int binds, tc_binds;
    const char *stripe;
    OpCost cost;
    OpTrait trait;
} OpInfo;

extern const OpInfo op_info[OP_COUNT];

// One element of a tensor (in a Program) or of a buffer (in a Tree): number and one subscript per
// dimension.
struct Access {
    int tensor;
    int rank;
    int depth, weight;
    bool has_iter, has_param, has_read; // in some subscript
    const Affine *sub[];
};

// The value of an operation over constants folds. A node beyond the limits of affine.h sets
// `too_large` and gives a constant 0 of its type.
typedef enum ExprKind { EXPR_CONST, EXPR_INDEX, EXPR_READ, EXPR_OP } ExprKind;

typedef struct Expr Expr;
struct Expr {
    ExprKind kind;
    Type type;
    ExprOp op; // EXPR_OP
    int n;     // operands
    int depth, weight;
    union {
        Value value;          // EXPR_CONST
        const Affine *index;  // EXPR_INDEX
        const Access *access; // EXPR_READ
    };
    const Expr *arg[];
};

// The pool: everything in it lives as long as its arena.
struct Exprs {
    Arena *arena;
    Set affines, atoms, accesses, exprs;
    int natoms;
    int first_element; // iterators from this number on stand for elements of tensors; 0: none
    const Affine *iter[64], *param[16],
        *small[64]; // the most frequent ones: i0, p0, constants -1 ... 62
    bool overflow;  // some affine constructor overflowed since this was last cleared
    bool too_large; // some node went beyond a limit of affine.h since this was last cleared
};

void exprs_init(Exprs *x, Arena *arena);
// A pool that begins with the nodes of another and grows independently.
Exprs *exprs_fork(Arena *arena, const Exprs *x);

const Access *access_make(Exprs *x, int tensor, int rank, const Affine *const *sub);
const Expr *expr_const(Exprs *x, Type type, Value value);
const Expr *expr_int(Exprs *x, Type type, int64_t i);             // converts to type
const Expr *expr_float(Exprs *x, Type type, double f);            // converts to type
const Expr *expr_index(Exprs *x, Type type, const Affine *index); // i64, cast to type
const Expr *expr_read(Exprs *x, Type type, const Access *access);
const Expr *expr_op(Exprs *x, ExprOp op, Type type, int n, const Expr *const *arg);
const Expr *expr_unary(Exprs *x, ExprOp op, const Expr *a);                 // type of a
const Expr *expr_binary(Exprs *x, ExprOp op, const Expr *a, const Expr *b); // type of a, or bool
const Expr *expr_select(Exprs *x, const Expr *c, const Expr *a, const Expr *b);
// `a` itself when it has the type already. A cast that the program spells out is made with expr_op:
// of an operation of type f16 or bf16 to its own type it rounds the f32 result.
const Expr *expr_cast(Exprs *x, Type to, const Expr *a);

// Substitution (see affine.h) in everything that the expression or access holds.
const Expr *expr_subst(Exprs *x, const Expr *e, const Subst *s);
const Access *access_subst(Exprs *x, const Access *a, const Subst *s);
const Expr *expr_substitute(Exprs *x, const Expr *e, const Affine *const *iters,
                            const Affine *const *params, AccessMap *map, void *user);
const Access *access_substitute(Exprs *x, const Access *a, const Affine *const *iters,
                                const Affine *const *params, AccessMap *map, void *user);

// Calls fn on every access of the expression, those inside subscripts included (inner ones first).
// `guarded` is true for a read that some instance may not perform (a SELECT branch, right of
// AND/OR).
typedef void AccessVisit(void *user, const Access *access, bool guarded);
void expr_visit_accesses(const Expr *e, AccessVisit *fn, void *user);
void affine_visit_accesses(const Affine *a, AccessVisit *fn, void *user);

// Accesses, each once. access_collect is the visitor that fills a list, given as `user`.
typedef struct AccessList {
    Arena *arena;
    VEC(const Access *) at;
} AccessList;
void access_collect(void *list, const Access *access, bool guarded);
// Does every iterator inside a read also occur outside of reads, as in KC[b, pos[b] + t]? If
// not, iterations that read equal integers access one element.
bool access_tells_iters(const Access *a);
// Does a subscript mention the iterator?
bool access_uses_iter(const Access *a, int iter);

// A name, in backquotes unless it is a single word without another meaning in program text.
void name_print(Text *out, Name name);
bool name_reserved(const char *name, int len);
// Infix text with as few parentheses as the precedences of C allow: "A[i, k]*x[k] + 1.0". It is
// the syntax of program text: float literals are f32 and integers i32 unless a type stands around
// them, f64(0.1); the value of an affine is index(2*i + 1), a cast is f32(A[i]).
// true, 1.5 or 7: without the type.
void value_print(Text *out, Type type, Value v);
void expr_print(Text *out, const Expr *e, const PrintNames *names);
void access_print(Text *out, const Access *a, const PrintNames *names);
// Binding strength of an infix operator, 1 (OR) to 10 (MUL, DIV, MOD); 0 for what is written as a
// call.

// One operation on values already of the operand type; `type` is the operands' type. Defines the
// arithmetic: the interpreters and constant folding call only this.
Value op_eval(ExprOp op, Type type, const Value *arg);
// The value of an expression at a point; false when it reads a tensor (or an index overflows).
bool expr_eval(const Expr *e, const int64_t *iters, Value *out);

#endif
