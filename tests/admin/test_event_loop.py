"""How long the event loop goes on at the end of a share of a deadline."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_groups.admin import Deadline
from kafka_groups.admin.event_loop import _extend


class _Driver:
    def __init__(self, *completed: str) -> None:
        self.completed = completed


@pytest.mark.parametrize(
    ("now", "completed", "until"),
    [(4.0, (), 7.0), (4.0, ("group",), 4.0), (9.9, (), 10.0), (9.75, (), 9.875), (9.5, ("group",), 9.5)],
)
def test_a_share_without_a_result_goes_on_for_half_of_the_time_that_is_left(
    now: float, completed: tuple[str, ...], until: float
) -> None:
    drivers: Any = [_Driver(), _Driver(*completed)]
    assert _extend(now, Deadline(now, 10.0, 10.0), drivers) == until
