"""The qualities of time lags: their certainty. `kernels/time_lag.py` defines them.

Tables and documents have these names, and frames have their places in QUALITIES.
"""

from __future__ import annotations

from typing import Final

QUALITIES: Final = ("exact", "interpolated", "lower_bound", "data_loss", "unknown")
# The most certain one first: several time lags together have the least certain one of their qualities.
BY_CERTAINTY: Final = ("exact", "interpolated", "lower_bound", "unknown", "data_loss")
