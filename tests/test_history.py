"""Which groups of a history are kept where it is cut."""

from __future__ import annotations

from kafka_groups.history import Cut
from tests.rendering.history.stories import group, history

GROUPS = (group("a"), group("b"), group("c"), *(group(name, removed_ms=1) for name in "xyz"))


def kept(cut: Cut) -> str:
    return "".join(one.group for one in history(*GROUPS).within(cut).groups)


def test_of_those_that_were_removed_as_many_are_kept_as_of_the_others() -> None:
    assert [kept(Cut()), kept(Cut(2)), kept(Cut(0)), kept(Cut(9))] == ["abcxyz", "abxy", "", "abcxyz"]


def test_what_is_spared_is_kept_besides_and_in_its_place() -> None:
    assert [kept(Cut(1, frozenset("b"))), kept(Cut(1, frozenset("az"))), kept(Cut(0, frozenset("nope")))] == [
        "abx",
        "abxz",
        "",
    ]


def test_a_history_that_is_cut_still_tells_how_many_there_are() -> None:
    assert history(*GROUPS).within(Cut(1)).groups_in_all == 6
