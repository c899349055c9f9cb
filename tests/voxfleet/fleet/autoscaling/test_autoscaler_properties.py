"""Rules of the autoscaler that hold for any window."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.voxfleet.fleet.autoscaling.windows import GPU, NOW, STEP, Loop
from voxfleet.fleet.autoscaling.autoscaler import decide
from voxfleet.fleet.autoscaling.choice import WorkerNow, whom_to_drain
from voxfleet.fleet.autoscaling.decision import Decision
from voxfleet.fleet.autoscaling.rules import Budget, Rules, WorkerKind
from voxfleet.fleet.autoscaling.window import KindNow, ModelNow, Sample, Window

counts = st.integers(0, 40)
MODELS = ("alpha", "beta")


@st.composite
def kinds(draw: st.DrawFn) -> tuple[WorkerKind, ...]:
    return tuple(
        WorkerKind(
            f"k{n}",
            draw(st.sampled_from(MODELS)),
            slots=draw(st.integers(1, 64)),
            audio_seconds_per_second=draw(st.floats(0.5, 800)),
            loading_seconds=draw(st.floats(0, 600)),
            cost_per_hour=draw(st.floats(0.01, 20)),
            least=least,
            most=least + draw(counts),
        )
        for n, least in enumerate(draw(st.lists(st.integers(0, 5), min_size=1, max_size=3)))
    )


@st.composite
def rules(draw: st.DrawFn) -> Rules:
    budget = Budget(draw(st.integers(0, 100)), draw(st.sampled_from([float("inf"), 0.0, 3.0, 100.0])))
    return Rules(draw(kinds()), budget=budget, settle_seconds=draw(st.sampled_from([20.0, 300.0])))


@st.composite
def samples(draw: st.DrawFn) -> list[Sample]:
    shape = st.tuples(
        st.integers(0, 500), st.floats(0, 2000), st.floats(0, 2000), st.integers(0, 500), st.integers(0, 50)
    )
    phases = draw(st.lists(st.tuples(shape, st.integers(1, 60)), max_size=4))
    flat = [shape for shape, steps in phases for _ in range(steps)]
    return [
        Sample(
            NOW - STEP * (len(flat) - 1 - n), STEP, requests, requests * length, used, waiting, 1.0,
            requests, min(late, requests), late // 10, late // 5,
        )
        for n, (requests, length, used, waiting, late) in enumerate(flat)
    ]  # fmt: skip


@st.composite
def windows(draw: st.DrawFn, rules: Rules) -> Window:
    now = tuple(
        KindNow(
            kind.name,
            *(draw(counts), draw(counts), draw(st.integers(0, 2)), draw(st.integers(0, 5))),
            draw(st.none() | st.floats(0, 900)),
            draw(st.floats(0, 1e5)),
            draw(st.floats(0, 1e5)),
        )
        for kind in rules.kinds
    )
    return Window(NOW, tuple(ModelNow(model, draw(samples())) for model in MODELS), now)


situations = rules().flatmap(lambda rules: st.tuples(st.just(rules), windows(rules)))


@given(situations)
@settings(max_examples=80, deadline=None)
def test_no_decision_leads_below_a_floor_or_above_a_limit(situation: tuple[Rules, Window]) -> None:
    rules, window = situation
    decision = decide(rules, window)
    now = {kind.kind: kind for kind in window.kinds}
    workers = cost = 0.0
    for kind in rules.kinds:
        seen = now[kind.name]
        running = seen.serving + seen.loading + seen.draining
        started = decision.started(kind.name)
        assert started >= 0
        assert not started or running + started <= kind.most
        workers += running + started
        cost += (running + started) * kind.cost_per_hour
        if decision.drain is not None and decision.drain.kind == kind.name:
            assert seen.serving - 1 >= kind.least
            assert not started
    if decision.starts:
        assert workers <= rules.budget.most_workers
        assert cost <= rules.budget.most_cost_per_hour + 1e-6


@given(situations)
@settings(max_examples=80, deadline=None)
def test_a_floor_is_reached_as_far_as_the_budget_allows(situation: tuple[Rules, Window]) -> None:
    rules, window = situation
    rules = replace(rules, budget=Budget(10_000))
    healthy = tuple(replace(kind, failed_starts=0, draining=0) for kind in window.kinds)
    decision = decide(rules, replace(window, kinds=healthy))
    for kind, seen in zip(rules.kinds, healthy, strict=True):
        assert seen.serving + seen.loading + decision.started(kind.name) >= kind.least


@given(situations)
@settings(max_examples=80, deadline=None)
def test_nothing_drains_beside_a_loading_or_draining_worker(situation: tuple[Rules, Window]) -> None:
    rules, window = situation
    decision = decide(rules, window)
    if decision.drain is not None:
        model = {kind.name: kind.model for kind in rules.kinds}
        alike = [kind for kind in window.kinds if model[kind.kind] == model[decision.drain.kind]]
        assert not any(kind.loading for kind in alike)
        assert not any(kind.draining for kind in window.kinds)
        assert not any(model[start.kind] == model[decision.drain.kind] for start in decision.starts)


@given(situations)
@settings(max_examples=40, deadline=None)
def test_the_same_window_gets_the_same_decision(situation: tuple[Rules, Window]) -> None:
    assert decide(*situation) == decide(*situation)


@given(situations)
@settings(max_examples=80, deadline=None)
def test_a_kind_whose_starts_fail_is_tried_once_at_a_time(situation: tuple[Rules, Window]) -> None:
    rules, window = situation
    decision = decide(rules, window)
    for kind in window.kinds:
        if kind.failed_starts >= 3:
            assert decision.started(kind.kind) <= max(1 - kind.loading, 0)


def grown(window: Window, factor: int) -> Window:
    """The same traffic, `factor` times as much of it, at the same speed of the slots."""
    models = [
        replace(
            model,
            samples=[
                replace(
                    one,
                    requests=one.requests * factor,
                    audio_seconds_asked=one.audio_seconds_asked * factor,
                    used=one.used * factor,
                    waiting=one.waiting * factor,
                )
                for one in model.samples
            ],
        )
        for model in window.models
    ]
    return replace(window, models=tuple(models))


def felt_nothing(window: Window) -> Window:
    models = [
        replace(model, samples=[replace(one, late=0, refused=0, underruns=0) for one in model.samples])
        for model in window.models
    ]
    return replace(window, models=tuple(models))


@given(situations, st.integers(2, 10))
@settings(max_examples=80, deadline=None)
def test_more_demand_never_means_fewer_workers(situation: tuple[Rules, Window], factor: int) -> None:
    rules, window = situation
    model = rules.kinds[0].model
    alone = replace(rules, kinds=(replace(rules.kinds[0], most=1_000_000),), budget=Budget(1_000_000))
    window = felt_nothing(window)
    window = replace(window, models=tuple(one for one in window.models if one.model == model))
    less, more = decide(alone, window), decide(alone, grown(window, factor))
    assert _after(more) >= _after(less)


def _after(decision: Decision) -> int:
    return sum(start.count for start in decision.starts) - (decision.drain is not None)


@given(
    st.integers(0, 60), st.floats(0.5, 300), st.integers(0, 40), st.integers(1, 32), st.floats(0.5, 20),
    st.floats(0, 300),
)  # fmt: skip
@settings(max_examples=12, deadline=None)
def test_constant_demand_is_met_and_then_nothing_changes(
    requests: int, length: float, serving: int, slots: int, pace: float, loading_seconds: float
) -> None:
    """From any number of workers: only up or only down, and then still."""
    kind = replace(
        GPU, slots=slots, audio_seconds_per_second=slots * pace, loading_seconds=loading_seconds, most=100_000
    )
    loop = Loop(Rules((kind,), budget=Budget(100_000), settle_seconds=60.0, idle_seconds=120.0), serving)
    loop.run(loading_seconds + 400, requests, length)
    assert not (loop.starts and loop.drains) or not serving
    while loop.decisions[-1].drain is not None or loop.draining:
        loop.run(20, requests, length)
    changes = loop.starts + loop.drains
    loop.run(200, requests, length)
    assert loop.starts + loop.drains == changes
    used = requests / STEP * length / pace
    assert loop.serving * slots >= used


workers = st.lists(
    st.builds(
        WorkerNow,
        id=st.uuids().map(str),
        kind=st.sampled_from(["k0", "k1"]),
        serving=st.booleans(),
        slots_used=st.integers(0, 8),
        speed=st.floats(0, 2),
        zone=st.sampled_from(["a", "b", ""]),
    ),
    unique_by=lambda worker: worker.id,
)


@given(workers)
def test_only_a_worker_that_serves_drains_and_the_idlest_of_its_kind(workers: list[WorkerNow]) -> None:
    chosen = whom_to_drain(workers, "k0")
    able = [worker for worker in workers if worker.kind == "k0" and worker.serving]
    assert (chosen is None) == (not able)
    if chosen is not None:
        assert chosen in able
        if slow := [worker for worker in able if worker.speed < 0.75]:
            assert chosen in slow
        else:
            assert chosen.slots_used == min(worker.slots_used for worker in able)
    assert chosen == whom_to_drain(reversed(workers), "k0")
