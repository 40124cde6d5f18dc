#!/usr/bin/env python3
"""The kernels of the TeML paper (Table 2) at its sizes: paths as C and as machine code, and no path.

    make bench-teml [ARGS='--only mttkrp --seconds 1']

Every number is a speed-up over sequential C: the assignments as loops in the order of the text, by
gcc -O3 -march=native. `C` is the C of a path by the same compiler with OpenMP, `jit` the machine
code of `loopwright run`; `own` has no path (--no-path): Loopwright chooses the loops. One thread by
its processor time (medians), then two by the clock (the best). The last lines compare: the machine code of each path with its C, the
transposed mttkrp with Table 2's path, and the choice with the fastest path.
"""

import argparse
import array
import ctypes
import json
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
FLAGS = ["-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC"]


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder, self.count = options, folder, 0

    def loopwright(self, *words):
        command = [self.options.loopwright, *words]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit("%s\n%s%s" % (" ".join(command), done.stdout, done.stderr))
        return done.stdout

    def library(self, source, name, more, openmp):
        """The C of a function, compiled: its kernel and its signature."""
        self.count += 1
        base = os.path.join(self.folder, "k%d" % self.count)
        self.loopwright("compile", *source, "--def", name, "--emit", "c", "-o", base + ".c", *more)
        flags = FLAGS + (["-fopenmp"] if openmp else [])
        subprocess.run(["gcc", *flags, base + ".c", "-o", base + ".so", "-lm"], check=True)
        with open(base + ".h", encoding="utf-8") as file:
            shapes = re.search(r"^// %s: (.*)$" % name, file.read(), re.M).group(1)
        sizes = [math.prod(int(n) for n in dims.split(",") if n.strip())
                 for dims in re.findall(r"f64\[([^\]]*)\]", shapes)]
        return getattr(ctypes.CDLL(base + ".so"), name + "_kernel"), sizes

    def time_c(self, source, name, more=(), threads=0):
        kernel, sizes = self.library(source, name, more, threads > 0)
        if threads:
            ctypes.CDLL("libgomp.so.1").omp_set_num_threads(threads)
        pattern = array.array("d", [0.25 * (k % 7) + 0.5 for k in range(1001)])
        data = [(pattern * (n // 1001 + 1))[:n] for n in sizes]
        buffers = (ctypes.c_void_p * len(data))(*[d.buffer_info()[0] for d in data])
        env, scratch = (ctypes.c_uint32 * 64)(), ctypes.create_string_buffer(1 << 20)
        took, began = [], time.perf_counter()
        clock = time.perf_counter if threads > 1 else time.thread_time  # as `loopwright run --time`
        while not took or (time.perf_counter() - began < self.options.seconds and len(took) < 30):
            start = clock()
            kernel(buffers, scratch, env)
            took.append(clock() - start)
        return (min if threads > 1 else statistics.median)(took[1:] or took)

    def time_jit(self, source, name, threads, more=()):
        out = self.loopwright("run", *source, "--def", name, "--time", "--json", "--threads",
                              str(threads), "--db", "none", *more)
        return json.loads(out)["time_us"]["best" if threads > 1 else "median"] * 1e-6


def one_round(bench, source, paths):
    """Seconds of each variant: C and jit on one thread, then on two; "C" is sequential."""
    first = paths[0][1]
    times = {"C": [bench.time_c(source, first, ["--no-path", "--schedule", "naive"])]}
    for label, function in paths:
        times[label] = [t for threads in (1, 2) for t in
                        (bench.time_c(source, function, threads=threads), bench.time_jit(source, function, threads))]
    times["own"] = [t for threads in (1, 2) for t in
                    (math.nan, bench.time_jit(source, first, threads, ["--no-path"]))]
    return times


def measure(bench, name, sizes, paths):
    source = [os.path.join(bench.options.examples, name + ".teml"), "--size", sizes]
    rounds = [one_round(bench, source, paths) for _ in range(bench.options.rounds)]
    median = {label: [statistics.median(times[label][k] for times in rounds) for k in range(len(row))]
              for label, row in rounds[0].items()}
    sequential = median.pop("C")[0]
    print("%-8s %-34s sequential C %8.1f ms" % (name, sizes, 1e3 * sequential), flush=True)
    rows = {label: [sequential / t for t in row] for label, row in median.items()}
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
    parser.add_argument("--rounds", type=int, default=3, help="over all variants of a kernel; the medians count")
    parser.add_argument("--seconds", type=float, default=1, help="of each measurement of C")
    options = parser.parse_args()
    wanted = options.only.split(",") if options.only else [k[0] for k in KERNELS]
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        compare({k[0]: measure(bench, *k) for k in KERNELS if k[0] in wanted})


if __name__ == "__main__":
    main()
