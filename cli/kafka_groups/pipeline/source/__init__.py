"""`__consumer_offsets` as a Python data source of Spark, over librdkafka: no jar, no group joined, nothing committed.

options.py     the options of a reader
planning.py    which offsets a batch reads, and which task reads which of them (pure)
continuity.py  whether the topic is still the one that was read
addresses.py   whether anybody listens where brokers should be
brokers.py     requests to the brokers, and their errors as sentences
ranges.py      the records of a range of offsets, and the offsets that hold none
reading.py     what a task does with them: rows, or files and a manifest
datasource.py  the classes that Spark calls
"""
