"""The programs that return the lag of all groups, and the sum that each of them must print."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from .programs import KCL, OURS, Digest, Program, find_ours, read_lines
from .workload import PARTITIONS, expected_rows

LAG: Final = "lag --all-groups"
OUR_DESCRIBE: Final = "kafka-groups describe"
_LAG_OF_GROUP, _LAG_OF_PARTITION = 3, 5


def programs_for_lag(groups: int) -> list[Program]:
    """Return `lag`, `describe`, which reads the same, and kcl if it is installed."""
    programs = [
        Program(
            name=OURS,
            about=LAG,
            command=lambda b: [find_ours(), "lag", "--all-groups", "-b", b],
            digest=_sum_column(_LAG_OF_GROUP),
        ),
        Program(
            name=OUR_DESCRIBE,
            about="describe --all-groups",
            command=lambda b: [find_ours(), "describe", "--all-groups", "-b", b],
            digest=_sum_column(_LAG_OF_PARTITION),
        ),
    ]
    if (kcl := shutil.which(KCL)) is not None:
        command = [kcl, "group", "describe", "--section", "lag", "--format", "awk", "--no-config-file", "-B"]
        programs.append(
            Program(
                name=KCL,
                about="group describe --section lag",
                command=lambda b: [*command, b],
                digest=lambda output: digest_of_kcl_lag(output, groups),
            )
        )
    return programs


def expected_lag(groups: int) -> Digest:
    """Return the lag of all groups."""
    committed, ends = expected_rows(groups).sums
    return Digest(rows=0, sums=(ends - committed,))


def digest_of_kcl_lag(output: Path, groups: int) -> Digest:
    """Return the expected digest if kcl printed each partition.

    Until its #77 of September 2026 it prints one group's offsets for all that share a partition, so only the rows are
    counted.
    """
    rows = sum(1 for _ in read_lines(output))
    return expected_lag(groups) if rows == groups * PARTITIONS else Digest(rows=rows, sums=())


def _sum_column(column: int) -> Callable[[Path], Digest]:
    def digest(output: Path) -> Digest:
        rows = (line.split() for line in read_lines(output))
        return Digest(rows=0, sums=(sum(int(cells[column]) for cells in rows if cells[0] != "GROUP"),))

    return digest
