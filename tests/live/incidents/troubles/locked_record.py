"""A member of a share group keeps records that were delivered to it, and others go ahead of them."""

from tests.live.incidents.share_groups import await_members, read_from_the_begin
from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Let one member hang with its first records."""
    stage.make_topic(1)
    stage.traffic.write(stage.topic, 0, 1)
    read_from_the_begin(stage)
    stage.start_share_application(client_id="holder", hang=True)
    await_members(stage, 1)
    stage.sleep(3.0)
    stage.start_share_application(client_id="other")
    stage.produce({0: stage.random.choice([20, 60])})
    stage.sleep(4.0)


INCIDENT = Incident("share_locked_record", inject)
