"""The history of groups in tables: records of `__consumer_offsets` and samples in, lag, verdicts and rebalances out.

`api` has the functions for Python programs, and `api.KafkaGroupsSource` is the topic as a data source of Spark:

    from kafka_groups.pipeline.api import build, ingest, read_table, report, sample
"""
