"""One of several members is much slower than the others."""

from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Let all partitions have the same traffic, and one member read a fraction of it."""
    members = stage.random.choice([2, 3])
    partitions = 2 * members
    stage.make_topic(partitions)
    rate = stage.random.choice([20, 50])
    assignor = stage.random.choice(["range", "roundrobin"])
    commit_interval = stage.random.choice([0.5, 2.0])
    stage.start_application(client_id="slow", rate=rate / 4, commit_interval=commit_interval, assignor=assignor)
    for number in range(1, members):
        stage.start_application(client_id=f"fast-{number}", commit_interval=commit_interval, assignor=assignor)
    stage.await_assignment(members=members)
    stage.produce(dict.fromkeys(range(partitions), rate))
    stage.sleep(10.0)


INCIDENT = Incident("slow_member", inject)
