"""Numbers as bytes and back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from kafka_groups.pipeline.build.arrays import pack, unpack


def test_scalars_and_lists_of_each_owner_come_back() -> None:
    scalars = [np.array([1, 2, -(2**63)]), np.array([4, 5, 6])]
    owners = [np.array([0, 0, 2]), np.array([1])]
    columns = [[np.array([10, 11, 12]), np.array([20, 21, 22])], [np.array([7])]]
    packed = pack(scalars, list(zip(owners, columns, strict=True)), 3)
    assert packed.type == pa.binary()
    assert [len(value.as_py()) // 8 for value in packed] == [8, 5, 6]
    for column in (packed, pa.chunked_array([packed.slice(0, 1), packed.slice(1)]), pa.concat_arrays([packed])):
        found, lists = unpack(column, 2, (2, 1))
        assert [each.tolist() for each in found] == [each.tolist() for each in scalars]
        assert [(owner.tolist(), [each.tolist() for each in values]) for owner, values in lists] == [
            ([0, 0, 2], [[10, 11, 12], [20, 21, 22]]),
            ([1], [[7]]),
        ]


def test_a_part_of_a_column_is_unpacked_alone() -> None:
    packed = pack([np.array([1, 2, 3])], [(np.array([0, 1, 1]), [np.array([5, 6, 7])])], 3)
    scalars, lists = unpack(packed.slice(1, 2), 1, (1,))
    assert scalars[0].tolist() == [2, 3]
    assert (lists[0][0].tolist(), lists[0][1][0].tolist()) == ([0, 0], [6, 7])


def test_no_owner_is_no_value() -> None:
    nothing = np.zeros(0, np.int64)
    packed = pack([nothing], [(nothing, [nothing, nothing])], 0)
    assert len(packed) == 0
    assert unpack(packed, 1, (2,))[1][0][0].tolist() == []
