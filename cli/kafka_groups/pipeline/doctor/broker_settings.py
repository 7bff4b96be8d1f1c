"""The check of settings of the brokers: those that decide which commits the pipeline can still read."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any, Final

from confluent_kafka import KafkaException

# The package has no type hints that export these two names.
from confluent_kafka.admin import ConfigResource, ResourceType

from kafka_groups.admin.librdkafka import describe_error
from kafka_groups.errors import SourceError
from kafka_groups.pipeline.doctor.check import OK, WARNING, Check
from kafka_groups.pipeline.facts.source.brokers import new_admin
from kafka_groups.pipeline.facts.topic_settings import ResourceConfig, await_settings, request_timeout_s
from kafka_groups.settings.librdkafka import ClientProperties

# Commits of an empty group expire after the first setting. The second one turns on the log cleaner, without which
# nothing is compacted. Open transactions delay ingest; brokers abort a transaction after its producer's
# transaction.timeout.ms, which the third setting caps. The last one is the version of brokers without metadata.version.
_SETTINGS: Final = (
    "offsets.retention.minutes",
    "log.cleaner.enable",
    "transaction.max.timeout.ms",
    "inter.broker.protocol.version",
)


def check_broker_settings(client: ClientProperties, timeout_s: float) -> Check:
    """Return the check of some settings of all brokers: a warning if they differ, or if the log cleaner does not run.

    `client` has properties of librdkafka; each of two requests may take `timeout_s` seconds. Nothing is raised.
    """
    try:
        settings = _read_broker_settings(client, timeout_s)
    except SourceError as error:
        return _unknown_settings(str(error))
    return judge_broker_settings(settings)


def judge_broker_settings(settings: Sequence[ResourceConfig]) -> Check:
    """Return the check of the settings of each broker, whose resource is the id of the broker."""
    name = "settings of the brokers"
    brokers_by_text: dict[str, list[str]] = {}
    is_cleaning = True
    for broker in settings:
        if broker.values is None:
            return _unknown_settings(f"broker {broker.resource}: {broker.problem}")
        values = broker.values
        text = ", ".join(f"{setting}={values[setting]}" for setting in _SETTINGS if values.get(setting))
        brokers_by_text.setdefault(text or "defaults", []).append(broker.resource)
        is_cleaning = is_cleaning and values.get("log.cleaner.enable") != "false"
    if len(brokers_by_text) == 1:
        detail = next(iter(brokers_by_text))
    else:
        detail = "; ".join(f"brokers {', '.join(brokers)}: {text}" for text, brokers in brokers_by_text.items())
        detail = f"brokers differ: {detail}"
    if not is_cleaning:
        detail = f"{detail}; without the log cleaner, __consumer_offsets is never compacted, and grows without bound"
    return Check(name, OK if is_cleaning and len(brokers_by_text) == 1 else WARNING, detail)


def _unknown_settings(problem: str) -> Check:
    detail = f"they cannot be read: {problem}; this check needs DESCRIBE_CONFIGS on the cluster"
    return Check("settings of the brokers", WARNING, detail)


def _read_broker_settings(client: ClientProperties, timeout_s: float) -> list[ResourceConfig]:
    """Return the settings of each broker, by ascending id. Raises SourceError if the brokers cannot be listed."""
    admin = new_admin(client, timeout_s)
    timeout = request_timeout_s(timeout_s)
    try:
        # One more second lets librdkafka itself report the timeout, with its reason if there is one.
        nodes = admin.describe_cluster(request_timeout=timeout).result(timeout_s + 1).nodes
    except TimeoutError:
        raise SourceError("the brokers did not respond in time") from None
    except KafkaException as error:
        raise SourceError(describe_error(error.args[0], client)) from None
    responses: dict[ConfigResource, Future[Any]] = {}
    for broker in sorted(node.id for node in nodes):
        # A request goes to the broker itself, so librdkafka accepts only one broker in each.
        resource = ConfigResource(ResourceType.BROKER, str(broker))
        responses |= admin.describe_configs([resource], request_timeout=timeout)
    return await_settings(responses, client, timeout_s)
