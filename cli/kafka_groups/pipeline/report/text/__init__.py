"""The report on a terminal and in a pipe."""
