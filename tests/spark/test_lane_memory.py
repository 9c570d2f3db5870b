"""What a lane does with memory that is free again."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

SCRIPT = """
import json, os, resource
from penstock.spark.memory import Rest, keep_freed
keep_freed()
import pyarrow as pa

def resident():
    with open("/proc/self/statm") as statistics:
        return int(statistics.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def batch():
    for part in [memoryview(pa.allocate_buffer(2_000_000)).cast("B") for _ in range(40)]:
        part[::4096] = bytes(len(part[::4096]))

before = resident()
for _ in range(3):
    batch()
kept = resident() - before
faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
batch()
again = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults
rest = Rest()
rest.between_works(idle=False)
busy = resident() - before
rest.between_works(idle=True)
print(json.dumps({"pool": pa.default_memory_pool().backend_name, "kept": kept, "again": again, "busy": busy,
                  "idle": resident() - before}))
"""


@pytest.mark.integration
def test_memory_is_kept_between_batches_and_given_back_by_an_idle_lane() -> None:
    found = json.loads(subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, check=True).stdout)
    assert found["pool"] == "system"
    assert found["kept"] > 60_000_000
    assert found["again"] < 200
    assert found["busy"] > 60_000_000
    assert found["idle"] < 20_000_000
