"""Consumer groups of Apache Kafka: asked once, answered per group.

The command line is `kafka_groups.__main__`; the Python library is `kafka_groups.admin`.
"""

__version__ = "0.1.0"
