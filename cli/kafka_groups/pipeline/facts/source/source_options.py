"""The options of Spark's format "kafka_groups"."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from kafka_groups.errors import SourceError
from kafka_groups.numerals import parse_decimal, parse_integer
from kafka_groups.pipeline.facts.source.range_plan import EARLIEST, LATEST
from kafka_groups.settings.properties import RESERVED_KEYS

_CLIENT_PREFIX: Final = "kafka."
_SERVERS: Final = "bootstrap.servers"
_OFFSETS_BY_WORD: Final = {"earliest": EARLIEST, "latest": LATEST}


class _Option(NamedTuple):
    """An option: the field of a reader that it sets, the parser of its text, and a description of usable texts.

    The parser raises ValueError or AttributeError for other texts.
    """

    field: str
    parse: Callable[[str], Any]
    usable_texts: str


def _parse_offsets(option_text: str) -> dict[int, int] | int:
    """Return the number of a word for all partitions, or offsets by partition from JSON like {"0": 23, "1": -2}."""
    if option_text in _OFFSETS_BY_WORD:
        return _OFFSETS_BY_WORD[option_text]
    offsets = {parse_integer(partition): offset for partition, offset in json.loads(option_text).items()}
    for offset in offsets.values():
        # Python parses JSON's true as bool, which is an int, too.
        if type(offset) is not int or offset < EARLIEST:
            raise ValueError(option_text)
    return offsets


def _parse_count(option_text: str) -> int:
    count = parse_integer(option_text)
    if count < 1:
        raise ValueError(option_text)
    return count


def _parse_seconds(option_text: str) -> float:
    seconds = parse_decimal(option_text)
    if not 0 < seconds < float("inf"):
        raise ValueError(option_text)
    return seconds


_COUNT_TEXTS: Final = "a whole number, at least 1"
_OPTIONS: Final = {
    "startingOffsets": _Option("starting", _parse_offsets, 'earliest, latest, or offsets as JSON: {"0": 23}'),
    "group": _Option("group", str, ""),
    "maxRecordsPerBatch": _Option("records_per_batch", _parse_count, _COUNT_TEXTS),
    "minPartitions": _Option("tasks_at_once", _parse_count, _COUNT_TEXTS),
    "timeout": _Option("timeout_s", _parse_seconds, "a number of seconds greater than 0"),
}
# Spark passes the names of options in lower case.
_NAMES_BY_LOWER_CASE: Final = {name.lower(): name for name in _OPTIONS}


def read_options(options: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a reader by name, from the options: `client` has the properties of librdkafka.

    Properties that this package sets itself are ignored. Raises SourceError for an unknown option, and for an unusable
    text.
    """
    client: dict[str, str] = {}
    reader_fields: dict[str, Any] = {}
    for given_name, option_text in options.items():
        name = given_name.lower()
        if name in _NAMES_BY_LOWER_CASE:
            option_name = _NAMES_BY_LOWER_CASE[name]
            reader_fields[_OPTIONS[option_name].field] = _parse_option(option_name, option_text)
        elif name.startswith(_CLIENT_PREFIX):
            client[name.removeprefix(_CLIENT_PREFIX)] = option_text
        else:
            known_names = ", ".join(_OPTIONS)
            msg = f"kafka_groups has no option {name!r}; its options are kafka.<property of librdkafka>, {known_names}"
            raise SourceError(msg)
    if not client.get(_SERVERS):
        raise SourceError("the option kafka.bootstrap.servers is missing; set it to host:port of the brokers")
    reader_fields["client"] = {name: option_text for name, option_text in client.items() if name not in RESERVED_KEYS}
    return reader_fields


def _parse_option(name: str, option_text: str) -> Any:
    option = _OPTIONS[name]
    try:
        return option.parse(option_text)
    except (ValueError, AttributeError):
        msg = f"the option {name} cannot be {option_text!r}; write {option.usable_texts}"
        raise SourceError(msg) from None
