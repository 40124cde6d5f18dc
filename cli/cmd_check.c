// loopwright check: diagnostics and inferred signatures.
#include "cli.h"

#include <stdlib.h>
#include <string.h>

static void json_symbolic(Json *j, const lw_tensor *t) {
    static const char *const roles[] = {"input", "output", "inout", "temp"};
    json_open(j, NULL, '{');
    json_str(j, "name", t->name);
    json_str(j, "role", roles[t->role]);
    json_str(j, "dtype", cli_dtype_name(t->dtype));
    json_open(j, "size", '[');
    for (int d = 0; d < t->ndim; d++) json_str(j, NULL, t->size[d]);
    json_close(j, ']');
    json_open(j, "origin", '[');
    for (int d = 0; d < t->ndim; d++) json_str(j, NULL, t->origin[d]);
    json_close(j, ']');
    json_close(j, '}');
}

static void json_function(Json *j, const lw_function *f, const lw_bound *b) {
    json_open(j, NULL, '{');
    json_str(j, "def", lw_function_name(f));
    json_str(j, "signature", lw_function_signature(f));
    json_open(j, "params", '[');
    for (size_t i = 0; i < lw_function_param_count(f); i++) {
        const lw_param *p = lw_function_param(f, i);
        json_open(j, NULL, '{');
        json_str(j, "name", p->name);
        json_str(j, "kind", p->kind == LW_SIZE ? "size" : "scalar");
        json_str(j, "dtype", cli_dtype_name(p->dtype));
        json_close(j, '}');
    }
    json_close(j, ']');
    json_open(j, "tensors", '[');
    for (size_t i = 0; i < lw_function_tensor_count(f); i++)
        json_symbolic(j, lw_function_tensor(f, i));
    json_close(j, ']');
    if (b) {
        json_values(j, b);
        json_open(j, "shapes", '[');
        for (size_t i = 0; i < lw_function_tensor_count(f); i++) {
            json_open(j, NULL, '{');
            json_tensor(j, b, i);
            json_close(j, '}');
        }
        json_close(j, ']');
    }
    json_close(j, '}');
}

static void print_bound(const lw_bound *b) {
    static const char *const roles[] = {"in", "out", "inout", "temp"};
    const lw_function *f = lw_bound_function(b);
    char *values = cli_values_text(b);
    printf("  with %s:\n", values);
    free(values);
    for (size_t i = 0; i < lw_function_tensor_count(f); i++) {
        char *text = cli_tensor_text(b, i);
        printf("  %-5s %s\n", roles[lw_function_tensor(f, i)->role], text);
        free(text);
    }
}

// Selects from `all` the given sizes that belong to this function.
static size_t own_sizes(const lw_function *f, const lw_size *all, size_t n, lw_size *own) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (lw_function_find_param(f, all[i].name) >= 0) own[count++] = all[i];
    return count;
}

static size_t all_params(const lw_module *mod, const char **names) {
    size_t n = 0;
    for (size_t k = 0; k < lw_module_function_count(mod); k++) {
        const lw_function *f = lw_module_function(mod, k);
        for (size_t i = 0; i < lw_function_param_count(f); i++, n++)
            if (names) names[n] = lw_function_param(f, i)->name;
    }
    return n;
}

// Each size must belong to some function; otherwise it is misspelt.
static int check_names(Cli *cli, const lw_module *mod, const lw_size *sizes, size_t n) {
    size_t count = all_params(mod, NULL);
    const char **names = cli_alloc((count + 1) * sizeof *names);
    int status = EXIT_OK;
    all_params(mod, names);
    for (size_t i = 0; i < n && !status; i++) {
        bool found = false;
        for (size_t k = 0; k < count; k++) found = found || !strcmp(names[k], sizes[i].name);
        const char *near = lw_nearest(sizes[i].name, names, count);
        if (!found && near)
            status = cli_fail(cli, "no function of '%s' has a size '%s'; did you mean '%s'?",
                              cli->words[0], sizes[i].name, near);
        else if (!found)
            status = cli_fail(cli, "no function of '%s' has a size or scalar argument '%s'",
                              cli->words[0], sizes[i].name);
    }
    free(names);
    return status;
}

// Binds if all sizes are given; if there is only one function to check, all must be given.
static int check_one(Cli *cli, const lw_function *f, const lw_size *sizes, size_t n, bool only) {
    lw_size *own = cli_alloc((n + 1) * sizeof *own);
    size_t count = own_sizes(f, sizes, n, own);
    lw_bound *b = NULL;
    int status = EXIT_OK;
    if (!cli->json) printf("%s\n", lw_function_signature(f));
    if (n && only)
        status = cli_report(cli, lw_bind(cli->ctx, f, sizes, n, &b));
    else if (n && count >= lw_function_param_count(f))
        status = cli_report(cli, lw_bind(cli->ctx, f, own, count, &b));
    if (cli->json) json_function(&cli->object, f, b);
    if (b && !cli->json) print_bound(b);
    lw_bound_free(b);
    free(own);
    return status;
}

static int check_module(Cli *cli, const lw_module *mod, const lw_size *sizes, size_t n) {
    size_t count = lw_module_function_count(mod);
    if (cli->def || count == 1) {
        const lw_function *f = cli_function(cli, mod);
        return f ? check_one(cli, f, sizes, n, true) : EXIT_FAILED;
    }
    int status = check_names(cli, mod, sizes, n);
    if (!count && cli_is_teml(cli) && !cli->json)
        fprintf(stderr, "note: '%s' has no function\n", cli->words[0]);
    for (size_t i = 0; i < count && !status; i++)
        status = check_one(cli, lw_module_function(mod, i), sizes, n, false);
    return status;
}

int command_check(Cli *cli) {
    lw_module *mod = NULL;
    lw_size *sizes = NULL;
    size_t n = 0;
    int status = cli_open(cli, &mod);
    int wrong = cli_sizes(cli, NULL, &sizes, &n); // not numbers
    if (!status) status = wrong;
    if (!status && !lw_module_function_count(mod) && !cli_is_teml(cli)) // which may lack codegen
        status = cli_fail(cli, "'%s' has no function", cli->words[0]);
    if (!status || (mod && !cli->def && !wrong)) { // also prints the functions without errors
        json_open(&cli->object, "functions", '[');
        int checked = check_module(cli, mod, sizes, status ? 0 : n);
        json_close(&cli->object, ']');
        if (!status) status = checked;
    }
    free(sizes);
    lw_module_free(mod);
    return status;
}
