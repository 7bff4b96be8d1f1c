"""Consumer groups of Apache Kafka: many groups in one request, a result or an error for each.

The command line is `kafka_groups.cli`; the Python library is `kafka_groups.admin`.
"""

__version__ = "0.1.0"
# The day of this version, which man pages show.
__date__ = "2026-11-23"
