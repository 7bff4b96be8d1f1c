"""What is said on stderr: warnings, notes and one line for each failure. stdout never hears of it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TextIO

from kafka_groups.model import REBALANCING_STATES, Failure, GroupDescription
from kafka_groups.rendering.screen import Screen, escape_controls

# So many groups that nobody named may speak for themselves; of more, one line tells the number.
_MOST_LINES = 20


def note(screen: Screen, text: str) -> None:
    """Something worth knowing. Where it cannot be written, the data goes on without it."""
    say(screen.err, escape_controls(text))


def say(stream: TextIO, text: str) -> None:
    """One line, if the stream takes it; one that does not is not asked again."""
    try:
        print(text, file=stream, flush=True)
    except OSError:
        silence(stream)


def silence(stream: TextIO) -> None:
    """Let what is still to be written to this stream go nowhere, so that its end is not another error."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def print_failures(screen: Screen, failures: Iterable[Failure]) -> None:
    """A line for each failure: what, where, why."""
    for failure in failures:
        note(screen, f"Error: {describe_failure(failure)}")


def describe_failure(failure: Failure) -> str:
    """A failure in one line."""
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
    # An error of a connection already names its broker.
    is_named = failure.message.startswith((subject, f"cannot connect to {subject}"))
    lead = "" if not subject or is_named else f"{subject}: "
    return f"{lead}{failure.message} ({failure.name})"


def tell_states(screen: Screen, descriptions: Iterable[GroupDescription], *, named: frozenset[str]) -> None:
    """Which groups have no members or are rebalancing: each one that was named, the others as long as they are few."""
    empty: list[str] = []
    rebalancing: list[str] = []
    for description in descriptions:
        if description.state == "Empty":
            empty.append(description.group)
        elif description.state in REBALANCING_STATES:
            rebalancing.append(description.group)
    _tell(
        screen,
        empty,
        named,
        "Consumer group '{}' has no active members.",
        "{} consumer groups have no active members.",
    )
    _tell(
        screen,
        rebalancing,
        named,
        "Warning: Consumer group '{}' is rebalancing.",
        "Warning: {} consumer groups are rebalancing.",
    )


def tell_without_rows(screen: Screen, groups: list[str], *, named: frozenset[str]) -> None:
    """Which groups have nothing to show, as few lines as `tell_states` takes."""
    _tell(
        screen,
        groups,
        named,
        "Consumer group '{}' has no committed offsets and no assigned partitions.",
        "{} consumer groups have no committed offsets and no assigned partitions.",
    )


def _tell(screen: Screen, groups: list[str], named: frozenset[str], one: str, many: str) -> None:
    unnamed = sum(group not in named for group in groups)
    for group in groups:
        if group in named or unnamed <= _MOST_LINES:
            note(screen, one.format(group))
    if unnamed > _MOST_LINES:
        note(screen, many.format(f"{unnamed:,}{' more' if unnamed < len(groups) else ''}"))
