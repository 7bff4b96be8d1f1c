"""Measure `build` for a day of facts, and how its time grows with the commits.

As a part of `make bench-pipeline`, or alone:  python -m tests.bench.pipeline.builds --runs 3 500000 2000000

The facts are written through the storage, as ingest and sample write them: each group commits on twelve partitions each
minute, and a sample each minute has log ends, commits and states. Two groups read a topic. Each build has a copy of the
facts and a process of its own with the memory that the product gives it. The seconds do not include the start of the
Spark session.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kafka_groups.pipeline.build.local_engine import LocalEngine
from kafka_groups.pipeline.build.run import build
from kafka_groups.pipeline.frames.batches import make_batch
from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.tables import GROUP_EVENTS, OFFSET_COMMITS, PARTITION_OFFSETS, Table
from tests.pipeline.fact_rows import new_storage
from tests.pipeline.store.commits import append

from .contenders import spread

SIZES: Final = (500_000, 2_000_000)
_SMALL: Final = 40
_NOON: Final = 12
_PARTITIONS: Final = 12
_MINUTES: Final = 1_440
_MINUTES_A_BATCH: Final = 60
_DAY_US: Final = int(datetime(2026, 11, 20, tzinfo=UTC).timestamp()) * 1_000_000
_MINUTE_US: Final = 60_000_000
_DAY_OF_COMMITS: Final = 432_000_000
_TIMEOUT_S: Final = 3_600
# Minutes in which records were written before the day.
_WRITTEN_BEFORE: Final = 100_000
_BUILD: Final = """
import sys, time, json
from pathlib import Path
from kafka_groups.pipeline.build.spark_engine import SparkEngine
from kafka_groups.pipeline.build.build_plan import estimate_facts
from kafka_groups.pipeline.build.run import build
from kafka_groups.pipeline.spark.session import start_session
from kafka_groups.pipeline.store import open_storage
storage = open_storage(sys.argv[1])
with start_session(log=Path(sys.argv[1] + ".log"), brief=True, master=sys.argv[2]) as spark:
    start = time.perf_counter()
    built = build(storage, SparkEngine(spark, estimate_facts(storage)))
    print(json.dumps({"seconds": time.perf_counter() - start, "rows": dict(built.rows)}))
"""


def measure(scratch: Path, sizes: Sequence[int] = SIZES, *, runs: int = 3) -> str:
    """Build each number of commit records, and return the lines to print."""
    lines = [_measure_few_facts(scratch)]
    cores = {"two cores": 2, "one core": 1}
    median_s = {}
    for commits in sizes:
        with tempfile.TemporaryDirectory(dir=scratch) as directory:
            facts = Path(directory) / "facts"
            rows = fill(new_storage(facts), commits)
            seconds: dict[str, list[float]] = {name: [] for name in cores}
            for _ in range(runs):
                for name, number in cores.items():
                    seconds[name].append(_run(facts, number))
        line = "; ".join(f"{name} {spread(runs_s)}" for name, runs_s in seconds.items())
        lines.append(f"build of {commits:,} commit records, {rows:,} facts in all: {line}")
        median_s[commits] = statistics.median(seconds["two cores"])
    if len(sizes) > 1:
        slope = (median_s[sizes[-1]] - median_s[sizes[0]]) / (sizes[-1] - sizes[0])
        lines.append(
            f"growth: {slope * 1e6:.1f} s a million commits (and as many sampled); extrapolated, not measured: a day "
            f"of {_DAY_OF_COMMITS / 1e6:.0f} million commits {slope * _DAY_OF_COMMITS / 60:.0f} min"
        )
    return "\n".join(lines)


def measure_hours(scratch: Path, ages: Sequence[int] = (2, 60), *, commits: int = 150_000, runs: int = 5) -> str:
    """Build hour by hour after noon on top of some days of history, in this process, and return the lines to print.

    A line has the seconds of an hour's build, and the files and bytes that the first one reads.
    """
    lines = []
    for days in ages:
        with tempfile.TemporaryDirectory(dir=scratch) as directory:
            storage = new_storage(Path(directory, "tables"))
            for age in range(days, 0, -1):
                fill(storage, commits, ago=timedelta(days=age))
            fill(storage, commits, hours=range(_NOON))
            build(storage, LocalEngine())
            seconds: list[float] = []
            engines: list[_CountingEngine] = []
            for hour in range(_NOON, _NOON + runs):
                fill(storage, commits, hours=range(hour, hour + 1))
                engine = _CountingEngine()
                start = time.perf_counter()
                build(storage, engine)
                seconds.append(time.perf_counter() - start)
                engines.append(engine)
        lines.append(
            f"an hour after noon on top of {days} days: {spread(seconds)}; "
            f"the first read {engines[0].files} files, {engines[0].bytes:,} bytes"
        )
    return "\n".join(lines)


class _CountingEngine(LocalEngine):
    """An engine that counts the files that its tasks read, and their bytes."""

    files = 0
    bytes = 0

    def read(self, files: Any) -> Any:
        self.files += len(files)
        self.bytes += sum(Path(file.path).stat().st_size for file in files)
        return super().read(files)


def _measure_few_facts(scratch: Path) -> str:
    """Build about a hundred facts with the command, as a user runs it, and return the line to print."""
    seconds = []
    rows = 0
    for _ in range(3):
        with tempfile.TemporaryDirectory(dir=scratch) as directory:
            rows = fill(new_storage(Path(directory, "tables")), _SMALL)
            command = [sys.executable, "-m", "kafka_groups", "pipeline", "build", "--data-dir", f"{directory}/tables"]
            start = time.perf_counter()
            subprocess.run(command, capture_output=True, check=True, timeout=_TIMEOUT_S)
            seconds.append(time.perf_counter() - start)
    return f"the command with {rows} facts: {spread(seconds)}, whole process"


def fill(storage: Storage, commits: int, *, ago: timedelta = timedelta(), hours: range = range(24)) -> int:
    """Write the facts of `fact_batches` into a storage, and return their number."""
    rows = 0
    for batch, table, part in fact_batches(commits, ago=ago, hours=hours):
        append(storage, batch, pa.Table.from_batches([part]), table=table)
        rows += part.num_rows
    return rows


def fact_batches(
    commits: int, *, ago: timedelta = timedelta(), hours: range = range(24)
) -> Iterator[tuple[str, Table, pa.RecordBatch]]:
    """Yield the facts of a day that has at most `commits` commit records, or only those of some of its hours.

    Each element has the name of a batch, a table, and the rows of one hour. The day is `ago` before 2026-11-20.
    """
    groups = max(1, commits // (_PARTITIONS * _MINUTES))
    minutes = min(_MINUTES, max(1, commits // (groups * _PARTITIONS)))
    minutes_before = int(ago / timedelta(minutes=1))
    for first in range(0, minutes, _MINUTES_A_BATCH):
        if first // _MINUTES_A_BATCH in hours:
            span = np.arange(first, min(first + _MINUTES_A_BATCH, minutes)) - minutes_before
            for table, rows in _facts(groups, span):
                yield f"b-{minutes_before:08}-{first:08}", table, rows


def _facts(groups: int, minutes: Any) -> Iterator[tuple[Table, pa.RecordBatch]]:
    """Yield the facts of these minutes of the day by table: commit records, sampled commits, log ends and states.

    A group commits some seconds after the minute, and the sample of the next minute sees the commit.
    """
    grid = np.meshgrid(minutes, np.arange(groups), np.arange(_PARTITIONS))
    minute, group, partition = (axis.ravel() for axis in grid)
    minutes_written = minute + _WRITTEN_BEFORE
    source_offsets = (minutes_written * groups + group) * _PARTITIONS + partition
    sampled_us = _DAY_US + minute * _MINUTE_US
    committed_us = sampled_us + (7 + group % 40) * 1_000_000
    keys = {
        "group": _names("group", group),
        "topic": _names("topic", group // 2),
        "partition": pa.array(partition, pa.int32()),
    }
    records = keys | _commit_columns(minutes_written * 100, committed_us)
    records["source_partition"] = pa.array(group % 50, pa.int32())
    records["source_offset"] = pa.array(source_offsets, pa.int64())
    sampled = keys | _commit_columns((minutes_written - 1) * 100, sampled_us)
    sampled["member_count"] = pa.array(np.full(len(partition), 3), pa.int32())
    for origin, columns in (("topic", records), ("sample", sampled)):
        same = _same(origin, is_tombstone=False)
        yield OFFSET_COMMITS, make_batch(OFFSET_COMMITS.frame, {**same, **columns}, fill_null=True)
    # The first of the two groups of a topic stands for the topic.
    is_first_group = group % 2 == 0
    topic_minutes = minutes_written[is_first_group]
    growth = minute[is_first_group] % _MINUTES + partition[is_first_group]
    log_ends = {
        "topic": keys["topic"].filter(pa.array(is_first_group)),
        "partition": pa.array(partition[is_first_group], pa.int32()),
        "observed_at": _times(sampled_us[is_first_group]),
        "log_start_offset": pa.array(topic_minutes * 10, pa.int64()),
        "log_end_offset": pa.array(topic_minutes * 100 + growth, pa.int64()),
    }
    yield PARTITION_OFFSETS, make_batch(PARTITION_OFFSETS.frame, {**_same("sample"), **log_ends}, fill_null=True)
    is_first_partition = partition == 0
    states = {
        "group": keys["group"].filter(pa.array(is_first_partition)),
        "record_time": _times(sampled_us[is_first_partition]),
    }
    same = _same("sample", record_name="Snapshot", event_type="state_seen", state="Stable", is_tombstone=False)
    yield GROUP_EVENTS, make_batch(GROUP_EVENTS.frame, {**same, **states}, fill_null=True)


def _commit_columns(offsets: Any, times_us: Any) -> dict[str, Any]:
    """Return the columns of committed offsets with their times, in µs since 1970."""
    times = _times(times_us)
    return {"committed_offset": pa.array(offsets, pa.int64()), "record_time": times, "commit_time": times}


def _times(times_us: Any) -> Any:
    return pa.array(times_us, pa.timestamp("us", tz="UTC"))


def _same(origin: str, **others: Any) -> dict[str, Any]:
    return {"cluster_id": "c", "origin": origin, **others}


def _names(kind: str, numbers: Any) -> Any:
    names = pa.array([f"{kind}-{number:05}" for number in range(int(numbers.max()) + 1)])
    return names.take(pa.array(numbers, pa.int64()))


def _run(facts: Path, cores: int) -> float:
    """Return the seconds of a build whose processes, the JVM and the Python workers, have that many cores."""
    with tempfile.TemporaryDirectory(dir=facts.parent) as directory:
        tables = shutil.copytree(facts, Path(directory) / "tables")
        command = [sys.executable, "-c", _BUILD, str(tables), f"local[{cores}]"]
        completed = subprocess.run(
            ["taskset", "--cpu-list", ",".join(map(str, range(cores))), *command],
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_S,
        )
    if completed.returncode:
        msg = f"build ended with {completed.returncode}: {completed.stderr.strip()[-2000:]}"
        raise RuntimeError(msg)
    return float(json.loads(completed.stdout)["seconds"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.pipeline.builds",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--runs", type=int, default=3, help="runs of each (default: %(default)s)")
    parser.add_argument("--no-hours", action="store_true", help="do not measure hours on top of days")
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES, help="numbers of commits (default: %(default)s)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        sys.stdout.write(measure(Path(scratch), options.sizes, runs=options.runs) + "\n")
        if not options.no_hours:
            sys.stdout.write(measure_hours(Path(scratch)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
