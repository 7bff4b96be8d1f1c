"""A member that reads at once, and commits once in a long time."""

from tests.live.incidents.stage import HealthyGroup, Stage


def start(stage: Stage) -> None:
    """Commit every twenty or forty seconds."""
    partitions = stage.random.choice([1, 4])
    stage.make_topic(partitions)
    stage.produce(dict.fromkeys(range(partitions), stage.random.choice([2, 20])))
    stage.start_application(commit_interval=stage.random.choice([20.0, 40.0]))
    stage.await_commits(partitions)


HEALTHY = HealthyGroup("rare_commits", start)
