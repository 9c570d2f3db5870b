"""A request to stop is heard, whichever thread of the process the system hands it to."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.support.worker import SOURCE

PROGRAM = """
import signal, threading, time
from penstock.cli.signals import StopRequest

stop = StopRequest(on_first=lambda: print("asked"), on_second=lambda: print("ended"))
signals = {signals}

def send():
    for _ in range(signals):
        time.sleep(0.3)
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

threading.Thread(target=send, daemon=True).start()
assert stop.wait()
assert stop.asked
while signals > 1:
    time.sleep(0.1)
"""


@pytest.mark.integration
@pytest.mark.parametrize(("signals", "said", "code"), [(1, "asked\n", 0), (2, "asked\nended\n", 130)])
def test_a_signal_that_another_thread_gets_is_heard(signals: int, said: str, code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-u", "-c", PROGRAM.format(signals=signals)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.stdout, done.returncode) == (said, code), done.stderr
