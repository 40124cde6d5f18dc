"""Texts, calls, errors: what a user of lw.define meets first."""

import pickle
import threading

import loopwright as lw
import numpy as np
import pytest

MM = """
def matmul(float(M,K) A, float(K,N) B) -> (C) {
    C(m,n) +=! A(m,k) * B(k,n)
}
def two(float(N) x, float a) -> (y, z) {
    y(i) = a * x(i)
    z() +=! x(i)
}
def 2LUT(float(N) t, int32(M) at) -> (o) { o(i) = t(at(i)) }
def strided(float(N) x, int s, float(M) y) -> (o) { o(i) = x(s*i) + y(i) where i in 0:M }
def add(float(N) x) -> (float(N) acc) { acc(i) += x(i) }
def iota(float a) -> (float(N) o) { o(i) = a + i }
"""


@pytest.fixture(scope="module")
def T():
    with pytest.warns(lw.Warning, match="acc"):
        return lw.define(MM)


def arrays(*shapes, dtype="f4"):
    draw = np.random.default_rng(1)
    return [draw.integers(-4, 5, shape).astype(dtype) for shape in shapes]


def test_a_call_gives_a_new_array(T):
    A, B = arrays((3, 4), (4, 5))
    C = T.matmul(A, B)
    assert type(C) is np.ndarray and C.dtype == np.float32 and C.flags.owndata
    assert np.array_equal(C, A @ B)
    assert np.array_equal(T.matmul(A, B=B), C) and np.array_equal(T.matmul(B=B, A=A), C)


def test_out_is_written_and_returned(T):
    A, B = arrays((3, 4), (4, 5))
    C = np.full((3, 5), np.nan, "f4")
    assert T.matmul(A, B, out=C) is C and np.array_equal(C, A @ B)
    wide = np.zeros((3, 10), "f4")
    T.matmul(A, B, out=wide[:, ::2])
    assert np.array_equal(wide[:, ::2], A @ B) and not wide[:, 1::2].any()


def test_several_results_are_a_tuple(T):
    (x,) = arrays((5,))
    y, z = T.two(x, 2.5)
    assert np.array_equal(y, 2.5 * x) and z.shape == () and z == x.sum()
    mine = np.empty(5, "f4")
    y, z = T.two(x, 2, out=(mine, None))
    assert y is mine and z == x.sum()
    with pytest.raises(TypeError, match="tuple of 2"):
        T.two(x, 2, out=mine)


def test_scalars_are_numbers_or_arrays_without_dimensions(T):
    (x,) = arrays((5,))
    for a in (3, 3.0, True, np.float64(3), np.float32(3), np.array(3, "f4")):
        assert np.array_equal(T.two(x, a)[0], np.float32(a) * x)
    with pytest.raises(lw.Error, match="'a' should be a number"):
        T.two(x, "3")
    with pytest.raises(lw.Error, match="argument 'a' should have elements of type f32, but has f64"):
        T.two(x, np.array(3.0))


def test_integer_arguments_stand_where_the_signature_has_them(T):
    x, y = arrays((10,), (3,))
    assert T.strided.inputs == ("x", "s", "y")
    for s in (1, 3, np.int64(2)):
        assert np.array_equal(T.strided(x, s, y), x[: 3 * s : s][:3] + y)
    with pytest.raises(lw.Error) as error:
        T.strided(x, 2.5, y)
    assert error.value.diagnostics[0].text == "argument 's' should be an integer, not 2.5"
    assert error.value.diagnostics[0].line == 10


def test_in_outs_begin_as_zeros_or_as_given(T):
    (x,) = arrays((4,))
    assert np.array_equal(T.add(x), x)
    acc = np.ones(4, "f4")
    T.add(x, out=acc)
    assert np.array_equal(acc, x + 1)


def test_sizes_that_no_array_tells_are_keywords(T):
    assert np.array_equal(T.iota(1.5, N=4), np.arange(4, dtype="f4") + 1.5)
    assert np.array_equal(T.iota(1.5, out=np.empty(2, "f4")), [1.5, 2.5])
    with pytest.raises(lw.Error, match="needs a value for N"):
        T.iota(1.5)


def test_names_that_are_no_identifiers(T):
    (t,) = arrays((6,))
    at = np.array([5, 0, 2], "i4")
    assert np.array_equal(getattr(T, "2LUT")(t, at), t[at])
    with pytest.raises(lw.Error, match="outside|holds|subscript|index"):
        getattr(T, "2LUT")(t, np.array([6], "i4"))
    with pytest.raises(AttributeError, match="no function 'mm' is defined; there is matmul"):
        T.mm


def test_errors_of_a_text_come_at_once_with_their_places():
    with pytest.raises(lw.Error) as error:
        lw.define("def f(float(N) A) -> (B) {\n    B(i) = D(i)\n}\ndef g(float(N) A) -> (B) {\n    B(i) = E(i)\n}", name="two.tc")
    first, second = error.value.diagnostics
    assert (first.severity, first.file, first.line, first.column) == ("error", "two.tc", 2, 12)
    assert first.text == "no tensor or function named 'D'" and second.line == 5
    assert "two.tc:2:12: error: " in str(error.value) and "\n             ^" in str(error.value)
    assert isinstance(error.value, ValueError)
    copy = pickle.loads(pickle.dumps(error.value))
    assert copy.diagnostics == error.value.diagnostics and str(copy) == str(error.value)


def test_warnings_are_warnings():
    with pytest.warns(lw.Warning, match="O"):
        lw.define("def f(float(N) A) -> (O) { O(i) += A(i) }")


@pytest.mark.parametrize("change, words", [
    (lambda A, B: (A.astype("f8"), B), "argument 'A' should have elements of type f32, but has f64"),
    (lambda A, B: (A[0], B), "argument 'A' should have rank 2, but has rank 1"),
    (lambda A, B: (A, B[1:]), "dimension 0 of argument 'B' is 3, but should be 4"),
    (lambda A, B: (A.astype("c8"), B), "argument 'A' should have elements of type f32, but has complex64"),
    (lambda A, B: (A.astype(object), B), "argument 'A' should have elements of type f32, but has object"),
    (lambda A, B: (A, B.astype(">f4")), "argument 'B' should have elements of type f32, but has >f4"),
    (lambda A, B: (A.tolist(), B), "argument 'A' should be an array, but is of type <class 'list'>"),
    (lambda A, B: (np.ma.masked_array(A, A > 0), B), "argument 'A' is a masked array"),
])
def test_wrong_arguments_are_never_converted(T, change, words):
    A, B = arrays((3, 4), (4, 5))
    with pytest.raises(lw.Error) as error:
        T.matmul(*change(A, B))
    diagnostic = error.value.diagnostics[0]
    assert words in diagnostic.text
    place = 23 if "'A'" in words else 37
    assert (diagnostic.line, diagnostic.column) == (2, place), "the declaration"
    assert np.array_equal(T.matmul(A, B), A @ B), "a failure leaves the function usable"


def test_calls_that_do_not_fit_are_type_errors(T):
    A, B = arrays((3, 4), (4, 5))
    for args, keywords, words in [((A,), {}, "needs a value for 'B'"), ((A, B, A), {}, "takes 2 arguments"),
                                  ((A, B), {"A": A}, "two values"), ((A, B), {"D": 1}, "no argument 'D'")]:
        with pytest.raises(TypeError, match=words):
            T.matmul(*args, **keywords)


def test_out_must_not_overlap_an_input(T):
    A, B = arrays((4, 4), (4, 4))
    with pytest.raises(lw.Error, match="output 'C' shares memory with argument 'A'"):
        T.matmul(A, B, out=A)
    with pytest.raises(lw.Error, match="result 'C' is a read-only array"):
        C = np.zeros((4, 4), "f4")
        C.flags.writeable = False
        T.matmul(A, B, out=C)


def test_kernels_are_for_their_shapes(T):
    A, B = arrays((3, 4), (4, 5))
    k = T.matmul.compile(A, B)
    assert np.array_equal(k(A, B), A @ B) and k.sizes == {"M": 3, "K": 4, "N": 5} and k.flops == 120
    assert k.__name__ == "matmul" and "mm" not in repr(k) and k.asm and k.report and k.compile_us >= 0
    with pytest.raises(lw.Error, match=r"should have the shape \(3, 4\), but has \(4, 3\)"):
        k(A.T.copy(), B)
    with pytest.raises(lw.Error, match="should have the strides"):
        k(A, np.zeros((5, 4), "f4").T)
    s = T.strided.compile(np.zeros(9, "f4"), 2, np.zeros(3, "f4"))
    with pytest.raises(lw.Error, match="compiled for 's' = 2, not 3"):
        s(np.zeros(9, "f4"), 3, np.zeros(3, "f4"))
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(k)


def test_schedules(T):
    A, B = arrays((16, 8), (8, 16))
    mine = T.matmul.schedule("C: m/8 n k m")
    assert np.array_equal(mine(A, B), A @ B) and mine.compile(A, B).chosen_by == "given"
    assert "m/8 n k m" in mine.explain(A, B)
    with pytest.raises(lw.Error, match="<schedule>:1"):
        T.matmul.schedule("C: q")(A, B)
    with pytest.raises(TypeError):
        T.matmul.schedule(3)


def test_explain(T):
    A, B = arrays((16, 8), (8, 16))
    fresh = lw.define(MM.split("def two")[0]).matmul
    assert fresh.explain().startswith("program matmul")
    fresh(A, B)
    assert "C: " in fresh.explain() and "flops" in fresh.explain() and fresh.explain().split("\ncode")[0] == fresh.explain(A, B).split("\ncode")[0]


def test_pickling_is_by_text(T):
    A, B = arrays((3, 4), (4, 5))
    with pytest.warns(lw.Warning):
        f = pickle.loads(pickle.dumps(T.matmul.schedule("C: n m k")))
        assert np.array_equal(f(A, B), A @ B) and f.compile(A, B).chosen_by == "given"
        assert np.array_equal(pickle.loads(pickle.dumps(T)).matmul(A, B), A @ B)


def test_the_decorator():
    @lw.tc
    def relu(x):
        """
        def relu(float(N) x) -> (y) {
            y(i) = fmax(x(i), 0)
        }
        """

    assert np.array_equal(relu(np.array([-1, 2], "f4")), [0, 2])
    with pytest.raises(lw.Error, match="docstring"):
        lw.tc(lambda x: x)
    with pytest.raises(AttributeError, match="nothing"):
        @lw.tc
        def nothing(x):
            """def relu(float(N) x) -> (y) { y(i) = fmax(x(i), 0) }"""


def test_other_languages():
    P = lw.define("program twice(N) {\n    input A: f32[N]\n    output B: f32[N]\n\n    B: for i in 0:N\n        B[i] = A[i] + A[i]\n}\n",
                  language="program")
    assert np.array_equal(P.twice(np.arange(3, dtype="f4")), [0, 2, 4])
    assert lw.define(P.twice.program, language="program").twice.program == P.twice.program
    with pytest.raises(ValueError, match="language is 'fortran'"):
        lw.define("", language="fortran")


TEML = """
param T = 4 in [2, 4, 8]
A = tensor(float, [6, 8])
B = tensor(float, [8, 10])
C = tensor(float, [6, 10])
C = contract(A, B, [2, 1])
init(C, 0)
plain = build(C)
tiled = tile(plain, T)
codegen(plain)
codegen(tiled)
"""


def test_teml_has_a_function_for_each_codegen():
    A, B = arrays((6, 8), (8, 10))
    for L in (lw.define(TEML, language="teml"), lw.define(TEML, language="teml", parameters={"T": 8}), lw.define(TEML, language="teml", path=False)):
        assert [f.__name__ for f in L] == ["plain", "tiled"]
        assert np.array_equal(L.plain(A, B), A @ B) and np.array_equal(L.tiled(A, B), A @ B)
        assert np.array_equal(pickle.loads(pickle.dumps(L.tiled))(A, B), A @ B)
    assert lw.define(TEML, language="teml", path=False).tiled.schedule("C: i2 i1 i3").compile(A, B).chosen_by == "given"
    for T in (2, 8):
        f = pickle.loads(pickle.dumps(lw.define(TEML, language="teml", parameters={"T": T}).tiled))
        assert "for i3.1 in %d" % T in str(f.tree(A, B))


def test_teml_errors():
    with pytest.raises(lw.Error, match="<define>:9:21: error: "):
        lw.define(TEML.replace("T)", "-1)"), language="teml")
    with pytest.raises(lw.Error, match="'U'"):
        lw.define(TEML, language="teml", parameters={"U": 1})
    with pytest.raises(TypeError):
        lw.define(TEML, language="teml", parameters={"T": 1.5})
    with pytest.raises(ValueError, match="for language='teml'"):
        lw.define("", parameters={"T": 1})


def test_threads_share_a_function(T):
    fresh = lw.define(MM.split("def two")[0]).matmul
    fresh.cache_size = 3
    wrong = []

    def work(seed):
        draw = np.random.default_rng(seed)
        for _ in range(60):
            m, n, k = draw.integers(1, 6, 3)
            A, B = draw.integers(-4, 5, (m, k)).astype("f4"), draw.integers(-4, 5, (k, n)).astype("f4")
            if not np.array_equal(fresh(A, B), A @ B):
                wrong.append((seed, m, n, k))

    threads = [threading.Thread(target=work, args=(s,)) for s in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and fresh.cached <= 3


def test_a_text_is_a_str():
    for wrong in (5, None, b"def f(float(N) A) -> (B) { B(i) = A(i) }"):
        with pytest.raises(TypeError, match="should be a str, not %s" % type(wrong).__name__):
            lw.define(wrong)


def test_definitions_contain_names_and_functions(T):
    assert "matmul" in T and T.matmul in T and "2LUT" in T
    assert "nothing" not in T and len not in T and [] not in T


def test_an_argument_named_out():
    T = lw.define("def f(float(N) x, float(N) out) -> (y) { y(i) = x(i) + 2 * out(i) }")
    x, given, into = np.ones(3, "f4"), np.full(3, 2, "f4"), np.zeros(3, "f4")
    assert T.f(x, out=given)[0] == 5 and T.f(out=given, x=x)[0] == 5
    assert T.f(x, given, out=into) is into and into[0] == 5


def test_integers_beyond_64_bits_are_told():
    T = lw.define("def f(float(N) x, uint64 a) -> (y) { y(i) = x(i) * a }")
    for large in (2**63, np.uint64(2**63), -(2**64)):
        with pytest.raises(lw.Error, match=r"less than 2\*\*63"):
            T.f(np.ones(3, "f4"), large)
    with pytest.raises(lw.Error, match="should be an integer, not 1.5"):
        T.f(np.ones(3, "f4"), 1.5)


def test_cache_size(T):
    f = pickle.loads(pickle.dumps(T.matmul))
    f.cache_size = 7
    assert pickle.loads(pickle.dumps(f)).cache_size == 7
    assert pickle.loads(pickle.dumps(lw.Definitions([f]))).matmul.cache_size == 7
    with pytest.raises(ValueError, match="cache_size is -1; it should be 0 or more"):
        f.cache_size = -1
    with pytest.raises(TypeError):
        f.cache_size = "many"
    assert f.cache_size == 7


def test_kernels_name_the_argument_with_other_strides(T):
    A, B = np.ones((2, 3), "f4"), np.ones((3, 2), "f4")
    k = T.matmul.compile(A, B)
    with pytest.raises(lw.Error, match=r"argument 'B' should have the strides \(2, 1\) that the kernel was compiled for, but has \(1, 3\)"):
        k(A, np.ones((2, 3), "f4").T)


def test_warnings_name_the_line_of_the_caller():
    text = "def f(float(N,K) A) -> (B) { B(i) = A(i,k) }"
    with pytest.warns(lw.Warning) as found:
        lw.define(text)

        @lw.tc
        def f(A):
            """def f(float(N,K) A) -> (B) { B(i) = A(i,k) }"""

        pickle.loads(pickle.dumps(f))
    assert [w.filename for w in found][:2] == [__file__] * 2
