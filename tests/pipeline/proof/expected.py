"""The differences from the old commit that are expected, because a defect of the old code was removed.

An entry names the defect, the table, the columns, and, as a function of the Difference, the rows that may differ:

    Expected(
        defect=36,
        table="lag_history",
        columns=frozenset({"messages_consumed", "consume_rate"}),
        why="The commits of a partition are in the order of their offsets, also if a broker's clock was ahead.",
        applies=lambda difference: difference.seed in {17, 42},
    )
"""

from __future__ import annotations

from typing import Final

from tests.pipeline.proof.differences import Difference, Expected
from tests.pipeline.proof.trees import REPORT_REBALANCES


def _is_now_unknown(difference: Difference) -> bool:
    """Return whether the new row has null in each column that differs."""
    return difference.new is not None and all(difference.new[name] is None for name in difference.columns)


EXPECTED: Final = (
    Expected(
        defect=44,
        table="rebalances",
        columns=frozenset({"joined", "left", "members_before"}),
        why="The members before a generation are unknown if compaction removed the generation before it.",
        applies=_is_now_unknown,
    ),
    Expected(
        defect=44,
        table=REPORT_REBALANCES,
        columns=frozenset({"joined", "left"}),
        why="The report has null for them, too.",
        applies=_is_now_unknown,
    ),
)
