"""Imports, which are few so that a command starts quickly: help imports nothing heavy, output to a pipe no rich."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_groups.cli import cli, pipeline
from tests.fakes.scripted_cluster import Group, ScriptedCluster

HEAVY = {"asyncio", "confluent_kafka", "kafka", "kio", "numpy", "pandas", "pyspark", "rich"}
# A program that runs the tool and then writes the names of the imported modules to a file.
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
    """Yield the address of a local broker with a group."""
    with ScriptedCluster(brokers=1, groups={"g": Group(state="Stable")}) as cluster:
        yield str(cluster.brokers[1].endpoint)


def modules_imported(path: Path, *arguments: str, stdout: int = subprocess.DEVNULL) -> set[str]:
    """Return the modules that a run of the command line imports."""
    command = [sys.executable, "-c", PROGRAM, str(path / "modules"), *arguments]
    subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, check=True)
    return set((path / "modules").read_text().splitlines())


def packages_imported(path: Path, *arguments: str, stdout: int = subprocess.DEVNULL) -> set[str]:
    """Return the top-level packages that a run of the command line imports."""
    return {name.partition(".")[0] for name in modules_imported(path, *arguments, stdout=stdout)}


def own_modules(path: Path, *arguments: str) -> set[str]:
    """Return the modules of this package that a run of the command line imports."""
    return {name for name in modules_imported(path, *arguments) if name.startswith("kafka_groups.")}


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("pipeline", "--help")], ids=" ".join)
def test_help_of_groups_and_the_version_import_no_command(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert own_modules(tmp_path, *arguments) == {
        "kafka_groups.cli",
        "kafka_groups.errors",
        "kafka_groups.exit_codes",
        "kafka_groups.options",
        "kafka_groups.rendering",
        "kafka_groups.rendering.screen",
    }


@pytest.mark.parametrize(
    ("arguments", "module"),
    [
        (("list", "--help"), "kafka_groups.commands.list_groups"),
        (("describe", "--help"), "kafka_groups.commands.describe"),
        (("offsets", "--help"), "kafka_groups.commands.offsets"),
        (("schema", "--help"), "kafka_groups.commands.schema"),
        (("sandbox", "--help"), "kafka_groups.commands.sandbox"),
        (("pipeline", "ingest", "--help"), "kafka_groups.pipeline.commands.ingest"),
        (("pipeline", "report", "--help"), "kafka_groups.pipeline.commands.report"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_only_the_command_that_runs_is_imported(tmp_path: Path, arguments: tuple[str, ...], module: str) -> None:
    targets = [entry.target for group in (cli, pipeline) for entry in group.table.values()]
    commands = {target.partition(":")[0] for target in targets} - {"kafka_groups.cli"}
    assert own_modules(tmp_path, *arguments) & commands == {module}


def test_list_imports_no_handler_but_its_own(tmp_path: Path, bootstrap: str) -> None:
    package = "kafka_groups.admin.handlers."
    assert {name for name in own_modules(tmp_path, "list", "-b", bootstrap) if name.startswith(package)} == {
        f"{package}list_groups"
    }


@pytest.mark.parametrize(
    "arguments",
    [("--help",), ("--version",), ("list", "--help"), ("describe", "--help"), ("schema", "describe")],
    ids=" ".join,
)
def test_help_and_schemas_import_nothing_heavy(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert packages_imported(tmp_path, *arguments) & (HEAVY | {"jsonschema"}) == set()


@pytest.mark.parametrize(
    "arguments",
    [("list",), ("list", "--state"), ("describe", "g"), ("offsets", "g"), ("describe", "g", "--format", "json")],
    ids=" ".join,
)
def test_output_to_a_pipe_imports_no_rich_and_no_other_kafka_client(
    tmp_path: Path, bootstrap: str, arguments: tuple[str, ...]
) -> None:
    assert packages_imported(tmp_path, *arguments, "-b", bootstrap) & HEAVY == set()


def test_a_table_on_a_terminal_imports_rich_alone(tmp_path: Path, bootstrap: str) -> None:
    controller, terminal = pty.openpty()
    try:
        assert packages_imported(tmp_path, "list", "-b", bootstrap, stdout=terminal) & HEAVY == {"rich"}
        assert os.read(controller, 4096).replace(b"\r\n", b"\n").split()[-1].endswith(b"g")
    finally:
        os.close(controller)
        os.close(terminal)


def test_json_on_a_terminal_imports_no_rich(tmp_path: Path, bootstrap: str) -> None:
    controller, terminal = pty.openpty()
    try:
        found = packages_imported(tmp_path, "list", "-b", bootstrap, "--format", "json", stdout=terminal)
    finally:
        os.close(controller)
        os.close(terminal)
    assert found & HEAVY == set()
