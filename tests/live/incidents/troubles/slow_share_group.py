"""The members of a share group accept less than is written."""

from tests.live.incidents.share_groups import await_members, read_from_the_begin
from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Accept a part of what is written, and old records first."""
    stage.make_topic(1)
    rate = stage.random.choice([50, 200])
    age_s = stage.random.choice([200, 900])
    for _ in range(rate // 2):
        # A share group gets the records that were written at once as a whole.
        stage.traffic.write(stage.topic, 0, 50, age_s=age_s)
    stage.produce({0: rate})
    read_from_the_begin(stage)
    stage.start_share_application(rate=rate / stage.random.choice([2, 4]))
    await_members(stage, 1)
    stage.sleep(4.0)


INCIDENT = Incident("share_slow", inject)
