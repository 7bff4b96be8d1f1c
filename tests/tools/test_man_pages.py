"""Man pages: what they contain, and what the programs that show them make of it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from kafka_groups import __date__
from kafka_groups.cli import cli
from tools.man_pages import man_pages
from tools.roff import definition, examples, literal, paragraph, text

PAGES = man_pages(cli, "kafka-groups")
every_page = pytest.mark.parametrize("name", PAGES)


@pytest.fixture(scope="module")
def shown(program: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Return a function that returns a page as `man` shows it."""
    man, directory = program("man"), tmp_path_factory.mktemp("man")
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80", "MAN_KEEP_FORMATTING": ""}

    def show(name: str) -> str:
        path = directory / f"{name}.1"
        path.write_text(PAGES[name])
        command = [man, "--warnings", "-l", str(path)]
        run = subprocess.run(command, env=environment, capture_output=True, check=True, encoding="utf-8")
        assert run.stderr == ""
        return run.stdout

    return show


def commands_below(path: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    """Yield a command and those below it, with the names of their pages."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from commands_below(f"{path}-{name}", child)


COMMANDS = dict(commands_below("kafka-groups", cli))


def test_every_command_has_a_page() -> None:
    assert COMMANDS.keys() == PAGES.keys()
    assert "kafka-groups-pipeline-ingest" in PAGES


@every_page
def test_mandoc_finds_nothing_wrong(name: str, program: Callable[[str], str], tmp_path: Path) -> None:
    (tmp_path / f"{name}.1").write_text(PAGES[name])
    command = [program("mandoc"), "-T", "lint", str(tmp_path / f"{name}.1")]
    run = subprocess.run(command, capture_output=True, check=False, encoding="utf-8")
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


@every_page
def test_man_shows_every_option_with_its_help(name: str, shown: Callable[[str], str]) -> None:
    page = " ".join(shown(name).split())
    options = [option for option in COMMANDS[name].params if isinstance(option, click.Option)]
    for option in options:
        assert all(spelling in page for spelling in option.opts)
        assert " ".join((option.help or "").split()) in page


@every_page
def test_a_page_has_the_sections_of_a_command(name: str) -> None:
    headings = re.findall(r"^\.SH (.*)$", PAGES[name], re.MULTILINE)
    assert headings[:3] == ["NAME", "SYNOPSIS", "DESCRIPTION"]
    assert {"OPTIONS", "EXIT STATUS", "SEE ALSO"} <= set(headings)
    assert ("COMMANDS" in headings) == isinstance(COMMANDS[name], click.Group)


@every_page
def test_the_date_of_a_page_is_that_of_the_version(name: str) -> None:
    assert f" 1 {__date__} " in PAGES[name]


@every_page
def test_the_references_of_a_page_exist(name: str) -> None:
    references = PAGES[name].partition(".SH SEE ALSO\n")[2].replace("\\-", "-")
    found = re.findall(r"\\fB([\w-]+)\\fR\(1\)", references)
    assert found
    assert set(found) <= PAGES.keys() - {name}


def test_examples_are_lines_of_their_own(shown: Callable[[str], str]) -> None:
    lines = [line.strip() for line in shown("kafka-groups-completion").splitlines()]
    assert "kafka-groups completion bash > ~/.local/share/bash-completion/completions/kafka-groups" in lines


def test_environment_variables_are_those_of_the_help(shown: Callable[[str], str]) -> None:
    section = shown("kafka-groups-list").partition("ENVIRONMENT")[2].partition("FILES")[0]
    names = ["BOOTSTRAP_SERVER", "CONFIG", "SASL_PASSWORD", "PROFILE", "TIMEOUT"]
    assert re.findall(r"^ +(\w+)$", section, re.MULTILINE) == [f"KAFKA_GROUPS_{name}" for name in names] + ["NO_COLOR"]


def test_nothing_in_a_text_is_a_macro(program: Callable[[str], str]) -> None:
    odd = [".SH x", "'br", r"back\slash \fB", "it's `x` ~ ^ -", "ümlaut …"]
    source = "\n".join(
        [".TH X 1 2026-01-01", ".SH NAME", *examples(odd), *(line for each in odd for line in paragraph(text(each)))]
    )
    command = [program("mandoc"), "-T", "utf8", "-O", "width=70"]
    run = subprocess.run(command, input=source, capture_output=True, check=True, encoding="utf-8")
    assert all(run.stdout.count(each) == 2 for each in odd)


def test_options_in_a_text_have_minus_signs() -> None:
    assert literal("--a-b") == r"\-\-a\-b"
    assert definition("x", "see --no-color, one-way")[2] == r"see \-\-no\-color, one-way"
