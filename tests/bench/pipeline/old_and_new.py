"""The commands of the pipeline, run by the old and the new code in turn on the same facts.

Each round runs each step with the old code, the new code and a second copy of the new code, in an order that changes
from round to round. The two copies of the new code show how much a step varies without a change of the code.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa

from tests.pipeline.old_commit import ROOT, environment_of, worktree_of

from .builds import fact_batches
from .process_usage import Usage, run_measured

OLD: Final = "old"
NEW: Final = "new"
NEW_COPY: Final = "new, copy"
VERSIONS: Final = (OLD, NEW, NEW_COPY)
# A build of fewer than 100,000 facts runs without Spark; these commits are 89,280 facts.
FEW_COMMITS: Final = 36_000
# The new code may use this share of the old code's memory.
MEMORY_LIMIT: Final = 1.10

_WRITER: Final = Path(__file__).with_name("facts_writer.py")
_STEP_TIMEOUT_S: Final = 3_600
_DAY_OF_FACTS: Final = datetime(2026, 11, 20, tzinfo=UTC)
_NOON: Final = 12


class Step(NamedTuple):
    """A command to measure. `facts` names the directory of facts that are added before it, without being measured."""

    name: str
    data_dir: str
    arguments: Sequence[str]
    facts: str | None = None


class Comparison(NamedTuple):
    """The runs of one step: by version a Usage for each round."""

    step: str
    runs: dict[str, list[Usage]]

    def ratios(self, version: str, base: str) -> list[float]:
        """Return, for each round, the time of a version divided by that of the base in the same round."""
        return [run.seconds / other.seconds for run, other in zip(self.runs[version], self.runs[base], strict=True)]

    def noise(self) -> float:
        """Return the largest ratio between the two copies of the new code in a round, at least 1."""
        return max(max(ratio, 1 / ratio) for ratio in self.ratios(NEW_COPY, NEW))

    def memory_ratio(self) -> float:
        """Return the median peak memory of the new code divided by that of the old code."""
        return self._median_mib(NEW) / self._median_mib(OLD)

    def is_slower(self) -> bool:
        """Return whether the median ratio of new to old is larger than the noise."""
        return statistics.median(self.ratios(NEW, OLD)) > self.noise()

    def is_larger(self) -> bool:
        """Return whether the new code uses more memory than it may."""
        return self.memory_ratio() > MEMORY_LIMIT

    def describe(self) -> str:
        """Return a line for each version, one with the ratios, and the verdict."""
        lines = [self.step]
        for version, runs in self.runs.items():
            seconds = [run.seconds for run in runs]
            spread = f"{statistics.median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f})"
            lines.append(f"  {version:9}  {spread:28}  {self._median_mib(version):6.0f} MiB")
        lines.append(f"  new / old       {_describe_ratios(self.ratios(NEW, OLD))}, memory {self.memory_ratio():.2f}")
        lines.append(f"  new copy / new  {_describe_ratios(self.ratios(NEW_COPY, NEW))}")
        lines.append(f"  {'SLOWER' if self.is_slower() else 'not slower'} than the copies of the new code differ")
        if self.is_larger():
            lines.append(f"  MORE MEMORY than {MEMORY_LIMIT:.0%} of the old code's")
        return "\n".join(lines)

    def _median_mib(self, version: str) -> float:
        return statistics.median(run.peak_mib for run in self.runs[version])


def _describe_ratios(ratios: Sequence[float]) -> str:
    return f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"


def compare_versions(
    old_commit: str, scratch: Path, *, rounds: int, commits: int, bootstrap: str | None, report: Callable[[str], None]
) -> list[Comparison]:
    """Run all steps in turn, and return their runs.

    The day of the larger facts has `commits` commit records. With a broker's address, ingest and sample are measured,
    too. `report` is called with a line after each round.
    """
    few = write_facts(scratch / "few", FEW_COMMITS, hours=range(24))
    many = write_facts(scratch / "many", commits, hours=range(_NOON))
    hour = write_facts(scratch / "hour", commits, hours=range(_NOON, _NOON + 1))
    steps = [
        Step(f"build of {few:,} facts", "few", ["build"], facts="few"),
        Step(f"build of {many:,} facts", "many", ["build"], facts="many"),
        Step(f"build of {hour:,} further facts of the same day", "many", ["build"], facts="hour"),
        Step("report of the day as JSON", "many", ["report", "--since", _since(), "--format", "json"]),
        Step("compaction", "many", ["compact"]),
    ]
    if bootstrap is not None:
        steps.append(Step("ingest", "ingested", ["ingest", "--bootstrap-server", bootstrap]))
        steps.append(Step("sample", "ingested", ["sample", "--bootstrap-server", bootstrap]))
    comparisons = [Comparison(step.name, {version: [] for version in VERSIONS}) for step in steps]
    with version_trees(old_commit, scratch) as trees:
        for number in range(rounds):
            for comparison, usages in zip(comparisons, _run_round(steps, trees, scratch, number), strict=True):
                for version, usage in usages.items():
                    comparison.runs[version].append(usage)
            report(f"round {number + 1} of {rounds} is complete")
    return comparisons


def _since() -> str:
    """Return the duration from the beginning of the day of facts until now, in whole days."""
    return f"{(datetime.now(UTC) - _DAY_OF_FACTS).days + 1}d"


def write_facts(directory: Path, commits: int, *, hours: range) -> int:
    """Write the facts of these hours as Arrow files for facts_writer.py, and return their number."""
    directory.mkdir()
    count = 0
    for number, (batch, table, rows) in enumerate(fact_batches(commits, hours=hours)):
        path = directory / f"{number:05}.{batch}.{table.name}.arrow"
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
            writer.write_batch(rows)
        count += rows.num_rows
    return count


@contextmanager
def version_trees(old_commit: str, scratch: Path) -> Iterator[dict[str, Path]]:
    """Yield the directories of the code by version, with compiled modules: a first run is as fast as a second one."""
    with worktree_of(old_commit) as old_tree:
        trees = {OLD: old_tree, NEW: scratch / "new", NEW_COPY: scratch / "new-copy"}
        for version, tree in trees.items():
            if version != OLD:
                for name in ("cli", "tests"):
                    shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
            subprocess.run([sys.executable, "-m", "compileall", "-q", "cli", "tests/pipeline"], cwd=tree, check=True)
        yield trees


def _run_round(steps: Sequence[Step], trees: dict[str, Path], scratch: Path, number: int) -> Iterator[dict[str, Usage]]:
    """Yield, for each step, the usage by version; the tables of the round are deleted at the end.

    A step continues with the tables that the same version wrote in the steps before.
    """
    first = number % len(VERSIONS)
    order = (*VERSIONS[first:], *VERSIONS[:first])
    tables = scratch / "tables"
    for step in steps:
        usages = {}
        for version in order:
            data_dir = tables / version.replace(", ", "-") / step.data_dir
            data_dir.parent.mkdir(parents=True, exist_ok=True)
            if step.facts is not None:
                _add_facts(trees[version], scratch / step.facts, data_dir)
            command = [sys.executable, "-m", "kafka_groups", "pipeline", *step.arguments, "--data-dir", str(data_dir)]
            usages[version] = run_measured(command, environment_of(trees[version]), scratch, _STEP_TIMEOUT_S)
        yield usages
    shutil.rmtree(tables)


def _add_facts(tree: Path, facts: Path, data_dir: Path) -> None:
    """Write facts into a data directory with the storage of a tree."""
    command = [sys.executable, "-P", str(_WRITER), str(facts), str(data_dir)]
    subprocess.run(command, cwd=tree, env=environment_of(tree), check=True)
