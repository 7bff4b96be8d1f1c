"""The programs that reset and delete groups, and the state of the cluster that each of them must leave."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kafka_groups import sandbox

from .programs import KAFKAS, KCL, OURS, Digest, Program, find_ours, read_lines
from .workload import PARTITIONS, RECORDS, TOPIC, create_groups, fetch_commits, group_name, list_groups

RESET: Final = "reset --all-groups --to-latest --execute"
DELETE: Final = "delete --match … --execute"
_NEW_OFFSET: Final = {OURS: 4, KAFKAS: 3}
# What a deletion prints is not checked, but what it leaves is.
_UNCHECKED: Final = Digest(rows=0, sums=())


@dataclass(frozen=True, kw_only=True)
class GroupChange:
    """A change of all groups: the programs that make it, what they print, and what they leave."""

    programs: Callable[[int], list[Program]]
    printed: Callable[[int], Digest]
    commits_left: Callable[[int], Digest]
    groups_left: Callable[[int], int]

    def prepare(self, bootstrap: str, groups: int) -> None:
        """Create the groups, or move their commits back."""
        create_groups(bootstrap, range(groups))

    def require_made(self, program: str, bootstrap: str, groups: int) -> None:
        """Raise RuntimeError unless the cluster is as the change leaves it, by requests that are not the product's."""
        names = list(map(group_name, range(groups)))
        commits, listed = fetch_commits(bootstrap, names), len(list_groups(bootstrap) & set(names))
        if (commits, listed) != (self.commits_left(groups), self.groups_left(groups)):
            expected = f"{self.groups_left(groups)} groups with {self.commits_left(groups)}"
            msg = f"{program} left {listed} groups with {commits}, not {expected}"
            raise RuntimeError(msg)


def programs_for_reset() -> list[Program]:
    """Return the programs that reset all groups to the log end."""
    selected = ("--all-groups", "--topic", TOPIC, "--to-latest", "--execute")
    return [
        Program(
            name=OURS,
            about="reset",
            command=lambda b: [find_ours(), "reset", *selected, "--yes", "-b", b],
            digest=lambda output: _digest_of_resets(output, _NEW_OFFSET[OURS]),
        ),
        Program(
            name=KAFKAS,
            about="--reset-offsets",
            command=lambda b: sandbox.groups_tool_command("--bootstrap-server", b, "--reset-offsets", *selected),
            digest=lambda output: _digest_of_resets(output, _NEW_OFFSET[KAFKAS]),
        ),
    ]


def programs_for_delete(groups: int) -> list[Program]:
    """Return the programs that delete all groups. kcl, which takes their names, is one of them if it is installed."""
    kcl = shutil.which(KCL)
    programs = [
        Program(
            name=OURS,
            about="delete",
            command=lambda b: [find_ours(), "delete", "--match", "bench-.*", "--execute", "--yes", "-b", b],
            digest=lambda _: _UNCHECKED,
        ),
        Program(
            name=KAFKAS,
            about="--delete --all-groups",
            command=lambda b: sandbox.groups_tool_command("--bootstrap-server", b, "--delete", "--all-groups"),
            digest=lambda _: _UNCHECKED,
        ),
    ]
    if kcl is not None:
        names = [group_name(number) for number in range(groups)]
        command = [kcl, "--no-config-file", "-B"]
        programs.append(
            Program(
                name=KCL,
                about="group delete",
                command=lambda b: [*command, b, "group", "delete", *names],
                digest=lambda _: _UNCHECKED,
            )
        )
    return programs


def expected_resets(groups: int) -> Digest:
    """Return the sums of commits that are all at the log end."""
    rows = groups * PARTITIONS
    return Digest(rows=rows, sums=(rows * RECORDS,))


CHANGES: Final = {
    RESET: GroupChange(
        programs=lambda _: programs_for_reset(),
        printed=expected_resets,
        commits_left=expected_resets,
        groups_left=lambda groups: groups,
    ),
    DELETE: GroupChange(
        programs=programs_for_delete,
        printed=lambda _: _UNCHECKED,
        commits_left=lambda _: Digest(rows=0, sums=(0,)),
        groups_left=lambda _: 0,
    ),
}


def _digest_of_resets(output: Path, column: int) -> Digest:
    offsets = [int(cells[column]) for line in read_lines(output) if (cells := line.split())[0] != "GROUP"]
    return Digest(rows=len(offsets), sums=(sum(offsets),))
