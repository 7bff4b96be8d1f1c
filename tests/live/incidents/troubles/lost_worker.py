"""A Connect worker leaves, and its tasks wait for it until the scheduled delay has passed."""

from kafka_groups import sandbox
from tests.live.groups.clients import open_admin
from tests.live.groups.connect_workers import connect_pair
from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Stop the worker that does not lead, with a delay that is longer than the command looks."""
    lines = stage.make_topic(2)
    settings = {"scheduled.rebalance.max.delay.ms": stage.random.choice(["90000", "300000"])}
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
    with open_admin(stage.bootstrap) as admin:
        members = admin.describe_groups([stage.group]).succeeded[stage.group].members
    # A new leader knows nothing of lost work, and assigns it at once.
    leader = next(member.worker.leader_url for member in members if member.worker is not None)
    workers.stop(next(number for number in workers.ports if workers.url(number) != leader))
    stage.sleep(3.0)


INCIDENT = Incident("connect_rebalance_delay", inject, is_exact=True)
