"""Every entry point in a loop: references stay as they are and the process does not grow. Threads do all of it at once."""

import gc
import os
import pickle
import random
import sys
import threading
import warnings

import loopwright as lw
import numpy as np
import pytest
from conftest import SCALE
from loopwright import rl

MM = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
T = lw.define(MM)
A, B, OUT = np.ones((8, 9), "f4"), np.ones((9, 7), "f4"), np.zeros((8, 7), "f4")
KERNEL = T.mm.compile(A, B)
LOOPS = T.mm.schedule("").loop_tree(M=64, K=32, N=48)
TREE = T.mm.schedule("").tree(M=8, K=4, N=8)
m, n, k = lw.symbols("m n k")
ENV = rl.LoopEnv(MM, sizes=dict(M=8, K=8, N=8), measure=False)


def product():
    return (lw.Tensor(A).to(m, k) * lw.Tensor(B).to(k, n)).sum(k)


def refused(f, *args, **keywords):
    with pytest.raises((ValueError, TypeError)):
        f(*args, **keywords)


class Interface:
    __array_interface__ = dict(A.__array_interface__, strides=(36, 4))


def steps():
    ENV.reset(seed=1)
    for action in range(ENV.action_space.n):
        ENV.step(action)


ENTRIES = {
    "define": lambda: lw.define(MM),
    "define, refused": lambda: refused(lw.define, "def f(float(N) a) -> (b) { b(i) = c(i) }"),
    "define in Program text": lambda: lw.define(T.mm.program, language="program").mm(A, B),
    "call": lambda: T.mm(A, B),
    "call with out": lambda: T.mm(A, B, out=OUT),
    "call by names": lambda: T.mm(A=A, B=B),
    "call with strides": lambda: T.mm(np.ones((9, 8), "f4").T, B[:, ::-1]),
    "call with an interface": lambda: T.mm(Interface(), B),
    "call with a memoryview": lambda: T.mm(memoryview(A), B),
    "call, wrong type": lambda: refused(T.mm, A, B.astype("f8")),
    "call, wrong shape": lambda: refused(T.mm, A, A),
    "call, too few": lambda: refused(T.mm, A),
    "call, unknown name": lambda: refused(T.mm, A, B, D=A),
    "call, out overlaps": lambda: refused(T.mm, A, B, out=A[:, :7]),
    "compile": lambda: T.mm.compile(A, B),
    "kernel": lambda: KERNEL(A, B),
    "kernel with out": lambda: KERNEL(A, B, out=OUT),
    "kernel, refused": lambda: refused(KERNEL, A, A),
    "kernel's texts": lambda: (KERNEL.asm, KERNEL.report, KERNEL.sizes, KERNEL.flops, repr(KERNEL)),
    "schedule": lambda: T.mm.schedule("C: m n k")(A, B),
    "schedule, refused": lambda: refused(T.mm.schedule("C: q").compile, A, B),
    "explain": lambda: T.mm.explain(A, B),
    "attributes": lambda: (T.mm.signature, T.mm.inputs, T.mm.outputs, T.mm.tensors, T.mm.program, T.mm.cached, repr(T.mm)),
    "pickle": lambda: pickle.loads(pickle.dumps(T.mm))(A, B),
    "pickle, refused": lambda: refused(pickle.dumps, KERNEL),
    "einsum": lambda: lw.einsum("ij,jk->ik", A, B),
    "einsum, as written": lambda: lw.einsum("ij,jk->ik", A, B, order="F", optimize=False),
    "einsum, refused": lambda: refused(lw.einsum, "ij,jk->ik", A, A),
    "einsum_path": lambda: lw.einsum_path("ij,jk,kl->il", A, B, np.ones((7, 3), "f4")),
    "lazy": lambda: product().numpy(),
    "lazy, compute": lambda: lw.compute(product(), product().max(n)),
    "lazy, loops": lambda: product().loop_tree.loops,
    "lazy, refused": lambda: refused(lw.Tensor(A)[m + n, k].numpy),
    "loop_tree": lambda: T.mm.loop_tree(M=8, K=4, N=8).nodes,
    "loop tree, actions": lambda: LOOPS.split("m", 8).swap_loops("n", "k").vectorize("n").parallelize("m/8"),
    "loop tree, refused": lambda: refused(LOOPS.vectorize, "m"),
    "loop tree, script": lambda: LOOPS.edit("split m 8; swap n k").schedule,
    "loop tree, measure": lambda: LOOPS.measure(1e-5, threads=1),
    "loop tree, html": lambda: LOOPS._repr_html_(),
    "loop tree, pickle": lambda: pickle.loads(pickle.dumps(LOOPS)),
    "tree": lambda: T.mm.tree(M=8, K=4, N=8).nodes,
    "tree, transformations": lambda: TREE.distribute("n", 1).interchange("@4").stripe,
    "tree, refused": lambda: refused(TREE.fuse, "m"),
    "tree, follow": lambda: TREE.follow(TREE.nodes[0], TREE.split("m", 2)),
    "tree, function": lambda: TREE.function,
    "environment": steps,
    "machine": lw.machine,
    "tune, refused": lambda: refused(T.mm.tune, A, B, strategy="none"),
}
SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")  # it keeps freed memory for a while
HELD = [A, B, OUT, T.mm, KERNEL, LOOPS._native, TREE._native]


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def repeat(f, times):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(times):
            f()
    gc.collect()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc tells the memory of the process")
@pytest.mark.parametrize("entry", ENTRIES)
def test_nothing_is_left_behind(entry):
    times = 120 // SCALE + 20
    repeat(ENTRIES[entry], times)
    references, before = [sys.getrefcount(x) for x in HELD], resident()
    repeat(ENTRIES[entry], times)
    grown = resident() - before
    assert [sys.getrefcount(x) for x in HELD] == references
    if grown > 300 * times + (1 << 18) and not SANITIZED:  # pools of the allocator may still fill
        before = resident()
        repeat(ENTRIES[entry], 2 * times)
        assert resident() - before < 300 * 2 * times + (1 << 18)


def test_threads_do_everything_at_once():
    """Calls of one kernel, compiling, tuning and dropping objects, in any order."""
    wrong, names = [], sorted(set(ENTRIES) - {"environment"})  # environments belong to one thread
    shared = lw.define(MM)

    def work(seed):
        rng = random.Random(seed)
        try:
            for round in range(60 // SCALE + 5):
                a = np.full((rng.randint(1, 40), 9), seed, "f4")
                if not (shared.mm(a, B) == 9 * seed).all() or not (KERNEL(A, B) == 9).all():
                    wrong.append("a wrong product")
                ENTRIES[rng.choice(names)]()
                if round % 20 == seed:
                    own = lw.define(MM).mm
                    own.tune(A, B, trials=2, seconds=0.1, again=True)
                    del own
                shared.mm.cache_size = rng.choice([1, 2, 256])
        except BaseException as error:
            wrong.append(repr(error))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong
