"""Metrics that are counted as things happen, each declared once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
)
from prometheus_client.core import Metric

from gateway.files.disk import Disk
from gateway.metrics.collectors import ConnectionCollector, Connections, DiskCollector, PoolCollector
from gateway.slots.pool import WorkerPool
from telemetry.build import build

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
_RATIOS = (0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1, 1.25, 1.5, 2, 5, 10)
_MAX_OUTCOMES = 100
"""Different ones that are counted each by itself: some are codes of workers."""
_MAX_MODELS = 30
_OUTCOMES = ("complete", "failed", "cancelled")
_RECORDING_FAILURES = ("disk_full", "disk_error", "internal_error", "overloaded", "too_long")


@dataclass(frozen=True)
class Snapshot:
    """Metrics as they were, for what writes a registry down."""

    families: tuple[Metric, ...]

    def collect(self) -> tuple[Metric, ...]:
        return self.families


class Metrics:
    """One registry per gateway; its `snapshot()` is what /metrics answers."""

    def __init__(
        self, pool: WorkerPool, disk: Disk | None = None, connections: Connections | None = None
    ) -> None:
        """`disk`: whose free space is told, if any."""
        self.registry = registry = CollectorRegistry()
        self._outcomes: set[str] = set()
        self._demand = pool.demand
        self._workers = pool.workers
        self._models: set[str] = set()
        registry.register(PoolCollector(pool))
        if disk is not None:
            registry.register(DiskCollector(disk))
        if connections is not None:
            registry.register(ConnectionCollector(connections))
        ProcessCollector(registry=registry)
        info = Gauge("voxfleet_build_info", "Build of the gateway.", ["version"], registry=registry)
        info.labels(build()).set(1)
        self._declare_requests(registry)
        self._declare_moves(registry)
        self._declare_playback(registry)
        self._declare_live(registry)
        self._declare_kept(registry)
        self._declare_objectives(registry)
        self.encode_seconds = Histogram(
            "voxfleet_encode_seconds",
            "Time to encode a clip.",
            ["format"],
            buckets=_SECONDS,
            registry=registry,
        )

    def _declare_requests(self, registry: CollectorRegistry) -> None:
        """How requests ended, and how long they took."""
        self.http_requests = Counter(
            "voxfleet_http_requests_total",
            "HTTP responses.",
            ["route", "method", "status"],
            registry=registry,
        )
        self.requests = Counter(
            "voxfleet_requests_total", "Requests by outcome: a finish reason or an error code.",
            ["outcome", "protocol"], registry=registry,
        )  # fmt: skip
        self.queue_seconds = Histogram(
            "voxfleet_queue_seconds", "Wait for the first slot.", buckets=_SECONDS, registry=registry
        )
        self.first_audio_seconds = Histogram(
            "voxfleet_first_audio_seconds", "Admission to first audio.", buckets=_SECONDS, registry=registry
        )
        self.request_seconds = Histogram(
            "voxfleet_request_seconds", "Admission to last audio.", buckets=_SECONDS, registry=registry
        )
        self.audio_seconds = Counter(
            "voxfleet_audio_seconds_total", "Seconds of audio delivered.", registry=registry
        )
        self.real_time_factor = Histogram(
            "voxfleet_real_time_factor", "Generation time per audio time.", buckets=_RATIOS, registry=registry
        )
        self.tokens = Counter(
            "voxfleet_tokens_total", "Tokens of text models: read in prompts, written in answers.",
            ["kind"], registry=registry,
        )  # fmt: skip
        self.first_token_seconds = Histogram(
            "voxfleet_first_token_seconds", "Admission to first token of an answer.", buckets=_SECONDS,
            registry=registry,
        )  # fmt: skip

    def _declare_moves(self, registry: CollectorRegistry) -> None:
        """What went wrong on a worker, and what a listener heard of it."""
        self.migrations = Counter(
            "voxfleet_migrations_total",
            "Clips and answers that moved to another worker before their end.",
            registry=registry,
        )
        self.takes = Counter(
            "voxfleet_takes_total", "Further takes of parts that went wrong: better or not, or after a cut.",
            ["outcome"], registry=registry,
        )  # fmt: skip
        self.migration_gap_seconds = Histogram(
            "voxfleet_migration_gap_seconds", "Last audio of one worker to first audio of the next.",
            buckets=_SECONDS, registry=registry,
        )  # fmt: skip
        self.audible_gap_seconds = Histogram(
            "voxfleet_audible_gap_seconds", "Migration gap beyond the audio that the client had.",
            buckets=(0, *_SECONDS), registry=registry,
        )  # fmt: skip
        self.client_lead_seconds = Histogram(
            "voxfleet_client_lead_seconds", "Audio that the client had not played yet when a stream broke.",
            buckets=(0, *_SECONDS), registry=registry,
        )  # fmt: skip

    def _declare_playback(self, registry: CollectorRegistry) -> None:
        """What players report."""
        self.playback_clips = Counter(
            "voxfleet_playback_clips_total", "Clips and live sessions whose player reported.",
            registry=registry,
        )  # fmt: skip
        self.playback_clips_with_underruns = Counter(
            "voxfleet_playback_clips_with_underruns_total", "Clips and live sessions whose player ran dry.",
            registry=registry,
        )  # fmt: skip
        self.playback_underruns = Counter(
            "voxfleet_playback_underruns_total", "Times that a player had nothing to play.", registry=registry
        )
        self.played_seconds = Counter(
            "voxfleet_played_seconds_total", "Seconds of audio that players reported as played.",
            registry=registry,
        )  # fmt: skip
        self.playback_buffered_seconds = Histogram(
            "voxfleet_playback_buffered_seconds", "Audio that lay ready when a player reported.",
            buckets=_SECONDS, registry=registry,
        )  # fmt: skip

    def _declare_live(self, registry: CollectorRegistry) -> None:
        """Live sessions, and times of words."""
        self.live_sessions = Counter(
            "voxfleet_live_sessions_total", "Live sessions by outcome: stop, client_gone or an error code.",
            ["outcome", "protocol"], registry=registry,
        )  # fmt: skip
        self.live_utterances = Counter(
            "voxfleet_live_utterances_total", "Utterances begun in live sessions.", registry=registry
        )
        self.timed_parts = Counter(
            "voxfleet_timed_parts_total", "Parts of a text whose word times were told, by source.",
            ["source"], registry=registry,
        )  # fmt: skip

    def _declare_kept(self, registry: CollectorRegistry) -> None:
        """What is recorded, and what is made while nobody waits."""
        self.database_up = Gauge(
            "voxfleet_database_up", "1 while the database takes what the gateway writes every ten seconds.",
            registry=registry,
        )  # fmt: skip
        self.sessions_recorded = Counter(
            "voxfleet_sessions_recorded_total", "Sessions recorded to their end.", ["kind"], registry=registry
        )
        self.recording_failures = Counter(
            "voxfleet_recording_failures_total", "Recordings that stopped before their session did.",
            ["reason"], registry=registry,
        )  # fmt: skip
        _count_from_zero(self.recording_failures, _RECORDING_FAILURES)
        self.session_bytes = Gauge(
            "voxfleet_session_bytes", "Disk space of all sessions, once a minute.", registry=registry
        )
        self.jobs = Counter(
            "voxfleet_jobs_total", "Jobs that ended, by outcome: complete, failed or cancelled.",
            ["outcome"], registry=registry,
        )  # fmt: skip
        _count_from_zero(self.jobs, _OUTCOMES)
        self.jobs_running = Gauge(
            "voxfleet_jobs_running", "Jobs that this gateway works on.", registry=registry
        )
        self.job_bytes = Gauge(
            "voxfleet_job_bytes", "Disk space of all jobs, once a minute.", registry=registry
        )
        self.trainings = Counter(
            "voxfleet_trainings_total", "Trainings that ended, by outcome: complete, failed or cancelled.",
            ["outcome"], registry=registry,
        )  # fmt: skip
        _count_from_zero(self.trainings, _OUTCOMES)
        self.trainings_running = Gauge(
            "voxfleet_trainings_running", "Trainings that this gateway works on.", registry=registry
        )

    def _declare_objectives(self, registry: CollectorRegistry) -> None:
        """What is promised, and how often it was missed."""
        kinds = ["objective", "model", "voice", "protocol", "tenant"]
        self.objective_events = Counter(
            "voxfleet_objective_events_total", "Events that count for an objective; see docs/runbook.md.",
            kinds, registry=registry,
        )  # fmt: skip
        self.objective_misses = Counter(
            "voxfleet_objective_misses_total", "Events that missed their objective.", kinds, registry=registry
        )
        self.objective_budget = Gauge(
            "voxfleet_objective_budget", "Share of events that may miss the objective, in 30 days.",
            ["objective"], registry=registry,
        )  # fmt: skip
        self.objective_seconds = Gauge(
            "voxfleet_objective_first_audio_seconds", "The first audio is promised within this time.",
            registry=registry,
        )  # fmt: skip
        self.objective_token_seconds = Gauge(
            "voxfleet_objective_first_token_seconds", "The first token is promised within this time.",
            registry=registry,
        )  # fmt: skip

    def count_request(self, outcome: str, protocol: str) -> None:
        """A request ended; `outcome` is a finish reason or an error code, "other" when there are too many."""
        if outcome not in self._outcomes and len(self._outcomes) >= _MAX_OUTCOMES:
            outcome = "other"
        self._outcomes.add(outcome)
        self.requests.labels(outcome, protocol).inc()

    def count_underruns(self, count: int, model: str | None) -> None:
        """A player had nothing to play, so many times; `model` was asked for."""
        self.playback_underruns.inc(count)
        self._demand.underran(model, count)

    def bounded_model(self, name: str) -> str:
        """The name of a model as a label: "" for one that no worker has or had, since clients may name any;
        "other" when workers have named too many.
        """
        if name not in self._models:
            models = (worker.model for worker in self._workers.values())
            if name not in {model.name for model in models if model is not None}:
                return ""
            if len(self._models) >= _MAX_MODELS:
                return "other"
            self._models.add(name)
        return name

    def snapshot(self) -> Snapshot:
        """What there is now. A thread may write it down: with hundreds of workers that takes tens of ms."""
        return Snapshot(tuple(self.registry.collect()))


def _count_from_zero(counter: Counter, values: Iterable[str]) -> None:
    """A series for each value of the label: alerts on an increase see none in a first count."""
    for value in values:
        counter.labels(value)
