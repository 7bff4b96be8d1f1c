"""What one date leaves of a group to the next date: history is not read again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Self

from kafka_groups.pipeline.transform.kernels.classic_rebalances import Generation
from kafka_groups.pipeline.transform.kernels.epochs import Span
from kafka_groups.pipeline.transform.kernels.group_timeline import Known, Removal
from kafka_groups.pipeline.transform.kernels.memberships import Membership
from kafka_groups.pipeline.transform.kernels.source_logs import SourceLog
from kafka_groups.pipeline.transform.kernels.subscriptions import Subject


class GroupState(NamedTuple):
    """What is known of a group at the end of a date. Without arguments: a group that has no events yet."""

    logs: Mapping[int, SourceLog] = {}  # by source partition
    membership: Membership = Membership()
    span: Span = Span()
    generation: Generation | None = None
    classic_members: tuple[str, ...] | None = None
    known: Known = Known()
    removal: Removal | None = None  # within a minute of midnight
    topics: Mapping[Subject, tuple[str, ...]] = {}
    has_no_rebalances: bool = False

    def to_json(self) -> str:
        """Return the state as one line; states are equal if and only if their lines are."""
        document = self._asdict()
        document["topics"] = _by_topics(self.topics)
        return json.dumps(document, separators=(",", ":"), sort_keys=True, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the state that `to_json` wrote."""
        found: dict[str, Any] = json.loads(text)
        removal = found["removal"]
        return cls(
            {int(partition): SourceLog(*log) for partition, log in found["logs"].items()},
            Membership(*_frozen(found["membership"])),
            Span(*_frozen(found["span"])),
            None if found["generation"] is None else Generation(*_frozen(found["generation"])),
            None if found["classic_members"] is None else tuple(found["classic_members"]),
            Known(*found["known"]),
            None if removal is None else Removal(removal[0], removal[1], Known(*removal[2])),
            {(kind, name, text): tuple(topics) for topics, keys in found["topics"] for kind, name, text in keys},
            found["has_no_rebalances"],
        )


def _by_topics(topics: Mapping[Subject, tuple[str, ...]]) -> list[tuple[tuple[str, ...], list[Subject]]]:
    """Return subjects by their topics: members of a group subscribe to the same ones, as a rule."""
    subjects: dict[tuple[str, ...], list[Subject]] = {}
    for subject in sorted(topics, key=str):
        subjects.setdefault(topics[subject], []).append(subject)
    return sorted(subjects.items())


def _frozen(fields: Iterable[Any]) -> Iterable[Any]:
    return (tuple(field) if isinstance(field, list) else field for field in fields)
