#include "api/explain.h"

#include "tree/cost.h"
#include "tree/tree.h"

#include <math.h>

static void member(Text *out, const char *key, const char *value) {
    text_printf(out, "\"%s\": \"", key);
    text_json(out, value);
    text_char(out, '"');
}

// --- Trees ---------------------------------------------------------------------------------------

static void block_members(Text *out, const Tree *t, const Block *b, const BlockCost *c) {
    text_printf(out, ", \"kind\": \"%s\", \"extents\": [",
                b->nindex         ? kind_name[b->kind]
                : b->nconstraints ? "guard"
                                  : "group");
    for (int i = 0; i < b->nindex; i++)
        text_printf(out, "%s%lld", i ? ", " : "", (long long)b->index[i].extent);
    text_printf(out, "], \"guarded\": %s, \"buffers\": {", b->nconstraints ? "true" : "false");
    bool comma = false;
    for (int i = 0; c->buffer && i < t->buffers.n; i++) {
        if (c->buffer[i] <= 0) continue;
        text_add(out, comma ? ", \"" : "\"");
        text_json(out, t->buffers.at[i].name);
        text_printf(out, "\": %lld", (long long)c->buffer[i]);
        comma = true;
    }
    text_char(out, '}');
}

static void node_members(Text *out, const Tree *t, const Node *node, const BlockCost *c) {
    const Block *b = as_block(node);
    if (b)
        block_members(out, t, b, c);
    else
        text_printf(out, ", \"kind\": \"%s\"", node->kind == NODE_LEAF ? "leaf" : "special");
    text_printf(out, ", \"touches\": %lld, \"moves\": %lld, \"flops\": %lld, \"iterations\": %lld",
                (long long)c->footprint, (long long)c->traffic, (long long)c->flops,
                (long long)c->iterations);
}

void explain_tree(Arena *arena, Text *out, const Tree *t) {
    TreeLines lines = tree_show_lines(arena, t);
    const TreeCost *cost = tree_cost(arena, t);
    text_add(out, "{\"lines\": [");
    for (int i = 1; i < lines.n; i++) {
        const TreeLine *l = &lines.at[i];
        text_printf(out, "%s{\"line\": %d, \"depth\": %d, ", i > 1 ? ", " : "", i, l->depth);
        member(out, "text", l->text);
        if (l->node) node_members(out, t, l->node, cost_of(cost, l->node));
        text_char(out, '}');
    }
    text_add(out, "]}");
}

// --- Spaces --------------------------------------------------------------------------------------

static void microseconds(Text *out, const char *key, double seconds) {
    text_printf(out, "\"%s\": ", key);
    if (isfinite(seconds))
        text_printf(out, "%.6g", seconds * 1e6);
    else
        text_add(out, "null");
}

// The bound of the root with these decisions, those about `skip` left out; infinite: dead.
static double bound_of(const ExplainSpace *x, Cand *c, int skip, const Decision *d, int n) {
    const Space *s = x->space;
    space_copy(s, c, s->root);
    for (int i = 0; i < n; i++)
        if (d[i].var != skip && !space_apply(x->work, c, &d[i], 1)) return INFINITY;
    return bound_seconds(x->bound, c, NULL);
}

static double bound_changed(const ExplainSpace *x, Cand *c, int var, uint64_t value, bool kept) {
    Decision other = {var, value};
    const Space *s = x->space;
    space_copy(s, c, s->root);
    if (!space_apply(x->work, c, &other, 1)) return INFINITY;
    for (int i = 0; kept && i < x->n; i++)
        if (x->d[i].var != var && !space_apply(x->work, c, &x->d[i], 1)) return INFINITY;
    return bound_seconds(x->bound, c, NULL);
}

static void value_text(const ExplainSpace *x, Text *out, int var, uint64_t value) {
    text_add(out, "\"value\": \"");
    space_print_values(out, x->space, var, value);
    text_char(out, '"');
}

static void decision(const ExplainSpace *x, Text *out, Cand *c, int var, uint64_t now) {
    const Space *s = x->space;
    uint64_t all = space_domain(s, s->root, var);
    text_add(out, "{\"name\": \"");
    space_print_var(out, s, var);
    text_add(out, "\", ");
    value_text(x, out, var, now);
    text_add(out, ", \"others\": [");
    bool comma = false;
    for (int bit = 0; bit < SPACE_MAX_VALUES; bit++) {
        uint64_t value = UINT64_C(1) << bit;
        if (!(all & value) || now == value) continue;
        text_add(out, comma ? ", {" : "{");
        value_text(x, out, var, value);
        text_add(out, ", ");
        microseconds(out, "free", bound_changed(x, c, var, value, false));
        text_add(out, ", ");
        microseconds(out, "kept", bound_changed(x, c, var, value, true));
        text_char(out, '}');
        comma = true;
    }
    text_add(out, "]}");
}

static void resources(const ExplainSpace *x, Text *out, const Cand *c) {
    BoundTerm terms[BOUND_KINDS];
    bound_seconds(x->bound, c, terms);
    text_add(out, ", \"resources\": [");
    for (int i = 0; i < BOUND_KINDS; i++) {
        text_printf(out, "%s{\"name\": \"%s\", ", i ? ", " : "", bound_name[i]);
        microseconds(out, "us", terms[i].seconds);
        text_char(out, '}');
    }
    text_char(out, ']');
}

void explain_space(const ExplainSpace *x, Text *out) {
    const Space *s = x->space;
    Cand *full = space_cand(x->arena, s), *c = space_cand(x->arena, s);
    text_char(out, '{');
    microseconds(out, "bound", bound_seconds(x->bound, s->root, NULL));
    text_add(out, ", ");
    microseconds(out, "decided", bound_of(x, full, -1, x->d, x->n));
    resources(x, out, full);
    text_add(out, ", \"decisions\": [");
    bool comma = false;
    for (int v = 0; v < s->ndecisions; v++) {
        uint64_t before = space_domain(s, s->root, v), now = space_domain(s, full, v);
        bool one = now && !(now & (now - 1)), some = before & (before - 1);
        if (!s->var[v].present || !one || !some) continue;
        if (comma) text_add(out, ", ");
        decision(x, out, c, v, now);
        comma = true;
    }
    text_printf(out, "], \"open\": %d}", space_count_open(s, full));
}
