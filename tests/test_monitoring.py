"""Alert rules, runbook and dashboard agree with the metrics; promtool and Grafana's own types judge them."""

from __future__ import annotations

import errno
import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from grafana_foundation_sdk.models.dashboard import Dashboard
from prometheus_client.samples import Sample

from gateway.edge.connections.crowd import Crowd
from gateway.files.disk import Disk
from gateway.metrics import Metrics
from gateway.operations.measurements.objectives import Kind, note
from gateway.sessions.storage.recording_files import reason_of
from gateway.settings import load_settings
from gateway.workers.registration import LOST_SECONDS
from scripts import prometheus_rule
from tests.gateway.stages.fleet import Fleet

ROOT = Path(__file__).resolve().parents[1]
MONITORING = ROOT / "deploy" / "monitoring"
DASHBOARD = MONITORING / "grafana" / "voxfleet.json"
METRIC = re.compile(r"\b((?:voxfleet|process)_[a-z_]+)\b")
RULES = yaml.safe_load((MONITORING / "rules.yml").read_text())["groups"]
GROWING = [
    re.findall(r"(?:increase|rate)\((\w+)(?:\{([^}]*)\})?\[", rule["expr"])
    for group in RULES
    for rule in group["rules"]
]
"""Of each rule, the series whose growth it looks at: names, and labels as they are written there."""
ALERTS = [rule for group in RULES for rule in group["rules"] if "alert" in rule]


def promtool(*arguments: str) -> None:
    done = subprocess.run(
        ["promtool", *arguments], cwd=MONITORING, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
async def known(tmp_path: Path) -> set[str]:
    """Names of all metrics, those of a family's samples included."""
    names: set[str] = set()
    crowd = Crowd(load_settings(worker_urls="http://127.0.0.1:9"))
    for family in Metrics(Fleet().pool, Disk(tmp_path, 1), crowd).registry.collect():
        names |= {family.name, *(sample.name for sample in family.samples)}
        suffixes = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}
        names |= {family.name + suffix for suffix in suffixes.get(family.type, [])}
    return names


def queries() -> list[str]:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel["targets"]]


def test_the_rules_do_what_their_tests_say() -> None:
    promtool("check", "config", "prometheus.yml")
    promtool("test", "rules", "rules.test.yml")


def test_every_alert_has_a_test_that_makes_it_fire() -> None:
    tests = yaml.safe_load((MONITORING / "rules.test.yml").read_text())["tests"]
    cases = [case for test in tests for case in test.get("alert_rule_test", [])]
    fired = {
        (case["alertname"], alert["exp_labels"]["severity"]) for case in cases for alert in case["exp_alerts"]
    }
    assert fired == {(rule["alert"], rule["labels"]["severity"]) for rule in ALERTS}


def test_the_rules_of_the_prometheus_operator_are_the_same() -> None:
    assert prometheus_rule.TARGET.read_text() == prometheus_rule.prometheus_rule()
    manifest = yaml.safe_load(prometheus_rule.TARGET.read_text())
    assert (manifest["kind"], manifest["spec"]["groups"]) == ("PrometheusRule", RULES)


def test_the_dashboard_is_one_that_grafana_reads(tmp_path: Path) -> None:
    read = json.loads(DASHBOARD.read_text())
    dashboard = Dashboard.from_json(read)
    assert dashboard.title == "VoxFleet" and len(dashboard.panels or []) == len(read["panels"])
    assert len({panel["id"] for panel in read["panels"]}) == len(read["panels"])
    expressions = [query.replace("$__rate_interval", "5m") for query in queries()]
    rules = [{"record": f"panel:{number}", "expr": each} for number, each in enumerate(expressions)]
    file = tmp_path / "queries.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    promtool("check", "rules", str(file))


@pytest.mark.parametrize(
    ("series", "value"),
    [
        ('voxfleet_worker_slots{worker="w0"}', 5),
        ("voxfleet_session_bytes", 5),
        ("voxfleet_job_bytes", 5),
        ('voxfleet_worker_kv_positions_total{worker="w0", tier="host"}', 1 / 60),
        ('voxfleet_worker_kv_bytes_total{worker="w0", direction="out"}', 1 / 60),
    ],
)
def test_what_each_of_several_gateways_tells_whole_is_shown_once(
    series: str, value: float, tmp_path: Path
) -> None:
    """Of what they share: workers, and what lies in the database."""
    name, _, labels = series.rstrip("}").partition("{")
    (query,) = [query for query in queries() if re.search(rf"\b{name}\b", query)]
    told = [
        {"series": f"{name}{{{','.join(filter(None, (labels, given)))}}}", "values": "0+1x9"}
        for given in ('instance="a"', 'instance="b"')
    ]
    expression = f"sum({query.replace('$__rate_interval', '5m')})"
    asked = {"expr": expression, "eval_time": "5m", "exp_samples": [{"labels": "{}", "value": value}]}
    test = {"interval": "1m", "input_series": told, "promql_expr_test": [asked]}
    file = tmp_path / "queries.test.yml"
    file.write_text(yaml.safe_dump({"tests": [test]}))
    promtool("test", "rules", str(file))


def test_a_worker_that_fell_silent_is_told_of_for_longer_than_its_alert_waits() -> None:
    (alert,) = [alert for alert in ALERTS if alert["alert"] == "VoxFleetWorkerDown"]
    minutes = re.fullmatch(r"(\d+)m", alert["for"])
    assert minutes is not None and 2 * 60 * int(minutes[1]) < LOST_SECONDS


async def test_every_metric_that_is_asked_for_exists(known: set[str]) -> None:
    asked = [*queries(), *(rule["expr"] for group in RULES for rule in group["rules"])]
    missing = {name for text in asked for name in METRIC.findall(text)} - known
    assert missing == set()


def samples_of(metrics: Metrics, name: str) -> list[Sample]:
    return [
        sample for family in metrics.registry.collect() for sample in family.samples if sample.name == name
    ]


async def test_what_alerts_see_grow_is_there_before_it_grows() -> None:
    """Prometheus sees no increase in a series that begins with its first count, however large."""
    metrics = Metrics(Fleet(1).pool)
    kind = Kind.of(model=None, voice="", protocol="openai", tenant="")
    note(metrics, "lost", kind, missed=False)
    grown = [match for rule in GROWING for match in rule]
    assert ("voxfleet_jobs_total", 'outcome="failed"') in grown and len(set(grown)) == 7
    for name, wanted in grown:
        labels = dict(re.findall(r'(\w+)="(\w+)"', wanted))
        assert [sample for sample in samples_of(metrics, name) if labels.items() <= sample.labels.items()], (
            name
        )


async def test_each_reason_of_a_failure_is_there_before_it_grows() -> None:
    metrics = Metrics(Fleet(1).pool)
    sources = "".join(file.read_text() for file in (ROOT / "gateway").rglob("*.py"))
    broken = {
        *re.findall(r'StreamBroken\("(\w+)"', sources),
        *re.findall(r'_blame\(lease, work, "(\w+)"', sources),
        *re.findall(r'failures\["(\w+)"\] \+= 1', sources),
    }
    told = {sample.labels["reason"] for sample in samples_of(metrics, "voxfleet_worker_failures_total")}
    assert broken == told
    errors = [OSError(errno.ENOSPC, ""), OSError(errno.EIO, ""), OverflowError(), ValueError()]
    stopped = {reason_of(error) for error in errors} | {"overloaded"}
    told = {sample.labels["reason"] for sample in samples_of(metrics, "voxfleet_recording_failures_total")}
    assert stopped == told


def test_every_alert_has_a_page_and_every_page_an_alert() -> None:
    text = (ROOT / "docs" / "runbook.md").read_text()
    headings = set(re.findall(r"^## (\w+)$", text, re.MULTILINE))
    assert headings == {rule["alert"] for rule in ALERTS}
    for rule in ALERTS:
        assert rule["annotations"]["runbook"] == f"docs/runbook.md#{rule['alert'].lower()}"
        assert rule["labels"]["severity"] in ("page", "ticket")


def test_what_the_runbook_names_are_settings(known: set[str]) -> None:
    from gateway.settings import GatewaySettings

    text = (ROOT / "docs" / "runbook.md").read_text()
    named = set(re.findall(r"`((?:session|min|anonymous|objective)_[a-z_]+)`", text))
    assert named and named <= set(GatewaySettings.model_fields)
    assert set(re.findall(r"`(voxfleet_[a-z_]+)`", text)) <= known
