"""The programs in examples/python run."""

import importlib.util
import os
import subprocess
import sys

import pytest
from conftest import PACKAGE, ROOT

FOLDER = os.path.join(ROOT, "examples", "python")
ARGUMENTS = {"rl.py": ["60", "1"], "tuning.py": ["0.3"]}
NEEDS = {"torch_operator.py": ("torch", "library.custom_op")}


def is_missing(module, name):
    """Is the module not installed, or too old to have the name?"""
    if importlib.util.find_spec(module) is None:
        return True
    at = importlib.import_module(module)
    for part in name.split("."):
        at = getattr(at, part, None)
    return at is None


@pytest.mark.parametrize("name", sorted(name for name in os.listdir(FOLDER) if name.endswith(".py")))
def test_example(name, tmp_path):
    if name in NEEDS and is_missing(*NEEDS[name]):
        pytest.skip("SKIPPED LOUDLY: %s needs %s with %s, which is not installed" % ((name,) + NEEDS[name]))
    path = PACKAGE + os.pathsep + os.environ.get("PYTHONPATH", "") if PACKAGE else os.environ.get("PYTHONPATH", "")
    done = subprocess.run([sys.executable, os.path.join(FOLDER, name)] + ARGUMENTS.get(name, []), env=dict(os.environ, PYTHONPATH=path, XDG_DATA_HOME=str(tmp_path)),
                          cwd=str(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    assert done.returncode == 0, done.stdout
    assert "False" not in done.stdout, done.stdout
