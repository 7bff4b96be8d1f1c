"""The diagnosis of a group: which causes hold, the worst first, which do not, and which could not be tested."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kafka_groups.causes.catalogue import CAUSES
from kafka_groups.causes.cause import Cause
from kafka_groups.causes.evidence import Evidence
from kafka_groups.causes.finding import CauseKind, Finding
from kafka_groups.model import TopicPartition


class Found(NamedTuple):
    """A cause that holds, and what it found."""

    cause: Cause
    finding: Finding


class Untested(NamedTuple):
    """A cause that could not be tested, and the reason."""

    cause: Cause
    reason: str


class Diagnosis(NamedTuple):
    """What is known of a group: the causes that hold, ranked, and those that do not or could not be tested.

    `unexplained` are partitions with a lag that no cause explains.
    """

    evidence: Evidence
    found: tuple[Found, ...]
    absent: tuple[Cause, ...]
    untested: tuple[Untested, ...]
    unexplained: frozenset[TopicPartition]

    @property
    def has_trouble(self) -> bool:
        """Return whether a finding is trouble."""
        return any(each.cause.kind is CauseKind.TROUBLE for each in self.found)


def explain(evidence: Evidence, causes: Sequence[Cause] = CAUSES) -> Diagnosis:
    """Return the diagnosis of a group.

    Causes are tested in their order; a partition that a cause explains is not judged by later ones, unless the finding
    is a consequence of something else. Trouble comes first, then what is more certain, what was tested earlier, and
    what explains more lag.
    """
    found: list[Found] = []
    absent: list[Cause] = []
    untested: list[Untested] = []
    unexplained = frozenset(evidence.partitions)
    consequences: frozenset[TopicPartition] = frozenset()
    for cause in causes:
        if not cause.applies_to(evidence.kind):
            continue
        unseen = [evidence.unseen[need] for need in cause.needs if need in evidence.unseen]
        findings = [*cause.find(evidence._replace(unexplained=unexplained))]
        if findings:
            found += [Found(cause, finding) for finding in findings]
            unexplained -= frozenset().union(*(each.explains for each in findings if not each.is_consequence))
            consequences |= frozenset().union(*(each.explains for each in findings if each.is_consequence))
        elif unseen:
            untested.append(Untested(cause, "; ".join(dict.fromkeys(unseen))))
        else:
            absent.append(cause)
    behind = frozenset(key for key in unexplained - consequences if (evidence.partitions[key][-1].lag or 0) > 0)
    return Diagnosis(evidence, _rank(found), tuple(absent), tuple(untested), behind)


def _rank(found: Sequence[Found]) -> tuple[Found, ...]:
    return tuple(
        sorted(
            found,
            key=lambda each: (
                each.cause.kind is not CauseKind.TROUBLE,
                -each.finding.certainty,
                each.cause.order,
                each.cause.place,
                -(each.finding.lag or 0),
            ),
        )
    )
