// lw_schedule: Schedules changed by actions.
//
// A handle keeps text and a description, and nothing that belongs to a pool of expressions or
// names: each call reads the text again, for a Program of its own (about 10 us for a matrix
// product). So handles are as immutable for threads as they look, and a chain of edits keeps no
// memory of its past.
#include "api/nodes.h"

#include "api/pipeline.h"
#include "api/rates.h"
#include "space/bound.h"
#include "target/target.h"

#include <string.h>

struct LoopName {
    const char *name; // "C:m/64"
    int node;
};

struct lw_schedule {
    lw_context *ctx;
    lw_bound *bound;
    Arena arena;
    const char *text;
    NodeList nodes;
    Spot *spot; // per node; no label: none
    size_t nnames;
    struct LoopName *names; // of the loops, one per statement that has it
    Spot cursor;
    int cursor_node;
};

// --- Making a handle -----------------------------------------------------------------------------

static Spot keep_spot(Arena *arena, Spot s) {
    return (Spot){s.label ? arena_strndup(arena, s.label, strlen(s.label)) : NULL, s.at};
}

static int node_of(const lw_schedule *s, int index) {
    for (size_t i = 0; i < s->nodes.n; i++) {
        const Block *b = as_block(s->nodes.node[i]);
        if (b && b->nindex && b->index[0].id == index) return (int)i;
    }
    return -1;
}

static void name_loops(lw_schedule *s, const Loops *x) {
    s->names = arena_new_n(&s->arena, struct LoopName, x->map.place.n + 1);
    for (int i = 0; i < x->map.place.n; i++) {
        const LoopPlace *p = &x->map.place.at[i];
        const char *name = p->repeated ? NULL : loops_name(x, (Spot){p->label, p->at});
        if (!name) continue;
        name = arena_strndup(&s->arena, name, strlen(name));
        s->names[s->nnames++] = (struct LoopName){name, node_of(s, p->index)};
    }
}

static void describe(Call *call, lw_schedule *s, const Loops *x) {
    Text text = {.arena = &s->arena};
    schedule_print(&text, x->s);
    s->text = text_str(&text);
    s->nodes = nodes_describe(call, &s->arena, x->tree, x);
    s->spot = arena_new_n(&s->arena, Spot, s->nodes.n + 1);
    s->cursor = keep_spot(&s->arena, x->cursor);
    for (size_t i = 0; i < s->nodes.n; i++) {
        const Block *b = as_block(s->nodes.node[i]);
        if (b && b->nindex) s->spot[i] = keep_spot(&s->arena, loops_spot(x, b->index[0].id));
    }
    s->cursor_node = node_of(s, loops_index(x, x->cursor));
    name_loops(s, x);
    s->nodes.node = NULL; // of the call
}

static void make(Call *call, const lw_bound *b, const Loops *x, lw_schedule **into) {
    lw_schedule *s = call_new(call, sizeof *s);
    *into = s;
    s->ctx = call->ctx;
    context_hold(s->ctx);
    arena_init(&s->arena, &s->ctx->allocator);
    call_join(call, &s->arena);
    s->bound = (lw_bound *)b;
    bound_hold(s->bound);
    describe(call, s, x);
    call_part(call);
}

void lw_schedule_free(lw_schedule *s) {
    if (!s) return;
    lw_context *ctx = s->ctx;
    lw_bound_free(s->bound);
    arena_free(&s->arena);
    ctx->allocator.free(ctx->allocator.user, s, sizeof *s);
    context_drop(ctx);
}

static lw_status new_body(Call *call, void *arg) {
    EditNew *n = arg;
    const Schedule *schedule;
    const Tree *tree;
    if (n->bound->function->tree) return function_is_tree(call, n->bound->function);
    lw_status status = edit_lower(call, n->bound, &n->options, &schedule, &tree);
    if (status) return status;
    Loops x = {.arena = call->arena, .p = tree->given};
    if (!loops_open(&x, schedule, call->diags)) return LW_ERROR;
    make(call, n->bound, &x, &n->made.schedule);
    return LW_OK;
}

lw_status lw_schedule_new(lw_context *ctx, const lw_bound *b, const lw_show_options *options,
                          lw_schedule **out) {
    if (!out) return call_null(ctx, "out");
    *out = NULL;
    EditNew n = {.bound = b};
    lw_status status = edit_new(ctx, new_body, &n, options);
    if (status)
        lw_schedule_free(n.made.schedule);
    else
        *out = n.made.schedule;
    return status;
}

// --- Asking --------------------------------------------------------------------------------------

const lw_bound *lw_schedule_bound(const lw_schedule *s) { return s ? s->bound : NULL; }
lw_schedule_text lw_schedule_get(const lw_schedule *s) {
    return (lw_schedule_text){s ? s->text : NULL, "<schedule>"};
}
const char *lw_schedule_tree(const lw_schedule *s) { return s ? s->nodes.text : ""; }
size_t lw_schedule_node_count(const lw_schedule *s) { return s ? s->nodes.n : 0; }
const lw_node *lw_schedule_node(const lw_schedule *s, size_t i) {
    return s && i < s->nodes.n ? &s->nodes.at[i] : NULL;
}

size_t lw_schedule_access_count(const lw_schedule *s) { return s ? s->nodes.naccesses : 0; }
const lw_access *lw_schedule_access(const lw_schedule *s, size_t i) {
    return s && i < s->nodes.naccesses ? &s->nodes.access[i] : NULL;
}

int lw_schedule_find(const lw_schedule *s, const char *loop) {
    int found = -1;
    for (size_t i = 0; s && loop && i < s->nnames; i++) {
        const char *name = s->names[i].name, *iter = strchr(name, ':') + 1;
        if (strcmp(name, loop) == 0) return s->names[i].node;
        if (strcmp(iter, loop) != 0) continue;
        found = found == -1 || found == s->names[i].node ? s->names[i].node : -2;
    }
    return found;
}

int lw_schedule_cursor(const lw_schedule *s) { return s ? s->cursor_node : -1; }

const char *lw_schedule_action(size_t i, const char **meaning) {
    if (meaning) *meaning = i < ACTION_COUNT ? action_info[i].meaning : NULL;
    return i < ACTION_COUNT ? action_info[i].usage : NULL;
}

// --- Editing -------------------------------------------------------------------------------------

typedef struct EditCall {
    const lw_schedule *from;
    const char *name, *script; // a script; or
    Action action;
    int loop, other; // numbers of nodes; -1: none
    const char *label, *host, *tensor;
    lw_schedule *made;
} EditCall;

static bool open_loops(Call *call, const lw_schedule *s, Loops *x) {
    const Program *p = program_fork(call->arena, s->bound->program);
    *x = (Loops){.arena = call->arena, .p = p};
    const Source *text = edit_source(call, "<schedule>", s->text);
    const Schedule *schedule = schedule_parse(call->arena, p->names, text, call->diags);
    if (!schedule || !loops_open(x, schedule, call->diags)) return false;
    Spot cursor = {s->cursor.label ? name_of(p->names, s->cursor.label) : NULL, s->cursor.at};
    if (loops_find(x, cursor) >= 0) x->cursor = cursor;
    return true;
}

// The loop of a node; false: it is none, which is reported.
static bool take_loop(Call *call, const EditCall *e, const Loops *x, int node, Spot *out) {
    const lw_schedule *s = e->from;
    const char *label = node >= 0 && (size_t)node < s->nodes.n ? s->spot[node].label : NULL;
    if (label) {
        *out = (Spot){name_of(x->p->names, label), s->spot[node].at};
        return true;
    }
    diag_report(call->diags, (Range){0}, DIAG_EDIT_SHAPE, action_info[e->action.id].word,
                arena_printf(call->arena, "node %d is not a loop of a statement", node));
    return false;
}

static bool has_statement(const Program *p, Name label) {
    for (int i = 0; i < p->stmts.n; i++)
        if (p->stmts.at[i].label == label) return true;
    return false;
}

static bool take_label(Call *call, const Loops *x, const char *given, Name *out) {
    if (!given) return true;
    *out = name_of(x->p->names, given);
    if (has_statement(x->p, *out) || has_statement(x->tree->program, *out)) return true;
    diag_report(call->diags, (Range){0}, DIAG_SCHEDULE_UNKNOWN_LABEL, given);
    return false;
}

static lw_status edit_body(Call *call, void *arg) {
    EditCall *e = arg;
    Loops x;
    call_source(call, e->from->bound->function->module);
    if (!open_loops(call, e->from, &x)) return LW_ERROR;
    bool ok = true;
    if (e->script) {
        ok = loops_script(&x, edit_source(call, e->name, e->script), call->diags);
    } else {
        Action *a = &e->action;
        if (e->loop != -1) ok = take_loop(call, e, &x, e->loop, &a->loop);
        if (ok && e->other != -1) ok = take_loop(call, e, &x, e->other, &a->other);
        ok = ok && take_label(call, &x, e->label, &a->label) &&
             take_label(call, &x, e->host, &a->host);
        if (e->tensor) a->tensor = name_of(x.p->names, e->tensor);
        ok = ok && loops_act(&x, a, call->diags);
    }
    if (!ok) return LW_ERROR;
    make(call, e->from->bound, &x, &e->made);
    return LW_OK;
}

static lw_status edit(lw_context *ctx, EditCall e, lw_schedule **out) {
    if (!out) return call_null(ctx, "out");
    *out = NULL;
    if (!e.from) return call_null(ctx, "s");
    lw_status status = call_run(ctx, edit_body, &e);
    if (status)
        lw_schedule_free(e.made);
    else
        *out = e.made;
    return status;
}

static lw_status missing(lw_context *ctx, const char *argument, lw_schedule **out) {
    if (out) *out = NULL;
    return call_null(ctx, argument);
}

lw_status lw_schedule_edit(lw_context *ctx, const lw_schedule *s, const char *name,
                           const char *script, lw_schedule **out) {
    if (out) *out = NULL;
    lw_status status = edit_script(ctx, script);
    return status ? status : edit(ctx, (EditCall){.from = s, .name = name, .script = script}, out);
}

static lw_status on_loops(lw_context *ctx, const lw_schedule *s, Action a, int loop, int other,
                          lw_schedule **out) {
    if (loop == -1) loop = -2; // not a node
    return edit(ctx, (EditCall){.from = s, .action = a, .loop = loop, .other = other}, out);
}

lw_status lw_schedule_goto(lw_context *ctx, const lw_schedule *s, int loop, lw_schedule **out) {
    return on_loops(ctx, s, (Action){.id = ACTION_GOTO}, loop, -1, out);
}

lw_status lw_schedule_split(lw_context *ctx, const lw_schedule *s, int loop, int64_t inner,
                            bool interleaved, lw_schedule **out) {
    ActionId id = interleaved ? ACTION_INTERLEAVE : ACTION_SPLIT;
    return on_loops(ctx, s, (Action){.id = id, .n = inner}, loop, -1, out);
}

lw_status lw_schedule_merge(lw_context *ctx, const lw_schedule *s, int loop, lw_schedule **out) {
    return on_loops(ctx, s, (Action){.id = ACTION_MERGE}, loop, -1, out);
}

lw_status lw_schedule_swap(lw_context *ctx, const lw_schedule *s, int a, int b, lw_schedule **out) {
    return on_loops(ctx, s, (Action){.id = ACTION_SWAP}, a, b == -1 ? -2 : b, out);
}

lw_status lw_schedule_move(lw_context *ctx, const lw_schedule *s, int loop, int to,
                           lw_schedule **out) {
    return on_loops(ctx, s, (Action){.id = ACTION_MOVE}, loop, to == -1 ? -2 : to, out);
}

lw_status lw_schedule_skew(lw_context *ctx, const lw_schedule *s, int loop, int by, int64_t factor,
                           lw_schedule **out) {
    Action a = {.id = ACTION_SKEW, .n = factor};
    return on_loops(ctx, s, a, loop, by == -1 ? -2 : by, out);
}

lw_status lw_schedule_annotate(lw_context *ctx, const lw_schedule *s, int loop, lw_loop_kind kind,
                               lw_schedule **out) {
    if ((unsigned)kind >= KIND_COUNT) {
        if (out) *out = NULL;
        return call_misuse(ctx, "'kind' is %d, which is not a valid lw_loop_kind", (int)kind);
    }
    return on_loops(ctx, s, (Action){.id = ACTION_ANNOTATE, .kind = (Kind)kind}, loop, -1, out);
}

static lw_status on_statement(lw_context *ctx, EditCall e, lw_schedule **out) {
    if (!e.label) return missing(ctx, "statement", out);
    return edit(ctx, e, out);
}

lw_status lw_schedule_copy_input(lw_context *ctx, const lw_schedule *s, const char *statement,
                                 const char *tensor, int loop, lw_schedule **out) {
    if (!tensor) return missing(ctx, "tensor", out);
    EditCall e = {.from = s, .action.id = ACTION_COPY, .loop = loop, .other = -1};
    e.label = statement, e.tensor = tensor;
    return on_statement(ctx, e, out);
}

lw_status lw_schedule_drop_copy(lw_context *ctx, const lw_schedule *s, const char *statement,
                                const char *tensor, lw_schedule **out) {
    if (!tensor) return missing(ctx, "tensor", out);
    EditCall e = {.from = s, .action.id = ACTION_DROP, .loop = -1, .other = -1};
    e.label = statement, e.tensor = tensor;
    return on_statement(ctx, e, out);
}

static lw_status plain(lw_context *ctx, const lw_schedule *s, ActionId id, const char *statement,
                       lw_schedule **out) {
    EditCall e = {.from = s, .action.id = id, .loop = -1, .other = -1, .label = statement};
    return on_statement(ctx, e, out);
}

lw_status lw_schedule_increase_reuse(lw_context *ctx, const lw_schedule *s, const char *statement,
                                     lw_schedule **out) {
    return plain(ctx, s, ACTION_REUSE, statement, out);
}

lw_status lw_schedule_decrease_reuse(lw_context *ctx, const lw_schedule *s, const char *statement,
                                     lw_schedule **out) {
    return plain(ctx, s, ACTION_LESS_REUSE, statement, out);
}

lw_status lw_schedule_inline(lw_context *ctx, const lw_schedule *s, const char *statement,
                             lw_schedule **out) {
    return plain(ctx, s, ACTION_INLINE, statement, out);
}

lw_status lw_schedule_root(lw_context *ctx, const lw_schedule *s, const char *statement,
                           lw_schedule **out) {
    return plain(ctx, s, ACTION_ROOT, statement, out);
}

lw_status lw_schedule_compute_at(lw_context *ctx, const lw_schedule *s, const char *statement,
                                 int loop, lw_schedule **out) {
    EditCall e = {.from = s, .action.id = ACTION_AT, .loop = loop == -1 ? -2 : loop, .other = -1};
    e.label = statement;
    return on_statement(ctx, e, out);
}

lw_status lw_schedule_after(lw_context *ctx, const lw_schedule *s, const char *statement,
                            const char *host, lw_schedule **out) {
    if (!host) return missing(ctx, "host", out);
    EditCall e = {.from = s, .action.id = ACTION_AFTER, .loop = -1, .other = -1};
    e.label = statement, e.host = host;
    return on_statement(ctx, e, out);
}

lw_status lw_schedule_swap_dims(lw_context *ctx, const lw_schedule *s, const char *statement, int a,
                                int b, lw_schedule **out) {
    EditCall e = {.from = s, .action.id = ACTION_LAYOUT, .loop = -1, .other = -1};
    e.label = statement, e.action.n = a, e.action.m = b;
    return on_statement(ctx, e, out);
}

// --- What would happen ---------------------------------------------------------------------------

typedef struct AskCall {
    const lw_schedule *from;
    const char *const *scripts;
    size_t count;
    bool *accepts;
    int threads;
    double bound;
} AskCall;

static lw_status accepts_body(Call *call, void *arg) {
    AskCall *a = arg;
    Loops x;
    if (!open_loops(call, a->from, &x)) return LW_ERROR;
    for (size_t i = 0; i < a->count; i++) {
        Loops now = x;
        DiagList quiet = {.arena = call->arena};
        a->accepts[i] = loops_script(&now, edit_source(call, "<edit>", a->scripts[i]), &quiet);
    }
    return LW_OK;
}

lw_status lw_schedule_accepts(lw_context *ctx, const lw_schedule *s, const char *const *scripts,
                              size_t count, bool *out) {
    if (!s) return call_null(ctx, "s");
    if (!out && count) return call_null(ctx, "out");
    for (size_t i = 0; i < count; i++)
        if (!scripts || !scripts[i]) return call_null(ctx, "scripts");
    AskCall a = {.from = s, .scripts = scripts, .count = count, .accepts = out};
    return call_run(ctx, accepts_body, &a);
}

// The candidate with the decisions of a Schedule: all of them, or one by one those that agree with
// the others.
static void decide(Call *call, const Space *space, const Decision *d, int n, Cand *c) {
    SpaceWork *work = space_work(call->arena, space);
    Cand *next = space_cand(call->arena, space);
    space_copy(space, next, c);
    if (space_apply(work, next, d, n)) return space_copy(space, c, next);
    for (int i = 0; i < n; i++) {
        space_copy(space, next, c);
        if (space_apply(work, next, &d[i], 1)) space_copy(space, c, next);
    }
}

static bool reduces(const Program *p, Name label, Name iter) {
    for (int i = 0; i < p->stmts.n; i++) {
        const Stmt *s = &p->stmts.at[i];
        int at = s->label == label ? stmt_find_iter(s, iter) : -1;
        if (at >= 0) return s->iter[at].reduction;
    }
    return false;
}

// A Schedule as it runs: parallel loops over a reduction are serial unless it is privatised, since
// threads would update the same elements.
static const Schedule *as_it_runs(Arena *arena, const Program *p, const Schedule *s) {
    const SchedStmt **stmt = arena_new_n(arena, const SchedStmt *, s->nstmts + 1);
    for (int i = 0; i < s->nstmts; i++) {
        SchedStmt *now = arena_new(arena, SchedStmt);
        SchedLoop *loop = arena_new_n(arena, SchedLoop, s->stmt[i]->nloops + 1);
        *now = *s->stmt[i];
        for (int k = 0; k < now->nloops; k++) {
            loop[k] = now->loop[k];
            if (loop[k].kind == KIND_PARALLEL && !now->privatise.iter &&
                reduces(p, now->label, loop[k].iter))
                loop[k].kind = KIND_SERIAL;
        }
        now->loop = loop;
        stmt[i] = now;
    }
    Schedule *made = arena_new(arena, Schedule);
    *made = *s;
    made->stmt = stmt;
    return made;
}

static lw_status bound_body(Call *call, void *arg) {
    AskCall *a = arg;
    const Program *p = program_fork(call->arena, a->from->bound->program);
    const Source *text = edit_source(call, "<schedule>", a->from->text);
    const Schedule *s = schedule_parse(call->arena, p->names, text, call->diags);
    if (s) s = as_it_runs(call->arena, p, s);
    CpuOptions o = {.threads = a->threads > 0 ? a->threads : 2, .given = s, .literal = true};
    const Machine *m = s ? pick_machine(call, NULL) : NULL; // kept by the context
    if (!m) return LW_ERROR;
    o.machine = *m;
    if (!measure_known(call, &o.machine)) return LW_UNAVAILABLE;
    const TargetSpace *target = o.machine.target->space;
    ProgramSpace space;
    DiagList quiet = {.arena = call->arena};
    int n;
    if (!target->make(call->arena, p, &o, &space, call->diags)) return LW_ERROR;
    BoundOptions rates = {.machine = &o.machine, .threads = o.threads};
    const BoundModel *model = target->bound(call->arena, &space, &rates);
    const Decision *d = target->read(call->arena, &space, s, &quiet, &n);
    Cand *c = space_cand(call->arena, space.space);
    space_copy(space.space, c, space.space->root);
    if (d) decide(call, space.space, d, n, c);
    a->bound = model ? bound_seconds(model, c, NULL) : 0;
    return LW_OK;
}

lw_status lw_schedule_lower_bound(lw_context *ctx, const lw_schedule *s, int threads, double *out) {
    if (!out) return call_null(ctx, "out");
    *out = 0;
    if (!s) return call_null(ctx, "s");
    if (threads < 0) return call_threads(ctx, threads);
    AskCall a = {.from = s, .threads = threads};
    lw_status status = call_run(ctx, bound_body, &a);
    if (status == LW_OK) *out = a.bound;
    return status;
}
