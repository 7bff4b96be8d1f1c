"""The topic of a batch reader gets partitions that the reader does not know yet."""

from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Add partitions while the reader pauses and reads."""
    partitions = stage.random.choice([1, 3])
    stage.make_topic(partitions)
    stage.produce(dict.fromkeys(range(partitions), 10))
    stage.start_application(batch_period=stage.random.choice([8.0, 20.0]), batch_length=3.0, commit_interval=0.5)
    stage.await_commits(partitions)
    stage.add_partitions(partitions + 1)
    stage.sleep(2.0)
    stage.produce({partitions: stage.random.choice([2, 20])})


INCIDENT = Incident("new_partitions", inject, is_exact=True)
