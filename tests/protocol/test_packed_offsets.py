"""Rows of an OffsetFetch response: fast path and schema give the same commits; offsets of a group are a mapping."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_groups.commits import PartitionCommit
from kafka_groups.model import CommittedOffset, Failure, GroupOffsets, TopicPartition
from kafka_groups.protocol import Array, Cursor, Field, SchemaError, Struct, compile_writer
from kafka_groups.protocol.errors import broker_error
from kafka_groups.protocol.messages.offset_fetch import OFFSET_FETCH, TOPIC
from kafka_groups.protocol.packed_offsets import PackedPartitions, PackedTopics, read_packed_topics

STABLE = settings(derandomize=True, deadline=None, max_examples=100, database=None)
FLEXIBLE = 9
PLAIN = 5


def _encoded(topics: list[Struct], version: int) -> bytes:
    """Return an array of topics as a response has it, and two bytes that follow."""
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


def _read(topics: dict[str, list[Struct]], version: int = FLEXIBLE) -> tuple[PackedTopics, dict[TopicPartition, int]]:
    data = _encoded([{"name": name, "partitions": rows} for name, rows in topics.items()], version)
    cursor = Cursor(data)
    packed, refused = read_packed_topics(cursor, version, {})
    assert data[cursor.position :] == b"\xaa\xbb"
    return packed, refused


def _offsets(topics: dict[str, list[Struct]], version: int = FLEXIBLE) -> GroupOffsets:
    packed, refused = _read(topics, version)
    return GroupOffsets(packed, {key: Failure.of(broker_error(code), group="g") for key, code in refused.items()})


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
def test_rows_of_fixed_size_are_recognised_and_decoded_as_by_the_schema(rows: list[Struct]) -> None:
    ((topic, packed),), refused = _read({"t": rows})
    assert (topic, packed.fixed, len(packed), refused) == ("t", True, len(rows), {})
    by_schema = PackedPartitions(packed._data, version=FLEXIBLE, length=len(rows), fixed=False)
    assert list(packed) == list(by_schema)
    assert packed.partitions() == by_schema.partitions()
    assert packed.offsets() == by_schema.offsets()
    columns = zip(packed.partitions(), packed.offsets(), strict=True)
    assert Counter(columns) == Counter((partition, offset) for partition, offset, _, _ in packed)


@STABLE
@given(rows=ANY_ROWS)
@pytest.mark.parametrize("version", [PLAIN, FLEXIBLE])
def test_rows_of_any_kind_are_read_as_they_were_written(version: int, rows: list[Struct]) -> None:
    offsets = _offsets({"t": rows}, version)
    written = {
        TopicPartition("t", row["partition_index"]): (row["committed_offset"], row["metadata"] or "")
        for row in rows
        if row["error_code"] == 0 and row["committed_offset"] >= 0
    }
    read = {key: (commit.offset, commit.metadata) for key, commit in offsets.rows() if commit is not None}
    assert read == written
    errors = {TopicPartition("t", row["partition_index"]): row["error_code"] for row in rows if row["error_code"]}
    assert {key: failure.code for key, failure in offsets.failed.items()} == errors
    assert len(offsets) == len(list(offsets))


@STABLE
@given(rows=ANY_ROWS.filter(bool), cut=st.integers(1, 400))
def test_a_truncated_array_is_an_error_and_never_rows(rows: list[Struct], cut: int) -> None:
    data = _encoded([{"name": "t", "partitions": rows}], FLEXIBLE)[:-2]
    with pytest.raises(SchemaError):
        read_packed_topics(Cursor(data[: max(0, len(data) - cut)]), FLEXIBLE, {})


@pytest.mark.parametrize(
    "other",
    [_row(1, 7, metadata="x"), _row(1, 7, metadata=None), _row(1, -1, error=3)],
    ids=["metadata", "null metadata", "error"],
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_row_of_another_size_makes_the_schema_decode_its_topic(other: Struct, place: int) -> None:
    rows = [_row(5, 50), _row(6, 60)]
    rows.insert(place, other)
    ((_, commits),), _ = _read({"t": rows})
    assert not commits.fixed
    assert (5, 50, None, "") in commits
    assert (6, 60, None, "") in commits


def test_versions_without_compact_types_are_decoded_by_the_schema() -> None:
    ((_, commits),), _ = _read({"t": [_row(0, 5), _row(1, 6)]}, PLAIN)
    assert not commits.fixed
    assert list(commits) == [(0, 5, None, ""), (1, 6, None, "")]


def test_each_topic_is_packed_on_its_own() -> None:
    packed, _ = _read({"fixed": [_row(0, 5)], "metadata": [_row(0, 6, metadata="x")], "empty": []})
    assert [(topic, commits.fixed) for topic, commits in packed] == [
        ("fixed", True),
        ("metadata", False),
        ("empty", True),
    ]
    assert [list(commits) for _, commits in packed] == [[(0, 5, None, "")], [(0, 6, None, "x")], []]


def test_values_that_equal_the_end_of_a_fixed_row_are_read_as_values() -> None:
    # Partition, offset and epoch full of the four bytes that end a row of fixed size.
    similar = _row(0x01000000, 0x0100000001000000, epoch=0x01000000)
    ((_, commits),), _ = _read({"t": [similar, similar]})
    assert list(commits) == [(16777216, 72057594054705152, 16777216, "")] * 2


def test_commits_are_ordered_by_partition() -> None:
    packed, _ = _read({"fixed": [_row(2, 5), _row(0, 6)], "metadata": [_row(10, 7, metadata="x"), _row(9, 8)]})
    assert [[commit[0] for commit in commits] for _, commits in packed] == [[0, 2], [9, 10]]


def test_equal_topic_names_share_one_string() -> None:
    names: dict[str, str] = {}
    data = _encoded([{"name": "topic-name", "partitions": []}], FLEXIBLE)
    ((first, _),), _ = read_packed_topics(Cursor(data), FLEXIBLE, names)
    ((second, _),), _ = read_packed_topics(Cursor(data), FLEXIBLE, names)
    assert first is second


@pytest.mark.parametrize("metadata", ["", "x"], ids=["fixed", "by schema"])
def test_packed_partitions_are_a_sequence_of_plain_commits(metadata: str) -> None:
    ((_, commits),), _ = _read({"t": [_row(2, -1, metadata=metadata), _row(0, 5, epoch=3, metadata=metadata)]})
    plain = [(0, 5, 3, metadata), (2, None, None, None)]
    assert commits == plain
    assert plain == commits
    assert commits == tuple(plain)
    assert commits != plain[:1]
    assert commits != 2
    assert (commits[0], commits[-1], commits[:1]) == (plain[0], plain[-1], plain[:1])
    assert list(reversed(commits)) == plain[::-1]
    assert (plain[0] in commits, len(commits)) == (True, 2)
    assert repr(commits) == f"PackedPartitions({plain!r})"
    with pytest.raises(IndexError):
        commits[2]
    with pytest.raises(TypeError):
        hash(commits)


def test_partitions_with_an_error_code_are_not_among_the_commits() -> None:
    ((_, commits),), refused = _read({"t": [_row(1, 5, error=29), _row(0, 7)]})
    assert (list(commits), len(commits), commits.partitions()) == ([(0, 7, None, "")], 1, (0,))
    assert refused == {TopicPartition("t", 1): 29}


def test_packed_partitions_take_twenty_bytes_a_row() -> None:
    ((_, commits),), _ = _read({"t": [_row(partition, 5) for partition in range(1000)]})
    assert len(commits._data) == 20_000
    assert not hasattr(commits, "__dict__")


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


def test_a_partition_that_was_refused_or_not_requested_is_not_in_the_mapping() -> None:
    offsets = _offsets(MIXED)
    assert TopicPartition("a", 1) not in offsets
    assert TopicPartition("c", 0) not in offsets
    with pytest.raises(KeyError):
        offsets[TopicPartition("a", 1)]
    assert offsets.get(TopicPartition("a", 1)) is None


def test_partitions_of_a_topic_include_refused_ones() -> None:
    assert list(_offsets(MIXED).partitions()) == [("a", (0, 2, 1)), ("b", (0,))]
    assert list(_offsets({"t": [_row(3, 5), _row(1, 5)]}).partitions()) == [("t", (3, 1))]


@pytest.mark.parametrize(
    ("topics", "has_commits"),
    [({}, False), ({"t": [_row(0, -1)]}, False), ({"t": [_row(0, 0)]}, True), ({"t": [_row(0, 5, error=3)]}, False)],
)
def test_a_group_has_commits_when_one_partition_has(topics: dict[str, list[Struct]], *, has_commits: bool) -> None:
    assert _offsets(topics).has_commits() is has_commits


def test_the_repr_of_offsets_has_all_commits() -> None:
    assert (
        repr(_offsets({"t": [_row(0, -1)]}))
        == "GroupOffsets({TopicPartition(topic='t', partition=0): None}, failed={})"
    )
    assert dict(GroupOffsets()) == {}


class CountedPartitions(PackedPartitions):
    """Partitions that count how often their rows are decoded."""

    decoded = 0

    def _decode(self) -> list[PartitionCommit]:
        self.decoded += 1
        return super()._decode()


def counted(rows: int) -> CountedPartitions:
    ((_, packed),), _ = _read({"t": [_row(partition, 5) for partition in range(rows)]})
    return CountedPartitions(packed._data, version=FLEXIBLE, length=rows, fixed=True)


def test_all_rows_are_decoded_once_for_all_indexes() -> None:
    commits = counted(50)
    assert [commits[at][0] for at in range(50)] == list(range(50))
    assert commits.index((49, 5, None, "")) == 49
    assert commits.decoded == 1


def test_all_rows_are_decoded_at_most_twice_for_all_keys_of_the_mapping() -> None:
    commits = counted(50)
    offsets = GroupOffsets([("t", commits)])
    assert dict(offsets) == {TopicPartition("t", at): CommittedOffset(5, None, "") for at in range(50)}
    assert all(TopicPartition("t", at) in offsets for at in range(50))
    assert commits.decoded == 2
