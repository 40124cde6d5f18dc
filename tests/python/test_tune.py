"""Tuning from Python: results, Ctrl-C, the GIL."""

import os
import signal
import subprocess
import sys
import threading
import time

import loopwright as lw
import numpy as np
import pytest
from conftest import PACKAGE

MM = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"


@pytest.fixture(autouse=True)
def quiet(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))


def test_tuning_finds_a_schedule_and_later_calls_use_it():
    mm = lw.define(MM).mm
    A, B = np.ones((40, 30), "f4"), np.ones((30, 50), "f4")
    mm(A, B)
    found = mm.tune(A, B, seconds=0.5)
    assert found.schedule.startswith("C:") and found.seconds > 0 and found.speedup > 0 and found.trials >= 0
    assert np.array_equal(A, np.ones((40, 30))) and np.array_equal(B, np.ones((30, 50)))
    assert mm.compile(A, B).chosen_by == "given" and found.schedule in mm.explain(A, B)
    assert mm.compile(A[:20], B).chosen_by == "chosen"
    assert np.array_equal(mm(A, B), A @ B)
    with pytest.raises(ValueError, match="seconds"):
        mm.tune(A, B, seconds=-1)
    with pytest.raises(lw.Error, match="dimension"):
        mm.tune(A, B[1:])


def test_the_gil_is_released():
    mm = lw.define(MM).mm
    A = np.ones((64, 64), "f4")
    done, count = threading.Event(), 0
    thread = threading.Thread(target=lambda: (mm.tune(A, A, seconds=0.5), done.set()))
    thread.start()
    while not done.is_set():
        count += 1
        time.sleep(0.001)
    thread.join()
    assert count > 20


INTERRUPTED = """
import sys, threading, os, signal, time
sys.path.insert(0, %r) if %r else None
import numpy as np, loopwright as lw
mm = lw.define(%r).mm
A = np.ones((200, 200), "f4")
print("ready", flush=True)
start = time.monotonic()
found = mm.tune(A, A, seconds=300)
assert found.schedule and time.monotonic() - start < 100
assert np.array_equal(mm(A, A), A @ A)
print("done", flush=True)
time.sleep(0.01)
"""


def test_an_interrupt_ends_tuning_with_the_best_so_far():
    program = INTERRUPTED % (PACKAGE, PACKAGE, MM)
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, text=True)
    try:
        assert child.stdout.readline() == "ready\n"
        time.sleep(1.5)
        os.killpg(child.pid, signal.SIGINT)  # as the terminal does: the workers get it too
        out, err = child.communicate(timeout=120)
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
    assert out == "done\n" and child.returncode == 0, err
