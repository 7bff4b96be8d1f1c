"""One partition has most of the traffic, and the group keeps up with it."""

from tests.live.incidents.stage import HealthyGroup, Stage


def start(stage: Stage) -> None:
    """Write to one partition many times as much as to the others."""
    stage.make_topic(4)
    stage.produce({0: stage.random.choice([50, 100]), 1: 2, 2: 2, 3: 0.2})
    for number in range(stage.random.choice([1, 2])):
        stage.start_application(client_id=f"app-{number}", commit_interval=stage.random.choice([0.5, 2.0]))
    stage.await_commits(3)


HEALTHY = HealthyGroup("skewed_traffic", start)
