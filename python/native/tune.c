// Function.tune runs a search. The library regularly asks whether to continue; Python then runs its
// signal handlers, and an interrupt ends the search.
#include "native.h"

#include <string.h>

enum { HELD = 4 }; // number of options that are objects

typedef struct Search {
    PyThreadState *thread;
    PyObject *progress; // borrowed; NULL: none
    bool interrupted;
} Search;

// Ctrl-C ends the search without an error. An exception of another signal handler is raised at the
// end.
static bool cancelled(void *user) {
    Search *s = user;
    if (s->interrupted) return true;
    PyEval_RestoreThread(s->thread);
    s->interrupted = PyErr_CheckSignals() != 0;
    if (s->interrupted && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) PyErr_Clear();
    s->thread = PyEval_SaveThread();
    return s->interrupted;
}

// Calls the caller's progress function. An exception that it raises ends the search, and is raised.
static void progress(void *user, const lw_tune_state *state) {
    Search *s = user;
    if (s->interrupted) return;
    PyEval_RestoreThread(s->thread);
    PyObject *done =
        PyObject_CallFunction(s->progress, "dLddd", state->elapsed, (long long)state->trials,
                              state->seconds, state->bound, state->gflops);
    if (!done) s->interrupted = true;
    if (!done && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) PyErr_Clear();
    Py_XDECREF(done);
    s->thread = PyEval_SaveThread();
}

// Removes `name` from the keywords and returns a new reference; NULL if it is absent.
static PyObject *take(PyObject *keywords, const char *name) {
    PyObject *given = keywords ? PyDict_GetItemString(keywords, name) : NULL;
    Py_XINCREF(given);
    if (given && PyDict_DelItemString(keywords, name)) Py_CLEAR(given);
    return given;
}

// Removes `name` from the keywords; *value does not change if it is absent. False with an
// exception.
static bool take_number(PyObject *keywords, const char *name, double *value) {
    PyObject *given = keywords ? PyDict_GetItemString(keywords, name) : NULL;
    if (!given) return true;
    *value = PyFloat_AsDouble(given);
    if (PyErr_Occurred()) return false;
    if (*value < 0) {
        PyErr_Format(PyExc_ValueError, "%s is %R, and must not be negative", name, given);
        return false;
    }
    return PyDict_DelItemString(keywords, name) == 0;
}

static PyObject *points_of(const lw_tune_result *r) {
    PyObject *list = PyTuple_New((Py_ssize_t)r->point_count);
    for (size_t i = 0; list && i < r->point_count; i++) {
        PyObject *point = Py_BuildValue("(dLd)", r->points[i].at, (long long)r->points[i].trials,
                                        r->points[i].seconds);
        if (!point) return Py_DECREF(list), NULL;
        PyTuple_SetItem(list, (Py_ssize_t)i, point);
    }
    return list;
}

static PyObject *result_of(State *st, const lw_tune_result *r) {
    PyObject *points = points_of(r);
    if (!points) return NULL;
    const lw_tune_state *s = r->state;
    return PyObject_CallFunction(
        st->tune_result, "sddddddLsOON", r->schedule, s ? s->seconds : 0.0, r->chosen,
        s ? s->bound : 0.0, s ? s->gap : 0.0, s ? s->gflops : 0.0, s ? s->elapsed : 0.0,
        (long long)(s ? s->trials : 0), r->strategy, r->finished ? Py_True : Py_False,
        r->stored ? Py_True : Py_False, points);
}

// Later calls with such arguments use the schedule, even if they already have a kernel.
static bool keep(Function *f, const Frame *c, const char *schedule) {
    Entry *e = entry_new(c->key, c->nkey);
    if (!e) return false;
    size_t size = strlen(schedule) + 1;
    e->schedule = PyMem_Malloc(size);
    bool ok = e->schedule != NULL;
    if (ok)
        memcpy(e->schedule, schedule, size);
    else
        PyErr_NoMemory();
    ok = ok && cache_add(&f->tuned, e);
    entry_drop(e);
    cache_forget(&f->kernels, c->key, c->nkey);
    return ok;
}

static PyObject *search(Function *f, Frame *c, lw_bound *b, lw_tune_options *o, PyObject *call) {
    State *st = f->st;
    const lw_tune_result *r;
    PyObject *given = f->schedule == Py_None ? NULL : PyUnicode_AsUTF8String(f->schedule);
    if (given) o->schedule = (lw_schedule_text){PyBytes_AsString(given), "<schedule>"};
    if (PyErr_Occurred()) return NULL;
    Search s = {.thread = PyEval_SaveThread(), .progress = call};
    o->cancelled = cancelled;
    if (call) o->progress = progress;
    o->user = &s;
    lw_status status = lw_tune(st->ctx, b, o, &r);
    PyEval_RestoreThread(s.thread);
    Py_XDECREF(given);
    if (PyErr_Occurred()) return NULL;
    if (status) return raise_last(st, status);
    PyObject *result = result_of(st, r);
    bool there = strcmp(o->device ? o->device : "", c->device) == 0; // where calls run
    bool later = there && f->schedule == Py_None;
    if (result && later && !keep(f, c, r->schedule)) Py_CLEAR(result);
    if (result && !warn_last(st, 1)) Py_CLEAR(result);
    return result;
}

// Removes the text `name` from the keywords, into *held; NULL if it is absent, or with an
// exception.
static const char *take_text(PyObject *keywords, const char *name, PyObject **held) {
    PyObject *given = take(keywords, name);
    *held = given && given != Py_None ? PyUnicode_AsUTF8String(given) : NULL;
    Py_XDECREF(given);
    return *held ? PyBytes_AsString(*held) : NULL;
}

// Reads the options that are not numbers; false with an exception. `held` owns the objects that
// they point to.
static bool take_options(PyObject *keywords, lw_tune_options *o, PyObject *held[HELD]) {
    held[0] = take(keywords, "progress");
    held[1] = take(keywords, "again");
    if (held[0] == Py_None) Py_CLEAR(held[0]);
    o->again = held[1] && PyObject_IsTrue(held[1]) > 0;
    if (!PyErr_Occurred()) o->strategy = take_text(keywords, "strategy", &held[2]);
    if (!PyErr_Occurred()) o->device = take_text(keywords, "device", &held[3]);
    return !PyErr_Occurred();
}

// Candidates run in child processes, which cannot see memory of a GPU, nor use one that this
// process has used.
static bool on_host(const Frame *c) {
    const char *first = c->place.first;
    return !first || array_fault(c->f->st, c->f->f, first,
                                 "argument '%s' is on %s; tune with arrays in host memory, before "
                                 "the process uses the GPU: .on(\"%s\").tune(...)",
                                 first, c->device, c->device);
}

PyObject *function_tune(PyObject *self, PyObject *args, PyObject *keywords) {
    Function *f = (Function *)self;
    PyObject *rest = keywords ? PyDict_Copy(keywords) : NULL, *result = NULL, *held[HELD] = {NULL};
    lw_tune_options o = {.struct_size = sizeof o, .data = true};
    double seconds = 1, trials = 0;
    Frame c = {.f = NULL};
    if (keywords && !rest) return NULL;
    if (take_number(rest, "seconds", &seconds) && take_number(rest, "trials", &trials) &&
        take_options(rest, &o, held) && frame_open_tuple(&c, f, args, rest)) {
        o.seconds = seconds;
        o.trials = (int64_t)trials;
        o.args = c.args;
        if (!o.device && f->device) o.device = c.device;
        lw_bound *b = on_host(&c) ? frame_bind(&c) : NULL;
        if (b) result = search(f, &c, b, &o, held[0]);
        lw_bound_free(b);
    }
    frame_close(&c);
    for (int i = 0; i < HELD; i++) Py_XDECREF(held[i]);
    Py_XDECREF(rest);
    return result;
}
