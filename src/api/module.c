// Modules: reading texts, and describing the functions in them.
#include "api/api.h"

#include "api/pipeline.h"
#include "stripe/lift.h"
#include "stripe/stripe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// --- Life ----------------------------------------------------------------------------------------

lw_module *module_new(Call *call, lw_module **into) {
    lw_module *mod = call_new(call, sizeof *mod);
    *into = mod;
    mod->ctx = call->ctx;
    context_hold(call->ctx);
    atomic_init(&mod->refs, 1);
    arena_init(&mod->arena, &call->ctx->allocator);
    mod->names.arena = &mod->arena;
    call_join(call, &mod->arena);
    return mod;
}

void module_hold(lw_module *mod) { atomic_fetch_add(&mod->refs, 1); }

void lw_module_free(lw_module *mod) {
    if (!mod || atomic_fetch_sub(&mod->refs, 1) != 1) return;
    lw_context *ctx = mod->ctx;
    lw_module *parent = mod->parent;
    arena_free(&mod->arena);
    ctx->allocator.free(ctx->allocator.user, mod, sizeof *mod);
    context_drop(ctx);
    lw_module_free(parent);
}

// --- Describing ----------------------------------------------------------------------------------

static const char *affine_text(Arena *arena, const Affine *a, const PrintNames *names) {
    if (affine_is(a, 0)) return "0"; // most origins
    Text t = {.arena = arena};
    affine_print(&t, a, names);
    return text_str(&t);
}

// "f32(N, 1:N - 1) O"
static const char *tensor_text(const Program *p, const Tensor *t, const lw_tensor *d,
                               const PrintNames *names) {
    Text out = {.arena = p->arena};
    if (t->role == ROLE_INOUT) text_add(&out, "inout ");
    text_add(&out, type_info[t->type].name);
    for (int i = 0; i < t->rank; i++) {
        text_add(&out, i ? ", " : "(");
        if (affine_is(t->origin[i], 0)) {
            text_add(&out, d->size[i]);
        } else {
            text_add(&out, d->origin[i]);
            text_char(&out, ':');
            affine_print(&out, affine_add(p->exprs, t->origin[i], t->size[i]), names);
        }
    }
    text_add(&out, t->rank ? ") " : " ");
    text_add(&out, t->name);
    return text_str(&out);
}

static lw_tensor describe_tensor(const Program *p, const Tensor *t, const PrintNames *names) {
    lw_tensor d = {
        .name = t->name, .role = (lw_role)t->role, .dtype = dtype_of(t->type), .ndim = t->rank};
    const char **size = arena_new_n(p->arena, const char *, t->rank);
    const char **origin = arena_new_n(p->arena, const char *, t->rank);
    for (int i = 0; i < t->rank; i++) {
        size[i] = affine_text(p->arena, t->size[i], names);
        origin[i] = affine_is(t->origin[i], 0) ? "0" : affine_text(p->arena, t->origin[i], names);
    }
    d.size = size;
    d.origin = origin;
    d.text = tensor_text(p, t, &d, names);
    return d;
}

typedef struct Argument {
    uint32_t at; // its position in the source
    lw_argument is;
} Argument;

static int by_place(const void *a, const void *b) {
    const Argument *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

// Scalars are parameters and tensors are tensors; their places tell how they were mixed.
static void order_arguments(lw_function *f) {
    const Program *p = f->program;
    Argument *args = arena_new_n(p->arena, Argument, p->ninputs + p->params.n);
    size_t n = 0;
    for (int i = 0; i < p->params.n; i++) {
        const Param *q = &p->params.at[i];
        if (q->kind == PARAM_SCALAR) args[n++] = (Argument){q->range.from, {q->name, -1, i}};
    }
    for (int i = 0; i < p->ninputs; i++)
        args[n++] = (Argument){p->tensors.at[i].range.from, {p->tensors.at[i].name, i, -1}};
    if (n > 1 && p->source) qsort(args, n, sizeof *args, by_place);
    f->narguments = n;
    f->arguments = arena_new_n(p->arena, lw_argument, n);
    for (size_t i = 0; i < n; i++) f->arguments[i] = args[i].is;
}

static void print_arguments(Text *out, const lw_function *f) {
    for (size_t i = 0; i < f->narguments; i++) {
        const lw_argument *a = &f->arguments[i];
        if (i) text_add(out, ", ");
        const lw_tensor *t = a->tensor >= 0 ? &f->tensors[a->tensor] : NULL;
        Type type = t ? f->program->tensors.at[a->tensor].type : TYPE_NONE;
        if (t && t->ndim == 0 && type_is_integer(type)) // 'int() s', not 'int s'
            text_printf(out, "%s() %s", type_info[type].name, t->name);
        else if (t)
            text_add(out, t->text);
        else
            text_printf(out, "%s %s", type_info[f->program->params.at[a->param].type].name,
                        a->name);
    }
}

static const char *signature(const lw_function *f) {
    const Program *p = f->program;
    Text out = {.arena = p->arena};
    text_add(&out, p->name);
    text_char(&out, '(');
    print_arguments(&out, f);
    text_add(&out, ") -> (");
    for (int i = 0; i < p->noutputs; i++) {
        if (i) text_add(&out, ", ");
        text_add(&out, f->tensors[p->ninputs + i].text);
    }
    text_char(&out, ')');
    return text_str(&out);
}

static void describe(lw_module *mod, lw_function *f, const Program *p) {
    Name *params = arena_new_n(&mod->arena, Name, p->params.n);
    f->module = mod;
    f->program = p;
    f->params = arena_new_n(&mod->arena, lw_param, p->params.n);
    for (int i = 0; i < p->params.n; i++) {
        const Param *q = &p->params.at[i];
        params[i] = q->name;
        f->params[i] = (lw_param){q->name, (lw_param_kind)q->kind, dtype_of(q->type)};
    }
    PrintNames names = {.params = params};
    f->tensors = arena_new_n(&mod->arena, lw_tensor, p->tensors.n);
    for (int i = 0; i < p->tensors.n; i++)
        f->tensors[i] = describe_tensor(p, &p->tensors.at[i], &names);
    order_arguments(f);
    f->signature = signature(f);
}

// A TeML program has several functions in one text: each is told by its own Tree.
static const char *tree_text(lw_module *mod, const Tree *tree) {
    Text out = {.arena = &mod->arena};
    stripe_print(&out, tree);
    return text_str(&out);
}

static const char *loops_text(lw_module *mod, const Tree *tree) {
    Text out = {.arena = &mod->arena};
    tree_show(&out, tree, false);
    return text_str(&out);
}

void module_describe(lw_module *mod, const Module *programs) {
    mod->nfunctions = programs->programs.n;
    mod->functions = arena_new_n(&mod->arena, lw_function, mod->nfunctions);
    for (int i = 0; i < mod->nfunctions; i++) {
        lw_function *f = &mod->functions[i];
        describe(mod, f, programs->programs.at[i]);
        if (i < programs->trees.n) f->tree = programs->trees.at[i];
        if (i < programs->references.n) f->reference = programs->references.at[i];
        if (f->reference) f->assignments = loops_text(mod, f->reference);
        if (f->tree) f->text = f->reference ? tree_text(mod, f->tree) : mod->source.text;
    }
}

// --- Reading -------------------------------------------------------------------------------------

static lw_language language_of(const char *name) {
    const char *dot = strrchr(name, '.');
    if (dot && strcmp(dot, ".tc") == 0) return LW_LANG_TC;
    if (dot && strcmp(dot, ".teml") == 0) return LW_LANG_TEML;
    if (dot && strcmp(dot, ".lwp") == 0) return LW_LANG_PROGRAM;
    if (dot && strcmp(dot, ".lwg") == 0) return LW_LANG_GRAPH;
    if (dot && strcmp(dot, ".stripe") == 0) return LW_LANG_STRIPE;
    return LW_LANG_BY_NAME;
}

typedef struct ParseArgs {
    const char *name;
    const char *text; // NULL: read the file `name`
    size_t len;
    const lw_parse_options *options;
    lw_module *mod;
} ParseArgs;

static bool cannot_read(Call *call, const char *path, const char *why) {
    diag_report(call->diags, (Range){0, 0}, DIAG_CANNOT_READ, path, why);
    return false;
}

static bool too_long(Call *call, const char *name) {
    diag_report(call->diags, (Range){0, 0}, DIAG_SOURCE_TOO_LONG, name, LW_MAX_SOURCE);
    return false;
}

// Reads until the end or the limit; devices and pipes have no size to trust. The descriptor is
// closed by the caller, who outlives running out of memory.
static bool read_all(Call *call, int fd, const char *path, Arena *arena, Source *out) {
    struct stat st;
    if (fstat(fd, &st) != 0) return cannot_read(call, path, strerror(errno));
    if (S_ISDIR(st.st_mode)) return cannot_read(call, path, "is a directory");
    if (st.st_size > LW_MAX_SOURCE) return too_long(call, path);
    size_t cap = S_ISREG(st.st_mode) ? (size_t)st.st_size + 1 : 65536, len = 0;
    char *text = arena_alloc(arena, cap + 1);
    for (;;) {
        ssize_t got = read(fd, text + len, cap - len);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return cannot_read(call, path, strerror(errno));
        if (got == 0) break;
        len += (size_t)got;
        if (len > LW_MAX_SOURCE) return too_long(call, path);
        if (len < cap) continue;
        char *more = arena_alloc(arena, cap * 2 + 1);
        memcpy(more, text, len);
        text = more, cap *= 2;
    }
    text[len] = 0;
    out->text = text;
    out->len = (uint32_t)len;
    return true;
}

typedef struct ReadArgs {
    Call *call;
    lw_module *mod;
    const char *path;
    Source *out;
    int fd;
    bool ok;
} ReadArgs;

static void read_body(void *arg) {
    ReadArgs *r = arg;
    r->mod->arena.try = r->call->arena->try;
    r->ok = read_all(r->call, r->fd, r->path, &r->mod->arena, r->out);
}

static bool read_file(Call *call, const char *path, lw_module *mod, Source *out) {
    ReadArgs r = {.call = call, .mod = mod, .path = path, .out = out};
    r.fd = open(path, O_RDONLY | O_CLOEXEC);
    if (r.fd < 0) return cannot_read(call, path, strerror(errno));
    bool enough = arena_try(call->arena, read_body, &r);
    close(r.fd);
    mod->arena.try = call->arena->try;
    if (!enough) arena_out_of_memory(call->arena);
    return r.ok;
}

static bool take_text(Call *call, const ParseArgs *a, lw_module *mod) {
    mod->source.name = arena_strndup(&mod->arena, a->name, strlen(a->name));
    if (!a->text) return read_file(call, a->name, mod, &mod->source);
    if (a->len > LW_MAX_SOURCE) return too_long(call, a->name);
    mod->source.text = arena_strndup(&mod->arena, a->text, a->len);
    mod->source.len = (uint32_t)a->len;
    return true;
}

// --- Modules of TeML -----------------------------------------------------------------------------

typedef struct Importer {
    Call *call;
    lw_module *mod;
} Importer;

// A relative path counts from the folder of the importing file.
static const Source *import_text(void *user, const Source *from, const char *path) {
    Importer *i = user;
    Arena *arena = &i->mod->arena;
    const char *slash = strrchr(from->name, '/');
    int folder = *path == '/' || !slash ? 0 : (int)(slash + 1 - from->name);
    Source *out = arena_new(arena, Source);
    out->name = arena_printf(arena, "%.*s%s", folder, from->name, path);
    DiagList *diags = i->call->diags, quiet = {.arena = i->call->arena};
    i->call->diags = &quiet;
    bool ok = read_file(i->call, out->name, i->mod, out);
    i->call->diags = diags;
    if (ok) source_skip_mark(out);
    return ok ? out : NULL;
}

static TemlOptions teml_options(const lw_parse_options *o, Importer *importer) {
    Arena *arena = importer->call->arena;
    TemlSetting *set = arena_new_n(arena, TemlSetting, o->parameter_count);
    int n = o->parameters ? (int)o->parameter_count : 0;
    for (int i = 0; i < n; i++)
        set[i] = (TemlSetting){o->parameters[i].name ? o->parameters[i].name : "",
                               o->parameters[i].value};
    TemlTrust trust = o->no_path     ? TEML_UNUSED
                      : o->unchecked ? TEML_UNCHECKED
                      : o->unproven  ? TEML_UNPROVEN
                                     : TEML_PROVEN;
    return (TemlOptions){trust, n, set, import_text, importer};
}

static lw_status parse_body(Call *call, void *args) {
    ParseArgs *a = args;
    lw_parse_options options;
    if (!options_copy(&options, sizeof options, a->options)) return call_misused(call, UNSIZED);
    lw_language language = options.language ? options.language : language_of(a->name);
    if (language == LW_LANG_BY_NAME) {
        Diag *d = diag_report(call->diags, (Range){0, 0}, DIAG_UNKNOWN_LANGUAGE, a->name);
        diag_note(call->diags, d, (Range){0, 0}, DIAG_LANGUAGES_ARE);
        return LW_ERROR;
    }
    call->diags->strict = options.strict;
    lw_module *mod = module_new(call, &a->mod);
    mod->strict = options.strict;
    if (!take_text(call, a, mod)) return LW_ERROR;
    source_skip_mark(&mod->source);
    call_source(call, mod);
    Compilation c = {.call = call, .language = language, .mod = mod};
    c.unproven = options.unproven || options.unchecked;
    c.teml = teml_options(&options, &(Importer){call, mod});
    c.as_written = options.as_written;
    c.no_path = options.no_path;
    c.unchecked_index = options.unchecked_index || options.unchecked;
    bool several = language == LW_LANG_TC || language == LW_LANG_PROGRAM; // functions in one text
    c.partial = options.partial && several;
    lw_status status = pipeline(&c, STEP_INFER);
    mod->front_us = c.us[STEP_PARSE] + c.us[STEP_INFER];
    return status;
}

static lw_status parse(lw_context *ctx, ParseArgs *a, lw_module **out) {
    if (!out) return call_null(ctx, "out");
    *out = NULL;
    if (!a->name) return call_null(ctx, a->text ? "name" : "path");
    lw_status status = call_run(ctx, parse_body, a);
    bool some = status == LW_ERROR && a->mod && a->mod->nfunctions > 0;
    if (status == LW_OK || some)
        *out = a->mod;
    else
        lw_module_free(a->mod);
    return status;
}

lw_status lw_parse(lw_context *ctx, const char *name, const char *text, size_t len,
                   const lw_parse_options *options, lw_module **out) {
    ParseArgs a = {.name = name, .text = text ? text : "", .len = len, .options = options};
    if (out) *out = NULL;
    return text || !len ? parse(ctx, &a, out) : call_null(ctx, "text");
}

lw_status lw_parse_file(lw_context *ctx, const char *path, const lw_parse_options *options,
                        lw_module **out) {
    ParseArgs a = {.name = path, .options = options};
    return parse(ctx, &a, out);
}

lw_status function_is_tree(Call *call, const lw_function *f) {
    const char *language = f->lift ? "Stripe" : "TeML";
    Diag *d = diag_report(call->diags, (Range){0, 0}, DIAG_STRIPE_IS_TREE, language);
    const Source *before = call->diags->source;
    diag_note(call->diags, d, (Range){0, 0}, DIAG_STRIPE_IS_TREE_NOTE);
    call->diags->source = &f->module->source;
    if (f->lift) diag_note(call->diags, d, f->lift->range, DIAG_STRIPE_KEPT_NOTE, f->lift->text);
    call->diags->source = before;
    return LW_ERROR;
}

// --- Queries -------------------------------------------------------------------------------------

size_t lw_module_function_count(const lw_module *mod) { return mod ? (size_t)mod->nfunctions : 0; }

const lw_function *lw_module_function(const lw_module *mod, size_t i) {
    return mod && i < (size_t)mod->nfunctions ? &mod->functions[i] : NULL;
}

const lw_function *lw_module_find(const lw_module *mod, const char *name) {
    for (size_t i = 0; i < lw_module_function_count(mod); i++)
        if (name && strcmp(mod->functions[i].program->name, name) == 0) return &mod->functions[i];
    return NULL;
}

const char *lw_module_store(const lw_module *mod) { return mod ? mod->store : NULL; }

const lw_parameter *lw_module_parameter(const lw_module *mod, size_t i) {
    return mod && i < (size_t)mod->nparams ? &mod->params[i] : NULL;
}

bool lw_function_is_tree(const lw_function *f) { return f && f->tree; }
const char *lw_function_name(const lw_function *f) { return f ? f->program->name : ""; }

const char *lw_function_signature(const lw_function *f) { return f ? f->signature : ""; }
const char *lw_function_assignments(const lw_function *f) {
    return f && f->assignments ? f->assignments : "";
}

size_t lw_function_param_count(const lw_function *f) {
    return f ? (size_t)f->program->params.n : 0;
}

const lw_param *lw_function_param(const lw_function *f, size_t i) {
    return i < lw_function_param_count(f) ? &f->params[i] : NULL;
}

size_t lw_function_input_count(const lw_function *f) { return f ? (size_t)f->program->ninputs : 0; }

size_t lw_function_output_count(const lw_function *f) {
    return f ? (size_t)f->program->noutputs : 0;
}

size_t lw_function_tensor_count(const lw_function *f) {
    return f ? (size_t)f->program->tensors.n : 0;
}

const lw_tensor *lw_function_tensor(const lw_function *f, size_t i) {
    return i < lw_function_tensor_count(f) ? &f->tensors[i] : NULL;
}

size_t lw_function_argument_count(const lw_function *f) { return f ? f->narguments : 0; }

const lw_argument *lw_function_argument(const lw_function *f, size_t i) {
    return i < lw_function_argument_count(f) ? &f->arguments[i] : NULL;
}

int lw_function_find_tensor(const lw_function *f, const char *name) {
    for (int i = 0; f && i < f->program->tensors.n; i++)
        if (name && strcmp(f->program->tensors.at[i].name, name) == 0) return i;
    return -1;
}

int lw_function_find_param(const lw_function *f, const char *name) {
    for (int i = 0; f && i < f->program->params.n; i++)
        if (name && strcmp(f->program->params.at[i].name, name) == 0) return i;
    return -1;
}
