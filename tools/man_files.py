"""The files of each command, for the section FILES of its man page: which ones it reads, and which ones it writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

import click


class File(NamedTuple):
    """A file or a directory: its path, or the option that names it, and what the command does with it."""

    name: str
    use: str


PROFILES: Final = "~/.config/kafka-groups/profiles.toml"
JOURNAL: Final = "~/.local/state/kafka-groups/journal/"
SANDBOXES: Final = "~/.local/state/kafka-groups/sandbox/"
JARS: Final = "~/.cache/kafka-groups/sandbox/"
NAMES: Final = "~/.cache/kafka-groups/completion/"
JDKS: Final = "~/.cache/cjdk/"
# These paths are those on Linux. A variable of the XDG specification replaces the beginning of a path.
_VARIABLES: Final = {"~/.config": "XDG_CONFIG_HOME", "~/.local/state": "XDG_STATE_HOME", "~/.cache": "XDG_CACHE_HOME"}

_READ_PROFILES: Final = File(PROFILES, "The profiles, for --profile. Read.")
_RECORDED: Final = "With --execute, a record of the run is written before the first change."
_TABLES: Final = "The tables of the history."
_CREATED: Final = f"{_TABLES} Created if it does not exist, and written."
_READ_ONLY: Final = f"{_TABLES} Read."
_CHANGED: Final = f"{_TABLES} Read and written."
_STARTED: Final = (
    File(PROFILES, "The profiles. The profile of the sandbox is added; other lines stay as they are."),
    File(SANDBOXES, "A directory for each sandbox, with its state, the data of its brokers and their logs. Written."),
    File(JARS, "Where the jars of each Kafka version are in the local Maven repository. Read and written."),
)

# What commands do with the file or the directory that an option names, if that differs from _OPTION_USES.
_OWN_USES: Final[Mapping[tuple[str, str], str]] = {
    ("orphans", "--polls"): "The file of lag --polls. Read.",
    ("reset", "--from-file"): "A plan of this tool, or a CSV. Read; - is stdin.",
    ("undo", "--journal"): "The records of runs, instead of in the directory above. Read; with --execute, a record of "
    "the undo is written; with --prune, old records are removed.",
    ("pipeline ingest", "--data-dir"): _CREATED,
    ("pipeline sample", "--data-dir"): _CREATED,
    ("pipeline backfill", "--data-dir"): _CREATED,
    ("pipeline build", "--data-dir"): _CHANGED,
    ("pipeline compact", "--data-dir"): _CHANGED,
    ("sandbox demo", "--data-dir"): _CREATED,
    ("sandbox status", "--dir"): "The sandboxes, instead of in the directory above. Read.",
    ("sandbox down", "--dir"): "The sandboxes, instead of in the directory above. The one of the sandbox is deleted.",
}
_OPTION_USES: Final[Mapping[str, str]] = {
    "--config": "The connection properties. Read, and so are the files of certificates and keys that it names.",
    "--polls": "The last polls of each partition. Read if it exists, and replaced after each poll.",
    "--metrics-file": "The metrics. Replaced in one step.",
    "--web-config": "TLS and users of the HTTP server. Read for each connection, and so are the files that it names.",
    "--from-file": "A plan of this tool. Read; - is stdin.",
    "--export": "The plan. Replaced in one step before anything is executed; - is stdout.",
    "--journal": f"The records of runs, instead of in the directory above. {_RECORDED}",
    "--html": "The page. Replaced in one step.",
    "--output": "The plain files. Created; it must be empty or new.",
    "--data-dir": _READ_ONLY,
    "--spark-log": "Spark's own messages. Written; without the option a temporary file, which stays if Spark fails.",
    "--dir": "The sandboxes, instead of in the directory above. Written.",
}
# The files at fixed places that a command uses, besides the profiles of a command that connects to brokers.
_FIXED: Final[Mapping[str, tuple[File, ...]]] = {
    **dict.fromkeys(("pipeline ingest", "pipeline build"), (File(JDKS, "The JDK of --fetch-java. Read and written."),)),
    **dict.fromkeys(("reset", "delete", "delete-offsets", "remove-members"), (File(JOURNAL, _RECORDED),)),
    "undo": (
        File(
            JOURNAL,
            "The records of runs, a file for each. Read; with --execute, a record of the undo is written; with "
            "--prune, old records are removed.",
        ),
    ),
    "sandbox up": _STARTED,
    "sandbox demo": _STARTED,
    "sandbox status": (File(SANDBOXES, "The state of the sandbox. Read."),),
    "sandbox down": (
        File(PROFILES, "The profiles. The profile of the sandbox is removed, unless it was edited."),
        File(SANDBOXES, "The directory of the sandbox. Deleted."),
    ),
    "completion": (
        File(
            NAMES,
            "Names of groups and topics that a completion has read from a cluster, for ten seconds. The scripts read "
            "and write it; this command does not.",
        ),
        File(PROFILES, "The profiles. The scripts read it, to complete --profile and to find the cluster of a line."),
        File(JOURNAL, "The records of runs. The scripts read their names, to complete the IDs of undo."),
    ),
}
# What a page of several commands says of a file that they use in different ways.
_SHARED_USES: Final[Mapping[str, str]] = {
    PROFILES: "The profiles, for --profile. sandbox up adds one, and sandbox down removes it.",
    JOURNAL: "The records of changes, which undo reads.",
    SANDBOXES: "A directory for each sandbox.",
    JARS: "Where the jars of each Kafka version are in the local Maven repository.",
    NAMES: "Names of groups and topics, for completions.",
    JDKS: "The JDK that --fetch-java downloads.",
}


def files_of(context: click.Context) -> list[File]:
    """Return the files of a command, those at fixed places first; of a group, the fixed ones of all its commands."""
    if isinstance(context.command, click.Group):
        used = {file.name for command in _commands_below(context) for file in _fixed_files(command)}
        return _with_variables(File(name, use) for name, use in _SHARED_USES.items() if name in used)
    return [*_with_variables(_fixed_files(context)), *_named_files(context)]


def _commands_below(context: click.Context) -> Iterator[click.Context]:
    """Yield the contexts of the commands below a group, and no groups."""
    group = context.command
    if not isinstance(group, click.Group):
        yield context
        return
    for name in group.list_commands(context):
        if (command := group.get_command(context, name)) is not None:
            yield from _commands_below(click.Context(command, info_name=name, parent=context))


def _fixed_files(context: click.Context) -> Iterator[File]:
    if any(option.name == "bootstrap_server" for option in context.command.params):
        yield _READ_PROFILES
    yield from _FIXED.get(_path_of(context), ())


def _named_files(context: click.Context) -> Iterator[File]:
    """Yield the files that options name, in the order of the options."""
    command = _path_of(context)
    for option in context.command.params:
        if isinstance(option, click.Option) and option.metavar in {"FILE", "DIR"}:
            name = next(name for name in option.opts if name in _OPTION_USES)
            yield File(f"{name} {option.metavar}", _OWN_USES.get((command, name), _OPTION_USES[name]))


def _path_of(context: click.Context) -> str:
    return context.command_path.partition(" ")[2]


def _with_variables(files: Iterable[File]) -> list[File]:
    """Return files with the variable that moves each."""
    return [File(file.name, f"{file.use} {_where(file.name)}") for file in files]


def _where(name: str) -> str:
    start = next(start for start in _VARIABLES if name.startswith(start))
    return f"This is the path on Linux; ${_VARIABLES[start]} replaces {start}."
