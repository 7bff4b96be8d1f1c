"""Facts: data that ingest, sample and backfill read from brokers and write into tables.

ingestion.py, ingest_tasks.py   an ingest of the records of `__consumer_offsets`: its batches, and their Spark jobs
source/                         the topic as a data source of Spark
decode/                         the decoder of the topic's records
sample.py, sample_rows.py       a sample of all groups and logs, and its rows
backfill.py, time_grid.py       log end offsets of the past, and the times at which they are looked up
topic_settings.py               settings of topics
"""
