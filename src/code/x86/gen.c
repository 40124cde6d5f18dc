// Plan -> x86-64: prologue, loops, guards, regions. See gen.h.
#include "code/x86/gen.h"

#include <string.h>

#include "base/bug.h"
#include "base/checked.h"
#include "base/kernel_abi.h"

static void walk(Gen *g, PNode *n);
static void nodes(Gen *g, PNode **at, int n);

// ---- Small things

AsmLabel *gen_pool(Gen *g, const void *bytes, int size) {
    for (int i = 0; i < g->pool.n; i++)
        if (g->pool.at[i]->size == size && !memcmp(g->pool.at[i]->bytes, bytes, (size_t)size))
            return &g->pool.at[i]->label;
    PoolEntry *e = arena_new(g->arena, PoolEntry);
    memcpy(e->bytes, bytes, (size_t)size);
    e->size = size;
    e->label = asm_label(&g->a);
    vec_push(g->arena, &g->pool, e);
    return &e->label;
}

void gen_load_item(Gen *g, unsigned gpr, Item it) {
    if (it.reg >= 0)
        x86_2(&g->a, X86_mov, x86_r64(gpr), x86_r64((unsigned)it.reg));
    else
        x86_2(&g->a, X86_mov, x86_r64(gpr), gen_slot(it.slot));
}

static X86Arg item_arg(Item it) {
    return it.reg >= 0 ? x86_r64((unsigned)it.reg) : gen_slot(it.slot);
}

static void item_set(Gen *g, Item it, int64_t value) {
    if (it.reg >= 0 && value == 0)
        x86_2(&g->a, X86_xor, x86_r32((unsigned)it.reg), x86_r32((unsigned)it.reg));
    else if (it.reg >= 0)
        x86_set(&g->a, (unsigned)it.reg, value);
    else if (value == (int32_t)value)
        x86_2(&g->a, X86_mov, gen_slot(it.slot), x86_imm(value));
    else {
        x86_set(&g->a, X86_RAX, value);
        x86_2(&g->a, X86_mov, gen_slot(it.slot), x86_r64(X86_RAX));
    }
}

static void item_add(Gen *g, Item it, int64_t value) {
    if (value == 0) return;
    if (value == (int32_t)value) {
        x86_2(&g->a, X86_add, item_arg(it), x86_imm(value));
        return;
    }
    x86_set(&g->a, X86_RAX, value);
    x86_2(&g->a, X86_add, item_arg(it), x86_r64(X86_RAX));
}

static Item loop_counter(Gen *g, int loop) { return g->counter[loop]; }

// Stack slots move while something is pushed.
static void load_item_pushed(Gen *g, unsigned gpr, Item it) {
    if (it.reg < 0) it.slot += g->depth;
    gen_load_item(g, gpr, it);
}

// rax <- c + Σ k·loop over a linear function.
static void gen_lin(Gen *g, const Lin *l) {
    int64_t c = l->c;
    for (int i = 0; i < l->n; i++) c += l->t[i].k * g->value[l->t[i].loop];
    x86_set(&g->a, X86_RAX, c);
    for (int i = 0; i < l->n; i++) {
        if (!g->p->loop[l->t[i].loop]->real) continue;
        load_item_pushed(g, X86_RCX, loop_counter(g, l->t[i].loop));
        int64_t k = l->t[i].k;
        if (k == (int32_t)k) {
            if (k != 1) x86_3(&g->a, X86_imul, x86_r64(X86_RCX), x86_r64(X86_RCX), x86_imm(k));
        } else {
            x86_set(&g->a, X86_RDX, k);
            x86_2(&g->a, X86_imul, x86_r64(X86_RCX), x86_r64(X86_RDX));
        }
        x86_2(&g->a, X86_add, x86_r64(X86_RAX), x86_r64(X86_RCX));
    }
}

static bool lin_known(const Gen *g, const Lin *l, int64_t *value) {
    *value = l->c;
    for (int i = 0; i < l->n; i++) {
        const PNode *loop = g->p->loop[l->t[i].loop];
        if (loop->real) return false;
        *value += l->t[i].k * g->value[l->t[i].loop];
    }
    return true;
}

// Smallest and largest value given what is known of the loops here.
static void lin_limits(const Gen *g, const Lin *l, int64_t *min, int64_t *max) {
    *min = *max = l->c;
    for (int i = 0; i < l->n; i++) {
        const PNode *loop = g->p->loop[l->t[i].loop];
        int64_t at = l->t[i].k * g->value[l->t[i].loop];
        int64_t span = loop->real ? l->t[i].k * (loop->extent - 1) : 0;
        *min += at + (span < 0 ? span : 0);
        *max += at + (span > 0 ? span : 0);
    }
}

// ---- Non-linear index arithmetic

static void gen_atom(Gen *g, const Atom *atom, const int64_t *env);

static void push_rax(Gen *g) {
    x86_1(&g->a, X86_push, x86_r64(X86_RAX));
    g->depth += 8;
}

static void pop_to(Gen *g, unsigned r) {
    x86_1(&g->a, X86_pop, x86_r64(r));
    g->depth -= 8;
}

// Leaves the kernel: an index from data is outside its tensor, or overflowed.
static void bad_index(Gen *g) {
    x86_2(&g->a, X86_mov, gen_slot(g->status_slot + g->depth), x86_imm(KERNEL_BAD_INDEX));
    if (g->depth) x86_2(&g->a, X86_add, x86_r64(X86_RSP), x86_imm(g->depth));
    x86_1(&g->a, X86_jmp, x86_to(&g->leave));
}

static void check_overflow(Gen *g, const Affine *a) {
    if (!a->has_read) return;
    AsmLabel fine = asm_label(&g->a);
    x86_1(&g->a, X86_jno, x86_to(&fine));
    bad_index(g);
    asm_bind(&g->a, &fine);
}

void gen_affine(Gen *g, const Affine *a, const int64_t *env) {
    x86_set(&g->a, X86_RAX, a->constant);
    for (int i = 0; i < a->n; i++) {
        push_rax(g);
        gen_atom(g, a->term[i].atom, env);
        int64_t k = a->term[i].coef;
        if (k != 1 && k == (int32_t)k) {
            x86_3(&g->a, X86_imul, x86_r64(X86_RAX), x86_r64(X86_RAX), x86_imm(k));
            check_overflow(g, a);
        } else if (k != 1) {
            x86_set(&g->a, X86_RCX, k);
            x86_2(&g->a, X86_imul, x86_r64(X86_RAX), x86_r64(X86_RCX));
            check_overflow(g, a);
        }
        pop_to(g, X86_RCX);
        x86_2(&g->a, X86_add, x86_r64(X86_RAX), x86_r64(X86_RCX));
        check_overflow(g, a);
    }
}

// rax <- floor(rax / k) or rax mod k, for a constant k.
static void gen_divide(Gen *g, int64_t k, bool mod) {
    if (k == 0 || (mod && (k == 1 || k == -1))) {
        x86_set(&g->a, X86_RAX, 0);
        return;
    }
    x86_set(&g->a, X86_RCX, k);
    x86_0(&g->a, X86_cqo);
    x86_1(&g->a, X86_idiv, x86_r64(X86_RCX)); // rax quotient towards zero, rdx remainder
    AsmLabel done = asm_label(&g->a);
    x86_2(&g->a, X86_test, x86_r64(X86_RDX), x86_r64(X86_RDX));
    x86_1(&g->a, X86_jz, x86_to(&done));
    x86_2(&g->a, X86_xor, x86_r64(X86_RCX), x86_r64(X86_RDX)); // signs differ: one less
    x86_1(&g->a, X86_jns, x86_to(&done));
    x86_2(&g->a, X86_sub, x86_r64(X86_RAX), x86_imm(1));
    x86_set(&g->a, X86_RCX, k);
    x86_2(&g->a, X86_add, x86_r64(X86_RDX), x86_r64(X86_RCX));
    asm_bind(&g->a, &done);
    if (mod) x86_2(&g->a, X86_mov, x86_r64(X86_RAX), x86_r64(X86_RDX));
}

static void load_integer(Gen *g, Type t, X86Arg mem) {
    switch (t) {
    case TYPE_I8: x86_2(&g->a, X86_movsx, x86_r64(X86_RAX), x86_sized(mem, 1)); break;
    case TYPE_I16: x86_2(&g->a, X86_movsx, x86_r64(X86_RAX), x86_sized(mem, 2)); break;
    case TYPE_I32: x86_2(&g->a, X86_movsxd, x86_r64(X86_RAX), x86_sized(mem, 4)); break;
    case TYPE_BOOL:
    case TYPE_U8: x86_2(&g->a, X86_movzx, x86_r32(X86_RAX), x86_sized(mem, 1)); break;
    case TYPE_U16: x86_2(&g->a, X86_movzx, x86_r32(X86_RAX), x86_sized(mem, 2)); break;
    case TYPE_U32: x86_2(&g->a, X86_mov, x86_r32(X86_RAX), mem); break;
    default: x86_2(&g->a, X86_mov, x86_r64(X86_RAX), mem); break;
    }
}

// rax <- byte offset of an access in its buffer; indices that can be wrong are checked.
static void gen_offset(Gen *g, const Access *access, const int64_t *env, bool check) {
    const Buffer *b = &g->p->tree->buffers.at[access->tensor];
    x86_2(&g->a, X86_xor, x86_r32(X86_RAX), x86_r32(X86_RAX));
    for (int d = 0; d < access->rank; d++) {
        push_rax(g);
        gen_affine(g, access->sub[d], env);
        if (check) {
            x86_set(&g->a, X86_RCX, b->size[d]);
            x86_2(&g->a, X86_cmp, x86_r64(X86_RAX), x86_r64(X86_RCX));
            AsmLabel fine = asm_label(&g->a);
            x86_1(&g->a, X86_jb, x86_to(&fine)); // unsigned: negative ones are large
            bad_index(g);
            asm_bind(&g->a, &fine);
        }
        int64_t k = b->stride[d] * type_info[b->type].bytes;
        x86_set(&g->a, X86_RCX, k);
        x86_2(&g->a, X86_imul, x86_r64(X86_RAX), x86_r64(X86_RCX));
        pop_to(g, X86_RCX);
        x86_2(&g->a, X86_add, x86_r64(X86_RAX), x86_r64(X86_RCX));
    }
}

static Item buffer_base(Gen *g, int buffer) {
    int s = code_stream(g->p, buffer, NULL, 0, 0);
    return g->stream[s];
}

static void gen_atom(Gen *g, const Atom *atom, const int64_t *env) {
    Asm *a = &g->a;
    switch (atom->kind) {
    case ATOM_ITER: {
        int loop = g->p->loop_of_id[atom->index];
        if (g->p->loop[loop]->real) {
            load_item_pushed(g, X86_RAX, loop_counter(g, loop));
            if (env[loop]) x86_2(a, X86_add, x86_r64(X86_RAX), x86_imm(env[loop]));
        } else {
            x86_set(a, X86_RAX, env[loop]);
        }
        break;
    }
    case ATOM_DIV:
    case ATOM_MOD:
        if (!affine_is_const(atom->b)) g->declined = "division of indices by a variable";
        gen_affine(g, atom->a, env);
        gen_divide(g, atom->b->constant, atom->kind == ATOM_MOD);
        break;
    case ATOM_MIN:
    case ATOM_MAX:
    case ATOM_PROD:
        gen_affine(g, atom->a, env);
        push_rax(g);
        gen_affine(g, atom->b, env);
        pop_to(g, X86_RCX);
        if (atom->kind == ATOM_PROD) {
            x86_2(a, X86_imul, x86_r64(X86_RAX), x86_r64(X86_RCX));
            break;
        }
        x86_2(a, X86_cmp, x86_r64(X86_RCX), x86_r64(X86_RAX));
        x86_2(a, atom->kind == ATOM_MIN ? X86_cmovl : X86_cmovnle, x86_r64(X86_RAX),
              x86_r64(X86_RCX));
        break;
    case ATOM_READ: {
        gen_offset(g, atom->read, env, true);
        Item base = buffer_base(g, atom->read->tensor);
        load_item_pushed(g, X86_RCX, base);
        load_integer(g, g->p->tree->buffers.at[atom->read->tensor].type,
                     x86_mem_index(X86_RCX, X86_RAX, 0, 0));
        break;
    }
    case ATOM_PARAM: g->declined = "a parameter that was not bound"; break;
    }
}

X86Arg gen_mem(Gen *g, const Ref *ref, unsigned scratch) {
    Item base = g->stream[ref->stream];
    if (ref->hard) {
        gen_offset(g, ref->hard->access, ref->env, true);
        gen_load_item(g, X86_RCX, base);
        x86_2(&g->a, X86_add, x86_r64(X86_RCX), x86_r64(X86_RAX));
        return x86_mem(X86_RCX, 0);
    }
    unsigned reg = base.reg >= 0 ? (unsigned)base.reg : scratch;
    if (base.reg < 0) gen_load_item(g, scratch, base);
    if (ref->disp == (int32_t)ref->disp) return x86_mem(reg, ref->disp);
    x86_set(&g->a, X86_RDX, ref->disp);
    return x86_mem_index(reg, X86_RDX, 0, 0);
}

// ---- Segments

static void open_segment(Gen *g) {
    g->seg = &g->segment;
    seg_reset(g->seg);
    for (int i = 0; i < g->pins.n; i++) {
        Pin *p = &g->pins.at[i];
        seg_pin(g->seg, p->buffer, &p->ref, i, p->type, p->pending);
    }
    g->k1 = 0;
}

static void close_segment(Gen *g) {
    Seg *s = g->seg;
    for (int i = 0; i < g->pins.n; i++) { // pins are the first locs, in order
        g->pins.at[i].pending = s->locs.at[i].pending;
        g->pins.at[i].written |= s->locs.at[i].dirty;
    }
    seg_close(s);
    if (s->micros.n) {
        MicroIsa isa = {.registers = g->scratch, .folds = x86_folds, .calls = x86_calls, .user = g};
        g->list.at.n = 0;
        micro_assign(s, &isa, g->pins.n, &g->list);
        if (s->spills > g->vector_slots) g->vector_slots = s->spills;
        for (int i = 0; i < g->list.at.n; i++) x86_micro(g, &g->list.at.at[i]);
    }
    g->seg = NULL;
}

// ---- Leaves

static int64_t *snapshot(Gen *g) {
    return arena_copy(g->arena, g->value, (size_t)g->p->nloops * sizeof *g->value);
}

static Ref ref_of(Gen *g, const PNode *leaf, const Mem *m, int active) {
    Ref r = {.buffer = m->buffer,
             .stream = m->stream,
             .lane = leaf->width > 1 ? m->lane : 0,
             .type = m->type,
             .width = leaf->width,
             .active = active,
             .guard = -1};
    if (!m->off) {
        r.hard = m;
        r.env = snapshot(g);
    } else {
        r.disp = m->off->c;
        for (int i = 0; i < m->off->n; i++) r.disp += m->off->t[i].k * g->value[m->off->t[i].loop];
    }
    if (r.lane == 0) r.active = r.width; // one element for all lanes
    return r;
}

typedef struct LeafGen {
    Gen *g;
    PNode *n;
    int active; // lanes
} LeafGen;

static int value_of(LeafGen *l, const Expr *e, int guard);

static int logical_and(LeafGen *l, int a, int b) {
    if (a < 0) return b;
    return seg_op(l->g->seg, MI_OP, OP_AND, TYPE_BOOL, TYPE_BOOL, l->n->width, 2, (int[]){a, b});
}

static int logical_not(LeafGen *l, int a) {
    return seg_op(l->g->seg, MI_OP, OP_NOT, TYPE_BOOL, TYPE_BOOL, l->n->width, 1, &a);
}

static int read_of(LeafGen *l, const Expr *e, int guard) {
    const Mem *m = leaf_mem(l->n, e->access);
    Ref r = ref_of(l->g, l->n, m, l->active);
    if (guard >= 0 && !m->safe) {
        r.guard = guard;
        r.active = l->active;
    }
    return seg_load(l->g->seg, m->buffer, &r);
}

static int64_t index_lane_step(LeafGen *l, const Affine *a) {
    if (l->n->vloop < 0) return 0;
    for (int i = 0; i < a->n; i++)
        if (a->term[i].atom->kind == ATOM_ITER &&
            l->g->p->loop_of_id[a->term[i].atom->index] == l->n->vloop)
            return a->term[i].coef;
    return 0;
}

static bool has_unsafe_read(const PNode *n, const Expr *e) {
    if (e->kind == EXPR_READ) return !leaf_mem(n, e->access)->safe;
    for (int i = 0; i < e->n; i++)
        if (has_unsafe_read(n, e->arg[i])) return true;
    return false;
}

static int op_of(LeafGen *l, const Expr *e, int guard) {
    Seg *s = l->g->seg;
    int args[4], w = l->n->width;
    if (e->op == OP_SELECT) {
        args[0] = value_of(l, e->arg[0], guard);
        int yes = guard, no = guard;
        if (has_unsafe_read(l->n, e->arg[1])) yes = logical_and(l, guard, args[0]);
        if (has_unsafe_read(l->n, e->arg[2])) no = logical_and(l, guard, logical_not(l, args[0]));
        args[1] = value_of(l, e->arg[1], yes);
        args[2] = value_of(l, e->arg[2], no);
        return seg_op(s, MI_OP, OP_SELECT, e->type, e->arg[1]->type, w, 3, args);
    }
    if ((e->op == OP_AND || e->op == OP_OR) && has_unsafe_read(l->n, e->arg[1])) {
        args[0] = value_of(l, e->arg[0], guard);
        int inner = logical_and(l, guard, e->op == OP_AND ? args[0] : logical_not(l, args[0]));
        args[1] = value_of(l, e->arg[1], inner);
        return seg_op(s, MI_OP, e->op, e->type, e->type, w, 2, args);
    }
    for (int i = 0; i < e->n; i++) args[i] = value_of(l, e->arg[i], guard);
    Type from = e->n ? e->arg[0]->type : e->type;
    if (e->op == OP_CAST) return seg_op(s, MI_CAST, 0, e->type, from, w, 1, args);
    if (e->op == OP_FMA)
        return seg_op(s, MI_FMA, 0, type_compute(e->type), type_compute(from), w, 3, args);
    return seg_op(s, MI_OP, e->op, e->type, from, w, e->n, args);
}

static int value_of(LeafGen *l, const Expr *e, int guard) {
    switch (e->kind) {
    case EXPR_CONST: return seg_const(l->g->seg, e->type, l->n->width, e->value);
    case EXPR_READ: return read_of(l, e, guard);
    case EXPR_OP: return op_of(l, e, guard);
    case EXPR_INDEX: {
        int i64 = seg_index(l->g->seg, TYPE_I64, l->n->width, e->index, snapshot(l->g),
                            index_lane_step(l, e->index));
        if (e->type == TYPE_I64) return i64;
        return seg_op(l->g->seg, MI_CAST, 0, e->type, TYPE_I64, l->n->width, 1, &i64);
    }
    }
    bug("expression kind %d", e->kind);
}

static const ExprOp reduce_op[] = {
    [REDUCE_ADD] = OP_ADD, [REDUCE_MUL] = OP_MUL, [REDUCE_MIN] = OP_MIN, [REDUCE_MAX] = OP_MAX};

// old op= value
static int combine(LeafGen *l, Reduce op, Type type, int old, const Expr *value) {
    Seg *s = l->g->seg;
    int w = l->n->width;
    bool fuse =
        op == REDUCE_ADD && value->kind == EXPR_OP && value->op == OP_MUL && type_is_float(type);
    if (fuse) {
        int args[3] = {value_of(l, value->arg[0], -1), value_of(l, value->arg[1], -1), old};
        return seg_op(s, MI_FMA, 0, type_compute(type), type_compute(type), w, 3, args);
    }
    int args[2] = {old, value_of(l, value, -1)};
    return seg_op(s, MI_OP, reduce_op[op], type, type, w, 2, args);
}

// A reduction along the vector loop: the loc holds partial results in its lanes until somebody
// asks.
static void reduce_lanes(LeafGen *l, Ref *r) {
    Seg *s = l->g->seg;
    const Leaf *leaf = l->n->leaf;
    Type type = l->n->write.type;
    int w = l->n->width;
    Loc *loc = seg_find(s, l->n->write.buffer, r);
    int old;
    if (loc && loc->pending == (int)leaf->op) {
        old = loc->val;
    } else {
        old = seg_load(s, l->n->write.buffer, r);
        old = seg_op(s, MI_LANES, leaf->op, type_compute(type), type_compute(type), w, 1, &old);
    }
    int val = combine(l, leaf->op, type, old, leaf->value);
    if (l->active < w) { // lanes beyond the tail keep what they had
        int mask = seg_op(s, MI_OP, OP_LT, TYPE_BOOL, TYPE_I32, w, 2,
                          (int[]){seg_index(s, TYPE_I32, w, NULL, NULL, 1),
                                  seg_const(s, TYPE_I32, w, (Value){.i = l->active})});
        val = seg_op(s, MI_OP, OP_SELECT, type, type, w, 3, (int[]){mask, val, old});
    }
    seg_store(s, l->n->write.buffer, r, val);
    loc = seg_find(s, l->n->write.buffer, r);
    loc->pending = (int8_t)leaf->op;
}

// Indices that addresses are computed from must be in memory.
static void flush_inner(Gen *g, const PNode *n) {
    for (int i = 0; i < n->nreads; i++)
        if (n->read[i].inner) seg_flush(g->seg, n->read[i].buffer);
}

static void leaf(Gen *g, PNode *n) {
    int active = n->width > 1 ? g->active : 1;
    LeafGen l = {g, n, active};
    const Leaf *f = n->leaf;
    flush_inner(g, n);
    Ref r = ref_of(g, n, &n->write, active);
    r.nontemporal = f->nontemporal;
    if (f->op != REDUCE_ASSIGN && n->width > 1 && r.lane == 0) {
        reduce_lanes(&l, &r);
        return;
    }
    int val;
    if (f->op == REDUCE_ASSIGN)
        val = value_of(&l, f->value, -1);
    else
        val = combine(&l, f->op, n->write.type, seg_load(g->seg, n->write.buffer, &r), f->value);
    Type to = n->write.type;
    if (to != type_compute(to)) // what is kept in a register is what memory would hold
        val = seg_op(g->seg, MI_CAST, 0, to, type_compute(to), n->width, 1, &val);
    seg_store(g->seg, n->write.buffer, &r, val);
}

// ---- Loops and guards

static void children(Gen *g, PNode *n) {
    if (!g->in_region) {
        nodes(g, n->child, n->nchild);
        return;
    }
    for (int i = 0; i < n->nchild; i++) walk(g, n->child[i]);
}

// Constant limits of an unrolled loop given the loops around it: [*lo, *hi). Conditions that still
// depend on real loops are left in `open` and tested for each copy.
static int loop_limits(Gen *g, const PNode *n, int64_t *lo, int64_t *hi, const Bound **open) {
    int nopen = 0;
    *lo = 0;
    *hi = n->limit >= 0 ? n->limit : n->extent;
    for (int i = 0; i < n->nbounds && n->limit < 0; i++) {
        const Bound *b = &n->bound[i];
        int64_t rest, min, max;
        if (lin_known(g, b->rest, &rest)) {
            if (b->k < 0)
                *hi = min_i64(*hi, floor_div(rest, -b->k) + 1);
            else
                *lo = max_i64(*lo, ceil_div(-rest, b->k));
            continue;
        }
        lin_limits(g, b->rest, &min, &max);
        int64_t worst = b->k < 0 ? b->k * (n->extent - 1) : 0;
        if (min + worst >= 0) continue; // always holds
        open[nopen++] = b;
    }
    return nopen;
}

static bool flag_guard(Gen *g, uint32_t flag, AsmLabel *skip) {
    if (!flag) return false;
    x86_2(&g->a, X86_mov, x86_r64(X86_RAX), gen_slot(g->env_slot));
    x86_2(&g->a, X86_test, x86_sized(x86_mem(X86_RAX, 0), 4), x86_imm((int64_t)flag));
    x86_1(&g->a, X86_jnz, x86_to(skip));
    return true;
}

// Jumps to skip unless k·(value) + rest >= 0.
static void test_bound(Gen *g, const Bound *b, int64_t value, AsmLabel *skip) {
    gen_lin(g, b->rest);
    int64_t k = b->k * value;
    if (k == (int32_t)k) {
        x86_2(&g->a, X86_add, x86_r64(X86_RAX), x86_imm(k));
    } else {
        x86_set(&g->a, X86_RCX, k);
        x86_2(&g->a, X86_add, x86_r64(X86_RAX), x86_r64(X86_RCX));
    }
    x86_1(&g->a, X86_js, x86_to(skip));
}

// Accumulators along a vector loop hold partial results in lanes, or one result. Where paths meet
// they must agree.
typedef struct Lanes {
    int8_t pending[64]; // per pin: the reduction of its lanes, 0 when folded
} Lanes;

static Lanes lanes_now(const Gen *g) {
    Lanes l = {{0}};
    for (int i = 0; i < g->pins.n; i++) l.pending[i] = (int8_t)g->pins.at[i].pending;
    return l;
}

static Lanes lanes_spread(const Gen *g) {
    Lanes l = lanes_now(g);
    for (int i = 0; i < g->pins.n; i++)
        if (g->pins.at[i].lanes) l.pending[i] = (int8_t)g->pins.at[i].op;
    return l;
}

static void pin_lanes(Gen *g, int i, int want) {
    Pin *p = &g->pins.at[i];
    if (p->pending == want) return;
    Micro m = {.type = p->type,
               .from = p->type,
               .width = p->ref.width,
               .nargs = 1,
               .arg_reg = {i},
               .dst_reg = i,
               .fold = -1};
    if (p->pending) {
        m.kind = MI_FOLD;
        m.op = (uint8_t)p->pending;
        x86_micro(g, &m);
    }
    if (want) {
        m.kind = MI_LANES;
        m.op = (uint8_t)want;
        x86_micro(g, &m);
    }
    p->pending = want;
}

// Ends the straight-line code here; what follows is reached from elsewhere too, with the
// accumulators as in `want`.
static void boundary(Gen *g, const Lanes *want) {
    if (!g->in_region) return;
    close_segment(g);
    g->k1 = 0;
    for (int i = 0; want && i < g->pins.n; i++) pin_lanes(g, i, want->pending[i]);
    open_segment(g);
}

// An unrolled loop: a copy of the body per index (or per vector of indices).
static void unrolled(Gen *g, PNode *n) {
    const Bound *open[16];
    int64_t lo, hi;
    if (n->nbounds > 16) {
        g->declined = "more than 16 bounds on one loop";
        return;
    }
    int nopen = loop_limits(g, n, &lo, &hi, open), step = n->vector ? n->lanes : 1;
    for (int64_t v = lo; v < hi; v += step) {
        if (n->vector) g->active = (int)min_i64(hi - v, step);
        g->value[n->loop] = v;
        if (!nopen) {
            children(g, n);
            continue;
        }
        if (n->vector) {
            g->no_vector = n->loop;
            return;
        }
        AsmLabel skip = asm_label(&g->a);
        boundary(g, NULL);
        Lanes before = lanes_now(g);
        for (int i = 0; i < nopen; i++) test_bound(g, open[i], v, &skip);
        children(g, n);
        boundary(g, &before);
        asm_bind(&g->a, &skip);
    }
    g->value[n->loop] = 0;
}

static void advance(Gen *g, int loop, int64_t by) {
    for (int i = 0; i < g->p->streams.n; i++) {
        const Stream *s = &g->p->streams.at[i];
        for (int t = 0; t < s->n; t++)
            if (s->t[t].loop == loop) item_add(g, g->stream[i], s->t[t].k * by);
    }
}

// Straight-line part of a real loop: `copies` bodies `step` apart, then the rest of `left` indices.
static void copies(Gen *g, PNode *n, int64_t total, int step) {
    for (int64_t v = 0; v < total; v += step) {
        g->value[n->loop] = v;
        if (n->vector) g->active = (int)min_i64(total - v, step);
        children(g, n);
    }
    g->value[n->loop] = 0;
}

// A loop with constant limits: whole strides in a machine loop, the remainder straight behind it.
static void counted(Gen *g, PNode *n) {
    int step = n->vector ? n->lanes : 1;
    int64_t extent = n->limit >= 0 ? n->limit : n->extent;
    int64_t stride = (int64_t)step * n->unroll, main = extent / stride * stride;
    Item counter = loop_counter(g, n->loop);
    Lanes lanes = lanes_spread(g);
    boundary(g, &lanes);
    item_set(g, counter, 0);
    if (main) {
        AsmLabel top = asm_label(&g->a);
        x86_align(&g->a, 16);
        asm_bind(&g->a, &top);
        copies(g, n, stride, step);
        boundary(g, &lanes);
        advance(g, n->loop, stride);
        item_add(g, counter, stride);
        if (main > stride) {
            if (main == (int32_t)main) {
                x86_2(&g->a, X86_cmp, item_arg(counter), x86_imm(main));
            } else {
                x86_set(&g->a, X86_RAX, main);
                x86_2(&g->a, X86_cmp, item_arg(counter), x86_r64(X86_RAX));
            }
            x86_1(&g->a, X86_jl, x86_to(&top));
        }
    }
    copies(g, n, extent - main, step);
    boundary(g, NULL);
    advance(g, n->loop, -main);
}

// A loop whose limits depend on loops around it: one index per iteration.
static void bounded(Gen *g, PNode *n) {
    Asm *a = &g->a;
    Item counter = loop_counter(g, n->loop);
    int save = g->save_slots + n->loop * 8; // the end
    Lanes lanes = lanes_spread(g);
    boundary(g, &lanes);
    // end = min over bounds, start = max over bounds
    x86_set(a, X86_RAX, n->extent);
    x86_2(a, X86_mov, gen_slot(save), x86_r64(X86_RAX));
    item_set(g, counter, 0);
    for (int i = 0; i < n->nbounds; i++) {
        const Bound *b = &n->bound[i];
        gen_lin(g, b->rest);
        if (b->k < 0) {
            gen_divide(g, -b->k, false);
            x86_2(a, X86_add, x86_r64(X86_RAX), x86_imm(1));
            x86_2(a, X86_mov, x86_r64(X86_RCX), gen_slot(save));
            x86_2(a, X86_cmp, x86_r64(X86_RAX), x86_r64(X86_RCX));
            x86_2(a, X86_cmovnle, x86_r64(X86_RAX), x86_r64(X86_RCX));
            x86_2(a, X86_mov, gen_slot(save), x86_r64(X86_RAX));
        } else {
            x86_1(a, X86_neg, x86_r64(X86_RAX)); // ceil(-rest / k) = -floor(rest / k)
            x86_1(a, X86_neg, x86_r64(X86_RAX));
            gen_divide(g, b->k, false);
            x86_1(a, X86_neg, x86_r64(X86_RAX));
            gen_load_item(g, X86_RCX, counter);
            x86_2(a, X86_cmp, x86_r64(X86_RAX), x86_r64(X86_RCX));
            x86_2(a, X86_cmovl, x86_r64(X86_RAX), x86_r64(X86_RCX));
            x86_2(a, X86_mov, item_arg(counter), x86_r64(X86_RAX));
        }
    }
    AsmLabel top = asm_label(a), done = asm_label(a);
    gen_load_item(g, X86_RAX, counter);
    x86_2(a, X86_cmp, x86_r64(X86_RAX), gen_slot(save));
    x86_1(a, X86_jnl, x86_to(&done));
    // pointers start at `counter`
    for (int i = 0; i < g->p->streams.n; i++) {
        const Stream *s = &g->p->streams.at[i];
        for (int t = 0; t < s->n; t++) {
            if (s->t[t].loop != n->loop) continue;
            gen_load_item(g, X86_RAX, counter);
            x86_set(a, X86_RCX, s->t[t].k);
            x86_2(a, X86_imul, x86_r64(X86_RAX), x86_r64(X86_RCX));
            x86_2(a, X86_add, item_arg(g->stream[i]), x86_r64(X86_RAX));
        }
    }
    asm_bind(a, &top);
    copies(g, n, 1, 1);
    boundary(g, &lanes);
    advance(g, n->loop, 1);
    item_add(g, counter, 1);
    gen_load_item(g, X86_RAX, counter);
    x86_2(a, X86_cmp, x86_r64(X86_RAX), gen_slot(save));
    x86_1(a, X86_jl, x86_to(&top));
    for (int i = 0; i < g->p->streams.n; i++) {
        const Stream *s = &g->p->streams.at[i];
        for (int t = 0; t < s->n; t++) {
            if (s->t[t].loop != n->loop) continue;
            gen_load_item(g, X86_RAX, counter);
            x86_set(a, X86_RCX, s->t[t].k);
            x86_2(a, X86_imul, x86_r64(X86_RAX), x86_r64(X86_RCX));
            x86_2(a, X86_sub, item_arg(g->stream[i]), x86_r64(X86_RAX));
        }
    }
    asm_bind(a, &done);
    item_set(g, counter, 0);
}

// Bounds that can bite, given the loops around; the others are dropped for good.
static bool has_live_bounds(Gen *g, const PNode *n) {
    int live = 0;
    if (n->limit >= 0) return false;
    for (int i = 0; i < n->nbounds; i++) {
        int64_t min, max;
        lin_limits(g, n->bound[i].rest, &min, &max);
        int64_t worst = n->bound[i].k < 0 ? n->bound[i].k * (n->extent - 1) : 0;
        if (min + worst < 0) live++;
    }
    return live > 0;
}

static void loop(Gen *g, PNode *n) {
    if (!n->real) {
        unrolled(g, n);
        return;
    }
    if (!has_live_bounds(g, n)) {
        counted(g, n);
        return;
    }
    if (n->vector)
        g->no_vector = n->loop;
    else
        bounded(g, n);
}

static void conditions(Gen *g, PNode *n, AsmLabel *skip) {
    flag_guard(g, n->flag, skip);
    for (int i = 0; i < n->nconds; i++) {
        gen_lin(g, n->cond[i]);
        x86_2(&g->a, X86_test, x86_r64(X86_RAX), x86_r64(X86_RAX));
        x86_1(&g->a, X86_js, x86_to(skip));
    }
    for (int i = 0; i < n->nhard; i++) {
        gen_affine(g, n->hard[i], g->value);
        x86_2(&g->a, X86_test, x86_r64(X86_RAX), x86_r64(X86_RAX));
        x86_1(&g->a, X86_js, x86_to(skip));
    }
}

// Static truth of a guard: 1 always, 0 never, -1 depends.
static int guard_truth(Gen *g, const PNode *n) {
    int truth = n->flag || n->nhard ? -1 : 1;
    for (int i = 0; i < n->nconds; i++) {
        int64_t min, max;
        lin_limits(g, n->cond[i], &min, &max);
        if (max < 0) return 0;
        if (min < 0) truth = -1;
    }
    return truth;
}

static void guard(Gen *g, PNode *n) {
    int truth = guard_truth(g, n);
    if (truth == 0) return;
    if (truth == 1) {
        children(g, n);
        return;
    }
    AsmLabel skip = asm_label(&g->a);
    boundary(g, NULL);
    Lanes before = lanes_now(g);
    conditions(g, n, &skip);
    children(g, n);
    boundary(g, &before);
    asm_bind(&g->a, &skip);
}

static void walk(Gen *g, PNode *n) {
    if (n->kind == P_LOOP)
        loop(g, n);
    else if (n->kind == P_GUARD)
        guard(g, n);
    else
        leaf(g, n);
}

// ---- Regions

// The tile: every element written under a real loop of the region.
// One element may be written by scalars (its initialisation) and by lanes (its reduction).
static void add_pin(Gen *g, const PNode *n) {
    Ref r = ref_of(g, n, &n->write, n->width);
    bool lanes = n->width > 1 && r.lane == 0 && n->leaf->op != REDUCE_ASSIGN;
    int i = 0;
    while (i < g->pins.n &&
           (g->pins.at[i].buffer != n->write.buffer || g->pins.at[i].ref.disp != r.disp))
        i++;
    if (i == g->pins.n) {
        Pin p = {.buffer = n->write.buffer, .ref = r, .type = type_compute(n->write.type)};
        if (r.lane) p.ref.active = g->active;
        vec_push(g->arena, &g->pins, p);
    }
    if (!lanes) return;
    g->pins.at[i].lanes = true;
    g->pins.at[i].op = n->leaf->op;
    g->pins.at[i].ref.width = g->pins.at[i].ref.active = n->width;
}

// `maybe`: whether this copy runs is only known at run time.
static void find_pins(Gen *g, const PNode *n, bool under_real, bool maybe) {
    if (n->kind == P_LEAF) {
        if (under_real && maybe && !n->write.safe) g->no_tile = n->number;
        if (under_real) add_pin(g, n);
        return;
    }
    if (n->kind == P_GUARD) {
        int truth = guard_truth(g, n);
        if (truth == 0) return;
        maybe |= truth < 0 && (n->nconds || n->nhard);
    }
    int64_t lo = 0, hi = 1;
    int step = 1;
    if (n->kind == P_LOOP && !n->real) {
        const Bound *open[16];
        hi = n->extent;
        if (n->nbounds <= 16) maybe |= loop_limits(g, n, &lo, &hi, open) > 0;
        if (n->vector) step = n->lanes;
    } else if (n->kind == P_LOOP) {
        maybe |= has_live_bounds(g, n);
        under_real = true;
    }
    for (int64_t v = lo; v < hi; v += step) {
        if (n->kind == P_LOOP) g->value[n->loop] = v;
        if (n->kind == P_LOOP && n->vector)
            g->active = n->real ? n->lanes : (int)min_i64(hi - v, step);
        for (int i = 0; i < n->nchild; i++) find_pins(g, n->child[i], under_real, maybe);
    }
    if (n->kind == P_LOOP) g->value[n->loop] = 0;
}

// Does the region end the life of this buffer?
static bool dead_after(const Gen *g, int buffer, PNode **at, int n) {
    const Plan *p = g->p;
    return buffer >= p->tree->nargs && p->first_leaf[buffer] >= at[0]->first &&
           p->last_leaf[buffer] < at[n - 1]->last && p->alloc_depth[buffer] >= at[0]->depth;
}

// Elements that the region surely assigns before it reads anything: those of leading assignments
// of constants. False: whatever follows comes too late.
static bool mark_assigned(Gen *g, const PNode *n, bool *assigned) {
    if (n->kind == P_LEAF) {
        if (n->leaf->op != REDUCE_ASSIGN || n->nreads) return false;
        Ref r = ref_of(g, n, &n->write, n->width);
        for (int i = 0; i < g->pins.n; i++)
            if (g->pins.at[i].buffer == n->write.buffer && g->pins.at[i].ref.disp == r.disp)
                assigned[i] = true;
        return true;
    }
    if (n->kind == P_GUARD && guard_truth(g, n) != 1) return false;
    int64_t lo = 0, hi = 1;
    int step = 1;
    if (n->kind == P_LOOP) {
        const Bound *open[16];
        if (n->real || n->nbounds > 16 || loop_limits(g, n, &lo, &hi, open)) return false;
        if (n->vector) step = n->lanes;
    }
    bool more = true;
    for (int64_t v = lo; v < hi && more; v += step) {
        if (n->kind == P_LOOP) g->value[n->loop] = v;
        for (int i = 0; i < n->nchild && more; i++) more = mark_assigned(g, n->child[i], assigned);
    }
    if (n->kind == P_LOOP) g->value[n->loop] = 0;
    return more;
}

static void load_pins(Gen *g, const bool *except) {
    for (int i = 0; i < g->pins.n; i++) {
        Pin *p = &g->pins.at[i];
        if (except && except[i]) continue;
        Micro m = {.kind = MI_LOAD,
                   .type = p->type,
                   .from = p->ref.type,
                   .width = p->ref.width,
                   .ref = p->ref,
                   .dst = 0,
                   .dst_reg = i,
                   .fold = -1};
        x86_micro(g, &m);
    }
}

static void store_pins(Gen *g, PNode **at, int n) {
    for (int i = 0; i < g->pins.n; i++) {
        Pin *p = &g->pins.at[i];
        pin_lanes(g, i, 0);
        if (dead_after(g, p->buffer, at, n)) continue;
        Micro m = {.kind = MI_STORE,
                   .type = p->type,
                   .width = p->ref.width,
                   .dst = -1,
                   .nargs = 1,
                   .arg_reg = {i},
                   .ref = p->ref,
                   .fold = -1};
        x86_micro(g, &m);
    }
}

static bool starts_with_guard(Gen *g, PNode *n) {
    return n->kind == P_GUARD && guard_truth(g, n) < 0;
}

static void region(Gen *g, PNode **at, int n) {
    g->pins.n = 0;
    for (int i = 0; i < n; i++) find_pins(g, at[i], false, false);
    bool *assigned = arena_new_n(g->arena, bool, g->pins.n + 1);
    int from = 0;
    g->in_region = true;
    if (g->pins.n && starts_with_guard(g, at[0])) { // initialise, or load what is there
        AsmLabel other = asm_label(&g->a), join = asm_label(&g->a);
        conditions(g, at[0], &other);
        PNode inner = *at[0];
        inner.flag = 0;
        inner.nconds = inner.nhard = 0;
        mark_assigned(g, &inner, assigned);
        load_pins(g, assigned);
        open_segment(g);
        children(g, at[0]);
        close_segment(g);
        for (int i = 0; i < g->pins.n; i++) pin_lanes(g, i, 0);
        x86_1(&g->a, X86_jmp, x86_to(&join));
        asm_bind(&g->a, &other);
        load_pins(g, NULL);
        asm_bind(&g->a, &join);
        from = 1;
    } else if (g->pins.n) {
        mark_assigned(g, at[0], assigned);
        load_pins(g, assigned);
    }
    open_segment(g);
    for (int i = from; i < n; i++) walk(g, at[i]);
    close_segment(g);
    store_pins(g, at, n);
    g->in_region = false;
    g->pins.n = 0;
}

// ---- Tails
//
// A split that does not divide bounds its inner loop by the outer index: full in all iterations but
// the last. Where such a loop is unrolled, or counted by several copies, the code around it is made
// once per number of iterations it can have, and the right one is chosen at run time. Loops with
// too many possible numbers keep their tests.

enum { MAX_TAILS = 4, MAX_TAIL_VALUES = 4, MAX_VARIANTS = 9 };

// Loops with the same bounds (those of an initialisation and of its update, say) share a tail.
typedef struct Tail {
    PNode *loop;
    VEC(PNode *) same;
    int n;
    int64_t value[MAX_TAIL_VALUES]; // the full extent first
} Tail;

typedef struct Tails {
    int n;
    Tail at[MAX_TAILS];
} Tails;

static int64_t bound_limit(const Bound *b, int64_t rest) { return floor_div(rest, -b->k) + 1; }

static bool tail_value(Tail *t, int64_t v) {
    v = max_i64(0, min_i64(v, t->loop->extent));
    for (int i = 0; i < t->n; i++)
        if (t->value[i] == v) return true;
    if (t->n == MAX_TAIL_VALUES) return false;
    t->value[t->n++] = v;
    return true;
}

// Runs through the values of the real loops that bound the tail; false when there are too many.
static bool tail_values(Gen *g, Tail *t, PNode *const *outer, int n, int64_t *budget) {
    if (n == 0) {
        int64_t v = t->loop->extent;
        for (int i = 0; i < t->loop->nbounds; i++) {
            const Bound *b = &t->loop->bound[i];
            int64_t rest = b->rest->c;
            for (int k = 0; k < b->rest->n; k++)
                rest += b->rest->t[k].k * g->value[b->rest->t[k].loop];
            v = min_i64(v, bound_limit(b, rest));
        }
        return --*budget > 0 && tail_value(t, v);
    }
    bool ok = true;
    int64_t before = g->value[outer[0]->loop];
    for (int64_t v = 0; v < outer[0]->extent && ok; v++) {
        g->value[outer[0]->loop] = v;
        ok = tail_values(g, t, outer + 1, n - 1, budget);
    }
    g->value[outer[0]->loop] = before;
    return ok;
}

static bool is_real_outside(const Gen *g, int loop, int first_inside) {
    return loop < first_inside && g->p->loop[loop]->real;
}

static bool same_bounds(const PNode *a, const PNode *b) {
    if (a->extent != b->extent || a->nbounds != b->nbounds) return false;
    for (int i = 0; i < a->nbounds; i++) {
        const Lin *x = a->bound[i].rest, *y = b->bound[i].rest;
        if (a->bound[i].k != b->bound[i].k || x->c != y->c || x->n != y->n) return false;
        for (int t = 0; t < x->n; t++)
            if (x->t[t].loop != y->t[t].loop || x->t[t].k != y->t[t].k) return false;
    }
    return true;
}

static bool join_tail(Gen *g, Tails *tails, PNode *n) {
    for (int i = 0; i < tails->n; i++) {
        if (!same_bounds(tails->at[i].loop, n)) continue;
        vec_push(g->arena, &tails->at[i].same, n);
        return true;
    }
    return false;
}

static void set_limit(Tail *t, int64_t limit) {
    t->loop->limit = limit;
    for (int i = 0; i < t->same.n; i++) t->same.at[i]->limit = limit;
}

static void find_tails(Gen *g, PNode *n, int first_inside, Tails *tails) {
    if (n->kind == P_LOOP && n->nbounds && has_live_bounds(g, n) && !join_tail(g, tails, n) &&
        tails->n < MAX_TAILS) {
        PNode *outer[8];
        int nouter = 0;
        bool ok = true;
        for (int i = 0; i < n->nbounds && ok; i++) {
            const Bound *b = &n->bound[i];
            ok = b->k < 0;
            for (int k = 0; k < b->rest->n && ok; k++) {
                PNode *l = g->p->loop[b->rest->t[k].loop];
                if (l->loop >= first_inside) ok = false;
                if (!is_real_outside(g, l->loop, first_inside)) continue;
                int j = 0;
                while (j < nouter && outer[j] != l) j++;
                if (j == nouter && nouter == 8)
                    ok = false;
                else if (j == nouter)
                    outer[nouter++] = l;
            }
        }
        Tail t = {.loop = n, .n = 1, .value = {n->extent}};
        int64_t budget = 1 << 14;
        if (ok && tail_values(g, &t, outer, nouter, &budget)) tails->at[tails->n++] = t;
    }
    for (int i = 0; i < n->nchild; i++) find_tails(g, n->child[i], first_inside, tails);
}

// Jumps to `other` unless the loop has exactly `value` iterations here.
static void test_tail(Gen *g, const Tail *t, int64_t value, AsmLabel *other) {
    Asm *a = &g->a;
    x86_set(a, X86_RAX, t->loop->extent);
    for (int i = 0; i < t->loop->nbounds; i++) { // rax = min(rax, limit)
        const Bound *b = &t->loop->bound[i];
        x86_1(a, X86_push, x86_r64(X86_RAX));
        g->depth += 8;
        gen_lin(g, b->rest);
        gen_divide(g, -b->k, false);
        x86_2(a, X86_add, x86_r64(X86_RAX), x86_imm(1));
        pop_to(g, X86_RCX);
        x86_2(a, X86_cmp, x86_r64(X86_RCX), x86_r64(X86_RAX));
        x86_2(a, X86_cmovl, x86_r64(X86_RAX), x86_r64(X86_RCX));
    }
    x86_2(a, X86_cmp, x86_r64(X86_RAX), x86_imm(value));
    if (value == 0)
        x86_1(a, X86_jnle, x86_to(other)); // at most 0
    else if (value == t->loop->extent)
        x86_1(a, X86_jl, x86_to(other));
    else
        x86_1(a, X86_jnz, x86_to(other));
}

static void emit_nodes(Gen *g, PNode **at, int n) {
    if (at[0]->region)
        region(g, at, n);
    else
        walk(g, at[0]);
}

// One combination of tails after the other, each behind its test.
static void variants(Gen *g, Tails *tails, int k, AsmLabel *done, PNode **at, int n) {
    if (k == tails->n) {
        emit_nodes(g, at, n);
        x86_1(&g->a, X86_jmp, x86_to(done));
        return;
    }
    Tail *t = &tails->at[k];
    for (int i = 0; i < t->n; i++) {
        AsmLabel other = asm_label(&g->a);
        bool last = i == t->n - 1;
        if (!last) test_tail(g, t, t->value[i], &other);
        set_limit(t, t->value[i]);
        variants(g, tails, k + 1, done, at, n);
        if (!last) asm_bind(&g->a, &other);
    }
    set_limit(t, -1);
}

static int first_loop_in(const PNode *n, int none) {
    if (n->kind == P_LOOP) return n->loop;
    for (int i = 0; i < n->nchild; i++) {
        int first = first_loop_in(n->child[i], none);
        if (first != none) return first;
    }
    return none;
}

static void nodes(Gen *g, PNode **at, int n) {
    for (int i = 0; i < n;) {
        int span = at[i]->region ? at[i]->region : 1;
        Tails tails = {0};
        if (at[i]->region || (at[i]->kind == P_LOOP && at[i]->vector)) {
            int first = g->p->nloops;
            for (int j = i; j < i + span && first == g->p->nloops; j++)
                first = first_loop_in(at[j], g->p->nloops);
            for (int j = i; j < i + span; j++) find_tails(g, at[j], first, &tails);
        }
        int combinations = 1;
        for (int j = 0; j < tails.n; j++) {
            if (combinations * tails.at[j].n > MAX_VARIANTS)
                tails.n = j;
            else
                combinations *= tails.at[j].n;
        }
        AsmLabel done = asm_label(&g->a);
        if (tails.n) {
            variants(g, &tails, 0, &done, at + i, span);
            asm_bind(&g->a, &done);
        } else {
            emit_nodes(g, at + i, span);
        }
        i += span;
    }
}

// ---- The function

static const uint8_t callee_saved[] = {X86_RBX, X86_RBP, X86_R12, X86_R13, X86_R14, X86_R15};
static const uint8_t item_regs[] = {X86_RBX, X86_RSI, X86_RDI, X86_R8,  X86_R9,  X86_R10,
                                    X86_R11, X86_RBP, X86_R12, X86_R13, X86_R14, X86_R15};

// Registers go to the most deeply used pointers and counters.
static void give_registers(Gen *g, int *frame) {
    Plan *p = g->p;
    int nregs = (int)sizeof item_regs, given = 0;
    g->stream = arena_new_n(g->arena, Item, p->streams.n + p->tree->buffers.n + 1);
    g->counter = arena_new_n(g->arena, Item, p->nloops + 1);
    for (int i = 0; i < p->streams.n; i++) g->stream[i] = (Item){-1, *frame + 8 * i};
    *frame += 8 * (p->streams.n + 1);
    for (int i = 0; i < p->nloops; i++) g->counter[i] = (Item){-1, *frame + 8 * i};
    *frame += 8 * (p->nloops + 1);
    for (int depth = TREE_MAX_DEPTH; depth >= 0 && given < nregs; depth--) {
        for (int i = 0; i < p->streams.n && given < nregs; i++)
            if (p->streams.at[i].depth == depth) g->stream[i].reg = item_regs[given++];
        for (int i = 0; i < p->nloops && given < nregs; i++)
            if (p->loop[i]->real && p->loop[i]->depth + 1 == depth)
                g->counter[i].reg = item_regs[given++];
    }
}

static void prologue(Gen *g) {
    Asm *a = &g->a;
    for (int i = 0; i < 6; i++) x86_1(a, X86_push, x86_r64(callee_saved[i]));
    x86_2(a, X86_mov, x86_r64(X86_RAX), x86_r64(X86_RSP));
    x86_2(a, X86_sub, x86_r64(X86_RSP), x86_imm(0x7fffffff)); // patched when the frame is known
    x86_2(a, X86_and, x86_r64(X86_RSP), x86_imm(-64));
}

static void start_streams(Gen *g) {
    Asm *a = &g->a;
    const Plan *p = g->p;
    x86_2(a, X86_mov, gen_slot(g->env_slot), x86_r64(X86_RDX));
    x86_2(a, X86_mov, gen_slot(g->env_slot + 8), x86_r64(X86_RAX));
    x86_2(a, X86_mov, gen_slot(g->status_slot), x86_imm(0));
    x86_2(a, X86_mov, x86_r64(X86_RCX), x86_r64(X86_RDI)); // rdi and rsi hold items from here on
    x86_2(a, X86_mov, x86_r64(X86_RDX), x86_r64(X86_RSI));
    for (int i = 0; i < p->streams.n; i++) {
        int b = p->streams.at[i].buffer;
        if (b < p->tree->nargs)
            x86_2(a, X86_mov, x86_r64(X86_RAX), x86_mem(X86_RCX, 8 * b));
        else
            x86_2(a, X86_lea, x86_r64(X86_RAX), x86_mem(X86_RDX, p->offset[b]));
        x86_2(a, X86_mov, item_arg(g->stream[i]), x86_r64(X86_RAX));
    }
}

static void epilogue(Gen *g) {
    Asm *a = &g->a;
    asm_bind(a, &g->leave);
    x86_2(a, X86_mov, x86_r32(X86_RAX), x86_sized(x86_mem(X86_RSP, g->status_slot), 4));
    x86_2(a, X86_mov, x86_r64(X86_RSP), gen_slot(g->env_slot + 8));
    for (int i = 5; i >= 0; i--) x86_1(a, X86_pop, x86_r64(callee_saved[i]));
    if (g->m->isa != ISA_SCALAR) x86_0(a, X86_vzeroupper);
    x86_0(a, X86_ret);
}

static void constants(Gen *g) {
    for (int size = 64; size >= 4; size /= 2)
        for (int i = 0; i < g->pool.n; i++) {
            PoolEntry *e = g->pool.at[i];
            if (e->size != size) continue;
            asm_fill(&g->a, (size_t)size, 0);
            asm_bind(&g->a, &e->label);
            asm_bytes(&g->a, e->bytes, (size_t)size);
        }
}

static bool grow(Asm *a, size_t need) {
    Gen *g = a->user;
    size_t used = asm_size(a), cap = (size_t)(a->end - a->start) * 2;
    while (cap < used + need) cap *= 2;
    uint8_t *memory = arena_alloc(g->arena, cap);
    memcpy(memory, a->start, used);
    a->start = memory;
    a->at = memory + used;
    a->end = memory + cap;
    return true;
}

static uint32_t features_of(const Machine *m) {
    uint32_t f = X86_HAS_POPCNT | X86_HAS_BMI1 | X86_HAS_BMI2 | X86_HAS_AVX | X86_HAS_AVX2 |
                 X86_HAS_FMA | X86_HAS_F16C;
    if (m->isa == ISA_AVX512)
        f |= X86_HAS_AVX512F | X86_HAS_AVX512VL | X86_HAS_AVX512BW | X86_HAS_AVX512DQ |
             X86_HAS_AVX512CD;
    return f;
}

// Lays out the frame, makes the code. The frame's size is patched in when the number of spills is
// known.
static void make_function(Gen *g) {
    Plan *p = g->p;
    int frame = 0;
    give_registers(g, &frame);
    g->env_slot = frame;
    g->status_slot = frame + 16;
    g->save_slots = frame + 24;
    frame += 24 + 8 * (p->nloops + 1);
    g->call_area = (frame + 63) & ~63;
    g->vector_area = g->call_area + 64 * 40;
    g->leave = asm_label(&g->a);
    prologue(g);
    size_t patch = asm_size(&g->a) - 4 - 4; // the imm32 of `sub rsp`, before the 4-byte `and`
    start_streams(g);
    nodes(g, &p->root, 1);
    epilogue(g);
    constants(g);
    int32_t total = g->vector_area + 64 * (g->vector_slots + 1);
    AsmError error = asm_finish(&g->a);
    if (error == ASM_OK)
        memcpy(g->a.start + patch, &total, 4);
    else if (!g->declined)
        g->declined = asm_error_text(error);
}

static Gen gen_new(Arena *arena, const Tree *tree, const Machine *machine,
                   const Refusals *refused) {
    Plan *p = code_plan(arena, tree, machine, refused);
    for (int i = 0; i < tree->buffers.n; i++)
        code_stream(p, i, NULL, 0, 0); // for computed addresses
    Gen g = {.arena = arena,
             .p = p,
             .m = machine,
             .declined = p->declined,
             .no_vector = -1,
             .no_tile = -1};
    g.scratch = machine->vector_registers - 1;
    g.value = arena_new_n(arena, int64_t, p->nloops + 1);
    seg_init(&g.segment, arena, tree->buffers.n);
    return g;
}

static bool count_leaf(void *user, const Node *node, int depth, const Block *parent) {
    (void)depth, (void)parent;
    *(int *)user += node->kind == NODE_LEAF;
    return true;
}

static int count_leaves(const Tree *tree) {
    int n = 0;
    tree_walk(tree, count_leaf, &n);
    return n;
}

bool code_x86(Arena *arena, const Tree *tree, const Machine *machine, Code *out, DiagList *diags) {
    Refusals refused = {arena_new_n(arena, bool, tree->nindices + 1),
                        arena_new_n(arena, bool, count_leaves(tree) + 1)};
    for (;;) { // once, and again for each thing that turned out not to be possible
        Gen g = gen_new(arena, tree, machine, &refused);
        asm_init(&g.a, arena_alloc(arena, 16384), 16384);
        g.a.grow = grow;
        g.a.user = &g;
        g.a.features = features_of(machine);
        if (!g.declined) make_function(&g);
        if (g.no_vector >= 0 || g.no_tile >= 0) {
            if (g.no_vector >= 0) refused.vector[g.no_vector] = true;
            if (g.no_tile >= 0) refused.tile[g.no_tile] = true;
            continue;
        }
        if (g.declined) {
            diag_report(diags, (Range){0, 0}, DIAG_CODE_DECLINED, g.declined);
            return false;
        }
        *out = (Code){g.a.start, asm_size(&g.a), g.p->scratch, text_str(&g.p->report)};
        return true;
    }
}
