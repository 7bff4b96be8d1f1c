"""An application reads everything, waits, and reads again: its lag is a saw-tooth."""

from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Read once in a period."""
    partitions = stage.random.choice([1, 4])
    stage.make_topic(partitions)
    stage.produce(dict.fromkeys(range(partitions), stage.random.choice([5, 20])))
    stage.start_application(batch_period=stage.random.choice([8.0, 10.0]), batch_length=1.5, commit_interval=0.5)
    stage.await_commits(partitions)


INCIDENT = Incident("batch_reader", inject)
