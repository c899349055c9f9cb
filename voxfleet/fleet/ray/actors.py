"""Actors of a fleet: made, found and removed. Every call here may wait for the cluster.

A worker is an actor and a placement group of one bundle, so that all its GPUs are of one machine; one that
waits for room is a demand that Ray's autoscaler sees. Both have the worker's id as their name, and stay until
they are removed, whoever made them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import ray
from ray.actor import ActorHandle
from ray.util.placement_group import placement_group, placement_group_table, remove_placement_group
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy, PlacementGroupSchedulingStrategy

from voxfleet.fleet.file.share import Share
from voxfleet.fleet.ray.assignment import WorkerSpec

CONTROLLER = "controller"
_ANSWERS = 8
"""Calls that an actor answers at a time."""


def make_controller(controller: type, folder: str, namespace: str) -> ActorHandle:
    """On this machine, which has the folder; the one that is there already where there is one."""
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    options = _lasting(CONTROLLER, namespace) | {"num_cpus": 0, "scheduling_strategy": here}
    return ray.remote(controller).options(**options).remote(folder, namespace)


def make_worker(worker: type, id: str, spec: WorkerSpec, namespace: str) -> ActorHandle:
    """It waits for room in the cluster, if there is none."""
    group = placement_group([_bundle(spec.share)], name=_group_name(id, namespace), lifetime="detached")
    share: dict[str, Any] = {
        "num_cpus": spec.share.cpus,
        "num_gpus": spec.share.gpus,
        "memory": _bytes(spec.share),
        "scheduling_strategy": PlacementGroupSchedulingStrategy(group, 0),
    }
    return ray.remote(worker).options(**_lasting(id, namespace), **share).remote(id, spec, namespace)


def find(name: str, namespace: str) -> ActorHandle | None:
    """An actor that is alive, waits for room, or is being started again."""
    try:
        return ray.get_actor(name, namespace)
    except ValueError:
        return None


def worker_ids(namespace: str) -> set[str]:
    """The ids of all worker actors that are there."""
    named = ray.util.list_named_actors(all_namespaces=True)
    return {one["name"] for one in named if one["namespace"] == namespace} - {CONTROLLER}


def remove(id: str, namespace: str) -> None:
    """End an actor for good, and give back what it had."""
    if (actor := find(id, namespace)) is not None:
        ray.kill(actor, no_restart=True)
    remove_groups_of([id], namespace)


def remove_groups_of(ids: Iterable[str], namespace: str) -> None:
    """Give back what these workers had."""
    names = {_group_name(id, namespace) for id in ids}
    for found in _groups():
        if found["name"] in names:
            remove_placement_group(_group(found))


def ids_of_groups(namespace: str) -> set[str]:
    """Workers for which something is set aside, or asked for."""
    prefix = _group_name("", namespace)
    names = {found["name"] for found in _groups()}
    return {name.removeprefix(prefix) for name in names if name.startswith(prefix)}


def _lasting(name: str, namespace: str) -> dict[str, Any]:
    return {
        "name": name,
        "namespace": namespace,
        "lifetime": "detached",
        "get_if_exists": True,
        "max_restarts": -1,
        "max_concurrency": _ANSWERS,
        "enable_task_events": False,  # workers are asked once a second; nobody wants to see each time
    }


def _bundle(share: Share) -> dict[str, float]:
    gpus = {"GPU": float(share.gpus)} if share.gpus else {}
    return {"CPU": share.cpus, "memory": float(_bytes(share)), **gpus}


def _bytes(share: Share) -> int:
    return int(share.memory_gib * 2**30)


def _group_name(id: str, namespace: str) -> str:
    return f"{namespace}/{id}"


def _groups() -> list[dict[str, Any]]:
    return [found for found in placement_group_table().values() if found["state"] != "REMOVED"]


def _group(found: dict[str, Any]) -> Any:
    from ray import PlacementGroupID
    from ray.util.placement_group import PlacementGroup

    return PlacementGroup(PlacementGroupID(bytes.fromhex(found["placement_group_id"])))
