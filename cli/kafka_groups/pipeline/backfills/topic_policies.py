"""Which topics are compacted: the brokers' responses for a time do not say where such a log ended then.

Compaction takes records out of the middle of a log. The first record that is left at or after a time may have been
written long after the one that was there, and then its offset is above the log end of that time: lag would be invented.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import wait
from typing import Any, Final, NamedTuple

from confluent_kafka import KafkaException

# Its type hints do not say that it passes these on.
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from kafka_groups.pipeline.source.brokers import hidden

_AT_ONCE: Final = 1_000  # topics; a response has all settings of each, some 4 KB
_LONGEST_S: Final = 3_600.0  # librdkafka takes no longer time for a request
_POLICY: Final = "cleanup.policy"
_SILENT: Final[dict[str, Any]] = {"log_level": 0, "error_cb": lambda _error: None}


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
    try:
        admin = AdminClient({**client, **_SILENT})
    except (KafkaException, ValueError, TypeError) as error:
        return Policies([], [*names], _reason(error, client))
    left = [*names]
    while left:
        some, left = left[:_AT_ONCE], left[_AT_ONCE:]
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in some]
        responses = admin.describe_configs(resources, request_timeout=min(timeout_s, _LONGEST_S))
        # librdkafka says by itself that it is too late, and maybe why, if it is given a second more.
        wait(responses.values(), timeout_s + 1)
        for resource, response in responses.items():
            try:
                policy = response.result(timeout=0)[_POLICY].value or ""
            except (KafkaException, LookupError, TimeoutError) as error:
                unknown[resource.name] = _reason(error, client)
                # What librdkafka says itself has a code below zero, and holds for all topics.
                if isinstance(error, TimeoutError) or (isinstance(error, KafkaException) and error.args[0].code() < 0):
                    unknown |= dict.fromkeys(left, unknown[resource.name])
                    left = []
            else:
                if "compact" in (each.strip() for each in policy.split(",")):
                    compacted.append(resource.name)
    return Policies(compacted, [*unknown], next(iter(unknown.values()), ""))


def _reason(error: Exception, client: Mapping[str, str]) -> str:
    if isinstance(error, TimeoutError):
        return "the brokers did not respond in time"
    if isinstance(error, LookupError):
        return f"the brokers return no {_POLICY}"
    return hidden(str(error.args[0].str() if isinstance(error, KafkaException) else error), client)
