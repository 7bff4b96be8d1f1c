"""Real groups, kept in a state while a test runs.

clients.py         the CLI as a subprocess, and the library, connected to a cluster
topics.py          topics with unique names, and records in them
members.py         groups of librdkafka's members: every state that a client reaches by itself
raw_members.py     groups of members with hand-written requests: states that a correct client leaves at once
other_kinds.py     share and streams groups
raw_connection.py  one connection to a broker, for messages that no client sends
contexts.py        several groups at the same time
coordination.py    which brokers coordinate the groups
conditions.py      a deadline for a group to reach its state
"""
