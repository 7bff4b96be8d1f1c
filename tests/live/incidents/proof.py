"""The proof of `kafka-groups why`: all incidents and healthy groups in several variants, and the table of confusion.

`python -m tests.live.incidents.proof [--variants N] [--only NAME,…]` starts clusters of its own. It ends with 1 if an
exact cause was not first each time, those that are due live in less than 95 %, or a healthy group had trouble.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Final

from kafka_groups.causes.catalogue import CAUSES
from kafka_groups.causes.cause import Due
from tests.live.incidents.clusters import incident_cluster
from tests.live.incidents.run import Verdict, load_decoys, load_healthy_groups, load_incidents, look_at
from tests.live.incidents.stage import HealthyGroup, Incident

# More applications at once would be slow on two cores, and then no incident is what its script says.
_AT_ONCE: Final = 6
_BAR: Final = 0.95


def main() -> int:
    """Run the proof, and return the exit code."""
    options = _parse()
    scripts: dict[str, Incident | HealthyGroup] = {**load_incidents()}
    scripts |= {f"decoy-{name}": incident for name, incident in load_decoys().items()}
    scripts |= {f"healthy-{name}": healthy for name, healthy in load_healthy_groups().items()}
    names = options.only.split(",") if options.only else [*scripts]
    chosen = {name: scripts[name] for name in names}
    alone = {name: script for name, script in chosen.items() if isinstance(script, Incident) and script.stops_broker}
    together = {name: script for name, script in chosen.items() if name not in alone}
    with tempfile.TemporaryDirectory() as directory:
        verdicts = [
            *_look(Path(directory), together, options, brokers=1, at_once=_AT_ONCE),
            *_look(Path(directory), alone, options, brokers=3, at_once=1),
        ]
    return _report(chosen, verdicts)


def _look(
    home: Path,
    scripts: Mapping[str, Incident | HealthyGroup],
    options: argparse.Namespace,
    *,
    brokers: int,
    at_once: int,
) -> Iterator[Verdict]:
    names = [*scripts]
    documents: Path | None = options.documents
    if not names:
        return
    with incident_cluster(home, brokers=brokers) as cluster:
        for seed, at in product(range(options.variants), range(0, len(names), at_once)):
            some = {name: scripts[name] for name in names[at : at + at_once]}
            for verdict in look_at(cluster.bootstrap, some, seed, cluster.brokers):
                sys.stdout.write(f"{seed} {verdict.name}: {', '.join(verdict.causes) or 'nothing'}\n")
                sys.stdout.flush()
                if documents is not None:
                    text = json.dumps(verdict.document, indent=1)
                    (documents / f"{seed}-{verdict.name}.json").write_text(text, encoding="utf-8")
                yield verdict


def _report(scripts: Mapping[str, Incident | HealthyGroup], verdicts: list[Verdict]) -> int:
    """Print the table of confusion, and return 1 if a bar is not reached."""
    first = Counter[tuple[str, str]]()
    wrong_exact: list[str] = []
    alarms: list[str] = []
    for verdict in verdicts:
        script = scripts[verdict.name]
        if isinstance(script, HealthyGroup):
            alarms += [f"{verdict.name}: {cause}" for cause in verdict.troubles]
            continue
        found = verdict.causes[0] if verdict.causes else "nothing"
        first[script.cause, found] += 1
        if script.is_exact and found != script.cause:
            wrong_exact.append(f"{verdict.name}: {found}")
    for (cause, found), number in sorted(first.items()):
        sys.stdout.write(f"| {cause} | {found} | {number} |\n")
    shares = {due: _share_of_right(first, due) for due in Due}
    sys.stdout.write(
        "".join(f"due {due}: {right} of {total} first\n" for due, (right, total) in shares.items())
        + f"exact but not first: {wrong_exact}; false alarms: {alarms}\n"
    )
    right, total = shares[Due.LIVE]
    return int(right < _BAR * total or bool(wrong_exact) or bool(alarms))


def _share_of_right(first: Mapping[tuple[str, str], int], due: Due) -> tuple[int, int]:
    """Return how often a cause that is due live, or with history, was found first, and how often it was there."""
    names = {cause.name for cause in CAUSES if cause.due is due}
    of_due = {key: number for key, number in first.items() if key[0] in names}
    return sum(number for (cause, found), number in of_due.items() if cause == found), sum(of_due.values())


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--variants", type=int, default=3)
    parser.add_argument("--documents", type=Path, help="a directory for what each `why` printed, in JSON")
    parser.add_argument("--only", default="", help="names of scripts, joined by commas")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
