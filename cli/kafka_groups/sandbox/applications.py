"""Instances of a Kafka Streams application and Connect workers: their settings, topics and command lines; pure.

The application is Kafka's example that counts words, whose topics have fixed names. Its store is in memory, so it needs
no native library.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kafka_groups.sandbox.configuration import logging_settings
from kafka_groups.sandbox.kafka import Kafka, jvm_options
from kafka_groups.sandbox.ports import HOST

WORD_COUNT = "org.apache.kafka.streams.examples.wordcount.WordCountDemo"
CONNECT_WORKER = "org.apache.kafka.connect.cli.ConnectDistributed"
WORDS_TOPIC = "streams-plaintext-input"
COUNTS_TOPIC = "streams-wordcount-output"

_MEMORY_STORES = "org.apache.kafka.streams.state.BuiltInDslStoreSuppliers$InMemoryDslStoreSuppliers"
_STRINGS = "org.apache.kafka.connect.storage.StringConverter"
_HEAP_MB = 128


def streams_properties(bootstrap: str, group: str, number: int, *, state: Path) -> dict[str, str]:
    """Return the settings of one instance of the application; `state` is a directory of its own."""
    return {
        "bootstrap.servers": bootstrap,
        "application.id": group,
        "client.id": f"{group}-{number}",
        "group.protocol": "streams",
        "commit.interval.ms": "500",
        "state.dir": str(state),
        "dsl.store.suppliers.class": _MEMORY_STORES,
    }


def connect_properties(bootstrap: str, group: str, number: int, *, port: int, copies: int = 1) -> dict[str, str]:
    """Return the settings of one worker; `port` is that of its REST interface.

    Its topics, which it creates itself, have `copies` replicas.
    """
    topics = {f"{name}.storage.topic": f"{group}-{name}" for name in ("config", "offset", "status")}
    return {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "client.id": f"{group}-{number}",
        "listeners": f"HTTP://{HOST}:{port}",
        "rest.advertised.host.name": HOST,
        **topics,
        **{name.replace(".topic", ".replication.factor"): str(copies) for name in topics},
        "offset.storage.partitions": "1",
        "status.storage.partitions": "1",
        "key.converter": _STRINGS,
        "value.converter": _STRINGS,
        # A search of all jars for connectors takes longer.
        "plugin.discovery": "service_load",
        # Tasks of a worker that left are given to others after 3 s instead of 5 min.
        "scheduled.rebalance.max.delay.ms": "3000",
        "heartbeat.interval.ms": "500",
        # A consumer of a sink that ended without leaving its group holds a rebalance up for no longer than this.
        "consumer.max.poll.interval.ms": "10000",
        "consumer.session.timeout.ms": "6000",
        "session.timeout.ms": "6000",
        "offset.flush.interval.ms": "1000",
    }


def source_config(file: Path, topic: str) -> dict[str, str]:
    """Return the configuration of a connector that writes the lines of a file to a topic; it always has one task."""
    return {"connector.class": "FileStreamSource", "tasks.max": "1", "file": str(file), "topic": topic}


def sink_config(file: Path, topic: str, *, tasks: int) -> dict[str, str]:
    """Return the configuration of a connector that appends the records of a topic to a file."""
    return {"connector.class": "FileStreamSink", "tasks.max": str(tasks), "file": str(file), "topics": topic}


def application_line(kafka: Kafka, main: str, settings: Path, *, logging: Path, log: Path) -> Sequence[str]:
    """Return the command line of an instance or a worker; `logging` is the logging file, which names `log`.

    The file of its settings is the last argument.
    """
    properties: dict[str, str | Path] = {logging_settings(kafka.version).option: logging.as_uri(), "sandbox.log": log}
    return kafka.command(main, settings, jvm=jvm_options(heap_mb=_HEAP_MB, optimised=False), properties=properties)
