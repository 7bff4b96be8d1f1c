"""Limits of a report: how many groups, and how many findings of each kind, are shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar


class _Deletable(Protocol):
    """A group that may have been deleted: `deleted_ms` is None if it exists."""

    @property
    def group(self) -> str: ...

    @property
    def deleted_ms(self) -> int | None: ...


class _HasKind(Protocol):
    """A finding with the name of its kind."""

    @property
    def kind(self) -> str: ...


GroupT = TypeVar("GroupT", bound=_Deletable)
FindingT = TypeVar("FindingT", bound=_HasKind)


@dataclass(frozen=True, slots=True)
class GroupLimit:
    """A limit on groups: the first `max_count` existing ones, and as many deleted ones. None means no limit.

    Groups whose ids are in `exempt` are always kept, and do not count towards the limit.
    """

    max_count: int | None = None
    exempt: frozenset[str] = frozenset()

    def first(self, groups: Iterable[GroupT]) -> list[GroupT]:
        """Return the groups that the limit keeps, in their order."""
        counts_by_deletion: Counter[bool] = Counter()
        first_groups = []
        for group in groups:
            if group.group not in self.exempt:
                is_deleted = group.deleted_ms is not None
                counts_by_deletion[is_deleted] += 1
                if self.max_count is not None and counts_by_deletion[is_deleted] > self.max_count:
                    continue
            first_groups.append(group)
        return first_groups


def first_of_each_kind(findings: Iterable[FindingT], max_count: int) -> list[FindingT]:
    """Return at most `max_count` findings of each kind, in their order, so that no kind hides the others."""
    counts_by_kind: Counter[str] = Counter()
    first_findings = []
    for finding in findings:
        counts_by_kind[finding.kind] += 1
        if counts_by_kind[finding.kind] <= max_count:
            first_findings.append(finding)
    return first_findings
