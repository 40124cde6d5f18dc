// replay.c: runs a fuzz target without libFuzzer, as a test that every compiler can build.
//
//     build/replay/fuzz_NAME SEED_OR_FOLDER...
//
// Each seed is one test: the target is run on the seed itself and on a fixed sequence of mutations
// of it (flipped, removed, repeated and foreign bytes), the same in every run. When one of them
// crashes, the number of the round is printed and the input is left in `replay-crash` in the
// current folder; `LW_REPLAY_ROUND=N` runs just that round.
#define CHECK_NO_MAIN
#include "../unit/check.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

enum { ROUNDS = 2000, SEED_LIMIT = 1024, LARGEST_INPUT = 1 << 20 };

typedef struct {
    char *path;
    uint8_t *data;
    size_t size;
} Seed;

static Seed seeds[SEED_LIMIT];
static size_t seed_count;

// What is running now, for the report of a crash.
static const uint8_t *current_data;
static size_t current_size;
static int64_t current_round;

static void report_crash(void) {
    char text[64];
    int length = snprintf(text, sizeof text, "round %" PRId64 "\n", current_round);
    FILE *file = fopen("replay-crash", "wb");
    if (file) {
        fwrite(current_data, 1, current_size, file);
        fclose(file);
    }
    if (write(STDOUT_FILENO, text, (size_t)length) < 0) _exit(1);
}

static void on_signal(int number) {
    report_crash();
    signal(number, SIG_DFL);
    raise(number);
}

static void add_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file || seed_count == SEED_LIMIT) {
        fprintf(stderr, "replay: cannot take %s\n", path);
        exit(1);
    }
    Seed *seed = &seeds[seed_count++];
    seed->path = strdup(path);
    seed->data = malloc(LARGEST_INPUT);
    seed->size = fread(seed->data, 1, LARGEST_INPUT, file);
    fclose(file);
}

static int skip_hidden(const struct dirent *entry) { return entry->d_name[0] != '.'; }

static void add_path(const char *path) {
    struct dirent **entries;
    int count = scandir(path, &entries, skip_hidden, alphasort);
    if (count < 0) {
        add_file(path);
        return;
    }
    for (int i = 0; i < count; i++) {
        char name[4096];
        snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
        add_path(name);
        free(entries[i]);
    }
    free(entries);
}

static size_t below(uint64_t *random, size_t limit) {
    return limit ? (size_t)(check_random(random) % limit) : 0;
}

// Replaces `removed` bytes at `at` by `added` bytes of `with`; the new size.
static size_t splice(uint8_t *data, size_t size, size_t at, size_t removed, const uint8_t *with,
                     size_t added) {
    if (at + removed > size || size - removed + added > LARGEST_INPUT) return size;
    memmove(data + at + added, data + at + removed, size - at - removed);
    memcpy(data + at, with, added);
    return size - removed + added;
}

static size_t mutate(uint8_t *data, size_t size, uint64_t *random) {
    static const char *const tokens[] = {"(",
                                         ")",
                                         "{",
                                         "}",
                                         ",",
                                         "+=!",
                                         "->",
                                         "where",
                                         "in",
                                         ":",
                                         ";",
                                         "\n",
                                         "0",
                                         "-1",
                                         "#",
                                         "%",
                                         "/",
                                         "...",
                                         "\"",
                                         "\\",
                                         "\xff",
                                         "\xe2\x86\x92",
                                         "9223372036854775807"};
    uint8_t piece[64];
    size_t at = below(random, size + 1), length = below(random, sizeof piece);
    switch (below(random, 5)) {
    case 0: // a byte of its own
        if (at < size) data[at] = (uint8_t)check_random(random);
        return size;
    case 1: // a piece is lost
        return splice(data, size, at, length <= size - at ? length : size - at, piece, 0);
    case 2: { // a token appears
        const char *token = tokens[below(random, sizeof tokens / sizeof *tokens)];
        return splice(data, size, at, 0, (const uint8_t *)token, strlen(token));
    }
    default: { // a piece of this or another seed appears
        const Seed *seed = &seeds[below(random, seed_count)];
        size_t from = below(random, seed->size);
        if (length > seed->size - from) length = seed->size - from;
        memcpy(piece, seed->data + from, length);
        return splice(data, size, at, 0, piece, length);
    }
    }
}

// The target sees a heap copy of just the right size, so that sanitizers catch reads past its end.
static void run_target(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size ? size : 1);
    memcpy(copy, data, size);
    current_data = copy;
    current_size = size;
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void run_round(const Seed *seed, int64_t round, uint8_t *buffer) {
    uint64_t random = (uint64_t)round;
    size_t size = seed->size;
    current_round = round;
    memcpy(buffer, seed->data, size);
    for (size_t edits = round ? 1 + below(&random, 6) : 0; edits; edits--)
        size = mutate(buffer, size, &random);
    run_target(buffer, size);
}

int main(int argc, char **argv) {
    static uint8_t buffer[LARGEST_INPUT];
    const char *only = getenv("LW_REPLAY_ROUND");
    // A sanitizer reports the first three itself, then calls back.
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    size_t first = __sanitizer_set_death_callback ? 3 : 0;
    if (first) __sanitizer_set_death_callback(report_crash);
    for (size_t i = first; i < sizeof signals / sizeof *signals; i++) signal(signals[i], on_signal);
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1; i < argc; i++) add_path(argv[i]);
    for (size_t i = 0; i < seed_count; i++) {
        printf("run %s\n", seeds[i].path);
        for (int64_t round = 0; round < check_rounds(ROUNDS); round++)
            if (!only || strtoll(only, NULL, 10) == round) run_round(&seeds[i], round, buffer);
        printf("ok %s\n", seeds[i].path);
        free(seeds[i].path);
    }
    for (size_t i = 0; i < seed_count; i++) free(seeds[i].data);
    printf("%zu passed, %d failed\n", seed_count, seed_count == 0);
    return seed_count == 0;
}
