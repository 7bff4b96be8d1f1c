"""A topic has new partitions, and the application does not know them yet."""

from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Add partitions and write to them; librdkafka looks for new ones after five minutes only."""
    partitions = stage.random.choice([1, 3])
    stage.make_topic(partitions)
    stage.produce(dict.fromkeys(range(partitions), 10))
    stage.start_application(commit_interval=stage.random.choice([0.5, 2.0]))
    stage.await_commits(partitions)
    more = stage.random.choice([1, 2])
    stage.add_partitions(partitions + more)
    stage.sleep(2.0)
    stage.produce(dict.fromkeys(range(partitions, partitions + more), 10))


INCIDENT = Incident("new_partitions", inject, is_exact=True)
