"""What operators call, and workers that dial in."""

from __future__ import annotations

from gateway.description.operation import Given, Operation, Tag

_WORKER = {"id": Given("worker")}

TAG = Tag(
    "Administration",
    "For operators, with the admin token: workers, queue, pages, estimates, log and figures.",
    (
        Operation("GET", "/api/workers", "List workers", access="admin", gives={"worker": "workers.0.id"}),
        Operation("GET", "/api/queue", "Who waits and who runs", access="admin"),
        Operation(
            "GET",
            "/api/queue/{ticket}",
            "How a request stands",
            parameters={"ticket": Given("ticket")},
        ),
        Operation(
            "DELETE",
            "/api/queue/{ticket}",
            "End a request",
            parameters={"ticket": Given("ticket")},
        ),
        Operation(
            "POST",
            "/api/queue/cancel",
            "End several requests",
            access="admin",
            body={"tickets": [Given("ticket")]},
        ),
        Operation("GET", "/api/events", "Workers, queue and log as they change", access="admin"),
        Operation("GET", "/api/history", "Figures of a time", access="admin", parameters={"range": "1h"}),
        Operation("GET", "/api/sessions/storage", "How much is stored", access="admin"),
        Operation(
            "PUT",
            "/api/pages",
            "Switch pages on or off",
            access="admin",
            body={"pages": [{"id": "live", "enabled": True}]},
        ),
        Operation(
            "PUT",
            "/api/fleet",
            "Report workers that are started and stopped by need",
            access="admin",
            body={
                "place": "local",
                "objective_seconds": 1.0,
                "kinds": [
                    {"kind": "desk", "model": "synthetic", "least": 1, "most": 4, "serving": 1, "loading": 0}
                ],
                "said": [{"kind": "desk", "saying": "fleet_up_floor", "facts": {"count": 1, "least": 1}}],
            },
        ),
        Operation("GET", "/api/fleet", "How many workers are to run, and why", access="admin"),
        Operation(
            "POST",
            "/api/fleet/orders",
            "Order a number of workers",
            access="admin",
            body={"workers": {"desk": 2}},
        ),
        Operation("GET", "/api/settings/eta", "How waits are estimated", access="admin"),
        Operation(
            "PUT",
            "/api/settings/eta",
            "Change how waits are estimated",
            access="admin",
            body={"prior_seconds": 5.0},
        ),
        Operation(
            "POST",
            "/api/workers/{id}/drain",
            "Give a worker nothing new",
            access="admin",
            parameters={**_WORKER, "streams": "finish"},
        ),
        Operation(
            "POST", "/api/workers/{id}/resume", "Take a worker back", access="admin", parameters=_WORKER
        ),
        Operation(
            "GET",
            "/api/log",
            "Read the event log",
            access="admin",
            parameters={"limit": 20, "kind": "admin"},
            until=("events.0.saying", "resume"),
        ),
        Operation(
            "POST",
            "/api/workers/{id}/restart",
            "Restart a worker",
            access="admin",
            parameters={**_WORKER, "wait_seconds": 30},
        ),
    ),
)

WORKERS = Tag(
    "Workers",
    "For workers that dial in, with the secret of workers where there is one.",
    (
        Operation(
            "POST",
            "/api/registrations",
            "Make a worker known",
            access="worker",
            body={
                "url": "http://127.0.0.1:8106",
                "status": {
                    "worker_id": "desk-1",
                    "boot_id": "b-1",
                    "state": "LOADING",
                    "slots_total": 1,
                    "slots_used": 0,
                    "model": None,
                    "device": "cpu",
                    "pid": 4242,
                    "build": "0.1.0+0123456789ab",
                    "step": 0,
                    "uptime_seconds": 1.5,
                    "memory_bytes": 268435456,
                },
            },
        ),
    ),
)
