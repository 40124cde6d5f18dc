// Edit scripts: actions as text, one after the other, separated by semicolons or lines.
//
//     split m 64; swap; vectorize C:n; copy A at k/256
//
// A loop is written as in the Schedule, with its statement in front where that matters: C:m/64.
// Words that are no names stand in backquotes. `#` begins a comment.
#include "sched/loops.h"

#include <string.h>

#include "base/bug.h"
#include "base/nearest.h"
#include "sched/lower.h"

typedef struct Script {
    Loops *x;
    const Source *src;
    DiagList *diags;
    uint32_t at;  // the next character
    Range action; // that is being read
    bool failed;
} Script;

// --- Characters ----------------------------------------------------------------------------------

static bool is_word(char c) {
    return c == '_' || c == '.' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z') || (unsigned char)c >= 128;
}

static char peek(Script *t) {
    const char *text = t->src->text;
    while (t->at < t->src->len) {
        char c = text[t->at];
        if (c == '#')
            while (t->at < t->src->len && text[t->at] != '\n') t->at++;
        else if (c == ' ' || c == '\t' || c == '\r')
            t->at++;
        else
            break;
    }
    return t->at < t->src->len ? text[t->at] : '\0';
}

// Nothing more of this action?
static bool at_end(Script *t) {
    char c = peek(t);
    return t->at >= t->src->len || c == ';' || c == '\n';
}

static bool accept(Script *t, char c) {
    if (at_end(t) || peek(t) != c) return false;
    t->at++;
    return true;
}

static Name word(Script *t, Range *range) {
    char first = at_end(t) ? '\0' : peek(t);
    const char *text = t->src->text;
    uint32_t from = t->at, to = from;
    if (first == '`') {
        for (to++; to < t->src->len && text[to] != '`' && text[to] != '\n';) to++;
        if (to >= t->src->len || text[to] != '`' || to == from + 1) return NULL;
        t->at = to + 1;
        *range = (Range){from, t->at};
        return name_intern(t->x->p->names, text + from + 1, to - from - 1);
    }
    while (to < t->src->len && is_word(text[to])) to++;
    if (!first || to == from) return NULL;
    t->at = to;
    *range = (Range){from, to};
    return name_intern(t->x->p->names, text + from, to - from);
}

static Diag *fault(Script *t, Range range, DiagId id, const char *a, const char *b) {
    t->failed = true;
    return diag_report(t->diags, range, id, a, b);
}

static void expected(Script *t, const char *what) {
    Range range = {t->at, t->at};
    const char *found = "the end of the action";
    if (!at_end(t)) {
        uint32_t to = t->at;
        while (to < t->src->len && is_word(t->src->text[to])) to++;
        if (to == t->at) to++;
        range.to = to;
        found = arena_printf(t->x->arena, "'%.*s'", (int)(to - t->at), t->src->text + t->at);
    }
    fault(t, range, DIAG_SCHEDULE_EXPECTED, what, found);
}

// --- Operands ------------------------------------------------------------------------------------

static bool next_is_number(Script *t) {
    char c = at_end(t) ? '\0' : peek(t);
    return c >= '0' && c <= '9';
}

static int64_t number(Script *t) {
    Range range;
    Name w = next_is_number(t) ? word(t, &range) : NULL;
    int64_t n = 0;
    if (!w) return expected(t, "a number"), 0;
    for (const char *c = w; *c; c++) {
        if (*c < '0' || *c > '9' || n > INT64_MAX / 100) {
            fault(t, range, DIAG_SCHEDULE_NUMBER, w, "a number");
            return 0;
        }
        n = 10 * n + (*c - '0');
    }
    return n;
}

static bool fits(const SchedLoop *l, const LoopRef *ref) {
    return l->iter == ref->iter && l->step == ref->step && l->interleaved == ref->interleaved;
}

// The loop of that name: of the statement that is named, else of the cursor's, else of any.
static Spot find(const Loops *x, Name label, const LoopRef *ref) {
    Spot found = {NULL, 0};
    for (int i = 0; i < x->map.order.n; i++) {
        const FullOrder *order = &x->map.order.at[i];
        if (label && order->label != label) continue;
        if (found.label && order->label != x->cursor.label) continue;
        for (int k = 0; k < order->n; k++)
            if (fits(&order->loop[k], ref)) {
                found = (Spot){order->label, k};
                break;
            }
    }
    return found;
}

static void no_loop(Script *t, Range range, Name label, const LoopRef *ref) {
    Diag *d = fault(t, range, DIAG_EDIT_NO_LOOP, ref_text(t->x->arena, ref), NULL);
    Text all = {.arena = t->x->arena};
    for (int i = 0; i < t->x->map.order.n; i++) {
        const FullOrder *order = &t->x->map.order.at[i];
        if (label && order->label != label) continue;
        for (int k = 0; k < order->n; k++)
            text_printf(&all, "%s%s", all.len ? ", " : "",
                        loops_name(t->x, (Spot){order->label, k}));
    }
    if (all.len) diag_note(t->diags, d, (Range){0, 0}, DIAG_EDIT_LOOPS_NOTE, text_str(&all));
}

static const char *nth_label(const void *of, size_t i) {
    const Loops *x = of;
    return i < (size_t)x->map.order.n ? x->map.order.at[i].label : NULL;
}

static Name statement(Script *t, Name w, Range range) {
    const Program *p = t->x->tree->program;
    for (int i = 0; i < p->stmts.n; i++)
        if (p->stmts.at[i].label == w) return w;
    for (int i = 0; i < t->x->p->stmts.n; i++) // rewriting removed it: inlined
        if (t->x->p->stmts.at[i].label == w) return w;
    Diag *d = fault(t, range, DIAG_SCHEDULE_UNKNOWN_LABEL, w, NULL);
    const char *near = nearest(w, nth_label, t->x);
    if (near) diag_note(t->diags, d, (Range){0, 0}, DIAG_DID_YOU_MEAN, near);
    return NULL;
}

// [STMT ':'] WORD: the first part, if there is one, in *label.
static Name qualified(Script *t, const char *what, Name *label, Range *range) {
    Name w = word(t, range);
    if (!w) return expected(t, what), NULL;
    if (accept(t, ':')) {
        Range after;
        *label = statement(t, w, *range);
        if (!*label) return NULL;
        w = word(t, &after);
        if (!w) return expected(t, what), NULL;
        *range = range_join(*range, after);
    }
    return w;
}

static Spot loop(Script *t) {
    LoopRef ref = {.step = 1};
    Name label = NULL;
    Range range;
    ref.iter = qualified(t, "a loop", &label, &range);
    if (!ref.iter) return (Spot){NULL, 0};
    ref.interleaved = !at_end(t) && peek(t) == '%';
    if (accept(t, '/') || accept(t, '%')) {
        ref.step = number(t);
        range.to = t->at;
    }
    Spot spot = find(t->x, label, &ref);
    if (!spot.label && !t->failed) no_loop(t, range, label, &ref);
    return spot;
}

static const char *nth_kind(const void *of, size_t i) {
    (void)of;
    return i < KIND_COUNT ? kind_name[i] : NULL;
}

static Kind kind(Script *t) {
    Range range;
    Name w = word(t, &range);
    if (!w) return expected(t, "a kind of loop"), KIND_SERIAL;
    for (int k = 0; k < KIND_COUNT; k++)
        if (!strcmp(w, kind_name[k])) return (Kind)k;
    Diag *d = fault(t, range, DIAG_EDIT_NO_KIND, w, NULL);
    const char *near = nearest(w, nth_kind, NULL);
    if (near) diag_note(t->diags, d, (Range){0, 0}, DIAG_DID_YOU_MEAN, near);
    return KIND_SERIAL;
}

// Is the next word a kind, and the last of its action? Then `annotate` has no loop.
static bool only_kind(Script *t) {
    Script ahead = *t;
    Range range;
    Name w = word(&ahead, &range);
    return w && at_end(&ahead);
}

static void operand(Script *t, char what, Action *a, int *loops, int *numbers, int *labels) {
    Spot *spot = *loops ? &a->other : &a->loop;
    int64_t *n = *numbers ? &a->m : &a->n;
    Range range;
    Name w;
    switch (what) {
    case 'l':
        if (at_end(t) || next_is_number(t) || (a->id == ACTION_ANNOTATE && only_kind(t))) break;
        // fallthrough
    case 'L': *spot = loop(t), ++*loops; break;
    case 'n': *n = number(t), ++*numbers; break;
    case 'k': a->kind = kind(t); break;
    case 's':
        if (at_end(t) || next_is_number(t)) break;
        // fallthrough
    case 'S':
        w = word(t, &range);
        if (!w)
            expected(t, "a statement");
        else
            *((*labels)++ ? &a->host : &a->label) = statement(t, w, range);
        break;
    case 't': a->tensor = qualified(t, "a tensor", &a->label, &range); break;
    case 'a':
        if (at_end(t)) break;
        w = word(t, &range);
        if (w && !strcmp(w, "at"))
            a->loop = loop(t);
        else
            t->at = w ? range.from : t->at, expected(t, "'at'");
        break;
    default: bug("operand '%c'", what);
    }
}

// --- Actions -------------------------------------------------------------------------------------

static const char *nth_action(const void *of, size_t i) {
    (void)of;
    return i < ACTION_COUNT ? action_info[i].word : NULL;
}

static bool read_word(Script *t, Action *a) {
    Range range;
    Name w = word(t, &range);
    if (!w) return expected(t, "an action"), false;
    a->range = range;
    for (int i = 0; i < ACTION_COUNT; i++)
        if (!strcmp(w, action_info[i].word)) return a->id = (ActionId)i, true;
    Diag *d = fault(t, range, DIAG_EDIT_NO_ACTION, w, NULL);
    const char *near = nearest(w, nth_action, NULL);
    if (near) diag_note(t->diags, d, (Range){0, 0}, DIAG_DID_YOU_MEAN, near);
    return false;
}

static bool read_action(Script *t, Action *a) {
    int loops = 0, numbers = 0, labels = 0;
    *a = (Action){.kind = KIND_SERIAL};
    if (!read_word(t, a)) return false;
    for (const char *c = action_info[a->id].operands; *c && !t->failed; c++)
        operand(t, *c, a, &loops, &numbers, &labels);
    if (!t->failed && !at_end(t)) expected(t, "the end of the action");
    a->range.to = t->at;
    while (a->range.to > a->range.from && strchr(" \t\r", t->src->text[a->range.to - 1]))
        a->range.to--;
    return !t->failed;
}

bool loops_script(Loops *x, const Source *script, DiagList *diags) {
    Loops now = *x;
    VEC(Loops) before = {0};
    const Source *source = diags->source;
    Script t = {.x = &now, .src = script, .diags = diags};
    diags->source = script;
    while (!t.failed) {
        while (at_end(&t) && t.at < script->len) t.at++;
        if (t.at >= script->len) break;
        Action a;
        Loops last = now;
        if (!read_action(&t, &a)) break;
        if (a.id == ACTION_UNDO && before.n)
            now = before.at[--before.n];
        else
            t.failed = !loops_act(&now, &a, diags);
        if (a.id != ACTION_UNDO && now.s != last.s) vec_push(x->arena, &before, last);
    }
    diags->source = source;
    if (!t.failed) *x = now;
    return !t.failed;
}
