"""A rebalance waits for a member that does not join again."""

from tests.live.incidents.stage import Incident, Stage, freeze


def inject(stage: Stage) -> None:
    """Freeze a member that holds partitions, and let another one join."""
    partitions = stage.random.choice([2, 6])
    stage.make_topic(partitions)
    stage.produce(dict.fromkeys(range(partitions), 10))
    holder = stage.start_application(client_id="holder", session_timeout=60.0)
    stage.await_commits(partitions)
    freeze(holder)
    stage.start_application(client_id="waiting", session_timeout=60.0)
    stage.sleep(stage.random.choice([3.0, 8.0]))


INCIDENT = Incident("rebalance_hangs", inject, is_exact=True)
