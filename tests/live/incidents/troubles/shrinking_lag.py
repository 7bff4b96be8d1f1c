"""A group is far behind, and reads faster than producers write."""

from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Let each partition have a member that reads a part of its old records while the command looks."""
    partitions = stage.random.choice([1, 2])
    stage.make_topic(partitions)
    for partition in range(partitions):
        stage.traffic.write(stage.topic, partition, 6000, age_s=stage.random.choice([600, 1200]))
    stage.commit(dict.fromkeys(range(partitions), 10))
    stage.produce(dict.fromkeys(range(partitions), stage.random.choice([2, 10])))
    commit_interval = stage.random.choice([0.5, 2.0])
    for number in range(partitions):
        stage.start_application(client_id=f"app-{number}", rate=60, commit_interval=commit_interval)
    stage.await_assignment(members=partitions)
    stage.sleep(3.0)


INCIDENT = Incident("catching_up", inject)
