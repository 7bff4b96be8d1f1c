"""Commands that are killed with SIGKILL, on a disk and on an object store: `python -m tests.pipeline.kills`.

A real broker; ingest, sample, build and compact in turn, each killed at some moment of its run, while commits come in.
Afterwards every record is a row once, every sample is whole, and the derived tables are those of a build of the same
facts in a new directory. Then two samples, an ingest and a compaction run at once, and a backup is restored.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka_groups.pipeline.store import Storage, open_storage
from kafka_groups.pipeline.store.root_directory import open_file
from kafka_groups.pipeline.tables import (
    GROUP_EVENTS,
    OFFSET_COMMITS,
    PARTITION_OFFSETS,
    SAMPLE_RUNS,
    UNKNOWN_RECORDS,
    Table,
)
from tests.bench.pipeline.filling import one_broker
from tests.live.groups.topics import make_topic
from tests.live.pipeline.offsets_topic import commit, places
from tests.pipeline.build.builds import build_here, read
from tests.pipeline.fact_rows import new_storage
from tests.pipeline.store.object_stores import new_bucket, object_store

COMMANDS: Final = ("ingest", "sample", "build", "compact")
_DERIVED: Final = ("lag_history", "rebalances", "group_status", "topic_daily", "group_daily")
_FACTS: Final = (OFFSET_COMMITS, GROUP_EVENTS, PARTITION_OFFSETS)
_AT_ONCE: Final = ("sample", "ingest", "sample", "compact")


class Directory:
    """Tables of one storage, and the commands that change them."""

    def __init__(self, into: str, bootstrap: str, home: Path) -> None:
        self.into, self.bootstrap, self.home = into, bootstrap, home

    def start(self, command: str) -> subprocess.Popen[bytes]:
        """Start a command in a session of its own, so that it can be killed with its JVM and its workers."""
        program = [sys.executable, "-m", "kafka_groups", "pipeline", command, "--data-dir", self.into]
        if command in {"ingest", "build"}:
            program += ["--driver-memory", "1g", "--spark-log", str(self.home / "spark.log")]
        if command in {"ingest", "sample"}:
            program += ["-b", self.bootstrap]
        if command == "ingest":
            program += ["--records-per-batch", "30"]
        with (self.home / f"{command}.err").open("ab") as log:
            return subprocess.Popen(program, stdout=log, stderr=log, start_new_session=True)

    def run(self, command: str) -> float:
        """Run a command to its end; return the seconds that it took."""
        start = time.perf_counter()
        process = self.start(command)
        assert process.wait(300) == 0, (self.home / f"{command}.err").read_text()[-3000:]
        return time.perf_counter() - start

    def kill(self, command: str, after_s: float) -> bool:
        """Run a command and kill it after so many seconds; return whether it was still running."""
        process = self.start(command)
        try:
            process.wait(after_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return True
        return False


def check(where: Directory) -> list[str]:
    """Return what is wrong with the tables, after an ingest and a build that ran to their ends."""
    storage = open_storage(where.into)
    read_once = Counter[tuple[int, int]]()
    for table in (OFFSET_COMMITS, GROUP_EVENTS, UNKNOWN_RECORDS):
        rows = rows_in(storage, table, ["source_partition", "source_offset"])
        read_once.update(place for place in pairs(rows) if place[0] is not None)
    there = places(where.bootstrap)
    found = []
    if set(read_once.values()) - {1}:
        found.append(f"{sum(number > 1 for number in read_once.values())} records are rows more than once")
    if lost := there.keys() - read_once.keys():
        found.append(f"{len(lost)} records are no rows")
    found += list(_odd_samples(storage))
    with tempfile.TemporaryDirectory() as scratch:
        fresh = new_storage(Path(scratch, "fresh"))
        for table in _FACTS:
            copy_rows(storage, fresh, table)
        build_here(fresh)
        found += [f"rows of {name} differ" for name in _DERIVED if read(fresh, name) != read(storage, name)]
    return found


def _odd_samples(storage: Storage) -> Iterator[str]:
    names = ("groups_at", "groups"), ("commits_at", "commits"), ("sampled_at", "partitions")
    runs = rows_in(storage, SAMPLE_RUNS, [name for pair in names for name in pair])
    for (at, number), table, time_of in zip(
        names,
        (GROUP_EVENTS, OFFSET_COMMITS, PARTITION_OFFSETS),
        ("record_time", "record_time", "observed_at"),
        strict=True,
    ):
        rows = rows_in(storage, table, ["origin", time_of])
        counted = Counter(when for origin, when in pairs(rows) if origin == "sample")
        expected = {
            when: size for when, size in zip(runs[at].to_pylist(), runs[number].to_pylist(), strict=True) if size
        }
        if counted != expected:
            yield f"rows of samples in {table.name} are not those of the runs"


def rows_in(storage: Storage, table: Table, columns: Sequence[str]) -> Any:
    """Return columns of all rows that readers see."""
    found = [pa.schema([table.arrow().field(name) for name in columns]).empty_table()]
    for file in storage.files(table):
        with open_file(storage.directory.address(file.path)) as opened:
            found.append(pq.ParquetFile(opened).read(list(columns)).select(columns))
    return pa.concat_tables(found, promote_options="permissive")


def pairs(rows: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the values of the two columns of a table."""
    return zip(*(column.to_pylist() for column in rows.columns), strict=True)


def copy_rows(source: Storage, target: Storage, table: Table) -> None:
    """Write the rows that readers see as one batch of another storage."""
    with target.writer("copied") as writer:
        for rows in rows_in(source, table, table.arrow().names).cast(table.arrow()).to_batches():
            writer.write(table, rows)
        files = writer.close()
    target.append(files)


def prove(where: Directory, kills: int, seed: int) -> list[str]:
    """Return what went wrong with so many kills, two writers at once and a restored backup."""
    chance = random.Random(seed)
    topic = make_topic(where.bootstrap, records=1_000)
    number = 0

    def commit_some() -> None:
        nonlocal number
        for _ in range(3):
            number += 1
            commit(where.bootstrap, f"kills-{number % 7}", topic, *range(number, number + 10))

    commit_some()
    where.run("ingest")  # all that is there; what comes in between is less
    commit_some()
    taken = {command: where.run(command) for command in COMMANDS}
    click.echo(f"  uninterrupted: { {name: round(seconds, 1) for name, seconds in taken.items()} }")
    killed = Counter[str]()
    for place in range(kills * 2):
        if killed.total() == kills:
            break
        command = COMMANDS[place % len(COMMANDS)]
        commit_some()
        killed[command] += where.kill(command, taken[command] * chance.uniform(0.3, 1.0))
        if place % 10 == 9:
            where.run("sample")
    found = [f"only {killed.total()} commands were killed"] if killed.total() < kills else []
    where.run("ingest")
    where.run("build")
    found += [f"after {killed.total()} kills: {wrong}" for wrong in check(where)]
    click.echo(f"  killed: {dict(killed)}")
    running = {f"{place} {command}": where.start(command) for place, command in enumerate(_AT_ONCE)}
    failed = [f"{name} failed" for name, process in running.items() if process.wait(300)]
    where.run("build")
    found += [f"with writers at once: {wrong}" for wrong in (*failed, *check(where))]
    with backed_up(where) as restore:
        commit_some()
        for command in ("ingest", "sample", "build", "compact"):
            where.run(command)
        restore()
    where.run("ingest")
    where.run("build")
    return found + [f"after a backup was restored: {wrong}" for wrong in check(where)]


@contextmanager
def backed_up(where: Directory) -> Iterator[Any]:
    """Copy all files; yield what puts them back, and deletes the others."""
    place = open_storage(where.into).directory
    with tempfile.TemporaryDirectory() as scratch:
        from pyarrow.fs import FileSelector

        def files() -> list[str]:
            listed = place.fs.get_file_info(FileSelector(place.root, recursive=True))
            return [info.path for info in listed if info.is_file and "/.locks/" not in info.path]

        for path in files():
            target = Path(scratch, path.removeprefix(place.root).lstrip("/"))
            target.parent.mkdir(parents=True, exist_ok=True)
            with place.fs.open_input_file(path) as source, target.open("wb") as copy:
                shutil.copyfileobj(source, copy)

        def restore() -> None:
            for path in files():
                place.fs.delete_file(path)
            for copy in Path(scratch).rglob("*"):
                if copy.is_file():
                    path = place.join(str(copy.relative_to(scratch)))
                    place.make_parent(path)
                    with place.fs.open_output_stream(path, buffer_size=65_536) as sink:
                        sink.write(copy.read_bytes())

        yield restore


@contextmanager
def directory(storage: str, home: Path) -> Iterator[str]:
    """Yield where tables go, and start the server if it takes one."""
    if storage == "disk":
        yield str(home / "tables")
    elif storage == "moto":
        with object_store() as variables, pytest.MonkeyPatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            yield f"s3://{new_bucket(variables['AWS_ENDPOINT_URL'])}/tables"
    else:
        yield storage


def main() -> None:
    """Prove it on each storage, print what was done; exit with 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--storage",
        action="append",
        help="disk, moto (a server that is started), or a new URI of a store that variables of the environment are for",
    )
    options = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory() as scratch, one_broker(click.echo) as (filling, _):
        for number, name in enumerate(options.storage or ["disk", "moto"]):
            home = Path(scratch, str(number))
            home.mkdir()
            click.echo(f"{name}:")
            start = time.perf_counter()
            with directory(name, home) as into:
                wrong = prove(Directory(into, filling.bootstrap, home), options.kills, options.seed)
            click.echo(
                f"  {'; '.join(wrong) or 'every record once, every sample whole'}; {time.perf_counter() - start:.0f} s"
            )
            found += wrong
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
