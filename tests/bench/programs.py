"""The programs that are compared. Each is a whole process, and each output must have the same sums."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from kafka_groups import sandbox

OURS: Final = "kafka-groups"
KAFKAS: Final = "ConsumerGroupCommand"
CONFLUENT: Final = "confluent-kafka"
KAFKA_PYTHON: Final = "kafka-python"
KCL: Final = "kcl"

_CURRENT_OFFSET, _END_OFFSET = 3, 4


class Digest(NamedTuple):
    """The sums of an output: the number of its rows, and sums over them."""

    rows: int
    sums: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Program:
    """A program: its command line for a bootstrap list, and a function that reads its output.

    `is_slow` marks a program that sends several requests a group, one after the other: minutes with many groups.
    """

    name: str
    about: str
    command: Callable[[str], list[str]]
    digest: Callable[[Path], Digest]
    is_slow: bool = False


def programs_for_list() -> list[Program]:
    """Return the programs that list groups."""
    return [
        Program(name=OURS, about="list", command=lambda b: [find_ours(), "list", "-b", b], digest=_digest_of_list),
        Program(
            name=KAFKAS,
            about="--list",
            command=lambda b: sandbox.groups_tool_command("--bootstrap-server", b, "--list"),
            digest=_digest_of_list,
        ),
        Program(
            name=CONFLUENT,
            about="list_consumer_groups",
            command=_script("confluent_kafka_script", "list"),
            digest=_digest_of_list,
        ),
        Program(
            name=KAFKA_PYTHON,
            about="list_groups",
            command=_script("kafka_python_script", "list"),
            digest=_digest_of_list,
        ),
    ]


def programs_for_describe() -> list[Program]:
    """Return the programs that fetch commits and log end offsets of all groups.

    The two scripts print sums only, so they render nothing.
    """
    return [
        Program(
            name=OURS,
            about="describe --all-groups",
            command=lambda b: [find_ours(), "describe", "--all-groups", "-b", b],
            digest=_digest_of_table,
        ),
        Program(
            name=KAFKAS,
            about="--describe --all-groups",
            command=lambda b: sandbox.groups_tool_command("--bootstrap-server", b, "--describe", "--all-groups"),
            digest=_digest_of_table,
            is_slow=True,
        ),
        Program(
            name=CONFLUENT,
            about="a call a group, not rendered",
            command=_script("confluent_kafka_script", "describe"),
            digest=_digest_of_sums,
        ),
        Program(
            name=KAFKA_PYTHON,
            about="batched, not rendered",
            command=_script("kafka_python_script", "describe"),
            digest=_digest_of_sums,
        ),
    ]


def digest_of_ids(ids: Iterable[str]) -> Digest:
    """Return the digest of group ids in any order."""
    names = sorted(ids)
    return Digest(rows=len(names), sums=(zlib.crc32("\n".join(names).encode()),))


def find_ours() -> str:
    """Return the path of this tool, beside the interpreter."""
    return str(Path(sys.executable).with_name("kafka-groups"))


def _script(module: str, command: str) -> Callable[[str], list[str]]:
    script = str(Path(__file__).with_name(f"{module}.py"))
    return lambda bootstrap: [sys.executable, script, command, bootstrap]


def _digest_of_list(output: Path) -> Digest:
    return digest_of_ids(line.strip() for line in read_lines(output))


def _digest_of_table(output: Path) -> Digest:
    rows = committed = ends = 0
    for line in read_lines(output):
        cells = line.split()
        if cells[0] != "GROUP":
            rows += 1
            committed += int(cells[_CURRENT_OFFSET])
            ends += int(cells[_END_OFFSET])
    return Digest(rows=rows, sums=(committed, ends))


def _digest_of_sums(output: Path) -> Digest:
    rows, *sums = map(int, output.read_text(encoding="utf-8").split())
    return Digest(rows=rows, sums=tuple(sums))


def read_lines(output: Path) -> Iterator[str]:
    """Return the lines of an output that are not blank."""
    with output.open(encoding="utf-8") as file:
        yield from (line for line in file if line.strip())
