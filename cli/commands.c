// The table of commands: names, arguments, options and help.
#include "cli.h"

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
