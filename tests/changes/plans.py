"""Plans and changes of tests, and strategies that draw them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from kafka_groups.changes.change import Action, Change, Plan
from kafka_groups.protocol.topic_ids import format_topic_id

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
CHANGES = (
    Change(Action.COMMIT, "g", "t", 0, 5, 2, "note", 9, 3, "restored"),
    Change(Action.COMMIT, "g", "t", 1, new_offset=0),
    Change(Action.DELETE_OFFSETS, "g", "u", 0, 7, metadata=""),
    Change(Action.DELETE_GROUP, "größe", "t", 0, 5),
    Change(Action.DELETE_GROUP, "empty"),
    Change(Action.REMOVE_MEMBER, "g", member_id="m-1", group_instance_id="i"),
    Change(Action.REMOVE_MEMBER, "g", group_instance_id="j"),
    Change(Action.SHARE_OFFSET, "s", "t", 0, 5, new_offset=9, group_type="Share"),
    Change(Action.DELETE_OFFSETS, "s", "u", 0, 5, group_type="Share"),
)

_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_int32 = st.integers(0, 2**31 - 1)
_int64 = st.integers(0, 2**63 - 1)


@st.composite
def _changes(draw: st.DrawFn) -> Change:
    action = draw(st.sampled_from(Action))
    is_share = action is Action.SHARE_OFFSET
    has_partition = is_share or action in {Action.COMMIT, Action.DELETE_OFFSETS} or draw(st.booleans())
    return Change(
        action,
        draw(_texts),
        draw(_texts.filter(bool)) if has_partition else None,
        draw(_int32) if has_partition else None,
        draw(st.none() | _int64),
        draw(st.none() | _int32),
        draw(st.none() | _texts),
        draw(_int64) if action is Action.COMMIT else draw(st.none() | _int64) if is_share else None,
        None if is_share else draw(st.none() | _int32),
        None if is_share else draw(st.none() | _texts),
        draw(_texts.filter(bool)) if action is Action.REMOVE_MEMBER else draw(st.none() | _texts),
        draw(st.none() | _texts),
        draw(st.none() | st.uuids().map(format_topic_id)) if has_partition else None,
        "Share" if is_share else draw(st.sampled_from([None, "Share"])),
    )


changes = _changes()
times = st.datetimes(NOON.replace(year=1970, tzinfo=None), timezones=st.just(UTC))
plans = st.builds(
    Plan, _texts, times, st.lists(changes, max_size=4, unique_by=lambda each: (each.group, each.key)).map(tuple)
)


def plan(*made: Change, cluster_id: str = "cluster", seconds: int = 0) -> Plan:
    """Return a plan of some changes."""
    return Plan(cluster_id, NOON + timedelta(seconds=seconds), made)
