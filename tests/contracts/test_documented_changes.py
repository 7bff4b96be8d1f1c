"""The examples of docs/changing-groups.md, and the plan in the README, print what they show, on scripted brokers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.fakes.scripted_cluster import Group, ScriptedCluster
from tests.help_examples import COMMANDS, run_in_shell

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/changing-groups.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
(README_PLAN,) = re.findall(r"^```\n(\$ kafka-groups reset .*?)^```", README, re.DOTALL | re.MULTILINE)
CHANGES = ("reset", "delete", "delete-offsets", "remove-members", "undo")
_BLOCK = re.compile(r"^```(console|bash)\n(.*?)^```", re.DOTALL | re.MULTILINE)
# What differs from run to run: IDs, times, the ids of cluster and topics, and the journal, with the padding of columns.
_VARYING = re.compile(
    r"\d{8}-\d{6}-[0-9a-f]+|\d{4}-\d\d-\d\d[T ][\d:.]+|l8UO-lRzRMeJpHJDj3pMqw|\bscripted\b"
    r"|(?<=\"topic_id\": \")[\w-]{22}|(?<= in )/[^ ]*/kafka-groups/journal"
)
# The options of each command, to find those that the page does not mention.
_SHARED = {"--help", "--debug", "--format", "--color", "--bootstrap-server", "--config", "--profile", "-X"}


class Example(NamedTuple):
    """A command of the page, or a script, with the lines that it prints; None if the page does not show them."""

    text: str
    output: list[str] | None


def examples() -> Iterator[Example]:
    """Yield the plan of the README, and the commands and scripts of the page, in order."""
    yield from commands_in(README_PLAN)
    for kind, text in _BLOCK.findall(PAGE):
        if kind == "bash":
            yield Example(text, None)
        else:
            yield from commands_in(text)


def commands_in(block: str) -> Iterator[Example]:
    """Yield the commands of a block, which start with a dollar sign."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *lines = part.splitlines()
        yield Example(command, lines)


def normalize(text: str) -> list[str]:
    """Return the lines that are not blank, without what differs from run to run."""
    lines = [_VARYING.sub("…", line) for line in text.splitlines() if line]
    return [re.sub(" +", " ", line) if "…" in line or line.startswith("ID ") else line for line in lines]


@pytest.fixture
def address() -> Iterator[str]:
    """Yield the address of brokers with the groups of a sandbox that the page names."""
    committed = [25, 22, 19, 16, 13, 10]
    member = {"client_id": "c", "client_host": "/127.0.0.1"}
    groups = {
        "billing": Group(state="Empty", commits={("orders", at): offset for at, offset in enumerate(committed)}),
        "legacy-import": Group(
            coordinator=2,
            state="Empty",
            commits={("payments", at): offset for at, offset in enumerate(committed[:3])},
        ),
        "checkout": Group(coordinator=2, members=[{**member, "member_id": f"checkout-{at}"} for at in (1, 2, 3)]),
    }
    topics = {"orders": dict.fromkeys(range(6), 1), "payments": dict.fromkeys(range(3), 2)}
    with ScriptedCluster(brokers=2, groups=groups, topics=topics) as cluster:
        yield str(cluster.brokers[1].endpoint)


@pytest.mark.slow
def test_the_examples_print_what_the_page_shows(address: str, tmp_path: Path, program: Callable[[str], str]) -> None:
    program("jq")
    variables = {
        "HOME": str(tmp_path),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "KAFKA_GROUPS_BOOTSTRAP_SERVER": address,
    }
    exit_code, ran = 0, 0
    for text, output in examples():
        if text == "echo $?":
            assert output == [str(exit_code)]
            continue
        outcome = run_in_shell(text, tmp_path, **variables)
        exit_code, ran = outcome.exit_code, ran + 1
        if output is None:
            assert exit_code == 0, outcome.stderr
            continue
        shown, printed, errors = normalize("\n".join(output)), normalize(outcome.stdout), normalize(outcome.stderr)
        # The page shows both streams as a terminal does; in a pipe their order is not fixed.
        assert [line for line in shown if line not in errors] == printed, text
        assert [line for line in shown if line not in printed] == errors, text
    assert ran >= 15


@pytest.mark.parametrize("command", CHANGES)
def test_the_page_mentions_every_option_of_the_commands(command: str) -> None:
    options = {max(each.opts, key=len) for each in COMMANDS[(command,)].params if each.param_type_name == "option"}
    assert sorted(option for option in options - _SHARED if option not in PAGE) == []
