"""A cluster of Ray on this machine to which Ray's own autoscaler adds nodes, and from which it takes them.

    with GrowingNodes(cpus=1, most=3, idle_seconds=3) as nodes:
        nodes.address, nodes.count()

The head has no room for work. The autoscaler is the real one, the second version, which `ray up` and KubeRay
start; a node is a raylet with processes of its own, and only the machine is missing.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ray.autoscaler._private.fake_multi_node.node_provider import (
    FAKE_HEAD_NODE_ID,
    FAKE_HEAD_NODE_TYPE,
    FakeMultiNodeProvider,
)
from ray.util import get_node_ip_address

from benchmarks.chaos.ray_nodes import OBJECT_STORE_BYTES, RayNodes
from benchmarks.shared.fleet import free_port

_LOOK_SECONDS = 1
_NODE_BYTES = 2 << 30
_EMPTY = (
    *("initialization_commands", "setup_commands", "head_setup_commands", "worker_setup_commands"),
    *("head_start_ray_commands", "worker_start_ray_commands", "cluster_synced_files"),
)
"""What is only of machines that have to be set up, and has to be there."""


class Provider(FakeMultiNodeProvider):
    """Ray's own, which takes no node with memory; each of these has that of the machine."""

    def _create_node_with_resources_and_labels(
        self, node_config: Any, tags: Any, count: int, resources: dict[str, float], labels: Any
    ) -> None:
        others = {name: amount for name, amount in resources.items() if name != "memory"}
        super()._create_node_with_resources_and_labels(node_config, tags, count, others, labels)


class GrowingNodes(RayNodes):
    """`cpus`: of each node that is added, and at most `most` are. One that has had nothing to do for
    `idle_seconds` is taken away.
    """

    variables = RayNodes.variables | {
        "AUTOSCALER_UPDATE_INTERVAL_S": str(_LOOK_SECONDS),
        "RAY_FAKE_CLUSTER": "1",
        "RAY_enable_autoscaler_v2": "1",
        "RAY_OVERRIDE_NODE_ID_FOR_TESTING": FAKE_HEAD_NODE_ID,
        "RAY_CLOUD_INSTANCE_ID": FAKE_HEAD_NODE_ID,
        "RAY_NODE_TYPE_NAME": FAKE_HEAD_NODE_TYPE,
        "PYTHONPATH": os.pathsep.join(  # of the autoscaler, which imports the provider
            [str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
        ),
    }

    def __init__(self, cpus: float, most: int, idle_seconds: float, any_thread: bool = False) -> None:
        super().__init__(cpus=0, any_thread=any_thread)
        self._each, self._most, self._idle_seconds = cpus, most, idle_seconds

    def count(self) -> int:
        """Nodes that are there beside the head."""
        return sum(node["Alive"] for node in self._cluster.global_state.node_table()) - 1

    def _head(self) -> dict[str, Any]:
        port = free_port()
        file = Path(self.folder) / "autoscaler.json"
        file.write_text(json.dumps(self._rules(f"{get_node_ip_address()}:{port}")), encoding="utf-8")
        return {**super()._head(), "gcs_server_port": port, "autoscaling_config": str(file)}

    def _rules(self, address: str) -> dict[str, Any]:
        """What `ray up` would be given as a file."""
        each = {"CPU": self._each, "memory": _NODE_BYTES, "object_store_memory": OBJECT_STORE_BYTES}
        return {
            "cluster_name": "growing",
            "max_workers": self._most,
            "idle_timeout_minutes": self._idle_seconds / 60,
            "provider": {
                "type": "external",
                "module": f"{__name__}.{Provider.__name__}",
                "gcs_address": address,
                "head_node_id": FAKE_HEAD_NODE_ID,
                "launch_multiple": True,
            },
            "head_node_type": FAKE_HEAD_NODE_TYPE,
            "available_node_types": {
                FAKE_HEAD_NODE_TYPE: {"resources": {"CPU": 0}, "node_config": {}, "max_workers": 0},
                "speech": {"resources": each, "node_config": {}, "max_workers": self._most},
            },
            **{name: [] for name in _EMPTY},
            "auth": {},
            "file_mounts": {},
        }
