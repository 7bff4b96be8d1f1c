"""A streams application whose input topic is deleted has no valid topology any more."""

from confluent_kafka.admin import AdminClient

from kafka_groups import sandbox
from kafka_groups.sandbox.applications import WORDS_TOPIC
from tests.live.groups.streams_application import word_count
from tests.live.incidents.stage import Incident, Stage


def inject(stage: Stage) -> None:
    """Delete the input topic of a running application."""
    stage.enter(
        word_count(stage.bootstrap, stage.directory, version=sandbox.DEFAULT_VERSION, instances=1, name=stage.group)
    )
    AdminClient({"bootstrap.servers": stage.bootstrap}).delete_topics([WORDS_TOPIC])[WORDS_TOPIC].result(timeout=30)
    stage.sleep(5.0)


INCIDENT = Incident("streams_not_ready", inject, is_exact=True)
