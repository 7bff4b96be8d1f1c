"""A row of bars for a series of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

BLOCKS: Final = "▁▂▃▄▅▆▇█"
DIGITS: Final = "01234567"
GAPS: Final = {BLOCKS: "·", DIGITS: "."}


def draw_sparkline(peaks: Sequence[int | None], *, blocks: str = BLOCKS) -> str | None:
    """Return a block for each peak, on a scale from zero to the highest of them; a dot where there is none.

    Only zero (and less) has the lowest block: a small lag beside a huge one is still seen. None without any peak.
    """
    known = [peak for peak in peaks if peak is not None]
    if not known:
        return None
    top = max(known)
    gap = GAPS[blocks]
    return "".join(gap if peak is None else blocks[level_of(peak, top, len(blocks) - 1)] for peak in peaks)


def level_of(peak: int, top: int, levels: int) -> int:
    """Return 0 for a peak that is not above zero, else 1 to `levels`, the last one for the top."""
    return -(-peak * levels // top) if peak > 0 else 0
