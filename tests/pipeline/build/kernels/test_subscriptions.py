"""Topics that members subscribe to, or that a share group keeps state of."""

from __future__ import annotations

from typing import Any

from tests.pipeline.build.kernels.event_rows import (
    DAY,
    Row,
    build,
    generation,
    joined,
    left,
    member,
    placed,
    record,
    removed,
    sample,
)


def topics(*rows: Row, days: int = 2) -> list[set[str]]:
    return [set(day.topics) for day in build(placed(rows), range(days))]


def shared(seconds: float, name: str, *names: str) -> Row:
    return joined(seconds, name, topics=[*names]) | {"record_name": "ShareGroupMemberMetadata"}


def expression(seconds: float, text: str, event_type: str = "regex_resolved", **others: Any) -> Row:
    return record(seconds, event_type, "ConsumerGroupRegularExpression", expression=text, **others)


def test_the_last_record_of_each_member_holds_until_the_member_leaves() -> None:
    found = topics(
        shared(0, "m", "t", "kept"),
        shared(1, "n", "left"),
        record(2, "share_partitions", "ShareGroupStatePartitionMetadata", topics=["state"]),
        shared(3, "m", "t"),
        left(DAY, "n") | {"record_name": "ShareGroupMemberMetadata"},
    )

    assert found == [{"t", "left", "state"}, {"t", "state"}]


def test_topics_of_an_expression_hold_until_it_is_removed() -> None:
    found = topics(
        expression(1, "m.*", topics=["matched"]),
        expression(2, "n.*", topics=["no more"]),
        expression(DAY, "n.*", "regex_removed", is_tombstone=True),
    )

    assert found == [{"matched", "no more"}, {"matched"}]


def test_a_classic_group_reads_topics_that_its_members_subscribe_to_or_own() -> None:
    members = member("a") | {"topics": ["t"], "assignment": [{"topic": "u"}, {"topic": None}]}

    assert topics(generation(0, 1, members), removed(DAY, "GroupMetadata")) == [{"t", "u"}, set()]


def test_assignments_of_the_last_sample_count_on_their_own_date_alone() -> None:
    first = sample(0, "Stable", members=[{"member_id": "m", "assignment": [{"topic": "before"}]}])
    last = sample(1, "Stable", members=[{"member_id": "m", "assignment": [{"topic": "t"}]}])

    assert topics(first, last) == [{"t"}, set()]


def test_the_order_of_the_log_decides_and_not_the_clocks() -> None:
    assert topics(joined(0, "m", topics=["t"]), joined(0, "m", topics=["u"]), days=1) == [{"u"}]
    assert topics(joined(5, "m", topics=["t"]), joined(0, "m", topics=["u"]), days=1) == [{"u"}]
