// Values in general registers and stack slots, and index arithmetic in them.
#include "code/x86/gen.h"

#include <string.h>

#include "base/bug.h"
#include "base/checked.h"
#include "base/fault.h"
#include "base/kernel_abi.h"
#include "code/x86/mem.h"

static bool same_entry(const void *key, const void *item) {
    const PoolEntry *a = key, *b = item;
    return a->size == b->size && !memcmp(a->bytes, b->bytes, (size_t)a->size);
}

AsmLabel *gen_pool(Gen *g, const void *bytes, int size) {
    PoolEntry key = {.size = size};
    memcpy(key.bytes, bytes, FAULT(constant_cut) ? 1 : (size_t)size);
    uint64_t hash = hash_bytes((uint64_t)size, key.bytes, (size_t)size);
    PoolEntry **e = (PoolEntry **)set_find(g->arena, &g->pooled, hash, &key, same_entry);
    if (*e) return &(*e)->label;
    *e = arena_copy(g->arena, &key, sizeof key);
    (*e)->label = asm_label(&g->a);
    g->pooled.n++;
    vec_push(g->arena, &g->pool, *e);
    return &(*e)->label;
}

void gen_load_item(Gen *g, unsigned gpr, Item it) {
    if (it.reg >= 0)
        x86_2(&g->a, X86_mov, x86_r64(gpr), x86_r64((unsigned)it.reg));
    else
        x86_2(&g->a, X86_mov, x86_r64(gpr), gen_slot(it.slot));
}

X86Arg gen_item(Item it) { return it.reg >= 0 ? x86_r64((unsigned)it.reg) : gen_slot(it.slot); }

void gen_item_set(Gen *g, Item it, int64_t value) {
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

void gen_item_add(Gen *g, Item it, int64_t value) {
    if (value == 0) return;
    if (value == (int32_t)value) {
        x86_2(&g->a, X86_add, gen_item(it), x86_imm(value));
        return;
    }
    x86_set(&g->a, X86_RAX, value);
    x86_2(&g->a, X86_add, gen_item(it), x86_r64(X86_RAX));
}

Item gen_counter(Gen *g, int loop) { return g->counter[loop]; }

// Stack slots move while something is pushed.
void gen_load_pushed(Gen *g, unsigned gpr, Item it) {
    if (it.reg < 0) it.slot += g->depth;
    gen_load_item(g, gpr, it);
}

// rax += Σ k·counter over the machine loops of a linear function.
static void add_counters(Gen *g, const Lin *l) {
    for (int i = 0; i < l->n; i++) {
        if (!g->p->loop[l->t[i].loop]->real) continue;
        gen_load_pushed(g, X86_RCX, gen_counter(g, l->t[i].loop));
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

// rax <- c + Σ k·loop over a linear function.
void gen_lin(Gen *g, const Lin *l) {
    int64_t c = l->c;
    for (int i = 0; i < l->n; i++) c += l->t[i].k * g->value[l->t[i].loop];
    x86_set(&g->a, X86_RAX, c);
    add_counters(g, l);
}

void gen_counters(Gen *g, const Lin *l) {
    x86_set(&g->a, X86_RAX, l->c);
    add_counters(g, l);
}

bool gen_lin_known(const Gen *g, const Lin *l, int64_t *value) {
    *value = l->c;
    for (int i = 0; i < l->n; i++) {
        const PNode *loop = g->p->loop[l->t[i].loop];
        if (loop->real) return false;
        *value += l->t[i].k * g->value[l->t[i].loop];
    }
    return true;
}

// Narrows a sum of machine loops to what tests have shown.
static void narrow(const Gen *g, const LinTerm *t, int n, int64_t *min, int64_t *max) {
    for (int i = 0; i < g->known.n && n; i++) {
        const Known *k = &g->known.at[i];
        if (k->sum->n != n || !lin_same_terms(k->sum->t, t, n)) continue;
        *min = max_i64(*min, k->min);
        *max = min_i64(*max, k->max);
    }
}

// Smallest and largest value given what is known of the loops here.
void gen_lin_limits(const Gen *g, const Lin *l, int64_t *min, int64_t *max) {
    LinTerm real[TREE_MAX_DEPTH * 2];
    int64_t least = 0, most = 0, c = l->c;
    int n = 0;
    for (int i = 0; i < l->n; i++) {
        const PNode *loop = g->p->loop[l->t[i].loop];
        int64_t k = l->t[i].k, first = 0, last = loop->extent - 1;
        c += k * g->value[l->t[i].loop];
        if (!loop->real) continue;
        narrow(g, &(LinTerm){.loop = l->t[i].loop, .k = 1}, 1, &first, &last);
        least += k * (k < 0 ? last : first);
        most += k * (k < 0 ? first : last);
        real[n++] = l->t[i];
    }
    narrow(g, real, n, &least, &most);
    *min = c + least;
    *max = c + most;
}

// ---- Non-linear index arithmetic

static void gen_atom(Gen *g, const Atom *atom, const int64_t *env);

void gen_push(Gen *g) {
    x86_1(&g->a, X86_push, x86_r64(X86_RAX));
    g->depth += 8;
}

void gen_pop(Gen *g, unsigned r) {
    x86_1(&g->a, X86_pop, x86_r64(r));
    g->depth -= 8;
}

// Leaves the kernel where the last comparison says so: an index from data is outside its tensor, or
// overflowed.
static void bad_index_if(Gen *g, X86Op jump, X86Op unless) {
    if (!g->depth) {
        x86_1(&g->a, jump, x86_to(&g->bad));
        g->bad_used = true;
        return;
    }
    AsmLabel fine = asm_label(&g->a);
    x86_1(&g->a, unless, x86_to(&fine));
    x86_2(&g->a, X86_add, x86_r64(X86_RSP), x86_imm(FAULT(bad_index_stack) ? 0 : g->depth));
    x86_1(&g->a, X86_jmp, x86_to(&g->bad));
    g->bad_used = true;
    asm_bind(&g->a, &fine);
}

static void check_overflow(Gen *g, const Affine *a) {
    if (a->has_read && !FAULT(index_overflow_unseen)) bad_index_if(g, X86_jo, X86_jno);
}

// reg <- reg · k; its flags say whether it overflowed.
static void multiply(Gen *g, unsigned reg, int64_t k) {
    if (k == (int32_t)k) {
        x86_3(&g->a, X86_imul, x86_r64(reg), x86_r64(reg), x86_imm(k));
        return;
    }
    x86_set(&g->a, X86_RDX, k);
    x86_2(&g->a, X86_imul, x86_r64(reg), x86_r64(X86_RDX));
}

// Does the iterator count a machine loop? Elsewhere its value is known.
static bool is_counted(const Gen *g, const Atom *atom) {
    return atom->kind == ATOM_ITER && g->p->loop[g->p->loop_of_id[atom->index]]->real;
}

// What is known of an affine: its constant, iterators of loops that are copied, and what copies add
// to the counters of the others.
static int64_t known_part(const Gen *g, const Affine *a, const int64_t *env) {
    uint64_t c = (uint64_t)a->constant;
    for (int i = 0; i < a->n; i++)
        if (a->term[i].atom->kind == ATOM_ITER)
            c +=
                (uint64_t)a->term[i].coef * (uint64_t)env[g->p->loop_of_id[a->term[i].atom->index]];
    return (int64_t)c;
}

// rax <- rax + k, or k where rax is free.
static void add_known(Gen *g, int64_t k, bool first) {
    if (first) {
        x86_set(&g->a, X86_RAX, k);
    } else if (k != (int32_t)k) {
        x86_set(&g->a, X86_RCX, k);
        x86_2(&g->a, X86_add, x86_r64(X86_RAX), x86_r64(X86_RCX));
    } else if (k) {
        x86_2(&g->a, X86_add, x86_r64(X86_RAX), x86_imm(k));
    }
}

// rax <- rax + Σ k·counter + what is known; `first`: rax is free. None of it overflows
// (affine_reach).
static void add_iterators(Gen *g, const Affine *a, const int64_t *env, bool first) {
    for (int i = 0; i < a->n; i++) {
        if (!is_counted(g, a->term[i].atom)) continue;
        unsigned to = first ? X86_RAX : X86_RCX;
        gen_load_pushed(g, to, gen_counter(g, g->p->loop_of_id[a->term[i].atom->index]));
        if (a->term[i].coef != 1) multiply(g, to, a->term[i].coef);
        if (!first) x86_2(&g->a, X86_add, x86_r64(X86_RAX), x86_r64(X86_RCX));
        first = false;
    }
    add_known(g, known_part(g, a, env), first);
}

// In the order of affine_eval, with its overflows: atoms one after the other, then iterators and
// constant as one number.
void gen_affine(Gen *g, const Affine *a, const int64_t *env) {
    bool first = true; // rax is free
    for (int i = 0; i < a->n; i++) {
        if (a->term[i].atom->kind == ATOM_ITER) continue;
        if (!first) gen_push(g);
        gen_atom(g, a->term[i].atom, env);
        if (a->term[i].coef != 1) {
            multiply(g, X86_RAX, a->term[i].coef);
            check_overflow(g, a);
        }
        if (!first) {
            gen_pop(g, X86_RCX);
            x86_2(&g->a, X86_add, x86_r64(X86_RAX), x86_r64(X86_RCX));
            check_overflow(g, a);
        }
        first = false;
    }
    bool apart = a->has_read && !first && a->term[0].atom->kind == ATOM_ITER;
    if (apart) gen_push(g);
    add_iterators(g, a, env, first || apart);
    if (apart) {
        gen_pop(g, X86_RCX);
        x86_2(&g->a, X86_add, x86_r64(X86_RAX), x86_r64(X86_RCX));
    }
    if (apart || (!first && a->constant)) check_overflow(g, a);
}

// By idiv: rax quotient towards zero, rdx remainder, then one less where signs differ; `truncates`
// (a planted fault): that is left out.
static void divide_slowly(Gen *g, int64_t k, bool mod, bool truncates) {
    x86_set(&g->a, X86_RCX, k);
    x86_0(&g->a, X86_cqo);
    x86_1(&g->a, X86_idiv, x86_r64(X86_RCX));
    AsmLabel done = asm_label(&g->a);
    x86_2(&g->a, X86_test, x86_r64(X86_RDX), x86_r64(X86_RDX));
    x86_1(&g->a, X86_jz, x86_to(&done));
    x86_2(&g->a, X86_xor, x86_r64(X86_RCX), x86_r64(X86_RDX));
    x86_1(&g->a, truncates ? X86_jmp : X86_jns, x86_to(&done));
    x86_2(&g->a, X86_sub, x86_r64(X86_RAX), x86_imm(1));
    x86_set(&g->a, X86_RCX, k);
    x86_2(&g->a, X86_add, x86_r64(X86_RDX), x86_r64(X86_RCX));
    asm_bind(&g->a, &done);
    if (mod) x86_2(&g->a, X86_mov, x86_r64(X86_RAX), x86_r64(X86_RDX));
}

static void divide_by_power(Gen *g, int64_t k, bool mod) {
    if (!mod) {
        x86_2(&g->a, X86_sar, x86_r64(X86_RAX), x86_imm(__builtin_ctzll((uint64_t)k)));
    } else if (k - 1 == (int32_t)(k - 1)) {
        x86_2(&g->a, X86_and, x86_r64(X86_RAX), x86_imm(k - 1));
    } else {
        x86_set(&g->a, X86_RCX, k - 1);
        x86_2(&g->a, X86_and, x86_r64(X86_RAX), x86_r64(X86_RCX));
    }
}

// By the high half of a product. Below zero floor(n/k) is ~floor(~n/k), so that 0 <= n < 2^63; then
// with 2^(l-1) < k <= 2^l and M = ceil(2^(63+l) / k), which 64 bits hold, n/k is n·M >> (63+l): M
// is too large by less than k/2^(63+l) parts, and n times that is less than 1/k.
static void divide_by_product(Gen *g, int64_t k, bool mod) {
    int l = 64 - __builtin_clzll((uint64_t)k - 1);
    unsigned __int128 top = (unsigned __int128)1 << (63 + l);
    uint64_t m = (uint64_t)((top + (uint64_t)k - 1) / (uint64_t)k);
    if (mod) x86_1(&g->a, X86_push, x86_r64(X86_RAX));
    x86_2(&g->a, X86_mov, x86_r64(X86_RCX), x86_r64(X86_RAX));
    x86_2(&g->a, X86_sar, x86_r64(X86_RCX), x86_imm(63));
    x86_2(&g->a, X86_xor, x86_r64(X86_RAX), x86_r64(X86_RCX));
    x86_set(&g->a, X86_RDX, (int64_t)m);
    x86_1(&g->a, X86_mul, x86_r64(X86_RDX)); // rdx <- the high half
    if (l > 1)
        x86_2(&g->a, X86_shr, x86_r64(X86_RDX), x86_imm(l - 1 + FAULT(index_division_by_shift)));
    x86_2(&g->a, X86_xor, x86_r64(X86_RDX), x86_r64(X86_RCX));
    if (!mod) {
        x86_2(&g->a, X86_mov, x86_r64(X86_RAX), x86_r64(X86_RDX));
        return;
    }
    if (k == (int32_t)k) {
        x86_3(&g->a, X86_imul, x86_r64(X86_RDX), x86_r64(X86_RDX), x86_imm(k));
    } else {
        x86_set(&g->a, X86_RCX, k);
        x86_2(&g->a, X86_imul, x86_r64(X86_RDX), x86_r64(X86_RCX));
    }
    x86_1(&g->a, X86_pop, x86_r64(X86_RAX));
    x86_2(&g->a, X86_sub, x86_r64(X86_RAX), x86_r64(X86_RDX));
}

// rax <- floor(rax / k) or rax mod k, for a constant k.
void gen_divide(Gen *g, int64_t k, bool mod) {
    bool truncates = FAULT(index_division_truncates);
    if (k == 0 || (mod && (k == 1 || k == -1)))
        x86_set(&g->a, X86_RAX, 0);
    else if (k == 1)
        return;
    else if (k < 0 || truncates)
        divide_slowly(g, k, mod, truncates);
    else if ((k & (k - 1)) == 0)
        divide_by_power(g, k, mod);
    else
        divide_by_product(g, k, mod);
}

static void load_integer(Gen *g, Type t, X86Arg mem) {
    switch (t) {
    case TYPE_I8:
        x86_2(&g->a, FAULT(index_sign) ? X86_movzx : X86_movsx, x86_r64(X86_RAX),
              x86_sized(mem, 1));
        break;
    case TYPE_I16: x86_2(&g->a, X86_movsx, x86_r64(X86_RAX), x86_sized(mem, 2)); break;
    case TYPE_I32: x86_2(&g->a, X86_movsxd, x86_r64(X86_RAX), x86_sized(mem, 4)); break;
    case TYPE_BOOL:
    case TYPE_U8: x86_2(&g->a, X86_movzx, x86_r32(X86_RAX), x86_sized(mem, 1)); break;
    case TYPE_U16: x86_2(&g->a, X86_movzx, x86_r32(X86_RAX), x86_sized(mem, 2)); break;
    case TYPE_U32: x86_2(&g->a, X86_mov, x86_r32(X86_RAX), mem); break;
    default: x86_2(&g->a, X86_mov, x86_r64(X86_RAX), mem); break;
    }
}

static void check_below(Gen *g, int64_t size) {
    size += FAULT(row_check_off_by_one);
    if (size == (int32_t)size) {
        x86_2(&g->a, X86_cmp, x86_r64(X86_RAX), x86_imm(size));
    } else {
        x86_set(&g->a, X86_RCX, size);
        x86_2(&g->a, X86_cmp, x86_r64(X86_RAX), x86_r64(X86_RCX));
    }
    bad_index_if(g, X86_jae, X86_jb); // unsigned: negative ones are large
}

static void scale(Gen *g, int64_t k) {
    if (k > 1 && (k & (k - 1)) == 0)
        x86_2(&g->a, X86_shl, x86_r64(X86_RAX), x86_imm(__builtin_ctzll((uint64_t)k)));
    else if (k != 1)
        multiply(g, X86_RAX, k);
}

// rax <- byte offset of an access in its buffer, of dimensions in `dims`; indices that can be wrong
// are checked.
static void gen_offset(Gen *g, const Access *access, const int64_t *env, uint32_t dims,
                       bool check) {
    const Buffer *b = &g->p->tree->buffers.at[access->tensor];
    bool first = true;
    for (int d = 0; d < access->rank; d++) {
        if (!(dims >> d & 1)) continue;
        if (!first) gen_push(g);
        gen_affine(g, access->sub[d], env);
        if (check) check_below(g, b->size[d]);
        scale(g, b->stride[d] * type_info[b->type].bytes);
        if (!first) {
            gen_pop(g, X86_RCX);
            x86_2(&g->a, X86_add, x86_r64(X86_RAX), x86_r64(X86_RCX));
        }
        first = false;
    }
    if (first) x86_2(&g->a, X86_xor, x86_r32(X86_RAX), x86_r32(X86_RAX));
}

static Item buffer_base(Gen *g, int buffer) {
    int s = code_stream(g->p, buffer, NULL, 0, 0);
    return g->stream[s];
}

// rax <- what an index is read from: by the pointer that follows the loops where the place is a
// linear function of them that cannot be wrong.
static void read_index(Gen *g, const Access *access, const int64_t *env) {
    Type type = g->p->tree->buffers.at[access->tensor].type;
    const Mem *m = g->indexing ? leaf_mem(g->indexing, access) : NULL;
    int64_t disp = m && m->off ? m->off->c : 0;
    for (int i = 0; m && m->off && i < m->off->n; i++)
        disp += m->off->t[i].k * env[m->off->t[i].loop];
    if (m && m->off && m->safe && disp == (int32_t)disp) {
        Item base = g->stream[m->stream];
        if (base.reg < 0) gen_load_pushed(g, X86_RAX, base);
        load_integer(g, type, x86_mem(base.reg < 0 ? X86_RAX : (unsigned)base.reg, disp));
        return;
    }
    gen_offset(g, access, env, ~0u, true);
    gen_load_pushed(g, X86_RCX, buffer_base(g, access->tensor));
    load_integer(g, type, x86_mem_index(X86_RCX, X86_RAX, 0, 0));
}

static void gen_atom(Gen *g, const Atom *atom, const int64_t *env) {
    Asm *a = &g->a;
    switch (atom->kind) {
    case ATOM_ITER: bug("gen_affine does these");
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
        gen_push(g);
        gen_affine(g, atom->b, env);
        gen_pop(g, X86_RCX);
        if (atom->kind == ATOM_PROD) {
            x86_2(a, X86_imul, x86_r64(X86_RAX), x86_r64(X86_RCX));
            if (atom->has_read) bad_index_if(g, X86_jo, X86_jno);
            break;
        }
        x86_2(a, X86_cmp, x86_r64(X86_RCX), x86_r64(X86_RAX));
        x86_2(a, (atom->kind == ATOM_MIN) != FAULT(index_min_max_swapped) ? X86_cmovl : X86_cmovnle,
              x86_r64(X86_RAX), x86_r64(X86_RCX));
        break;
    case ATOM_READ: read_index(g, atom->read, env); break;
    case ATOM_PARAM: g->declined = "a parameter that was not bound"; break;
    }
}

// rax <- the computed part of an address.
static void computed_offset(Gen *g, const Ref *r) {
    g->indexing = r->mem->leaf;
    gen_offset(g, r->mem->access, r->env, r->mem->computed, !r->mem->unchecked);
    g->indexing = NULL;
}

void gen_row(Gen *g, const Micro *m) {
    computed_offset(g, m->ref);
    x86_2(&g->a, X86_mov, gen_item(g->row_item[m->slot]), x86_r64(X86_RAX));
}

X86Arg gen_mem(Gen *g, const Ref *ref, unsigned scratch) {
    Item base = g->stream[ref->stream];
    if (ref_is_hard(ref) && !ref->mem->gathers) {
        bool near = ref->disp == (int32_t)ref->disp;
        const Item *row = ref->row >= 0 ? &g->row_item[ref->row] : NULL;
        if (row && row->reg >= 0 && base.reg >= 0 && near)
            return x86_mem_index((unsigned)base.reg, (unsigned)row->reg, 0, ref->disp);
        if (row)
            gen_load_item(g, X86_RAX, *row);
        else
            computed_offset(g, ref);
        if (!near) {
            x86_set(&g->a, X86_RCX, ref->disp);
            x86_2(&g->a, X86_add, x86_r64(X86_RAX), x86_r64(X86_RCX));
        }
        if (row && base.reg >= 0)
            return x86_mem_index((unsigned)base.reg, X86_RAX, 0, near ? ref->disp : 0);
        gen_load_item(g, X86_RCX, base);
        x86_2(&g->a, X86_add, x86_r64(X86_RCX), x86_r64(X86_RAX));
        return x86_mem(X86_RCX, near ? ref->disp : 0);
    }
    unsigned reg = base.reg >= 0 ? (unsigned)base.reg : scratch;
    if (base.reg < 0) gen_load_item(g, scratch, base);
    if (ref->disp == (int32_t)ref->disp || FAULT(far_displacement))
        return x86_mem(reg, (int32_t)ref->disp);
    x86_set(&g->a, X86_RDX, ref->disp);
    return x86_mem_index(reg, X86_RDX, 0, 0);
}
