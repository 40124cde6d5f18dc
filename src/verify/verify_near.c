// The nearest legal kinds of loops. Where a loop may not be unordered, it may run in order, or
// another loop around the same two iterations can have its kind. Each proposal is judged.
#include "verify/verify_impl.h"

#include "verify/legal.h"

// Kinds that blocks get in a proposal.
typedef struct Proposal {
    const Block *serial; // runs in order,
    const Block *marked; // and this one has `kind` instead; NULL: none
    Kind kind;
} Proposal;

static const Node *proposed(Tree *t, const Proposal *p, const Node *node) {
    const Block *b = as_block(node);
    if (!b) return node;
    const Node **child = arena_new_n(t->arena, const Node *, b->nchildren + 1);
    for (int i = 0; i < b->nchildren; i++) child[i] = proposed(t, p, b->child[i]);
    Block like = *b;
    if (b == p->serial) like.kind = KIND_SERIAL;
    if (b == p->marked) like.kind = p->kind;
    return &tree_block(t, &like, child, b->nchildren)->node;
}

static void keep_nothing(void *user, const Witness *w) { (void)user, (void)w; }
static void keep_open(void *user, const Touch *a, const Touch *b, LegalRule rule) {
    (void)user, (void)a, (void)b, (void)rule;
}

static bool is_legal(Verifier *v, const Proposal *p) {
    Tree *t = arena_copy(v->f.arena, v->f.t, sizeof *t);
    TreeFacts facts;
    t->arena = v->f.arena;
    t->root = as_block(proposed(t, p, &t->root->node));
    facts_collect(&facts, v->f.arena, t);
    Legal l = {.f = &facts, .first = true, .found = keep_nothing, .open = keep_open};
    legal_judge(&l);
    return !l.refused && !l.unproven;
}

static const char *loop_text(Verifier *v, const Block *b, Kind kind) {
    Text out = {.arena = v->diags->arena};
    text_printf(&out, "the %s over ", b->nindex > 1 ? "block" : "loop");
    for (int i = 0; i < b->nindex; i++)
        text_printf(&out, "%s'%s'", i ? ", " : "", b->index[i].name ? b->index[i].name : "i");
    text_printf(&out, " %s", kind_name[kind]);
    return text_str(&out);
}

static const Block *block_of(const Use *u, const Index *index) {
    for (int i = 0; i < u->nindex; i++)
        if (u->index[i] == index) return u->of[i];
    return NULL;
}

const char *verify_near(Verifier *v, const Witness *w) {
    enum { MOST = 3 };
    const Use *u = w->source.use;
    Proposal p = {.serial = block_of(u, w->loop), .kind = w->loop_kind};
    const char *serial = p.serial ? loop_text(v, p.serial, KIND_SERIAL) : NULL;
    Text out = {.arena = v->diags->arena};
    int n = 0;
    if (!serial) return NULL;
    for (int i = u->depth - 1; i >= 0 && n < MOST - 1; i--) {
        p.marked = u->path[i];
        if (p.marked == p.serial || !p.marked->nindex || p.marked->kind != KIND_SERIAL) continue;
        if (!is_legal(v, &p)) continue;
        text_printf(&out, "%s%s and %s", n++ ? "; " : "", serial,
                    loop_text(v, p.marked, w->loop_kind));
    }
    p.marked = NULL;
    if (is_legal(v, &p)) text_printf(&out, "%s%s", n++ ? "; " : "", serial);
    return n ? text_str(&out) : NULL;
}
