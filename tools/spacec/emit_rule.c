// Code for rules. For each rule there is a function that takes a tuple of objects and, if only one
// alternative can still hold, enforces it; and for each event that affects the rule (a choice of an
// alternative has changed, an object is new, everything is new) the loops over the remaining
// objects.
#include "spacec.h"

#include <string.h>

// --- Loops ---------------------------------------------------------------------------------------

static void emit_checks(Emit *e, const Scope *scope, int v, unsigned bound, bool member,
                        bool exists) {
    const Spec *s = e->spec;
    const Var *x = &scope->var[v];
    if (!member)
        text_printf(e->out, "if (w->s->set[%d].rank[o_%s] < 0) continue;\n", x->set.set, x->name);
    if (exists) text_printf(e->out, "if (!eng_exists(w, o_%s)) continue;\n", x->name);
    for (int u = 0; u < scope->n; u++) {
        const Var *y = &scope->var[u];
        if (u == v || !(bound >> u & 1)) continue;
        if (!sets_disjoint(s, x->set.set, y->set.set))
            text_printf(e->out, "if (o_%s == o_%s) continue;\n", x->name, y->name);
        if (x->set.param == u && !member)
            text_printf(e->out, "if (!eng_in_family(w->s, %d, o_%s, o_%s)) continue;\n", x->set.set,
                        y->name, x->name);
        if (y->set.param == v)
            text_printf(e->out, "if (!eng_in_family(w->s, %d, o_%s, o_%s)) continue;\n", y->set.set,
                        x->name, y->name);
    }
}

// The next variable to loop over: a member or an owner of a known object if possible, or any.
static int next_var(const Scope *scope, int upto, unsigned bound, int *owner_of) {
    *owner_of = -1;
    for (int v = 0; v < upto; v++)
        if (!(bound >> v & 1) && scope->var[v].set.param >= 0 &&
            (bound >> scope->var[v].set.param & 1))
            return v;
    for (int v = 0; v < upto; v++)
        for (int u = 0; u < scope->n; u++)
            if (!(bound >> v & 1) && (bound >> u & 1) && scope->var[u].set.param == v) {
                *owner_of = u;
                return v;
            }
    for (int v = 0; v < upto; v++)
        if (!(bound >> v & 1) && scope->var[v].set.param < 0) return v;
    return -1;
}

static void emit_loop(Emit *e, const Scope *scope, int v, int owner_of) {
    const Var *x = &scope->var[v];
    if (owner_of >= 0) {
        const Var *y = &scope->var[owner_of];
        text_printf(e->out,
                    "for (int i_%s = w->s->family[%d].owner_first[o_%s]; "
                    "i_%s < w->s->family[%d].owner_first[o_%s + 1]; i_%s++) {\n"
                    "int o_%s = w->s->family[%d].owner[i_%s];\n",
                    x->name, y->set.set, y->name, x->name, y->set.set, y->name, x->name, x->name,
                    y->set.set, x->name);
    } else if (x->set.param >= 0) {
        const char *of = scope->var[x->set.param].name;
        text_printf(e->out,
                    "for (int i_%s = w->s->family[%d].first[o_%s]; "
                    "i_%s < w->s->family[%d].first[o_%s + 1]; i_%s++) {\n"
                    "int o_%s = w->s->family[%d].item[i_%s];\n",
                    x->name, x->set.set, of, x->name, x->set.set, of, x->name, x->name, x->set.set,
                    x->name);
    } else {
        text_printf(e->out,
                    "for (int i_%s = 0; i_%s < w->s->set[%d].n; i_%s++) {\n"
                    "int o_%s = w->s->set[%d].item[i_%s];\n",
                    x->name, x->name, x->set.set, x->name, x->name, x->set.set, x->name);
    }
}

int emit_loops(Emit *e, const Scope *scope, int upto, unsigned bound, bool exist) {
    unsigned seen = 0;
    int braces = 1;
    text_add(e->out, "do {\n");
    for (int v = 0; v < scope->n; v++) { // variables bound outside must still match
        if (!(bound >> v & 1)) continue;
        emit_checks(e, scope, v, seen, false, exist);
        seen |= 1u << v;
    }
    for (int v, owner_of; (v = next_var(scope, upto, seen, &owner_of)) >= 0;) {
        emit_loop(e, scope, v, owner_of);
        emit_checks(e, scope, v, seen, owner_of < 0, exist);
        seen |= 1u << v;
        braces++;
    }
    return braces;
}

void emit_close(Emit *e, int braces) {
    for (int i = 1; i < braces; i++) text_add(e->out, "}\n");
    text_add(e->out, "} while (0);\n");
}

// --- Conditions ----------------------------------------------------------------------------------

static const char *name_in(Emit *e, const Use *u) { return e->spec->choice.at[u->choice].name; }

static const char *get(Emit *e, const Scope *scope, const Use *u) {
    return arena_printf(e->spec->arena, "%s_get(w, %s)", name_in(e, u), emit_args(e, scope, u));
}

// The least or largest value of one side of a comparison.
static const char *end_of(Emit *e, const Scope *scope, const Use *u, const char *end) {
    if (u->choice < 0)
        return arena_printf(e->spec->arena, "(int64_t)(%s)", emit_code(e, scope, u->code));
    return arena_printf(e->spec->arena, "%s_%s(w, %s)", name_in(e, u), end, emit_args(e, scope, u));
}

static bool is_integer(Emit *e, const Use *u) {
    return u->choice >= 0 && e->spec->choice.at[u->choice].kind == SPEC_INTEGER;
}

static const char *compare(Emit *e, const Scope *scope, const Atom *a, Cmp cmp) {
    Arena *m = e->spec->arena;
    const char *ll = end_of(e, scope, &a->left, "lo"), *lh = end_of(e, scope, &a->left, "hi");
    const char *rl = end_of(e, scope, &a->right, "lo"), *rh = end_of(e, scope, &a->right, "hi");
    switch (cmp) { // certainly
    case CMP_LT: return arena_printf(m, "%s < %s", lh, rl);
    case CMP_LE: return arena_printf(m, "%s <= %s", lh, rl);
    case CMP_GT: return arena_printf(m, "%s > %s", ll, rh);
    case CMP_GE: return arena_printf(m, "%s >= %s", ll, rh);
    case CMP_EQ: return arena_printf(m, "%s == %s && %s == %s && %s == %s", ll, lh, rl, rh, ll, rl);
    case CMP_NE: break;
    }
    if (is_integer(e, &a->left) && is_integer(e, &a->right))
        return arena_printf(
            m, "!eng_shared(w, %d, %s_index(w->s, %s), %s, %d, %s_index(w->s, %s), %s)",
            a->left.choice, name_in(e, &a->left), emit_args(e, scope, &a->left),
            get(e, scope, &a->left), a->right.choice, name_in(e, &a->right),
            emit_args(e, scope, &a->right), get(e, scope, &a->right));
    if (is_integer(e, &a->left) && a->right.choice < 0)
        return arena_printf(m, "!eng_has(w, %d, %s_index(w->s, %s), %s, %s)", a->left.choice,
                            name_in(e, &a->left), emit_args(e, scope, &a->left),
                            get(e, scope, &a->left), rl);
    return arena_printf(m, "(%s < %s || %s > %s)", lh, rl, ll, rh);
}

static const Cmp opposite[] = {CMP_GE, CMP_GT, CMP_LE, CMP_LT, CMP_NE, CMP_EQ};

const char *atom_holds(Emit *e, const Scope *scope, const Atom *a) {
    Arena *m = e->spec->arena;
    switch (a->kind) {
    case ATOM_CONST: return a->value ? "true" : "false";
    case ATOM_CODE: return arena_printf(m, "(%s)", emit_code(e, scope, a->left.code));
    case ATOM_ENUM:
        return arena_printf(
            m, "!(%s & %lluull)", get(e, scope, &a->left),
            (unsigned long long)(choice_all(&e->spec->choice.at[a->left.choice]) & ~a->mask));
    case ATOM_SAME:
        if (a->cmp == CMP_EQ)
            return arena_printf(m, "eng_same(%s, %s)", get(e, scope, &a->left),
                                get(e, scope, &a->right));
        return arena_printf(m, "!(%s & %s)", get(e, scope, &a->left), get(e, scope, &a->right));
    case ATOM_CMP: break;
    }
    return arena_printf(m, "(%s)", compare(e, scope, a, a->cmp));
}

const char *atom_fails(Emit *e, const Scope *scope, const Atom *a) {
    Arena *m = e->spec->arena;
    if (a->kind == ATOM_CONST) return a->value ? "false" : "true";
    if (a->kind == ATOM_CODE) return arena_printf(m, "!(%s)", emit_code(e, scope, a->left.code));
    if (a->kind == ATOM_ENUM)
        return arena_printf(m, "!(%s & %lluull)", get(e, scope, &a->left),
                            (unsigned long long)a->mask);
    Atom other = *a;
    other.cmp = opposite[a->cmp];
    return atom_holds(e, scope, &other);
}

static void force_compare(Emit *e, const Scope *scope, const Atom *a, Cmp cmp) {
    const Use *l = &a->left, *r = &a->right;
    const char *la = emit_args(e, scope, l), *ra = emit_args(e, scope, r);
    bool lv = l->choice >= 0, rv = r->choice >= 0;
    bool less = cmp == CMP_LT || cmp == CMP_LE || cmp == CMP_EQ;
    bool more = cmp == CMP_GT || cmp == CMP_GE || cmp == CMP_EQ;
    const char *down = cmp == CMP_LT ? " - 1" : "", *up = cmp == CMP_GT ? " + 1" : "";
    const char *down_r = cmp == CMP_GT ? " - 1" : "", *up_r = cmp == CMP_LT ? " + 1" : "";
    if (less && lv)
        text_printf(e->out, "%s_at_most(w, %s, %s%s);\n", name_in(e, l), la,
                    end_of(e, scope, r, "hi"), down);
    if (less && rv)
        text_printf(e->out, "%s_at_least(w, %s, %s%s);\n", name_in(e, r), ra,
                    end_of(e, scope, l, "lo"), up_r);
    if (more && lv)
        text_printf(e->out, "%s_at_least(w, %s, %s%s);\n", name_in(e, l), la,
                    end_of(e, scope, r, "lo"), up);
    if (more && rv)
        text_printf(e->out, "%s_at_most(w, %s, %s%s);\n", name_in(e, r), ra,
                    end_of(e, scope, l, "hi"), down_r);
    if (cmp == CMP_EQ && is_integer(e, l) && is_integer(e, r)) {
        text_printf(e->out,
                    "%s_keep(w, %s, eng_common(w->s, w->s->base[%d] + %s_index(w->s, %s), "
                    "w->s->base[%d] + %s_index(w->s, %s), %s));\n",
                    name_in(e, l), la, l->choice, name_in(e, l), la, r->choice, name_in(e, r), ra,
                    get(e, scope, r));
        text_printf(e->out,
                    "%s_keep(w, %s, eng_common(w->s, w->s->base[%d] + %s_index(w->s, %s), "
                    "w->s->base[%d] + %s_index(w->s, %s), %s));\n",
                    name_in(e, r), ra, r->choice, name_in(e, r), ra, l->choice, name_in(e, l), la,
                    get(e, scope, l));
    }
    if (cmp == CMP_NE && is_integer(e, l))
        text_printf(e->out,
                    "if (%s == %s) %s_keep(w, %s, ~eng_equal(w->s, w->s->base[%d] + "
                    "%s_index(w->s, %s), %s));\n",
                    end_of(e, scope, r, "lo"), end_of(e, scope, r, "hi"), name_in(e, l), la,
                    l->choice, name_in(e, l), la, end_of(e, scope, r, "lo"));
    if (cmp == CMP_NE && is_integer(e, r))
        text_printf(e->out,
                    "if (%s == %s) %s_keep(w, %s, ~eng_equal(w->s, w->s->base[%d] + "
                    "%s_index(w->s, %s), %s));\n",
                    end_of(e, scope, l, "lo"), end_of(e, scope, l, "hi"), name_in(e, r), ra,
                    r->choice, name_in(e, r), ra, end_of(e, scope, l, "lo"));
}

void emit_force(Emit *e, const Scope *scope, const Atom *a, bool hold, const char *indent) {
    (void)indent;
    if (a->kind == ATOM_CONST || a->kind == ATOM_CODE) {
        text_add(e->out, "w->dead = true;\n");
    } else if (a->kind == ATOM_ENUM) {
        uint64_t all = choice_all(&e->spec->choice.at[a->left.choice]);
        text_printf(e->out, "%s_keep(w, %s, %lluull);\n", name_in(e, &a->left),
                    emit_args(e, scope, &a->left),
                    (unsigned long long)(hold ? a->mask : all & ~a->mask));
    } else if (a->kind == ATOM_SAME) {
        bool equal = (a->cmp == CMP_EQ) == hold;
        const char *x = get(e, scope, &a->left), *y = get(e, scope, &a->right);
        const char *xa = emit_args(e, scope, &a->left), *ya = emit_args(e, scope, &a->right);
        const char *n = name_in(e, &a->left);
        if (equal)
            text_printf(e->out, "%s_keep(w, %s, %s);\n%s_keep(w, %s, %s);\n", n, xa, y, n, ya, x);
        else
            text_printf(e->out,
                        "if (eng_same(%s, %s)) %s_keep(w, %s, ~(uint64_t)%s);\n"
                        "if (eng_same(%s, %s)) %s_keep(w, %s, ~(uint64_t)%s);\n",
                        y, y, n, xa, y, x, x, n, ya, x);
    } else {
        force_compare(e, scope, a, hold ? a->cmp : opposite[a->cmp]);
    }
}

// --- One rule ------------------------------------------------------------------------------------

static bool is_static(const Atom *a) { return a->kind == ATOM_CODE || a->kind == ATOM_CONST; }

static const char *why_args(Emit *e, const Scope *scope) {
    Text t = {.arena = e->spec->arena};
    for (int v = 0; v < 4; v++)
        if (v < scope->n)
            text_printf(&t, ", o_%s", scope->var[v].name);
        else
            text_add(&t, ", -1");
    return text_str(&t);
}

static void emit_rule(Emit *e, int k) {
    const Rule *r = &e->spec->rule.at[k];
    text_printf(e->out, "static void rule%d(SpaceWork *w", k);
    for (int v = 0; v < r->scope.n; v++) text_printf(e->out, ", int o_%s", r->scope.var[v].name);
    text_add(e->out, ") {\nHOST(w->s)\n");
    for (int i = 0; i < r->atom.n; i++)
        if (is_static(&r->atom.at[i]))
            text_printf(e->out, "if (%s) return;\n", atom_holds(e, &r->scope, &r->atom.at[i]));
    for (int i = 0; i < r->atom.n; i++)
        if (!is_static(&r->atom.at[i]))
            text_printf(e->out, "if (%s) return;\n", atom_holds(e, &r->scope, &r->atom.at[i]));
    text_add(e->out, "int open = 0, which = -1;\n");
    int first = -1;
    for (int i = 0; i < r->atom.n; i++) {
        if (is_static(&r->atom.at[i])) continue;
        if (first < 0) first = i;
        text_printf(e->out, "if (!(%s)) open++, which = %d;\n",
                    atom_fails(e, &r->scope, &r->atom.at[i]), i);
    }
    text_printf(e->out, "if (open > 1) return;\nENG_WHY(w, %d%s);\n", k, why_args(e, &r->scope));
    text_add(e->out, "switch (which) {\n");
    for (int i = 0; i < r->atom.n; i++) {
        if (is_static(&r->atom.at[i])) continue;
        text_printf(e->out, "case %d:\n", i);
        emit_force(e, &r->scope, &r->atom.at[i], true, "");
        text_add(e->out, "break;\n");
    }
    text_add(e->out, "default:\n"); // nothing can hold
    if (first >= 0) emit_force(e, &r->scope, &r->atom.at[first], true, "");
    text_add(e->out, "w->dead = true;\n}\n}\n");
}

void emit_rules(Emit *e) {
    for (int k = 0; k < e->spec->rule.n; k++)
        if (e->spec->rule.at[k].table < 0) emit_rule(e, k);
}
