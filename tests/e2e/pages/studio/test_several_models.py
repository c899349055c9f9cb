"""The studio before workers of two models: one is chosen, and its voices and defaults are what is shown."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.browser import sent_frames
from tests.e2e.pages.studio.stage import expect_state, open_studio
from tests.e2e.processes import Server, eventually, gateway, worker

TEXT = "Hello there."


@pytest.fixture(scope="module")
def fleet() -> Iterator[Server]:
    with (
        worker(step_ms=10) as synthetic,
        worker(model="bundled") as bundled,
        gateway([synthetic.url, bundled.url]) as edge,
    ):
        eventually(lambda: len(edge.get_json("/api/config")["models"]) == 2)
        yield edge


def test_a_model_is_chosen_and_kept(page: Page, fleet: Server) -> None:
    models = {each["model"]: each for each in fleet.get_json("/api/config")["models"]}
    name = next(each for each in models if each != "synthetic")
    page.goto(fleet.url)
    choice = page.get_by_role("combobox", name="Model")
    expect(choice.locator("option")).to_have_text(["Any model", *sorted(models)])
    choice.select_option("synthetic")
    page.reload()
    expect(choice).to_have_value("synthetic")
    open_studio(page, fleet, TEXT)
    sent = sent_frames(page)
    page.click("#generate")
    expect_state(page, "done")
    assert '"model":"synthetic"' in sent[0]
    choice.select_option(name)
    steps = {each: told["default_inference_timesteps"] for each, told in models.items()}
    assert steps[name] != steps["synthetic"]
    page.locator("#advanced summary").click()
    expect(page.locator("#inference_timesteps")).to_have_value(str(steps[name]))
    choice.select_option("")
    page.locator("#code summary").click()
    expect(page.locator("#code-body")).not_to_contain_text("synthetic")


def test_voices_are_those_of_the_model(page: Page, fleet: Server) -> None:
    told = {voice["id"]: voice["models"] for voice in fleet.get_json("/api/voices")["voices"]}
    other = next(name for name, models in told.items() if models and "synthetic" not in models)
    page.goto(fleet.url)
    expect(page.locator(f"input[name=voice][value={other}]")).to_be_attached()
    page.get_by_role("combobox", name="Model").select_option("synthetic")
    expect(page.locator(f"input[name=voice][value={other}]")).to_have_count(0)
