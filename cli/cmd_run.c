// loopwright run: runs a function on data; and loopwright einsum, which runs a function that is not
// in a file.
//
// Files of --in are read first, because their shapes determine sizes; then sizes are bound, the
// other inputs generated, the function run, and the results written and summarised.
#include "cli.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Run {
    Cli *cli;
    const lw_function *f;
    Given g;
    size_t n;          // of g
    Array *args;       //
    const char **from; //
    lw_bound *bound;
    lw_timing timing;
    lw_roof roof; // when measured
    bool roofed;
    int cores; // that its peak is of
} Run;

static int check_outputs(Run *r) {
    const Pairs *out = &r->cli->out;
    for (size_t i = 0; i < out->n; i++) {
        if (!given_is_result(&r->g, out->at[i].name))
            return given_unknown(&r->g, "--out", out->at[i].name, "result");
        for (size_t j = 0; j < i; j++)
            if (!strcmp(out->at[j].value, out->at[i].value))
                return cli_misuse(r->cli, "--out writes '%s' twice", out->at[i].value);
        if (output_try(r->cli, out->at[i].value)) return EXIT_FAILED;
    }
    return EXIT_OK;
}

// Options that only machine code has.
static int check_effects(Cli *cli) {
    if (cli->device) {
        int idle =
            cli_idle(cli, "--backend --threads --isa", "with --device: it is for the processor");
        if (!idle && strcmp(cli->device, "emulate") == 0)
            idle = cli_idle(cli, "--time", "with --device emulate: it counts, but takes no time");
        return idle;
    }
    if (!cli->backend || strcmp(cli->backend, "jit") == 0) return EXIT_OK;
    char *why = cli_printf("with --backend %s: it is for machine code", cli->backend);
    int status = cli_idle(cli, "--threads --isa --time", why);
    free(why);
    return status;
}

// --- Steps ---------------------------------------------------------------------------------------

static int bind_sizes(Run *r) {
    const DLTensor **given = given_tensors(&r->g);
    lw_status status =
        lw_bind_tensors(r->cli->ctx, r->f, given, r->n, r->g.sizes, r->g.nsizes, &r->bound);
    free(given);
    return cli_report(r->cli, status);
}

static int make_arguments(Run *r) {
    int failed = cli_check_memory(r->cli, r->bound, r->n);
    if (failed) return failed;
    for (size_t i = 0; i < r->n; i++) {
        const lw_tensor *tensor = lw_function_tensor(r->f, i);
        if (r->args[i].memory) continue;
        if (!data_new(&r->args[i], lw_bound_tensor(r->bound, i), i))
            return cli_fail(r->cli, "there is not enough memory for '%s'", tensor->name);
        if (tensor->role != LW_INPUT) continue;
        int64_t lo = 0, hi = 0;
        bool index = lw_bound_index_range(r->bound, i, &lo, &hi);
        data_random(&r->args[i], r->cli->seed, tensor->name, index, lo, hi);
    }
    return EXIT_OK;
}

static int execute(Run *r) {
    const DLTensor **args = cli_alloc((r->n + 1) * sizeof *args);
    for (size_t i = 0; i < r->n; i++) args[i] = &r->args[i].t;
    r->timing.struct_size = sizeof r->timing;
    lw_run_options o = {.struct_size = sizeof o, .timing = &r->timing};
    o.backend = (lw_backend)(1 + cli_word(backend_words, r->cli->backend));
    o.threads = (int)r->cli->threads;
    o.isa = r->cli->isa;
    o.device = r->cli->device;
    if (r->cli->time) o.measure_seconds = 0.5;
    char *schedule = NULL;
    int failed = cli_schedule(r->cli, &o.schedule, &schedule);
    if (!failed) failed = cli_report(r->cli, lw_run(r->cli->ctx, r->bound, args, r->n, &o));
    free(args);
    free(schedule);
    return failed;
}

static int write_outputs(Run *r) {
    for (size_t i = 0; i < r->cli->out.n; i++) {
        const Pair *out = &r->cli->out.at[i];
        const DLTensor *t = &r->args[lw_function_find_tensor(r->f, out->name)].t;
        Output file;
        if (!output_open(r->cli, out->value, &file)) return EXIT_FAILED;
        npy_write(file.file, t);
        if (output_close(r->cli, &file)) return EXIT_FAILED;
        if (t->dtype.code == kDLBfloat && !r->cli->json)
            fprintf(stderr, "note: '%s' is bf16; '%s' holds its bits as uint16\n", out->name,
                    out->value);
    }
    return EXIT_OK;
}

// --- Summaries -----------------------------------------------------------------------------------

// Results that came in Fortran order (in-out) are summarised in row-major order like the rest.
static void compact(Array *a) {
    Array c;
    if (!data_new(&c, &a->t, 0)) return;
    int64_t n = data_elements(&a->t), bytes = a->t.dtype.bits / 8;
    int64_t *at = cli_alloc(sizeof *at * ((size_t)a->t.ndim + 1));
    for (int64_t i = 0; i < n; i++) {
        int64_t offset = 0;
        for (int d = 0; d < a->t.ndim; d++) offset += at[d] * a->t.strides[d];
        memcpy((char *)c.memory + i * bytes, (char *)a->memory + offset * bytes, (size_t)bytes);
        for (int d = a->t.ndim - 1; d >= 0 && ++at[d] == a->t.shape[d]; d--) at[d] = 0;
    }
    free(at);
    data_free(a);
    *a = c;
}

static void print_time(double us) {
    char text[32];
    fputs(cli_time(text, us), stdout);
}

static double float_ops(const lw_timing *t) { return t->float_bits ? t->flops - t->int_ops : 0; }

// How fast a compiled program is, when it was measured.
static void print_speed(const lw_timing *t) {
    if (!t->samples) return;
    printf("  time     median ");
    print_time(t->median_us);
    printf(", p10 ");
    print_time(t->p10_us);
    printf(", p90 ");
    print_time(t->p90_us);
    printf(", best ");
    print_time(t->best_us);
    double floats = float_ops(t), ints = t->flops - floats;
    if (floats > 0 || ints <= 0) printf(": %.1f GFLOP/s", floats / t->median_us * 1e-3);
    if (ints > 0) printf("%s%.1f Gop/s", floats > 0 ? ", " : ": ", ints / t->median_us * 1e-3);
    if (ints > 0 && floats > 0) printf(" of integers");
    printf(", %.1f GB/s\n", t->bytes / t->median_us * 1e-3);
}

static const char *const level_name[] = {"L1", "L2", "L3", "memory"};

// The fraction of this machine's peak; measures the machine if there is no measurement.
static void find_roof(Run *r) {
    static const double sure = 1.02; // ratio to the peak that indicates a wrong peak
    const lw_machine *m;
    if (cli_report(r->cli, lw_machine_get(r->cli->ctx, NULL, &m))) return;
    r->roofed = lw_machine_roof(m, &r->timing, &r->roof) == LW_OK && r->roof.us > 0;
    if (r->roofed && !r->roof.partly && r->roof.us > sure * r->timing.p10_us) {
        lw_machine_options again = {
            .struct_size = sizeof again, .improve = true, .run = &r->timing};
        fprintf(stderr, "note: this is faster than the machine was measured to be, which was in a "
                        "slow moment then; measuring it again\n");
        if (cli_report(r->cli, lw_machine_get(r->cli->ctx, &again, &m))) return;
        r->roofed = lw_machine_roof(m, &r->timing, &r->roof) == LW_OK && r->roof.us > 0;
    }
    r->cores = r->timing.threads < m->cores ? r->timing.threads : m->cores;
    if (r->cores < 1) r->cores = 1;
}

static void print_roof(const Run *r) {
    const lw_timing *t = &r->timing;
    const lw_roof *f = &r->roof;
    if (!r->roofed) return;
    if (f->partly) {
        printf("  peak     not measured for integers; moving the arguments takes ");
        print_time(f->memory_us);
        printf(" (%.1f GB/s, %s)\n", f->peak, level_name[f->level]);
        return;
    }
    printf("  peak     %.1f %% (best %.1f %%) of ", 100 * f->us / t->median_us,
           100 * f->us / t->best_us);
    if (f->compute)
        printf("%.1f GFLOP/s (%s f%d", f->peak, t->isa, t->float_bits);
    else
        printf("%.1f GB/s (%s", f->peak, level_name[f->level]);
    printf(", %d core%s); bound by %s: compute ", r->cores, r->cores > 1 ? "s" : "",
           f->compute ? "compute" : "bandwidth");
    print_time(f->compute_us);
    printf(", moving ");
    print_time(f->memory_us);
    printf("\n");
}

static void json_roof(Json *j, const Run *r) {
    const lw_roof *f = &r->roof;
    json_open(j, "roof", '{');
    if (!f->partly) {
        json_str(j, "bound", f->compute ? "compute" : "bandwidth");
        json_num(j, "fraction", round(1e4 * f->us / r->timing.median_us) / 1e4);
    }
    json_num(j, f->compute ? "gflops" : "gbps", round(f->peak * 1e3) / 1e3);
    json_num(j, "compute_us", round(f->compute_us * 1e3) / 1e3);
    json_num(j, "memory_us", round(f->memory_us * 1e3) / 1e3);
    json_str(j, "level", level_name[f->level]);
    json_close(j, '}');
}

// Schedules tuned for other threads, or another instruction set, are not used.
static void print_tuned(const lw_timing *t) {
    if (!t->tuned_threads) return;
    printf("  tuned    for %d thread%s of %s, not for %d of %s: `loopwright tune` with the same "
           "--threads and --isa does it\n",
           t->tuned_threads, t->tuned_threads == 1 ? "" : "s", t->tuned_isa, t->chosen_threads,
           t->isa);
}

// Compares the certificate of the tuned schedule with the time of this run.
static void print_bound(const lw_timing *t) {
    char bound[32], time[32];
    if (t->bound_us <= 0 || !t->samples) return;
    cli_time(bound, t->bound_us);
    if (t->median_us < t->bound_us)
        printf("  bound    no certificate: measured %s, below the bound of %s; please report this "
               "program with its sizes\n",
               cli_time(time, t->median_us), bound);
    else
        printf("  bound    no implementation can beat %s; gap %.0f %%\n", bound,
               100 * (t->median_us / t->bound_us - 1));
}

static void print_summary(Run *r) {
    char *values = cli_values_text(r->bound);
    printf("%s\n  sizes    %s\n", lw_function_signature(r->f), values);
    free(values);
    printf("  backend  %s: %lld iterations in ", lw_backend_name(r->timing.backend),
           (long long)lw_bound_instances(r->bound));
    print_time(r->timing.run_us);
    if (r->timing.code_bytes) {
        printf(", compiled in ");
        print_time(r->timing.compile_us);
    }
    if (r->timing.threads > 1) printf(", on %d threads", r->timing.threads);
    if (r->timing.kernels > 1) printf(", in %d kernels", r->timing.kernels);
    if (r->cli->device) printf(", on %s", r->cli->device);
    const char *from = r->timing.schedule;
    if (cli_tuned(from))
        printf(", %s %s", r->cli->machine ? "description" : "schedule",
               !strcmp(from, "hand") ? "by hand" : from);
    printf("\n");
    print_tuned(&r->timing);
    print_speed(&r->timing);
    print_roof(r);
    print_bound(&r->timing);
    for (size_t i = 0; i < r->n; i++) {
        bool input = i < lw_function_input_count(r->f);
        char *text = cli_tensor_text(r->bound, i);
        if (input && r->from[i])
            printf("  in       %s: from %s\n", text, r->from[i]);
        else if (input)
            printf("  in       %s: random, seed %llu\n", text, (unsigned long long)r->cli->seed);
        else {
            char *some = data_values(&r->args[i].t, 6);
            printf("  out      %s: checksum %016llx\n           %s\n", text,
                   (unsigned long long)data_checksum(&r->args[i].t), some);
            free(some);
        }
        free(text);
    }
}

static void json_summary(Run *r) {
    Json *j = &r->cli->object;
    json_str(j, "def", lw_function_name(r->f));
    json_str(j, "signature", lw_function_signature(r->f));
    json_values(j, r->bound);
    json_str(j, "backend", lw_backend_name(r->timing.backend));
    if (r->cli->device) json_str(j, "device", r->cli->device);
    if (r->cli->device) json_int(j, "kernels", r->timing.kernels);
    json_int(j, "instances", lw_bound_instances(r->bound));
    const lw_timing *t = &r->timing;
    double median = t->samples ? t->median_us : t->run_us;
    json_num(j, "compile_us", round(r->timing.compile_us * 1e3) / 1e3);
    json_open(j, "time_us", '{');
    json_num(j, "median", round(median * 1e3) / 1e3);
    json_num(j, "p10", round((t->samples ? t->p10_us : t->run_us) * 1e3) / 1e3);
    json_num(j, "p90", round((t->samples ? t->p90_us : t->run_us) * 1e3) / 1e3);
    json_num(j, "best", round((t->samples ? t->best_us : t->run_us) * 1e3) / 1e3);
    json_close(j, '}');
    if (t->code_bytes) {
        if (t->threads > 1) json_int(j, "threads", t->threads);
        if (cli_tuned(t->schedule)) json_str(j, "schedule", t->schedule);
        if (t->bound_us > 0) json_num(j, "bound_us", round(t->bound_us * 1e3) / 1e3);
        if (t->samples && t->median_us < t->bound_us) json_bool(j, "refuted", true);
        if (t->tuned_threads) {
            json_open(j, "tuned_for", '{');
            json_int(j, "threads", t->tuned_threads);
            json_str(j, "isa", t->tuned_isa);
            json_close(j, '}');
        }
        double floats = float_ops(t), ints = t->flops - floats;
        if (floats > 0 || ints <= 0) json_num(j, "gflops", round(floats / median) / 1e3);
        if (ints > 0) json_num(j, "gops", round(ints / median) / 1e3);
        json_num(j, "gbps", round(t->bytes / median) / 1e3);
    }
    if (r->roofed) json_roof(j, r);
    json_open(j, "outputs", '[');
    for (size_t i = lw_function_input_count(r->f); i < r->n; i++) {
        json_open(j, NULL, '{');
        json_tensor(j, r->bound, i);
        json_data(j, &r->args[i].t, 6);
        json_close(j, '}');
    }
    json_close(j, ']');
}

// --- The commands --------------------------------------------------------------------------------

static void begin(Run *r) {
    r->cli = r->g.cli;
    r->f = r->g.f;
    r->n = r->g.n;
    r->args = r->g.args;
    r->from = r->g.from;
}

// Options that only apply to a run on a user's data.
static int check_idle(Cli *cli) {
    if (!cli->check) return EXIT_OK;
    int idle = cli_idle(cli, "--backend", "with --check: it compares compiled code");
    return idle ? idle : cli_idle(cli, "--in --out --time", "with --check: it has data of its own");
}

// Integers that are compiled in may be given with --check, numbers that are read may not.
static int check_numbers(const Run *r) {
    for (size_t i = 0; i < r->cli->arg.n; i++)
        if (lw_function_find_param(r->f, r->cli->arg.at[i].name) < 0)
            return cli_misuse(r->cli, "--arg %s has no effect with --check: it has data of its own",
                              r->cli->arg.at[i].name);
    return EXIT_OK;
}

// Compares as tuning does: in a separate process, on generated data.
static int compare(Run *r) {
    Cli *cli = r->cli;
    const lw_check_result *c = NULL;
    lw_tune_options o = {.struct_size = sizeof o, .seed = cli->seed, .isa = cli->isa};
    o.threads = (int)cli->threads;
    o.device = cli->device;
    char *schedule = NULL;
    int status = cli_schedule(cli, &o.schedule, &schedule);
    if (!status) status = cli_report(cli, lw_check(cli->ctx, r->bound, &o, &c));
    free(schedule);
    if (status) return status;
    bool right = c->state <= LW_TRIAL_SLOW;
    bool unchecked = right && c->nothing && c->compared;
    const char *state = unchecked ? "unchecked" : right ? "right" : lw_trial_state_name(c->state);
    const char *how = c->difference ? c->difference : right && c->compared ? c->compared : NULL;
    if (unchecked) how = "on the data made up, results are infinite, NaN or the same everywhere";
    char *values = cli_values_text(r->bound);
    json_str(&cli->object, "check", state);
    if (c->difference) json_str(&cli->object, "difference", c->difference);
    if (c->unchecked) json_str(&cli->object, "unchecked", c->unchecked);
    if (!cli->json)
        printf("%s\n  sizes    %s\n  check    %s%s%s\n", lw_function_signature(r->f), values, state,
               how ? ": " : "", how ? how : "");
    free(values);
    return right ? EXIT_OK : EXIT_FAILED;
}

static int finish(Run *r) {
    int status = bind_sizes(r);
    if (!status && r->cli->check) status = check_numbers(r);
    if (!status && r->cli->check) return compare(r);
    if (!status) status = make_arguments(r);
    if (!status) status = execute(r);
    for (size_t i = lw_function_input_count(r->f); i < r->n && !status; i++)
        if (r->from[i]) compact(&r->args[i]);
    if (!status) status = write_outputs(r);
    if (!status && r->cli->time && !r->timing.samples)
        fprintf(stderr, "note: not measured: an in-out result is not dense%s\n",
                r->cli->device ? ", or there are in-out results on a device" : "");
    if (!status && r->timing.samples && !r->cli->device) find_roof(r);
    if (!status && r->cli->json) json_summary(r);
    if (!status && !r->cli->json) print_summary(r);
    return status;
}

static void end(Run *r) {
    given_free(&r->g);
    lw_bound_free(r->bound);
}

int command_run(Cli *cli) {
    Run r = {0};
    lw_module *mod = NULL;
    int status = check_effects(cli);
    if (!status) status = check_idle(cli);
    if (!status) status = cli_open(cli, &mod);
    const lw_function *f = status ? NULL : cli_function(cli, mod);
    if (!status && !f) status = EXIT_FAILED;
    if (!status) {
        status = given_read(&r.g, cli, f);
        begin(&r);
        if (!status) status = check_outputs(&r);
        if (!status) status = finish(&r);
        end(&r);
    }
    lw_module_free(mod);
    return status;
}

// Reads the operands and parses the subscripts, which need their shapes.
static int read_operands(Cli *cli, Array *operands, size_t n, lw_module **mod) {
    const DLTensor **list = cli_alloc((n + 1) * sizeof *list);
    int status = EXIT_OK;
    for (size_t i = 0; i < n && !status; i++) {
        char *wrong = npy_read(cli->words[i + 1], false, i, &operands[i]);
        if (wrong) status = cli_fail(cli, "%s", wrong);
        free(wrong);
        list[i] = &operands[i].t;
    }
    if (!status) status = cli_report(cli, lw_parse_einsum(cli->ctx, cli->words[0], list, n, mod));
    free(list);
    return status;
}

static bool is_npy(const char *word) {
    size_t n = strlen(word);
    return n > 4 && !strcmp(word + n - 4, ".npy");
}

// The operands are the inputs of einsum's one function, so the rest is an ordinary run.
int command_einsum(Cli *cli) {
    if (cli->nwords < 2)
        return cli_misuse(cli, "give the subscripts, then one .npy file per operand");
    if (is_npy(cli->words[0]))
        return cli_misuse(cli,
                          "'%s' is a file: the subscripts come before the files, such as "
                          "'mk,kn->mn'",
                          cli->words[0]);
    if (cli->out.n > 1) return cli_misuse(cli, "there is one result, so one --out");
    size_t n = cli->nwords - 1;
    Array *operands = cli_alloc(n * sizeof *operands);
    Run r = {0};
    lw_module *mod = NULL;
    int status = check_effects(cli);
    if (!status) status = read_operands(cli, operands, n, &mod);
    if (!status) {
        given_begin(&r.g, cli, lw_module_function(mod, 0));
        begin(&r);
        for (size_t i = 0; i < n; i++) {
            r.args[i] = operands[i];
            operands[i] = (Array){0};
            r.from[i] = cli->words[i + 1];
        }
        status = finish(&r);
        end(&r);
    }
    for (size_t i = 0; i < n; i++) data_free(&operands[i]);
    free(operands);
    lw_module_free(mod);
    return status;
}
