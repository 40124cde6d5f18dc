// Arrays on GPUs: where a call runs, on which stream, and how results are made there.
//
// A call runs on the current stream of the library that its first array on a GPU belongs to, so its
// kernels are ordered with those of that library, without waiting. Through DLPack, the producers of
// other arrays order their streams before this one. Nothing orders their streams afterwards, so a
// call with arrays of several libraries, or of a library whose stream is unknown, waits for its
// results.
#include "native.h"

#include <stdio.h>
#include <string.h>

enum {
    MANAGED_MEMORY = 13,  // DLPack's kDLCUDAManaged: at its address on the host and on the GPU
    LEGACY_STREAM = 1,    // the default stream, for DLPack and CUDA
    MOST_DIMENSIONS = 64, // of an array that is described by a tuple
};

// --- Other libraries -----------------------------------------------------------------------------

PyObject *loaded_module(const char *name) {
    PyObject *text = PyUnicode_FromString(name);
    PyObject *module = text ? PyImport_GetModule(text) : NULL;
    Py_XDECREF(text);
    return module;
}

int instance_of(PyObject *given, const char *module, const char *type) {
    PyObject *from = loaded_module(module);
    if (!from) return PyErr_Occurred() ? -1 : 0;
    PyObject *class = PyObject_GetAttrString(from, type);
    int is = class ? PyObject_IsInstance(given, class) : -1;
    Py_XDECREF(class);
    Py_DECREF(from);
    return is;
}

// object.a.b; takes the object, which may be NULL. A new reference, or NULL with an exception.
static PyObject *attribute(PyObject *object, const char *a, const char *b) {
    PyObject *first = object ? PyObject_GetAttrString(object, a) : NULL;
    PyObject *second = first && b ? PyObject_GetAttrString(first, b) : NULL;
    Py_XDECREF(object);
    if (!b) return first;
    Py_XDECREF(first);
    return second;
}

static bool torch_open(Torch *t) { // false: not imported, or being imported
    PyObject *torch = loaded_module("torch");
    PyObject *utils = torch ? PyImport_ImportModule("torch.utils.dlpack") : NULL;
    if (utils) {
        Py_INCREF(torch);
        t->raw_stream = attribute(torch, "_C", "_cuda_getCurrentRawStream");
        PyErr_Clear();
        t->to_dlpack = attribute(utils, "to_dlpack", NULL);
        t->tensor = PyObject_GetAttrString(torch, "Tensor");
    }
    Py_XDECREF(torch);
    if (t->to_dlpack && t->tensor) return true;
    PyErr_Clear();
    torch_close(t);
    return false;
}

void torch_close(Torch *t) {
    Py_CLEAR(t->tensor);
    Py_CLEAR(t->to_dlpack);
    Py_CLEAR(t->raw_stream);
}

int torch_has(State *st, PyObject *given) {
    if (!st->torch.tensor && !torch_open(&st->torch)) return 0;
    return PyObject_IsInstance(given, st->torch.tensor);
}

// A tuple of at most `most` integers; their number, or -1 with an exception.
static int take_integers(PyObject *tuple, int64_t *into, int most) {
    Py_ssize_t n = tuple && PyTuple_Check(tuple) ? PyTuple_Size(tuple) : -1;
    if (n < 0 || n > most)
        return PyErr_SetString(PyExc_TypeError, "an array on a GPU has no usable shape or strides"),
               -1;
    for (Py_ssize_t d = 0; d < n; d++) into[d] = PyLong_AsLongLong(PyTuple_GetItem(tuple, d));
    return PyErr_Occurred() ? -1 : (int)n;
}

// --- Streams -------------------------------------------------------------------------------------

static intptr_t take_address(PyObject *number) { // takes it; -1 with an exception
    intptr_t n = number ? (intptr_t)PyLong_AsVoidPtr(number) : -1;
    Py_XDECREF(number);
    return n;
}

// The stream that a library uses now; -1 with an exception.
static intptr_t current_stream(const State *st, Kind kind, int device) {
    if (kind == KIND_OTHER) return LEGACY_STREAM;
    if (kind == KIND_TORCH && st->torch.raw_stream)
        return take_address(PyObject_CallFunction(st->torch.raw_stream, "i", device));
    PyObject *cuda = attribute(loaded_module(kind == KIND_TORCH ? "torch" : "cupy"), "cuda", NULL);
    if (!cuda) return -1;
    PyObject *stream = kind == KIND_TORCH ? PyObject_CallMethod(cuda, "current_stream", "i", device)
                                          : PyObject_CallMethod(cuda, "get_current_stream", NULL);
    Py_DECREF(cuda);
    return take_address(attribute(stream, kind == KIND_TORCH ? "cuda_stream" : "ptr", NULL));
}

// Adds an array on `device` to the call; `stream` is the stream on which it must be used, 0: any.
static bool place_array(State *st, const lw_function *f, int i, DLDevice device, Kind kind,
                        intptr_t stream, Place *p) {
    const char *name = lw_function_tensor(f, (size_t)i)->name;
    if (!p->first) {
        if (!stream) stream = current_stream(st, kind, device.device_id);
        *p = (Place){name, device, stream, kind, kind == KIND_OTHER};
        return !PyErr_Occurred();
    }
    if (p->device.device_id != device.device_id)
        return array_fault(st, f, name,
                           "argument '%s' is on cuda:%d, but '%s' on cuda:%d: all arrays of a call "
                           "should be on one device",
                           name, device.device_id, p->first, p->device.device_id);
    if (stream && stream != p->stream)
        return array_fault(st, f, name,
                           "argument '%s' belongs to another stream than '%s': synchronise, and "
                           "give an array without a stream",
                           name, p->first);
    if (kind != p->kind) p->waits = true;
    return true;
}

// --- DLPack --------------------------------------------------------------------------------------

static DLDevice without_managed(DLDevice d) {
    if ((int)d.device_type == MANAGED_MEMORY) d.device_type = kDLCUDA;
    return d;
}

bool place_of(PyObject *given, DLDevice *device) {
    PyObject *pair = PyObject_CallMethod(given, "__dlpack_device__", NULL);
    PyObject *tuple = pair ? PySequence_Tuple(pair) : NULL;
    int type = 0, id = 0;
    bool ok = tuple && PyArg_ParseTuple(tuple, "ii", &type, &id);
    Py_XDECREF(tuple);
    Py_XDECREF(pair);
    *device = without_managed((DLDevice){(DLDeviceType)type, id});
    return ok;
}

// given.__dlpack__(stream=...): a capsule, or NULL with an exception.
static PyObject *export(PyObject *given, intptr_t stream) {
    PyObject *method = PyObject_GetAttrString(given, "__dlpack__"), *none = PyTuple_New(0);
    PyObject *keywords =
        Py_BuildValue("{sn}", "stream", (Py_ssize_t)(stream ? stream : LEGACY_STREAM));
    PyObject *capsule = method && none && keywords ? PyObject_Call(method, none, keywords) : NULL;
    Py_XDECREF(keywords);
    Py_XDECREF(none);
    Py_XDECREF(method);
    return capsule;
}

// A tensor of torch is used on torch's stream, or on one that torch's is ordered before.
bool place_read_torch(State *st, const lw_function *f, int i, PyObject *given, Place *place,
                      Array *a) {
    const lw_tensor *p = lw_function_tensor(f, (size_t)i);
    PyObject *capsule = PyObject_CallFunctionObjArgs(st->torch.to_dlpack, given, NULL);
    if (!array_unpack(capsule, p->ndim, a)) return false;
    a->kind = KIND_TORCH;
    a->t.device = without_managed(a->t.device);
    DLDeviceType type = a->t.device.device_type;
    if (type == kDLCPU || type == kDLCUDAHost) return true;
    if (type != kDLCUDA)
        return array_fault(st, f, p->name,
                           "argument '%s' is neither in host memory nor on a CUDA device", p->name);
    if (!place_array(st, f, i, a->t.device, KIND_TORCH, 0, place)) return false;
    PyObject *ordered = place->kind == KIND_TORCH ? NULL : export(given, place->stream);
    Py_XDECREF(ordered);
    return !PyErr_Occurred();
}

// CuPy's capsules have negative strides as large positive ones, its arrays have them in bytes.
static bool mend_strides(PyObject *given, int rank, Array *a) {
    PyObject *strides = PyObject_GetAttrString(given, "strides");
    int64_t bytes[MOST_DIMENSIONS];
    int n = strides ? take_integers(strides, bytes, MOST_DIMENSIONS) : -1;
    Py_XDECREF(strides);
    return n == a->t.ndim && array_strides(a, bytes, a->t.dtype.bits / 8, rank);
}

bool place_read(State *st, const lw_function *f, int i, PyObject *given, DLDevice device, Kind kind,
                Place *place, Array *a) {
    int rank = lw_function_tensor(f, (size_t)i)->ndim;
    if (!place_array(st, f, i, device, kind, 0, place) ||
        !array_unpack(export(given, place->stream), rank, a))
        return false;
    a->t.device = device;
    a->kind = kind;
    return a->dense || kind != KIND_CUPY || mend_strides(given, rank, a);
}

// --- __cuda_array_interface__ --------------------------------------------------------------------

// "<f4", or false: the library has no such type.
static bool take_type(PyObject *text, DLDataType *type) {
    PyObject *bytes = text && PyUnicode_Check(text) ? PyUnicode_AsUTF8String(text) : NULL;
    const char *s = bytes ? PyBytes_AsString(bytes) : "";
    int size = strlen(s) == 3 ? s[2] - '0' : 0;
    char kind = size ? s[1] : 0;
    bool ok = size && (s[0] == '<' || s[0] == '|') &&
              ((kind == 'b' && size == 1) || (kind == 'f' && size >= 2 && size <= 8) ||
               kind == 'i' || kind == 'u') &&
              (size & (size - 1)) == 0 && size <= 8;
    uint8_t code = kind == 'b' ? kDLBool : kind == 'f' ? kDLFloat : kind == 'i' ? kDLInt : kDLUInt;
    if (ok) *type = (DLDataType){code, (uint8_t)(8 * size), 1};
    Py_XDECREF(bytes);
    return ok;
}

// Its shape, into a bytes object that a->hold becomes, and its strides.
static bool take_shape(PyObject *interface, int rank, Array *a) {
    int64_t shape[MOST_DIMENSIONS], strides[MOST_DIMENSIONS];
    int n = take_integers(PyDict_GetItemString(interface, "shape"), shape, MOST_DIMENSIONS);
    if (n < 0) return false;
    a->hold = PyBytes_FromStringAndSize((const char *)shape, (Py_ssize_t)(8 * (size_t)n));
    if (!a->hold) return false;
    a->t.ndim = n;
    a->t.shape = (int64_t *)(void *)PyBytes_AsString(a->hold);
    PyObject *given = PyDict_GetItemString(interface, "strides");
    if (!given || given == Py_None) return true;
    if (take_integers(given, strides, MOST_DIMENSIONS) != n) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "shape and strides do not match");
        return false;
    }
    if (array_strides(a, strides, a->t.dtype.bits / 8, rank)) return true;
    PyErr_SetString(PyExc_TypeError, "an array on a GPU has strides that are no whole elements");
    return false;
}

// The interface does not tell which GPU has the memory: it is that of the call, or cuda:0.
static bool describe(State *st, const lw_function *f, int i, PyObject *interface, bool write,
                     Place *place, Array *a) {
    const lw_tensor *p = lw_function_tensor(f, (size_t)i);
    PyObject *data = PyDict_GetItemString(interface, "data");
    PyObject *stream = PyDict_GetItemString(interface, "stream");
    unsigned long long address = 0;
    int read_only = 0;
    DLDevice device = {kDLCUDA, place->first ? place->device.device_id : 0};
    if (!data || !PyTuple_Check(data) || !PyArg_ParseTuple(data, "Kp", &address, &read_only)) {
        PyErr_SetString(PyExc_TypeError, "__cuda_array_interface__ has no data");
        return false;
    }
    if (write && read_only)
        return array_fault(st, f, p->name, "result '%s' is a read-only array", p->name);
    DLDataType type = {255, 0, 0};
    PyObject *typestr = PyDict_GetItemString(interface, "typestr");
    if (!take_type(typestr, &type))
        return array_fault(st, f, p->name,
                           "argument '%s' has elements of type %S, which are not "
                           "known here",
                           p->name, typestr ? typestr : Py_None);
    a->t = (DLTensor){.data = (void *)(uintptr_t)address, .device = device, .dtype = type};
    a->array = a->dense = true;
    a->kind = KIND_OTHER;
    intptr_t on = stream && stream != Py_None ? (intptr_t)PyLong_AsVoidPtr(stream) : 0;
    return !PyErr_Occurred() && take_shape(interface, p->ndim, a) &&
           place_array(st, f, i, device, KIND_OTHER, on, place);
}

bool place_read_interface(State *st, const lw_function *f, int i, PyObject *given, bool write,
                          Place *place, Array *a) {
    PyObject *interface = PyObject_GetAttrString(given, "__cuda_array_interface__");
    bool ok = interface && PyDict_Check(interface);
    if (interface && !ok)
        PyErr_SetString(PyExc_TypeError, "__cuda_array_interface__ is not a dict");
    ok = ok && describe(st, f, i, interface, write, place, a);
    Py_XDECREF(interface);
    return ok;
}

// --- New arrays ----------------------------------------------------------------------------------

static PyObject *shape_of(const DLTensor *like) {
    PyObject *shape = PyTuple_New(like->ndim);
    for (int d = 0; shape && d < like->ndim; d++)
        PyTuple_SetItem(shape, d, PyLong_FromLongLong(like->shape[d]));
    return shape;
}

// module.empty(shape, dtype=..., **more), or zeros; takes `type` and `more`, which may be NULL.
static PyObject *make(PyObject *module, const DLTensor *like, PyObject *type, PyObject *more,
                      bool zero) {
    PyObject *maker = PyObject_GetAttrString(module, zero ? "zeros" : "empty"), *made = NULL;
    PyObject *args = maker ? Py_BuildValue("(N)", shape_of(like)) : NULL;
    if (args && type && more && PyDict_SetItemString(more, "dtype", type) == 0)
        made = PyObject_Call(maker, args, more);
    Py_XDECREF(args);
    Py_XDECREF(maker);
    Py_XDECREF(type);
    Py_XDECREF(more);
    return made;
}

PyObject *torch_new(const DLTensor *like, const char *on, bool zero) {
    PyObject *torch = loaded_module("torch");
    if (!torch) return NULL;
    PyObject *type = PyObject_GetAttrString(torch, type_name(like->dtype));
    PyObject *more = on ? Py_BuildValue("{ss}", "device", on) : PyDict_New();
    PyObject *made = make(torch, like, type, more, zero);
    Py_DECREF(torch);
    return made;
}

// CuPy makes arrays on its current device.
static PyObject *cupy_new(const DLTensor *like, int device, bool zero) {
    PyObject *cupy = loaded_module("cupy"), *made = NULL;
    if (!cupy) return NULL;
    Py_INCREF(cupy);
    PyObject *class = attribute(cupy, "cuda", "Device");
    PyObject *there = class ? PyObject_CallFunction(class, "i", device) : NULL;
    PyObject *entered = there ? PyObject_CallMethod(there, "__enter__", NULL) : NULL;
    if (entered) {
        made = make(cupy, like, PyUnicode_FromString(type_name(like->dtype)), PyDict_New(), zero);
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        Py_XDECREF(PyObject_CallMethod(there, "__exit__", "OOO", Py_None, Py_None, Py_None));
        PyErr_Restore(type, value, trace);
    }
    Py_XDECREF(entered);
    Py_XDECREF(there);
    Py_XDECREF(class);
    Py_DECREF(cupy);
    return made;
}

PyObject *place_new(State *st, const lw_function *f, int i, const DLTensor *like,
                    const Place *place, bool zero, Array *a) {
    const char *name = lw_function_tensor(f, (size_t)i)->name;
    char on[32];
    if (place->kind == KIND_OTHER) {
        array_fault(st, f, name,
                    "result '%s' is to be on a GPU, where new arrays are those of torch or CuPy: "
                    "give it by out=",
                    name);
        return NULL;
    }
    snprintf(on, sizeof on, "cuda:%d", place->device.device_id);
    PyObject *made = place->kind == KIND_TORCH ? torch_new(like, on, zero)
                                               : cupy_new(like, place->device.device_id, zero);
    PyObject *capsule = !made ? NULL
                        : place->kind == KIND_TORCH
                            ? PyObject_CallFunctionObjArgs(st->torch.to_dlpack, made, NULL)
                            : export(made, place->stream);
    if (array_unpack(capsule, like->ndim, a)) {
        a->t.device = place->device;
        return made;
    }
    Py_XDECREF(made);
    return NULL;
}
