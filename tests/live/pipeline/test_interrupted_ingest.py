"""`ingest --continuous` is a program of its own here, that Ctrl-C and SIGTERM end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafka_groups.pipeline.facts.ingestion import ingest
from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.tables import OFFSET_COMMITS
from tests.live.groups.conditions import wait_until
from tests.live.groups.topics import make_topic, unique_name
from tests.live.pipeline.offsets_topic import commit, commits_in, read_directly
from tests.pipeline.fact_rows import new_storage
from tests.pipeline.store.commits import count_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.live, pytest.mark.spark]

SECRETS = {"sasl.password": "hunter2-a", "ssl.key.password": "hunter2-b", "sasl.username": "hunter2-c"}
_START_S = 300
_END_S = 120
_TALKATIVE = """\
rootLogger.level = info
rootLogger.appenderRef.err.ref = err
appender.err.type = Console
appender.err.name = err
appender.err.target = SYSTEM_ERR
appender.err.layout.type = PatternLayout
appender.err.layout.pattern = %p %c: %m%n%ex
logger.repl.name = org.apache.spark.api.python.PythonGatewayServer
logger.repl.level = info
"""


@dataclass(frozen=True, kw_only=True)
class Ended:
    """What is left of a run."""

    exit_code: int
    stdout: str
    stderr: str
    log: str
    storage: Storage

    @property
    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.stdout)
        return found


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a run is ended: by which signal, and to whom."""

    number: signal.Signals
    kill: Callable[[int, int], None]


ENDINGS = {
    # A terminal's Ctrl-C reaches the JVM and the workers, too.
    "by ctrl-c": Ending(number=signal.SIGINT, kill=os.killpg),
    # A container's end reaches the first process alone.
    "by sigterm": Ending(number=signal.SIGTERM, kill=os.kill),
    # A service manager's reaches the JVM, too, which has often ended before Python looks.
    "by sigterm to all": Ending(number=signal.SIGTERM, kill=os.killpg),
}


@contextmanager
def _continuous(broker: str, home: Path) -> Iterator[subprocess.Popen[str]]:
    """An ingest in a group of processes of its own, as a terminal has it, with secrets that brokers do not request."""
    (home / "conf").mkdir()
    (home / "conf" / "log4j2.properties").write_text(_TALKATIVE)
    command = [sys.executable, "-m", "kafka_groups", "--debug", "pipeline", "ingest", "--continuous"]
    command += ["--interval", "1s", "-b", broker, "--format", "json"]
    command += ["--data-dir", str(home / "tables"), "--spark-log", str(home / "log")]
    secrets = home / "client.properties"
    secrets.write_text("".join(f"{key}={value}\n" for key, value in SECRETS.items()))
    command += ["--master", "local[2]", "--driver-memory", "1g", "--config", str(secrets)]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"SPARK_CONF_DIR": str(home / "conf"), "SPARK_LOCAL_IP": "127.0.0.1"},
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def _end(broker: str, home: Path, ending: Ending) -> Ended:
    topic = make_topic(broker, records=8)
    commit(broker, unique_name("before"), topic, 1, 2, 3)
    storage = new_storage(home / "tables")
    with _continuous(broker, home) as process:
        wait_until(lambda: _has_read(storage, process), lambda: "nothing was read", timeout_s=_START_S)
        ending.kill(process.pid, ending.number)
        stdout, stderr = process.communicate(timeout=_END_S)
    log = (home / "log").read_text(errors="replace")
    return Ended(exit_code=process.returncode, stdout=stdout, stderr=stderr, log=log, storage=storage)


def _has_read(storage: Storage, process: subprocess.Popen[str]) -> bool:
    """Whether a batch is written: one that is ended in the middle is not, and the next run repeats it."""
    assert process.poll() is None, process.communicate()
    return count_rows(storage, OFFSET_COMMITS) > 0


@pytest.fixture(scope="module")
def running(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[Ended]]]:
    """All of them, two at a time: most of a run is its start, which uses one core."""
    with ThreadPoolExecutor(2) as pool:
        yield {name: pool.submit(_end, broker, tmp_path_factory.mktemp("ending"), how) for name, how in ENDINGS.items()}


@pytest.fixture(params=ENDINGS)
def name(request: pytest.FixtureRequest) -> str:
    ending: str = request.param
    return ending


@pytest.fixture
def ended(name: str, running: dict[str, Future[Ended]]) -> Ended:
    return running[name].result()


def test_the_signal_is_reported_once_and_is_the_exit_code(ended: Ended, name: str) -> None:
    exit_code, reported = (130, "interrupted") if ENDINGS[name].number == signal.SIGINT else (143, "terminated")

    assert ended.exit_code == exit_code, ended.stderr
    assert [line for line in ended.stderr.splitlines() if line.startswith("Error")] == [f"Error: {reported}"]
    assert "py4j" not in ended.stderr


def test_rows_written_before_the_signal_are_counted(ended: Ended) -> None:
    rows = {table["table"]: table["rows"] for table in ended.document["tables"]}

    assert ended.document["status"] == "complete"
    assert rows["offset_commits"] == count_rows(ended.storage, OFFSET_COMMITS) > 0
    assert ended.document["records"] == sum(rows.values()) - rows.get("ingest_gaps", 0)


@pytest.mark.parametrize("name", ["by sigterm to all"], indirect=True)
def test_the_next_run_continues_at_the_position(ended: Ended, spark: SparkSession, broker: str) -> None:
    commit(broker, unique_name("after"), make_topic(broker, records=8), 1, 2)

    ingest(spark, ended.storage, {"bootstrap.servers": broker})

    assert commits_in(spark, ended.storage) == read_directly(broker)


def test_no_secret_is_in_the_output_or_in_the_log_of_spark(ended: Ended) -> None:
    assert "INFO org.apache.spark" in ended.log
    assert "hunter2" not in ended.stdout + ended.stderr + ended.log
    kept = [path for path in Path(ended.storage.location).rglob("*") if path.is_file()]
    assert [path for path in kept if b"hunter2" in path.read_bytes()] == []
