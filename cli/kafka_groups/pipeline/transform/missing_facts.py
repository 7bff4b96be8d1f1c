"""What the facts lack, and what cannot be derived without it, in sentences."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date
from typing import Final

from kafka_groups.pipeline.coverage import behind, lacking
from kafka_groups.pipeline.schemas import GROUP_EVENTS, OFFSET_COMMITS, PARTITION_OFFSETS
from kafka_groups.pipeline.stale_groups import left_out
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.transform.fact_state import FactState

# Each with the facts of which any would do.
_SENTENCES: Final = (
    (
        "no commits were read from __consumer_offsets: commit rates are unknown, verdicts are derived from samples.",
        (OFFSET_COMMITS, "topic"),
    ),
    (
        # A group with commits and without a record of its own has had no rebalance.
        "no group records were read from __consumer_offsets: rebalances are unknown.",
        (GROUP_EVENTS, "topic"),
        (OFFSET_COMMITS, "topic"),
    ),
    (
        "no log end offsets were sampled or backfilled: lag, time lag, rates and verdicts are unknown.",
        (PARTITION_OFFSETS, "sample"),
        (PARTITION_OFFSETS, "backfill"),
    ),
    ("no group states were sampled: states of KIP-848 groups are unknown.", (GROUP_EVENTS, "sample")),
)


def describe_missing(
    storage: Storage, state: FactState, dates: Collection[date], lookback_days: int
) -> tuple[str, ...]:
    """Return sentences about each cluster that lacks facts, and about groups that have no row on `dates` any more."""
    reach = state.reach()
    found = [text for sentence, *facts in _SENTENCES for text in lacking(reach, sentence, *facts)]
    return (*found, *behind(reach), *left_out(storage, lookback_days, dates=dates))
