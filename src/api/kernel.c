#include "api/pipeline.h"

#include "base/checked.h"
#include "base/map.h"
#include "run/pool.h"

#include <stdlib.h>
#include <string.h>

// Of the context's table: kernels at most, and bytes of their code. At most half of it is full.
enum { MOST_KERNELS = 2048, FIRST_CAPACITY = 64 };
static const size_t most_code = (size_t)64 << 20;

// --- The thread's own ----------------------------------------------------------------------------

// Whether the code depends on the stride: not along a dimension of at most one element.
static bool stride_matters(const View *v, int d) {
    bool elements = true;
    for (int i = 0; i < v->rank; i++) elements &= v->size[i] > 0;
    return elements && v->size[d] > 1;
}

bool kernel_fits(const KernelCode *k, const View *views, int n) {
    const int64_t *at = k->key;
    for (int i = 0; i < n; i++)
        for (int d = 0; d < views[i].rank; d++)
            if (views[i].stride[d] != *at++ && stride_matters(&views[i], d)) return false;
    return true;
}

static const char *schedule_of(const KernelCode *k) {
    return k->schedule ? (const char *)k->key + k->schedule : NULL;
}

static bool same_text(const char *a, const char *b) { return a && b ? !strcmp(a, b) : a == b; }

static unsigned front_place(const lw_bound *b, Way way) {
    uint64_t h = hash_mix(b->serial ^ (uint64_t)(uintptr_t)way.schedule << 20,
                          (uint64_t)(uintptr_t)way.isa << 32 | way.choice);
    return (unsigned)(h >> 40) & (SLOT_KERNELS - 1);
}

const KernelCode *kernel_find(Slot *slot, const lw_bound *b, Way way, const View *views) {
    unsigned place = front_place(b, way);
    if (b->ctx != slot->ctx) return NULL;
    for (unsigned other = 0; other < 2; other++) {
        const SlotKernel *s = &slot->kernel[place ^ other];
        if (s->bound != b->serial || s->code->isa != way.isa || s->code->choice != way.choice ||
            !same_text(schedule_of(s->code), way.schedule) ||
            !kernel_fits(s->code, views, b->program->ninputs + b->program->noutputs))
            continue;
        if (!atomic_load_explicit(&s->code->used, memory_order_relaxed))
            atomic_store_explicit(&s->code->used, true, memory_order_relaxed);
        return s->code;
    }
    return NULL;
}

// Puts the kernel into its place and moves the previous one to the neighbouring place. The serial
// numbers of another context mean nothing here: such a kernel is held, but not found.
static void front_keep(lw_context *ctx, Slot *slot, const lw_bound *b, Way way, KernelCode *k) {
    unsigned place = front_place(b, way);
    SlotKernel *first = &slot->kernel[place], *second = &slot->kernel[place ^ 1];
    if (second->code) kernel_drop(ctx, second->code);
    *second = *first;
    *first = (SlotKernel){b->ctx == ctx ? b->serial : 0, k};
    atomic_fetch_add(&k->refs, 1);
}

void slot_forget_kernels(lw_context *ctx, Slot *slot) {
    for (int i = 0; i < SLOT_KERNELS; i++)
        if (slot->kernel[i].code) kernel_drop(ctx, slot->kernel[i].code);
    memset(slot->kernel, 0, sizeof slot->kernel);
}

// --- Keys ----------------------------------------------------------------------------------------

// The Program as text, made once.
static const char *program_text(Call *call, const lw_bound *b) {
    if (b->function->tree) return b->function->text;
    lw_bound *own = (lw_bound *)b; // caching the text does not change it
    char *text = atomic_load(&own->text);
    if (text) return text;
    Text out = {.arena = call->arena};
    program_print(&out, b->program);
    const char *printed = text_str(&out);
    size_t size = strlen(printed) + 1;
    const Allocator *allocator = &b->ctx->allocator;
    char *copy = allocator->alloc(allocator->user, size), *none = NULL;
    if (!copy) arena_out_of_memory(call->arena);
    memcpy(copy, printed, size);
    if (atomic_compare_exchange_strong(&own->text, &none, copy)) return copy;
    allocator->free(allocator->user, copy, size);
    return none;
}

static KernelCode *draft_of(Call *call, const lw_bound *b, Way way, const View *views) {
    const char *program = program_text(call, b), *schedule = way.schedule;
    int n = b->program->ninputs + b->program->noutputs;
    size_t strides = 0, text = strlen(program) + 1, more = schedule ? strlen(schedule) + 1 : 0;
    for (int i = 0; i < n; i++) strides += (size_t)views[i].rank * sizeof(int64_t);
    size_t head = 1 + sizeof way.isa + sizeof way.choice, size = strides + head + text + more;
    KernelCode *k = arena_alloc(call->arena, sizeof *k + size);
    *k = (KernelCode){.isa = way.isa, .choice = way.choice, .key_size = size};
    int64_t *at = k->key;
    for (int i = 0; i < n; i++)
        for (int d = 0; d < views[i].rank; d++) *at++ = views[i].stride[d];
    char *bytes = (char *)k->key;
    bytes[strides] = schedule != NULL;
    memcpy(bytes + strides + 1, &way.isa, sizeof way.isa);
    memcpy(bytes + strides + 1 + sizeof way.isa, &way.choice, sizeof way.choice);
    memcpy(bytes + strides + head, program, text);
    if (schedule) k->schedule = strides + head + text;
    if (schedule) memcpy(bytes + k->schedule, schedule, more);
    k->hash = hash_bytes(0, k->key, size);
    return k;
}

void kernel_drop(lw_context *ctx, KernelCode *k) {
    if (!k || atomic_fetch_sub(&k->refs, 1) != 1) return;
    k->target->unload(&k->loaded);
    ctx->allocator.free(ctx->allocator.user, k, sizeof *k + k->key_size);
}

// --- The context's table: open addressing, linear probing ----------------------------------------

// In a child made by fork the table may be in the middle of a change by a thread that is not there:
// the child begins with an empty one.
static void lock(Kernels *t) {
    if (fork_happened(&t->fork)) {
        pthread_mutex_init(&t->lock, NULL);
        t->at = NULL;
        t->n = t->cap = t->hand = 0;
        t->code_bytes = 0;
        fork_settled(&t->fork);
    }
    pthread_mutex_lock(&t->lock);
}

static size_t place_of(const Kernels *t, const KernelCode *k) {
    size_t i = (size_t)k->hash & (t->cap - 1);
    for (; t->at[i]; i = (i + 1) & (t->cap - 1)) {
        const KernelCode *o = t->at[i];
        if (o->hash == k->hash && o->key_size == k->key_size &&
            !memcmp(o->key, k->key, k->key_size))
            break;
    }
    return i;
}

// Takes the kernel at `i` out; those behind it move up, so that no search ends early.
static KernelCode *take_out(Kernels *t, size_t i) {
    KernelCode *gone = t->at[i];
    size_t mask = t->cap - 1;
    for (size_t j = (i + 1) & mask; t->at[j]; j = (j + 1) & mask) {
        size_t home = (size_t)t->at[j]->hash & mask;
        if (((j - home) & mask) < ((j - i) & mask)) continue; // it may not precede its home
        t->at[i] = t->at[j];
        i = j;
    }
    t->at[i] = NULL;
    t->n--;
    t->code_bytes -= gone->code_bytes;
    return gone;
}

// Evicts kernels until one of `bytes` fits: those that were not used since the clock hand last
// passed them. The caller drops them: *out is a list of at most `n`.
static int make_room(Kernels *t, size_t bytes, KernelCode **out, int n) {
    int given = 0;
    while (given < n && t->n && (t->n >= MOST_KERNELS || t->code_bytes + bytes > most_code)) {
        size_t i = t->hand++ & (t->cap - 1);
        if (t->at[i] && !atomic_exchange(&t->at[i]->used, false)) out[given++] = take_out(t, i);
    }
    return given;
}

static bool grow(lw_context *ctx, Kernels *t) {
    if (2 * (t->n + 1) <= t->cap) return true;
    size_t cap = t->cap ? 2 * t->cap : FIRST_CAPACITY, size = cap * sizeof(KernelCode *);
    KernelCode **old = t->at, **at = ctx->allocator.alloc(ctx->allocator.user, size);
    if (!at) return false;
    memset(at, 0, size);
    size_t before = t->cap;
    t->at = at;
    t->cap = cap;
    for (size_t i = 0; i < before; i++)
        if (old[i]) t->at[place_of(t, old[i])] = old[i];
    if (old) ctx->allocator.free(ctx->allocator.user, old, before * sizeof *old);
    return true;
}

const KernelCode *kernel_look_up(Call *call, const lw_bound *b, Way way, const View *views,
                                 KernelCode **draft) {
    KernelCode *k = *draft = draft_of(call, b, way, views), *found = NULL;
    Kernels *t = &call->ctx->kernels;
    lock(t);
    if (t->cap) found = t->at[place_of(t, k)];
    if (found) front_keep(call->ctx, call->slot, b, way, found);
    pthread_mutex_unlock(&t->lock);
    if (found) atomic_store_explicit(&found->used, true, memory_order_relaxed);
    return found;
}

const KernelCode *kernel_keep(Call *call, const lw_bound *b, Way way, const KernelCode *draft) {
    enum { AT_ONCE = 16 };
    KernelCode *given[AT_ONCE];
    const Allocator *allocator = &call->ctx->allocator;
    KernelCode *k = allocator->alloc(allocator->user, sizeof *k + draft->key_size);
    if (!k) {
        Loaded loaded = draft->loaded;
        draft->target->unload(&loaded);
        arena_out_of_memory(call->arena);
    }
    memcpy(k, draft, sizeof *k + draft->key_size);
    atomic_init(&k->refs, 1);
    Kernels *t = &call->ctx->kernels;
    lock(t);
    bool ok = grow(call->ctx, t);
    KernelCode *other = ok ? t->at[place_of(t, k)] : NULL; // made by another thread meanwhile
    int n = ok && !other ? make_room(t, k->code_bytes, given, AT_ONCE) : 0;
    if (ok && !other) {
        t->at[place_of(t, k)] = k;
        t->n++;
        t->code_bytes += k->code_bytes;
    }
    KernelCode *keep = other ? other : k;
    if (ok) front_keep(call->ctx, call->slot, b, way, keep);
    pthread_mutex_unlock(&t->lock);
    while (n) kernel_drop(call->ctx, given[--n]);
    if (keep != k || !ok) kernel_drop(call->ctx, k);
    if (!ok) arena_out_of_memory(call->arena);
    return keep;
}

size_t kernels_count(lw_context *ctx) {
    lock(&ctx->kernels);
    size_t n = ctx->kernels.n;
    pthread_mutex_unlock(&ctx->kernels.lock);
    return n;
}

void kernels_init(lw_context *ctx) {
    pthread_mutex_init(&ctx->kernels.lock, NULL);
    fork_mark_init(&ctx->kernels.fork);
    ctx->debug_what = debug_wanted();
    if (ctx->debug_what > 0) ctx->debug = debug_new(ctx->debug_what, NULL);
}

void kernels_free(lw_context *ctx) {
    Kernels *t = &ctx->kernels;
    lock(t);
    for (size_t i = 0; i < t->cap; i++) kernel_drop(ctx, t->at[i]);
    if (t->at) ctx->allocator.free(ctx->allocator.user, t->at, t->cap * sizeof *t->at);
    pthread_mutex_unlock(&t->lock);
    pthread_mutex_destroy(&t->lock);
    fork_mark_free(&t->fork);
    debug_free(ctx->debug);
    exec_arena_free(atomic_load(&ctx->exec));
    pool_free(atomic_load(&ctx->pool));
    for (int i = 0; i <= TARGET_MAX_ISAS; i++) {
        Machine *m = atomic_load(&ctx->machine[i]);
        if (m) ctx->allocator.free(ctx->allocator.user, m, sizeof *m);
    }
}

// --- Made when first needed ----------------------------------------------------------------------

ExecArena *context_exec(lw_context *ctx) {
    ExecArena *have = atomic_load(&ctx->exec);
    if (have) return have;
    bool gdb = ctx->debug_what > 0 && ctx->debug_what & DEBUG_GDB;
    ExecArena *made = gdb ? exec_arena_new_private() : exec_arena_new();
    if (!made || atomic_compare_exchange_strong(&ctx->exec, &have, made)) return made;
    exec_arena_free(made);
    return have;
}

Pool *context_pool(lw_context *ctx) {
    Pool *have = atomic_load(&ctx->pool);
    if (have) return have;
    Pool *made = pool_new(POOL_MAX_THREADS); // starts only as many threads as a loop asks for
    if (!made || atomic_compare_exchange_strong(&ctx->pool, &have, made)) return made;
    pool_free(made);
    return have;
}

void detect_machine(const lw_context *ctx, Machine *m, int cap) {
    const Target *target = target_host();
    target->detect(m, cap);
    if (!ctx->pretended) return;
    Machine host = *m;
    target->pretend(m, ctx->pretended, cap);
    machine_fit(m, &host);
}

// Asking the processor takes a while where it is a virtual one.
const Machine *context_machine(lw_context *ctx, int cap) {
    Machine *have = atomic_load_explicit(&ctx->machine[cap], memory_order_acquire);
    if (have) return have;
    Machine *made = ctx->allocator.alloc(ctx->allocator.user, sizeof *made);
    if (!made) return NULL;
    detect_machine(ctx, made, cap);
    if (atomic_compare_exchange_strong(&ctx->machine[cap], &have, made)) return made;
    ctx->allocator.free(ctx->allocator.user, made, sizeof *made);
    return have;
}
