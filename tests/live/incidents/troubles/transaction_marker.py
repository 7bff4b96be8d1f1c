"""The marker of a transaction has an offset, too: nothing is unread, and the lag is 1."""

from tests.live.groups.transactions import commit_records
from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Write records in transactions, and read all of them."""
    partitions = stage.random.choice([1, 3])
    stage.make_topic(partitions)
    commit_records(stage.bootstrap, f"{stage.group}-writer", stage.topic, partitions=partitions, records=10)
    stage.commit(dict.fromkeys(range(partitions), 10))
    stage.start_application(hang_after=0.01)
    stage.await_assignment(members=1)
    # A younger lag may be a pause.
    stage.sleep(65.0)


INCIDENT = Incident("transaction_marker", inject)
