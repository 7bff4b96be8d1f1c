"""`__consumer_offsets` as a Python data source of Spark, over librdkafka: no jar, no group joined, nothing committed.

datasource.py  the classes that Spark calls, and their options
plan.py        which offsets are read, by which task, and whether the topic still has what was read
ranges.py      the records of a range of offsets, and the offsets that hold none
brokers.py     requests to the brokers, and their errors as sentences
positions.py   how far an ingest has read, in the logs of the tables
"""
