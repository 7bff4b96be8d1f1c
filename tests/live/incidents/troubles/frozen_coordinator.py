"""A broker hangs that coordinates a group, and leads none of its partitions."""

from tests.live.groups.coordination import find_coordinators
from tests.live.incidents.stage import Incident, Stage, leave


def inject(stage: Stage) -> None:
    """Freeze the coordinator while the command looks."""
    partitions = stage.random.choice([1, 4])
    stage.make_topic(1, topic=f"{stage.topic}-first")
    first = stage.start_application(topics=f"{stage.topic}-first")
    stage.await_assignment(members=1)
    coordinator = find_coordinators(stage.bootstrap, [stage.group])[stage.group]
    leave(first)
    stage.make_topic(partitions, leaders=[number for number in stage.brokers if number != coordinator])
    stage.produce(dict.fromkeys(range(partitions), stage.random.choice([5, 20])))
    stage.start_application(commit_interval=stage.random.choice([0.5, 2.0]))
    stage.await_commits(partitions)
    stage.later(stage.random.choice([2.0, 9.0]), lambda: stage.freeze_broker(coordinator))


INCIDENT = Incident("coordinator_trouble", inject, stops_broker=True)
