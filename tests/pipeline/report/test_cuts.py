"""The groups that a cut keeps of a history."""

from __future__ import annotations

from kafka_groups.pipeline.report.history import Cut
from tests.pipeline.report.rendering.stories import group, history

GROUPS = (group("a"), group("b"), group("c"), *(group(name, removed_ms=1) for name in "xyz"))


def kept(cut: Cut) -> str:
    return "".join(each.group for each in history(*GROUPS).within(cut).groups)


def test_a_cut_keeps_as_many_removed_groups_as_existing_ones() -> None:
    assert [kept(Cut()), kept(Cut(2)), kept(Cut(0)), kept(Cut(9))] == ["abcxyz", "abxy", "", "abcxyz"]


def test_spared_groups_are_kept_in_addition_and_in_their_order() -> None:
    assert [kept(Cut(1, frozenset("b"))), kept(Cut(1, frozenset("az"))), kept(Cut(0, frozenset("nope")))] == [
        "abx",
        "abxz",
        "",
    ]


def test_a_cut_history_still_counts_all_groups() -> None:
    assert history(*GROUPS).within(Cut(1)).groups_in_all == 6
