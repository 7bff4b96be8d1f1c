"""An open transaction holds a partition; the group also has more members than partitions."""

from tests.live.groups.transactions import begin_transaction
from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Begin a transaction that never ends, with an idle member beside it."""
    partitions = stage.random.choice([1, 2])
    stage.make_topic(partitions)
    stage.produce(dict.fromkeys(range(partitions), stage.random.choice([5, 20])))
    members = partitions + 1
    for number in range(members):
        stage.start_application(client_id=f"app-{number}", isolation="read_committed", commit_interval=0.5)
    stage.await_assignment(members=members)
    stage.await_commits(partitions)
    held = stage.random.randrange(partitions)
    stage.keep(begin_transaction(stage.bootstrap, f"{stage.group}-writer", stage.topic, partition=held))
    stage.sleep(4.0)


INCIDENT = Incident("hanging_transaction", inject, is_exact=True)
