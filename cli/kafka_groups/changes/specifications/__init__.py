"""The specifications of `reset`: each is a source of new offsets, with what it reads and how it computes them.

They are those of kafka-consumer-groups.sh (GroupOffsetsResetter.java), and the commits of another group.
`specification.py` has what they share. A new one is a subclass of `Specification`, and overrides what it needs.
"""
