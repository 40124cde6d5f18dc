"""A program with types, for mypy --strict: what users write should need no casts. Nothing runs it."""

from __future__ import annotations

from typing import Tuple

import loopwright as lw
import numpy as np
import numpy.typing as npt
from loopwright import db, nn, rl

Array = npt.NDArray[np.float32]


def functions(a: Array, b: Array) -> Tuple[float, str]:
    f: lw.Function = lw.define("def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }").mm
    c: Array = f(a, b)
    kernel: lw.Kernel = f.compile(a, b)
    print(kernel.flops, kernel.sizes["M"], kernel.asm, f.device, f.on("emulate").schedule("C: m n k").device)
    found: lw.TuneResult = f.tune(a, b, seconds=0.1)
    tree: lw.LoopTree = f.loop_tree(a, b).split("m", 8).vectorize("n")
    return float(c.sum()) + sum(node.extent for node in tree.loops), found.schedule


def expressions(a: Array, b: Array) -> float:
    m, n, k = lw.symbols("m n k")
    x: lw.Tensor = (lw.Tensor(a).to(m, k) * lw.Tensor(b).to(k, n)).sum(k)
    y = nn.softmax(lw.where(x > 0, x, 0.0), n)
    print(y.shape, y.numpy(), (x[m, n] + 2 * x - 1 / (x + 1)).dtype)
    path, info = lw.einsum_path("ij,jk->ik", a, b)
    return info.opt_cost + len(path)


def steps() -> float:
    env = rl.LoopEnv("def f(float(N) x) -> (y) { y(i) = x(i) }", sizes={"N": 8}, measure=False)
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(0)
    print(observation.shape, terminated, truncated, [entry for entry in db.entries()])
    return reward


def errors() -> int:
    try:
        lw.define("def")
    except lw.Error as error:
        return error.diagnostics[0].line + len(error.diagnostics[0].notes)
    return 0


@lw.tc
def relu(x: Array) -> Array:
    """def relu(float(N) x) -> (y) { y(i) = fmax(x(i), 0) }"""
    raise NotImplementedError
