// The command `loopwright`: declarations shared by its parts. It includes only loopwright.h from
// the library.
//
//   commands.c  the table of commands, with their help
//   main.c      help, dispatch, functions shared by commands
//   options.c   the table of options, parsing the command line
//   cmd_*.c     the commands; `bench` is in bench/command
//   run_report.c cmd_explain.c web.c   HTML pages, from the pieces in web/
//   output.c    output files
//   data.c      arguments in memory: from text, random; their summaries
//   given.c     arguments from the command line
//   npy.c       .npy files
//   json.c      one JSON object on standard output
//   json_read.c reads lines of JSON
//
// Exit status: 0 success, 1 a diagnosed failure, 2 misuse of the command line. Results go to
// standard output, everything else to standard error; under --json standard output holds one object
// and nothing else.
#ifndef CLI_H
#define CLI_H

#include "loopwright.h"

#include <stdio.h>

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_MISUSED = 2 };

typedef struct Pair {
    char *name, *value;
} Pair;

typedef struct Pairs {
    Pair *at;
    size_t n;
} Pairs;

// A JSON object being written.
typedef struct Json {
    char *text;
    size_t len, cap;
    bool comma; // the next member needs a comma
} Json;

typedef struct Command Command;

// One run of the command: the parsed command line and its state.
typedef struct Cli {
    const Command *command;
    const char *self; // argv[0]: "loopwright", "build/loopwright"
    lw_context *ctx;
    const char **words; // arguments that are not options
    size_t nwords;
    // Values of options; see the table in options.c.
    Pairs sizes, in, out, arg;
    Pairs params; // of a TeML program: what --size gave
    bool silent;  // cli_report shows nothing
    const char *def, *stage, *lang, *backend, *schedule, *emit, *output, *isa, *target, *set,
        *mapping;
    const char *name, *script, *device;
    const char *machine, *until, *timeline;
    const char *only, *peers, *peers_dir, *history, *from;
    const char *strategy, *order, *log, *plot, *db;
    uint64_t seed, threads, samples, trials, repeat, keep;
    double seconds, gap, days;
    long rank; // among the processes of mpirun; the first prints for all of them
    bool json, named, strict, unchecked, unproven, unchecked_index, as_written, no_path, time,
        trace, help, cost, remeasure, agree;
    bool explain, explain_bound, complete, quick, csv, markdown, quiet, cold, again, all, bad, pin,
        check, describe, each, html;
    Json object, diags; // the object of --json, and the elements of its "diagnostics"
    const char *error;  // the reason of a failure for --json, as a sentence
} Cli;

struct Command {
    const char *name, *args, *summary;
    const char *const *options; // names, terminated by NULL; all commands take --json and --help
    const char *help;           // description, then examples
    int (*run)(Cli *cli);
};

extern const Command commands[]; // terminated by a NULL name

int command_check(Cli *cli);
int command_show(Cli *cli);
int command_space(Cli *cli);
int command_edit(Cli *cli);
int command_run(Cli *cli);
int command_compile(Cli *cli);
int command_tune(Cli *cli);
bool tune_rank(Cli *cli); // finds `rank`, and silences all ranks except the first; false: failure
int command_einsum(Cli *cli);
int command_teml(Cli *cli);
int command_machine(Cli *cli);
int command_passes(Cli *cli);
int command_simulate(Cli *cli);
int command_db(Cli *cli);
int command_bench(Cli *cli);
int command_report(Cli *cli);
int command_explain(Cli *cli);
int command_demo(Cli *cli);

// --- Reading the command line, options.c ---------------------------------------------------------

// EXIT_OK, or EXIT_MISUSED after printing the reason.
int cli_read(Cli *cli, int argc, char **argv);
// The values of --lang, --stage, --emit and --backend, terminated by NULL, in the order of the
// API's enumerators; and the position of a word among them, -1 for NULL.
extern const char *const lang_words[], *const stage_words[];
extern const char *const emit_words[], *const backend_words[];
int cli_word(const char *const *words, const char *text);
// Refuses options without effect: EXIT_MISUSED if one of the options in `names`, such as "--time
// --isa", is given; prints that it has no effect and why ("with --backend interp").
int cli_idle(Cli *cli, const char *names, const char *why);
void cli_help_options(FILE *to, const Command *command);

// --- Ending --------------------------------------------------------------------------------------
// Reports an error in the command line, under --json in the object. Returns EXIT_MISUSED.
int cli_misuse(Cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
// The same for a failure of the command. Returns EXIT_FAILED.
int cli_fail(Cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Prints the diagnostics of the last call, including warnings, or puts them in the object. Returns
// EXIT_FAILED unless status is LW_OK.
int cli_report(Cli *cli, lw_status status);
char *cli_history_path(void); // default history of bench and report; to be freed;
                              // NULL: there is no home folder
void *cli_alloc(size_t size); // zeroed; exits if there is no memory
char *cli_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *cli_time(char out[32], double us); // "12.3 us", "4.56 ms", "1.234 s"

// --- Shared by several commands ------------------------------------------------------------------

bool cli_is_teml(const Cli *cli); // words[0]
// Opens words[0] and reports.
int cli_open(Cli *cli, lw_module **mod);
// The function of --def, or the only one; NULL after an error message.
const lw_function *cli_function(Cli *cli, const lw_module *mod);
// Reads the file of --schedule, or the description of --machine; the caller frees *memory.
int cli_schedule(Cli *cli, lw_schedule_text *out, char **memory);
// Reads --size, and integer --arg that name scalars of f (NULL: all of --size). The caller frees.
int cli_sizes(Cli *cli, const lw_function *f, lw_size **sizes, size_t *count);
// Binds f to those sizes, and reports.
int cli_bind(Cli *cli, const lw_function *f, lw_bound **out);
// "M = 4, K = 3"; "no sizes" when there are none.
char *cli_values_text(const lw_bound *b);
// "f32(4, 3) C" with numbers; a dimension that does not start at 0 as first:end.
char *cli_tensor_text(const lw_bound *b, size_t i);
const char *cli_dtype_name(DLDataType dtype);
// Whether a schedule of this origin (lw_timing.schedule) is from the tuning database.
bool cli_tuned(const char *origin);
void json_dims(Json *j, const char *key, int32_t n, const int64_t *at);
void json_values(Json *j, const lw_bound *b); // "sizes": {...}
void json_tensor(Json *j, const lw_bound *b,
                 size_t i); // name, role, dtype, shape, origin: members only

// --- Arguments in memory, data.c -----------------------------------------------------------------
typedef struct Array {
    DLTensor t; // shape and strides are allocated
    void *memory;
    void *block; // the allocation that contains it
    int64_t *dims;
} Array;

int64_t data_elements(const DLTensor *t);
// Fails where this machine has not the memory for the first n arguments.
int cli_check_memory(Cli *cli, const lw_bound *b, size_t n);
// Compact, zeroed, shaped like `like`. False when it is too large.
// `number` is that of the argument: each starts at a different offset in its page, so that they do
// not alias.
bool data_new(Array *a, const DLTensor *like, size_t number);
void data_free(Array *a);
void data_random(Array *a, uint64_t seed, const char *name, bool index, int64_t lo, int64_t hi);
// Stores a number such as "2.5" in a rank-0 array; false if it is not a value of its type.
bool data_number(Array *a, const char *text);
bool data_integer(const Array *a, int64_t *value); // of a rank-0 integer array
uint64_t data_checksum(const DLTensor *t);
// The first values: "[0.5, 1, ...]".
char *data_values(const DLTensor *t, int count);
void json_data(Json *j, const DLTensor *t, int count); // "checksum", "values"

// --- Arguments of the command line, given.c ------------------------------------------------------
typedef struct Given {
    Cli *cli;
    const lw_function *f;
    size_t n;          // arguments of f: inputs and outputs
    Array *args;       // memory NULL: absent
    const char **from; // the origin of an argument; NULL: it is not given
    lw_size *sizes;    // from --size, in that order, then integers from --arg and --in
    size_t nsizes;
} Given;

int given_read(Given *g, Cli *cli, const lw_function *f);   // --size, --in, --arg; reports errors
void given_begin(Given *g, Cli *cli, const lw_function *f); // without any of them
void given_free(Given *g);
const DLTensor **given_tensors(const Given *g); // NULL for absent ones; to be freed
bool given_is_result(const Given *g, const char *name);
// Reports that f has no input or result (`what`) of the option's name.
int given_unknown(Given *g, const char *option, const char *name, const char *what);

// --- Output files, output.c ----------------------------------------------------------------------

typedef struct Output {
    FILE *file;
    const char *path;
    char *to;   // temporary file until it is complete
    bool plain; // `to` is a temporary file, not path itself
} Output;

bool output_open(Cli *cli, const char *path, Output *o); // false after an error message
int output_close(Cli *cli, Output *o);                   // EXIT_FAILED after an error message
void output_drop(Output *o);                             // instead of closing: keeps the old file
// Checks before a long computation that the file can be written. NULL: there is nothing to write.
int output_try(Cli *cli, const char *path);
int output_write(Cli *cli, const char *path, const void *bytes, size_t size); // all at once

// --- .npy files, npy.c ---------------------------------------------------------------------------

// NULL on success, otherwise an error text, to be freed. The format has no bf16: an array of uint16
// or V2 is read as bf16 if `want_bf16`, and written as uint16.
char *npy_read(const char *path, bool want_bf16, size_t number, Array *into);
char *npy_parse(const unsigned char *bytes, size_t len, bool want_bf16, size_t number, Array *into);
void npy_write(FILE *f, const DLTensor *t);

// --- JSON, json.c --------------------------------------------------------------------------------
// Members of an object when `key` is not NULL, elements of an array otherwise.
void json_open(Json *j, const char *key, char bracket); // '{' or '['
void json_close(Json *j, char bracket);
void json_str(Json *j, const char *key, const char *s); // NULL: null
void json_int(Json *j, const char *key, int64_t i);
void json_num(Json *j, const char *key, double f); // not finite: null
void json_bool(Json *j, const char *key, bool b);
void json_array(Json *j, const char *key, const Json *elements);
void json_raw(Json *j, const char *key, const char *text); // JSON text; printed as one line

// --- Reading JSON, json_read.c -------------------------------------------------------------------
// All except the first require text accepted by json_valid; NULL, or `otherwise`: absent.
bool json_valid(const char *text);
const char *json_member(const char *object, const char *key); // start of its value
const char *json_element(const char *array, int i);
double json_number(const char *object, const char *key, double otherwise);
bool json_is(const char *object, const char *key, const char *text); // a string, or a word
char *json_text(const char *object,
                const char *key); // raw text without quotes; to be freed

#endif
