"""The section `kubernetes:` of a fleet file: what a cluster has to be told beside the kinds of workers.

kubernetes:
  image: registry.example.org/voxfleet          # with the tags cpu and cuda
  gateways: {least: 2, most: 6}
  database: postgres
  expose: ingress
  host: tts.example.org
  keda: true
  monitoring: true
  workers: {gpu: {gpus: 1, cpus: 4, memory_gib: 16}}
"""

from __future__ import annotations

import ipaddress
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from voxfleet.fleet.file.share import RangeSection, ShareSection, StrictSection

MOST_GATEWAYS = 100
_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
Namespace = Annotated[str, Field(pattern=rf"^{_LABEL}\z")]
HostName = Annotated[str, Field(pattern=rf"^({_LABEL}(\.{_LABEL})+)?\z", max_length=253)]
Image = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9._/:-]{0,253}[a-z0-9])?\z")]
HttpUrl = Annotated[str, Field(pattern=r"^https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[A-Za-z0-9._/-]*)?\z")]


class GatewaysSection(RangeSection):
    """How many gateways; more than one need a database that they share."""

    least: Annotated[int, Field(ge=1, le=MOST_GATEWAYS)] = 1
    most: Annotated[int, Field(ge=1, le=MOST_GATEWAYS)] = 1


class KubernetesSection(StrictSection):
    """Everything but the workers' own resources has a default that works in a small cluster."""

    namespace: Namespace = "voxfleet"
    image: Image = "voxfleet"
    """Repository of the images, without a tag: they have the tags cpu and cuda."""
    gateways: GatewaysSection = GatewaysSection()
    database: Literal["sqlite", "postgres", "url"] = "sqlite"
    """postgres: one inside the cluster. url: the one whose URL stands in secrets/voxfleet_database_url."""
    expose: Literal["none", "ingress", "gateway-api"] = "none"
    host: HostName = ""
    """Name under which clients reach the service."""
    gateway_api: Annotated[str, Field(pattern=rf"^{_LABEL}/{_LABEL}\z")] = "gateway-system/public"
    """Namespace and name of the Gateway that the route belongs to."""
    trusted_proxies: str = "10.0.0.0/8"
    """Networks of the pods whose X-Forwarded-For is believed; where the service is exposed."""
    keda: bool = False
    """Scale workers between `least` and `most`, and by the floors. Otherwise `least` run, at least one."""
    prometheus: HttpUrl = "http://prometheus-operated.monitoring:9090"
    """Where KEDA asks for the gateways' metrics."""
    monitoring: bool = False
    """With a ServiceMonitor for the Prometheus operator."""
    drain_seconds: Annotated[int, Field(ge=1, le=3600)] = 120
    """How long running clips of a pod that ends may take; those of a worker then move to another."""
    training_memory_gib: Annotated[float, Field(gt=0, le=1024)] = 4
    """Memory that a gateway's pod may take for each training, beside its own."""
    workers: dict[str, ShareSection] = Field(default_factory=dict)

    @field_validator("trusted_proxies")
    @classmethod
    def check_networks(cls, networks: str) -> str:
        """Networks with commas between them."""
        for network in networks.split(","):
            ipaddress.ip_network(network.strip(), strict=False)
        return networks

    @model_validator(mode="after")
    def check_parts(self) -> Self:
        """Each part has what it needs."""
        if self.gateways.most > 1 and self.database == "sqlite":
            raise ValueError("gateways: several need a database that they share: postgres, or url")
        if (self.expose == "none") != (not self.host):
            raise ValueError("expose and host belong together: give both or neither")
        return self
