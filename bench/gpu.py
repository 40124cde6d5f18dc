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
import collections
import ctypes
import os
import random
import statistics
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# A Program of the table: its text, sizes, small sizes for --check, shapes of inputs and outputs, and
# torch's expression over the inputs a, b, c ... Inputs "I:B,L<E" are indices below E. The last
# output is compared.
Row = collections.namedtuple("Row", "name text sizes small inputs outputs torch")
PROGRAMS = []


def program(name, text, sizes, small, inputs, outputs, torch_text):
    PROGRAMS.append(Row(name, text, sizes, small, inputs, outputs, torch_text))


MM = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
for m, n, k in ((128, 256, 32), (256, 256, 256), (512, 512, 512), (1024, 1024, 1024),
                (128, 1024, 1024), (4096, 4096, 4096), (1000, 1000, 1000)):
    program(f"gemm {m}x{n}x{k}", MM, {"M": m, "N": n, "K": k}, {"M": 20, "N": 33, "K": 17},
            ["M,K", "K,N"], ["M,N"], "torch.mm(a, b)")
program("tbmm", "def tbmm(float(B,N,M) X, float(B,K,M) Y) -> (Z) { Z(b,n,k) +=! X(b,n,m) * Y(b,k,m) }",
        {"B": 500, "N": 26, "M": 72, "K": 26}, {"B": 2, "N": 5, "M": 7, "K": 6},
        ["B,N,M", "B,K,M"], ["B,N,K"], "torch.bmm(a, b.transpose(1, 2))")
for c, h in ((4, 56), (8, 28), (16, 14), (32, 7)):
    program(f"gconv C{c}", "def gconv(float(N,G,C,H,W) I, float(G,F,C,KH,KW) V) -> (O) {\n"
            " O(n,g,f,h,w) +=! I(n,g,c,h + kh,w + kw) * V(g,f,c,kh,kw) }",
            {"N": 32, "G": 32, "C": c, "F": c, "H": h + 2, "W": h + 2, "KH": 3, "KW": 3},
            {"N": 2, "G": 2, "C": 3, "F": 4, "H": 8, "W": 7, "KH": 3, "KW": 3},
            ["N,G,C,H,W", "G,F,C,KH,KW"], ["N,G,F,H-KH+1,W-KW+1"],
            "torch.nn.functional.conv2d(a.flatten(1, 2), b.flatten(0, 1), groups=32).view("
            f"32, 32, {c}, {h}, {h})")
for c, f, h in ((64, 256, 56), (512, 128, 28)):
    program(f"conv 1x1 {c}->{f}@{h}", "def conv1(float(N,C,H,W) I, float(F,C) V) -> (O) {\n"
            " O(n,f,h,w) +=! I(n,c,h,w) * V(f,c) }", {"N": 32, "C": c, "F": f, "H": h, "W": h},
            {"N": 2, "C": 17, "F": 20, "H": 5, "W": 7}, ["N,C,H,W", "F,C"], ["N,F,H,W"],
            "torch.nn.functional.conv2d(a, b[:, :, None, None])")
program("1LUT", "def lut(float(E,D) T, int32(B,L) I) -> (O) { O(b,d) +=! T(I(b,l),d) }",
        {"E": 10000000, "D": 64, "B": 128, "L": 50}, {"E": 9, "D": 8, "B": 3, "L": 5},
        ["E,D", "B,L<E"], ["B,D"], "torch.nn.functional.embedding_bag(b, a, mode='sum')")
program("2LUT", "def lut2(float(E,D) T, int32(B,L) I, float(G,D) U, int32(B,L) J) -> (O, P) {\n"
        " O(b,d) +=! T(I(b,l),d)\n P(b,d) +=! U(J(b,l),d) }",
        {"E": 10000000, "G": 10000000, "D": 64, "B": 128, "L": 50},
        {"E": 9, "G": 7, "D": 8, "B": 3, "L": 5}, ["E,D", "B,L<E", "G,D", "B,L<G"], ["B,D", "B,D"],
        "(torch.nn.functional.embedding_bag(b, a, mode='sum'), "
        "torch.nn.functional.embedding_bag(d, c, mode='sum'))")
program("C3", "def c3(float(B,X) I, float(Y,X) W) -> (O) { O(b,y) +=! I(b,x) * W(y,x) }",
        {"B": 128, "X": 1000, "Y": 1024}, {"B": 17, "X": 20, "Y": 33}, ["B,X", "Y,X"], ["B,Y"],
        "torch.mm(a, b.t())")
program("MLP1", "def mlp1(float(B,M) I, float(O,M) W, float(O) b) -> (R) { R(n,o) +=! I(n,m) * W(o,m)\n"
        " R(n,o) = fmax(R(n,o) + b(o), 0.0) }", {"B": 128, "M": 2000, "O": 128},
        {"B": 17, "M": 20, "O": 33}, ["B,M", "O,M", "O"], ["B,O"],
        "torch.relu(torch.nn.functional.linear(a, b, c))")
program("MLP3", "def mlp3(float(B,N) I, float(O,N) W2, float(O) B2, float(P,O) W3, float(P) B3,\n"
        " float(Q,P) W4, float(Q) B4) -> (O4) {\n"
        " O2(b,o) +=! I(b,n) * W2(o,n)\n O2(b,o) = fmax(O2(b,o) + B2(o), 0.0)\n"
        " O3(b,p) +=! O2(b,o) * W3(p,o)\n O3(b,p) = fmax(O3(b,p) + B3(p), 0.0)\n"
        " O4(b,q) +=! O3(b,p) * W4(q,p)\n O4(b,q) = fmax(O4(b,q) + B4(q), 0.0) }",
        {"B": 128, "N": 128, "O": 64, "P": 32, "Q": 2}, {"B": 5, "N": 24, "O": 20, "P": 17, "Q": 2},
        ["B,N", "O,N", "O", "P,O", "P", "Q,P", "Q"], ["B,Q"],
        "torch.relu(torch.nn.functional.linear(torch.relu(torch.nn.functional.linear(torch.relu("
        "torch.nn.functional.linear(a, b, c)), d, e)), f, g))")
program("attention", "def attention(float(B,N,D) Q, float(B,M,D) K, float(B,M,D) V) -> (O) {\n"
        " S(b,i,j) +=! Q(b,i,d) * K(b,j,d)\n T(b,i) max=! S(b,i,j)\n"
        " S(b,i,j) = exp(0.125 * (S(b,i,j) - T(b,i)))\n Z(b,i) +=! S(b,i,j)\n"
        " O(b,i,d) +=! S(b,i,j) * V(b,j,d)\n O(b,i,d) = O(b,i,d) / Z(b,i) }",
        {"B": 8, "N": 1024, "M": 1024, "D": 64}, {"B": 2, "N": 33, "M": 40, "D": 16},
        ["B,N,D", "B,M,D", "B,M,D"], ["B,N,D"],
        "torch.nn.functional.scaled_dot_product_attention(a, b, c, scale=0.125)")
program("softmax", "def softmax(float(N,M) X) -> (Y) { T(i) max=! X(i,j)\n"
        " E(i,j) = exp(X(i,j) - T(i))\n S(i) +=! E(i,j)\n Y(i,j) = E(i,j) / S(i) }",
        {"N": 4096, "M": 4096}, {"N": 3, "M": 40}, ["N,M"], ["N,M"], "torch.softmax(a, 1)")
program("layer norm", "def layernorm(float(N,M) X) -> (Y) { T(i) +=! X(i,j)\n"
        " V(i) +=! (X(i,j) - T(i) / M) * (X(i,j) - T(i) / M)\n"
        " Y(i,j) = (X(i,j) - T(i) / M) * rsqrt(V(i) / M + 0.00001) }", {"N": 4096, "M": 4096},
        {"N": 3, "M": 40}, ["N,M"], ["N,M"], "torch.nn.functional.layer_norm(a, a.shape[1:])")
program("axpy", "def axpy(float(N) X, float(N) Y) -> (Z) { Z(i) = 2.5 * X(i) + Y(i) }",
        {"N": 1 << 26}, {"N": 1000}, ["N", "N"], ["N"], "torch.add(b, a, alpha=2.5)")
program("chain", "def chain(float(N,M) X, float(N,M) Y) -> (Z) { Z(i,j) = tanh(X(i,j)) * exp(Y(i,j)) + 1.0 }",
        {"N": 4096, "M": 4096}, {"N": 13, "M": 40}, ["N,M", "N,M"], ["N,M"],
        "torch.tanh(a) * torch.exp(b) + 1.0")
program("gather", "def gather(float(E,D) T, int32(B) I) -> (O) { O(b,d) = T(I(b),d) }",
        {"E": 1000000, "D": 64, "B": 100000}, {"E": 9, "D": 8, "B": 30}, ["E,D", "B<E"], ["B,D"],
        "torch.index_select(a, 0, b)")
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


class Timing(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("backend", ctypes.c_int), ("compile_us", ctypes.c_double),
                ("run_us", ctypes.c_double), ("median_us", ctypes.c_double)]


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

    def run(self, bound, tensors, device=None, backend=0, stream=None, seconds=0):
        """Runs; with `seconds`, measures for that time and returns the median in microseconds."""
        pointers = (ctypes.c_void_p * len(tensors))(*[ctypes.addressof(t) for t in tensors])
        timing = Timing(struct_size=ctypes.sizeof(Timing))
        options = Options(struct_size=ctypes.sizeof(Options), backend=backend, seconds=seconds,
                          timing=ctypes.addressof(timing) if seconds else None,
                          device=device.encode() if device else None, stream=stream)
        self.check(self.so.lw_run(self.context, bound, pointers, ctypes.c_size_t(len(tensors)),
                                  ctypes.byref(options)))
        return timing.median_us


def tensor(address, shape, cuda, index=False):
    sizes = (ctypes.c_int64 * max(1, len(shape)))(*shape)
    t = Tensor(address, 2 if cuda is not None else 1, cuda or 0, len(shape), Type(0 if index else 2, 32, 1),
               sizes, None, 0)
    t.keep = sizes
    return t


def shapes(list_, sizes):
    """Shapes of "M,K" or, with the limit of its indices behind, "B,L<E": pairs (shape, limit or None)."""
    result = []
    for text in list_:
        shape, _, limit = text.partition("<")
        result.append(([eval(n, {}, sizes) for n in shape.split(",")], sizes[limit] if limit else None))
    return result


# --- Checking without a GPU ----------------------------------------------------------------------

def elements(shape):
    n = 1
    for s in shape:
        n *= s
    return n


def draw(source, shape, limit):
    n = elements(shape)
    if limit is not None:
        return (ctypes.c_int32 * n)(*[source.randrange(limit) for _ in range(n)])
    return (ctypes.c_float * n)(*[source.randint(-4, 4) for _ in range(n)])


def check(library, only):
    failed = 0
    for row in PROGRAMS:
        if only and not any(o in row.name for o in only):
            continue
        source = random.Random(1)
        bound = library.bind(row.text, row.small)
        ins = [(draw(source, *s), *s) for s in shapes(row.inputs, row.small)]
        results = []
        for where in ({"backend": 1}, {"device": "emulate"}):
            outs = [((ctypes.c_float * elements(s))(), s, None) for s, _ in shapes(row.outputs, row.small)]
            args = [tensor(ctypes.addressof(b), s, None, limit is not None) for b, s, limit in ins + outs]
            library.run(bound, args, **where)
            results.append([list(o) for o, _, _ in outs])
        same = all(abs(x - y) <= 1e-5 * max(1, abs(x)) for a, b in zip(*results) for x, y in zip(a, b))
        failed += not same
        print(f"{row.name:<24} {'right' if same else 'WRONG'}")
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


def sampler(torch, stream, run, times):
    g = graph(torch, stream, run, times)
    return lambda: once(torch, g) / times


def names_of(list_):
    return "abcdefgh"[:len(list_)]


def time_one(torch, library, device, row):
    number = int(device.split(":")[1]) if ":" in device else 0
    ins = [torch.rand(s, device=device) - 0.5 if limit is None else
           torch.randint(0, limit, s, device=device, dtype=torch.int32)
           for s, limit in shapes(row.inputs, row.sizes)]
    outs = [torch.empty(s, device=device) for s, _ in shapes(row.outputs, row.sizes)]
    args = [tensor(t.data_ptr(), list(t.shape), number, t.dtype == torch.int32) for t in ins + outs]
    bound = library.bind(row.text, row.sizes)
    stream = torch.cuda.Stream()

    def ours():
        library.run(bound, args, device=device, stream=stream.cuda_stream)

    function = eval(f"lambda {', '.join(names_of(ins))}: {row.torch}", {"torch": torch})
    ours()
    torch.cuda.synchronize()
    want = function(*ins)
    want = want[-1] if isinstance(want, tuple) else want
    error = ((outs[-1] - want).norm() / want.norm()).item()
    if not error < 1e-5:
        return f"| {row.name} | wrong: relative error {error:.1e} | | |"
    peers = {"torch": lambda: function(*ins)}
    try:
        torch._dynamo.reset()  # otherwise it stops compiling after eight programs
        compiled = torch.compile(function)
        compiled(*ins)
        peers["torch.compile"] = lambda: compiled(*ins)
    except Exception as why:  # no compiler for torch on this machine
        print(f"note: torch.compile of {row.name}: {str(why).splitlines()[0]}", file=sys.stderr)
    # A run that checks indices waits for its status word, which a capture refuses: the library makes
    # the graph.
    checks = any(limit is not None for _, limit in shapes(row.inputs, row.sizes))
    measured = lambda: library.run(bound, args, device=device, stream=stream.cuda_stream, seconds=0.005)
    single = measured() if checks else once(torch, graph(torch, stream, ours, 1))
    times = max(1, min(200, int(3000 / max(single, 1))))
    samplers = {"ours": measured if checks else sampler(torch, stream, ours, times)}
    samplers.update({n: sampler(torch, stream, p, times) for n, p in peers.items()})
    samples = {n: [] for n in samplers}
    for _ in range(17):
        for n, sample in samplers.items():
            samples[n].append(sample())
    median = {n: statistics.median(s[2:]) for n, s in samples.items()}
    best = min(peers, key=lambda n: median[n])
    ratio = statistics.median(p / o for p, o in zip(samples[best][2:], samples["ours"][2:]))
    return f"| {row.name} | {median['ours']:.2f} | {best} {median[best]:.2f} | {ratio:.2f} |"


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
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    print(f"{torch.cuda.get_device_name(0)}, torch {torch.__version__}\n")
    print("| kernel | ours us | best peer us | ratio |\n|---|---|---|---|")
    for row in PROGRAMS:
        if only and not any(x in row.name for x in only):
            continue
        try:
            print(time_one(torch, library, o.device, row), flush=True)
        except RuntimeError as why:
            print(f"| {row.name} | failed: {str(why).splitlines()[0]} | | |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
