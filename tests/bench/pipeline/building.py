"""`python -m tests.bench.pipeline.building`: how long `build` takes for a day, and how that grows with its commits.

The facts are written through the storage, as ingest and sample write them: each group commits on twelve partitions each
minute, and a sample each minute tells log ends, commits and states. Two groups read a topic. Each build has a
process of its own with the memory that the product gives it; the session's start is not part of the seconds.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kafka_groups.pipeline.storage import Storage, open_storage
from kafka_groups.pipeline.tables import GROUP_EVENTS, OFFSET_COMMITS, PARTITION_OFFSETS, Table
from kafka_groups.pipeline.tables.filling import shaped

SIZES: Final = (500_000, 1_000_000, 2_000_000)
_SMALL: Final = 1_440
_PARTITIONS: Final = 12
_MINUTES: Final = 1_440
_MINUTES_A_BATCH: Final = 60
_DAY_US: Final = int(datetime(2026, 11, 20, tzinfo=UTC).timestamp()) * 1_000_000
_MINUTE_US: Final = 60_000_000
_DAY_OF_COMMITS: Final = 2_000 * _PARTITIONS * _MINUTES
_TIMEOUT_S: Final = 3_600


def measure(scratch: Path, sizes: Sequence[int] = SIZES) -> str:
    """A build for each number of commit records, in lines to print."""
    taken = {}
    lines = []
    for commits in (_SMALL, *sizes):
        with tempfile.TemporaryDirectory(dir=scratch) as directory:
            rows = fill(open_storage(f"{directory}/tables", create=True), commits)
            told = _built(Path(directory))
        taken[commits] = told["seconds"]
        lines.append(
            f"build of {commits:,} commit records, {rows:,} facts in all: {told['seconds']:.1f} s "
            f"({told['jvm_cpu_s']:.1f} s of processor time), {told['made']:,} rows, JVM to {told['jvm_mib']:,.0f} MiB"
        )
    if len(sizes) > 1:
        slope = (taken[sizes[-1]] - taken[sizes[0]]) / (sizes[-1] - sizes[0])
        lines.append(
            f"growth: {slope * 1e6:.1f} s a million commits; 2,000 such groups: {slope * _DAY_OF_COMMITS / 60:.0f} min"
        )
    return "\n".join(lines)


def fill(storage: Storage, commits: int) -> int:
    """A day with so many commit records, or somewhat fewer; how many facts that are."""
    groups = max(1, commits // (_PARTITIONS * _MINUTES))
    minutes = min(_MINUTES, max(1, commits // (groups * _PARTITIONS)))
    rows = 0
    for first in range(0, minutes, _MINUTES_A_BATCH):
        span = np.arange(first, min(first + _MINUTES_A_BATCH, minutes))
        for table, part in _facts(groups, span):
            storage.append(table, f"b-{first:08}", pa.Table.from_batches([part]))
            rows += part.num_rows
    return rows


def _facts(groups: int, minutes: Any) -> Iterator[tuple[Table, pa.RecordBatch]]:
    # A group commits some seconds after the minute, and the sample of the next minute sees it.
    minute, group, partition = (
        each.ravel() for each in np.meshgrid(minutes, np.arange(groups), np.arange(_PARTITIONS))
    )
    places = (minute * groups + group) * _PARTITIONS + partition
    asked_us = _DAY_US + minute * _MINUTE_US
    committed_us = asked_us + (7 + group % 40) * 1_000_000
    keys = {
        "group": _names("group", group),
        "topic": _names("topic", group // 2),
        "partition": pa.array(partition, pa.int32()),
    }
    for origin, offset, at_us, source in (
        ("topic", minute * 100, committed_us, places),
        ("sample", np.maximum(minute - 1, 0) * 100, asked_us, None),
    ):
        times = pa.array(at_us, pa.timestamp("us", tz="UTC"))
        own = {"committed_offset": pa.array(offset, pa.int64()), "record_time": times, "commit_time": times}
        if source is not None:
            own |= {"source_partition": pa.array(group % 50, pa.int32()), "source_offset": pa.array(source, pa.int64())}
        yield OFFSET_COMMITS, shaped(OFFSET_COMMITS, len(group), keys | own, _same(origin, tombstone=False))
    one = group % 2 == 0
    ends = {
        "topic": keys["topic"].filter(pa.array(one)),
        "partition": pa.array(partition[one], pa.int32()),
        "observed_at": pa.array(asked_us[one], pa.timestamp("us", tz="UTC")),
        "log_start_offset": pa.array(minute[one] * 10, pa.int64()),
        "log_end_offset": pa.array(minute[one] * 101 + partition[one], pa.int64()),
    }
    yield PARTITION_OFFSETS, shaped(PARTITION_OFFSETS, int(one.sum()), ends, _same("sample"))
    first = partition == 0
    states = {
        "group": keys["group"].filter(pa.array(first)),
        "record_time": pa.array(asked_us[first], pa.timestamp("us", tz="UTC")),
    }
    same = _same("sample", type="Snapshot", meaning="state_seen", state="Stable", tombstone=False)
    yield GROUP_EVENTS, shaped(GROUP_EVENTS, int(first.sum()), states, same)


def _same(origin: str, **others: Any) -> dict[str, Any]:
    return {"cluster_id": "c", "origin": origin, **others}


def _names(kind: str, numbers: Any) -> Any:
    names = pa.array([f"{kind}-{number:05}" for number in range(int(numbers.max()) + 1)])
    return names.take(pa.array(numbers, pa.int64()))


def _built(directory: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.bench.pipeline.building", "--build", str(directory)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S)
    if done.returncode:
        msg = f"build ended with {done.returncode}: {done.stderr.strip()[-2000:]}"
        raise RuntimeError(msg)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def _build(directory: Path) -> dict[str, Any]:
    from kafka_groups.pipeline.building import build, is_small
    from kafka_groups.pipeline.session import start_session

    storage = open_storage(str(directory / "tables"))
    with start_session(log=directory / "spark.log", brief=is_small(storage)) as spark:
        start = time.perf_counter()
        built = build(spark, storage)
        seconds = time.perf_counter() - start
        return {"seconds": seconds, "made": sum(built.rows.values()), "rows": dict(built.rows), **_of_the_jvm()}


def _of_the_jvm() -> dict[str, float]:
    """The most memory that a JVM below this process had, and the processor time that it took."""
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            try:
                if b"java" not in (process / "cmdline").read_bytes().split(b"\0")[0] or not _is_ours(process):
                    continue
                status = (process / "status").read_text()
                spent = (process / "stat").read_text().rpartition(")")[2].split()[11:13]
            except OSError:
                continue
            peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
            return {"jvm_mib": peak / 1024, "jvm_cpu_s": sum(map(int, spent)) / 100}
    return {"jvm_mib": 0.0, "jvm_cpu_s": 0.0}


def _is_ours(process: Path) -> bool:
    import os

    return int((process / "stat").read_text().rpartition(")")[2].split()[1]) == os.getpid()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, or be one of the builds that are measured."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.pipeline.building", description=__doc__)
    parser.add_argument("--build", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES, help="numbers of commits (default: %(default)s)")
    options = parser.parse_args(arguments)
    if options.build:
        told = json.dumps(_build(options.build))
    else:
        with tempfile.TemporaryDirectory() as scratch:
            told = measure(Path(scratch), options.sizes)
    sys.stdout.write(told + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
