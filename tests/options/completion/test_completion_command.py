"""`kafka-groups completion`, and the process that the scripts start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_groups.options import COMPLETION_VARIABLE
from kafka_groups.options.completion.cluster_names import find_names
from kafka_groups.options.completion.shells import SHELLS
from tests.fakes.command_line import run
from tests.fakes.raw_port import accepting_only
from tests.fakes.scripted_cluster import ScriptedCluster

BREAKS = " \t\n\"'@><=;|&(:"


def complete(shell: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program as the script of a shell does."""
    return subprocess.run(
        [sys.executable, "-m", "kafka_groups", *arguments],
        env={**os.environ, COMPLETION_VARIABLE: f"{shell}_complete"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


@pytest.mark.parametrize("shell", SHELLS)
def test_the_command_prints_the_script_of_a_shell(shell: str) -> None:
    outcome = run("completion", shell, bootstrap=None)
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert f"{COMPLETION_VARIABLE}={shell}_complete" in outcome.stdout
    assert outcome.stdout.endswith("\n")


def test_another_shell_is_an_error_that_names_those_that_are_supported() -> None:
    outcome = run("completion", "tcsh", bootstrap=None)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert "'bash', 'zsh', 'fish'" in outcome.stderr


@pytest.fixture
def cached(cluster: ScriptedCluster) -> ScriptedCluster:
    """Store the groups of a cluster, so that the program need not find them in time."""
    find_names("groups", {})
    return cluster


@pytest.mark.usefixtures("cached")
def test_bash_gets_a_line_for_each_value() -> None:
    assert complete("bash", "kafka-groups describe ord", BREAKS).stdout.splitlines() == ["plain", "orders", "orders-eu"]


@pytest.mark.usefixtures("cached")
@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_zsh_and_fish_get_values_that_nul_ends(shell: str) -> None:
    assert complete(shell, "kafka-groups", "describe", "ord").stdout == "plain\0orders\0orders-eu\0\n"


def test_zsh_gets_descriptions_behind_a_colon_and_fish_behind_a_tab() -> None:
    assert "\0list:List groups of every kind.\0" in complete("zsh", "kafka-groups", "").stdout
    assert "\0list\tList groups of every kind.\0" in complete("fish", "kafka-groups", "").stdout


def test_fish_gets_no_id_with_a_tab(cluster: ScriptedCluster) -> None:
    cluster.groups = {"a\tb": cluster.groups["orders"], "c": cluster.groups["orders"]}
    find_names("groups", {})
    assert complete("fish", "kafka-groups", "describe", "").stdout == "plain\0c\0\n"


@pytest.mark.parametrize(
    "line",
    [
        "describe -b 127.0.0.1:1 ",
        "describe -b ::: ",
        "describe -X nonsense ",
        "describe --config /missing ",
        "describe --profile missing ",
        "describe --unknown-option x ",
        "ingest ",
    ],
)
def test_what_fails_prints_no_value_and_no_error(line: str) -> None:
    for result in (
        complete("bash", f"kafka-groups {line}", BREAKS),
        complete("fish", "kafka-groups", *line.split(" ")),
    ):
        assert result.stdout.strip("\n\0") in {"", "plain"}
        assert result.stderr == ""


def test_warnings_are_not_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    # In this mode Python warns of a connection that is open at the end.
    monkeypatch.setenv("PYTHONDEVMODE", "1")
    with accepting_only() as endpoint:
        result = complete("zsh", "kafka-groups", "describe", "-b", str(endpoint), "")
    assert (result.stdout, result.stderr) == ("plain\0\n", "")


def test_a_script_that_passes_other_arguments_gets_nothing() -> None:
    for shell in SHELLS:
        result = complete(shell)
        assert (result.stdout, result.stderr) == ("", "")


def test_a_broken_profiles_file_prints_nothing(home: Path) -> None:
    (home / ".config" / "kafka-groups").mkdir(parents=True)
    (home / ".config" / "kafka-groups" / "profiles.toml").write_text("[")
    result = complete("zsh", "kafka-groups", "list", "--profile", "")
    assert (result.stdout, result.stderr) == ("", "")
