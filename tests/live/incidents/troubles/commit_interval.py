"""An application keeps up, and commits now and then only."""

from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Commit at intervals that are longer than the time between two polls."""
    partitions = stage.random.choice([1, 4])
    stage.make_topic(partitions)
    stage.produce(dict.fromkeys(range(partitions), stage.random.choice([5, 20])))
    stage.start_application(commit_interval=stage.random.choice([5.0, 9.0]))
    stage.await_commits(partitions)


INCIDENT = Incident("commit_interval", inject)
