"""A group has more members than partitions, which costs nothing."""

from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Start more members than there are partitions."""
    stage.make_topic(1)
    stage.produce({0: stage.random.choice([5, 20])})
    members = stage.random.choice([2, 3])
    for number in range(members):
        stage.start_application(client_id=f"app-{number}")
    stage.await_assignment(members=members)
    stage.await_commits(1)


INCIDENT = Incident("idle_members", inject, is_exact=True)
