"""A real Prometheus that scrapes exporters each second, and its alerts."""

from __future__ import annotations

import json
import re
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from tests.exporter.exporter_process import HOST, free_port
from tests.live.groups.conditions import wait_until

RULES: Final = Path(__file__).parents[3] / "docs" / "prometheus-rules.yml"
_TIMEOUT_S: Final = 10
_END_S: Final = 20
_SCRAPE_JOB: Final = "kafka-groups"


@dataclass(frozen=True, kw_only=True)
class PrometheusServer:
    """The API of a running Prometheus."""

    url: str

    def query(self, expression: str) -> list[tuple[dict[str, str], float]]:
        """Return the labels and the value of each series of an expression, now."""
        data = self._get("query", query=expression)
        return [(series["metric"], float(series["value"][1])) for series in data["result"]]

    def firing(self) -> set[tuple[str, str]]:
        """Return the firing alerts: their name, with the group or else the cluster that they name."""
        return {
            (alert["labels"]["alertname"], alert["labels"].get("group") or alert["labels"].get("cluster", ""))
            for alert in self._get("alerts")["alerts"]
            if alert["state"] == "firing"
        }

    def targets(self) -> dict[str, str]:
        """Return the health of each target by its address; with the last error if it is down."""
        return {
            target["labels"]["instance"]: target["lastError"] or target["health"]
            for target in self._get("targets")["activeTargets"]
        }

    def _get(self, path: str, **parameters: str) -> Any:
        address = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(address, timeout=_TIMEOUT_S) as response:
            document = json.load(response)
        assert document["status"] == "success", document
        return document["data"]


@contextmanager
def start_prometheus(program: str, directory: Path, ports: Sequence[int]) -> Iterator[PrometheusServer]:
    """Yield a Prometheus that scrapes exporters on these ports, with the rules of docs/ and shorter times."""
    rules = directory / "rules.yml"
    rules.write_text(with_short_times(RULES.read_text(encoding="utf-8")), encoding="utf-8")
    config = directory / "prometheus.yml"
    document = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(rules)],
        "scrape_configs": [
            {"job_name": _SCRAPE_JOB, "static_configs": [{"targets": [f"{HOST}:{port}" for port in ports]}]}
        ],
    }
    config.write_text(yaml.safe_dump(document), encoding="utf-8")
    address = f"{HOST}:{free_port()}"
    command = [
        program,
        f"--config.file={config}",
        f"--storage.tsdb.path={directory / 'tsdb'}",
        f"--web.listen-address={address}",
        "--log.level=warn",
    ]
    log = directory / "prometheus.log"
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            server = PrometheusServer(url=f"http://{address}")
            wait_until(lambda: _is_ready(server.url), lambda: f"Prometheus is not ready: {log.read_text()}")
            yield server
        finally:
            process.terminate()
            process.wait(_END_S)


def with_short_times(rules: str) -> str:
    """Return the rules with alerts that fire after two seconds, in place of minutes."""
    return re.sub(r"^( +for: )\w+$", r"\g<1>2s", rules, flags=re.MULTILINE)


def _is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/-/ready", timeout=_TIMEOUT_S) as response:
            return bool(response.status == 200)
    except OSError:
        return False
