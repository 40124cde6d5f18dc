// Machine descriptions and passes through the API: a description may replace a Schedule.
#include "api/database.h"

#include "base/nearest.h"
#include "passes/pass.h"
#include "sched/schedule.h"
#include "simulate/simulate.h"
#include "stripe/stripe.h"
#include "tree/cost.h"
#include "tree/special.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MAX_DESCRIPTION = 1 << 20 };

static Names *names_in(Call *call) {
    Names *names = arena_new(call->arena, Names);
    names->arena = call->arena;
    return names;
}

static Source *source_of(Arena *arena, const char *name, const char *text) {
    Source *s = arena_new(arena, Source);
    *s = (Source){name, text, (uint32_t)strlen(text)};
    source_skip_mark(s);
    return s;
}

// --- Finding a description -----------------------------------------------------------------------

// A file's text; NULL, with the reason.
static const Source *read_description(Arena *arena, const char *path, const char **why) {
    char *text = arena_alloc(arena, MAX_DESCRIPTION + 1); // nothing is allocated while it is open
    FILE *f = fopen(path, "rb");
    if (!f) {
        *why = strerror(errno);
        return NULL;
    }
    size_t n = fread(text, 1, MAX_DESCRIPTION, f);
    bool bad = ferror(f) || !feof(f) || memchr(text, 0, n);
    fclose(f);
    *why = "it is no text of at most 1 MiB";
    return bad ? NULL : source_of(arena, arena_strndup(arena, path, strlen(path)), text);
}

// An included file lies beside the one that includes it.
static const Source *include_file(void *user, Arena *arena, const char *name, const Source *from,
                                  const char **why) {
    (void)user;
    const char *slash = strrchr(from->name, '/');
    size_t folder = slash && name[0] != '/' ? (size_t)(slash - from->name) + 1 : 0;
    return read_description(arena, arena_printf(arena, "%.*s%s", (int)folder, from->name, name),
                            why);
}

static const char *shipped_at(const void *of, size_t i) {
    (void)of;
    return shipped_name((int)i);
}

// A name with a dot or a slash is a file.
static const Source *find_description(Call *call, const char *name) {
    const char *why = NULL, *text = shipped_text(name);
    if (text) return source_of(call->arena, arena_strndup(call->arena, name, strlen(name)), text);
    bool file = strchr(name, '/') || strchr(name, '.');
    const Source *s = file ? read_description(call->arena, name, &why) : NULL;
    if (s) return s;
    if (file) {
        diag_report(call->diags, (Range){0, 0}, DIAG_HARDWARE_READ, name, why);
    } else {
        Diag *d = diag_report(call->diags, (Range){0, 0}, DIAG_HARDWARE_NONE, name);
        diag_suggest(call->diags, d, name, shipped_at, NULL);
    }
    return NULL;
}

// This machine: the shipped description of its instruction set with its own sizes and rates.
static const Source *describe_this(Call *call) {
    const Machine *m = pick_machine(call, NULL);
    if (!m) return NULL;
    Text text = {.arena = call->arena};
    text_printf(&text, "machine host \"%s\"\ninclude %s\n", m->cpu, m->target->description(m));
    for (int level = 1; level <= 3; level++)
        if (m->cache[level])
            text_printf(&text, "memory L%d size=%lld line=%d\n", level, (long long)m->cache[level],
                        m->line_bytes);
    const Rates *r = m->rates;
    for (int level = 0; r && r->ghz > 0 && level < 3; level++)
        if (m->cache[level + 1] && r->move[level][MOVE_LOAD][CORES_ONE] > 0)
            text_printf(&text, "memory L%d bandwidth=%.1f\n", level + 1,
                        r->move[level][MOVE_LOAD][CORES_ONE] / r->ghz);
    text_printf(&text, "compute core count=%d\n", threads_of(call, 0));
    return source_of(call->arena, "this machine", text_str(&text));
}

// Reads a description and those that it includes; NULL: reported.
static const char *in_full(Call *call, const Source *s) {
    const Hardware *h =
        s ? hardware_parse(call->arena, names_in(call), s, include_file, NULL, call->diags) : NULL;
    Text text = {.arena = call->arena};
    if (h) hardware_print(&text, h);
    return h ? text_str(&text) : NULL;
}

const char *description_in_full(Call *call, const lw_schedule_text *text) {
    return in_full(call, source_of(call->arena, text->name ? text->name : "<machine>", text->text));
}

typedef struct DescribeCall {
    const char *name, *text;
} DescribeCall;

static lw_status describe_body(Call *call, void *args) {
    DescribeCall *d = args;
    d->text = in_full(call, d->name ? find_description(call, d->name) : describe_this(call));
    return d->text ? LW_OK : LW_ERROR;
}

lw_status lw_machine_describe(lw_context *ctx, const char *name, const char **out) {
    if (!out) return call_null(ctx, "out");
    *out = NULL;
    DescribeCall d = {.name = name};
    lw_status status = call_run(ctx, describe_body, &d);
    if (status == LW_OK) *out = d.text;
    return status;
}

// --- Lowering ------------------------------------------------------------------------------------

// Every statement in loops of its own, so that passes find nothing decided.
static const Tree *flat_program(Arena *arena, const Program *p, DiagList *diags) {
    const Schedule *s = schedule_complete(arena, p, NULL);
    for (int i = 0; i < p->stmts.n; i++) {
        const Schedule *staged = schedule_stage(s, p->stmts.at[i].label, 0);
        if (staged) s = staged;
    }
    return tree_lower(arena, p, s, diags);
}

static const Tree *flat_tree(Call *call, const lw_bound *b) {
    if (b->function->tree) return tree_expand(own_tree(call, b));
    return flat_program(call->arena, program_fork(call->arena, b->program), call->diags);
}

const Tree *passes_tree(Arena *arena, const Program *p, const char *text, DiagList *diags) {
    const Tree *t = flat_program(arena, p, diags);
    const Source *source = source_of(arena, "<machine>", text);
    const Hardware *h = t ? hardware_parse(arena, t->names, source, NULL, NULL, diags) : NULL;
    Passes passes;
    bool ok = h && passes_run(arena, h, t, &(PassesOptions){0}, &passes, diags);
    return ok ? passes.tree : NULL;
}

// The description that a text is, and the Tree that its passes make of the flat one.
typedef struct Lowered {
    const Hardware *h;
    const Tree *flat;
    Passes passes;
} Lowered;

static lw_status lower_by_passes(Call *call, const lw_bound *b, const lw_schedule_text *text,
                                 const PassesOptions *o, Lowered *out) {
    const Tree *t = out->flat = flat_tree(call, b);
    if (!t) return LW_ERROR;
    const char *name = text->name ? text->name : "<machine>";
    const Source *source = source_of(call->arena, arena_strndup(call->arena, name, strlen(name)),
                                     arena_strndup(call->arena, text->text, strlen(text->text)));
    const Hardware *h =
        hardware_parse(call->arena, t->names, source, include_file, NULL, call->diags);
    out->h = h;
    return h && passes_run(call->arena, h, t, o, &out->passes, call->diags) ? LW_OK : LW_ERROR;
}

static lw_status run_passes(Call *call, const lw_bound *b, const lw_schedule_text *text,
                            const PassesOptions *o, Passes *out) {
    Lowered l = {0};
    lw_status status = lower_by_passes(call, b, text, o, &l);
    *out = l.passes;
    return status;
}

bool is_description(const lw_schedule_text *text) { return text->text && hardware_is(text->text); }

// By the description that was tuned from the given one, if the database has it.
static bool lower_tuned(Compilation *c, Passes *out) {
    Call *call = c->call;
    const char *tuned = database_description(c);
    if (!tuned) return false;
    const Tree *t = flat_tree(call, c->bound);
    DiagList quiet = {.arena = call->arena};
    const Hardware *h =
        t ? hardware_parse(call->arena, t->names, source_of(call->arena, "<tuned>", tuned), NULL,
                           NULL, &quiet)
          : NULL;
    PassesOptions o = {.scratch = call->scratch};
    if (h && passes_run(call->arena, h, t, &o, out, &quiet)) return true;
    database_ignore(c, &quiet);
    return false;
}

lw_status passes_lower(Compilation *c) {
    Passes passes;
    c->origin = ORIGIN_TUNED;
    if (!lower_tuned(c, &passes)) {
        PassesOptions o = {.scratch = c->call->scratch};
        lw_status status = run_passes(c->call, c->bound, &c->text, &o, &passes);
        if (status) return status;
        c->origin = ORIGIN_GIVEN;
    }
    c->tree = passes.tree;
    return LW_OK;
}

// --- Showing -------------------------------------------------------------------------------------

static void json_text(Text *out, const char *s) {
    text_char(out, '"');
    text_json(out, s);
    text_char(out, '"');
}

const char *passes_schedule(Call *call, const Tree *t) {
    Text text = {.arena = call->arena};
    const char *why = NULL, *name = t->program ? t->program->name : "f";
    const Schedule *s = schedule_of_tree(call->arena, t, &why);
    if (!s) {
        diag_report(call->diags, (Range){0, 0}, DIAG_PASS_NO_SCHEDULE, name, why);
        return NULL;
    }
    schedule_print(&text, s);
    return text_str(&text);
}

static const char *tree_text(Call *call, const Tree *t, const lw_passes_options *o) {
    Text text = {.arena = call->arena};
    if (o->stage == LW_STAGE_STRIPE)
        stripe_print(&text, t);
    else
        tree_show(&text, t, o->cost);
    return text_str(&text);
}

// The unit that a buffer lives in; without a place that is the outermost one. -1: there is none.
static int unit_of(const Hardware *h, const Buffer *b) {
    for (int i = 0; i < h->memory.n; i++)
        if (b->place.n ? !strcmp(b->place.unit[b->place.n - 1].name, h->memory.at[i].name)
                       : h->memory.at[i].in < 0)
            return i;
    return -1;
}

// {"line": 3, "bytes": [0, 2880]}: what a whole execution of a node touches in each unit.
static void footprint_json(Call *call, Text *out, const Hardware *h, const Tree *t,
                           const BlockCost *c, int line) {
    int64_t *bytes = arena_new_n(call->arena, int64_t, h->memory.n + 1);
    for (int i = 0; i < t->buffers.n; i++) {
        int unit = unit_of(h, &t->buffers.at[i]);
        if (unit >= 0) bytes[unit] += c->buffer[i];
    }
    text_printf(out, "{\"line\": %d, \"bytes\": [", line);
    for (int i = 0; i < h->memory.n; i++)
        text_printf(out, "%s%lld", i ? ", " : "", (long long)bytes[i]);
    text_add(out, "]}");
}

// The memory units, and the footprints of the blocks of a Tree in them, by its lines as text.
static void footprints_json(Call *call, Text *out, const Hardware *h, const Tree *t) {
    const TreeCost *cost = tree_cost(call->arena, t);
    const int *line = tree_lines(call->arena, t);
    bool first = true;
    text_add(out, ", \"units\": [");
    for (int i = 0; i < h->memory.n; i++)
        text_printf(out, "%s{\"name\": \"%s\", \"size\": %lld}", i ? ", " : "",
                    h->memory.at[i].name, (long long)h->memory.at[i].size);
    text_add(out, "], \"blocks\": [");
    for (int i = 0; i < cost->n; i++) {
        if (!line[i] || !as_block(cost->at[i].node)) continue;
        if (!first) text_add(out, ", ");
        first = false;
        footprint_json(call, out, h, t, &cost->at[i], line[i]);
    }
    text_char(out, ']');
}

static void step_json(Call *call, Text *out, const Hardware *h, const PassStep *s,
                      const lw_passes_options *o) {
    text_add(out, "{\"label\": ");
    json_text(out, s->call->label);
    text_add(out, ", \"pass\": ");
    json_text(out, s->call->pass->name);
    text_printf(out, ", \"summary\": \"%s\", \"changed\": %s, \"us\": %.1f, \"notes\": [",
                s->call->pass->summary, s->changed ? "true" : "false", s->us);
    for (int i = 0; i < s->nnotes; i++) {
        text_add(out, i ? ", {\"block\": " : "{\"block\": ");
        json_text(out, s->notes[i].block);
        text_printf(out, ", \"refused\": %s, \"text\": ", s->notes[i].refused ? "true" : "false");
        json_text(out, s->notes[i].text);
        text_char(out, '}');
    }
    text_add(out, "], \"tree\": ");
    json_text(out, tree_text(call, s->tree, o));
    if (o->stage == LW_STAGE_TREE) footprints_json(call, out, h, s->tree);
    text_char(out, '}');
}

typedef struct PassesCall {
    const lw_bound *bound;
    lw_passes_options options;
    const char *text;
} PassesCall;

static void write_passes(Call *call, const PassesCall *c, const Passes *p, Text *out) {
    const lw_passes_options *o = &c->options;
    if (o->json) {
        text_add(out, "[");
        for (int i = 0; i < p->nsteps; i++) {
            if (i) text_add(out, ",\n");
            step_json(call, out, p->machine, &p->step[i], o);
        }
        text_add(out, "]");
        return;
    }
    if (o->explain) passes_explain(out, p);
    for (int i = 0; o->each && i < p->nsteps; i++) {
        if (!p->step[i].changed) continue;
        text_printf(out, "// after %s\n%s\n", p->step[i].call->label,
                    tree_text(call, p->step[i].tree, o));
    }
    if (!o->explain && !o->each) text_add(out, tree_text(call, p->tree, o));
}

static lw_status passes_body(Call *call, void *args) {
    PassesCall *c = args;
    if (!is_description(&c->options.machine))
        return call_misused(call, "'machine' is no machine description");
    PassesOptions o = {.until = c->options.until, .clock = now_us, .scratch = call->scratch};
    Passes passes;
    lw_status status = run_passes(call, c->bound, &c->options.machine, &o, &passes);
    if (status) return status;
    Text text = {.arena = call->arena};
    bool schedule = c->options.stage == LW_STAGE_SCHEDULE;
    if (!schedule) write_passes(call, c, &passes, &text);
    c->text = schedule ? passes_schedule(call, passes.tree) : text_str(&text);
    return c->text ? LW_OK : LW_ERROR;
}

lw_status lw_bound_passes(lw_context *ctx, const lw_bound *b, const lw_passes_options *options,
                          const char **out) {
    if (!out) return call_null(ctx, "out");
    *out = NULL;
    if (!b) return call_null(ctx, "b");
    PassesCall c = {.bound = b};
    if (!options_copy(&c.options, sizeof c.options, options)) return call_unsized(ctx);
    lw_stage stage = c.options.stage;
    if (stage != LW_STAGE_STRIPE && stage != LW_STAGE_TREE && stage != LW_STAGE_SCHEDULE)
        return call_misuse(ctx,
                           "'stage' is %d, and must be LW_STAGE_TREE, LW_STAGE_STRIPE or "
                           "LW_STAGE_SCHEDULE",
                           (int)stage);
    if (stage == LW_STAGE_SCHEDULE && (c.options.each || c.options.explain || c.options.json))
        return call_misuse(ctx, "LW_STAGE_SCHEDULE is the form of the last loops only");
    lw_status status = call_run(ctx, passes_body, &c);
    if (status == LW_OK) *out = c.text;
    return status;
}

// --- Simulating ----------------------------------------------------------------------------------

typedef struct SimulateCall {
    const lw_bound *bound;
    lw_simulate_options options;
    const char *text;
} SimulateCall;

static lw_status simulate_body(Call *call, void *args) {
    SimulateCall *c = args;
    const lw_simulate_options *o = &c->options;
    const Program *p = c->bound->program;
    if (!is_description(&o->machine))
        return call_misused(call, "'machine' is no machine description");
    Lowered l = {0};
    PassesOptions until = {.until = o->until};
    lw_status status = lower_by_passes(call, c->bound, &o->machine, &until, &l);
    if (status) return status;
    View *views = arena_new_n(call->arena, View, p->ninputs + p->noutputs + 1);
    if (o->args && !check_arguments(call, c->bound, o->args, o->count, views)) return LW_ERROR;
    call_source(call, c->bound->function->module);
    Simulation s;
    bool ok =
        o->args ? simulate_executed(call->arena, l.h, l.passes.tree, l.flat, views, &s, call->diags)
                : simulate(call->arena, l.h, l.passes.tree, l.flat, &s, call->diags);
    if (!ok) return LW_ERROR;
    Text text = {.arena = call->arena};
    if (o->form == LW_SIMULATION_JSON)
        sim_json(&text, &s);
    else if (o->form == LW_SIMULATION_SVG)
        sim_svg(&text, &s, p->name);
    else
        sim_report(&text, &s);
    c->text = text_str(&text);
    return LW_OK;
}

lw_status lw_bound_simulate(lw_context *ctx, const lw_bound *b, const lw_simulate_options *options,
                            const char **out) {
    if (!out) return call_null(ctx, "out");
    *out = NULL;
    if (!b) return call_null(ctx, "b");
    SimulateCall c = {.bound = b};
    if (!options_copy(&c.options, sizeof c.options, options)) return call_unsized(ctx);
    if ((unsigned)c.options.form > LW_SIMULATION_SVG)
        return call_misuse(ctx, "'form' is %d, which is no lw_simulation", (int)c.options.form);
    lw_status status = call_run(ctx, simulate_body, &c);
    if (status == LW_OK) *out = c.text;
    return status;
}
