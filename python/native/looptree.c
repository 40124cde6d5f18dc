// The type LoopTree: a schedule of a function for certain sizes, and its loops. Actions return a
// new LoopTree. loopwright.LoopTree is the public class.
#include "native.h"

#include <stdlib.h>
#include <string.h>

// Arguments to measure with, shared by all trees of one bound function.
typedef struct Data {
    int refs;
    size_t n;
    DLTensor *t; // NULL: not allocated yet
    void **memory;
} Data;

typedef struct LoopTree {
    PyObject ob_base;
    State *st;
    PyObject *function; // its state and module are used
    lw_schedule *s;
    Data *data;
} LoopTree;

// --- Data ----------------------------------------------------------------------------------------

static void data_drop(Data *d) {
    if (!d || --d->refs) return;
    for (size_t i = 0; i < d->n; i++) free(d->memory[i]);
    PyMem_Free(d->memory);
    PyMem_Free(d->t);
    PyMem_Free(d);
}

static size_t elements_of(const DLTensor *t) {
    size_t n = 1;
    for (int d = 0; d < t->ndim; d++) n *= (size_t)t->shape[d];
    return n;
}

// Fills with values near one, and with valid indices.
static void fill(const lw_bound *b, size_t i, const DLTensor *t, char *to) {
    size_t n = elements_of(t);
    int64_t lo = 0, hi = 0;
    bool index = lw_bound_index_range(b, i, &lo, &hi);
    for (size_t k = 0; k < n; k++) {
        int64_t whole = index ? lo + (int64_t)(k % (size_t)(hi > lo ? hi - lo + 1 : 1)) : 1;
        double real = 0.5 + (double)(k * 2654435761u % 1024) / 1024;
        float single = (float)real;
        if (t->dtype.code == kDLFloat && t->dtype.bits == 32)
            memcpy(to + 4 * k, &single, 4);
        else if (t->dtype.code == kDLFloat && t->dtype.bits == 64)
            memcpy(to + 8 * k, &real, 8);
        else if (t->dtype.code == kDLFloat || t->dtype.code == kDLBfloat)
            memcpy(to + 2 * k, t->dtype.code == kDLBfloat ? "\x80\x3f" : "\x00\x3c", 2);
        else
            memcpy(to + k * (t->dtype.bits / 8), &whole, t->dtype.bits / 8); // little-endian
    }
}

static bool data_make(Data *d, const lw_bound *b) {
    const lw_function *f = lw_bound_function(b);
    size_t n = lw_function_input_count(f) + lw_function_output_count(f);
    if (d->t) return true;
    d->memory = PyMem_Calloc(n + 1, sizeof *d->memory);
    DLTensor *t = PyMem_Calloc(n + 1, sizeof *t);
    if (!d->memory || !t) return PyMem_Free(t), PyErr_NoMemory(), false;
    d->t = t;
    for (; d->n < n; d->n++) {
        const DLTensor *like = lw_bound_tensor(b, d->n);
        size_t bytes = elements_of(like) * (like->dtype.bits / 8);
        t[d->n] = *like;
        t[d->n].data = d->memory[d->n] = aligned_alloc(64, (bytes / 64 + 1) * 64);
        if (!d->memory[d->n]) {
            PyErr_NoMemory();
            return false;
        }
        fill(b, d->n, like, t[d->n].data);
    }
    return true;
}

// --- Construction --------------------------------------------------------------------------------

static PyObject *tree_of(State *st, PyObject *function, lw_schedule *s, Data *data) {
    LoopTree *self = s ? PyObject_New(LoopTree, st->loop_tree_type) : NULL;
    if (!self) return lw_schedule_free(s), NULL;
    self->st = st;
    self->function = function;
    Py_INCREF(function);
    self->s = s;
    self->data = data;
    data->refs++;
    return (PyObject *)self;
}

static void dealloc(PyObject *object) {
    LoopTree *self = (LoopTree *)object;
    PyTypeObject *type = Py_TYPE(object);
    lw_schedule_free(self->s);
    data_drop(self->data);
    Py_XDECREF(self->function);
    PyObject_Free(self);
    Py_DECREF(type);
}

PyObject *loop_tree_new(Function *f, const lw_bound *b, const char *schedule) {
    lw_schedule *s;
    lw_show_options o = {.struct_size = sizeof o, .schedule = {schedule, "<schedule>"}};
    PyThreadState *thread = PyEval_SaveThread();
    lw_status status = lw_schedule_new(f->st->ctx, b, &o, &s);
    PyEval_RestoreThread(thread);
    if (status) return raise_last(f->st, status);
    Data *data = PyMem_Calloc(1, sizeof *data);
    if (!data) return lw_schedule_free(s), PyErr_NoMemory();
    data->refs = 1;
    PyObject *tree = tree_of(f->st, (PyObject *)f, s, data);
    data_drop(data);
    return tree;
}

// --- Actions -------------------------------------------------------------------------------------

static PyObject *result(LoopTree *self, lw_status status, lw_schedule *s) {
    if (status) return raise_last(self->st, status);
    return tree_of(self->st, self->function, s, self->data);
}

static PyObject *edit(PyObject *object, PyObject *script) {
    LoopTree *self = (LoopTree *)object;
    PyObject *bytes = PyUnicode_AsUTF8String(script);
    lw_schedule *s;
    char *text;
    if (!bytes) return NULL;
    // It contains a NUL.
    if (PyBytes_AsStringAndSize(bytes, &text, NULL)) return Py_DECREF(bytes), NULL;
    PyThreadState *thread = PyEval_SaveThread();
    lw_status status = lw_schedule_edit(self->st->ctx, self->s, "<edit>", text, &s);
    PyEval_RestoreThread(thread);
    Py_DECREF(bytes);
    return result(self, status, s);
}

// act(action, loop, n, statement, text, m): ignores arguments that the action does not need.
static lw_status act_on(LoopTree *t, const char *action, int loop, long long n,
                        const char *statement, const char *text, long long m, lw_schedule **s) {
    lw_context *ctx = t->st->ctx;
#define IS(name) (strcmp(action, name) == 0)
    if (IS("goto")) return lw_schedule_goto(ctx, t->s, loop, s);
    if (IS("split")) return lw_schedule_split(ctx, t->s, loop, n, false, s);
    if (IS("interleave")) return lw_schedule_split(ctx, t->s, loop, n, true, s);
    if (IS("merge")) return lw_schedule_merge(ctx, t->s, loop, s);
    if (IS("swap")) return lw_schedule_swap(ctx, t->s, loop, (int)n, s);
    if (IS("move")) return lw_schedule_move(ctx, t->s, loop, (int)n, s);
    if (IS("skew")) return lw_schedule_skew(ctx, t->s, loop, (int)n, m, s);
    if (IS("annotate")) return lw_schedule_annotate(ctx, t->s, loop, (lw_loop_kind)n, s);
    if (IS("copy")) return lw_schedule_copy_input(ctx, t->s, statement, text, loop, s);
    if (IS("drop")) return lw_schedule_drop_copy(ctx, t->s, statement, text, s);
    if (IS("increase_reuse")) return lw_schedule_increase_reuse(ctx, t->s, statement, s);
    if (IS("decrease_reuse")) return lw_schedule_decrease_reuse(ctx, t->s, statement, s);
    if (IS("compute_at")) return lw_schedule_compute_at(ctx, t->s, statement, loop, s);
    if (IS("inline")) return lw_schedule_inline(ctx, t->s, statement, s);
    if (IS("after")) return lw_schedule_after(ctx, t->s, statement, text, s);
    if (IS("root")) return lw_schedule_root(ctx, t->s, statement, s);
    if (IS("swap_dims")) return lw_schedule_swap_dims(ctx, t->s, statement, loop, (int)n, s);
#undef IS
    return LW_MISUSE; // the class has no such method
}

static PyObject *act(PyObject *object, PyObject *args) {
    const char *action, *statement = NULL, *text = NULL;
    int loop = -1;
    long long n = 0, m = 0;
    lw_schedule *s = NULL;
    if (!PyArg_ParseTuple(args, "s|iLzzL", &action, &loop, &n, &statement, &text, &m)) return NULL;
    LoopTree *self = (LoopTree *)object;
    PyThreadState *thread = PyEval_SaveThread();
    lw_status status = act_on(self, action, loop, n, statement, text, m, &s);
    PyEval_RestoreThread(thread);
    return result(self, status, s);
}

// --- Queries -------------------------------------------------------------------------------------

static const char *const type_names[] = {"loop", "guard", "leaf", "special"};

PyObject *node_tuple(size_t i, const lw_node *n) {
    return Py_BuildValue("(nsiiiszzzLsOOLdddd)", (Py_ssize_t)i, type_names[n->type], n->parent,
                         n->depth, n->line, n->text, n->statement, n->name, n->loop,
                         (long long)n->extent, lw_loop_kind_name(n->kind),
                         n->repeated ? Py_True : Py_False, n->reduction ? Py_True : Py_False,
                         (long long)n->tail, n->touches, n->moves, n->flops, n->iterations);
}

static PyObject *get_nodes(PyObject *o, void *unused) {
    const lw_schedule *s = ((LoopTree *)o)->s;
    size_t n = lw_schedule_node_count(s);
    PyObject *all = PyTuple_New((Py_ssize_t)n);
    (void)unused;
    for (size_t i = 0; all && i < n; i++) {
        PyObject *node = node_tuple(i, lw_schedule_node(s, i));
        if (!node) return Py_DECREF(all), NULL;
        PyTuple_SetItem(all, (Py_ssize_t)i, node);
    }
    return all;
}

static PyObject *strides_of(const lw_access *a) {
    PyObject *all = PyTuple_New((Py_ssize_t)a->loop_count);
    for (size_t i = 0; all && i < a->loop_count; i++) {
        PyObject *one = Py_BuildValue("(iL)", a->loops[i], (long long)a->strides[i]);
        if (!one) return Py_DECREF(all), NULL;
        PyTuple_SetItem(all, (Py_ssize_t)i, one);
    }
    return all;
}

static PyObject *get_accesses(PyObject *o, void *unused) {
    const lw_schedule *s = ((LoopTree *)o)->s;
    size_t n = lw_schedule_access_count(s);
    PyObject *all = PyTuple_New((Py_ssize_t)n);
    (void)unused;
    for (size_t i = 0; all && i < n; i++) {
        const lw_access *a = lw_schedule_access(s, i);
        PyObject *strides = strides_of(a);
        PyObject *one = strides ? Py_BuildValue("(isON)", a->leaf, a->buffer,
                                                a->write ? Py_True : Py_False, strides)
                                : NULL;
        if (!one) return Py_DECREF(all), NULL;
        PyTuple_SetItem(all, (Py_ssize_t)i, one);
    }
    return all;
}

static PyObject *get_schedule(PyObject *o, void *unused) {
    (void)unused;
    return PyUnicode_FromString(lw_schedule_get(((LoopTree *)o)->s).text);
}

static PyObject *get_text(PyObject *o, void *unused) {
    (void)unused;
    return PyUnicode_FromString(lw_schedule_tree(((LoopTree *)o)->s));
}

static PyObject *get_cursor(PyObject *o, void *unused) {
    (void)unused;
    return PyLong_FromLong(lw_schedule_cursor(((LoopTree *)o)->s));
}

static PyObject *get_function(PyObject *o, void *unused) {
    (void)unused;
    Py_INCREF(((LoopTree *)o)->function);
    return ((LoopTree *)o)->function;
}

static PyObject *get_sizes(PyObject *o, void *unused) {
    const lw_bound *b = lw_schedule_bound(((LoopTree *)o)->s);
    const lw_function *f = lw_bound_function(b);
    PyObject *sizes = PyDict_New();
    (void)unused;
    for (size_t i = 0; sizes && i < lw_function_param_count(f); i++) {
        PyObject *value = PyLong_FromLongLong(lw_bound_value(b, i));
        if (!value || PyDict_SetItemString(sizes, lw_function_param(f, i)->name, value))
            Py_CLEAR(sizes);
        Py_XDECREF(value);
    }
    return sizes;
}

// --- For learning --------------------------------------------------------------------------------

enum { COLUMNS = 20, BINS = 16 };

static bool inside(const lw_schedule *s, int node, int loop) {
    while (node >= 0 && node != loop) node = lw_schedule_node(s, (size_t)node)->parent;
    return node == loop;
}

static float log2_of(int64_t n) {
    int bits = 0;
    double x = (double)n + 1;
    while (x >= 2) x /= 2, bits++;
    return ((float)bits + (float)(x - 1)) / 32; // linear between powers of two
}

// The histogram of the strides along the loop of the accesses inside: 0, 1, 2-3, 4-7, ... elements.
static void histogram(const lw_schedule *s, int loop, float *bin) {
    float n = 0;
    for (size_t i = 0; i < lw_schedule_access_count(s); i++) {
        const lw_access *a = lw_schedule_access(s, i);
        if (!inside(s, a->leaf, loop)) continue;
        int64_t stride = 0;
        for (size_t k = 0; k < a->loop_count; k++)
            if (a->loops[k] == loop) stride = a->strides[k] < 0 ? -a->strides[k] : a->strides[k];
        int at = 0;
        while (stride && at < BINS - 1) at++, stride /= 2;
        bin[at]++, n++;
    }
    for (int i = 0; i < BINS && n > 0; i++) bin[i] /= n;
}

// features(rows) -> (bytes of float[rows][20], kind and extent of the cursor's loop, loops)
static PyObject *features(PyObject *object, PyObject *args) {
    const lw_schedule *s = ((LoopTree *)object)->s;
    int rows, cursor = lw_schedule_cursor(s), loops = 0, row = 0;
    if (!PyArg_ParseTuple(args, "i", &rows)) return NULL;
    float *to = PyMem_Calloc((size_t)rows * COLUMNS + 1, sizeof *to);
    if (!to) return PyErr_NoMemory();
    for (size_t i = 0; i < lw_schedule_node_count(s); i++) {
        const lw_node *n = lw_schedule_node(s, i);
        if (n->type != LW_NODE_LOOP) continue;
        loops += !n->repeated;
        if (row >= rows) continue;
        float *x = to + COLUMNS * row++;
        x[0] = (int)i == cursor;
        x[1] = log2_of(n->extent);
        x[2] = log2_of(n->tail);
        x[3] = n->repeated;
        histogram(s, (int)i, x + 4);
    }
    const lw_node *at = cursor >= 0 ? lw_schedule_node(s, (size_t)cursor) : NULL;
    PyObject *made = Py_BuildValue(
        "(y#sLi)", (const char *)to, (Py_ssize_t)((size_t)rows * COLUMNS * sizeof *to),
        at ? lw_loop_kind_name(at->kind) : "", (long long)(at ? at->extent : 0), loops);
    PyMem_Free(to);
    return made;
}

// accepts(scripts) -> a byte for each: is the script legal?
static PyObject *accepts(PyObject *object, PyObject *list) {
    LoopTree *self = (LoopTree *)object;
    Py_ssize_t n = PySequence_Size(list);
    if (n < 0) return NULL;
    const char **scripts = PyMem_Calloc((size_t)n + 1, sizeof *scripts);
    PyObject **bytes = PyMem_Calloc((size_t)n + 1, sizeof *bytes);
    bool *out = PyMem_Calloc((size_t)n + 1, sizeof *out);
    PyObject *made = NULL;
    Py_ssize_t read = 0;
    for (; scripts && bytes && out && read < n; read++) {
        PyObject *one = PySequence_GetItem(list, read);
        bytes[read] = one ? PyUnicode_AsUTF8String(one) : NULL;
        Py_XDECREF(one);
        if (!bytes[read]) break;
        scripts[read] = PyBytes_AsString(bytes[read]);
    }
    if (read == n && scripts && bytes && out) {
        PyThreadState *thread = PyEval_SaveThread();
        lw_status status = lw_schedule_accepts(self->st->ctx, self->s, scripts, (size_t)n, out);
        PyEval_RestoreThread(thread);
        made =
            status ? raise_last(self->st, status) : PyBytes_FromStringAndSize((const char *)out, n);
    } else if (!PyErr_Occurred())
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; bytes && i < n; i++) Py_XDECREF(bytes[i]);
    PyMem_Free(scripts);
    PyMem_Free(bytes);
    PyMem_Free(out);
    return made;
}

static PyObject *bound(PyObject *object, PyObject *args) {
    LoopTree *self = (LoopTree *)object;
    double seconds;
    int threads = 0;
    if (!PyArg_ParseTuple(args, "|i", &threads)) return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    lw_status status = lw_schedule_lower_bound(self->st->ctx, self->s, threads, &seconds);
    PyEval_RestoreThread(thread);
    return status ? raise_last(self->st, status) : PyFloat_FromDouble(seconds);
}

// --- Measuring -----------------------------------------------------------------------------------

static PyObject *measure(PyObject *object, PyObject *args) {
    LoopTree *self = (LoopTree *)object;
    double seconds = 0;
    int threads = 0;
    if (!PyArg_ParseTuple(args, "d|i", &seconds, &threads)) return NULL;
    const lw_bound *b = lw_schedule_bound(self->s);
    Data *d = self->data;
    if (!data_make(d, b)) return NULL;
    lw_timing timing = {.struct_size = sizeof timing};
    lw_run_options o = {.struct_size = sizeof o,
                        .backend = LW_BACKEND_JIT,
                        .schedule = lw_schedule_get(self->s),
                        .measure_seconds = seconds,
                        .threads = threads,
                        .timing = &timing};
    const DLTensor **all = PyMem_Malloc((d->n + 1) * sizeof *all);
    if (!all) return PyErr_NoMemory();
    for (size_t i = 0; i < d->n; i++) all[i] = &d->t[i];
    PyThreadState *thread = PyEval_SaveThread();
    lw_status status = lw_run(self->st->ctx, b, all, d->n, &o);
    PyEval_RestoreThread(thread);
    PyMem_Free(all);
    if (status) return raise_last(self->st, status);
    double us = seconds > 0 && timing.best_us > 0 ? timing.best_us : timing.run_us;
    return Py_BuildValue("(ddd)", us * 1e-6, timing.flops, timing.compile_us * 1e-6);
}

static PyObject *find(PyObject *object, PyObject *name) {
    PyObject *bytes = PyUnicode_AsUTF8String(name);
    if (!bytes) return NULL;
    int node = lw_schedule_find(((LoopTree *)object)->s, PyBytes_AsString(bytes));
    Py_DECREF(bytes);
    return PyLong_FromLong(node);
}

static PyGetSetDef attributes[] = {
    {"nodes", get_nodes, NULL, "all nodes, as tuples", NULL},
    {"accesses", get_accesses, NULL, "(leaf, buffer, written, ((loop, stride), ...)) each", NULL},
    {"schedule", get_schedule, NULL, "the schedule, as text", NULL},
    {"text", get_text, NULL, "the loops, one line each", NULL},
    {"cursor", get_cursor, NULL, "the node that the cursor is on; -1: none", NULL},
    {"function", get_function, NULL, "the function", NULL},
    {"sizes", get_sizes, NULL, "the sizes, by name", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"edit", edit, METH_O, "edit(script) -> LoopTree"},
    {"act", act, METH_VARARGS, "act(action, loop, n, statement, text) -> LoopTree"},
    {"features", features, METH_VARARGS,
     "features(rows) -> (floats, kind and extent at the cursor, loops)"},
    {"accepts", accepts, METH_O, "accepts(scripts) -> a byte for each: whether it applies"},
    {"bound", bound, METH_VARARGS, "bound(threads=0) -> lower bound of the time in seconds"},
    {"find", find, METH_O, "find(name) -> the node of a loop; -1: none, -2: several"},
    {"measure", measure, METH_VARARGS,
     "measure(seconds, threads=0) -> (seconds per call, flops, seconds to compile)"},
    {NULL, NULL, 0, NULL},
};

PyTypeObject *loop_tree_type(void) {
    PyType_Slot slots[] = {
        {Py_tp_new, refuse_new},
        {Py_tp_dealloc, dealloc},
        {Py_tp_methods, methods},
        {Py_tp_getset, attributes},
        {0, NULL},
    };
    PyType_Spec spec = {"loopwright._native.LoopTree", sizeof(LoopTree), 0, Py_TPFLAGS_DEFAULT,
                        slots};
    return (PyTypeObject *)PyType_FromSpec(&spec);
}
