"""The help of every command and of every option."""

from __future__ import annotations

import click
import pytest

from kafka_groups.cli import LazyGroup, cli, pipeline
from tests.fakes.command_line import run
from tests.help_examples import COMMANDS

OPTIONS = {
    " ".join((*words, option.opts[-1])): option
    for words, command in COMMANDS.items()
    for option in command.params
    if isinstance(option, click.Option)
}
every_command = pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words) or "root")
every_option = pytest.mark.parametrize("option", OPTIONS.values(), ids=OPTIONS)


def test_the_commands_are_those_of_the_contract() -> None:
    assert {words[0] for words in list(COMMANDS)[1:]} == {
        "list",
        "describe",
        "offsets",
        "lag",
        "check",
        "wait",
        "orphans",
        "why",
        "exporter",
        "reset",
        "delete",
        "delete-offsets",
        "remove-members",
        "undo",
        "pipeline",
        "schema",
        "sandbox",
        "completion",
    }


@pytest.mark.parametrize("group", [cli, pipeline], ids=lambda group: group.name)
def test_the_line_of_a_command_in_the_help_of_its_group_is_the_commands_own(group: LazyGroup) -> None:
    context = click.Context(group)
    commands = {name: group.get_command(context, name) for name in group.list_commands(context)}
    own_lines = {name: command.get_short_help_str(limit=200) for name, command in commands.items() if command}
    assert {name: entry.help for name, entry in group.table.items()} == own_lines


@every_command
def test_the_help_of_a_group_has_one_line_for_each_command(words: tuple[str, ...]) -> None:
    command = COMMANDS[words]
    lines = run(*words, "--help", bootstrap=None, COLUMNS="80").stdout.partition("\nCommands:\n")[2].splitlines()
    names = command.list_commands(click.Context(command)) if isinstance(command, click.Group) else []
    assert [line.split()[0] for line in lines] == names


@every_command
def test_the_help_of_a_command_begins_with_a_sentence(words: tuple[str, ...]) -> None:
    sentence = (COMMANDS[words].help or "").strip().split("\n\n")[0]
    assert len(sentence) > 20
    assert sentence[-1] in ".?"


@every_command
def test_help_names_every_option(words: tuple[str, ...]) -> None:
    outcome = run(*words, "--help", bootstrap=None)
    options = [option for option in COMMANDS[words].params if isinstance(option, click.Option)]
    missing = [spelling for option in options for spelling in option.opts if spelling not in outcome.stdout]
    assert (outcome.exit_code, outcome.stderr, missing) == (0, "", [])


@every_command
def test_help_has_at_most_a_hundred_columns(words: tuple[str, ...]) -> None:
    lines = run(*words, "--help", bootstrap=None).stdout.splitlines()
    assert max(map(len, lines)) <= 100


@every_option
def test_the_help_of_an_option_is_a_sentence(option: click.Option) -> None:
    assert len(option.help or "") > 5
    assert (option.help or "").partition(" [")[0].endswith(".")


@every_option
def test_the_metavar_of_an_option_is_in_capitals_or_lists_its_choices(option: click.Option) -> None:
    metavar = option.make_metavar(click.Context(cli))
    choices = getattr(option.type, "choices", ())
    assert option.is_flag or metavar == f"[{'|'.join(choices)}]" or metavar == metavar.upper()
    assert len(metavar) <= 40


@pytest.mark.parametrize("command", ["list", "describe", "offsets", "lag", "why", "check", "wait", "orphans"])
def test_commands_that_connect_to_a_cluster_share_their_connection_and_output_options(command: str) -> None:
    text = run(command, "--help").stdout
    shared = ("--bootstrap-server", "--config", "--command-config", "-X", "--profile", "--timeout")
    assert [
        name for name in (*shared, "--format", "--color", "--debug", "--group", "--match") if name not in text
    ] == []


@pytest.mark.parametrize("command", ["reset", "delete", "delete-offsets", "remove-members", "undo"])
def test_commands_that_change_groups_share_the_options_of_a_change(command: str) -> None:
    text = " ".join(run(command, "--help").stdout.split())
    shared = ("--execute", "--yes", "--dry-run", "--export", "--bootstrap-server", "--profile", "--timeout", "--format")
    assert [name for name in shared if name not in text] == []
    assert "Exit codes: 0 all done, or planned; 1 nothing done; 3 some refused, failed or unknown." in text


@pytest.mark.parametrize(
    "command",
    [
        *("list", "describe", "offsets", "lag", "why", "check", "wait", "orphans"),
        *("reset", "delete", "delete-offsets", "remove-members", "undo"),
    ],
)
def test_help_names_the_environment_variables_of_the_connection(command: str) -> None:
    text = " ".join(run(command, "--help").stdout.split())
    names = ("BOOTSTRAP_SERVER", "CONFIG", "PROFILE", "SASL_PASSWORD", "TIMEOUT")
    assert [name for name in names if f"[env: KAFKA_GROUPS_{name}" not in text] == []
