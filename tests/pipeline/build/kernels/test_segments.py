"""Operations on segments, where numbers of segments and values are large."""

from __future__ import annotations

import numpy as np
import pytest

from kafka_groups.pipeline.build.kernels.segments import running_maximum


@pytest.mark.parametrize("segments", [0, 1, 1 << 20, (1 << 21) + 4])
def test_a_running_maximum_holds_for_any_number_of_segments(segments: int) -> None:
    values = np.tile(np.array([5, (1 << 42) - 1, 7]), segments)
    start_index = np.repeat(np.arange(segments) * 3, 3)
    assert np.array_equal(
        running_maximum(values, start_index), np.tile(np.array([5, (1 << 42) - 1, (1 << 42) - 1]), segments)
    )
