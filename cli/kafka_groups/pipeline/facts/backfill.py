"""A backfill: log end offsets of the past, looked up in the brokers' time indexes as far back as records are retained.

For a time, ListOffsets returns the first record at or after it. If records are in the order of their timestamps, the
offset of this record was the log end offset at that time. If there is no such record, the log end offset was the
present one. The record with its timestamp is also a point of the time index, from which time lag is computed. A row is
written once and not changed later, because retention may have deleted the records from which it was derived.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from kafka_groups.admin import GroupAdmin, OffsetAndTimestamp, PartitionTime, Topic
from kafka_groups.model import Failure, TopicPartition
from kafka_groups.pipeline.facts.decode.conversions import topic_id_text
from kafka_groups.pipeline.facts.time_grid import NEVER_MS, LookupPeriod, TimeGrid
from kafka_groups.pipeline.frames.arrays import Ints
from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.store.data_files import BACKFILL, new_batch_name
from kafka_groups.pipeline.store.root_directory import as_storage_error
from kafka_groups.pipeline.tables import PARTITION_OFFSETS
from kafka_groups.progress import Progress, ignore_progress
from kafka_groups.protocol.errors import UNKNOWN_TOPIC_OR_PARTITION, broker_error
from kafka_groups.suggestions import nearest_names, suggest

# A function that returns which of the given topics a backfill excludes.
TopicSelector = Callable[[Sequence[str]], Collection[str]]

_ORIGIN: Final = "backfill"
_DAY_MS: Final = 86_400_000
# Each call has a deadline of its own, and a broker handles one request of a connection at a time.
_LOOKUPS_PER_CALL: Final = 20_000
_ROWS_IN_MEMORY: Final = 500_000
# These columns identify a row within one cluster and origin.
_ROW_KEY: Final = ["topic", "partition", "observed_at"]


@dataclass(kw_only=True)
class BackfillResult:
    """The progress of a backfill: what it has requested and written.

    - `partitions` is the number of partitions with a known log end offset, `times` the number of times to look up.
    - `rows` and `days` count what was committed.
    - `lookups` is the number of requested pairs of a partition and a time.
    - `deleted` is the number of pairs without a log end offset because the records of the time were deleted; `ahead`
      because the first record has a timestamp in the future. Pairs that an earlier backfill has written do not count.
    """

    cluster_id: str
    partitions: int = 0
    times: int = 0
    days: int = 0
    rows: int = 0
    lookups: int = 0
    deleted: int = 0
    ahead: int = 0
    failures: list[Failure] = field(default_factory=list)


def backfill(
    admin: GroupAdmin,
    storage: Storage,
    period: LookupPeriod,
    *,
    topics: Collection[str] | None = None,
    exclude_topics: TopicSelector = lambda _topics: (),
    progress: Progress = ignore_progress,
    on_start: Callable[[BackfillResult], None] = lambda _backfilled: None,
) -> BackfillResult:
    """Write a row of PARTITION_OFFSETS for each partition and each time of the period that the tables lack.

    Partitions belong to the named topics, or to all topics that are not internal. `exclude_topics`, which is meant for
    compacted topics, is called once with the names of these topics before any log is looked up; it returns the topics
    to exclude.

    Each day (UTC) is committed when it is complete. Memory holds some 500,000 rows at once. A partition that fails is
    reported once, and not looked up again. `on_start` receives the result before the first request about topics. The
    result counts what is committed, even if an error ends the backfill.

    Raises ValueError if the period has no time or one before 1970, StorageError (also if another backfill of the
    cluster is running), and AdminError if the cluster cannot be reached; committed days stay.
    """
    times = period.times()
    backfill_result = BackfillResult(cluster_id=admin.cluster_id(), times=len(times))
    storage.make()
    with storage.lock(f"{_ORIGIN}-{backfill_result.cluster_id}"):
        backfill_run = _BackfillRun(admin, storage, period.now_ms, progress, backfill_result)
        on_start(backfill_result)
        backfill_run.find_partitions(topics, exclude_topics)
        while times:
            next_midnight_ms = (times[0] // _DAY_MS + 1) * _DAY_MS
            time_count_of_day = bisect_left(times, next_midnight_ms)
            backfill_run.write_day(times[:time_count_of_day])
            times = times[time_count_of_day:]
    return backfill_result


def _fail_absent_topics(topic_names: Sequence[str], existing_topics: Collection[str]) -> list[Failure]:
    """Return a failure for each name of a topic that does not exist, with the nearest existing name if there is one."""
    nearest_by_name = nearest_names(topic_names, existing_topics) if topic_names else {}
    failures = [Failure.of(broker_error(UNKNOWN_TOPIC_OR_PARTITION), topic=name) for name in topic_names]
    return [
        failure._replace(message=failure.message + suggest(name, nearest_by_name.get(name)))
        for name, failure in zip(topic_names, failures, strict=True)
    ]


@dataclass
class _BackfillRun:
    """One backfill, whose lock is held.

    - `known_count` is the number of pairs of a partition and a time whose responses are known from the days before.
    - `log_ends` has the log end offset of each partition that did not fail.
    - `first_records` has the first record of each partition, or its log end if it has no record.
    - `last_responses` has the response of each partition for the last time of the day before.
    """

    admin: GroupAdmin
    storage: Storage
    now_ms: int
    progress: Progress
    result: BackfillResult
    known_count: int = 0
    log_ends: dict[TopicPartition, int] = field(default_factory=dict)
    first_records: dict[TopicPartition, OffsetAndTimestamp] = field(default_factory=dict)
    last_responses: dict[TopicPartition, OffsetAndTimestamp] = field(default_factory=dict)
    topic_ids: dict[str, str | None] = field(default_factory=dict)

    def find_partitions(self, names: Collection[str] | None, exclude_topics: TopicSelector) -> None:
        """Look up the partitions with their log end offsets and first records; call it once, before `write_day`.

        Topics that are absent or failed are added to the failures. Raises AdminError.
        """
        topics = self._select_topics(names)
        for name in exclude_topics(sorted(topics)) if topics else ():
            del topics[name]
        self.topic_ids = {name: topic_id_text(topic.topic_id.bytes) for name, topic in topics.items() if topic.topic_id}
        partitions = ((name, partition) for name, topic in topics.items() for partition in topic.partitions)
        log_ends = self.admin.list_offsets(partitions)
        self.result.failures += log_ends.failed.values()
        self.log_ends = {partition: offset for partition, offset in log_ends.succeeded.items() if offset is not None}
        self.result.partitions = len(self.log_ends)
        for partition, _, response in self._look_up([PartitionTime(*partition, 0) for partition in self.log_ends]):
            self.first_records[partition] = response
        self.last_responses = dict(self.first_records)

    def _select_topics(self, names: Collection[str] | None) -> dict[str, Topic]:
        """Return the named topics, or all topics that are not internal; note those that failed. Raises AdminError."""
        topics = self.admin.list_topics()
        if names is None:
            names_not_internal = {name for name, topic in topics.succeeded.items() if not topic.internal}
            selected_names = names_not_internal | topics.failed.keys()
        else:
            selected_names = {*names}
        absent_names = sorted(selected_names - topics.succeeded.keys() - topics.failed.keys())
        self.result.failures += [failure for name, failure in topics.failed.items() if name in selected_names]
        self.result.failures += _fail_absent_topics(absent_names, topics.succeeded)
        return {name: topic for name, topic in topics.succeeded.items() if name in selected_names}

    def write_day(self, times: range) -> None:
        """Look up the times of one day (UTC), in ms since 1970, and commit its new rows.

        Call it for the days in ascending order. Raises AdminError and StorageError.
        """
        # Object stores have no locks. If another backfill reads the tables at the same time, it finds the same rows
        # missing. The later commit is refused, because the version of the application has changed.
        application = f"{self.result.cluster_id}/{_ORIGIN}"
        version = self.storage.versions_of(PARTITION_OFFSETS, [application]).get(application)
        partitions = [*self.log_ends]
        partitions_in_memory = max(1, _ROWS_IN_MEMORY // len(times))
        batch_name = new_batch_name(BACKFILL, datetime.fromtimestamp(times[0] / 1000, UTC))
        with self.storage.writer(batch_name) as writer:
            for first_index in range(0, len(partitions), partitions_in_memory):
                rows = self._look_up_new_rows(times, partitions[first_index : first_index + partitions_in_memory])
                writer.write(PARTITION_OFFSETS, rows)
            files = writer.close()
        expected = {PARTITION_OFFSETS.name: {application: version}}
        self.storage.append(
            files, {application: (version or 0) + 1}, expected_versions=expected, tables=[PARTITION_OFFSETS]
        )
        self.result.rows += sum(file.rows for file in files)
        self.result.days += 1

    def _look_up_new_rows(self, times: range, partitions: Sequence[TopicPartition]) -> Any:
        """Look up the times of one day for some partitions, and return the rows that the tables lack.

        A partition that fails has rows for its responses before the failure. Raises AdminError and StorageError.
        """
        grid = TimeGrid(times, {partition: self.log_ends[partition] for partition in partitions}, self.last_responses)
        total_count = self.result.partitions * self.result.times
        while lookups := grid.next_lookups(self.log_ends.keys(), _LOOKUPS_PER_CALL):
            for response in self._look_up(lookups):
                grid.add_response(*response)
            self.progress("backfilling", self.known_count + grid.count_known(), total_count)
        self.known_count += len(partitions) * len(times)
        self.progress("backfilling", self.known_count, total_count)
        self.last_responses |= grid.last_responses()
        common_columns = {"cluster_id": self.result.cluster_id, "origin": _ORIGIN}
        grid_rows = grid.to_rows(self.first_records, self.topic_ids, common_columns, self.now_ms)
        new_indices = self._find_new(times, grid_rows.batch)
        self.result.deleted += int(grid_rows.is_deleted[new_indices].sum())
        self.result.ahead += int(grid_rows.is_ahead[new_indices].sum())
        return grid_rows.batch.take(pa.array(new_indices[grid_rows.is_stored[new_indices]]))

    def _look_up(self, lookups: Sequence[PartitionTime]) -> Iterator[tuple[TopicPartition, int, OffsetAndTimestamp]]:
        """Yield for each lookup its partition, its time in ms since 1970, and the first record at or after that time.

        The log end takes the place of a missing record, and of a record that was written after the log end offsets were
        requested. A partition that fails loses its log end offset, and is added to the failures. Raises AdminError.
        """
        for first_index in range(0, len(lookups), _LOOKUPS_PER_CALL):
            requested = lookups[first_index : first_index + _LOOKUPS_PER_CALL]
            responses = self.admin.offsets_for_times(requested)
            self.result.lookups += len(requested)
            for lookup, failure in responses.failed.items():
                if self.log_ends.pop(TopicPartition(lookup.topic, lookup.partition), None) is not None:
                    self.result.failures.append(failure)
            for lookup, record in responses.succeeded.items():
                partition = TopicPartition(lookup.topic, lookup.partition)
                log_end = self.log_ends.get(partition)
                if log_end is None:
                    continue
                if record is not None and record.offset < log_end:
                    yield partition, lookup.time_ms, record
                else:
                    yield partition, lookup.time_ms, OffsetAndTimestamp(log_end, NEVER_MS)

    def _find_new(self, times: range, rows: Any) -> Ints:
        """Return the indices of a day's rows that no earlier backfill has written, ascending. Raises StorageError."""
        day = datetime.fromtimestamp(times[0] / 1000, UTC).date().isoformat()
        # `compact` leaves the files of backfills as they are, so all rows of backfills are in them.
        files = [file for file in self.storage.files(PARTITION_OFFSETS, [day]) if file.batch.startswith(BACKFILL)]
        if not files or not len(rows):
            return np.arange(len(rows))
        new_rows = pa.table(rows.select(_ROW_KEY)).append_column("index", pa.array(np.arange(len(rows))))
        first_topic, last_topic = pc.min_max(rows["topic"]).values()
        topic_field = ds.field("topic")
        is_in_cluster = ds.field("cluster_id") == self.result.cluster_id
        is_relevant = is_in_cluster & (topic_field >= first_topic) & (topic_field <= last_topic)
        with as_storage_error("read the tables", self.storage.location):
            stored_rows = ds.dataset(
                [file.path for file in files], PARTITION_OFFSETS.arrow(), "parquet", self.storage.directory.fs
            )
            for batch in stored_rows.to_batches(columns=_ROW_KEY, filter=is_relevant):
                new_rows = new_rows.join(pa.table(batch), _ROW_KEY, join_type="left anti")
        return np.sort(new_rows["index"].to_numpy())
