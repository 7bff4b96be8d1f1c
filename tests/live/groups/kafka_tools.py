"""Kafka's own command-line tools for groups: kafka-consumer-groups, kafka-share-groups and kafka-streams-groups.

A tool runs in a new JVM. Half of its time goes to the loading of classes, so an archive with them is made once a run.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from kafka_groups import sandbox
from kafka_groups.files import lock

SHARE_GROUPS = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
_FEATURES = "org.apache.kafka.tools.FeatureCommand"
STREAMS_GROUPS = "org.apache.kafka.tools.streams.StreamsGroupCommand"
_TIMEOUT_S = 60
# The only column whose name has a blank.
_COLUMN = re.compile(r"COORDINATOR \(ID\)|\S+")

Row = dict[str, str]


def describe_share_groups(bootstrap: str, directory: Path, *options: str) -> list[Row]:
    """Return the rows of `kafka-share-groups --describe`, by column names; `directory` is that of the run."""
    return _describe(SHARE_GROUPS, bootstrap, directory, options)


def describe_streams_groups(bootstrap: str, directory: Path, *options: str) -> list[Row]:
    """Return the rows of `kafka-streams-groups --describe`, by column names; `directory` is that of the run."""
    return _describe(STREAMS_GROUPS, bootstrap, directory, options)


def run_tool(
    main: str, bootstrap: str, directory: Path, *arguments: str, version: str = sandbox.DEFAULT_VERSION
) -> subprocess.CompletedProcess[str]:
    """Run the tool with this main class; `directory` is that of the run.

    Most calls use the default version, whose first call of the run makes the archive of its classes.
    """
    options = _archive_options(main, bootstrap, directory) if version == sandbox.DEFAULT_VERSION else []
    return _run(main, bootstrap, *arguments, options=options, version=version)


def disable_features(bootstrap: str, *features: str) -> None:
    """Switch features of a cluster off; nothing happens to those that are off."""
    options = [word for feature in features for word in ("--feature", f"{feature}=0")]
    completed = _run(_FEATURES, bootstrap, "downgrade", *options, options=[])
    assert completed.returncode == 0, completed


def parse_rows(text: str) -> list[Row]:
    """Return the rows of all tables in the output of a tool, by column names.

    A cell starts below the name of its column and ends before the next column.
    """
    rows: list[Row] = []
    for table in re.split(r"\n\s*\n", text.strip("\n")):
        header, *lines = table.splitlines()
        columns = [(match.start(), match[0]) for match in _COLUMN.finditer(header)]
        assert columns[0] == (0, "GROUP"), text
        rows.extend(_parse_row(line, columns) for line in lines)
    return rows


def _parse_row(line: str, columns: Sequence[tuple[int, str]]) -> Row:
    ends = [*(start for start, _ in columns[1:]), len(line)]
    return {name: line[start:end].strip() for (start, name), end in zip(columns, ends, strict=True)}


def _describe(main: str, bootstrap: str, directory: Path, options: Sequence[str]) -> list[Row]:
    completed = run_tool(main, bootstrap, directory, "--describe", *options)
    assert completed.returncode == 0, completed
    return parse_rows(completed.stdout) if completed.stdout.strip() else []


def _archive_options(main: str, bootstrap: str, directory: Path) -> list[str]:
    """Return Java's options for an archive with the tool's classes, and make the archive if it does not exist."""
    archive = directory / f"{main.rpartition('.')[2]}.jsa"
    with lock(archive.with_suffix(".archiving"), timeout_s=_TIMEOUT_S):
        if not archive.exists():
            _run(main, bootstrap, "--list", options=[f"-XX:ArchiveClassesAtExit={archive}"])
    # Java starts without the archive if it cannot use it.
    return [f"-XX:SharedArchiveFile={archive}", "-XX:TieredStopAtLevel=1", "-Xlog:disable"]


def _run(
    main: str,
    bootstrap: str,
    *arguments: str,
    options: Sequence[str],
    version: str = sandbox.DEFAULT_VERSION,
) -> subprocess.CompletedProcess[str]:
    java, *rest = sandbox.tool_command(main, "--bootstrap-server", bootstrap, *arguments, version=version)
    return subprocess.run([java, *options, *rest], capture_output=True, check=False, text=True, timeout=_TIMEOUT_S)
