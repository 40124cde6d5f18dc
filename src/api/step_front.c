// The first steps: parse a text in any language, infer ranges and sizes, and bind the sizes.
#include "api/pipeline.h"

#include "lang/graph.h"
#include "stripe/lift.h"
#include "stripe/stripe.h"
#include "tree/special.h"

static Module *just(Arena *arena, Program *program) {
    Module *m = arena_new(arena, Module);
    if (program) vec_push(arena, &m->programs, program);
    return m;
}

static Module *parse_graph(Compilation *c) {
    lw_module *mod = c->mod;
    c->graph = graph_parse(&mod->arena, &mod->names, &mod->source, c->call->diags);
    return just(&mod->arena, NULL);
}

static Module *parse_programs(lw_module *mod, DiagList *diags) {
    Program **list;
    int n = program_parse_all(&mod->arena, &mod->names, &mod->source, diags, &list);
    Module *m = arena_new(&mod->arena, Module);
    for (int i = 0; i < n; i++) vec_push(&mod->arena, &m->programs, list[i]);
    return m;
}

// A flat text is a Program like any other, for which loops are chosen; one that decides something
// is its own Tree.
static Module *parse_stripe(Compilation *c) {
    lw_module *mod = c->mod;
    Arena *arena = &mod->arena;
    const Tree *t = stripe_parse(arena, &mod->names, &mod->source, c->call->diags);
    Verify verify = {.unchecked = c->unproven, .near = true};
    if (!t) return just(arena, NULL);
    const Tree *whole = tree_expand(t);
    tree_verify(arena, whole, &verify, c->call->diags);
    Lift lift = {.reason = LIFT_ASKED, .text = "it was parsed as written"};
    if (!c->as_written && !c->call->diags->errors) lift = tree_lift(arena, whole);
    c->lift = arena_copy(arena, &lift, sizeof lift);
    Module *m = just(arena, lift.program ? lift.program : (Program *)t->program);
    if (!lift.program) vec_push(arena, &m->trees, whole);
    return m;
}

// A TeML function without its path: its assignments, as a Program. An initial value that no sum
// starts from is an assignment of its own.
static Program *without_path(Compilation *c, const Tree *reference) {
    Arena *arena = &c->mod->arena;
    DiagList found = {.arena = arena};
    Lift lift = {.text = "their order matters"};
    for (int starts = 1; starts >= 0 && !lift.program; starts--) {
        const Tree *t = tree_unordered(arena, reference, starts);
        bool legal = tree_verify(arena, t, NULL, &found) == VERIFY_OK;
        if (legal) lift = tree_lift(arena, t);
    }
    const char *why = found.items.n ? found.items.at[0]->text : lift.text;
    if (!lift.program)
        diag_report(c->call->diags, (Range){0, 0}, DIAG_TEML_KEEPS, reference->program->name, why);
    return lift.program;
}

static Module *without_paths(Compilation *c, const Module *m) {
    Module *out = just(&c->mod->arena, NULL);
    for (int i = 0; i < m->references.n; i++) {
        Program *p = without_path(c, m->references.at[i]);
        if (p) vec_push(&c->mod->arena, &out->programs, p);
    }
    return out;
}

static Module *run_teml(Compilation *c) {
    lw_module *mod = c->mod;
    TemlResult r = teml_parse(&mod->arena, c->call->scratch, &mod->names, &mod->source, &c->teml,
                              c->call->diags);
    lw_parameter *params = arena_new_n(&mod->arena, lw_parameter, r.nparams);
    for (int i = 0; i < r.nparams; i++)
        params[i] = (lw_parameter){sizeof *params, r.param[i].name, r.param[i].value,
                                   (size_t)r.param[i].nchoices, r.param[i].choice};
    mod->params = params;
    mod->nparams = r.nparams;
    mod->store = r.store;
    return c->no_path && !c->call->diags->errors ? without_paths(c, r.module) : r.module;
}

static void note_computed(void *user, const Access *a, bool guarded) {
    (void)guarded;
    for (int d = 0; d < a->rank; d++) *(bool *)user |= a->sub[d]->has_read;
}

// Somebody vouches for subscripts that are read from data: compiled code does not check them.
static void vouch(Module *m) {
    for (int i = 0; i < m->programs.n; i++)
        for (int k = 0; k < m->programs.at[i]->stmts.n; k++) {
            Stmt *s = &m->programs.at[i]->stmts.at[k];
            bool computed = false;
            expr_visit_accesses(s->value, note_computed, &computed);
            note_computed(&computed, s->write, false);
            s->unchecked |= computed;
        }
}

static bool is_language(lw_language l) { return l > LW_LANG_BY_NAME && l <= LW_LANG_TEML; }

static Module *parse(Compilation *c) {
    lw_module *mod = c->mod;
    Arena *arena = &mod->arena;
    DiagList *diags = c->call->diags;
    if (c->einsum)
        return just(arena, einsum_parse(arena, &mod->names, &mod->source, c->noperands, c->operands,
                                        &c->order, &c->einsum_plan, diags));
    switch (c->language) {
    case LW_LANG_TC: return tc_parse(arena, &mod->names, &mod->source, diags);
    case LW_LANG_GRAPH: return parse_graph(c);
    case LW_LANG_STRIPE: return parse_stripe(c);
    case LW_LANG_TEML: return run_teml(c);
    default: return parse_programs(mod, diags);
    }
}

// Errors do not end it here: those of inference are reported together with these.
lw_status step_parse(Compilation *c) {
    if (!c->einsum && !is_language(c->language))
        return call_misused(c->call, "'language' is %d, which is not a valid lw_language",
                            (int)c->language);
    c->parsed = parse(c);
    return LW_OK;
}

// Only TC and graphs leave ranges or sizes open.
lw_status step_infer(Compilation *c) {
    lw_module *mod = c->mod;
    if (c->parsed->tc) tc_infer(c->parsed);
    if (c->graph) c->parsed = just(&mod->arena, graph_build(&mod->arena, c->graph));
    bool failed = c->call->diags->errors > 0;
    if (failed && !c->partial) return LW_ERROR;
    if (c->unchecked_index) vouch(c->parsed);
    module_describe(mod, c->parsed);
    for (int i = 0; i < mod->nfunctions; i++) mod->functions[i].lift = c->lift;
    return failed ? LW_ERROR : LW_OK;
}

lw_status step_bind(Compilation *c) {
    lw_bound *b = c->bound;
    b->program = program_bind(&b->arena, b->function->program, b->values, c->call->diags);
    if (!b->program || c->call->diags->errors) return LW_ERROR;
    bound_describe(b);
    return LW_OK;
}
