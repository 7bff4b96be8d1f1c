"""The qualities of time lags, which state how certain a time lag is. `kernels/time_lag.py` defines them.

Tables and documents have these names; frames have their indices in QUALITIES.
"""

from __future__ import annotations

from typing import Final

QUALITIES: Final = ("exact", "interpolated", "lower_bound", "data_loss", "unknown")
# The most certain quality comes first. A group has the least certain quality of its partitions.
BY_CERTAINTY: Final = ("exact", "interpolated", "lower_bound", "unknown", "data_loss")
