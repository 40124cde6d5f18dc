// Rows as a table for people, as CSV, as Markdown (docs/performance.md), as JSON.
#include "command/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_time(const BenchRow *r) {
    return !strcmp(r->item->suite, "compile") || !strcmp(r->item->suite, "front");
}

// The unit of a row: bytes if it is memory-bound.
static bool counts_bytes(const BenchRow *r) {
    const BenchItem *i = r->item;
    if (!strcmp(i->suite, "program")) return !r->compute && r->int_ops <= r->bytes;
    return !strcmp(i->suite, "memory") || !strcmp(i->group, "tables") || !strcmp(i->group, "norms");
}

const char *bench_unit(const BenchRow *r) {
    if (is_time(r)) return "us";
    if (counts_bytes(r)) return "GB/s";
    return r->int_ops > 0 ? "GOP/s" : "GFLOP/s"; // of integers, or of both
}

double bench_rate(const BenchRow *r, double ns) {
    if (is_time(r)) return ns / 1e3;
    return (counts_bytes(r) ? r->bytes : r->flops) / ns;
}

// Half the interval of the median, relative to it.
static double spread(const BenchRow *r) { return (r->ns.high - r->ns.low) / 2 / r->ns.median; }

// Whether a peer that counts is faster by more than the interval.
static bool lost(const BenchRow *r) {
    const BenchPeer *p = bench_best(r);
    return p && p->ratio.high < 1;
}

// --- Table ---------------------------------------------------------------------------------------

static void print_number(FILE *out, double x) {
    if (!isfinite(x))
        fprintf(out, "         -");
    else
        fprintf(out, x < 100 ? " %9.2f" : " %9.1f", x);
}

static void print_peers(FILE *out, const BenchRow *r) {
    const BenchPeer *best = bench_best(r);
    if (best)
        fprintf(out, "  %5.2f [%.2f, %.2f] %-16s", best->ratio.median, best->ratio.low,
                best->ratio.high, best->name);
    else
        fprintf(out, "  %-37s", "-");
    for (int i = 0; i < r->npeers; i++) {
        const BenchPeer *p = &r->peer[i];
        fprintf(out, " %s %.4g%s", p->name, bench_rate(r, p->ns), p->differs ? "!" : "");
        if (i + 1 < r->npeers) fputc(',', out);
    }
    for (int i = 0; i < r->npeers; i++)
        if (r->peer[i].compile_us > 0)
            fprintf(out, "  %s: compiled in %.0f us, ours %.0fx faster; speed %.2fx",
                    r->peer[i].name, r->peer[i].compile_us, r->peer[i].compile_us / r->compile_us,
                    r->peer[i].ratio.median);
    if (r->remark) fprintf(out, "  %s", r->remark);
    if (r->item->paper) fprintf(out, "  (paper: %s)", r->item->paper);
    fputc('\n', out);
}

static void print_row(FILE *out, const BenchRow *r) {
    fprintf(out, "  %-28s", r->item->name);
    if (r->note) {
        fprintf(out, " %s\n", r->note);
        return;
    }
    print_number(out, bench_rate(r, r->ns.median));
    if (is_time(r)) {
        if (r->ntimes)
            fprintf(out, "  p90 %.1f, p99 %.1f", r->times[r->ntimes * 9 / 10],
                    r->times[r->ntimes * 99 / 100]);
        else
            fprintf(out, "  compiling alone %.1f", r->compile_us);
        print_peers(out, r);
        return;
    }
    fprintf(out, " %4.1f %%  %5.1f %%", 100 * spread(r), 100 * r->of_peak);
    print_number(out, bench_rate(r, r->cold_ns));
    print_number(out, r->compile_us);
    print_peers(out, r);
}

void bench_print_group(Bench *b, int first, int end) {
    if (!b->out || first >= end) return;
    const BenchRow *r = &b->row[first];
    const char *unit = bench_unit(r);
    for (int i = first; i < end; i++)
        if (!b->row[i].note) unit = bench_unit(&b->row[i]);
    fprintf(b->out, "\n%s: %s, %s\n", r->item->suite, r->item->group, unit);
    if (is_time(r))
        fprintf(b->out, "  %-28s %9s\n", "", "median");
    else
        fprintf(b->out, "  %-28s %9s %6s  %7s %9s %9s  %-37s %s\n", "", "ours", "+-", "of peak",
                "cold", "compiled", "against the best of", "all of them");
    for (int i = first; i < end; i++) print_row(b->out, &b->row[i]);
    fflush(b->out);
}

// --- CSV -----------------------------------------------------------------------------------------

static void csv_number(double x) {
    if (isfinite(x)) printf("%.6g", x);
}

static void csv_line(const BenchRow *r, const BenchPeer *p) {
    printf("%s,\"%s\",\"%s\",\"%s\",%s,", r->item->suite, r->item->group, r->item->name,
           r->sizes ? r->sizes : "", bench_unit(r));
    bool rate = !is_time(r); // the longest time is the lowest rate
    const double own[] = {bench_rate(r, r->ns.median),
                          bench_rate(r, rate ? r->ns.high : r->ns.low),
                          bench_rate(r, rate ? r->ns.low : r->ns.high),
                          r->of_peak,
                          bench_rate(r, r->cold_ns),
                          r->compile_us};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) csv_number(own[i]), putchar(',');
    printf("%s,", r->note ? "none" : r->check ? r->check : "");
    if (p) {
        printf("\"%s\",", p->name);
        const double of[] = {bench_rate(r, p->ns), p->ratio.median, p->ratio.low, p->ratio.high};
        for (size_t i = 0; i < sizeof of / sizeof *of; i++) csv_number(of[i]), putchar(',');
        printf("%s\n", p->differs ? "no" : "yes");
    } else {
        printf(",,,,,\n");
    }
}

void bench_print_csv(const Bench *b) {
    puts("suite,group,item,sizes,unit,ours,low,high,of_peak,cold,compile_us,checked,peer,peer_rate,"
         "ratio,ratio_low,ratio_high,same");
    for (int i = 0; i < b->n; i++) {
        const BenchRow *r = &b->row[i];
        if (!r->npeers) csv_line(r, NULL);
        for (int j = 0; j < r->npeers; j++) csv_line(r, &r->peer[j]);
    }
}

// --- Markdown ------------------------------------------------------------------------------------

static void markdown_row(const BenchRow *r) {
    const BenchPeer *best = bench_best(r);
    printf("| %s | ", r->item->name);
    if (r->note) {
        printf("%s | | | | |\n", r->note);
        return;
    }
    printf("%.4g ± %.1f %% | ", bench_rate(r, r->ns.median), 100 * spread(r));
    if (isfinite(r->of_peak)) printf("%.0f %%", 100 * r->of_peak);
    printf(" | ");
    if (isfinite(r->compile_us)) printf("%.0f µs", r->compile_us);
    printf(" | ");
    if (best)
        printf("%s%.2f [%.2f, %.2f] %s%s", lost(r) ? "**▼ " : "", best->ratio.median,
               best->ratio.low, best->ratio.high, best->name, lost(r) ? "**" : "");
    printf(" | ");
    for (int i = 0; i < r->npeers; i++)
        printf("%s%s %.4g%s", i ? ", " : "", r->peer[i].name, bench_rate(r, r->peer[i].ns),
               r->peer[i].differs ? " (differs)" : "");
    for (int i = 0; i < r->npeers; i++)
        if (r->peer[i].compile_us > 0)
            printf("; %s compiles %.0fx slower, runs %.2fx slower", r->peer[i].name,
                   r->peer[i].compile_us / r->compile_us, r->peer[i].ratio.median);
    for (int i = 0; i < r->npeers; i++)
        if (!strcmp(r->peer[i].name, "gcc, as written") && isfinite(r->peer[i].ratio.median))
            printf("; %.1fx sequential C", r->peer[i].ratio.median);
    if (r->remark) printf("; %s", r->remark);
    if (r->item->paper) printf("%spaper: %s", r->npeers ? "; " : "", r->item->paper);
    printf(" |\n");
}

static void markdown_losses(const Bench *b, int first, int end) {
    bool any = false;
    for (int i = first; i < end; i++) {
        const BenchRow *r = &b->row[i];
        if (!lost(r)) continue;
        printf("%s- ▼ %s, %s, %.2f of %s: %s%s.\n", any ? "" : "\nWhere a peer wins:\n\n",
               r->item->group, r->item->name, bench_best(r)->ratio.median, bench_best(r)->name,
               bench_why(r, bench_best(r)), bench_given(r, bench_best(r)));
        any = true;
    }
}

static double mean_ratio(const Bench *b, int first, int end) {
    double sum = 0;
    int n = 0;
    for (int i = first; i < end; i++) {
        const BenchPeer *p = bench_best(&b->row[i]);
        if (p) sum += log(p->ratio.median), n++;
    }
    return n ? exp(sum / n) : NAN;
}

static void markdown_suite(const Bench *b, int first, int end) {
    const char *suite = b->row[first].item->suite, *group = "";
    const BenchSuite *s = bench_suites;
    while (s->name && strcmp(s->name, suite)) s++;
    printf("\n## %s\n\n%s. `loopwright bench %s%s`\n", suite, s->name ? s->what : "", suite,
           b->quick ? " --quick" : "");
    if (s->name && s->note) printf("\n%s\n", s->note);
    for (int i = first; i < end; i++) {
        const BenchRow *r = &b->row[i];
        if (strcmp(group, r->item->group))
            printf("\n| %s | ours, %s | of peak | compiled in | ratio to the best peer | all peers "
                   "|\n|---|---|---|---|---|---|\n",
                   r->item->group, bench_unit(r));
        group = r->item->group;
        markdown_row(r);
    }
    double mean = mean_ratio(b, first, end);
    if (isfinite(mean)) printf("\nGeometric mean of the ratios: **%.2f**.\n", mean);
    markdown_losses(b, first, end);
}

// References to the papers' tables, and the parts that cannot be reproduced here.
static void markdown_papers(void) {
    static const char *const rows[][3] = {
        {"TC, figures 5 and 6", "`loopwright bench tc`",
         "times on GPUs cannot be reproduced on a CPU; their ratios to the library are shown next "
         "to ours"},
        {"LoopStack, tables 1 and 2", "`make bench-loopstack`",
         "its sizes of convolutions and its LLVM are not published; ours are given above"},
        {"TeML, figure 11", "`loopwright bench teml`",
         "bars without numbers; its results on several cores and its Pluto programs are omitted"},
        {"Telamon, tables 2 and 3", "`make bench-space`",
         "sizes and dead ends of the spaces, and pruning by the bound, next to the paper's; its "
         "speed-ups over cuBLAS are for a GPU"},
    };
    puts("\n## The papers' tables\n\n| table | command | differences |\n|---|---|---|");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        printf("| %s | %s | %s |\n", rows[i][0], rows[i][1], rows[i][2]);
    puts("\nThe Python package beside NumPy, opt_einsum and torch.compile: `make bench-python`, "
         "with its figures in [python](python.md#speed).");
}

void bench_print_markdown(const Bench *b) {
    const lw_machine *m = b->machine;
    printf(
        "# Performance\n\n"
        "Generated by `loopwright bench --markdown%s`; every table names the command that "
        "reproduces it.\n\n"
        "- **%s**, Loopwright %s.\n"
        "- %s, %s, %d cores available to this process; %.1f GFLOP/s of f32 multiply-adds on one "
        "core, %.1f GB/s read from memory.\n"
        "- One pinned core (`two cores`: both, wall-clock time). Medians of processor time over %d "
        "passes, with 95 %% "
        "intervals; all results were first compared with the reference "
        "([how](../bench/README.md)).\n"
        "- Schedules are chosen without search. *of peak*: our rate divided by the highest rate of "
        "a multiply-add loop (or a loop that streams as many bytes), which runs before and after "
        "the kernel, and of all peers, each in the fastest tenth of its rounds.\n"
        "- A ratio above 1 means that ours is faster. ▼: a peer wins by more than the interval. "
        "`(differs)`: its result differs from ours, so it does not count.\n",
        b->quick ? " --quick" : "", b->date, lw_version(), m->cpu, m->isa, m->cores,
        m->gflops[!strcmp(m->isa, "avx512") ? LW_ISA_AVX512 : LW_ISA_AVX2][0][0],
        m->gbps[LW_MEMORY][LW_LOAD][0], b->n ? b->row[0].passes : 0);
    printf("\nPeers:");
    for (int i = 0; i < b->lab.npeers; i++) {
        bool first = true;
        for (int j = 0; j < i; j++)
            first = first && strcmp(b->lab.peer[j].title, b->lab.peer[i].title);
        if (first && *b->lab.peer[i].title && strcmp(b->lab.peer[i].title, "limits"))
            printf(" %s;", b->lab.peer[i].title);
    }
    printf(" missing peers are omitted.\n");
    for (int i = 0, end; i < b->n; i = end) {
        for (end = i; end < b->n && !strcmp(b->row[end].item->suite, b->row[i].item->suite);) end++;
        markdown_suite(b, i, end);
    }
    markdown_papers();
}

// --- JSON ----------------------------------------------------------------------------------------

// Four digits suffice for a measurement.
static void json_measured(Json *j, const char *key, double x) {
    char text[32];
    snprintf(text, sizeof text, "%.5g", x);
    json_num(j, key, isfinite(x) ? strtod(text, NULL) : x);
}

static void json_peers(Json *j, const BenchRow *r) {
    json_open(j, "peers", '[');
    for (int i = 0; i < r->npeers; i++) {
        const BenchPeer *p = &r->peer[i];
        json_open(j, NULL, '{');
        json_str(j, "name", p->name);
        json_measured(j, "us", p->ns / 1e3);
        json_measured(j, "rate", bench_rate(r, p->ns));
        json_measured(j, "ratio", p->ratio.median);
        json_measured(j, "low", p->ratio.low);
        json_measured(j, "high", p->ratio.high);
        json_measured(j, "cold_us", p->cold_ns / 1e3);
        if (p->compile_us > 0) json_measured(j, "compile_us", p->compile_us);
        json_bool(j, "counts", !p->differs && !p->other);
        json_bool(j, "same", !p->differs);
        json_close(j, '}');
    }
    json_close(j, ']');
}

void bench_row_json(Json *j, const Bench *b, const BenchRow *r) {
    json_str(j, "kind", "row");
    json_str(j, "run", b->run);
    json_str(j, "suite", r->item->suite);
    json_str(j, "group", r->item->group);
    json_str(j, "item", r->item->name);
    json_str(j, "sizes", r->sizes);
    json_str(j, "unit", bench_unit(r));
    if (r->item->paper) json_str(j, "paper", r->item->paper);
    if (r->note) {
        json_str(j, "note", r->note);
        return;
    }
    if (r->schedule) json_str(j, "schedule", r->schedule);
    if (r->tuned) json_bool(j, "tuned", true);
    if (r->check) json_str(j, "checked", r->check);
    if (r->remark) json_str(j, "remark", r->remark);
    json_int(j, "passes", r->passes);
    json_measured(j, "us", r->ns.median / 1e3);
    json_measured(j, "low_us", r->ns.low / 1e3);
    json_measured(j, "high_us", r->ns.high / 1e3);
    json_measured(j, "best_us", r->best_ns / 1e3);
    json_measured(j, "rate", bench_rate(r, r->ns.median));
    json_measured(j, "compile_us", r->compile_us);
    if (!is_time(r)) {
        json_measured(j, "cold_us", r->cold_ns / 1e3);
        json_measured(j, "of_peak", r->of_peak);
        json_measured(j, "roof_us", r->roof_ns / 1e3);
        json_str(j, "bound", r->compute ? "compute" : "bandwidth");
        json_str(j, "level", r->level);
        json_num(j, "flops", r->flops - r->int_ops);
        if (r->int_ops > 0) json_num(j, "int_ops", r->int_ops);
        json_num(j, "bytes", r->bytes);
    }
    if (r->code_bytes > 0) json_num(j, "code_bytes", r->code_bytes);
    if (r->ntimes) {
        json_open(j, "times_us", '[');
        for (int i = 0; i < r->ntimes; i++) json_measured(j, NULL, r->times[i]);
        json_close(j, ']');
    }
    json_peers(j, r);
}
