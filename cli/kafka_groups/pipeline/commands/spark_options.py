"""Options that choose the Spark of a command, checked before Spark is started."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import click

from kafka_groups.options.parameters import combine_options

F = TypeVar("F", bound=Callable[..., Any])

_LOCAL: Final = re.compile(r"local(\[\s*(0*[1-9]\d*|\*)\s*(,\s*\d+\s*)?\])?", re.ASCII)
_MASTERS: Final = re.compile(
    r"""local-cluster\[[\d\s,]+\] | yarn | spark://[^\s/,]+:\d+(,[^\s/,]+:\d+)* | k8s://\S+""", re.VERBOSE | re.ASCII
)
# A JVM accepts these sizes. With others it fails after the start.
_MEMORY: Final = re.compile(r"([1-9]\d*)([kmgt])", re.IGNORECASE | re.ASCII)
_BYTES: Final = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_OPTIONS_OF: Final = {
    "spark.master": "--master",
    "spark.remote": "--remote",
    "spark.driver.memory": "--driver-memory",
}
# With less memory, Spark ends at once.
_MIN_MEMORY: Final = 450 * _BYTES["m"]
# spark-submit sets this variable for the programs that it runs.
_SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"


@dataclass(frozen=True, kw_only=True)
class SparkChoice:
    """The values of the Spark options; None for an option that is not given.

    The URL of `remote` may hold a token, and `conf` may hold passwords.
    """

    master: str | None
    remote: str | None = field(repr=False)
    driver_memory: str | None
    spark_log: Path | None
    fetch_java: bool
    conf: Mapping[str, str] = field(default_factory=dict, repr=False)

    def names_spark(self) -> bool:
        """Return whether an option or the environment says where Spark runs."""
        return bool(self.master or self.remote) or any(map(os.environ.get, (_SUBMITTED, "SPARK_REMOTE", "MASTER")))


def spark_options(function: F) -> F:
    """Add the options that choose Spark; the command gets them as one `spark_choice`. Raises UsageError."""
    for option in (
        click.option(
            "--fetch-java",
            is_flag=True,
            help="Download a JDK 17 into the user's cache if none is in JAVA_HOME or on PATH.",
        ),
        click.option(
            "--spark-log",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="File for Spark's own messages. [default: a temporary file, kept if Spark fails]",
        ),
        click.option(
            "--conf",
            metavar="KEY=VALUE",
            multiple=True,
            help="A property of the Spark that this command starts, such as spark.local.dir=/data/tmp. Repeatable.",
        ),
        click.option(
            "--driver-memory",
            metavar="SIZE",
            help="Memory of Spark's driver on this machine, such as 512m or 4g. [default: 2g]",
        ),
        click.option(
            "--remote", metavar="URL", help="Spark Connect server, such as sc://host:15002. [env: SPARK_REMOTE]"
        ),
        click.option(
            "--master",
            metavar="URL",
            help="Spark master, such as local[4] or spark://host:7077. [env: MASTER; default: local[*]]",
        ),
    ):
        function = option(function)
    option_names = ("master", "remote", "driver_memory", "conf", "spark_log", "fetch_java")
    return combine_options(function, "spark_choice", _make_spark_choice, option_names)


def _make_spark_choice(**options: Any) -> SparkChoice:
    """Return the checked choice of the options, by their names. Raises UsageError."""
    if options["master"] and options["remote"]:
        raise click.UsageError("--master contradicts --remote: give one or the other")
    spark_choice = SparkChoice(**options | {"conf": _parse_conf(options["conf"])})
    if _SUBMITTED in os.environ:
        _check_submitted(spark_choice)
    else:
        _check_urls(spark_choice, os.environ)
    if spark_choice.conf and _is_elsewhere(spark_choice, os.environ):
        msg = "--conf has no effect on a Spark that runs already: pass it to spark-submit or to the server"
        raise click.UsageError(msg)
    if spark_choice.driver_memory is not None:
        _check_memory(spark_choice.driver_memory)
    if spark_choice.spark_log is not None and not spark_choice.spark_log.absolute().parent.is_dir():
        msg = f"--spark-log {spark_choice.spark_log}: there is no directory {spark_choice.spark_log.absolute().parent}"
        raise click.UsageError(msg)
    return spark_choice


def _parse_conf(conf_options: tuple[str, ...]) -> dict[str, str]:
    """Return the properties of --conf by their keys. Raises UsageError."""
    properties = {}
    for conf_option in conf_options:
        key, separator, value = conf_option.partition("=")
        if not separator or not key.startswith("spark."):
            # The value may be a password.
            msg = f"--conf {key!r} is not a property of Spark; write for example spark.local.dir=/data/tmp"
            raise click.UsageError(msg)
        if key in _OPTIONS_OF:
            msg = f"--conf {key}: give {_OPTIONS_OF[key]} instead"
            raise click.UsageError(msg)
        properties[key] = value
    return properties


def _is_elsewhere(spark_choice: SparkChoice, environment: Mapping[str, str]) -> bool:
    """Return whether the session runs already: on a server, or started by spark-submit."""
    remote = spark_choice.remote or (not spark_choice.master and environment.get("SPARK_REMOTE"))
    return _SUBMITTED in environment or bool(remote)


def _check_submitted(spark_choice: SparkChoice) -> None:
    """Reject options that spark-submit has already decided: the session exists and cannot be changed."""
    for option, option_value in (("--master", spark_choice.master), ("--driver-memory", spark_choice.driver_memory)):
        if option_value:
            msg = f"{option} is too late: spark-submit has started Spark; pass it to spark-submit, before the program"
            raise click.UsageError(msg)
    if spark_choice.remote:
        _check_remote("--remote", spark_choice.remote)


def _check_urls(spark_choice: SparkChoice, environment: Mapping[str, str]) -> None:
    """Check the first URL in the order of precedence of a session; the others have no effect."""
    if spark_choice.master:
        _check_master("--master", spark_choice.master)
    elif spark_choice.remote:
        _check_remote("--remote", spark_choice.remote)
    elif remote := environment.get("SPARK_REMOTE"):
        _check_remote("environment variable SPARK_REMOTE:", remote)
    elif master := environment.get("MASTER"):
        _check_master("environment variable MASTER:", master)


def _check_master(option_name: str, url: str) -> None:
    if not (_LOCAL.fullmatch(url) or _MASTERS.fullmatch(url)):
        msg = f"{option_name} {url!r} is not a Spark master; write for example local[4] or spark://host:7077"
        raise click.UsageError(msg)


def _check_remote(option_name: str, url: str) -> None:
    if not _is_connect_url(url):
        # The parameters after the first semicolon may hold a token.
        url_without_parameters = url.partition(";")[0]
        msg = f"{option_name} {url_without_parameters!r} is not a Spark Connect URL; write for example sc://host:15002"
        raise click.UsageError(msg)


def _is_connect_url(url: str) -> bool:
    try:
        split_url = urlsplit(url)
        return split_url.scheme == "sc" and bool(split_url.hostname) and split_url.port != 0
    except ValueError:
        # The port is invalid, or a bracket is not closed.
        return False


def _check_memory(size: str) -> None:
    match = _MEMORY.fullmatch(size)
    if match is None:
        msg = f"--driver-memory {size!r} is not a size; write for example 512m or 4g"
        raise click.UsageError(msg)
    if int(match[1]) * _BYTES[match[2].lower()] < _MIN_MEMORY:
        msg = f"--driver-memory {size!r} is too small: Spark needs at least 450m; write for example 512m or 4g"
        raise click.UsageError(msg)
