"""The members are restarted one after the other, as a deployment does."""

from tests.live.incidents.stage import HealthyGroup, Stage, leave


def start(stage: Stage) -> None:
    """Restart each of the members once while the command looks."""
    members = stage.random.choice([2, 3])
    stage.make_topic(6)
    stage.produce(dict.fromkeys(range(6), stage.random.choice([5, 20])))
    protocol = stage.random.choice(["classic", "consumer"])
    applications = [stage.start_application(client_id=f"app-{number}", protocol=protocol) for number in range(members)]
    stage.await_commits(6)
    stage.await_assignment(members=members)

    def restart_all() -> None:
        for number, application in enumerate(applications):
            leave(application)
            stage.start_application(client_id=f"app-{number}", protocol=protocol)
            stage.sleep(4.0)

    stage.later(stage.random.choice([2.0, 8.0]), restart_all)


HEALTHY = HealthyGroup("rolling_restart", start)
