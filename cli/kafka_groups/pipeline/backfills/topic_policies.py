"""Settings of topics and brokers; which topics are compacted, so that brokers cannot say where their logs once ended.

Compaction takes records out of the middle of a log. The first record that is left at or after a time may have been
written long after the one that was there, and then its offset is above the log end of that time: lag would be invented.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import wait
from itertools import repeat
from typing import Final, NamedTuple

from confluent_kafka import KafkaException

# Its type hints do not say that it passes these on.
from confluent_kafka.admin import ConfigResource, ResourceType

from kafka_groups.errors import SourceError
from kafka_groups.pipeline.source.brokers import hidden, new_admin

_AT_ONCE: Final = 1_000  # topics; a response has all settings of each, some 4 KB
_LONGEST_S: Final = 3_600.0  # librdkafka takes no longer time for a request
_POLICY: Final = "cleanup.policy"


class Policies(NamedTuple):
    """Of the requested topics: those that are compacted, those that may be, and why that is not known."""

    compacted: list[str]
    unknown: list[str]
    why: str = ""


def find_compacted(client: Mapping[str, str], timeout_s: float, names: Sequence[str]) -> Policies:
    """Request the policy of each topic, with these properties of librdkafka; each request has the timeout.

    Raises nothing of its own: whatever goes wrong leaves topics unknown. `why` is what did so first, without secrets.
    After a request that failed as a whole, none is made any more.
    """
    compacted: list[str] = []
    unknown: dict[str, str] = {}
    for name, found in read_settings(client, timeout_s, ResourceType.TOPIC, names):
        if isinstance(found, str) or _POLICY not in found:
            unknown[name] = found if isinstance(found, str) else f"the brokers return no {_POLICY}"
        elif "compact" in map(str.strip, found[_POLICY].split(",")):
            compacted.append(name)
    return Policies(compacted, [*unknown], next(iter(unknown.values()), ""))


def read_settings(
    client: Mapping[str, str], timeout_s: float, kind: ResourceType, names: Sequence[str]
) -> Iterator[tuple[str, dict[str, str] | str]]:
    """Yield each topic or broker with its settings, or with the reason why they are not known."""
    try:
        admin = new_admin(client)
    except SourceError as error:
        yield from zip(names, repeat(str(error)))
        return
    why_none: str | None = None
    for at in range(0, len(names), _AT_ONCE):
        resources = [ConfigResource(kind, name) for name in names[at : at + _AT_ONCE]]
        responses = admin.describe_configs(resources, request_timeout=min(timeout_s, _LONGEST_S))
        # librdkafka says by itself that it is too late, and maybe why, if it is given a second more.
        wait(responses.values(), timeout_s + 1)
        for resource, response in responses.items():
            found: dict[str, str] | str
            try:
                found = {name: entry.value or "" for name, entry in response.result(timeout=0).items()}
            except TimeoutError:
                found = why_none = "the brokers did not respond in time"
            except KafkaException as error:
                found = hidden(error.args[0].str(), client)
                # What librdkafka says itself has a code below zero, and holds for all topics.
                why_none = found if error.args[0].code() < 0 else why_none
            yield resource.name, found
        if why_none is not None:
            yield from zip(names[at + _AT_ONCE :], repeat(why_none))
            return
