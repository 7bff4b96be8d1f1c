"""Which topics are compacted: the brokers' responses for a time do not say where such a log ended then.

Compaction takes records out of the middle of a log. The first record that is left at or after a time may have been
written long after the one that was there, and then its offset is above the log end of that time: lag would be invented.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from typing import Any, Final, NamedTuple

from confluent_kafka import KafkaException

# Its type hints do not say that it passes these on.
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from kafka_groups.pipeline.source.brokers import hidden

_AT_ONCE: Final = 1_000  # topics; a response has all settings of each, some 4 KB
_LONGEST_S: Final = 3_600.0  # librdkafka takes no longer time for a request
_MOMENT_S: Final = 1.0
_POLICY: Final = "cleanup.policy"
_COMPACT: Final = "compact"
_SILENT: Final[dict[str, Any]] = {"log_level": 0, "error_cb": lambda _error: None}
_LATE: Final = "the brokers did not respond in time"


class Policies(NamedTuple):
    """Of the requested topics: those that are compacted, those that may be, and why that is not known."""

    compacted: list[str]
    unknown: list[str]
    why: str = ""


def find_compacted(client: Mapping[str, str], timeout_s: float, names: Sequence[str]) -> Policies:
    """Ask the brokers for the policy of each topic, with these properties of librdkafka; each request has the timeout.

    Raises nothing of its own: whatever goes wrong leaves topics unknown. `why` is what did so first, without secrets.
    After a request that failed as a whole, none is made any more.
    """
    compacted: list[str] = []
    unknown: dict[str, str] = {}
    try:
        admin = AdminClient({**client, **_SILENT})
    except (KafkaException, ValueError, TypeError) as error:
        return Policies([], [*names], _said(error, client))
    for name, response in _answers(admin, timeout_s, names):
        try:
            if _is_compacted(response):
                compacted.append(name)
        except (KafkaException, LookupError, TimeoutError) as error:
            unknown[name] = _said(error, client)
    return Policies(compacted, [*unknown], next(iter(unknown.values()), ""))


def _answers(admin: AdminClient, timeout_s: float, names: Sequence[str]) -> Iterator[tuple[str, Future[Any]]]:
    """Yield a response for each topic. Topics that were not requested any more have none."""
    goes_on = True
    for at in range(0, len(names), _AT_ONCE):
        some = names[at : at + _AT_ONCE]
        responses = _ask(admin, timeout_s, some) if goes_on else [Future() for _ in some]
        # What fails as a whole fails alike for each.
        goes_on = goes_on and _is_of_brokers(responses[0])
        yield from zip(some, responses, strict=True)


def _ask(admin: AdminClient, timeout_s: float, names: Sequence[str]) -> list[Future[Any]]:
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
    responses = admin.describe_configs(resources, request_timeout=min(timeout_s, _LONGEST_S))
    # librdkafka says by itself that it is too late, and maybe why, if it is given a moment more.
    wait(responses.values(), timeout_s + _MOMENT_S)
    return [responses[resource] for resource in resources]


def _is_of_brokers(response: Future[Any]) -> bool:
    """Return whether it came from a broker, be it a refusal; what librdkafka says itself has a code below zero."""
    error = response.exception() if response.done() else TimeoutError()
    return error is None or (isinstance(error, KafkaException) and error.args[0].code() >= 0)


def _is_compacted(response: Future[Any]) -> bool:
    policy = response.result(timeout=0)[_POLICY].value or ""
    return _COMPACT in (each.strip() for each in policy.split(","))


def _said(error: Exception, client: Mapping[str, str]) -> str:
    if isinstance(error, KafkaException):
        return hidden(str(error.args[0].str()), client)
    if isinstance(error, TimeoutError):
        return _LATE
    if isinstance(error, LookupError):
        return f"the brokers return no {_POLICY}"
    return hidden(str(error), client)
