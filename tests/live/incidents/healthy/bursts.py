"""Records come in bursts, and the group reads each of them within seconds."""

from tests.live.incidents.stage import HealthyGroup, Stage


def start(stage: Stage) -> None:
    """Write many records at once, every few seconds."""
    partitions = stage.random.choice([1, 3])
    stage.make_topic(partitions)
    size = stage.random.choice([200, 1000])
    stage.start_application(commit_interval=0.5, rate=size)
    for partition in range(partitions):
        stage.traffic.write(stage.topic, partition, 10)
    stage.await_commits(partitions)

    def burst() -> None:
        for partition in range(partitions):
            stage.traffic.write(stage.topic, partition, size)

    stage.repeat(stage.random.choice([8.0, 13.0]), burst)


HEALTHY = HealthyGroup("bursts", start)
