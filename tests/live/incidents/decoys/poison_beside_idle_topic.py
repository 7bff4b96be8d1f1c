"""One record of a topic is poison; another topic is idle, and lags by the markers of a transaction."""

from tests.live.groups.transactions import commit_records
from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Let one partition stay at a record, and nothing be written to the other topic."""
    partitions = stage.random.choice([2, 4])
    poison = stage.random.randrange(partitions)
    stage.make_topic(partitions)
    idle = stage.make_topic(2, topic=f"{stage.topic}-idle")
    commit_records(stage.bootstrap, f"{stage.group}-writer", idle, partitions=2, records=10)
    stage.commit({0: 10, 1: 10}, topic=idle)
    for partition in range(partitions):
        stage.traffic.write(stage.topic, partition, 60, age_s=stage.random.choice([200, 900]))
    stage.produce(dict.fromkeys(range(partitions), stage.random.choice([5, 20])))
    stage.start_application(
        topics=f"{stage.topic},{idle}",
        poison=f"{stage.topic}:{poison}:{stage.random.randrange(5, 50)}",
        commit_interval=stage.random.choice([0.5, 2.0]),
    )
    stage.await_commits(partitions)
    stage.sleep(3.0)


INCIDENT = Incident("stuck_partition", inject)
