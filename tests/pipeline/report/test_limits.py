"""The groups of a history that a limit keeps."""

from __future__ import annotations

from kafka_groups.pipeline.report.limits import GroupLimit
from tests.pipeline.report import example_histories

GROUPS = (*map(example_histories.group, "abc"), *(example_histories.group(name, deleted_ms=1) for name in "xyz"))


def first(limit: GroupLimit) -> str:
    return "".join(group.group for group in example_histories.history(*GROUPS).limited_to(limit).groups)


def test_a_limit_keeps_as_many_removed_groups_as_existing_ones() -> None:
    limits = (GroupLimit(), GroupLimit(2), GroupLimit(0), GroupLimit(9))
    assert list(map(first, limits)) == ["abcxyz", "abxy", "", "abcxyz"]


def test_exempt_groups_are_kept_in_addition_and_in_their_order() -> None:
    limits = (GroupLimit(1, frozenset("b")), GroupLimit(1, frozenset("az")), GroupLimit(0, frozenset("nope")))
    assert list(map(first, limits)) == ["abx", "abxz", ""]


def test_a_limited_history_still_counts_all_groups() -> None:
    assert example_histories.history(*GROUPS).limited_to(GroupLimit(1)).groups_in_all == 6
