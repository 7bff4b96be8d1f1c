"""One partition gets more than its member can read; another member of the group is restarted meanwhile."""

from tests.live.incidents.stage import Incident, Stage, leave


def inject(stage: Stage) -> None:
    """Restart a member that keeps up, shortly before the command looks."""
    partitions = 3
    stage.make_topic(partitions)
    usual = stage.random.choice([10, 20])
    # Static members get their partitions back, so that the hot one stays with its member.
    applications = [
        stage.start_application(client_id=f"app-{number}", instance_id=f"app-{number}", rate=4 * usual)
        for number in range(partitions)
    ]
    stage.await_assignment(members=partitions)
    hot = stage.random.randrange(partitions)
    stage.produce({number: 10 * usual if number == hot else usual for number in range(partitions)})
    stage.await_commits(partitions)
    stage.sleep(10.0)

    def restart() -> None:
        number = (hot + 1) % partitions
        leave(applications[number])
        stage.start_application(client_id=f"app-{number}", instance_id=f"app-{number}", rate=4 * usual)

    stage.later(stage.random.choice([0.0, 6.0]), restart)


INCIDENT = Incident("hot_partition", inject)
