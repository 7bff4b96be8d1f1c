"""A Connect worker leaves, and its tasks wait for it until the scheduled delay has passed."""

from kafka_groups import sandbox
from tests.live.groups.connect_workers import connect_pair
from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Stop one of two workers, with a delay that is longer than the command looks."""
    lines = stage.make_topic(2)
    settings = {"scheduled.rebalance.max.delay.ms": "120000"}
    workers = stage.enter(
        connect_pair(
            stage.bootstrap,
            stage.directory,
            version=sandbox.DEFAULT_VERSION,
            topic=lines,
            name=stage.group,
            settings=settings,
        )
    )
    workers.stop(2)
    stage.sleep(3.0)


INCIDENT = Incident("connect_rebalance_delay", inject, is_exact=True)
