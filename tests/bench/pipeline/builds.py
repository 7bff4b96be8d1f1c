"""`python -m tests.bench.pipeline.builds`: how long `build` takes for a day, and how that grows with its commits.

The facts are written through the storage, as ingest and sample write them: each group commits on twelve partitions each
minute, and a sample each minute has log ends, commits and states. Two groups read a topic. Each build has a process of
its own with the memory that the product gives it, and a copy of the facts; the session's start is not part of the
seconds.
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
from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.tables import GROUP_EVENTS, OFFSET_COMMITS, PARTITION_OFFSETS, Table
from kafka_groups.pipeline.tables.shape import shaped
from tests.pipeline.fact_rows import new_storage
from tests.pipeline.store.commits import append

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
_WRITTEN_BEFORE: Final = 100_000  # minutes in which records were written before the day
_BUILD: Final = """
import sys, time, json
from pathlib import Path
from kafka_groups.pipeline.build.spark_engine import SparkEngine
from kafka_groups.pipeline.build.plan import count_facts
from kafka_groups.pipeline.build.run import build
from kafka_groups.pipeline.spark import start_session
from kafka_groups.pipeline.store import open_storage
storage = open_storage(sys.argv[1])
with start_session(log=Path(sys.argv[1] + ".log"), brief=True, master=sys.argv[2]) as spark:
    start = time.perf_counter()
    built = build(storage, SparkEngine(spark, count_facts(storage)))
    print(json.dumps({"seconds": time.perf_counter() - start, "rows": dict(built.rows)}))
"""


def measure(scratch: Path, sizes: Sequence[int] = SIZES, *, runs: int = 3) -> str:
    """Builds for each number of commit records, in lines to print."""
    lines, taken = [_few_facts(scratch)], {}
    cores = {"two cores": 2, "one core": 1}
    for commits in sizes:
        with tempfile.TemporaryDirectory(dir=scratch) as directory:
            facts = Path(directory) / "facts"
            rows = fill(new_storage(facts), commits)
            found: dict[str, list[float]] = {name: [] for name in cores}
            for _ in range(runs):
                for name, number in cores.items():
                    found[name].append(_run(facts, number))
        line = "; ".join(f"{name} {_spread(seconds)}" for name, seconds in found.items())
        lines.append(f"build of {commits:,} commit records, {rows:,} facts in all: {line}")
        taken[commits] = statistics.median(found["two cores"])
    if len(sizes) > 1:
        slope = (taken[sizes[-1]] - taken[sizes[0]]) / (sizes[-1] - sizes[0])
        lines.append(
            f"growth: {slope * 1e6:.1f} s a million commits (and as many sampled); extrapolated, not measured: a day "
            f"of {_DAY_OF_COMMITS / 1e6:.0f} million commits {slope * _DAY_OF_COMMITS / 60:.0f} min"
        )
    return "\n".join(lines)


def measure_hours(scratch: Path, ages: Sequence[int] = (2, 60), *, commits: int = 150_000, runs: int = 5) -> str:
    """The hours after noon on top of so many days of history, in this process: their seconds, and what one reads."""
    lines = []
    for days in ages:
        with tempfile.TemporaryDirectory(dir=scratch) as directory:
            storage = new_storage(Path(directory, "tables"))
            for age in range(days, 0, -1):
                fill(storage, commits, ago=timedelta(days=age))
            fill(storage, commits, hours=range(_NOON))
            build(storage, LocalEngine())
            seconds, read = list[float](), (0, 0)
            for hour in range(_NOON, _NOON + runs):
                fill(storage, commits, hours=range(hour, hour + 1))
                engine = _CountingEngine()
                start = time.perf_counter()
                build(storage, engine)
                seconds.append(time.perf_counter() - start)
                read = (engine.files, engine.bytes) if hour == _NOON else read
        lines.append(
            f"an hour after noon on top of {days} days: {_spread(seconds)}; "
            f"the first read {read[0]} files, {read[1]:,} bytes"
        )
    return "\n".join(lines)


class _CountingEngine(LocalEngine):
    """An engine that counts the files that tasks are given, and their bytes."""

    files = 0
    bytes = 0

    def read(self, files: Any) -> Any:
        self.files += len(files)
        self.bytes += sum(Path(file.path).stat().st_size for file in files)
        return super().read(files)


def _few_facts(scratch: Path) -> str:
    """A hundred facts with the command, as a user runs it."""
    seconds, rows = [], 0
    for _ in range(3):
        with tempfile.TemporaryDirectory(dir=scratch) as directory:
            rows = fill(new_storage(Path(directory, "tables")), _SMALL)
            command = [sys.executable, "-m", "kafka_groups", "pipeline", "build", "--data-dir", f"{directory}/tables"]
            start = time.perf_counter()
            subprocess.run(command, capture_output=True, check=True, timeout=_TIMEOUT_S)
            seconds.append(time.perf_counter() - start)
    return f"the command with {rows} facts: {_spread(seconds)}, whole process"


def _spread(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f})"


def fill(storage: Storage, commits: int, *, ago: timedelta = timedelta(), hours: range = range(24)) -> int:
    """A day with so many commit records, or somewhat fewer, or hours of it; how many facts that are."""
    groups = max(1, commits // (_PARTITIONS * _MINUTES))
    minutes = min(_MINUTES, max(1, commits // (groups * _PARTITIONS)))
    rows = 0
    before = int(ago / timedelta(minutes=1))
    for first in range(0, minutes, _MINUTES_A_BATCH):
        if first // _MINUTES_A_BATCH not in hours:
            continue
        span = np.arange(first, min(first + _MINUTES_A_BATCH, minutes)) - before
        for table, part in _facts(groups, span):
            append(storage, f"b-{before:08}-{first:08}", pa.Table.from_batches([part]), table=table)
            rows += part.num_rows
    return rows


def _facts(groups: int, minutes: Any) -> Iterator[tuple[Table, pa.RecordBatch]]:
    # A group commits some seconds after the minute, and the sample of the next minute sees it.
    minute, group, partition = (
        each.ravel() for each in np.meshgrid(minutes, np.arange(groups), np.arange(_PARTITIONS))
    )
    written = minute + _WRITTEN_BEFORE
    places = (written * groups + group) * _PARTITIONS + partition
    asked_us = _DAY_US + minute * _MINUTE_US
    committed_us = asked_us + (7 + group % 40) * 1_000_000
    keys = {
        "group": _names("group", group),
        "topic": _names("topic", group // 2),
        "partition": pa.array(partition, pa.int32()),
    }
    for origin, offset, at_us, source in (
        ("topic", written * 100, committed_us, places),
        ("sample", (written - 1) * 100, asked_us, None),
    ):
        times = pa.array(at_us, pa.timestamp("us", tz="UTC"))
        own = {"committed_offset": pa.array(offset, pa.int64()), "record_time": times, "commit_time": times}
        if source is not None:
            own |= {"source_partition": pa.array(group % 50, pa.int32()), "source_offset": pa.array(source, pa.int64())}
        yield OFFSET_COMMITS, shaped(OFFSET_COMMITS.arrow(), len(group), keys | own, _same(origin, tombstone=False))
    one = group % 2 == 0
    ends = {
        "topic": keys["topic"].filter(pa.array(one)),
        "partition": pa.array(partition[one], pa.int32()),
        "observed_at": pa.array(asked_us[one], pa.timestamp("us", tz="UTC")),
        "log_start_offset": pa.array(written[one] * 10, pa.int64()),
        "log_end_offset": pa.array(written[one] * 100 + minute[one] % _MINUTES + partition[one], pa.int64()),
    }
    yield PARTITION_OFFSETS, shaped(PARTITION_OFFSETS.arrow(), int(one.sum()), ends, _same("sample"))
    first = partition == 0
    states = {
        "group": keys["group"].filter(pa.array(first)),
        "record_time": pa.array(asked_us[first], pa.timestamp("us", tz="UTC")),
    }
    same = _same("sample", type="Snapshot", event_type="state_seen", state="Stable", tombstone=False)
    yield GROUP_EVENTS, shaped(GROUP_EVENTS.arrow(), int(first.sum()), states, same)


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
        done = subprocess.run(
            ["taskset", "--cpu-list", ",".join(map(str, range(cores))), *command],
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_S,
        )
    if done.returncode:
        msg = f"build ended with {done.returncode}: {done.stderr.strip()[-2000:]}"
        raise RuntimeError(msg)
    return float(json.loads(done.stdout)["seconds"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.pipeline.builds", description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="runs of each (default: %(default)s)")
    parser.add_argument("--no-hours", action="store_true", help="leave out the hours on top of days")
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES, help="numbers of commits (default: %(default)s)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        found = measure(Path(scratch), options.sizes, runs=options.runs)
        sys.stdout.write(found + "\n")
        if not options.no_hours:
            sys.stdout.write(measure_hours(Path(scratch)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
