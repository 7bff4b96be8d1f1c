"""What share groups of incidents need before their members join."""

from __future__ import annotations

from tests.live.groups.group_configs import configure_group
from tests.live.incidents.stage import Stage


def read_from_the_begin(stage: Stage) -> None:
    """Let the group begin with the earliest record, and lock records for a minute."""
    settings = {"share.auto.offset.reset": "earliest", "share.record.lock.duration.ms": "60000"}
    configure_group(stage.bootstrap, stage.group, settings)
