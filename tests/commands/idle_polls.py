"""A history in which a group has not moved for some days."""

from __future__ import annotations

import time
from pathlib import Path

from kafka_groups.groups.lag.polls import Polls
from kafka_groups.groups.lag.polls_file import PollsScope, format_file, format_section
from kafka_groups.model import OffsetRow
from tests.fakes.fake_admin import CLUSTER_ID

COMMITS = {("t", 0): 3, ("u", 0): 4}
_DAY_MS = 86_400_000


def write_history(path: Path, days: float, cluster_id: str = CLUSTER_ID) -> str:
    """Write a history that has seen the commits of the group `idle` so many days ago, and return its path."""
    history = Polls()
    rows = [OffsetRow("idle", *key, None, at, 100, 100 - at, None, None, None, 0, "") for key, at in COMMITS.items()]
    history.observe(rows, round(time.time() * 1000 - days * _DAY_MS))
    path.write_text(format_file(PollsScope("uncommitted"), {cluster_id: format_section(history, cluster_id)}))
    return str(path)
