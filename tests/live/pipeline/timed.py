"""Partitions whose records have known timestamps, and groups that committed on them in many places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.live.groups.members import commit_from_outside
from tests.live.groups.topics import client_properties, make_topic, unique_name

SECOND_MS: Final = 1_000
MINUTE_MS: Final = 60 * SECOND_MS
STEP_MS: Final = MINUTE_MS  # of the grid, which reaches as far back as this:
REACH_MS: Final = 20 * MINUTE_MS

STEADY, BURSTS, OLDER, QUIET, CUT, EMPTIED = range(6)
KEPT_FROM: Final = {CUT: 60, EMPTIED: 40}
_GROUPS: Final = 11
_TIMEOUT_S: Final = 30


@dataclass(frozen=True, kw_only=True)
class Timed:
    """The topic, when the records of each of its partitions were written, and the groups."""

    topic: str
    times_ms: Mapping[int, Sequence[int]]
    groups: Sequence[str]


def make_timed(bootstrap: str, now_ms: int) -> Timed:
    """Each group commits on all partitions: the first one at their starts, the last one at their ends."""
    times = _times(now_ms)
    topic = make_topic(bootstrap, partitions=len(times))
    _produce(bootstrap, topic, times)
    _delete_records(bootstrap, topic)
    groups = [unique_name("timed") for _ in range(_GROUPS)]
    for number, group in enumerate(groups):
        commits = [(topic, partition, len(each) * number // (_GROUPS - 1)) for partition, each in times.items()]
        commit_from_outside(bootstrap, [group], commits)
    return Timed(topic=topic, times_ms=times, groups=groups)


def _times(now_ms: int) -> dict[int, list[int]]:
    def ago(minutes: float) -> int:
        return now_ms - round(minutes * MINUTE_MS)

    return {
        STEADY: list(range(ago(17), ago(0.5), 7_777)),
        # Ten records in three seconds, four minutes of silence: the grid sees but the first of the ten.
        BURSTS: [ago(17.3) + burst * 4 * MINUTE_MS + nth * 300 for burst in range(5) for nth in range(10)],
        OLDER: [*range(ago(60), ago(25), 70 * SECOND_MS), *range(ago(9), ago(1), 20 * SECOND_MS)],
        QUIET: list(range(ago(45), ago(26), 30 * SECOND_MS)),
        CUT: list(range(ago(16), ago(2), 7 * SECOND_MS)),
        EMPTIED: list(range(ago(15), ago(1.7), 20 * SECOND_MS)),
    }


def _produce(bootstrap: str, topic: str, times: Mapping[int, Sequence[int]]) -> None:
    producer = Producer(client_properties(bootstrap) | {"linger.ms": 5})
    for partition, each in times.items():
        for moment in each:
            producer.produce(topic, b"x", partition=partition, timestamp=moment)
    assert producer.flush(_TIMEOUT_S) == 0


def _delete_records(bootstrap: str, topic: str) -> None:
    places = [TopicPartition(topic, partition, offset) for partition, offset in KEPT_FROM.items()]
    client = AdminClient(client_properties(bootstrap))  # dropped before the result, it takes the request back
    for answer in client.delete_records(places).values():
        answer.result(_TIMEOUT_S)
