"""What the journals of commands say of commits, beside what the cluster has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from kafka_groups.changes.change import Change, Status
from kafka_groups.changes.journal_location import LocalJournal
from kafka_groups.changes.run_record import Run
from kafka_groups.changes.runs import list_runs
from kafka_groups.model import CommittedOffset
from tests.live.groups.changes import journal_of

Commits = Mapping[tuple[str, tuple[str, int]], CommittedOffset]


def recorded_runs(*homes: Path) -> list[Run]:
    """Return the runs of the journals of these home directories, newest first."""
    return [listed.run for home in homes for listed in list_runs(LocalJournal(journal_of(home))).runs]


def unexplained(before: Commits, now: Commits, runs: Iterable[Run]) -> list[tuple[object, object]]:
    """Return the commits that no row explains.

    A commit is the one after a change that is done, unknown, or without an outcome; if there is no such change, it is
    the one before. A change that is done was made, so that without others the commit before it is no explanation.
    """
    made: dict[tuple[str, tuple[str, int]], list[tuple[Change, bool]]] = {}
    for run in runs:
        for at, change in enumerate(run.plan.changes):
            outcome = run.outcomes.get(at)
            if change.key is not None and (outcome is None or outcome.status in {Status.DONE, Status.UNKNOWN}):
                is_certain = outcome is not None and outcome.status is Status.DONE
                made.setdefault((change.group, change.key), []).append((change, is_certain))
    places = {*before, *now, *made}
    odd: list[tuple[object, object]] = []
    for place in places:
        changes = made.get(place, [])
        allowed = [change.after for change, _ in changes]
        if not any(is_certain for _, is_certain in changes):
            allowed.append(before.get(place))
        if now.get(place) not in allowed:
            odd.append((place, now.get(place)))
    return odd
