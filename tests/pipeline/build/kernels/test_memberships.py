"""Members of KIP-848 groups whose joins are not among the records, and when their number is not known."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kafka_groups.pipeline.build.kernels.epoch_rebalances import EpochChanges
from kafka_groups.pipeline.build.kernels.group_checkpoint import GroupCheckpoint
from kafka_groups.pipeline.build.kernels.group_days import build_group_days
from kafka_groups.pipeline.build.kernels.group_timeline import UNKNOWN_COUNT
from kafka_groups.pipeline.build.kernels.rebalance_rows import Rebalance
from kafka_groups.pipeline.frames.arrays import NULL
from tests.pipeline.build.kernels.event_rows import DAY, at_time, build, epoch, joined, left, on, placed, split
from tests.pipeline.build.kernels.example_groups import BEFORE_MIDNIGHT, MEMBERS, NEW, OLD, joins


def found(story: str, number: int, *, second: int = 0) -> Rebalance:
    """Return the rebalance of the epoch that began at a second of its minute."""
    days = build(placed(MEMBERS[story]), range(-1, 3))
    rows = [row for day in days for row in day.rebalances if row.generation == number]
    (row,) = [row for row in rows if row.started_at // 1_000_000 % 60 == second]
    return row


def who(row: Rebalance) -> tuple[Any, ...]:
    joined_, left_ = (None if names is None else [*names] for names in (row.joined, row.left))
    return row.members_before, row.members_after, joined_, left_


def took(row: Rebalance) -> tuple[str, int | None]:
    return row.duration_quality, row.duration_ms


def test_members_that_write_at_an_epoch_were_present_before_it() -> None:
    assert who(found("joined", 4)) == (3, 4, ["d"], [])
    assert who(found("joined", 5, second=40)) == (4, 5, ["e"], [])
    assert who(found("away", 4)) == (1, 2, ["d"], [])


def test_a_rebalance_ends_when_preexisting_members_have_reached_it() -> None:
    assert took(found("joined", 4)) == ("exact", 32_000)
    assert took(found("joined", 5, second=40)) == ("exact", 33_000)
    assert took(found("away", 4)) == ("open", None)


def test_a_member_that_leaves_was_present_though_it_never_wrote() -> None:
    assert who(found("left", 4)) == (4, 3, [], ["d"])
    assert who(found("all left", 4)) == (2, 0, [], ["a", "b"])


def test_number_and_duration_are_unknown_until_another_member_has_written() -> None:
    row = found("no other member yet", 4)

    assert who(row) == (None, None, None, None)
    assert took(row) == ("unknown", None)


def test_the_next_epoch_is_a_bound_if_the_number_of_members_is_unknown() -> None:
    row = found("overtaken, and no other member", 4)

    assert who(row) == (None, None, None, None)
    assert took(row) == ("bound", 10_000)


def test_members_that_stay_silent_while_the_group_writes_are_not_present() -> None:
    """A minute is longer than a broker waits for them. How many there were when the epoch began is lost."""
    assert who(found("alone for long", 4)) == (None, 1, None, None)
    assert took(found("alone for long", 4)) == ("exact", 1_000)
    assert who(found("alone for long", 5)) == (1, 1, [], [])


def test_a_member_that_writes_its_subscription_again_has_not_joined() -> None:
    assert who(found("other subscription", 4)) == (2, 2, [], [])
    assert who(found("known in part", 4)) == (2, 3, ["d"], [])


def test_records_after_midnight_count_for_the_day_before_and_no_earlier_day() -> None:
    assert who(found("after midnight", 4, second=50)) == (3, 4, ["d"], [])
    assert took(found("after midnight", 4, second=50)) == ("exact", 32_000)
    assert who(found("a day too late", 4)) == (None, None, None, None)


def test_a_member_of_a_recreated_group_with_its_old_id_reaches_its_epoch() -> None:
    assert took(found("deleted and created", 1)) == ("exact", 1_000)
    assert took(found("deleted and created", 1, second=30)) == ("exact", 4_000)


def test_members_of_an_earlier_share_group_are_not_those_of_a_kip_848_group() -> None:
    (early,) = build(placed(MEMBERS["of another protocol before"][:3]))

    assert who(found("of another protocol before", 1, second=30)) == (0, 1, ["m"], [])
    assert GroupCheckpoint.from_json(early.state).changes == EpochChanges(kept_members=[])


def test_changes_since_an_epoch_end_with_the_removal_of_the_group() -> None:
    assert who(found("whose leave was lost", 1, second=30)) == (0, 1, ["m"], [])


def test_members_seen_days_before_show_who_joined_with_the_first_epoch_left() -> None:
    assert who(found("there two days before", 4)) == (1, 2, ["d"], [])


def test_members_of_another_batch_did_not_join_with_the_first_epoch_left() -> None:
    assert who(found("joined in another batch", 4)) == (2, 3, ["d"], [])


def test_the_number_is_known_if_a_member_joined_before_the_epoch() -> None:
    assert who(found("joined before its epoch", 4, second=5)) == (None, 1, None, None)


def test_no_rebalance_ends_before_it_began() -> None:
    assert took(found("of a clock that is behind", 1)) == ("exact", 0)


def test_a_member_that_was_stable_before_the_epochs_record_does_not_reach_it() -> None:
    assert took(found("stable before the epoch", 4)) == ("open", None)


def test_a_tombstone_of_a_member_that_was_never_seen_shows_no_earlier_member() -> None:
    """Compaction replaced the join of x, which came after epoch 1, by its leave."""
    days = build(placed(MEMBERS["tombstone alone"]))

    assert took(found("tombstone alone", 1)) == ("exact", 1_000)
    assert who(found("tombstone alone", 1)) == (0, 1, ["a"], [])
    assert who(found("tombstone alone", 3)) == (2, 1, [], ["x"])
    assert [at_time(days, seconds)[1] for seconds in (10, 7_199, 7_200)] == [1, 1, 1]
    assert days[0].timeline.max_members == 2


def test_a_group_of_which_only_tombstones_are_left_is_not_empty_between_them() -> None:
    days = build(placed(MEMBERS["tombstone of the last member"]))

    assert who(found("tombstone of the last member", 4)) == (None, None, [], ["a"])
    assert took(found("tombstone of the last member", 4)) == ("bound", 7_200_000)
    assert [at_time(days, seconds) for seconds in (10, 7_210)] == [(None, None), ("Empty", 0)]


def test_a_member_that_left_and_joined_again_with_its_id_reaches_epochs() -> None:
    assert who(found("left, and back", 3, second=20)) == (0, 1, ["m"], [])
    assert took(found("left, and back", 4, second=30)) == ("exact", 30_000)


@pytest.mark.parametrize(
    ("story", "wanted"),
    [
        ("overtaken, and no other member", {5: (None, None), 12: (None, 2)}),
        ("created after a removal", {31: (None, 1)}),
        ("upgraded, and there", {10: (None, None), 21: (None, 1)}),
        ("upgraded before", {2: (None, 1)}),
        ("upgraded the day before", {DAY + 1: (None, 1)}),
        ("began the day before", {DAY + 1: (None, 1)}),
        ("soon removed", {1: (None, 1)}),
        ("joined the day before", {1: (None, None), DAY + 1: (None, 2)}),
        ("left twice", {5: (None, 1), 12: ("Empty", 0)}),
        ("there, left, and back", {1: (None, 1), 11: ("Empty", 0), 21: (None, 1)}),
        ("joined", {-1: (None, None), 1: (None, 4), 120: (None, 5)}),
        ("no other member yet", {10: (None, None)}),
        ("all left", {10: ("Empty", 0)}),
        # A date follows from what was written until its end.
        ("after midnight", {BEFORE_MIDNIGHT + 5: (None, None), BEFORE_MIDNIGHT + 60: (None, 4)}),
        ("deleted and created", {5: (None, 1), 15: ("Empty", 0), 25: ("Dead", 0), 40: (None, 1)}),
        ("upgraded", {5: ("Stable", 1), 20: ("Empty", 0), 50: (None, 1)}),
        ("sampled", {-1: ("Stable", 3), 10: (None, None), 25: ("Reconciling", 4)}),
        ("sampled without members", {10: (None, 2), 70: ("Stable", 2)}),
    ],
)
def test_state_and_members_hold_until_an_event_makes_them_unknown(
    story: str, wanted: dict[float, tuple[str | None, int | None]]
) -> None:
    days = build(placed(MEMBERS[story]), range(3))

    assert {seconds: at_time(days, seconds) for seconds in wanted} == wanted


def test_a_date_on_which_the_number_was_unknown_has_no_maximum() -> None:
    max_members = {
        name: [day.timeline.max_members for day in build(placed(story), (0, 1))] for name, story in MEMBERS.items()
    }

    assert max_members["joined"] == [5, 5]
    assert max_members["no other member yet"] == [UNKNOWN_COUNT, UNKNOWN_COUNT]
    assert max_members["all left"] == [2, 0]


def test_an_unknown_group_has_neither_state_nor_members() -> None:
    (day,) = build([])

    assert day.timeline.max_members == NULL
    assert at_time([day], 0) == (None, None)


def test_old_records_that_retention_removed_do_not_change_later_dates() -> None:
    """Three members joined ten days ago; a fourth and a fifth join when that date is removed."""
    rows = placed([*OLD, *NEW])
    (whole,) = build(rows)
    (cut,) = build(rows[len(OLD) :])

    assert whole.rebalances == cut.rebalances
    assert [at_time([whole], seconds) for seconds in (60, 200)] == [(None, 4), (None, 5)]
    assert [at_time([cut], seconds) for seconds in (60, 200)] == [(None, 4), (None, 5)]


def test_a_rebalance_of_the_first_day_is_built_again_with_the_next_date() -> None:
    rows = placed(MEMBERS["after midnight"])
    first_day = [row for row in rows if row["record_time"].date() == on(0)]
    (early,) = build(first_day)
    (late,) = build(rows)

    assert [who(row) for row in early.rebalances] == [(None, None, None, None)]
    assert [who(row) for row in late.rebalances] == [(3, 4, ["d"], [])]
    assert early.state == late.state


def test_members_that_left_are_forgotten_after_the_next_date_with_records() -> None:
    story = [row for name in map(str, range(50)) for row in (joined(0, name), epoch(0, 1), left(1, name))]
    days = build(placed([*story, *joins(2 * DAY, 2, "later")]), (0, 1, 2))

    memberships = [GroupCheckpoint.from_json(day.state).membership for day in days]
    assert [len(membership.departed) for membership in memberships] == [50, 50, 0]
    assert list(memberships[2].members) == ["later"]


def test_a_member_of_a_record_without_a_usable_time_is_kept() -> None:
    """Its time is midnight of its file's date, which is the first of all."""
    first = datetime(1970, 1, 1, tzinfo=UTC)
    events = split(placed([joined(0, "a") | {"record_time": first}, epoch(0, 1) | {"record_time": first}]))
    (day,) = build_group_days(None, events, [0])

    assert GroupCheckpoint.from_json(day.state).membership.members == {"a": None}
