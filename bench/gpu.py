#!/usr/bin/env python3
"""Times kernels on a GPU against torch: its eager operations (cuBLAS, cuDNN) and torch.compile.

    bench/gpu.py [--build DIR] [--device cuda:0] [--only NAME,..] [--check]

Ours and the peers run in one process on the same tensors. Each becomes a CUDA graph of many runs;
the graphs alternate, and the ratio is the median of pairs. A result is compared with torch's before
it is timed. Without torch, or without a GPU, only --check works: it runs every program at a small
size on the emulator and compares it with the interpreter. Prints a table for
docs/performance-gpu.md.
"""

import argparse
import ctypes
import os
import random
import statistics
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# name: (program, sizes, small sizes, inputs as shapes, outputs as shapes, torch's expression)
MM = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
PROGRAMS = []


def program(name, text, sizes, small, inputs, outputs, torch_text):
    PROGRAMS.append((name, text, sizes, small, inputs, outputs, torch_text))


for m, n, k in ((128, 256, 32), (256, 256, 256), (512, 512, 512), (1024, 1024, 1024),
                (128, 1024, 1024), (4096, 4096, 4096)):
    program(f"gemm {m}x{n}x{k}", MM, {"M": m, "N": n, "K": k}, {"M": 20, "N": 33, "K": 17},
            ["M,K", "K,N"], ["M,N"], "torch.mm(a, b)")
program("tbmm", "def tbmm(float(B,N,M) X, float(B,K,M) Y) -> (Z) { Z(b,n,k) +=! X(b,n,m) * Y(b,k,m) }",
        {"B": 500, "N": 26, "M": 72, "K": 26}, {"B": 2, "N": 5, "M": 7, "K": 6},
        ["B,N,M", "B,K,M"], ["B,N,K"], "torch.bmm(a, b.transpose(1, 2))")
program("softmax", "def softmax(float(N,M) X) -> (Y, T, S) { T(i) max=! X(i,j)\n"
        " Y(i,j) = exp(X(i,j) - T(i))\n S(i) +=! Y(i,j)\n Y(i,j) = Y(i,j) / S(i) }",
        {"N": 4096, "M": 4096}, {"N": 3, "M": 40}, ["N,M"], ["N,M", "N", "N"], "torch.softmax(a, 1)")
program("axpy", "def axpy(float(N) X, float(N) Y) -> (Z) { Z(i) = 2.5 * X(i) + Y(i) }",
        {"N": 1 << 26}, {"N": 1000}, ["N", "N"], ["N"], "torch.add(b, a, alpha=2.5)")
program("row sums", "def rowsum(float(N,M) X) -> (S) { S(i) +=! X(i,j) }", {"N": 4096, "M": 4096},
        {"N": 7, "M": 50}, ["N,M"], ["N"], "a.sum(1)")
program("column sums", "def colsum(float(N,M) X) -> (S) { S(j) +=! X(i,j) }", {"N": 4096, "M": 4096},
        {"N": 50, "M": 7}, ["N,M"], ["M"], "a.sum(0)")
program("transpose", "def transpose(float(N,M) X) -> (Y) { Y(j,i) = X(i,j) }", {"N": 4096, "M": 4096},
        {"N": 33, "M": 20}, ["N,M"], ["M,N"], "a.t().contiguous()")


# --- The library through ctypes ------------------------------------------------------------------

class Type(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("dtype", Type), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Size(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("value", ctypes.c_int64)]


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("backend", ctypes.c_int), ("accumulate", ctypes.c_bool),
                ("skip_post", ctypes.c_bool), ("trap", ctypes.c_bool), ("timing", ctypes.c_void_p),
                ("schedule", ctypes.c_char_p), ("schedule_name", ctypes.c_char_p),
                ("seconds", ctypes.c_double), ("threads", ctypes.c_int), ("isa", ctypes.c_char_p),
                ("device", ctypes.c_char_p), ("stream", ctypes.c_void_p)]


class Library:
    def __init__(self, build):
        self.so = ctypes.CDLL(os.path.join(build, "libloopwright.so"))
        self.so.lw_context_new.restype = self.so.lw_module_function.restype = ctypes.c_void_p
        self.so.lw_diag_text.restype = ctypes.c_char_p
        self.so.lw_module_function.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        self.context = ctypes.c_void_p(self.so.lw_context_new(None))

    def check(self, status):
        if status:
            raise RuntimeError(self.so.lw_diag_text(self.context).decode())

    def bind(self, text, sizes):
        module, bound = ctypes.c_void_p(), ctypes.c_void_p()
        data = text.encode()
        self.check(self.so.lw_parse(self.context, b"bench.tc", data, ctypes.c_size_t(len(data)), None,
                                    ctypes.byref(module)))
        function = ctypes.c_void_p(self.so.lw_module_function(module, 0))
        list_ = (Size * len(sizes))(*[Size(n.encode(), v) for n, v in sizes.items()])
        self.check(self.so.lw_bind(self.context, function, list_, ctypes.c_size_t(len(sizes)),
                                   ctypes.byref(bound)))
        return bound

    def run(self, bound, tensors, device=None, backend=0, stream=None):
        pointers = (ctypes.c_void_p * len(tensors))(*[ctypes.addressof(t) for t in tensors])
        options = Options(struct_size=ctypes.sizeof(Options), backend=backend,
                          device=device.encode() if device else None, stream=stream)
        self.check(self.so.lw_run(self.context, bound, pointers, ctypes.c_size_t(len(tensors)),
                                  ctypes.byref(options)))


def tensor(address, shape, cuda):
    sizes = (ctypes.c_int64 * max(1, len(shape)))(*shape)
    t = Tensor(address, 2 if cuda is not None else 1, cuda or 0, len(shape), Type(2, 32, 1), sizes, None, 0)
    t.keep = sizes
    return t


def shapes(list_, sizes):
    return [[sizes[n] for n in s.split(",")] for s in list_]


# --- Checking without a GPU ----------------------------------------------------------------------

def elements(shape):
    n = 1
    for s in shape:
        n *= s
    return n


def check(library, only):
    failed = 0
    for name, text, _, small, inputs, outputs, _ in PROGRAMS:
        if only and not any(o in name for o in only):
            continue
        draw = random.Random(1)
        bound = library.bind(text, small)
        ins = [(ctypes.c_float * elements(s))(*[draw.randint(-4, 4) for _ in range(elements(s))])
               for s in shapes(inputs, small)]
        results = []
        for where in ({"backend": 1}, {"device": "emulate"}):
            outs = [(ctypes.c_float * elements(s))() for s in shapes(outputs, small)]
            args = [tensor(ctypes.addressof(b), s, None)
                    for b, s in zip(ins + outs, shapes(inputs + outputs, small))]
            library.run(bound, args, **where)
            results.append([list(o) for o in outs])
        same = all(abs(x - y) <= 1e-5 * max(1, abs(x)) for a, b in zip(*results) for x, y in zip(a, b))
        failed += not same
        print(f"{name:<24} {'right' if same else 'WRONG'}")
    return failed


# --- Timing --------------------------------------------------------------------------------------

def graph(torch, stream, run, times):
    with torch.cuda.stream(stream):
        for _ in range(3):
            run()
    torch.cuda.synchronize()
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g, stream=stream, capture_error_mode="relaxed"):
        for _ in range(times):
            run()
    return g


def once(torch, g):
    a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    a.record()
    g.replay()
    b.record()
    b.synchronize()
    return 1e3 * a.elapsed_time(b)


def time_one(torch, library, device, row):
    name, text, sizes, _, inputs, outputs, expression = row
    number = int(device.split(":")[1]) if ":" in device else 0
    ins = [torch.rand(s, device=device) - 0.5 for s in shapes(inputs, sizes)]
    outs = [torch.empty(s, device=device) for s in shapes(outputs, sizes)]
    args = [tensor(t.data_ptr(), list(t.shape), number) for t in ins + outs]
    bound = library.bind(text, sizes)
    stream = torch.cuda.Stream()

    def ours():
        library.run(bound, args, device=device, stream=stream.cuda_stream)

    names = dict(zip("ab", ins), torch=torch)
    eager = eval(f"lambda torch=torch: {expression}", names)
    ours()
    torch.cuda.synchronize()
    want = eager()
    error = ((outs[0] - want).norm() / want.norm()).item()
    if not error < 1e-5:
        return f"| {name} | wrong: relative error {error:.1e} | | |"
    peers = {"torch": eager}
    try:
        torch._dynamo.reset()  # otherwise it stops compiling after eight programs
        compiled = torch.compile(eval(f"lambda a, b=None, torch=torch: {expression}", {"torch": torch}))
        compiled(*ins)
        peers["torch.compile"] = lambda: compiled(*ins)
    except Exception as why:  # no compiler for torch on this machine
        print(f"note: torch.compile of {name}: {str(why).splitlines()[0]}", file=sys.stderr)
    single = once(torch, graph(torch, stream, ours, 1))
    times = max(1, min(200, int(3000 / max(single, 1))))
    graphs = {"ours": graph(torch, stream, ours, times)}
    graphs.update({n: graph(torch, stream, p, times) for n, p in peers.items()})
    samples = {n: [] for n in graphs}
    for _ in range(17):
        for n, g in graphs.items():
            samples[n].append(once(torch, g) / times)
    median = {n: statistics.median(s[2:]) for n, s in samples.items()}
    best = min(peers, key=lambda n: median[n])
    ratio = statistics.median(p / o for p, o in zip(samples[best][2:], samples["ours"][2:]))
    return f"| {name} | {median['ours']:.2f} | {best} {median[best]:.2f} | {ratio:.2f} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--only", default="")
    parser.add_argument("--check", action="store_true", help="compare on the emulator; needs no GPU")
    o = parser.parse_args()
    only = [x for x in o.only.split(",") if x]
    library = Library(o.build)
    if o.check:
        return 1 if check(library, only) else 0
    try:
        import torch
    except ImportError:
        print("bench/gpu.py: SKIPPED: there is no torch to compare with (--check needs none)")
        return 77
    if not torch.cuda.is_available():
        print("bench/gpu.py: SKIPPED: torch sees no GPU (--check needs none)")
        return 77
    torch.backends.cuda.matmul.allow_tf32 = False
    print(f"{torch.cuda.get_device_name(0)}, torch {torch.__version__}\n")
    print("| kernel | ours us | best peer us | ratio |\n|---|---|---|---|")
    for row in PROGRAMS:
        if only and not any(x in row[0] for x in only):
            continue
        try:
            print(time_one(torch, library, o.device, row), flush=True)
        except RuntimeError as why:
            print(f"| {row[0]} | failed: {str(why).splitlines()[0]} | | |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
