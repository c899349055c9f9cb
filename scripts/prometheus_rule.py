#!/usr/bin/env python3
"""Writes the rules of deploy/monitoring/rules.yml as a PrometheusRule, for the Prometheus operator.

python scripts/prometheus_rule.py      after each change of the rules; a test notices when it was forgotten
"""

from __future__ import annotations

from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
RULES = ROOT / "deploy" / "monitoring" / "rules.yml"
TARGET = ROOT / "deploy" / "kubernetes" / "components" / "monitoring" / "prometheus-rule.yaml"
HEAD = """\
# deploy/monitoring/rules.yml for the Prometheus operator, written by scripts/prometheus_rule.py. Do not edit.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: voxfleet
  labels:
    app.kubernetes.io/name: voxfleet
spec:
"""


def prometheus_rule() -> str:
    """The manifest."""
    groups = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    spec = yaml.safe_dump({"groups": groups}, sort_keys=False, width=10_000)
    return HEAD + "".join(f"  {line}\n" for line in spec.splitlines())


if __name__ == "__main__":
    TARGET.write_text(prometheus_rule(), encoding="utf-8")
