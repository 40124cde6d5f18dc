// A program with operands, ready to be called: compiled through the public API in a separate
// context, so that no kernel is cached. Operands are those of peers/peer.h: f32 by peer_fill,
// subscripts by peer_fill_index, anything else by `run`'s random numbers, which only C compilers
// get, as files.
#include "command/bench.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

// --- Opening -------------------------------------------------------------------------------------

char *bench_text(const char *text) {
    char *copy = cli_printf("%*s", 2 * (int)strlen(text) + 1, ""), *to = copy;
    for (const char *line = text; *line;) {
        size_t len = strcspn(line, "\n"), blank = strspn(line, " ");
        if (line[blank] != '#' && len > blank)
            to += sprintf(to, "%s%.*s", to > copy ? "; " : "", (int)(len - blank), line + blank);
        line += len + (line[len] == '\n');
    }
    *to = 0;
    return copy;
}

static bool failed(BenchKernel *k, lw_status status, const char *what) {
    if (status == LW_OK) return false;
    const lw_diag *d = lw_diag_get(k->ctx, 0);
    k->error = cli_printf("%s: %s", what, d ? d->text : lw_status_name(status));
    return true;
}

static size_t read_sizes(const char *text, lw_size *sizes, char *memory, size_t most) {
    size_t n = 0;
    char *save = NULL;
    strcpy(memory, text);
    for (char *w = strtok_r(memory, ",", &save); w && n < most; w = strtok_r(NULL, ",", &save)) {
        char *equals = strchr(w, '=');
        if (!equals) continue;
        *equals = 0;
        sizes[n++] = (lw_size){w, strtoll(equals + 1, NULL, 10)};
    }
    return n;
}

bool bench_kernel_bind(BenchKernel *k, const BenchItem *item) {
    lw_parse_options o = {.struct_size = sizeof o, .language = LW_LANG_TC};
    lw_size sizes[BENCH_ARGS];
    char memory[512], text[4096];
    // "def mm(" with a serial number is "def mm7(".
    size_t name = strcspn(item->program, "(");
    char number[16] = "";
    if (k->serial) snprintf(number, sizeof number, "_%d", k->serial);
    int len = snprintf(text, sizeof text, "%.*s%s%s", (int)name, item->program, number,
                       item->program + name);
    if (failed(k, lw_parse(k->ctx, "suite.tc", text, (size_t)len, &o, &k->module), "parsing"))
        return false;
    size_t n = read_sizes(item->sizes, sizes, memory, BENCH_ARGS);
    const lw_function *f = lw_module_function(k->module, 0);
    return !failed(k, lw_bind(k->ctx, f, sizes, n, &k->bound), "binding");
}

// The file and the sizes of the command line.
static bool bind_file(BenchKernel *k, Cli *cli) {
    lw_context *was = cli->ctx;
    cli->ctx = k->ctx;
    int status = cli_open(cli, &k->module);
    const lw_function *f = status ? NULL : cli_function(cli, k->module);
    if (f) status = cli_bind(cli, f, &k->bound);
    cli->ctx = was;
    if (!f || status) k->error = cli_printf("it does not bind");
    return !k->error;
}

double bench_file_compile_us(Bench *b) {
    BenchKernel k = {.ctx = bench_context(b->cli->db)};
    lw_compile_options o = {
        .struct_size = sizeof o, .threads = 1, .isa = b->cli->isa, .schedule = b->loops};
    lw_show_options show = {.struct_size = sizeof show, .threads = 1, .isa = b->cli->isa};
    double us = NAN;
    if (bind_file(&k, b->cli)) {
        const char *text; // opens the database, which is not part of compiling
        lw_bound_show_with(k.ctx, k.bound, LW_STAGE_SCHEDULE, &show, &text);
        double begin = lab_cpu();
        if (!lw_compile(k.ctx, k.bound, &o, &k.kernel)) us = (lab_cpu() - begin) / 1e3;
    }
    bench_kernel_close(&k);
    return us;
}

static void fill(BenchKernel *k, int i, size_t elements) {
    const lw_function *f = lw_bound_function(k->bound);
    const DLTensor *t = lw_bound_tensor(k->bound, (size_t)i);
    int64_t lo = 0, hi = 0;
    bool index = lw_bound_index_range(k->bound, (size_t)i, &lo, &hi);
    if (t->dtype.code == kDLFloat && t->dtype.bits == 32)
        peer_fill(k->buffer[i], elements, (unsigned)i);
    else if (t->dtype.code == kDLFloat && t->dtype.bits == 64) {
        float *x = cli_alloc(elements * sizeof *x);
        double *to = k->buffer[i];
        peer_fill(x, elements, (unsigned)i);
        for (size_t e = 0; e < elements; e++) to[e] = (double)x[e];
        free(x);
    } else if (index && t->dtype.code == kDLInt && t->dtype.bits == 32 && lo == 0 && hi >= 0)
        peer_fill_index(k->buffer[i], elements, (unsigned)i, hi);
    else {
        Array a;
        if (!data_new(&a, t, (size_t)i)) return;
        data_random(&a, 0, lw_function_tensor(f, (size_t)i)->name, index, lo, hi);
        memcpy(k->buffer[i], a.memory, k->bytes[i]);
        data_free(&a);
    }
}

static bool operands(BenchKernel *k) {
    const lw_function *f = lw_bound_function(k->bound);
    k->inputs = (int)lw_function_input_count(f);
    k->n = k->inputs + (int)lw_function_output_count(f);
    if (k->n > BENCH_ARGS) {
        k->error = cli_printf("more than %d arguments", BENCH_ARGS);
        return false;
    }
    for (int i = 0; i < k->n; i++) {
        const DLTensor *t = lw_bound_tensor(k->bound, (size_t)i);
        size_t elements = (size_t)data_elements(t);
        k->bytes[i] = elements * (t->dtype.bits / 8u);
        k->buffer[i] = peer_take(&k->pool, k->bytes[i] / 4 + 1);
        if (i < k->inputs) fill(k, i, elements);
    }
    return true;
}

lw_context *bench_context(const char *database) {
    lw_context_options o = {.struct_size = sizeof o, .database = database};
    return lw_context_new(&o);
}

void bench_kernel_open_with(BenchKernel *k, Bench *b, const BenchItem *item, const char *schedule) {
    int threads = item->threads ? item->threads : 1;
    lw_compile_options o = {.struct_size = sizeof o, .threads = threads, .schedule.text = schedule};
    *k = (BenchKernel){.ctx = bench_context(item->program ? "none" : b->cli->db),
                       .threads = threads,
                       .given = schedule ? cli_printf("%s", schedule) : NULL};
    o.isa = item->isa ? item->isa : b->cli->isa;
    bool ok = item->program ? bench_kernel_bind(k, item) : bind_file(k, b->cli);
    ok = ok && operands(k) && !failed(k, lw_compile(k->ctx, k->bound, &o, &k->kernel), "compiling");
    if (!ok) return;
    k->info = lw_kernel_get_info(k->kernel);
    int64_t scratch = k->info->scratch + (threads - 1) * k->info->thread_scratch;
    if (scratch) k->scratch = peer_take(&k->pool, (size_t)scratch / 4 + 1);
}

void bench_kernel_open(BenchKernel *k, Bench *b, const BenchItem *item) {
    bench_kernel_open_with(k, b, item, b->loops.text);
}

static void remove_folder(const char *folder) {
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) unlinkat(dirfd(d), e->d_name, 0);
    if (d) closedir(d);
    rmdir(folder);
}

void bench_kernel_close(BenchKernel *k) {
    if (k->folder) remove_folder(k->folder);
    free(k->folder);
    free(k->given);
    free(k->error);
    peer_give_back(&k->pool);
    lw_kernel_free(k->kernel);
    lw_bound_free(k->bound);
    lw_module_free(k->module);
    if (!k->shared) lw_context_free(k->ctx);
    *k = (BenchKernel){0};
}

// --- Calling -------------------------------------------------------------------------------------

void bench_kernel_call(void *kernel) {
    BenchKernel *k = kernel;
    lw_kernel_call(k->kernel, k->buffer, k->scratch, k->threads);
}

void bench_kernel_flush(void *kernel) {
    BenchKernel *k = kernel;
    for (int i = 0; i < k->n; i++) peer_evict(k->buffer[i], k->bytes[i]);
}

bool bench_kernel_refer(BenchKernel *k, lw_backend backend, void **out) {
    DLTensor t[BENCH_ARGS];
    const DLTensor *args[BENCH_ARGS];
    void *held[BENCH_ARGS] = {NULL};
    for (int i = 0; i < k->n; i++) {
        t[i] = *lw_bound_tensor(k->bound, (size_t)i);
        t[i].data = k->buffer[i];
        if (i >= k->inputs) t[i].data = held[i] = cli_alloc(k->bytes[i] + 64);
        args[i] = &t[i];
    }
    lw_run_options o = {.struct_size = sizeof o, .backend = backend, .threads = 1};
    if (backend != LW_BACKEND_INTERP) o.schedule.text = "";
    bool ok = lw_run(k->ctx, k->bound, args, (size_t)k->n, &o) == LW_OK;
    *out = ok ? held[k->inputs] : NULL;
    for (int i = k->inputs + ok; i < k->n; i++) free(held[i]);
    return ok;
}

static double half(uint16_t bits) {
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double size = exponent == 31  ? (fraction ? NAN : INFINITY)
                  : exponent == 0 ? ldexp(fraction, -24)
                                  : ldexp(1024 + fraction, exponent - 25);
    return bits >> 15 ? -size : size;
}

static double bfloat(uint16_t bits) {
    uint32_t wide = (uint32_t)bits << 16;
    float x;
    memcpy(&x, &wide, sizeof x);
    return (double)x;
}

static double element(const void *x, size_t i, DLDataType type) {
    if (type.bits == 16) return (type.code == kDLFloat ? half : bfloat)(((const uint16_t *)x)[i]);
    return type.bits == 64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

static double epsilon(DLDataType type) {
    if (type.bits == 16) return type.code == kDLFloat ? 0x1p-10 : 0x1p-7;
    return type.bits == 64 ? DBL_EPSILON : (double)FLT_EPSILON;
}

// The largest distance that rounding explains: that of a sum of 1024 terms. Those of two bytes are
// added in four, and rounded once.
static double rounding(DLDataType type, double largest) {
    double sum = type.bits == 16 ? (double)FLT_EPSILON : epsilon(type);
    return (1024 * sum + (type.bits == 16 ? epsilon(type) : 0)) * largest;
}

static bool close_floats(const void *x, const void *y, size_t n, DLDataType type, bool rounded) {
    double largest = 0, worst = 0;
    for (size_t i = 0; i < n; i++) {
        double a = element(x, i, type), b = element(y, i, type), apart = fabs(a - b);
        if (a == b || (isnan(a) && isnan(b))) apart = 0; // infinities, too
        if (!(apart <= DBL_MAX)) return false;
        if (isfinite(a)) largest = fmax(largest, fabs(a));
        worst = fmax(worst, apart);
    }
    return worst <= (rounded ? rounding(type, largest) : 0);
}

// Sums of products of the operands are exact, so every order gives the same bits. Rounded values
// may differ by the rounding error.
bool bench_kernel_same(const BenchKernel *k, const void *x, bool rounded) {
    const DLTensor *t = lw_bound_tensor(k->bound, (size_t)k->inputs);
    const void *mine = k->buffer[k->inputs];
    if (t->dtype.code == kDLFloat || t->dtype.code == kDLBfloat)
        return close_floats(mine, x, k->bytes[k->inputs] / (t->dtype.bits / 8u), t->dtype, rounded);
    return !memcmp(mine, x, k->bytes[k->inputs]);
}

// --- As C ----------------------------------------------------------------------------------------

static bool write_file(const char *folder, const char *name, const void *bytes, size_t size) {
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(bytes, 1, size, f) == size;
    if (f) ok = !fclose(f) && ok;
    return ok;
}

// Writes the operands, once.
static bool write_operands(BenchKernel *k) {
    char path[] = "/tmp/loopwright-bench-XXXXXX";
    if (k->folder) return true;
    if (!mkdtemp(path)) return false;
    k->folder = cli_printf("%s", path);
    bool ok = true;
    for (int i = 0; i < k->inputs && ok; i++) {
        char name[32];
        snprintf(name, sizeof name, "in%d", i);
        ok = write_file(k->folder, name, k->buffer[i], k->bytes[i]);
    }
    return ok;
}

// The arguments in the format of the peers.
static void describe_arguments(const BenchKernel *k, FILE *f) {
    for (int i = 0; i < k->n; i++)
        if (i < k->inputs)
            fprintf(f, "in %zu %s/in%d\n", k->bytes[i], k->folder, i);
        else
            fprintf(f, "out %zu\n", k->bytes[i]);
}

char *bench_kernel_texts(BenchKernel *k, const char *isa) {
    const char *text;
    lw_show_options o = {.struct_size = sizeof o, .isa = isa, .threads = 1};
    if (!write_operands(k)) return NULL;
    if (lw_bound_show(k->ctx, k->bound, LW_STAGE_PROGRAM, &text) ||
        !write_file(k->folder, "program.lwp", text, strlen(text)))
        return NULL;
    if (lw_bound_show_with(k->ctx, k->bound, LW_STAGE_SCHEDULE, &o, &text) ||
        !write_file(k->folder, "schedule.lws", text, strlen(text)))
        return NULL;
    char *path = cli_printf("%s/texts.task", k->folder);
    FILE *f = fopen(path, "w");
    if (!f) return free(path), NULL;
    fprintf(f, "program %s/program.lwp\nschedule %s/schedule.lws\nlanes %d\n", k->folder, k->folder,
            isa && !strcmp(isa, "avx2") ? 8 : 16);
    describe_arguments(k, f);
    fclose(f);
    return path;
}

char *bench_kernel_c(BenchKernel *k, const char *schedule, const char *name) {
    char text[64];
    lw_emit_options o = {.struct_size = sizeof o};
    lw_emitted e;
    snprintf(text, sizeof text, "%s.h", name);
    o.schedule.text = schedule;
    o.header = text;
    if (!write_operands(k) || lw_bound_emit(k->ctx, k->bound, LW_EMIT_C, &o, &e)) return NULL;
    if (!write_file(k->folder, text, e.header, e.header_size)) return NULL;
    snprintf(text, sizeof text, "%s.c", name);
    if (!write_file(k->folder, text, e.bytes, e.size)) return NULL;
    char *macro = cli_printf("#define %s_scratch INT64_C(", e.function);
    const char *at = strstr(e.header, macro);
    long long scratch = at ? atoll(at + strlen(macro)) : 0;
    free(macro);
    char *path = cli_printf("%s/%s.task", k->folder, name);
    FILE *f = fopen(path, "w");
    if (!f) return free(path), NULL;
    fprintf(f, "source %s/%s.c\nkernel %s_kernel\nscratch %lld\n", k->folder, name, e.function,
            scratch);
    describe_arguments(k, f);
    fclose(f);
    return path;
}

// --- By a C compiler, in this process ------------------------------------------------------------

// Runs a command without a shell and discards its output.
static bool quietly(char *const *words) {
    int status = 1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int nowhere = open("/dev/null", O_RDWR);
        for (int fd = 0; fd < 3; fd++) dup2(nowhere, fd);
        execvp(words[0], words);
        _exit(127);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

bool bench_has_compiler(const char *compiler) {
    return quietly((char *[]){(char *)compiler, "--version", NULL});
}

bool bench_kernel_compile(BenchKernel *k, const char *compiler, BenchCompiled *out) {
    char *task = bench_kernel_c(k, "", "naive");
    if (!task) return false;
    char *source = cli_printf("%s/naive.c", k->folder),
         *object = cli_printf("%s/naive.so", k->folder);
    char *words[] = {(char *)compiler,
                     "-O3",
                     "-march=native",
                     "-ffp-contract=off",
                     "-fopenmp-simd",
                     "-w",
                     "-shared",
                     "-fPIC",
                     "-o",
                     object,
                     source,
                     "-lm",
                     NULL};
    char kernel[256] = "";
    size_t scratch = 0;
    FILE *f = fopen(task, "r");
    bool ok = f && fscanf(f, "source %*s kernel %255s scratch %zu", kernel, &scratch) == 2;
    if (f) fclose(f);
    ok = ok && quietly(words);
    *out = (BenchCompiled){.kernel = k};
    if (ok) out->library = dlopen(object, RTLD_NOW | RTLD_LOCAL);
    void *symbol = out->library ? dlsym(out->library, kernel) : NULL;
    memcpy(&out->run, &symbol, sizeof symbol);
    if (out->run && scratch) out->scratch = aligned_alloc(64, (scratch + 63) / 64 * 64);
    if (scratch && !out->scratch) out->run = NULL;
    free(source), free(object), free(task);
    return out->run != NULL;
}

void bench_compiled_call(void *compiled) {
    BenchCompiled *c = compiled;
    uint32_t flags = 0;
    c->run(c->kernel->buffer, c->scratch, &flags);
}

void bench_compiled_close(BenchCompiled *c) {
    if (c->library) dlclose(c->library);
    free(c->scratch);
    *c = (BenchCompiled){0};
}
