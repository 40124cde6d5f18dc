// loopwright: the table of commands, help, and functions shared by commands.
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define HOW          /* to run it */                                                               \
    "--schedule", "--mapping", "--machine", "--backend", "--threads", "--isa", "--device",         \
        "--time", "--db"
#define TRUSTING "--unproven", "--unchecked-index", "--unchecked"
#define READING  "--strict", TRUSTING, "--as-written", "--no-path", "--lang", "--trace" // a file

const Command commands[] = {
    {"check", "FILE", "check a file and print what was inferred",
     OPTIONS("--size", "--def", READING),
     "Infers types and ranges of every function in the file and prints each signature with\n"
     "its symbolic sizes. With --size it also binds the sizes and checks every condition on\n"
     "them.\n"
     "\n"
     "  loopwright check conv.tc\n"
     "  loopwright check conv.tc --size N=1,C=3,H=32,W=32,KH=3,KW=3\n"
     "  loopwright check conv.tc --strict            treat warnings as errors\n",
     command_check},
    {"show", "FILE", "print a file in one of the compiler's text forms",
     OPTIONS("--stage", "--def", "--size", "--schedule", "--mapping", "--machine", "--threads",
             "--isa", "--target", "--cost", "--db", READING),
     "--stage program   the Program: explicit domains, affine subscripts, all types (.lwp).\n"
     "                  It parses back to itself and is a valid input of every command.\n"
     "--stage schedule  the chosen Schedule (.lws), a starting point for edits. With\n"
     "                  --schedule naive: the Schedule that runs every loop as written.\n"
     "--stage tree      the loop nest under --schedule, one loop per line; --cost adds bytes\n"
     "                  and operations.\n"
     "--stage stripe    the same nest as Stripe text (.stripe), which parses back and runs.\n"
     "--stage asm       the machine code, each part below the line of the tree it implements.\n"
     "--stage ptx       the kernels for NVIDIA GPUs, under the Schedule that is chosen for them.\n"
     "--stage report    for each nest: register tile, instruction counts, reasons for every\n"
     "                  optimisation that was declined; and the time of each compiler step.\n"
     "--stage schedule-tree  the steps of polyhedral scheduling by --mapping (default: naive):\n"
     "                  canonical, fused, tiled, point loops sunk. See docs/proofs.md.\n"
     "--stage dependences    flow, anti and output dependences, memory- and value-based.\n"
     "--stage teml           a TeML program whose path makes the loops, if there is one.\n"
     "\n"
     "Without --stage: the Program; with --schedule, --threads, --isa or --cost: the tree.\n"
     "\n"
     "  loopwright show mv.tc\n"
     "  loopwright show mv.tc --size M=4,K=3 > mv4x3.lwp && loopwright run mv4x3.lwp\n"
     "  loopwright show mv.tc --size M=4,K=3 --stage tree --schedule mv.lws\n"
     "  loopwright show mv.tc --size M=64,K=64 --stage asm --isa avx2\n",
     command_show},
    {"space", "FILE", "print the decisions left open about a function and their consequences",
     OPTIONS("--def", "--size", "--set", "--explain", "--explain-bound", "--schedule", "--mapping",
             "--complete", "--samples", "--seed", "--threads", "--device", READING),
     "Prints the open decisions and their remaining values, an estimate of the number of\n"
     "implementations, the share of random decision sequences that reach a dead end, and a\n"
     "lower bound on the run time of every implementation on this machine. --set takes\n"
     "decisions and shows their consequences, --explain names the constraint that removed\n"
     "each value, --explain-bound breaks the lower bound down. See docs/spaces.md.\n"
     "\n"
     "  loopwright space mm.tc --size M=64,N=64,K=64\n"
     "  loopwright space mm.tc --size M=64,N=64,K=64 --set 'kind(C.n.0) = VECTOR'\n"
     "  loopwright space mm.tc --size M=64,N=64,K=64 --schedule mm.lws --explain-bound\n"
     "  loopwright space mm.tc --size M=64,N=64,K=64 --complete --seed 3 > mm.lws\n"
     "  loopwright space mm.tc --size M=64,N=64,K=64 --device emulate\n",
     command_space},
    {"edit", "FILE", "change the loops of a function by actions or by hand, and print its Schedule",
     OPTIONS("--def", "--size", "--do", "--schedule", "--stage", "-o", "--threads", "--isa",
             READING),
     "Starts from the Schedule of --schedule, or from the one that is chosen, runs the actions\n"
     "of --do, and prints the Schedule, or the loops with --stage tree. An action that has no\n"
     "meaning is refused with its reason and place. Without --do, in a terminal, an editor\n"
     "shows the loops with their costs and speed: arrows move, Enter drags a loop, s splits, m\n"
     "merges, u undoes, q quits. A function that is a Tree (Stripe), or any with --stage\n"
     "stripe, is changed by transformations, and printed as Stripe text. docs/edit.md lists\n"
     "actions, transformations and keys.\n"
     "\n"
     "  loopwright edit mm.tc --size M=64,N=64,K=64 --schedule naive --do 'split m 8; swap m n'\n"
     "  loopwright edit mm.tc --size M=64,N=64,K=64 --do 'parallelize' -o mm.lws\n",
     command_edit},
    {"run", "FILE", "run a function on data and summarise the results",
     OPTIONS("--def", "--size", "--in", "--arg", "--out", "--seed", "--check", HOW, READING),
     "Inputs come from .npy files (--in) or are random: floats uniform in [-1, 1), small\n"
     "integers, and valid indices for subscripts. Sizes follow from the arrays where they\n"
     "can; --size gives the others. Scalar arguments are numbers (--arg), rank-0 .npy files\n"
     "(--in) or, for integers, --size. A result that the function also reads starts from\n"
     "zeros unless --in gives its initial content.\n"
     "\n"
     "  loopwright run mv.tc --size M=4,K=3\n"
     "  loopwright run mv.tc --in A=a.npy --in x=x.npy --out C=c.npy\n"
     "  loopwright run matmul.tc --size M=512,N=512,K=512 --schedule matmul.lws --time\n"
     "  loopwright run sgemm.tc --size M=8,N=8,K=8 --arg a=2.5 --arg b=1 --seed 7 --json\n",
     command_run},
    {"tune", "FILE", "find the fastest schedule of a function by measuring",
     OPTIONS("--def", "--size", "--in", "--arg", "--seconds", "--gap", "--trials", "--strategy",
             "--order", "--seed", "--repeat", "--set", "--schedule", "--mapping", "--machine",
             "--threads", "--isa", "--device", "--cold", "--db", "--again", "--log", "--plot", "-o",
             "--quiet", READING),
     "Compiles, checks and times candidates until the budget is used up (5 seconds). Prints\n"
     "the fastest one as a Schedule with a certificate: a lower bound that no implementation\n"
     "in the space can beat. The result is stored in the tuning database, which `run` reads.\n"
     "Ctrl-C keeps the best candidate so far. Without --def every function of the file is\n"
     "tuned; repeating a size in --size starts another set of sizes; the budget is divided in\n"
     "proportion to the work. Candidates run on random data, or on the data of --in and\n"
     "--arg. See docs/tuning.md.\n"
     "\n"
     "Strategies: auto (the default), random, exhaustive, greedy, beam, genetic, mcts, sweep,\n"
     "poly (TC's scheduler, then genetic), each with options, such as 'beam width=8'.\n"
     "Several strategies, or `all`, are compared; each gets the whole budget.\n"
     "\n"
     "Of a TeML program the values of its parameters are searched, those of\n"
     "`param T = 32 in [8, 16, 32]` that --size does not fix (docs/teml.md).\n"
     "\n"
     "With --machine the parameters of a machine description's passes are tuned instead; -o\n"
     "writes the tuned description (docs/passes.md).\n"
     "\n"
     "  loopwright tune mm.tc --size M=64,N=64,K=64\n"
     "  loopwright tune mm.tc --size M=512,N=512,K=512 --seconds 20 --gap 3% -o mm.lws\n"
     "  loopwright tune mm.tc --size M=64,N=64,K=64 --size M=128,N=128 --log trials.jsonl\n"
     "  loopwright tune mm.tc --size M=64,N=64,K=64 --strategy auto,mcts --repeat 3 --plot b.svg\n"
     "  loopwright tune mm.tc --size M=1024,N=1024,K=1024 --device cuda:0 --seconds 60\n",
     command_tune},
    {"compile", "FILE", "write a function as a standalone file",
     OPTIONS("--emit", "-o", "--name", "--def", "--size", "--schedule", "--mapping", "--machine",
             "--threads", "--isa", "--target", "--db", READING),
     "Writes one function of plain pointers for the given sizes and its C header. To link\n"
     "several sizes or instruction sets into one program, give each a --name.\n"
     "\n"
     "--emit c          C99 source, FILE.c.\n"
     "--emit obj        machine code as an ELF object, FILE.o, without run-time dependencies.\n"
     "--emit asm        the same code for the GNU assembler, FILE.s.\n"
     "--emit so         the same code as a shared library, FILE.so, by the system's linker.\n"
     "--emit ptx        kernels for NVIDIA GPUs, FILE.ptx; the header launches them.\n"
     "--emit cubin      the same kernels as machine code for --target, FILE.cubin, by CUDA's\n"
     "                  libnvJitLink or ptxas.\n"
     "--emit stripe     the loops as Stripe text, FILE.stripe, without a header.\n"
     "\n"
     "  loopwright compile mv.tc --size M=4,K=3 --emit c -o mv.c\n"
     "  cc -O3 -march=native -ffp-contract=off -c mv.c\n"
     "  loopwright compile mv.tc --size M=4,K=3 --emit obj -o mv.o && cc main.c mv.o -lm\n"
     "  loopwright compile mv.tc --size M=4,K=3 --isa avx2 --name mv_avx2 --emit obj -o mv2.o\n",
     command_compile},
    {"teml", "FILE", "run a TeML program and print the value of each name",
     OPTIONS("--size", "--strict", "--unproven", "--unchecked", "--trace"),
     "Tensor expressions are shown as trees of (operation, shape, iterators), loop nests with the "
     "range\n"
     "of each loop, as in the paper. See docs/teml.md.\n"
     "\n"
     "  loopwright teml mm.teml\n"
     "  loopwright teml mm.teml --size N=64,T=8      values of parameters\n"
     "  loopwright teml mm.teml --unchecked          illegal transformations are applied too\n",
     command_teml},
    {"einsum", "SUBSCRIPTS FILE...", "compute an einsum over .npy files",
     OPTIONS("--out", HOW, "--trace"),
     "Takes NumPy's notation: implicit or explicit result, ellipsis, repeated labels, any\n"
     "number of operands. --out takes just a file name here.\n"
     "\n"
     "  loopwright einsum 'mk,kn->mn' a.npy b.npy --out c.npy\n"
     "  loopwright einsum 'mk,kn->mn' a.npy b.npy --time\n"
     "  loopwright einsum 'ii' a.npy                 the trace of a matrix\n",
     command_einsum},
    {"db", "WHAT [FILE...]", "inspect and maintain the tuning database",
     OPTIONS("--db", "--all", "--keep", "--days", "--bad", "-o", "--def", "--size", "--schedule",
             "--threads", "--isa", "--pin", READING),
     "list              list the tuned kernels, one per line\n"
     "show [KERNEL]     print programs and schedules, in canonical names\n"
     "put FILE          store a hand-written schedule after checking and timing it\n"
     "export [-o FILE]  write JSON lines, the portable form; --all includes every trial\n"
     "import FILE...    read JSON lines; entries that do not apply are refused\n"
     "merge DB...       copy the entries of other databases\n"
     "prune             delete entries: --keep N, --days N, --all (trials), --bad\n"
     "verify            read the whole file; parse, lower and verify every schedule\n"
     "\n"
     "run, show, compile and einsum use tuned schedules unless --schedule is given.\n"
     "\n"
     "  loopwright db list\n"
     "  loopwright db put mm.tc --size M=64,N=64,K=64 --schedule mm.lws\n"
     "  loopwright db export -o tuned.jsonl && loopwright db import tuned.jsonl --db other.db\n",
     command_db},
    {"passes", "FILE", "print the loops that the passes of a machine description make",
     OPTIONS("--machine", "--until", "--explain", "--each", "--stage", "--cost", "--html", "-o",
             "--def", "--size", READING),
     "Runs Stripe's passes over the loops of a function, as a machine description lists them,\n"
     "and prints the result. --explain prints what each pass did to which block and why;\n"
     "--each the loops after every pass that changed them; --stage stripe prints Stripe text,\n"
     "which parses back, --stage schedule the Schedule that makes the same loops, where one\n"
     "exists. `run --machine M` runs the result. See docs/passes.md.\n"
     "\n"
     "  loopwright passes mm.tc --size M=64,N=64,K=64 --machine avx512 --explain\n"
     "  loopwright passes mm.tc --size M=64,N=64,K=64 --machine my.lwm --until tile\n"
     "  loopwright passes conv.stripe --machine accelerator --html -o conv.html\n",
     command_passes},
    {"simulate", "FILE", "simulate the loops on a machine that exists as a description",
     OPTIONS("--machine", "--until", "--timeline", "--check", "--seed", "--def", "--size", READING),
     "Runs the passes of a machine description, checks that every access lies in the memory\n"
     "unit it names and that every unit holds its buffers, and prints cycles, transfers and\n"
     "the use of each unit. Counts without executing. --check also executes the loops on\n"
     "random data, and compares the tasks with those counted and the results with the\n"
     "interpreter's. See docs/simulator.md.\n"
     "\n"
     "  loopwright simulate mm.tc --size M=256,N=256,K=256 --machine accelerator\n"
     "  loopwright simulate mm.tc --size M=64,N=64,K=64 --machine my.lwm --timeline mm.svg\n",
     command_simulate},
    {"machine", "[MACHINE]", "measure and print this machine's peak rates, or a description",
     OPTIONS("--device", "--remeasure", "--describe", "--trace"),
     "Measures the peak rate of fused multiply-adds for each instruction set and the\n"
     "bandwidth of each memory level for loads, stores and copies, with one core and with all\n"
     "cores. Takes about two seconds with all cores busy; the result is cached in\n"
     "$XDG_CACHE_HOME/loopwright (or ~/.cache/loopwright). `run --time` compares with it.\n"
     "\n"
     "With --device it measures a GPU: multiply-adds, shared memory, L2, memory and launches.\n"
     "--describe prints a machine description for passes instead (docs/machines.md): this\n"
     "machine's, or a shipped one or a file with everything that it includes.\n"
     "\n"
     "  loopwright machine\n"
     "  loopwright machine --remeasure --json\n"
     "  loopwright machine --describe avx512\n"
     "  loopwright machine --device cuda:0\n",
     command_machine},
    {"bench", "[SUITE...|FILE]", "compare programs with the machine and with other libraries",
     OPTIONS("--quick", "--only", "--peers", "--peers-dir", "--csv", "--markdown", "--history",
             "--agree", "--size", "--def", "--schedule", "--machine", "--isa", "--db", "--strict",
             "--lang"),
     "Suites: gemm, conv, memory, tc, loopstack, teml, compile, front; all of them by default.\n"
     "A file is compared with gcc and clang at -O3 and with a library call where one computes\n"
     "the same result. Peers are programs in --peers-dir; missing peers are omitted. Our\n"
     "kernel and its peers alternate on one core, in passes distributed over the run. Ratios\n"
     "are medians over passes with 95 % confidence intervals; a peer with a wrong result does\n"
     "not count. With --machine our loops are those that the passes of a machine description\n"
     "make, and the chosen loops are a peer. See bench/README.md.\n"
     "\n"
     "  loopwright bench --quick                     every suite in under a minute\n"
     "  loopwright bench gemm conv                   two suites at full length\n"
     "  loopwright bench gemm --only square,31 --peers openblas\n"
     "  loopwright bench mine.tc --size M=300,N=200  a program of your own\n"
     "  loopwright bench --markdown > performance.md\n"
     "  loopwright bench --agree                     compare the last two runs\n",
     command_bench},
    {"report", "[LOG...]", "write a page of charts from measurements", OPTIONS("--from", "-o"),
     "Writes one self-contained HTML file: ratios to the best peer and fractions of peak by\n"
     "suite, compile times, a roofline, sortable tables; and, from logs of `tune`, the\n"
     "progress of each search.\n"
     "\n"
     "  loopwright report -o report.html\n"
     "  loopwright report --from bench.jsonl matmul.jsonl -o report.html\n",
     command_report},
    {"explain", "FILE", "write a page about one program: decisions, loops, code, bottlenecks",
     OPTIONS("--def", "--size", "--schedule", "--threads", "--isa", "--device", "--db", "-o",
             READING),
     "Writes one self-contained HTML file: the Program; every decision with the lower bound of\n"
     "its alternatives; the loop nest with the footprint of each loop against the caches; the\n"
     "machine code next to it in the same colours; its instruction counts; the roofline; and\n"
     "the certificate: measured time, lower bound and gap. Uses one thread unless --threads is\n"
     "given. With --device the page is about the kernels of a GPU: threads, registers, shared\n"
     "memory, occupancy and waves, PTX next to the loops; `emulate` describes an H200.\n"
     "\n"
     "  loopwright explain matmul.tc --size M=256,N=256,K=256 -o matmul.html\n"
     "  loopwright explain matmul.tc --size M=256,N=256,K=256 --schedule mine.lws -o mine.html\n"
     "  loopwright explain matmul.tc --size M=256,N=256,K=256 --device emulate -o gpu.html\n",
     command_explain},
    {"demo", "", "take four programs from text to near peak speed in under a minute",
     OPTIONS("--only", "--isa"),
     "Compiles a matrix product, a convolution with bias and ReLU, a softmax and an attention\n"
     "block, checks each against the reference interpreter, times it, tunes it for a second,\n"
     "then checks and times it again. Ends with a table: times, the time of gcc on the loops\n"
     "as written, the lower bound, the gap to it, and the fraction of peak. --only\n"
     "matmul,conv,softmax,attention selects some of them.\n"
     "\n"
     "  loopwright demo\n",
     command_demo},
    {0},
};

// --- Ending --------------------------------------------------------------------------------------

void *cli_alloc(size_t size) {
    void *p = calloc(1, size ? size : 1);
    if (p) return p;
    fputs("loopwright: out of memory\n", stderr);
    exit(EXIT_FAILED);
}

static char *format_text(const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = cli_alloc((size_t)(len < 0 ? 0 : len) + 1);
    vsnprintf(text, (size_t)(len < 0 ? 0 : len) + 1, format, args);
    return text;
}

char *cli_printf(const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = format_text(format, args);
    va_end(args);
    return text;
}

const char *cli_time(char out[32], double us) {
    if (us < 1)
        snprintf(out, 32, "%.3f us", us);
    else if (us < 1e3)
        snprintf(out, 32, "%.1f us", us);
    else if (us < 1e6)
        snprintf(out, 32, "%.2f ms", us / 1e3);
    else
        snprintf(out, 32, "%.3f s", us / 1e6);
    return out;
}

// The usage line of the command; to be freed.
static char *usage(const Cli *cli) {
    const Command *c = cli->command;
    return c ? cli_printf("usage: loopwright %s%s%s [options]; --help explains them", c->name,
                          *c->args ? " " : "", c->args)
             : cli_printf("`loopwright --help` lists the commands");
}

static int say(Cli *cli, int status, const char *format, va_list args) {
    if (cli->rank > 0) return status;
    char *text = format_text(format, args), *line = usage(cli);
    if (cli->json)
        cli->error = cli->error ? cli->error : cli_printf("%s", text);
    else if (status == EXIT_FAILED)
        fprintf(stderr, "error: %s\n", text);
    else
        fprintf(stderr, "loopwright%s%s: %s\n%s\n", cli->command ? " " : "",
                cli->command ? cli->command->name : "", text, line);
    free(line);
    free(text);
    return status;
}

int cli_misuse(Cli *cli, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int status = say(cli, EXIT_MISUSED, format, args);
    va_end(args);
    return status;
}

int cli_fail(Cli *cli, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int status = say(cli, EXIT_FAILED, format, args);
    va_end(args);
    return status;
}

// All that the arguments take, before any of it is filled.
int cli_check_memory(Cli *cli, const lw_bound *b, size_t n) {
    double bytes = 0, most = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < n; i++) {
        const DLTensor *t = lw_bound_tensor(b, i);
        double one = t->dtype.bits / 8.0;
        for (int d = 0; d < t->ndim; d++) one *= (double)t->shape[d];
        bytes += one;
    }
    if (most <= 0 || bytes <= most) return EXIT_OK;
    static const char *const unit[] = {"GB", "TB", "PB", "EB"};
    double need = bytes * 1e-9;
    int u = 0;
    for (; u < 3 && need >= 1000; u++) need *= 1e-3;
    return cli_fail(cli, "the arguments need %.3g %s, and this machine has %.3g GB of memory", need,
                    unit[u], most * 1e-9);
}

static void json_diag(Json *j, const lw_diag *d) {
    static const char *const names[] = {"note", "warning", "error"};
    json_open(j, NULL, '{');
    json_str(j, "severity", names[d->severity]);
    if (d->file) {
        json_str(j, "file", d->file);
        json_int(j, "line", d->line);
        json_int(j, "column", d->column);
        json_int(j, "end_line", d->end_line);
        json_int(j, "end_column", d->end_column);
    }
    json_str(j, "text", d->text);
    json_open(j, "notes", '[');
    for (size_t i = 0; i < d->note_count; i++) json_diag(j, d->notes[i]);
    json_close(j, ']');
    json_close(j, '}');
}

// Out of memory and misuse have a text but no diagnostic.
static char *first_error(Cli *cli, lw_status status) {
    static const char head[] = "error: ";
    const char *text = lw_diag_text(cli->ctx);
    const lw_diag *d;
    for (size_t i = 0; (d = lw_diag_get(cli->ctx, i)); i++)
        if (d->severity == LW_SEVERITY_ERROR) return cli_printf("%s", d->text);
    if (strncmp(text, head, strlen(head))) return cli_printf("%s", lw_status_name(status));
    text += strlen(head);
    return cli_printf("%.*s", (int)strcspn(text, "\n"), text);
}

int cli_report(Cli *cli, lw_status status) {
    const char *text = lw_diag_text(cli->ctx);
    if (cli->rank > 0 || cli->silent) return status ? EXIT_FAILED : EXIT_OK;
    if (cli->json)
        for (size_t i = 0; i < lw_diag_count(cli->ctx); i++)
            json_diag(&cli->diags, lw_diag_get(cli->ctx, i));
    else if (*text) {
        fflush(stdout);
        fputs(text, stderr);
    }
    char *error = first_error(cli, status);
    if (status && (cli->json || !*text)) cli_fail(cli, "%s", error);
    free(error);
    return status ? EXIT_FAILED : EXIT_OK;
}

// --- What several commands do --------------------------------------------------------------------

// If one function is selected, errors in the others are ignored.
static int opened(Cli *cli, lw_status status, lw_module **mod) {
    bool right = status == LW_ERROR && cli->def && *mod && lw_module_find(*mod, cli->def);
    if (!right) {
        int failed = cli_report(cli, status);
        if (failed && cli->command->run != command_check) lw_module_free(*mod), *mod = NULL;
        return failed;
    }
    if (!cli->json)
        fprintf(stderr, "note: other functions of '%s' have errors: loopwright check shows them\n",
                cli->words[0]);
    return EXIT_OK;
}

// A text on standard input is TC unless --lang says otherwise.
static int open_stdin(Cli *cli, lw_parse_options *o, lw_module **mod) {
    size_t len = 0, room = 1 << 16, got;
    char *text = cli_alloc(room);
    while (len <= LW_MAX_SOURCE && (got = fread(text + len, 1, room - len, stdin)) > 0) {
        len += got;
        if (len < room) continue;
        char *more = cli_alloc(2 * room);
        memcpy(more, text, len);
        free(text);
        text = more;
        room *= 2;
    }
    if (!cli->lang) o->language = LW_LANG_TC;
    int status = ferror(stdin) ? cli_fail(cli, "cannot read standard input: %s", strerror(errno))
                               : opened(cli, lw_parse(cli->ctx, "<stdin>", text, len, o, mod), mod);
    free(text);
    return status;
}

static int read_sizes(Cli *cli, const Pairs *given, const lw_function *f, lw_size *out);

bool cli_is_teml(const Cli *cli) {
    const char *dot = strrchr(cli->words[0], '.');
    return cli->lang ? strcmp(cli->lang, "teml") == 0 : dot && strcmp(dot, ".teml") == 0;
}

// The sizes of a TeML program are parameters of its text, so they are needed to read it.
static int take_params(Cli *cli, lw_parse_options *o, lw_size **memory) {
    if (cli_is_teml(cli) && cli->sizes.n) {
        cli->params = cli->sizes;
        cli->sizes = (Pairs){0};
    }
    *memory = cli_alloc((cli->params.n + 1) * sizeof **memory);
    for (size_t i = 0; i < cli->params.n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(cli->params.at[i].name, cli->params.at[k].name) == 0 && !cli->silent)
                return cli_misuse(cli, "--size: '%s' is given twice", cli->params.at[i].name);
    o->parameters = *memory;
    o->parameter_count = cli->params.n;
    return read_sizes(cli, &cli->params, NULL, *memory);
}

int cli_open(Cli *cli, lw_module **mod) {
    lw_parse_options o = {
        .struct_size = sizeof o, .strict = cli->strict, .unchecked = cli->unchecked};
    o.unproven = cli->unproven;
    o.as_written = cli->as_written;
    o.no_path = cli->no_path;
    o.unchecked_index = cli->unchecked_index;
    o.partial = cli->command->run == command_check || cli->def;
    *mod = NULL;
    if (cli->nwords == 0) return cli_misuse(cli, "which file?");
    if (cli->nwords > 1 && cli->sizes.n && strchr(cli->words[1], '='))
        return cli_misuse(cli, "'%s' is no file; sizes are joined by commas: --size %s=%s,%s",
                          cli->words[1], cli->sizes.at[0].name, cli->sizes.at[0].value,
                          cli->words[1]);
    if (cli->nwords > 1)
        return cli_misuse(cli, "one file at a time, not '%s' as well", cli->words[1]);
    o.language = (lw_language)(1 + cli_word(lang_words, cli->lang));
    if (!cli->named)
        json_str(&cli->object, "file", cli->words[0]); // once, even if it is read several times
    cli->named = true;
    lw_size *params;
    int status = take_params(cli, &o, &params);
    if (!status && strcmp(cli->words[0], "-") == 0)
        status = open_stdin(cli, &o, mod);
    else if (!status)
        status = opened(cli, lw_parse_file(cli->ctx, cli->words[0], &o, mod), mod);
    free(params);
    return status;
}

static char *function_names(const lw_module *mod) {
    char *text = cli_printf("%s", "");
    for (size_t i = 0; i < lw_module_function_count(mod); i++) {
        const char *name = lw_function_name(lw_module_function(mod, i));
        char *longer = cli_printf("%s%s%s", text, i ? ", " : "", name);
        free(text);
        text = longer;
    }
    return text;
}

static void no_such_function(Cli *cli, const lw_module *mod) {
    size_t n = lw_module_function_count(mod);
    const char **names = cli_alloc((n + 1) * sizeof *names);
    for (size_t i = 0; i < n; i++) names[i] = lw_function_name(lw_module_function(mod, i));
    const char *near = lw_nearest(cli->def, names, n);
    char *all = function_names(mod);
    if (near)
        cli_fail(cli, "no function '%s' in '%s'; did you mean '%s'?", cli->def, cli->words[0],
                 near);
    else
        cli_fail(cli, "no function '%s' in '%s'; it has %s", cli->def, cli->words[0],
                 n ? all : "none");
    free(all);
    free(names);
}

const lw_function *cli_function(Cli *cli, const lw_module *mod) {
    const lw_function *f = NULL;
    size_t n = lw_module_function_count(mod);
    if (cli->def) {
        f = lw_module_find(mod, cli->def);
        if (!f) no_such_function(cli, mod);
    } else if (n == 1) {
        f = lw_module_function(mod, 0);
    } else if (n == 0) {
        cli_fail(cli, "'%s' has no function", cli->words[0]);
    } else {
        char *names = function_names(mod);
        cli_fail(cli, "'%s' has several functions: %s; choose one by --def NAME", cli->words[0],
                 names);
        free(names);
    }
    return f;
}

static bool whole_number(const char *text, int64_t *value) {
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return !errno && end != text && !*end;
}

// --mapping is a Schedule text of one line.
static int mapping_text(Cli *cli, lw_schedule_text *out, char **memory) {
    size_t size = strlen(cli->mapping) + 16;
    const char *other = cli->schedule ? "--schedule" : "--machine";
    if (cli->schedule || cli->machine)
        return cli_misuse(cli, "--mapping and %s both make the loops: give one of them", other);
    *memory = cli_alloc(size);
    snprintf(*memory, size, "mapping %s\n", cli->mapping);
    *out = (lw_schedule_text){*memory, "--mapping"};
    return EXIT_OK;
}

int cli_schedule(Cli *cli, lw_schedule_text *out, char **memory) {
    if (cli->mapping) return mapping_text(cli, out, memory);
    if (cli->machine && cli->schedule)
        return cli_misuse(cli, "--schedule and --machine both make the loops: give one of them");
    if (cli->machine) {
        const char *text;
        int status = cli_report(cli, lw_machine_describe(cli->ctx, cli->machine, &text));
        if (status) return status;
        *memory = cli_printf("%s", text);
        *out = (lw_schedule_text){*memory, cli->machine};
        return EXIT_OK;
    }
    if (!cli->schedule) return EXIT_OK;
    if (strcmp(cli->schedule, "naive") == 0) {
        *out = (lw_schedule_text){"", cli->schedule};
        return EXIT_OK;
    }
    FILE *f = fopen(cli->schedule, "rb");
    const char *near = f ? NULL : lw_nearest(cli->schedule, (const char *const[]){"naive"}, 1);
    if (near)
        return cli_fail(cli, "cannot open '%s': %s; did you mean '%s'?", cli->schedule,
                        strerror(errno), near);
    if (!f) return cli_fail(cli, "cannot open '%s': %s", cli->schedule, strerror(errno));
    *memory = cli_alloc(LW_MAX_SOURCE + 1);
    size_t n = fread(*memory, 1, LW_MAX_SOURCE, f);
    int why = ferror(f) ? errno : 0;
    bool bad = !feof(f) || memchr(*memory, 0, n);
    fclose(f);
    if (why) return cli_fail(cli, "cannot read '%s': %s", cli->schedule, strerror(why));
    if (bad) return cli_fail(cli, "'%s' is not a text of at most 16 MiB", cli->schedule);
    (*memory)[n] = 0;
    *out = (lw_schedule_text){*memory, cli->schedule};
    return EXIT_OK;
}

// An integer that is not a parameter: 'int() pos'.
static bool is_run_time_scalar(const lw_function *f, const char *name) {
    int t = lw_function_find_param(f, name) < 0 ? lw_function_find_tensor(f, name) : -1;
    return t >= 0 && (size_t)t < lw_function_input_count(f) &&
           lw_function_tensor(f, (size_t)t)->ndim == 0;
}

static int read_sizes(Cli *cli, const Pairs *given, const lw_function *f, lw_size *out) {
    for (size_t i = 0; i < given->n; i++) {
        const Pair *size = &given->at[i];
        out[i].name = size->name;
        if (f && is_run_time_scalar(f, size->name))
            return cli_misuse(cli, "--size %s: '%s' is read at run time; give it with --arg %s=%s",
                              size->name, size->name, size->name, size->value);
        if (!whole_number(size->value, &out[i].value))
            return cli_misuse(cli, "--size %s=%s: not a whole number of 64 bits", size->name,
                              size->value);
    }
    return EXIT_OK;
}

int cli_sizes(Cli *cli, const lw_function *f, lw_size **sizes, size_t *count) {
    lw_size *all = cli_alloc((cli->sizes.n + cli->arg.n + cli->in.n + 1) * sizeof *all);
    size_t n = cli->sizes.n;
    *sizes = all;
    int status = read_sizes(cli, &cli->sizes, f, all);
    if (status) return status;
    for (size_t i = 0; f && i < cli->arg.n; i++) {
        if (lw_function_find_param(f, cli->arg.at[i].name) < 0) continue;
        all[n].name = cli->arg.at[i].name;
        if (!whole_number(cli->arg.at[i].value, &all[n++].value))
            return cli_misuse(cli, "--arg %s=%s: '%s' is an integer", cli->arg.at[i].name,
                              cli->arg.at[i].value, cli->arg.at[i].name);
    }
    *count = n;
    return EXIT_OK;
}

int cli_bind(Cli *cli, const lw_function *f, lw_bound **out) {
    lw_size *sizes = NULL;
    size_t n = 0;
    int status = cli_sizes(cli, f, &sizes, &n);
    if (!status) status = cli_report(cli, lw_bind(cli->ctx, f, sizes, n, out));
    free(sizes);
    return status;
}

const char *cli_dtype_name(DLDataType t) {
    static const char *const ints[] = {"i8", "i16", "i32", "i64"};
    static const char *const uints[] = {"u8", "u16", "u32", "u64"};
    static const char *const floats[] = {"", "f16", "f32", "f64"};
    int log = t.bits == 8 ? 0 : t.bits == 16 ? 1 : t.bits == 32 ? 2 : 3;
    switch (t.code) {
    case kDLInt: return ints[log];
    case kDLUInt: return uints[log];
    case kDLFloat: return floats[log];
    case kDLBfloat: return "bf16";
    default: return "bool";
    }
}

bool cli_tuned(const char *origin) {
    return origin &&
           (!strcmp(origin, "tuned") || !strcmp(origin, "nearest") || !strcmp(origin, "hand"));
}

char *cli_values_text(const lw_bound *b) {
    const lw_function *f = lw_bound_function(b);
    char *text = cli_printf("%s", lw_function_param_count(f) ? "" : "no sizes");
    for (size_t i = 0; i < lw_function_param_count(f); i++) {
        char *longer = cli_printf("%s%s%s = %lld", text, i ? ", " : "",
                                  lw_function_param(f, i)->name, (long long)lw_bound_value(b, i));
        free(text);
        text = longer;
    }
    return text;
}

char *cli_tensor_text(const lw_bound *b, size_t i) {
    const DLTensor *t = lw_bound_tensor(b, i);
    const int64_t *origin = lw_bound_origin(b, i);
    char *text = cli_printf("%s%s", cli_dtype_name(t->dtype), t->ndim ? "(" : "");
    for (int d = 0; d < t->ndim; d++) {
        char *longer = origin[d]
                           ? cli_printf("%s%s%lld:%lld", text, d ? ", " : "", (long long)origin[d],
                                        (long long)(origin[d] + t->shape[d]))
                           : cli_printf("%s%s%lld", text, d ? ", " : "", (long long)t->shape[d]);
        free(text);
        text = longer;
    }
    char *whole = cli_printf("%s%s %s", text, t->ndim ? ")" : "",
                             lw_function_tensor(lw_bound_function(b), i)->name);
    free(text);
    return whole;
}

void json_dims(Json *j, const char *key, int32_t n, const int64_t *at) {
    json_open(j, key, '[');
    for (int d = 0; d < n; d++) json_int(j, NULL, at[d]);
    json_close(j, ']');
}

void json_values(Json *j, const lw_bound *b) {
    const lw_function *f = lw_bound_function(b);
    json_open(j, "sizes", '{');
    for (size_t i = 0; i < lw_function_param_count(f); i++)
        json_int(j, lw_function_param(f, i)->name, lw_bound_value(b, i));
    json_close(j, '}');
}

void json_tensor(Json *j, const lw_bound *b, size_t i) {
    const lw_tensor *t = lw_function_tensor(lw_bound_function(b), i);
    const DLTensor *shape = lw_bound_tensor(b, i);
    bool shifted = false;
    for (int d = 0; d < shape->ndim; d++) shifted = shifted || lw_bound_origin(b, i)[d];
    json_str(j, "name", t->name);
    json_dims(j, "shape", shape->ndim, shape->shape);
    json_str(j, "dtype", cli_dtype_name(shape->dtype));
    if (shifted) json_dims(j, "origin", shape->ndim, lw_bound_origin(b, i));
}

// --- Help and dispatch ---------------------------------------------------------------------------

static void help_all(FILE *to) {
    fprintf(to,
            "loopwright %s: a tensor compiler\n"
            "\n"
            "usage: loopwright COMMAND FILE [options]\n\n",
            lw_version());
    for (const Command *c = commands; c->name; c++) fprintf(to, "  %-8s %s\n", c->name, c->summary);
    fputs("\n"
          "`loopwright COMMAND --help` explains a command with examples. A first program, mv.tc:\n"
          "\n"
          "  def mv(float(M,K) A, float(K) x) -> (C) {\n"
          "      C(m) +=! A(m,k) * x(k)\n"
          "  }\n"
          "\n"
          "  loopwright check mv.tc                      what are the ranges and types?\n"
          "  loopwright run mv.tc --size M=4,K=3         compute it on random data\n"
          "\n"
          "The extension of a file selects its language: .tc (tensor comprehensions),\n"
          ".teml (TeML), .lwp (Program text), .lwg (dataflow graph), .stripe (Stripe).\n"
          "Exit status: 0 success, 1 an error in the input, 2 an error in the command line.\n",
          to);
}

static void help_one(FILE *to, const Command *c) {
    fprintf(to, "usage: loopwright %s%s%s [options]\n\n%s: %s.\n\n%s\noptions:\n", c->name,
            *c->args ? " " : "", c->args, c->name, c->summary, c->help);
    cli_help_options(to, c);
}

static const Command *find_command(Cli *cli, const char *name) {
    const char *names[32] = {0};
    size_t n = 0;
    for (const Command *c = commands; c->name; c++) {
        if (strcmp(c->name, name) == 0) return c;
        if (n < 31) names[n++] = c->name;
    }
    const char *near = lw_nearest(name, names, n);
    if (near)
        cli_misuse(cli, "unknown command '%s'; did you mean '%s'?", name, near);
    else
        cli_misuse(cli, "unknown command '%s'", name);
    return NULL;
}

static void trace(void *user, const char *step, double microseconds) {
    (void)user;
    fprintf(stderr, "trace: %-8s %10.1f us\n", step, microseconds);
}

static void dump(void *user, const char *step, const char *text) {
    (void)user;
    fprintf(stderr, "# %s\n%s", step, text);
}

static bool same_file(const char *a, const char *b) {
    struct stat x, y;
    return a && b && stat(a, &x) == 0 && stat(b, &y) == 0 && S_ISREG(x.st_mode) &&
           x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

// Refuses to overwrite an input file.
static int keep_inputs(Cli *cli) {
    const char *in[] = {cli->schedule, cli->from, cli->db ? cli->db : getenv("LW_DB")};
    const char *out[] = {cli->output, cli->log, cli->plot};
    const char *const name[] = {"-o", "--log", "--plot"};
    for (int o = 0; o < 3; o++) {
        bool same = false;
        for (int i = 0; i < 3; i++) same |= same_file(out[o], in[i]);
        for (size_t i = 0; i < cli->nwords; i++) same |= same_file(out[o], cli->words[i]);
        if (same)
            return cli_misuse(cli, "%s would write over '%s', which is read", name[o], out[o]);
    }
    return EXIT_OK;
}

static int run_command(Cli *cli, int argc, char **argv) {
    json_str(&cli->object, "command", cli->command->name);
    if (cli->command->run == command_tune && !tune_rank(cli))
        return cli_fail(cli, "there is no /dev/null");
    int status = cli_read(cli, argc, argv);
    if (status) return status;
    if (cli->help) {
        help_one(stdout, cli->command);
        cli->json = false;
        return EXIT_OK;
    }
    lw_context_options o = {
        .struct_size = sizeof o, .trace = cli->trace ? trace : NULL, .dump = dump};
    o.database = cli->db;
    cli->ctx = lw_context_new(&o);
    if (!cli->ctx) return cli_fail(cli, "out of memory");
    status = keep_inputs(cli);
    if (!status) status = cli->command->run(cli);
    lw_context_free(cli->ctx);
    return status;
}

static void free_pairs(Pairs *pairs) {
    for (size_t i = 0; i < pairs->n; i++) {
        free(pairs->at[i].name);
        free(pairs->at[i].value);
    }
    free(pairs->at);
}

static void free_cli(Cli *cli) {
    free_pairs(&cli->sizes);
    free_pairs(&cli->params);
    free_pairs(&cli->in);
    free_pairs(&cli->out);
    free_pairs(&cli->arg);
    free(cli->words);
    free(cli->object.text);
    free(cli->diags.text);
    free((char *)cli->error);
}

// A failure to write results is a failure of the command.
static int finish(int status) {
    bool lost = ferror(stdout) != 0; // includes errors of earlier flushes
    if ((fflush(stdout) == 0 && !lost) || status != EXIT_OK) return status;
    fprintf(stderr, "loopwright: cannot write: %s\n", strerror(errno));
    return EXIT_FAILED;
}

static int help(Cli *cli, const char *name) {
    const Command *c = name ? find_command(cli, name) : NULL;
    if (name && !c) return EXIT_MISUSED;
    if (c)
        help_one(stdout, c);
    else
        help_all(stdout);
    return finish(EXIT_OK);
}

int main(int argc, char **argv) {
    Cli cli = {0};
    if (argc < 2) {
        help_all(stderr);
        return EXIT_MISUSED;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0)
        return help(&cli, argc > 2 ? argv[2] : NULL);
    if (strcmp(argv[1], "--version") == 0) {
        printf("loopwright %s\n", lw_version());
        return finish(EXIT_OK);
    }
    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--json") == 0) cli.json = true;
    json_open(&cli.object, NULL, '{');
    cli.self = strchr(argv[0], '/') ? argv[0] : "loopwright";
    cli.command = find_command(&cli, argv[1]);
    int status = cli.command ? run_command(&cli, argc - 2, argv + 2) : EXIT_MISUSED;
    if (cli.error) json_str(&cli.object, "error", cli.error);
    char *hint = status == EXIT_MISUSED ? usage(&cli) : NULL;
    if (hint) json_str(&cli.object, "hint", hint);
    free(hint);
    json_array(&cli.object, "diagnostics", &cli.diags);
    json_bool(&cli.object, "ok", status == EXIT_OK);
    json_close(&cli.object, '}');
    if (cli.json) puts(cli.object.text);
    status = finish(status);
    free_cli(&cli);
    return status;
}
