// Expands the meta-language around the core of the paper: parameters, functions, loops and modules
// become a flat list of built-ins applied to names and numbers.
//
//     param T = 4                         l = build(C)
//     def blocked(l, r) {                 blocked.s = stripmine(l, 1, 4)
//         s = stripmine(l, r, T)     ->   v = vectorize(blocked.s, 2)
//         u = vectorize(s, r + 1)
//         return u
//     }
//     l = build(C)
//     v = blocked(l, 1)
//
// A name inside a function is, in this order: a loop variable, a parameter of the function, a name
// that the function assigns (a new name per call), a parameter of the program, or a name of the
// program. A parameter that is assigned stands for the new value from then on. The name that a
// function returns becomes the target of the call, so that a tensor made by a function has the name
// that its caller gives it.
#include "lang/teml/teml.h"

#include <string.h>

#include "base/checked.h"
#include "base/nearest.h"

typedef struct NameBinding NameBinding; // a name bound to a number, a list or another name
struct NameBinding {
    Name name;
    const Syn *value;
    NameBinding *up;
};

typedef struct TemlScope {
    NameBinding *bound;       // loop variables and parameters of the function
    const TemlStmt *function; // NULL: the program
    Name prefix, returned, result;
    const TemlCall *call;
    int depth;
} TemlScope;

typedef struct Expand {
    Teml *t;
    NameBinding *params; // of the program
    VEC(const TemlStmt *) functions;
    VEC(const char *) modules;
    VEC(Name) prefixes;
    TemlStmts out;
    bool full;
} Expand;

// --- Reporting ---------------------------------------------------------------------------------

static void see(Expand *e, const Source *source) { e->t->source = e->t->diags->source = source; }

static const char *nth_function(const void *of, size_t i) {
    const Expand *e = of;
    return i < (size_t)e->functions.n ? e->functions.at[i]->builtin : NULL;
}

static const char *nth_param(const void *of, size_t i) {
    const Teml *t = of;
    return i < (size_t)t->params.n ? t->params.at[i].name : NULL;
}

// --- Names -------------------------------------------------------------------------------------

static NameBinding *find_binding(NameBinding *b, Name name) {
    while (b && b->name != name) b = b->up;
    return b;
}

static const Syn *find_bound(NameBinding *b, Name name) {
    b = find_binding(b, name);
    return b ? b->value : NULL;
}

static bool assigns(const TemlStmts *list, Name name) {
    for (int i = 0; i < list->n; i++) {
        const TemlStmt *s = &list->at[i];
        if (s->kind == TEML_APPLY && (s->target == name || s->real == name)) return true;
        if (s->kind == TEML_FOR && assigns(&s->body, name)) return true;
    }
    return false;
}

// The expanded form of a name that is neither bound nor a number.
static Name named(Expand *e, const TemlScope *in, Name name) {
    if (!name || !in->function || !assigns(&in->function->body, name)) return name;
    if (name == in->returned && in->result) return in->result;
    return name_of(e->t->names, arena_printf(e->t->arena, "%s.%s", in->prefix, name));
}

// The tensor that a statement writes by `@name:`; of a parameter, the one that the caller gave.
static Name real_of(Expand *e, const TemlScope *in, Name name) {
    const Syn *given = name ? find_bound(in->bound, name) : NULL;
    return given && given->kind == SYN_NAME ? given->name : named(e, in, name);
}

static const Syn *value_of(const Expand *e, const TemlScope *in, Name name) {
    const Syn *v = find_bound(in->bound, name);
    if (v || (in->function && assigns(&in->function->body, name))) return v;
    return find_bound(e->params, name);
}

// --- Arguments ---------------------------------------------------------------------------------

static Syn *syn_like(Expand *e, const Syn *like, SynKind kind) {
    Syn *s = arena_copy(e->t->arena, like, sizeof *like);
    s->kind = kind;
    return s;
}

static const Syn *evaluate(Expand *e, const TemlScope *in, const Syn *s);

// A sum under construction: a number and terms of iterators.
typedef struct SumBuild {
    int64_t constant;
    VEC(const Syn *) terms;
    bool failed;
} SumBuild;

static void fail(Expand *e, SumBuild *sum, Range at, DiagId id, const char *name) {
    if (!sum->failed) diag_report(e->t->diags, at, id, name);
    sum->failed = true;
}

// The value of a factor: a number, or an iterator in `name`.
static int64_t factor_of(Expand *e, const TemlScope *in, const Syn *s, SumBuild *sum, Name *name) {
    *name = NULL;
    if (s->kind == SYN_INT) return s->i;
    const Syn *v = value_of(e, in, s->name);
    if (!v || v->kind == SYN_NAME) {
        *name = v ? v->name : named(e, in, s->name);
    } else if (v->kind == SYN_INT) {
        return v->i;
    } else {
        fail(e, sum, s->range, DIAG_TEML_NOT_NUMBER, s->name);
    }
    return 1;
}

static void add_term(Expand *e, SumBuild *sum, const Syn *at, int64_t coef, Name name) {
    if (!name) {
        if (__builtin_add_overflow(sum->constant, coef, &sum->constant))
            fail(e, sum, at->range, DIAG_TEML_NUMBER, NULL);
        return;
    }
    Syn *term = syn_like(e, at, SYN_TERM);
    term->i = coef;
    term->name = name;
    term->n = 0;
    vec_push(e->t->arena, &sum->terms, term);
}

static void add_product(Expand *e, const TemlScope *in, SumBuild *sum, const Syn *p) {
    Name iterator = NULL, name;
    int64_t value = p->i;
    for (int i = 0; i < p->n && !sum->failed; i++) {
        bool divides = p->at[i]->kind == SYN_DIVISOR;
        const Syn *f = divides ? p->at[i]->at[0] : p->at[i];
        int64_t by = factor_of(e, in, f, sum, &name);
        if (divides && !name && !by) fail(e, sum, f->range, DIAG_TEML_ZERO, NULL);
        if ((name && (iterator || divides)) || (iterator && divides))
            fail(e, sum, f->range, DIAG_TEML_PRODUCT, name ? name : iterator);
        if (sum->failed) return;
        if (name) iterator = name;
        if (divides && !(by == -1 && value == INT64_MIN))
            value = floor_div(value, by);
        else if (divides || (!name && __builtin_mul_overflow(value, by, &value)))
            fail(e, sum, f->range, DIAG_TEML_NUMBER, NULL);
    }
    add_term(e, sum, p, value, iterator);
}

static const Syn *evaluate_sum(Expand *e, const TemlScope *in, const Syn *s) {
    SumBuild sum = {.constant = s->i};
    for (int i = 0; i < s->n && !sum.failed; i++) {
        const Syn *term = s->at[i], single = {.kind = SYN_NAME, .range = term->range};
        Syn one = single;
        Name name;
        one.name = term->name;
        if (term->kind == SYN_PRODUCT) {
            add_product(e, in, &sum, term);
            continue;
        }
        int64_t value = factor_of(e, in, &one, &sum, &name);
        if (!name && __builtin_mul_overflow(value, term->i, &value))
            fail(e, &sum, term->range, DIAG_TEML_NUMBER, NULL);
        add_term(e, &sum, term, name ? term->i : value, name);
    }
    Syn *out = syn_like(e, s, sum.terms.n ? SYN_SUM : SYN_INT);
    out->i = sum.constant;
    out->n = sum.terms.n;
    out->at = sum.terms.at;
    if (out->n == 1 && out->at[0]->i == 1 && !out->i) {
        out->kind = SYN_NAME;
        out->name = out->at[0]->name;
    }
    if (sum.failed) out->kind = SYN_NONE;
    return out;
}

// A bound name is located at its use: the range is that of the name, not of its value, which may be
// in another file.
static Syn *shown_at(Expand *e, const Syn *s, Range at) {
    Syn *out = syn_like(e, s, s->kind);
    out->range = at;
    if (s->n) out->at = arena_new_n(e->t->arena, const Syn *, s->n);
    for (int i = 0; i < s->n; i++) out->at[i] = shown_at(e, s->at[i], at);
    return out;
}

static const Syn *evaluate_name(Expand *e, const TemlScope *in, const Syn *s) {
    const Syn *v = value_of(e, in, s->name);
    if (v) return shown_at(e, v, s->range);
    Syn *out = syn_like(e, s, SYN_NAME);
    out->name = named(e, in, s->name);
    return out;
}

static const Syn *evaluate(Expand *e, const TemlScope *in, const Syn *s) {
    if (s->kind == SYN_NAME) return evaluate_name(e, in, s);
    if (s->kind == SYN_SUM) return evaluate_sum(e, in, s);
    if (!s->n) return s;
    Syn *out = syn_like(e, s, s->kind);
    out->at = arena_new_n(e->t->arena, const Syn *, s->n);
    for (int i = 0; i < s->n; i++) out->at[i] = evaluate(e, in, s->at[i]);
    return out;
}

// --- Parameters --------------------------------------------------------------------------------

static bool is_defined(const Expand *e, Name name) {
    if (find_bound(e->params, name) || teml_is_builtin(name)) return true;
    for (int i = 0; i < e->functions.n; i++)
        if (e->functions.at[i]->builtin == name) return true;
    return false;
}

static const TemlSetting *setting_of(const Teml *t, Name name) {
    const TemlOptions *o = t->options;
    for (int i = o->nset - 1; i >= 0; i--)
        if (strcmp(o->set[i].name, name) == 0) return &o->set[i];
    return NULL;
}

static bool all_numbers(const Syn *list) {
    for (int i = 0; i < list->n; i++)
        if (list->at[i]->kind != SYN_INT) return false;
    return list->kind == SYN_LIST && list->n;
}

static void check_choice(Expand *e, const TemlStmt *s, const TemlParam *p, Range at) {
    Text list = {.arena = e->t->arena};
    for (int i = 0; i < p->nchoices; i++) {
        if (p->choice[i] == p->value) return;
        text_printf(&list, "%s%lld", i ? ", " : "", (long long)p->choice[i]);
    }
    if (p->nchoices)
        diag_report(e->t->diags, at, DIAG_TEML_CHOICE, (long long)p->value, s->target,
                    text_str(&list));
}

static void expand_param(Expand *e, const TemlStmt *s) {
    Teml *t = e->t;
    TemlScope top = {0};
    if (is_defined(e, s->target)) {
        diag_report(t->diags, s->target_range, DIAG_TEML_DEFINED, s->target);
        return;
    }
    int errors = t->diags->errors;
    const Syn *given = evaluate(e, &top, s->arg[0]);
    Syn *value = syn_like(e, given, SYN_INT);
    const Syn *choices = s->n > 1 ? evaluate(e, &top, s->arg[1]) : NULL;
    const TemlSetting *set = setting_of(t, s->target);
    if (t->diags->errors > errors)
        value->i = 1;
    else if (given->kind != SYN_INT)
        diag_report(t->diags, s->arg[0]->range, DIAG_TEML_VALUE, s->target,
                    teml_found(t, s->arg[0]));
    else if (choices && !all_numbers(choices))
        diag_report(t->diags, s->arg[1]->range, DIAG_TEML_CHOICES, s->target,
                    teml_found(t, s->arg[1]));
    if (set) value->i = set->value;
    TemlParam p = {s->target, value->i, 0, NULL};
    if (choices && all_numbers(choices)) {
        int64_t *list = arena_new_n(t->out, int64_t, choices->n);
        for (int i = 0; i < choices->n; i++) list[i] = choices->at[i]->i;
        p.nchoices = choices->n;
        p.choice = list;
        check_choice(e, s, &p, set ? (Range){0, 0} : s->arg[0]->range);
        if (t->diags->errors > errors) value->i = list[0]; // avoids follow-up errors
    }
    vec_push(t->out, &t->params, p);
    NameBinding *b = arena_new(t->arena, NameBinding);
    *b = (NameBinding){s->target, value, e->params};
    e->params = b;
}

// Every value given from outside must belong to a parameter.
static void check_settings(Expand *e) {
    const TemlOptions *o = e->t->options;
    for (int i = 0; i < o->nset; i++) {
        bool known = false;
        for (int k = 0; k < e->t->params.n; k++)
            known |= strcmp(e->t->params.at[k].name, o->set[i].name) == 0;
        if (known) continue;
        Diag *d = diag_report(e->t->diags, (Range){0, 0}, DIAG_TEML_NO_PARAM, o->set[i].name);
        diag_suggest(e->t->diags, d, o->set[i].name, nth_param, e->t);
    }
}

// --- Functions ---------------------------------------------------------------------------------

static const TemlStmt *find_function(const Expand *e, Name name) {
    for (int i = 0; i < e->functions.n; i++)
        if (e->functions.at[i]->builtin == name) return e->functions.at[i];
    return NULL;
}

static const TemlStmt *return_of(const TemlStmt *function) {
    const TemlStmts *body = &function->body;
    const TemlStmt *last = body->n ? &body->at[body->n - 1] : NULL;
    return last && last->kind == TEML_RETURN ? last : NULL;
}

static bool check_body(Expand *e, const TemlStmts *body, bool top) {
    for (int i = 0; i < body->n; i++) {
        const TemlStmt *s = &body->at[i];
        DiagId wrong = DIAG_COUNT;
        if (s->kind == TEML_PARAM || s->kind == TEML_DEF || s->kind == TEML_IMPORT)
            wrong = DIAG_TEML_TOP_LEVEL;
        if (s->kind == TEML_RETURN && !(top && i + 1 == body->n)) wrong = DIAG_TEML_RETURN;
        if (s->kind == TEML_RETURN && s->arg[0]->kind != SYN_NAME) wrong = DIAG_TEML_RETURN_NAME;
        if (wrong != DIAG_COUNT) {
            diag_report(e->t->diags, s->range, wrong);
            return false;
        }
        if (s->kind == TEML_FOR && !check_body(e, &s->body, false)) return false;
    }
    return true;
}

// The first parameter that has the name of one before; -1: there is none.
static int repeated_parameter(const TemlStmt *s) {
    for (int i = 1; i < s->n; i++)
        for (int k = 0; k < i; k++)
            if (s->arg[k]->name == s->arg[i]->name) return i;
    return -1;
}

static void expand_def(Expand *e, const TemlStmt *s) {
    int again = repeated_parameter(s);
    if (is_defined(e, s->builtin))
        diag_report(e->t->diags, s->head, DIAG_TEML_DEFINED, s->builtin);
    else if (again >= 0)
        diag_report(e->t->diags, s->arg[again]->range, DIAG_TEML_DEFINED, s->arg[again]->name);
    else if (check_body(e, &s->body, true))
        vec_push(e->t->arena, &e->functions, s);
}

// `blocked`, and `blocked.2` for the second call of that function.
static Name call_prefix(Expand *e, Name function) {
    int n = 1;
    for (int i = 0; i < e->prefixes.n; i++) n += e->prefixes.at[i] == function;
    vec_push(e->t->arena, &e->prefixes, function);
    if (n == 1) return function;
    return name_of(e->t->names, arena_printf(e->t->arena, "%s.%d", function, n));
}

static bool mentions(const Syn *s, Name name) {
    if (s->name == name && name) return true;
    for (int i = 0; i < s->n; i++)
        if (mentions(s->at[i], name)) return true;
    return false;
}

static void expand_list(Expand *e, const TemlScope *in, const TemlStmts *list);

static bool call_fits(Expand *e, const TemlScope *in, const TemlStmt *s, const TemlStmt *f) {
    Teml *t = e->t;
    const char *takes = arena_printf(t->arena, "%d argument%s", f->n, f->n == 1 ? "" : "s");
    if (in->depth == TEML_MAX_CALLS)
        diag_report(t->diags, s->head, DIAG_TEML_RECURSION, f->builtin, TEML_MAX_CALLS);
    else if (s->n != f->n)
        diag_report(t->diags, s->head, DIAG_TEML_ARITY, s->builtin, takes, s->n);
    else if (s->target && !return_of(f))
        diag_report(t->diags, s->head, DIAG_TEML_NO_RETURN, s->builtin);
    else if (!s->target && return_of(f))
        diag_report(t->diags, s->head, DIAG_TEML_NO_TARGET, s->builtin);
    else if (s->real)
        diag_report(t->diags, s->real_range, DIAG_TEML_CALL_NAME, s->builtin);
    else
        return true;
    e->full = in->depth == TEML_MAX_CALLS;
    return false;
}

// --- Results over arguments
//
// Z = f(Z) writes the tensor Z, as Z = entrywise_mul(Z, Z) would, if f makes its result element by
// element from its argument. Otherwise f still needs the argument while it writes the result, which
// therefore stays in a tensor of its own.

// Does the statement use a parameter for which the caller gave this name?
static bool uses_argument(const TemlStmt *s, const NameBinding *b, Name given) {
    for (; b; b = b->up)
        for (int i = 0; mentions(b->value, given) && i < s->n; i++)
            if (mentions(s->arg[i], b->name)) return true;
    return false;
}

static bool same_subscripts(const Syn *a, const Syn *b) {
    if (a->kind != b->kind || a->n != b->n || a->name != b->name || a->i != b->i) return false;
    for (int i = 0; i < a->n; i++)
        if (!same_subscripts(a->at[i], b->at[i])) return false;
    return true;
}

// entrywise_mul(X, Y), or add(X, Y, [[i1, i2], [i2]] -> [i1, i2]) of an X with the caller's name.
static bool is_entrywise(const TemlStmt *s, const NameBinding *bound, Name given) {
    if (!strncmp(s->builtin, "entrywise_", strlen("entrywise_"))) return true;
    const Syn *lists = s->n ? s->arg[s->n - 1] : NULL;
    if (!lists || lists->kind != SYN_ARROW) return false;
    for (int i = 0; i < s->n - 1; i++) {
        const TemlStmt one = {.n = 1, .arg = &s->arg[i]};
        const Syn *own = s->n == 2             ? lists->at[0]
                         : i < lists->at[0]->n ? lists->at[0]->at[i]
                                               : NULL;
        if (uses_argument(&one, bound, given) && (!own || !same_subscripts(own, lists->at[1])))
            return false;
    }
    return true;
}

static bool writes_over(const TemlStmt *f, const TemlScope *inner, Name target) {
    const TemlStmt *result = NULL;
    for (int i = 0; i < f->body.n; i++) {
        const TemlStmt *s = &f->body.at[i];
        if (s->kind == TEML_RETURN) continue;
        if (s->kind != TEML_APPLY || s->real || (result && s->target == inner->returned))
            return false;
        if (s->target == inner->returned)
            result = s;
        else if (uses_argument(s, inner->bound, target))
            return false;
    }
    return result && is_entrywise(result, inner->bound, target);
}

// The result gets the caller's name at once, unless an argument has the same name and the function
// would see its result instead of its argument; then the result is renamed at the end.
static void expand_call(Expand *e, const TemlScope *in, const TemlStmt *s, const TemlStmt *f) {
    Teml *t = e->t;
    const Source *here = s->source;
    const TemlStmt *back = return_of(f);
    if (!call_fits(e, in, s, f)) return;
    TemlCall *call = arena_new(t->arena, TemlCall);
    *call = (TemlCall){f->builtin, here, s->range, in->call};
    TemlScope inner = {NULL, f, call_prefix(e, f->builtin), NULL, NULL, call, in->depth + 1};
    Name target = named(e, in, s->target);
    bool taken = false;
    for (int i = 0; i < f->n; i++) {
        NameBinding *b = arena_new(t->arena, NameBinding);
        *b = (NameBinding){f->arg[i]->name, evaluate(e, in, s->arg[i]), inner.bound};
        inner.bound = b;
        taken |= mentions(b->value, target);
    }
    if (back) inner.returned = back->arg[0]->name;
    bool local = back && assigns(&f->body, inner.returned);
    if (local && (!taken || writes_over(f, &inner, target))) inner.result = target;
    expand_list(e, &inner, &f->body);
    see(e, here);
    if (!back || inner.result) return;
    TemlStmt alias = {.kind = TEML_ALIAS, .range = s->range, .target = target, .n = 1};
    see(e, back->source);
    const Syn *of[] = {evaluate(e, &inner, back->arg[0])};
    see(e, here);
    alias.arg = arena_copy(t->arena, of, sizeof of);
    alias.head = s->head;
    alias.source = back->source;
    alias.builtin = s->builtin;
    alias.call = call;
    vec_push(t->arena, &e->out, alias);
}

// --- Statements --------------------------------------------------------------------------------

// A loop variable or parameter that was assigned stands for its new value.
static void rebind(Expand *e, const TemlScope *in, const TemlStmt *s) {
    NameBinding *b = s->target ? find_binding(in->bound, s->target) : NULL;
    if (!b) return;
    Syn *value = arena_new(e->t->arena, Syn);
    *value = (Syn){.kind = SYN_NAME, .range = s->target_range, .name = named(e, in, s->target)};
    b->value = value;
}

static void emit(Expand *e, const TemlScope *in, const TemlStmt *s) {
    TemlStmt out = *s;
    int errors = e->t->diags->errors;
    if (e->out.n > PROGRAM_MAX_STMTS) {
        e->full = true; // teml_parse reports it
        return;
    }
    out.target = named(e, in, s->target);
    out.real = real_of(e, in, s->real);
    out.arg = arena_new_n(e->t->arena, const Syn *, s->n);
    out.call = in->call;
    for (int i = 0; i < s->n; i++) out.arg[i] = evaluate(e, in, s->arg[i]);
    if (e->t->diags->errors > errors) out.kind = TEML_BROKEN;
    vec_push(e->t->arena, &e->out, out);
}

static void expand_for(Expand *e, const TemlScope *in, const TemlStmt *s) {
    const Syn *over = evaluate(e, in, s->arg[0]);
    bool span =
        over->kind == SYN_SPAN && over->at[0]->kind == SYN_INT && over->at[1]->kind == SYN_INT;
    if (!span && over->kind != SYN_LIST) {
        diag_report(e->t->diags, s->arg[0]->range, DIAG_TEML_FOR, teml_found(e->t, s->arg[0]));
        return;
    }
    int64_t from = span ? over->at[0]->i : 0, to = span ? over->at[1]->i : over->n;
    for (int64_t k = from; k < to && !e->full; k++) {
        Syn *value = syn_like(e, s->arg[0], SYN_INT);
        value->i = k;
        NameBinding b = {s->target, span ? value : over->at[k], in->bound};
        TemlScope inner = *in;
        inner.bound = arena_copy(e->t->arena, &b, sizeof b);
        int before = e->out.n;
        expand_list(e, &inner, &s->body);
        if (e->out.n == before) return; // an empty body
    }
}

static void expand_module(Expand *e, const TemlStmt *s);

static void expand_statement(Expand *e, const TemlScope *in, const TemlStmt *s) {
    const TemlStmt *f = s->kind == TEML_APPLY ? find_function(e, s->builtin) : NULL;
    see(e, s->source);
    switch (s->kind) {
    case TEML_PARAM: expand_param(e, s); break;
    case TEML_DEF: expand_def(e, s); break;
    case TEML_FOR: expand_for(e, in, s); break;
    case TEML_IMPORT: expand_module(e, s); break;
    case TEML_RETURN:
        if (!in->function) diag_report(e->t->diags, s->range, DIAG_TEML_RETURN);
        break;
    default:
        if (f) {
            expand_call(e, in, s, f);
        } else if (!teml_is_builtin(s->builtin) && e->functions.n) {
            Diag *d = diag_report(e->t->diags, s->head, DIAG_TEML_BUILTIN, s->builtin);
            diag_suggest(e->t->diags, d, s->builtin, nth_function, e);
        } else {
            emit(e, in, s);
        }
        rebind(e, in, s);
        break;
    }
}

static void note_calls(Teml *t, const TemlCall *call, int from) {
    for (; call; call = call->up)
        for (int i = from; i < t->diags->items.n; i++) {
            t->diags->source = call->source;
            diag_note(t->diags, t->diags->items.at[i], call->range, DIAG_TEML_CALLED,
                      call->function);
        }
}

void teml_note_calls(Teml *t, const TemlCall *call, int from) {
    const Source *source = t->diags->source;
    note_calls(t, call, from);
    t->diags->source = source;
}

static void expand_list(Expand *e, const TemlScope *in, const TemlStmts *list) {
    for (int i = 0; i < list->n && !e->full; i++) {
        int before = e->t->diags->items.n;
        expand_statement(e, in, &list->at[i]);
        // A call inside has already added its note.
        if (!find_function(e, list->at[i].builtin) || list->at[i].kind != TEML_APPLY)
            teml_note_calls(e->t, in->call, before);
    }
}

// --- Modules -----------------------------------------------------------------------------------

// The definitions of another file, which is read once even if it is imported several times.
static void expand_module(Expand *e, const TemlStmt *s) {
    Teml *t = e->t;
    const TemlOptions *o = t->options;
    const Source *from = s->source,
                 *module = o->import ? o->import(o->user, from, s->builtin) : NULL;
    if (!module || e->modules.n == TEML_MAX_MODULES) {
        diag_report(t->diags, s->head, module ? DIAG_TEML_MODULES : DIAG_TEML_IMPORT, s->builtin);
        return;
    }
    for (int i = 0; i < e->modules.n; i++)
        if (strcmp(e->modules.at[i], module->name) == 0) return;
    vec_push(t->arena, &e->modules, module->name);
    see(e, module);
    TemlStmts list = teml_syntax(t->arena, t->names, module, t->diags);
    for (int i = 0; i < list.n; i++) {
        TemlStmt *d = &list.at[i];
        see(e, module);
        if (d->kind == TEML_PARAM || d->kind == TEML_DEF || d->kind == TEML_IMPORT)
            expand_statement(e, &(TemlScope){0}, arena_copy(t->arena, d, sizeof *d));
        else
            diag_report(t->diags, d->range, DIAG_TEML_MODULE);
    }
    see(e, from);
}

TemlStmts teml_expand(Teml *t, const TemlStmts *list) {
    Expand e = {.t = t};
    TemlScope top = {0};
    const Source *source = t->source;
    vec_push(t->arena, &e.modules, source->name);
    expand_list(&e, &top, list);
    see(&e, source);
    check_settings(&e);
    return e.out;
}
