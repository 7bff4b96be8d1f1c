"""Options that many commands share, as decorators, and what they are turned into."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import click

from kafka_groups.rendering.formats import FORMATS

F = TypeVar("F", bound=Callable[..., Any])

DEBUG: Final = "kafka_groups.debug"


@dataclass(frozen=True, kw_only=True)
class Connection:
    """What the flags say of the cluster; None where they say nothing."""

    bootstrap_server: str | None
    config: str | None
    # May hold a password.
    properties: tuple[str, ...] = field(repr=False)
    profile: str | None
    timeout: str | None


@dataclass(frozen=True, kw_only=True)
class Selectors:
    """What the flags say of the groups. `named` has each id once, in the order given."""

    named: tuple[str, ...]
    match: re.Pattern[str] | None
    every: bool
    exclude: re.Pattern[str] | None

    def is_empty(self) -> bool:
        """Whether no group is selected by anything."""
        return not (self.named or self.match or self.every)


def takes_connection(function: F) -> F:
    """Options that say how to reach the cluster; they arrive as one `connection`, with one deadline for the command."""
    return _with_connection(function, "One deadline for all that is asked")


def takes_connection_for_long(function: F) -> F:
    """The same for commands that ask for as long as there is something to ask."""
    return _with_connection(function, "A deadline for each question")


def _with_connection(function: F, deadline: str) -> F:
    for option in (
        click.option(
            "--timeout",
            metavar="DURATION",
            help=f"{deadline}, e.g. 30s or 500ms. [env: KAFKA_GROUPS_TIMEOUT; default: 30s]",
        ),
        click.option(
            "--profile",
            metavar="NAME",
            help="Settings from the profiles file under this name. [env: KAFKA_GROUPS_PROFILE]",
        ),
        click.option(
            "-X", "properties", metavar="KEY=VALUE", multiple=True, help="One connection property. Repeatable."
        ),
        click.option(
            "--config",
            "--command-config",
            "config",
            metavar="FILE",
            help="A properties file, with Java's or librdkafka's key names. [env: KAFKA_GROUPS_CONFIG]",
        ),
        click.option(
            "-b",
            "--bootstrap-server",
            metavar="HOST:PORT,…",
            help="Brokers to ask first. [env: KAFKA_GROUPS_BOOTSTRAP_SERVER]",
        ),
    ):
        function = option(function)
    return gathered(
        function, "connection", Connection, ("bootstrap_server", "config", "properties", "profile", "timeout")
    )


def takes_output(*, formats: tuple[str, ...] = FORMATS) -> Callable[[F], F]:
    """--format, --color and --debug; they arrive as `output_format` and `colour`."""

    def decorate(function: F) -> F:
        for option in (
            click.option(
                "--debug",
                is_flag=True,
                expose_value=False,
                callback=_remember_debug,
                help="Show the traceback of an error.",
            ),
            click.option(
                "--color",
                "colour",
                type=click.Choice(("auto", "always", "never")),
                default="auto",
                show_default=True,
                help="Colour in tables.",
            ),
            click.option(
                "--format",
                "output_format",
                type=click.Choice(formats),
                default="table",
                show_default=True,
                help="How answers are written.",
            ),
        ):
            function = option(function)
        return function

    return decorate


def takes_selectors(function: F) -> F:
    """Which groups; they arrive as one `selectors`."""
    for option in (
        click.option("--exclude", metavar="REGEX", callback=_regex, help="Leave out groups whose whole id matches."),
        click.option("--all-groups", "every", is_flag=True, help="All groups of the cluster."),
        click.option("--match", metavar="REGEX", callback=_regex, help="Groups whose whole id matches."),
        click.option("-g", "--group", "groups", metavar="ID", multiple=True, help="A group. Repeatable."),
        click.argument("ids", metavar="[GROUP]…", nargs=-1),
    ):
        function = option(function)
    return gathered(function, "selectors", _selectors, ("ids", "groups", "match", "every", "exclude"))


def parse_names(texts: str | Sequence[str] | None, *, option: str, valid: tuple[str, ...]) -> tuple[str, ...] | None:
    """The names in `Stable, empty` as Kafka spells them; None for a bare option or none at all.

    An option given several times names all that any of them does.
    UsageError names the valid ones; an empty list (`--state ,`) is one too, as it would filter everything out.
    """
    given = [texts] if isinstance(texts, str) else texts or ()
    lists = [_parse_list(text, option=option, valid=valid) for text in given if text != BARE]
    return tuple(dict.fromkeys(name for names in lists for name in names)) or None


def _parse_list(text: str, *, option: str, valid: tuple[str, ...]) -> tuple[str, ...]:
    spelled = {name.lower(): name for name in valid}
    names = [part.strip() for part in text.split(",") if part.strip()]
    odd = [name for name in names if name.lower() not in spelled]
    if names and not odd:
        return tuple(spelled[name.lower()] for name in names)
    told = f"{', '.join(map(repr, odd))} is not one" if odd else "the list is empty"
    hint = f" (a group id goes before a bare {option}, or after --)" if odd else ""
    msg = f"{option} {text!r}: {told}; valid are {', '.join(valid)}{hint}"
    raise click.UsageError(msg)


# What click hands over for an option that stands without its value. No user can type it.
BARE: Final = "\0bare"


def _selectors(
    *,
    ids: tuple[str, ...],
    groups: tuple[str, ...],
    match: re.Pattern[str] | None,
    every: bool,
    exclude: re.Pattern[str] | None,
) -> Selectors:
    named = tuple(dict.fromkeys((*groups, *ids)))
    if every and (named or match):
        other = "named groups" if named else "--match"
        msg = f"--all-groups contradicts {other}: give one or the other"
        raise click.UsageError(msg)
    return Selectors(named=named, match=match, every=every, exclude=exclude)


def gathered(function: F, name: str, make: Callable[..., Any], parts: tuple[str, ...]) -> F:
    """Let several options arrive as one value, so that a command's signature says what it needs."""

    def wrapper(**arguments: Any) -> Any:
        taken = {part: arguments.pop(part) for part in parts}
        return function(**arguments, **{name: make(**taken)})

    wrapper.__name__ = function.__name__
    wrapper.__doc__ = function.__doc__
    wrapper.__click_params__ = getattr(function, "__click_params__", [])  # type: ignore[attr-defined]  # click's own mark
    return wrapper  # type: ignore[return-value]  # it is called as the function is


def _regex(_context: click.Context, parameter: click.Parameter, value: str | None) -> re.Pattern[str] | None:
    if value is None:
        return None
    try:
        return re.compile(value)
    except re.error as error:
        place = f" at position {error.pos}" if error.pos is not None else ""
        msg = f"--{parameter.name} {value!r} is not a regular expression: {error.msg}{place}"
        raise click.UsageError(msg) from None


def _remember_debug(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value:
        context.find_root().meta[DEBUG] = True
