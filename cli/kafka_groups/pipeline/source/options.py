"""The options of a reader of `__consumer_offsets`, read from those that Spark hands over."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kafka_groups.errors import SourceError

CLIENT_PREFIX: Final = "kafka."
AUTOMATIC: Final = "auto"
TIMEOUT_S: Final = 60.0
EARLIEST: Final = -2
LATEST: Final = -1
_WORDS: Final = {"earliest": EARLIEST, "latest": LATEST}

# As Spark hands them over: it knows no upper case in the names of options.
_KNOWN: Final = {
    name.lower(): name
    for name in (
        "startingOffsets",
        "endingOffsets",
        "group",
        "maxRecordsPerBatch",
        "minPartitions",
        "recordsPerTask",
        "timeout",
        "dataDir",
        "batch",
        "leaderEpochs",
        "skippedOffsets",
    )
}
# What reads the topic is settled here; a group id would be one that nothing is ever done with.
_OURS: Final = frozenset({"group.id", "enable.auto.commit", "isolation.level", "enable.partition.eof"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """The options of one reader; `client` are properties of librdkafka, secrets among them."""

    client: Mapping[str, str] = field(repr=False)
    starting: Mapping[int, int] | int | None = None  # None: earliest
    ending: Mapping[int, int] | int | None = None  # None: all there is
    group: str | None = None
    records_per_batch: int | None = None  # None: no limit
    batches_are_automatic: bool = False
    records_per_task: int | None = None  # None: what planning thinks right
    tasks_at_once: int = 1
    timeout_s: float = TIMEOUT_S
    # Of an ingest: the tables that get the files, and the name of what is written.
    data_dir: str | None = None
    batch: str = ""
    # The leader epochs at the start, and by table the offsets below which it has its records already.
    epochs: Mapping[int, int] | None = None
    skipped: Mapping[str, Mapping[int, int]] = field(default_factory=dict)


def read_options(given: Mapping[str, str]) -> SourceOptions:
    """Read the options by their names in any case; SourceError names the one that is not known or cannot be used."""
    options = {name.lower(): value for name, value in given.items()}
    client = {
        name.removeprefix(CLIENT_PREFIX): value for name, value in options.items() if name.startswith(CLIENT_PREFIX)
    }
    for name in options:
        if name not in _KNOWN and not name.startswith(CLIENT_PREFIX):
            msg = f"kafka_groups has no option {name!r}; its options are kafka.<property of librdkafka>, {_names()}"
            raise SourceError(msg)
    if not client.get("bootstrap.servers"):
        msg = "the option kafka.bootstrap.servers is missing; set it to host:port of the brokers"
        raise SourceError(msg)
    limit = options.get("maxrecordsperbatch")
    return SourceOptions(
        client={name: value for name, value in client.items() if name not in _OURS},
        starting=_offsets("startingOffsets", options),
        ending=_offsets("endingOffsets", options),
        group=options.get("group"),
        records_per_batch=None if limit in {None, AUTOMATIC} else _number("maxRecordsPerBatch", options),
        batches_are_automatic=limit == AUTOMATIC,
        records_per_task=_number("recordsPerTask", options),
        tasks_at_once=_number("minPartitions", options) or 1,
        timeout_s=_seconds(options.get("timeout", str(TIMEOUT_S))),
        data_dir=options.get("datadir"),
        batch=options.get("batch", ""),
        epochs=_epochs(options),
        skipped=_skipped(options),
    )


def _names() -> str:
    return ", ".join(_KNOWN.values())


def _offsets(name: str, options: Mapping[str, str]) -> dict[int, int] | int | None:
    """Read a word for all partitions, or offsets by partition from JSON like {"0": 23, "1": -2}; None if not given."""
    text = options.get(name.lower())
    if text is None or text in _WORDS:
        return None if text is None else _WORDS[text]
    try:
        return {int(partition): _offset(offset) for partition, offset in json.loads(text).items()}
    except (ValueError, AttributeError, TypeError):
        msg = f'the option {name} cannot be {text!r}; write earliest, latest, or offsets as JSON: {{"0": 23}}'
        raise SourceError(msg) from None


def _epochs(options: Mapping[str, str]) -> dict[int, int] | None:
    text = options.get("leaderepochs")
    return None if text is None else _by_partition(json.loads(text))


def _skipped(options: Mapping[str, str]) -> dict[str, dict[int, int]]:
    found: dict[str, dict[str, int]] = json.loads(options.get("skippedoffsets", "{}"))
    return {table: _by_partition(offsets) for table, offsets in found.items()}


def _by_partition(found: Mapping[str, int]) -> dict[int, int]:
    return {int(partition): int(number) for partition, number in found.items()}


def _offset(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < EARLIEST:
        raise ValueError
    return value


def _number(name: str, options: Mapping[str, str]) -> int | None:
    text = options.get(name.lower())
    if text is None:
        return None
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        msg = f"the option {name} cannot be {text!r}; write a whole number, at least 1"
        raise SourceError(msg)
    return number


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        msg = f"the option timeout cannot be {text!r}; write a number of seconds greater than 0"
        raise SourceError(msg)
    return seconds
