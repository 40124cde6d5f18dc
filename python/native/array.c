// Converts arguments to DLTensors without copying an element: NumPy arrays directly, arrays of
// other libraries by DLPack, and other objects that export memory (the buffer protocol,
// __array_interface__) as the array that NumPy makes of them. A number may stand for a tensor
// without dimensions.
#include "native.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

// The parts of DLPack that the public header does not need.
typedef struct Managed {
    DLTensor t;
    void *manager;
    void (*deleter)(struct Managed *self);
} Managed;

// --- Errors --------------------------------------------------------------------------------------

bool array_fault(State *st, const lw_function *f, const char *name, const char *format, ...) {
    va_list list;
    va_start(list, format);
    PyObject *text = PyUnicode_FromFormatV(format, list);
    va_end(list);
    PyObject *bytes = text ? PyUnicode_AsUTF8String(text) : NULL;
    if (bytes) raise_last(st, lw_argument_error(st->ctx, f, name, PyBytes_AsString(bytes)));
    Py_XDECREF(bytes);
    Py_XDECREF(text);
    return false;
}

static bool fault(State *st, const lw_function *f, int i, const char *format, PyObject *about) {
    const char *name = lw_function_tensor(f, (size_t)i)->name;
    return array_fault(st, f, name, format, name, about);
}

// The type word: "f32" of "f32(M, K) A".
static const char *type_word(const lw_tensor *t, char *room, size_t size) {
    const char *text = strncmp(t->text, "inout ", 6) ? t->text : t->text + 6;
    size_t n = strcspn(text, "( ");
    if (n >= size) n = size - 1;
    memcpy(room, text, n);
    room[n] = 0;
    return room;
}

// --- NumPy ---------------------------------------------------------------------------------------

static bool masked(State *st, PyObject *given) {
    NumPy *np = &st->numpy;
    if (Py_TYPE(given) == np->array) return false;
    PyObject *name = PyUnicode_FromString("numpy.ma");
    PyObject *module = np->masked || !name ? NULL : PyImport_GetModule(name);
    if (module) np->masked = PyObject_GetAttrString(module, "MaskedArray");
    Py_XDECREF(name);
    Py_XDECREF(module);
    PyErr_Clear();
    return np->masked && PyObject_IsInstance(given, np->masked) == 1;
}

// Strides in elements, if the array has the parameter's rank.
bool array_strides(Array *a, const int64_t *strides, int64_t unit, int rank) {
    if (a->t.ndim != rank) return true; // the library reports it
    for (int d = 0; d < rank; d++) {
        if (strides[d] % unit && a->t.shape[d] > 1) return false;
        a->room[d] = strides[d] / unit;
    }
    a->t.strides = a->room;
    a->dense = false;
    return true;
}

static bool read_numpy(State *st, const lw_function *f, int i, PyObject *given, bool write,
                       Array *a) {
    const NumPyArray *n = (const NumPyArray *)given;
    const lw_tensor *p = lw_function_tensor(f, (size_t)i);
    DLDataType type = numpy_type(&st->numpy, n);
    char word[32];
    a->t = (DLTensor){
        .data = n->data, .device = {kDLCPU, 0}, .ndim = n->ndim, .dtype = type, .shape = n->shape};
    a->array = a->dense = true;
    if (type.code == 255)
        return array_fault(st, f, p->name,
                           "argument '%s' should have elements of type %s, but has %S", p->name,
                           type_word(p, word, sizeof word), n->descr);
    if (masked(st, given))
        return fault(st, f, i, "argument '%s' is a masked array; give its .data or .filled()",
                     NULL);
    if (write && !(n->flags & NUMPY_WRITABLE))
        return fault(st, f, i, "result '%s' is a read-only array", NULL);
    if ((uintptr_t)n->data % (type.bits / 8u))
        return fault(st, f, i, "argument '%s' is not aligned to its elements; copy it", NULL);
    if (!(n->flags & NUMPY_DENSE) && !array_strides(a, n->strides, type.bits / 8, p->ndim))
        return fault(st, f, i,
                     "argument '%s' has strides that are no multiples of its elements; copy it",
                     NULL);
    return true;
}

// --- DLPack --------------------------------------------------------------------------------------

static bool dense(const DLTensor *t) {
    int64_t stride = 1;
    for (int d = 0; d < t->ndim; d++)
        if (t->shape[d] == 0) return true;
    for (int d = t->ndim - 1; d >= 0; d--) {
        if (t->shape[d] > 1 && t->strides[d] != stride) return false;
        stride *= t->shape[d];
    }
    return true;
}

bool array_unpack(PyObject *capsule, int rank, Array *a) {
    a->hold = capsule;
    Managed *m = capsule ? PyCapsule_GetPointer(capsule, "dltensor") : NULL;
    if (!m) return false;
    a->t = m->t;
    a->array = true;
    a->dense = !m->t.strides || dense(&m->t);
    a->t.strides = NULL;
    return a->dense || array_strides(a, m->t.strides, 1, rank);
}

static bool read_dlpack(State *st, const lw_function *f, int i, PyObject *given, Kind kind,
                        Place *place, Array *a) {
    const lw_tensor *p = lw_function_tensor(f, (size_t)i);
    DLDevice device;
    if (!place_of(given, &device)) return false;
    if (device.device_type == kDLCUDA) return place_read(st, f, i, given, device, kind, place, a);
    if (device.device_type != kDLCPU && device.device_type != kDLCUDAHost)
        return fault(st, f, i, "argument '%s' is neither in host memory nor on a CUDA device",
                     NULL);
    return array_unpack(PyObject_CallMethod(given, "__dlpack__", NULL), p->ndim, a);
}

// Is a lazy sign set, so that memory contains the negated values?
static int is_negated(PyObject *given) { // -1: exception
    PyObject *is = PyObject_CallMethod(given, "is_neg", NULL);
    int negated = is ? PyObject_IsTrue(is) : -1;
    Py_XDECREF(is);
    return negated;
}

static bool read_torch(State *st, const lw_function *f, int i, PyObject *given, Place *place,
                       Array *a) {
    PyObject *grad = PyObject_GetAttrString(given, "requires_grad");
    int needs = grad ? PyObject_IsTrue(grad) : -1;
    Py_XDECREF(grad);
    if (needs < 0) return false;
    if (needs)
        return fault(st, f, i,
                     "argument '%s' requires a gradient, and this function has none; "
                     "give its .detach()",
                     NULL);
    int negated = is_negated(given);
    if (negated < 0) return false;
    if (negated)
        return fault(st, f, i,
                     "the memory of argument '%s' holds its values negated; "
                     "give its .resolve_neg()",
                     NULL);
    return place_read_torch(st, f, i, given, place, a);
}

// --- Numbers -------------------------------------------------------------------------------------

// Rounds to the nearest number with `bits` significant bits, the last of which is at least 2^least;
// ties to even.
static double rounded(double x, int bits, int least) {
    int e;
    if (!isfinite(x) || x == 0) return x;
    frexp(x, &e);
    int unit = e - bits < least ? least : e - bits;
    return ldexp(nearbyint(ldexp(x, -unit)), unit);
}

static uint16_t half_of(double x) {
    double r = rounded(x, 11, -24);
    uint16_t sign = signbit(r) ? 0x8000 : 0;
    int e;
    double m = frexp(fabs(r), &e); // in [0.5, 1)
    if (isnan(r)) return 0x7e00;
    if (isinf(r) || fabs(r) >= 65536) return sign | 0x7c00;
    if (e < -13 || r == 0) return (uint16_t)(sign | (uint16_t)(fabs(r) * 0x1p24));
    return (uint16_t)(sign | (e + 14) << 10 | (int)((m * 2 - 1) * 1024));
}

static uint16_t bfloat_of(double x) {
    float r = (float)rounded(x, 8, -133);
    uint32_t bits;
    memcpy(&bits, &r, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static bool store_float(DLDataType type, double x, void *into) {
    float single = (float)x;
    uint16_t half = type.code == kDLBfloat ? bfloat_of(x) : half_of(x);
    if (type.bits == 64)
        memcpy(into, &x, sizeof x);
    else if (type.bits == 32)
        memcpy(into, &single, sizeof single);
    else
        memcpy(into, &half, sizeof half);
    return true;
}

// Little-endian: the low bytes come first. False: out of range.
static bool store_int(DLDataType type, PyObject *number, void *into) {
    uint64_t bits = type.code == kDLUInt ? PyLong_AsUnsignedLongLong(number)
                                         : (uint64_t)PyLong_AsLongLong(number);
    if (PyErr_Occurred()) return PyErr_Clear(), false;
    int unused = 64 - type.bits;
    uint64_t back = type.code == kDLUInt ? bits << unused >> unused
                                         : (uint64_t)((int64_t)(bits << unused) >> unused);
    if (back != bits) return false;
    memcpy(into, &bits, type.bits / 8);
    return true;
}

static bool read_number(State *st, const lw_function *f, int i, PyObject *given, Array *a) {
    const lw_tensor *p = lw_function_tensor(f, (size_t)i);
    char word[32];
    bool ok = false;
    if (p->dtype.code == kDLBool) {
        ok = PyBool_Check(given);
        *(char *)&a->value = given == Py_True;
    } else if (p->dtype.code == kDLFloat || p->dtype.code == kDLBfloat) {
        double x = PyFloat_AsDouble(given);
        ok = !PyErr_Occurred() && store_float(p->dtype, x, &a->value);
    } else {
        PyObject *number = PyNumber_Index(given);
        ok = number && store_int(p->dtype, number, &a->value);
        Py_XDECREF(number);
    }
    PyErr_Clear();
    if (!ok)
        return array_fault(st, f, p->name, "argument '%s' should be a number of type %s, not %R",
                           p->name, type_word(p, word, sizeof word), given);
    a->t = (DLTensor){.data = &a->value, .device = {kDLCPU, 0}, .dtype = p->dtype};
    a->dense = true;
    return true;
}

// --- Anything ------------------------------------------------------------------------------------

// An object that exports memory in another way, as an ndarray of that memory. Returns NULL without
// an exception if it exports none.
static PyObject *as_numpy(State *st, PyObject *given) {
    PyObject *view = NULL;
    if (!PyObject_HasAttrString(given, "__array_interface__")) {
        view = PyMemoryView_FromObject(given);
        if (!view) return PyErr_Clear(), NULL;
    }
    PyObject *made =
        PyObject_CallFunctionObjArgs(st->numpy.asarray, view ? view : given, (PyObject *)NULL);
    Py_XDECREF(view);
    return made;
}

static bool read_other(State *st, const lw_function *f, int i, PyObject *given, bool write,
                       Array *a) {
    PyObject *made = as_numpy(st, given);
    if (made) {
        a->hold = made;
        return read_numpy(st, f, i, made, write, a);
    }
    if (PyErr_Occurred()) return false;
    return fault(st, f, i,
                 write ? "result '%s' cannot be written to an object of type %R"
                       : "argument '%s' should be an array, but is of type %R; numpy.asarray "
                         "makes one",
                 (PyObject *)Py_TYPE(given));
}

bool array_read(State *st, const lw_function *f, int i, PyObject *given, bool write, Place *place,
                Array *a) {
    if (PyObject_TypeCheck(given, st->numpy.array)) return read_numpy(st, f, i, given, write, a);
    bool number = !write && lw_function_tensor(f, (size_t)i)->ndim == 0;
    if (number && (PyFloat_Check(given) || PyLong_Check(given)))
        return read_number(st, f, i, given, a);
    int torch = torch_has(st, given);
    if (torch) return torch > 0 && read_torch(st, f, i, given, place, a);
    int cupy = instance_of(given, "cupy", "ndarray");
    if (cupy) return cupy > 0 && read_dlpack(st, f, i, given, KIND_CUPY, place, a);
    bool dlpack = PyObject_HasAttrString(given, "__dlpack__");
    if (!write && dlpack) return read_dlpack(st, f, i, given, KIND_OTHER, place, a);
    if (!dlpack && PyObject_HasAttrString(given, "__cuda_array_interface__"))
        return place_read_interface(st, f, i, given, write, place, a);
    return number ? read_number(st, f, i, given, a) : read_other(st, f, i, given, write, a);
}

void array_release(Array *a) { Py_CLEAR(a->hold); }

// --- New arrays ----------------------------------------------------------------------------------

static size_t bytes_of(const DLTensor *t) {
    size_t n = (size_t)t->dtype.bits / 8;
    for (int d = 0; d < t->ndim; d++) n *= (size_t)t->shape[d];
    return n;
}

PyObject *array_new(State *st, const DLTensor *like, Kind kind, bool zero, Array *a) {
    a->t = *like;
    a->t.strides = NULL;
    if (kind == KIND_TORCH) {
        PyObject *made = torch_new(like, NULL, zero);
        PyObject *capsule =
            made ? PyObject_CallFunctionObjArgs(st->torch.to_dlpack, made, NULL) : NULL;
        if (array_unpack(capsule, like->ndim, a)) return made;
        Py_XDECREF(made);
        return NULL;
    }
    PyObject *made = numpy_new(&st->numpy, like);
    if (!made) return NULL;
    a->t.data = ((NumPyArray *)made)->data;
    if (zero) memset(a->t.data, 0, bytes_of(&a->t));
    return made;
}
