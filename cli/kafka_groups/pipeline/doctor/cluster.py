"""The brokers: whether they respond, what they let us read, how long they keep it, and what readers wait for.

The compaction horizon is since when the topic has every record: compaction leaves gaps, so where records lie close
together it has not been yet. Looks at some places of each partition, of all at once, find the last one with gaps;
between that and the next one, halving does. Records may lie close together by chance, so more looks find it better.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from typing import Final, NamedTuple

from confluent_kafka import OFFSET_INVALID, Consumer, KafkaError, KafkaException, TopicPartition

from kafka_groups.errors import SourceError
from kafka_groups.pipeline.doctor.check import FAILED, OK, WARNING, Check
from kafka_groups.pipeline.facts.backfill import read_settings
from kafka_groups.pipeline.facts.source.brokers import Brokers, new_consumer, source_error
from kafka_groups.pipeline.facts.source.position import Offsets, Position
from kafka_groups.pipeline.tables import OFFSETS_TOPIC
from kafka_groups.settings.librdkafka import ClientProperties

_POLL_S: Final = 0.1  # an interrupt waits for so long
_TOPIC_SETTINGS: Final = ("cleanup.policy", "segment.bytes", "retention.ms", "delete.retention.ms")
_LITTLE: Final = {"fetch.message.max.bytes": 65_536}  # a few records of each partition are wanted
_UNSTABLE: Final = {**_LITTLE, "isolation.level": "read_uncommitted"}
_LONG_MS: Final = 300_000  # transactions of streams end within moments, by themselves after 15 minutes as a rule
# Records that are looked at in one place, and how many offsets each of them may take: a transaction's mark is one, too.
_RUN: Final = 60
_OFFSETS_A_RECORD: Final = 3
_PLACES: Final = 16  # of each partition, before it is halved
_PARTS: Final = 256  # of a partition: how exactly the place is found
_SHARE: Final = 4  # of the time: a partition that takes more of it for one look is not looked at again


class Tail(NamedTuple):
    """From where on a partition has every record, and that record's time; None if it has none from there on."""

    offset: int
    at_ms: int | None


def examine_cluster(client: ClientProperties, timeout_s: float) -> tuple[list[Check], str | None, Position | None]:
    """Return the checks, and, as far as they are known, the cluster's id and where its topic ends."""
    try:
        brokers = Brokers(client, timeout_s)
        cluster_id, nodes = brokers.cluster()
    except SourceError as error:
        return [Check("brokers", FAILED, str(error))], None, None
    checks = [Check("brokers", OK, f"{nodes} broker{'' if nodes == 1 else 's'} of cluster {cluster_id}")]
    try:
        topic_id, partitions = brokers.topic()
        # In this order: what was written before the request for what is stable, and is not stable, waits for something.
        written = brokers.latest(partitions, is_stable=False)
        starts, ends = brokers.earliest(partitions), brokers.latest(partitions)
    except SourceError as error:
        return [*checks, Check(f"describe {OFFSETS_TOPIC}", FAILED, str(error))], cluster_id, None
    if not partitions:
        detail = f"{OFFSETS_TOPIC} does not exist: this cluster has had no group so far"
        return [*checks, Check(f"describe {OFFSETS_TOPIC}", WARNING, detail)], cluster_id, Position(None, {})
    records = sum(ends[partition] - starts[partition] for partition in partitions)
    detail = f"{len(partitions):,} partitions, {records:,} offsets from log start to log end"
    checks.append(Check(f"describe {OFFSETS_TOPIC}", OK, detail))
    filled = {partition: (start, ends[partition]) for partition, start in starts.items() if ends[partition] > start}
    ((_, of_topic),) = read_settings(client, timeout_s, [OFFSETS_TOPIC])
    checks += [*_reading(client, filled, timeout_s), _transactions(client, written, ends, timeout_s)]
    checks.append(_topic_settings(of_topic))
    return checks, cluster_id, Position(topic_id, ends)


def _reading(client: ClientProperties, filled: Mapping[int, tuple[int, int]], timeout_s: float) -> list[Check]:
    """Read some records of the partitions that have any: whether that is allowed, and since when all are there."""
    name = f"read {OFFSETS_TOPIC}"
    if not filled:
        return [Check(name, WARNING, "the topic is empty, so reading was not checked")]
    try:
        with closing(new_consumer(client, _LITTLE)) as consumer:
            tails = find_tails(consumer, filled, timeout_s)
    except SourceError as error:
        return [Check(name, FAILED, str(error))]
    except KafkaException as error:
        return [Check(name, FAILED, str(source_error(error.args[0], client)))]
    if not tails:
        late = f"no record within {timeout_s / _SHARE:g} s"
        return [Check(name, FAILED, f"{late}; give a longer --timeout, or check the brokers")]
    horizon = Check("compaction horizon", *_status_and_detail(tails, len(filled)))
    return [Check(name, OK, f"records of partition {min(tails)} were read"), horizon]


def _transactions(client: ClientProperties, written: Offsets, stable: Offsets, timeout_s: float) -> Check:
    """Check whether a transaction has been open for minutes; `stable` was requested after `written`."""
    held = {part: (stable[part], end) for part, end in written.items() if end > stable[part]}
    try:
        with closing(new_consumer(client, _UNSTABLE)) as consumer:
            begun = _look(consumer, held, time.monotonic() + timeout_s / _SHARE, time.monotonic) if held else {}
    except (SourceError, KafkaException):
        begun = {}  # what brokers refuse is said by the check of reading
    return judge_transactions(held, begun, now_ms=time.time_ns() // 1_000_000)


def judge_transactions(held: Mapping[int, tuple[int, int]], begun: Mapping[int, int | None], *, now_ms: int) -> Check:
    """Judge by the offsets that are held back in each partition, and by when its transaction began, where known."""
    name = "open transactions"
    if not held:
        return Check(name, OK, "no open transaction delays ingest")
    first_ms = min((at_ms for at_ms in begun.values() if at_ms is not None), default=now_ms)
    since = "" if first_ms == now_ms else f", the oldest open since {_instant(first_ms)}"
    count = sum(end - start for start, end in held.values())
    waiting = f"{count:,} offsets of partitions {', '.join(map(str, sorted(held)))} wait for transactions to end{since}"
    helps = (
        "until then ingest does not read the records after them; if it takes minutes, find a hanging transaction with "
        "`kafka-transactions.sh find-hanging`, and end it with `abort`"
    )
    return Check(name, WARNING if now_ms - first_ms >= _LONG_MS else OK, f"{waiting}: {helps}")


def _topic_settings(found: dict[str, str] | str) -> Check:
    name = f"settings of {OFFSETS_TOPIC}"
    if isinstance(found, str):
        return Check(name, WARNING, f"they cannot be read: {found}; this check needs DESCRIBE_CONFIGS on the topic")
    detail = ", ".join(f"{setting}={found[setting]}" for setting in _TOPIC_SETTINGS if found.get(setting))
    if (found.get("cleanup.policy") or "compact") != "compact":
        return Check(name, WARNING, f"{detail}; records are deleted by age, too; run ingest more often than that")
    if found.get("delete.retention.ms"):
        detail = f"{detail}; tombstones are kept for delete.retention.ms; run ingest more often than that"
    return Check(name, OK, detail)


def _status_and_detail(tails: Mapping[int, Tail], filled: int) -> tuple[str, str]:
    """Return status and detail, of so many partitions with records."""
    if late := filled - len(tails):
        return WARNING, f"{late} of {filled} partitions with records did not respond in time; give a longer --timeout"
    # A log that begins with 0 and has no data gap has lost nothing.
    begun = {partition: tail.at_ms for partition, tail in tails.items() if tail.offset > 0}
    if not begun:
        return OK, "every record so far is retained, according to a search in some places of the log"
    known = {partition: at_ms for partition, at_ms in begun.items() if at_ms is not None}
    if unknown := sorted(begun.keys() - known):
        count = f"{len(unknown)} partition{'' if len(unknown) == 1 else 's'} (partition {unknown[0]} is one)"
        return WARNING, f"{count} may retain only the last record of each key"
    last = max(known, key=lambda partition: known[partition])
    detail = f"every record since {_instant(known[last])} is retained (partition {last} begins last)"
    older = "of older records, compaction kept only the last one of each key"
    return OK, f"{detail}, according to a search in some places of the log; {older}"


def _instant(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def find_tails(
    consumer: Consumer,
    ranges: Mapping[int, tuple[int, int]],
    timeout_s: float,
    clock: Callable[[], float] = time.monotonic,
) -> dict[int, Tail]:
    """Return the tail of each partition, by its number; `ranges` are their first offsets and log ends.

    Those without a response to a single look are excluded. When the time is over, what is known is returned: a tail
    begins there or earlier. `consumer` is used for nothing else. KafkaException: what brokers refuse.
    """
    until = clock() + timeout_s
    tails: dict[int, Tail] = {}
    lows = {part: start for part, (start, end) in ranges.items() if end > start}
    # Of each partition the places that are left, each once; the last one comes next.
    left = {
        part: sorted({start + (ranges[part][1] - start) * number // _PLACES for number in range(_PLACES)})
        for part, start in lows.items()
    }
    while (wanted := {part: places.pop() for part, places in left.items() if places}) and clock() < until:
        look_until = min(until, clock() + timeout_s / _SHARE)
        seen = _look(consumer, {part: (at, ranges[part][1]) for part, at in wanted.items()}, look_until, clock)
        left = {part: left[part] for part in seen}
        for part, at_ms in seen.items():
            start, end = ranges[part]
            if at_ms is None:
                # From the end on, all is there down to the first place with gaps; from that one on, it is halved.
                lows[part], left[part] = wanted[part] + 1, []
                tails.setdefault(part, Tail(end, None))
            else:
                tails[part] = Tail(wanted[part], at_ms)
            if not left[part] and tails[part].offset - lows[part] > max(1, (end - start) // _PARTS):
                left[part] = [(lows[part] + tails[part].offset) // 2]
    return tails


def _look(
    consumer: Consumer, wanted: Mapping[int, tuple[int, int]], until: float, clock: Callable[[], float]
) -> dict[int, int | None]:
    """Return the time of the record at each offset, None if records up to the log end are not close together there."""
    consumer.assign([TopicPartition(OFFSETS_TOPIC, part, at) for part, (at, _) in wanted.items()])
    records: dict[int, list[tuple[int, int]]] = {part: [] for part in wanted}
    seen: dict[int, int | None] = {}
    while len(seen) < len(wanted) and clock() < until:
        for message in consumer.consume(_RUN, _POLL_S):
            part = message.partition()
            if part is None or part not in wanted or part in seen:
                continue
            error = message.error()
            if error is None:
                records[part].append((message.offset() or 0, message.timestamp()[1]))
            elif error.code() == KafkaError._AUTO_OFFSET_RESET:
                # The log begins later by now.
                records[part] = []
            elif error.code() != KafkaError._PARTITION_EOF:
                raise KafkaException(error)
            if error is not None or len(records[part]) == _RUN:
                seen[part] = _time_if_dense(records[part], *wanted[part])
                consumer.incremental_unassign([TopicPartition(OFFSETS_TOPIC, part, OFFSET_INVALID)])
    return seen


def _time_if_dense(records: list[tuple[int, int]], at: int, end: int) -> int | None:
    last = records[-1][0] if len(records) == _RUN else end - 1
    return records[0][1] if records and len(records) * _OFFSETS_A_RECORD >= last - at + 1 else None
