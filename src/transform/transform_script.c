// Scripts of transformations of a Tree.
//
//     split i 16; interchange j; annotate @7 vector; copy A at i.1
//
// A loop is named by its index, as it is shown. @7 is the loop or the leaf on line 7 of the Tree at
// that point of the script; it serves for leaves, and if several loops have the same name.
#include "transform/transform_script.h"

#include <string.h>

#include "base/bug.h"
#include "transform/transform.h"
#include "tree/script_reader.h"

const TransformInfo transform_info[TRANSFORM_COUNT] = {
#define TRANSFORM(id, word, operands, usage, meaning) {word, operands, usage, meaning},
#include "transform/transform.def"
#undef TRANSFORM
};

const Tree *tree_act(const Tree *t, const TreeAction *a, const TreeEdit *e) {
    int loop = a->node.loop, n = (int)a->n;
    switch (a->id) {
    case TRANSFORM_SPLIT: return tree_split(t, loop, a->n, false, e);
    case TRANSFORM_INTERLEAVE: return tree_split(t, loop, a->n, true, e);
    case TRANSFORM_MERGE: return tree_merge(t, loop, e);
    case TRANSFORM_INTERCHANGE: return tree_interchange(t, loop, e);
    case TRANSFORM_MOVE: return tree_move(t, a->node, n, e);
    case TRANSFORM_SINK: return tree_sink(t, a->node.leaf, a->other.loop, e);
    case TRANSFORM_FUSE: return tree_fuse(t, loop, e);
    case TRANSFORM_DISTRIBUTE: return tree_distribute(t, loop, n, e);
    case TRANSFORM_UNROLL: return tree_unroll(t, loop, e);
    case TRANSFORM_JAM: return tree_unroll_and_jam(t, loop, a->n, e);
    case TRANSFORM_ANNOTATE: return tree_annotate(t, loop, (Kind)a->n, e);
    case TRANSFORM_TILE: return tree_tile(t, loop, a->n, a->m, e);
    case TRANSFORM_SKEW: return tree_skew(t, loop, a->other.loop, a->n, e);
    case TRANSFORM_PEEL: return tree_peel(t, loop, a->n, e);
    case TRANSFORM_STAGE: return tree_stage(t, a->buffer, loop, e);
    case TRANSFORM_UNSTAGE: return tree_unstage(t, a->buffer, loop, e);
    case TRANSFORM_COPY: return tree_copy_input(t, a->buffer, loop, e);
    case TRANSFORM_DROP: return tree_drop_copy(t, a->buffer, e);
    case TRANSFORM_LAYOUT: return tree_swap_layout(t, a->buffer, n, (int)a->m, e);
    case TRANSFORM_UNDO: // undoes the last step of the script, if there is one
        return diag_report(e->diags, (Range){0, 0}, DIAG_EDIT_SHAPE, "undo",
                           "no action came before it"),
               NULL;
    case TRANSFORM_COUNT: break;
    }
    bug("transformation %d", a->id);
}

int tree_find_buffer(const Tree *t, const char *name) {
    for (int i = 0; i < t->buffers.n; i++)
        if (!strcmp(t->buffers.at[i].name, name)) return i;
    return -1;
}

// --- Operands ------------------------------------------------------------------------------------

typedef struct TreeScript {
    Script text;
    const Tree *t;
} TreeScript;

// The node on a line of the Tree; a line with memory or a special block has neither a loop nor a
// leaf.
static TreeRef on_line(TreeScript *s, int64_t line) {
    TreeLines lines = tree_show_lines(s->text.arena, s->t);
    TreeRef ref = {-1, -1};
    if (line < 1 || line >= lines.n || !lines.at[line].node) return ref;
    const Node *node = lines.at[line].node;
    const Block *b = as_block(node);
    if (b && b->nindex) ref.loop = b->index[0].id;
    for (int i = 0; as_leaf(node) && i < tree_leaves(s->t); i++)
        if (&tree_leaf_at(s->t, i)->node == node) ref.leaf = i;
    return ref;
}

// Lists the existing loops: all, or those of one name.
static void note_loops(TreeScript *s, Diag *d, TreeLines lines, Name name) {
    Text all = {.arena = s->text.arena};
    for (int i = 1; i < lines.n; i++) {
        Name loop = lines.at[i].loop;
        if (loop && (!name || name == loop))
            text_printf(&all, all.len ? ", @%d %s" : "@%d %s", i, loop);
    }
    if (all.len) diag_note(s->text.diags, d, (Range){0, 0}, DIAG_EDIT_LOOPS_NOTE, text_str(&all));
}

static TreeRef named(TreeScript *s, Name name, Range range) {
    TreeLines lines = tree_show_lines(s->text.arena, s->t);
    int found = 0, n = 0;
    for (int i = 1; i < lines.n; i++)
        if (lines.at[i].loop == name) n++, found = i;
    if (n == 1) return (TreeRef){as_block(lines.at[found].node)->index[0].id, -1};
    DiagId id = n ? DIAG_EDIT_MANY_LOOPS : DIAG_EDIT_NO_LOOP;
    note_loops(s, script_fault(&s->text, range, id, name, NULL), lines, n ? name : NULL);
    return (TreeRef){-1, -1};
}

// A node: `what` is 'l' for a loop, 'f' for a leaf, 'x' for either.
static TreeRef node(TreeScript *s, char what) {
    const char *wanted = what == 'f' ? "a leaf" : what == 'x' ? "a loop or a leaf" : "a loop";
    uint32_t from = (script_end(&s->text), s->text.at);
    TreeRef ref;
    if (script_accept(&s->text, '@')) {
        ref = on_line(s, script_number(&s->text));
        if (what == 'l' ? ref.loop >= 0 : what == 'f' ? ref.leaf >= 0 : ref.loop + ref.leaf > -2)
            return ref;
        Range range = {from, s->text.at};
        const char *line = arena_printf(s->text.arena, "%.*s", (int)(range.to - range.from),
                                        s->text.src->text + range.from);
        if (!s->text.failed) script_fault(&s->text, range, DIAG_EDIT_LINE, line, wanted);
        return (TreeRef){-1, -1};
    }
    Range range;
    Name w = what == 'f' ? NULL : script_word(&s->text, &range);
    if (!w && what == 'f') wanted = "@ and the line of a leaf";
    if (!w) return script_expected(&s->text, wanted), (TreeRef){-1, -1};
    return named(s, w, range);
}

static const char *nth_buffer(const void *of, size_t i) {
    const Tree *t = of;
    return i < (size_t)t->buffers.n ? t->buffers.at[i].name : NULL;
}

static int buffer(TreeScript *s) {
    Range range;
    Name w = script_word(&s->text, &range);
    if (!w) return script_expected(&s->text, "a buffer"), -1;
    int found = tree_find_buffer(s->t, w);
    if (found < 0)
        diag_suggest(s->text.diags, script_fault(&s->text, range, DIAG_EDIT_NO_BUFFER, w, NULL), w,
                     nth_buffer, s->t);
    return found;
}

static void at_loop(TreeScript *s, TreeAction *a) {
    Range range = {s->text.at, s->text.at};
    Name w = script_word(&s->text, &range);
    if (w && !strcmp(w, "at"))
        a->node = node(s, 'l');
    else
        s->text.at = range.from, script_expected(&s->text, "'at'");
}

static void operand(TreeScript *s, char what, TreeAction *a, int *numbers) {
    int64_t *n = *numbers ? &a->m : &a->n;
    switch (what) {
    case 'l':
    case 'x':
    case 'f': a->node = node(s, what); break;
    case 'm': a->other = node(s, 'l'); break;
    case 'd': a->n = script_signed(&s->text); break;
    case 'n': *n = script_number(&s->text), ++*numbers; break;
    case 'k': a->n = (int64_t)script_kind(&s->text); break;
    case 'b': a->buffer = buffer(s); break;
    case 'a': at_loop(s, a); break;
    default: bug("operand '%c'", what);
    }
}

// --- Scripts -------------------------------------------------------------------------------------

static const char *nth_transform(const void *of, size_t i) {
    (void)of;
    return i < TRANSFORM_COUNT ? transform_info[i].word : NULL;
}

static bool read_action(TreeScript *s, TreeAction *a, Range *range) {
    int numbers = 0;
    int id = script_choice(&s->text, "an action", DIAG_EDIT_NO_ACTION, nth_transform, range);
    if (id < 0) return false;
    *a = (TreeAction){(TransformId)id, {-1, -1}, {-1, -1}, 0, 0, -1};
    for (const char *c = transform_info[id].operands; *c && !s->text.failed; c++)
        operand(s, *c, a, &numbers);
    return script_finish(&s->text, range);
}

// Locates the refusal of a transformation at its action.
static void locate(DiagList *diags, int from, Range range) {
    for (int i = from; i < diags->items.n; i++) {
        Diag *d = diags->items.at[i];
        if (d->range.from == d->range.to) d->range = range, d->source = diags->source;
    }
}

const Tree *tree_script(const Tree *t, const Source *script, const TreeEdit *e) {
    VEC(const Tree *) before = {0};
    const Source *source = e->diags->source;
    TreeScript s = {.t = t};
    s.text = (Script){.arena = t->arena, .names = t->names, .src = script, .diags = e->diags};
    e->diags->source = script;
    while (script_next(&s.text)) {
        TreeAction a;
        Range range;
        int reported = e->diags->items.n;
        if (!read_action(&s, &a, &range)) break;
        if (a.id == TRANSFORM_UNDO && before.n) {
            s.t = before.at[--before.n];
            continue;
        }
        const Tree *now = tree_act(s.t, &a, e);
        if (!now) locate(e->diags, reported, range), s.text.failed = true;
        if (!now && e->refusal) *e->refusal = (TreeRefusal){s.t, a};
        if (now) vec_push(t->arena, &before, s.t), s.t = now;
    }
    e->diags->source = source;
    return s.text.failed ? NULL : s.t;
}
