"""The doctor's checks of this machine."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from kafka_groups.errors import SparkMissingError
from kafka_groups.pipeline.doctor.check import Check
from kafka_groups.pipeline.doctor.machine import check_machine

if TYPE_CHECKING:
    import pytest
    from pytest_mock import MockerFixture


def test_programs_and_packages_are_checked() -> None:
    checks = {check.check: check for check in check_machine({"PATH": ""})}
    assert checks["python"].status == checks["pyspark"].status == checks["pyarrow"].status == "ok"
    assert checks["java"].status == "warning"
    assert checks["plotly"].status == "ok"


def test_a_missing_package_for_charts_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly", None)
    (check,) = (check for check in check_machine({}) if check.check == "plotly")
    assert (check.status, "pip install 'kafka-groups[pipeline]'" in check.detail) == ("warning", True)


def test_a_missing_pyspark_is_a_warning_that_names_what_needs_it(mocker: MockerFixture) -> None:
    mocker.patch("kafka_groups.pipeline.doctor.machine.check_pyspark", side_effect=SparkMissingError("none"))
    checks = check_machine({"PATH": ""})
    assert Check("pyspark", "warning", "none; ingest and builds of more than 100,000 facts need it") in checks
