"""Settings of topics, as brokers return them (DescribeConfigs), and the topics that are compacted according to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from typing import Any, Final, NamedTuple

from confluent_kafka import KafkaException

# The package has no type hints that export these two names.
from confluent_kafka.admin import ConfigResource, ResourceType

from kafka_groups.admin.librdkafka import describe_error
from kafka_groups.errors import SourceError
from kafka_groups.pipeline.facts.source.brokers import new_admin
from kafka_groups.settings.librdkafka import ClientProperties

# A response has all settings of each topic, which are some 4 KB.
_TOPICS_PER_REQUEST: Final = 1_000
# librdkafka refuses longer timeouts of a request.
_LONGEST_TIMEOUT_S: Final = 3_600.0
_POLICY: Final = "cleanup.policy"


class ResourceConfig(NamedTuple):
    """The settings of a topic or broker by their names, or the problem that left them unknown (`values` is None).

    The problem is a sentence without secrets. It is general if it concerns the settings of all topics.
    """

    resource: str
    values: Mapping[str, str] | None
    problem: str = ""
    is_problem_general: bool = False


class Policies(NamedTuple):
    """The topics that are compacted, and the topics that may be: their policy is unknown, for this reason."""

    compacted_topics: list[str]
    unknown_topics: list[str]
    reason: str = ""


def find_compacted(client: ClientProperties, timeout_s: float, topics: Sequence[str]) -> Policies:
    """Return which topics are compacted, from their cleanup policies; a problem leaves the topic's policy unknown.

    A backfill cannot look up where a compacted log ended in the past: compaction may have removed the first record at
    or after a time, and the next record may be much later.

    `client` has properties of librdkafka; each request may take `timeout_s` seconds. The returned reason belongs to the
    first unknown topic; it is empty if there is none.
    """
    compacted_topics: list[str] = []
    problem_by_topic: dict[str, str] = {}
    for settings in read_topic_settings(client, timeout_s, topics):
        if settings.values is None:
            problem_by_topic[settings.resource] = settings.problem
        elif _POLICY not in settings.values:
            problem_by_topic[settings.resource] = f"the brokers return no {_POLICY}"
        elif "compact" in map(str.strip, settings.values[_POLICY].split(",")):
            compacted_topics.append(settings.resource)
    return Policies(compacted_topics, [*problem_by_topic], next(iter(problem_by_topic.values()), ""))


def read_topic_settings(client: ClientProperties, timeout_s: float, topics: Sequence[str]) -> Iterator[ResourceConfig]:
    """Yield the settings of each topic, in the given order. Problems are part of the result.

    `client` has properties of librdkafka; each request may take `timeout_s` seconds. After a problem that concerns all
    topics, no further request is sent.
    """
    try:
        admin = new_admin(client, timeout_s)
    except SourceError as error:
        yield from (ResourceConfig(topic, None, str(error), is_problem_general=True) for topic in topics)
        return
    for first_index in range(0, len(topics), _TOPICS_PER_REQUEST):
        end_index = first_index + _TOPICS_PER_REQUEST
        resources = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics[first_index:end_index]]
        responses = admin.describe_configs(resources, request_timeout=request_timeout_s(timeout_s))
        general_problem: str | None = None
        for settings in await_settings(responses, client, timeout_s):
            yield settings
            if settings.is_problem_general:
                general_problem = settings.problem
        if general_problem is not None:
            yield from (
                ResourceConfig(topic, None, general_problem, is_problem_general=True) for topic in topics[end_index:]
            )
            return


def request_timeout_s(timeout_s: float) -> float:
    """Return the timeout of a request in seconds, as librdkafka accepts it."""
    return min(timeout_s, _LONGEST_TIMEOUT_S)


def await_settings(
    responses: Mapping[ConfigResource, Future[Any]], client: ClientProperties, timeout_s: float
) -> list[ResourceConfig]:
    """Wait for the responses to requests that were just sent, and return the settings of each resource, in order."""
    # One more second lets librdkafka itself report the timeout, with its reason if there is one.
    wait(responses.values(), timeout_s + 1)
    return [_to_settings(resource.name, response, client) for resource, response in responses.items()]


def _to_settings(resource: str, response: Future[Any], client: ClientProperties) -> ResourceConfig:
    try:
        config_entries = response.result(timeout=0)
    except TimeoutError:
        return ResourceConfig(resource, None, "the brokers did not respond in time", is_problem_general=True)
    except KafkaException as error:
        kafka_error = error.args[0]
        # An error of librdkafka itself has a negative code, and concerns the entire request.
        return ResourceConfig(
            resource, None, describe_error(kafka_error, client), is_problem_general=kafka_error.code() < 0
        )
    return ResourceConfig(resource, {name: entry.value or "" for name, entry in config_entries.items()})
