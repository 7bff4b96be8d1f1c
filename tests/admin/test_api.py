"""Deadlines: points in time that calls share, and renew."""

from __future__ import annotations

from kafka_groups.admin import Deadline


def test_a_share_of_a_deadline_leaves_the_remaining_time_to_later_calls() -> None:
    now = 100.0
    deadline = Deadline.after(8.0, lambda: now)
    assert (deadline.at, deadline.share(0.5).at, deadline.share(1.0).at) == (108.0, 104.0, 108.0)
    now = 106.0
    assert (deadline.share(0.5).at, deadline.renew().at, deadline.renew().timeout_s) == (107.0, 114.0, 8.0)


def test_a_renewed_deadline_begins_when_it_is_renewed() -> None:
    now = 10.0
    deadline = Deadline.after(5.0, lambda: now)
    now = 30.0
    renewed = deadline.renew()
    assert (renewed.at, renewed.end, renewed.timeout_s) == (35.0, 35.0, 5.0)
    assert renewed is not deadline
