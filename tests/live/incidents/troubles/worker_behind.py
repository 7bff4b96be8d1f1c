"""A Connect worker cannot read the topic of configurations, so it lacks the newest ones."""

from tests.live.groups.raw_workers import CONFIG_MISMATCH, RawWorker, raw_workers
from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Let the leader lack configurations, so that it assigns nothing, or the other worker."""
    newest = stage.random.randrange(20, 1000)
    is_leader = stage.random.choice([True, False])
    behind = newest - stage.random.choice([1, 10])
    leader = RawWorker(url="http://first:8083/", config_offset=behind if is_leader else newest)
    other = RawWorker(url="http://second:8083/", config_offset=newest if is_leader else behind)
    stage.enter(raw_workers(stage.bootstrap, stage.group, leader, other, error=CONFIG_MISMATCH if is_leader else 0))


INCIDENT = Incident("connect_worker_behind", inject, is_exact=True)
