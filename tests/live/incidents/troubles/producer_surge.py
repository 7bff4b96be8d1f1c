"""Producers write many times what they used to."""

from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Write at an even rate for a quarter of an hour, and then much more than the group reads."""
    partitions = stage.random.choice([1, 3])
    stage.make_topic(partitions)
    usual = stage.random.choice([2, 5])
    for partition in range(partitions):
        for age_s in range(900, 0, -60):
            stage.traffic.write(stage.topic, partition, 60 * usual, age_s=age_s)
    stage.commit({partition: stage.log_end(partition) for partition in range(partitions)})
    stage.start_application(rate=4 * usual * partitions, commit_interval=stage.random.choice([0.5, 2.0]))
    stage.produce(dict.fromkeys(range(partitions), usual))
    stage.sleep(4.0)
    stage.produce(dict.fromkeys(range(partitions), stage.random.choice([15, 30]) * usual))
    stage.sleep(3.0)


INCIDENT = Incident("producer_surge", inject)
