"""The programs that are compared. Each is a whole process, and each answer is checked against the same sums."""

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

_CURRENT_OFFSET, _END_OFFSET = 3, 4


class Digest(NamedTuple):
    """What an answer adds up to: the number of its rows, and sums over them."""

    rows: int
    sums: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A program: its command line for a bootstrap list, and how what it printed is read.

    `is_slow` says that it asks several questions a group, one after the other: minutes with many groups.
    """

    name: str
    about: str
    command: Callable[[str], list[str]]
    digest: Callable[[Path], Digest]
    is_slow: bool = False


def listing() -> list[Contender]:
    """Who lists groups."""
    return [
        Contender(name=OURS, about="list", command=lambda b: [_ours(), "list", "-b", b], digest=_ids),
        Contender(
            name=KAFKAS,
            about="--list",
            command=lambda b: sandbox.groups_tool_command("--bootstrap-server", b, "--list"),
            digest=_ids,
        ),
        Contender(name=CONFLUENT, about="list_consumer_groups", command=_script("by_confluent", "list"), digest=_ids),
        Contender(name=KAFKA_PYTHON, about="list_groups", command=_script("by_kafka_python", "list"), digest=_ids),
    ]


def describing() -> list[Contender]:
    """Who tells commits and log ends of all groups. The two libraries print sums only, and so render nothing."""
    return [
        Contender(
            name=OURS,
            about="describe --all-groups",
            command=lambda b: [_ours(), "describe", "--all-groups", "-b", b],
            digest=_table,
        ),
        Contender(
            name=KAFKAS,
            about="--describe --all-groups",
            command=lambda b: sandbox.groups_tool_command("--bootstrap-server", b, "--describe", "--all-groups"),
            digest=_table,
            is_slow=True,
        ),
        Contender(
            name=CONFLUENT,
            about="a call a group, not rendered",
            command=_script("by_confluent", "describe"),
            digest=_sums,
        ),
        Contender(
            name=KAFKA_PYTHON,
            about="batched, not rendered",
            command=_script("by_kafka_python", "describe"),
            digest=_sums,
        ),
    ]


def digest_of_ids(ids: Iterable[str]) -> Digest:
    """A list of groups, in any order."""
    names = sorted(ids)
    return Digest(rows=len(names), sums=(zlib.crc32("\n".join(names).encode()),))


def _ours() -> str:
    return str(Path(sys.executable).with_name("kafka-groups"))


def _script(module: str, question: str) -> Callable[[str], list[str]]:
    script = str(Path(__file__).with_name(f"{module}.py"))
    return lambda bootstrap: [sys.executable, script, question, bootstrap]


def _ids(output: Path) -> Digest:
    return digest_of_ids(line.strip() for line in _lines(output))


def _table(output: Path) -> Digest:
    rows = committed = ends = 0
    for line in _lines(output):
        cells = line.split()
        if cells[0] != "GROUP":
            rows += 1
            committed += int(cells[_CURRENT_OFFSET])
            ends += int(cells[_END_OFFSET])
    return Digest(rows=rows, sums=(committed, ends))


def _sums(output: Path) -> Digest:
    rows, *sums = map(int, output.read_text(encoding="utf-8").split())
    return Digest(rows=rows, sums=tuple(sums))


def _lines(output: Path) -> Iterator[str]:
    with output.open(encoding="utf-8") as file:
        yield from (line for line in file if line.strip())
