"""`__consumer_offsets` as a Python data source of Spark, over librdkafka: no jar, no group joined, nothing committed.

datasource.py       the classes that Spark calls
source_options.py   the options of these classes
range_plan.py       ranges of offsets, and the tasks that read them
ranges.py           the records of a range of offsets, and its data gaps
brokers.py          requests to the brokers, and their errors as sentences
addresses.py        a quick check of bootstrap addresses
position.py         an offset in each partition, as stored in Spark's checkpoints and Delta's logs
table_positions.py  the position of an ingest, in the logs of the tables
continuity.py       checks that the topic still has the records that were read
"""
