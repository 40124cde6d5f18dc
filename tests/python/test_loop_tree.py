"""Loop trees: pure edits, refusals, the cursor, running, random walks against NumPy, leaks."""

import gc
import pickle
import random
import threading
import tracemalloc
import warnings

import loopwright as lw
import numpy as np
import pytest
from conftest import SCALE

MM = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
SOFT = "def soft(float(N,D) I) -> (O) { top(n) max=! I(n,d)  e(n,d) = exp(I(n,d) - top(n))  s(n) +=! e(n,d)  O(n,d) = e(n,d) / s(n) }"


def naive(**sizes):
    return lw.define(MM).mm.schedule("").loop_tree(**(sizes or dict(M=12, K=9, N=16)))


def test_edits_are_pure():
    tree = naive()
    before = str(tree)
    split = tree.split("m", 5)
    assert tree.schedule == "C: m n k\n" and str(tree) == before
    assert split.schedule == "C: m/5 m n k\n" and split.loops[0].tail == 2 and split.loops[0].extent == 3
    assert split.merge("m").schedule == tree.schedule and split.merge("m") == tree and hash(split.merge("m")) == hash(tree)
    assert split.swap_loops("m", "k").schedule == "C: m/5 k n m\n"
    assert split.move("k", "m/5").schedule == "C: k m/5 m n\n"
    assert tree.split("m", 4, interleaved=True).schedule == "C: m%4 m n k\n"
    assert tree.annotate("m", "parallel").schedule == "C: m:p n k\n" == tree.parallelize(tree.loops[0]).schedule
    assert tree.unroll(tree.loops[-1].number).schedule == "C: m n k:u\n"
    assert tree.copy_input("A", "m").schedule == "C: m n k\n    copy A at m\n"
    assert tree.copy_input("B").drop_copy("B") == tree
    assert tree.edit("split m 4; next; swap").schedule == "C: m/4 n m k\n"


def test_statements_share_loops_after_an_edit():
    tree = lw.define(SOFT).soft.schedule("").loop_tree(N=6, D=4)
    split = tree.split("O:n", 2)
    assert split.schedule == "top: n/2 n d\ne: n/2 n d\ns: n/2 n d\nO: n/2 n d\n"
    assert split.find("e:n/2") == split.find("top:n/2") == split.find("n/2")
    assert tree.decrease_reuse("e").increase_reuse("e").schedule.replace(" |", "") == tree.schedule
    assert "inline" in tree.inline("e").schedule and tree.inline("e").root("e").function is not None
    x = np.random.default_rng(0).standard_normal((6, 4)).astype("f4")
    want = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(tree.inline("e").function(x), want / want.sum(1, keepdims=True), rtol=1e-5)


def test_refusals_say_why():
    tree = naive()
    for act, why in [(lambda: tree.split("m", 13), "only 12 iterations"), (lambda: tree.vectorize("m"), "not innermost"),
                     (lambda: tree.merge("m"), "further out"), (lambda: tree.split("q", 2), "no loop 'q'; there are C:m, C:n, C:k"),
                     (lambda: tree.split(3, 2).split(99, 2), "node 99"), (lambda: tree.annotate("m", "fast"), "kind is 'fast'"),
                     (lambda: tree.copy_input("Z", "m"), "'Z'"), (lambda: tree.inline("C"), "cannot inline"),
                     (lambda: tree.split(2, 2), "node 2"), (lambda: tree.up(), "no loop is around it"),
                     (lambda: tree.split("m", 4).merge(tree.loops[2]), "another tree"), (lambda: tree.after("C", "D"), "'D'")]:
        with pytest.raises(lw.Error, match=why):
            act()
    with pytest.raises(TypeError):
        tree.split(1.5, 2)
    with pytest.raises(TypeError, match="a LoopTree or None"):
        lw.define(MM).mm.schedule(lw.define(MM).mm)
    with pytest.raises(lw.Error) as error:
        tree.edit("split m 4; vectorise n")
    assert error.value.diagnostics[0].column == 12 and "did you mean 'vectorize'" in str(error.value)
    for made in (lw.Function, lw.Kernel, lw._native.LoopTree):
        with pytest.raises(TypeError, match="cannot be called"):
            made()
    with pytest.raises(ValueError, match="null byte"):
        tree.edit("split m 4\0; swap")
    with pytest.raises(lw.Error, match="value for N"):
        lw.define(MM).mm.loop_tree(M=2, K=3)


def test_the_cursor_moves_and_follows():
    tree = naive()
    assert tree.cursor.loop == "C:m" and tree.down().cursor.loop == "C:n" and tree.next().next().cursor.loop == "C:k"
    assert tree.down().up().cursor.loop == "C:m" and tree.next().back().cursor.loop == "C:m" and tree.goto("k").cursor.loop == "C:k"
    assert tree.edit("swap").cursor.loop == "C:m" and tree.edit("swap").cursor.depth == 1
    assert tree.split("m", 4).cursor.loop == "C:m/4"
    assert tree.map_ref("k", tree.swap_loops("n", "k")).depth == 1


def test_a_tree_tells_and_runs():
    A, B = np.arange(108, dtype="f4").reshape(12, 9), np.arange(144, dtype="f4").reshape(9, 16)
    mm = lw.define(MM).mm
    tree = mm.loop_tree(A, B)
    assert tree.sizes == {"M": 12, "K": 9, "N": 16} and tree.flops == 2 * 12 * 9 * 16
    tree = tree.edit("split m 2")
    assert np.array_equal(mm.schedule(tree)(A, B), A @ B) and np.array_equal(tree.function(A, B), A @ B) and tree.measure(0.001) > 0
    assert tree.children(tree.loops[0]) and len(tree.leaves) >= 1 and all(n.touches > 0 for n in tree.loops)
    assert pickle.loads(pickle.dumps(tree)) == tree
    page = tree._repr_html_()
    assert page.startswith("<table") and page.endswith("</svg>") and "FLOP" in page and page.count("<tr>") == 1 + len(str(tree).splitlines())
    assert "loop tree of mm" in repr(tree)


def random_step(tree, rng):
    loops = tree.loops
    a, b = rng.choice(loops), rng.choice(loops)
    return rng.choice([
        lambda: tree.split(a, rng.randint(1, 5), interleaved=rng.random() < 0.2), lambda: tree.merge(a), lambda: tree.swap_loops(a, b),
        lambda: tree.move(a, b), lambda: tree.annotate(a, rng.choice(["serial", "parallel", "unroll", "vectorize"])),
        lambda: tree.decrease_reuse(a.statement), lambda: tree.increase_reuse(a.statement),
        lambda: tree.copy_input(rng.choice("AIBe"), a), lambda: tree.next(), lambda: tree.inline(a.statement)])()


@pytest.mark.parametrize("text, shapes", [(MM, [(7, 5), (5, 11)]), (SOFT, [(6, 13)])], ids=["mm", "soft"])
def test_random_walks_keep_the_meaning(text, shapes):
    rng = random.Random(1)
    f = next(iter(lw.define(text)))
    arrays = [np.random.default_rng(i).integers(-2, 3, s).astype("f4") for i, s in enumerate(shapes)]
    want, applied = f.schedule("")(*arrays), 0
    for _ in range(60 // SCALE + 1):
        tree = f.schedule("").loop_tree(*arrays)
        for _ in range(8):
            try:
                tree = random_step(tree, rng)
            except lw.Error as error:
                assert error.diagnostics
                continue
            applied += 1
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", lw.Warning)
                got = tree.function(*arrays)
            np.testing.assert_allclose(got, want, rtol=0 if text is MM else 1e-5, err_msg=tree.schedule)
    assert applied > 100 // SCALE


def test_nothing_leaks():
    tree = naive()

    def work():
        for _ in range(200):
            split = tree.split("m", 4)
            split.nodes, split.schedule, split._repr_html_()
            with pytest.raises(lw.Error):
                split.merge("n")

    work()
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    work()
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 20000


def test_many_threads_edit_one_tree():
    tree = naive()
    faults = []

    def work(n):
        for i in range(40):
            if tree.split("m", 2 + (i + n) % 4).schedule != "C: m/%d m n k\n" % (2 + (i + n) % 4):
                faults.append(i)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not faults


def test_a_skew_makes_an_exchange_legal():
    heat = "def h(float(N) A, int T) -> (B) { U(0,i) = A(i) for t in 0:T { U(t+1,i) = i > 0 ? U(t,i-1) + U(t,i) : U(t,i) where i in 0:N } B(i) = U(T,i) }"
    naive = lw.define(heat).h.schedule("").loop_tree(N=24, T=6).split("U.1:i", 8)
    back = naive.skew("U.1:i", "U.1:t", 1)
    assert "skew i by t" in back.schedule and back.skew("U.1:i", "U.1:t", 0).schedule == naive.schedule
    tiled = back.swap_loops("U.1:t", "U.1:i/8")
    A = np.arange(24, dtype="f4")
    np.testing.assert_array_equal(tiled.function(A, 6), naive.function(A, 6))
    down = "def d(float(N) A, int T) -> (B) { U(0,i) = A(i) for t in 0:T { U(t+1,i) = i < N - 1 ? U(t,i+1) + U(t,i) : U(t,i) where i in 0:N } B(i) = U(T,i) }"
    late = lw.define(down).d.schedule("").loop_tree(N=24, T=6).split("U.1:i", 8)
    with pytest.raises(lw.Error, match="'skew i by t' keeps the order"):
        late.swap_loops("U.1:t", "U.1:i/8")
