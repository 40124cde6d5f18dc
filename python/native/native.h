// loopwright._native: the compiler as a Python extension module.
//
// It uses the limited API of Python 3.9, so that one file works with every later Python. It
// includes loopwright.h and nothing else of the project.
//
//     module.c     the module: its state, parse(), errors and warnings
//     array.c      arguments as DLTensors without a copy, results as new arrays
//     place.c      arrays on GPUs, and the streams of their libraries
//     numpy.c      the memory layout and types of NumPy's arrays
//     frame.c      one call: from positions and keywords to arguments, key, outputs and the run
//     cache.c      the recently used kernels, by key
//     function.c   the type Function
//     kernel.c     the type Kernel
//     tune.c       Function.tune
//     database.c   the tuning database, and this machine
//     looptree.c   the type LoopTree
//     tree.c       the type Tree
//     einsum.c     functions for einsum's subscripts
//     xla.c        kernels for JAX
//
// Objects are only accessed with the GIL held. It is released during every call of the library that
// parses, binds, compiles, runs or tunes.
#ifndef LW_PYTHON_NATIVE_H
#define LW_PYTHON_NATIVE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>
#include <structmember.h>

#include <loopwright.h>
#include <stdbool.h>

// PEP 590. The headers define these for the limited API from 3.12 on, with these values.
typedef PyObject *(*Vectorcall)(PyObject *self, PyObject *const *args, size_t nargs,
                                PyObject *keywords);
#define VECTORCALL_FLAG  (1UL << 11)
#define VECTORCALL_COUNT (~((size_t)1 << (8 * sizeof(size_t) - 1)))

// --- The module's state --------------------------------------------------------------------------
// The parts of NumPy in use: its array type and two functions of its C API.
typedef struct NumPy {
    PyTypeObject *array;
    PyObject *asarray, *masked; // numpy.asarray; numpy.ma.MaskedArray once it is imported
    PyObject *(*empty)(int ndim, const int64_t *shape, PyObject *descr, int fortran);
    PyObject *(*descr_from_type)(int number);
    PyObject *bfloat16; // numpy.dtype(ml_dtypes.bfloat16), or NULL
} NumPy;

// The parts of torch in use, after it was imported; its methods in Python would take longer.
typedef struct Torch {
    PyObject *tensor, *to_dlpack; // torch.Tensor; a tensor as a capsule, on whatever stream
    PyObject *raw_stream;         // the address of a device's current stream; NULL: not there
} Torch;

typedef struct State {
    lw_context *ctx;
    PyObject *error, *diagnostic, *warning, *tune_result, *rebuild,
        *show_tree; // of loopwright._types
    PyTypeObject *function_type, *kernel_type, *loop_tree_type, *tree_type;
    NumPy numpy;
    Torch torch;
} State;

// --- Errors, module.c ----------------------------------------------------------------------------
// Raises the error that the last call on this thread reported; always returns NULL.
void *raise_last(State *st, lw_status status);
// Passes the warnings of the last call to `warnings`; false: one of them became an error.
bool warn_last(State *st, int level); // level: the frame to show, as in warnings.warn
// tp_new of types whose objects only this module creates: always returns NULL, with a TypeError.
PyObject *refuse_new(PyTypeObject *type, PyObject *args, PyObject *keywords);
// The functions of a module as a list; they own the module from now on.
PyObject *functions_of(PyObject *module, lw_module *mod, PyObject *origin);
// The numbers of a dict (NULL: none) by name, to be freed with PyMem_Free; `names` owns the texts.
// Returns NULL with an exception.
lw_size *sizes_of(PyObject *dict, PyObject **names, size_t *count);
PyObject *native_einsum(PyObject *module, PyObject *args); // einsum.c
// The tuning database, database.c
PyObject *native_db_file(PyObject *module, PyObject *none);
PyObject *native_db_list(PyObject *module, PyObject *args);
PyObject *native_db_export(PyObject *module, PyObject *args);
PyObject *native_db_import(PyObject *module, PyObject *args);
PyObject *native_db_merge(PyObject *module, PyObject *args);
PyObject *native_db_prune(PyObject *module, PyObject *args);
PyObject *native_machine(PyObject *module, PyObject *none); // its measured rates, as JSON

// --- NumPy, numpy.c ------------------------------------------------------------------------------
bool numpy_open(NumPy *np); // false with an exception if NumPy cannot be used
void numpy_close(NumPy *np);

enum { NUMPY_DENSE = 1, NUMPY_WRITABLE = 0x400 };
// The memory layout of an ndarray, in NumPy 1 and 2.
typedef struct NumPyArray {
    PyObject ob_base;
    char *data;
    int ndim;
    int64_t *shape, *strides; // in bytes
    PyObject *base, *descr;
    int flags;
} NumPyArray;

// The element type; code 255 if the library has no such type.
DLDataType numpy_type(NumPy *np, const NumPyArray *a);
// A new array with unspecified content.
PyObject *numpy_new(NumPy *np, const DLTensor *like);

// --- Arrays, array.c -----------------------------------------------------------------------------
typedef enum Kind { KIND_NUMPY, KIND_TORCH, KIND_CUPY, KIND_OTHER } Kind;

// Where a call runs: on the GPU of its arrays, on the stream that the library of the first of them
// uses.
typedef struct Place {
    const char *first; // the argument that decided; NULL: no array is on a GPU
    DLDevice device;
    intptr_t stream; // a CUstream
    Kind kind;       // of that array, and of new results
    bool waits;      // another library's stream may use the same memory afterwards
} Place;

// One argument of a call.
typedef struct Array {
    DLTensor t;
    PyObject *hold; // keeps the memory alive; NULL: the caller does
    int64_t *room;  // room for the strides of the parameter's rank
    Kind kind;
    bool array;   // it is an array, not a number
    bool dense;   // t.strides is NULL
    double value; // the bytes of a number given for a tensor without dimensions
} Array;

// Fills in `a` from the object given for tensor `i` of `f`; false with an exception. If the ranks
// differ, strides are omitted, and the library reports the error.
bool array_read(State *st, const lw_function *f, int i, PyObject *given, bool write, Place *place,
                Array *a);
// A new array of this kind, and its DLTensor; zero: filled with zeros.
PyObject *array_new(State *st, const DLTensor *like, Kind kind, bool zero, Array *a);
void array_release(Array *a);
bool array_fault(State *st, const lw_function *f, const char *name, const char *format, ...);
// Takes the tensor out of a capsule that __dlpack__ returned, which a->hold becomes.
bool array_unpack(PyObject *capsule, int rank, Array *a);
// Strides in `unit`s, if they are whole elements; where ranks differ it is for the library to say.
bool array_strides(Array *a, const int64_t *strides, int64_t unit, int rank);

// --- GPUs, place.c -------------------------------------------------------------------------------
PyObject *loaded_module(const char *name); // NULL without an exception: not imported
int instance_of(PyObject *given, const char *module, const char *type); // -1: exception
int torch_has(State *st, PyObject *given); // is it a tensor of torch? -1: exception
void torch_close(Torch *torch);
// What __dlpack_device__ says; managed memory is that of its GPU. False with an exception.
bool place_of(PyObject *given, DLDevice *device);
// A tensor of torch, wherever it is.
bool place_read_torch(State *st, const lw_function *f, int i, PyObject *given, Place *place,
                      Array *a);
// An array of a GPU by DLPack, for use on the stream of the call.
bool place_read(State *st, const lw_function *f, int i, PyObject *given, DLDevice device, Kind kind,
                Place *place, Array *a);
// One by __cuda_array_interface__.
bool place_read_interface(State *st, const lw_function *f, int i, PyObject *given, bool write,
                          Place *place, Array *a);
// A new array of torch or CuPy there, and its DLTensor.
PyObject *place_new(State *st, const lw_function *f, int i, const DLTensor *like,
                    const Place *place, bool zero, Array *a);
// A new tensor of torch; on: "cuda:0", NULL: the host.
PyObject *torch_new(const DLTensor *like, const char *on, bool zero);

// --- Kernels by key, cache.c ---------------------------------------------------------------------
typedef struct Entry {
    int refs;
    struct Entry *next, *newer, *older; // next in its slot; neighbours by last use
    uint64_t hash;
    lw_bound *bound;
    lw_kernel *kernel;
    char *schedule; // a schedule found by tuning
    size_t nkey;
    int64_t key[];
} Entry;

typedef struct Cache {
    Entry **slot;
    size_t slots, n, most;
    Entry *newest, *oldest;
} Cache;

Entry *entry_new(const int64_t *key, size_t nkey); // with one reference; NULL with MemoryError
void entry_drop(Entry *e);
Entry *cache_find(Cache *c, const int64_t *key, size_t nkey); // borrowed; NULL: none
bool cache_add(Cache *c, Entry *e); // replaces an entry with the same key; false with MemoryError
void cache_forget(Cache *c, const int64_t *key, size_t nkey);
void cache_limit(Cache *c, size_t most);
void cache_clear(Cache *c);

// --- Functions, function.c -----------------------------------------------------------------------
typedef struct Function {
    PyObject ob_base;
    Vectorcall vectorcall;
    State *st;
    PyObject *module;   // a capsule that holds the lw_module
    PyObject *origin;   // the arguments of `parse`, for pickling
    PyObject *schedule; // str or None
    PyObject *device;   // bytes, NULL: where the arrays are
    const lw_function *f;
    PyObject *names; // of the arguments, a tuple of interned strings
    size_t nargs, ninputs, noutputs, nparams;
    size_t frame; // bytes that a call needs
    size_t ranks; // sum over inputs and outputs
    Cache kernels, tuned;
} Function;

PyObject *function_new(State *st, PyObject *module, PyObject *origin, const lw_function *f,
                       PyObject *schedule, PyObject *device);
PyTypeObject *function_type(void);
const char *type_name(DLDataType t); // "float32", as NumPy, torch and CuPy name it
PyObject *function_tune(PyObject *self, PyObject *args, PyObject *keywords);

// --- Kernels, kernel.c ---------------------------------------------------------------------------
PyObject *kernel_new(Function *f, Entry *e); // takes a reference to the entry
PyTypeObject *kernel_type(void);
// Runs it on dense tensors, inputs first, whose types it fills in; needs no GIL. Returns NULL, or
// an error message that is valid until this thread's next call of the library.
const char *kernel_execute(PyObject *kernel, DLTensor *tensor, const DLTensor *const *args,
                           size_t n);
PyObject *native_xla_handler(PyObject *module, PyObject *none); // xla.c

// --- Loop trees, looptree.c ----------------------------------------------------------------------
// The tree of a bound function under a schedule; NULL: the chosen schedule.
PyObject *loop_tree_new(Function *f, const lw_bound *b, const char *schedule);
PyTypeObject *loop_tree_type(void);
PyObject *node_tuple(size_t i, const lw_node *n); // in the order of loopwright.Node

// --- Trees, tree.c -------------------------------------------------------------------------------
PyObject *native_tree_new(Function *f, const lw_bound *b, const char *schedule);
PyTypeObject *native_tree_type(void);

// --- One call, frame.c ---------------------------------------------------------------------------
typedef struct Frame {
    Function *f;
    Array *array; // inputs, then outputs
    const DLTensor **args;
    PyObject **given;   // per argument of the signature, borrowed
    PyObject **results; // per output; owned
    lw_size *sizes;     // integer arguments, and sizes given by name
    int64_t *key;
    size_t nsizes, nkey;
    PyObject *out; // the value of `out=`; borrowed
    Kind kind;     // of new results
    bool no_key;   // some rank is wrong
    Place place;
    char device[32]; // that runs the call, "cuda:0"; empty: this processor
    char *heap;
    _Alignas(16) char room[2048];
} Frame;

// Opens a call with positional and keyword arguments; false with an exception. Call frame_close in
// any case.
bool frame_open(Frame *c, Function *f, PyObject *const *args, size_t nargs, PyObject *keywords);
bool frame_open_tuple(Frame *c, Function *f, PyObject *args, PyObject *keywords);
void frame_close(Frame *c);
// A new reference to the entry for these arguments, found or compiled. NULL with an exception.
Entry *frame_entry(Frame *c);
// The schedule that was given, or that tuning found for these arguments; NULL: neither. *bytes owns
// it.
lw_schedule_text frame_schedule(Frame *c, PyObject **bytes);
// Binds the sizes; NULL with an exception.
lw_bound *frame_bind(Frame *c);
// Returns false with an exception if the call would run on a device, which `what` does not support.
bool frame_on_host(Frame *c, const char *what);
// Creates outputs that were not given, runs the kernel, and returns the results.
PyObject *frame_run(Frame *c, const Entry *e);

#endif
