// loopwright explain: a self-contained page about one program: its decisions, the cost or gain of
// each, and its code.
#include "web.h"

#include <stdlib.h>
#include <string.h>

typedef struct Explain {
    Cli *cli;
    int threads;
    const lw_function *f;
    lw_bound *bound;
    lw_schedule_text schedule;
    char *memory; // of the schedule's text
    lw_timing timing;
    double bound_us; // 0: not known
    Json *j;
} Explain;

// The schedule as text, from the file or chosen, so that all parts use the same one.
static int find_schedule(Explain *x) {
    const char *text;
    lw_show_options o = {.struct_size = sizeof o, .isa = x->cli->isa, .threads = x->threads};
    o.device = x->cli->device;
    int status = cli_schedule(x->cli, &o.schedule, &x->memory);
    if (!status)
        status = cli_report(
            x->cli, lw_bound_show_with(x->cli->ctx, x->bound, LW_STAGE_SCHEDULE, &o, &text));
    if (status) return status;
    char *copy = cli_printf("%s", text);
    free(x->memory);
    x->memory = copy;
    x->schedule = (lw_schedule_text){copy, "chosen"};
    return EXIT_OK;
}

// --- Parts ---------------------------------------------------------------------------------------

static int add_stage(Explain *x, const char *key, lw_stage stage, bool json) {
    const char *text;
    lw_show_options o = {
        .struct_size = sizeof o, .isa = x->cli->isa, .json = json, .threads = x->threads};
    if (stage != LW_STAGE_PROGRAM) o.schedule = x->schedule;
    int status = cli_report(x->cli, lw_bound_show_with(x->cli->ctx, x->bound, stage, &o, &text));
    if (!status && json) json_raw(x->j, key, text);
    if (!status && !json) json_str(x->j, key, text);
    return status;
}

// The space as JSON, which begins with the bound in microseconds; NULL: there is none.
static const char *ask_space(Explain *x, double *bound_us) {
    const char *text;
    lw_space_options o = {.struct_size = sizeof o, .json = true, .threads = x->threads};
    o.schedule = x->schedule;
    o.device = x->cli->device;
    bool ok = lw_bound_space(x->cli->ctx, x->bound, &o, &text) == LW_OK && *text == '{';
    const char *at = ok ? strstr(text, "\"bound\": ") : NULL;
    *bound_us = at ? strtod(at + strlen("\"bound\": "), NULL) : 0;
    return ok ? text : NULL;
}

// Not every program has a space (Stripe's do not); the page then has no decisions. A time below the
// bound may mean that this machine was measured in a slow phase; if it is below the bound at better
// rates too, the bound is wrong.
static void add_space(Explain *x) {
    const char *text = ask_space(x, &x->bound_us);
    lw_machine_options again = {.struct_size = sizeof again, .improve = true};
    const lw_machine *m;
    if (text && x->timing.median_us < x->bound_us &&
        lw_machine_get(x->cli->ctx, &again, &m) == LW_OK)
        text = ask_space(x, &x->bound_us);
    if (text) json_raw(x->j, "space", text);
}

// A described machine is not the one that ran the code, and the emulator takes no time.
static bool is_refuted(const Explain *x) {
    return x->timing.median_us > 0 && x->timing.median_us < x->bound_us && !getenv("LW_MACHINE");
}

static int measure(Explain *x) {
    size_t n = lw_function_input_count(x->f) + lw_function_output_count(x->f);
    Array *args = cli_alloc((n + 1) * sizeof *args);
    const DLTensor **list = cli_alloc((n + 1) * sizeof *list);
    int status = EXIT_OK;
    for (size_t i = 0; i < n && !status; i++) {
        const lw_tensor *t = lw_function_tensor(x->f, i);
        int64_t lo = 0, hi = 0;
        bool index = lw_bound_index_range(x->bound, i, &lo, &hi);
        if (!data_new(&args[i], lw_bound_tensor(x->bound, i), i))
            status = cli_fail(x->cli, "there is not enough memory for '%s'", t->name);
        else if (t->role == LW_INPUT)
            data_random(&args[i], 0, t->name, index, lo, hi);
        list[i] = &args[i].t;
    }
    x->timing = (lw_timing){.struct_size = sizeof x->timing};
    lw_run_options o = {.struct_size = sizeof o, .threads = x->threads, .measure_seconds = 0.3};
    o.backend = x->cli->device ? LW_BACKEND_GPU : LW_BACKEND_JIT;
    o.device = x->cli->device;
    o.timing = &x->timing, o.isa = x->cli->isa;
    o.schedule = x->schedule;
    if (!status) status = cli_report(x->cli, lw_run(x->cli->ctx, x->bound, list, n, &o));
    for (size_t i = 0; i < n; i++) data_free(&args[i]);
    free(args);
    free(list);
    return status;
}

static void add_times(Explain *x) {
    const lw_timing *t = &x->timing;
    json_open(x->j, "timing", '{');
    json_num(x->j, "median_us", t->median_us);
    json_num(x->j, "best_us", t->best_us);
    json_num(x->j, "p10_us", t->p10_us);
    json_num(x->j, "p90_us", t->p90_us);
    json_num(x->j, "compile_us", t->compile_us);
    json_num(x->j, "flops", t->flops);
    json_num(x->j, "bytes", t->bytes);
    json_int(x->j, "code_bytes", (int64_t)t->code_bytes);
    json_int(x->j, "float_bits", t->float_bits);
    if (t->isa) json_str(x->j, "isa", t->isa);
    json_int(x->j, "threads", t->threads);
    json_close(x->j, '}');
}

static int add_timing(Explain *x) {
    const lw_machine *m;
    lw_roof roof;
    const lw_timing *t = &x->timing;
    static const char *const level[] = {"L1", "L2", "L3", "memory"};
    int status = measure(x);
    if (!status) status = cli_report(x->cli, lw_machine_get(x->cli->ctx, NULL, &m));
    if (status) return status;
    json_raw(x->j, "machine", m->json);
    add_times(x);
    if (lw_machine_roof(m, t, &roof) != LW_OK || roof.partly) return EXIT_OK;
    json_open(x->j, "roof", '{');
    json_num(x->j, "us", roof.us);
    json_num(x->j, "compute_us", roof.compute_us);
    json_num(x->j, "memory_us", roof.memory_us);
    json_str(x->j, "bound", roof.compute ? "compute" : "bandwidth");
    json_str(x->j, "level", level[roof.level]);
    json_num(x->j, "peak", roof.peak);
    json_close(x->j, '}');
    return EXIT_OK;
}

static void add_source(Explain *x, const char *path) {
    FILE *f = fopen(path, "r");
    if (!f) return;
    char *text = cli_alloc(1 << 16);
    text[fread(text, 1, (1 << 16) - 1, f)] = 0;
    fclose(f);
    json_str(x->j, "source", text);
    free(text);
}

// Kernels of a device. The bound comes first: it asks the device in a child process, which is
// impossible once this process has used CUDA. The emulator counts, but takes no time.
static int collect_device(Explain *x) {
    const char *text = ask_space(x, &x->bound_us);
    lw_show_options o = {.struct_size = sizeof o, .json = true, .device = x->cli->device};
    if (text) json_raw(x->j, "space", text);
    o.schedule = x->schedule;
    int status =
        cli_report(x->cli, lw_bound_show_with(x->cli->ctx, x->bound, LW_STAGE_PTX, &o, &text));
    if (status) return status;
    json_raw(x->j, "gpu", text);
    if (!strcmp(x->cli->device, "emulate")) return EXIT_OK;
    status = measure(x);
    if (!status && x->timing.samples) add_times(x);
    return status;
}

static int collect(Explain *x) {
    json_open(x->j, NULL, '{');
    json_str(x->j, "function", lw_function_name(x->f));
    json_str(x->j, "signature", lw_function_signature(x->f));
    json_str(x->j, "file", x->cli->words[0]);
    json_values(x->j, x->bound);
    add_source(x, x->cli->words[0]);
    json_str(x->j, "schedule", x->schedule.text);
    int status = add_stage(x, "program", LW_STAGE_PROGRAM, false);
    if (x->cli->device) {
        if (!status) status = collect_device(x);
        json_close(x->j, '}');
        return status;
    }
    if (!status) status = add_stage(x, "tree", LW_STAGE_TREE, true);
    if (!status) status = add_stage(x, "asm", LW_STAGE_ASM, false);
    if (!status) status = add_stage(x, "report", LW_STAGE_REPORT, true);
    if (!status) status = add_timing(x);
    if (!status) add_space(x);
    json_close(x->j, '}');
    return status;
}

// --- The page ------------------------------------------------------------------------------------

static int write_page(Explain *x, const char *path) {
    char *values = cli_values_text(x->bound);
    char *lead = cli_printf("%s with %s", lw_function_signature(x->f), values);
    Output page;
    int status = EXIT_FAILED;
    if (web_begin(x->cli, path, lw_function_name(x->f), lead, &page)) {
        web_data(page.file, x->j->text, x->j->len);
        fputc('\n', page.file);
        status = web_end(x->cli, &page, "explain");
    }
    json_str(&x->cli->object, "page", path);
    if (is_refuted(x)) json_bool(&x->cli->object, "refuted", true);
    if (!status && !x->cli->json) printf("%s\n", path);
    if (!status && !x->cli->json && is_refuted(x))
        printf("no certificate: measured below the bound; please report the page\n");
    free(lead);
    free(values);
    return status;
}

int command_explain(Cli *cli) {
    Json data = {0};
    Explain x = {.cli = cli, .j = &data, .threads = cli->threads ? (int)cli->threads : 1};
    const char *page = cli->output ? cli->output : "explain.html";
    lw_module *mod = NULL;
    int status = cli->device
                     ? cli_idle(cli, "--threads --isa", "with --device: it is for the processor")
                     : EXIT_OK;
    if (!status) status = cli_open(cli, &mod);
    if (!status) status = output_try(cli, page);
    if (!status) x.f = cli_function(cli, mod);
    if (!status) status = x.f ? cli_bind(cli, x.f, &x.bound) : EXIT_FAILED;
    if (!status) status = find_schedule(&x);
    if (!status) status = collect(&x);
    if (!status) status = write_page(&x, page);
    free(data.text);
    free(x.memory);
    lw_bound_free(x.bound);
    lw_module_free(mod);
    return status;
}
