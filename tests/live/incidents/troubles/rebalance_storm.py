"""Members join and leave all the time, so that the group rebalances again and again."""

from tests.live.incidents.stage import Incident, Stage, leave


def inject(stage: Stage) -> None:
    """Let one member stay, and another one come and go."""
    partitions = stage.random.choice([2, 6])
    stage.make_topic(partitions)
    stage.produce(dict.fromkeys(range(partitions), stage.random.choice([50, 200])))
    protocol = stage.random.choice(["classic", "consumer"])
    stage.start_application(client_id="steady", rate=20, protocol=protocol)
    stage.await_commits(1)
    number = 0

    def come_and_go() -> None:
        nonlocal number
        number += 1
        guest = stage.start_application(client_id=f"guest-{number}", rate=20, protocol=protocol)
        stage.sleep(5.0)
        leave(guest)

    stage.repeat(0.5, come_and_go)


INCIDENT = Incident("rebalance_storm", inject)
