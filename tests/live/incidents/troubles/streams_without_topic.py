"""The input topic of a streams application is deleted, so that its topology is not valid any more."""

from tests.live.groups.raw_streams import RawStreamsMember
from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Delete a topic before the command looks, or while it does; a real application ends after some time."""
    other = stage.make_topic(2, topic=f"{stage.topic}-other")
    stage.make_topic(stage.random.choice([1, 3]))
    for _ in range(stage.random.choice([1, 2])):
        member = stage.enter(RawStreamsMember(stage.bootstrap, stage.group, stage.topic, other))
        stage.repeat(1.0, member.send_heartbeat)
    stage.sleep(4.0)
    stage.later(stage.random.choice([0.0, 8.0]), stage.delete_topic)


INCIDENT = Incident("streams_not_ready", inject, is_exact=True)
