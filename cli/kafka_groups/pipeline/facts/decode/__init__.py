"""The decoder of the records of `__consumer_offsets`, from bytes to Arrow, without Spark, Kafka client or clock.

records.py          the decoder: rows of RawRecords become rows of DecodedRecords
decoded_records.py  the frame of decoded records, and its rows as rows of the tables
data_gaps.py        rows for ranges of offsets without a record
commits.py          commits, decoded many at once
events.py           events of groups and members, decoded one by one
task_elements.py    what members of Connect and streams groups run
record_types.py     Kafka's types of records, and their events
record_schemas.py   the structs that keys and values of these types have
conversions.py      times and topic ids
partitioner.py      the partition that has the records of a group
"""
