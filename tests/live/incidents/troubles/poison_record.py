"""An application fails on one record and tries it again, and its other partitions go on."""

from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Let one partition stay at a record."""
    partitions = stage.random.choice([2, 3, 6])
    poison = stage.random.randrange(partitions)
    stage.make_topic(partitions)
    for partition in range(partitions):
        stage.traffic.write(stage.topic, partition, 50)
    stage.produce(dict.fromkeys(range(partitions), stage.random.choice([5, 20])))
    stage.start_application(
        poison=f"{stage.topic}:{poison}:{stage.random.randrange(5, 50)}",
        commit_interval=stage.random.choice([0.5, 1.0, 4.0]),
        protocol=stage.random.choice(["classic", "consumer"]),
    )
    stage.await_commits(partitions)
    stage.sleep(5.0)


INCIDENT = Incident("stuck_partition", inject)
