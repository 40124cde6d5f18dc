// Runs a TeML program: each statement applies a built-in to values of the store (equations 10, 11,
// 17, 18, 26). A statement that fails leaves a BAD value; no more errors are reported about it.
#include "lang/teml/teml.h"

#include <string.h>

#include "base/nearest.h"

typedef enum Result { RESULT_NONE, RESULT_TENSOR, RESULT_LOOP } Result;

typedef struct TemlBuiltin {
    const char *name;
    TemlEval *eval;
    int op, least, most;
    Result result;
} TemlBuiltin;

static const TemlBuiltin builtins[] = {
#define BUILTIN(name, eval, op, least, most, result) {name, eval, op, least, most, RESULT_##result},
#include "lang/teml/teml.def"
#undef BUILTIN
};
enum { NBUILTINS = sizeof builtins / sizeof *builtins };

static const TemlBuiltin *find_builtin(const char *name) {
    for (int i = 0; i < NBUILTINS; i++)
        if (strcmp(builtins[i].name, name) == 0) return &builtins[i];
    return NULL;
}

bool teml_is_builtin(const char *name) { return find_builtin(name) != NULL; }

static const char *builtin_name(const void *of, size_t i) {
    (void)of;
    return i < NBUILTINS ? builtins[i].name : NULL;
}

static const char *store_name(const void *of, size_t i) {
    const Teml *t = of;
    return i < (size_t)t->store.n ? t->store.at[i].name : NULL;
}

// --- Names -------------------------------------------------------------------------------------

TemlValue *teml_find(const Teml *t, Name name) {
    for (int i = 0; i < t->store.n; i++)
        if (t->store.at[i].name == name) return t->store.at[i].value;
    return NULL;
}

static void bind_name(Teml *t, Name name, TemlValue *value) {
    for (int i = 0; i < t->store.n; i++)
        if (t->store.at[i].name == name) {
            t->store.at[i].value = value;
            return;
        }
    vec_push(t->arena, &t->store, ((TemlBinding){name, value}));
}

TemlValue *teml_value(Teml *t, TemlKind kind) {
    TemlValue *v = arena_new(t->arena, TemlValue);
    v->kind = kind;
    return v;
}

int teml_iter(Teml *t, Name name) {
    for (int i = 0; i < t->iters.n; i++)
        if (t->iters.at[i] == name) return i;
    vec_push(t->arena, &t->iters, name);
    return t->iters.n - 1;
}

int teml_level_iter(Teml *t, int level) {
    return teml_iter(t, name_of(t->names, arena_printf(t->arena, "i%d", level)));
}

const char *teml_shape_text(Teml *t, int rank, const int64_t *size) {
    Text text = {.arena = t->arena};
    text_char(&text, '[');
    for (int d = 0; d < rank; d++) text_printf(&text, "%s%lld", d ? ", " : "", (long long)size[d]);
    text_char(&text, ']');
    return text_str(&text);
}

// --- Arguments ---------------------------------------------------------------------------------

const char *teml_found(Teml *t, const Syn *s) {
    switch (s->kind) {
    case SYN_NONE: return "nothing";
    case SYN_LIST: return arena_printf(t->arena, "a list of %d", s->n);
    case SYN_ARROW: return "'->'";
    default: break;
    }
    uint32_t len = s->range.to - s->range.from;
    return arena_printf(t->arena, "'%.*s'", len > 40 ? 40 : (int)len,
                        t->source->text + s->range.from);
}

TemlValue *teml_argument(Teml *t, const TemlStmt *s, int arg, const char *wanted) {
    const Syn *syn = s->arg[arg];
    Range at = syn->kind == SYN_NONE ? s->head : syn->range;
    const char *found = teml_found(t, syn);
    bool iterators = *wanted == '[';
    if (syn->kind == SYN_NAME && !iterators && !teml_find(t, syn->name))
        found = arena_printf(t->arena, "%s, which has no value", found);
    diag_report(t->diags, at, DIAG_TEML_ARGUMENT, arg + 1, s->builtin, wanted, found);
    return NULL;
}

TemlValue *teml_operand(Teml *t, const TemlStmt *s, int arg) {
    const Syn *syn = s->arg[arg];
    if (syn->kind != SYN_NAME) return teml_argument(t, s, arg, "a name");
    TemlValue *v = teml_find(t, syn->name);
    if (!v) {
        Diag *d = diag_report(t->diags, syn->range, DIAG_TEML_UNKNOWN, syn->name);
        if (t->store.n) diag_suggest(t->diags, d, syn->name, store_name, t);
    }
    return v && v->kind != VALUE_BAD ? v : NULL;
}

static const char *kind_text(TemlKind kind) {
    return kind == VALUE_LOOP     ? "a loop"
           : kind == VALUE_TENSOR ? "a tensor"
           : kind == VALUE_ASSIGN ? "an assignment"
                                  : "a virtual tensor";
}

const TemlLoop *teml_loop_argument(Teml *t, const TemlStmt *s, int arg) {
    TemlValue *v = teml_operand(t, s, arg);
    if (!v) return NULL;
    if (v->kind != VALUE_LOOP) {
        const Syn *syn = s->arg[arg];
        Diag *d = diag_report(t->diags, syn->range, DIAG_TEML_NOT_LOOP, s->builtin, syn->name,
                              kind_text(v->kind));
        if (v->kind == VALUE_ASSIGN)
            diag_note(t->diags, d, (Range){0, 0}, DIAG_TEML_NOT_LOOP_NOTE, syn->name);
        return NULL;
    }
    v->consumed = true;
    return v->loop;
}

bool teml_int_argument(Teml *t, const TemlStmt *s, int arg, const char *what, int64_t *out) {
    if (s->arg[arg]->kind != SYN_INT) {
        teml_argument(t, s, arg, what);
        return false;
    }
    *out = s->arg[arg]->i;
    return true;
}

// --- Statements --------------------------------------------------------------------------------

static bool check_arity(Teml *t, const TemlStmt *s, const TemlBuiltin *b) {
    int n = s->n;
    if (n >= b->least && n <= b->most) return true;
    const char *wants =
        b->most == TEML_MAX_ARGUMENTS ? arena_printf(t->arena, "%d or more arguments", b->least)
        : b->least == b->most
            ? arena_printf(t->arena, "%d argument%s", b->least, b->least == 1 ? "" : "s")
            : arena_printf(t->arena, "%d or %d arguments", b->least, b->most);
    diag_report(t->diags, s->head, DIAG_TEML_ARITY, s->builtin, wants, n);
    return false;
}

static const TemlBuiltin *check_statement(Teml *t, const TemlStmt *s) {
    const TemlBuiltin *b = find_builtin(s->builtin);
    if (!b) {
        Diag *d = diag_report(t->diags, s->head, DIAG_TEML_BUILTIN, s->builtin);
        diag_suggest(t->diags, d, s->builtin, builtin_name, NULL);
        return NULL;
    }
    if (s->target && b->result == RESULT_NONE) {
        diag_report(t->diags, s->head, DIAG_TEML_NO_VALUE, s->builtin, s->target);
        return NULL;
    }
    if (!s->target && b->result != RESULT_NONE) {
        diag_report(t->diags, s->head, DIAG_TEML_NO_TARGET, s->builtin);
        return NULL;
    }
    if (s->real && b->result == RESULT_LOOP) {
        diag_report(t->diags, s->real_range, DIAG_TEML_LOOP_NAME, s->builtin);
        return NULL;
    }
    return check_arity(t, s, b) ? b : NULL;
}

// The result of a call, under the name that the caller gives it. If that is the name of a tensor,
// which an argument also has, the result is in another tensor.
static TemlValue *alias(Teml *t, const TemlStmt *s) {
    const TemlValue *v = teml_operand(t, s, 0), *old = teml_find(t, s->target);
    bool tensor = old && (old->kind == VALUE_TENSOR || old->kind == VALUE_ASSIGN);
    Name in = v && v->kind == VALUE_ASSIGN ? t->tensors.at[v->assign->tensor].name : NULL;
    if (tensor && in && in != s->target) {
        t->diags->source = s->call->source;
        diag_report(t->diags, s->call->range, DIAG_TEML_OTHER_TENSOR, s->target, in, s->builtin);
        t->diags->source = s->source;
    }
    return v ? arena_copy(t->arena, v, sizeof *v) : NULL;
}

TemlValue *teml_apply(Teml *t, const TemlStmt *s) {
    const TemlBuiltin *b = check_statement(t, s);
    return b ? b->eval(t, s, b->op) : NULL;
}

static void run_statement(Teml *t, const TemlStmt *s) {
    int before = t->diags->items.n;
    t->source = t->diags->source = s->source;
    TemlValue *v = s->kind == TEML_ALIAS   ? alias(t, s)
                   : s->kind == TEML_APPLY ? teml_apply(t, s)
                                           : NULL;
    if (t->x->overflow || t->x->too_large) {
        t->x->overflow = t->x->too_large = false;
        diag_report(t->diags, s->range, DIAG_TEML_TOO_LARGE);
        v = NULL;
    }
    if (!v) v = teml_value(t, VALUE_BAD);
    v->range = s->range;
    if (s->target) bind_name(t, s->target, v);
    teml_note_calls(t, s->call, before);
}

// Numbers every name that may become a tensor, so that arguments have lower numbers than the
// buffers that nests allocate.
static void number_tensors(Teml *t, const TemlStmts *list) {
    for (int i = 0; i < list->n; i++) {
        const TemlStmt *s = &list->at[i];
        Name name = s->real ? s->real : s->target;
        bool known = !name;
        for (int k = 0; k < t->tensors.n && !known; k++) known = t->tensors.at[k].name == name;
        if (known) continue;
        vec_push(t->arena, &t->tensors, ((TemlTensor){.name = name, .rank = -1}));
        tree_buffer(t->base, &(Buffer){.name = name, .type = TYPE_F64, .tensor = t->nreal});
        t->nreal = t->base->nargs = t->tensors.n;
    }
}

TemlResult teml_parse(Arena *arena, Arena *scratch, Names *names, const Source *source,
                      const TemlOptions *options, DiagList *diags) {
    Teml *t = arena_new(scratch, Teml);
    *t = (Teml){.arena = scratch, .names = names, .source = source, .diags = diags};
    t->options = options;
    t->out = arena;
    t->module = arena_new(arena, Module);
    t->x = arena_new(scratch, Exprs);
    exprs_init(t->x, scratch);
    t->base = tree_new(scratch, t->x, names);
    t->parts = program_new(scratch, names, "teml", 4);
    const Source *before = diags->source;
    diags->source = source;
    TemlStmts written = teml_syntax(scratch, names, source, diags);
    TemlStmts list = teml_expand(t, &written);
    number_tensors(t, &list);
    if (list.n > PROGRAM_MAX_STMTS || t->nreal > PROGRAM_MAX_TENSORS) {
        diag_report(diags, (Range){0, 0}, DIAG_TEML_STATEMENTS, PROGRAM_MAX_STMTS);
        list.n = 0;
    }
    for (int i = 0; i < list.n; i++) run_statement(t, &list.at[i]);
    t->source = diags->source = source;
    if (!t->generated.n && !diags->errors) teml_codegen_rest(t);
    Text store = {.arena = arena};
    teml_store_print(&store, t);
    diags->source = before;
    return (TemlResult){t->module, text_str(&store), t->params.n, t->params.at};
}
