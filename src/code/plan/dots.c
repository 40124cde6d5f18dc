// Plan, step 2: sums of products of narrow integers, several at a time.
//
// If two (or four) adjacent elements are multiplied with two (or four) others and summed,
//
//     for k in 2 { for n vector { C[n] += i32(A[k])·i32(B[2·n + k]) } }       A, B of i16
//
// one instruction does this for each lane of 4 bytes: vpmaddwd, vpdpwssd, and for four products of
// u8 by i8 vpdpbusd. The loop over k is removed, and the operands are read as words that contain
// its elements:
//
//     for n vector { C[n] += dot(A as i32, B[n] as i32) }
//
// Sums of i32 wrap, so their order does not matter: the sum of two products of i16 is at most 2^31,
// which wraps in the same way. (vpmaddubsw saturates, so it cannot be used.) Other operations in
// between would matter, so the loop may contain nothing but loops around that one statement.
#include "code/plan/plan.h"

static bool is_word(Type t) { return t == TYPE_I32 || t == TYPE_U32; }

// The element that an operand converts to a wider type; NULL: the operand is something else.
static Mem *factor(PNode *leaf, const Expr *e) {
    if (e->kind != EXPR_OP || e->op != OP_CAST || !is_word(e->type)) return NULL;
    if (e->arg[0]->kind != EXPR_READ) return NULL;
    Mem *m = (Mem *)leaf_mem(leaf, e->arg[0]->access);
    return m->off && !m->inner ? m : NULL;
}

// Is there an instruction that adds n products of these types as they are?
static bool has_instruction(const Machine *m, Type a, Type b, int64_t n) {
    Type as;
    return dot_products(m, a, b, &as) == n && (as == TYPE_NONE || (a == as && b == as));
}

// Is the operand contiguous in words along the loop, with whole words for each lane?
static bool lies_in_words(const Plan *p, const PNode *loop, const PNode *leaf, const Mem *m) {
    if (lin_coef(m->off, loop->loop) != type_info[m->type].bytes) return false;
    if (leaf->simd.vloop >= 0) {
        int64_t lane = lin_coef(m->off, leaf->simd.vloop);
        if (lane != 0 && lane != LIMIT_WORD) return false;
    }
    return m->buffer < p->tree->nargs || p->alloc_loop[m->buffer] < loop->loop;
}

// The only leaf below, if no other node on the path depends on the loop; else NULL.
static PNode *only_leaf(PNode *n, int loop) {
    for (int i = 0; i < n->nbounds; i++)
        if (lin_coef(n->bound[i].rest, loop)) return NULL;
    for (int i = 0; i < n->nconds; i++)
        if (lin_coef(n->cond[i], loop)) return NULL;
    if (n->kind == P_LEAF) return n;
    return n->nchild == 1 && !n->nhard && !n->flag ? only_leaf(n->child[0], loop) : NULL;
}

static void take_together(const Plan *p, PNode *n) {
    PNode *leaf = n->nchild == 1 && !n->nbounds ? only_leaf(n->child[0], n->loop) : NULL;
    if (!leaf || leaf->dot.n || leaf->leaf->op != REDUCE_ADD || !is_word(leaf->write.type)) return;
    const Expr *e = leaf->leaf->value;
    if (e->kind != EXPR_OP || e->op != OP_MUL || !leaf->write.off) return;
    Mem *x = factor(leaf, e->arg[0]), *y = factor(leaf, e->arg[1]);
    if (!x || !y || !has_instruction(p->machine, x->type, y->type, n->extent)) return;
    if (lin_coef(leaf->write.off, n->loop) || !lies_in_words(p, n, leaf, x) ||
        !lies_in_words(p, n, leaf, y))
        return;
    leaf->dot.n = (int)n->extent;
    leaf->dot.swapped = x->type == TYPE_I8;
    x->type = y->type = TYPE_I32;
    n->extent = 1;
}

void plan_dots(Plan *p) {
    if (p->machine->vector_bytes <= 8) return; // scalar code
    for (int i = 0; i < p->nloops; i++) {
        PNode *n = p->loop[i];
        bool plain = n->mark != KIND_VECTOR && n->mark != KIND_PARALLEL;
        if (plain && (n->extent == 2 || n->extent == 4)) take_together(p, n);
    }
}
