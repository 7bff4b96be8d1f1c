"""Producers commit short transactions, and consumers of committed records keep up."""

from tests.live.groups.transactions import commit_records
from tests.live.incidents.stage import HealthyGroup, Stage


def start(stage: Stage) -> None:
    """Write a transaction every second."""
    partitions = stage.random.choice([1, 3])
    stage.make_topic(partitions)
    stage.start_application(isolation="read_committed", commit_interval=stage.random.choice([0.5, 2.0]))
    records = stage.random.choice([1, 30])

    def write() -> None:
        commit_records(stage.bootstrap, f"{stage.group}-writer", stage.topic, partitions=partitions, records=records)

    write()
    stage.repeat(1.0, write)
    stage.await_commits(partitions)


HEALTHY = HealthyGroup("transactions", start)
