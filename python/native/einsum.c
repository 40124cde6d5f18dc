// einsum: makes a function from subscripts and the types and shapes of the operands, and returns
// the chosen order of contraction.
#include "native.h"

#include <string.h>

// The operands for the library, in one block of memory.
typedef struct Operands {
    size_t n;
    DLTensor *tensor;
    const DLTensor **list;
    int64_t *shape;
} Operands;

static bool take_shape(DLTensor *t, PyObject *shape, int64_t *room) {
    t->ndim = (int32_t)PyTuple_Size(shape);
    t->shape = room;
    for (int32_t d = 0; d < t->ndim; d++) room[d] = PyLong_AsLongLong(PyTuple_GetItem(shape, d));
    return !PyErr_Occurred();
}

static bool take_type(DLDataType *t, PyObject *pair) {
    int code, bits;
    if (!PyArg_ParseTuple(pair, "ii", &code, &bits)) return false;
    *t = (DLDataType){(uint8_t)code, (uint8_t)bits, 1};
    return true;
}

static bool operands_open(Operands *o, PyObject *shapes, PyObject *types) {
    size_t ranks = 0;
    o->n = (size_t)PyTuple_Size(shapes);
    for (size_t i = 0; i < o->n; i++)
        ranks += (size_t)PyTuple_Size(PyTuple_GetItem(shapes, (Py_ssize_t)i));
    o->tensor = PyMem_Calloc(o->n + 1, sizeof *o->tensor + sizeof *o->list);
    o->shape = PyMem_Calloc(ranks + 1, sizeof *o->shape);
    if (!o->tensor || !o->shape) return PyErr_NoMemory(), false;
    o->list = (const DLTensor **)(o->tensor + o->n + 1);
    int64_t *room = o->shape;
    for (size_t i = 0; i < o->n; i++) {
        DLTensor *t = &o->tensor[i];
        if (!take_type(&t->dtype, PyTuple_GetItem(types, (Py_ssize_t)i)) ||
            !take_shape(t, PyTuple_GetItem(shapes, (Py_ssize_t)i), room))
            return false;
        t->device = (DLDevice){kDLCPU, 0};
        room += t->ndim;
        o->list[i] = t;
    }
    return true;
}

static void operands_close(Operands *o) {
    PyMem_Free(o->tensor);
    PyMem_Free(o->shape);
}

static int32_t *take_path(PyObject *path, size_t *length) { // NULL with an exception
    *length = (size_t)PyTuple_Size(path);
    int32_t *list = PyMem_Calloc(*length + 1, sizeof *list);
    if (!list) return PyErr_NoMemory(), NULL;
    for (size_t i = 0; i < *length; i++)
        list[i] = (int32_t)PyLong_AsLong(PyTuple_GetItem(path, (Py_ssize_t)i));
    if (!PyErr_Occurred()) return list;
    PyMem_Free(list);
    return NULL;
}

// ((positions, size), ...)
static PyObject *steps_of(const lw_einsum_plan *plan) {
    PyObject *steps = PyTuple_New((Py_ssize_t)plan->step_count);
    for (size_t i = 0; steps && i < plan->step_count; i++) {
        const lw_einsum_step *s = &plan->steps[i];
        PyObject *at = PyTuple_New((Py_ssize_t)s->count);
        for (size_t k = 0; at && k < s->count; k++)
            PyTuple_SetItem(at, (Py_ssize_t)k, PyLong_FromLong(s->operands[k]));
        PyObject *step = at ? Py_BuildValue("(Nd)", at, s->size) : NULL;
        if (!step) return Py_DECREF(steps), NULL;
        PyTuple_SetItem(steps, (Py_ssize_t)i, step);
    }
    return steps;
}

// (function, steps, flops, one_nest, largest)
static PyObject *answer(PyObject *module, lw_module *mod, const lw_einsum_plan *plan) {
    State *st = PyModule_GetState(module);
    double flops = plan->flops, one_nest = plan->one_nest, largest = plan->largest;
    PyObject *steps = steps_of(plan); // before the next call of the library
    const char *text;
    lw_status status =
        steps ? lw_function_show(st->ctx, lw_module_function(mod, 0), LW_STAGE_PROGRAM, &text)
              : LW_OK;
    PyObject *origin = NULL;
    if (status)
        raise_last(st, status);
    else if (steps)
        origin = Py_BuildValue("(ssi)", text, "<einsum>", (int)LW_LANG_PROGRAM);
    PyObject *functions = origin ? functions_of(module, mod, origin) : NULL;
    if (!origin) lw_module_free(mod);
    Py_XDECREF(origin);
    PyObject *f = functions ? PyList_GetItem(functions, 0) : NULL;
    PyObject *all = f ? Py_BuildValue("(OOddd)", f, steps, flops, one_nest, largest) : NULL;
    Py_XDECREF(functions);
    Py_XDECREF(steps);
    return all;
}

PyObject *native_einsum(PyObject *module, PyObject *args) {
    State *st = PyModule_GetState(module);
    const char *spec;
    PyObject *shapes, *types, *type, *path, *result = NULL;
    double limit;
    int as_written;
    if (!PyArg_ParseTuple(args, "sO!O!O!dpO", &spec, &PyTuple_Type, &shapes, &PyTuple_Type, &types,
                          &PyTuple_Type, &type, &limit, &as_written, &path))
        return NULL;
    lw_einsum_options o = {
        .struct_size = sizeof o, .memory_limit = limit, .as_written = as_written};
    Operands operands = {0};
    int32_t *list = NULL;
    lw_module *mod;
    const lw_einsum_plan *plan;
    if (take_type(&o.dtype, type) && operands_open(&operands, shapes, types) &&
        (path == Py_None || (list = take_path(path, &o.path_length)))) {
        o.path = list;
        PyThreadState *thread = PyEval_SaveThread();
        lw_status status =
            lw_parse_einsum_with(st->ctx, spec, operands.list, operands.n, &o, &mod, &plan);
        PyEval_RestoreThread(thread);
        result = status ? raise_last(st, status) : answer(module, mod, plan);
    }
    PyMem_Free(list);
    operands_close(&operands);
    return result;
}
