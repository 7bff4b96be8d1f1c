"""Man pages from the tree of commands: a page for each command, made of its help."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from inspect import cleandoc
from typing import Final

import click

from kafka_groups import __date__, __version__
from kafka_groups.exit_codes import meanings_of
from tools.man_files import files_of
from tools.roff import bold, definition, examples, header, heading, literal, paragraph, preformatted, text

_SECTION: Final = 1
_MANUAL: Final = "kafka-groups manual"
_JAVA_COMMANDS: Final = ("pipeline ingest", "pipeline build", "pipeline doctor", "sandbox up", "sandbox demo")
_ENVIRONMENT: Final = re.compile(r"\[env: (\w+)(?:, of ([\w.]+))?")


def man_pages(root: click.Command, name: str) -> dict[str, str]:
    """Return the text of each page by its name: `kafka-groups-list` is the page of `kafka-groups list`."""
    return {_page_name(context): _page(context) for context in _contexts(_context(root, name))}


def _contexts(context: click.Context) -> Iterator[click.Context]:
    """Yield the context of a command, and those of the commands below it."""
    yield context
    for below in _below(context):
        yield from _contexts(below)


def _context(command: click.Command, name: str, parent: click.Context | None = None) -> click.Context:
    return click.Context(command, info_name=name, parent=parent, **command.context_settings)


def _subcommands(context: click.Context) -> Mapping[str, click.Command]:
    group = context.command
    if not isinstance(group, click.Group):
        return {}
    named = ((name, group.get_command(context, name)) for name in group.list_commands(context))
    return {name: command for name, command in named if command is not None and not command.hidden}


def _page_name(context: click.Context) -> str:
    return context.command_path.replace(" ", "-")


def _page(context: click.Context) -> str:
    lines = header(_page_name(context), _SECTION, date=__date__, source=f"kafka-groups {__version__}", manual=_MANUAL)
    for name, body in _sections(context):
        if content := list(body):
            lines += [heading(name), *content]
    return "\n".join(lines) + "\n"


def _sections(context: click.Context) -> Iterator[tuple[str, Iterable[str]]]:
    paragraphs = cleandoc(context.command.help or "").replace("\f", "").split("\n\n")
    # The exit codes have a section of their own.
    shown = [each for each in paragraphs if not _is_examples(each) and not each.startswith("Exit codes: ")]
    yield "NAME", paragraph(f"{literal(_page_name(context))} \\- {text(_summary(context))}")
    yield "SYNOPSIS", _synopsis(context)
    yield "DESCRIPTION", _separated(map(_paragraph, shown))
    yield "COMMANDS", _commands(context)
    yield "OPTIONS", _options(context)
    yield "EXAMPLES", _separated(examples(_commands_of(each)) for each in paragraphs if _is_examples(each))
    yield "EXIT STATUS", _exit_status(context)
    yield "ENVIRONMENT", _environment(context)
    yield "FILES", _files(context)
    yield "SEE ALSO", _see_also(context)


def _summary(context: click.Context) -> str:
    """Return the first sentence as the line of `whatis`: it begins with a small letter and has no full stop."""
    sentence = context.command.get_short_help_str(limit=200).rstrip(".")
    return sentence[:1].lower() + sentence[1:]


def _synopsis(context: click.Context) -> list[str]:
    return paragraph(f"{bold(context.command_path)} {literal(' '.join(context.command.collect_usage_pieces(context)))}")


def _is_examples(block: str) -> bool:
    """Return whether a paragraph of the help is the one with examples, which are command lines."""
    lines = block.removeprefix("\b\n").splitlines()
    return block.startswith("\b") and (lines[0] == "Examples:" or lines[0].startswith("kafka-groups "))


def _commands_of(block: str) -> list[str]:
    return [line.strip() for line in block.splitlines() if line not in {"\b", "Examples:"}]


def _paragraph(block: str) -> list[str]:
    if block.startswith("\b"):
        return preformatted(block.splitlines()[1:])
    return paragraph(text(" ".join(block.split())))


def _separated(blocks: Iterable[list[str]]) -> Iterator[str]:
    for number, lines in enumerate(blocks):
        yield from lines if number == 0 else [".PP", *lines]


def _commands(context: click.Context) -> Iterator[str]:
    for name, command in _subcommands(context).items():
        yield from definition(bold(name), command.get_short_help_str(limit=200))


def _options(context: click.Context) -> Iterator[str]:
    for option in context.command.get_params(context):
        record = option.get_help_record(context) if isinstance(option, click.Option) else None
        if record is not None:
            names, about = record
            yield from definition(_option_names(names), about)


def _option_names(names: str) -> str:
    """Return `-g, --group ID` with the names in bold."""
    return " ".join(bold(word) if word.startswith("-") else literal(word) for word in names.split())


def _exit_status(context: click.Context) -> Iterator[str]:
    path = context.command_path.partition(" ")[2]
    for code, meaning in meanings_of(path).items():
        yield from definition(bold(f"{code:d}"), f"{meaning[:1].upper()}{meaning[1:]}.")


def _environment(context: click.Context) -> Iterator[str]:
    options = [option for option in context.command.params if isinstance(option, click.Option)]
    for option in options:
        for variable, key in _ENVIRONMENT.findall(option.help or ""):
            name = key or next(name for name in option.opts if name.startswith("--"))
            use = "if -X does not set it; --profile and --config switch it off" if key else "if it is not given"
            yield from definition(bold(variable), f"The value of {name} {use}.")
    if any(option.name == "colour" for option in options):
        yield from definition(bold("NO_COLOR"), "If it is set, tables have no colour; --color overrides it.")
    if context.command_path.partition(" ")[2] in _JAVA_COMMANDS:
        yield from definition(bold("JAVA_HOME"), "The Java that is used; without it, the one on PATH.")


def _files(context: click.Context) -> Iterator[str]:
    for name, use in files_of(context):
        path, _, metavar = name.partition(" ")
        yield from definition(_option_names(name) if metavar else literal(path), use)


def _see_also(context: click.Context) -> Iterator[str]:
    """Yield the pages above, beside and below this one."""
    parent = context.parent
    related = [parent, *_below(parent)] if parent else []
    pages = {_page_name(each) for each in (*related, *_below(context))} - {_page_name(context)}
    yield from paragraph(", ".join(f"{bold(page)}({_SECTION})" for page in sorted(pages)))


def _below(context: click.Context) -> list[click.Context]:
    """Return the contexts of the commands of a group."""
    return [_context(command, name, context) for name, command in _subcommands(context).items()]
