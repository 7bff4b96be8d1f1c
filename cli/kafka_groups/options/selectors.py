"""The options that select groups: by id, regular expression, state and type."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, cast

import click

from kafka_groups.kinds import GROUP_STATES, group_types
from kafka_groups.options import offer
from kafka_groups.options.parameters import NAME, F, combine_options
from kafka_groups.suggestions import nearest_names

if TYPE_CHECKING:
    from kafka_groups.groups.selection import Selectors

# The value that click passes for an option without its optional value. No user can type it.
BARE: Final = "\0bare"


def selector_options(function: F) -> F:
    """Add the options that select groups; they arrive as one `selectors`."""
    for option in (
        click.option(
            "--exclude",
            metavar="REGEX",
            type=NAME,
            callback=_regex,
            help="Skip groups whose whole id matches this regular expression of Python's re.",
        ),
        click.option("--all-groups", "every", is_flag=True, help="All groups."),
        click.option(
            "--match",
            metavar="REGEX",
            type=NAME,
            callback=_regex,
            help="Groups whose whole id matches this regular expression of Python's re, case included unless it begins "
            "with (?i): bill.* for all that begin with bill.",
        ),
        click.option(
            "-g",
            "--group",
            "groups",
            metavar="ID",
            type=NAME,
            multiple=True,
            shell_complete=offer("groups"),
            help="A group id, the same as an argument. Repeatable.",
        ),
        click.argument("ids", metavar="[GROUP]…", type=NAME, nargs=-1, shell_complete=offer("groups")),
    ):
        function = option(function)
    return combine_options(function, "selectors", _selectors, ("ids", "groups", "match", "every", "exclude"))


def filter_options(function: F) -> F:
    """Add --state and --type, which narrow the selectors; they arrive parsed as parts of `selectors`."""

    @wraps(function)
    def narrowed(*, selectors: Any, states: tuple[str, ...], types: tuple[str, ...], **arguments: Any) -> Any:
        selectors = selectors._replace(
            states=parse_names(states, option="--state", valid=GROUP_STATES),
            types=parse_names(types, option="--type", valid=group_types()),
        )
        return function(selectors=selectors, **arguments)

    decorated = cast("F", narrowed)
    for option in (
        click.option(
            "--type",
            "types",
            metavar="TYPE,…",
            multiple=True,
            shell_complete=offer("types"),
            help="Only groups of one of these types, such as Classic or Consumer.",
        ),
        click.option(
            "--state",
            "states",
            metavar="STATE,…",
            multiple=True,
            shell_complete=offer("states"),
            help="Only groups in one of these states, such as Empty.",
        ),
    ):
        decorated = option(decorated)
    return decorated


def require_selectors(selectors: Selectors) -> None:
    """Raise UsageError if nothing selects a group."""
    if selectors.is_empty():
        raise click.UsageError("no group is selected; name groups, or use --match REGEX or --all-groups")


def parse_names(
    texts: str | Sequence[str] | None, *, option: str, valid: tuple[str, ...], may_be_bare: bool = False
) -> tuple[str, ...] | None:
    """Return the names in `Stable, empty` as Kafka spells them; None for a bare option or none at all.

    An option may be given several times. Raises UsageError for an unknown name, and for an empty list
    (`--state ,`), which would match nothing.
    """
    given = [texts] if isinstance(texts, str) else texts or ()
    hint = f" (put a group id before a bare {option}, or after --)" if may_be_bare else ""
    lists = [_parse_list(text, option=option, valid=valid, hint=hint) for text in given if text != BARE]
    return tuple(dict.fromkeys(name for names in lists for name in names)) or None


def _parse_list(text: str, *, option: str, valid: tuple[str, ...], hint: str) -> tuple[str, ...]:
    spelled = {name.lower(): name for name in valid}
    names = [part.strip() for part in text.split(",") if part.strip()]
    unknown = [name for name in names if name.lower() not in spelled]
    if names and not unknown:
        return tuple(spelled[name.lower()] for name in names)
    problem = f"unknown name {', '.join(map(repr, unknown))}" if unknown else "the list is empty"
    near = ", ".join(f"'{name}'" for name in nearest_names(unknown, valid).values())
    end = f"{hint if unknown else ''}{f'; did you mean {near}?' if near else ''}"
    msg = f"{option} {text!r}: {problem}; valid names are {', '.join(valid)}{end}"
    raise click.UsageError(msg)


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
    from kafka_groups.groups.selection import Selectors  # the admin layer is not imported for --version

    return Selectors(named=named, match=match, all_groups=every, exclude=exclude)


def _regex(_context: click.Context, parameter: click.Parameter, value: str | None) -> re.Pattern[str] | None:
    if value is None:
        return None
    try:
        with warnings.catch_warnings():
            # Python warns of patterns such as `[[a]` that a later version may read as something else.
            warnings.simplefilter("ignore", FutureWarning)
            # A group id may contain newlines, and `.*` means all of it.
            return re.compile(value, re.DOTALL)
    except re.error as error:
        place = f" at position {error.pos}" if error.pos is not None else ""
        problem = f"{error.msg}{place}"
    except OverflowError as error:
        problem = str(error)
    except RecursionError:
        problem = "it is nested too deeply"
    msg = f"--{parameter.name} {value!r} is not a regular expression: {problem}"
    raise click.UsageError(msg)
