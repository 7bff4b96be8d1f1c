"""The files around the exporter: rules for Prometheus, manifests for Kubernetes, a unit for systemd.

promtool and systemd-analyze judge them if they are installed.
"""

from __future__ import annotations

import configparser
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from kafka_groups.cli import cli
from kafka_groups.exit_codes import ExitCode

DOCS = Path(__file__).parents[2] / "docs"
RULES = DOCS / "prometheus-rules.yml"
UNIT = DOCS / "kafka-groups-exporter.service"
KUBERNETES = DOCS / "kubernetes"
# The oldest and the newest release whose schemas kubernetes-validate has in its current version and that people run.
VERSIONS = ("1.29", "1.37")
_PORT = "9465"


def manifests() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each document of the manifests, with the name of its file."""
    for file in sorted(KUBERNETES.glob("*.yaml")):
        for document in yaml.safe_load_all(file.read_text(encoding="utf-8")):
            yield file.name, document


def pod_specs() -> dict[str, dict[str, Any]]:
    """Return the specifications of pods by the kind of the manifest."""
    found = {}
    for _, document in manifests():
        spec = document.get("spec", {})
        spec = spec.get("jobTemplate", {}).get("spec", spec)
        if "template" in spec:
            found[document["kind"]] = spec["template"]["spec"]
    return found


def rules_of_pages() -> list[str]:
    """Return the rules of Prometheus in the code blocks of pages."""
    pages = [(DOCS / name).read_text(encoding="utf-8") for name in ("exporter-migration.md", "exporter.md", "lag.md")]
    return [block for page in pages for block in re.findall(r"```yaml\n(groups:\n.*?)```", page, re.DOTALL)]


def unit_of_systemd() -> configparser.ConfigParser:
    """Return the unit, which has each name once in a section."""
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]  # names of systemd have capital letters
    unit.read(UNIT, encoding="utf-8")
    return unit


def commands() -> dict[str, list[str]]:
    """Return the arguments of kafka-groups in each file."""
    found = {kind: spec["containers"][0]["args"] for kind, spec in pod_specs().items()}
    program, *arguments = shlex.split(unit_of_systemd()["Service"]["ExecStart"])
    assert program.endswith("/kafka-groups")
    return {**found, "systemd": arguments}


def test_there_are_manifests_of_a_deployment_a_job_and_a_secret() -> None:
    kinds = {document["kind"] for _, document in manifests()}
    assert kinds >= {"Deployment", "CronJob", "Secret"}
    assert pod_specs().keys() == {"Deployment", "CronJob"}


@pytest.mark.parametrize("version", VERSIONS)
def test_kubernetes_accepts_the_manifests(version: str) -> None:
    for _, document in manifests():
        kubernetes_validate.validate(document, version, strict=True)


def test_a_field_that_kubernetes_does_not_know_is_refused() -> None:
    _, document = next(pair for pair in manifests() if pair[1]["kind"] == "Deployment")
    document["spec"]["replica"] = 1
    with pytest.raises(kubernetes_validate.ValidationError, match="replica"):
        kubernetes_validate.validate(document, VERSIONS[-1], strict=True)


@pytest.mark.parametrize("kind", ["Deployment", "CronJob"])
def test_pods_run_as_a_user_that_cannot_write(kind: str) -> None:
    spec = pod_specs()[kind]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["automountServiceAccountToken"] is False
    (container,) = spec["containers"]
    context = container["securityContext"]
    assert (context["readOnlyRootFilesystem"], context["allowPrivilegeEscalation"]) == (True, False)
    assert context["capabilities"] == {"drop": ["ALL"]}


@pytest.mark.parametrize("kind", ["Deployment", "CronJob"])
def test_the_profiles_are_where_the_tool_looks_for_them(kind: str) -> None:
    (secret,) = (document for _, document in manifests() if document["kind"] == "Secret")
    spec = pod_specs()[kind]
    volumes = {volume["name"]: volume.get("secret", {}).get("secretName") for volume in spec["volumes"]}
    (container,) = spec["containers"]
    (path,) = (
        mount["mountPath"]
        for mount in container["volumeMounts"]
        if volumes[mount["name"]] == secret["metadata"]["name"]
    )
    variables = {variable["name"]: variable["value"] for variable in container["env"]}
    assert path == f"{variables['XDG_CONFIG_HOME']}/kafka-groups"
    assert "profiles.toml" in secret["stringData"]


def test_probes_and_the_annotation_have_the_port_of_the_command() -> None:
    (deployment,) = (document for _, document in manifests() if document["kind"] == "Deployment")
    template = deployment["spec"]["template"]
    (container,) = template["spec"]["containers"]
    (port,) = container["ports"]
    assert f"--listen=0.0.0.0:{port['containerPort']}" in container["args"]
    assert template["metadata"]["annotations"]["prometheus.io/port"] == str(port["containerPort"]) == _PORT
    probes = {name: container[name]["httpGet"] for name in ("livenessProbe", "readinessProbe")}
    assert {probe["path"] for probe in probes.values()} == {"/healthz", "/readyz"}
    assert {probe["port"] for probe in probes.values()} == {port["name"]}


@pytest.mark.parametrize("place", ["Deployment", "CronJob", "systemd"])
def test_each_command_has_options_that_exist(place: str) -> None:
    name, *arguments = commands()[place]
    context = cli.make_context("kafka-groups", [name, *arguments], resilient_parsing=True)
    command = cli.get_command(context, name)
    assert command is not None
    known = {option for parameter in command.params for option in parameter.opts}
    used = {argument.partition("=")[0] for argument in arguments if argument.startswith("--")}
    assert used - known == set()


def test_the_exit_code_in_the_job_is_that_of_a_condition() -> None:
    text = (KUBERNETES / "cronjob.yaml").read_text(encoding="utf-8")
    assert f"(exit code {int(ExitCode.CHECK_FAILED)})" in text


def test_the_unit_reloads_with_sighup_and_does_not_run_as_root() -> None:
    service = unit_of_systemd()["Service"]
    assert service["ExecReload"].endswith("kill -HUP $MAINPID")
    assert service["User"] not in {"", "root"}


def test_systemd_accepts_the_unit(program: Callable[[str], str], tmp_path: Path) -> None:
    analyze = program("systemd-analyze")
    text = UNIT.read_text(encoding="utf-8")
    # systemd requires that the program exists.
    copy = tmp_path / UNIT.name
    copy.write_text(re.sub(r"ExecStart=\S+", "ExecStart=/bin/true", text), encoding="utf-8")
    run = subprocess.run([analyze, "verify", "--man=no", copy], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout + run.stderr) == (0, "")


@pytest.mark.parametrize("rules", rules_of_pages())
def test_promtool_accepts_the_rules_of_pages(program: Callable[[str], str], tmp_path: Path, rules: str) -> None:
    file = tmp_path / "rules.yml"
    file.write_text(rules, encoding="utf-8")
    run = subprocess.run([program("promtool"), "check", "rules", file], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")


def test_promtool_accepts_the_rules(program: Callable[[str], str]) -> None:
    run = subprocess.run([program("promtool"), "check", "rules", RULES], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    assert "SUCCESS" in run.stdout
