"""What members of streams and Connect groups run: tasks of a topology, connectors and their tasks. Absent is None."""

from __future__ import annotations

from typing import NamedTuple


class SubtopologyTasks(NamedTuple):
    """The tasks of one subtopology that a member has. A task is one partition of the subtopology; ascending."""

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
    """What a member of a streams group is: a thread of a process, with its tasks.

    `restoration_lag` is how many records of changelogs its standby and warm-up tasks have not read yet; None if the
    broker does not know it (before 4.4, and after its coordinator moved). `endpoint` is host and port for interactive
    queries, None without any.
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
    description of them, and `description` says why: not_requested, not_stored, error or available.
    """

    epoch: int
    subtopologies: tuple[Subtopology, ...] | None
    description: str = "not_requested"
    nodes: tuple[tuple[str, tuple[TopologyNode, ...]], ...] | None = None
    global_nodes: tuple[tuple[TopologyNode, TopologyNode], ...] | None = None


class ConnectorTasks(NamedTuple):
    """What a worker runs of one connector: the connector itself or not, and the numbers of tasks, ascending."""

    connector: str
    has_connector: bool
    tasks: tuple[int, ...]


class ConnectWorker(NamedTuple):
    """What a member of a Connect group is: a worker, with the connectors and tasks that it runs.

    `leader` is the member id of the worker that leads the group, `leader_url` its REST URL. `config_offset` is how far
    the worker has read the config topic. `scheduled_delay_ms` is how long the leader still withholds tasks of a lost
    worker (scheduled.rebalance.max.delay.ms); 0 if it withholds none. `has_old_config` is True if the leader's config
    offset was not the worker's (CONFIG_MISMATCH), so that the worker runs nothing. `connectors` are None, and so are
    all other values of the assignment, while the group rebalances.
    """

    url: str
    config_offset: int
    connectors: tuple[ConnectorTasks, ...] | None
    leader: str | None = None
    leader_url: str | None = None
    scheduled_delay_ms: int | None = None
    has_old_config: bool | None = None
