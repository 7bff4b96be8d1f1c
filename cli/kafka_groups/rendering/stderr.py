"""Messages on stderr: warnings, notes, and one line for each failure."""

from __future__ import annotations

from collections.abc import Iterable

from kafka_groups.kinds import REBALANCING_STATES
from kafka_groups.model import Failure, GroupDescription
from kafka_groups.rendering.screen import Screen, escape_controls, print_line

# Above this number of groups that the user did not name, one line contains their number.
_MAX_LINES = 20
# A broker that calls a group with commits Dead has no members of it.
_WITHOUT_MEMBERS = frozenset({"Empty", "Dead"})


def print_note(screen: Screen, text: str) -> None:
    """Print a note. If stderr cannot be written, the command goes on without it."""
    print_line(screen.err, escape_controls(text))


def print_failures(screen: Screen, failures: Iterable[Failure]) -> None:
    """Print a line for each failure."""
    for failure in failures:
        print_note(screen, f"Error: {format_failure(failure)}")


def format_failure(failure: Failure) -> str:
    """Return a failure as one line: the item, the reason and the name of the error."""
    partition = (
        None
        if failure.topic is None
        else (
            f"topic '{failure.topic}'"
            if failure.partition is None
            else f"partition {failure.topic}-{failure.partition}"
        )
    )
    subjects = [
        f"group '{failure.group}'" if failure.group is not None else None,
        partition,
        f"broker {failure.broker}"
        if failure.broker is not None and failure.group is None and partition is None
        else None,
    ]
    subject = ", ".join(filter(None, subjects))
    # The message of a broker that cannot be reached already names it.
    is_named = failure.message.startswith((subject, f"cannot connect to {subject}"))
    lead = "" if not subject or is_named else f"{subject}: "
    return f"{lead}{failure.message} ({failure.name})"


def print_group_states(screen: Screen, descriptions: Iterable[GroupDescription], *, named: frozenset[str]) -> None:
    """Print which groups have no members or are rebalancing: those that the user named, and others if they are few."""
    empty: list[str] = []
    rebalancing: list[str] = []
    for description in descriptions:
        if description.state in _WITHOUT_MEMBERS:
            empty.append(description.group)
        elif description.state in REBALANCING_STATES:
            rebalancing.append(description.group)
    _print_groups(
        screen,
        empty,
        named,
        "Consumer group '{}' has no active members.",
        "{} consumer groups have no active members.",
    )
    _print_groups(
        screen,
        rebalancing,
        named,
        "Warning: Consumer group '{}' is rebalancing.",
        "Warning: {} consumer groups are rebalancing.",
    )


def print_empty_groups(screen: Screen, groups: list[str], *, named: frozenset[str]) -> None:
    """Print which groups have nothing to show, in as few lines as `print_group_states`."""
    _print_groups(
        screen,
        groups,
        named,
        "Consumer group '{}' has no committed offsets and no assigned partitions.",
        "{} consumer groups have no committed offsets and no assigned partitions.",
    )


def _print_groups(screen: Screen, groups: list[str], named: frozenset[str], one: str, many: str) -> None:
    unnamed = sum(group not in named for group in groups)
    for group in groups:
        if group in named or unnamed <= _MAX_LINES:
            print_note(screen, one.format(group))
    if unnamed > _MAX_LINES:
        print_note(screen, many.format(f"{unnamed:,}{' more' if unnamed < len(groups) else ''}"))
