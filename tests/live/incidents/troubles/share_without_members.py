"""The last member of a share group leaves, and producers go on."""

from tests.live.incidents.share_groups import read_from_the_begin
from tests.live.incidents.stage import Incident, Stage, kill


def inject(stage: Stage) -> None:
    """End the only member."""
    partitions = stage.random.choice([1, 3])
    stage.make_topic(partitions)
    stage.produce(dict.fromkeys(range(partitions), stage.random.choice([5, 20])))
    read_from_the_begin(stage)
    application = stage.start_share_application()
    stage.sleep(6.0)
    stage.later(stage.random.choice([0.0, 5.0]), lambda: kill(application))


INCIDENT = Incident("share_nobody_consumes", inject)
