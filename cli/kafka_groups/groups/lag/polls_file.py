"""The file of `lag --polls`: what the polls of one or more clusters saw, between runs of the command."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from kafka_groups.errors import PollsFileError
from kafka_groups.groups.lag.polls import PartitionPolls, Polls
from kafka_groups.groups.lag.progress import Floor, Observation, Progress, wait_strength
from kafka_groups.verdicts import LONG_PERIOD_MS, SHORT_PERIOD_MS, VERDICT_OF, Verdict

T = TypeVar("T")

_KIND: Final = "kafka-groups/polls/"
_VERSION: Final = 3
SCHEMA: Final = f"{_KIND}{_VERSION}"


class PollsScope(NamedTuple):
    """What all polls of a file measure: the isolation level of log ends, and topics that narrow them.

    A topic is text such as `orders:0,1`; none for all topics.
    """

    isolation: str
    topics: Sequence[str] = ()


def format_file(scope: PollsScope, sections: Mapping[str, str]) -> str:
    """Return the text of the file: a line about all of it, and the sections of the clusters, by cluster id."""
    narrowed = {"topics": list(scope.topics)} if scope.topics else {}
    head = {"schema": SCHEMA, "isolation": scope.isolation, **narrowed, "clusters": len(sections)}
    return "".join([json.dumps(head), "\n", *sections.values()])


def format_section(polls: Polls, cluster_id: str) -> str:
    """Return the lines of a cluster: one about all of it, and one for each partition."""
    lags = {group: [list(point) for point in points] for group, points in polls.lags.items()}
    head = json.dumps({"cluster_id": cluster_id, "partitions": len(polls.partitions), "lags": lags})
    lines = (_line(*key, partition) for key, partition in polls.partitions.items())
    return "\n".join([head, *lines, ""])


def split_file(text: str, *, name: str, scope: PollsScope | None = None) -> dict[str, str]:
    """Return the sections in a file's text, by cluster id; an empty file has none.

    The lines of partitions are counted and not read. Raises PollsFileError for a file of another kind, version or
    scope (None: any), and for a damaged one.
    """
    if not text.strip():
        return {}
    head = _unless_damaged(lambda: _read_head(text, name), name)
    _require_scope(head.scope, scope, name)
    return _unless_damaged(lambda: _split_sections(text, head.clusters), name)


def read_section(section: str, *, name: str) -> Polls:
    """Return the polls in the section of a cluster. Raises PollsFileError for a damaged one."""
    return _unless_damaged(lambda: _polls(*map(json.loads, section.splitlines())), name)


class _Head(NamedTuple):
    scope: PollsScope
    clusters: int


def _unless_damaged(read: Callable[[], T], name: str) -> T:
    """Return what a function reads. Raises PollsFileError if it cannot."""
    try:
        return read()
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, OverflowError) as error:
        msg = f"{name} is not a file of lag --polls, or it is damaged; use another file, or remove it"
        raise PollsFileError(msg) from error


def _read_head(text: str, name: str) -> _Head:
    head = json.loads(text.partition("\n")[0])
    # Only the schema is known of a file of another version.
    _require_schema(head["schema"], name)
    return _Head(PollsScope(str(head["isolation"]), tuple(map(str, head.get("topics", ())))), int(head["clusters"]))


def _split_sections(text: str, clusters: int) -> dict[str, str]:
    """Return the sections by cluster id; raise ValueError if lines are missing, or if there are more."""
    lines = text.splitlines(keepends=True)[1:]
    sections: dict[str, str] = {}
    start = 0
    for _ in range(clusters):
        head = json.loads(lines[start])
        end = start + 1 + int(head["partitions"])
        if end <= start:
            raise ValueError(head)
        sections[str(head["cluster_id"])] = "".join(lines[start:end])
        start = end
    if start != len(lines) or len(sections) != clusters or not text.endswith("\n"):
        raise ValueError(start)
    return sections


def _require_scope(found: PollsScope, wanted: PollsScope | None, name: str) -> None:
    """Raise PollsFileError for the polls of another isolation level or of other topics."""
    if wanted is None:
        return
    # A last stable offset below a log end would look like a log that was cut.
    if found.isolation != wanted.isolation:
        msg = (
            f"{name} has the polls of --isolation {found.isolation}, and this is --isolation {wanted.isolation}; "
            "use another file"
        )
        raise PollsFileError(msg)
    # The lag of a group on some topics would look like a change of its lag on all.
    if [*found.topics] != [*wanted.topics]:
        topics = _describe(found.topics)
        msg = f"{name} has the polls of {topics}, and this is {_describe(wanted.topics)}; use another file"
        raise PollsFileError(msg)


def _describe(topics: Sequence[str]) -> str:
    return " ".join(f"--topic {topic}" for topic in topics) or "all topics"


def _require_schema(schema: Any, name: str) -> None:
    """Raise PollsFileError for the schema of another version, or of a file of another kind."""
    if schema == SCHEMA:
        return
    version = str(schema).removeprefix(_KIND)
    if version != schema and version.isdecimal():
        other = "a newer" if int(version) > _VERSION else "an older"
        msg = (
            f"{name} has the schema {schema}, not {SCHEMA}: {other} version of kafka-groups wrote it; use that "
            "version, or another file"
        )
        raise PollsFileError(msg)
    msg = f"{name} is not a file of lag --polls: its schema is {schema}; use another file"
    raise PollsFileError(msg)


def _polls(head: Mapping[str, Any], *lines: Any) -> Polls:
    """Return the polls; raise ValueError if lines are missing."""
    if len(lines) != head["partitions"]:
        raise ValueError(len(lines))
    lags = {str(group): tuple((int(at), int(lag)) for at, lag in each) for group, each in head["lags"].items()}
    return Polls(partitions={_key(line): _partition(line) for line in lines}, lags=lags)


def _line(group: str, topic: str, number: int, partition: PartitionPolls) -> str:
    """Return the JSON of a partition: its key, observations, progress, verdict, and floors.

    A log end that has fallen once is an element more. Log ends and times of floors are differences to those of the last
    observation, which are short. A watch writes up to a hundred thousand lines after each poll, and json takes three
    times as long for the numbers.
    """
    names = f"{json.dumps(group)}, {json.dumps(topic)}, {number}"
    last = partition.last
    progress = partition.progress
    verdict = partition.verdict
    moves = ", ".join(map(_format_observation, partition.moves))
    head = [
        progress.since_ms,
        progress.offset_changes,
        [*progress.strengths],
        [*progress.intervals],
        progress.last_interval_ms,
        progress.highest_offset,
        progress.unread_at_last_change,
        progress.empty_since_ms,
        verdict.rule,
        verdict.since_ms,
    ]
    floors = f"[{_format_floors(progress.short_floors, last)}], [{_format_floors(progress.long_floors, last)}]"
    fallen = "" if partition.fallen is None else f", {_format_observation(partition.fallen)}"
    return f"[{names}, [{moves}], {_format_observation(last)}, {json.dumps(head)}, {floors}{fallen}]"


def _format_observation(seen: Observation) -> str:
    """Return the JSON of an observation: offset, log end, time, members, and the log start if it matters."""
    members = "null" if seen.members is None else seen.members
    start = f", {seen.start}" if seen.start else ""
    return f"[{seen.offset}, {seen.end}, {seen.at_ms}, {members}{start}]"


def _format_floors(floors: Sequence[Floor], last: Observation) -> str:
    return ", ".join([f"[{floor.lag}, {last.end - floor.end}, {last.at_ms - floor.at_ms}]" for floor in floors])


def _key(line: Any) -> tuple[str, str, int]:
    group, topic, partition = line[:3]
    return str(group), str(topic), int(partition)


def _partition(line: Any) -> PartitionPolls:
    moves, end, head, short_floors, long_floors, *fallen = line[3:]
    if not moves or len(fallen) > 1:
        raise ValueError(line)
    last = _observation(end)
    since_ms, count, strengths, intervals, last_interval_ms, highest_offset, unread, empty_since_ms, *verdict = head
    rule, verdict_since_ms = verdict
    progress = Progress(
        since_ms=int(since_ms),
        offset_changes=int(count),
        strengths=_strengths(strengths, last),
        intervals=_strengths(intervals, last),
        last_interval_ms=int(last_interval_ms),
        highest_offset=int(highest_offset),
        unread_at_last_change=None if unread is None else int(unread),
        empty_since_ms=None if empty_since_ms is None else int(empty_since_ms),
        short_floors=_floors(short_floors, last, SHORT_PERIOD_MS),
        long_floors=_floors(long_floors, last, LONG_PERIOD_MS),
    )
    return PartitionPolls(
        tuple(map(_observation, moves)),
        last,
        progress,
        Verdict(VERDICT_OF[rule], rule, int(verdict_since_ms)),
        _observation(fallen[0]) if fallen else None,
    )


def _strengths(row: Any, last: Observation) -> tuple[int, ...]:
    """Return strengths of waits; raise ValueError for one of a wait that began before 1970."""
    strengths = tuple(map(int, row))
    if strengths and max(strengths) > wait_strength(last.at_ms, last.at_ms):
        raise ValueError(row)
    return strengths


def _observation(row: Any) -> Observation:
    offset, end, at_ms, members, *starts = row
    if len(starts) > 1:
        raise ValueError(row)
    return Observation(
        offset=int(offset),
        end=int(end),
        at_ms=int(at_ms),
        start=int(starts[0]) if starts else 0,
        members=None if members is None else int(members),
    )


def _floors(rows: Any, last: Observation, period_ms: int) -> tuple[Floor, ...]:
    floors = []
    for lag, below_end, before_ms in rows:
        at_ms = last.at_ms - int(before_ms)
        floors.append(Floor(at_ms // period_ms, int(lag), last.end - int(below_end), at_ms))
    return tuple(floors)
