"""A share of pointwise.py: random expressions and einsums against plain loops."""

import loopwright as lw
import pointwise
from conftest import SCALE


def test_lazy_expressions_mean_what_the_manual_says():
    count = 150 // SCALE + 10
    assert pointwise.cases(lw, count, 1, pointwise.Case) > 0.8 * count


def test_einsums_are_sums_over_their_labels():
    count = 150 // SCALE + 10
    assert pointwise.cases(lw, count, 1, pointwise.Einsum) > 0.8 * count
