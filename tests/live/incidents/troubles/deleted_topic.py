"""A topic is deleted while the group reads it; brokers delete the commits on it, too."""

from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Delete one of two topics while the command looks."""
    partitions = stage.random.choice([1, 3])
    stage.make_topic(partitions)
    other = stage.make_topic(1, topic=f"{stage.topic}-other")
    stage.traffic.write(other, 0, 50)
    for partition in range(partitions):
        stage.traffic.write(stage.topic, partition, 50)
    stage.commit(dict.fromkeys(range(partitions), stage.random.choice([0, 20])))
    stage.commit({0: 50}, topic=other)
    stage.later(stage.random.choice([6.0, 12.0]), stage.delete_topic)


INCIDENT = Incident("topic_deleted", inject, is_exact=True)
