"""The use cases on groups, without a command line and without a terminal: they return rows, failures and notes.

`selection` finds the groups that a caller means; `descriptions`, `committed_offsets` and `lag` read them; `notes` are
what a user should know of a result, and `steps` how the time of a command is divided.
"""
