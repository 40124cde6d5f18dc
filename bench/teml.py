#!/usr/bin/env python3
"""The kernels of the TeML paper (Table 2) at its sizes: paths as C and as machine code, and no path.

    make bench-teml [ARGS='--only mttkrp --seconds 5']

Every number is a speed-up over sequential C: the assignments as loops in the order of the text, by
gcc -O3 -march=native. `C` is the C of a path by the same compiler with OpenMP, `jit` its machine
code (`compile --emit obj`); `own` has no path (--no-path): Loopwright chooses the loops. All of them
run in turn in one process, on the same arrays and threads (those of OpenMP). One thread by its
processor time (medians), then two by the clock (the best). The last lines compare: the machine code
of each path with its C, the transposed mttkrp with Table 2's path, and the choice with the fastest path.
"""

import argparse
import ctypes
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

# The rank of sddmm's factors and the channels of a group of gconv are not in the paper.
KERNELS = [
    ("mttkrp", "I=250,J=250,K=250,L=250", [("Table 2", "pluto"), ("5.3", "transposed")]),
    ("sddmm", "M=4096,N=4096,K=32", [("Table 2", "sddmm")]),
    ("bmm", "T=8192", [("Table 2", "bmm")]),
    ("gconv", "N=32,G=32,C=1,H=32,R=7", [("Table 2", "gconv"), ("5.3", "unrolled")]),
    ("interp", "N=50000", [("Table 2", "interp"), ("5.3", "permuted")]),
    ("helm", "N=5000", [("Table 2", "helm"), ("5.3", "permuted")]),
    ("coars", "M=4096,N=4096", [("Table 2", "coars")]),
]
FLAGS = ["-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC", "-fopenmp"]

# Arrays as large programs have them, whose beginnings differ within a page, and calls of kernels.
CALLER = r"""
#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include "kernel.h"

static int threads_of(const struct KernelEnv *env, int (*body)(void *, int64_t, int64_t, int), void *arg,
                      int64_t count, int64_t grain) {
    int status = 0;
    (void)grain;
    #pragma omp parallel num_threads(env->threads) reduction(max : status)
    {
        int64_t n = omp_get_num_threads(), t = omp_get_thread_num();
        int64_t from = count * t / n, to = count * (t + 1) / n;
        if (from < to) status = body(arg, from, to, (int)t);
    }
    return status;
}

double *array_new(int64_t n, int64_t number) {
    char *p = aligned_alloc(4096, (size_t)(n * 8 / 4096 + 2) * 4096);
    double *data = (double *)(p + number * 17 * 64 % 4096);
    for (int64_t i = 0; p && i < n; i++) data[i] = 0.25 * (i % 1001 % 7) + 0.5;
    return p ? data : NULL;
}

void array_free(double *data, int64_t number) { free((char *)data - number * 17 * 64 % 4096); }

double seconds_of(int (*kernel)(void *const *, void *, const struct KernelEnv *), void *const *buffers,
                  void *scratch, int threads) {
    struct KernelEnv env = {.threads = threads, .parallel_for = threads_of};
    clockid_t clock = threads > 1 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID; // as `run --time`
    struct timespec a, b;
    omp_set_num_threads(threads);
    clock_gettime(clock, &a);
    int status = kernel(buffers, scratch, &env);
    clock_gettime(clock, &b);
    return status ? -1 : (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
}
"""


def run(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit("%s\n%s%s" % (" ".join(words), done.stdout, done.stderr))


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder, self.count, self.calls, self.arrays = options, folder, 0, None, {}

    def compile(self, source, name, emit, more):
        """A function's kernel, the sizes of its arrays, and the bytes of scratch memory."""
        self.count += 1
        base = os.path.join(self.folder, "k%d" % self.count)
        output = base + (".c" if emit == "c" else ".o")
        run(self.options.loopwright, "compile", *source, "--def", name, "--emit", emit, "-o", output,
            "--db", "none", *more)
        run("gcc", *FLAGS, output, "-o", base + ".so", "-lm")
        with open(base + ".h", encoding="utf-8") as file:
            text = file.read()
        if emit == "obj" and not self.calls:
            self.calls = self.caller(text)  # the header of C does not define KernelEnv
        shapes = re.search(r"^// %s: (.*)$" % name, text, re.M).group(1)
        sizes = tuple(math.prod(int(n) for n in dims.split(",") if n.strip())
                      for dims in re.findall(r"f64\[([^\]]*)\]", shapes))
        scratch = sum(int(n) for n in re.findall(r"scratch +INT64_C\((\d+)\)", text))
        return getattr(ctypes.CDLL(base + ".so"), name + "_kernel"), sizes, scratch // 8 + 512

    def caller(self, header):
        base = os.path.join(self.folder, "caller")
        with open(os.path.join(self.folder, "kernel.h"), "w", encoding="utf-8") as file:
            file.write(header)
        with open(base + ".c", "w", encoding="utf-8") as file:
            file.write(CALLER)
        run("gcc", *FLAGS, base + ".c", "-o", base + ".so")
        calls = ctypes.CDLL(base + ".so")
        calls.array_new.restype, calls.array_new.argtypes = ctypes.c_void_p, [ctypes.c_int64] * 2
        calls.array_free.argtypes = [ctypes.c_void_p, ctypes.c_int64]
        calls.seconds_of.restype = ctypes.c_double
        return calls

    def array(self, size, number):
        if (size, number) not in self.arrays:
            self.arrays[size, number] = self.calls.array_new(size, number)
        return self.arrays[size, number]

    def free(self):
        for (_, number), data in self.arrays.items():
            self.calls.array_free(data, number)
        self.arrays = {}

    def seconds(self, variant, threads):
        kernel, sizes, scratch = variant
        data = (ctypes.c_void_p * len(sizes))(*[self.array(n, k) for k, n in enumerate(sizes)])
        memory = ctypes.c_void_p(self.array(scratch, 0))
        took = [self.calls.seconds_of(kernel, data, memory, threads) for _ in range(2)]
        if min(took) < 0:
            sys.exit("a kernel failed")
        return took[1]


def variants_of(bench, source, paths, threads):
    """By label and "C" or "jit"; the sequential C has no label."""
    serial = ["--no-path", "--schedule", "naive"]
    made = {("", "C"): bench.compile(source, paths[0][1], "c", serial)}
    for label, function in paths:
        made[label, "C"] = bench.compile(source, function, "c", [])
        made[label, "jit"] = bench.compile(source, function, "obj", ["--threads", str(threads)])
    made["own", "jit"] = bench.compile(source, paths[0][1], "obj", ["--no-path", "--threads", str(threads)])
    return made


def times_of(bench, source, paths, threads):
    made = variants_of(bench, source, paths, threads)
    times = {which: [] for which in made}
    began = time.perf_counter()
    while len(times["own", "jit"]) < 3 or time.perf_counter() - began < bench.options.seconds:
        for which, variant in made.items():
            if which[0] or threads == 1:
                times[which].append(bench.seconds(variant, threads))
    best = min if threads > 1 else statistics.median
    return {which: best(took) for which, took in times.items() if took}


def measure(bench, name, sizes, paths):
    source = [os.path.join(bench.options.examples, name + ".teml"), "--size", sizes]
    one, two = (times_of(bench, source, paths, threads) for threads in (1, 2))
    bench.free()
    sequential = one["", "C"]
    print("%-8s %-34s sequential C %8.1f ms" % (name, sizes, 1e3 * sequential), flush=True)
    rows = {label: [sequential / times.get((label, kind), math.nan) for times in (one, two) for kind in ("C", "jit")]
            for label in [path[0] for path in paths] + ["own"]}
    for label, row in rows.items():
        cells = ["%8s" % ("" if math.isnan(n) else "%.2f" % n) for n in row]
        print("  %-8s 1 thread: C %s  jit %s    2 threads: C %s  jit %s" % (label, *cells), flush=True)
    return rows


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def compare(results):
    jit, own = [], []
    for name, rows in results.items():
        paths = [row for label, row in rows.items() if label != "own"]
        for at in (0, 2):
            best_c, best_jit = max(row[at] for row in paths), max(row[at + 1] for row in paths)
            jit.append(best_jit / best_c)
            own.append(rows["own"][at + 1] / max(best_c, best_jit))
            print("%-8s %d thread%s: fastest path as jit / as C %6.2f; own / fastest path %6.2f" % (
                name, at // 2 + 1, " " if at == 0 else "s", jit[-1], own[-1]))
    print("geometric means: jit / C %.2f (least %.2f), own / fastest path %.2f (least %.2f)" % (
        mean(jit), min(jit), mean(own), min(own)))
    if "mttkrp" in results:
        rows = results["mttkrp"]
        print("mttkrp, transposed / Table 2: C %.2f, jit %.2f" % (
            rows["5.3"][0] / rows["Table 2"][0], rows["5.3"][1] / rows["Table 2"][1]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--loopwright", default="build/loopwright")
    parser.add_argument("--examples", default="examples/teml")
    parser.add_argument("--only", default="", help="kernels, separated by commas")
    parser.add_argument("--seconds", type=float, default=5, help="for each kernel and number of threads")
    options = parser.parse_args()
    wanted = options.only.split(",") if options.only else [k[0] for k in KERNELS]
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        compare({k[0]: measure(bench, *k) for k in KERNELS if k[0] in wanted})


if __name__ == "__main__":
    main()
