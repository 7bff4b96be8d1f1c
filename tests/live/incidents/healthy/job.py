"""A job that joins, reads everything and leaves, again and again: its group is Empty between two runs."""

from tests.live.incidents.stage import HealthyGroup, Stage, leave


def start(stage: Stage) -> None:
    """Run a job every ten to twenty seconds."""
    stage.make_topic(2)
    stage.produce({0: 5, 1: 5})
    pause = stage.random.choice([6.0, 12.0])

    def run() -> None:
        job = stage.start_application(client_id="job", commit_interval=0.5)
        stage.sleep(5.0)
        leave(job)

    run()
    stage.repeat(pause, run)


HEALTHY = HealthyGroup("job", start)
