// One call of a function: converts positional and keyword arguments to arrays in the order of the
// library, and to a key of their types, shapes and strides, by which the kernel is found.
#include "native.h"

#include <stdio.h>
#include <string.h>

// --- Matching ------------------------------------------------------------------------------------

static void *take(char **at, size_t size) {
    void *here = *at;
    *at += (size + 15) & ~(size_t)15;
    return here;
}

// One block for all data of a call, usually on the stack.
static bool lay_out(Frame *c, Function *f) {
    size_t n = f->ninputs + f->noutputs;
    char *at = c->room;
    c->f = f;
    c->heap = NULL;
    if (f->frame > sizeof c->room) at = c->heap = PyMem_Malloc(f->frame);
    if (!at) return PyErr_NoMemory(), false;
    c->array = take(&at, n * sizeof *c->array);
    c->args = take(&at, n * sizeof *c->args);
    c->given = take(&at, f->nargs * sizeof *c->given);
    c->results = take(&at, f->noutputs * sizeof *c->results);
    c->sizes = take(&at, f->nparams * sizeof *c->sizes);
    c->key = take(&at, (n + 2 * f->ranks + 2 * f->nparams + 1) * sizeof *c->key);
    int64_t *room = take(&at, f->ranks * sizeof *room);
    memset(c->array, 0, (size_t)((char *)c->sizes - (char *)c->array));
    for (size_t i = 0; i < n; i++) {
        c->array[i].room = room;
        room += lw_function_tensor(f->f, i)->ndim;
    }
    c->nsizes = c->nkey = 0;
    c->out = NULL;
    c->no_key = false;
    c->place.first = NULL;
    c->device[0] = 0;
    return true;
}

static bool fail(const char *format, const char *name, PyObject *about, const char *text) {
    PyErr_Format(PyExc_TypeError, format, name, about, text);
    return false;
}

static bool take_size(Frame *c, PyObject *name, int param, PyObject *value) {
    const char *of = lw_function_param(c->f->f, (size_t)param)->name;
    PyObject *number = PyNumber_Index(value);
    long long n = number ? PyLong_AsLongLong(number) : -1;
    if (PyErr_Occurred()) {
        PyErr_Clear();
        bool large = number;
        Py_XDECREF(number);
        return array_fault(c->f->st, c->f->f, of,
                           large ? "argument '%U' should be less than 2**63 and not below -2**63: "
                                   "integer arguments have 64 bits with a sign; it is %R"
                                 : "argument '%U' should be an integer, not %R",
                           name, value);
    }
    Py_DECREF(number);
    c->sizes[c->nsizes++] = (lw_size){of, n};
    return true;
}

// The number of the argument with that name; -1: none.
static Py_ssize_t find_name(const Function *f, PyObject *name) {
    for (size_t i = 0; i < f->nargs; i++)
        if (PyTuple_GetItem(f->names, (Py_ssize_t)i) == name) return (Py_ssize_t)i;
    for (size_t i = 0; i < f->nargs; i++)
        if (PyUnicode_Compare(PyTuple_GetItem(f->names, (Py_ssize_t)i), name) == 0)
            return (Py_ssize_t)i;
    return -1;
}

static bool take_keyword(Frame *c, PyObject *name, PyObject *value) {
    const Function *f = c->f;
    Py_ssize_t i = find_name(f, name);
    // An argument named `out` comes first; if it is already given by position, out= means the
    // results.
    if (PyUnicode_CompareWithASCIIString(name, "out") == 0 && (i < 0 || c->given[i])) {
        c->out = value;
        return true;
    }
    if (i >= 0) {
        if (c->given[i])
            return fail("%s() got two values for %R%s", lw_function_name(f->f), name, "");
        c->given[i] = value;
        return true;
    }
    PyObject *bytes = PyUnicode_AsUTF8String(name);
    int param = bytes ? lw_function_find_param(f->f, PyBytes_AsString(bytes)) : -1;
    Py_XDECREF(bytes);
    if (PyErr_Occurred()) return false;
    if (param < 0)
        return fail("%s() has no argument %R; it is %s", lw_function_name(f->f), name,
                    lw_function_signature(f->f));
    return take_size(c, name, param, value);
}

static bool match(Frame *c, PyObject *const *args, size_t nargs, PyObject *keywords) {
    const Function *f = c->f;
    if (nargs > f->nargs) {
        PyErr_Format(PyExc_TypeError, "%s() takes %zu arguments, but %zu were given; it is %s",
                     lw_function_name(f->f), f->nargs, nargs, lw_function_signature(f->f));
        return false;
    }
    for (size_t i = 0; i < nargs; i++) c->given[i] = args[i];
    Py_ssize_t n = keywords ? PyTuple_Size(keywords) : 0;
    for (Py_ssize_t i = 0; i < n; i++)
        if (!take_keyword(c, PyTuple_GetItem(keywords, i), args[nargs + (size_t)i])) return false;
    for (size_t i = nargs; i < f->nargs; i++)
        if (!c->given[i])
            return fail("%s() needs a value for %R; it is %s", lw_function_name(f->f),
                        PyTuple_GetItem(f->names, (Py_ssize_t)i), lw_function_signature(f->f));
    return true;
}

// --- Reading -------------------------------------------------------------------------------------

static bool read_inputs(Frame *c) {
    Function *f = c->f;
    bool first = true;
    c->kind = KIND_NUMPY;
    for (size_t i = 0; i < f->nargs; i++) {
        const lw_argument *a = lw_function_argument(f->f, i);
        if (a->tensor < 0) {
            if (!take_size(c, PyTuple_GetItem(f->names, (Py_ssize_t)i), a->param, c->given[i]))
                return false;
            continue;
        }
        Array *into = &c->array[a->tensor];
        if (!array_read(f->st, f->f, a->tensor, c->given[i], false, &c->place, into)) return false;
        if (first && into->array) c->kind = into->kind, first = false;
        c->args[a->tensor] = &into->t;
    }
    return true;
}

static bool read_output(Frame *c, size_t i, PyObject *given) {
    Function *f = c->f;
    size_t t = f->ninputs + i;
    if (given == Py_None) return true;
    if (!array_read(f->st, f->f, (int)t, given, true, &c->place, &c->array[t])) return false;
    c->args[t] = &c->array[t].t;
    Py_INCREF(given);
    c->results[i] = given;
    return true;
}

static bool read_outputs(Frame *c) {
    size_t n = c->f->noutputs;
    if (!c->out || c->out == Py_None) return true;
    if (n == 1 && !PyTuple_Check(c->out)) return read_output(c, 0, c->out);
    if (!PyTuple_Check(c->out) || (size_t)PyTuple_Size(c->out) != n) {
        PyErr_Format(PyExc_TypeError, "out= of %s() should be a tuple of %zu arrays, not %R",
                     lw_function_name(c->f->f), n, c->out);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        if (!read_output(c, i, PyTuple_GetItem(c->out, (Py_ssize_t)i))) return false;
    return true;
}

// --- The device ----------------------------------------------------------------------------------

// All arrays of a call are on one device, unless the function was told to copy those of the host.
static bool same_device(Frame *c) {
    const Function *f = c->f;
    for (size_t i = 0; i < f->ninputs + f->noutputs; i++) {
        const Array *a = &c->array[i];
        if (!c->args[i] || a->t.device.device_type == kDLCUDA || a->t.ndim == 0) continue;
        const char *name = lw_function_tensor(f->f, i)->name;
        return array_fault(f->st, f->f, name,
                           "argument '%s' is in host memory, but '%s' is on %s: move one of them, "
                           "or call .on(\"%s\") to have arrays of the host copied",
                           name, c->place.first, c->device, c->device);
    }
    return true;
}

// Where it runs: on the device that the function was given, or that its arrays are on.
static bool settle_device(Frame *c) {
    const Function *f = c->f;
    const char *given = f->device ? PyBytes_AsString(f->device) : NULL;
    if (given) snprintf(c->device, sizeof c->device, "%s", given);
    if (!c->place.first) {
        c->place.stream = 0;
        c->place.waits = false;
        return true;
    }
    snprintf(c->device, sizeof c->device, "cuda:%d", c->place.device.device_id);
    c->kind = c->place.kind;
    if (!given) return same_device(c);
    if (strcmp(given, c->device) == 0) return true;
    return array_fault(f->st, f->f, c->place.first,
                       "argument '%s' is on %s, but the function runs on %s", c->place.first,
                       c->device, given);
}

bool frame_on_host(Frame *c, const char *what) {
    if (!c->device[0]) return true;
    PyErr_Format(c->f->st->error, "%s is for code of this processor, but the call runs on %s", what,
                 c->device);
    return false;
}

// --- The key -------------------------------------------------------------------------------------

static void add_key(Frame *c, const Array *a, int rank) {
    const DLTensor *t = &a->t;
    if (t->ndim != rank) {
        c->no_key = true;
        return;
    }
    int64_t *at = c->key + c->nkey;
    *at++ = t->dtype.code | t->dtype.bits << 8 | t->dtype.lanes << 16 | (a->dense ? 1 << 30 : 0);
    for (int d = 0; d < rank; d++) *at++ = t->shape[d];
    for (int d = 0; d < rank && !a->dense; d++) *at++ = t->strides[d];
    c->nkey = (size_t)(at - c->key);
}

static void make_key(Frame *c) {
    const Function *f = c->f;
    for (size_t i = 0; i < f->ninputs + f->noutputs; i++)
        if (c->args[i])
            add_key(c, &c->array[i], lw_function_tensor(f->f, i)->ndim);
        else
            c->key[c->nkey++] = -1;
    for (size_t i = 0; i < c->nsizes; i++) {
        c->key[c->nkey++] = (int64_t)(intptr_t)c->sizes[i].name; // names belong to the module
        c->key[c->nkey++] = c->sizes[i].value;
    }
    if (c->place.first) c->key[c->nkey++] = c->place.device.device_id;
}

bool frame_open(Frame *c, Function *f, PyObject *const *args, size_t nargs, PyObject *keywords) {
    if (!lay_out(c, f)) return c->f = NULL, false;
    if (!match(c, args, nargs, keywords) || !read_inputs(c) || !read_outputs(c)) return false;
    if ((c->place.first || f->device) && !settle_device(c)) return false;
    make_key(c);
    return true;
}

// The same for a tuple and a dict.
bool frame_open_tuple(Frame *c, Function *f, PyObject *args, PyObject *keywords) {
    size_t n = (size_t)PyTuple_Size(args), more = keywords ? (size_t)PyDict_Size(keywords) : 0;
    PyObject **all = PyMem_Malloc((n + more + 1) * sizeof *all), *key, *value;
    PyObject *names = PyTuple_New((Py_ssize_t)more);
    Py_ssize_t at = 0, k = 0;
    c->f = NULL;
    if (!all || !names) return PyMem_Free(all), Py_XDECREF(names), PyErr_NoMemory(), false;
    for (size_t i = 0; i < n; i++) all[i] = PyTuple_GetItem(args, (Py_ssize_t)i);
    while (more && PyDict_Next(keywords, &at, &key, &value)) {
        all[n + (size_t)k] = value;
        Py_INCREF(key);
        PyTuple_SetItem(names, k++, key);
    }
    bool ok = frame_open(c, f, all, n, names);
    Py_DECREF(names);
    PyMem_Free(all);
    return ok;
}

void frame_close(Frame *c) {
    if (!c->f) return;
    for (size_t i = 0; i < c->f->ninputs + c->f->noutputs; i++) array_release(&c->array[i]);
    for (size_t i = 0; i < c->f->noutputs; i++) Py_CLEAR(c->results[i]);
    PyMem_Free(c->heap);
}

// --- Compiling -----------------------------------------------------------------------------------

lw_bound *frame_bind(Frame *c) {
    Function *f = c->f;
    lw_bound *b;
    PyThreadState *thread = PyEval_SaveThread();
    lw_status status = lw_bind_tensors(f->st->ctx, f->f, c->args, f->ninputs + f->noutputs,
                                       c->sizes, c->nsizes, &b);
    PyEval_RestoreThread(thread);
    if (status) return raise_last(f->st, status);
    if (warn_last(f->st, 1)) return b;
    lw_bound_free(b);
    return NULL;
}

lw_schedule_text frame_schedule(Frame *c, PyObject **bytes) {
    Function *f = c->f;
    *bytes = NULL;
    if (f->schedule != Py_None) {
        *bytes = PyUnicode_AsUTF8String(f->schedule);
        return (lw_schedule_text){*bytes ? PyBytes_AsString(*bytes) : "", "<schedule>"};
    }
    Entry *tuned = cache_find(&f->tuned, c->key, c->nkey);
    if (tuned) *bytes = PyBytes_FromString(tuned->schedule);
    if (*bytes) return (lw_schedule_text){PyBytes_AsString(*bytes), "<tuned>"};
    return (lw_schedule_text){NULL, NULL};
}

static bool compile(Frame *c, Entry *e) {
    State *st = c->f->st;
    PyObject *bytes;
    lw_compile_options o = {.struct_size = sizeof o, .args = c->args};
    e->bound = frame_bind(c);
    if (!e->bound) return false;
    if (c->device[0]) return true; // the library keeps code of devices by bound function
    o.schedule = frame_schedule(c, &bytes);
    if (PyErr_Occurred()) return false;
    PyThreadState *thread = PyEval_SaveThread();
    lw_status status = lw_compile(st->ctx, e->bound, &o, &e->kernel);
    PyEval_RestoreThread(thread);
    Py_XDECREF(bytes);
    if (status) raise_last(st, status);
    return !status && warn_last(st, 1);
}

Entry *frame_entry(Frame *c) {
    Cache *kernels = &c->f->kernels;
    Entry *e = c->no_key ? NULL : cache_find(kernels, c->key, c->nkey);
    if (e) {
        e->refs++;
        return e;
    }
    e = entry_new(c->key, c->nkey);
    if (e && compile(c, e) && (c->no_key || cache_add(kernels, e))) return e;
    entry_drop(e);
    return NULL;
}

// --- Running -------------------------------------------------------------------------------------

// Makes the results that the caller did not give. Elements that the function may leave unwritten
// start as zeros.
static bool make_outputs(Frame *c, const lw_bound *b) {
    Function *f = c->f;
    for (size_t i = 0; i < f->noutputs; i++) {
        size_t t = f->ninputs + i;
        if (c->args[t]) continue;
        const DLTensor *like = lw_bound_tensor(b, t);
        bool zero = lw_function_tensor(f->f, t)->role == LW_INOUT || !lw_bound_writes_all(b, t);
        c->results[i] = c->place.first
                            ? place_new(f->st, f->f, (int)t, like, &c->place, zero, &c->array[t])
                            : array_new(f->st, like, c->kind, zero, &c->array[t]);
        if (!c->results[i]) return false;
        c->args[t] = &c->array[t].t;
    }
    return true;
}

static PyObject *results(Frame *c) {
    size_t n = c->f->noutputs;
    PyObject *out;
    if (n == 1) {
        out = c->results[0];
        c->results[0] = NULL;
        return out;
    }
    out = PyTuple_New((Py_ssize_t)n);
    for (size_t i = 0; out && i < n; i++) {
        PyTuple_SetItem(out, (Py_ssize_t)i, c->results[i]);
        c->results[i] = NULL;
    }
    return out;
}

// On a device the library has the code. A GPU runs it after whatever is on the stream.
static lw_status run_there(Frame *c, const Entry *e) {
    PyObject *bytes;
    lw_timing timing = {.struct_size = sizeof timing};
    lw_run_options o = {.struct_size = sizeof o,
                        .device = c->device,
                        .stream = (void *)c->place.stream,
                        .schedule = frame_schedule(c, &bytes),
                        .timing = c->place.waits ? &timing : NULL};
    PyThreadState *thread = PyEval_SaveThread();
    lw_status status = lw_run(c->f->st->ctx, e->bound, c->args, c->f->ninputs + c->f->noutputs, &o);
    PyEval_RestoreThread(thread);
    Py_XDECREF(bytes);
    return status;
}

static lw_status run_here(Frame *c, const Entry *e) {
    PyThreadState *thread = PyEval_SaveThread();
    lw_status status =
        lw_kernel_run(c->f->st->ctx, e->kernel, c->args, c->f->ninputs + c->f->noutputs, NULL);
    PyEval_RestoreThread(thread);
    return status;
}

PyObject *frame_run(Frame *c, const Entry *e) {
    if (!make_outputs(c, e->bound)) return NULL;
    lw_status status = c->device[0] ? run_there(c, e) : run_here(c, e);
    return status ? raise_last(c->f->st, status) : results(c);
}
