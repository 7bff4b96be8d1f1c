"""FILES, ENVIRONMENT and SEE ALSO of the man pages: the files of each command, its variables, and the other pages."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from kafka_groups.changes.journal_location import open_journal
from kafka_groups.options.completion.name_cache import NameCache
from kafka_groups.sandbox.directory import user_directory
from kafka_groups.settings import profiles_file, resolve_settings
from tests.help_examples import COMMANDS
from tools.man_files import JARS, JOURNAL, NAMES, PROFILES, SANDBOXES
from tools.man_pages import man_pages

PAGES = man_pages(COMMANDS[()], "kafka-groups")
every_command = pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words) or "root")
CHANGES = ("reset", "delete", "delete-offsets", "remove-members", "undo")


def entries_of(section: str, *words: str) -> dict[str, str]:
    """Return the entries of a section of a command's page, by the name of each."""
    page = PAGES["-".join(("kafka-groups", *words))]
    body = page.partition(f".SH {section}\n")[2].partition(".SH ")[0]
    plain = re.sub(r"\\f[BR]", "", body).replace("\\-", "-").replace("\\(ti", "~")
    entries = [entry.split("\n", 1) for entry in plain.split(".TP\n")[1:]]
    return {name: " ".join(text.split()) for name, text in entries}


def paths_of(*words: str) -> set[str]:
    """Return the files at fixed places that a page names."""
    return {name for name in entries_of("FILES", *words) if name.startswith("~")}


def options_of(*words: str) -> list[click.Option]:
    return [option for option in COMMANDS[words].params if isinstance(option, click.Option)]


def test_the_paths_are_those_that_the_program_uses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    settings = resolve_settings(bootstrap="b:9092", environment={})

    used = {
        PROFILES: profiles_file(),
        JOURNAL: Path(open_journal().name),
        SANDBOXES: user_directory("state"),
        JARS: user_directory("cache"),
        NAMES: NameCache("groups", settings).path.parent,
    }
    assert {shown: Path(shown.replace("~", str(tmp_path))) for shown in used} == used


@every_command
def test_a_page_names_every_file_and_directory_that_an_option_takes(words: tuple[str, ...]) -> None:
    named = {
        f"{next(name for name in option.opts if name.startswith('--'))} {option.metavar}"
        for option in options_of(*words)
        if option.metavar in {"FILE", "DIR"}
    }
    assert {name for name in entries_of("FILES", *words) if name.startswith("-")} == named


@every_command
def test_profiles_are_a_file_of_every_command_that_connects_to_brokers(words: tuple[str, ...]) -> None:
    connects = any(option.name == "bootstrap_server" for option in options_of(*words))
    uses = connects or words[:1] in {(), ("completion",)} or words in {("sandbox",), ("pipeline",)}
    is_sandbox = words in {("sandbox", "up"), ("sandbox", "down"), ("sandbox", "demo")}
    assert (PROFILES in paths_of(*words)) == (uses or is_sandbox)


@every_command
def test_the_journal_is_a_file_of_the_commands_that_change_groups_and_of_completion(words: tuple[str, ...]) -> None:
    uses = words == () or words[0] in {*CHANGES, "completion"}
    assert (JOURNAL in paths_of(*words)) == uses


def test_a_page_says_which_files_are_written() -> None:
    assert "before the first change" in entries_of("FILES", "reset")[JOURNAL]
    assert "old records are removed" in entries_of("FILES", "undo")[JOURNAL]
    assert entries_of("FILES", "orphans")["--polls FILE"].endswith("Read.")
    assert "replaced after each poll" in entries_of("FILES", "lag")["--polls FILE"]
    assert entries_of("FILES", "pipeline", "report")["--data-dir DIR"].endswith("Read.")
    assert entries_of("FILES", "pipeline", "sample")["--data-dir DIR"].endswith("and written.")
    assert "is removed" in entries_of("FILES", "sandbox", "down")[PROFILES]
    assert "$XDG_STATE_HOME replaces ~/.local/state" in entries_of("FILES", "undo")[JOURNAL]


def test_the_pages_of_groups_of_commands_name_the_files_of_all_their_commands() -> None:
    assert paths_of() >= {PROFILES, JOURNAL, SANDBOXES, JARS, NAMES}
    assert {PROFILES, SANDBOXES, JARS} == paths_of("sandbox")


@every_command
def test_a_page_names_every_variable_that_an_option_reads(words: tuple[str, ...]) -> None:
    shown = entries_of("ENVIRONMENT", *words)
    declared = {option.envvar for option in options_of(*words)} - {None}
    in_help = {name for option in options_of(*words) for name in re.findall(r"\[env: (\w+)", option.help or "")}
    assert declared <= in_help <= shown.keys()


@every_command
def test_a_page_refers_to_the_pages_above_beside_and_below_it(words: tuple[str, ...]) -> None:
    page = PAGES["-".join(("kafka-groups", *words))]
    references = page.partition(".SH SEE ALSO\n")[2].replace("\\-", "-")
    beside = {other for other in COMMANDS if words and len(other) == len(words) and other[:-1] == words[:-1]}
    below = {other for other in COMMANDS if other and other[:-1] == words}
    related = ({words[:-1]} | beside | below) - {words}
    assert set(re.findall(r"\\fB([\w-]+)\\fR\(1\)", references)) == {
        "-".join(("kafka-groups", *other)) for other in related
    }
