"""A producer writes in one long transaction, and consumers of committed records wait for its end."""

from tests.live.groups.transactions import begin_transaction
from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Begin a transaction, and go on writing in it."""
    partitions = stage.random.choice([1, 3])
    stage.make_topic(partitions)
    stage.produce(dict.fromkeys(range(partitions), stage.random.choice([5, 20])))
    stage.start_application(isolation="read_committed", commit_interval=stage.random.choice([0.5, 2.0]))
    stage.await_commits(partitions)
    held = stage.random.randrange(partitions)
    producer = begin_transaction(stage.bootstrap, stage.group, stage.topic, partition=held)
    stage.keep(producer)

    def write() -> None:
        producer.produce(stage.topic, b"open", partition=held)
        producer.poll(0)

    stage.repeat(stage.random.choice([0.2, 1.0]), write)
    stage.sleep(3.0)


INCIDENT = Incident("transaction_in_progress", inject)
