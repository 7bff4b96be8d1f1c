"""A Spark session, started without a word and stopped in any case."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from kafka_groups.errors import KafkaGroupsError, PipelineError
from kafka_groups.pipeline.spark.connect_server import LOOPBACK, serve
from kafka_groups.pipeline.spark.java import fetch_java, find_java, home_of
from kafka_groups.pipeline.spark.output import environment_with, noise_goes_to
from kafka_groups.pipeline.spark.requirements import check_answers, check_connect, check_master, check_pyspark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_MEMORY: Final = "2g"
NO_CONF: Final[Mapping[str, str]] = MappingProxyType({})
_LOCAL: Final = "local[*]"
_SHUFFLES_A_CORE: Final = 2
_LIGHTLY: Final = "-XX:TieredStopAtLevel=1"
_FULL: Final = "No space left on device"
_MOST_READ: Final = 1_000_000  # bytes of a log
_UNCAUGHT: Final = 'Exception in thread "main"'
_NOT_BEGUN: Final = "Error occurred during initialization of VM"  # the line after says why
_NO_JVM: Final = "Error: Could not create the Java Virtual Machine"  # the line before says why


@contextmanager
def start_session(  # noqa: PLR0913 - what the options choose
    *,
    master: str | None = None,
    remote: str | None = None,
    log: Path,
    memory: str | None = None,
    conf: Mapping[str, str] = NO_CONF,
    fetch: bool = False,
    brief: bool = False,
    environment: Mapping[str, str] | None = None,
) -> Iterator[SparkSession]:
    """Yield a session on `master`, or on the Spark Connect server `remote`.

    Without both, the environment's SPARK_REMOTE or MASTER decides, and else it is local[*]. Under spark-submit it is
    the session that spark-submit prepared. Output of its JVM and of its Python workers goes to `log`, nothing to our
    streams. `memory` is the driver's (2g), `conf` are properties of a Spark that is started here. With `fetch`, a
    missing JDK is downloaded. With `brief`, a JVM of this machine compiles lightly, for sessions of seconds. Raises
    SparkMissingError without pyspark or Java, or if one is too old, and PipelineError if Spark fails.
    """
    known = os.environ if environment is None else environment
    check_pyspark()
    is_submitted = "PYSPARK_GATEWAY_PORT" in known
    remote = remote or (known.get("SPARK_REMOTE") if master is None and not is_submitted else None)
    with ExitStack() as stack:
        stack.enter_context(_without_warnings())
        if remote is not None:
            check_connect()
        is_ours = not is_submitted and (remote is None or remote.startswith("local"))
        changes: dict[str, str | None] = {}
        options = {} if remote is not None else _everywhere()
        if is_ours:
            java = find_java(known, fetch=fetch_java if fetch else None)
            options = _local_options(
                remote or master or known.get("MASTER") or _LOCAL, memory or DEFAULT_MEMORY, brief=brief
            )
            options |= conf
            changes = _for_the_jvm(known, java, is_local=options["spark.master"].startswith("local"))
            check_master(options["spark.master"])
        if remote is not None:
            check_answers(remote, known)
        stack.enter_context(environment_with(changes))
        with _starting(log):
            if remote is not None and is_ours:
                server, remote = serve(remote, options)
                stack.callback(_stop, server, log)
            spark = _classic(options) if remote is None else _connected(remote)
        try:
            with _working(log):
                yield _with_utc(spark)
        finally:
            _stop(spark, log)


@contextmanager
def _without_warnings() -> Iterator[None]:
    # Python's warnings are for those who write programs, and go to stderr.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"pyspark(\..*)?")
        yield


@contextmanager
def _starting(log: Path) -> Iterator[None]:
    with noise_goes_to(log):
        before = log.stat().st_size
        try:
            yield
        except Exception as error:
            # A Java that cannot be started, a memory that is none, a cluster that is not there.
            raise _explained(error, "Spark did not start", log, said=_said_by_java(log, before)) from error


@contextmanager
def _working(log: Path) -> Iterator[None]:
    try:
        yield
    except KafkaGroupsError:
        raise
    except Exception as error:
        if _is_sparks(error):
            raise _explained(error, "Spark failed", log) from error
        raise


def _classic(options: Mapping[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    settings: dict[str, bool | float | int | str | None] = {**options}
    return SparkSession.builder.appName("kafka-groups").config(map=settings).getOrCreate()


def _connected(url: str) -> SparkSession:
    # The mark by which pyspark's functions know that they are for Connect.
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
    from pyspark.sql.connect.session import SparkSession as Connected

    # The builder of pyspark.sql refuses to connect where a server of our own runs in this process.
    return cast("SparkSession", Connected.builder.remote(url).getOrCreate())


def _local_options(master: str, memory: str, *, brief: bool) -> dict[str, str]:
    """Return the options of a session whose JVM is started here."""
    options = {"spark.master": master, "spark.driver.memory": memory, **_everywhere()}
    if master.startswith("local"):
        # Nobody but this machine has to reach the driver.
        options |= {
            "spark.driver.bindAddress": LOOPBACK,
            "spark.driver.host": LOOPBACK,
            "spark.sql.shuffle.partitions": str(_SHUFFLES_A_CORE * (os.cpu_count() or 1)),
        }
        if brief:
            options["spark.driver.extraJavaOptions"] = _LIGHTLY
    return options


def _everywhere() -> dict[str, str]:
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        # Or pyspark sends requests to the JVM at each step of each expression, to name its line if it fails.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
    }


def _for_the_jvm(known: Mapping[str, str], java: Path, *, is_local: bool) -> dict[str, str | None]:
    """Return variables: workers run on this Python; on a cluster, on the one that its users say (a packed one)."""
    home = home_of(java)
    workers = sys.executable if is_local else known.get("PYSPARK_PYTHON", sys.executable)
    return {
        "PYSPARK_PYTHON": workers,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "JAVA_HOME": None if home is None else str(home),
        "SPARK_REMOTE": None,
    }


def _with_utc(spark: SparkSession) -> SparkSession:
    # A session of somebody else's (spark-submit's, a server's) has a time zone of its own.
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    return spark


def _stop(spark: SparkSession, log: Path) -> None:
    stop: Callable[[], None] = spark.stop
    with noise_goes_to(log):
        try:
            stop()
        except Exception as error:  # noqa: BLE001 - a JVM or a server that has ended already has stopped
            sys.stderr.write(f"stopping: {type(error).__name__}: {error}\n")


def _is_sparks(error: Exception) -> bool:
    """Return whether Spark, or what connects us with it, raised this."""
    return any(kind.__module__.partition(".")[0] in {"pyspark", "py4j", "grpc"} for kind in type(error).__mro__)


def _said_by_java(log: Path, before: int) -> str | None:
    """Return why a JVM ended that has just been started, from what it wrote; None if it does not say, or goes on."""
    with log.open("rb") as file:
        file.seek(before)
        lines = [line.strip() for line in file.read(_MOST_READ).decode("utf-8", "replace").splitlines()]
    for place, line in enumerate(lines):
        if line.startswith(_UNCAUGHT):
            return line.removeprefix(_UNCAUGHT).strip()
        if line.startswith(_NOT_BEGUN):
            return next(iter(lines[place + 1 : place + 2]), line)
        if line.startswith(_NO_JVM):
            return lines[place - 1] if place else line
    return None


def _explained(error: Exception, what: str, log: Path, *, said: str | None = None) -> PipelineError:
    """Return an error with the first line that says anything, or `said`; the rest is in the log or in --debug."""
    lines = [line.strip(": ") for line in str(error).splitlines() if line.strip(": ")]
    if _FULL in str(error):
        said = (
            "no space is left in Spark's scratch directory (SPARK_LOCAL_DIRS, else /tmp); free some, and run it again"
        )
    # "An error occurred while calling o45.load." is py4j's, and says nothing.
    telling = [line for line in lines if not line.startswith("An error occurred while calling")]
    reason = said or (telling or lines or [type(error).__name__])[0]
    return PipelineError(f"{what}: {reason.rstrip('.')}; its log is {log}")
