"""Compare builds of simulated clusters with the oracle: `python -m tests.pipeline.oracle [--first SEED] [--count N]`.

Prints a line for each difference; the exit code is 1 if there is any. 40 clusters take about two minutes.
"""

from __future__ import annotations

import argparse
import sys

import click

from tests.pipeline.oracle.comparison import compare_clusters


def main() -> None:
    """Compare the clusters of some seeds, and print what differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.pipeline.oracle", description=__doc__)
    parser.add_argument("--first", type=int, default=1, metavar="SEED", help="first seed (default: %(default)s)")
    parser.add_argument("--count", type=int, default=40, metavar="N", help="number of clusters (default: %(default)s)")
    options = parser.parse_args()
    differences = compare_clusters(options.first, options.count)
    for difference in differences:
        click.echo(difference)
    click.echo(f"{options.count} clusters, {len(differences)} differences")
    sys.exit(bool(differences))


if __name__ == "__main__":
    main()
