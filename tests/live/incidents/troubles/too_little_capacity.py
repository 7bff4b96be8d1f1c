"""All members together read less than is written, and have for a while."""

from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Write at an even rate for a quarter of an hour, and let the members read a part of it."""
    members = stage.random.choice([1, 2])
    partitions = stage.random.choice([2, 4])
    stage.make_topic(partitions)
    rate = stage.random.choice([20, 40])
    for partition in range(partitions):
        for age_s in range(900, 0, -60):
            stage.traffic.write(stage.topic, partition, 60 * rate, age_s=age_s)
    stage.commit({partition: stage.log_end(partition) - 60 * rate for partition in range(partitions)})
    share = stage.random.choice([0.3, 0.6])
    stage.produce(dict.fromkeys(range(partitions), rate))
    for number in range(members):
        stage.start_application(client_id=f"app-{number}", rate=share * rate * partitions / members)
    stage.await_assignment(members=members)
    stage.sleep(8.0)


INCIDENT = Incident("too_little_capacity", inject)
