"""An administrator sets the commits of a group back."""

from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Set commits back while the command looks."""
    partitions = stage.random.choice([1, 3])
    stage.make_topic(partitions)
    for partition in range(partitions):
        stage.traffic.write(stage.topic, partition, 500)
    stage.commit(dict.fromkeys(range(partitions), 450))
    back_to = stage.random.choice([0, 100])
    stage.later(stage.random.choice([4.0, 12.0]), lambda: stage.commit(dict.fromkeys(range(partitions), back_to)))


INCIDENT = Incident("rewind", inject, is_exact=True)
