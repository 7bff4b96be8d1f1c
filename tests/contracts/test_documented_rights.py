"""The rights of each command are the same in its help, in the README and in the pages of docs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.help_examples import COMMANDS, paragraphs_of

ROOT = Path(__file__).parents[2]
TABLES = {
    "docs/security.md": "| command | operations | resource |",
    "docs/changing-groups.md": "| command | to plan | with `--execute`, too | Kafka |",
    "README.md": "| command | ACLs it needs | Kafka |",
}
_OPERATION = re.compile(r"\b(DESCRIBE_CONFIGS|DESCRIBE|READ|WRITE|DELETE|ALTER|CREATE)\b")
CONNECTED = [
    " ".join(words)
    for words, command in COMMANDS.items()
    if any("--profile" in parameter.opts for parameter in command.params)
]
CHANGES = ("reset", "delete", "delete-offsets", "remove-members", "undo")


def rights_in_help(command: str) -> set[str]:
    """Return the operations that the help of a command names; those that another command needs are left out."""
    needs = " ".join(paragraphs_of(*command.split())[-2].split())
    return operations_in(needs.partition("Rights: ")[2].partition("use sample")[0])


def operations_in(text: str) -> set[str]:
    return set(_OPERATION.findall(text))


def rights_in_page(page: str) -> dict[str, set[str]]:
    """Return the operations of each command in the table of a page. A row without a name continues the one before."""
    found: dict[str, set[str]] = {}
    named: list[str] = []
    for name, text in rows_of(page):
        named = commands_in(name) or named
        for command in named:
            found.setdefault(command, set()).update(operations_in(text))
    return found


def rows_of(page: str) -> Iterator[tuple[str, str]]:
    body = (ROOT / page).read_text(encoding="utf-8").partition(TABLES[page])[2].partition("\n\n")[0]
    for line in body.splitlines()[2:]:
        name, _, text = line.strip("| ").partition("|") if not line.startswith("| |") else ("", "", line)
        yield name, text


def commands_in(name: str) -> list[str]:
    """Return the commands of a cell such as `lag --time`, conditions on `time_lag`: an option does not matter here."""
    words = [re.sub(r" --.*", "", word) for word in re.findall(r"`([^`]*)`", name)]
    group = "pipeline " if words and words[0].startswith("pipeline ") else ""
    return [each for word in words if (each := word if word in CONNECTED else f"{group}{word}") in CONNECTED]


@pytest.mark.parametrize("command", CONNECTED)
def test_the_page_on_security_names_the_rights_of_the_help(command: str) -> None:
    assert rights_in_page("docs/security.md")[command] == rights_in_help(command)


@pytest.mark.parametrize("command", CHANGES)
def test_the_page_on_changes_names_the_rights_of_the_help(command: str) -> None:
    assert rights_in_page("docs/changing-groups.md")[command] == rights_in_help(command)


@pytest.mark.parametrize("command", [command for command in CONNECTED if command not in CHANGES])
def test_the_readme_names_the_rights_of_the_help(command: str) -> None:
    assert rights_in_page("README.md")[command] == rights_in_help(command)


def test_the_readme_refers_to_the_table_of_changes() -> None:
    assert set(CHANGES) <= rights_in_page("README.md").keys()
    assert "docs/changing-groups.md#rights-and-versions" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_a_backfill_needs_no_right_to_groups_on_any_page() -> None:
    for page in ("docs/security.md", "README.md"):
        (text,) = {text for name, text in rows_of(page) if "backfill" in name}
        assert "describe`" not in text
        assert "no group" in text or "none on groups" in text
