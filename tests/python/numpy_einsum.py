"""NumPy's own tests of einsum, as NumPy installs them, with lw.einsum in the place of numpy.einsum.

    numpy_einsum.py        exit status 77: this NumPy was installed without its tests

Element types that lw.einsum refuses by name are handed to NumPy. The tests named below fail by design (docs/einsum.md); everything else must pass, and each of
these must still fail, so that the list stays true.
"""

import collections
import importlib.util
import sys

import conftest  # noqa: F401  the package that was just built
import loopwright as lw
import numpy as np
import pytest

DIFFERENCES = {
    "test_einsum_views": "results are new arrays, never views",
    "test_subscript_range": "117 labels instead of 52",
    "test_output_order": "order='K' is C order",
    "test_path_type_input_invalid": "a wrong path is an Error, which is a ValueError; NumPy raises RuntimeError",
    "test_einsum_0d_out": "casting='safe' holds for out too; NumPy ignores it on this path",
    "test_einsum_chunking_precision": "sums over one index have the error bound of a sum in any order; NumPy 2.3 sums in blocks",
}
REFUSED = {"object", "complex64", "complex128", "complex256", "float128"}

of_numpy = np.einsum
taken: "collections.Counter[str]" = collections.Counter()


def einsum(*operands, **keywords):
    try:
        made = lw.einsum(*operands, **keywords)
    except lw.Error as error:
        refused = str(error).rpartition("elements of type ")[2]
        if refused not in REFUSED:
            raise
        taken["NumPy"] += 1
        return of_numpy(*operands, **keywords)
    taken["Loopwright"] += 1
    return made


class Outcomes:
    def __init__(self):
        self.failed, self.passed = {}, set()

    def pytest_runtest_logreport(self, report):
        name = report.nodeid.split("::")[-1]
        if report.failed:
            self.failed[name] = report.longreprtext
        elif report.when == "call" and report.passed:
            self.passed.add(name)


def tests_of_numpy():
    """The file with NumPy's tests; None if it is not installed."""
    for module in ("numpy._core.tests.test_einsum", "numpy.core.tests.test_einsum"):
        try:
            spec = importlib.util.find_spec(module)
        except ImportError:
            continue
        if spec is not None:
            return spec.origin
    return None


def main():
    file = tests_of_numpy()
    if file is None:
        print("SKIPPED LOUDLY: NumPy %s was installed without its tests" % np.__version__)
        return 77
    np.einsum = einsum
    outcomes = Outcomes()
    pytest.main(["-q", "-p", "no:cacheprovider", "--no-header", "--tb=no", "--no-summary", "--noconftest", "-W", "ignore", "--import-mode=importlib", "-c", "/dev/null", file], plugins=[outcomes])
    wrong = {name: text for name, text in outcomes.failed.items() if name not in DIFFERENCES}
    stale = outcomes.passed & DIFFERENCES.keys()
    for name, text in wrong.items():
        print("\n%s\n%s" % (name, text))
    for name in stale:
        print("%s passes now: take it from the list of differences" % name)
    print("%d of NumPy %s's tests pass, %d differ by design, %d fail; %d calls by Loopwright, %d of types for NumPy"
          % (len(outcomes.passed), np.__version__, len(outcomes.failed) - len(wrong), len(wrong), taken["Loopwright"], taken["NumPy"]))
    return 0 if not wrong and not stale and taken["Loopwright"] > 1000 else 1


if __name__ == "__main__":
    sys.exit(main())
