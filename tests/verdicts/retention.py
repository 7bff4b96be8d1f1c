"""Retention of simulated logs: where the log start is at each second. It moves by whole segments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from kafka_groups.pipeline.frames.arrays import Floats, Ints

# log.retention.check.interval.ms
_CHECK_S: Final = 300


@dataclass(frozen=True)
class Retention:
    """How long a log keeps records, and how long a segment is, in seconds.

    `is_by_size`: the log keeps, and a segment has, the records of this time at the mean rate.
    """

    kept_s: float
    segment_s: float
    is_by_size: bool = False

    @property
    def name(self) -> str:
        """Return the name of the retention."""
        return f"{self.kept_s / 3_600:g} h in segments of {self.segment_s / 60:g} min{', by size' * self.is_by_size}"

    def log_starts(self, log_end: Floats) -> Ints:
        """Return the log start at each second; `log_end` is the log end at each second.

        A broker deletes a segment at its next check after the segment's last record is too old, or after the log is too
        large without it.
        """
        second = np.arange(len(log_end))
        checked = second // _CHECK_S * _CHECK_S
        if not self.is_by_size:
            deleted_until_s = (np.maximum(0, checked - self.kept_s) // self.segment_s * self.segment_s).astype(np.int64)
            return np.floor(np.where(deleted_until_s > 0, log_end[deleted_until_s], 0)).astype(np.int64)
        rate = log_end[-1] / len(log_end)
        segment = max(1.0, np.floor(self.segment_s * rate))
        kept = self.kept_s * rate
        starts: Ints = (np.maximum(0, log_end[checked] - kept) // segment * segment).astype(np.int64)
        return starts


RETENTIONS: Final = (
    Retention(7_200, 600),
    Retention(7_200, 2_400),
    Retention(10_800, 3_600),
    Retention(7_200, 900, is_by_size=True),
)
