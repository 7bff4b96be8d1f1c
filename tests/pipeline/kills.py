"""Kill commands of the pipeline with SIGKILL, on a disk and on an object store, and check the tables afterwards.

All of it, as `make proof-pipeline` does:  python -m tests.pipeline.kills
A few kills on a disk only:                python -m tests.pipeline.kills --kills 4 --storage disk

A real broker receives commits, while ingest, sample, build and compact run in turn, each killed at a random time of its
run. Afterwards each record of the topic is one row, each sample is whole, and the derived tables equal those of a build
of the same facts in a new directory. Then two samples, an ingest and a compaction run at the same time, and a backup is
restored. The exit code is 1 if a check fails.
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click
import pytest
from pyarrow.fs import FileSelector

from kafka_groups.pipeline.store import open_storage
from tests.bench.pipeline.filled_broker import one_broker
from tests.live.groups.topics import make_topic
from tests.live.pipeline.offsets_topic import commit
from tests.pipeline.store.object_stores import new_bucket, object_store
from tests.pipeline.table_errors import find_errors

COMMANDS: Final = ("ingest", "sample", "build", "compact")
# Commands that run at the same time after the kills.
_CONCURRENT: Final = ("sample", "ingest", "sample", "compact")
_COMMAND_TIMEOUT_S: Final = 300


class TablesUnderTest:
    """The tables of one storage, and the commands that change them."""

    def __init__(self, data_dir: str, bootstrap: str, home: Path) -> None:
        self.data_dir = data_dir
        self.bootstrap = bootstrap
        self.home = home

    def start(self, command: str) -> subprocess.Popen[bytes]:
        """Start a command in a session of its own, so that it can be killed with its JVM and its workers."""
        program = [sys.executable, "-m", "kafka_groups", "pipeline", command, "--data-dir", self.data_dir]
        if command in {"ingest", "build"}:
            program += ["--driver-memory", "1g", "--spark-log", str(self.home / "spark.log")]
        if command in {"ingest", "sample"}:
            program += ["-b", self.bootstrap]
        if command == "ingest":
            program += ["--records-per-batch", "30"]
        with self._stderr_file(command).open("ab") as log:
            return subprocess.Popen(program, stdout=log, stderr=log, start_new_session=True)

    def run(self, command: str) -> float:
        """Run a command to its end; return the seconds that it took. Raises AssertionError if it fails."""
        start = time.perf_counter()
        process = self.start(command)
        assert process.wait(_COMMAND_TIMEOUT_S) == 0, self._stderr_file(command).read_text()[-3000:]
        return time.perf_counter() - start

    def kill(self, command: str, after_s: float) -> bool:
        """Run a command and kill it after this time; return whether it was still running."""
        process = self.start(command)
        try:
            process.wait(after_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return True
        return False

    def _stderr_file(self, command: str) -> Path:
        return self.home / f"{command}.err"


class CommitSource:
    """Commits of seven groups, whose offsets grow with each call."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._topic = make_topic(bootstrap, records=1_000)
        self._number = 0

    def commit(self) -> None:
        """Commit ten offsets of one partition, one after the other, for each of three groups."""
        for _ in range(3):
            self._number += 1
            commit(self._bootstrap, f"kills-{self._number % 7}", self._topic, *range(self._number, self._number + 10))


def prove(tables: TablesUnderTest, kills: int, seed: int) -> list[str]:
    """Kill commands, run commands at the same time, restore a backup; return what was wrong after each of the three."""
    commits = CommitSource(tables.bootstrap)
    commits.commit()
    # The first ingest reads the whole topic, so that later ones take about the same time.
    tables.run("ingest")
    commits.commit()
    durations = {command: tables.run(command) for command in COMMANDS}
    click.echo(f"  uninterrupted: {', '.join(f'{name} {seconds:.1f} s' for name, seconds in durations.items())}")
    return [
        *_prove_kills(tables, commits, durations, kills, random.Random(seed)),
        *_prove_concurrency(tables),
        *_prove_restored_backup(tables, commits),
    ]


def _prove_kills(
    tables: TablesUnderTest, commits: CommitSource, durations: dict[str, float], kills: int, chance: random.Random
) -> list[str]:
    """Kill the commands in turn, and return what is wrong after a complete ingest and build.

    A command may end before its kill, so there are up to twice as many attempts as kills.
    """
    killed = Counter[str]()
    for attempt in range(kills * 2):
        if killed.total() == kills:
            break
        command = COMMANDS[attempt % len(COMMANDS)]
        commits.commit()
        killed[command] += tables.kill(command, durations[command] * chance.uniform(0.3, 1.0))
        if attempt % 10 == 9:
            tables.run("sample")
    tables.run("ingest")
    tables.run("build")
    click.echo(f"  killed: {', '.join(f'{name} {number} times' for name, number in killed.items())}")
    missing = [f"only {killed.total()} commands were killed"] if killed.total() < kills else []
    return missing + [
        f"after {killed.total()} kills: {error}" for error in find_errors(tables.data_dir, tables.bootstrap)
    ]


def _prove_concurrency(tables: TablesUnderTest) -> list[str]:
    """Run commands at the same time, and return which failed and what is wrong after a build."""
    processes = [(command, tables.start(command)) for command in _CONCURRENT]
    failed = [f"{command} failed" for command, process in processes if process.wait(_COMMAND_TIMEOUT_S)]
    tables.run("build")
    return [
        f"with writers at the same time: {error}"
        for error in (*failed, *find_errors(tables.data_dir, tables.bootstrap))
    ]


def _prove_restored_backup(tables: TablesUnderTest, commits: CommitSource) -> list[str]:
    """Run all commands after a backup, restore it, and return what is wrong after an ingest and a build."""
    with backed_up(tables) as restore:
        commits.commit()
        for command in COMMANDS:
            tables.run(command)
        restore()
    tables.run("ingest")
    tables.run("build")
    return [f"after a backup was restored: {error}" for error in find_errors(tables.data_dir, tables.bootstrap)]


@contextmanager
def backed_up(tables: TablesUnderTest) -> Iterator[Callable[[], None]]:
    """Copy all files; yield a function that puts them back and deletes all others."""
    place = open_storage(tables.data_dir).directory

    def list_files() -> list[str]:
        entries = place.fs.get_file_info(FileSelector(place.root, recursive=True))
        return [entry.path for entry in entries if entry.is_file and "/.locks/" not in entry.path]

    with tempfile.TemporaryDirectory() as scratch:
        for path in list_files():
            target = Path(scratch, path.removeprefix(place.root).lstrip("/"))
            target.parent.mkdir(parents=True, exist_ok=True)
            with place.fs.open_input_file(path) as source, target.open("wb") as copy:
                shutil.copyfileobj(source, copy)

        def restore() -> None:
            for path in list_files():
                place.fs.delete_file(path)
            for copy in Path(scratch).rglob("*"):
                if copy.is_file():
                    path = place.join(str(copy.relative_to(scratch)))
                    place.make_parent(path)
                    with place.fs.open_output_stream(path, buffer_size=65_536) as sink:
                        sink.write(copy.read_bytes())

        yield restore


@contextmanager
def data_directory(storage: str, home: Path) -> Iterator[str]:
    """Yield the path or URI of a storage: a directory in `home`, a bucket of a server that is started, or `storage`."""
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
    """Prove it on each storage, print the outcome, and exit with 1 if a check failed."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.pipeline.kills",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--kills", type=int, default=40, help="kills on each storage (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="chooses the times of the kills (default: %(default)s)")
    parser.add_argument(
        "--storage",
        action="append",
        help="disk, moto (an object store that is started), or a new URI of a store for which the environment has "
        "variables; repeatable (default: disk and moto)",
    )
    options = parser.parse_args()
    # SIGTERM raises SystemExit, so that the broker ends as on Ctrl-C.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    errors = []
    with tempfile.TemporaryDirectory() as scratch, one_broker(click.echo) as (broker, _):
        for number, storage in enumerate(options.storage or ["disk", "moto"]):
            home = Path(scratch, str(number))
            home.mkdir()
            click.echo(f"{storage}:")
            start = time.perf_counter()
            with data_directory(storage, home) as data_dir:
                tables = TablesUnderTest(data_dir, broker.bootstrap, home)
                errors_of_storage = prove(tables, options.kills, options.seed)
            outcome = "; ".join(errors_of_storage) or "each record is one row, each sample is whole"
            click.echo(f"  {outcome}; {time.perf_counter() - start:.0f} s")
            errors += errors_of_storage
    sys.exit(bool(errors))


if __name__ == "__main__":
    main()
