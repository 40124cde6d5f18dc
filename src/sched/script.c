// Scripts of actions on a Schedule.
//
//     split m 64; swap; vectorize C:n; copy A at k/256
//
// A loop is written as in the Schedule, with its statement in front where that matters: C:m/64.
#include "sched/loops.h"

#include <string.h>

#include "base/bug.h"
#include "sched/lower.h"
#include "tree/script_reader.h"

typedef struct LoopScript {
    Script text;
    Loops *x;
} LoopScript;

// --- Operands ------------------------------------------------------------------------------------

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

static void no_loop(LoopScript *t, Range range, Name label, const LoopRef *ref) {
    Diag *d = script_fault(&t->text, range, DIAG_EDIT_NO_LOOP, ref_text(t->x->arena, ref), NULL);
    Text all = {.arena = t->x->arena};
    for (int i = 0; i < t->x->map.order.n; i++) {
        const FullOrder *order = &t->x->map.order.at[i];
        if (label && order->label != label) continue;
        for (int k = 0; k < order->n; k++)
            text_printf(&all, "%s%s", all.len ? ", " : "",
                        loops_name(t->x, (Spot){order->label, k}));
    }
    if (all.len) diag_note(t->text.diags, d, (Range){0, 0}, DIAG_EDIT_LOOPS_NOTE, text_str(&all));
}

static const char *nth_label(const void *of, size_t i) {
    const Loops *x = of;
    return i < (size_t)x->map.order.n ? x->map.order.at[i].label : NULL;
}

static Name statement(LoopScript *t, Name w, Range range) {
    const Program *p = t->x->tree->program;
    for (int i = 0; i < p->stmts.n; i++)
        if (p->stmts.at[i].label == w) return w;
    for (int i = 0; i < t->x->p->stmts.n; i++) // rewriting removed it: inlined
        if (t->x->p->stmts.at[i].label == w) return w;
    Diag *d = script_fault(&t->text, range, DIAG_SCHEDULE_UNKNOWN_LABEL, w, NULL);
    const char *near = nearest(w, nth_label, t->x);
    if (near) diag_note(t->text.diags, d, (Range){0, 0}, DIAG_DID_YOU_MEAN, near);
    return NULL;
}

// [STMT ':'] WORD: the first part, if there is one, in *label.
static Name qualified(LoopScript *t, const char *what, Name *label, Range *range) {
    Name w = script_word(&t->text, range);
    if (!w) return script_expected(&t->text, what), NULL;
    if (script_accept(&t->text, ':')) {
        Range after;
        *label = statement(t, w, *range);
        if (!*label) return NULL;
        w = script_word(&t->text, &after);
        if (!w) return script_expected(&t->text, what), NULL;
        *range = range_join(*range, after);
    }
    return w;
}

static Spot loop(LoopScript *t) {
    LoopRef ref = {.step = 1};
    Name label = NULL;
    Range range;
    ref.iter = qualified(t, "a loop", &label, &range);
    if (!ref.iter) return (Spot){NULL, 0};
    ref.interleaved = !script_end(&t->text) && script_peek(&t->text) == '%';
    if (script_accept(&t->text, '/') || script_accept(&t->text, '%')) {
        ref.step = script_number(&t->text);
        range.to = t->text.at;
    }
    Spot spot = find(t->x, label, &ref);
    if (!spot.label && !t->text.failed) no_loop(t, range, label, &ref);
    return spot;
}

// Is the next word a kind, and the last of its action? Then `annotate` has no loop.
static bool only_kind(const LoopScript *t) {
    Script ahead = t->text;
    Range range;
    Name w = script_word(&ahead, &range);
    return w && script_end(&ahead);
}

static void operand(LoopScript *t, char what, Action *a, int *loops, int *numbers, int *labels) {
    Spot *spot = *loops ? &a->other : &a->loop;
    int64_t *n = *numbers ? &a->m : &a->n;
    Range range;
    Name w;
    switch (what) {
    case 'l':
        if (script_end(&t->text) || script_next_is_number(&t->text) ||
            (a->id == ACTION_ANNOTATE && only_kind(t)))
            break;
        // fallthrough
    case 'L': *spot = loop(t), ++*loops; break;
    case 'n': *n = script_number(&t->text), ++*numbers; break;
    case 'd': *n = script_signed(&t->text), ++*numbers; break;
    case 'k': a->kind = script_kind(&t->text); break;
    case 's':
        if (script_end(&t->text) || script_next_is_number(&t->text)) break;
        // fallthrough
    case 'S':
        w = script_word(&t->text, &range);
        if (!w)
            script_expected(&t->text, "a statement");
        else
            *((*labels)++ ? &a->host : &a->label) = statement(t, w, range);
        break;
    case 't': a->tensor = qualified(t, "a tensor", &a->label, &range); break;
    case 'a':
        if (script_end(&t->text)) break;
        w = script_word(&t->text, &range);
        if (w && !strcmp(w, "at"))
            a->loop = loop(t);
        else
            t->text.at = w ? range.from : t->text.at, script_expected(&t->text, "'at'");
        break;
    default: bug("operand '%c'", what);
    }
}

// --- Actions -------------------------------------------------------------------------------------

static const char *nth_action(const void *of, size_t i) {
    (void)of;
    return i < ACTION_COUNT ? action_info[i].word : NULL;
}

static bool read_action(LoopScript *t, Action *a) {
    int loops = 0, numbers = 0, labels = 0;
    *a = (Action){.kind = KIND_SERIAL};
    int id = script_choice(&t->text, "an action", DIAG_EDIT_NO_ACTION, nth_action, &a->range);
    if (id < 0) return false;
    a->id = (ActionId)id;
    for (const char *c = action_info[a->id].operands; *c && !t->text.failed; c++)
        operand(t, *c, a, &loops, &numbers, &labels);
    return script_finish(&t->text, &a->range);
}

bool loops_script(Loops *x, const Source *script, DiagList *diags) {
    Loops now = *x;
    VEC(Loops) before = {0};
    const Source *source = diags->source;
    LoopScript t = {.x = &now};
    t.text = (Script){.arena = x->arena, .names = x->p->names, .src = script, .diags = diags};
    diags->source = script;
    while (script_next(&t.text)) {
        Action a;
        Loops last = now;
        if (!read_action(&t, &a)) break;
        if (a.id == ACTION_UNDO && before.n)
            now = before.at[--before.n];
        else
            t.text.failed = !loops_act(&now, &a, diags);
        if (a.id != ACTION_UNDO && now.s != last.s) vec_push(x->arena, &before, last);
    }
    diags->source = source;
    if (!t.text.failed) *x = now;
    return !t.text.failed;
}
