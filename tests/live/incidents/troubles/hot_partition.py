"""Most records go to one partition, which gets more than one member can read."""

from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Let each partition have a member that reads faster than usual partitions need, and one partition get more."""
    partitions = stage.random.choice([3, 4])
    stage.make_topic(partitions)
    usual = stage.random.choice([10, 20])
    commit_interval = stage.random.choice([0.5, 2.0])
    for number in range(partitions):
        stage.start_application(client_id=f"app-{number}", rate=4 * usual, commit_interval=commit_interval)
    stage.await_assignment(members=partitions)
    hot = stage.random.randrange(partitions)
    stage.produce({number: 10 * usual if number == hot else usual for number in range(partitions)})
    stage.sleep(10.0)


INCIDENT = Incident("hot_partition", inject)
