"""The public C API through ctypes: a text, NumPy arrays in, NumPy arrays out. Results lie between canaries."""

import ctypes as C

import numpy as np

# name: NumPy's storage, DLPack code, bits, and the names that the language has for it
TYPES = {
    "f64": (np.float64, 2, 64, "double float64 f64"), "f32": (np.float32, 2, 32, "float float32 f32"),
    "f16": (np.float16, 2, 16, "half float16 f16"), "bf16": (np.uint16, 4, 16, "bfloat16 bf16"),
    "i8": (np.int8, 0, 8, "int8 i8"), "i16": (np.int16, 0, 16, "int16 i16"), "i32": (np.int32, 0, 32, "int int32 i32"),
    "i64": (np.int64, 0, 64, "int64 i64"), "u8": (np.uint8, 1, 8, "byte uint8 u8"), "u16": (np.uint16, 1, 16, "uint16 u16"),
    "u32": (np.uint32, 1, 32, "uint32 u32"), "u64": (np.uint64, 1, 64, "uint64 u64"), "bool": (np.bool_, 6, 8, "bool"),
}
BACKENDS = {"default": 0, "interp": 1, "tree": 2, "c": 3, "jit": 4}
CANARY = 0xA5
MARGIN = 128  # bytes of it on either side


class Device(C.Structure):
    _fields_ = [("type", C.c_int), ("id", C.c_int32)]


class DataType(C.Structure):
    _fields_ = [("code", C.c_uint8), ("bits", C.c_uint8), ("lanes", C.c_uint16)]


class Tensor(C.Structure):
    _fields_ = [("data", C.c_void_p), ("device", Device), ("ndim", C.c_int32), ("dtype", DataType),
                ("shape", C.POINTER(C.c_int64)), ("strides", C.POINTER(C.c_int64)), ("byte_offset", C.c_uint64)]


class Size(C.Structure):
    _fields_ = [("name", C.c_char_p), ("value", C.c_int64)]


class ScheduleText(C.Structure):
    _fields_ = [("text", C.c_char_p), ("name", C.c_char_p)]


class RunOptions(C.Structure):
    _fields_ = [("struct_size", C.c_size_t), ("backend", C.c_int), ("accumulate", C.c_bool), ("skip_post", C.c_bool),
                ("trap_uninitialised", C.c_bool), ("timing", C.c_void_p), ("schedule", ScheduleText),
                ("measure_seconds", C.c_double), ("threads", C.c_int), ("isa", C.c_char_p)]


class Failure(Exception):
    """A call that did not succeed, with its diagnostics."""


class Library:
    def __init__(self, path):
        lib = self.lib = C.CDLL(path)
        pointer, text = C.c_void_p, C.c_char_p
        for name, result, args in (
                ("lw_context_new", pointer, [pointer]), ("lw_diag_text", text, [pointer]),
                ("lw_parse", C.c_int, [pointer, text, text, C.c_size_t, pointer, C.POINTER(pointer)]),
                ("lw_module_find", pointer, [pointer, text]), ("lw_module_free", None, [pointer]),
                ("lw_bind_tensors", C.c_int, [pointer, pointer, pointer, C.c_size_t, pointer, C.c_size_t, C.POINTER(pointer)]),
                ("lw_bound_free", None, [pointer]), ("lw_bound_tensor", C.POINTER(Tensor), [pointer, C.c_size_t]),
                ("lw_bound_instances", C.c_int64, [pointer]),
                ("lw_run", C.c_int, [pointer, pointer, pointer, C.c_size_t, pointer])):
            getattr(lib, name).restype, getattr(lib, name).argtypes = result, args
        self.context = lib.lw_context_new(None)

    def check(self, status):
        if status != 0:
            raise Failure("status %d: %s" % (status, self.lib.lw_diag_text(self.context).decode(errors="replace")))

    def check_whole(self, status):
        """Also fails on the warning that elements are left out: programs that people write use all of their data."""
        self.check(status)
        said = self.lib.lw_diag_text(self.context).decode(errors="replace")
        if "it leaves out" in said:
            raise Failure("a false alarm: " + said)

    def bind(self, text, name, tensors, sizes):
        """The function `name` of a text, bound to the shapes of its inputs and to further sizes."""
        module, bound = C.c_void_p(), C.c_void_p()
        source = text.encode()
        self.check_whole(self.lib.lw_parse(self.context, b"natural.tc", source, len(source), None, C.byref(module)))
        function = self.lib.lw_module_find(module, name.encode())
        given = (Size * max(1, len(sizes)))(*[Size(k.encode(), v) for k, v in sizes.items()])
        status = self.lib.lw_bind_tensors(self.context, function, pointers(tensors), len(tensors), given, len(sizes),
                                          C.byref(bound))
        self.lib.lw_module_free(module)
        self.check_whole(status)
        return bound

    def shape_and_type(self, bound, at):
        t = self.lib.lw_bound_tensor(bound, at).contents
        found = [k for k, row in TYPES.items() if row[1:3] == (t.dtype.code, t.dtype.bits)]
        return tuple(t.shape[i] for i in range(t.ndim)), found[0]

    def run(self, bound, tensors, backend, isa=None, threads=0):
        options = RunOptions(struct_size=C.sizeof(RunOptions), backend=BACKENDS[backend], threads=threads,
                             isa=isa.encode() if isa else None)
        self.check(self.lib.lw_run(self.context, bound, pointers(tensors), len(tensors), C.byref(options)))

    def free(self, bound):
        self.lib.lw_bound_free(bound)


def pointers(tensors):
    return (C.POINTER(Tensor) * max(1, len(tensors)))(*[C.pointer(t) for t in tensors])


def describe(array, t):
    """A DLTensor of an array, which must outlive it."""
    _, code, bits, _ = TYPES[t]
    n = array.ndim
    shape = (C.c_int64 * max(1, n))(*array.shape)
    strides = (C.c_int64 * max(1, n))(*[s // array.itemsize for s in array.strides])
    tensor = Tensor(array.ctypes.data, Device(1, 0), n, DataType(code, bits, 1), shape, strides, 0)
    tensor.kept = (shape, strides, array)
    return tensor


class Guarded:
    """An array between two margins of canary bytes, filled with them."""

    def __init__(self, shape, t):
        size = int(np.prod(shape, dtype=np.int64)) * TYPES[t][0]().itemsize
        self.bytes = np.full(size + 2 * MARGIN, CANARY, np.uint8)
        self.array = self.bytes[MARGIN:MARGIN + size].view(TYPES[t][0]).reshape(shape)

    def intact(self):
        end = len(self.bytes) - MARGIN
        return bool((self.bytes[:MARGIN] == CANARY).all() and (self.bytes[end:] == CANARY).all())
