"""The metrics that pages, the Grafana dashboard and the alert rules name exist."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from kafka_groups.cli import cli
from kafka_groups.exporter.scrape import OWN_METRICS
from kafka_groups.groups.lag.lag_row import LagKey
from kafka_groups.rendering.views.lag_metrics import PREFIX, lag_metrics

DOCS = Path(__file__).parents[2] / "docs"
METRICS = {
    metric.name for key in LagKey for metric in lag_metrics(key, with_time=True, with_all=True, with_verdicts=True)
}
KNOWN = {*METRICS, *(metric.name for metric in OWN_METRICS)}
PAGE = (DOCS / "lag.md").read_text(encoding="utf-8")
CONDITIONS = re.findall(r"--(?:fail-if|until) '([^']+)'", PAGE)


@pytest.mark.parametrize(
    "name", ["lag.md", "exporter.md", "exporter-migration.md", "grafana-lag.json", "prometheus-rules.yml"]
)
def test_every_metric_that_is_named_exists(name: str) -> None:
    text = (DOCS / name).read_text(encoding="utf-8")
    named = set(re.findall(rf"\b{PREFIX}_\w+\b", text)) - {f"{PREFIX}_{key.value}_" for key in LagKey}
    assert named
    assert named - KNOWN == set()


def test_the_table_of_the_page_has_every_metric() -> None:
    suffixes = {metric.name.removeprefix(f"{PREFIX}_group_") for metric in lag_metrics(LagKey.GROUP)}
    assert [suffix for suffix in suffixes if f"_{suffix}`" not in PAGE] == []


def test_the_page_for_other_exporters_has_every_metric() -> None:
    page = (DOCS / "exporter-migration.md").read_text(encoding="utf-8")
    metrics = [*lag_metrics(LagKey.GROUP, with_time=True, with_verdicts=True), *lag_metrics(LagKey.PARTITION)]
    names = {metric.name for metric in metrics} | {metric.name for metric in OWN_METRICS}
    assert [name for name in names if not re.search(rf"\b{name}\)?`", page)] == []


def test_the_page_of_the_exporter_has_every_metric() -> None:
    page = (DOCS / "exporter.md").read_text(encoding="utf-8")
    prefixes = tuple(f"{PREFIX}_{key.value}_" for key in LagKey)
    ends = {name: name.removeprefix(next(filter(name.startswith, prefixes), "")) for name in KNOWN}
    unnamed = [name for name, end in ends.items() if f"`{name}`" not in page and f"`{end}`" not in page]
    of_topics_and_members = (f"{PREFIX}_topic_", f"{PREFIX}_member_")
    assert [name for name in unnamed if not name.startswith(of_topics_and_members)] == []


def test_the_dashboard_is_json_with_panels_that_do_not_overlap() -> None:
    panels = json.loads((DOCS / "grafana-lag.json").read_text(encoding="utf-8"))["panels"]
    places = [
        (x, y)
        for at in (panel["gridPos"] for panel in panels)
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(places) == len(set(places))
    assert max(x for x, _ in places) < 24


def test_every_panel_shows_the_chosen_clusters() -> None:
    document = json.loads((DOCS / "grafana-lag.json").read_text(encoding="utf-8"))
    assert [variable["name"] for variable in document["templating"]["list"]] == ["datasource", "cluster", "group"]
    expressions = [target["expr"] for panel in document["panels"] for target in panel["targets"]]
    assert [expression for expression in expressions if 'cluster=~"$cluster"' not in expression] == []
    assert sum("kafka_groups_group_verdict" in expression for expression in expressions) >= 2


@pytest.mark.parametrize("condition", CONDITIONS)
def test_every_condition_of_the_page_can_be_parsed(condition: str) -> None:
    # Nothing listens there: a condition that cannot be parsed would end the command earlier, with 2.
    key = "partition" if "topic==" in condition else "group"
    history = ["--watch", "1s"] if "verdict" in condition else []
    arguments = ["lag", "--by", key, *history, "--fail-if", condition, "-b", "127.0.0.1:1", "--timeout", "1s"]
    assert CliRunner().invoke(cli, arguments).exit_code == 1
