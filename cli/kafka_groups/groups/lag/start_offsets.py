"""Verdicts on share groups. Their progress is no offset: some of the records beyond a start offset are delivered.

So no change of offset is known, and most rules need changes. Three do not: an unknown lag, lost records, and no lag.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kafka_groups.model import OffsetRow
from kafka_groups.verdicts import (
    OUT_OF_ORDER,
    RULES,
    VERDICT_OF,
    Evidence,
    Limits,
    Rule,
    Verdict,
    judge,
    judge_group,
)

_WITHOUT_MOVES: Final = frozenset({"lag", "lost_records"})
# The rules of the table that need nothing but a lag and lost records, and the rule for all other share groups.
_RULES: Final = (
    *(rule for rule in RULES if rule.comparisons and {each.name for each in rule.comparisons} <= _WITHOUT_MOVES),
    Rule(OUT_OF_ORDER, VERDICT_OF[OUT_OF_ORDER], ()),
)


def judge_start_offsets(rows: Iterable[OffsetRow], limits: Limits) -> Verdict:
    """Return the verdict on a share group, from the rows of its partitions; since when it holds is not known."""
    rules = (judge(_evidence(row), limits, _RULES) for row in rows)
    return judge_group(Verdict(VERDICT_OF[rule], rule) for rule in rules)


def _evidence(row: OffsetRow) -> Evidence:
    lost_records = None
    if row.committed_offset is not None and row.log_start_offset is not None:
        lost_records = max(0, row.log_start_offset - row.committed_offset)
    return Evidence(
        lag=row.lag,
        members=None,
        offset_changes=0,
        waiting_ms=0,
        silent_ms=0,
        usual_wait_ms=0,
        lost_records=lost_records,
    )
