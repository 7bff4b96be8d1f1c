"""The new offset of a partition for each specification, as Kafka's tool computes it, and the note beside it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.changes.change import Action, Change
from kafka_groups.changes.current_groups import CurrentGroup
from kafka_groups.changes.plan_rows import PlanRows
from kafka_groups.changes.specifications.file_rows import FromCsv, from_rows
from kafka_groups.changes.specifications.log_offsets import ToEarliest, ToLatest, ToOffset, ToTime
from kafka_groups.changes.specifications.other_group import ToGroup
from kafka_groups.changes.specifications.own_commits import ShiftBy, ToCurrent
from kafka_groups.changes.specifications.specification import Position, Refusal, Specification, Target, find_target
from kafka_groups.model import CommittedOffset, TopicPartition

KEY = TopicPartition("t", 0)
TIME = ToTime(1)


def at(offset: int | None, *, start: int = 10, end: int = 200, record: int | None = None) -> Position:
    """Return a partition of group `a` whose log has the offsets from `start` to `end`; `record` is the one at TIME."""
    commit = None if offset is None else CommittedOffset(offset, 3, "m")
    return Position("a", KEY, commit, start, end, dict.fromkeys(TIME.lookups(), record))


def other(offset: int | None) -> ToGroup:
    """Return the specification of another group with a commit on the partition, or none."""
    commit = None if offset is None else CommittedOffset(offset, None, "")
    return ToGroup("other").with_groups({"other": CurrentGroup("other", offsets={KEY: commit})})


def file(offset: int, *, cluster_id: str | None = None) -> FromCsv:
    """Return the specification of a file with a row for the partition: a CSV, or the plan of a cluster."""
    row = Change(Action.COMMIT, "a", *KEY, new_offset=offset, new_leader_epoch=4, new_metadata="n")
    return from_rows(PlanRows("f", (row,), cluster_id=cluster_id))


@pytest.mark.parametrize(
    ("specification", "position", "target"),
    [
        (ToOffset(50), at(100), Target(50)),
        (ToOffset(5), at(100), Target(10, "clamped from 5 to the log start offset")),
        (ToOffset(201), at(100), Target(200, "clamped from 201 to the log end offset")),
        (ToOffset(200), at(100), Target(200)),
        (ToOffset(10), at(100), Target(10)),
        (ToOffset(100), at(100), Target(100, "unchanged")),
        (ToOffset(50), at(None), Target(50, "no commit before")),
        (ToEarliest(), at(100), Target(10)),
        (ToEarliest(), at(None, start=7, end=7), Target(7, "no commit before, empty partition")),
        (ToLatest(), at(100), Target(200)),
        (ToLatest(), at(200), Target(200, "unchanged")),
        (ToCurrent(), at(100), Target(100, "unchanged")),
        (ToCurrent(), at(500), Target(500, "unchanged")),
        (ToCurrent(), at(None), Target(200, "log end offset, no commit before")),
        (ShiftBy(50), at(100), Target(150)),
        (ShiftBy(-50), at(100), Target(50)),
        (ShiftBy(-150), at(100), Target(10, "clamped from -50 to the log start offset")),
        (ShiftBy(150), at(100), Target(200, "clamped from 250 to the log end offset")),
        (TIME, at(100, record=42), Target(42)),
        (TIME, at(100), Target(200, "no record since then: log end offset")),
        (TIME, at(100, start=4, end=4), Target(4, "no record since then: log end offset, empty partition")),
        (other(42), at(100), Target(42)),
        (other(1), at(100), Target(10, "clamped from 1 to the log start offset")),
        (file(300), at(100), Target(200, "clamped from 300 to the log end offset")),
        (file(50, cluster_id="c"), at(100), Target(50, commit=CommittedOffset(50, 4, "n"))),
        (
            file(300, cluster_id="c"),
            at(100),
            Target(200, "clamped from 300 to the log end offset", CommittedOffset(200, None, "")),
        ),
    ],
)
def test_the_new_offset_and_its_note(specification: Specification, position: Position, target: Target) -> None:
    assert find_target(specification, position) == target


@pytest.mark.parametrize(
    ("specification", "message"),
    [
        (ShiftBy(5), "nothing is committed that could be shifted"),
        (other(None), "group 'other' has no commit on it"),
    ],
)
def test_a_partition_without_the_needed_commit_is_refused(specification: Specification, message: str) -> None:
    assert find_target(specification, at(None)) == Refusal(message)


_SPECIFICATIONS = st.one_of(
    st.builds(ToOffset, st.integers(0, 2**63 - 1)),
    st.builds(ShiftBy, st.integers(-(2**63) + 1, 2**63 - 1)),
    st.just(ToEarliest()),
    st.just(ToLatest()),
    st.builds(other, st.integers(0, 2**63 - 1)),
    st.builds(file, st.integers(0, 2**63 - 1), cluster_id=st.sampled_from([None, "c"])),
)


@given(
    specification=_SPECIFICATIONS,
    bounds=st.tuples(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1)).map(sorted),
    committed=st.integers(0, 2**63 - 1),
)
def test_a_new_offset_is_inside_the_log(specification: Specification, bounds: list[int], committed: int) -> None:
    target = find_target(specification, at(committed, start=bounds[0], end=bounds[1]))
    assert isinstance(target, Target)
    assert bounds[0] <= target.offset <= bounds[1]
