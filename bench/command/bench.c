// loopwright bench: selection of suites, the machine, history.
#include "command/bench.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// --- Peers ---------------------------------------------------------------------------------------

static bool is_folder(const char *path) {
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

static bool has_files(const char *path) {
    DIR *folder = opendir(path);
    bool some = false;
    for (const struct dirent *e; folder && !some && (e = readdir(folder)) != NULL;)
        some = e->d_name[0] != '.';
    if (folder) closedir(folder);
    return some;
}

// The peers' programs: --peers-dir, LW_PEERS_DIR, next to the executable, in libexec, or none.
static void find_peers(Bench *b) {
    const char *named = b->cli->peers_dir ? b->cli->peers_dir : getenv("LW_PEERS_DIR");
    static const char *const beside[] = {"peers", "../libexec/loopwright/peers"};
    char self[512];
    if (named && *named) {
        snprintf(b->peers, sizeof b->peers, "%s", named);
        return;
    }
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) return;
    self[n] = 0;
    char *slash = strrchr(self, '/');
    if (slash) *slash = 0;
    for (int i = 0; i < 2; i++) {
        snprintf(b->peers, sizeof b->peers, "%s/%s", self, beside[i]);
        if (is_folder(b->peers)) return;
    }
}

char *cli_history_path(void) {
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (data && *data) return cli_printf("%s/loopwright/bench.jsonl", data);
    if (!home || !*home) return NULL;
    return cli_printf("%s/.local/share/loopwright/bench.jsonl", home);
}

static void make_parents(char *path) {
    for (char *c = strchr(path + 1, '/'); c; c = strchr(c + 1, '/')) {
        *c = 0;
        mkdir(path, 0777);
        *c = '/';
    }
}

// --- History -------------------------------------------------------------------------------------
// JSON lines, append-only, each by one write, so that concurrent runs do not mix within a line.

static bool append(int fd, const Json *line) {
    char *text = cli_printf("%s\n", line->text);
    size_t n = strlen(text);
    bool ok = write(fd, text, n) == (ssize_t)n;
    free(text);
    return ok;
}

static void json_run(Json *j, const Bench *b) {
    json_str(j, "kind", "run");
    json_str(j, "run", b->run);
    json_str(j, "date", b->date);
    json_str(j, "version", lw_version());
    json_bool(j, "quick", b->quick);
    json_raw(j, "machine", b->machine_json);
    json_open(j, "peers", '[');
    for (int i = 0; i < b->lab.npeers; i++)
        if (b->lab.peer[i].title[0]) json_str(j, NULL, b->lab.peer[i].title);
    json_close(j, ']');
    json_int(j, "rounds", b->lab.rounds_run);
    json_int(j, "repeated", b->lab.repeated);
    json_int(j, "noisy", b->lab.noisy);
    json_int(j, "seconds", (int64_t)((lab_now() - b->begun) / 1e9));
}

static int write_history(Bench *b) {
    if (b->cli->history && !strcmp(b->cli->history, "none")) return EXIT_OK;
    char *path = b->cli->history ? cli_printf("%s", b->cli->history) : cli_history_path();
    if (!path) {
        fputs("warning: the run is kept nowhere: neither XDG_DATA_HOME nor HOME is set\n", stderr);
        return EXIT_OK;
    }
    make_parents(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    bool ok = fd >= 0;
    for (int i = -1; ok && i < b->n; i++) {
        Json line = {0};
        json_open(&line, NULL, '{');
        if (i < 0)
            json_run(&line, b);
        else
            bench_row_json(&line, b, &b->row[i]);
        json_close(&line, '}');
        ok = append(fd, &line);
        free(line.text);
    }
    int status = EXIT_OK;
    // A failure to write the default history does not discard the measurements.
    if (!ok && b->cli->history)
        status = cli_fail(b->cli, "cannot append to '%s': %s", path, strerror(errno));
    else if (!ok)
        fprintf(stderr, "warning: cannot append to '%s': %s\n", path, strerror(errno));
    if (ok && b->out) fprintf(b->out, "  appended to %s\n", path);
    if (fd >= 0) close(fd);
    free(path);
    return status;
}

// --- Selection -----------------------------------------------------------------------------------

static const BenchSuite *suite_named(const char *name) {
    for (const BenchSuite *s = bench_suites; s->name; s++)
        if (!strcmp(s->name, name)) return s;
    return NULL;
}

const BenchItem *bench_find(const char *suite, const char *name) {
    for (const BenchItem *i = bench_items; i->suite; i++)
        if (!strcmp(i->suite, suite) && !strcmp(i->name, name)) return i;
    return bench_items;
}

static bool looks_like_file(const char *word) { return strchr(word, '.') || strchr(word, '/'); }

static int read_words(Bench *b, bool *file) {
    Cli *cli = b->cli;
    const char *names[16];
    size_t n = 0;
    while (bench_suites[n].name) names[n] = bench_suites[n].name, n++;
    for (size_t i = 0; i < cli->nwords; i++) {
        const char *word = cli->words[i];
        if (suite_named(word)) continue;
        if (looks_like_file(word)) {
            *file = true;
            continue;
        }
        const char *near = lw_nearest(word, names, n);
        if (near) return cli_misuse(cli, "unknown suite '%s'; did you mean '%s'?", word, near);
        return cli_misuse(cli,
                          "unknown suite '%s'; there are gemm, conv, memory, tc, loopstack, "
                          "teml, compile and front; a program is a file such as F.tc",
                          word);
    }
    if (*file && cli->nwords > 1) return cli_misuse(cli, "one file by itself, without suites");
    if (!*file && (cli->sizes.n || cli->def || cli->schedule || cli->db))
        return cli_misuse(cli, "%s is for a program of your own: name its file",
                          cli->sizes.n    ? "--size"
                          : cli->def      ? "--def"
                          : cli->schedule ? "--schedule"
                                          : "--db");
    return EXIT_OK;
}

static bool suite_wanted(const Bench *b, const char *suite) {
    if (!b->cli->nwords) return true;
    for (size_t i = 0; i < b->cli->nwords; i++)
        if (!strcmp(b->cli->words[i], suite)) return true;
    return false;
}

// --only names groups and items; several by commas.
static bool named(const char *list, const char *name) {
    size_t len = strlen(name);
    for (const char *at = list, *end; at; at = *end ? end + 1 : NULL) {
        end = strchrnul(at, ',');
        size_t n = (size_t)(end - at);
        if (n && n <= len && !strncmp(at, name, n) && (n == len || name[n] == ' ')) return true;
    }
    return false;
}

static bool item_wanted(const Bench *b, const BenchItem *item) {
    const char *only = b->cli->only;
    if (!suite_wanted(b, item->suite)) return false;
    if (only && !named(only, item->group) && !named(only, item->name)) return false;
    if (item->isa && !strcmp(item->isa, "avx512") && strcmp(b->machine->isa, "avx512"))
        return false;
    return only || !b->quick || !item->slow;
}

// --- Running -------------------------------------------------------------------------------------

static bool time_wanted(const Bench *b, const BenchItem *item) {
    const char *only = b->cli->only;
    return suite_wanted(b, item->suite) && (!only || named(only, item->suite) ||
                                            named(only, item->group) || named(only, item->name));
}

static void run_suites(Bench *b) {
    enum { MOST = 512 };
    BenchJob *jobs = cli_alloc(MOST * sizeof *jobs);
    const BenchItem *item;
    const BenchKind *kind;
    int n = 0;
    for (item = bench_items; item->suite && n < MOST; item++)
        if (item_wanted(b, item)) jobs[n++] = (BenchJob){.item = item, .kind = &bench_kernels};
    for (int i = 0; (item = bench_time_item(i, &kind)) != NULL && n < MOST; i++)
        if (time_wanted(b, item)) jobs[n++] = (BenchJob){.item = item, .kind = kind};
    if (n) bench_describe(b);
    bench_jobs(b, jobs, n);
    free(jobs);
}

void bench_describe(Bench *b) {
    if (!b->out) return;
    const lw_machine *m = b->machine;
    int wide = !strcmp(m->isa, "avx512") ? LW_ISA_AVX512 : LW_ISA_AVX2;
    fprintf(b->out, "%s, %s, core %d of %d: %.1f GFLOP/s of f32 multiply-adds, memory %.1f GB/s\n",
            m->cpu, m->isa, b->lab.core, m->cores, m->gflops[wide][0][0],
            m->gbps[LW_MEMORY][LW_LOAD][0]);
    if (b->alone)
        fprintf(b->out, "  no peers to compare with: `make bench-peers` builds them, --peers-dir "
                        "names their folder\n");
}

static void passes(const Bench *b, int *least, int *most) {
    for (int i = 0; i < b->n; i++) {
        int p = b->row[i].passes;
        if (p && (!*least || p < *least)) *least = p;
        if (p > *most) *most = p;
    }
}

static void summary(Bench *b) {
    double sum = 0;
    int n = 0, won = 0, bad = 0;
    for (int i = 0; i < b->n; i++) {
        const BenchPeer *p = bench_best(&b->row[i]);
        if (b->row[i].note) bad++;
        if (!p) continue;
        sum += log(p->ratio.median), n++;
        won += p->ratio.high >= 1;
    }
    if (!b->out) return;
    fprintf(b->out, "\n%d row%s", b->n, b->n == 1 ? "" : "s");
    if (n)
        fprintf(b->out,
                "; against the best peer of each: geometric mean %.2f, at least level "
                "in %d of %d",
                exp(sum / n), won, n);
    if (bad) fprintf(b->out, "; %d without a number", bad);
    int least = 0, most = 0;
    passes(b, &least, &most);
    fprintf(b->out, "\n  %d", least);
    if (most > least) fprintf(b->out, " to %d", most);
    fprintf(b->out,
            " passes over all rows in %.0f s: %lld rounds, %lld repeated because the core was "
            "shared; never quiet: %d row%s\n",
            (lab_now() - b->begun) / 1e9, (long long)b->lab.rounds_run, (long long)b->lab.repeated,
            b->lab.noisy, b->lab.noisy == 1 ? "" : "s");
}

static void json_rows(Bench *b) {
    Json *j = &b->cli->object;
    json_str(j, "date", b->date);
    json_raw(j, "machine", b->machine_json);
    json_open(j, "rows", '[');
    for (int i = 0; i < b->n; i++) {
        json_open(j, NULL, '{');
        bench_row_json(j, b, &b->row[i]);
        json_close(j, '}');
    }
    json_close(j, ']');
}

int bench_open(Bench *b) {
    Cli *cli = b->cli;
    lw_machine_options o = {.struct_size = sizeof o, .remeasure = !cli->only && !cli->nwords};
    int status = cli_report(cli, lw_machine_get(cli->ctx, &o, &b->machine));
    if (status) return status;
    b->machine_json = cli_printf("%s", b->machine->json);
    time_t now = time(NULL);
    struct tm utc;
    strftime(b->date, sizeof b->date, "%Y-%m-%d %H:%M UTC", gmtime_r(&now, &utc));
    snprintf(b->run, sizeof b->run, "%lld-%d", (long long)now, (int)getpid());
    find_peers(b);
    b->alone = !has_files(b->peers);
    b->quick = cli->quick;
    b->only_peers = cli->peers;
    b->lab.peers = b->peers;
    b->lab.rounds = b->quick ? 9 : 31;
    b->lab.round_ns = b->quick ? 4e5 : 2e6;
    b->lab.patience_ns = b->quick ? 1.6e7 : 3e9;
    b->lab.pass_ns = b->quick ? 1.2e7 : 3e8;
    b->lab.sparse_ns = b->quick ? 5e7 : 1e9;
    b->lab.trial_ns = b->quick ? 6e7 : 4e9;
    b->lab.cold = b->quick ? 3 : 11;
    if (b->quick) b->deadline = b->begun + 5.6e10;
    b->compiler = bench_context("none");
    lab_open(&b->lab);
    return b->compiler ? EXIT_OK : cli_fail(cli, "out of memory");
}

void bench_close(Bench *b) {
    lab_close(&b->lab);
    for (int i = 0; i < b->n; i++) {
        BenchRow *r = &b->row[i];
        free(r->sizes), free(r->schedule), free(r->check), free(r->note), free(r->remark),
            free(r->times);
    }
    free(b->row);
    free(b->machine_json);
    free(b->loops_memory);
    lw_context_free(b->compiler);
}

static bool any_wrong(const Bench *b) {
    for (int i = 0; i < b->n; i++)
        if (b->row[i].wrong) return true;
    return false;
}

int command_bench(Cli *cli) {
    static Bench bench; // large
    Bench *b = &bench;
    bool file = false;
    if (cli->agree) return bench_agree(cli);
    *b = (Bench){.cli = cli, .begun = lab_now()};
    int status = read_words(b, &file);
    if (!status) status = cli_schedule(cli, &b->loops, &b->loops_memory);
    if (!status) status = bench_open(b);
    if (status) return free(b->loops_memory), status;
    b->out = cli->json || cli->csv || cli->markdown ? NULL : stdout;
    if (file) {
        status = bench_program(b);
    } else {
        run_suites(b);
        if (!b->n) status = cli_misuse(cli, "nothing is called '%s'", cli->only ? cli->only : "");
    }
    if (!status) summary(b);
    if (!status && cli->csv) bench_print_csv(b);
    if (!status && cli->markdown) bench_print_markdown(b);
    if (!status) json_rows(b);
    if (!status) status = write_history(b);
    if (!status && any_wrong(b)) status = EXIT_FAILED;
    bench_close(b);
    return status;
}
