"""The tasks of a Connect group are on one of its workers."""

from tests.live.groups.raw_workers import RawWorker, raw_workers
from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Give the first worker all tasks, or all but one."""
    tasks = stage.random.choice([4, 9])
    rest = stage.random.choice([0, 1])
    offset = stage.random.randrange(20, 1000)
    full = RawWorker(
        url="http://full:8083/", config_offset=offset, connectors=("orders",), tasks={"orders": range(rest, tasks)}
    )
    idle = RawWorker(url="http://idle:8083/", config_offset=offset, tasks={"orders": range(rest)} if rest else {})
    stage.enter(raw_workers(stage.bootstrap, stage.group, *stage.random.sample([full, idle], 2)))


INCIDENT = Incident("connect_tasks_piled_up", inject, is_exact=True)
