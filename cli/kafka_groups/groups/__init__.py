"""The use cases on groups, without a command line and without a terminal: they return rows, failures and notes.

`selection` finds the groups that a caller means, `describe` and `offsets` read them, and `kinds` holds which type of
group supports which operation.
"""
