// Runs lists of passes: the driver, the table of passes, and functions that passes share.
#include "passes/pass_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/checked.h"
#include "base/nearest.h"
#include "verify/verify.h"

// --- The table -----------------------------------------------------------------------------------

const PassInfo pass_info[] = {
#define PASS(id, name, summary)                                                                    \
    {                                                                                              \
#name, summary, {
#define PARAM(name, kind, value, least, most, what) {#name, PASS_##kind, value, least, most, what},
#define END                                                                                        \
    }                                                                                              \
    }                                                                                              \
    ,
#include "passes/passes.def"
#undef PASS
#undef PARAM
#undef END
};
const int pass_count = (int)(sizeof pass_info / sizeof *pass_info);

static PassFn *const pass_function[] = {
#define PASS(id, name, summary) pass_##name,
#define PARAM(...)
#define END
#include "passes/passes.def"
#undef PASS
#undef PARAM
#undef END
};

int pass_params(const PassInfo *p) {
    int n = 0;
    while (n < PASS_MAX_PARAMS && p->param[n].name) n++;
    return n;
}

// --- Parameters ----------------------------------------------------------------------------------

static const PassValue *value_of(const PassRun *r, const char *param) {
    const PassInfo *p = r->call->pass;
    for (int i = 0; i < pass_params(p); i++)
        if (strcmp(p->param[i].name, param) == 0) return &r->call->value[i];
    bug("pass '%s' has no parameter '%s'", p->name, param);
}

double pass_real(const PassRun *r, const char *param) { return value_of(r, param)->number; }

int64_t pass_int(const PassRun *r, const char *param) { return (int64_t)pass_real(r, param); }

const char *pass_text(const PassRun *r, const char *param) { return value_of(r, param)->text; }

Tags pass_tags(const PassRun *r, const Tree *t, const char *param) {
    const char *s = pass_text(r, param);
    VEC(Tag) tags = {0};
    while (*s) {
        size_t len = strcspn(s, ",");
        size_t name = strcspn(s, "=,");
        Tag tag = {name_intern(t->names, s + 1, name - 1), NULL};
        if (name < len) tag.value = name_intern(t->names, s + name + 1, len - name - 1);
        vec_push(r->arena, &tags, tag);
        s += len + (s[len] == ',');
    }
    return (Tags){tags.n, tags.at};
}

Tags tags_and(Arena *arena, Tags tags, Tags more) {
    Tag *list = arena_new_n(arena, Tag, tags.n + more.n);
    for (int i = 0; i < tags.n; i++) list[i] = tags.at[i];
    for (int i = 0; i < more.n; i++) list[tags.n + i] = more.at[i];
    return (Tags){tags.n + more.n, list};
}

Place unit_place(const PassRun *r, const Tree *t, Name unit) {
    if (!unit) return (Place){0};
    Unit *u = arena_new(r->arena, Unit);
    u->name = name_of(t->names, unit);
    return (Place){1, u};
}

// --- Blocks --------------------------------------------------------------------------------------

bool has_tag(const Block *b, const char *tag) {
    for (int i = 0; i < b->node.tags.n; i++)
        if (strcmp(b->node.tags.at[i].name, tag) == 0) return true;
    return false;
}

// A tag without a value matches every value.
static bool tag_matches(const Tag *have, const Tag *want) {
    if (strcmp(have->name, want->name) != 0) return false;
    return !want->value || (have->value && strcmp(have->value, want->value) == 0);
}

bool has_tags(const Block *b, Tags tags) {
    for (int i = 0; i < tags.n; i++) {
        bool found = false;
        for (int k = 0; k < b->node.tags.n && !found; k++)
            found = tag_matches(&b->node.tags.at[k], &tags.at[i]);
        if (!found) return false;
    }
    return true;
}

int64_t tag_number(Tags tags, const char *name, int64_t otherwise) {
    for (int i = 0; i < tags.n; i++)
        if (tags.at[i].value && strcmp(tags.at[i].name, name) == 0)
            return strtoll(tags.at[i].value, NULL, 10);
    return otherwise;
}

int64_t buffer_bytes(const Buffer *b, int64_t align) {
    int64_t last = 1, bytes;
    for (int d = 0; d < b->rank; d++) {
        if (b->size[d] == 0) return 0;
        if (!checked_fma(b->size[d] - 1, llabs(b->stride[d]), &last)) return INT64_MAX / 4;
    }
    if (!checked_mul(last, type_info[b->type].bytes, &bytes)) return INT64_MAX / 4;
    return min_i64(bytes / align * align + (bytes % align ? align : 0), INT64_MAX / 4);
}

const char *block_name(const Block *b) {
    if (!b) return "";
    return b->name ? b->name : b->nindex ? b->index[0].name : "";
}

typedef struct Matching {
    Arena *arena;
    Tags tags;
    VEC(int) found;
} Matching;

static bool match(void *user, const Node *node, int depth, const Block *parent) {
    Matching *m = user;
    const Block *b = as_block(node);
    (void)depth, (void)parent;
    if (!b || !b->nindex || b->index[0].passed || !has_tags(b, m->tags)) return true;
    vec_push(m->arena, &m->found, b->index[0].id);
    return false;
}

LoopList pass_blocks(const PassRun *r, const Tree *t, const char *param) {
    Matching m = {.arena = r->arena};
    if (param) m.tags = pass_tags(r, t, param);
    tree_walk(t, match, &m);
    return (LoopList){m.found.n, m.found.at};
}

// --- Log -----------------------------------------------------------------------------------------

static void note(PassRun *r, const Block *b, bool refused, const char *text, va_list args) {
    char line[512];
    vsnprintf(line, sizeof line, text, args);
    PassNote n = {block_name(b), arena_strndup(r->arena, line, strlen(line)), refused};
    vec_push(r->arena, &r->notes, n);
}

void pass_did(PassRun *r, const Block *b, const char *text, ...) {
    va_list args;
    va_start(args, text);
    note(r, b, false, text, args);
    va_end(args);
}

void pass_left(PassRun *r, const Block *b, const char *text, ...) {
    va_list args;
    va_start(args, text);
    note(r, b, true, text, args);
    va_end(args);
}

TreeEdit pass_edit(PassRun *r) {
    r->refused = (DiagList){.arena = r->arena};
    return (TreeEdit){.diags = &r->refused, .scratch = r->scratch};
}

void pass_refused(PassRun *r, const Block *b) {
    pass_left(r, b, "%s", r->refused.items.n ? r->refused.items.at[0]->text : "refused");
}

// --- Running -------------------------------------------------------------------------------------

static int last_step(const Hardware *h, const char *until) {
    for (int i = 0; until && i < h->pass.n; i++)
        if (strcmp(h->pass.at[i].label, until) == 0) return i;
    return until ? -1 : h->pass.n - 1;
}

static const char *label_at(const void *of, size_t i) {
    const Hardware *h = of;
    return (int)i < h->pass.n ? h->pass.at[i].label : NULL;
}

// Says so if no block has the tags that the pass requires.
static void find_blocks(PassRun *r, const Tree *t) {
    for (int i = 0; i < pass_params(r->call->pass); i++)
        if (strcmp(r->call->pass->param[i].name, "reqs") == 0 && *pass_text(r, "reqs") &&
            !pass_blocks(r, t, "reqs").n)
            pass_did(r, NULL, "no block has %s", pass_text(r, "reqs"));
}

// Do statement numbers, and with them the lists of dependences, remain valid?
static bool keeps_statements(const PassInfo *p) {
    return strcmp(p->name, "deps") == 0 || strcmp(p->name, "place") == 0 ||
           strcmp(p->name, "locate") == 0 || strcmp(p->name, "transpose") == 0;
}

bool passes_run(Arena *arena, const Hardware *h, const Tree *t, const PassesOptions *o, Passes *out,
                DiagList *diags) {
    int last = last_step(h, o->until);
    if (o->until && last < 0) {
        Diag *d = diag_report(diags, (Range){0, 0}, DIAG_PASS_UNTIL, h->name, o->until);
        diag_suggest(diags, d, o->until, label_at, h);
        return false;
    }
    for (int i = 0; i < t->buffers.n && h->pass.n; i++)
        for (int k = 0; k < t->buffers.at[i].place.n; k++)
            if (t->buffers.at[i].place.unit[k].n) {
                diag_report(diags, (Range){0, 0}, DIAG_PASS_PLACED, t->buffers.at[i].name);
                return false;
            }
    PassStep *step = arena_new_n(arena, PassStep, last + 2);
    *out = (Passes){.machine = h, .tree = t, .step = step};
    for (int i = 0; i <= last; i++) {
        PassRun r = {.arena = arena, .scratch = o->scratch, .h = h, .call = &h->pass.at[i]};
        double start = o->clock ? o->clock() : 0;
        find_blocks(&r, out->tree);
        const Tree *now = pass_function[r.call->pass - pass_info](&r, out->tree);
        DiagList found = {.arena = arena};
        if (now != out->tree && !keeps_statements(r.call->pass)) now = tree_without_deps(now);
        if (now != out->tree &&
            tree_verify(o->scratch ? o->scratch : arena, now, NULL, &found) == VERIFY_REFUSED)
            bug("pass '%s' left loops that do not verify: %s", r.call->label,
                found.items.n ? found.items.at[0]->text : "?");
        step[out->nsteps++] = (PassStep){r.call,    now,        now != out->tree,
                                         r.notes.n, r.notes.at, o->clock ? o->clock() - start : 0};
        out->tree = now;
    }
    return true;
}

void passes_explain(Text *out, const Passes *p) {
    for (int i = 0; i < p->nsteps; i++) {
        const PassStep *s = &p->step[i];
        if (!s->nnotes) text_printf(out, "%-12s %s\n", s->call->label, s->changed ? "done" : "-");
        for (int k = 0; k < s->nnotes; k++) {
            const PassNote *n = &s->notes[k];
            text_printf(out, "%-12s ", k ? "" : s->call->label);
            if (*n->block) text_printf(out, "%s: ", n->block);
            text_printf(out, "%s%s\n", n->refused ? "left alone: " : "", n->text);
        }
    }
}
