"""What `generation_config.json` of a checkpoint recommends is checked before the checkpoint is used."""

from __future__ import annotations

import json
import re
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from models.bounds import Bounds
from models.config_fields import ConfigError
from models.llm.checkpoint import load_text_checkpoint
from models.voxcpm.checkpoint import load_checkpoint
from models.voxcpm.loading import load_engine
from tests.models.llm.checkpoints import make_checkpoint

TINY = Path(__file__).parent.parent / "parity" / "tiny_v2"


@pytest.fixture
def speech(tmp_path: Path) -> Path:
    directory = tmp_path / "speech"
    shutil.copytree(TINY, directory, ignore=shutil.ignore_patterns("golden"))
    return directory


def recommend(directory: Path, **fields: object) -> str:
    """Writes the file; as an expression, its path."""
    path = directory / "generation_config.json"
    path.write_text(json.dumps(fields))
    return re.escape(str(path))


@pytest.mark.parametrize(
    ("field", "value", "limit"),
    [
        ("reference_resynthesis", 1.5, "a number between 0 and 1, got 1.5"),
        ("reference_resynthesis", -0.1, "a number between 0 and 1, got -0.1"),
        ("reference_resynthesis", float("nan"), "a number between 0 and 1, got nan"),
        ("reference_resynthesis", True, "a number between 0 and 1, got True"),
        ("reference_resynthesis", "0.5", "a number between 0 and 1, got '0.5'"),
        ("max_reference_seconds", 0, "a number above 0 and at most 86400, got 0"),
        ("max_reference_seconds", -6.0, "a number above 0 and at most 86400, got -6.0"),
        ("max_reference_seconds", float("nan"), "a number above 0 and at most 86400, got nan"),
        ("max_reference_seconds", float("inf"), "a number above 0 and at most 86400, got inf"),
        ("max_reference_seconds", 10**400, "a number above 0 and at most 86400, got 1000"),
        ("max_reference_seconds", True, "a number above 0 and at most 86400, got True"),
        ("max_reference_seconds", [6.0], "a number above 0 and at most 86400, got [6.0]"),
        ("max_prompt_seconds", 0.0, "a number above 0 and at most 86400, got 0.0"),
        ("max_prompt_seconds", False, "a number above 0 and at most 86400, got False"),
        ("max_text_characters", 0, "a whole number between 1 and 10000000, got 0"),
        ("max_text_characters", 500.5, "a whole number between 1 and 10000000, got 500.5"),
        ("part_characters", -1, "a whole number between 1 and 10000000, got -1"),
        ("part_characters", 10**7 + 1, "a whole number between 1 and 10000000, got 10000001"),
        ("part_characters", {}, "a whole number between 1 and 10000000, got {}"),
        ("cfg_value", 10.5, "a number between 0.0 and 10.0, got 10.5"),
        ("cfg_value", True, "a number between 0.0 and 10.0, got True"),
        ("inference_timesteps", 1, "a whole number between 2 and 100, got 1"),
        ("inference_timesteps", 101, "a whole number between 2 and 100, got 101"),
        ("inference_timesteps", 5.0, "a whole number between 2 and 100, got 5.0"),
        ("temperature", float("nan"), "a number between 0.0 and 2.0, got nan"),
        ("temperature", 2.1, "a number between 0.0 and 2.0, got 2.1"),
    ],
)
def test_a_number_out_of_bounds_is_named_with_its_file_and_limit(
    speech: Path, field: str, value: object, limit: str
) -> None:
    path = recommend(speech, **{field: value})
    with pytest.raises(ConfigError, match=f"^{path}: {field} must be {re.escape(limit)}"):
        load_checkpoint(speech, device="cpu")


def test_bounds_themselves_are_taken_and_null_is_as_left_out(speech: Path) -> None:
    recommend(speech, name=None, part_characters=None, max_reference_seconds=0.01, reference_resynthesis=1)
    with closing(load_engine(str(speech), device="cpu", max_num_seqs=1)) as engine:
        assert engine.checkpoint.generation == {"max_reference_seconds": 0.01, "reference_resynthesis": 1}
        assert (engine.info.name, engine.info.part_characters) == ("speech", None)
        assert not engine.checkpoint.whole_sentences


@pytest.mark.parametrize(
    ("field", "value", "limit"),
    [
        ("temperature", -1, "a finite number of at least 0, got -1"),
        ("temperature", True, "a finite number of at least 0, got True"),
        ("top_k", 2.5, "a whole number of at least -1, got 2.5"),
        ("top_p", 0, "a number above 0 and at most 1, got 0"),
        ("top_p", "0.9", "a number above 0 and at most 1, got '0.9'"),
        ("min_p", float("nan"), "a number between 0 and 1, got nan"),
        ("repetition_penalty", float("inf"), "a finite number above 0, got inf"),
    ],
)
def test_a_text_model_recommends_what_requests_may_ask(
    tmp_path: Path, field: str, value: object, limit: str
) -> None:
    path = recommend(tmp_path, **{field: value})
    with pytest.raises(ConfigError, match=f"^{path}: {field} must be {re.escape(limit)}"):
        load_text_checkpoint(str(tmp_path), device="cpu")


def test_a_text_model_may_recommend_nothing_and_end_nowhere(tmp_path: Path) -> None:
    make_checkpoint(tmp_path)
    recommend(tmp_path, temperature=0, top_k=None, top_p=1.0, eos_token_id=None)
    checkpoint = load_text_checkpoint(str(tmp_path), device="cpu")
    assert checkpoint.generation == {"temperature": 0, "top_p": 1.0}
    assert None not in checkpoint.end_ids


def test_bounds_hold_numbers_alone() -> None:
    assert all(Bounds(0, 1).hold(value) for value in (0, 0.5, 1))
    assert not any(Bounds(0, 1).hold(value) for value in (True, None, "0", 1.1, -0.1, float("nan"), 1j))
    assert Bounds(1, whole=True).hold(3) and not Bounds(1, whole=True).hold(3.0)
    assert Bounds(0, above=True).hold(5e-324) and not Bounds(0, above=True).hold(0.0)


@pytest.mark.parametrize(
    ("field", "value"), [("languages", "en"), ("features", {"prompt": True}), ("features", [1]), ("name", 5)]
)
def test_words_of_another_kind_are_refused(speech: Path, field: str, value: object) -> None:
    path = recommend(speech, **{field: value})
    with pytest.raises(ConfigError, match=f"{path}: {field} is "):
        load_checkpoint(speech, "cpu")
