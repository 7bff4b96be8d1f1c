"""Offsets were committed for a group that no member has ever joined."""

from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Commit offsets without a member, and let producers go on."""
    partitions = stage.random.choice([1, 4, 7])
    stage.make_topic(partitions)
    for partition in range(partitions):
        stage.traffic.write(stage.topic, partition, 50, age_s=stage.random.choice([10, 600]))
    stage.commit(dict.fromkeys(range(partitions), stage.random.choice([0, 10, 30])))
    stage.produce({0: stage.random.choice([0, 5])})


INCIDENT = Incident("never_started", inject, is_exact=True)
