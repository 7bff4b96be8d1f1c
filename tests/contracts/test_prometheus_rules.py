"""Which alerts of docs/prometheus-rules.yml are active: `promtool test rules` simulates the minutes."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from kafka_groups.verdicts import VERDICTS

RULES: Final = Path(__file__).parents[2] / "docs" / "prometheus-rules.yml"
GROUP: Final = {"cluster": "east", "group": "billing", "type": "Classic"}
# Samples each 30 s, for an hour.
_SAMPLES: Final = 120
Judge = Callable[[Mapping[str, str], int], set[str]]


def labels(values: Mapping[str, str]) -> str:
    """Return labels in braces."""
    return "{" + ",".join(f'{name}="{value}"' for name, value in values.items()) + "}"


def constant(value: float) -> str:
    """Return a value that does not change for an hour."""
    return f"{value}+0x{_SAMPLES}"


def verdict_series(verdict: str) -> dict[str, str]:
    """Return the StateSet of a group that has had a verdict for an hour."""
    name = "kafka_groups_group_verdict"
    return {f"{name}{labels({**GROUP, name: each})}": constant(int(each == verdict)) for each in VERDICTS}


def group_series(**values: str) -> dict[str, str]:
    """Return series of a group by the end of their names."""
    return {f"kafka_groups_group_{name}{labels(GROUP)}": value for name, value in values.items()}


UP: Final = 'kafka_groups_up{cluster="east"}'
BUILD: Final = {"kafka_groups_build_info{}": constant(1)}
# An exporter that works.
HEALTHY: Final = {**BUILD, UP: constant(1)}


@pytest.fixture(scope="module")
def judge(program: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory) -> Judge:
    """Return a function that returns the alerts that are active after some minutes of some series."""
    promtool = program("promtool")
    directory = tmp_path_factory.mktemp("rules")
    alerts = [rule["alert"] for rule in yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"][0]["rules"]]

    def find(series: Mapping[str, str], minutes: int) -> set[str]:
        test: dict[str, Any] = {
            "interval": "30s",
            "input_series": [{"series": name, "values": values} for name, values in series.items()],
            # promtool describes each alert that nobody expected.
            "alert_rule_test": [{"eval_time": f"{minutes}m", "alertname": alert, "exp_alerts": []} for alert in alerts],
        }
        document = {"rule_files": [str(RULES)], "evaluation_interval": "30s", "tests": [test]}
        file = directory / "rules_test.yml"
        file.write_text(yaml.safe_dump(document), encoding="utf-8")
        run = subprocess.run([promtool, "test", "rules", file], capture_output=True, text=True, check=False)
        found = {*re.findall(r"^ *alertname: (\w+), time:", run.stdout + run.stderr, re.MULTILINE)}
        assert (run.returncode == 0) == (not found), run.stderr
        return found

    return find


@pytest.mark.parametrize(
    ("verdict", "alerts"),
    [
        ("OK", []),
        ("UNKNOWN", []),
        ("WARN", ["KafkaGroupBehind"]),
        ("STALL", ["KafkaGroupStalled"]),
        ("REWIND", ["KafkaGroupRewound"]),
        ("STOP", ["KafkaGroupStopped"]),
    ],
)
def test_each_verdict_has_its_alert(judge: Judge, verdict: str, alerts: Sequence[str]) -> None:
    assert judge({**HEALTHY, **verdict_series(verdict)}, 20) == {*alerts}


def test_every_verdict_is_judged_here() -> None:
    assert len(VERDICTS) == 6


@pytest.mark.parametrize(("minutes", "is_active"), [(0, False), (2, True)])
def test_a_stopped_group_is_an_alert_after_a_minute(judge: Judge, minutes: int, *, is_active: bool) -> None:
    assert judge({**HEALTHY, **verdict_series("STOP")}, minutes) == ({"KafkaGroupStopped"} if is_active else set())


@pytest.mark.parametrize(("lost", "is_active"), [("0+10x120", True), ("50+0x120", False), ("500-10x40", False)])
def test_only_growing_losses_are_an_alert(judge: Judge, lost: str, *, is_active: bool) -> None:
    found = judge({**HEALTHY, **group_series(lost_messages=lost)}, 15)
    assert found == ({"KafkaGroupLosesMessages"} if is_active else set())


@pytest.mark.parametrize(("minutes", "is_active"), [(3, False), (6, True)])
def test_a_cluster_that_is_not_read_is_an_alert(judge: Judge, minutes: int, *, is_active: bool) -> None:
    assert judge({**BUILD, UP: constant(0)}, minutes) == ({"KafkaClusterNotRead"} if is_active else set())


def test_errors_are_an_alert_only_while_the_cluster_is_read(judge: Judge) -> None:
    errors = {f"kafka_groups_errors_total{labels({'cluster': 'east', 'name': 'TIMEOUT'})}": "0+1x120"}
    assert judge({**HEALTHY, **errors}, 40) == {"KafkaGroupsPartlyRead"}
    assert judge({**BUILD, UP: constant(0), **errors}, 40) == {"KafkaClusterNotRead"}


def test_no_exporter_is_an_alert(judge: Judge) -> None:
    assert judge({}, 6) == {"KafkaGroupsExporterAbsent"}
