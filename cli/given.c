// Arguments from the command line: --in and --arg of `run` and `tune`.
#include "cli.h"

#include <stdlib.h>
#include <string.h>

// Can the option give, or take, the content of this tensor?
static bool fits_option(const lw_tensor *t, const char *option) {
    if (!strcmp(option, "--out")) return t->role == LW_OUTPUT || t->role == LW_INOUT;
    if (t->role != LW_INPUT && t->role != LW_INOUT) return false;
    return strcmp(option, "--arg") != 0 || !t->ndim;
}

int given_unknown(Given *g, const char *option, const char *name, const char *what) {
    const char **names = cli_alloc((g->n + lw_function_param_count(g->f) + 1) * sizeof *names);
    bool params = strcmp(option, "--out") != 0;
    size_t k = 0;
    for (size_t i = 0; i < g->n; i++)
        if (fits_option(lw_function_tensor(g->f, i), option))
            names[k++] = lw_function_tensor(g->f, i)->name;
    for (size_t i = 0; params && i < lw_function_param_count(g->f); i++)
        names[k++] = lw_function_param(g->f, i)->name;
    const char *near = lw_nearest(name, names, k);
    free(names);
    if (near && strcmp(near, name) != 0)
        return cli_fail(g->cli, "%s %s: '%s' has no %s of that name; did you mean '%s'?", option,
                        name, lw_function_name(g->f), what, near);
    return cli_fail(g->cli, "%s %s: '%s' has no %s of that name; it is %s", option, name,
                    lw_function_name(g->f), what, lw_function_signature(g->f));
}

// The tensor whose content --in or --arg may give: an input or an in-out result.
static int find_given(const Given *g, const char *name) {
    int t = lw_function_find_tensor(g->f, name);
    if (t < 0) return -1;
    lw_role role = lw_function_tensor(g->f, (size_t)t)->role;
    return role == LW_INPUT || role == LW_INOUT ? t : -1;
}

bool given_is_result(const Given *g, const char *name) {
    int t = lw_function_find_tensor(g->f, name);
    return t >= (int)lw_function_input_count(g->f) && t < (int)g->n;
}

static int read_scalar(Given *g, const Pair *in) {
    Array a;
    int64_t value = 0;
    char *wrong = npy_read(in->value, false, 0, &a);
    int status = EXIT_OK;
    if (wrong)
        status = cli_fail(g->cli, "%s", wrong);
    else if (!data_integer(&a, &value))
        status =
            cli_fail(g->cli, "'%s' gives '%s', which is an integer: it should hold one integer",
                     in->value, in->name);
    else
        g->sizes[g->nsizes++] = (lw_size){in->name, value};
    free(wrong);
    data_free(&a);
    return status;
}

static int read_input(Given *g, const Pair *in) {
    int t = find_given(g, in->name); // if W is a size and a tensor, a file is the tensor
    if (t < 0 && lw_function_find_param(g->f, in->name) >= 0) return read_scalar(g, in);
    if (t < 0 && given_is_result(g, in->name))
        return cli_fail(g->cli, "--in %s: it is a result whose old content does not matter",
                        in->name);
    if (t < 0) return given_unknown(g, "--in", in->name, "input");
    if (g->args[t].memory) return cli_misuse(g->cli, "'%s' is given twice", in->name);
    bool bf16 = lw_function_tensor(g->f, (size_t)t)->dtype.code == kDLBfloat;
    char *wrong = npy_read(in->value, bf16, (size_t)t, &g->args[t]);
    if (!wrong) {
        g->from[t] = in->value;
        return EXIT_OK;
    }
    int status = cli_fail(g->cli, "%s", wrong);
    free(wrong);
    return status;
}

static int read_number(Given *g, const Pair *arg) {
    if (lw_function_find_param(g->f, arg->name) >= 0) return EXIT_OK; // among the sizes
    int t = find_given(g, arg->name);
    if (t < 0) return given_unknown(g, "--arg", arg->name, "scalar argument");
    const lw_tensor *tensor = lw_function_tensor(g->f, (size_t)t);
    if (tensor->ndim)
        return cli_fail(g->cli, "--arg %s: it is not a scalar but %s; use --in %s=FILE.npy",
                        arg->name, tensor->text, arg->name);
    if (g->args[t].memory) return cli_misuse(g->cli, "'%s' is given twice", arg->name);
    DLTensor like = {.dtype = tensor->dtype};
    if (!data_new(&g->args[t], &like, (size_t)t)) return cli_fail(g->cli, "out of memory");
    g->from[t] = "--arg";
    if (data_number(&g->args[t], arg->value)) return EXIT_OK;
    return cli_misuse(g->cli, "--arg %s=%s: not a value of type %s", arg->name, arg->value,
                      cli_dtype_name(tensor->dtype));
}

int given_read(Given *g, Cli *cli, const lw_function *f) {
    given_begin(g, cli, f);
    int status = cli_sizes(cli, f, &g->sizes, &g->nsizes);
    for (size_t i = 0; i < cli->in.n && !status; i++) status = read_input(g, &cli->in.at[i]);
    for (size_t i = 0; i < cli->arg.n && !status; i++) status = read_number(g, &cli->arg.at[i]);
    return status;
}

void given_begin(Given *g, Cli *cli, const lw_function *f) {
    g->cli = cli;
    g->f = f;
    g->n = lw_function_input_count(f) + lw_function_output_count(f);
    g->args = cli_alloc((g->n + 1) * sizeof *g->args);
    g->from = cli_alloc((g->n + 1) * sizeof *g->from);
}

const DLTensor **given_tensors(const Given *g) {
    const DLTensor **list = cli_alloc((g->n + 1) * sizeof *list);
    for (size_t i = 0; i < g->n; i++)
        if (g->args[i].memory) list[i] = &g->args[i].t;
    return list;
}

void given_free(Given *g) {
    for (size_t i = 0; i < g->n; i++) data_free(&g->args[i]);
    free(g->args);
    free(g->from);
    free(g->sizes);
    *g = (Given){0};
}
