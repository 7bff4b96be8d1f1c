"""Rows of frames as binary values and back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from kafka_groups.pipeline.build.packing import (
    ListOfRows,
    columns_of,
    fingerprint_frames,
    list_of,
    list_of_singles,
    pack,
    unpack,
)
from kafka_groups.pipeline.frames.arrays import NULL, Array, Flags, Floats, Ints
from kafka_groups.pipeline.frames.batches import make_batch
from kafka_groups.pipeline.frames.columns import BOOLEAN, FLOAT64, INT64, column
from kafka_groups.pipeline.frames.frame import ColumnError, Frame, frame


@frame
class Singles(Frame):
    """Row i belongs to owner i."""

    count: Ints = column(INT64, "a number")
    share: Floats = column(FLOAT64, "a share")


@frame
class Events(Frame):
    """Some rows for each owner."""

    owner: Ints = column(INT64, "the owner")
    at_us: Ints = column(INT64, "a time")
    is_last: Flags = column(BOOLEAN, "a flag")


SINGLES = Singles(count=np.array([1, 2, NULL]), share=np.array([0.5, np.nan, -1.0]))
EVENTS = Events(owner=np.array([0, 0, 2]), at_us=np.array([10, 11, 12]), is_last=np.array([False, True, True]))
DECLARATIONS = [columns_of(Singles), columns_of(Events, "owner")]


def packed() -> pa.Array:
    return pack([list_of_singles(SINGLES), list_of(EVENTS, "owner")], 3)


def chunked(column: pa.Array) -> pa.ChunkedArray:
    return pa.chunked_array([column.slice(0, 1), column.slice(1)])


@pytest.mark.parametrize("values", [packed(), chunked(packed()), pa.concat_arrays([packed()])])
def test_the_lists_of_each_value_come_back_with_their_types(values: pa.Array) -> None:
    assert values.type == pa.binary()
    singles, events = unpack(values, DECLARATIONS)
    assert singles.owner.tolist() == [0, 1, 2]
    assert singles.columns["count"].tolist() == SINGLES.count.tolist()
    assert np.array_equal(singles.columns["share"], SINGLES.share, equal_nan=True)
    assert events.owner.tolist() == [0, 0, 2]
    assert events.columns["at_us"].tolist() == [10, 11, 12]
    assert events.columns["is_last"].tolist() == [False, True, True]
    assert events.columns["is_last"].dtype == np.bool_


@frame
class Shifted(Frame):
    """The columns of Singles, declared in another order."""

    share: Floats = column(FLOAT64, "a share")
    count: Ints = column(INT64, "a number")


@frame
class Renamed(Frame):
    """A column with another name."""

    count: Ints = column(INT64, "a number")
    part: Floats = column(FLOAT64, "a share")


@frame
class Retyped(Frame):
    """A column with another type."""

    count: Ints = column(INT64, "a number")
    share: Ints = column(INT64, "a share")


@frame
class Narrowed(Frame):
    """One column less."""

    count: Ints = column(INT64, "a number")


def test_the_order_of_columns_means_nothing_to_packed_rows() -> None:
    (shifted,) = unpack(pack([list_of_singles(SINGLES)], 3), [columns_of(Shifted)])
    assert shifted.columns["count"].tolist() == SINGLES.count.tolist()
    assert np.array_equal(shifted.columns["share"], SINGLES.share, equal_nan=True)


@pytest.mark.parametrize("other", [Renamed, Retyped, Narrowed])
def test_rows_with_other_names_or_types_are_refused_with_the_names(other: type[Frame]) -> None:
    with pytest.raises(ColumnError, match=f"do not have the columns {', '.join(other.names())}:"):
        unpack(pack([list_of_singles(SINGLES)], 3), [columns_of(other)])


def test_one_value_with_other_columns_among_many_is_refused() -> None:
    others = pack([ListOfRows(owner=np.array([0]), columns={"count": np.array([1]), "part": np.array([0.5])})], 1)
    values = pa.concat_arrays([pack([list_of_singles(SINGLES)], 3), others])
    with pytest.raises(ColumnError, match="count, share"):
        unpack(values, [columns_of(Singles)])


def test_a_fingerprint_of_frames_depends_on_names_and_types_only() -> None:
    assert fingerprint_frames([Singles, Events]) == fingerprint_frames([Events, Singles])
    assert len({fingerprint_frames([frame]) for frame in (Singles, Events, Renamed, Retyped, Narrowed)}) == 5


def test_a_value_has_a_count_for_each_list_and_a_number_for_each_cell() -> None:
    assert [len(value.as_py()) // 8 for value in packed()] == [2 + 2 + 4, 2 + 2, 2 + 2 + 2]


def test_a_part_of_a_column_is_unpacked_alone() -> None:
    singles, events = unpack(packed().slice(1, 2), DECLARATIONS)
    assert singles.columns["count"].tolist() == [2, NULL]
    assert (events.owner.tolist(), events.columns["at_us"].tolist()) == ([1], [12])


def test_without_values_there_are_no_rows() -> None:
    nothing = np.zeros(0, np.int64)
    column_without_values = pack([ListOfRows(owner=nothing, columns={"count": nothing, "share": nothing})], 0)
    assert len(column_without_values) == 0
    (singles,) = unpack(column_without_values, [columns_of(Singles)])
    assert singles.columns["count"].tolist() == []


def test_a_frame_with_columns_of_two_lengths_fails_with_the_name() -> None:
    with pytest.raises(ColumnError, match="Singles has 2 rows, and its column 'share' has 1"):
        Singles(count=np.array([1, 2]), share=np.array([0.5]))


def test_a_frame_that_lacks_a_column_fails_with_the_name() -> None:
    with pytest.raises(ColumnError, match="Singles needs the column 'share', and the rows have count"):
        Singles.from_batch(pa.record_batch({"count": [1]}))
    with pytest.raises(ColumnError, match="Singles needs the columns share, and is given count"):
        Singles(count=np.array([1]))  # type: ignore[call-arg]  # what the test is about


def test_a_frame_with_a_column_that_it_does_not_declare_fails_with_the_name() -> None:
    with pytest.raises(ColumnError, match="Singles does not declare the columns part"):
        Singles(count=np.array([1]), share=np.array([0.5]), part=np.array([1]))  # type: ignore[call-arg]  # see above


@pytest.mark.parametrize("values", [np.array(["1", "2"]), np.array([1.0, 2.0]), np.array([1, 2], np.int32)])
def test_a_frame_with_a_column_of_another_type_fails_with_both_types(values: Array) -> None:
    with pytest.raises(ColumnError, match=f"the column 'count' of Singles has int64, and is given {values.dtype}"):
        Singles(count=values, share=np.array([0.5, 1.0]))


@pytest.mark.parametrize("fill_null", [True, False])
def test_a_batch_with_a_misspelt_column_fails_with_the_name(fill_null: bool) -> None:
    with pytest.raises(ColumnError, match=r"does not declare the columns shares$"):
        make_batch(Singles, {"count": [1], "share": [0.5], "shares": [0.5]}, fill_null=fill_null)
