"""What several commands share: options, the session of a cluster, completion, signals, files beside the output."""

from typing import Final

# The key of click's `meta` that is true if the user wants tracebacks.
DEBUG: Final = "kafka_groups.debug"
# The environment variable with which the script of a shell requests completions.
COMPLETION_VARIABLE: Final = "_KAFKA_GROUPS_COMPLETE"
