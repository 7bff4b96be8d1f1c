"""All tests, in runs at the same time: those without Spark, which wait a lot, and two with a Spark session each.

Those with Spark yield to the others, of which some measure time.

`python -m tests.lanes` is what `make test` runs; plain `pytest` runs all of them one after the other. What the later
lanes say is shown when those before them have ended. Each lane has brokers of its own, if it needs any.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import IO, Final

# Each test is in one of them.
_LANES: Final = ("not spark", "spark and live", "spark and not live")
_STEP_S = 0.5
# What pytest returns if there was nothing to run.
_NO_TESTS = 5


def main(arguments: Sequence[str]) -> int:
    """The exit code of the first run that failed, of any; 130 or 143 if it was ended by a signal."""
    with ExitStack() as files:
        runs, told = [], []
        for number, lane in enumerate(_LANES):
            written = files.enter_context(tempfile.NamedTemporaryFile())
            told.append(files.enter_context(Path(written.name).open()))
            own = ["-m", lane, "-o", f"cache_dir=.pytest_cache/{number}"]
            pytest = [sys.executable, "-m", "pytest", *arguments, *own]
            yielding = ["nice", "-n", "5"] if number else []
            runs.append(subprocess.Popen([*yielding, *pytest], stdout=written, stderr=subprocess.STDOUT))
        with _ending(*runs) as ended:
            for text, run in zip(told, runs, strict=True):
                _show(text, run)
    if ended:
        return 128 + ended[0]
    codes = {run.returncode for run in runs} - {0}
    return 0 if codes == {_NO_TESTS} else next(iter(codes - {_NO_TESTS}), 0)


def _show(told: IO[str], run: subprocess.Popen[bytes]) -> None:
    """What the run has said, and says until it ends."""
    while True:
        is_over = run.poll() is not None
        shutil.copyfileobj(told, sys.stdout)
        sys.stdout.flush()
        if is_over:
            return
        time.sleep(_STEP_S)


@contextmanager
def _ending(*runs: subprocess.Popen[bytes]) -> Iterator[list[int]]:
    """Signals are for all runs, which take their brokers down; the numbers of those that came."""
    came: list[int] = []

    def pass_on(number: int, _frame: FrameType | None) -> None:
        came.append(number)
        for run in runs:
            # A terminal has sent Ctrl-C to all of its processes.
            if run.poll() is None and number != signal.SIGINT:
                run.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield came
    finally:
        for run in runs:
            run.wait()
        for number, handler in before.items():
            signal.signal(number, handler)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
