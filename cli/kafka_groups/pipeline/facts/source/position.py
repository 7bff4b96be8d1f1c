"""A position in `__consumer_offsets`: an offset in each partition.

Two places keep positions: the checkpoint of a Spark stream, as JSON, and the Delta logs of the tables, as versions of
applications (`txn` actions, which have a text and a number each).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Self

from kafka_groups.errors import SourceError

Offsets = Mapping[int, int]  # An offset by partition of `__consumer_offsets`.
LeaderEpochs = Mapping[int, int]  # The epoch of a leader by partition of `__consumer_offsets`.
NO_OFFSETS: Final[Offsets] = MappingProxyType({})
NO_LEADER_EPOCHS: Final[LeaderEpochs] = MappingProxyType({})
_NO_TOPIC_ID: Final = "-"  # Stands for the topic id where brokers return none.


class Position(NamedTuple):
    """An offset in each partition of `__consumer_offsets`, up to which the records were read or can be read.

    - `topic_id` is Kafka's id of the topic; None if brokers return none (before 2.8).
    - `next_offsets` has the offset of the next record in each partition.
    - `leader_epochs` has, for some partitions, the epoch of a leader that had all records before this offset.
    """

    topic_id: str | None
    next_offsets: Offsets
    leader_epochs: LeaderEpochs = NO_LEADER_EPOCHS

    def to_checkpoint(self, cluster_id: str) -> dict[str, Any]:
        """Return the position as Spark's checkpoint keeps it, in JSON, with the cluster that it belongs to."""
        return {
            "cluster_id": cluster_id,
            "topic_id": self.topic_id,
            "ends": {str(partition): self.next_offsets[partition] for partition in sorted(self.next_offsets)},
            "leader_epochs": {
                str(partition): self.leader_epochs[partition] for partition in sorted(self.leader_epochs)
            },
        }

    @classmethod
    def from_checkpoint(cls, content: Mapping[str, Any], cluster_id: str) -> Self:
        """Return the position that `to_checkpoint` returned; SourceError if it belongs to another cluster."""
        if content["cluster_id"] != cluster_id:
            msg = (
                f"the checkpoint belongs to cluster {content['cluster_id']}, and the brokers to cluster {cluster_id}; "
                "use a directory or a checkpoint for each cluster"
            )
            raise SourceError(msg)
        return cls(
            content["topic_id"],
            {int(partition): end for partition, end in content["ends"].items()},
            {int(partition): epoch for partition, epoch in content["leader_epochs"].items()},
        )

    def to_versions(self, cluster_id: str) -> dict[str, int]:
        """Return the position as versions of applications in a Delta log.

        There is one application for the topic, one for each end, and one for each epoch.
        """
        topic_text = self.topic_id or _NO_TOPIC_ID
        versions = {topic_application(cluster_id): _topic_number(topic_text)}
        for partition, end in self.next_offsets.items():
            versions[_end_application(cluster_id, topic_text, partition)] = end
        for partition, epoch in self.leader_epochs.items():
            versions[_epoch_application(cluster_id, topic_text, partition)] = epoch
        return versions

    @classmethod
    def from_versions(
        cls, versions: Mapping[str, int], cluster_id: str, topic_id: str | None, partitions: Collection[int]
    ) -> Self | None:
        """Return the position of these partitions from the versions in a Delta log, which `to_versions` returned.

        `topic_id` is the id that brokers return now. Return None if the position belongs to a topic with another id.
        """
        topic_number = versions[topic_application(cluster_id)]
        if topic_id is not None and topic_number == _topic_number(topic_id):
            topic_text = topic_id
        elif topic_number == _topic_number(_NO_TOPIC_ID):
            # The brokers returned no topic id when this was written, so the topic is taken to be the same one.
            topic_text = _NO_TOPIC_ID
        else:
            return None
        next_offsets: dict[int, int] = {}
        leader_epochs: dict[int, int] = {}
        for partition in partitions:
            end = versions.get(_end_application(cluster_id, topic_text, partition))
            if end is not None:
                next_offsets[partition] = end
            epoch = versions.get(_epoch_application(cluster_id, topic_text, partition))
            if epoch is not None:
                leader_epochs[partition] = epoch
        return cls(None if topic_text == _NO_TOPIC_ID else topic_text, next_offsets, leader_epochs)


def topic_application(cluster_id: str) -> str:
    """Return the application of the topic, which every position in a Delta log has."""
    return f"{cluster_id}/topic"


def _end_application(cluster_id: str, topic: str, partition: int) -> str:
    return f"{cluster_id}/{topic}/{partition}"


def _epoch_application(cluster_id: str, topic: str, partition: int) -> str:
    return f"{cluster_id}/{topic}/{partition}/epoch"


def _topic_number(topic: str) -> int:
    """Return a hash of a topic id as the version of an application, which is a number of at most 63 bits."""
    return int.from_bytes(hashlib.sha256(topic.encode()).digest()[:7])
