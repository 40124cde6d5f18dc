// Reads NumPy's arrays directly in memory, because asking each for __array_interface__ would take
// longer than a small kernel. The layout and the numbers of the two functions are part of NumPy's
// ABI, identical in versions 1 and 2. Both are checked with a real array when the module is
// imported.
#include "native.h"

#include <string.h>

// Indices in NumPy's table of C functions.
enum { API_VERSION = 0, API_ARRAY_TYPE = 2, API_DESCR_FROM_TYPE = 45, API_EMPTY = 184 };

// The first members of a dtype.
typedef struct NumPyDescr {
    PyObject ob_base;
    PyTypeObject *scalar;
    char kind, type, byte_order, flags;
    int number;
} NumPyDescr;

// By NumPy's type number.
static const struct {
    uint8_t code, bits;
} types[] = {
    [0] = {kDLBool, 8},    [1] = {kDLInt, 8},     [2] = {kDLUInt, 8},   [3] = {kDLInt, 16},
    [4] = {kDLUInt, 16},   [5] = {kDLInt, 32},    [6] = {kDLUInt, 32},  [7] = {kDLInt, 64},
    [8] = {kDLUInt, 64},   [9] = {kDLInt, 64},    [10] = {kDLUInt, 64}, [11] = {kDLFloat, 32},
    [12] = {kDLFloat, 64}, [23] = {kDLFloat, 16},
};
enum { TYPES = sizeof types / sizeof *types };

// --- Opening -------------------------------------------------------------------------------------

static void **api_table(void) {
    PyObject *core = PyImport_ImportModule("numpy._core._multiarray_umath");
    if (!core) {
        PyErr_Clear(); // NumPy 1 has no underscore there
        core = PyImport_ImportModule("numpy.core._multiarray_umath");
    }
    PyObject *capsule = core ? PyObject_GetAttrString(core, "_ARRAY_API") : NULL;
    void **table = capsule ? PyCapsule_GetPointer(capsule, NULL) : NULL;
    Py_XDECREF(capsule);
    Py_XDECREF(core);
    return table;
}

// Does a real array have the layout of NumPyArray? It tests [1, 3] of float32, every second column.
static bool looks_right(NumPy *np) {
    const int64_t shape[2] = {1, 3};
    PyObject *descr = np->descr_from_type(11);
    PyObject *made = descr ? np->empty(2, shape, descr, 0) : NULL;
    if (!made) return false;
    const NumPyArray *a = (const NumPyArray *)made;
    const NumPyDescr *d = (const NumPyDescr *)a->descr;
    PyObject *interface = PyObject_GetAttrString(made, "__array_interface__");
    PyObject *pair = interface ? PyDict_GetItemString(interface, "data") : NULL;
    void *data = pair ? PyLong_AsVoidPtr(PyTuple_GetItem(pair, 0)) : NULL;
    bool right = Py_TYPE(made) == np->array && a->ndim == 2 && a->shape[0] == 1 &&
                 a->shape[1] == 3 && a->strides[0] == 12 && a->strides[1] == 4 && a->data == data &&
                 d->kind == 'f' && d->number == 11 && d->byte_order == '=' &&
                 (a->flags & (NUMPY_DENSE | NUMPY_WRITABLE)) == (NUMPY_DENSE | NUMPY_WRITABLE);
    Py_XDECREF(interface);
    Py_DECREF(made);
    return right && !PyErr_Occurred();
}

static bool take_table(NumPy *np) {
    void **table = api_table();
    if (!table) return false;
    unsigned (*version)(void);
    // ISO C has no cast to a function pointer.
    memcpy(&version, &table[API_VERSION], sizeof version);
    memcpy(&np->empty, &table[API_EMPTY], sizeof np->empty);
    memcpy(&np->descr_from_type, &table[API_DESCR_FROM_TYPE], sizeof np->descr_from_type);
    np->array = table[API_ARRAY_TYPE];
    Py_INCREF(np->array);
    unsigned major = version() >> 24;
    return (major == 1 || major == 2) && looks_right(np);
}

bool numpy_open(NumPy *np) {
    PyObject *numpy = PyImport_ImportModule("numpy");
    if (!numpy) return false;
    bool ok = take_table(np) && (np->asarray = PyObject_GetAttrString(numpy, "asarray"));
    Py_DECREF(numpy);
    if (!ok && !PyErr_Occurred())
        PyErr_SetString(PyExc_ImportError,
                        "this version of NumPy keeps its arrays in a way that loopwright does not "
                        "know; versions 1 and 2 work");
    return ok;
}

void numpy_close(NumPy *np) {
    Py_CLEAR(np->array);
    Py_CLEAR(np->asarray);
    Py_CLEAR(np->masked);
    Py_CLEAR(np->bfloat16);
}

// --- Types ---------------------------------------------------------------------------------------

// numpy.dtype(ml_dtypes.bfloat16), borrowed; NULL with an exception if there is no ml_dtypes.
static PyObject *bfloat16(NumPy *np) {
    if (np->bfloat16) return np->bfloat16;
    PyObject *module = PyImport_ImportModule("ml_dtypes"), *numpy = NULL, *type = NULL;
    if (!module) return NULL;
    type = PyObject_GetAttrString(module, "bfloat16");
    numpy = PyImport_ImportModule("numpy");
    if (type && numpy) np->bfloat16 = PyObject_CallMethod(numpy, "dtype", "O", type);
    Py_XDECREF(type);
    Py_XDECREF(numpy);
    Py_DECREF(module);
    return np->bfloat16;
}

// Types of other packages get their numbers when the package is loaded.
static bool is_bfloat16(NumPy *np, const NumPyDescr *d) {
    if (d->number < 256) return false;
    PyObject *name = PyObject_GetAttrString((PyObject *)d->scalar, "__name__");
    bool named = name && PyUnicode_CompareWithASCIIString(name, "bfloat16") == 0;
    Py_XDECREF(name);
    bool is = named && bfloat16(np) && ((const NumPyDescr *)np->bfloat16)->number == d->number;
    PyErr_Clear();
    return is;
}

DLDataType numpy_type(NumPy *np, const NumPyArray *a) {
    const NumPyDescr *d = (const NumPyDescr *)a->descr;
    bool native = d->byte_order != '>'; // the mark of the other byte order on x86-64
    if (native && d->number >= 0 && d->number < TYPES && types[d->number].bits)
        return (DLDataType){types[d->number].code, types[d->number].bits, 1};
    if (native && is_bfloat16(np, d)) return (DLDataType){kDLBfloat, 16, 1};
    return (DLDataType){255, 0, 0};
}

static PyObject *descr_of(NumPy *np, DLDataType type) {
    if (type.code == kDLBfloat) {
        PyObject *descr = bfloat16(np);
        if (!descr && PyErr_ExceptionMatches(PyExc_ImportError)) {
            PyErr_SetString(PyExc_ImportError, "the result is bf16, which NumPy has through "
                                               "ml_dtypes only: pip install ml_dtypes");
        }
        Py_XINCREF(descr);
        return descr;
    }
    for (int i = 0; i < TYPES; i++)
        if (types[i].bits == type.bits && types[i].code == type.code) return np->descr_from_type(i);
    PyErr_SetString(PyExc_SystemError, "a result has a type that NumPy lacks");
    return NULL;
}

PyObject *numpy_new(NumPy *np, const DLTensor *like) {
    PyObject *descr = descr_of(np, like->dtype);
    return descr ? np->empty(like->ndim, like->shape, descr, 0) : NULL;
}
