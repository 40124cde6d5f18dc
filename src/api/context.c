// Contexts, the frame of every call, and diagnostics as data.
#include "api/devices.h"

#include "base/bug.h"
#include "base/map.h"
#include "base/nearest.h"
#include "search/db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- Objects -------------------------------------------------------------------------------------

void context_hold(lw_context *ctx) { atomic_fetch_add(&ctx->refs, 1); }

void context_drop(lw_context *ctx) {
    if (atomic_fetch_sub(&ctx->refs, 1) != 1) return;
    devices_free(ctx);
    kernels_free(ctx);
    db_free(ctx->db);
    Allocator allocator = ctx->allocator;
    allocator.free(allocator.user, ctx, sizeof *ctx);
}

void *call_new(Call *call, size_t size) {
    const Allocator *allocator = &call->ctx->allocator;
    void *p = allocator->alloc(allocator->user, size);
    if (!p) arena_out_of_memory(call->arena);
    return memset(p, 0, size);
}

bool options_copy(void *into, size_t size, const void *from) {
    size_t given = sizeof given;
    memset(into, 0, size);
    if (from) memcpy(&given, from, sizeof given);
    if (from) memcpy(into, from, given < size ? given : size);
    return given >= sizeof given;
}

// A number from 1 to POOL_MAX_THREADS; 0: it is none.
static int thread_count(const char *text) {
    char *end;
    long n = strtol(text, &end, 10);
    return *end || n < 1 || n > POOL_MAX_THREADS ? 0 : (int)n;
}

lw_context *lw_context_new(const lw_context_options *options) {
    lw_context_options o;
    if (!options_copy(&o, sizeof o, options) || !o.alloc != !o.free) return NULL;
    Allocator allocator = allocator_libc;
    if (o.alloc) allocator = (Allocator){.alloc = o.alloc, .free = o.free};
    allocator.user = o.user;
    allocator.chunk = o.chunk;
    lw_context *ctx = allocator.alloc(allocator.user, sizeof *ctx);
    if (!ctx) return NULL;
    memset(ctx, 0, sizeof *ctx);
    ctx->allocator = allocator;
    ctx->trace = o.trace;
    ctx->dump = o.dump;
    ctx->dump_steps = dumped_steps();
    atomic_init(&ctx->refs, 1);
    const char *cap = getenv("LW_ISA"), *threads = getenv("LW_THREADS");
    const Target *host = target_host();
    ctx->isa_cap = cap && *cap ? target_isa(host, cap) : host->nisas;
    const char *machine = o.machine ? o.machine : getenv("LW_MACHINE");
    if (machine && *machine) ctx->pretended = family_by_name(machine);
    ctx->no_machine = machine && *machine && !ctx->pretended;
    ctx->threads = threads && *threads ? thread_count(threads) : pool_processors();
    kernels_init(ctx);
    if (db_new(&ctx->allocator, o.database, &ctx->db)) return ctx;
    context_drop(ctx);
    return NULL;
}

static void free_slot(lw_context *ctx, Slot *s) {
    const Allocator *allocator = &ctx->allocator;
    lw_module_free(s->holds);
    arena_free(&s->arena);
    arena_free(&s->scratch);
    slot_forget_kernels(ctx, s);
    if (s->work) allocator->free(allocator->user, s->work, s->work_size);
    allocator->free(allocator->user, s, sizeof *s);
}

void lw_context_free(lw_context *ctx) {
    if (!ctx) return;
    for (int i = 0; i < SLOT_LISTS; i++) {
        for (Slot *s = ctx->slots[i], *next; s; s = next) {
            next = s->next;
            free_slot(ctx, s);
        }
        ctx->slots[i] = NULL;
    }
    context_drop(ctx);
}

// --- Calls ---------------------------------------------------------------------------------------

static const char out_of_memory[] = "error: out of memory\n";

static _Atomic(Slot *) *slot_list(lw_context *ctx) {
    uint64_t me = (uint64_t)pthread_self();
    return &ctx->slots[hash_mix(me, me >> 12) >> 32 & (SLOT_LISTS - 1)];
}

static Slot *find_slot(lw_context *ctx) {
    pthread_t me = pthread_self();
    Slot *s = atomic_load_explicit(slot_list(ctx), memory_order_acquire);
    while (s && !pthread_equal(s->thread, me)) s = s->next;
    return s;
}

static void first_chunk(void *arg) {
    Slot *s = arg;
    arena_alloc(&s->arena, 1);
    s->empty = arena_mark(&s->arena);
}

static Slot *add_slot(lw_context *ctx) {
    Slot *s = ctx->allocator.alloc(ctx->allocator.user, sizeof *s);
    if (!s) atomic_store(&ctx->starved, true);
    if (!s) return NULL;
    memset(s, 0, sizeof *s);
    s->thread = pthread_self();
    s->ctx = ctx;
    s->text = "";
    arena_init(&s->arena, &ctx->allocator);
    arena_init(&s->scratch, &ctx->allocator);
    if (!arena_try(&s->arena, first_chunk, s)) {
        ctx->allocator.free(ctx->allocator.user, s, sizeof *s);
        atomic_store(&ctx->starved, true);
        return NULL;
    }
    _Atomic(Slot *) *list = slot_list(ctx);
    s->next = atomic_load(list);
    while (!atomic_compare_exchange_weak(list, &s->next, s)) continue;
    return s;
}

static void forget(Slot *s) {
    arena_release(&s->arena, s->empty);
    lw_module_free(s->holds);
    s->holds = NULL;
    s->ndiags = 0;
    s->shown = NULL;
    s->text = "";
    s->diags = (DiagList){.arena = &s->arena};
}

void call_join(Call *call, Arena *a) {
    require(call->njoined < (int)(sizeof call->joined / sizeof *call->joined));
    call->joined[call->njoined++] = a;
    a->try = call->arena->try;
}

void call_part(Call *call) {
    while (call->njoined) call->joined[--call->njoined]->try = NULL;
}

void call_source(Call *call, lw_module *mod) {
    module_hold(mod);
    lw_module_free(call->slot->holds);
    call->slot->holds = mod;
    call->diags->source = mod->source.text ? &mod->source : NULL;
}

// Ranges of a Diag as lines and columns.
static const lw_diag *show(Arena *arena, const Diag *d) {
    lw_diag s = {.severity = (lw_severity)d->severity, .text = d->text};
    if (d->source) {
        s.file = d->source->name;
        source_position(d->source, d->range.from, &s.line, &s.column);
        source_position(d->source, d->range.to, &s.end_line, &s.end_column);
    }
    for (const Diag *n = d->notes; n; n = n->next) s.note_count++;
    const lw_diag **notes = arena_new_n(arena, const lw_diag *, s.note_count);
    size_t i = 0;
    for (const Diag *n = d->notes; n; n = n->next) notes[i++] = show(arena, n);
    s.notes = notes;
    return arena_copy(arena, &s, sizeof s);
}

static void show_all(Slot *s) {
    if (s->diags.items.n == 0) return;
    size_t n = (size_t)s->diags.items.n;
    const lw_diag **shown = arena_new_n(&s->arena, const lw_diag *, n);
    Text text = {.arena = &s->arena};
    for (size_t i = 0; i < n; i++) {
        shown[i] = show(&s->arena, s->diags.items.at[i]);
        diag_print(&text, s->diags.items.at[i]);
    }
    if (s->diags.dropped > 0) text_printf(&text, "and %d more\n", s->diags.dropped);
    s->ndiags = n;
    s->shown = shown;
    s->text = text_str(&text);
}

typedef struct Frame {
    Call call;
    CallBody *body;
    void *args;
    lw_status status;
} Frame;

static void enter(void *arg) {
    Frame *f = arg;
    call_join(&f->call, f->call.scratch);
    f->status = f->body(&f->call, f->args);
    call_part(&f->call);
    show_all(f->call.slot);
}

static lw_status misused(Slot *s, const char *why, va_list values) {
    char *end = s->plain + sizeof s->plain, *to = s->plain;
    to += snprintf(to, sizeof s->plain, "error: LW_MISUSE: ");
    vsnprintf(to, (size_t)(end - to) - 1, why, values); // a longer one is cut
    strcat(to, "\n");
    s->text = s->plain;
    return LW_MISUSE;
}

lw_status call_misused(Call *call, const char *why, ...) {
    va_list values;
    va_start(values, why);
    misused(call->slot, why, values);
    va_end(values);
    return LW_MISUSE;
}

lw_status call_misuse(lw_context *ctx, const char *why, ...) {
    Slot *s = ctx ? find_slot(ctx) : NULL;
    if (ctx && !s) s = add_slot(ctx);
    if (!s) return LW_MISUSE;
    forget(s);
    va_list values;
    va_start(values, why);
    misused(s, why, values);
    va_end(values);
    return LW_MISUSE;
}

lw_status call_null(lw_context *ctx, const char *argument) {
    return call_misuse(ctx, "'%s' is NULL", argument);
}

lw_status call_unsized(lw_context *ctx) { return call_misuse(ctx, UNSIZED); }

lw_status call_threads(lw_context *ctx, int threads) {
    return call_misuse(ctx, NEGATIVE_THREADS, threads);
}

lw_status call_no_memory(lw_context *ctx, const char *text) {
    Slot *s = find_slot(ctx);
    if (s) forget(s);
    if (s) s->text = text;
    return LW_NO_MEMORY;
}

_Noreturn void call_lacks(Call *call, const char *what, size_t bytes) {
    snprintf(call->slot->plain, sizeof call->slot->plain, "error: out of memory: %s %zu bytes\n",
             what, bytes);
    arena_out_of_memory(call->arena);
}

// There is no memory to say so in but the slot.
static lw_status no_memory(Slot *s) {
    forget(s);
    if (!*s->plain && s->arena.refused)
        snprintf(s->plain, sizeof s->plain, "error: out of memory: asked for %zu bytes\n",
                 s->arena.refused);
    s->text = *s->plain ? s->plain : out_of_memory;
    return LW_NO_MEMORY;
}

lw_status call_run(lw_context *ctx, CallBody *body, void *args) {
    if (!ctx) return LW_MISUSE;
    Slot *s = find_slot(ctx);
    if (!s) s = add_slot(ctx);
    if (!s) return LW_NO_MEMORY;
    forget(s);
    s->plain[0] = 0;
    Frame f = {.body = body, .args = args};
    f.call = (Call){
        .ctx = ctx, .slot = s, .arena = &s->arena, .scratch = &s->scratch, .diags = &s->diags};
    bool enough = arena_try(&s->arena, enter, &f);
    call_part(&f.call);
    arena_release(&s->scratch, (ArenaMark){0}); // a chunk stays: fresh pages cost more than code
    if (enough && f.status == LW_MISUSE)
        s->text = s->plain; // warnings on the way are not the cause
    return enough ? f.status : no_memory(s);
}

// --- Diagnostics ---------------------------------------------------------------------------------

size_t lw_diag_count(lw_context *ctx) {
    Slot *s = ctx ? find_slot(ctx) : NULL;
    return s ? s->ndiags : 0;
}

const lw_diag *lw_diag_get(lw_context *ctx, size_t i) {
    Slot *s = ctx ? find_slot(ctx) : NULL;
    return s && i < s->ndiags ? s->shown[i] : NULL;
}

const char *lw_diag_text(lw_context *ctx) {
    Slot *s = ctx ? find_slot(ctx) : NULL;
    if (s) return s->text;
    return ctx && atomic_load(&ctx->starved) ? out_of_memory : "";
}

// --- Small things --------------------------------------------------------------------------------

const char *lw_version(void) { return LW_BUILD_VERSION; }

const char *lw_status_name(lw_status status) {
    switch (status) {
    case LW_OK: return "success";
    case LW_ERROR: return "error in the input";
    case LW_NO_MEMORY: return "out of memory";
    case LW_MISUSE: return "wrong use of the interface";
    case LW_UNAVAILABLE: return "not available here";
    }
    return "unknown status";
}

typedef struct NameList {
    const char *const *at;
    size_t n;
} NameList;

static const char *nth_name(const void *of, size_t i) {
    const NameList *list = of;
    return i < list->n ? list->at[i] : NULL;
}

const char *lw_nearest(const char *word, const char *const *names, size_t count) {
    return word && names ? nearest(word, nth_name, &(NameList){names, count}) : NULL;
}
