// The module: its state, parsing of texts, and the conversion of the library's diagnostics to
// exceptions and warnings.
#include "native.h"

#include <string.h>

// --- Errors --------------------------------------------------------------------------------------

static const char *const severity[] = {"note", "warning", "error"};

static PyObject *diagnostic(State *st, const lw_diag *d) {
    PyObject *notes = PyTuple_New((Py_ssize_t)d->note_count);
    for (size_t i = 0; notes && i < d->note_count; i++) {
        PyObject *note = diagnostic(st, d->notes[i]);
        if (!note) return Py_DECREF(notes), NULL;
        PyTuple_SetItem(notes, (Py_ssize_t)i, note);
    }
    return notes ? PyObject_CallFunction(st->diagnostic, "sziisNii", severity[d->severity], d->file,
                                         d->line, d->column, d->text, notes, d->end_line,
                                         d->end_column)
                 : NULL;
}

static PyObject *diagnostics(State *st) {
    size_t n = lw_diag_count(st->ctx);
    PyObject *all = PyTuple_New((Py_ssize_t)n);
    for (size_t i = 0; all && i < n; i++) {
        PyObject *one = diagnostic(st, lw_diag_get(st->ctx, i));
        if (!one) return Py_DECREF(all), NULL;
        PyTuple_SetItem(all, (Py_ssize_t)i, one);
    }
    return all;
}

// The text without its final newline.
static PyObject *last_text(State *st) {
    const char *text = lw_diag_text(st->ctx);
    size_t n = strlen(text);
    while (n && text[n - 1] == '\n') n--;
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)n, "replace");
}

void *raise_last(State *st, lw_status status) {
    PyObject *text = last_text(st), *all = NULL, *error = NULL;
    if (!text) return NULL;
    if (status == LW_NO_MEMORY || status == LW_MISUSE) {
        PyErr_SetObject(status == LW_NO_MEMORY ? PyExc_MemoryError : PyExc_SystemError, text);
    } else if ((all = diagnostics(st))) {
        error = PyObject_CallFunctionObjArgs(st->error, text, all, (PyObject *)NULL);
        if (error) PyErr_SetObject(st->error, error);
    }
    Py_XDECREF(error);
    Py_XDECREF(all);
    Py_DECREF(text);
    return NULL;
}

bool warn_last(State *st, int level) {
    if (!lw_diag_count(st->ctx)) return true;
    PyObject *text = last_text(st), *bytes = text ? PyUnicode_AsUTF8String(text) : NULL;
    bool ok = bytes && PyErr_WarnEx(st->warning, PyBytes_AsString(bytes), level) == 0;
    Py_XDECREF(bytes);
    Py_XDECREF(text);
    return ok;
}

PyObject *refuse_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    (void)args, (void)keywords;
    return PyErr_Format(PyExc_TypeError, "%R cannot be called; loopwright.define() gives functions",
                        (PyObject *)type);
}

// --- Reading texts -------------------------------------------------------------------------------

// Functions own this capsule, and with it the extension module whose state they use.
static void free_module(PyObject *capsule) {
    PyObject *module = PyCapsule_GetContext(capsule);
    lw_module_free(PyCapsule_GetPointer(capsule, NULL));
    Py_XDECREF(module);
}

PyObject *functions_of(PyObject *module, lw_module *mod, PyObject *origin) {
    State *st = PyModule_GetState(module);
    PyObject *capsule = PyCapsule_New(mod, NULL, free_module);
    if (capsule && PyCapsule_SetContext(capsule, module) == 0) Py_INCREF(module);
    PyObject *list = capsule ? PyList_New(0) : NULL;
    if (!capsule) lw_module_free(mod);
    for (size_t i = 0; list && i < lw_module_function_count(mod); i++) {
        PyObject *f = function_new(st, capsule, origin, lw_module_function(mod, i), Py_None, NULL);
        if (!f || PyList_Append(list, f)) Py_CLEAR(list);
        Py_XDECREF(f);
    }
    Py_XDECREF(capsule);
    return list;
}

static PyObject *parse(PyObject *module, PyObject *args) {
    State *st = PyModule_GetState(module);
    const char *text, *name;
    Py_ssize_t len;
    int language, level = 1, path = 1;
    PyObject *parameters = NULL, *names;
    lw_module *mod;
    if (!PyArg_ParseTuple(args, "s#si|iO!p", &text, &len, &name, &language, &level, &PyDict_Type,
                          &parameters, &path))
        return NULL;
    bool tree = language < 0; // it is a Tree that was proven before: its loops run as written
    lw_parse_options o = {.struct_size = sizeof o,
                          .language = (lw_language)(tree ? -language : language),
                          .unproven = tree,
                          .as_written = tree,
                          .no_path = !path};
    lw_size *sizes = sizes_of(parameters, &names, &o.parameter_count);
    if (!sizes) return NULL;
    o.parameters = sizes;
    PyThreadState *thread = PyEval_SaveThread();
    lw_status status = lw_parse(st->ctx, name, text, (size_t)len, &o, &mod);
    PyEval_RestoreThread(thread);
    PyMem_Free(sizes);
    Py_DECREF(names);
    if (status) return raise_last(st, status);
    if (!warn_last(st, level)) return lw_module_free(mod), NULL;
    PyObject *origin = Py_BuildValue(parameters ? "(s#siiOi)" : "(s#si)", text, len, name, language,
                                     1, parameters, path);
    PyObject *all = origin ? functions_of(module, mod, origin) : (lw_module_free(mod), NULL);
    Py_XDECREF(origin);
    return all;
}

// --- The module ----------------------------------------------------------------------------------

static PyMethodDef functions[] = {
    {"parse", parse, METH_VARARGS,
     "parse(text, name, language, level=1, parameters={}, path=True) -> list[Function]\n\nThe "
     "functions of a text; language: 1 TC, 2 Program text, 3 graph text, 4 Stripe, -4 Stripe of a "
     "Tree, 5 TeML with the values of its parameters, or without its path. level: the frame that "
     "warnings name, as in warnings.warn."},
    {"einsum", native_einsum, METH_VARARGS,
     "einsum(subscripts, shapes, types, dtype, limit, as_written, path) -> (Function, steps, "
     "flops, "
     "one_nest, largest)"},
    {"db_file", native_db_file, METH_NOARGS, "the file that tuning writes, or None"},
    {"db_list", native_db_list, METH_VARARGS, "db_list(Entry, best, check, kernel) -> list"},
    {"db_export", native_db_export, METH_VARARGS, "db_export(trials, best, kernel) -> str"},
    {"db_import", native_db_import, METH_VARARGS, "db_import(name, text) -> counts"},
    {"db_merge", native_db_merge, METH_VARARGS, "db_merge(file, trials) -> counts"},
    {"db_prune", native_db_prune, METH_VARARGS, "db_prune(keep, days, trials, bad) -> counts"},
    {"machine", native_machine, METH_NOARGS, "the measured rates of this machine, as JSON"},
    {"xla_handler", native_xla_handler, METH_NOARGS,
     "xla_handler() -> capsule\n\nThe handler for XLA's foreign-function interface; its attribute "
     "`kernel` is the address of a Kernel."},
    {NULL, NULL, 0, NULL},
};

static void free_state(void *module) {
    State *st = PyModule_GetState(module);
    if (!st) return;
    lw_context_free(st->ctx);
    numpy_close(&st->numpy);
    torch_close(&st->torch);
    Py_CLEAR(st->error);
    Py_CLEAR(st->diagnostic);
    Py_CLEAR(st->warning);
    Py_CLEAR(st->tune_result);
    Py_CLEAR(st->rebuild);
    Py_CLEAR(st->show_tree);
    Py_CLEAR(st->function_type);
    Py_CLEAR(st->kernel_type);
    Py_CLEAR(st->loop_tree_type);
    Py_CLEAR(st->tree_type);
}

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "loopwright._native",
    .m_doc = "The compiler. Use it through `loopwright`.",
    .m_size = sizeof(State),
    .m_methods = functions,
    .m_free = free_state,
};

static bool take_types(State *st) {
    PyObject *types = PyImport_ImportModule("loopwright._types");
    if (!types) return false;
    st->error = PyObject_GetAttrString(types, "Error");
    st->diagnostic = PyObject_GetAttrString(types, "Diagnostic");
    st->warning = PyObject_GetAttrString(types, "Warning");
    st->tune_result = PyObject_GetAttrString(types, "TuneResult");
    st->rebuild = PyObject_GetAttrString(types, "rebuild");
    st->show_tree = PyObject_GetAttrString(types, "show_tree");
    Py_DECREF(types);
    return st->error && st->diagnostic && st->warning && st->tune_result && st->rebuild &&
           st->show_tree;
}

// Prints the results of the steps that the environment variable LW_DUMP lists, as the command does.
static void dump(void *user, const char *step, const char *text) {
    (void)user;
    fprintf(stderr, "# %s\n%s", step, text);
}

static bool open_state(State *st, PyObject *module) {
    if (!take_types(st) || !numpy_open(&st->numpy)) return false;
    lw_context_options o = {.struct_size = sizeof o, .dump = dump};
    st->ctx = lw_context_new(&o);
    if (!st->ctx) return PyErr_NoMemory(), false;
    st->function_type = function_type();
    st->kernel_type = kernel_type();
    st->loop_tree_type = loop_tree_type();
    st->tree_type = native_tree_type();
    if (!st->function_type || !st->kernel_type || !st->loop_tree_type || !st->tree_type)
        return false;
    Py_INCREF(st->function_type);
    Py_INCREF(st->kernel_type);
    Py_INCREF(st->loop_tree_type);
    Py_INCREF(st->tree_type);
    return !PyModule_AddObject(module, "Function", (PyObject *)st->function_type) &&
           !PyModule_AddObject(module, "Kernel", (PyObject *)st->kernel_type) &&
           !PyModule_AddObject(module, "LoopTree", (PyObject *)st->loop_tree_type) &&
           !PyModule_AddObject(module, "Tree", (PyObject *)st->tree_type) &&
           !PyModule_AddStringConstant(module, "version", lw_version());
}

PyMODINIT_FUNC PyInit__native(void);
PyMODINIT_FUNC PyInit__native(void) {
    PyObject *module = PyModule_Create(&definition);
    if (!module) return NULL;
    if (open_state(PyModule_GetState(module), module)) return module;
    Py_DECREF(module);
    return NULL;
}
