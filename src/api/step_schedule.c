// The steps from a bound Program to a Tree: a Schedule is looked up, given or chosen, and lowered.
//
// Lowering adds to the pools of expressions and names that a Program belongs to, and one bound
// function may serve many threads. So a call lowers a copy of the Program (program_fork).
#include "api/database.h"

#include "base/bug.h"
#include "base/checked.h"
#include "sched/flatten.h"
#include "sched/mapping.h"
#include "stripe/stripe.h"
#include "tree/cost.h"
#include "tree/special.h"

#include <string.h>

static Source *source_in(Call *call, const char *name, const char *text) {
    Source *s = arena_new(call->arena, Source);
    size_t len = strlen(text);
    *s = (Source){arena_strndup(call->arena, name, strlen(name)),
                  arena_strndup(call->arena, text, len), (uint32_t)len};
    source_skip_mark(s);
    return s;
}

double bound_flops(Arena *scratch, const lw_bound *bound, const Tree *tree) {
    if (!bound->function->tree) return program_flops(scratch, bound->program);
    const BlockCost *root = cost_of(tree_cost(scratch, tree), &tree->root->node);
    return root ? (double)root->flops : 0;
}

double bound_int_ops(Arena *scratch, const lw_bound *bound) {
    return bound->function->tree ? 0 : program_int_ops(scratch, bound->program);
}

const double *bound_bytes(Arena *scratch, const lw_bound *bound, const Tree *tree) {
    const Program *p = bound->function->tree ? NULL : bound->program;
    int n = p ? p->ninputs + p->noutputs : tree->nargs;
    const double *touched = p ? program_touches(scratch, p) : NULL;
    double *bytes = arena_new_n(scratch, double, n + 1);
    for (int i = 0; i < n; i++) {
        bytes[i] = type_info[p ? p->tensors.at[i].type : tree->buffers.at[i].type].bytes;
        if (p) bytes[i] *= touched[i];
        for (int d = 0; !p && d < tree->buffers.at[i].rank; d++)
            bytes[i] *= (double)tree->buffers.at[i].size[d];
    }
    return bytes;
}

static lw_status parse(Compilation *c) {
    const char *name = c->text.name ? c->text.name : "<schedule>", *text = c->text.text;
    if (strlen(text) > LW_MAX_SOURCE)
        return call_misused(c->call, "the schedule is longer than LW_MAX_SOURCE bytes");
    c->schedule =
        schedule_read(c->call->arena, c->program, source_in(c->call, name, text), c->call->diags);
    if (c->schedule) return LW_OK;
    return schedule_is_mapping(text) && poly_missing() ? LW_UNAVAILABLE : LW_ERROR;
}

// A Stripe program is its own Tree; each call reads one of its own here too. A TeML function's is
// forked: evaluating the program again would judge every transformation again.
const Tree *own_tree(Call *call, const lw_bound *b) {
    if (b->function->reference) return tree_fork(call->arena, b->function->tree);
    Names *names = arena_new(call->arena, Names);
    names->arena = call->arena;
    Tree *t = stripe_parse(call->arena, names, &b->function->module->source, call->diags);
    if (!t) bug("a Stripe program does not read back");
    return t;
}

// --- Choosing ------------------------------------------------------------------------------------

bool is_chosen(const lw_bound *b, const lw_schedule_text *text) {
    return !b->function->tree && !text->text;
}

int threads_of(const Call *call, int threads) {
    return threads > 0 ? (int)min_i64(threads, POOL_MAX_THREADS) : call->ctx->threads;
}

const int64_t *const *strides_of(Arena *arena, const Program *p, const View *views) {
    int n = p->ninputs + p->noutputs;
    const int64_t **stride = views ? arena_new_n(arena, const int64_t *, n + 1) : NULL;
    for (int i = 0; stride && i < n; i++) stride[i] = views[i].stride;
    return stride;
}

static ChooseOptions choice_for(const Compilation *c, const Program *p) {
    ChooseOptions o = {.machine = c->machine,
                       .serial = threads_of(c->call, c->threads) == 1,
                       .plain = c->plain,
                       .stride = strides_of(c->call->arena, p, c->views)};
    if (!o.machine) o.machine = show_machine(c->call, NULL);
    return o;
}

static const Schedule *choose(const Compilation *c, const Program *p) {
    ChooseOptions o = choice_for(c, p);
    return o.machine ? o.machine->target->choose(c->call->arena, p, &o) : NULL;
}

bool chosen_in_parallel(const Compilation *c, const Program *p) {
    const Schedule *s = choose(c, p);
    for (int i = 0; s && i < s->nstmts; i++)
        for (int k = 0; k < s->stmt[i]->nloops; k++)
            if (s->stmt[i]->loop[k].kind == KIND_PARALLEL) return true;
    return false;
}

// --- The steps -----------------------------------------------------------------------------------

lw_status step_look_up(Compilation *c) {
    if (c->bound->function->tree) return LW_OK;
    c->program = program_fork(c->call->arena, c->bound->program);
    c->schedule = NULL;
    c->tree = NULL;
    if (!c->text.text) database_look_up(c);
    return LW_OK;
}

lw_status step_choose(Compilation *c) {
    if (c->bound->function->tree || c->tuned || is_description(&c->text)) return LW_OK;
    c->origin = c->text.text ? ORIGIN_GIVEN : ORIGIN_CHOSEN;
    if (c->text.text) return parse(c);
    c->schedule = choose(c, c->program);
    return c->schedule ? LW_OK : LW_ERROR;
}

// A flat form needs arguments that run through memory as one, too.
static bool views_fit(Compilation *c) {
    const Schedule *s = c->schedule;
    Call *call = c->call;
    if (!s->flatten || !c->views) return true;
    Flat flat = program_flatten(call->arena, c->program);
    if (flat_fits(&flat, c->program, strides_of(call->arena, c->program, c->views))) return true;
    const Source *before = call->diags->source;
    call->diags->source = s->source;
    diag_report(call->diags, s->flatten_range, DIAG_SCHEDULE_FLATTEN_STRIDES, c->program->name);
    call->diags->source = before;
    return false;
}

// A chosen Schedule lowers. Should one not, the plain choice is tried instead of telling the user.
static lw_status lower_schedule(Compilation *c) {
    Call *call = c->call;
    bool chosen = c->origin == ORIGIN_CHOSEN;
    DiagList quiet = {.arena = call->arena, .source = call->diags->source};
    DiagList *diags = chosen && !c->plain ? &quiet : call->diags;
    c->tree = tree_lower(call->arena, c->program, c->schedule, diags);
    if (!c->tree && chosen && !c->plain) {
        c->plain = true;
        c->again = STEP_CHOOSE;
        return LW_OK;
    }
    return c->tree && (chosen || views_fit(c)) ? LW_OK : LW_ERROR;
}

lw_status step_lower(Compilation *c) {
    if (is_description(&c->text)) return passes_lower(c);
    if (c->bound->function->tree) {
        c->tree = tree_expand(own_tree(c->call, c->bound));
        return LW_OK;
    }
    lw_status status = c->tuned ? LW_OK : lower_schedule(c); // the database's is lowered already
    if (status || c->again) return status;
    if (!c->schedule->nstmts) c->schedule = schedule_complete(c->call->arena, c->program, NULL);
    return LW_OK;
}

// The rules of lowering make it right: debug builds check that. "Not proven" is not an error.
lw_status step_verify(Compilation *c) {
#ifdef LW_DEBUG
    bool wanted = true;
#else
    bool wanted = is_dumped(c->call->ctx, STEP_VERIFY);
#endif
    if (c->bound->function->tree || !wanted) return LW_OK;
    DiagList found = {.arena = c->call->arena};
    c->verified = tree_verify(c->call->arena, c->tree, NULL, &found);
    if (c->verified == VERIFY_REFUSED)
        bug("a lowered tree does not verify: %s", found.items.at[0]->text);
    return LW_OK;
}

// --- Grids ---------------------------------------------------------------------------------------

static bool find_axis(void *user, const Node *node, int depth, const Block *parent) {
    const Block **found = user, *b = as_block(node);
    (void)depth, (void)parent;
    if (!*found && b && b->nindex && b->kind >= KIND_GRID_X) *found = b;
    return !*found;
}

const Block *grid_loop(const Tree *t) {
    const Block *found = NULL;
    tree_walk(t, find_axis, &found);
    return found;
}

static bool find_cache(void *user, const Node *node, int depth, const Block *parent) {
    const Leaf **found = user, *leaf = as_leaf(node);
    (void)depth, (void)parent;
    if (!*found && leaf && leaf->ncaches) *found = leaf;
    return !*found;
}

lw_status warn_grid(Compilation *c) {
    const Block *axis = grid_loop(c->tree);
    const Leaf *cached = NULL;
    tree_walk(c->tree, find_cache, &cached);
    if (axis)
        diag_report(c->call->diags, tree_range(c->tree, &axis->node), DIAG_SCHEDULE_GPU_LOOP,
                    axis->index[0].name, kind_name[axis->kind]);
    if (cached)
        diag_report(c->call->diags, tree_range(c->tree, &cached->node), DIAG_SCHEDULE_IDLE,
                    "'cache'", "only GPUs have cache operators");
    return c->call->diags->errors ? LW_ERROR : LW_OK;
}
