"""A group that keeps up with even traffic."""

from tests.live.incidents.stage import HealthyGroup, Stage


def start(stage: Stage) -> None:
    """Read with one or two members."""
    partitions = stage.random.choice([1, 4, 8])
    members = stage.random.choice([1, 2])
    stage.make_topic(partitions)
    stage.produce(dict.fromkeys(range(partitions), stage.random.choice([1, 10, 40])))
    for number in range(members):
        stage.start_application(client_id=f"app-{number}", protocol=stage.random.choice(["classic", "consumer"]))
    stage.await_commits(partitions)
    stage.await_assignment(members=members)


HEALTHY = HealthyGroup("reader", start)
