// Functions that do not belong to one program: the tuning database, lw_db_* for loopwright.db, and
// the rates of this machine.
#include "native.h"

#include <string.h>

static PyObject *text_or_none(const char *text) {
    if (text) return PyUnicode_FromString(text);
    Py_INCREF(Py_None);
    return Py_None;
}

static PyObject *entry_of(PyObject *type, const lw_db_entry *e) {
    return PyObject_CallFunction(
        type, "LiNNNNNdddLddNNNLN", (long long)e->kernel, (int)e->rank, PyBool_FromLong(e->pinned),
        PyUnicode_FromString(e->name), text_or_none(e->named_sizes ? e->named_sizes : e->sizes),
        text_or_none(e->named_schedule ? e->named_schedule : e->schedule),
        text_or_none(e->named_program ? e->named_program : e->program), e->seconds, e->bound,
        e->chosen, (long long)e->threads, e->low, e->high, PyUnicode_FromString(e->cpu),
        PyUnicode_FromString(e->isa), PyUnicode_FromString(e->date), (long long)e->trials,
        text_or_none(e->wrong));
}

PyObject *native_db_list(PyObject *module, PyObject *args) {
    State *st = PyModule_GetState(module);
    PyObject *type;
    int best, check;
    long long kernel;
    if (!PyArg_ParseTuple(args, "OppL", &type, &best, &check, &kernel)) return NULL;
    lw_db_options o = {.struct_size = sizeof o, .kernel = kernel, .best = best, .check = check};
    const lw_db_entry *entries;
    size_t n;
    PyThreadState *thread = PyEval_SaveThread();
    lw_status status = lw_db_list(st->ctx, &o, &entries, &n);
    PyEval_RestoreThread(thread);
    if (status) return raise_last(st, status);
    PyObject *all = PyList_New(0);
    for (size_t i = 0; all && i < n; i++) {
        if (entries[i].rank < 0) continue; // an unreadable row
        PyObject *entry = entry_of(type, &entries[i]);
        if (!entry || PyList_Append(all, entry)) Py_CLEAR(all);
        Py_XDECREF(entry);
    }
    return all;
}

PyObject *native_db_file(PyObject *module, PyObject *none) {
    (void)none;
    return text_or_none(lw_db_file(((State *)PyModule_GetState(module))->ctx));
}

PyObject *native_db_export(PyObject *module, PyObject *args) {
    State *st = PyModule_GetState(module);
    int trials, best;
    long long kernel;
    const char *text;
    if (!PyArg_ParseTuple(args, "ppL", &trials, &best, &kernel)) return NULL;
    lw_db_options o = {.struct_size = sizeof o, .kernel = kernel, .best = best, .trials = trials};
    PyThreadState *thread = PyEval_SaveThread();
    lw_status status = lw_db_export(st->ctx, &o, &text);
    PyEval_RestoreThread(thread);
    return status ? raise_last(st, status) : PyUnicode_FromString(text);
}

static PyObject *counted(State *st, lw_status status, const lw_db_counts *c) {
    if (status) return raise_last(st, status);
    if (!warn_last(st, 3)) return NULL;
    return Py_BuildValue("(nnnn)", (Py_ssize_t)c->read, (Py_ssize_t)c->kept, (Py_ssize_t)c->refused,
                         (Py_ssize_t)c->removed);
}

PyObject *native_db_import(PyObject *module, PyObject *args) {
    State *st = PyModule_GetState(module);
    const char *name, *text;
    Py_ssize_t length;
    lw_db_counts c = {0};
    if (!PyArg_ParseTuple(args, "ss#", &name, &text, &length)) return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    lw_status status = lw_db_import(st->ctx, name, text, (size_t)length, &c);
    PyEval_RestoreThread(thread);
    return counted(st, status, &c);
}

PyObject *native_db_merge(PyObject *module, PyObject *args) {
    State *st = PyModule_GetState(module);
    const char *file;
    int trials;
    lw_db_counts c = {0};
    if (!PyArg_ParseTuple(args, "sp", &file, &trials)) return NULL;
    lw_db_options o = {.struct_size = sizeof o, .trials = trials};
    PyThreadState *thread = PyEval_SaveThread();
    lw_status status = lw_db_merge(st->ctx, file, &o, &c);
    PyEval_RestoreThread(thread);
    return counted(st, status, &c);
}

PyObject *native_db_prune(PyObject *module, PyObject *args) {
    State *st = PyModule_GetState(module);
    long long keep;
    int trials, bad;
    lw_db_prune_options o = {.struct_size = sizeof o};
    lw_db_counts c = {0};
    if (!PyArg_ParseTuple(args, "Ldpp", &keep, &o.days, &trials, &bad)) return NULL;
    o.keep = keep;
    o.trials = trials;
    o.bad = bad;
    PyThreadState *thread = PyEval_SaveThread();
    lw_status status = lw_db_prune(st->ctx, &o, &c);
    PyEval_RestoreThread(thread);
    return counted(st, status, &c);
}

PyObject *native_machine(PyObject *module, PyObject *none) {
    State *st = PyModule_GetState(module);
    const lw_machine *machine;
    (void)none;
    PyThreadState *thread = PyEval_SaveThread();
    lw_status status = lw_machine_get(st->ctx, NULL, &machine);
    PyEval_RestoreThread(thread);
    return status ? raise_last(st, status) : PyUnicode_FromString(machine->json);
}
