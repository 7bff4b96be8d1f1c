"""One thing that was looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

OK: Final = "ok"
WARNING: Final = "warning"
FAILED: Final = "failed"


class Check(NamedTuple):
    """What was looked at, how it is (ok, warning, failed), and what was found or helps."""

    check: str
    status: str
    detail: str


class Cluster(NamedTuple):
    """A cluster that was reached, and where the partitions of its `__consumer_offsets` end, as far as it tells."""

    id: str
    ends: Mapping[int, int]
