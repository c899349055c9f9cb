"""The fleet file: what it becomes, and what is said of mistakes in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gateway.settings import GatewaySettings
from tests.voxfleet.conftest import ROOT
from tests.voxfleet.fleet.files import written
from voxfleet.cli import app
from voxfleet.fleet.autoscaling.plan import plan
from voxfleet.fleet.autoscaling.rules import Rules
from voxfleet.fleet.file import read_fleet_file
from voxfleet.fleet.given import check_given
from voxfleet.settings import ServeSettings, SettingsError

FRIDAY_NINE = 1_800_003_600.0
WHOLE = """
workers:
  gpu: {model: openbmb/VoxCPM2, slots: 32, audio_seconds_per_second: 300, cost_per_hour: 2.5, least: 1,
    most: 8}
  cpu: {model: bundled, audio_seconds_per_second: 6, cost_per_hour: 0.1, most: 4}
objective: {first_audio_seconds: 0.5, attained: 0.99}
budget: {most_workers: 10, most_cost_per_hour: 15}
floors:
  - {workers: gpu, least: 4, from: "08:00", until: "20:00", days: [thu, fri]}
training: {base: bundled, at_once: 2}
settle_seconds: 120
"""
GPU = "{model: m, audio_seconds_per_second: 1}"


def test_the_whole_file_becomes_rules(tmp_path: Path) -> None:
    rules = read_fleet_file(written(WHOLE, tmp_path)).rules()
    gpu, cpu = rules.kinds
    assert (gpu.name, gpu.model, gpu.slots, gpu.least, gpu.most) == ("gpu", "openbmb/VoxCPM2", 32, 1, 8)
    assert (cpu.slots, cpu.loading_seconds, cpu.least) == (4, 60.0, 0)
    assert (rules.objective.attained, rules.budget.most_cost_per_hour) == (0.99, 15)
    assert (rules.settle_seconds, rules.idle_seconds) == (120, Rules.idle_seconds)
    assert rules.floors[0].holds(FRIDAY_NINE)
    assert not rules.floors[0].holds(FRIDAY_NINE + 24 * 3600)


def test_the_plan_is_what_floors_and_budget_make_of_it(tmp_path: Path) -> None:
    rules = read_fleet_file(written(WHOLE, tmp_path)).rules()
    gpu, cpu = plan(rules, FRIDAY_NINE)
    assert (gpu.starts, gpu.most, gpu.most_cost_per_hour) == (4, 6, 15.0)
    assert (cpu.starts, cpu.most) == (0, 4)
    assert 6 * 32 * 0.75 < gpu.streams < 6 * 32
    assert plan(rules, FRIDAY_NINE + 24 * 3600)[0].starts == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("workers: {}", "workers: Dictionary should have at least 1 item"),
        ("[]", "workers: Field required"),
        ("- 1", "expected the section workers, and maybe others"),
        (f"workers: {{gpu: {GPU}, 'a b': {GPU}}}", "workers.a b.[key]: String should match pattern"),
        ("workers: {gpu: {model: m}}", "workers.gpu.audio_seconds_per_second: Field required"),
        (
            "workers: {gpu: {model: m, audio_seconds_per_second: 1, slots: 0}}",
            "workers.gpu.slots: Input should be greater than or equal to 1",
        ),
        ("workers: {gpu: {model: m, audio_seconds_per_second: .nan}}", "gpu.audio_seconds_per_second"),
        (
            "workers: {gpu: {model: m, audio_seconds_per_second: 1, gpus: 2}}",
            "workers.gpu.gpus: Extra inputs",
        ),
        (
            "workers: {gpu: {model: m, audio_seconds_per_second: 1, least: 3, most: 2}}",
            "workers.gpu: least is 3, and most only 2",
        ),
        (f"workers: {{gpu: {GPU}}}\nobjective: {{attained: 1}}", "objective.attained: Input should be less"),
        (
            f"workers: {{gpu: {GPU}}}\nfloors: [{{workers: cpu, least: 1, from: '08:00', until: '09:00'}}]",
            "floors.0.workers: there is no 'cpu' under workers",
        ),
        (
            f"workers: {{gpu: {GPU}}}\nfloors: [{{workers: gpu, least: 1, from: '8', until: '09:00'}}]",
            "floors.0.from: String should match pattern",
        ),
        (
            f"workers: {{gpu: {GPU}}}\n"
            "floors: [{workers: gpu, least: 1, from: '08:00', until: '09:00', timezone: ../etc}]",
            "floors.0.timezone: this machine knows no time zone '../etc'",
        ),
        (
            f"workers: {{gpu: {GPU}}}\nbudget: {{most_workers: 2}}\n"
            "floors: [{workers: gpu, least: 3, from: '08:00', until: '09:00'}]",
            "budget.most_workers: the floors together may need 3",
        ),
        (f"workers: {{gpu: {GPU}}}\ntraining: {{base: n}}", "training.base: no workers have the model 'n'"),
        (
            "workers: {desk: {model: synthetic, audio_seconds_per_second: 1}}\ntraining: {base: synthetic}",
            "training.base: the synthetic model cannot be trained",
        ),
        (f"workers: {{gpu: {GPU}}}\ntraining: {{base: m, device: tpu}}", "training.device: String should"),
        (f"workers: {{gpu: {GPU}}}\ntraining: {{base: m, niceness: 20}}", "training.niceness: Input should"),
        ("workers: {", "is not YAML"),
    ],
)
def test_a_mistake_is_named_with_its_field(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as error:
        read_fleet_file(written(text, tmp_path))
    assert said in str(error.value)


def test_the_command_prints_the_plan_or_what_is_wrong(tmp_path: Path) -> None:
    file = written(WHOLE, tmp_path)
    good = CliRunner().invoke(app, ["fleet", "plan", str(file), "--json"])
    lines = [json.loads(line) for line in good.stdout.splitlines()]
    assert good.exit_code == 0 and [line["kind"] for line in lines] == ["gpu", "cpu"]
    told = CliRunner().invoke(app, ["fleet", "plan", str(file)]).stdout
    assert "openbmb/VoxCPM2" in told and "voices are trained of bundled, on cpu, 2 at a time" in told
    assert CliRunner().invoke(app, ["fleet", "plan", str(written("workers: 1", tmp_path))]).exit_code == 2
    assert CliRunner().invoke(app, ["fleet", "plan", str(tmp_path / "none.yaml")]).exit_code == 2


def test_the_plan_names_a_cost_where_the_file_does(tmp_path: Path) -> None:
    """A kind without one counts as 1, which is nobody's price."""
    for kinds, costs in ((f"{{gpu: {GPU}}}", 0), (f"{{gpu: {GPU[:-1]}, cost_per_hour: 2.5}}}}", 1)):
        file = written(f"workers: {kinds}", tmp_path)
        told = CliRunner().invoke(app, ["fleet", "plan", str(file)])
        assert told.exit_code == 0 and told.stdout.count("an hour") == costs


def test_the_files_of_the_documents_are_good_ones(tmp_path: Path) -> None:
    document = (ROOT / "docs" / "fleet.md").read_text()
    examples = [part.split("```")[0] for part in document.split("```yaml\n")[1:]]
    files = [read_fleet_file(written(example, tmp_path)) for example in examples]
    assert [file.place for file in files] == ["local", "ray", "local"]
    assert [kind.name for kind in files[-1].rules().kinds] == ["gpu", "cpu"]


def test_the_objective_is_the_files_and_for_the_rest_the_gateways(tmp_path: Path) -> None:
    gateway = GatewaySettings(objective_first_audio_seconds=2, objective_first_audio_budget=0.2)
    said = read_fleet_file(written(f"workers: {{gpu: {GPU}}}\nobjective: {{attained: 0.98}}", tmp_path))
    objective = said.objective.or_those_of(gateway)
    assert (objective.first_audio_seconds, objective.attained) == (2, 0.98)
    told = {
        name.removeprefix("VOXFLEET_").lower(): value for name, value in objective.gateway_variables().items()
    }
    again = GatewaySettings(**told)
    assert again.objective_first_audio_seconds == 2
    assert again.objective_first_audio_budget == pytest.approx(0.02)


def test_gateways_train_as_the_file_says_and_for_the_rest_as_their_settings(tmp_path: Path) -> None:
    file = read_fleet_file(written(WHOLE, tmp_path))
    given = check_given(file, ServeSettings(port=0), None)
    told = given.plan("127.0.0.1").gateway_environment
    assert told["VOXFLEET_TRAINING_BASE"] == "bundled" and told["VOXFLEET_TRAININGS_AT_ONCE"] == "2"
    assert "VOXFLEET_TRAINING_DEVICE" not in told
    told = {name.removeprefix("VOXFLEET_").lower(): value for name, value in told.items()}
    again = GatewaySettings(**told)
    assert again.trains and (again.training_base, again.trainings_at_once) == ("bundled", 2)
    untold = read_fleet_file(written(f"workers: {{gpu: {GPU}}}", tmp_path))
    assert not any("TRAINING" in name for name in untold.gateway_variables())
