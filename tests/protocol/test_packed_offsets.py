"""Rows of an OffsetFetch answer: the quick way and the table say the same, and a group's offsets are a mapping."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_groups.admin import GroupOffsets
from kafka_groups.model import CommittedOffset, TopicPartition
from kafka_groups.protocol import Array, Cursor, Field, SchemaError, Struct, compile_writer
from kafka_groups.protocol.messages.offset_fetch import OFFSET_FETCH, TOPIC
from kafka_groups.protocol.packed_offsets import Run, cut_runs, decode, partitions_of

STABLE = settings(derandomize=True, deadline=None, max_examples=100, database=None)
FLEXIBLE = 9
PLAIN = 5


def _encoded(topics: list[Struct], version: int) -> bytes:
    """An array of topics as an answer carries it, and two bytes of what follows."""
    out = bytearray()
    flexible = OFFSET_FETCH.is_flexible(version)
    compile_writer((Field("topics", Array(TOPIC)),), version=version, flexible=flexible)(out, {"topics": topics})
    # The writer ends its struct with an empty set of tags, which is not part of the array.
    body = out[:-1] if flexible else out
    return bytes(body) + b"\xaa\xbb"


def _row(partition: int, offset: int, *, epoch: int = -1, metadata: str | None = "", error: int = 0) -> Struct:
    return {
        "partition_index": partition,
        "committed_offset": offset,
        "committed_leader_epoch": epoch,
        "metadata": metadata,
        "error_code": error,
    }


def _cut(topics: dict[str, list[Struct]], version: int = FLEXIBLE) -> tuple[tuple[Run, ...], dict[TopicPartition, int]]:
    data = _encoded([{"name": name, "partitions": rows} for name, rows in topics.items()], version)
    cursor = Cursor(data)
    runs, refused = cut_runs(cursor, version, {})
    assert data[cursor.at :] == b"\xaa\xbb"
    return runs, refused


def _offsets(topics: dict[str, list[Struct]], version: int = FLEXIBLE) -> GroupOffsets:
    return GroupOffsets(*_cut(topics, version))


PLAIN_ROWS = st.lists(
    st.builds(
        _row,
        st.integers(0, 2**31 - 1),
        st.integers(-(2**63), 2**63 - 1),
        epoch=st.integers(-(2**31), 2**31 - 1),
    ),
    max_size=20,
)
ANY_ROWS = st.lists(
    st.builds(
        _row,
        st.integers(0, 2**31 - 1),
        st.integers(-1, 2**63 - 1),
        epoch=st.integers(-1, 2**31 - 1),
        metadata=st.none() | st.text(max_size=40) | st.just("m" * 200),
        error=st.sampled_from([0, 0, 0, 3, 29, 88]),
    ),
    max_size=20,
    unique_by=lambda row: row["partition_index"],
)


@STABLE
@given(rows=PLAIN_ROWS)
def test_a_run_of_plain_rows_is_recognised_and_says_what_the_table_says(rows: list[Struct]) -> None:
    runs, refused = _cut({"t": rows})
    assert [run.fixed for run in runs] == [True]
    assert refused == {}
    by_table = runs[0]._replace(fixed=False)
    assert list(decode(runs[0])) == list(decode(by_table))
    assert partitions_of(runs[0]) == partitions_of(by_table)


@STABLE
@given(rows=ANY_ROWS)
@pytest.mark.parametrize("version", [PLAIN, FLEXIBLE])
def test_rows_of_any_kind_come_back_as_they_were_written(version: int, rows: list[Struct]) -> None:
    offsets = _offsets({"t": rows}, version)
    written = {
        TopicPartition("t", row["partition_index"]): (row["committed_offset"], row["metadata"] or "")
        for row in rows
        if row["error_code"] == 0 and row["committed_offset"] >= 0
    }
    read = {key: (commit.offset, commit.metadata) for key, commit in offsets.rows() if commit is not None}
    assert read == written
    errors = {TopicPartition("t", row["partition_index"]): row["error_code"] for row in rows if row["error_code"]}
    assert offsets.refused == errors
    assert len(offsets) == len(list(offsets))


@STABLE
@given(rows=ANY_ROWS.filter(bool), cut=st.integers(1, 400))
def test_a_run_that_is_cut_off_is_an_error_and_never_rows(rows: list[Struct], cut: int) -> None:
    data = _encoded([{"name": "t", "partitions": rows}], FLEXIBLE)[:-2]
    with pytest.raises(SchemaError):
        cut_runs(Cursor(data[: max(0, len(data) - cut)]), FLEXIBLE, {})


@pytest.mark.parametrize(
    "odd",
    [_row(1, 7, metadata="x"), _row(1, 7, metadata=None), _row(1, -1, error=3)],
    ids=["metadata", "null metadata", "error"],
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_row_that_is_not_plain_makes_its_run_go_through_the_table(odd: Struct, place: int) -> None:
    rows = [_row(5, 50), _row(6, 60)]
    rows.insert(place, odd)
    runs, _ = _cut({"t": rows})
    assert [run.fixed for run in runs] == [False]
    commits = decode(runs[0])
    assert (5, 50, None, "") in commits
    assert (6, 60, None, "") in commits


def test_versions_without_compact_types_go_through_the_table() -> None:
    runs, _ = _cut({"t": [_row(0, 5), _row(1, 6)]}, PLAIN)
    assert [run.fixed for run in runs] == [False]
    assert decode(runs[0]) == [(0, 5, None, ""), (1, 6, None, "")]


def test_each_topic_is_a_run_of_its_own_kind() -> None:
    runs, _ = _cut({"plain": [_row(0, 5)], "noted": [_row(0, 6, metadata="x")], "empty": []})
    assert [(run.topic, run.rows, run.fixed) for run in runs] == [
        ("plain", 1, True),
        ("noted", 1, False),
        ("empty", 0, True),
    ]
    assert [decode(run) for run in runs] == [[(0, 5, None, "")], [(0, 6, None, "x")], []]


def test_bytes_that_happen_to_look_like_a_plain_tail_do_not_mislead() -> None:
    # Partition, offset and epoch full of the four bytes that end a plain row.
    looks_so = _row(0x01000000, 0x0100000001000000, epoch=0x01000000)
    runs, _ = _cut({"t": [looks_so, looks_so]})
    assert decode(runs[0]) == [(16777216, 72057594054705152, 16777216, "")] * 2


def test_rows_come_in_the_order_of_their_partitions() -> None:
    runs, _ = _cut({"plain": [_row(2, 5), _row(0, 6)], "noted": [_row(10, 7, metadata="x"), _row(9, 8)]})
    assert [[commit[0] for commit in decode(run)] for run in runs] == [[0, 2], [9, 10]]


def test_names_of_topics_are_kept_once() -> None:
    names: dict[str, str] = {}
    data = _encoded([{"name": "topic-name", "partitions": []}], FLEXIBLE)
    first, _ = cut_runs(Cursor(data), FLEXIBLE, names)
    second, _ = cut_runs(Cursor(data), FLEXIBLE, names)
    assert first[0].topic is second[0].topic


MIXED = {
    "a": [_row(0, 5), _row(1, -1, error=29), _row(2, -1)],
    "b": [_row(0, 7, epoch=3, metadata="by hand")],
}


def test_offsets_of_a_group_are_a_mapping_from_partitions() -> None:
    offsets = _offsets(MIXED)
    assert len(offsets) == 3
    assert list(offsets) == [TopicPartition("a", 0), TopicPartition("a", 2), TopicPartition("b", 0)]
    assert offsets[TopicPartition("a", 0)] == CommittedOffset(5, None, "")
    assert offsets[TopicPartition("a", 2)] is None
    assert offsets[TopicPartition("b", 0)] == CommittedOffset(7, 3, "by hand")
    assert dict(offsets.items()) == dict(offsets.rows())


def test_a_partition_that_was_refused_or_never_asked_for_is_not_in_the_mapping() -> None:
    offsets = _offsets(MIXED)
    assert TopicPartition("a", 1) not in offsets
    assert TopicPartition("c", 0) not in offsets
    with pytest.raises(KeyError):
        offsets[TopicPartition("a", 1)]
    assert offsets.get(TopicPartition("a", 1)) is None


def test_refused_partitions_become_failures_of_their_group() -> None:
    offsets = _offsets(MIXED)
    assert offsets.refused == {TopicPartition("a", 1): 29}
    assert [(failure.group, failure.topic, failure.partition, failure.name) for failure in offsets.failures("g")] == [
        ("g", "a", 1, "TOPIC_AUTHORIZATION_FAILED")
    ]


def test_partitions_are_told_by_topic_refused_ones_included() -> None:
    assert list(_offsets(MIXED).partitions()) == [("a", [0, 1, 2]), ("b", [0])]
    assert list(_offsets({"t": [_row(3, 5), _row(1, 5)]}).partitions()) == [("t", [3, 1])]


@pytest.mark.parametrize(
    ("topics", "has_commits"),
    [({}, False), ({"t": [_row(0, -1)]}, False), ({"t": [_row(0, 0)]}, True), ({"t": [_row(0, 5, error=3)]}, False)],
)
def test_a_group_has_commits_when_one_partition_has(topics: dict[str, list[Struct]], *, has_commits: bool) -> None:
    assert _offsets(topics).has_commits() is has_commits


def test_offsets_show_what_they_hold() -> None:
    assert repr(_offsets({"t": [_row(0, -1)]})) == "GroupOffsets({TopicPartition(topic='t', partition=0): None})"
    assert dict(GroupOffsets()) == {}
