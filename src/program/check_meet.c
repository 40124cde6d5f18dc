// Pairs of instances that meet in one element: '=' writes each element once, and an in-place
// statement reads no element that another instance writes. check.c explains the methods.
#include "program/check_impl.h"

#include "base/checked.h"
#include "program/stmt_facts.h"

#include <string.h>

// --- Meeting in one element --------------------------------------------------------------------

// From elements (by their row-major number) to the first instance that writes them.
typedef struct Writers {
    int64_t *element; // -1: free
    int64_t *instance;
    uint64_t mask;
} Writers;

static Writers writers_new(Arena *scratch, int64_t points) {
    uint64_t cap = 16;
    while (cap < 2 * (uint64_t)points) cap *= 2;
    Writers w = {arena_new_n(scratch, int64_t, cap), arena_new_n(scratch, int64_t, cap), cap - 1};
    memset(w.element, 0xff, cap * sizeof *w.element);
    return w;
}

static uint64_t writers_slot(const Writers *w, int64_t element) {
    uint64_t at = hash_mix(0, (uint64_t)element) & w->mask;
    while (w->element[at] != element && w->element[at] != -1) at = (at + 1) & w->mask;
    return at;
}

// The questions about pairs of instances are about one step: serial iterators have one value.
static int same_step(const Checker *c, DepDir *dirs) {
    for (int i = 0; i < c->st->serial; i++) dirs[i] = (DepDir){i, i, DEP_EQ};
    return c->st->serial;
}

// The number of the element accessed, and of the step, or -1 when it is none.
static int64_t element_of(const Checker *c, const Access *a, const int64_t *at) {
    const Tensor *t = &c->p->tensors.at[a->tensor];
    int64_t n = 0, v;
    for (int d = 0; d < a->rank; d++) {
        if (!affine_eval(a->sub[d], at, NULL, NULL, NULL, &v)) return -1;
        v -= tensor_origin(t, d);
        if (v < 0 || v >= tensor_size(t, d)) return -1;
        n = n * tensor_size(t, d) + v;
    }
    for (int i = 0; i < c->st->serial; i++)
        n = n * (c->box.hi[i] - c->box.lo[i] + 1) + at[i] - c->box.lo[i];
    return n;
}

static const char *show_element(const Checker *c, const Access *a, const int64_t *at) {
    Text t = {.arena = c->diags->arena};
    text_printf(&t, "%s[", c->p->tensors.at[a->tensor].name);
    for (int d = 0; d < a->rank; d++) {
        int64_t v = 0;
        (void)affine_eval(a->sub[d], at, NULL, NULL, NULL, &v);
        text_printf(&t, "%s%lld", d ? ", " : "", (long long)v);
    }
    text_char(&t, ']');
    return text_str(&t);
}

// Finds two instances, q the first of them, that write one element.
static bool find_double_write(const Checker *c, const Box *b, int64_t *p, int64_t *q) {
    Writers w = writers_new(c->scratch, box_points(b));
    int64_t number = 0;
    memcpy(p, b->lo, sizeof b->lo);
    do {
        if (check_performed(c, NULL, p) == NO) continue;
        int64_t e = element_of(c, c->st->write, p);
        uint64_t slot = writers_slot(&w, e);
        if (e >= 0 && w.element[slot] == e) {
            box_point(b, w.instance[slot], q);
            return true;
        }
        w.element[slot] = e;
        w.instance[slot] = number;
    } while (number++, box_next(b, p));
    return false;
}

// Finds an instance p that reads (under the guards) an element, not its own, that instance q
// writes.
static bool find_conflict(const Checker *c, const Box *b, const Access *read, const Guard *guards,
                          int64_t *p, int64_t *q) {
    Writers w = writers_new(c->scratch, box_points(b));
    int64_t number = 0;
    memcpy(q, b->lo, sizeof b->lo);
    do {
        int64_t e = check_performed(c, NULL, q) == NO ? -1 : element_of(c, c->st->write, q);
        uint64_t slot = writers_slot(&w, e);
        if (e < 0 || w.element[slot] == e) continue;
        w.element[slot] = e;
        w.instance[slot] = number;
    } while (number++, box_next(b, q));
    memcpy(p, b->lo, sizeof b->lo);
    do {
        int64_t e = element_of(c, read, p);
        if (e < 0 || e == element_of(c, c->st->write, p)) continue;
        uint64_t slot = writers_slot(&w, e);
        if (w.element[slot] != e || check_performed(c, guards, p) == NO) continue;
        box_point(b, w.instance[slot], q);
        return true;
    } while (box_next(b, p));
    return false;
}

// --- '=' writes each element once --------------------------------------------------------------

// Iterators that have one value each where two iterations access one element: in a subscript
// without data, the only unknown one.
static uint32_t settled_iters(const Box *b, int rank, const Affine *const *sub) {
    uint32_t known = 0, before;
    for (int i = 0; i < b->n; i++)
        if (b->lo[i] >= b->hi[i]) known |= UINT32_C(1) << i;
    do {
        before = known;
        for (int d = 0; d < rank; d++) {
            uint32_t open = sub[d]->linear ? affine_iter_mask(sub[d]) & ~known : 0;
            if (open && !(open & (open - 1))) known |= open;
        }
    } while (known != before);
    return known;
}

// The sum without terms that read data and whose iterators all have one value.
static const Affine *without_settled(Checker *c, const Affine *a, uint32_t known) {
    Exprs *x = c->p->exprs;
    const Affine *left = a;
    for (int i = 0; i < a->n; i++) {
        const Affine *one = affine_make(x, 0, &a->term[i], 1);
        bool same = a->term[i].atom->has_read;
        for (int v = 0; v < c->box.n && same; v++)
            same = known >> v & 1 || !affine_uses_iter(one, v);
        if (same) left = affine_sub(x, left, one);
    }
    return left;
}

// Subscripts without data that are equal where two iterations write one element: integers that are
// the same for both do not count, as in KC[b, pos[b] + t], whose iterations have one b. Other
// subscripts that read are ignored, which can only admit more pairs.
static DepSide without_data(Checker *c, DepSide side) {
    const Affine **sub = arena_copy(c->scratch, side.sub, (size_t)side.rank * sizeof *sub);
    uint32_t known = 0, before;
    do {
        before = known;
        known = settled_iters(&c->box, side.rank, sub);
        for (int d = 0; d < side.rank; d++) sub[d] = without_settled(c, sub[d], known);
    } while (known != before);
    int n = 0;
    for (int d = 0; d < side.rank; d++)
        if (!sub[d]->has_read) sub[n++] = sub[d];
    side.rank = n;
    side.sub = sub;
    return side;
}

// Two instances, the first one before the second in some iterator, that write one element.
static DepAnswer ask_twice(Checker *c, int64_t *p, int64_t *q) {
    Facts f;
    check_facts(c, NULL, &f);
    DepSide side = without_data(c, check_side(c, &c->box, &f, c->st->write));
    DepAnswer answer = f.whole ? DEP_NO : DEP_UNDECIDED;
    for (int i = c->st->serial; i < c->box.n && answer == DEP_NO; i++) {
        if (c->box.lo[i] >= c->box.hi[i]) continue;
        ArenaMark mark = arena_mark(c->scratch);
        DepDir dirs[PROGRAM_MAX_ITERS];
        int n = same_step(c, dirs);
        dirs[n++] = (DepDir){i, i, DEP_LT};
        DepQuery query = {.a = side, .b = side, .ndirs = n, .dirs = dirs, .pool = &c->work};
        DepWitness w;
        answer = deps_test(c->scratch, &query, &w);
        arena_release(c->scratch, mark);
        if (answer != DEP_YES) continue;
        memcpy(q, w.a, (size_t)c->box.n * sizeof *q);
        memcpy(p, w.b, (size_t)c->box.n * sizeof *p);
    }
    return answer;
}

void check_once(Checker *c) {
    if (c->st->op != REDUCE_ASSIGN || stmt_writes_once(c->st)) return;
    Name tensor = c->p->tensors.at[c->st->write->tensor].name;
    int64_t p[PROGRAM_MAX_ITERS], q[PROGRAM_MAX_ITERS];
    DepAnswer answer = ask_twice(c, p, q);
    if (answer == DEP_NO) return;
    if (c->st->write->has_read) {
        diag_report(c->diags, c->st->range, DIAG_CHECK_ONCE_UNPROVEN, tensor);
        c->ok = false;
        return;
    }
    if (answer == DEP_YES) {
        diag_report(c->diags, c->st->range, DIAG_CHECK_TWICE, check_show_instance(c, q, ""),
                    check_show_instance(c, p, ""), show_element(c, c->st->write, p));
        c->ok = false;
        return;
    }
    int64_t each = check_effort(c, c->st->write, NULL);
    bool all = check_affordable(c, &c->box, each);
    Box b = all ? c->box : check_sample(&c->box);
    ArenaMark mark = arena_mark(c->scratch);
    bool twice = (all || check_affordable(c, &b, each)) && find_double_write(c, &b, p, q);
    arena_release(c->scratch, mark);
    if (twice)
        diag_report(c->diags, c->st->range, DIAG_CHECK_TWICE, check_show_instance(c, q, ""),
                    check_show_instance(c, p, ""), show_element(c, c->st->write, p));
    else if (!all)
        diag_report(c->diags, c->st->range, DIAG_CHECK_ONCE_UNPROVEN, tensor);
    c->ok &= all && !twice;
}

// --- In-place statements -----------------------------------------------------------------------

// An instance p that reads an element that instance q writes, other than its own. Whether it is its
// own depends on p alone: some subscript of the read differs from that of the write.
static DepAnswer ask_conflict(Checker *c, const Access *read, const Guard *guards, int64_t *p,
                              int64_t *q) {
    Exprs *x = c->p->exprs;
    Facts reading, writing, other;
    DepDir dirs[PROGRAM_MAX_ITERS];
    int ndirs = same_step(c, dirs);
    check_facts(c, guards, &reading);
    check_facts(c, NULL, &writing);
    for (int d = 0; d < 2 * read->rank; d++) {
        const Affine *apart = affine_sub(x, read->sub[d / 2], c->st->write->sub[d / 2]);
        apart = affine_add_const(x, affine_scale(x, apart, d % 2 ? -1 : 1), -1);
        if (!check_with_fact(c, &reading, apart, &other)) return DEP_UNDECIDED;
        if (affine_is_const(apart) && apart->constant < 0) continue;
        ArenaMark mark = arena_mark(c->scratch);
        DepQuery query = {.a = check_side(c, &c->box, &other, read),
                          .b = check_side(c, &c->box, &writing, c->st->write),
                          .ndirs = ndirs,
                          .dirs = dirs,
                          .pool = &c->work};
        DepWitness w;
        DepAnswer answer = deps_test(c->scratch, &query, &w);
        arena_release(c->scratch, mark);
        if (answer == DEP_NO) continue;
        if (answer != DEP_YES) return answer;
        memcpy(p, w.a, (size_t)c->box.n * sizeof *p);
        memcpy(q, w.b, (size_t)c->box.n * sizeof *q);
        return check_performed(c, guards, p) != NO && check_performed(c, NULL, q) != NO
                   ? DEP_YES
                   : DEP_UNDECIDED;
    }
    return DEP_NO;
}

// Does no step read an element that it writes? Subscripts with data are ignored.
static bool in_other_steps(Checker *c, const Access *read, const Guard *guards) {
    Facts reading, writing;
    DepDir dirs[PROGRAM_MAX_ITERS];
    check_facts(c, guards, &reading);
    check_facts(c, NULL, &writing);
    ArenaMark mark = arena_mark(c->scratch);
    DepQuery query = {.a = check_side(c, &c->box, &reading, read),
                      .b = check_side(c, &c->box, &writing, c->st->write),
                      .ndirs = same_step(c, dirs),
                      .dirs = dirs,
                      .pool = &c->work};
    bool other = deps_test(c->scratch, &query, NULL) == DEP_NO;
    arena_release(c->scratch, mark);
    return other;
}

void check_in_place(Checker *c, const Access *read, const Guard *guards) {
    const Access *write = c->st->write;
    if (!c->ok || read->tensor != write->tensor || read == write) return;
    if (c->st->serial && in_other_steps(c, read, guards)) return;
    Name tensor = c->p->tensors.at[write->tensor].name;
    Diag *d = NULL;
    if (read->has_read || write->has_read) {
        d = diag_report(c->diags, c->st->range, DIAG_CHECK_IN_PLACE_COMPUTED, tensor);
    } else {
        int64_t p[PROGRAM_MAX_ITERS], q[PROGRAM_MAX_ITERS];
        DepAnswer answer = ask_conflict(c, read, guards, p, q);
        if (answer == DEP_NO) return;
        int64_t each = check_effort(c, read, guards);
        bool conflict = answer == DEP_YES, all = !conflict && check_affordable(c, &c->box, each);
        if (!conflict) {
            Box b = all ? c->box : check_sample(&c->box);
            ArenaMark mark = arena_mark(c->scratch);
            conflict =
                (all || check_affordable(c, &b, each)) && find_conflict(c, &b, read, guards, p, q);
            arena_release(c->scratch, mark);
        }
        if (conflict)
            d = diag_report(c->diags, c->st->range, DIAG_CHECK_IN_PLACE, tensor,
                            check_show_instance(c, p, ""), show_element(c, read, p),
                            check_show_instance(c, q, ""));
        else if (!all)
            d = diag_report(c->diags, c->st->range, DIAG_CHECK_IN_PLACE_UNPROVEN, tensor);
    }
    if (!d) return;
    diag_note(c->diags, d, (Range){0, 0}, DIAG_CHECK_IN_PLACE_NOTE);
    c->ok = false;
}
