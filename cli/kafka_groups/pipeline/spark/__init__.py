"""A Spark session, started without a word and stopped in any case: what Spark's processes say goes to a log."""

from __future__ import annotations

import logging
import os
import re
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from kafka_groups import errors
from kafka_groups.errors import KafkaGroupsError, PipelineError, StorageError
from kafka_groups.files import open_log
from kafka_groups.pipeline.spark import requirements

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOOPBACK: Final = "127.0.0.1"
_EVERYWHERE: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    # Or pyspark sends requests to the JVM at each step of each expression, to name its line if it fails.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}
_OUR_ERROR: Final = re.compile(r"kafka_groups\.errors\.(\w+): (.+)")
# The last line of a traceback; Spark's own classes begin with org.apache.spark.
_PYTHON_ERROR: Final = re.compile(r"^(?:pyspark\.[\w.]+\.)?(\w+(?:Error|Exception): .+)$", re.MULTILINE)
_MOST_READ: Final = 1_000_000  # bytes of a log
# A JVM says why it has ended behind the first two of these, and before the last one.
_JAVA_ENDED: Final = re.compile(
    r'^Exception in thread "main" (.+)'
    r"|^Error occurred during initialization of VM(?:\n(.+))?"
    r"|^(.+)\nError: Could not create the Java Virtual Machine",
    re.MULTILINE,
)


@contextmanager
def start_session(
    *,
    master: str | None = None,
    remote: str | None = None,
    log: Path,
    memory: str | None = None,
    conf: Mapping[str, str] | None = None,
    fetch: bool = False,
    brief: bool = False,
) -> Iterator[SparkSession]:
    """Yield a session on `master`, or on the Spark Connect server `remote` (sc://HOST:PORT).

    Without both, the environment's SPARK_REMOTE or MASTER decides, and else it is local[*]; under spark-submit it is
    the session that spark-submit prepared. Output of the JVM and of its Python workers goes to `log`. `memory` is the
    driver's (2g), `conf` are properties of a Spark that is started here, `fetch` downloads a missing JDK, and `brief`
    has a JVM of this machine compile lightly, for sessions of seconds. Raises SparkMissingError without pyspark or
    Java, or if one is too old, and PipelineError if Spark fails.
    """
    requirements.check_pyspark()
    is_submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if remote is None and master is None and not is_submitted:
        remote = os.environ.get("SPARK_REMOTE") or None
    options = _EVERYWHERE
    if remote is not None:
        requirements.check_connect()
        requirements.check_answers(remote)
    elif not is_submitted:
        java = requirements.find_java(os.environ, fetch=fetch)
        place = master or os.environ.get("MASTER") or "local[*]"
        options = _local_options(place, memory or "2g", brief=brief) | dict(conf or {})
        requirements.check_master(options["spark.master"])
        _set_environment(java, is_local=options["spark.master"].startswith("local"))
    with warnings.catch_warnings():
        # Python's warnings are for those who write programs, and go to stderr.
        warnings.filterwarnings("ignore", module=r"pyspark(\..*)?")
        with _starting(log):
            spark = _session(options) if remote is None else _connected(remote)
        try:
            with _working(log):
                # A session of somebody else's (spark-submit's, a server's) has a time zone of its own.
                spark.conf.set("spark.sql.session.timeZone", "UTC")
                yield spark
        finally:
            _stop(spark, log)


@contextmanager
def _starting(log: Path) -> Iterator[None]:
    with noise_goes_to(log):
        before = log.stat().st_size
        try:
            yield
        except Exception as error:
            # A Java that cannot be started, a memory that is none, a cluster that is not there.
            reason = _said_by_java(log, before) or _first_line(str(error)) or type(error).__name__
            msg = f"Spark did not start: {reason.rstrip('.')}; its log is {log}"
            raise PipelineError(msg) from error


@contextmanager
def _working(log: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # Whether Spark, or what connects us with it, raised this.
        if any(kind.__module__.partition(".")[0] in {"pyspark", "py4j", "grpc"} for kind in type(error).__mro__):
            found = error_in(str(error))
            msg = f"{str(found).rstrip('.')}; its log is {log}"
            raise type(found)(msg) from error
        raise


def error_in(text: str) -> KafkaGroupsError:
    """Return the error that is in a text of Spark's: ours as it was raised, others by the line that says most."""
    if ours := _OUR_ERROR.findall(text):
        name, sentence = ours[-1]
        kind = getattr(errors, name, PipelineError)
        return (kind if issubclass(kind, PipelineError) else PipelineError)(sentence.strip())
    python = _PYTHON_ERROR.findall(text)
    # Only a JVM writes no more than scratch files; what failed in Python names its own file.
    if "No space left on device" in text and not any("No space left on device" in line for line in python):
        return StorageError(
            "no space is left in Spark's scratch directory (SPARK_LOCAL_DIRS, else /tmp); free some, and run it again"
        )
    return PipelineError(f"Spark failed: {python[-1].strip() if python else _first_line(text) or 'it gave no reason'}")


def _first_line(text: str) -> str:
    """Return the first line that says anything: "An error occurred while calling o45.load." is py4j's."""
    lines = (line.strip(": ") for line in text.splitlines())
    return next((line for line in lines if line and not line.startswith("An error occurred while calling")), "")


def _session(options: Mapping[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    return SparkSession.builder.appName("kafka-groups").config(map={**options}).getOrCreate()


def _connected(url: str) -> SparkSession:
    # The mark by which pyspark's functions know that they are for Connect.
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
    # The builder of pyspark.sql refuses a remote where the environment has a MASTER.
    from pyspark.sql.connect.session import SparkSession as Connected

    return cast("SparkSession", Connected.builder.remote(url).getOrCreate())


def _local_options(master: str, memory: str, *, brief: bool) -> dict[str, str]:
    """Return the options of a session whose JVM is started here."""
    options = {"spark.master": master, "spark.driver.memory": memory, **_EVERYWHERE}
    if master.startswith("local"):
        # Nobody but this machine has to reach the driver.
        options |= {"spark.driver.bindAddress": _LOOPBACK, "spark.driver.host": _LOOPBACK}
        options["spark.sql.shuffle.partitions"] = str(2 * (os.cpu_count() or 1))
        if brief:
            options["spark.driver.extraJavaOptions"] = "-XX:TieredStopAtLevel=1"
    return options


def _set_environment(java: Path, *, is_local: bool) -> None:
    """Let workers run on this Python; on a cluster, on the one that its users say (a packed one)."""
    if is_local or "PYSPARK_PYTHON" not in os.environ:
        os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.pop("SPARK_REMOTE", None)
    os.environ.pop("JAVA_HOME", None)
    if home := requirements.home_of(java):
        os.environ["JAVA_HOME"] = str(home)


def _stop(spark: SparkSession, log: Path) -> None:
    with noise_goes_to(log):
        try:
            spark.stop()
        except Exception as error:  # noqa: BLE001 - a JVM or a server that has ended already has stopped
            sys.stderr.write(f"stopping: {type(error).__name__}: {error}\n")
            # py4j's thread of finalizers would report the end of its JVM later, on our streams.
            logging.getLogger("py4j.java_gateway").disabled = True
            with suppress(Exception):
                spark.stop()  # the first call failed before it stopped the server of accumulators


def _said_by_java(log: Path, before: int) -> str | None:
    """Return why a JVM ended that has just been started, from what it wrote; None if it does not say, or goes on."""
    with log.open("rb") as file:
        file.seek(before)
        found = _JAVA_ENDED.search(file.read(_MOST_READ).decode("utf-8", "replace"))
    return next(filter(None, found.groups()), found[0]).strip() if found else None


@contextmanager
def noise_goes_to(log: Path) -> Iterator[None]:
    """Let file descriptors 1 and 2 be the log for a while; processes that start meanwhile keep it."""
    try:
        target = open_log(log)
    except OSError as error:
        msg = f"cannot write the log of Spark, {log}: {error.strerror}; name another file with --spark-log"
        raise PipelineError(msg) from error
    with ExitStack() as stack:
        stack.callback(os.close, target)
        _flush()
        for number in (1, 2):
            copy = os.dup(number)
            stack.callback(os.close, copy)
            stack.callback(os.dup2, copy, number)
            os.dup2(target, number)
        stack.callback(_flush)
        yield


def _flush() -> None:
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.flush()
