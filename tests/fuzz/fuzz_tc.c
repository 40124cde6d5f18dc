// The comprehension language on any bytes: they parse or are diagnosed. What parses prints as
// program text that parses to the same text, and, with small sizes, binds or is diagnosed and runs
// or is diagnosed.
#include "lang/lang.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_WORK = 20000, MAX_ELEMENTS = 4096 };

static void check(bool ok) {
    if (!ok) __builtin_trap();
}

static void check_text(Arena *arena, Names *names, const Program *p) {
    Text first = {.arena = arena}, second = {.arena = arena};
    DiagList diags = {.arena = arena};
    program_print(&first, p);
    Source source = {"fuzz.lwp", text_str(&first), (uint32_t)first.len};
    Program *again = program_parse(arena, names, &source, &diags);
    check(again && diags.errors == 0);
    program_print(&second, again);
    check(!strcmp(text_str(&first), text_str(&second)));
}

// Whether a bound Program is small enough to be run.
static bool is_small(const Program *p) {
    int64_t work = 0;
    for (int s = 0; s < p->stmts.n; s++) {
        int64_t n = 1;
        for (int i = 0; i < p->stmts.at[s].niters; i++) {
            const Iter *it = &p->stmts.at[s].iter[i];
            int64_t extent = iter_hi(it) - iter_lo(it);
            if (extent <= 0) extent = 1;
            if (extent > MAX_WORK || (n *= extent) > MAX_WORK) return false;
        }
        if ((work += n) > MAX_WORK) return false;
    }
    for (int t = 0; t < p->tensors.n; t++)
        if (tensor_elements(&p->tensors.at[t]) > MAX_ELEMENTS) return false;
    return true;
}

static void run(Arena *arena, const Program *p, DiagList *diags, uint8_t seed) {
    int n = p->ninputs + p->noutputs;
    View *views = arena_new_n(arena, View, n);
    for (int t = 0; t < n; t++) {
        const Tensor *ten = &p->tensors.at[t];
        int64_t *size = arena_new_n(arena, int64_t, 2 * ten->rank), count = 1;
        for (int d = ten->rank - 1; d >= 0; d--) {
            size[d] = tensor_size(ten, d);
            size[ten->rank + d] = count;
            count *= size[d];
        }
        int bytes = type_info[ten->type].bytes;
        char *at = arena_alloc(arena, (size_t)(count * bytes));
        for (int64_t i = 0; i < count; i++) {
            Value v = {.i = (int64_t)((uint64_t)i * 7 + seed) % 5};
            type_store(ten->type, at + i * bytes, type_convert(ten->type, TYPE_I64, v));
        }
        views[t] = (View){at, ten->type, ten->rank, size, size + ten->rank};
    }
    program_interpret(arena, p, views, (InterpFlags){.trap_uninitialised = true}, diags);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Arena arena;
    arena_init(&arena, &allocator_libc);
    Names names = {.arena = &arena};
    Source source = {"fuzz.tc", arena_strndup(&arena, (const char *)data, size), (uint32_t)size};
    DiagList diags = {.arena = &arena, .source = &source};
    Module *m = tc_infer(tc_parse(&arena, &names, &source, &diags));
    uint8_t seed = 0;
    for (size_t i = 0; i < size; i++) seed = (uint8_t)(seed * 31 + data[i]);
    for (int i = 0; i < m->programs.n && i < 16; i++) {
        const Program *p = m->programs.at[i];
        int64_t values[PROGRAM_MAX_PARAMS];
        for (int k = 0; k < p->params.n; k++) values[k] = (seed >> k % 7) % 5;
        check_text(&arena, &names, p);
        int errors = diags.errors;
        const Program *bound = program_bind(&arena, p, values, &diags);
        check((bound != NULL) == (diags.errors == errors));
        if (bound && is_small(bound)) run(&arena, bound, &diags, seed);
    }
    Text text = {.arena = &arena};
    for (int i = 0; i < diags.items.n; i++) diag_print(&text, diags.items.at[i]);
    arena_free(&arena);
    return 0;
}
