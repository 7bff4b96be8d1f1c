"""Evidence for tests of causes of streams groups."""

from __future__ import annotations

from kafka_groups.members import StreamsMember, SubtopologyTasks, TaskAssignment, Topology
from kafka_groups.members import Subtopology as SubtopologyOf
from kafka_groups.model import GroupDescription, Member
from tests.causes.observed_group import description, member

_SUBTOPOLOGY = SubtopologyOf("0", ("orders",), (), (), ("g-store-changelog",))


def streams_member(
    name: str, *, epoch: int = 1, warmup: tuple[int, ...] = (), restoration_lag: int | None = None
) -> Member:
    """Return a member that runs task 0:0, and restores tasks of the same subtopology."""
    warm = (SubtopologyTasks("0", warmup),) if warmup else ()
    tasks = TaskAssignment(active=(SubtopologyTasks("0", (0,)),), warmup=warm)
    streams = StreamsMember("process", epoch, tasks, tasks, restoration_lag=restoration_lag)
    return member(name, {"orders": [0]}, streams=streams)


def streams_group(*members: Member, state: str | None = None, epoch: int = 1) -> GroupDescription:
    """Return a streams group whose only subtopology reads the topic orders; NotReady without subtopologies."""
    subtopologies = None if state == "NotReady" else (_SUBTOPOLOGY,)
    topology = Topology(epoch, subtopologies)
    return description(*members, state=state, type="Streams", protocol_type="streams", topology=topology)
