"""Settings files of brokers, ZooKeeper and their logs: a quick start, few resources, the loopback address only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kafka_groups.sandbox.ports import HOST
from kafka_groups.sandbox.state_file import Node, SandboxState
from kafka_groups.sandbox.versions import KafkaVersion


@dataclass(frozen=True, kw_only=True, slots=True)
class LoggingSettings:
    """Contents of logging files; `server` logs to the file that the JVM property `sandbox.log` names.

    `option` is the JVM property that names the logging file; the name of that file must end with `suffix`.
    """

    suffix: str
    option: str
    server: str
    tools: str


_YEAR_MINUTES = 525_600
_INTERNAL_PARTITIONS = 12
# Members report the progress of standby tasks each second, and a broker keeps the topologies of its groups (KIP-1331).
_TASK_OFFSETS = {
    "group.streams.min.task.offset.interval.ms": "500",
    "group.streams.task.offset.interval.ms": "1000",
    "group.streams.topology.description.plugin.class": (
        "org.apache.kafka.server.streams.InMemoryTopologyDescriptionPlugin"
    ),
}
_LISTS = frozenset({"listeners", "advertised.listeners", "listener.security.protocol.map"})


def broker_properties(state: SandboxState, node: Node, *, kafka: KafkaVersion, data: Path) -> dict[str, str]:
    """Return the server.properties of one broker, which is also a controller with KRaft."""
    settings = {"log.dirs": str(data), **_internal_topics(kafka, len(state.nodes)), **_common_settings()}
    if state.zookeeper_port is None:
        return settings | _kraft(node, state.nodes)
    return settings | {
        "broker.id": str(node.id),
        "zookeeper.connect": f"{HOST}:{state.zookeeper_port}",
        "listeners": f"PLAINTEXT://{HOST}:{node.port}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{node.port}",
    }


def merge_properties(settings: dict[str, str], properties: Mapping[str, str]) -> dict[str, str]:
    """Return `settings` with `properties` on top; a list of listeners is appended to the existing list."""
    lists = _LISTS & settings.keys()
    return settings | {key: f"{settings[key]},{value}" if key in lists else value for key, value in properties.items()}


def zookeeper_properties(port: int, *, data: Path) -> dict[str, str]:
    """Return the settings of the one ZooKeeper that stores the metadata of old brokers."""
    return {
        "dataDir": str(data),
        "clientPort": str(port),
        "clientPortAddress": HOST,
        "admin.enableServer": "false",
        "tickTime": "500",
    }


def as_properties(settings: Mapping[str, str]) -> str:
    r"""Return settings as the content of a Java properties file: Latin-1, so other characters become `\uXXXX`."""
    # Imported here, because `status` and `down` write no settings.
    import javaproperties

    return str(javaproperties.dumps(settings, timestamp=None))


def logging_settings(kafka: KafkaVersion) -> LoggingSettings:
    """Return the logging files of a Kafka version: brokers write warnings to a file, tools write them to stderr."""
    if kafka.numbers >= (4, 0, 0):
        return LoggingSettings(
            suffix=".xml", option="log4j2.configurationFile", server=_LOG4J2_FILE, tools=_LOG4J2_STDERR
        )
    return LoggingSettings(suffix=".properties", option="log4j.configuration", server=_LOG4J_FILE, tools=_LOG4J_STDERR)


def _kraft(node: Node, nodes: Sequence[Node]) -> dict[str, str]:
    voters = ",".join(f"{each.id}@{HOST}:{each.controller_port}" for each in nodes)
    return {
        "process.roles": "broker,controller",
        "node.id": str(node.id),
        "controller.quorum.voters": voters,
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "listeners": f"PLAINTEXT://{HOST}:{node.port},CONTROLLER://{HOST}:{node.controller_port}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{node.port}",
        # A broker accepts requests after its second or third heartbeat; the default of 2 s would delay the start.
        "broker.heartbeat.interval.ms": "500",
        "broker.session.timeout.ms": "6000",
    }


def _internal_topics(kafka: KafkaVersion, brokers: int) -> dict[str, str]:
    copies = str(min(brokers, 3))
    in_sync = str(min(brokers, 2))
    settings = {
        "offsets.topic.num.partitions": str(_INTERNAL_PARTITIONS),
        "offsets.topic.replication.factor": copies,
        "transaction.state.log.num.partitions": str(_INTERNAL_PARTITIONS),
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": in_sync,
    }
    if kafka.has_consumer_protocol:
        settings |= _heartbeats("consumer")
    if kafka.has_share_groups:
        settings |= _heartbeats("share")
        settings |= {
            "share.coordinator.state.topic.num.partitions": "3",
            "share.coordinator.state.topic.replication.factor": copies,
            "share.coordinator.state.topic.min.isr": in_sync,
        }
    if kafka.has_streams_groups:
        settings |= _heartbeats("streams") | {
            "group.streams.initial.rebalance.delay.ms": "500",
            "group.streams.num.standby.replicas": "1",
        }
    return settings | (_TASK_OFFSETS if kafka.has_task_offsets else {})


def _heartbeats(protocol: str) -> dict[str, str]:
    """Return heartbeat intervals that give members of newer group types their partitions within 1 s instead of 5 s."""
    return {
        f"group.{protocol}.min.heartbeat.interval.ms": "500",
        f"group.{protocol}.heartbeat.interval.ms": "1000",
    }


def _common_settings() -> dict[str, str]:
    return {
        "auto.create.topics.enable": "false",
        "num.partitions": "3",
        "group.initial.rebalance.delay.ms": "0",
        "group.min.session.timeout.ms": "1000",
        # A member that waits for a rebalance sends nothing for hours, and must not be disconnected.
        "connections.max.idle.ms": str(24 * 60 * 60 * 1000),
        "offsets.retention.minutes": str(_YEAR_MINUTES),
        # Groups without members and commits would be deleted after ten minutes.
        "offsets.retention.check.interval.ms": str(24 * 60 * 60 * 1000),
        # The default buffer of compaction takes 128 MB of the heap; 16 MB hold 600,000 keys.
        "log.cleaner.dedupe.buffer.size": str(16 * 1024 * 1024),
    }


_LOG4J2_FILE = """\
<Configuration status="ERROR">
  <Appenders>
    <File name="file" fileName="${sys:sandbox.log}" createOnDemand="true">
      <PatternLayout pattern="%d{ISO8601} %p %m (%c{1})%n"/>
    </File>
  </Appenders>
  <Loggers>
    <Root level="WARN"><AppenderRef ref="file"/></Root>
    <Logger name="kafka.server.KafkaRaftServer" level="INFO"/>
    <Logger name="kafka.log.LogCleaner" level="ERROR"/>
  </Loggers>
</Configuration>
"""
_LOG4J_FILE = """\
log4j.rootLogger=WARN, file
log4j.appender.file=org.apache.log4j.FileAppender
log4j.appender.file.File=${sandbox.log}
log4j.appender.file.layout=org.apache.log4j.PatternLayout
log4j.appender.file.layout.ConversionPattern=%d{ISO8601} %p %m (%c{1})%n
log4j.logger.kafka.server.KafkaServer=INFO
"""
_LOG4J2_STDERR = """\
<Configuration status="ERROR">
  <Appenders>
    <Console name="stderr" target="SYSTEM_ERR"><PatternLayout pattern="[%d] %p %m (%c)%n"/></Console>
  </Appenders>
  <Loggers><Root level="WARN"><AppenderRef ref="stderr"/></Root></Loggers>
</Configuration>
"""
_LOG4J_STDERR = """\
log4j.rootLogger=WARN, stderr
log4j.appender.stderr=org.apache.log4j.ConsoleAppender
log4j.appender.stderr.Target=System.err
log4j.appender.stderr.layout=org.apache.log4j.PatternLayout
log4j.appender.stderr.layout.ConversionPattern=[%d] %p %m (%c)%n
"""
