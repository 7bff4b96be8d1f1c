"""Checks of what the pipeline needs, of what delays it, and of what it cannot read. No check changes anything.

checks.py              all checks, as far as a cluster and a directory are given
machine.py             Python, Spark, Java and packages on this machine
cluster.py             `__consumer_offsets` on the brokers: rights, offsets and settings
compaction_horizon.py  the time from which the topic has every record
open_transactions.py   transactions that delay ingest
dense_records.py       reads of a few records, on which these two are based
broker_settings.py     settings of the brokers
requests.py            the requests of a sample
connections.py         connections to all servers and brokers, and the versions of the brokers
table_checks.py        tables in a directory, and how far ingest has read
"""
