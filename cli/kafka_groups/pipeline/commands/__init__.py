"""`kafka-groups pipeline`: commands that collect and report the history of consumer groups, a module each."""
