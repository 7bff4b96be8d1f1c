"""What the pipeline's bench concludes from its numbers."""

from __future__ import annotations

from .__main__ import describe_growth
from .comparing import spread


def test_the_slope_leaves_out_what_every_run_costs() -> None:
    text = describe_growth({500_000: 3.0, 1_000_000: 4.0, 4_000_000: 10.0})

    assert text == "growth: 0.5 M 3.0 s, 1 M 4.0 s, 4 M 10.0 s; by that slope a day of 432 million commits takes 14 min"


def test_a_spread_is_the_median_between_the_extremes() -> None:
    assert spread([3.0, 1.0, 2.0]) == "2.00 s (1.00 to 3.00)"
