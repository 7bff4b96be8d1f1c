"""The last member of a share group leaves, and producers go on."""

from tests.live.incidents.share_groups import await_members, read_from_the_begin
from tests.live.incidents.stage import Incident, Stage, leave


def inject(stage: Stage) -> None:
    """Let the only member leave; the session of a member that is killed lasts 45 s."""
    partitions = stage.random.choice([1, 3])
    stage.make_topic(partitions)
    stage.produce(dict.fromkeys(range(partitions), stage.random.choice([5, 20])))
    read_from_the_begin(stage)
    application = stage.start_share_application()
    await_members(stage, 1)
    stage.sleep(3.0)
    stage.later(stage.random.choice([0.0, 5.0]), lambda: leave(application))


INCIDENT = Incident("share_nobody_consumes", inject)
