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

from kafka_groups.pipeline.build.fact_summary import ClusterDay, FactSummary
from kafka_groups.pipeline.build.kernels.segments import DAY_US
from kafka_groups.pipeline.build.stage_rows import pack_commits, pack_observations
from kafka_groups.pipeline.build.stage_settings import StageSettings
from kafka_groups.pipeline.build.tasks import Task, run_partition_task
from kafka_groups.pipeline.frames.arrays import NULL, to_column
from kafka_groups.verdicts import Limits

GROUPS: Final = 24
COMMITS: Final = 100_000  # of each group
MAX_MIB: Final = 400
_DAY: Final = 20_000
_BASE_US: Final = _DAY * DAY_US
_MINUTES: Final = 1_440


@pytest.mark.slow
def test_two_million_commits_on_one_partition_take_less_than_400_mib(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.pipeline.build.test_memory", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    rows, mib = map(int, done.stdout.split())
    # For each group a packed row of statuses and one of its day; for the topic one, and one for each file.
    assert rows == 2 * GROUPS + 1 + len(list(tmp_path.iterdir()))
    assert mib < MAX_MIB


def facts() -> Iterator[Any]:
    """Yield packed rows as Spark passes them to a task, group by group."""
    minutes = np.arange(_MINUTES)
    observations = {
        "at_us": _BASE_US + minutes * 60_000_000,
        "is_sample": np.ones(_MINUTES, np.bool_),
        "log_start": minutes * 0,
        "log_end": minutes * COMMITS // _MINUTES + 10,
        **{
            name: np.full(_MINUTES, NULL)
            for name in ("last_stable", "lookup_offset", "lookup_timestamp_ms", "topic_id")
        },
    }
    yield from _in_small_batches(pack_observations(iter([_rows(observations, _MINUTES)])))
    for group in range(GROUPS):
        index = np.arange(COMMITS)
        commits = {
            "at_us": _BASE_US + index * ((DAY_US - 1) // COMMITS),
            "source_offset": index * GROUPS + group,
            "committed_offset": index,
            "is_record": np.ones(COMMITS, np.bool_),
            "is_deletion": np.zeros(COMMITS, np.bool_),
            "topic_id": np.full(COMMITS, NULL),
            "member_count": np.full(COMMITS, NULL),
        }
        rows = _rows(commits, COMMITS, group=f"group-{group:03}")
        yield from _in_small_batches(pack_commits(iter([rows])))


def _rows(columns: dict[str, Any], size: int, **key: str) -> Any:
    key_columns = {"cluster_id": "c", "topic": "t", **key}
    arrays = {name: pa.repeat(pa.scalar(value), size) for name, value in key_columns.items()}
    arrays |= {name: pa.repeat(pa.scalar(value, pa.int32()), size) for name, value in (("partition", 0), ("day", _DAY))}
    arrays |= {name: to_column(values) for name, values in columns.items()}
    return pa.RecordBatch.from_arrays(list(arrays.values()), list(arrays))


def _in_small_batches(batches: Iterator[Any]) -> Iterator[Any]:
    for rows in batches:
        for first in range(0, rows.num_rows, 256):
            yield rows.slice(first, 256)


def run(data_dir: str) -> tuple[int, int]:
    """Return how many rows the stage yields, and the most memory of this process in MiB."""
    last = _BASE_US + DAY_US - 1
    read = ClusterDay(
        last_commit_record_us=last,
        last_record_us=last,
        last_sample_us=last,
        complete_samples_us=np.arange(_MINUTES) * 60_000_000 + _BASE_US,
    )
    summary = FactSummary(clusters={("c", _DAY): read}, groups={}, idle_partitions={}, last_us={})
    task = Task(data_dir, StageSettings([_DAY], Limits(), 7, [_DAY - 1]), _DAY, summary)
    rows = sum(batch.num_rows for batch in run_partition_task(task, facts()))
    # Of getrusage, the most memory is also that of the process that started this one.
    status = Path("/proc/self/status").read_text()
    return rows, next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) // 1024


if __name__ == "__main__":
    sys.stdout.write("{} {}".format(*run(sys.argv[1])))
