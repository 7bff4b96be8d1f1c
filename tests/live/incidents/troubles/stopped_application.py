"""An application is alive, and neither reads nor commits."""

from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Let an application hang whose oldest unread record is old."""
    partitions = stage.random.choice([1, 4])
    stage.make_topic(partitions)
    for partition in range(partitions):
        stage.traffic.write(stage.topic, partition, 20, age_s=1200)
        stage.traffic.write(stage.topic, partition, 500, age_s=stage.random.choice([400, 900]))
    stage.commit(dict.fromkeys(range(partitions), 20))
    stage.start_application(hang_after=0.01, protocol=stage.random.choice(["classic", "consumer"]))
    stage.await_assignment(members=1)
    stage.produce(dict.fromkeys(range(partitions), stage.random.choice([2, 20])))


INCIDENT = Incident("all_stopped", inject)
