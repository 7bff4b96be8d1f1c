"""The settings of the stages of a build."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kafka_groups.verdicts import Limits


@dataclass(frozen=True, slots=True)
class StageSettings:
    """The settings of a build. Days are days since 1970.

    - `days` are the days to build, ascending; `limits` are those of verdicts.
    - `lookback_days` is how long a partition or a key without facts keeps its state.
    - `days_before` are days just before ranges of `days`: a rebalance that ends on a built day may have begun there.
    """

    days: Sequence[int]
    limits: Limits
    lookback_days: int
    days_before: Sequence[int] = ()
