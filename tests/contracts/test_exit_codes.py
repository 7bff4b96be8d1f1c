"""The table of exit codes is the one of the README, of every help and of every man page."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from kafka_groups.exit_codes import MEANINGS, PARAGRAPHS, ExitCode, meanings_of
from tests.fakes.command_line import run
from tests.help_examples import COMMANDS
from tools.man_pages import man_pages

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
PAGES = man_pages(COMMANDS[()], "kafka-groups")
every_command = pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words) or "root")
CHECKS = {("lag",), ("wait",), ("why",)}


def test_the_readme_has_the_table() -> None:
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", README.partition("| exit code | meaning |")[2], re.MULTILINE)
    assert rows[: len(MEANINGS)] == [(f"{code:d}", meaning) for code, meaning in MEANINGS.items()]


def test_the_table_has_every_exit_code_and_every_command() -> None:
    assert list(MEANINGS) == list(ExitCode)
    commands = {" ".join(words) for words, command in COMMANDS.items() if not isinstance(command, click.Group)}
    assert PARAGRAPHS.keys() == commands | {""}


@every_command
def test_the_help_of_a_command_has_its_codes_once(words: tuple[str, ...]) -> None:
    text = " ".join(run(*words, "--help", bootstrap=None).stdout.split())
    is_group = isinstance(COMMANDS[words], click.Group) and words
    assert text.count("Exit codes: ") == (0 if is_group else 1)
    assert is_group or PARAGRAPHS[" ".join(words)] in text


@every_command
def test_a_man_page_has_the_codes_of_its_command(words: tuple[str, ...]) -> None:
    page = PAGES["-".join(("kafka-groups", *words))]
    section = page.partition(".SH EXIT STATUS\n")[2].partition(".SH ")[0]
    plain = re.sub(r"\\f[BR]", "", section).replace("\\-", "-")
    shown = [entry.split("\n", 1) for entry in plain.split(".TP\n")[1:]]
    meanings = meanings_of(" ".join(words))
    assert [(code, " ".join(text.split()).lower()) for code, text in shown] == [
        (f"{code:d}", f"{meaning.lower()}.") for code, meaning in meanings.items()
    ]
    assert "Exit codes:" not in page


@every_command
def test_only_commands_that_check_a_condition_return_4(words: tuple[str, ...]) -> None:
    is_group = isinstance(COMMANDS[words], click.Group)
    assert (ExitCode.CHECK_FAILED in meanings_of(" ".join(words))) == (is_group or words in CHECKS)
