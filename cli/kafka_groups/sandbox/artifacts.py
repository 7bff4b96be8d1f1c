"""The Maven artifacts of Kafka's programs: brokers with their tools, Kafka Streams, Kafka Connect."""

from __future__ import annotations

from dataclasses import dataclass

from kafka_groups.sandbox.versions import KafkaVersion

Exclusions = tuple[tuple[str, str], ...]

# Helpers of a validator that nothing calls.
_VALIDATOR: Exclusions = (
    ("commons-beanutils", "commons-beanutils"),
    ("commons-digester", "commons-digester"),
    ("commons-logging", "commons-logging"),
    ("commons-collections", "commons-collections"),
)
# The tools depend on Kafka Connect with a web server. Without it and the validator the first start downloads 45 MB in
# 20 s instead of 56 MB in 48 s.
_WEB_SERVER: Exclusions = (
    ("org.apache.kafka", "connect-runtime"),
    ("com.fasterxml.jackson.jakarta.rs", "jackson-jakarta-rs-json-provider"),
)
# The native store of Kafka Streams has 73 MB. Stores in memory need no class of it.
_ROCKSDB: Exclusions = (("org.rocksdb", "rocksdbjni"),)


@dataclass(frozen=True, kw_only=True, slots=True)
class Artifacts:
    """The artifacts of one program; Maven resolves their dependencies.

    `name` and `megabytes`, the size of what is not already downloaded for the brokers, are for messages. `list_name` is
    the name of the list of their jars in the cache of the version.
    """

    name: str
    version: KafkaVersion
    coordinates: tuple[str, ...]
    excluded: Exclusions
    megabytes: int
    list_name: str


def broker_artifacts(version: KafkaVersion) -> Artifacts:
    """Return the artifacts of brokers and of Kafka's command-line tools."""
    return Artifacts(
        name="Kafka",
        version=version,
        coordinates=version.coordinates,
        excluded=(*_WEB_SERVER, *_VALIDATOR),
        megabytes=45,
        list_name="jars.json",
    )


def streams_artifacts(version: KafkaVersion) -> Artifacts:
    """Return the artifacts of Kafka Streams and its examples, with those of the brokers for the log.

    The examples are those of the tools' version, which run with a newer Kafka Streams.
    """
    coordinates = (
        f"org.apache.kafka:kafka-streams:{version}",
        f"org.apache.kafka:kafka-streams-examples:{version.tools}",
    )
    return Artifacts(
        name="Kafka Streams",
        version=version,
        coordinates=(*version.coordinates, *coordinates),
        excluded=(*_ROCKSDB, *_WEB_SERVER, *_VALIDATOR),
        megabytes=3,
        list_name="streams-jars.json",
    )


def connect_artifacts(version: KafkaVersion) -> Artifacts:
    """Return the artifacts of Connect workers with file connectors, with those of the brokers for the log.

    They have the tools' version: a connector runs only on workers of its own version.
    """
    version = version.tools
    coordinates = (f"org.apache.kafka:connect-runtime:{version}", f"org.apache.kafka:connect-file:{version}")
    return Artifacts(
        name="Kafka Connect",
        version=version,
        coordinates=(*version.coordinates, *coordinates),
        excluded=_VALIDATOR,
        megabytes=11,
        list_name="connect-jars.json",
    )
