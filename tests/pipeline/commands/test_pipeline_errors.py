"""Errors of the machine and of the directory, and runs that end early: message, name, exit code, unchanged files."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from kafka_groups.errors import PipelineError, SourceError, StorageError
from kafka_groups.pipeline.store import open_storage
from kafka_groups.pipeline.store.marker import MARKER
from tests.fakes.command_line import run
from tests.pipeline.commands.conftest import FakePipeline
from tests.pipeline.fact_rows import commit, put_all
from tests.pipeline.store.disks import make_read_only, small_disk

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

_OLD_JAVA = "#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n"
_AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a disk")


class Machine:
    """A machine to prepare an error on: a directory of tables, an environment, disks."""

    def __init__(self, home: Path, data_dir: str, disks: ExitStack) -> None:
        self.home = home
        self.data_dir = data_dir
        self.environment: dict[str, str | None] = {}
        self._disks = disks

    def without_java(self) -> None:
        self._with_facts_for_spark()
        self.environment |= {"JAVA_HOME": None, "PATH": ""}

    def with_an_old_java(self) -> None:
        java = self.home / "jdk-11" / "bin" / "java"
        java.parent.mkdir(parents=True)
        java.write_text(_OLD_JAVA)
        java.chmod(0o755)
        self._with_facts_for_spark()
        self.environment |= {"JAVA_HOME": str(java.parent.parent), "PATH": ""}

    def with_a_newer_schema(self) -> None:
        marker = Path(self.data_dir, MARKER)
        marker.write_text(json.dumps({**json.loads(marker.read_text()), "schema_version": 99, "made_by": "its child"}))

    def with_another_directory(self) -> None:
        self.data_dir = str(self.home / "letters")
        Path(self.data_dir).mkdir()
        Path(self.data_dir, "dear").write_text("mine")

    def with_a_file(self) -> None:
        self.data_dir = str(self.home / "file")
        Path(self.data_dir).write_text("mine")

    def with_a_full_disk(self) -> None:
        disk = self._disk()
        with suppress(OSError), (disk / "ballast").open("wb", buffering=0) as ballast:
            while ballast.write(bytes(4096)):
                pass

    def with_a_read_only_disk(self) -> None:
        make_read_only(self._disk())

    def _with_facts_for_spark(self) -> None:
        put_all(open_storage(self.data_dir), "b", {"offset_commits": [commit(0, 1, source=1)]})
        self.environment = {"MASTER": "local[1]"}

    def _disk(self) -> Path:
        disk = self._disks.enter_context(small_disk(self.home / "disk", megabytes=1))
        self.data_dir = str(disk / "tables")
        Path(self.data_dir).mkdir()
        return disk


@pytest.fixture
def machine(tmp_path: Path, data_dir: str) -> Iterator[Machine]:
    with ExitStack() as disks:
        yield Machine(tmp_path, data_dir, disks)


class Case(NamedTuple):
    prepare: Callable[[Machine], None]
    command: str
    name: str
    message: str


CASES = {
    "no Java": Case(Machine.without_java, "build", "SPARK_MISSING", "Spark needs a JDK 17 or newer (none is in"),
    "an old Java": Case(Machine.with_an_old_java, "build", "SPARK_MISSING", "is Java 11); set JAVA_HOME to one"),
    "a newer schema": Case(
        Machine.with_a_newer_schema, "ingest", "STORAGE_FAILED", "were created by its child (schema 99), and this is"
    ),
    "a newer schema, read only": Case(
        Machine.with_a_newer_schema, "tables", "STORAGE_FAILED", "use that version, or a newer one"
    ),
    "not a directory of tables": Case(
        Machine.with_another_directory, "ingest", "STORAGE_FAILED", "it contains 'dear' and no"
    ),
    "a file": Case(Machine.with_a_file, "sample", "STORAGE_FAILED", "is a file, and tables need a directory"),
    "a full disk": Case(
        Machine.with_a_full_disk, "ingest", "STORAGE_FAILED", "no space is left on the file system; free some, and"
    ),
    "a read-only disk": Case(
        Machine.with_a_read_only_disk,
        "ingest",
        "STORAGE_FAILED",
        "cannot write in",
    ),
}
_WITH_DISKS = ("a full disk", "a read-only disk")


def _content(path: Path) -> dict[str, bytes]:
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    return {str(file): file.read_bytes() for file in files}


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=name, marks=_AS_ROOT if name in _WITH_DISKS else ()) for name, case in CASES.items()]
)
def test_an_error_is_one_line_with_exit_code_1_and_changes_no_file(machine: Machine, case: Case) -> None:
    case.prepare(machine)
    before = _content(Path(machine.data_dir))

    outcome = run("pipeline", case.command, "--data-dir", machine.data_dir, "--format", "json", **machine.environment)

    assert (outcome.exit_code, outcome.stderr.count("\n")) == (1, 1), outcome
    assert outcome.stderr.startswith("Error: ")
    assert case.message in outcome.stderr
    document = json.loads(outcome.stdout)
    assert (document["status"], [error["name"] for error in document["errors"]]) == ("failed", [case.name])
    assert f"Error: {document['errors'][0]['message']}\n" == outcome.stderr
    assert _content(Path(machine.data_dir)) == before


@pytest.mark.parametrize("command", ["report", "tables", "doctor"])
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    data_dir: str, mocker: MockerFixture, command: str
) -> None:
    found = mocker.patch("kafka_groups.pipeline.commands.command_run.find_spec")
    found.side_effect = lambda name: None if name == "pyarrow" else "found"
    outcome = run("pipeline", command, "--data-dir", data_dir)
    assert (outcome.exit_code, outcome.stderr) == (
        1,
        "Error: the pipeline needs pyarrow, which is not installed; run pip install 'kafka-groups[pipeline]'\n",
    )


@pytest.fixture
def default_sigint_handler() -> Iterator[None]:
    """Handle SIGINT, also if a shell started the tests in the background, where it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("default_sigint_handler")
@pytest.mark.parametrize(
    ("continuous", "status", "names"), [(True, "complete", []), (False, "partial", ["INTERRUPTED"])]
)
def test_an_interrupted_ingest_reports_what_it_wrote(
    fakes: FakePipeline, data_dir: str, *, continuous: bool, status: str, names: list[str]
) -> None:
    done = fakes.ingest.return_value

    def interrupt(*_: object, should_stop: Callable[[], bool], **__: object) -> object:
        assert not should_stop()
        signal.raise_signal(signal.SIGINT)
        assert should_stop()
        return done

    fakes.ingest.side_effect = interrupt
    flags = ("--data-dir", data_dir, "--format", "json", *(["--continuous"] if continuous else []))
    outcome = run("pipeline", "ingest", *flags)

    document = json.loads(outcome.stdout)
    assert (outcome.exit_code, document["status"], document["records"]) == (130, status, 30)
    assert [error["name"] for error in document["errors"]] == names
    assert outcome.stderr.splitlines()[1:] == ["Error: interrupted"]


def test_a_second_signal_ends_the_command_at_once(fakes: FakePipeline, data_dir: str) -> None:
    def ignore_the_first_signal(*_: object, **__: object) -> None:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        pytest.fail("the second one should have ended this")

    fakes.ingest.side_effect = ignore_the_first_signal
    outcome = run("pipeline", "ingest", "--data-dir", data_dir)
    assert (outcome.exit_code, outcome.stderr) == (143, "Error: terminated\n")


def test_an_error_after_a_signal_is_not_reported(fakes: FakePipeline, data_dir: str) -> None:
    def fail_after_a_signal(*_: object, **__: object) -> None:
        signal.raise_signal(signal.SIGTERM)
        raise PipelineError("the JVM has ended")

    fakes.ingest.side_effect = fail_after_a_signal
    outcome = run("pipeline", "ingest", "--data-dir", data_dir, "--format", "json")
    assert (outcome.exit_code, outcome.stderr) == (143, "Error: terminated\n")
    assert [error["name"] for error in json.loads(outcome.stdout)["errors"]] == ["INTERRUPTED"]


def test_the_brokers_are_checked_before_spark_is_started(fakes: FakePipeline, data_dir: str) -> None:
    fakes.open_ingestion.side_effect = SourceError("no")
    assert run("pipeline", "ingest", "--data-dir", data_dir) == (1, "", "Error: no\n")
    fakes.spark.assert_not_called()


@pytest.mark.parametrize("format_", ["table", "json"])
def test_an_ingest_that_fails_reports_what_it_wrote(fakes: FakePipeline, data_dir: str, format_: str) -> None:
    fakes.ingest.side_effect = SourceError("the topic is deleted")
    fakes.total.return_value = fakes.ingest.return_value
    outcome = run("pipeline", "ingest", "--data-dir", data_dir, "--format", format_)
    assert outcome.exit_code == 3
    summary, error = outcome.stderr.splitlines()
    assert summary.startswith("Written in ")
    assert summary.endswith(" s: batches 2, records 30, rows written 28.")
    assert error == "Error: the topic is deleted"
    if format_ == "table":
        assert outcome.stdout == "TABLE           ROWS\noffset_commits    28\n"
        return
    document = json.loads(outcome.stdout)
    assert (document["status"], document["cluster_id"], document["records"]) == ("partial", "c", 30)
    assert document["tables"] == [{"table": "offset_commits", "rows": 28}]
    assert [error["name"] for error in document["errors"]] == ["SOURCE_FAILED"]


def test_a_backfill_that_fails_reports_what_it_wrote(fakes: FakePipeline, data_dir: str) -> None:
    def write_and_fail(*_: object, on_start: Callable[[object], None], **__: object) -> None:
        on_start(fakes.backfill.return_value)
        raise StorageError("the disk is full")

    fakes.backfill.side_effect = write_and_fail
    outcome = run("pipeline", "backfill", "--data-dir", data_dir, "--format", "json")
    document = json.loads(outcome.stdout)
    assert (outcome.exit_code, document["status"]) == (3, "partial")
    assert document["tables"] == [{"table": "partition_offsets", "rows": 10}]
    assert [error["name"] for error in document["errors"]] == ["STORAGE_FAILED"]


def test_an_ingest_that_fails_before_it_wrote_anything_has_failed(fakes: FakePipeline, data_dir: str) -> None:
    fakes.ingest.side_effect = SourceError("the topic is deleted")
    outcome = run("pipeline", "ingest", "--data-dir", data_dir, "--format", "json")
    assert (outcome.exit_code, outcome.stderr) == (1, "Error: the topic is deleted\n")
    assert json.loads(outcome.stdout)["status"] == "failed"


def test_a_deleted_directory_does_not_hide_the_error_that_ended_the_run(fakes: FakePipeline, data_dir: str) -> None:
    fakes.ingest.side_effect = SourceError("the topic is deleted")
    fakes.total.side_effect = OSError("so is the directory")
    assert run("pipeline", "ingest", "--data-dir", data_dir) == (1, "", "Error: the topic is deleted\n")


def test_an_unexpected_error_has_a_whole_document_too(fakes: FakePipeline, data_dir: str) -> None:
    fakes.ingest.side_effect = ZeroDivisionError("by zero")
    outcome = run("pipeline", "ingest", "--data-dir", data_dir, "--format", "json")
    document = json.loads(outcome.stdout)
    assert (outcome.exit_code, document["status"]) == (1, "failed")
    assert [(error["name"], error["message"]) for error in document["errors"]] == [
        ("PIPELINE_FAILED", "ZeroDivisionError: by zero")
    ]
