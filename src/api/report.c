// Machine code as text, and the report: what became of each nest, what it occupies, what it cost.
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

// --- Code with its listing -----------------------------------------------------------------------

const Machine *show_machine(Call *call, const char *isa) {
    Machine *m = arena_new(call->arena, Machine);
    const Target *target = target_host();
    const char *cap = getenv("LW_ISA");
    int named = target->nisas;
    if (isa || (cap && *cap)) target = target_with_isa(isa ? isa : cap, &named);
    if (!target) {
        diag_report(call->diags, (Range){0, 0}, DIAG_CODE_ISA, isa ? "isa" : "LW_ISA",
                    isa ? isa : cap);
        return NULL;
    }
    if (!machine_named(call)) return NULL;
    if (call->ctx->pretended && target->pretend)
        target->pretend(m, call->ctx->pretended, named);
    else if (isa)
        target->describe(m, named);
    else
        target->detect(m, named);
    return m;
}

lw_status bound_listed(Call *call, const lw_bound *b, const lw_schedule_text *schedule,
                       const char *isa, int threads, const View *views, Listed *out) {
    const Tree *lowered;
    const Machine *m = show_machine(call, isa);
    if (!m) return LW_ERROR;
    out->machine = *m;
    lw_status status = bound_lower_cpu(call, b, schedule, (Setting){m, views, threads}, &lowered);
    if (status) return status;
    out->tree = tree_for_views(call->arena, lowered, views);
    Text text = {.arena = call->arena};
    tree_show(&text, out->tree, false);
    out->text = text_str(&text);
    bool ok = m->target->compile(call->arena, out->tree, &out->machine, &out->code, &out->listing,
                                 call->diags);
    return ok ? LW_OK : LW_ERROR;
}

// --- Lines of the Tree ---------------------------------------------------------------------------

// The Tree's text by line, from 1.
typedef struct TreeLines {
    VEC(const char *) at;
} TreeLines;

static TreeLines split(Arena *arena, const char *text) {
    TreeLines lines = {0};
    vec_push(arena, &lines.at, "");
    for (const char *c = text, *end; *c; c = end + (*end == '\n')) {
        end = strchr(c, '\n');
        if (!end) end = c + strlen(c);
        vec_push(arena, &lines.at, arena_strndup(arena, c, (size_t)(end - c)));
    }
    return lines;
}

static const char *line_text(const TreeLines *lines, int line) {
    if (line < 1 || line >= lines->at.n) return "";
    const char *s = lines->at.at[line];
    return s + strspn(s, " ");
}

static int indent(const TreeLines *lines, int line) { return (int)strspn(lines->at.at[line], " "); }

// The last line of the nest that begins here.
static int nest_end(const TreeLines *lines, int from) {
    int to = from;
    while (to + 1 < lines->at.n && indent(lines, to + 1) > 0) to++;
    return to;
}

// The loops below a machine loop are unrolled: their extents are its register block, "14 x 32".
static const char *block_of(Arena *arena, const TreeLines *lines, int line) {
    Text out = {.arena = arena};
    int base = line ? indent(lines, line) : -1, depth = base;
    for (int i = line + 1; i < lines->at.n && indent(lines, i) > base; i++) {
        if (indent(lines, i) <= depth || strncmp(line_text(lines, i), "for ", 4) != 0) continue;
        depth = indent(lines, i);
        for (const char *c = strstr(line_text(lines, i), " in "); c; c = strstr(c + 4, " in "))
            text_printf(&out, "%s%.*s", out.len ? " x " : "", (int)strspn(c + 4, "0123456789"),
                        c + 4);
    }
    return out.len ? text_str(&out) : "-";
}

// --- Warnings ------------------------------------------------------------------------------------

// Sums that are loaded and stored are for the report.
void warn_slow_loops(Call *call, const Tree *tree, const Machine *m, const Code *code) {
    Text text = {.arena = call->arena};
    TreeLines lines = {0};
    bool lanes = m->vector_bytes > (int)sizeof(double);
    for (int i = 0; i < code->nlosses && lanes; i++) {
        const CodeLoss *l = &code->losses[i];
        if (loss_of(l) == LOSS_OF_SUMS) continue;
        if (!text.len) {
            tree_show(&text, tree, false);
            lines = split(call->arena, text_str(&text));
        }
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
    STEPS
} Timed;
static const char *const step_name[STEPS] = {"front",  "bind", "database", "schedule", "lower",
                                             "verify", "plan", "generate", "install"};

typedef struct Report {
    Call *call;
    const lw_bound *bound;
    Listed l;
    TreeLines lines;
    ListedLoops loops;
    double us[STEPS];
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
        r->verified = tree_verify(r->call->scratch, r->l.tree, NULL, &found);
        keep_least(&r->us[T_VERIFY], now_us() - start);
        arena_release(r->call->scratch, mark);
    }
}

static void time_code(Report *r) {
    const Target *target = r->l.machine.target;
    double all = 0;
    for (int i = 0; i < REPEAT; i++) {
        ArenaMark mark = arena_mark(r->call->scratch);
        DiagList found = {.arena = r->call->scratch};
        Code code;
        double start = now_us();
        target->plan(r->call->scratch, r->l.tree, &r->l.machine);
        double planned = now_us();
        target->compile(r->call->scratch, r->l.tree, &r->l.machine, &code, NULL, &found);
        keep_least(&all, now_us() - planned);
        keep_least(&r->us[T_PLAN], planned - start);
        arena_release(r->call->scratch, mark);
    }
    r->us[T_GENERATE] = all > r->us[T_PLAN] ? all - r->us[T_PLAN] : 0;
}

static void time_install(Report *r) {
    const Target *target = r->l.machine.target;
    Loader loader = {.exec = exec_arena_new()};
    Loaded loaded;
    if (!loader.exec) return;
    for (int i = 0; i < REPEAT; i++) {
        double start = now_us();
        if (!target->load(&loader, &r->l.code, NULL, &loaded)) break;
        if (i) keep_least(&r->us[T_INSTALL], now_us() - start); // the first maps memory
        target->unload(&loaded);
    }
    exec_arena_free(loader.exec);
}

// Steps that are done again here are the best of a few; lowering was done once, for this call.
static void time_steps(Report *r) {
    r->us[T_FRONT] = r->bound->function->module->front_us;
    r->us[T_BIND] = r->bound->bind_us;
    r->us[T_DATABASE] = r->call->database_us;
    r->us[T_SCHEDULE] = r->call->schedule_us;
    r->us[T_LOWER] = r->call->lower_us;
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
    const Code *c = &r->l.code;
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
    double ports = r->l.machine.ports[PORT_FMA];
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
    const Code *c = &r->l.code;
    text_printf(out, "%s for %s: %zu bytes of code, %lld of scratch memory; tree %s\n",
                r->bound->program->name, machine_isa(&r->l.machine), c->size, (long long)c->scratch,
                verdict[r->verified]);
    text_printf(out, "  work     %.0f operations on %.0f bytes, %.1f each\n", r->flops, r->bytes,
                intensity(r));
    const char *origin = database_origin(r->call);
    if (origin) text_printf(out, "  schedule %s\n", origin);
    const Lift *lift = r->bound->function->lift;
    if (lift && lift->program)
        text_add(out, "  stripe   flat: its loops are chosen\n");
    else if (lift)
        text_printf(out, "  stripe   runs as written since %s%s\n", lift->text, line_of(r, lift));
    text_add(out, "  compile ");
    double sum = 0;
    for (int i = 0; i < STEPS; i++) {
        text_printf(out, " %s %.1f%s", step_name[i], r->us[i], i + 1 < STEPS ? "," : "");
        sum += i == 4 ? 0 : r->us[i];
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
            text_printf(out, " %s %.1f", port_name[u], (double)p->count[u] / r->l.machine.ports[u]);
    if (p->chain) text_printf(out, " latency %d", p->chain * r->l.machine.fma_latency);
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
        text_printf(out, "\n  all of it: no loop is left, %zu bytes\n", r->l.code.size);
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

// What the planner declined, and why.
static const char *declined(Report *r) {
    Text out = {.arena = r->call->scratch};
    for (int i = 0; i < r->l.code.nlosses; i++) {
        text_printf(&out, "line %d: ", r->l.code.losses[i].line);
        loss_print(&out, &r->l.code.losses[i]);
        text_char(&out, '\n');
    }
    return text_str(&out);
}

static void print_declined(Report *r, Text *out) {
    const char *c = declined(r);
    text_add(out, *c ? "\n  declined\n" : "\n  declined  nothing\n");
    for (const char *end; *c; c = end + (*end == '\n')) {
        end = strchr(c, '\n');
        if (!end) end = c + strlen(c);
        text_printf(out, "    %.*s\n", (int)(end - c), c);
    }
}

static void print_report(Report *r, Text *out) {
    print_head(r, out);
    print_nest(r, out, 0, 0);
    for (int from = 1, to; from < r->lines.at.n; from = to + 1) {
        to = nest_end(&r->lines, from);
        print_nest(r, out, from, to);
    }
    print_declined(r, out);
}

// --- As JSON -------------------------------------------------------------------------------------

static void json_text(Text *out, const char *key, const char *value) {
    text_printf(out, "\"%s\": \"", key);
    text_escape(out, value, '"');
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
        json_number(out, port_name[u], (double)p->count[u] / r->l.machine.ports[u]);
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
    const char *all = declined(r), *c = all;
    for (const char *end; *c; c = end + (*end == '\n')) {
        end = strchr(c, '\n');
        if (!end) end = c + strlen(c);
        text_add(out, c == all ? "\"" : ", \"");
        text_escape(out, arena_strndup(r->call->scratch, c, (size_t)(end - c)), '"');
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
    json_text(out, "isa", machine_isa(&r->l.machine));
    text_printf(out, ", \"code_bytes\": %zu, \"scratch_bytes\": %lld, ", r->l.code.size,
                (long long)r->l.code.scratch);
    json_number(out, "flops", r->flops);
    text_add(out, ", ");
    json_number(out, "bytes", r->bytes);
    text_add(out, ", ");
    json_text(out, "schedule", origin_name[r->call->origin]);
    json_stripe(r, out);
    text_add(out, ", \"compile_us\": {");
    for (int i = 0; i < STEPS; i++) {
        if (i) text_add(out, ", ");
        json_number(out, step_name[i], r->us[i]);
    }
    text_add(out, "}, ");
    json_text(out, "verify", verdict[r->verified]);
    text_add(out, ", \"nests\": [");
    bool comma = r->loops.n == 1 && r->loops.at[0].line == 0;
    if (comma) json_nest(r, out, 0, 0); // no loop is left
    for (int from = 1, to; from < r->lines.at.n; from = to + 1) {
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
    const Tree *t = r->l.tree;
    r->flops = bound_flops(r->call->scratch, r->bound, t);
    const double *bytes = bound_bytes(r->call->scratch, r->bound, t);
    for (int i = 0; i < t->nargs; i++) r->bytes += bytes[i];
}

lw_status code_show(Call *call, const lw_bound *b, lw_stage stage, const lw_show_options *o,
                    const View *views, const char **out) {
    Report r = {.call = call, .bound = b};
    lw_status status = bound_listed(call, b, &o->schedule, o->isa, o->threads, views, &r.l);
    if (status) return status;
    Text text = {.arena = call->arena};
    if (stage == LW_STAGE_ASM) {
        r.l.machine.target->list(&text, &r.l.code, &r.l.listing, r.l.text);
    } else {
        r.lines = split(call->arena, r.l.text);
        listing_loops(&r.l.code, &r.l.listing, &r.l.machine, &r.loops);
        count_work(&r);
        time_steps(&r);
        (o->json ? json_report : print_report)(&r, &text);
    }
    *out = text_str(&text);
    return LW_OK;
}
