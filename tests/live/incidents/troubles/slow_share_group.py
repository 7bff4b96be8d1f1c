"""The members of a share group accept less than is written."""

from tests.live.incidents.share_groups import read_from_the_begin
from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Accept a part of what is written."""
    stage.make_topic(1)
    rate = stage.random.choice([50, 200])
    stage.produce({0: rate})
    read_from_the_begin(stage)
    stage.start_share_application(rate=rate / stage.random.choice([2, 4]))
    stage.sleep(8.0)


INCIDENT = Incident("share_slow", inject)
