#!/usr/bin/env python3
"""The layers of ResNet-50 on a simulated machine: a table, against loops without tiles, and one of
the layers with bias and ReLU, fused and unfused.

    bench/accelerator.py [--machine accelerator] [--against examples/machines/untiled.lwm]

Every layer must fit the machine's memory, and the convolutions after the first must reach 80 % of
what the machine allows; otherwise the exit status is 1."""
import argparse
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def layers():
    """(name, function, sizes) in the order of the network, strides in the 3 x 3 convolutions."""
    yield "conv1 7x7/2", "conv_s2", dict(C=3, H=230, W=230, K=64, R=7, S=7)
    channels, side = 64, 56
    for stage, (width, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3)), start=2):
        for block in range(blocks):
            name = "conv%d_%d " % (stage, block + 1)
            stride = 2 if block == 0 and stage > 2 else 1
            yield name + "1x1", "conv", square(channels, side, width, 1)
            out = side // stride
            kind = "conv_s2" if stride == 2 else "conv"
            # A padded input: of stride 2 only the rows and columns that are used.
            yield name + "3x3", kind, square(width, stride * (out - 1) + 3, width, 3)
            yield name + "1x1'", "conv", square(width, out, 4 * width, 1)
            if block == 0:
                side_in = stride * (out - 1) + 1
                yield name + "project", kind, square(channels, side_in, 4 * width, 1)
            channels, side = 4 * width, out
    yield "fc", "fc", dict(C=2048, K=1000)


def square(inputs, side, outputs, kernel):
    return dict(C=inputs, H=side, W=side, K=outputs, R=kernel, S=kernel)


def products(function, sizes):
    """Multiply-adds of a layer."""
    if function == "fc":
        return sizes["C"] * sizes["K"]
    stride = 2 if function == "conv_s2" else 1
    points = 1
    for side, kernel in (("H", "R"), ("W", "S")):
        points *= (sizes[side] - sizes[kernel]) // stride + 1
    return points * sizes["C"] * sizes["K"] * sizes["R"] * sizes["S"]


def simulate(command, machine, function, sizes):
    text = ",".join("%s=%d" % pair for pair in sizes.items())
    program = os.path.join(ROOT, "examples/tc/resnet50.tc")
    run = subprocess.run([command, "simulate", program, "--def", function, "--size", text,
                          "--machine", machine, "--json"], capture_output=True, text=True)
    if run.returncode:
        sys.exit("%s with %s: %s" % (function, text, run.stdout + run.stderr))
    return json.loads(run.stdout)["simulation"]


def fused_table(command):
    """Layers with bias and ReLU, those of equal sizes once."""
    machines = [os.path.join(ROOT, "examples/machines/%s.lwm" % name)
                for name in ("fused", "unfused", "untiled")]
    seen = set()
    print("\n| layer | | fused | of allowed | moved | unfused | moved | untiled |")
    print("|---|---|---|---|---|---|---|---|")
    for number, (name, function, sizes) in enumerate(layers(), start=1):
        key = (function, tuple(sizes.items()))
        if function == "fc" or key in seen:
            continue
        seen.add(key)
        function = function.replace("conv", "layer")
        fused, unfused, untiled = (simulate(command, machine, function, sizes)
                                   for machine in machines)
        print("| %d | %s | %d | %.1f %% | %.2f MB | %d | %.2f MB | %d |" % (
            number, name, fused["cycles"], 100 * fused["of_least"], fused["moved"] / 1e6,
            unfused["cycles"], unfused["moved"] / 1e6, untiled["cycles"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--loopwright", default=os.path.join(ROOT, "build/loopwright"))
    parser.add_argument("--machine", default="accelerator")
    parser.add_argument("--against", default=os.path.join(ROOT, "examples/machines/untiled.lwm"))
    options = parser.parse_args()
    known, missed, total, allowed = {}, [], 0, 0
    print("| layer | | products | cycles | of allowed | matrix units | bound by | SRAM | moved | untiled |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for number, (name, function, sizes) in enumerate(layers(), start=1):
        key = (function, tuple(sizes.items()))
        if key not in known:
            known[key] = [simulate(options.loopwright, machine, function, sizes)
                          for machine in (options.machine, options.against)]
        best, plain = known[key]
        memory = max(best["memory"], key=lambda unit: unit["used"])
        units = "%.1f %%" % (100 * best["utilisation"]) if best["products"] else "-"
        print("| %d | %s | %.1f M | %d | %.1f %% | %s | %s | %d KiB | %.2f MB | %.0f x |" % (
            number, name, products(function, sizes) / 1e6, best["cycles"], 100 * best["of_least"],
            units, best["bound_by"], memory["used"] / 1024,
            best["moved"] / 1e6, plain["cycles"] / best["cycles"]))
        total += best["cycles"]
        allowed += best["least"]
        if 2 <= number <= 53 and best["of_least"] < 0.8:
            missed.append(number)
    print("\nAll layers one after another take %d cycles; the sum of their least times is %.1f %% of that." % (
        total, 100 * allowed / total))
    fused_table(options.loopwright)
    if missed:
        sys.exit("below 80 %%: layers %s" % missed)


main()
