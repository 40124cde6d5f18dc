// Counters, quotients and triggers, and the event handlers: setup, changed, born, recount.
//
// A counter adds (or multiplies) an amount for each tuple whose conditions hold: tuples that
// certainly hold count in the minimum and the maximum, possible ones in the maximum. It is
// recomputed when something that it counts changes. A rule that bounds a counter from above forbids
// tuples, or amounts, that would exceed the bound; one that bounds it from below enforces those
// without which the bound is not reached. Amounts of sums are any integers, those of products are
// at least 0: eng_factor stops at others.
#include "spacec.h"

static const char *amount_end(Emit *e, const Choice *c, const char *end) {
    Arena *arena = e->spec->arena;
    const char *amount =
        c->amount.choice < 0
            ? arena_printf(arena, "(int64_t)(%s)", emit_code(e, &c->scope, c->amount.code))
            : arena_printf(arena, "%s_%s(w, %s)", e->spec->choice.at[c->amount.choice].name, end,
                           emit_args(e, &c->scope, &c->amount));
    return c->product ? arena_printf(arena, "eng_factor(%s)", amount) : amount;
}

// All objects of a tuple exist.
static const char *all_exist(Emit *e, const Scope *scope) {
    Text t = {.arena = e->spec->arena};
    text_add(&t, "true");
    for (int v = 0; v < scope->n; v++)
        text_printf(&t, " && eng_exists(w, o_%s)", scope->var[v].name);
    return text_str(&t);
}

static const char *all_hold(Emit *e, const Scope *scope, const Atom *at, int n) {
    Text t = {.arena = e->spec->arena};
    text_add(&t, "true");
    for (int i = 0; i < n; i++) text_printf(&t, " && %s", atom_holds(e, scope, &at[i]));
    return text_str(&t);
}

static const char *some_fails(Emit *e, const Scope *scope, const Atom *at, int n) {
    Text t = {.arena = e->spec->arena};
    text_add(&t, "false");
    for (int i = 0; i < n; i++) text_printf(&t, " || %s", atom_fails(e, scope, &at[i]));
    return text_str(&t);
}

static void counter_head(Emit *e, const Choice *c) {
    text_add(e->out, "HOST(w->s)\n(void)a, (void)b;\n");
    for (int i = 0; i < c->arity; i++)
        text_printf(e->out, "int o_%s = %s;\n(void)o_%s;\n", c->scope.var[i].name, i ? "b" : "a",
                    c->scope.var[i].name);
}

// The least and greatest contribution of a tuple; the least is neutral if it need not hold.
static void emit_share(Emit *e, const Choice *c) {
    const char *nothing = c->product ? "1" : "0";
    text_printf(e->out, "bool sure = %s && %s;\n", all_exist(e, &c->scope),
                all_hold(e, &c->scope, c->when.at, c->when.n));
    text_printf(e->out, "int64_t least = %s, most = %s;\n", amount_end(e, c, "lo"),
                amount_end(e, c, "hi"));
    text_printf(e->out, "if (!sure && least > %s) least = %s;\n", nothing, nothing);
    text_printf(e->out, "if (!sure && most < %s) most = %s;\n", nothing, nothing);
}

static unsigned args_bound(const Choice *c) { return (1u << c->arity) - 1; }

static void emit_total(Emit *e, int k) {
    const Choice *c = &e->spec->choice.at[k];
    const char *op = c->product ? "eng_mul" : "eng_add";
    text_printf(e->out,
                "static void %s_total(SpaceWork *w, int a, int b, int64_t *min, int64_t *max) "
                "{\n",
                c->name);
    counter_head(e, c);
    text_printf(e->out, "int64_t lo = (%s), hi = lo;\n",
                c->base      ? emit_code(e, &c->scope, c->base)
                : c->product ? "1"
                             : "0");
    int braces = emit_loops(e, &c->scope, c->scope.n, args_bound(c), false);
    text_printf(e->out, "if (%s) continue;\n", some_fails(e, &c->scope, c->when.at, c->when.n));
    emit_share(e, c);
    text_printf(e->out, "lo = %s(lo, least);\nhi = %s(hi, most);\n", op, op);
    emit_close(e, braces);
    text_printf(e->out, "*min = lo;\n*max = %s;\n}\n", c->half ? "SPACE_INF" : "hi");
}

// The value of the counter without a tuple. A factor of 0 hides the others: at least 0, without an
// upper limit.
static void emit_without(Emit *e, const Choice *c, const char *total, const char *own,
                         const char *hidden) {
    if (c->product)
        text_printf(e->out, "int64_t rest = !%s ? %s : %s == SPACE_INF ? SPACE_INF : %s / %s;\n",
                    own, hidden, total, total, own);
    else
        text_printf(e->out, "int64_t rest = %s == SPACE_INF ? SPACE_INF : eng_add(%s, -%s);\n",
                    total, total, own);
}

// If all conditions except one hold, that one must not (must) hold.
static void emit_last_condition(Emit *e, const Choice *c, bool hold) {
    for (int i = 0; i < c->when.n; i++) {
        const Atom *a = &c->when.at[i];
        if (a->kind == ATOM_CODE || a->kind == ATOM_CONST) continue;
        if (!hold) {
            text_add(e->out, "if (true");
            for (int j = 0; j < c->when.n; j++)
                if (j != i) text_printf(e->out, " && %s", atom_holds(e, &c->scope, &c->when.at[j]));
            text_add(e->out, ") {\n");
        } else
            text_add(e->out, "{\n");
        emit_force(e, &c->scope, a, hold, "");
        text_add(e->out, "}\n");
    }
}

static void emit_at_most(Emit *e, int k) {
    const Choice *c = &e->spec->choice.at[k];
    const char *op = c->product ? "eng_mul" : "eng_add";
    text_printf(e->out, "static void %s_at_most(SpaceWork *w, int a, int b, int64_t k) {\n",
                c->name);
    counter_head(e, c);
    text_add(e->out, "int64_t lo, hi;\n");
    text_printf(e->out,
                "%s_total(w, a, b, &lo, &hi);\nif (hi <= k) return;\n"
                "if (lo > k) { w->dead = true; return; }\n",
                c->name);
    int braces = emit_loops(e, &c->scope, c->scope.n, args_bound(c), false);
    text_printf(e->out, "if (%s) continue;\n", some_fails(e, &c->scope, c->when.at, c->when.n));
    emit_share(e, c);
    emit_without(e, c, "lo", "least", "0");
    text_printf(e->out, "if (%s(rest, %s) > k) {\n", op, amount_end(e, c, "lo"));
    emit_last_condition(e, c, false);
    text_add(e->out, "continue;\n}\n");
    if (c->amount.choice >= 0)
        text_printf(e->out, "if (sure%s) %s_at_most(w, %s, %s);\n", c->product ? " && rest" : "",
                    e->spec->choice.at[c->amount.choice].name, emit_args(e, &c->scope, &c->amount),
                    c->product ? "k / rest" : "k - rest");
    emit_close(e, braces);
    text_add(e->out, "}\n");
}

static void emit_at_least(Emit *e, int k) {
    const Choice *c = &e->spec->choice.at[k];
    text_printf(e->out, "static void %s_at_least(SpaceWork *w, int a, int b, int64_t k) {\n",
                c->name);
    if (c->half) { // its largest value is unknown
        text_add(e->out, "(void)w, (void)a, (void)b, (void)k;\n}\n");
        return;
    }
    counter_head(e, c);
    text_add(e->out, "int64_t lo, hi;\n");
    text_printf(e->out,
                "%s_total(w, a, b, &lo, &hi);\nif (lo >= k || hi == SPACE_INF) return;\n"
                "if (hi < k) { w->dead = true; return; }\n",
                c->name);
    int braces = emit_loops(e, &c->scope, c->scope.n, args_bound(c), false);
    text_printf(e->out, "if (%s) continue;\n", some_fails(e, &c->scope, c->when.at, c->when.n));
    emit_share(e, c);
    emit_without(e, c, "hi", "most", "SPACE_INF");
    text_add(e->out, "if (rest == SPACE_INF || (rest >= k && !sure)) continue;\n"
                     "if (rest < k) {\n");
    emit_last_condition(e, c, true);
    text_add(e->out, "}\n");
    if (c->amount.choice >= 0)
        text_printf(e->out, "%s%s_at_least(w, %s, %s);\n",
                    c->product ? "if (rest > 0 && k > 0) " : "",
                    e->spec->choice.at[c->amount.choice].name, emit_args(e, &c->scope, &c->amount),
                    c->product ? "(k + rest - 1) / rest" : "k - rest");
    emit_close(e, braces);
    text_add(e->out, "}\n");
}

void emit_counters(Emit *e) {
    for (int k = 0; k < e->spec->choice.n; k++) {
        if (e->spec->choice.at[k].kind != SPEC_COUNTER) continue;
        emit_total(e, k);
        emit_at_most(e, k);
        emit_at_least(e, k);
    }
    text_add(e->out, "static void recount(SpaceWork *w, int choice, int a, int b, int64_t *min, "
                     "int64_t *max) {\n(void)w, (void)a, (void)b, (void)min, (void)max;\n"
                     "switch (choice) {\n");
    for (int k = 0; k < e->spec->choice.n; k++)
        if (e->spec->choice.at[k].kind == SPEC_COUNTER)
            text_printf(e->out, "case %d: %s_total(w, a, b, min, max); break;\n", k,
                        e->spec->choice.at[k].name);
    text_add(e->out, "}\n}\n");
}

// --- Event handlers ------------------------------------------------------------------------------

typedef struct Way { // to reach a tuple: the variables of the scope that are already known
    const Scope *scope;
    unsigned bound;
    const char *prologue; // declares them
    const char *guard;    // "": none
    bool loose;           // the existence of the objects does not matter, or is tested later
} Way;

static void emit_body_rule(Emit *e, int k) {
    const Scope *scope = &e->spec->rule.at[k].scope;
    text_printf(e->out, "rule%d(w", k);
    for (int v = 0; v < scope->n; v++) text_printf(e->out, ", o_%s", scope->var[v].name);
    text_add(e->out, ");\n");
}

static void emit_body_counter(Emit *e, int k) {
    const Choice *c = &e->spec->choice.at[k];
    Use self = {k, {c->arity > 0 ? 0 : -1, c->arity > 1 ? 1 : -1}, NULL};
    text_printf(e->out, "eng_push(w, w->s->base[%d] + %s_index(w->s, %s));\n", k, c->name,
                emit_args(e, &c->scope, &self));
}

static void emit_body_trigger(Emit *e, int k) {
    const Trigger *t = &e->spec->trigger.at[k];
    for (int i = 0; i < t->when.n;
         i++) // objects that it creates need not exist, objects that it reads must
        for (int j = 0; j < 4; j++) {
            const Use *u = j < 2 ? &t->when.at[i].left : &t->when.at[i].right;
            bool two = t->when.at[i].kind == ATOM_SAME || t->when.at[i].kind == ATOM_CMP;
            if (u->choice < 0 || u->arg[j % 2] < 0 || (j > 1 && !two)) continue;
            if (t->when.at[i].kind == ATOM_CODE || t->when.at[i].kind == ATOM_CONST) continue;
            text_printf(e->out, "if (!eng_exists(w, o_%s)) continue;\n",
                        t->scope.var[u->arg[j % 2]].name);
        }
    text_printf(e->out, "if (%s) { %s; }\n", all_hold(e, &t->scope, t->when.at, t->when.n),
                emit_code(e, &t->scope, t->code));
}

static void emit_body_quotient(Emit *e, int k) {
    const Quotient *q = &e->spec->quotient.at[k];
    text_printf(e->out, "quotient%d(w", k);
    for (int v = 0; v < q->scope.n; v++) text_printf(e->out, ", o_%s", q->scope.var[v].name);
    text_add(e->out, ");\n");
}

typedef void EmitBody(Emit *e, int k);

static bool loose(EmitBody *body) { return body == emit_body_counter || body == emit_body_trigger; }

static void emit_way(Emit *e, const Way *way, EmitBody *body, int k) {
    text_add(e->out, "{\nHOST(w->s)\n");
    text_add(e->out, way->prologue);
    if (way->guard[0]) text_printf(e->out, "if (%s) {\n", way->guard);
    int braces = emit_loops(e, way->scope, way->scope->n, way->bound, !way->loose);
    body(e, k);
    emit_close(e, braces);
    if (way->guard[0]) text_add(e->out, "}\n");
    text_add(e->out, "}\n");
}

// Reaches tuples through a use of a choice that has changed for (a, b).
static void emit_through(Emit *e, const Scope *scope, const Use *u, const char *guard,
                         EmitBody *body, int k) {
    Text pro = {.arena = e->spec->arena};
    unsigned bound = 0;
    for (int i = 0; i < 2; i++) {
        if (u->arg[i] < 0) continue;
        text_printf(&pro, "int o_%s = %s;\n", scope->var[u->arg[i]].name, i ? "b" : "a");
        bound |= 1u << u->arg[i];
    }
    Way way = {scope, bound, text_str(&pro), guard, loose(body)};
    emit_way(e, &way, body, k);
}

static void emit_all(Emit *e, const Scope *scope, EmitBody *body, int k) {
    Way way = {scope, 0, "", "", loose(body)};
    emit_way(e, &way, body, k);
}

static void emit_born(Emit *e, const Scope *scope, EmitBody *body, int k) {
    for (int v = 0; v < scope->n; v++) {
        const char *pro = arena_printf(e->spec->arena, "int o_%s = object;\n", scope->var[v].name);
        Way way = {scope, 1u << v, pro, "", loose(body)};
        emit_way(e, &way, body, k);
    }
}

// An alternative of a rule matters if it is false now. (Domains that shrink meanwhile are queued
// again.)
static const char *guard_of(Emit *e, const Atom *a) {
    if (a->kind != ATOM_ENUM) return "";
    return arena_printf(e->spec->arena, "!(now & %lluull)", (unsigned long long)a->mask);
}

static void changed_rules(Emit *e, int choice) {
    for (int k = 0; k < e->spec->rule.n; k++) {
        const Rule *r = &e->spec->rule.at[k];
        if (r->table >= 0) continue;
        for (int i = 0; i < r->atom.n; i++) {
            const Atom *a = &r->atom.at[i];
            if (a->left.choice == choice && a->kind != ATOM_CODE && a->kind != ATOM_CONST)
                emit_through(e, &r->scope, &a->left, guard_of(e, a), emit_body_rule, k);
            if ((a->kind == ATOM_SAME || a->kind == ATOM_CMP) && a->right.choice == choice)
                emit_through(e, &r->scope, &a->right, "", emit_body_rule, k);
        }
    }
}

static void through_atoms(Emit *e, int choice, const Scope *scope, const Atom *at, int n,
                          EmitBody *body, int k) {
    for (int i = 0; i < n; i++) {
        if (at[i].kind == ATOM_CODE || at[i].kind == ATOM_CONST) continue;
        if (at[i].left.choice == choice) emit_through(e, scope, &at[i].left, "", body, k);
        bool two = at[i].kind == ATOM_SAME || at[i].kind == ATOM_CMP;
        if (two && at[i].right.choice == choice) emit_through(e, scope, &at[i].right, "", body, k);
    }
}

static void changed_quotients(Emit *e, int choice) {
    for (int k = 0; k < e->spec->quotient.n; k++) {
        const Quotient *q = &e->spec->quotient.at[k];
        bool touched = q->equiv == choice || q->repr == choice;
        for (int i = 0; i < q->when.n; i++) touched |= q->when.at[i].left.choice == choice;
        if (touched) emit_all(e, &q->scope, emit_body_quotient, k);
    }
}

static void emit_changed(Emit *e, int choice) {
    const Choice *c = &e->spec->choice.at[choice];
    text_printf(e->out, "static void %s_changed(SpaceWork *w, int a, int b) {\n(void)a, (void)b;\n",
                c->name);
    if (c->kind == SPEC_ENUM)
        text_printf(e->out, "uint64_t now = %s_get(w, a, b);\n(void)now;\n", c->name);
    changed_rules(e, choice);
    for (int k = 0; k < e->spec->choice.n; k++) {
        const Choice *other = &e->spec->choice.at[k];
        if (other->kind != SPEC_COUNTER) continue;
        if (other->amount.choice == choice)
            emit_through(e, &other->scope, &other->amount, "", emit_body_counter, k);
        through_atoms(e, choice, &other->scope, other->when.at, other->when.n, emit_body_counter,
                      k);
    }
    for (int k = 0; k < e->spec->trigger.n; k++) {
        const Trigger *t = &e->spec->trigger.at[k];
        through_atoms(e, choice, &t->scope, t->when.at, t->when.n, emit_body_trigger, k);
    }
    changed_quotients(e, choice);
    text_add(e->out, "}\n");
}

// TRUE if nothing smaller can be in its class.
static void emit_quotient(Emit *e, int k) {
    const Quotient *q = &e->spec->quotient.at[k];
    Scope scope = q->scope;
    const Choice *repr = &e->spec->choice.at[q->repr], *equiv = &e->spec->choice.at[q->equiv];
    const Var *x = &scope.var[scope.n - 1];
    Use self = {q->repr, {0, scope.n > 1 ? 1 : -1}, NULL};
    text_printf(e->out, "static void quotient%d(SpaceWork *w", k);
    for (int v = 0; v < scope.n; v++) text_printf(e->out, ", int o_%s", scope.var[v].name);
    text_printf(e->out, ") {\nHOST(w->s)\nif (%s_get(w, %s) == 2) return;\n", repr->name,
                emit_args(e, &scope, &self));
    text_printf(e->out, "if (!(%s)) return;\n", all_hold(e, &scope, q->when.at, q->when.n));
    int object = scope.n - 1;
    text_printf(e->out, "int me = o_%s;\n", x->name);
    text_printf(e->out, "for (int i = 0; i < w->s->set[%d].n; i++) {\n", x->set.set);
    text_printf(e->out, "int y = w->s->set[%d].item[i];\nif (y >= me) break;\n", x->set.set);
    text_printf(e->out, "if (!eng_exists(w, y) || !(%s_get(w, me, y) & %lluull)) continue;\n",
                equiv->name, (unsigned long long)q->mask);
    text_printf(e->out, "int o_%s = y;\n", scope.var[object].name);
    text_printf(e->out, "if (!(%s)) return;\n}\n", some_fails(e, &scope, q->when.at, q->when.n));
    text_printf(e->out, "ENG_WHY(w, -1, me, -1, -1, -1);\n%s_keep(w, %s, 2);\n}\n", repr->name,
                emit_args(e, &scope, &self));
}

static bool has_table(Emit *e, int choice) {
    for (int i = 0; i < e->spec->rule.n; i++)
        if (e->spec->rule.at[i].table == choice) return true;
    return false;
}

static void emit_dispatch(Emit *e) {
    text_add(e->out, "static void changed(SpaceWork *w, int choice, int a, int b) {\n"
                     "switch (choice) {\n");
    for (int k = 0; k < e->spec->choice.n; k++) {
        const Choice *c = &e->spec->choice.at[k];
        text_printf(e->out, "case %d:\n", k);
        if (has_table(e, k)) text_printf(e->out, "%s_triangles(w, a, b);\n", c->name);
        text_printf(e->out, "%s_changed(w, a, b);\n", c->name);
        if (c->symmetric) text_printf(e->out, "%s_changed(w, b, a);\n", c->name);
        text_add(e->out, "break;\n");
    }
    text_add(e->out, "}\n}\n");
}

void emit_triggers(Emit *e) {
    for (int k = 0; k < e->spec->quotient.n; k++) emit_quotient(e, k);
    for (int k = 0; k < e->spec->choice.n; k++) emit_changed(e, k);
    emit_dispatch(e);
    for (int born = 0; born < 2; born++) {
        text_printf(e->out, "static void %s {\n",
                    born ? "born(SpaceWork *w, int object)" : "setup(SpaceWork *w)");
        void (*reach)(Emit *, const Scope *, EmitBody *, int) = born ? emit_born : emit_all;
        if (born) text_add(e->out, "(void)object;\n");
        text_add(e->out, "(void)w;\n");
        for (int k = 0; k < e->spec->rule.n; k++)
            if (e->spec->rule.at[k].table < 0)
                reach(e, &e->spec->rule.at[k].scope, emit_body_rule, k);
        for (int k = 0; k < e->spec->trigger.n; k++)
            reach(e, &e->spec->trigger.at[k].scope, emit_body_trigger, k);
        for (int k = 0; k < e->spec->quotient.n; k++)
            emit_all(e, &e->spec->quotient.at[k].scope, emit_body_quotient, k);
        for (int k = 0; born && k < e->spec->choice.n; k++)
            if (e->spec->choice.at[k].kind == SPEC_COUNTER)
                emit_born(e, &e->spec->choice.at[k].scope, emit_body_counter, k);
        text_add(e->out, "}\n");
    }
}
