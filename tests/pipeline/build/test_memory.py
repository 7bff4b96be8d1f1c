"""The memory of a task that gets two million commits on one partition."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pytest

from kafka_groups.pipeline.build.engine import GROUP_LAYOUT, PARTITION_LAYOUT, Task, run_partitions
from kafka_groups.pipeline.build.fact_rows import Summary
from kafka_groups.pipeline.build.kernels.segments import DAY_US
from kafka_groups.pipeline.build.partition_batch import COMMIT, INPUT, OBSERVATION
from kafka_groups.pipeline.build.partition_stage import ClusterDay, Settings
from kafka_groups.verdicts import Rules

GROUPS: Final = 24
COMMITS: Final = 100_000  # of each group
MOST_MIB: Final = 400
_DAY: Final = 20_000
_BASE_US: Final = _DAY * DAY_US
_MINUTES: Final = 1_440


@pytest.mark.slow
def test_two_million_commits_on_one_partition_take_less_than_400_mib(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.pipeline.build.test_memory", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    rows, mib = map(int, done.stdout.split())
    # Of each group two packed rows of statuses and one of sums; and of the topic one, and one for each file.
    assert rows == 3 * GROUPS + 1 + len(list(tmp_path.iterdir()))
    assert mib < MOST_MIB


def facts() -> Iterator[Any]:
    """Packed rows as Spark hands them to a task, group by group."""
    minutes = np.arange(_MINUTES)
    ends = {"log_start_offset": minutes * 0, "log_end_offset": minutes * COMMITS // _MINUTES + 10}
    yield from _packed(OBSERVATION, None, {"at_us": _BASE_US + minutes * 60_000_000, **ends})
    for group in range(GROUPS):
        place = np.arange(COMMITS)
        at_us = _BASE_US + place * ((DAY_US - 1) // COMMITS)
        own = {"at_us": at_us, "source_offset": place * GROUPS + group, "committed_offset": place}
        yield from _packed(COMMIT, f"group-{group:03}", own)


def _packed(kind: int, group: str | None, columns: dict[str, Any]) -> Iterator[Any]:
    same = {"cluster_id": "c", "topic": "t", "partition": 0, "group": group, "kind": kind, "day": _DAY}
    same |= {"is_record": True, "is_removal": False}
    size = len(columns["at_us"])
    arrays = [
        pa.array(columns[f.name], f.type) if f.name in columns else pa.repeat(pa.scalar(same.get(f.name), f.type), size)
        for f in INPUT
    ]
    for rows in PARTITION_LAYOUT.pack(iter([pa.RecordBatch.from_arrays(arrays, schema=INPUT)])):
        for first in range(0, rows.num_rows, 256):
            yield rows.slice(first, 256)


def run(stage: str) -> tuple[int, int]:
    """Return how many packed rows the stage yields, and the most memory of this process in MiB."""
    last = _BASE_US + DAY_US - 1
    clusters = {("c", _DAY): ClusterDay(last, last, last, np.arange(_MINUTES) * 60_000_000 + _BASE_US)}
    task = Task(stage, Settings([_DAY], Rules(), 7, [_DAY - 1]), _DAY, Summary(clusters, {}, {}, {}))
    found = GROUP_LAYOUT.pack(run_partitions(task, PARTITION_LAYOUT.unpack(facts())))
    rows = sum(batch.num_rows for batch in found)
    # Of getrusage, the most memory is also that of the process that started this one.
    status = Path("/proc/self/status").read_text()
    return rows, next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) // 1024


if __name__ == "__main__":
    sys.stdout.write("{} {}".format(*run(sys.argv[1])))
