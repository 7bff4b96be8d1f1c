"""The examples in the help of every command, and its paragraph on what the command needs.

Examples of `pipeline` run in tests/live/pipeline/test_help_of_pipeline.py, those of `sandbox` in
tests/live/test_help_of_sandbox.py, and all others here, against scripted brokers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from tests.fakes.scripted_cluster import Group, ScriptedCluster
from tests.help_examples import ADDRESS, COMMANDS, examples_of, paragraphs_of, run_in_shell

ROOT = Path(__file__).parents[2]
RUN_ELSEWHERE = {
    "pipeline": "tests/live/pipeline/test_help_of_pipeline.py",
    "sandbox": "tests/live/test_help_of_sandbox.py",
}
# They print what the program contains, or end processes.
# It leaves something to undo.
RESET = "kafka-groups reset billing --all-topics --to-earliest --execute --yes"
WITHOUT_FAILURES = {("schema",), ("completion",), ("sandbox", "down")}
every_command = pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words) or "root")
EXAMPLES = [
    line for words in COMMANDS if words[:1] not in [(name,) for name in RUN_ELSEWHERE] for line in examples_of(*words)
]


MEMBER = {"member_id": "m", "group_instance_id": "worker-3", "client_id": "c", "client_host": "/10.0.0.1"}


@pytest.fixture
def brokers() -> Iterator[ScriptedCluster]:
    """Yield brokers with the groups and the topic that the examples name."""
    groups = {
        "billing": Group(coordinator=1, state="Empty", commits={("orders", 0): 5, ("orders", 1): 7}),
        "checkout": Group(coordinator=2, type="Consumer", commits={("orders", 0): 3}),
        "invoices": Group(coordinator=1, members=[MEMBER]),
        "connect-sink": Group(coordinator=2, protocol_type="connect"),
    }
    with ScriptedCluster(brokers=2, groups=groups, topics={"orders": {0: 1, 1: 2}}) as cluster:
        yield cluster


@every_command
def test_the_help_of_a_command_ends_with_two_or_more_examples(words: tuple[str, ...]) -> None:
    lines = examples_of(*words)
    assert len(lines) == len(set(lines)) >= 2
    assert [line for line in lines if not re.match(r"(source <\()?kafka-groups ", line)] == []
    # An example of a group shows any command; one of a command shows that one.
    start = " ".join(("kafka-groups", *words))
    assert any(line == start or f"{start} " in line for line in lines) or words == ("sandbox",)


@every_command
def test_the_paragraph_before_the_examples_says_what_the_command_needs(words: tuple[str, ...]) -> None:
    paragraphs = paragraphs_of(*words)
    assert [paragraph for paragraph in paragraphs if paragraph.startswith("Needs ")] == [paragraphs[-2]]


@every_command
def test_a_command_that_connects_to_brokers_names_a_version_and_rights(words: tuple[str, ...]) -> None:
    needs = " ".join(paragraphs_of(*words)[-2].split())
    connects = any(parameter.name == "bootstrap_server" for parameter in COMMANDS[words].params)
    named = (re.search(r"^Needs Kafka \d", needs) is not None, "Rights: " in needs)
    assert named == (connects or words == (), connects)


@every_command
def test_the_help_of_a_command_names_its_exit_codes(words: tuple[str, ...]) -> None:
    is_group = isinstance(COMMANDS[words], click.Group) and words
    text = " ".join(" ".join(paragraphs_of(*words)).split()).lower()
    assert is_group or words in WITHOUT_FAILURES or re.search(r"exit codes?\b", text)


def runs_until_it_is_ended(line: str) -> bool:
    return "kafka-groups exporter" in line or ("--watch" in line and "--samples" not in line)


@pytest.mark.slow
@pytest.mark.parametrize("line", EXAMPLES)
def test_an_example_runs_in_a_shell(
    brokers: ScriptedCluster, tmp_path: Path, program: Callable[[str], str], line: str
) -> None:
    for name in ("bash", *(["jq"] if "| jq" in line else [])):
        program(name)
    command, _, file = line.replace(ADDRESS, str(brokers.brokers[1].endpoint)).partition(" > ~/")
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    if line in examples_of("undo"):
        assert run_in_shell(f"{RESET} -b {brokers.brokers[1].endpoint}", tmp_path, HOME=str(tmp_path)).exit_code == 0
    write_profiles(tmp_path / ".config" / "kafka-groups", str(brokers.brokers[1].endpoint))
    if runs_until_it_is_ended(line):
        outcome = run_in_shell(f"timeout --preserve-status 8 {command}", tmp_path, HOME=str(tmp_path))
        assert (outcome.exit_code, bool(outcome.stdout + outcome.stderr)) == (143, True), outcome.stderr
        return
    outcome = run_in_shell(f"{command} > ~/{file}" if file else command, tmp_path, HOME=str(tmp_path))
    written = (tmp_path / file).read_text(encoding="utf-8") if file else outcome.stdout
    assert (outcome.exit_code, bool(written.strip())) == (0, True), outcome.stderr


def write_profiles(directory: Path, address: str) -> None:
    """Write the profiles that examples name; both are the same brokers."""
    directory.mkdir(parents=True, exist_ok=True)
    table = f'"bootstrap.servers" = "{address}"\n'
    (directory / "profiles.toml").write_text(f"[east]\n{table}[west]\n{table}", encoding="utf-8")


@pytest.mark.parametrize(("group", "file"), RUN_ELSEWHERE.items())
def test_examples_that_need_real_brokers_run_in_their_own_test(group: str, file: str) -> None:
    assert f'examples_in("{group}")' in (ROOT / file).read_text(encoding="utf-8")
