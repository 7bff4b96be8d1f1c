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

from tests.pipeline.proof.differences import Expected

EXPECTED: Final[tuple[Expected, ...]] = ()
