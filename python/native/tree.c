// The type Tree: the loops of a function for certain sizes. Scripts of transformations return a new
// Tree. loopwright.Tree is the public class.
#include "native.h"

typedef struct Tree {
    PyObject ob_base;
    State *st;
    PyObject *function; // its state and module are used
    lw_tree *t;
} Tree;

static PyObject *tree_of(State *st, PyObject *function, lw_tree *t) {
    Tree *self = PyObject_New(Tree, st->tree_type);
    if (!self) return lw_tree_free(t), NULL;
    self->st = st;
    self->function = function;
    Py_INCREF(function);
    self->t = t;
    return (PyObject *)self;
}

static void dealloc(PyObject *object) {
    Tree *self = (Tree *)object;
    PyTypeObject *type = Py_TYPE(object);
    lw_tree_free(self->t);
    Py_XDECREF(self->function);
    PyObject_Free(self);
    Py_DECREF(type);
}

PyObject *native_tree_new(Function *f, const lw_bound *b, const char *schedule) {
    lw_tree *t;
    lw_show_options o = {.struct_size = sizeof o, .schedule = {schedule, "<schedule>"}};
    PyThreadState *thread = PyEval_SaveThread();
    lw_status status = lw_tree_new(f->st->ctx, b, &o, &t);
    PyEval_RestoreThread(thread);
    return status ? raise_last(f->st, status) : tree_of(f->st, (PyObject *)f, t);
}

static PyObject *edit(PyObject *object, PyObject *script) {
    Tree *self = (Tree *)object;
    PyObject *bytes = PyUnicode_AsUTF8String(script);
    lw_tree *t;
    char *text;
    if (!bytes) return NULL;
    // It contains a NUL.
    if (PyBytes_AsStringAndSize(bytes, &text, NULL)) return Py_DECREF(bytes), NULL;
    PyThreadState *thread = PyEval_SaveThread();
    lw_status status = lw_tree_edit(self->st->ctx, self->t, "<edit>", text, &t);
    PyEval_RestoreThread(thread);
    Py_DECREF(bytes);
    return status ? raise_last(self->st, status) : tree_of(self->st, self->function, t);
}

static PyObject *follow(PyObject *object, PyObject *args) {
    Tree *self = (Tree *)object;
    PyObject *to;
    int node;
    if (!PyArg_ParseTuple(args, "iO!", &node, self->st->tree_type, &to)) return NULL;
    return PyLong_FromLong(lw_tree_follow(self->t, node, ((Tree *)to)->t));
}

static PyObject *get_nodes(PyObject *o, void *unused) {
    const lw_tree *t = ((Tree *)o)->t;
    size_t n = lw_tree_node_count(t);
    PyObject *all = PyTuple_New((Py_ssize_t)n);
    (void)unused;
    for (size_t i = 0; all && i < n; i++) {
        PyObject *node = node_tuple(i, lw_tree_node(t, i));
        if (!node) return Py_DECREF(all), NULL;
        PyTuple_SetItem(all, (Py_ssize_t)i, node);
    }
    return all;
}

static PyObject *get_text(PyObject *o, void *unused) {
    (void)unused;
    return PyUnicode_FromString(lw_tree_show(((Tree *)o)->t));
}

static PyObject *get_stripe(PyObject *o, void *unused) {
    (void)unused;
    return PyUnicode_FromString(lw_tree_stripe(((Tree *)o)->t));
}

static PyObject *get_function(PyObject *o, void *unused) {
    (void)unused;
    Py_INCREF(((Tree *)o)->function);
    return ((Tree *)o)->function;
}

static PyGetSetDef attributes[] = {
    {"nodes", get_nodes, NULL, "all nodes, as tuples", NULL},
    {"text", get_text, NULL, "the loops, one line each", NULL},
    {"stripe", get_stripe, NULL, "the tree as Stripe text", NULL},
    {"function", get_function, NULL, "the function that it was made from", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"edit", edit, METH_O, "edit(script) -> Tree"},
    {"follow", follow, METH_VARARGS, "follow(node, to) -> its number in another tree; -1: gone"},
    {NULL, NULL, 0, NULL},
};

PyTypeObject *native_tree_type(void) {
    PyType_Slot slots[] = {
        {Py_tp_new, refuse_new},
        {Py_tp_dealloc, dealloc},
        {Py_tp_methods, methods},
        {Py_tp_getset, attributes},
        {0, NULL},
    };
    PyType_Spec spec = {"loopwright._native.Tree", sizeof(Tree), 0, Py_TPFLAGS_DEFAULT, slots};
    return (PyTypeObject *)PyType_FromSpec(&spec);
}
