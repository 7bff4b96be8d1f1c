"""The file of `lag --polls`: what the polls of one cluster saw, between runs of the command."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any, Final

from kafka_groups.errors import PollsFileError
from kafka_groups.groups.lag.polls import PartitionPolls, Polls
from kafka_groups.verdicts import Sample

_KIND: Final = "kafka-groups/polls/"
_VERSION: Final = 1
SCHEMA: Final = f"{_KIND}{_VERSION}"
_start_of: Final = attrgetter("start")
_without_start: Final = itemgetter(slice(3))


def format_polls(polls: Polls, cluster_id: str, isolation: str) -> str:
    """Return the text of the file, a line for each partition. `isolation` is the level of its log ends."""
    lags = {group: [list(point) for point in points] for group, points in polls.lags.items()}
    count = len(polls.partitions)
    names = {"schema": SCHEMA, "cluster_id": cluster_id, "isolation": isolation}
    head = json.dumps({**names, "partitions": count, "lags": lags})
    lines = (_line(*key, partition) for key, partition in polls.partitions.items())
    return "\n".join([head, *lines, ""])


def read_polls(text: str, *, name: str, cluster_id: str, isolation: str | None = None) -> Polls:
    """Return the polls in a file's text; an empty file has none.

    Raises PollsFileError for a file of another kind, version, cluster or isolation level (None: any), and for a
    damaged one.
    """
    if not text.strip():
        return Polls()
    first, *rest = text.splitlines()
    try:
        head = json.loads(first)
        # Only the schema is known of a file of another version.
        _require_schema(head["schema"], name)
        found_id, level = head["cluster_id"], head.get("isolation")
        polls = _polls(head, [json.loads(line) for line in rest])
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, OverflowError) as error:
        msg = f"{name} is not a file of lag --polls, or it is damaged; use another file, or remove it"
        raise PollsFileError(msg) from error
    if found_id != cluster_id:
        msg = f"{name} has the polls of cluster {found_id}, and this is {cluster_id}; use another file"
        raise PollsFileError(msg)
    # A last stable offset below a log end would look like a log that was cut.
    if isolation is not None and level != isolation:
        msg = f"{name} has the polls of --isolation {level}, and this is --isolation {isolation}; use another file"
        raise PollsFileError(msg)
    return polls


def _require_schema(schema: Any, name: str) -> None:
    """Raise PollsFileError for the schema of a newer version, or of a file of another kind."""
    if schema == SCHEMA:
        return
    version = str(schema).removeprefix(_KIND)
    if version != schema and version.isdecimal() and int(version) > _VERSION:
        msg = (
            f"{name} has the schema {schema}, not {SCHEMA}: a newer version of kafka-groups wrote it; use that "
            "version, or another file"
        )
        raise PollsFileError(msg)
    msg = f"{name} is not a file of lag --polls: its schema is {schema}; use another file"
    raise PollsFileError(msg)


def _polls(head: Mapping[str, Any], lines: Sequence[Any]) -> Polls:
    """Return the polls; raise ValueError if lines are missing."""
    if len(lines) != head["partitions"]:
        raise ValueError(len(lines))
    lags = {str(group): tuple((int(at), int(lag)) for at, lag in each) for group, each in head["lags"].items()}
    return Polls(partitions={_key(line): _partition(line) for line in lines}, lags=lags)


def _line(group: str, topic: str, number: int, partition: PartitionPolls) -> str:
    """Return the JSON of a partition. A log end that has fallen once is a field more.

    A watch writes up to a hundred thousand lines after each poll, and json takes three times as long for the numbers.
    """
    names = f"{json.dumps(group)}, {json.dumps(topic)}, {number}"
    last = (partition.last,) if partition.fallen is None else (partition.last, partition.fallen)
    return f"[{names}, [{_join(partition.moves)}], {list(partition.ends)}, {_join(last)}]"


def _join(samples: Sequence[Sample]) -> str:
    """Return the JSON of samples. Most have no log start above the commit, and are written without it."""
    if any(map(_start_of, samples)):
        return ", ".join(str([*sample] if sample.start else [*sample[:-1]]) for sample in samples)
    return ", ".join(["[%d, %d, %d]"] * len(samples)) % tuple(chain.from_iterable(map(_without_start, samples)))


def _key(line: Any) -> tuple[str, str, int]:
    group, topic, partition = line[:3]
    return str(group), str(topic), int(partition)


def _partition(line: Any) -> PartitionPolls:
    moves, ends, last, *fallen = line[3:]
    if not moves or len(fallen) > 1:
        raise ValueError(line)
    return PartitionPolls(
        tuple(_sample(move) for move in moves),
        tuple(int(end) for end in ends),
        _sample(last),
        _sample(fallen[0]) if fallen else None,
    )


def _sample(row: Any) -> Sample:
    offset, end, at_ms, *starts = map(int, row)
    if len(starts) > 1:
        raise ValueError(row)
    return Sample(offset, end, at_ms, *starts)
