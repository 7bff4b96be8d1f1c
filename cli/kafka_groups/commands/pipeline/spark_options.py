"""Options that say which Spark, checked before anything of Spark is started."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import click

from kafka_groups.commands.options import gathered

F = TypeVar("F", bound=Callable[..., Any])

_LOCAL: Final = re.compile(r"local(\[\s*(0*[1-9]\d*|\*)\s*(,\s*\d+\s*)?\])?")
_MASTERS: Final = re.compile(
    r"""local-cluster\[[\d\s,]+\] | yarn | spark://[^\s/,]+:\d+(,[^\s/,]+:\d+)* | k8s://\S+""", re.VERBOSE
)
_MEMORY: Final = re.compile(r"([1-9]\d*)([kmgt])", re.IGNORECASE)  # what a JVM takes; others only start to fail
_BYTES: Final = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_LEAST_MEMORY: Final = 450 * _BYTES["m"]  # with less, Spark ends at once
# What spark-submit sets for the programs that it runs.
_SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"


@dataclass(frozen=True, kw_only=True)
class SparkWanted:
    """What the flags say of Spark; None where they say nothing."""

    master: str | None
    remote: str | None
    driver_memory: str | None
    spark_log: Path | None
    fetch_java: bool


def takes_spark(function: F) -> F:
    """Options that say which Spark; they arrive as one `wanted`."""
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
            help="Where Spark's own messages go. [default: a temporary file, kept if Spark fails]",
        ),
        click.option(
            "--driver-memory",
            metavar="SIZE",
            help="Memory of a Spark that is started here, as 512m or 4g. [default: 2g]",
        ),
        click.option("--remote", metavar="URL", help="A Spark Connect server, as sc://host:15002. [env: SPARK_REMOTE]"),
        click.option(
            "--master",
            metavar="URL",
            help="Spark's master, as local[4] or spark://host:7077. [env: MASTER; default: local[*]]",
        ),
    ):
        function = option(function)
    return gathered(function, "wanted", _spark_wanted, ("master", "remote", "driver_memory", "spark_log", "fetch_java"))


def _spark_wanted(**given: Any) -> SparkWanted:
    if given["master"] and given["remote"]:
        raise click.UsageError("--master contradicts --remote: give one or the other")
    wanted = SparkWanted(**given)
    if _SUBMITTED in os.environ:
        _check_submitted(wanted)
    else:
        _check_where(wanted, os.environ)
    if wanted.driver_memory is not None:
        _check_memory(wanted.driver_memory)
    if wanted.spark_log is not None and not wanted.spark_log.absolute().parent.is_dir():
        msg = f"--spark-log {wanted.spark_log}: there is no directory {wanted.spark_log.absolute().parent}"
        raise click.UsageError(msg)
    return wanted


def _check_submitted(wanted: SparkWanted) -> None:
    """The session is spark-submit's, and what it was given cannot be changed any more."""
    for flag, value in (("--master", wanted.master), ("--driver-memory", wanted.driver_memory)):
        if value:
            msg = f"{flag} comes too late: spark-submit has started Spark; give it to spark-submit, before the program"
            raise click.UsageError(msg)


def _check_where(wanted: SparkWanted, environment: Mapping[str, str]) -> None:
    """In the order in which a session looks for it; what does not count may be anything."""
    if wanted.master:
        _check_master("--master", wanted.master)
    elif wanted.remote:
        _check_remote("--remote", wanted.remote)
    elif remote := environment.get("SPARK_REMOTE"):
        _check_remote("SPARK_REMOTE, of the environment,", remote)
    elif master := environment.get("MASTER"):
        _check_master("MASTER, of the environment,", master)


def _check_master(name: str, url: str) -> None:
    if not (_LOCAL.fullmatch(url) or _MASTERS.fullmatch(url)):
        msg = f"{name} {url!r} is none of Spark's; write for example local[4] or spark://host:7077"
        raise click.UsageError(msg)


def _check_remote(name: str, url: str) -> None:
    if not (_LOCAL.fullmatch(url) or _is_connect(url)):
        # What follows may hold a token.
        shown = url.partition(";")[0]
        msg = f"{name} {shown!r} is no Spark Connect URL; write for example sc://host:15002"
        raise click.UsageError(msg)


def _is_connect(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme == "sc" and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is none, a bracket that is not closed
        return False


def _check_memory(size: str) -> None:
    found = _MEMORY.fullmatch(size)
    if found is None:
        msg = f"--driver-memory {size!r} is no size; write for example 512m or 4g"
        raise click.UsageError(msg)
    if int(found[1]) * _BYTES[found[2].lower()] < _LEAST_MEMORY:
        msg = f"--driver-memory {size!r} is too little, Spark wants 450m at the least; write for example 512m or 4g"
        raise click.UsageError(msg)
