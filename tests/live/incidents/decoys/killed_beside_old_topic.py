"""The only member of a group is killed; the group also has commits on a topic that it left long ago."""

from tests.live.incidents.stage import Incident, Stage, kill


def inject(stage: Stage) -> None:
    """Kill the member; nobody writes to the old topic any more."""
    partitions = stage.random.choice([1, 4])
    old = stage.make_topic(1, topic=f"{stage.topic}-old")
    stage.traffic.write(old, 0, 100, age_s=3600)
    stage.commit({0: stage.random.choice([50, 100])}, topic=old)
    stage.make_topic(partitions)
    stage.produce(dict.fromkeys(range(partitions), stage.random.choice([5, 20])))
    application = stage.start_application(commit_interval=stage.random.choice([0.5, 2.0]))
    stage.await_commits(partitions)
    stage.later(stage.random.choice([0.0, 8.0]), lambda: kill(application))


INCIDENT = Incident("group_empty", inject, is_exact=True)
