// The order of operations after registers are assigned: a load may wait for its first use, but not
// beyond a store to its element.
#include "unit/check.h"

#include "code/micro/micro.h"

typedef struct Order {
    int load, store; // positions, from 1
    int n;
} Order;

static void note(void *user, const Micro *m) {
    Order *o = user;
    o->n++;
    bool first = m->ref && m->ref->buffer == 0;
    if (first && m->kind == MI_STORE)
        o->store = o->n;
    else if (first)
        o->load = o->n;
}

static bool folds(const void *user, const Micro *m, int arg, const Ref *ref) {
    (void)user, (void)arg, (void)ref;
    return m->kind == MI_OP;
}

static bool ties(const void *user, const Micro *m, int arg) {
    (void)user, (void)m, (void)arg;
    return true;
}

// A is read, overwritten, and its old element used after that. If `unused`, the old element has an
// earlier use, too, whose result nothing needs.
static Order order_of(bool unused) {
    Arena arena;
    arena_init(&arena, &allocator_libc);
    Seg seg;
    seg_init(&seg, &arena, 2);
    Mem mem = {.off = &(Lin){0}};
    Ref a = {.mem = &mem, .row = -1, .guard = -1, .type = TYPE_F32, .width = 1, .active = 1};
    Ref b = a;
    b.buffer = b.stream = 1;
    int old = seg_load(&seg, &a);
    if (unused) seg_op(&seg, MI_OP, OP_NEG, TYPE_F32, TYPE_F32, 1, 1, &old);
    seg_store(&seg, &a, seg_const(&seg, TYPE_F32, 1, (Value){.f = 1}));
    seg_store(&seg, &b, seg_op(&seg, MI_OP, OP_SQRT, TYPE_F32, TYPE_F32, 1, 1, &old));
    seg_close(&seg);
    Order o = {0};
    MicroIsa isa = {.registers = 8, .folds = folds, .ties = ties, .emit = note, .user = &o};
    micro_assign(&seg, &isa, 0, NULL);
    arena_free(&arena);
    return o;
}

TEST(micro_assign_loads_before_a_store_to_the_element) {
    for (int unused = 0; unused < 2; unused++) {
        Order o = order_of(unused);
        CHECK(o.load > 0);
        CHECK(o.load < o.store);
    }
}
