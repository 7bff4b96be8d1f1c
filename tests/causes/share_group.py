"""Evidence for tests of causes of share groups."""

from __future__ import annotations

from collections.abc import Sequence

from tests.causes.observed_group import ObservedGroup, description, member


def share_group(
    *,
    starts: Sequence[int | None],
    ends: Sequence[int | None],
    lags: Sequence[int | None],
    members: Sequence[int] = (1,) * 6,
) -> ObservedGroup:
    """Return a share group with one partition; `members` has their number at each poll."""
    groups = [
        description(
            *(member(f"app{each}", {"orders": [0]}) for each in range(number)), type="Share", protocol_type="share"
        )
        for number in members
    ]
    return ObservedGroup(*groups).partition("orders", 0, committed=starts, ends=ends, lag=lags)
