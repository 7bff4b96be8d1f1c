"""What a cause says about a group: a finding, with the facts that anyone can check."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import NamedTuple

from kafka_groups.model import TopicPartition


class CauseKind(StrEnum):
    """Whether somebody should act: an explanation says why a lag is no trouble."""

    TROUBLE = "trouble"
    EXPLANATION = "explanation"


class Certainty(IntEnum):
    """How certain a finding is. Certain means that the evidence admits no other cause."""

    LIKELY = 1
    STRONG = 2
    CERTAIN = 3

    @property
    def word(self) -> str:
        """Return the word for it, as in JSON documents and in conditions."""
        return self.name.lower()


class Since(NamedTuple):
    """When something began: not before `earliest_ms`, None if nothing bounds it, and not after `latest_ms`."""

    earliest_ms: int | None
    latest_ms: int


class Fact(NamedTuple):
    """One row of evidence: a sentence, and what it is about, so that it can be checked. Absent is None.

    `broker` is the id of a broker. `epoch` is that of the group, of a member or of a leader, as the sentence says.
    """

    text: str
    at_ms: int | None = None
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None
    member_id: str | None = None
    client_id: str | None = None
    host: str | None = None
    epoch: int | None = None
    broker: int | None = None


class Finding(NamedTuple):
    """A cause that holds. `summary` is one sentence that names the partitions, members or hosts.

    `refuted_by` says what would show that the cause is another one. `next_command` is a command line to run next, None
    if the next step is none; `next_step` is a sentence about it. `explains` are the partitions whose lag the finding
    explains: later causes do not judge them. `lag` is the number of records behind on them, None if unknown.
    """

    summary: str
    certainty: Certainty
    facts: tuple[Fact, ...]
    refuted_by: str
    next_step: str
    next_command: str | None = None
    since: Since | None = None
    explains: frozenset[TopicPartition] = frozenset()
    lag: int | None = None
