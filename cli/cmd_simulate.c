// loopwright simulate: a program on a machine that exists as a description.
#include "cli.h"

#include <stdlib.h>
#include <string.h>

typedef struct Simulate {
    Cli *cli;
    const lw_function *f;
    lw_bound *bound;
    lw_simulate_options options;
} Simulate;

static int simulated(Simulate *s, lw_simulation form, const char **out) {
    s->options.form = form;
    return cli_report(s->cli, lw_bound_simulate(s->cli->ctx, s->bound, &s->options, out));
}

// Random arguments; results are zeros.
static int make_arguments(Simulate *s, Array *args, size_t n) {
    int failed = cli_check_memory(s->cli, s->bound, n);
    if (failed) return failed;
    for (size_t i = 0; i < n; i++) {
        const lw_tensor *tensor = lw_function_tensor(s->f, i);
        int64_t lo = 0, hi = 0;
        if (!data_new(&args[i], lw_bound_tensor(s->bound, i), i))
            return cli_fail(s->cli, "there is not enough memory for '%s'", tensor->name);
        bool index = lw_bound_index_range(s->bound, i, &lo, &hi);
        if (tensor->role == LW_INPUT)
            data_random(&args[i], s->cli->seed, tensor->name, index, lo, hi);
    }
    return EXIT_OK;
}

// Executes the loops; the simulation must be the one that was counted.
static int compare_tasks(Simulate *s) {
    size_t n = lw_function_input_count(s->f) + lw_function_output_count(s->f);
    Array *args = cli_alloc((n + 1) * sizeof *args);
    const DLTensor **tensors = cli_alloc((n + 1) * sizeof *tensors);
    const char *text = NULL;
    char *counted = NULL;
    int status = make_arguments(s, args, n);
    if (!status) status = simulated(s, LW_SIMULATION_SVG, &text); // has the times of all tasks
    if (!status) counted = cli_printf("%s", text);
    for (size_t i = 0; i < n; i++) tensors[i] = &args[i].t;
    s->options.args = tensors;
    s->options.count = n;
    if (!status) status = simulated(s, LW_SIMULATION_SVG, &text);
    if (!status && strcmp(text, counted) != 0)
        status = cli_fail(s->cli, "the loops execute other tasks than those counted");
    s->options.args = NULL;
    for (size_t i = 0; i < n; i++) data_free(&args[i]);
    free(args);
    free(tensors);
    free(counted);
    return status;
}

static int compare_values(Simulate *s) {
    const lw_check_result *c = NULL;
    lw_tune_options o = {.struct_size = sizeof o, .seed = s->cli->seed};
    o.schedule = s->options.machine;
    int status = cli_report(s->cli, lw_check(s->cli->ctx, s->bound, &o, &c));
    if (!status && c->state > LW_TRIAL_SLOW)
        status = cli_fail(s->cli, "the loops compute something else than the interpreter: %s",
                          c->difference ? c->difference : lw_trial_state_name(c->state));
    return status;
}

static int check(Simulate *s) {
    int status = compare_tasks(s);
    if (!status) status = compare_values(s);
    if (!status) json_str(&s->cli->object, "check", "right");
    if (!status && !s->cli->json)
        printf("  check    executed: the same tasks, the right results\n");
    return status;
}

static int draw(Simulate *s) {
    const char *svg = NULL, *path = s->cli->timeline;
    int status = simulated(s, LW_SIMULATION_SVG, &svg);
    if (!status) status = output_write(s->cli, path, svg, strlen(svg));
    if (!status) json_str(&s->cli->object, "timeline", path);
    return status;
}

static int show(Simulate *s) {
    const char *text = NULL;
    int status = simulated(s, s->cli->json ? LW_SIMULATION_JSON : LW_SIMULATION_TEXT, &text);
    if (status) return status;
    char *values = cli_values_text(s->bound);
    if (s->cli->json)
        json_raw(&s->cli->object, "simulation", text);
    else
        printf("%s\n  sizes    %s\n%s", lw_function_signature(s->f), values, text);
    free(values);
    return EXIT_OK;
}

int command_simulate(Cli *cli) {
    if (!cli->machine) return cli_misuse(cli, "which machine? --machine accelerator, or a file");
    if (cli->check && cli->until)
        return cli_misuse(cli, "--check executes the loops after all passes: leave out --until");
    lw_module *mod = NULL;
    char *memory = NULL;
    Simulate s = {.cli = cli};
    s.options = (lw_simulate_options){.struct_size = sizeof s.options, .until = cli->until};
    int status = cli_schedule(cli, &s.options.machine, &memory);
    if (!status) status = cli_open(cli, &mod);
    if (!status) {
        s.f = cli_function(cli, mod);
        status = s.f ? cli_bind(cli, s.f, &s.bound) : EXIT_FAILED;
    }
    if (!status) status = show(&s);
    if (!status && cli->timeline) status = draw(&s);
    if (!status && cli->check) status = check(&s);
    lw_bound_free(s.bound);
    lw_module_free(mod);
    free(memory);
    return status;
}
