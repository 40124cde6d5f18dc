"""The package that was just built is the one that is tested."""

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("LW_BUILD") or os.path.join(ROOT, "build")
PACKAGE = os.environ.get("LW_PYTHON_PACKAGE", os.path.join(BUILD, "python"))  # "": the one that is installed
if PACKAGE:
    sys.path.insert(0, PACKAGE)
os.environ.setdefault("LW_DB", "none")
SCALE = int(os.environ.get("LW_FUZZ_SCALE") or 1)
