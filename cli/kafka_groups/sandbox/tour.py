"""The tour: commands that a newcomer can type, each run for real on the sandbox."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kafka_groups.sandbox.startup import DEFAULT_NAME

_PROGRAM = "kafka-groups"
_OF_STABLE = '.groups[] | select(.state == "Stable").group'


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One command line; `pipe` is the program that its output goes into, `why` is for the reader."""

    why: str
    command: tuple[str, ...]
    pipe: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """What to type for it."""
        typed = shlex.join((_PROGRAM, *self.command))
        return f"{typed} | {shlex.join(self.pipe)}" if self.pipe else typed


def steps(bootstrap: str, *, has_jq: bool) -> tuple[Step, ...]:
    """Return the tour. The cluster is named by a flag, because a flag beats the user's environment."""
    on = ("-b", bootstrap)
    as_json = ("list", *on, "--format", "json")
    last = (
        Step(
            why="JSON for scripts: which groups are stable",
            command=as_json,
            pipe=("jq", "-r", _OF_STABLE),
        )
        if has_jq
        else Step(why="JSON for scripts", command=as_json, pipe=("python3", "-m", "json.tool"))
    )
    return (
        Step(why="all groups", command=("list", *on)),
        Step(why="with their states", command=("list", *on, "--state")),
        Step(why="a group whose members have left", command=("describe", *on, "--group", "billing")),
        Step(why="a group at work", command=("describe", *on, "--group", "checkout")),
        Step(why="what a group has committed", command=("offsets", *on, "--group", "legacy-import")),
        last,
    )


def pipeline_steps(bootstrap: str, into: Path) -> tuple[Step, ...]:
    """Return the pipeline's tour: from the brokers' own records to a page with charts, with tables kept in `into`."""
    where = ("--into", str(into))
    asking = (*where, "-b", bootstrap)
    page = str(into / "report.html")
    return (
        Step(why="is everything there that the pipeline needs?", command=("pipeline", "doctor", "-b", bootstrap)),
        Step(why="what the brokers wrote about groups, into tables", command=("pipeline", "ingest", *asking)),
        Step(why="where the logs ended in the last hour", command=("pipeline", "backfill", *asking, "--since", "1h")),
        Step(why="where they end now, and who is a member", command=("pipeline", "sample", *asking)),
        Step(why="once more: only what is new is read", command=("pipeline", "ingest", *asking)),
        Step(why="lag, time lag, verdicts, rebalances", command=("pipeline", "build", *where)),
        Step(why="how each group fares", command=("pipeline", "report", *where, "--since", "1h")),
        Step(
            why="the same with charts, for a browser",
            command=("pipeline", "report", *where, "--since", "1h", "--html", page),
        ),
        Step(why="what is kept", command=("pipeline", "tables", *where)),
    )


def run_demo(bootstrap: str, *, show: Callable[[str], None], into: Path | None = None) -> bool:
    """Run the tour on this process's stdout and stderr; False if a command of it failed.

    With `into`, a directory for tables, it is the pipeline's tour.
    """
    well = True
    for step in pipeline_steps(bootstrap, into) if into else steps(bootstrap, has_jq=shutil.which("jq") is not None):
        show(f"\n# {step.why}\n$ {step.line}")
        well = _run(step) and well
    return well


def next_steps(name: str, *, home: Path | None = None) -> str:
    """Return what to try after the tour, and how to end it."""
    return f"""
The cluster stays up, and so does its profile. To go on:
  {_PROGRAM} list --profile {name} --state
  {_PROGRAM} describe --profile {name} --group search-indexer --members   (it waits in a rebalance)
  {_PROGRAM} describe --profile {name} --group clickstream-loader         (its lag grows)
To end it and delete its data:
  {_PROGRAM} sandbox down{which_sandbox(name, home=home)}"""


def which_sandbox(name: str, *, home: Path | None = None) -> str:
    """Return the options that name a sandbox, each with a blank in front; none for the usual one."""
    named = "" if name == DEFAULT_NAME else f" --name {name}"
    return named + ("" if home is None else f" --dir {shlex.quote(str(home))}")


def _run(step: Step) -> bool:
    program = [sys.executable, "-P", "-m", "kafka_groups", *step.command]
    if not step.pipe:
        return subprocess.run(program, check=False).returncode == 0
    done = subprocess.run(program, check=False, stdout=subprocess.PIPE)
    filtered = subprocess.run(_here(step.pipe), check=False, input=done.stdout)
    return done.returncode == 0 and filtered.returncode == 0


def _here(command: Sequence[str]) -> list[str]:
    """Run the Python that runs us where the reader would type `python3`."""
    first = sys.executable if command[0] == "python3" else command[0]
    return [first, *command[1:]]
