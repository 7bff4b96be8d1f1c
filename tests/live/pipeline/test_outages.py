"""A broker of its own: no group has been on it at first, it freezes later, and its topic is recreated at last."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.dataset as ds
import pytest
from confluent_kafka.admin import AdminClient

from kafka_groups import sandbox
from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.tables import OFFSET_COMMITS
from tests.fakes.command_line import run
from tests.live.groups.conditions import wait_until
from tests.live.groups.topics import client_properties, make_topic, unique_name
from tests.live.pipeline.offsets_topic import TOPIC, commit
from tests.pipeline.fact_rows import new_storage
from tests.pipeline.store.commits import count_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pytest_mock import MockerFixture

pytestmark = [pytest.mark.live, pytest.mark.spark]

_LONG_S = 180


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sandbox.Sandbox]:
    """A broker without a request for a coordinator, which would make the topic."""
    home = tmp_path_factory.mktemp("outage")
    wanted = sandbox.SandboxSpec(
        name="outage", kafka_version="4.3.1", port=0, heap_mb=384, seed=False, profile=False, home=home
    )
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("kafka_groups.sandbox.startup.await_coordinators", lambda *_, **__: None)
            started = sandbox.up(wanted)
        yield started
    finally:
        sandbox.down("outage", home=home)


def test_a_first_ingest_of_a_new_cluster_reads_nothing_and_a_later_one_all(
    broker: sandbox.Sandbox, spark: SparkSession, storage: Storage, mocker: MockerFixture
) -> None:
    mocker.patch("kafka_groups.pipeline.spark.session.start_session", side_effect=lambda **_: nullcontext(spark))
    flags = ("pipeline", "ingest", "--data-dir", storage.location, "--format", "json")

    first = run(*flags, bootstrap=broker.bootstrap)
    group = unique_name("first")
    commit(broker.bootstrap, group, make_topic(broker.bootstrap, records=8), 1, 2)
    second = run(*flags, bootstrap=broker.bootstrap)

    assert first.exit_code == 0, first.stdout + first.stderr
    document = json.loads(first.stdout)
    assert (document["status"], document["records"], document["tables"]) == ("complete", 0, [])
    lines = first.stderr.splitlines()  # on a busy machine workers may be started again between them
    assert lines[0] == f"{TOPIC} does not exist yet: this cluster has had no consumer groups yet."
    assert lines[-1].startswith("Done in ")
    assert (second.exit_code, json.loads(second.stdout)["records"]) == (0, 2)
    assert _committed(storage) == {group}


@dataclass(frozen=True, kw_only=True)
class Lived:
    """What a continuous ingest went through until it ended."""

    storage: Storage
    exit_code: int
    document: dict[str, Any]
    stderr: str
    groups: tuple[str, str, str]  # that committed before the freeze, after it, and on the new topic


def _committed(storage: Storage) -> set[str]:
    files = [file.path for file in storage.files(OFFSET_COMMITS)]
    if not files:
        return set()
    return set(ds.dataset(files, filesystem=storage.directory.fs).to_table(columns=["group"])["group"].to_pylist())


@contextmanager
def _frozen(broker: sandbox.Sandbox) -> Iterator[None]:
    (pid,) = (process.pid for process in broker.processes if process.pid)
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextmanager
def _continuous(bootstrap: str, into: str, stderr: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "kafka_groups", "pipeline", "ingest", "--continuous", "--interval", "1s"]
    command += ["--format", "json", "--timeout", "4s", "--data-dir", into, "-b", bootstrap, "--driver-memory", "1g"]
    with (
        stderr.open("w") as stream,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stream, text=True) as process,
    ):
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


@pytest.fixture(scope="module")
def lived(broker: sandbox.Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Lived:
    home = tmp_path_factory.mktemp("lived")
    storage, stderr = new_storage(home / "tables"), home / "stderr"
    topic, groups = (
        make_topic(broker.bootstrap, records=8),
        (unique_name("before"), unique_name("after"), unique_name("later")),
    )
    commit(broker.bootstrap, groups[0], topic, 1, 2, 3)
    with _continuous(broker.bootstrap, storage.location, stderr) as process:

        def until_read(group: str) -> None:
            def is_read() -> bool:
                assert process.poll() is None, stderr.read_text()
                return group in _committed(storage)

            wait_until(is_read, stderr.read_text, timeout_s=_LONG_S)

        until_read(groups[0])
        with _frozen(broker):
            wait_until(lambda: "the next attempt is in" in stderr.read_text(), stderr.read_text, timeout_s=_LONG_S)
        commit(broker.bootstrap, groups[1], topic, 1, 2)
        until_read(groups[1])
        client = AdminClient(
            client_properties(broker.bootstrap)
        )  # dropped before the result, it takes the request back
        client.delete_topics([TOPIC])[TOPIC].result(30)
        commit(broker.bootstrap, groups[2], topic, *range(30))
        stdout, _ = process.communicate(timeout=_LONG_S)
    return Lived(
        storage=storage,
        exit_code=process.returncode,
        document=json.loads(stdout),
        stderr=stderr.read_text(),
        groups=groups,
    )


def test_a_continuous_ingest_survives_a_broker_frozen_beyond_the_timeout(lived: Lived) -> None:
    away = [line for line in lived.stderr.splitlines() if "; the next attempt is in 1 s" in line]

    assert away
    assert "responded within 4 s" in away[0] or "no record within 4 s" in away[0]
    assert set(lived.groups[:2]) <= _committed(lived.storage)


def test_a_continuous_ingest_ends_at_a_recreated_topic_with_a_report(lived: Lived) -> None:
    assert lived.exit_code == 3
    assert lived.document["status"] == "partial"
    (error,) = lived.document["errors"]
    assert error["name"] == "SOURCE_FAILED"
    assert "recreated" in error["message"]
    assert "a new checkpoint" in error["message"]
    rows = {table["table"]: table["rows"] for table in lived.document["tables"]}
    assert rows["offset_commits"] == count_rows(lived.storage, OFFSET_COMMITS) >= 5
    assert lived.document["batches"] >= 2


def test_the_next_run_is_refused_before_spark_starts_and_doctor_says_why(
    broker: sandbox.Sandbox, lived: Lived, mocker: MockerFixture
) -> None:
    started = mocker.patch("kafka_groups.pipeline.spark.session.start_session")
    at = ("--data-dir", lived.storage.location, "--format", "json")

    again = run("pipeline", "ingest", *at, bootstrap=broker.bootstrap)
    checks = json.loads(run("pipeline", "doctor", *at, bootstrap=broker.bootstrap).stdout)["checks"]

    assert again.exit_code == 1
    assert f"{TOPIC} was read, and was recreated: its topic id is " in again.stderr
    started.assert_not_called()
    (ingest,) = (check for check in checks if check["check"] == "ingest")
    assert (ingest["status"], "was recreated" in ingest["detail"]) == ("failed", True)
    assert lived.groups[2] not in _committed(lived.storage)
