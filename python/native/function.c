// The type Function: a call finds or compiles the kernel for the types, shapes and strides of the
// arguments, and runs it.
#include "native.h"

#include <string.h>

enum { KEPT_KERNELS = 256 };

static PyObject *call(PyObject *self, PyObject *const *args, size_t nargs, PyObject *keywords) {
    Frame c;
    PyObject *result = NULL;
    if (frame_open(&c, (Function *)self, args, nargs & VECTORCALL_COUNT, keywords)) {
        Entry *e = frame_entry(&c);
        if (e) result = frame_run(&c, e);
        entry_drop(e);
    }
    frame_close(&c);
    return result;
}

static PyObject *call_tuple(PyObject *self, PyObject *args, PyObject *keywords) {
    Frame c;
    PyObject *result = NULL;
    if (frame_open_tuple(&c, (Function *)self, args, keywords)) {
        Entry *e = frame_entry(&c);
        if (e) result = frame_run(&c, e);
        entry_drop(e);
    }
    frame_close(&c);
    return result;
}

// --- Making and freeing --------------------------------------------------------------------------

static PyObject *argument_names(const lw_function *f) {
    size_t n = lw_function_argument_count(f);
    PyObject *names = PyTuple_New((Py_ssize_t)n);
    for (size_t i = 0; names && i < n; i++) {
        PyObject *name = PyUnicode_InternFromString(lw_function_argument(f, i)->name);
        if (!name) return Py_DECREF(names), NULL;
        PyTuple_SetItem(names, (Py_ssize_t)i, name);
    }
    return names;
}

// The bytes that frame.c needs, with each part rounded up.
static size_t frame_bytes(const Function *f) {
    size_t n = f->ninputs + f->noutputs;
    return n * (sizeof(Array) + sizeof(DLTensor *)) + f->nargs * sizeof(PyObject *) +
           f->noutputs * sizeof(PyObject *) + f->nparams * sizeof(lw_size) +
           (n + 3 * f->ranks + 2 * f->nparams) * sizeof(int64_t) + 8 * 16;
}

PyObject *function_new(State *st, PyObject *module, PyObject *origin, const lw_function *f,
                       PyObject *schedule, PyObject *device) {
    PyObject *names = argument_names(f);
    Function *self = names ? PyObject_New(Function, st->function_type) : NULL;
    if (!self) return Py_XDECREF(names), NULL;
    memset((char *)self + sizeof self->ob_base, 0, sizeof *self - sizeof self->ob_base);
    self->vectorcall = call;
    self->st = st;
    self->f = f;
    self->names = names;
    self->module = module;
    self->origin = origin;
    self->schedule = schedule;
    self->device = device;
    Py_XINCREF(device);
    Py_INCREF(module);
    Py_INCREF(origin);
    Py_INCREF(schedule);
    self->nargs = lw_function_argument_count(f);
    self->ninputs = lw_function_input_count(f);
    self->noutputs = lw_function_output_count(f);
    self->nparams = lw_function_param_count(f);
    for (size_t i = 0; i < self->ninputs + self->noutputs; i++)
        self->ranks += (size_t)lw_function_tensor(f, i)->ndim;
    self->frame = frame_bytes(self);
    self->kernels.most = KEPT_KERNELS;
    self->tuned.most = (size_t)-1;
    return (PyObject *)self;
}

static void dealloc(PyObject *object) {
    Function *self = (Function *)object;
    PyTypeObject *type = Py_TYPE(object);
    cache_clear(&self->kernels);
    cache_clear(&self->tuned);
    Py_XDECREF(self->names);
    Py_XDECREF(self->schedule);
    Py_XDECREF(self->device);
    Py_XDECREF(self->origin);
    Py_XDECREF(self->module);
    PyObject_Free(self);
    Py_DECREF(type);
}

// --- Methods -------------------------------------------------------------------------------------

static PyObject *compile(PyObject *self, PyObject *args, PyObject *keywords) {
    Frame c;
    Entry *e = NULL;
    if (frame_open_tuple(&c, (Function *)self, args, keywords) && frame_on_host(&c, "compile()"))
        e = frame_entry(&c);
    frame_close(&c);
    return e ? kernel_new((Function *)self, e) : NULL;
}

// `given` is a text, None, or a LoopTree, whose attribute `schedule` is used.
static PyObject *with_schedule(PyObject *object, PyObject *given) {
    Function *self = (Function *)object;
    bool plain = PyUnicode_Check(given) || given == Py_None;
    PyObject *text = plain ? NULL : PyObject_GetAttrString(given, "schedule"), *made = NULL;
    PyErr_Clear();
    if (plain || (text && PyUnicode_Check(text)))
        made = function_new(self->st, self->module, self->origin, self->f, plain ? given : text,
                            self->device);
    else
        PyErr_Format(PyExc_TypeError, "a schedule is a text, a LoopTree or None, not %R", given);
    Py_XDECREF(text);
    return made;
}

// The same function on a device, to which it copies arrays of the host. None: it runs where its
// arrays are.
static PyObject *on_device(PyObject *object, PyObject *given) {
    Function *self = (Function *)object;
    if (given != Py_None && !PyUnicode_Check(given))
        return PyErr_Format(PyExc_TypeError, "a device is a text such as 'cuda:0', not %R", given);
    PyObject *bytes = given == Py_None ? NULL : PyUnicode_AsUTF8String(given);
    if (PyErr_Occurred()) return NULL;
    const char *name = bytes ? PyBytes_AsString(bytes) : "emulate";
    bool known = strcmp(name, "emulate") == 0 || strcmp(name, "cuda") == 0 ||
                 (strncmp(name, "cuda:", 5) == 0 && name[5] && strlen(name) < 12 &&
                  strspn(name + 5, "0123456789") == strlen(name + 5));
    PyObject *made = NULL, *full = strcmp(name, "cuda") ? NULL : PyBytes_FromString("cuda:0");
    if (!known)
        PyErr_Format(self->st->error,
                     "there is no device %R; there are 'cuda:0', 'cuda:1' and so on, and 'emulate'",
                     given);
    if (!PyErr_Occurred())
        made = function_new(self->st, self->module, self->origin, self->f, self->schedule,
                            full ? full : bytes);
    Py_XDECREF(full);
    Py_XDECREF(bytes);
    return made;
}

// Appends "TITLE\n" and the text of one stage.
static bool add_stage(State *st, const lw_bound *b, lw_stage stage, const lw_show_options *o,
                      const char *title, PyObject **into) {
    const char *text;
    PyThreadState *thread = PyEval_SaveThread();
    lw_status status = lw_bound_show_with(st->ctx, b, stage, o, &text);
    PyEval_RestoreThread(thread);
    if (status) return raise_last(st, status), false;
    PyObject *more = PyUnicode_FromFormat("%U%s%s\n", *into, title, text);
    Py_DECREF(*into);
    *into = more;
    return more != NULL;
}

// On a device its code, which begins with the schedule.
static PyObject *explain_bound(Function *f, const lw_bound *b, const char *schedule, bool device) {
    lw_show_options o = {.struct_size = sizeof o, .schedule = {schedule, "<schedule>"}};
    PyObject *text = PyUnicode_FromFormat("%s\n", lw_function_signature(f->f));
    bool ok = text != NULL;
    if (ok && device) {
        ok = add_stage(f->st, b, LW_STAGE_PTX, &o, "\ncode\n", &text);
    } else if (ok) {
        ok = add_stage(f->st, b, LW_STAGE_SCHEDULE, &o, "\nschedule\n", &text);
        o.cost = true;
        ok = ok && add_stage(f->st, b, LW_STAGE_TREE, &o, "\nloops\n", &text) &&
             add_stage(f->st, b, LW_STAGE_REPORT, &o, "\ncode\n", &text);
    }
    if (!ok) Py_CLEAR(text);
    return text;
}

static PyObject *program_text(Function *f) {
    const char *text;
    lw_status status = lw_function_show(f->st->ctx, f->f, LW_STAGE_PROGRAM, &text);
    return status ? raise_last(f->st, status) : PyUnicode_FromString(text);
}

static PyObject *explain_entry(Function *f, const Entry *e) {
    PyObject *bytes = f->schedule == Py_None ? NULL : PyUnicode_AsUTF8String(f->schedule);
    const Entry *tuned = bytes ? NULL : cache_find(&f->tuned, e->key, e->nkey);
    PyObject *text = explain_bound(f, e->bound,
                                   bytes   ? PyBytes_AsString(bytes)
                                   : tuned ? tuned->schedule
                                           : NULL,
                                   !e->kernel);
    Py_XDECREF(bytes);
    return text;
}

static PyObject *explain(PyObject *object, PyObject *args, PyObject *keywords) {
    Function *f = (Function *)object;
    bool any = PyTuple_Size(args) > 0 || (keywords && PyDict_Size(keywords) > 0) || f->nargs == 0;
    if (!any && !f->kernels.n) return program_text(f);
    if (!any) {
        Entry *e = f->kernels.newest;
        e->refs++;
        PyObject *text = explain_entry(f, e);
        entry_drop(e);
        return text;
    }
    Frame c;
    Entry *e = NULL;
    if (frame_open_tuple(&c, f, args, keywords)) e = frame_entry(&c);
    frame_close(&c);
    PyObject *text = e ? explain_entry(f, e) : NULL;
    entry_drop(e);
    return text;
}

// Are only sizes given, by name? All keywords must be parameters, and there are no arrays.
static bool only_sizes(Function *f, PyObject *args, PyObject *keywords) {
    PyObject *key, *value;
    Py_ssize_t at = 0;
    if (PyTuple_Size(args) || !f->nargs) return false;
    if (!keywords) return !f->nparams; // the text gives all sizes
    while (PyDict_Next(keywords, &at, &key, &value)) {
        PyObject *bytes = PyUnicode_AsUTF8String(key);
        bool size = bytes && lw_function_find_param(f->f, PyBytes_AsString(bytes)) >= 0;
        Py_XDECREF(bytes);
        if (!size || !PyLong_Check(value)) return PyErr_Clear(), false;
    }
    return true;
}

lw_size *sizes_of(PyObject *dict, PyObject **names, size_t *count) {
    PyObject *key, *value;
    Py_ssize_t at = 0, n = dict ? PyDict_Size(dict) : 0;
    lw_size *sizes = PyMem_Calloc((size_t)n + 1, sizeof *sizes);
    if (!sizes) PyErr_NoMemory();
    *names = PyList_New(0);
    *count = 0;
    while (*names && sizes && dict && PyDict_Next(dict, &at, &key, &value)) {
        PyObject *bytes = PyUnicode_AsUTF8String(key);
        bool kept = bytes && PyList_Append(*names, bytes) == 0;
        Py_XDECREF(bytes); // the list owns it
        // Refuses floats in every version of Python.
        PyObject *number = kept ? PyNumber_Index(value) : NULL;
        if (!number) break;
        sizes[(*count)++] = (lw_size){PyBytes_AsString(bytes), PyLong_AsLongLong(number)};
        Py_DECREF(number);
    }
    if (!PyErr_Occurred()) return sizes;
    PyMem_Free(sizes);
    Py_CLEAR(*names);
    return NULL;
}

static lw_bound *bind_sizes(Function *f, PyObject *keywords) {
    PyObject *names;
    size_t n;
    lw_bound *b = NULL;
    lw_size *sizes = sizes_of(keywords, &names, &n);
    lw_status status = sizes ? lw_bind(f->st->ctx, f->f, sizes, n, &b) : LW_OK;
    if (status) raise_last(f->st, status);
    PyMem_Free(sizes);
    Py_XDECREF(names);
    return b;
}

typedef PyObject *MakeTree(Function *f, const lw_bound *b, const char *schedule);

// The loops for these arguments or sizes, as a loopwright.LoopTree or a loopwright.Tree.
static PyObject *show_loops(PyObject *object, PyObject *args, PyObject *keywords, MakeTree *make) {
    Function *f = (Function *)object;
    PyObject *bytes = NULL, *tree = NULL;
    Frame c = {.f = NULL};
    lw_bound *b = NULL;
    lw_schedule_text schedule = {NULL, NULL};
    if (only_sizes(f, args, keywords)) {
        b = bind_sizes(f, keywords);
        if (f->schedule != Py_None) bytes = PyUnicode_AsUTF8String(f->schedule);
        if (bytes) schedule.text = PyBytes_AsString(bytes);
    } else if (frame_open_tuple(&c, f, args, keywords) && frame_on_host(&c, "a loop tree")) {
        b = frame_bind(&c);
        schedule = frame_schedule(&c, &bytes);
    }
    if (b && !PyErr_Occurred()) tree = make(f, b, schedule.text);
    lw_bound_free(b);
    Py_XDECREF(bytes);
    frame_close(&c);
    PyObject *shown = tree ? PyObject_CallFunctionObjArgs(f->st->show_tree, tree, NULL) : NULL;
    Py_XDECREF(tree);
    return shown;
}

static PyObject *loop_tree(PyObject *object, PyObject *args, PyObject *keywords) {
    return show_loops(object, args, keywords, loop_tree_new);
}

static PyObject *tree(PyObject *object, PyObject *args, PyObject *keywords) {
    return show_loops(object, args, keywords, native_tree_new);
}

static PyObject *reduce(PyObject *object, PyObject *none) {
    Function *f = (Function *)object;
    (void)none;
    return Py_BuildValue("(O(OsOnz))", f->st->rebuild, f->origin, lw_function_name(f->f),
                         f->schedule, (Py_ssize_t)f->kernels.most,
                         f->device ? PyBytes_AsString(f->device) : NULL);
}

// --- Attributes ----------------------------------------------------------------------------------

static PyObject *get_name(PyObject *o, void *unused) {
    (void)unused;
    return PyUnicode_FromString(lw_function_name(((Function *)o)->f));
}

static PyObject *get_signature(PyObject *o, void *unused) {
    (void)unused;
    return PyUnicode_FromString(lw_function_signature(((Function *)o)->f));
}

static PyObject *get_inputs(PyObject *o, void *unused) {
    (void)unused;
    Py_INCREF(((Function *)o)->names);
    return ((Function *)o)->names;
}

static PyObject *get_outputs(PyObject *o, void *unused) {
    Function *f = (Function *)o;
    PyObject *names = PyTuple_New((Py_ssize_t)f->noutputs);
    (void)unused;
    for (size_t i = 0; names && i < f->noutputs; i++) {
        PyObject *name = PyUnicode_FromString(lw_function_tensor(f->f, f->ninputs + i)->name);
        if (!name) return Py_DECREF(names), NULL;
        PyTuple_SetItem(names, (Py_ssize_t)i, name);
    }
    return names;
}

const char *type_name(DLDataType t) {
    static const char *const names[][4] = {{"int8", "int16", "int32", "int64"},
                                           {"uint8", "uint16", "uint32", "uint64"},
                                           {"", "float16", "float32", "float64"}};
    if (t.code == kDLBool) return "bool";
    if (t.code == kDLBfloat) return "bfloat16";
    return names[t.code][t.bits == 8 ? 0 : t.bits == 16 ? 1 : t.bits == 32 ? 2 : 3];
}

static PyObject *texts(const char *const *text, int n) {
    PyObject *all = PyTuple_New(n);
    for (int i = 0; all && i < n; i++) {
        PyObject *one = PyUnicode_FromString(text[i]);
        if (!one) return Py_DECREF(all), NULL;
        PyTuple_SetItem(all, i, one);
    }
    return all;
}

static PyObject *describe(const lw_tensor *t) {
    static const char *const roles[] = {"input", "output", "inout", "temp"};
    PyObject *sizes = texts(t->size, t->ndim);
    return sizes ? Py_BuildValue("(sssN)", t->name, roles[t->role], type_name(t->dtype), sizes)
                 : NULL;
}

static PyObject *get_tensors(PyObject *o, void *unused) {
    const Function *f = (Function *)o;
    size_t n = f->ninputs + f->noutputs;
    PyObject *all = PyTuple_New((Py_ssize_t)n);
    (void)unused;
    for (size_t i = 0; all && i < n; i++) {
        PyObject *one = describe(lw_function_tensor(f->f, i));
        if (!one) return Py_DECREF(all), NULL;
        PyTuple_SetItem(all, (Py_ssize_t)i, one);
    }
    return all;
}

static PyObject *get_program(PyObject *o, void *unused) {
    (void)unused;
    return program_text((Function *)o);
}

static PyObject *get_cache_size(PyObject *o, void *unused) {
    (void)unused;
    return PyLong_FromSize_t(((Function *)o)->kernels.most);
}

static int set_cache_size(PyObject *o, PyObject *value, void *unused) {
    (void)unused;
    if (!value) return PyErr_SetString(PyExc_AttributeError, "cache_size cannot be deleted"), -1;
    Py_ssize_t most = PyNumber_AsSsize_t(value, NULL);
    if (PyErr_Occurred()) return -1;
    if (most < 0) {
        PyErr_Format(PyExc_ValueError, "cache_size is %R; it should be 0 or more", value);
        return -1;
    }
    cache_limit(&((Function *)o)->kernels, (size_t)most);
    return 0;
}

static PyObject *get_device(PyObject *o, void *unused) {
    const Function *f = (Function *)o;
    (void)unused;
    return Py_BuildValue("z", f->device ? PyBytes_AsString(f->device) : NULL);
}

static PyObject *get_cached(PyObject *o, void *unused) {
    (void)unused;
    return PyLong_FromSize_t(((Function *)o)->kernels.n);
}

static PyObject *repr(PyObject *o) {
    return PyUnicode_FromFormat("<loopwright function %s>",
                                lw_function_signature(((Function *)o)->f));
}

static PyGetSetDef attributes[] = {
    {"__name__", get_name, NULL, "the function's name", NULL},
    {"signature", get_signature, NULL, "types, sizes and names, as text", NULL},
    {"inputs", get_inputs, NULL, "the names of what a call takes, in order", NULL},
    {"outputs", get_outputs, NULL, "the names of the results", NULL},
    {"tensors", get_tensors, NULL,
     "(name, role, type, sizes) of each input and each result; sizes are texts over the parameters",
     NULL},
    {"program", get_program, NULL, "what the compiler understood, as Program text", NULL},
    {"cache_size", get_cache_size, set_cache_size, "how many compiled kernels are kept", NULL},
    {"device", get_device, NULL, "of on(); None: calls run where their arrays are", NULL},
    {"cached", get_cached, NULL, "how many compiled kernels there are", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

#define KEYWORDS(f) ((PyCFunction)(void (*)(void))(f))
static PyMethodDef methods[] = {
    {"compile", KEYWORDS(compile), METH_VARARGS | METH_KEYWORDS,
     "compile(*args, **keywords) -> Kernel\n\nCompiles for the types, shapes and strides of these "
     "arguments; nothing runs."},
    {"schedule", with_schedule, METH_O,
     "schedule(text) -> Function\n\nThe same function with its loops as the text, or a LoopTree, "
     "says; None: as the compiler chooses."},
    {"on", on_device, METH_O,
     "on(device) -> Function\n\nThe same function on a device, \"cuda:0\" or its emulator "
     "\"emulate\", to which it copies arrays of the host; None: calls run where their arrays "
     "are."},
    {"tune", KEYWORDS(function_tune), METH_VARARGS | METH_KEYWORDS,
     "tune(*args, seconds=1, trials=0, strategy=None, again=False, device=None, progress=None, "
     "**keywords) -> TuneResult\n\nSearches for a faster schedule by measuring. Later calls with "
     "arguments of these shapes use it. Ctrl-C ends the search with the best so far. `again` "
     "searches even if the database has the result; `device` tunes for a GPU, \"cuda:0\", or for "
     "its emulator, \"emulate\"; `progress(elapsed, trials, seconds, bound, gflops)` is called now "
     "and then. loopwright.tune() shows the progress."},
    {"explain", KEYWORDS(explain), METH_VARARGS | METH_KEYWORDS,
     "explain(*args, **keywords) -> str\n\nSchedule, loops with their costs, and a report on the "
     "code, for these arguments or those of the last call; the program before there was one."},
    {"loop_tree", KEYWORDS(loop_tree), METH_VARARGS | METH_KEYWORDS,
     "loop_tree(*args, **keywords) -> LoopTree\n\nThe loops for arguments of these shapes, or for "
     "sizes given by name alone, as an object to edit."},
    {"tree", KEYWORDS(tree), METH_VARARGS | METH_KEYWORDS,
     "tree(*args, **keywords) -> Tree\n\nThe same loops, to be changed by transformations that "
     "need no schedule."},
    {"__reduce__", reduce, METH_NOARGS, "pickles the function by its text"},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Function, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject *function_type(void) {
    static const char doc[] =
        "A function of a text. f(*args, out=None) compiles for the types and shapes of the "
        "arguments, keeps\nthe code for the next time, runs it and returns new arrays, or writes "
        "to those of out=.";
    PyType_Slot slots[] = {
        {Py_tp_new, refuse_new},
        {Py_tp_dealloc, dealloc},
        {Py_tp_call, call_tuple},
        {Py_tp_repr, repr},
        {Py_tp_methods, methods},
        {Py_tp_getset, attributes},
        {Py_tp_members, members},
        {Py_tp_doc, (void *)(uintptr_t)doc},
        {0, NULL},
    };
    PyType_Spec spec = {"loopwright.Function", sizeof(Function), 0,
                        Py_TPFLAGS_DEFAULT | VECTORCALL_FLAG, slots};
    return (PyTypeObject *)PyType_FromSpec(&spec);
}
