"""Tables of what the values of records say: one file for each kind of group."""
