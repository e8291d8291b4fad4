"""Runs: the last one, the baseline, checks, and what is saved of them."""

from typing import Any, cast

import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QApplication

from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.schema.check import Check
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.ui.jobs.model_jobs import Ran
from bertviewer.ui.state.runs import MAX_NAME, Runs, short_name, weights_text
from bertviewer.ui.state.workspace import Workspace
from tests.charts.runs import made_up


@pytest.fixture
def runs(qapp: QApplication) -> Runs:
    return Runs()


def recorded(text: str, model: object = None) -> RecordedRun:
    return RecordedRun(made_up(text), cast(Any, None), cast(Any, model))


def test_a_check_of_an_earlier_run_is_dropped(runs: Runs) -> None:
    first, second = recorded("one"), recorded("two")
    runs.set_run(first)
    runs.set_check(first, "pooler", Check(()))
    assert list(runs.checks) == ["pooler"]
    runs.set_run(second)
    assert runs.checks == {}
    runs.set_check(first, "pooler", Check(()))
    assert runs.checks == {}


def test_a_baseline_of_another_model_is_not_saved(runs: Runs) -> None:
    assert runs.kept() is None
    runs.set_run(recorded("one"))
    for model, is_saved in ((None, True), ("another model", False)):
        runs.keep(recorded("two", model))
        saved = runs.kept()
        assert saved is not None
        assert (saved.baseline is not None) == is_saved


def test_the_last_run_becomes_the_baseline_until_it_is_dropped(runs: Runs) -> None:
    emitted: list[object] = []
    runs.comparison_changed.connect(lambda: emitted.append(runs.baseline))
    run = recorded("one")
    runs.set_run(run)
    runs.keep()
    runs.compare("difference")
    runs.drop()
    assert emitted == [run, run, None]


def test_a_new_run_selects_its_first_word(workspace: Workspace) -> None:
    emitted: list[int | None] = []
    workspace.runs.run_changed.connect(lambda: emitted.append(workspace.selection.token))
    workspace.show_run(Ran(recorded("a test"), None))  # [CLS] a test [SEP]
    assert emitted == [1]
    assert workspace.selection.token_count == 4


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("/models/tuned", "tuned"),
        ("hf://org/name@main", "hf://org/name@main"),
        ("demo", "demo"),
        ("/", "/"),
    ],
)
def test_short_names_of_models(name: str, short: str) -> None:
    assert short_name(name) == short
    assert len(short_name(name + "x" * 100)) <= MAX_NAME


def test_the_kind_of_weights_in_words(qapp: QApplication) -> None:
    trained = SourceInfo("folder", "x", "base", "pretrained")
    for source, text in (
        (trained, "trained weights"),
        (replace(trained, weights="none"), "no weights"),
        (replace(trained, weights="random"), "random weights"),
        (replace(trained, random_tensors=("a",)), "1 tensor random, the others trained"),
        (replace(trained, random_tensors=("a", "b")), "2 tensors random, the others trained"),
    ):
        assert weights_text(source) == text
