"""A member that reads everything, waits, and reads again."""

from tests.live.incidents.stage import HealthyGroup, Stage


def start(stage: Stage) -> None:
    """Read once in a period, which may be longer than the command looks."""
    partitions = stage.random.choice([1, 4])
    stage.make_topic(partitions)
    stage.produce(dict.fromkeys(range(partitions), stage.random.choice([2, 20])))
    period = stage.random.choice([7.0, 20.0, 60.0])
    stage.start_application(batch_period=period, batch_length=3.0, commit_interval=0.5)
    stage.await_commits(partitions)


HEALTHY = HealthyGroup("batch_reader", start)
