"""An application reads once in a long time, and the command looks between two of its batches."""

from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Let the application pause for longer than the command looks."""
    partitions = stage.random.choice([1, 4])
    stage.make_topic(partitions)
    stage.produce(dict.fromkeys(range(partitions), stage.random.choice([2, 20])))
    stage.start_application(
        batch_period=600.0,
        batch_length=15.0,
        commit_interval=0.5,
        protocol=stage.random.choice(["classic", "consumer"]),
    )
    stage.await_commits(partitions)
    stage.sleep(16.0)


INCIDENT = Incident("quiet", inject)
