// Elements in memory: addresses, known values, vector loads and stores.
//
// Within straight-line code, the value of an element that was loaded or stored is known. Stores are
// delayed until the code ends, so that neighbours are stored together. Elements that the code will
// read are announced in advance (memory_want), so that neighbours are loaded together. Two elements
// with the same `rest` and different constants are different. If their `rest` differs they may be
// the same, so a pending store to one happens before the other is read.
#include "code/ptx/ptx_impl.h"

#include "base/bug.h"
#include "base/checked.h"

#include <stdlib.h>

static const GpuBuffer *place_of(const KernelWriter *w, int buffer) {
    return &w->k->buffer[buffer];
}
static Type type_of_buffer(const KernelWriter *w, int buffer) {
    return w->t->buffers.at[buffer].type;
}
static int bytes_of(const KernelWriter *w, int buffer) {
    return type_info[type_of_buffer(w, buffer)].bytes;
}

// --- Address plans -----------------------------------------------------------------------------

bool mentions_unrolled(const KernelWriter *w, const Affine *a) {
    for (int i = 0; i < a->n; i++) {
        const Atom *t = a->term[i].atom;
        if (t->kind == ATOM_ITER && w->unrolled[t->index]) return true;
        if (t->a && mentions_unrolled(w, t->a)) return true;
        if (t->b && mentions_unrolled(w, t->b)) return true;
        for (int d = 0; t->kind == ATOM_READ && d < t->read->rank; d++)
            if (mentions_unrolled(w, t->read->sub[d])) return true;
    }
    return false;
}

static const Affine *hardware(const KernelWriter *w, GpuAxis a) {
    return affine_iter(w->x, w->g->hw + (int)a);
}

// The part of an address that does not come from subscripts: the offset of the block, slice or
// stage.
static const Affine *own_part(const KernelWriter *w, const GpuBuffer *b) {
    const Affine *sum = affine_const(w->x, b->offset);
    const int64_t *size = w->k->size;
    if (b->per_block) {
        const Affine *n = affine_scale(w->x, hardware(w, GPU_BLOCK_Z), size[GPU_BLOCK_Y]);
        n = affine_scale(w->x, affine_add(w->x, n, hardware(w, GPU_BLOCK_Y)), size[GPU_BLOCK_X]);
        n = affine_add(w->x, n, hardware(w, GPU_BLOCK_X));
        n = affine_scale(w->x, n, size[GPU_CLUSTER]);
        n = affine_add(w->x, n, hardware(w, GPU_CLUSTER));
        sum = affine_add(w->x, sum, affine_scale(w->x, n, b->block_bytes));
    }
    int64_t step = b->bytes;
    for (int a = GPU_THREAD_X; a < GPU_AXES; a++) {
        if (!(b->slices >> a & 1)) continue;
        sum = affine_add(w->x, sum, affine_scale(w->x, hardware(w, (GpuAxis)a), step));
        step *= size[a];
    }
    return sum;
}

bool needs_check(const KernelWriter *w, const Affine *sub, int64_t size) {
    const Leaf *leaf = w->leaf;
    if (!leaf || leaf->unchecked) return false;
    if (sub->has_read) return true;
    const Program *p = w->t->program;
    int64_t lo, hi;
    if (!p || leaf->stmt < 0 || leaf->stmt >= p->stmts.n || !p->stmts.at[leaf->stmt].unproven)
        return false;
    return !affine_bounds(sub, w->g->lo, w->g->hi, &lo, &hi) || lo < 0 || hi >= size;
}

static bool access_checks(const KernelWriter *w, const Access *a) {
    const Buffer *b = &w->t->buffers.at[a->tensor];
    for (int d = 0; d < a->rank; d++)
        if (b->size[d] == 0 || needs_check(w, a->sub[d], b->size[d])) return true;
    return false;
}

void divide_terms(KernelWriter *w, AccessPlan *p, const Affine *sum) {
    Term rest[AFFINE_MAX_TERMS];
    struct UnrolledTerm *term = arena_new_n(w->arena, struct UnrolledTerm, sum->n);
    int n = 0;
    for (int i = 0; i < sum->n; i++) {
        const Atom *t = sum->term[i].atom;
        if (t->kind == ATOM_ITER && w->unrolled[t->index])
            term[p->nterms++] = (struct UnrolledTerm){t->index, sum->term[i].coef};
        else
            rest[n++] = sum->term[i];
    }
    p->term = term;
    p->constant = sum->constant;
    p->rest = affine_make(w->x, 0, rest, n);
}

int alignment_of(const KernelWriter *w, int buffer, const Affine *rest) {
    int64_t all = w->k->buffer[buffer].space == GPU_GLOBAL && buffer < w->t->nargs ? w->align : 16;
    for (int i = 0; i < rest->n; i++) all = gcd_i64(all, rest->term[i].coef);
    return (int)all;
}

// The plan that was last found for an access with this hash, plus 1.
static int *recent_plan(KernelWriter *w, const Access *a) {
    return &w->recent_plan[((uintptr_t)a >> 4 ^ (uintptr_t)a >> 10) % RECENT_PLANS];
}

static const AccessPlan *plan_for_now(KernelWriter *w, const Access *a) {
    return access_plan(w, access_substitute(w->x, a, w->fixed, NULL, NULL, NULL));
}

const AccessPlan *access_plan(KernelWriter *w, const Access *a) {
    int *recent = recent_plan(w, a);
    if (*recent && w->plans.at[*recent - 1].access == a) return &w->plans.at[*recent - 1];
    int known = numbers_get(&w->plan_of, a);
    if (known >= 0 && w->plans.at[known].varies) return plan_for_now(w, a);
    if (known >= 0) *recent = known + 1;
    if (known >= 0) return &w->plans.at[known];
    const GpuBuffer *b = place_of(w, a->tensor);
    AccessPlan p = {.access = a, .hard = a->has_read || access_checks(w, a), .row = -1};
    bool row = p.hard && row_plan(w, a, &p);
    if (row && p.row < 0) // its row is another one for each value of an unrolled loop
        return plan_for_now(w, a);
    if (!p.hard) {
        const Affine *sum = own_part(w, b);
        for (int d = 0; d < a->rank; d++)
            sum = affine_add(w->x, sum, affine_scale(w->x, a->sub[d], b->stride[d]));
        divide_terms(w, &p, sum);
        p.align = alignment_of(w, a->tensor, p.rest);
        p.varies = mentions_unrolled(w, p.rest); // e.g. (16*i + t)/4
    }
    numbers_put(&w->plan_of, a, w->plans.n);
    vec_push(w->arena, &w->plans, p);
    return p.varies ? plan_for_now(w, a) : &vec_last(&w->plans);
}

int64_t plan_constant(const KernelWriter *w, const AccessPlan *p) {
    int64_t sum = p->constant;
    for (int i = 0; i < p->nterms; i++) sum += p->term[i].coef * w->env[p->term[i].id];
    return sum;
}

// --- Tables of known elements ------------------------------------------------------------------

static HeldSlot *table_slot(const HeldTable *t, int buffer, const Affine *rest, int64_t constant) {
    uint64_t h = (uint64_t)(uintptr_t)rest + (uint64_t)buffer;
    uint64_t mask = (uint64_t)t->cap - 1;
    for (uint64_t i = hash_mix(h, (uint64_t)constant);; i++) {
        HeldSlot *s = &t->slot[i & mask];
        if (s->stamp != t->stamp) return s;
        if (s->constant == constant && s->rest == rest && s->buffer == buffer) return s;
    }
}

static int table_find(const HeldTable *t, int buffer, const Affine *rest, int64_t constant) {
    const HeldSlot *s = table_slot(t, buffer, rest, constant);
    return s->stamp == t->stamp ? s->number : -1;
}

static void table_put(HeldTable *t, const Held *l, int number) {
    *table_slot(t, l->buffer, l->rest, l->constant) = (HeldSlot){.rest = l->rest,
                                                                 .constant = l->constant,
                                                                 .buffer = l->buffer,
                                                                 .number = number,
                                                                 .stamp = t->stamp};
}

// Makes the table describe `n` elements, with room for more.
static void table_rebuild(KernelWriter *w, HeldTable *t, const Held *all, int n) {
    t->stamp++;
    if (2 * (n + 2) > t->cap) {
        while (2 * (n + 2) > t->cap) t->cap = t->cap ? 2 * t->cap : 256;
        t->slot = arena_new_n(w->arena, HeldSlot, t->cap);
    }
    for (int i = 0; i < n; i++) table_put(t, &all[i], i);
}

static void locs_rebuild(KernelWriter *w) { table_rebuild(w, &w->loc_table, w->loc.at, w->loc.n); }

Held *loc_find(KernelWriter *w, int buffer, const Affine *rest, int64_t constant) {
    if (!w->loc.n) return NULL;
    int number = table_find(&w->loc_table, buffer, rest, constant);
    return number >= 0 ? &w->loc.at[number] : NULL;
}

Held *loc_new(KernelWriter *w, int buffer, const Affine *rest, int64_t constant) {
    if (2 * (w->loc.n + 2) > w->loc_table.cap) locs_rebuild(w);
    vec_push(
        w->arena, &w->loc,
        ((Held){.buffer = buffer, .rest = rest, .constant = constant, .branches = w->branches}));
    Held *l = &vec_last(&w->loc);
    table_put(&w->loc_table, l, w->loc.n - 1);
    return l;
}

static bool is_wanted(const KernelWriter *w, int buffer, const Affine *rest, int64_t constant) {
    return w->wanted.n && table_find(&w->wanted_table, buffer, rest, constant) >= 0;
}

void memory_want(KernelWriter *w, const Access *a) {
    const AccessPlan *p = access_plan(w, a);
    if ((p->hard && p->row < 0) || place_of(w, a->tensor)->space == GPU_REGISTER) return;
    int64_t c = plan_constant(w, p);
    if (is_wanted(w, a->tensor, p->rest, c)) return;
    if (2 * (w->wanted.n + 2) > w->wanted_table.cap)
        table_rebuild(w, &w->wanted_table, w->wanted.at, w->wanted.n);
    vec_push(w->arena, &w->wanted, ((Held){.buffer = a->tensor, .rest = p->rest, .constant = c}));
    table_put(&w->wanted_table, &vec_last(&w->wanted), w->wanted.n - 1);
}

void wanted_clear(KernelWriter *w) {
    w->wanted.n = 0;
    w->wanted_table.stamp++;
}

// --- Addresses ---------------------------------------------------------------------------------

const char *space_name(const KernelWriter *w, int buffer) {
    static const char *const name[] = {"global", "shared", "local"};
    return name[place_of(w, buffer)->space];
}

Opnd base_of(KernelWriter *w, int buffer) {
    Opnd *b = &w->base[buffer];
    if (b->reg >= 0) return *b;
    PtxText *out = w->out;
    w->out = &w->scope.at[0]->head;
    switch (place_of(w, buffer)->space) {
    case GPU_SHARED:
        w->uses_shared = true;
        *b = reg_new(w, REG_32);
        line(w, "mov.u32 %%r%d, smem;", b->reg);
        break;
    case GPU_LOCAL:
        w->uses_local = true;
        *b = reg_new(w, REG_64);
        line(w, "mov.u64 %%d%d, local;", b->reg);
        break;
    default:
        if (buffer >= w->t->nargs) {
            *b = w->scratch_base;
            break;
        }
        *b = reg_new(w, REG_64);
        line(w, "ld.param.u64 %%d%d, [arg%d];", b->reg, buffer);
        line(w, "cvta.to.global.u64 %%d%d, %%d%d;", b->reg, b->reg);
    }
    w->out = out;
    return *b;
}

const Affine *near_offset(KernelWriter *w, const Affine *rest, int64_t constant, int64_t *disp) {
    enum { OFFSETS = 1 << 23 }; // an offset is in -OFFSETS ... OFFSETS - 1
    *disp = constant;
    if (constant >= -OFFSETS && constant < OFFSETS) return rest;
    *disp = floor_mod(constant, OFFSETS);
    return affine_add_const(w->x, rest, constant - *disp);
}

// There is one register per buffer and affine expression. Its key is the expression plus an index
// that stands for the buffer.
static const Affine *address_key(KernelWriter *w, int buffer, const Affine *rest) {
    uint64_t h = hash_mix((uint64_t)(uintptr_t)rest, (uint64_t)buffer);
    AddressKey *k = &w->recent_key[h % RECENT_KEYS];
    if (k->rest != rest || k->buffer != buffer) {
        const Affine *key = affine_add(w->x, rest, affine_iter(w->x, w->g->nids + 1 + buffer));
        *k = (AddressKey){rest, key, buffer};
    }
    return k->key;
}

// base + rest in a register, and in *disp an offset that fits the 24 bits of an instruction. The
// register is computed with the index arithmetic of `rest`; elements close to each other share it.
Opnd address_of(KernelWriter *w, int buffer, const Affine *rest, int64_t constant, int64_t *disp) {
    Opnd base = base_of(w, buffer);
    if (place_of(w, buffer)->swizzle.bits)
        return swizzle_address(w, buffer, base, rest, constant, disp);
    rest = near_offset(w, rest, constant, disp);
    if (affine_is(rest, 0)) return base;
    return affine_plus(w, address_key(w, buffer, rest), base, rest);
}

// --- Loads -------------------------------------------------------------------------------------

static const char *suffix_of(Type t) {
    switch (t) {
    case TYPE_BOOL:
    case TYPE_U8: return "u8";
    case TYPE_I8: return "s8";
    case TYPE_I16: return "s16";
    case TYPE_U16: return "u16";
    case TYPE_F16:
    case TYPE_BF16: return "b16";
    default: return type_info[t].bits == 64 ? "b64" : "b32";
    }
}

// Converts an element from its form in memory to a value for arithmetic.
static Opnd unpacked(KernelWriter *w, Type t, Opnd raw) {
    switch (t) {
    case TYPE_BOOL: return NEW(w, REG_PRED, "setp.ne.u32", raw, lit(REG_32, 0));
    case TYPE_F16: return NEW(w, REG_32, "cvt.f32.f16", raw);
    case TYPE_BF16: {
        Opnd r = NEW(w, REG_32, "cvt.u32.u16", raw);
        return NEW(w, REG_32, "shl.b32", r, lit(REG_32, 16));
    }
    default: return raw;
    }
}

static Opnd packed(KernelWriter *w, Type t, Opnd v) {
    switch (t) {
    case TYPE_BOOL:
        return NEW(w, REG_32, "selp.u32", lit(REG_32, 1), lit(REG_32, 0), predicate(w, v));
    case TYPE_F16: return NEW(w, REG_16, "cvt.rn.f16.f32", v);
    case TYPE_BF16: return NEW(w, REG_16, "cvt.rn.bf16.f32", v);
    default: return v;
    }
}

static RegClass raw_class(Type t) {
    return type_is_storage(t) ? REG_16 : type_info[t].bits == 64 ? REG_64 : REG_32;
}

// Stores that L2 evicts first: nothing reads the elements again soon.
static bool streams(const GpuBuffer *b) {
    return b->space == GPU_GLOBAL && b->written && !b->cached;
}

// A register or, for a vector, a list of them in braces.
static char *put_list(char *to, int n, const Opnd *regs) {
    if (n > 1) *to++ = '{';
    for (int i = 0; i < n; i++) {
        const Opnd *r = &regs[i];
        if (i) to = put_text(to, ", ");
        to = r->literal ? put_int(to, r->class == REG_64 ? (int64_t)r->bits : (int32_t)r->bits)
                        : put_register(to, *r);
    }
    if (n > 1) *to++ = '}';
    return to;
}

static char *put_address(char *to, Opnd address, int64_t disp) {
    to = put_register(put_text(to, "["), address);
    if (disp) to = put_int(put_text(to, "+"), disp);
    return put_text(to, "]");
}

// The cache operator of a load from global memory. What nothing writes in this kernel is read-only.
static const char *load_operator(const KernelWriter *w, int buffer) {
    static const char *const text[] = {"", ".nc", ".ca", ".cg", ".cs"};
    const GpuBuffer *b = place_of(w, buffer);
    LoadCache cache = w->leaf ? leaf_cache(w->leaf, buffer) : LOAD_AUTO;
    if (b->space != GPU_GLOBAL) return "";
    if (!cache && !b->written && buffer < w->t->nargs) cache = LOAD_READONLY;
    return text[cache];
}

static void access_text(KernelWriter *w, const char *type, int n, const Opnd *regs, Opnd address,
                        int64_t disp, bool load, int buffer) {
    char *to = put_text(out_room(w), load ? "\tld." : "\tst.");
    to = put_text(to, space_name(w, buffer));
    to = put_text(to, load ? load_operator(w, buffer) : streams(place_of(w, buffer)) ? ".cs" : "");
    to = put_text(to, n == 4 ? ".v4." : n == 2 ? ".v2." : ".");
    to = put_text(put_text(to, type), " ");
    to = load ? put_list(to, n, regs) : put_address(to, address, disp);
    to = put_text(to, ", ");
    to = load ? put_address(to, address, disp) : put_list(to, n, regs);
    out_end(w, put_text(to, ";\n"));
}

// The number of elements to load at once, starting at constant `*first`.
static int load_width(KernelWriter *w, const AccessPlan *p, int64_t c, int64_t *first) {
    int size = bytes_of(w, p->access->tensor);
    *first = c;
    if (size < 4 || !w->straight) return 1;
    for (int n = 16 / size; n > 1; n /= 2) {
        if (p->align % (n * size)) continue;
        int64_t from = c - floor_mod(c, n * size);
        bool all = true;
        for (int i = 0; i < n && all; i++)
            all = is_wanted(w, p->access->tensor, p->rest, from + i * size) &&
                  !loc_find(w, p->access->tensor, p->rest, from + i * size);
        if (!all) continue;
        *first = from;
        return n;
    }
    return 1;
}

static bool store_one(KernelWriter *w, Held *l);

void memory_settle(KernelWriter *w, int buffer, const Affine *rest, bool write) {
    bool any = false;
    if (!place_of(w, buffer)->written) return;
    for (int i = 0; i < w->loc.n; i++) {
        Held *l = &w->loc.at[i];
        if (l->buffer != buffer || l->rest == rest || l->dead || l->pinned) continue;
        any |= l->dirty || write;
    }
    if (!any) return;
    for (int i = 0; i < w->loc.n; i++) {
        Held *l = &w->loc.at[i];
        if (l->buffer != buffer || l->rest == rest || l->pinned) continue;
        if (l->dirty) store_one(w, l);
        l->dead |= write;
    }
    int n = 0;
    for (int i = 0; i < w->loc.n; i++)
        if (!w->loc.at[i].dead) w->loc.at[n++] = w->loc.at[i];
    w->loc.n = n;
    locs_rebuild(w);
}

static Held *register_element(KernelWriter *w, const Access *a) {
    const AccessPlan *p = access_plan(w, a);
    int64_t c = plan_constant(w, p);
    Held *l = loc_find(w, a->tensor, p->rest, c);
    if (!l) {
        l = loc_new(w, a->tensor, p->rest, c);
        l->pinned = true;
        l->value = reg_new(w, class_of(type_of_buffer(w, a->tensor)));
        l->value.var = true;
    }
    return l;
}

Opnd element_at(KernelWriter *w, int buffer, Opnd address, int64_t disp) {
    Type t = type_of_buffer(w, buffer);
    Opnd raw = reg_new(w, raw_class(t));
    access_text(w, suffix_of(t), 1, &raw, address, disp, true, buffer);
    return unpacked(w, t, raw);
}

void element_put(KernelWriter *w, int buffer, Opnd address, int64_t disp, Opnd v) {
    Type t = type_of_buffer(w, buffer);
    Opnd raw = packed(w, t, v);
    if (raw.literal) raw = moved(w, raw);
    access_text(w, suffix_of(t), 1, &raw, address, disp, false, buffer);
}

Opnd checked_address(KernelWriter *w, const Access *a, unsigned dims, Opnd sum) {
    const Buffer *b = &w->t->buffers.at[a->tensor];
    const GpuBuffer *g = place_of(w, a->tensor);
    for (int d = 0; d < a->rank; d++) {
        if (!(dims >> d & 1)) continue;
        Opnd v = affine_value(w, a->sub[d], true);
        if (v.class == REG_32) v = NEW(w, REG_64, "cvt.s64.s32", v);
        if (needs_check(w, a->sub[d], b->size[d])) {
            Opnd bad = NEW(w, REG_PRED, "setp.ge.u64", v.literal ? moved(w, v) : v,
                           lit(REG_64, (uint64_t)b->size[d]));
            check_fail(w, bad);
            v = NEW(w, REG_64, "selp.b64", lit(REG_64, 0), v, bad);
        }
        sum = NEW(w, REG_64, "mad.lo.s64", v, lit(REG_64, (uint64_t)g->stride[d]),
                  sum.literal ? moved(w, sum) : sum);
    }
    return sum;
}

// The address of an access with checked or data-dependent subscripts.
static Opnd hard_address(KernelWriter *w, const Access *a) {
    const GpuBuffer *g = place_of(w, a->tensor);
    Opnd sum = affine_value(w, own_part(w, g), true);
    if (sum.class == REG_32) sum = NEW(w, REG_64, "cvt.s64.s32", sum);
    sum = checked_address(w, a, ~0u, sum);
    Opnd base = base_of(w, a->tensor);
    if (sum.literal) sum = moved(w, sum);
    if (base.class == REG_64) return NEW(w, REG_64, "add.s64", sum, base);
    Opnd offset = swizzle_register(w, g->swizzle, NEW(w, REG_32, "cvt.u32.u64", sum));
    return NEW(w, REG_32, "add.s32", offset, base);
}

static void fail_always(KernelWriter *w) {
    Opnd yes = NEW(w, REG_PRED, "setp.eq.s32", moved(w, lit(REG_32, 0)), lit(REG_32, 0));
    check_fail(w, yes);
}

Held *element_pinned(KernelWriter *w, const Access *a) {
    if (w->empty[a->tensor]) return NULL;
    if (place_of(w, a->tensor)->space == GPU_REGISTER) return register_element(w, a);
    const AccessPlan *p = access_plan(w, a);
    Held *l = p->hard ? NULL : loc_find(w, a->tensor, p->rest, plan_constant(w, p));
    return l && l->pinned ? l : NULL;
}

Opnd element_load(KernelWriter *w, const Access *a) {
    Type t = type_of_buffer(w, a->tensor);
    if (w->empty[a->tensor]) {
        fail_always(w);
        return moved(w, lit_value(t, (Value){.i = 0}));
    }
    if (place_of(w, a->tensor)->space == GPU_REGISTER) return register_element(w, a)->value;
    const AccessPlan *p = access_plan(w, a);
    if (p->hard && p->row < 0) {
        memory_settle(w, a->tensor, NULL, false);
        return element_at(w, a->tensor, hard_address(w, a), 0);
    }
    int64_t c = plan_constant(w, p), first, disp;
    Held *l = loc_find(w, a->tensor, p->rest, c);
    if (l) return l->value;
    memory_settle(w, a->tensor, p->rest, false);
    int n = load_width(w, p, c, &first), size = bytes_of(w, a->tensor);
    Opnd raw[4] = {0}, address = p->hard ? row_address(w, p, first, &disp)
                                         : address_of(w, a->tensor, p->rest, first, &disp);
    for (int i = 0; i < n; i++) raw[i] = reg_new(w, raw_class(t));
    access_text(w, suffix_of(t), n, raw, address, disp, true, a->tensor);
    for (int i = 0; i < n; i++) {
        l = loc_new(w, a->tensor, p->rest, first + i * size);
        l->value = unpacked(w, t, raw[i]);
        l->align = p->align;
    }
    return loc_find(w, a->tensor, p->rest, c)->value;
}

// --- Stores ------------------------------------------------------------------------------------

static bool store_one(KernelWriter *w, Held *l) {
    int64_t disp;
    Opnd address = address_of(w, l->buffer, l->rest, l->constant, &disp);
    element_put(w, l->buffer, address, disp, l->value);
    l->dirty = false;
    return true;
}

void element_store(KernelWriter *w, const Access *a, Opnd value) {
    if (w->empty[a->tensor]) {
        fail_always(w);
        return;
    }
    if (place_of(w, a->tensor)->space == GPU_REGISTER) {
        Type t = type_of_buffer(w, a->tensor);
        bool round = type_is_storage(t);
        reg_assign(w, register_element(w, a)->value,
                   round ? unpacked(w, t, packed(w, t, value)) : value);
        return;
    }
    const AccessPlan *p = access_plan(w, a);
    if (p->hard) {
        memory_settle(w, a->tensor, NULL, true);
        element_put(w, a->tensor, hard_address(w, a), 0, value);
        return;
    }
    int64_t c = plan_constant(w, p);
    memory_settle(w, a->tensor, p->rest, true);
    Held *l = loc_find(w, a->tensor, p->rest, c);
    if (l && l->pinned) {
        Type t = type_of_buffer(w, a->tensor);
        bool round = type_is_storage(t);
        reg_assign(w, l->value, round ? unpacked(w, t, packed(w, t, value)) : value);
        l->dirty = true;
        return;
    }
    if (!l) l = loc_new(w, a->tensor, p->rest, c);
    // A value kept for a later store is rounded to the type of the buffer, as memory would round
    // it.
    Type t = type_of_buffer(w, a->tensor);
    l->value = type_is_storage(t) ? unpacked(w, t, packed(w, t, value))
               : value.var        ? moved(w, value)
                                  : value;
    l->dirty = true;
    l->align = p->align;
}

static int by_place(const void *a, const void *b) {
    const Held *p = *(Held *const *)a, *q = *(Held *const *)b;
    if (p->buffer != q->buffer) return p->buffer < q->buffer ? -1 : 1;
    if (p->rest != q->rest) return affine_compare(p->rest, q->rest);
    return p->constant < q->constant ? -1 : p->constant > q->constant;
}

static bool adjacent(const Held *a, const Held *b, int64_t distance) {
    return a->buffer == b->buffer && a->rest == b->rest && b->constant - a->constant == distance;
}

static int store_run(KernelWriter *w, Held **at, int left) {
    int size = bytes_of(w, at[0]->buffer);
    for (int n = size < 4 ? 1 : 16 / size; n > 1; n /= 2) {
        bool fits =
            n <= left && at[0]->align % (n * size) == 0 && at[0]->constant % (n * size) == 0;
        for (int i = 1; i < n && fits; i++) fits = adjacent(at[0], at[i], i * size);
        if (!fits) continue;
        Opnd regs[4];
        int64_t disp;
        for (int i = 0; i < n; i++)
            regs[i] = at[i]->value.literal ? moved(w, at[i]->value) : at[i]->value;
        Opnd address = address_of(w, at[0]->buffer, at[0]->rest, at[0]->constant, &disp);
        const char *type = suffix_of(type_of_buffer(w, at[0]->buffer));
        access_text(w, type, n, regs, address, disp, false, at[0]->buffer);
        return n;
    }
    store_one(w, at[0]);
    return 1;
}

static int store_dirty(KernelWriter *w) {
    VEC(Held *) dirty = {0};
    for (int i = 0; i < w->loc.n; i++)
        if (w->loc.at[i].dirty && !w->loc.at[i].pinned) vec_push(w->arena, &dirty, &w->loc.at[i]);
    if (dirty.n) qsort(dirty.at, (size_t)dirty.n, sizeof *dirty.at, by_place);
    for (int i = 0; i < dirty.n;) i += store_run(w, dirty.at + i, dirty.n - i);
    return dirty.n;
}

static bool is_constant(const KernelWriter *w, const Held *l) {
    const GpuBuffer *b = place_of(w, l->buffer);
    return b->space == GPU_GLOBAL && !b->written && l->buffer < w->t->nargs;
}

// Stores what is dirty, and forgets what is not pinned; constant elements too unless they are kept
// and were learnt outside of branches that have ended.
static void flush(KernelWriter *w, bool keeps) {
    int n = 0, stored = store_dirty(w);
    rows_close(w);
    for (int i = 0; i < w->loc.n; i++) {
        const Held *l = &w->loc.at[i];
        bool known = keeps && l->branches <= w->branches && is_constant(w, l);
        if (l->pinned || known) w->loc.at[n++] = *l;
    }
    if (n == w->loc.n && !stored) return;
    w->loc.n = n;
    locs_rebuild(w);
}

void memory_flush(KernelWriter *w) { flush(w, false); }

void memory_sync(KernelWriter *w) {
    enum { MOST_KEPT = 64 }; // registers
    int words = 0;
    for (int i = 0; i < w->loc.n; i++)
        if (is_constant(w, &w->loc.at[i])) words += w->loc.at[i].value.class == REG_64 ? 2 : 1;
    flush(w, words <= MOST_KEPT);
}

void memory_join(KernelWriter *w) { flush(w, true); }

void memory_store(KernelWriter *w, int buffer) {
    for (int i = 0; i < w->loc.n; i++) {
        Held *l = &w->loc.at[i];
        if (l->buffer == buffer && l->dirty && !l->pinned) store_one(w, l);
    }
}

void memory_forget(KernelWriter *w, int from) {
    int n = from;
    rows_close(w);
    for (int i = from; i < w->loc.n; i++)
        if (w->loc.at[i].pinned) w->loc.at[n++] = w->loc.at[i];
    if (n == w->loc.n) return;
    w->loc.n = n;
    locs_rebuild(w);
}

void loc_drop(KernelWriter *w, Held *l) {
    *l = vec_last(&w->loc);
    w->loc.n--;
    locs_rebuild(w);
}

void plans_clear(KernelWriter *w) {
    w->plan_of = (Numbers){.arena = w->arena};
    w->plans.n = 0;
    for (int i = 0; i < RECENT_PLANS; i++) w->recent_plan[i] = 0;
}

// --- Indices from data -------------------------------------------------------------------------

Opnd index_read(KernelWriter *w, const Access *a) {
    return convert(w, TYPE_I64, type_of_buffer(w, a->tensor), element_load(w, a));
}

// --- Copies ------------------------------------------------------------------------------------

// Copies `vector` elements at once, asynchronously or through registers.
void copy_vector(KernelWriter *w, const GpuNode *n) {
    const Access *to = n->leaf->write, *from = n->leaf->value->access;
    const AccessPlan *p = access_plan(w, to), *q = access_plan(w, from);
    int64_t disp[2];
    if (p->hard || q->hard) bug("a copy with computed subscripts");
    if (w->k->buffer[to->tensor].stages < 2) memory_settle(w, to->tensor, p->rest, true);
    memory_settle(w, from->tensor, q->rest, false);
    Opnd s = address_of(w, to->tensor, p->rest, plan_constant(w, p), &disp[0]);
    Opnd g = address_of(w, from->tensor, q->rest, plan_constant(w, q), &disp[1]);
    int size = bytes_of(w, to->tensor), bytes = n->vector * size;
    if (n->async) {
        bool l2 = bytes == 16 && leaf_cache(n->leaf, from->tensor) != LOAD_L1;
        char *at = put_text(out_room(w), l2 ? "\tcp.async.cg" : "\tcp.async.ca");
        at = put_address(put_text(at, ".shared.global "), s, disp[0]);
        at = put_address(put_text(at, ", "), g, disp[1]);
        out_end(w, put_text(put_int(put_text(at, ", "), bytes), ";\n"));
        return;
    }
    bool narrow = size < 4;
    int words = bytes >= 4 && narrow ? bytes / 4 : n->vector;
    const char *type = size == 8 ? "b64" : "b32";
    Opnd regs[4];
    for (int i = 0; i < words; i++) regs[i] = reg_new(w, size == 8 ? REG_64 : REG_32);
    access_text(w, type, words, regs, g, disp[1], true, from->tensor);
    access_text(w, type, words, regs, s, disp[0], false, to->tensor);
}
