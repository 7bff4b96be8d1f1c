"""The session of Spark: which Java it runs on, a session that is silent, and messages for its failures."""

from kafka_groups.pipeline.spark.requirements import fetch_java, find_java
from kafka_groups.pipeline.spark.session import start_session

__all__ = ["fetch_java", "find_java", "start_session"]
