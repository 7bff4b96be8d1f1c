"""An application takes longer for its records than max.poll.interval.ms, and is thrown out each time."""

from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Let an application read for a second, hang longer than it may, and join again."""
    partitions = stage.random.choice([1, 4])
    stage.make_topic(partitions)
    stage.produce(dict.fromkeys(range(partitions), stage.random.choice([50, 200])))
    stage.start_application(
        client_id="slow-work",
        rate=20,
        max_poll_interval=6.0,
        hang_after=1.0,
        hang_for=stage.random.choice([9.0, 10.0]),
        commit_interval=0.5,
    )
    stage.sleep(4.0)


INCIDENT = Incident("max_poll_kick", inject)
