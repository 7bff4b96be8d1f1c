"""More members join while the command looks."""

from tests.live.incidents.stage import HealthyGroup, Stage


def start(stage: Stage) -> None:
    """Let one or two members join."""
    stage.make_topic(6)
    stage.produce(dict.fromkeys(range(6), 10))
    protocol = stage.random.choice(["classic", "consumer"])
    stage.start_application(client_id="app-0", protocol=protocol)
    stage.await_commits(6)
    for number in range(1, stage.random.choice([2, 3])):
        stage.later(6.0 * number, lambda: stage.start_application(client_id="app-new", protocol=protocol))


HEALTHY = HealthyGroup("scale_out", start)
