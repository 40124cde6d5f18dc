// Programs as people write them, under the choice that lw_run makes by itself, against the
// interpreter: some ninety shapes of TC text with random types, functions and reductions, and
// programs that are composed of several statements and calls, at sizes around the edges of tiles,
// on every ISA level of this machine, by one to three threads, arguments against a guard page on
// either side. Results are equal bit by bit, or within the bound that support/errlab.h derives for
// each element.
#include "unit/check.h"

#include <math.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "api/api.h"
#include "sched/schedule.h"
#include "space/cpu.h"
#include "space/space.h"
#include "support/errlab.h"
#include "support/gencomposed.h"
#include "support/gennatural.h"

enum {
    MAX_ARGS = 8,
    MAX_PARAMS = 8,
    PAGE = 4096,
    ROOM = 4 << 20,      // bytes of an argument
    MARGIN = 256,        // bytes beside it that must stay as they are
    LARGEST = 12000,     // iterations of a program, mostly
    CASES_A_CONTEXT = 64 // its kernels go with it
};

static const char *const isas[] = {"avx512", "avx2", "scalar"};

// Memory between two guard pages.
typedef struct Room {
    char *low, *high; // its first byte, and the one behind its last
} Room;

typedef struct Case {
    uint64_t seed;
    Natural program;
    lw_module *mod;
    lw_bound *bound;
    size_t nargs, ninputs;
    void *start[MAX_ARGS], *want[MAX_ARGS]; // before the run, and after it
    size_t bytes[MAX_ARGS];
    ErrorBounds bounds;
    bool exact; // all of it, bit by bit
} Case;

typedef struct Counts {
    int64_t programs, runs, refused, equal, near, unknown;
    int64_t shape[256];
} Counts;

// --- What is being run, for whoever finds it crashed ---------------------------------------------

static char report[8192];

static void describe(const Case *c, const char *isa, int threads, const char *schedule) {
    char sizes[256] = "";
    const lw_function *f = lw_bound_function(c->bound);
    for (size_t i = 0; i < lw_function_param_count(f); i++) {
        size_t n = strlen(sizes);
        snprintf(sizes + n, sizeof sizes - n, "%s%s=%lld", i ? "," : "",
                 lw_function_param(f, i)->name, (long long)lw_bound_value(c->bound, i));
    }
    snprintf(report, sizeof report,
             "seed %llu, %s:\n%s\n%s%s  loopwright run k.tc --def k%s%s --isa %s --threads %d%s "
             "--check --db none\n",
             (unsigned long long)c->seed, c->program.name, c->program.text,
             schedule ? "s.lws:\n" : "", schedule ? schedule : "", *sizes ? " --size " : "", sizes,
             isa, threads, schedule ? " --schedule s.lws" : "");
}

static void crashed(int signal_number) {
    ssize_t n = write(STDOUT_FILENO, report, strlen(report));
    (void)n;
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

// --- Data ----------------------------------------------------------------------------------------

static Room room_new(void) {
    char *map = mmap(NULL, ROOM + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED || mprotect(map + PAGE, ROOM, PROT_READ | PROT_WRITE)) abort();
    return (Room){map + PAGE, map + PAGE + ROOM};
}

static char *room_place(const Room *r, size_t bytes, bool low) {
    char *at = low ? r->low : r->high - bytes;
    memset(low ? at + bytes : at - MARGIN, 0x5a, MARGIN);
    return at;
}

static bool margin_kept(const char *at, size_t bytes, bool low) {
    const char *margin = low ? at + bytes : at - MARGIN;
    for (int i = 0; i < MARGIN; i++)
        if (margin[i] != 0x5a) return false;
    return true;
}

typedef enum DataKind { QUARTERS, ROUGH, POSITIVE, ALL_BITS, SPECIAL } DataKind;

static double special(uint64_t r) {
    static const double all[] = {0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, 1e-40, 3e38, 0.5};
    return all[r % (sizeof all / sizeof *all)];
}

static Value draw_value(Type t, DataKind kind, uint64_t *state) {
    uint64_t r = check_random(state);
    double real = (double)(int64_t)(r >> 40) / (1 << 22) - 2; // [-2, 2)
    if (t == TYPE_BOOL) return (Value){.i = (int64_t)(r >> 63)};
    if (!type_is_float(t)) {
        int64_t small = (int64_t)(r % 7) - (type_info[t].class == CLASS_INT ? 3 : 0);
        return type_round(t, (Value){.i = kind >= ALL_BITS ? (int64_t)r : small});
    }
    double v = kind == QUARTERS || kind == ALL_BITS ? (double)(int64_t)(r % 17) / 4 - 2
               : kind == POSITIVE                   ? fabs(real) + 0.25
               : kind == SPECIAL && r % 8 == 0      ? special(r / 8)
                                                    : real;
    return type_convert(t, TYPE_F64, (Value){.f = v});
}

static void fill(Case *c, uint64_t *state) {
    uint64_t r = check_random(state);
    DataKind kind = r % 8 ? (DataKind)(r / 8 % SPECIAL) : SPECIAL;
    const Program *p = c->bound->program;
    for (size_t i = 0; i < c->nargs; i++) {
        int64_t lo, hi;
        Type t = p->tensors.at[i].type;
        bool index = lw_bound_index_range(c->bound, i, &lo, &hi);
        for (size_t at = 0; at < c->bytes[i]; at += (size_t)type_info[t].bytes) {
            Value v = draw_value(t, kind, state);
            if (index && lo <= hi)
                v.i = lo + (int64_t)(check_random(state) % (uint64_t)(hi - lo + 1));
            if (index && c->program.padded && check_random(state) % 4 == 0) v.i = -1;
            type_store(t, (char *)c->start[i] + at, v);
        }
    }
}

// --- One program ---------------------------------------------------------------------------------

static size_t bytes_of(const lw_bound *b, size_t i) {
    const Tensor *t = &b->program->tensors.at[i];
    return (size_t)tensor_elements(t) * (size_t)type_info[t->type].bytes;
}

static bool is_small(const lw_bound *b, int64_t most) {
    const Program *p = b->program;
    for (int i = 0; i < p->ninputs + p->noutputs; i++)
        if (bytes_of(b, (size_t)i) + MARGIN > ROOM) return false;
    return lw_bound_instances(b) <= most;
}

// Sizes that make it neither wrong nor long. False: there are none near.
static bool bind(lw_context *ctx, Case *c, const lw_function *f, uint64_t *state) {
    int64_t value[MAX_PARAMS];
    size_t n = lw_function_param_count(f);
    for (size_t i = 0; i < n; i++)
        value[i] = natural_size(&c->program, lw_function_param(f, i)->name, state);
    uint64_t r = check_random(state);
    int64_t most = r % 16 ? LARGEST : r % 256 ? 8 * LARGEST : 80 * LARGEST;
    for (int turn = 0; turn < 40; turn++) {
        if (lw_bind_values(ctx, f, value, n, &c->bound)) return false;
        if (is_small(c->bound, most)) return true;
        lw_bound_free(c->bound);
        c->bound = NULL;
        size_t k = check_random(state) % n, largest = 0;
        for (size_t i = 0; i < n; i++)
            if (value[i] > value[largest]) largest = i;
        if (value[k] < 8) k = largest;
        int64_t least = natural_least(&c->program, lw_function_param(f, k)->name);
        value[k] = value[k] / 2 > least ? value[k] / 2 : least;
    }
    return false;
}

static lw_status run(lw_context *ctx, const Case *c, char *const *data, const lw_run_options *o) {
    DLTensor tensor[MAX_ARGS];
    const DLTensor *args[MAX_ARGS];
    for (size_t i = 0; i < c->nargs; i++) {
        tensor[i] = *lw_bound_tensor(c->bound, i);
        tensor[i].data = data[i];
        args[i] = &tensor[i];
    }
    return lw_run(ctx, c->bound, args, c->nargs, o);
}

// The reference; false: it refuses the data.
static bool interpret(lw_context *ctx, Case *c, Arena *arena) {
    View view[MAX_ARGS];
    const Program *p = c->bound->program;
    for (size_t i = 0; i < c->nargs; i++) {
        if (c->bytes[i]) memcpy(c->want[i], c->start[i], c->bytes[i]);
        view[i] = (View){.data = c->start[i], .type = p->tensors.at[i].type};
    }
    lw_run_options o = {.struct_size = sizeof o, .backend = LW_BACKEND_INTERP};
    if (run(ctx, c, (char *const *)c->want, &o)) return false;
    c->exact = !error_possible(p);
    if (c->exact) return true;
    bool ok = CHECK(error_bounds(arena, p, view, &c->bounds));
    for (size_t t = c->ninputs; t < c->nargs && ok; t++) { // by another way
        Type type = p->tensors.at[t].type;
        for (int64_t i = 0; i < tensor_elements(&p->tensors.at[t]) && ok; i++) {
            Value want = type_load(type, (char *)c->want[t] + i * type_info[type].bytes);
            ok = CHECK(error_allows(type, c->bounds.value[t][i], want, 0));
        }
    }
    if (!ok) printf("the bounds of\n%s", report);
    return ok;
}

static bool compare(const Case *c, size_t t, const char *got, Counts *n) {
    const Tensor *tensor = &c->bound->program->tensors.at[t];
    Type type = tensor->type;
    if (c->exact && !memcmp(got, c->want[t], c->bytes[t])) {
        n->equal += tensor_elements(tensor);
        return true;
    }
    for (int64_t i = 0; i < tensor_elements(tensor); i++) {
        int64_t at = i * type_info[type].bytes;
        Value x = type_load(type, got + at), y = type_load(type, (char *)c->want[t] + at);
        double e = c->exact ? 0 : c->bounds.error[t][i];
        *(e == 0 ? &n->equal : isinf(e) ? &n->unknown : &n->near) += 1;
        if (error_allows(type, x, y, e)) continue;
        bool real = type_is_float(type);
        printf("%s[%lld] is %.17g, not %.17g; it may differ by %g\n", tensor->name, (long long)i,
               real ? x.f : (double)x.i, real ? y.f : (double)y.i, e);
        return false;
    }
    return true;
}

static bool run_on(lw_context *ctx, const Case *c, const Room *room, const char *isa, int threads,
                   const char *schedule, bool low, Counts *n) {
    char *data[MAX_ARGS];
    for (size_t i = 0; i < c->nargs; i++) {
        data[i] = room_place(&room[i], c->bytes[i], low);
        if (c->bytes[i]) memcpy(data[i], c->start[i], c->bytes[i]);
    }
    lw_run_options o = {.struct_size = sizeof o,
                        .backend = LW_BACKEND_JIT,
                        .isa = isa,
                        .threads = threads,
                        .schedule = {.text = schedule}};
    describe(c, isa, threads, schedule);
    lw_status status = run(ctx, c, data, &o);
    bool ok = CHECK(status == LW_OK);
    if (!ok) printf("%s", lw_diag_text(ctx));
    for (size_t t = 0; t < c->nargs && ok; t++) {
        ok = CHECK(margin_kept(data[t], c->bytes[t], low));
        if (t < c->ninputs)
            ok = ok && CHECK(!c->bytes[t] || !memcmp(data[t], c->start[t], c->bytes[t]));
        else
            ok = ok && CHECK(compare(c, t, data[t], n));
    }
    if (!ok) printf("%s", report);
    n->runs++;
    return ok;
}

static bool has_isa(const char *isa, Machine *m) {
    Isa best = ISA_COUNT;
    for (Isa i = ISA_SCALAR; i < ISA_COUNT; i++)
        if (!strcmp(isa_name[i], isa)) best = i;
    machine_detect(m, best);
    return m->isa == best;
}

// The Schedule of a random candidate of the program's Space; NULL: a dead end, or no space.
static const char *sample(Arena *arena, const Case *c, const Machine *m, int threads,
                          uint64_t *state) {
    CpuOptions o = {0};
    o.machine = *m;
    o.threads = threads;
    DiagList diags = {.arena = arena};
    const CpuSpace *cs = cpu_space(arena, c->bound->program, &o, &diags);
    if (!cs || space_dead(cs->space, cs->space->root)) return NULL;
    Cand *cand = space_cand(arena, cs->space);
    space_copy(cs->space, cand, cs->space->root);
    if (!space_complete(space_work(arena, cs->space), cand, state)) return NULL;
    Text out = {.arena = arena};
    schedule_print(&out, cpu_schedule(arena, cs, cand));
    return text_str(&out);
}

static bool run_case(lw_context *ctx, Case *c, Arena *arena, const Room *room, bool sampled,
                     uint64_t *state, Counts *n) {
    const lw_function *f = lw_module_find(c->mod, "k");
    if (!bind(ctx, c, f, state)) return n->refused++, true;
    c->ninputs = lw_function_input_count(f);
    c->nargs = c->ninputs + lw_function_output_count(f);
    for (size_t i = 0; i < c->nargs; i++) {
        c->bytes[i] = bytes_of(c->bound, i);
        c->start[i] = arena_alloc(arena, c->bytes[i] + 1);
        c->want[i] = arena_alloc(arena, c->bytes[i] + 1);
    }
    describe(c, "scalar", 1, NULL);
    fill(c, state);
    if (!interpret(ctx, c, arena)) return n->refused++, check_failures == 0;
    n->programs++;
    n->shape[c->program.shape]++;
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
        int threads = 1 + (int)(check_random(state) % 3);
        Machine m;
        if (!has_isa(isas[i], &m)) continue;
        for (int low = 0; low < 2; low++) {
            const char *schedule = sampled ? sample(arena, c, &m, threads, state) : NULL;
            if (sampled && !schedule) continue;
            if (!run_on(ctx, c, room, isas[i], threads, schedule, low, n)) return false;
        }
    }
    return true;
}

typedef void Draw(Natural *out, uint64_t *state);

static bool run_seed(lw_context *ctx, Draw *draw, bool sampled, Arena *arena, const Room *room,
                     uint64_t seed, Counts *n) {
    uint64_t state = seed * 1000003;
    Case c = {.seed = seed};
    draw(&c.program, &state);
    const char *text = c.program.text;
    lw_parse_options o = {.struct_size = sizeof o, .language = LW_LANG_TC};
    ArenaMark mark = arena_mark(arena);
    bool ok = CHECK(lw_parse(ctx, "k.tc", text, strlen(text), &o, &c.mod) == LW_OK);
    if (!ok) printf("%s\n%s", text, lw_diag_text(ctx));
    ok = ok && run_case(ctx, &c, arena, room, sampled, &state, n);
    lw_bound_free(c.bound);
    lw_module_free(c.mod);
    arena_release(arena, mark);
    return ok;
}

static Counts run_programs(Draw *draw, bool sampled, int64_t rounds) {
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    Counts n = {0};
    Room room[MAX_ARGS];
    Arena arena;
    arena_init(&arena, &allocator_libc);
    for (int i = 0; i < MAX_ARGS; i++) room[i] = room_new();
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) signal(fatal[i], crashed);
    double begin = (double)clock() / CLOCKS_PER_SEC;
    lw_context *ctx = NULL;
    for (int64_t i = 0; i < rounds; i++) {
        if (i % CASES_A_CONTEXT == 0) {
            lw_context_free(ctx);
            ctx = lw_context_new(&(lw_context_options){.struct_size = sizeof(lw_context_options),
                                                       .database = "none"});
        }
        uint64_t seed = check_first_seed() + (uint64_t)i;
        if (!run_seed(ctx, draw, sampled, &arena, room, seed, &n)) break;
    }
    double seconds = (double)clock() / CLOCKS_PER_SEC - begin;
    lw_context_free(ctx);
    arena_free(&arena);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) signal(fatal[i], SIG_DFL);
    for (int i = 0; i < MAX_ARGS; i++) munmap(room[i].low - PAGE, ROOM + 2 * PAGE);
    printf("%lld runs of %lld programs, %.0f a second: %lld elements bit by bit, %lld within "
           "bounds, %lld without; %lld programs refused\n",
           (long long)n.runs, (long long)n.programs, (double)n.runs / fmax(seconds, 0.001),
           (long long)n.equal, (long long)n.near, (long long)n.unknown, (long long)n.refused);
    return n;
}

TEST(natural_programs_run_as_interpreted) {
    int64_t rounds = check_long_rounds(4000);
    Counts n = run_programs(natural_draw, false, rounds);
    if (rounds < 4000) return; // too few to tell
    CHECK(n.refused * 20 <= rounds && n.unknown * 10 <= n.equal + n.near);
    for (int i = 0; i < natural_shapes; i++)
        if (!CHECK(n.shape[i] > 0 || !check_usual_rounds()))
            printf("never ran: %s\n", natural_name(i));
}

TEST(composed_programs_run_as_interpreted) {
    int64_t rounds = check_long_rounds(2000);
    Counts n = run_programs(composed_draw, false, rounds);
    CHECK(rounds < 1000 || (n.refused * 5 <= rounds && n.unknown * 5 <= n.equal + n.near));
}

TEST(natural_programs_run_under_candidates_of_their_space) {
    int64_t rounds = check_long_rounds(1000);
    Counts n = run_programs(natural_draw, true, rounds);
    CHECK(rounds < 1000 || (n.refused * 20 <= rounds && n.runs >= 4 * rounds));
}

TEST(composed_programs_run_under_candidates_of_their_space) {
    int64_t rounds = check_long_rounds(500);
    Counts n = run_programs(composed_draw, true, rounds);
    CHECK(rounds < 500 || (n.refused * 5 <= rounds && n.runs >= 2 * rounds));
}
