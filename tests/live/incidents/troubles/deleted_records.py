"""Records are deleted before a slow group has read them."""

from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Delete records between the commit and the log end, while nobody reads them."""
    partitions = stage.random.choice([1, 3])
    stage.make_topic(partitions)
    for partition in range(partitions):
        stage.traffic.write(stage.topic, partition, 500)
    stage.commit(dict.fromkeys(range(partitions), 10))
    kept_from = stage.random.choice([100, 400])
    stage.later(
        stage.random.choice([0.0, 7.0]), lambda: stage.delete_records(dict.fromkeys(range(partitions), kept_from))
    )


INCIDENT = Incident("retention_overrun", inject, is_exact=True)
