"""The tour of `kafka-groups sandbox demo`: commands that are shown and then run on the sandbox."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kafka_groups.sandbox.startup import DEFAULT_NAME

_PROGRAM = "kafka-groups"
_STABLE_GROUPS = '.groups[] | select(.state == "Stable").group'


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One command of the tour; `pipe` is the program that reads its output, `why` is a comment for the reader."""

    why: str
    command: tuple[str, ...]
    pipe: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The command line to type in a shell."""
        command = shlex.join((_PROGRAM, *self.command))
        return f"{command} | {shlex.join(self.pipe)}" if self.pipe else command


def steps(bootstrap: str, *, has_jq: bool) -> tuple[Step, ...]:
    """Return the steps of the tour; `has_jq` is True if `jq` is on PATH.

    Each command gets the cluster as a flag, because a flag overrides the user's environment.
    """
    cluster = ("-b", bootstrap)
    as_json = ("list", *cluster, "--format", "json")
    last = (
        Step(
            why="JSON for scripts: which groups are stable",
            command=as_json,
            pipe=("jq", "-r", _STABLE_GROUPS),
        )
        if has_jq
        else Step(why="JSON for scripts", command=as_json, pipe=("python3", "-m", "json.tool"))
    )
    return (
        Step(why="all groups", command=("list", *cluster)),
        Step(
            why="with their types and states: consumer, share, streams and Connect groups",
            command=("list", *cluster, "--type", "--state"),
        ),
        Step(why="a group whose members have left", command=("describe", *cluster, "--group", "billing")),
        Step(why="a group with active members", command=("describe", *cluster, "--group", "checkout")),
        Step(
            why="a share group, a streams group and Connect workers, each with its own columns",
            command=("describe", *cluster, "--match", "click-sampler|shop-connect|word-counter"),
        ),
        Step(why="the committed offsets of a group", command=("offsets", *cluster, "--group", "legacy-import")),
        last,
    )


def pipeline_steps(bootstrap: str, data_dir: Path) -> tuple[Step, ...]:
    """Return the steps of the pipeline's tour, which writes its tables and its page to `data_dir`."""
    tables = ("--data-dir", str(data_dir))
    connected = (*tables, "-b", bootstrap)
    page = str(data_dir / "report.html")
    return (
        Step(why="check the requirements of the pipeline", command=("pipeline", "doctor", "-b", bootstrap)),
        Step(why="write the brokers' records about groups into tables", command=("pipeline", "ingest", *connected)),
        Step(
            why="add the log end offsets of the last hour",
            command=("pipeline", "backfill", *connected, "--since", "1h"),
        ),
        Step(why="add the current log end offsets and members", command=("pipeline", "sample", *connected)),
        Step(why="ingest again: only new records are read", command=("pipeline", "ingest", *connected)),
        Step(why="derive lag, time lag, verdicts, rebalances", command=("pipeline", "build", *tables)),
        Step(why="print a report of each group", command=("pipeline", "report", *tables, "--since", "1h")),
        Step(
            why="the same with charts, for a browser",
            command=("pipeline", "report", *tables, "--since", "1h", "--html", page),
        ),
        Step(why="list the tables", command=("pipeline", "tables", *tables)),
    )


def run_demo(bootstrap: str, *, show: Callable[[str], None], data_dir: Path | None = None) -> bool:
    """Run the tour on the stdout and stderr of this process; return False if one of its commands failed.

    With `data_dir`, a directory for tables, the tour is that of the pipeline.
    `show` receives each command before it runs.
    """
    succeeded = True
    tour = pipeline_steps(bootstrap, data_dir) if data_dir else steps(bootstrap, has_jq=shutil.which("jq") is not None)
    for step in tour:
        show(f"\n# {step.why}\n$ {step.line}")
        succeeded = _run(step) and succeeded
    return succeeded


def next_steps(name: str, *, home: Path | None = None) -> str:
    """Return a text with commands to try after the tour, and the command that ends the sandbox."""
    return f"""
The cluster keeps running, and its profile stays. To continue:
  {_PROGRAM} list --profile {name} --state
  {_PROGRAM} describe --profile {name} --group search-indexer --members   (it waits in a rebalance)
  {_PROGRAM} describe --profile {name} --group clickstream-loader         (its lag grows)
To end the cluster and delete its data:
  {_PROGRAM} sandbox down{sandbox_options(name, home=home)}"""


def sandbox_options(name: str, *, home: Path | None = None) -> str:
    """Return the options that select a sandbox, each after a blank; empty for the default sandbox."""
    name_option = "" if name == DEFAULT_NAME else f" --name {name}"
    return name_option + ("" if home is None else f" --dir {shlex.quote(str(home))}")


def _run(step: Step) -> bool:
    program = [sys.executable, "-P", "-m", "kafka_groups", *step.command]
    # A config file in the user's environment may be that of a cluster with TLS or SASL.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KAFKA_GROUPS_")}
    if not step.pipe:
        return subprocess.run(program, check=False, env=environment).returncode == 0
    finished = subprocess.run(program, check=False, stdout=subprocess.PIPE, env=environment)
    filtered = subprocess.run(_with_this_python(step.pipe), check=False, input=finished.stdout)
    return finished.returncode == 0 and filtered.returncode == 0


def _with_this_python(command: Sequence[str]) -> list[str]:
    """Return a command with `python3` replaced by the interpreter of this process."""
    program = sys.executable if command[0] == "python3" else command[0]
    return [program, *command[1:]]
