"""A static member is gone, and its partitions stay with it until its session ends."""

from tests.live.incidents.stage import Incident, Stage, kill


def inject(stage: Stage) -> None:
    """Kill one of several static members whose sessions are longer than the command looks."""
    members = stage.random.choice([2, 3])
    partitions = members * stage.random.choice([1, 2])
    stage.make_topic(partitions)
    stage.produce(dict.fromkeys(range(partitions), stage.random.choice([10, 40])))
    applications = [
        stage.start_application(
            client_id=f"app-{number}",
            instance_id=f"instance-{number}",
            session_timeout=240.0,
            commit_interval=stage.random.choice([0.5, 2.0]),
        )
        for number in range(members)
    ]
    stage.await_assignment(members=members)
    stage.await_commits(partitions)
    kill(stage.random.choice(applications))
    stage.sleep(3.0)


INCIDENT = Incident("member_gone", inject)
