"""Trees: transformations by methods and scripts, refusals, and random walks that must not change results."""

import pickle
import random
import warnings

import loopwright as lw
import numpy as np
import pytest
from conftest import SCALE

MM = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
TWO = "def two(float(N,D) x) -> (y) { t(n) +=! x(n,d)  y(n,d) = x(n,d) - t(n) }"
DOWN = """block []:1 ( // down
    inout A[0, 0] fp32(6, 4):(4, 1)
) {
    0: #serial block [i:5]:5 (
        inout A[i, 0] fp32(2, 4):(4, 1)
    ) {
        0: #serial block [j:3]:3 (
            inout A[0, j] fp32(2, 2):(4, 1)
        ) {
            0: $x = load(A[0, 1])
            1: A[1, 0] = store($x)
        }
    }
}
"""


def naive(text=MM, **sizes):
    return next(iter(lw.define(text))).schedule("").tree(**(sizes or dict(M=6, K=4, N=8)))


def test_transformations_are_pure_and_run():
    tree = naive()
    after = tree.distribute("n", 1).interchange("@4").split("m", 4)
    assert str(tree) == str(naive()) and tree == naive() and tree != after
    assert [n.extent for n in after.loops] == [2, 4, 8, 4, 8]
    A, B = np.arange(24, dtype="f4").reshape(6, 4), np.arange(32, dtype="f4").reshape(4, 8)
    np.testing.assert_array_equal(after.function(A, B), A @ B)
    assert after.follow("k", after.merge("m")).extent == 4
    assert "fp32(6, 4)" in after.stripe and "<table" in after._repr_html_() and "5 loops" in repr(after)


def test_a_tree_of_a_loop_tree_has_its_loops():
    loops = lw.define(MM).mm.schedule("C: m k n:v").loop_tree(M=6, K=4, N=8)
    assert str(loops.tree) == str(loops)
    again = pickle.loads(pickle.dumps(loops.tree))
    assert str(again) == str(loops.tree)


def test_a_function_in_stripe_has_a_tree_and_dependences_forbid_an_interchange():
    down = lw.define(DOWN, language="stripe").down
    tree = down.tree()
    with pytest.raises(lw.Error, match="would run after .*A\\[1, 1\\]"):
        tree.interchange("i")
    assert tree.skew("j", "i", 1).interchange("i").loops
    with pytest.raises(lw.Error):
        down.loop_tree()
    want = np.arange(24, dtype="f4").reshape(6, 4)
    got = want.copy()
    down(out=want)
    tree.peel("i", 2).unroll("@5").function(out=got)
    np.testing.assert_array_equal(got, want)


def test_refusals_name_what_is_wrong():
    tree = naive().distribute("n", 1)
    for act, text in [(lambda: tree.split("n", 2), "several loops are named 'n'; there are @2 n, @4 n"), (lambda: tree.split("z", 2), "no loop 'z'"),
                      (lambda: tree.split(99, 2), "node 99"), (lambda: tree.stage("Q", "m"), "no buffer 'Q'"), (lambda: tree.annotate("m", "sideways"), "kind is 'sideways'"),
                      (lambda: tree.edit("split m"), "expected a number"), (lambda: tree.edit("split @3 2"), "@3 is not a loop"), (lambda: tree.split("m", -1), "expected a number")]:
        with pytest.raises(lw.Error) as caught:
            act()
        assert text in str(caught.value), (text, str(caught.value))
    located = pytest.raises(lw.Error, tree.edit, "split m 2; fuze m").value.diagnostics[0]
    assert (located.line, located.column, located.notes[0].text) == (1, 12, "did you mean 'fuse'?")


def random_change(tree, rng):
    loop, other, number = rng.choice(tree.loops), rng.choice(tree.loops), rng.randint(1, 4)
    leaf, buffer = rng.choice(tree.leaves), rng.choice(["A", "B", "C", "x", "t", "y", "B.copy", "x.copy"])
    return rng.choice([
        lambda: tree.split(loop, number, interleaved=rng.random() < 0.3), lambda: tree.merge(loop), lambda: tree.interchange(loop),
        lambda: tree.move(rng.choice([loop, leaf]), rng.choice([1, -1])), lambda: tree.sink(leaf, loop), lambda: tree.fuse(loop),
        lambda: tree.distribute(loop, number), lambda: tree.unroll(loop), lambda: tree.unroll_and_jam(loop, number),
        lambda: tree.annotate(loop, rng.choice(["serial", "parallel", "unroll", "vectorize", "any"])), lambda: tree.tile(loop, number, 2),
        lambda: tree.peel(loop, number), lambda: tree.stage(buffer, loop), lambda: tree.unstage(buffer, loop), lambda: tree.copy_input(buffer, loop),
        lambda: tree.drop_copy(buffer), lambda: tree.swap_layout(buffer, 0, 1), lambda: tree.split(other, 2)])()


@pytest.mark.parametrize("text, shapes", [(MM, [(6, 4), (4, 5)]), (TWO, [(5, 7)])])
def test_random_walks_keep_the_result(text, shapes):
    rng, applied, refused = random.Random(1), 0, 0
    f = next(iter(lw.define(text)))
    arrays = [np.array([rng.randint(-4, 4) for _ in range(a * b)], "f4").reshape(a, b) for a, b in shapes]
    want = f(*arrays)
    for _ in range(30 // SCALE + 1):
        tree = f.schedule("").tree(*arrays)
        for _ in range(6):
            if len(tree.nodes) > 60:
                break
            try:
                tree = random_change(tree, rng)
                applied += 1
            except lw.Error as error:
                assert str(error)
                refused += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lw.Warning)
            got = tree.function(*arrays)
        np.testing.assert_array_equal(got, want, err_msg=str(tree))
    assert applied > 40 // SCALE and refused > 20 // SCALE


@pytest.mark.parametrize("kind", [lw.Tree, lw.LoopTree])
def test_trees_come_from_functions(kind):
    with pytest.raises(TypeError, match=r"comes from \w+\(\) of a function, not from 'x'"):
        kind("x")


def test_refusals_name_legal_neighbours():
    tree = lw.define(DOWN, language="stripe").down.tree()
    with pytest.raises(lw.Error, match=r"legal instead: interchange after a skew of 'j' \(@2\) by 1 times 'i'"):
        tree.interchange("i")
    assert str(tree.edit("skew j i 1; interchange i")).startswith("for j")
