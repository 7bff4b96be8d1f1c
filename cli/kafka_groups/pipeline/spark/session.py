"""The start and the end of a Spark session, on this machine, on a cluster, or on a Spark Connect server."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from kafka_groups.errors import PipelineError
from kafka_groups.pipeline.spark import requirements
from kafka_groups.pipeline.spark.connect_retries import end_retries
from kafka_groups.pipeline.spark.output import jvm_end_reason, redirect_output
from kafka_groups.pipeline.spark.spark_errors import error_in, first_line, is_spark_error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOOPBACK: Final = "127.0.0.1"
_DEFAULT_MASTER: Final = "local[*]"
_DEFAULT_MEMORY: Final = "2g"
# spark-submit sets this variable for the programs that it runs.
_SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"
_COMMON_OPTIONS: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    # With this option on, pyspark sends requests to the JVM for each step of each expression, to name its source line.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}


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
    """Yield a session on `master`, or on the Spark Connect server `remote` (sc://HOST:PORT), and stop it at the end.

    Without both, the session is spark-submit's, else the one that SPARK_REMOTE or MASTER in the environment names, else
    local[*]. Output of the JVM and of its Python workers goes to the file `log`. `memory` is the driver's,
    such as 2g. `conf` are properties of a Spark that is started here. `fetch` downloads a JDK if none is installed.
    `brief` makes a JVM of this machine compile less, for sessions of seconds.

    Raises SparkMissingError without pyspark or Java, or if one is too old, and PipelineError if Spark fails.
    """
    requirements.check_pyspark()
    is_submitted = _SUBMITTED in os.environ
    if remote is None and master is None and not is_submitted:
        remote = os.environ.get("SPARK_REMOTE") or None
    options = _COMMON_OPTIONS
    if remote is not None:
        requirements.check_connect()
        requirements.check_server(remote)
    elif not is_submitted:
        java = requirements.find_java(os.environ, fetch=fetch)
        chosen_master = master or os.environ.get("MASTER") or _DEFAULT_MASTER
        options = _options_of_new_jvm(chosen_master, memory or _DEFAULT_MEMORY, brief=brief) | dict(conf or {})
        requirements.check_master(options["spark.master"])
        _set_environment(java, is_local=options["spark.master"].startswith("local"))
    with warnings.catch_warnings():
        # Python's warnings are for programmers, and would go to stderr.
        warnings.filterwarnings("ignore", module=r"pyspark(\..*)?")
        with _report_failed_start(log):
            spark = _create_session(options) if remote is None else _connect_session(remote)
        try:
            with report_spark_errors(log):
                # The session of spark-submit or of a server may have another time zone.
                spark.conf.set("spark.sql.session.timeZone", "UTC")
                yield spark
        finally:
            _stop_session(spark, log)


@contextmanager
def _report_failed_start(log: Path) -> Iterator[None]:
    """Raise PipelineError, with the reason and the log, for any exception inside the context."""
    with redirect_output(log):
        size_before = log.stat().st_size
        try:
            yield
        except Exception as error:
            # Examples: a Java that cannot be started, an impossible size of memory, a cluster that does not respond.
            reason = jvm_end_reason(log, size_before) or first_line(str(error)) or type(error).__name__
            msg = f"Spark did not start: {reason.rstrip('.')}; its log is {log}"
            raise PipelineError(msg) from error


@contextmanager
def report_spark_errors(log: Path) -> Iterator[None]:
    """Raise exceptions of Spark inside the context as errors of this package that name the log; pass on others."""
    try:
        yield
    except Exception as error:
        if not is_spark_error(error):
            raise
        reported = error_in(str(error))
        msg = f"{str(reported).rstrip('.')}; its log is {log}"
        raise type(reported)(msg) from error


def _create_session(options: Mapping[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    return SparkSession.builder.appName("kafka-groups").config(map={**options}).getOrCreate()


def _connect_session(url: str) -> SparkSession:
    # The functions of pyspark.sql look at this variable to know that they are used with Spark Connect.
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
    # The builder of pyspark.sql refuses a remote if the environment has a MASTER.
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    return cast("SparkSession", ConnectSession.builder.remote(url).getOrCreate())


def _options_of_new_jvm(master: str, memory: str, *, brief: bool) -> dict[str, str]:
    """Return the options of a session whose driver is a new JVM on this machine."""
    options = {"spark.master": master, "spark.driver.memory": memory, **_COMMON_OPTIONS}
    if master.startswith("local"):
        # Only this machine has to reach the driver.
        options["spark.driver.bindAddress"] = _LOOPBACK
        options["spark.driver.host"] = _LOOPBACK
        options["spark.sql.shuffle.partitions"] = str(2 * (os.cpu_count() or 1))
        if brief:
            options["spark.driver.extraJavaOptions"] = "-XX:TieredStopAtLevel=1"
    return options


def _set_environment(java: Path, *, is_local: bool) -> None:
    """Set the variables by which pyspark finds Java and the Python of its workers.

    Local workers run on this Python; a cluster's workers run on the one that PYSPARK_PYTHON names, if it is set.
    """
    if is_local or "PYSPARK_PYTHON" not in os.environ:
        os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.pop("SPARK_REMOTE", None)
    os.environ.pop("JAVA_HOME", None)
    home = requirements.home_of(java)
    if home is not None:
        os.environ["JAVA_HOME"] = str(home)


def _stop_session(spark: SparkSession, log: Path) -> None:
    """Stop the session. Errors go to the log, because the JVM or the server may have ended before."""
    with redirect_output(log):
        # If the server has ended, the client would retry for ten minutes.
        end_retries(spark)
        try:
            spark.stop()
        except Exception as error:  # noqa: BLE001 - py4j and grpc raise many classes, and none of them matters here
            sys.stderr.write(f"stopping: {type(error).__name__}: {error}\n")
            # Later, the finalizer thread of py4j would report the end of the JVM on the streams of this process.
            logging.getLogger("py4j.java_gateway").disabled = True
            # The first call failed before it stopped the server of accumulators.
            with suppress(Exception):
                spark.stop()
