"""An application does not read one of its topics any more, and commits rarely on the other one."""

from tests.live.incidents.stage import Incident, Stage, leave


def inject(stage: Stage) -> None:
    """Start the application again with one topic less, and with a long commit interval."""
    partitions = stage.random.choice([1, 3])
    stage.make_topic(partitions)
    dropped = stage.make_topic(partitions, topic=f"{stage.topic}-dropped")
    for topic in (stage.topic, dropped):
        stage.produce(dict.fromkeys(range(partitions), stage.random.choice([5, 20])), topic=topic)
    before = stage.start_application(topics=f"{stage.topic},{dropped}", commit_interval=0.5)
    stage.await_commits(partitions, topic=dropped)
    leave(before)
    stage.start_application(commit_interval=stage.random.choice([9.0, 60.0]))
    stage.await_assignment(members=1)


INCIDENT = Incident("not_subscribed", inject, is_exact=True)
