// loopwright compile: writes a function as a stand-alone file.
#include "cli.h"

#include <stdlib.h>
#include <string.h>

static bool is_stdout(const char *path) { return strcmp(path, "-") == 0; }

static int write_file(Cli *cli, const char *path, const char *bytes, size_t size) {
    if (is_stdout(path)) // errors of standard output are reported at exit
        return fwrite(bytes, 1, size, stdout) == size ? EXIT_OK : EXIT_FAILED;
    return output_write(cli, path, bytes, size);
}

typedef struct Kind {
    const char *ending, *what;
} Kind;

static const Kind kinds[] = {
    [LW_EMIT_C] = {".c", "source"},          [LW_EMIT_OBJ] = {".o", "object"},
    [LW_EMIT_ASM] = {".s", "assembly"},      [LW_EMIT_SO] = {".so", "library"},
    [LW_EMIT_PTX] = {".ptx", "kernels"},     [LW_EMIT_STRIPE] = {".stripe", "loops"},
    [LW_EMIT_CUBIN] = {".cubin", "kernels"},
};

static bool is_gpu(const Kind *kind) {
    return kind == &kinds[LW_EMIT_PTX] || kind == &kinds[LW_EMIT_CUBIN];
}

// A name with a dot must have the right extension; libraries may add a version.
static bool ending_fits(const char *path, const Kind *kind) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    if (!dot || strcmp(dot, kind->ending) == 0) return true;
    return kind == &kinds[LW_EMIT_SO] && strstr(name, ".so.") != NULL;
}

// "out/mv.c" gives "out/mv.h".
static char *header_path(const char *path, const Kind *kind) {
    size_t len = strlen(path), end = strlen(kind->ending);
    bool has = len > end && strcmp(path + len - end, kind->ending) == 0;
    return cli_printf("%.*s.h", (int)(has ? len - end : len), path);
}

// Prototypes of C source, machine code and kernels differ: whether the file is a header of another.
static bool is_other_header(const char *path, const Kind *kind) {
    enum { MOST = 1 << 16 };
    FILE *f = fopen(path, "r");
    if (!f) return false;
    char *text = cli_alloc(MOST);
    bool some = fread(text, 1, MOST - 1, f) > 0;
    bool ours = some && strncmp(text, "#ifndef LW_", 11) == 0;
    bool gpu = strstr(text, "#include <cuda.h>") != NULL;
    bool machine = strstr(text, "// Machine code for ") != NULL;
    bool is_c = kind == &kinds[LW_EMIT_C];
    fclose(f);
    free(text);
    return ours && (gpu != is_gpu(kind) || (!gpu && machine == is_c));
}

// A name that C or the file itself reserves would be changed.
static int emit(Cli *cli, const lw_bound *b, const Kind *kind, const lw_emit_options *o,
                lw_emitted *out) {
    int status = cli_report(cli, lw_bound_emit(cli->ctx, b, (lw_emit)(kind - kinds), o, out));
    if (status || !o->name) return status;
    size_t n = strlen(o->name);
    const char *rest = is_gpu(kind) ? "_launch" : "";
    if (strncmp(out->function, o->name, n) == 0 && strcmp(out->function + n, rest) == 0)
        return status;
    return cli_fail(cli, "--name %s: C, or the code around the function, has another use for it",
                    o->name);
}

// Standard output holds one file: there is no separate header, and C source includes it.
static int write_one(Cli *cli, const lw_bound *b, const Kind *kind, lw_emit_options *o) {
    lw_emitted out;
    o->header = "";
    int status = emit(cli, b, kind, o, &out);
    return status ? status : write_file(cli, "-", out.bytes, out.size);
}

// Stripe text has no header either.
static int write_stripe(Cli *cli, const lw_bound *b, const Kind *kind, const lw_emit_options *o) {
    lw_emitted out;
    int status = emit(cli, b, kind, o, &out);
    if (!status) status = write_file(cli, cli->output, out.bytes, out.size);
    if (status) return status;
    json_str(&cli->object, "function", out.function);
    json_str(&cli->object, kind->what, cli->output);
    return EXIT_OK;
}

static int write_files(Cli *cli, const lw_bound *b, const Kind *kind, lw_emit_options *o) {
    if (kind == &kinds[LW_EMIT_STRIPE]) return write_stripe(cli, b, kind, o);
    if (is_stdout(cli->output)) return write_one(cli, b, kind, o);
    char *header = header_path(cli->output, kind);
    const char *slash = strrchr(header, '/');
    lw_emitted out;
    o->header = slash ? slash + 1 : header;
    int status = EXIT_OK;
    if (is_other_header(header, kind))
        status = cli_fail(cli,
                          "'%s' declares code of another kind, which has other prototypes; name "
                          "another file",
                          header);
    if (!status) status = emit(cli, b, kind, o, &out);
    if (!status) status = write_file(cli, cli->output, out.bytes, out.size);
    if (!status) status = write_file(cli, header, out.header, out.header_size);
    if (!status) {
        json_str(&cli->object, "function", out.function);
        json_str(&cli->object, kind->what, cli->output);
        json_str(&cli->object, "header", header);
    }
    free(header);
    return status;
}

static int compile_function(Cli *cli, const lw_function *f, const Kind *kind) {
    lw_emit_options o = {
        .struct_size = sizeof o, .name = cli->name, .isa = cli->isa, .threads = (int)cli->threads};
    if (is_gpu(kind)) o.isa = cli->target;
    char *schedule = NULL;
    lw_bound *b = NULL;
    int status = cli_schedule(cli, &o.schedule, &schedule);
    if (!status) status = cli_bind(cli, f, &b);
    if (!status) json_values(&cli->object, b);
    if (!status) status = write_files(cli, b, kind, &o);
    lw_bound_free(b);
    free(schedule);
    return status;
}

// Whether it is a C identifier.
static bool is_name(const char *text) {
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return n && !text[n] && !(text[0] >= '0' && text[0] <= '9');
}

int command_compile(Cli *cli) {
    if (!cli->emit)
        return cli_misuse(cli, "what to write? --emit c, obj, asm, so, ptx, stripe or cubin");
    const Kind *kind = &kinds[cli_word(emit_words, cli->emit)];
    if (!cli->output) return cli_misuse(cli, "where to? -o FILE%s", kind->ending);
    if (cli->name && !is_name(cli->name))
        return cli_misuse(cli, "--name takes a name as C has them, not '%s'", cli->name);
    if (is_stdout(cli->output) && cli->json)
        return cli_misuse(cli, "with --json standard output holds one object: -o FILE%s",
                          kind->ending);
    if (!ending_fits(cli->output, kind))
        return cli_misuse(cli, "-o %s: the name of the %s file must end in %s%s", cli->output,
                          kind->what, kind->ending,
                          kind == &kinds[LW_EMIT_STRIPE] ? ""
                                                         : "; its header is written next to it");
    lw_module *mod = NULL;
    int status = EXIT_OK;
    if (cli->schedule && kind == &kinds[LW_EMIT_C])
        status =
            cli_idle(cli, "--isa", "with --schedule: it is for machine code, and to choose by");
    if (!status && is_gpu(kind))
        status = cli_idle(cli, "--threads --isa", "on PTX; --target names the architecture");
    if (!status && !is_gpu(kind))
        status = cli_idle(cli, "--target", "but with --emit ptx and cubin");
    if (!status) status = cli_open(cli, &mod);
    const lw_function *f = status ? NULL : cli_function(cli, mod);
    if (!status) status = f ? compile_function(cli, f, kind) : EXIT_FAILED;
    lw_module_free(mod);
    return status;
}
