#!/usr/bin/env python3
"""Loops that the passes of a machine description make, against the chosen ones.

    make bench-passes [ARGS='--machine avx512 --only mm']

Each kernel runs on one core under `--machine M` and as chosen, in turn; the ratio is that of the
medians (1: as fast as the chosen loops). The last columns are the time of all passes and of the
slowest one.
"""

import argparse
import json
import math
import os
import subprocess
import tempfile

MM = "def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k)*B(k,n) }"
MMT = "def f(float(M,K) A, float(N,K) B) -> (C) { C(m,n) +=! A(m,k)*B(n,k) }"
BIAS = "def f(float(M,K) A, float(K,N) B, float(N) b) -> (D) {" \
       " C(m,n) +=! A(m,k)*B(k,n) D(m,n) = fmax(C(m,n) + b(n), 0.0) }"
MV = "def f(float(M,K) A, float(K) x) -> (y) { y(m) +=! A(m,k)*x(k) }"
CONV = "def f(float(N,C,H,W) I, float(F,C,KH,KW) K) -> (O) {" \
       " O(n,f,h,w) +=! I(n,c, h + kh, w + kw) * K(f,c,kh,kw) }"
PADDED = "def f(float(N,C,H,W) I, float(F,C,KH,KW) K) -> (O) {" \
         " O(n,f,h,w) +=! pad(I(n,c, h + kh - 1, w + kw - 1)) * K(f,c,kh,kw) where h in 0:H, w in 0:W }"
ADD = "def f(float(N) A, float(N) B) -> (C) { C(i) = fmax(A(i) + B(i), 0.0) }"
CASES = [
    ("mm 64", MM, "M=64,N=64,K=64"),
    ("mm 512", MM, "M=512,N=512,K=512"),
    ("mm 1024", MM, "M=1024,N=1024,K=1024"),
    ("mm transposed 256", MMT, "M=256,N=256,K=256"),
    ("mm bias relu 512", BIAS, "M=512,N=512,K=512"),
    ("mv 1000", MV, "M=1000,K=1000"),
    ("conv 64x56x56 3x3", CONV, "N=1,C=64,F=64,H=58,W=58,KH=3,KW=3"),
    ("conv 256x14x14 3x3", CONV, "N=1,C=256,F=256,H=16,W=16,KH=3,KW=3"),
    ("conv padded 64x56x56", PADDED, "N=1,C=64,F=64,H=56,W=56,KH=3,KW=3"),
    ("add relu 1M", ADD, "N=1000000"),
]


def call(command, *words):
    done = subprocess.run([command, *words, "--json"], capture_output=True, text=True)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--loopwright", default="build/loopwright")
    parser.add_argument("--machine", default="avx512")
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    ratios = []
    print("%-24s %12s %12s %7s %12s %12s" % ("", "passes, us", "chosen, us", "ratio", "all passes", "slowest"))
    for name, text, sizes in CASES:
        if args.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "f.tc")
            with open(file, "w", encoding="utf-8") as out:
                out.write(text + "\n")
            how = [file, "--size", sizes]
            run = ["run", *how, "--threads", "1", "--time", "--db", "none"]
            best = [math.inf, math.inf]
            for _ in range(args.rounds):
                for i, more in enumerate((["--machine", args.machine], [])):
                    best[i] = min(best[i], call(args.loopwright, *run, *more)["time_us"]["median"])
            steps = call(args.loopwright, "passes", *how, "--machine", args.machine)["passes"]
        times = [s["us"] for s in steps]
        ratios.append(best[1] / best[0])
        print("%-24s %12.1f %12.1f %7.2f %9.0f us %9.0f us" % (name, *best, ratios[-1], sum(times), max(times)))
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print("%-24s %12s %12s %7.2f" % ("geometric mean", "", "", mean))


if __name__ == "__main__":
    main()
