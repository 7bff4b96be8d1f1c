"""A group without members has read everything that there is: it is empty by design."""

from tests.live.incidents.stage import HealthyGroup, Stage


def start(stage: Stage) -> None:
    """Commit the log end without a member."""
    partitions = stage.random.choice([1, 4])
    records = stage.random.choice([0, 100])
    stage.make_topic(partitions)
    for partition in range(partitions):
        stage.traffic.write(stage.topic, partition, records)
    stage.commit(dict.fromkeys(range(partitions), records))


HEALTHY = HealthyGroup("drained", start)
