"""The work of members of streams and Connect groups: tasks of a topology, connectors and their tasks."""

from __future__ import annotations

from typing import NamedTuple


class SubtopologyTasks(NamedTuple):
    """The tasks of one subtopology that a member has: the numbers of their partitions, ascending."""

    subtopology: str
    partitions: tuple[int, ...]


class TaskAssignment(NamedTuple):
    """The tasks of a member of a streams group, by subtopology: those that it runs, and those that it restores.

    Standby tasks are copies of the state of tasks that other members run. Warm-up tasks are copies that will replace
    them (KIP-1071).
    """

    active: tuple[SubtopologyTasks, ...] = ()
    standby: tuple[SubtopologyTasks, ...] = ()
    warmup: tuple[SubtopologyTasks, ...] = ()

    @property
    def task_count(self) -> int:
        """Return the number of tasks."""
        return sum(len(tasks.partitions) for role in self for tasks in role)


class StreamsMember(NamedTuple):
    """The part of a member that only streams groups have. A member is a thread of a process, with its tasks.

    `restoration_lag` is the number of changelog records that its standby and warm-up tasks have not read yet. It is
    None if the member has no such task, or if the broker does not know the offsets of each of them: before Kafka 4.4,
    and after the coordinator moved. `endpoint` is host and port for interactive queries, None without any.
    """

    process_id: str
    topology_epoch: int
    tasks: TaskAssignment
    target_tasks: TaskAssignment
    endpoint: tuple[str, int] | None = None
    restoration_lag: int | None = None
    is_classic: bool = False


class Subtopology(NamedTuple):
    """A part of a topology, whose tasks read the same partitions of its topics."""

    id: str
    source_topics: tuple[str, ...]
    repartition_source_topics: tuple[str, ...]
    repartition_sink_topics: tuple[str, ...]
    changelog_topics: tuple[str, ...]

    @property
    def input_topics(self) -> tuple[str, ...]:
        """Return the topics that its tasks read, by name."""
        return tuple(sorted({*self.source_topics, *self.repartition_source_topics}))


class TopologyNode(NamedTuple):
    """A source, a processor or a sink of a topology (KIP-1331). `successors` are the nodes that get its records."""

    name: str
    type: str
    source_topics: tuple[str, ...] = ()
    sink_topic: str | None = None
    stores: tuple[str, ...] = ()
    successors: tuple[str, ...] = ()


class Topology(NamedTuple):
    """The topology of a streams group.

    `subtopologies` are None while the group has no valid topology, such as without its source topics. `nodes` are those
    of each subtopology by its id, and `global_nodes` those of global stores; both are None if the broker has no
    description of them. `description` says whether it has one: not_requested, unsupported (a broker before Kafka 4.4),
    not_stored, error (the broker failed to read it) or available.
    """

    epoch: int
    subtopologies: tuple[Subtopology, ...] | None
    description: str = "not_requested"
    nodes: tuple[tuple[str, tuple[TopologyNode, ...]], ...] | None = None
    global_nodes: tuple[tuple[TopologyNode, TopologyNode], ...] | None = None


class ConnectorTasks(NamedTuple):
    """The part of a connector that a worker runs: the connector itself or not, and the numbers of tasks, ascending."""

    connector: str
    has_connector: bool
    tasks: tuple[int, ...]


class ConnectWorker(NamedTuple):
    """The part of a member that only Connect groups have: a worker, with the connectors and tasks that it runs.

    `url` is that of its REST interface. `config_offset` is the offset up to which it has read the config topic.
    `leader` is the member id of the worker that leads the group, `leader_url` its REST URL. `scheduled_delay_ms` is the
    time for which the leader still withholds the tasks of a lost worker (scheduled.rebalance.max.delay.ms); 0 if it
    withholds none. `has_config_mismatch` is True if the leader assigned nothing, because it had not read the newest
    configuration itself (CONFIG_MISMATCH): the workers read it and join again. While the group rebalances, brokers have
    no assignment: `connectors` and all values after it are None.
    """

    url: str
    config_offset: int
    connectors: tuple[ConnectorTasks, ...] | None
    leader: str | None = None
    leader_url: str | None = None
    scheduled_delay_ms: int | None = None
    has_config_mismatch: bool | None = None
