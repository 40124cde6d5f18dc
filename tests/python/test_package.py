"""The package itself: doctests, types, help, import, sub-interpreters, the wheel."""

import doctest
import importlib
import importlib.util
import os
import pkgutil
import pydoc
import re
import shutil
import subprocess
import sys

import loopwright as lw
import pytest
from conftest import PACKAGE, ROOT


def installed(name):
    return name not in ("torch", "jax") or importlib.util.find_spec(name) is not None


def modules():
    return [importlib.import_module("loopwright." + m.name) for m in pkgutil.iter_modules(lw.__path__) if m.name != "_native" and installed(m.name)] + [lw]


@pytest.mark.parametrize("module", modules(), ids=lambda m: m.__name__)
def test_doctests(module):
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


def test_the_tour():
    assert doctest.testfile(os.path.join(ROOT, "docs/python.md"), module_relative=False).failed == 0


def test_every_public_name_has_words():
    for name in lw.__all__:
        assert (getattr(lw, name).__doc__ or "").strip(), name
    assert "T.matmul(A, B)" in pydoc.plain(pydoc.render_doc(lw))
    with open(os.path.join(ROOT, "include/loopwright.h")) as file:
        header = file.read()
    for part, number in zip(("MAJOR", "MINOR", "PATCH"), lw.__version__.split(".")):
        assert "LW_VERSION_%s %s\n" % (part, number) in header


def test_types_are_strict():
    pytest.importorskip("mypy")
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-incremental", os.path.join(ROOT, "python/loopwright"),
                           os.path.join(ROOT, "tests/python/typed.py")], env=dict(os.environ, MYPYPATH=os.path.join(ROOT, "python")),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    assert done.returncode == 0, done.stdout


def run(code, **environment):
    path = PACKAGE + os.pathsep + os.environ.get("PYTHONPATH", "") if PACKAGE else os.environ.get("PYTHONPATH", "")
    return subprocess.run([sys.executable, "-c", code], env=dict(os.environ, PYTHONPATH=path, **environment), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True)


@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="sanitizers make everything slow")
def test_import_is_quick():
    took = []
    for _ in range(5):
        done = run("import time, numpy\ns = time.process_time()\nimport loopwright\nprint(time.process_time() - s)", PYTHONDONTWRITEBYTECODE="")
        assert done.returncode == 0, done.stderr
        took.append(float(done.stdout))
    assert min(took) < 0.05


def test_functions_outlive_everything():
    done = run("import loopwright as lw, numpy as np, sys\n"
               "f = lw.define('def f(float(N) a) -> (b) { b(i) = 2 * a(i) }').f\n"
               "k = f.compile(np.ones(3, 'f4'))\n"
               "class Late:\n"
               "    def __del__(self, f=f, k=k, a=np.ones(3, 'f4')): print(f(a)[0], k(a)[0])\n"
               "late = Late()\n"
               "del lw, f\n"
               "for name in list(sys.modules):\n"
               "    if name.startswith('loopwright'): del sys.modules[name]\n")
    assert done.returncode == 0 and done.stdout == "2.0 2.0\n", done.stderr


def test_the_platform_tag_follows_from_the_needs():
    """What the backend reads from the module is what readelf reads."""
    if not PACKAGE or shutil.which("readelf") is None:
        pytest.skip("there is no module that was just built, or no readelf")
    spec = importlib.util.spec_from_file_location("backend", os.path.join(ROOT, "python/backend.py"))
    backend = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(backend)
    module = os.path.join(PACKAGE, "loopwright/_native.abi3.so")
    with open(module, "rb") as file:
        data = file.read()
    libraries, versions = backend.elf_needs(data)
    text = subprocess.run(["readelf", "-dV", module], stdout=subprocess.PIPE, universal_newlines=True).stdout
    assert libraries == set(re.findall(r"NEEDED.*\[(.*)\]", text))
    assert versions == set(re.findall(r"Name: (\S+) +Flags", text))
    tag = backend.platform_tag(data)
    if libraries <= backend.GLIBC:
        newest = max(tuple(map(int, v.split("_")[1].split(".")))[:2] for v in versions)
        assert tag == "manylinux_%d_%d_x86_64" % max(newest, (2, 17))
    else:
        assert tag == "linux_x86_64"


def test_free_threaded_pythons_are_refused():
    """Such a Python looks for no module of the stable ABI; the package says why there is none."""
    done = run("import sys, sysconfig\n"
               "of = sysconfig.get_config_var\n"
               "sysconfig.get_config_var = lambda name: 1 if name == 'Py_GIL_DISABLED' else of(name)\n"
               "sys.modules['loopwright._native'] = None\n"
               "import loopwright\n")
    assert done.returncode == 1 and "ImportError: loopwright needs a Python with the GIL" in done.stderr, done.stderr


@pytest.mark.skipif(sys.version_info < (3, 12), reason="older Pythons have no isolated interpreters")
def test_isolated_interpreters_are_refused():
    done = run("try:\n    import _interpreters as i\nexcept ImportError:\n    import _xxsubinterpreters as i\n"
               "n = i.create()\n"
               "r = i.run_string(n, 'import loopwright')\n"
               "print(r)\n")
    assert "does not support loading in subinterpreters" in done.stdout + done.stderr
