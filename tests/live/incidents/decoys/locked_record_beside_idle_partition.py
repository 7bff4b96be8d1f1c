"""A record of a share group stays locked; another partition of the group is idle."""

from tests.live.incidents.share_groups import await_members, read_from_the_begin
from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Let one member hang with the first record of the busy partition."""
    stage.make_topic(2)
    busy = stage.random.choice([0, 1])
    stage.traffic.write(stage.topic, busy, 1)
    read_from_the_begin(stage)
    stage.start_share_application(client_id="holder", hang=True)
    await_members(stage, 1)
    stage.sleep(3.0)
    stage.traffic.write(stage.topic, 1 - busy, 10)
    for number in range(3):
        stage.start_share_application(client_id=f"other-{number}")
    stage.produce({busy: stage.random.choice([20, 60])})
    stage.sleep(4.0)


INCIDENT = Incident("share_locked_record", inject)
