"""Which differences of members, rebalances and states are expected, with hand-made facts of one group."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.pipeline.proof.handmade_rows import ROW, at, compared, event, rebalance
from tests.pipeline.proof.random_facts import Row

# A member leaves in minute 20, and compaction has replaced its join.
UNSEEN_LEAVE: dict[str, list[Row]] = {
    "partition_offsets": [],
    "offset_commits": [],
    "group_events": [
        event(0, "ConsumerGroupMemberMetadata", "member_metadata", "a"),
        event(1, "ConsumerGroupMetadata", "group_epoch", epoch=1),
        event(20, "ConsumerGroupMemberMetadata", "member_left", "b"),
        event(30, "ConsumerGroupMetadata", "group_epoch", epoch=2),
    ],
}


@pytest.mark.parametrize("facts", [UNSEEN_LEAVE], indirect=True)
@pytest.mark.usefixtures("facts")
class TestUnseenLeaver:
    def test_members_before_the_leave_are_expected_to_differ(self) -> None:
        comparison = compared(rebalances=(rebalance(1), rebalance(1, members_after=1, duration_quality="overtaken")))

        assert comparison.unexpected == []

    def test_members_behind_the_leave_are_found(self) -> None:
        assert len(compared(rebalances=(rebalance(30), rebalance(30, members_after=1))).unexpected) == 1

    @pytest.mark.parametrize("protocol", ["consumer", "classic"])
    def test_an_invented_and_a_lost_rebalance_are_found(self, protocol: str) -> None:
        row = rebalance(1, group_protocol=protocol)

        assert len(compared(rebalances=(None, row)).unexpected) == 1
        assert len(compared(rebalances=(row, None)).unexpected) == 1

    def test_a_rebalance_of_the_report_is_found_without_one_of_the_table(self) -> None:
        reported = {"generation": 1, "started_at": "2026-11-18T12:01:00.000Z", "duration_quality": "exact"}
        changed = reported | {"duration_quality": "overtaken"}
        rows = rebalance(1), rebalance(1, duration_quality="overtaken")

        assert compared(rebalances=rows, report_rebalances=(reported, changed)).unexpected == []
        assert len(compared(report_rebalances=(reported, changed)).unexpected) == 1
        assert len(compared(rebalances=rows, report_rebalances=(None, reported)).unexpected) == 1


# Generation 2 is lost. The classic group moves to a share group, which is removed.
GENERATIONS: dict[str, list[Row]] = {
    "partition_offsets": [],
    "offset_commits": [],
    "group_events": [
        event(0, "GroupMetadata", "generation", epoch=1),
        event(10, "GroupMetadata", "generation", epoch=3),
        event(11, "GroupMetadata", "generation", epoch=4),
        event(20, "ShareGroupMetadata", "group_removed"),
        event(30, "GroupMetadata", "generation", epoch=1),
    ],
}


@pytest.mark.parametrize("facts", [GENERATIONS], indirect=True)
@pytest.mark.usefixtures("facts")
@pytest.mark.parametrize(
    ("minutes", "generation", "left", "count"),
    [
        pytest.param(10, 3, None, 0, id="the generation before is lost"),
        pytest.param(10, 3, [], 1, id="it is lost, but nobody left"),
        pytest.param(11, 4, None, 1, id="the generation before is known"),
        pytest.param(30, 1, [], 0, id="a group of another type was removed"),
        pytest.param(30, 1, ["c"], 1, id="it was removed, but another member left"),
    ],
)
def test_members_that_left_differ_behind_lost_and_removed_generations(
    minutes: int, generation: int, left: list[str] | None, count: int
) -> None:
    place = {"group_protocol": "classic", "generation": generation, "ended_at": at(minutes)}
    old = rebalance(minutes - 0.5, **place, joined=[])
    before = None if left is None else 0

    new = old | {"left": left, "members_before": before}

    assert len(compared(rebalances=(old, new)).unexpected) == count


# A KIP-848 group, which becomes a streams group and then a KIP-848 group again.
KINDS: dict[str, list[Row]] = {
    "partition_offsets": [],
    "offset_commits": [],
    "group_events": [
        event(0, "ConsumerGroupMetadata", "group_epoch", epoch=1),
        event(10, "StreamsGroupMetadata", "group_epoch", epoch=1),
        event(20, "StreamsGroupMetadata", "group_removed"),
    ],
}


@pytest.mark.parametrize("facts", [KINDS], indirect=True)
@pytest.mark.usefixtures("facts")
class TestShareAndStreamsGroups:
    @pytest.mark.parametrize(
        ("protocol", "minutes", "count"), [("streams", 10, 0), ("streams", 11, 1), ("consumer", 10, 1)]
    )
    def test_new_rebalances_of_their_epochs_are_expected(self, protocol: str, minutes: int, count: int) -> None:
        row = rebalance(minutes, group_protocol=protocol)
        assert len(compared(rebalances=(None, row)).unexpected) == count
        assert len(compared(rebalances=(row, None)).unexpected) == 1

    @pytest.mark.parametrize(("minutes", "count"), [(10, 0), (11, 1)])
    def test_their_epoch_is_expected_to_end_an_open_rebalance(self, minutes: int, count: int) -> None:
        old = rebalance(0, ended_at=None, duration_ms=None, duration_quality="unknown")
        new = old | {"ended_at": at(minutes), "duration_ms": minutes * 60_000, "duration_quality": "bound"}
        assert len(compared(rebalances=(old, new)).unexpected) == count

    def test_a_number_of_rebalances_is_expected_to_be_known(self) -> None:
        day = {"day": datetime(2026, 11, 18, tzinfo=UTC), "rebalances": None, "rebalance_ms": None}
        counted = day | {"rebalances": 1, "rebalance_ms": 0}
        assert compared(group_daily=(day, counted)).unexpected == []
        assert len(compared(group_daily=(counted, day)).unexpected) == 1

    @pytest.mark.parametrize(("minutes", "state", "count"), [(21, "Dead", 0), (21, "Stable", 1), (5, "Dead", 1)])
    def test_a_removed_group_is_expected_to_be_dead(self, minutes: int, state: str, count: int) -> None:
        row = {**ROW, "evaluated_at": at(minutes), "state": "Empty"}
        assert len(compared(group_status=(row, row | {"state": state})).unexpected) == count
