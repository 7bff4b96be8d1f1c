"""An application crashes after some seconds and is started again, and again."""

from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Start an application that dies, each time it has died."""
    partitions = stage.random.choice([1, 4])
    stage.make_topic(partitions)
    stage.produce(dict.fromkeys(range(partitions), stage.random.choice([50, 200])))
    life = stage.random.choice([2.0, 3.0])
    stage.keep_running(
        lambda: stage.start_application(client_id="worker", crash_after=life, rate=20, commit_interval=0.5)
    )
    stage.sleep(6.0)


INCIDENT = Incident("crash_loop", inject)
