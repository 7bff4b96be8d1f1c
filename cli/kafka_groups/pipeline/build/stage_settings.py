"""The settings of the stages of a build."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kafka_groups.verdicts import Rules


@dataclass(frozen=True, slots=True)
class StageSettings:
    """The settings of a build. Days are days since 1970."""

    days: Sequence[int]  # the days to build, ascending
    rules: Rules
    lookback_days: int  # for how many days a partition or a key without facts keeps its state
    # Days before one of `days`, none of them in it: a rebalance that ends on that one may have begun there.
    days_before: Sequence[int] = ()
