"""A topic is deleted and created again, and the application commits the offsets of the old log."""

from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Create the topic again while the command looks."""
    partitions = stage.random.choice([1, 3])
    stage.make_topic(partitions)
    records = stage.random.choice([200, 1000])
    for partition in range(partitions):
        stage.traffic.write(stage.topic, partition, records)
    commits = dict.fromkeys(range(partitions), records)
    stage.commit(commits)

    def recreate() -> None:
        stage.delete_topic()
        stage.make_topic(partitions)
        stage.commit(commits)
        stage.produce(dict.fromkeys(range(partitions), 1))

    stage.later(stage.random.choice([6.0, 12.0]), recreate)


INCIDENT = Incident("topic_recreated", inject, is_exact=True)
