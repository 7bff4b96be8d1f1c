"""Starting is quick because little is imported: nothing for help, no drawing for a pipe."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.scripted_cluster import Group, ScriptedCluster

HEAVY = {"asyncio", "confluent_kafka", "kafka", "kio", "numpy", "pandas", "pyspark", "rich"}
# What it takes to run the tool and to learn what it imported.
PROGRAM = """
import sys
from kafka_groups.cli import main
modules, *sys.argv[1:] = sys.argv[1:]
try:
    main()
finally:
    with open(modules, "w") as file:
        file.write("\\n".join(sys.modules))
"""


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    """A broker with a group, on a port of this machine."""
    with ScriptedCluster(brokers=1, groups={"g": Group(state="Stable")}) as cluster:
        yield str(cluster.brokers[1].endpoint)


def imported(path: Path, *arguments: str, stdout: int = subprocess.DEVNULL) -> set[str]:
    """The top-level packages that a run of the command line has imported."""
    command = [sys.executable, "-c", PROGRAM, str(path / "modules"), *arguments]
    subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, check=True)
    return {name.partition(".")[0] for name in (path / "modules").read_text().splitlines()}


@pytest.mark.parametrize(
    "arguments",
    [("--help",), ("--version",), ("list", "--help"), ("describe", "--help"), ("schema", "describe")],
    ids=" ".join,
)
def test_help_and_schemas_import_nothing_heavy(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert imported(tmp_path, *arguments) & (HEAVY | {"jsonschema"}) == set()


@pytest.mark.parametrize(
    "arguments",
    [("list",), ("list", "--state"), ("describe", "g"), ("offsets", "g"), ("describe", "g", "--format", "json")],
    ids=" ".join,
)
def test_a_pipe_imports_nothing_that_draws_and_no_other_client(
    tmp_path: Path, bootstrap: str, arguments: tuple[str, ...]
) -> None:
    assert imported(tmp_path, *arguments, "-b", bootstrap) & HEAVY == set()


def test_a_table_on_a_terminal_is_what_imports_rich(tmp_path: Path, bootstrap: str) -> None:
    ours, theirs = pty.openpty()
    try:
        assert imported(tmp_path, "list", "-b", bootstrap, stdout=theirs) & HEAVY == {"rich"}
        assert os.read(ours, 4096).replace(b"\r\n", b"\n").split()[-1].endswith(b"g")
    finally:
        os.close(ours)
        os.close(theirs)


def test_json_on_a_terminal_needs_no_rich(tmp_path: Path, bootstrap: str) -> None:
    ours, theirs = pty.openpty()
    try:
        found = imported(tmp_path, "list", "-b", bootstrap, "--format", "json", stdout=theirs)
    finally:
        os.close(ours)
        os.close(theirs)
    assert found & HEAVY == set()
