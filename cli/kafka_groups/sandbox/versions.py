"""Differences between the Kafka versions that the sandbox runs."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kafka_groups.errors import SandboxError

DEFAULT_VERSION = "4.3.1"
OLDEST = (2, 4, 0)  # the first version that was published for Scala 2.13
_WITHOUT_TOOLS = (4, 4, 0)  # its kafka-tools cannot be resolved, and the broker does not need it


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class KafkaVersion:
    """A release of Kafka; releases are ordered by their numbers."""

    numbers: tuple[int, int, int]

    def __str__(self) -> str:
        return ".".join(map(str, self.numbers))

    @property
    def has_kraft(self) -> bool:
        """Whether it runs without ZooKeeper (KIP-500)."""
        return self.numbers >= (2, 8, 0)

    @property
    def has_features(self) -> bool:
        """Whether the storage is formatted with feature levels, not only with a cluster ID (KIP-778)."""
        return self.numbers >= (3, 3, 0)

    @property
    def has_consumer_protocol(self) -> bool:
        """Whether consumer groups of KIP-848 are enabled by default."""
        return self.numbers >= (4, 0, 0)

    @property
    def has_share_groups(self) -> bool:
        """Whether share groups are enabled by default (KIP-932)."""
        return self.numbers >= (4, 2, 0)

    @property
    def has_streams_groups(self) -> bool:
        """Whether streams groups are enabled by default (KIP-1071)."""
        return self.numbers >= (4, 2, 0)

    @property
    def has_jwks(self) -> bool:
        """Whether brokers read the keys of tokens from a `file:` URL by the class names and the option of 4.x."""
        return self.numbers >= (4, 0, 0)

    @property
    def has_task_offsets(self) -> bool:
        """Whether streams groups know the progress of standby tasks, and brokers can keep topologies (KIP-1331)."""
        return self.numbers >= (4, 4, 0)

    @property
    def least_java(self) -> int:
        """The oldest Java that the brokers run on; a newer one works too (2.5.1 was tested on Java 25)."""
        return 17 if self.numbers >= (4, 0, 0) else 8

    @property
    def coordinates(self) -> tuple[str, ...]:
        """The Maven coordinates of the broker, and of its tools if they are a published artifact of their own."""
        tools = (f"org.apache.kafka:kafka-tools:{self}",) if (3, 8, 0) <= self.numbers < _WITHOUT_TOOLS else ()
        return (f"org.apache.kafka:kafka_2.13:{self}", *tools)

    @property
    def tools(self) -> KafkaVersion:
        """The version whose tools are run against the brokers: the same one, if its tools are published."""
        return self if self.numbers < _WITHOUT_TOOLS else parse_version(DEFAULT_VERSION)

    @property
    def bootstrap_checkpoint(self) -> str:
        """The path, below the data directory, of the file with the feature levels of a formatted node."""
        if self.numbers >= (4, 4, 0):  # KIP-1170
            return "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
        return "bootstrap.checkpoint"

    @property
    def groups_tool(self) -> str:
        """The main class of kafka-consumer-groups.sh."""
        if self.numbers >= (3, 8, 0):
            return "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
        return "kafka.admin.ConsumerGroupCommand"


def parse_version(text: str) -> KafkaVersion:
    """Parse a version such as `4.3.1`; raise SandboxError if it is not a version or too old for the sandbox."""
    match = re.fullmatch(r"([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})", text.strip())
    if not match:
        msg = f"'{text}' is not a version of Kafka; write for example {DEFAULT_VERSION}"
        raise SandboxError(msg)
    major, minor, patch = (int(number) for number in match.groups())
    version = KafkaVersion(numbers=(major, minor, patch))
    if version.numbers < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        msg = f"Kafka {version} is too old for the sandbox; use {oldest} or newer"
        raise SandboxError(msg)
    return version
