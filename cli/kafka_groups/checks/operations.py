"""What the commands can do with the operations that a user has on a group, a topic or the cluster.

The table is that of docs/security.md, "Rights".
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum
from typing import Final

from kafka_groups.acl_operations import AclOperation
from kafka_groups.checks.check import Status


class Resource(Enum):
    """A kind of resource that has ACLs."""

    CLUSTER = "cluster"
    GROUP = "group"
    TOPIC = "topic"


# What separates a command from what it needs the operation for, if it works without, too.
_TO: Final = " to "
# The commands that need an operation on a resource; the most common ones first.
NEEDS: Final[Mapping[Resource, Mapping[AclOperation, tuple[str, ...]]]] = {
    Resource.CLUSTER: {
        AclOperation.DESCRIBE: ("list of all groups",),
        AclOperation.DESCRIBE_CONFIGS: ("pipeline doctor",),
    },
    Resource.GROUP: {
        AclOperation.DESCRIBE: ("list", "describe", "offsets", "lag", "wait", "orphans"),
        AclOperation.READ: ("reset --execute", "undo --execute", "remove-members --execute"),
        AclOperation.DELETE: ("delete --execute", "delete-offsets --execute"),
    },
    Resource.TOPIC: {
        AclOperation.DESCRIBE: ("describe", "offsets", "lag", "wait", "orphans"),
        AclOperation.READ: ("lag --time", "reset --execute", "undo --execute", "delete-offsets --execute"),
        AclOperation.DESCRIBE_CONFIGS: (f"lag --time --watch{_TO}warn before records are lost",),
    },
}


def describe_operations(resource: Resource, operations: Collection[AclOperation]) -> tuple[Status, str]:
    """Return the operations that commands use, which commands work, and which need an operation that is missing.

    A missing operation is a warning: a user who only reads needs DESCRIBE alone.
    """
    needs = NEEDS[resource]
    held = [operation for operation in needs if operation in operations]
    missing = [operation for operation in needs if operation not in operations]
    names = ", ".join(operation.name for operation in held)
    if not missing:
        return Status.OK, f"{names}: all that the commands of this tool need"
    works = [command for operation in held for command in needs[operation]]
    parts = [f"{names}: {', '.join(works)}"] if held else []
    parts += [f"no {operation.name}, which {_join(needs[operation])}" for operation in missing]
    return Status.WARNING, "; ".join(parts)


def _join(commands: tuple[str, ...]) -> str:
    """Return the commands with their verb."""
    *first, last = commands
    if first:
        return f"{', '.join(first)} and {last} need"
    command, to, purpose = last.partition(_TO)
    return f"{command} needs{to}{purpose}"
