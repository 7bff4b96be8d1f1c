"""A broker hangs that leads some of the partitions of a group."""

from tests.live.groups.coordination import find_coordinators
from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Freeze a leader that does not coordinate the group, before the command looks or while it does."""
    leaders = [*stage.brokers]
    partitions = len(leaders) * stage.random.choice([1, 2])
    stage.make_topic(partitions, leaders=leaders)
    stage.produce(dict.fromkeys(range(partitions), stage.random.choice([5, 20])))
    stage.start_application(commit_interval=stage.random.choice([0.5, 2.0]))
    stage.await_commits(partitions)
    coordinator = find_coordinators(stage.bootstrap, [stage.group])[stage.group]
    frozen = stage.random.choice([number for number in leaders if number != coordinator])
    stage.later(stage.random.choice([2.0, 9.0]), lambda: stage.freeze_broker(frozen))


INCIDENT = Incident("broker_trouble", inject, stops_broker=True)
