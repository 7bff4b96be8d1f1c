"""The only member of a group is killed, and producers go on."""

from tests.live.incidents.stage import Incident, Stage, kill


def inject(stage: Stage) -> None:
    """Kill the member before the command looks, or while it does."""
    partitions = stage.random.choice([1, 3, 8])
    stage.make_topic(partitions)
    stage.produce(dict.fromkeys(range(partitions), stage.random.choice([2, 10, 40])))
    application = stage.start_application(client_id="payments", commit_interval=stage.random.choice([0.5, 2.0]))
    stage.await_commits(partitions)
    stage.later(stage.random.choice([0.0, 5.0, 10.0]), lambda: kill(application))


INCIDENT = Incident("group_empty", inject, is_exact=True)
