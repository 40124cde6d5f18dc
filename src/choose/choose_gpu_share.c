// Kernels of their own for statements that would share too few loops.
//
//     T: n c h w kh kw          T: | n c h w kh kw
//     O: n f h w c              O: n f h w c
//
// Statements that share a loop are one kernel, and only shared loops are divided among threads: on
// the left, 8 images have 8 threads. The bar makes two kernels that divide all four loops.
//
// And the reverse: which statements may be in the kernel of the rows before them.
#include "choose/choose_gpu_impl.h"

#include "base/checked.h"

// --- Reads within a kernel -----------------------------------------------------------------------

static int of_class(const StmtFacts *f, int class) {
    for (int i = 0; i < f->s->niters; i++)
        if (f->class[i] == class) return i;
    return -1;
}

// Of the elements that w wrote, f reads those of its own iteration of the class.
static bool reads_own(const StmtFacts *w, const StmtFacts *f, const Access *read, int class) {
    int written = of_class(w, class), own = of_class(f, class);
    for (int d = 0; d < read->rank; d++)
        if (written >= 0 && affine_as_iter(w->s->write->sub[d]) == written)
            return affine_as_iter(read->sub[d]) == own;
    return false;
}

bool gpu_stays_in_rows(const Gpu *g, int first, const StmtFacts *f, const int *class, int n) {
    for (int i = 0; i < f->nvalue; i++)
        for (const StmtFacts *w = &g->f->stmt[first]; w < f; w++)
            for (int k = 0; k < n && w->s->write->tensor == f->read[i]->tensor; k++)
                if (!reads_own(w, f, f->read[i], class[k])) return false;
    return true;
}

// --- Loops that statements share -----------------------------------------------------------------

typedef struct Order {
    const Stmt *s;
    const SchedStmt *loops;
} Order;

static const Iter *iter_named(const Stmt *s, Name name) {
    for (int i = 0; i < s->niters; i++)
        if (s->iter[i].name == name) return &s->iter[i];
    return NULL;
}

// The iterations of loop k; 0 if it cannot be divided among threads.
static int64_t divided(const Order *o, int k) {
    const SchedLoop *loop = &o->loops->loop[k];
    const Iter *iter = iter_named(o->s, loop->iter);
    if (!iter || iter->reduction || loop->kind != KIND_SERIAL) return 0;
    int64_t extent = iter_extent(iter);
    for (int i = 0; i < k; i++)
        if (o->loops->loop[i].iter == loop->iter) extent = o->loops->loop[i].step;
    return ceil_div(extent, loop->step);
}

static bool same_loop(const Order *a, const Order *b, int k) {
    const SchedLoop *x = &a->loops->loop[k], *y = &b->loops->loop[k];
    return x->iter == y->iter && x->step == y->step && x->interleaved == y->interleaved &&
           divided(a, k) == divided(b, k);
}

// Threads of a kernel of its own: the iterations of the outermost loops that can be divided.
static int64_t threads_alone(const Order *o) {
    int64_t n = 1, here;
    for (int k = 0; k < o->loops->nloops && (here = divided(o, k)) > 0; k++)
        if (!checked_mul(n, here, &n)) return INT64_MAX;
    return n;
}

static int64_t threads_shared(const Order *a, const Order *b) {
    int64_t n = 1, here;
    for (int k = 0; k < a->loops->nloops && k < b->loops->nloops; k++) {
        if (!same_loop(a, b, k) || (here = divided(a, k)) <= 0) break;
        if (!checked_mul(n, here, &n)) return INT64_MAX;
    }
    return n;
}

// Marked loops are a whole that another rule has chosen.
static bool is_plain(const SchedStmt *s) {
    for (int k = 0; k < s->nloops; k++)
        if (s->loop[k].kind >= KIND_GRID_X) return false;
    return s->nloops && s->stage < 0 && !s->after && !s->at.iter && !s->inlined;
}

static bool shares_too_little(const Order *a, const Order *b) {
    int64_t shared = threads_shared(a, b);
    int64_t alone = max_i64(threads_alone(a), threads_alone(b));
    return shared < gpu_cost.many_threads && alone / shared >= gpu_cost.most_in_thread;
}

static const Stmt *stmt_of(const Program *p, Name label) {
    for (int i = 0; i < p->stmts.n; i++)
        if (p->stmts.at[i].label == label) return &p->stmts.at[i];
    return NULL;
}

void gpu_divide_kernels(Arena *arena, const Program *p, Schedule *s) {
    const SchedStmt **stmt = arena_copy(arena, s->stmt, (size_t)s->nstmts * sizeof *stmt);
    for (int i = 0; i + 1 < s->nstmts; i++) {
        int next = i + 1;
        while (next < s->nstmts && stmt[next]->after) next++; // those are in its loops
        if (next == s->nstmts) break;
        Order a = {stmt_of(p, stmt[i]->label), stmt[i]};
        Order b = {stmt_of(p, stmt[next]->label), stmt[next]};
        if (!a.s || b.s != a.s + (next - i) || !is_plain(a.loops) || !is_plain(b.loops)) continue;
        if (!shares_too_little(&a, &b)) continue;
        SchedStmt *own = arena_copy(arena, stmt[i], sizeof *own);
        own->stage = 0;
        stmt[i] = own;
    }
    s->stmt = stmt;
}
