"""An administrator sets commits back on one topic; another topic has been unread for long."""

from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Set the commits on the first topic back while the command looks."""
    partitions = stage.random.choice([1, 3])
    stage.make_topic(partitions)
    unread = stage.make_topic(1, topic=f"{stage.topic}-unread")
    stage.traffic.write(unread, 0, 300, age_s=3600)
    stage.commit({0: 10}, topic=unread)
    for partition in range(partitions):
        stage.traffic.write(stage.topic, partition, 500)
    stage.commit(dict.fromkeys(range(partitions), 500))
    back_to = stage.random.choice([0, 100])
    stage.later(stage.random.choice([4.0, 12.0]), lambda: stage.commit(dict.fromkeys(range(partitions), back_to)))


INCIDENT = Incident("rewind", inject, is_exact=True)
