"""One of the members leaves, and those that stay cannot read what it read."""

from tests.live.incidents.stage import Incident, Stage, end


def inject(stage: Stage) -> None:
    """End a member while the command looks."""
    members = stage.random.choice([2, 3])
    partitions = 2 * members
    stage.make_topic(partitions)
    rate = stage.random.choice([20, 40])
    each = 2.2 * rate
    applications = [stage.start_application(client_id=f"app-{number}", rate=each) for number in range(members)]
    stage.await_assignment(members=members)
    stage.produce(dict.fromkeys(range(partitions), rate))
    stage.await_commits(partitions)
    stage.sleep(3.0)
    stage.later(stage.random.choice([6.0, 9.0]), lambda: end(applications[0]))


INCIDENT = Incident("fewer_members", inject)
