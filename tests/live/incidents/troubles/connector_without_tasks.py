"""A connector runs, and its tasks were never created."""

from tests.live.groups.raw_workers import RawWorker, raw_workers
from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Let one connector have tasks on both workers, and another one have none."""
    offset = stage.random.randrange(20, 1000)
    tasks = stage.random.choice([1, 3])
    first = RawWorker(
        url="http://first:8083/", config_offset=offset, connectors=("orders", "prices"), tasks={"orders": range(tasks)}
    )
    second = RawWorker(url="http://second:8083/", config_offset=offset, tasks={"orders": range(tasks, 2 * tasks)})
    stage.enter(raw_workers(stage.bootstrap, stage.group, *stage.random.sample([first, second], 2)))


INCIDENT = Incident("connector_without_tasks", inject)
