// The type Kernel: a function compiled for certain types, shapes and strides of its arguments. A
// call does not compile; it refuses other arguments.
#include "native.h"

#include <string.h>

typedef struct Kernel {
    PyObject ob_base;
    Vectorcall vectorcall;
    Function *f;
    Entry *e;
} Kernel;

// Integer arguments and sizes are part of the code, so their values must be those that it was
// compiled for.
static bool same_sizes(const Frame *c, const lw_bound *b) {
    const lw_function *f = c->f->f;
    for (size_t i = 0; i < c->nsizes; i++) {
        const char *name = c->sizes[i].name;
        int64_t has = lw_bound_value(b, (size_t)lw_function_find_param(f, name));
        if (has != c->sizes[i].value)
            return array_fault(c->f->st, f, name,
                               "this kernel was compiled for '%s' = %lld, not %lld", name,
                               (long long)has, (long long)c->sizes[i].value);
    }
    return true;
}

static PyObject *call(PyObject *self, PyObject *const *args, size_t nargs, PyObject *keywords) {
    const Kernel *k = (const Kernel *)self;
    Frame c;
    PyObject *result = NULL;
    if (frame_open(&c, k->f, args, nargs & VECTORCALL_COUNT, keywords) &&
        frame_on_host(&c, "the kernel") && same_sizes(&c, k->e->bound))
        result = frame_run(&c, k->e);
    frame_close(&c);
    return result;
}

static PyObject *call_tuple(PyObject *self, PyObject *args, PyObject *keywords) {
    const Kernel *k = (const Kernel *)self;
    Frame c;
    PyObject *result = NULL;
    if (frame_open_tuple(&c, k->f, args, keywords) && frame_on_host(&c, "the kernel") &&
        same_sizes(&c, k->e->bound))
        result = frame_run(&c, k->e);
    frame_close(&c);
    return result;
}

PyObject *kernel_new(Function *f, Entry *e) {
    Kernel *k = PyObject_New(Kernel, f->st->kernel_type);
    if (!k) return entry_drop(e), NULL;
    k->vectorcall = call;
    k->f = f;
    k->e = e;
    Py_INCREF(f);
    return (PyObject *)k;
}

static void dealloc(PyObject *object) {
    Kernel *k = (Kernel *)object;
    PyTypeObject *type = Py_TYPE(object);
    entry_drop(k->e);
    Py_DECREF(k->f);
    PyObject_Free(k);
    Py_DECREF(type);
}

const char *kernel_execute(PyObject *kernel, DLTensor *tensor, const DLTensor *const *args,
                           size_t n) {
    const Kernel *k = (const Kernel *)kernel;
    const Function *f = k->f;
    if (n != f->ninputs + f->noutputs) return "the number of arguments is not that of the kernel";
    for (size_t i = 0; i < n; i++) {
        tensor[i].dtype = lw_function_tensor(f->f, i)->dtype;
        if (i < f->ninputs || lw_bound_writes_all(k->e->bound, i)) continue;
        size_t bytes = tensor[i].dtype.bits / 8;
        for (int d = 0; d < tensor[i].ndim; d++) bytes *= (size_t)tensor[i].shape[d];
        memset(tensor[i].data, 0, bytes);
    }
    if (!lw_kernel_run(f->st->ctx, k->e->kernel, args, n, NULL)) return NULL;
    return lw_diag_text(f->st->ctx);
}

// --- Attributes ----------------------------------------------------------------------------------

static PyObject *show(const Kernel *k, lw_stage stage) {
    State *st = k->f->st;
    const char *text;
    PyThreadState *thread = PyEval_SaveThread();
    lw_status status = lw_kernel_show(st->ctx, k->e->kernel, stage, false, &text);
    PyEval_RestoreThread(thread);
    return status ? raise_last(st, status) : PyUnicode_FromString(text);
}

static PyObject *get_asm(PyObject *o, void *unused) {
    (void)unused;
    return show((Kernel *)o, LW_STAGE_ASM);
}

static PyObject *get_report(PyObject *o, void *unused) {
    (void)unused;
    return show((Kernel *)o, LW_STAGE_REPORT);
}

static PyObject *get_number(PyObject *o, void *offset) {
    const char *info = (const char *)lw_kernel_get_info(((Kernel *)o)->e->kernel);
    double value;
    memcpy(&value, info + (size_t)(uintptr_t)offset, sizeof value);
    return PyFloat_FromDouble(value);
}

static PyObject *get_text(PyObject *o, void *offset) {
    const char *info = (const char *)lw_kernel_get_info(((Kernel *)o)->e->kernel), *text;
    memcpy(&text, info + (size_t)(uintptr_t)offset, sizeof text);
    return PyUnicode_FromString(text);
}

static PyObject *get_sizes(PyObject *o, void *unused) {
    const Kernel *k = (const Kernel *)o;
    PyObject *sizes = PyDict_New();
    (void)unused;
    for (size_t i = 0; sizes && i < k->f->nparams; i++) {
        PyObject *value = PyLong_FromLongLong(lw_bound_value(k->e->bound, i));
        if (!value || PyDict_SetItemString(sizes, lw_function_param(k->f->f, i)->name, value))
            Py_CLEAR(sizes);
        Py_XDECREF(value);
    }
    return sizes;
}

static PyObject *repr(PyObject *o) {
    const Kernel *k = (const Kernel *)o;
    PyObject *sizes = get_sizes(o, NULL);
    PyObject *text = sizes ? PyUnicode_FromFormat("<loopwright kernel %s for %R>",
                                                  lw_function_name(k->f->f), sizes)
                           : NULL;
    Py_XDECREF(sizes);
    return text;
}

static PyObject *reduce(PyObject *o, PyObject *none) {
    (void)none;
    PyErr_Format(PyExc_TypeError,
                 "a compiled kernel cannot be pickled; pickle the function '%s' and compile it "
                 "again",
                 lw_function_name(((Kernel *)o)->f->f));
    return NULL;
}

#define INFO(field) (void *)offsetof(lw_kernel_info, field)
static PyGetSetDef attributes[] = {
    {"__name__", get_text, NULL, "the function's name", INFO(name)},
    {"isa", get_text, NULL, "the instruction set of the code", INFO(isa)},
    {"chosen_by", get_text, NULL, "where the schedule is from: given, chosen, tuned, ...",
     INFO(schedule)},
    {"flops", get_number, NULL, "operations of one run", INFO(flops)},
    {"bytes", get_number, NULL, "of all arguments", INFO(bytes)},
    {"compile_us", get_number, NULL, "microseconds that compiling took", INFO(compile_us)},
    {"sizes", get_sizes, NULL, "the values of sizes and integer arguments", NULL},
    {"asm", get_asm, NULL, "the machine code as assembly text", NULL},
    {"report", get_report, NULL, "what became of each loop nest", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, "raises TypeError"},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Kernel, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject *kernel_type(void) {
    static const char doc[] =
        "Machine code for arguments of certain types, shapes and strides: what "
        "Function.compile() gives.\nk(*args, out=None) runs it; arguments of other shapes are "
        "refused.";
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
    PyType_Spec spec = {"loopwright.Kernel", sizeof(Kernel), 0,
                        Py_TPFLAGS_DEFAULT | VECTORCALL_FLAG, slots};
    return (PyTypeObject *)PyType_FromSpec(&spec);
}
