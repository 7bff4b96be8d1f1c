"""A session writes nothing to the streams of its program, runs workers on this Python, and ends on request."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.errors import PipelineError
from kafka_groups.pipeline.spark.session import _options_of_new_jvm, report_spark_errors
from tests.live.pipeline.sparks import connect_server

PROGRAM = """
import json, sys, time
from pathlib import Path
from kafka_groups.errors import PipelineError
from kafka_groups.pipeline.spark.session import start_session
log, kind, at, what = sys.argv[1:]

def session():
    return start_session(log=Path(log), memory="512m", brief=True, **{kind: at})

def error_of(work):
    try:
        with session() as spark:
            work(spark)
    except PipelineError as error:
        return str(error)

with session() as spark:
    from pyspark.sql.functions import udf
    which = udf(lambda _: (sys.stderr.write("a worker's noise\\n"), sys.executable)[1], "string")
    found = {
        "python": spark.range(1).select(which("id")).collect()[0][0],
        "zone": spark.conf.get("spark.sql.session.timeZone"),
        "connect": type(spark).__module__.startswith("pyspark.sql.connect"),
        "brief": "-XX:TieredStopAtLevel=1" in spark.conf.get("spark.driver.extraJavaOptions", ""),
    }
    Path(log + ".up").write_text(json.dumps(found))
    if what == "wait":
        time.sleep(60)
if kind == "master":
    found["failed"] = error_of(lambda spark: spark.range(1).selectExpr("raise_error('broken on purpose')").collect())
    found["thrown"] = error_of(lambda spark: spark._jvm.java.lang.Class.forName("no.such.Class"))
    Path(log + ".up").write_text(json.dumps(found))
"""


@dataclass(frozen=True, kw_only=True)
class Ran:
    """The output and the exit code of a program with sessions, and the facts that it wrote to a file."""

    output: tuple[str, str, int]
    found: dict[str, Any]
    log: Path


def run(log: Path, kind: str, at: str) -> Ran:
    """Run a program that opens sessions one after another, in a process of its own."""
    program = [sys.executable, "-c", PROGRAM, str(log), kind, at, "work"]
    done = subprocess.run(program, capture_output=True, text=True, check=False, timeout=200)
    up = Path(f"{log}.up")
    found = json.loads(up.read_text()) if up.exists() else {}
    return Ran(output=(done.stdout, done.stderr, done.returncode), found=found, log=log)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Ran]]:
    """Run a program for each place of sessions at the same time, because a start uses one core."""
    home = tmp_path_factory.mktemp("sessions")
    with ThreadPoolExecutor(2) as pool, connect_server(home) as server:
        places = {"master": "local[2]", "remote": server}
        running = {kind: pool.submit(run, home / kind, kind, at) for kind, at in places.items()}
        yield lambda kind: running[kind].result()


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["master", "remote"])
def test_output_of_spark_does_not_reach_the_streams(ran: Callable[[str], Ran], kind: str) -> None:
    done = ran(kind)
    assert done.output == ("", "", 0)
    assert (done.found["python"], done.found["zone"]) == (sys.executable, "UTC")
    assert done.found["connect"] == (kind == "remote")
    # The workers of a server write to its own log.
    assert ("a worker's noise" in done.log.read_text()) == (kind == "master")


@pytest.mark.spark
def test_a_brief_session_compiles_less(ran: Callable[[str], Ran]) -> None:
    assert ran("master").found["brief"]


def test_other_sessions_have_the_whole_compiler() -> None:
    assert "spark.driver.extraJavaOptions" not in _options_of_new_jvm("local[2]", "1g", brief=False)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("what", "reason"),
    [("failed", "broken on purpose"), ("thrown", "java.lang.ClassNotFoundException: no.such.Class")],
)
def test_an_error_of_spark_or_java_is_one_line_with_the_log(ran: Callable[[str], Ran], what: str, reason: str) -> None:
    done = ran("master")
    error = done.found[what]
    assert error.startswith("Spark failed: ")
    assert "An error occurred while calling" not in error
    assert reason in error
    assert error.endswith(f"; its log is {done.log}")
    assert "\n" not in error


def test_a_full_scratch_disk_is_reported(tmp_path: Path) -> None:
    from pyspark.errors import PySparkException

    thrown = "Job aborted due to stage failure\njava.io.IOException: No space left on device\n\tat java.base"
    with pytest.raises(PipelineError) as caught, report_spark_errors(tmp_path / "log"):
        raise PySparkException(thrown)
    assert str(caught.value) == (
        "no space is left in Spark's scratch directory (SPARK_LOCAL_DIRS, else /tmp); free some, and run "
        f"it again; its log is {tmp_path / 'log'}"
    )


@pytest.mark.spark
@pytest.mark.parametrize(
    ("master", "memory", "given"),
    [
        ("foo", "512m", "Spark did not start: org.apache.spark.SparkException: Master must either be yarn or "),
        ("local[1]", "1x", "Spark did not start: Invalid maximum heap size: -Xmx1x"),
    ],
)
def test_the_reason_of_a_jvms_end_at_its_start_is_reported(
    tmp_path: Path, master: str, memory: str, given: str
) -> None:
    log = tmp_path / "log"
    log.write_text('Exception in thread "main" of a run before\n')
    program = """
import sys
from pathlib import Path
from kafka_groups.errors import PipelineError
from kafka_groups.pipeline.spark.session import start_session
try:
    start_session(master=sys.argv[1], memory=sys.argv[2], log=Path(sys.argv[3])).__enter__()
except PipelineError as error:
    print(error)
"""
    command = [sys.executable, "-c", program, master, memory, str(log)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert (done.stdout.startswith(given), done.stderr) == (True, "")
    assert done.stdout.endswith(f"; its log is {log}\n")


@pytest.mark.spark
def test_ctrl_c_ends_a_session_and_its_jvm(tmp_path: Path) -> None:
    log = tmp_path / "log"
    program = [sys.executable, "-c", PROGRAM, str(log), "master", "local[2]", "wait"]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        until = time.monotonic() + 180
        while not (tmp_path / "log.up").exists():
            assert time.monotonic() < until
            time.sleep(0.1)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode in {1, -signal.SIGINT}
    assert children
    until = time.monotonic() + 20
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < until
        time.sleep(0.1)


@pytest.mark.spark
def test_after_the_kill_of_a_jvm_no_thread_writes_to_the_streams(tmp_path: Path) -> None:
    log = tmp_path / "log"
    program = """
import os, signal, socketserver, sys, time
from pathlib import Path
from kafka_groups.pipeline.spark.session import start_session

report = socketserver.BaseServer.handle_error
socketserver.BaseServer.handle_error = lambda *of: (time.sleep(0.5), report(*of))
with start_session(master="local[1]", memory="512m", brief=True, log=Path(sys.argv[1])) as spark:
    # A worker in Python makes the server of accumulators connect.
    assert spark.range(1).mapInArrow(lambda batches: batches, "id BIGINT").count() == 1
    (java,) = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    os.kill(int(java), signal.SIGKILL)
    while Path(f"/proc/{java}/cmdline").read_text():
        time.sleep(0.01)
time.sleep(2)  # the thread of finalizers looks for work once a second
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(log)], capture_output=True, text=True, check=True, timeout=120
    )
    assert (done.stdout, done.stderr) == ("", "")
    assert "EOFError" in log.read_text()
