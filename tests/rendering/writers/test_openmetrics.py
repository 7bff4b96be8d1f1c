"""The OpenMetrics text, read by both parsers of prometheus_client: that of OpenMetrics, and that of Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_prometheus

from kafka_groups.groups.lag.lag_row import LagKey, LagRow
from kafka_groups.groups.lag.summary import summarize_lag
from kafka_groups.model import Failure, GroupDescription, OffsetRow
from kafka_groups.rendering.clusters import Cluster
from kafka_groups.rendering.columns import Entry
from kafka_groups.rendering.views.lag import LAG_VIEWS
from kafka_groups.rendering.views.lag_metrics import PREFIX, TOTALS, lag_metrics
from kafka_groups.rendering.writers.openmetrics import OpenMetricsWriter

Parse = Callable[[str], Iterable[Any]]
PARSERS: Final = {"openmetrics": parse_openmetrics, "prometheus": parse_prometheus}
every_parser = pytest.mark.parametrize("parse", PARSERS.values(), ids=PARSERS)
FAILURE: Final = Failure(code=30, name="GROUP_AUTHORIZATION_FAILED", message="refused", group="h")


def rows_by(key: LagKey, *, group: str = "g", topic: str = "t", member_id: str | None = "m") -> list[LagRow]:
    """Return the rows of a group with three partitions, of which one has no commit and one no log end."""
    owner = (member_id, "/10.0.0.1", "client")
    partitions = [
        OffsetRow(group, topic, 0, None, 5, 30, 25, *owner, 10, ""),
        OffsetRow(group, topic, 1, None, None, 30, None, *owner, 10, None),
        OffsetRow(group, topic, 2, None, 40, 30, -10, *owner, 0, ""),
    ]
    summary = summarize_lag(GroupDescription(group, "Classic", "Stable", "consumer", None), partitions, key)
    return [summary.total] if key is LagKey.GROUP else list(summary.rows)


def text_of(parse: Parse, key: LagKey, rows: Iterable[LagRow], failures: Iterable[Failure] = ()) -> str:
    """Return the text of rows, in the format of the parser."""
    texts: list[Iterable[str]] = []
    writer = OpenMetricsWriter(
        texts.append,
        lag_metrics(key),
        totals=TOTALS,
        clock=lambda: 1_700_000_000.25,
        is_openmetrics=parse is parse_openmetrics,
    )
    for row in rows:
        writer.add(Entry(LAG_VIEWS[key].table(), [row], dict))
    writer.end([], failures, status="complete")
    (parts,) = texts
    return "".join(parts)


def samples_of(parse: Parse, text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Return the parsed values by name and labels."""
    found = [sample for family in parse(text) for sample in family.samples]
    by_key = {(sample.name, tuple(sample.labels.items())): sample.value for sample in found}
    assert len(by_key) == len(found)
    return by_key


@every_parser
@pytest.mark.parametrize("key", LagKey)
def test_every_row_has_its_samples(parse: Parse, key: LagKey) -> None:
    rows = rows_by(key)
    samples = samples_of(parse, text_of(parse, key, rows, [FAILURE]))
    lags = [value for (name, _), value in samples.items() if name == f"{PREFIX}_{key.value}_lag_messages"]
    assert lags == [row.lag for row in rows if row.lag is not None]
    assert samples[f"{PREFIX}_poll_failures", ()] == 1
    assert samples[f"{PREFIX}_poll_timestamp_seconds", ()] == 1_700_000_000.25


@every_parser
def test_failures_are_counted_by_cluster(parse: Parse) -> None:
    texts: list[Iterable[str]] = []
    is_openmetrics = parse is parse_openmetrics
    writer = OpenMetricsWriter(
        texts.append, lag_metrics(LagKey.GROUP), totals=TOTALS, clock=lambda: 0.0, is_openmetrics=is_openmetrics
    )
    for name in ("east", "west"):
        writer.add(Entry(LAG_VIEWS[LagKey.GROUP].table(), rows_by(LagKey.GROUP), dict, cluster=Cluster(name, "id")))
    failures = [FAILURE._replace(cluster=name) for name in ("west", 'de"ad', "west")]
    writer.end([], failures, status="partial")
    samples = samples_of(parse, "".join(texts[0]))
    numbers = {labels: value for (name, labels), value in samples.items() if name == f"{PREFIX}_poll_failures"}
    assert numbers == {(("cluster", "east"),): 0, (("cluster", "west"),): 2, (("cluster", 'de"ad'),): 1}


@every_parser
def test_labels_name_the_partition(parse: Parse) -> None:
    samples = samples_of(parse, text_of(parse, LagKey.PARTITION, rows_by(LagKey.PARTITION)))
    labels = (("group", "g"), ("topic", "t"), ("partition", "2"), ("type", "Classic"))
    assert samples[f"{PREFIX}_partition_committed_offset", labels] == 40
    assert samples[f"{PREFIX}_partition_lag_messages", labels] == -10


@every_parser
def test_the_state_is_a_state_set_with_every_state_of_the_type(parse: Parse) -> None:
    name = f"{PREFIX}_group_state"
    samples = samples_of(parse, text_of(parse, LagKey.GROUP, rows_by(LagKey.GROUP)))
    states = {dict(labels)[name]: value for (found, labels), value in samples.items() if found == name}
    assert states == {
        "Stable": 1,
        "Empty": 0,
        "PreparingRebalance": 0,
        "CompletingRebalance": 0,
        "Dead": 0,
    }


@every_parser
def test_a_state_that_is_not_known_is_one_more_state(parse: Parse) -> None:
    name = f"{PREFIX}_group_state"
    rows = [row._replace(state="Paused", type="Share") for row in rows_by(LagKey.GROUP)]
    samples = samples_of(parse, text_of(parse, LagKey.GROUP, rows))
    states = [(dict(labels)[name], value) for (found, labels), value in samples.items() if found == name]
    assert states == [("Stable", 0), ("Empty", 0), ("Dead", 0), ("Paused", 1)]


@every_parser
def test_a_group_without_a_state_has_no_sample_of_it(parse: Parse) -> None:
    rows = [row._replace(state=None) for row in rows_by(LagKey.GROUP)]
    assert f"{PREFIX}_group_state{{" not in text_of(parse, LagKey.GROUP, rows)


@every_parser
def test_all_metrics_have_a_type_and_help_also_without_rows(parse: Parse) -> None:
    for key in LagKey:
        families = list(parse(text_of(parse, key, [])))
        names = [metric.name for metric in lag_metrics(key)]
        assert [family.name for family in families] == [
            *names,
            f"{PREFIX}_poll_failures",
            f"{PREFIX}_poll_timestamp_seconds",
        ]
        types = {metric.name: metric.type.value for metric in lag_metrics(key)}
        expected = types if parse is parse_openmetrics else {}
        assert all(family.type == expected.get(family.name, "gauge") for family in families)
        assert all(family.documentation.endswith(".") for family in families)


@every_parser
@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\nb", "\\n", "ü€😀", '{x="y"} 1', "a\rb\x00", " ", "#"])
def test_names_survive(parse: Parse, name: str) -> None:
    rows = rows_by(LagKey.MEMBER, group=name, member_id=name)
    samples = samples_of(parse, text_of(parse, LagKey.MEMBER, rows))
    labels = (("group", name), ("member_id", name), ("client_id", "client"), ("host", "/10.0.0.1"), ("type", "Classic"))
    assert samples[f"{PREFIX}_member_lag_messages", labels] == 25


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_any_name_survives(name: str) -> None:
    labels = (("group", "g"), ("topic", name), ("type", "Classic"))
    for parse in PARSERS.values():
        text = text_of(parse, LagKey.TOPIC, rows_by(LagKey.TOPIC, topic=name))
        assert samples_of(parse, text)[f"{PREFIX}_topic_lag_messages", labels] == 25


def test_a_name_that_is_not_utf_8_can_be_encoded() -> None:
    text = text_of(parse_prometheus, LagKey.GROUP, rows_by(LagKey.GROUP, group="a\udcff"))
    text.encode()
    assert r'group="a\\udcff"' in text


@every_parser
def test_partitions_without_an_owner_have_empty_labels(parse: Parse) -> None:
    rows = [row._replace(member_id=None, host=None, client_id=None) for row in rows_by(LagKey.MEMBER)]
    samples = samples_of(parse, text_of(parse, LagKey.MEMBER, rows))
    labels = (("group", "g"), ("member_id", ""), ("client_id", ""), ("host", ""), ("type", "Classic"))
    assert samples[f"{PREFIX}_member_lag_messages", labels] == 25


def test_the_samples_of_a_metric_stand_together() -> None:
    rows = [*rows_by(LagKey.GROUP), *rows_by(LagKey.GROUP, group="h")]
    names = [
        line.partition("{")[0] for line in text_of(parse_prometheus, LagKey.GROUP, rows).splitlines() if "{" in line
    ]
    assert names == sorted(names, key=list(dict.fromkeys(names)).index)


@every_parser
def test_the_samples_of_thousands_of_rows_are_complete(parse: Parse) -> None:
    rows = [row for number in range(1_001) for row in rows_by(LagKey.PARTITION, group=f"g{number}")]
    samples = samples_of(parse, text_of(parse, LagKey.PARTITION, rows))
    name = f"{PREFIX}_partition_committed_offset"
    expected = [row.group for row in rows if row.committed_offset is not None]
    assert [labels[0][1] for found, labels in samples if found == name] == expected


def test_metrics_that_few_need_of_each_partition_are_there_on_request() -> None:
    names = [metric.name.removeprefix(f"{PREFIX}_partition_") for metric in lag_metrics(LagKey.PARTITION)]
    assert names == ["lag_messages", "committed_offset"]
    added = {metric.name for metric in lag_metrics(LagKey.PARTITION, with_all=True)} - {
        f"{PREFIX}_partition_{name}" for name in names
    }
    assert added == {
        f"{PREFIX}_partition_{name}"
        for name in (
            "partitions_behind",
            "uncommitted_partitions",
            "lost_messages",
            "retention_margin_messages",
            "log_start_offset",
            "log_end_offset",
        )
    }


@pytest.mark.parametrize("key", [key for key in LagKey if key is not LagKey.PARTITION])
def test_other_rows_always_have_all_metrics(key: LagKey) -> None:
    assert lag_metrics(key) == lag_metrics(key, with_all=True)
