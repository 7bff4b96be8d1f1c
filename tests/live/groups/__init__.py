"""Real groups, kept in a state while a test runs.

clients.py              the CLI as a subprocess, and the library, connected to a cluster
topics.py               topics with unique names, and records in them
members.py              groups of librdkafka's members: every state that a client reaches by itself
raw_members.py          groups of members with hand-written requests: states that a correct client leaves at once
other_kinds.py          share and streams groups of one member each, which are quick to start
share_consumers.py      share groups whose members accept chosen records
streams_application.py  a Kafka Streams application of several processes
connect_workers.py      workers of Kafka Connect with file connectors; applications.py: the processes of both
real_kinds.py           one real group of each newer kind, for the fixture `real_groups`
kafka_tools.py          Kafka's own command-line tools for groups, and the rows that they print
raw_connection.py       one connection to a broker, for messages that no client sends
raw_descriptions.py     descriptions of share and streams groups by such messages
group_configs.py        configurations of groups
contexts.py             several groups at the same time
coordination.py         which brokers coordinate the groups
conditions.py           a deadline for a group to reach its state
"""
