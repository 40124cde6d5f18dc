#!/usr/bin/env python3
"""The time that passes of machine descriptions take.

    make bench-passes [ARGS='--quick --only square']

`loopwright bench --machine` compares the loops that they make with the chosen ones; this prints how
long making them takes: autotile of a convolution, all passes of a layer, all passes of a program of
20 statements.
"""

import argparse
import json
import os
import subprocess
import tempfile

CONV = """def conv(float(H,W,C) I, float(3,3,C,K) F) -> (O) {
    O(h,w,k) +=! pad(I(h + r - 1, w + s - 1, c)) * F(r,s,c,k) where h in 0:H, w in 0:W
}
"""
LAYER = """def layer(float(H,W,C) I, float(3,3,C,K) F, float(K) b) -> (O) {
    T(h,w,k) +=! pad(I(h + r - 1, w + s - 1, c)) * F(r,s,c,k) where h in 0:H, w in 0:W
    O(h,w,k) = fmax(T(h,w,k) + b(k), 0.0)
}
"""


def network(layers):
    """A chain of products, each with bias and relu: two statements a layer."""
    text = "def net(float(B,D) X, float(L,D,D) W, float(L,D) b) -> (Y%d) {\n" % (layers - 1)
    for i in range(layers):
        before = "Y%d" % (i - 1) if i else "X"
        text += "    T%d(n,o) +=! %s(n,k) * W(%d,k,o)\n" % (i, before, i)
        text += "    Y%d(n,o) = fmax(T%d(n,o) + b(%d,o), 0.0)\n" % (i, i, i)
    return text + "}\n"


AUTOTILE = """machine bench "one memory of 192 KiB"
memory DRAM line=64
memory SRAM in=DRAM size=192KiB line=64
pass flatten
pass autotile as=tile reqs=#contraction fits=SRAM
"""
RESNET = "H=56,W=56,C=64,K=64"
CASES = [
    ("autotile of a convolution", CONV, RESNET, AUTOTILE, "tile", 2),
    ("a layer, avx512", LAYER, RESNET, "avx512", None, 10),
    ("a layer, accelerator", LAYER, RESNET, "accelerator", None, 10),
    ("20 statements, avx512", network(10), "B=64,D=256,L=10", "avx512", None, 100),
    ("20 statements, accelerator", network(10), "B=64,D=256,L=10", "accelerator", None, 100),
    ("20 statements, nvidia-sm90", network(10), "B=64,D=256,L=10", "nvidia-sm90", None, 100),
]


def steps_of(command, file, sizes, machine):
    """Microseconds of every pass, by label."""
    words = [command, "passes", file, "--size", sizes, "--machine", machine, "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return {step["label"]: step["us"] for step in json.loads(done.stdout)["passes"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--loopwright", default="build/loopwright")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    print("\npasses, ms                        median      bar  the slowest pass")
    for name, text, sizes, machine, label, bar in CASES:
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "f.tc")
            with open(file, "w", encoding="utf-8") as out:
                out.write(text)
            if "\n" in machine:
                with open(os.path.join(folder, "m.lwm"), "w", encoding="utf-8") as out:
                    out.write(machine)
                machine = os.path.join(folder, "m.lwm")
            runs = [steps_of(args.loopwright, file, sizes, machine) for _ in range(args.rounds)]
        runs.sort(key=lambda run: run[label] if label else sum(run.values()))
        run = runs[len(runs) // 2]
        took = run[label] if label else sum(run.values())
        slowest = max(run, key=run.get)
        print("  %-30s %8.2f %8d  %s %.2f" % (name, took / 1e3, bar, slowest, run[slowest] / 1e3))


if __name__ == "__main__":
    main()
