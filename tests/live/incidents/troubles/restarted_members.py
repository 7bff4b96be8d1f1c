"""A deployment restarts the members one after the other, and the group lags for a moment."""

from tests.live.incidents.stage import Incident, Stage, leave


def inject(stage: Stage) -> None:
    """Restart each member once while the command looks, the last one shortly before its last poll."""
    members = stage.random.choice([2, 3])
    stage.make_topic(6)
    stage.produce(dict.fromkeys(range(6), stage.random.choice([20, 50])))
    protocol = stage.random.choice(["classic", "consumer"])
    applications = [
        stage.start_application(client_id=f"app-{number}", protocol=protocol, commit_interval=2.0)
        for number in range(members)
    ]
    stage.await_assignment(members=members)
    stage.await_commits(6)

    def restart_all() -> None:
        for number, application in enumerate(applications):
            leave(application)
            stage.start_application(client_id=f"app-{number}", protocol=protocol, commit_interval=2.0)
            stage.sleep(4.0)

    stage.later(stage.random.choice([10.0, 14.0]), restart_all)


INCIDENT = Incident("rolling_restart", inject)
