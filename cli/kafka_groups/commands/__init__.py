"""The commands, a module each, which `kafka_groups.cli` imports when they run."""

from typing import Final

# The key of click's `meta` that is true if the user wants tracebacks.
DEBUG: Final = "kafka_groups.debug"
