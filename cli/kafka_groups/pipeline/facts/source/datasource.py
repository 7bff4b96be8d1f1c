"""The classes that Spark calls, and their options. They hold options only; requests are sent where Spark runs them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import pyarrow.compute as pc
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from kafka_groups.errors import SourceError
from kafka_groups.numerals import parse_decimal, parse_integer
from kafka_groups.pipeline.facts.decode.columns import RECORD
from kafka_groups.pipeline.facts.source import plan
from kafka_groups.pipeline.facts.source.brokers import Brokers
from kafka_groups.pipeline.facts.source.plan import EARLIEST, LATEST, TIMEOUT_S, Log, Offsets, Range
from kafka_groups.pipeline.facts.source.ranges import read_rows
from kafka_groups.pipeline.tables.spark_types import spell_type
from kafka_groups.settings.librdkafka import ClientProperties
from kafka_groups.settings.properties import RESERVED_KEYS

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

_PREFIX: Final = "kafka."
_WORDS: Final = {"earliest": EARLIEST, "latest": LATEST}

Position = dict[str, Any]  # how Spark keeps one, in JSON


class KafkaGroupsSource(DataSource):
    """The records of `__consumer_offsets`, decoded: format "kafka_groups", for spark.read and spark.readStream.

    Options: kafka.<property of librdkafka>, startingOffsets (earliest, latest, or JSON such as {"0": 23}; -2 is
    earliest, -1 latest; none beyond the end), group (that one only, from its partition only), maxRecordsPerBatch (of a
    stream), minPartitions (tasks that run at once: their number is a multiple of it), timeout (seconds without any
    progress).
    """

    @classmethod
    def name(cls) -> str:
        """Return the name that Spark knows it by."""
        return "kafka_groups"

    def schema(self) -> str:
        """Return columns.RECORD."""
        read_options(self.options)
        return ", ".join(f"`{field.name}` {spell_type(field.type)}" for field in RECORD)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return a reader of all that there is now."""
        return _BatchReader(**read_options(self.options))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return a reader of what came since the checkpoint."""
        return _StreamReader(**read_options(self.options))


def _offsets(text: str) -> dict[int, int] | int:
    """Read a word for all partitions, or offsets by partition from JSON like {"0": 23, "1": -2}."""
    if text in _WORDS:
        return _WORDS[text]
    offsets = {parse_integer(partition): offset for partition, offset in json.loads(text).items()}
    if not all(type(offset) is int and offset >= EARLIEST for offset in offsets.values()):
        raise ValueError
    return offsets


def _number(text: str) -> int:
    if (number := parse_integer(text)) < 1:
        raise ValueError
    return number


def _seconds(text: str) -> float:
    if not 0 < (seconds := parse_decimal(text)) < float("inf"):
        raise ValueError
    return seconds


_WHOLE: Final = "a whole number, at least 1"
# The field of a reader, what reads it (ValueError or AttributeError if it cannot), and what can be written.
_OPTIONS: Final[Mapping[str, tuple[str, Callable[[str], Any], str]]] = {
    "startingOffsets": ("starting", _offsets, 'earliest, latest, or offsets as JSON: {"0": 23}'),
    "group": ("group", str, ""),
    "maxRecordsPerBatch": ("records_per_batch", _number, _WHOLE),
    "minPartitions": ("tasks_at_once", _number, _WHOLE),
    "timeout": ("timeout_s", _seconds, "a number of seconds greater than 0"),
}


def read_options(given: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a reader; SourceError names an option that is not known or cannot be used."""
    names = {name.lower(): name for name in _OPTIONS}
    client: dict[str, str] = {}
    found: dict[str, Any] = {}
    # Spark knows no upper case in the names of options.
    for name, text in ((name.lower(), text) for name, text in given.items()):
        if name in names:
            field_name, read, usable = _OPTIONS[names[name]]
            try:
                found[field_name] = read(text)
            except (ValueError, AttributeError):
                msg = f"the option {names[name]} cannot be {text!r}; write {usable}"
                raise SourceError(msg) from None
        elif name.startswith(_PREFIX):
            client[name.removeprefix(_PREFIX)] = text
        else:
            known = ", ".join(_OPTIONS)
            msg = f"kafka_groups has no option {name!r}; its options are kafka.<property of librdkafka>, {known}"
            raise SourceError(msg)
    if not client.get("bootstrap.servers"):
        raise SourceError("the option kafka.bootstrap.servers is missing; set it to host:port of the brokers")
    return {"client": {name: text for name, text in client.items() if name not in RESERVED_KEYS}} | found


@dataclass
class _Reader:
    """What both readers do, and their options; `client` are properties of librdkafka, secrets among them."""

    client: ClientProperties = field(repr=False)
    starting: Offsets | int | None = None  # None: earliest
    group: str | None = None
    records_per_batch: int | None = None  # None: no limit
    tasks_at_once: int = 1
    timeout_s: float = TIMEOUT_S

    @cached_property
    def brokers(self) -> Brokers:
        return Brokers(self.client, self.timeout_s)

    @cached_property
    def cluster_id(self) -> str:
        return self.brokers.cluster()[0]

    def __getstate__(self) -> dict[str, Any]:
        """Return what can travel to tasks: a client cannot."""
        return {name: value for name, value in self.__dict__.items() if name != "brokers"}

    def log(self) -> Log:
        return self.brokers.log(self.group)

    def tasks(self, cluster_id: str, ranges: list[Range]) -> list[InputPartition]:
        return [InputPartition((cluster_id, task)) for task in plan.tasks_of(ranges, at_once=self.tasks_at_once)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if partition.value is None:
            return iter(())  # where there is nothing to read, Spark makes a partition of its own
        rows = read_rows(self.client, self.timeout_s, *partition.value)
        group = self.group
        return rows if group is None else (batch.filter(pc.equal(batch["group"], group)) for batch in rows)


class _BatchReader(_Reader, DataSourceReader):
    def partitions(self) -> list[InputPartition]:
        cluster_id, log = self.cluster_id, self.log()
        starts = plan.started(self.starting, self.brokers.earliest(sorted(log.ends)), log.ends)
        return self.tasks(cluster_id, plan.ranges_between(starts, log.ends))


@dataclass
class _StreamReader(_Reader, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A reader whose position is in Spark's checkpoint only, with the cluster and the topic: it fits no other ones."""

    _target: Log | None = None

    def initialOffset(self) -> Position:
        cluster_id, log = self.cluster_id, self.log()
        starts = plan.started(self.starting, self.brokers.earliest(sorted(log.ends)), log.ends)
        return position_of(cluster_id, Log(log.topic_id, starts))

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable() if self.records_per_batch is None else ReadMaxRows(self.records_per_batch)

    def prepareForTriggerAvailableNow(self) -> None:
        """Fix the end of the run: what comes after this call is left for the next run."""
        self._target = self.log()

    def latestOffset(self, start: Position, limit: ReadLimit) -> Position:
        read = log_in(start, self.cluster_id)
        log = plan.sound_log(read, self.log, first=self._target or self.log(), patience_s=self.timeout_s)
        if self._target is not None:
            self._target = log
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        ends = {**read.ends, **plan.limited(read.ends, log.ends, most)}
        # Another epoch alone is no batch.
        return start if ends == read.ends else position_of(self.cluster_id, log._replace(ends=ends))

    def partitions(self, start: Position, end: Position) -> list[InputPartition]:
        read, wanted = (log_in(position, self.cluster_id) for position in (start, end))
        return self.tasks(self.cluster_id, plan.ranges_between(read.ends, wanted.ends, read.epochs))


def position_of(cluster_id: str, log: Log) -> Position:
    """Return the ends of a log as Spark's checkpoint keeps them, with the cluster and the topic that they belong to."""
    ends, epochs = ({str(each): found[each] for each in sorted(found)} for found in (log.ends, log.epochs))
    return {"cluster_id": cluster_id, "topic_id": log.topic_id, "ends": ends, "leader_epochs": epochs}


def log_in(position: Position, cluster_id: str) -> Log:
    """Return the log in what Spark kept; SourceError if that belongs to another cluster."""
    if (kept := position["cluster_id"]) != cluster_id:
        msg = (
            f"the checkpoint belongs to cluster {kept}, and the brokers to cluster {cluster_id}; "
            "use a directory or a checkpoint for each cluster"
        )
        raise SourceError(msg)
    found = ({int(each): at for each, at in position[name].items()} for name in ("ends", "leader_epochs"))
    return Log(position["topic_id"], *found)
