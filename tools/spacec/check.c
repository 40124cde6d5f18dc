// Subset relations, and the conversion of quotients and quantifiers over them to rules.
//
//     quotient Q of $x in S: repr = cond($x) / equiv is V
//
// repr($x) is TRUE for the least object of each class that satisfies `cond`. So, as rules:
//     repr($x) is FALSE || cond($x)
//     repr($x) is FALSE || $x is less than $y || equiv($x, $y) is not V || not cond($y)
// and, as a separate propagator (emit_count.c): TRUE if nothing smaller can be in its class. A
// quantifier over Q is one over S with the alternative `repr is FALSE`.
#include "spacec.h"

bool set_within(const Spec *s, int set, int of) {
    for (; set >= 0; set = s->set.at[set].superset)
        if (set == of) return true;
    return false;
}

static bool says_disjoint(const Spec *s, int a, int b) {
    const SetDef *d = &s->set.at[a];
    for (int i = 0; i < d->disjoint.n; i++)
        if (d->disjoint.at[i] == b) return true;
    return false;
}

bool sets_disjoint(const Spec *s, int a, int b) {
    for (int x = a; x >= 0; x = s->set.at[x].superset)
        for (int y = b; y >= 0; y = s->set.at[y].superset)
            if (says_disjoint(s, x, y) || says_disjoint(s, y, x)) return true;
    return false;
}

int set_plain(const Spec *s, int set) {
    const SetDef *d = &s->set.at[set];
    if (d->quotient >= 0) return set_plain(s, d->base);
    return d->param >= 0 && d->superset >= 0 ? d->superset : set;
}

uint64_t choice_all(const Choice *c) { return c->value.n >= 64 ? ~0ull : (1ull << c->value.n) - 1; }

uint64_t choice_invert(const Choice *c, uint64_t mask) {
    uint64_t out = 0;
    for (int i = 0; i < c->value.n; i++)
        if (mask >> i & 1) out |= 1ull << c->inverse[i];
    return out;
}

// --- Quotients -----------------------------------------------------------------------------------

static Atom negation(Spec *s, Atom a) {
    static const Cmp other[] = {CMP_GE, CMP_GT, CMP_LE, CMP_LT, CMP_NE, CMP_EQ};
    switch (a.kind) {
    case ATOM_CONST: a.value = !a.value; break;
    case ATOM_CODE:
        a.left.code = name_of(s->names, arena_printf(s->arena, "!(%s)", a.left.code));
        break;
    case ATOM_ENUM: a.mask = choice_all(&s->choice.at[a.left.choice]) & ~a.mask; break;
    case ATOM_SAME:
    case ATOM_CMP: a.cmp = other[a.cmp]; break;
    }
    return a;
}

// The same condition on variable `to` instead of `from`.
static Atom renamed(Spec *s, const Scope *scope, Atom a, int from, int to) {
    Use *use[2] = {&a.left, &a.right};
    for (int u = 0; u < 2; u++) {
        for (int i = 0; i < 2; i++)
            if (use[u]->arg[i] == from && use[u]->choice >= 0) use[u]->arg[i] = to;
        if (!use[u]->code) continue;
        Text t = {.arena = s->arena}; // $x -> $y
        const char *x = scope->var[from].name;
        for (const char *c = use[u]->code; *c; c++) {
            size_t n = 0;
            while (x[n] && c[n + 1] == x[n]) n++;
            if ((*c == '$' || *c == '#') && !x[n]) {
                text_char(&t, *c);
                text_add(&t, scope->var[to].name);
                c += n;
            } else
                text_char(&t, *c);
        }
        use[u]->code = name_of(s->names, text_str(&t));
    }
    return a;
}

static Atom not_representative(const Quotient *q) {
    return (Atom){.kind = ATOM_ENUM,
                  .left = {q->repr, {0, q->scope.n > 1 ? 1 : -1}, NULL},
                  .mask = 1,
                  .range = q->range};
}

static void quotient_rules(Spec *s, const Quotient *q) {
    int x = q->scope.n - 1;
    for (int i = 0; i < q->when.n; i++) {
        Rule r = {.scope = q->scope, .range = q->range, .table = -1};
        vec_push(s->arena, &r.atom, not_representative(q));
        vec_push(s->arena, &r.atom, q->when.at[i]);
        vec_push(s->arena, &s->rule, r);
    }
    Rule r = {.scope = q->scope, .range = q->range, .table = -1};
    int y = r.scope.n++;
    r.scope.var[y] = r.scope.var[x];
    r.scope.var[y].name = name_of(s->names, "other");
    const char *name = r.scope.var[x].name;
    Atom less = {.kind = ATOM_CODE, .range = q->range};
    less.left =
        (Use){-1, {-1, -1}, name_of(s->names, arena_printf(s->arena, "#%s < #other", name))};
    Atom apart = {.kind = ATOM_ENUM, .left = {q->equiv, {x, y}, NULL}, .range = q->range};
    apart.mask = choice_all(&s->choice.at[q->equiv]) & ~q->mask;
    vec_push(s->arena, &r.atom, less);
    vec_push(s->arena, &r.atom, not_representative(q));
    vec_push(s->arena, &r.atom, apart);
    for (int i = 0; i < q->when.n; i++)
        vec_push(s->arena, &r.atom, negation(s, renamed(s, &r.scope, q->when.at[i], x, y)));
    vec_push(s->arena, &s->rule, r);
}

// --- Quantifiers over quotients ------------------------------------------------------------------

// Turns variable v of a scope into one over the base of its quotient; the atom tests membership.
static bool over_base(const Spec *s, Scope *scope, int v, Atom *out) {
    const SetDef *d = &s->set.at[scope->var[v].set.set];
    if (d->quotient < 0) return false;
    int param = scope->var[v].set.param;
    *out = (Atom){.kind = ATOM_ENUM, .mask = 2, .range = scope->var[v].range};
    out->left =
        param >= 0 ? (Use){d->quotient, {param, v}, NULL} : (Use){d->quotient, {v, -1}, NULL};
    scope->var[v].set = (SetRef){d->base, -1};
    return true;
}

bool spec_check(Spec *s) {
    for (int i = 0; i < s->quotient.n; i++) quotient_rules(s, &s->quotient.at[i]);
    for (int i = 0; i < s->rule.n; i++) {
        Rule *r = &s->rule.at[i];
        for (int v = 0; v < r->scope.n; v++) {
            Atom in;
            if (!over_base(s, &r->scope, v, &in)) continue;
            in.mask = 1;
            vec_push(s->arena, &r->atom, in);
        }
        for (int a = 0; a < r->atom.n; a++)
            if (r->atom.at[a].kind == ATOM_ENUM)
                r->atom.at[a].mask &= choice_all(&s->choice.at[r->atom.at[a].left.choice]);
        if (r->atom.n > MAX_ATOMS) {
            diag_report(s->diags, r->range, DIAG_PROGRAM_LIMIT, r->atom.n, "conditions", MAX_ATOMS);
            return false;
        }
    }
    for (int i = 0; i < s->choice.n; i++) {
        Choice *c = &s->choice.at[i];
        for (int v = c->arity; v < c->scope.n; v++) {
            Atom in;
            if (over_base(s, &c->scope, v, &in)) vec_push(s->arena, &c->when, in);
        }
    }
    for (int i = 0; i < s->trigger.n; i++) {
        Trigger *t = &s->trigger.at[i];
        for (int v = 0; v < t->scope.n; v++) {
            Atom in;
            if (over_base(s, &t->scope, v, &in)) vec_push(s->arena, &t->when, in);
        }
    }
    find_tables(s);
    return s->diags->errors == 0;
}
