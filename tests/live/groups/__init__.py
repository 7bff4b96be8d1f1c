"""Real groups, held in a state for as long as a test looks at them.

asking.py        the CLI as a subprocess, and the library, asked of a cluster
topics.py        topics with names of their own, and records in them
members.py       groups of librdkafka's members: every state that a client comes into by itself
raw_members.py   groups of members that speak by hand: states that a good client leaves at once
other_kinds.py   share and streams groups
raw.py           one connection to a broker, for messages that no client sends
together.py      several groups at the same time
coordination.py  which brokers coordinate them
waiting.py       waiting for a group to be in its state, with a deadline
"""
