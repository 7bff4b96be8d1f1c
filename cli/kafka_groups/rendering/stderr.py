"""Failures on stderr: one line for each."""

from __future__ import annotations

from collections.abc import Iterable

from kafka_groups.model import Failure
from kafka_groups.rendering.screen import Screen, print_note


def print_failures(screen: Screen, failures: Iterable[Failure]) -> None:
    """Print a line for each failure."""
    for failure in failures:
        print_note(screen, lead_of(screen, failure.cluster) + f"Error: {format_failure(failure)}")


def lead_of(screen: Screen, cluster: str | None) -> str:
    """Return the name of the cluster that a line begins with, if the result has several clusters."""
    return f"{cluster}: " if screen.names_clusters and cluster is not None else ""


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
