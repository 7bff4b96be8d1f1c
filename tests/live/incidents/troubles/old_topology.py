"""Two versions of a streams application run: one has an older topology than the group."""

from tests.live.groups.raw_streams import RawStreamsMember
from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Let members of the new version join, and then one of the old version."""
    stage.make_topic(stage.random.choice([2, 4]))
    old = stage.random.choice([0, 3])
    new = old + stage.random.choice([1, 2])
    for epoch in (*[new] * stage.random.choice([1, 2]), old):
        member = stage.enter(RawStreamsMember(stage.bootstrap, stage.group, stage.topic, epoch=epoch))
        stage.repeat(1.0, member.send_heartbeat)
    stage.sleep(3.0)


INCIDENT = Incident("streams_mixed_topologies", inject, is_exact=True)
