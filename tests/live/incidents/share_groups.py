"""What share groups of incidents need before their members join."""

from __future__ import annotations

from tests.live.groups.conditions import wait_until
from tests.live.groups.group_configs import configure_group
from tests.live.groups.raw_descriptions import describe_share_group
from tests.live.incidents.stage import Stage


def read_from_the_begin(stage: Stage) -> None:
    """Let the group begin with the earliest record, and lock records for longer than incidents take."""
    settings = {"share.auto.offset.reset": "earliest", "share.record.lock.duration.ms": "600000"}
    configure_group(stage.bootstrap, stage.group, settings)


def await_members(stage: Stage, members: int) -> None:
    """Wait until the group has this number of members, and each of them has partitions."""

    def is_assigned() -> bool:
        found = describe_share_group(stage.bootstrap, stage.group)
        return len(found.members) == members and all(each.assignment.topic_partitions for each in found.members)

    wait_until(is_assigned, lambda: f"{stage.group} does not have {members} members with partitions")
