"""Judgements of groups: a diagnosis with its findings as rows, and command lines that connect to the cluster."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final, NamedTuple

from kafka_groups.causes.cause import Due
from kafka_groups.causes.diagnosis import Diagnosis, Found
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Since
from kafka_groups.model import TopicPartition

ONLY_HISTORY: Final = "only a history of hours or days shows it"
_OWN_TOOL: Final = "kafka-groups"
_END_OF_OPTIONS: Final = "--"


class FindingRow(NamedTuple):
    """A finding on a group. `at_ms` is the time of the last poll; `rank` is 1 for the first finding of a group."""

    at_ms: int
    group: str
    rank: int
    cause: str
    kind: CauseKind
    certainty: Certainty
    lag: int | None
    since: Since | None
    summary: str
    refuted_by: str
    next_step: str
    next_command: str | None
    partitions: Sequence[TopicPartition]
    evidence: Sequence[Fact]


class Judgement(NamedTuple):
    """The diagnosis of a group with its findings as rows. `untested` are names of causes with the reasons."""

    diagnosis: Diagnosis
    rows: Sequence[FindingRow]
    untested: Sequence[tuple[str, str]]

    @property
    def checked(self) -> list[str]:
        """Return the names of the causes that were tested, and that do not hold."""
        return [cause.name for cause in self.diagnosis.absent if cause.due is Due.LIVE]

    @property
    def lag(self) -> int | None:
        """Return the lag of all partitions whose lag is known; None if none is. One above the log end counts 0."""
        lags = [polls[-1].lag for polls in self.diagnosis.evidence.partitions.values()]
        known = [max(0, lag) for lag in lags if lag is not None]
        return sum(known) if known else None

    @property
    def uncommitted_partitions(self) -> int:
        """Return how many partitions have no commit, or no known start offset, so that their lag is unknown."""
        return sum(polls[-1].committed is None for polls in self.diagnosis.evidence.partitions.values())


def judgement_of(diagnosis: Diagnosis, connection_words: Sequence[str]) -> Judgement:
    """Return a diagnosis with its rows; commands of this tool get the words that connect to the cluster."""
    rows = [_row_of(diagnosis, found, rank, connection_words) for rank, found in enumerate(diagnosis.found, start=1)]
    untested = [(each.cause.name, each.reason) for each in diagnosis.untested]
    untested += [(cause.name, ONLY_HISTORY) for cause in diagnosis.absent if cause.due is Due.HISTORY]
    return Judgement(diagnosis, rows, untested)


def _row_of(diagnosis: Diagnosis, found: Found, rank: int, connection_words: Sequence[str]) -> FindingRow:
    finding = found.finding
    command = finding.next_command
    return FindingRow(
        at_ms=diagnosis.evidence.last.at_ms,
        group=diagnosis.evidence.group,
        rank=rank,
        cause=found.cause.name,
        kind=found.cause.kind,
        certainty=finding.certainty,
        lag=finding.lag,
        since=finding.since,
        summary=finding.summary,
        refuted_by=finding.refuted_by,
        next_step=finding.next_step,
        next_command=None if command is None else with_connection(command, connection_words),
        partitions=sorted(finding.explains),
        evidence=finding.facts,
    )


def with_connection(command: str, words: Sequence[str]) -> str:
    """Return a command line of this tool with more options; that of another tool stays as it is.

    Causes know nothing of the options that the user gave.
    """
    parts = shlex.split(command)
    if parts[:1] != [_OWN_TOOL] or not words:
        return command
    at = parts.index(_END_OF_OPTIONS) if _END_OF_OPTIONS in parts else len(parts)
    return shlex.join([*parts[:at], *words, *parts[at:]])
