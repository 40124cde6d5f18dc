// codegen: converts loop values to a function, which consists of a Program with arguments and a
// Tree.
//
//     [initial values of init]; the loops
//
// A tensor that the function only reads is an input; one that it writes is a result, and in-out if
// its old content matters, which the verifier decides. A tensor with an init starts from that
// value; if the function only reads it, it is local.
#include "lang/teml/teml.h"

#include <string.h>

#include "verify/verify.h"

typedef struct Function {
    Teml *t;
    Arena *arena;
    Program *p;
    Exprs *x;
    int *buffer;          // per buffer of the evaluation: its number in the function; -1: not used
    bool *read, *written; // per real tensor
    bool parallel;        // some loop is parallel
    const Affine **index; // per index id of the evaluation
    Tree *tree;           // under construction
} Function;

typedef VEC(const Node *) Nodes;

// --- Arguments ---------------------------------------------------------------------------------

static void note_read(void *user, const Access *a, bool guarded) {
    Function *f = user;
    (void)guarded;
    if (a->tensor < f->t->nreal) f->read[a->tensor] = true;
}

static void note_uses(Function *f, const Node *node) {
    const Block *b = as_block(node);
    const Leaf *leaf = as_leaf(node);
    for (int i = 0; b && i < b->nchildren; i++) note_uses(f, b->child[i]);
    f->parallel |= b && b->kind == KIND_PARALLEL;
    if (!leaf) return;
    expr_visit_accesses(leaf->value, note_read, f);
    if (leaf->write->tensor >= f->t->nreal) return;
    f->written[leaf->write->tensor] = true;
    if (leaf->op != REDUCE_ASSIGN) f->read[leaf->write->tensor] = true;
}

static void add_argument(Function *f, int tensor, Role role) {
    const TemlTensor *of = &f->t->tensors.at[tensor];
    const Affine *size[PROGRAM_MAX_RANK];
    for (int d = 0; d < of->rank; d++) size[d] = affine_const(f->p->exprs, of->size[d]);
    int n = program_tensor(f->p, of->name, of->type, role, of->rank, size);
    f->p->tensors.at[n].range = of->range;
    f->p->ninputs += role == ROLE_INPUT;
    f->p->noutputs += role != ROLE_INPUT;
    f->buffer[tensor] = n;
}

static void add_arguments(Function *f) {
    for (int outputs = 0; outputs < 2; outputs++)
        for (int i = 0; i < f->t->nreal; i++) {
            bool input = f->read[i] && !f->written[i] && !f->t->tensors.at[i].init;
            if (outputs ? f->written[i] : input)
                add_argument(f, i, outputs ? ROLE_INOUT : ROLE_INPUT);
        }
}

static int import_buffer(Function *f, int number) {
    if (f->buffer[number] >= 0) return f->buffer[number];
    Buffer b = f->t->base->buffers.at[number];
    b.home = HOME_AUTO;
    b.tensor = -1;
    b.bank_dim = -1;
    return f->buffer[number] = tree_buffer(f->tree, &b);
}

static void begin_tree(Function *f) {
    for (int i = 0; i < f->t->base->buffers.n; i++)
        if (f->buffer[i] >= f->p->tensors.n) f->buffer[i] = -1; // each Tree has its own allocations
    f->tree = tree_new(f->arena, f->x, f->t->names);
    f->tree->program = f->p;
    for (int i = 0; i < f->p->tensors.n; i++) {
        const Tensor *of = &f->p->tensors.at[i];
        int64_t size[PROGRAM_MAX_RANK], stride[PROGRAM_MAX_RANK], step = 1;
        for (int d = of->rank - 1; d >= 0; d--) {
            size[d] = tensor_size(of, d);
            stride[d] = step;
            step *= size[d];
        }
        tree_buffer(f->tree, &(Buffer){.name = of->name,
                                       .type = of->type,
                                       .tensor = i,
                                       .rank = of->rank,
                                       .size = size,
                                       .stride = stride,
                                       .bank_dim = -1});
    }
    f->tree->nargs = f->tree->buffers.n;
}

// --- Nodes -------------------------------------------------------------------------------------

static const Access *import_access(void *user, Exprs *x, const Access *a) {
    Function *f = user;
    return access_make(x, import_buffer(f, a->tensor), a->rank, a->sub);
}

static Subst import_with(Function *f) {
    return (Subst){.iters = f->index, .map = import_access, .user = f, .import = true};
}

static const Node *import_leaf(Function *f, const Leaf *old) {
    Subst s = import_with(f);
    Leaf leaf = {.node.ndeps = -1, .role = old->role, .op = old->op, .stmt = -1};
    leaf.node.range = f->t->parts->stmts.at[old->stmt].range;
    leaf.write = access_subst(f->x, old->write, &s);
    leaf.value = expr_subst(f->x, old->value, &s);
    return &tree_leaf(f->tree, &leaf)->node;
}

static bool has_loop(const Node *node) {
    const Block *b = as_block(node);
    for (int i = 0; b && i < b->nchildren; i++) {
        const Block *c = as_block(b->child[i]);
        if ((c && c->nindex && c->index[0].extent > 1) || has_loop(b->child[i])) return true;
    }
    return false;
}

typedef struct IndexSearch {
    int id;
    bool found;
} IndexSearch;

static void look_for_index(void *user, const Access *a, bool guarded) {
    IndexSearch *s = user;
    (void)guarded;
    s->found |= access_uses_iter(a, s->id);
}

static bool leaf_uses(const Leaf *leaf, int id) {
    IndexSearch s = {id, access_uses_iter(leaf->write, id)};
    expr_visit_accesses(leaf->value, look_for_index, &s);
    return s.found;
}

// for k: { if k = 0: A; B }  ->  A; for k: B, if A does not depend on k. Returns false if there is
// no such guard.
static bool hoist_first(Function *f, const Block *loop, Nodes *body, Nodes *out) {
    const Block *guard = body->n > 1 ? as_block(body->at[0]) : NULL;
    if (!guard || guard->nindex || loop->nindex != 1 || loop->kind != KIND_SERIAL) return false;
    if (loop->nconstraints || loop->index[0].extent < 1 || guard->nchildren != 1) return false;
    const Leaf *leaf = as_leaf(guard->child[0]);
    if (!leaf || leaf_uses(leaf, loop->index[0].id)) return false;
    const Affine *first = affine_scale(f->x, affine_iter(f->x, loop->index[0].id), -1);
    const Affine **rest = arena_new_n(f->arena, const Affine *, guard->nconstraints);
    int n = 0;
    for (int i = 0; i < guard->nconstraints; i++)
        if (guard->constraint[i] != first) rest[n++] = guard->constraint[i];
    if (n == guard->nconstraints) return false;
    for (int i = 0; i < n; i++)
        if (affine_uses_iter(rest[i], loop->index[0].id)) return false;
    vec_push(f->arena, out,
             n ? &tree_guard(f->tree, rest, n, guard->child[0])->node : guard->child[0]);
    body->at++, body->n--, body->cap--;
    return true;
}

static void import_node(Function *f, const Node *node, Nodes *out) {
    const Block *b = as_block(node);
    if (!b) {
        vec_push(f->arena, out, import_leaf(f, as_leaf(node)));
        return;
    }
    Subst s = import_with(f);
    Block like = *b;
    Index index = {0};
    const Affine **constraint = arena_new_n(f->arena, const Affine *, b->nconstraints + 1);
    int *alloc = arena_new_n(f->arena, int, b->nallocs + 1);
    if (b->nindex) {
        index = tree_index(f->tree, b->index[0].name, b->index[0].extent);
        f->index[b->index[0].id] = affine_iter(f->x, index.id);
        like.index = &index;
    }
    for (int i = 0; i < b->nconstraints; i++)
        constraint[i] = affine_subst(f->x, b->constraint[i], &s);
    for (int i = 0; i < b->nallocs; i++) alloc[i] = import_buffer(f, b->alloc[i]);
    like.constraint = constraint;
    like.alloc = alloc;
    if (like.kind == KIND_VECTOR && has_loop(node)) like.kind = KIND_ANY;
    Nodes body = {0};
    for (int i = 0; i < b->nchildren; i++) import_node(f, b->child[i], &body);
    while (hoist_first(f, &like, &body, out)) {}
    vec_push(f->arena, out, &tree_block(f->tree, &like, body.at, body.n)->node);
}

// --- Initial values ----------------------------------------------------------------------------

static const Node *fill_leaf(Function *f, int tensor, const Affine *const *sub, const Syn *to) {
    const TemlTensor *of = &f->t->tensors.at[tensor];
    int buffer = import_buffer(f, tensor);
    Leaf leaf = {.node = {.ndeps = -1, .range = to->range}, .role = LEAF_UPDATE, .stmt = -1};
    leaf.write = access_make(f->x, buffer, of->rank, sub);
    leaf.value =
        to->kind == SYN_INT ? expr_int(f->x, of->type, to->i) : expr_float(f->x, of->type, to->f);
    return &tree_leaf(f->tree, &leaf)->node;
}

// The fill is a vector loop, and parallel if the loops of the function are.
static const Node *fill_all(Function *f, int tensor, const Syn *to) {
    const TemlTensor *of = &f->t->tensors.at[tensor];
    const Affine *sub[PROGRAM_MAX_RANK];
    Index index[PROGRAM_MAX_RANK];
    for (int d = 0; d < of->rank; d++) {
        Name name = name_of(f->t->names, arena_printf(f->arena, "i%d", d + 1));
        index[d] = tree_index(f->tree, name, of->size[d]);
        sub[d] = affine_iter(f->x, index[d].id);
    }
    const Node *node = fill_leaf(f, tensor, sub, to);
    for (int d = of->rank - 1; d >= 0; d--) {
        Kind kind = d == of->rank - 1       ? KIND_VECTOR
                    : d == 0 && f->parallel ? KIND_PARALLEL
                                            : KIND_SERIAL;
        node = &tree_loop(f->tree, kind, index[d], &node, 1)->node;
    }
    return node;
}

static void fill_elements(Function *f, int tensor, const Syn *list, Nodes *out) {
    const TemlTensor *of = &f->t->tensors.at[tensor];
    for (int i = 0; i < list->n; i++) {
        const Affine *sub[PROGRAM_MAX_RANK];
        int64_t rest = i;
        for (int d = of->rank - 1; d >= 0; d--) {
            sub[d] = affine_const(f->x, rest % of->size[d]);
            rest /= of->size[d];
        }
        vec_push(f->arena, out, fill_leaf(f, tensor, sub, list->at[i]));
    }
}

static void fill(Function *f, Nodes *out, Block *root) {
    int *alloc = arena_new_n(f->arena, int, f->t->nreal + 1);
    root->alloc = alloc;
    for (int i = 0; i < f->t->nreal; i++) {
        const Syn *init = f->t->tensors.at[i].init;
        if (!init || (!f->read[i] && !f->written[i])) continue;
        if (!f->written[i]) alloc[root->nallocs++] = import_buffer(f, i);
        if (init->kind == SYN_LIST)
            fill_elements(f, i, init, out);
        else
            vec_push(f->arena, out, fill_all(f, i, init));
    }
}

static const Tree *make_tree(Function *f, const Node *const *node, int n) {
    Nodes body = {0};
    Block root = {.node.ndeps = -1, .name = f->p->name};
    begin_tree(f);
    fill(f, &body, &root);
    for (int i = 0; i < n; i++) import_node(f, node[i], &body);
    f->tree->root = tree_block(f->tree, &root, body.at, body.n);
    return f->tree;
}

// --- Functions ---------------------------------------------------------------------------------

// A result that is not read before it is written starts uninitialised.
static void find_roles(Function *f, const Tree *reference) {
    for (int i = 0; i < f->t->nreal; i++) {
        if (!f->written[i]) continue;
        DiagList quiet = {.arena = f->t->arena};
        Tensor *of = &f->p->tensors.at[f->buffer[i]];
        of->role = ROLE_OUTPUT;
        if (f->read[i] && tree_verify(f->t->arena, reference, NULL, &quiet) != VERIFY_OK)
            of->role = ROLE_INOUT;
    }
}

static void make_function(Teml *t, Name name, const TemlLoop *loop) {
    Function *f = arena_new(t->arena, Function);
    *f = (Function){.t = t, .arena = t->out};
    f->p = program_new(t->out, t->names, name, strlen(name));
    f->p->source = t->source;
    f->p->bound = true;
    f->x = f->p->exprs;
    f->buffer = arena_new_n(t->arena, int, t->base->buffers.n);
    f->read = arena_new_n(t->arena, bool, t->nreal);
    f->written = arena_new_n(t->arena, bool, t->nreal);
    f->index = arena_new_n(t->arena, const Affine *, t->base->nindices);
    for (int i = 0; i < t->base->buffers.n; i++) f->buffer[i] = -1;
    for (int i = 0; i < loop->n; i++) note_uses(f, loop->node[i]);
    add_arguments(f);
    const Node **nest = arena_new_n(t->arena, const Node *, loop->nbuilt + 1);
    for (int i = 0; i < loop->nbuilt; i++) nest[i] = loop->built[i]->nest;
    const Tree *reference = make_tree(f, nest, loop->nbuilt);
    find_roles(f, reference);
    vec_push(t->out, &t->module->programs, f->p);
    vec_push(t->out, &t->module->references, reference);
    vec_push(t->out, &t->module->trees, make_tree(f, loop->node, loop->n));
}

// The loops one after the other; NULL: two of them contain the same assignment.
static const TemlLoop *joined(Teml *t, TemlValue *const *v, int n, Range at) {
    TemlLoop *l = arena_new(t->arena, TemlLoop);
    Nodes nodes = {0};
    VEC(TemlBuilt *) built = {0};
    for (int i = 0; i < n; i++) {
        const TemlLoop *one = v[i]->loop;
        for (int k = 0; k < one->n; k++) vec_push(t->arena, &nodes, one->node[k]);
        for (int k = 0; k < one->nbuilt; k++) {
            int place = built.n;
            vec_push(t->arena, &built, one->built[k]);
            for (; place > 0 && built.at[place - 1]->of->number > one->built[k]->of->number;
                 place--)
                built.at[place] = built.at[place - 1];
            built.at[place] = one->built[k];
            if (!place || built.at[place - 1] != one->built[k]) continue;
            Diag *d = diag_report(t->diags, at, DIAG_TEML_TWICE,
                                  t->tensors.at[one->built[k]->of->tensor].name);
            diag_note(t->diags, d, (Range){0, 0}, DIAG_TEML_TWICE_NOTE);
            return NULL;
        }
    }
    *l = (TemlLoop){.n = nodes.n, .node = nodes.at, .nbuilt = built.n, .built = built.at};
    return l;
}

static void warn_outer_vectors(Teml *t, const Node *node, Range at) {
    const Block *b = as_block(node);
    if (b && b->kind == KIND_VECTOR && has_loop(node))
        diag_report(t->diags, at, DIAG_TEML_VECTOR_OUTER, b->index[0].name);
    for (int i = 0; b && i < b->nchildren; i++) warn_outer_vectors(t, b->child[i], at);
}

static void generate(Teml *t, Name name, TemlValue *const *v, int n, Range at) {
    const TemlLoop *l = joined(t, v, n, at);
    const char *why;
    if (!l) return;
    if (t->options->trust != TEML_UNUSED && !teml_right(t, l, "codegen", &why)) {
        bool trusted = t->options->trust == TEML_UNCHECKED;
        diag_report(t->diags, at, trusted ? DIAG_TEML_WRONG : DIAG_TEML_ILLEGAL,
                    trusted ? name : "codegen", why);
        if (!trusted) return;
    }
    for (int i = 0; i < l->n; i++) warn_outer_vectors(t, l->node[i], at);
    make_function(t, name, l);
}

TemlValue *teml_codegen(Teml *t, const TemlStmt *s, int op) {
    TemlValue **v = arena_new_n(t->arena, TemlValue *, s->n);
    (void)op;
    Name name = s->arg[s->n - 1]->name;
    vec_push(t->arena, &t->generated, name);
    for (int i = 0; i < s->n; i++) {
        if (!teml_loop_argument(t, s, i)) return NULL;
        v[i] = teml_find(t, s->arg[i]->name);
    }
    for (int i = 0; i < t->generated.n - 1; i++)
        if (t->generated.at[i] == name) {
            diag_report(t->diags, s->arg[s->n - 1]->range, DIAG_TEML_GENERATED, name);
            return NULL;
        }
    generate(t, name, v, s->n, s->range);
    return NULL;
}

static bool is_plain(const char *s) {
    if (!*s || (*s >= '0' && *s <= '9')) return false;
    for (; *s; s++)
        if (!((*s | 32) >= 'a' && (*s | 32) <= 'z') && !(*s >= '0' && *s <= '9') && *s != '_')
            return false;
    return true;
}

static Name file_name(Teml *t) {
    const char *file = t->source->name, *slash = strrchr(file, '/');
    if (slash) file = slash + 1;
    const char *dot = strchr(file, '.');
    char *stem = arena_strndup(t->arena, file, dot ? (size_t)(dot - file) : strlen(file));
    return name_of(t->names, is_plain(stem) ? stem : "main");
}

void teml_codegen_rest(Teml *t) {
    TemlValue **v = arena_new_n(t->arena, TemlValue *, t->store.n + 1);
    int n = 0;
    for (int i = 0; i < t->store.n; i++) {
        TemlValue *one = t->store.at[i].value;
        if (one->kind != VALUE_LOOP || one->consumed) continue;
        int at = n++; // in the order in which their assignments were defined
        for (; at > 0 && v[at - 1]->loop->built[0]->of->number > one->loop->built[0]->of->number;
             at--)
            v[at] = v[at - 1];
        v[at] = one;
    }
    if (n) generate(t, file_name(t), v, n, v[n - 1]->range);
}
