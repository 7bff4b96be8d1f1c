"""A producer leaves a transaction open, so that consumers of committed records cannot read beyond it."""

from tests.live.groups.transactions import begin_transaction
from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Begin a transaction that never ends, and let other records follow it."""
    partitions = stage.random.choice([1, 3])
    stage.make_topic(partitions)
    stage.produce(dict.fromkeys(range(partitions), stage.random.choice([5, 20])))
    stage.start_application(isolation="read_committed", commit_interval=stage.random.choice([0.5, 2.0]))
    stage.await_commits(partitions)
    stage.keep(begin_transaction(stage.bootstrap, f"{stage.group}-writer", stage.topic, partition=0))
    stage.sleep(stage.random.choice([3.0, 6.0]))


INCIDENT = Incident("hanging_transaction", inject, is_exact=True)
