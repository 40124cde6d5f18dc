"""python -m loopwright.edit: by keys in a pseudo-terminal, as the command's editor is tested, and by a script."""

import os
import subprocess
import sys

import loopwright as lw
import pytest
from conftest import PACKAGE, ROOT
from loopwright import edit

PROGRAM = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }\n"
TWO = PROGRAM + "def twice(float(N) x) -> (y) { y(i) = 2 * x(i) }\n"
SIZES = ["--size", "M=64,N=48", "--size", "K=32"]


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mm.tc").write_text(PROGRAM)
    (tmp_path / "two.tc").write_text(TWO)
    return tmp_path / "mm.tc"


def test_the_keys_are_those_of_the_command():
    path = PACKAGE + os.pathsep + os.environ.get("PYTHONPATH", "") if PACKAGE else os.environ.get("PYTHONPATH", "")
    done = subprocess.run([sys.executable, os.path.join(ROOT, "tests/script/editor"), sys.executable, "-m", "loopwright.edit"], env=dict(os.environ, PYTHONPATH=path),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    assert done.returncode == 0, done.stdout


def test_scripts(file, capsys):
    assert edit.main(["mm.tc", *SIZES, "--schedule", "naive", "--do", "split m 8; swap n k; vectorize n"]) == 0
    assert capsys.readouterr().out == "C: m/8 m k n:v\n"
    assert edit.main(["mm.tc", *SIZES, "--schedule", "naive", "--do", "parallelize", "-o", "mm.lws"]) == 0
    assert capsys.readouterr().out == "" and (file.parent / "mm.lws").read_text() == "C: m:p n k\n"
    assert edit.main(["two.tc", "--def", "twice", "--size", "N=9", "--schedule", "naive"]) == 0
    assert capsys.readouterr().out == "y: i\n"


@pytest.mark.parametrize("arguments, text", [
    (["none.tc"], "cannot open 'none.tc': No such file"),
    (["two.tc"], "two.tc has several functions; choose one with --def: mm, twice"),
    (["two.tc", "--def", "three"], "two.tc has no function 'three'; there is mm, twice"),
    (["mm.tc", "--size", "M"], "--size wants NAME=NUMBER, not 'M'"),
    (["mm.tc", "--size", "M=2"], "K"),
    (["mm.tc", *SIZES, "--do", "nonsense"], "no action 'nonsense'"),
])
def test_mistakes(file, capsys, arguments, text):
    assert edit.main(arguments) == 1
    assert text in capsys.readouterr().err


def test_a_screen_needs_a_terminal_and_a_tree():
    with pytest.raises(TypeError, match="loop tree"):
        edit.screen("C: m")
    tree = lw.define(PROGRAM).mm.loop_tree(M=2, K=2, N=2)
    with pytest.raises(lw.Error, match="needs a terminal"):
        edit.screen(tree)
