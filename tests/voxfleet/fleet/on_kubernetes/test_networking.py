"""Services, policies and ways in lead where they should, and nowhere else."""

from __future__ import annotations

import re

import pytest

from gateway.settings import GatewaySettings
from tests.voxfleet.fleet.on_kubernetes.manifests import (
    FIELDS,
    OVERLAYS,
    Document,
    container,
    everything,
    named,
    of_kind,
    overlay,
    pods,
    selects,
    variables,
)


@pytest.mark.parametrize("name", OVERLAYS)
def test_services_lead_to_pods_and_ports_that_there_are(name: str) -> None:
    documents = overlay(name)
    for service in of_kind(documents, "Service"):
        chosen = [
            pod
            for pod in pods(documents)
            if service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
        ]
        assert len(chosen) == 1, service["metadata"]["name"]
        ports = {port["name"] for port in container(chosen[0])["ports"]}
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports


@pytest.mark.parametrize("name", OVERLAYS)
def test_workers_find_gateways_by_a_service_with_the_address_of_each(name: str) -> None:
    documents = overlay(name)
    for pod in pods(documents):
        if container(pod)["name"] == "worker":
            url = variables(pod, FIELDS)["VOXFLEET_WORKER_GATEWAY_DNS_URL"]
            host, port = re.fullmatch(r"http://([\w-]+):(\d+)", url).groups()
            service = named(documents, "Service", host)["spec"]
            assert service["clusterIP"] == "None"
            assert service["publishNotReadyAddresses"] is True
            (gateway,) = [item for item in pods(documents) if container(item)["name"] == "gateway"]
            assert container(gateway)["ports"][0]["containerPort"] == int(port)


@pytest.mark.parametrize("name", OVERLAYS)
def test_policies_let_through_what_pods_need_and_nothing_else_to_workers(name: str) -> None:
    documents = overlay(name)
    policies = of_kind(documents, "NetworkPolicy")

    def allowed(source: Document, target: Document, port: int, direction: str) -> bool:
        own, other = (target, source) if direction == "ingress" else (source, target)
        peers = "from" if direction == "ingress" else "to"
        rules = [
            rule
            for policy in policies
            if selects(policy["spec"]["podSelector"], own["metadata"]["labels"])
            for rule in policy["spec"].get(direction, [])
        ]
        return any(
            any(entry["port"] == port for entry in rule["ports"])
            and (
                peers not in rule
                or any(selects(peer["podSelector"], other["metadata"]["labels"]) for peer in rule[peers])
            )
            for rule in rules
        )

    by_name = {container(pod)["name"]: pod for pod in pods(documents)}
    needed = [("gateway", "worker", 22400), ("worker", "gateway", 8006)]
    needed += [("gateway", "postgres", 5432)] if "postgres" in by_name else []
    for source, target, port in needed:
        for direction in ("egress", "ingress"):
            assert allowed(by_name[source], by_name[target], port, direction), (source, target, direction)
    assert not allowed({"metadata": {"labels": {}}}, by_name["worker"], 22400, "ingress")
    assert not allowed(by_name["worker"], by_name["worker"], 22400, "ingress")
    if "postgres" in by_name:
        assert not allowed(by_name["worker"], by_name["postgres"], 5432, "ingress")
    for pod in pods(documents):
        chosen = [
            policy for policy in policies if selects(policy["spec"]["podSelector"], pod["metadata"]["labels"])
        ]
        assert [policy["spec"]["policyTypes"] for policy in chosen] == [["Ingress", "Egress"]]


def test_prometheus_shows_the_token_of_metrics_at_the_port_of_gateways() -> None:
    (monitor,) = of_kind(overlay("fleet"), "ServiceMonitor")
    (endpoint,) = monitor["spec"]["endpoints"]
    services = [
        service
        for service in of_kind(overlay("fleet"), "Service")
        if selects(monitor["spec"]["selector"], service["metadata"]["labels"])
    ]
    assert [service["metadata"]["name"] for service in services] == ["voxfleet-gateway"]
    assert endpoint["port"] in {port["name"] for port in services[0]["spec"]["ports"]}
    pod = named(overlay("fleet"), "Deployment", "voxfleet-gateway")["spec"]["template"]
    (secret,) = [volume["secret"] for volume in pod["spec"]["volumes"] if "secret" in volume]
    credentials = endpoint["authorization"]["credentials"]
    assert credentials["name"] == secret["secretName"]
    assert credentials["key"] in {item["key"] for item in secret["items"]}


def test_a_way_in_leads_to_the_gateway_and_outlasts_a_live_session() -> None:
    (ingress,) = of_kind(overlay("fleet"), "Ingress")
    longest = GatewaySettings().live_session_seconds
    annotations = ingress["metadata"]["annotations"]
    for direction in ("read", "send"):
        assert float(annotations[f"nginx.ingress.kubernetes.io/proxy-{direction}-timeout"]) >= longest
    settings = GatewaySettings()
    largest = max(settings.max_adapter_bytes, settings.max_encode_bytes, settings.max_document_bytes)
    whole = largest + settings.max_body_bytes >> 20
    assert annotations["nginx.ingress.kubernetes.io/proxy-body-size"] == f"{whole}m"
    (rule,) = ingress["spec"]["rules"]
    service = rule["http"]["paths"][0]["backend"]["service"]
    ports = named(overlay("fleet"), "Service", service["name"])["spec"]["ports"]
    assert service["port"]["name"] in {port["name"] for port in ports}
    pod = named(overlay("fleet"), "Deployment", "voxfleet-gateway")["spec"]["template"]
    assert rule["host"] in variables(pod, FIELDS)["VOXFLEET_ALLOWED_HOSTS"].split(",")


def test_a_route_of_the_gateway_api_has_no_time_limit() -> None:
    (route,) = of_kind(everything(), "HTTPRoute")
    (rule,) = route["spec"]["rules"]
    assert rule["timeouts"] == {"request": "0s", "backendRequest": "0s"}
    (backend,) = rule["backendRefs"]
    service = named(overlay("cpu"), "Service", backend["name"])
    assert backend["port"] in {port["port"] for port in service["spec"]["ports"]}
