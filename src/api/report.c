// Machine code as text, and the report: the loops of each nest, the ports that they occupy, and the
// times of the compiler's steps.
//
// Everything that is said of code is read off the code itself: its Listing gives the machine loops,
// counted by what their instructions occupy; the line table says which line of the Tree each is.
#include "api/database.h"

#include "run/exec.h"
#include "stripe/lift.h"
#include "sched/schedule.h"
#include "verify/verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// --- Lines of the Tree ---------------------------------------------------------------------------

const char *show_tree(Arena *arena, const Tree *t) {
    Text text = {.arena = arena};
    tree_show(&text, t, false);
    return text_str(&text);
}

static const char *line_text(const TreeLines *lines, int line) {
    return line < 1 || line >= lines->n ? "" : lines->at[line].text;
}

// The last line of the nest that begins here.
static int nest_end(const TreeLines *lines, int from) {
    int to = from;
    while (to + 1 < lines->n && lines->at[to + 1].depth > 0) to++;
    return to;
}

// The loops below a machine loop are unrolled: their extents are its register block, "14 x 32".
static const char *block_of(Arena *arena, const TreeLines *lines, int line) {
    Text out = {.arena = arena};
    int base = line ? lines->at[line].depth : -1, depth = base;
    for (int i = line + 1; i < lines->n && lines->at[i].depth > base; i++) {
        const Block *b = lines->at[i].node ? as_block(lines->at[i].node) : NULL;
        if (lines->at[i].depth <= depth || !b || !b->nindex) continue;
        depth = lines->at[i].depth;
        for (int k = 0; k < b->nindex; k++)
            if (!b->index[k].passed)
                text_printf(&out, "%s%lld", out.len ? " x " : "", (long long)b->index[k].extent);
    }
    return out.len ? text_str(&out) : "-";
}

// --- Warnings ------------------------------------------------------------------------------------

// Sums that are not kept in registers are only mentioned in the report.
void warn_slow_loops(Compilation *c) {
    Call *call = c->call;
    const Code *code = &c->code;
    TreeLines lines = {0};
    bool lanes = c->machine->vector_bytes > (int)sizeof(double);
    for (int i = 0; i < code->nlosses && lanes; i++) {
        const CodeLoss *l = &code->losses[i];
        if (loss_of(l) == LOSS_OF_SUMS) continue;
        if (!lines.n) lines = tree_show_lines(call->arena, c->tree);
        Text why = {.arena = call->arena};
        loss_print(&why, l);
        diag_report(call->diags, (Range){0, 0}, DIAG_CODE_SLOW_LOOP, line_text(&lines, l->line),
                    l->line, text_str(&why));
    }
}

// --- Times ---------------------------------------------------------------------------------------

enum { REPEAT = 7 };
typedef enum Timed {
    T_FRONT,
    T_BIND,
    T_DATABASE,
    T_SCHEDULE,
    T_LOWER,
    T_VERIFY,
    T_PLAN,
    T_GENERATE,
    T_INSTALL,
    TIMED
} Timed;
static const char *const timed_name[TIMED] = {"front",  "bind", "database", "schedule", "lower",
                                              "verify", "plan", "generate", "install"};

typedef struct Report {
    Call *call;
    const lw_bound *bound;
    Compilation c;
    const Target *target;
    TreeLines lines;
    ListedLoops loops;
    double us[TIMED];
    VerifyAnswer verified;
    double flops, bytes;
} Report;

static void keep_least(double *least, double us) {
    if (*least <= 0 || us < *least) *least = us;
}

static void time_verify(Report *r) {
    for (int i = 0; i < REPEAT; i++) {
        ArenaMark mark = arena_mark(r->call->scratch);
        DiagList found = {.arena = r->call->scratch};
        double start = now_us();
        r->verified = tree_verify(r->call->scratch, r->c.tree, NULL, &found);
        keep_least(&r->us[T_VERIFY], now_us() - start);
        arena_release(r->call->scratch, mark);
    }
}

static void time_code(Report *r) {
    Arena *scratch = r->call->scratch;
    for (int i = 0; i < REPEAT; i++) {
        ArenaMark mark = arena_mark(scratch);
        DiagList found = {.arena = scratch};
        double us[2] = {0}; // of all plans, and of their code
        void *plan = NULL;
        Code code;
        for (CodeAnswer answer = CODE_REPLAN; answer == CODE_REPLAN;) {
            double start = now_us();
            plan = r->target->plan(scratch, r->c.tree, r->c.machine, plan, &found);
            double planned = now_us();
            answer = r->target->generate(plan, &code, NULL, &found);
            us[0] += planned - start;
            us[1] += now_us() - planned;
        }
        keep_least(&r->us[T_PLAN], us[0]);
        keep_least(&r->us[T_GENERATE], us[1]);
        arena_release(scratch, mark);
    }
}

static void time_install(Report *r) {
    Loader loader = {.exec = exec_arena_new()};
    Loaded loaded;
    for (int i = 0; i < REPEAT && loader.exec && r->target->load; i++) {
        double start = now_us();
        if (!r->target->load(&loader, &r->c.code, NULL, &loaded)) break;
        if (i) keep_least(&r->us[T_INSTALL], now_us() - start); // the first maps memory
        r->target->unload(&loaded);
    }
    exec_arena_free(loader.exec);
}

// Steps that are done again here are the best of a few; lowering was done once, for this call.
static void time_steps(Report *r) {
    r->us[T_FRONT] = r->bound->function->module->front_us;
    r->us[T_BIND] = r->bound->bind_us;
    r->us[T_DATABASE] = r->c.us[STEP_LOOK_UP];
    r->us[T_SCHEDULE] = r->c.us[STEP_CHOOSE];
    r->us[T_LOWER] = r->c.us[STEP_LOWER];
    time_verify(r);
    time_code(r);
    time_install(r);
}

// --- Loops and nests -----------------------------------------------------------------------------

// The loop of this line that does most; the others are its tails.
static bool is_main(const Report *r, int i) {
    const ListedLoop *a = &r->loops.at[i];
    for (int k = 0; k < r->loops.n; k++) {
        const ListedLoop *b = &r->loops.at[k];
        if (k == i || b->line != a->line) continue;
        if (b->count[PORT_ISSUE] > a->count[PORT_ISSUE] ||
            (b->count[PORT_ISSUE] == a->count[PORT_ISSUE] && k < i))
            return false;
    }
    return true;
}

static int tails_of(const Report *r, int i) {
    int n = 0;
    for (int k = 0; k < r->loops.n; k++) n += r->loops.at[k].line == r->loops.at[i].line;
    return n - 1;
}

static size_t nest_bytes(const Report *r, int from, int to) {
    const Code *c = &r->c.code;
    size_t bytes = 0;
    for (int i = 0; i < c->nlines; i++) {
        size_t end = i + 1 < c->nlines ? c->lines[i + 1].offset : c->size;
        if (c->lines[i].line >= from && c->lines[i].line <= to) bytes += end - c->lines[i].offset;
    }
    return bytes;
}

static const char *binds(const ListedLoop *loop) {
    return loop->binds < PORT_COUNT ? port_name[loop->binds] : "latency";
}

static double per_load(const ListedLoop *loop) {
    return loop->count[PORT_LOAD] ? (double)loop->count[PORT_FMA] / loop->count[PORT_LOAD] : 0;
}

// The share of the multiply-add ports' time that the loop can use.
static double of_peak(const Report *r, const ListedLoop *loop) {
    double ports = r->c.machine->ports[PORT_FMA];
    return loop->cycles > 0 ? loop->count[PORT_FMA] / ports / loop->cycles : 0;
}

static double intensity(const Report *r) { return r->bytes > 0 ? r->flops / r->bytes : 0; }

// --- As a table ----------------------------------------------------------------------------------

static const char *const verdict[] = {"verified", "not proven", "refused by the verifier"};

static const char *line_of(const Report *r, const Lift *lift) {
    int line, column;
    if (!lift->range.to) return "";
    source_position(&r->bound->function->module->source, lift->range.from, &line, &column);
    return arena_printf(r->call->scratch, " (line %d)", line);
}

static void print_head(Report *r, Text *out) {
    const Code *c = &r->c.code;
    text_printf(out, "%s for %s: %zu bytes of code, %lld of scratch memory; tree %s\n",
                r->bound->program->name, machine_isa(r->c.machine), c->size, (long long)c->scratch,
                verdict[r->verified]);
    text_printf(out, "  work     %.0f operations on %.0f bytes, %.1f each\n", r->flops, r->bytes,
                intensity(r));
    const char *origin = database_origin(&r->c);
    if (origin) text_printf(out, "  schedule %s\n", origin);
    const Lift *lift = r->bound->function->lift;
    if (lift && lift->program)
        text_add(out, "  stripe   flat: its loops are chosen\n");
    else if (lift)
        text_printf(out, "  stripe   runs as written since %s%s\n", lift->text, line_of(r, lift));
    text_add(out, "  compile ");
    double sum = 0;
    for (int i = 0; i < TIMED; i++) {
        text_printf(out, " %s %.1f%s", timed_name[i], r->us[i], i + 1 < TIMED ? "," : "");
        if (strcmp(timed_name[i], "verify") != 0) sum += r->us[i];
    }
    text_printf(out, " us; %.1f us without verify\n", sum);
}

static void print_loop(Report *r, Text *out, int i) {
    const ListedLoop *p = &r->loops.at[i];
    const char *head = p->line ? line_text(&r->lines, p->line) : "straight code";
    text_printf(out, "    %4d  %-28.28s %-12s %4d %4d %4d %5d %5d %6u %8.1f  %s\n", p->line, head,
                block_of(r->call->scratch, &r->lines, p->line), p->sums, p->count[PORT_FMA],
                p->count[PORT_LOAD], p->count[PORT_STORE], p->count[PORT_ISSUE], p->to - p->from,
                p->cycles, binds(p));
    text_printf(out, "          ports:");
    for (int u = 0; u < PORT_COUNT; u++)
        if (p->count[u])
            text_printf(out, " %s %.1f", port_name[u],
                        (double)p->count[u] / r->c.machine->ports[u]);
    if (p->chain) text_printf(out, " latency %d", p->chain * r->c.machine->fma_latency);
    if (p->count[PORT_FMA])
        text_printf(out, "; %.2f fma per load, %.0f %% of peak", per_load(p), 100 * of_peak(r, p));
    int tails = tails_of(r, i);
    if (tails) text_printf(out, "; %d tail%s", tails, tails > 1 ? "s" : "");
    text_char(out, '\n');
}

static void print_nest_head(Report *r, Text *out, int from, int to) {
    if (from)
        text_printf(out, "\n  nest at lines %d-%d: %s, %zu bytes\n", from, to,
                    line_text(&r->lines, from), nest_bytes(r, from, to));
    else
        text_printf(out, "\n  all of it: no loop is left, %zu bytes\n", r->c.code.size);
}

// Lines that name memory are no nests.
static void print_nest(Report *r, Text *out, int from, int to) {
    bool any = false;
    for (int i = 0; i < r->loops.n; i++) {
        int line = r->loops.at[i].line;
        if (!is_main(r, i) || line < from || line > to) continue;
        if (!any) {
            print_nest_head(r, out, from, to);
            text_printf(
                out, "    line  %-28s %-12s sums  fma load store instr  bytes   cycles  bound by\n",
                "loop", "block");
        }
        any = true;
        print_loop(r, out, i);
    }
    if (!any && from && nest_bytes(r, from, to)) print_nest_head(r, out, from, to);
}

// "line 3: the vector loop runs as a serial one: ..."
static const char *loss_text(Report *r, const CodeLoss *l) {
    Text out = {.arena = r->call->scratch};
    text_printf(&out, "line %d: ", l->line);
    loss_print(&out, l);
    return text_str(&out);
}

static void print_declined(Report *r, Text *out) {
    const Code *c = &r->c.code;
    text_add(out, c->nlosses ? "\n  declined\n" : "\n  declined  nothing\n");
    for (int i = 0; i < c->nlosses; i++) text_printf(out, "    %s\n", loss_text(r, &c->losses[i]));
}

static void print_report(Report *r, Text *out) {
    print_head(r, out);
    print_nest(r, out, 0, 0);
    for (int from = 1, to; from < r->lines.n; from = to + 1) {
        to = nest_end(&r->lines, from);
        print_nest(r, out, from, to);
    }
    print_declined(r, out);
}

// --- As JSON -------------------------------------------------------------------------------------

static void json_text(Text *out, const char *key, const char *value) {
    text_printf(out, "\"%s\": \"", key);
    text_json(out, value);
    text_char(out, '"');
}

static void json_number(Text *out, const char *key, double value) {
    text_printf(out, "\"%s\": ", key);
    text_float(out, round(value * 1000) / 1000, false);
}

static void json_loop(Report *r, Text *out, int i) {
    const ListedLoop *p = &r->loops.at[i];
    text_printf(out, "{\"line\": %d, ", p->line);
    json_text(out, "loop", line_text(&r->lines, p->line));
    text_add(out, ", ");
    json_text(out, "block", block_of(r->call->scratch, &r->lines, p->line));
    text_printf(out, ", \"accumulators\": %d, \"tails\": %d, \"bytes\": %u, ", p->sums,
                tails_of(r, i), p->to - p->from);
    json_number(out, "fma_per_load", per_load(p));
    text_add(out, ", \"ports\": {");
    for (int u = 0; u < PORT_COUNT; u++)
        text_printf(out, "%s\"%s\": %d", u ? ", " : "", port_name[u], p->count[u]);
    text_add(out, "}, \"busy\": {");
    for (int u = 0; u < PORT_COUNT; u++) {
        if (u) text_add(out, ", ");
        json_number(out, port_name[u], (double)p->count[u] / r->c.machine->ports[u]);
    }
    text_add(out, "}, ");
    json_number(out, "cycles", p->cycles);
    text_add(out, ", ");
    json_text(out, "bound_by", binds(p));
    text_add(out, ", ");
    json_number(out, "of_peak", of_peak(r, p));
    text_char(out, '}');
}

static void json_nest(Report *r, Text *out, int from, int to) {
    text_printf(out, "{\"lines\": [%d, %d], ", from, to);
    json_text(out, "head", line_text(&r->lines, from));
    text_printf(out, ", \"bytes\": %zu, \"loops\": [", nest_bytes(r, from, to));
    bool comma = false;
    for (int i = 0; i < r->loops.n; i++) {
        int line = r->loops.at[i].line;
        if (!is_main(r, i) || line < from || line > to) continue;
        if (comma) text_add(out, ", ");
        comma = true;
        json_loop(r, out, i);
    }
    text_add(out, "]}");
}

static void json_declined(Report *r, Text *out) {
    text_add(out, "\"declined\": [");
    for (int i = 0; i < r->c.code.nlosses; i++) {
        text_add(out, i ? ", \"" : "\"");
        text_json(out, loss_text(r, &r->c.code.losses[i]));
        text_char(out, '"');
    }
    text_char(out, ']');
}

// Whether the loops of a Stripe program were chosen, and if not, why.
static void json_stripe(const Report *r, Text *out) {
    const Lift *lift = r->bound->function->lift;
    int line = 0, column;
    if (!lift) return;
    if (lift->range.to)
        source_position(&r->bound->function->module->source, lift->range.from, &line, &column);
    text_printf(out, ", \"stripe\": {\"lifted\": %s, ", lift->program ? "true" : "false");
    json_text(out, "reason", lift_reason[lift->reason]);
    text_add(out, ", ");
    json_text(out, "text", lift->text);
    text_printf(out, ", \"line\": %d}", line);
}

static void json_report(Report *r, Text *out) {
    text_char(out, '{');
    json_text(out, "function", r->bound->program->name);
    text_add(out, ", ");
    json_text(out, "isa", machine_isa(r->c.machine));
    text_printf(out, ", \"code_bytes\": %zu, \"scratch_bytes\": %lld, ", r->c.code.size,
                (long long)r->c.code.scratch);
    json_number(out, "flops", r->flops);
    text_add(out, ", ");
    json_number(out, "bytes", r->bytes);
    text_add(out, ", ");
    json_text(out, "schedule", origin_name[r->c.origin]);
    json_stripe(r, out);
    text_add(out, ", \"compile_us\": {");
    for (int i = 0; i < TIMED; i++) {
        if (i) text_add(out, ", ");
        json_number(out, timed_name[i], r->us[i]);
    }
    text_add(out, "}, ");
    json_text(out, "verify", verdict[r->verified]);
    text_add(out, ", \"nests\": [");
    bool comma = r->loops.n == 1 && r->loops.at[0].line == 0;
    if (comma) json_nest(r, out, 0, 0); // no loop is left
    for (int from = 1, to; from < r->lines.n; from = to + 1) {
        to = nest_end(&r->lines, from);
        if (!nest_bytes(r, from, to)) continue; // a line that names memory
        if (comma) text_add(out, ", ");
        comma = true;
        json_nest(r, out, from, to);
    }
    text_add(out, "], ");
    json_declined(r, out);
    text_char(out, '}');
}

// --- Entry ---------------------------------------------------------------------------------------

static void count_work(Report *r) {
    const Tree *t = r->c.tree;
    r->flops = bound_flops(r->call->scratch, r->bound, t);
    const double *bytes = bound_bytes(r->call->scratch, r->bound, t);
    for (int i = 0; i < t->nargs; i++) r->bytes += bytes[i];
}

lw_status code_show(Call *call, const lw_bound *b, lw_stage stage, const lw_show_options *o,
                    const View *views, const char **out) {
    Report r = {.call = call, .bound = b, .c = compilation_of(call, b, &o->schedule)};
    r.c.machine = show_machine(call, o->isa);
    r.c.threads = o->threads;
    r.c.views = views;
    r.c.listed = true;
    if (!r.c.machine) return LW_ERROR;
    r.target = r.c.machine->target;
    if (!r.target->list) {
        diag_report(call->diags, nowhere, DIAG_CODE_DECLINED, "listings for this target");
        return LW_ERROR;
    }
    lw_status status = pipeline(&r.c, STEP_GENERATE);
    if (status) return status;
    Text text = {.arena = call->arena};
    if (stage == LW_STAGE_ASM) {
        r.target->list(&text, &r.c.code, &r.c.listing, show_tree(call->arena, r.c.tree));
    } else {
        r.lines = tree_show_lines(call->arena, r.c.tree);
        listing_loops(&r.c.code, &r.c.listing, r.c.machine, &r.loops);
        count_work(&r);
        time_steps(&r);
        (o->json ? json_report : print_report)(&r, &text);
    }
    *out = text_str(&text);
    return LW_OK;
}
