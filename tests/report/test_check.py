"""The check on paper."""

import json
from dataclasses import replace

import pytest
from bertviewer.report.check import MOST_CROSSES, check_data

from bertviewer.core.activations.activation_run import ActivationRun
from bertviewer.core.activations.check_step import Check, CheckStep, Unchecked
from bertviewer.core.architecture.architecture import Architecture
from bertviewer.report.document import build_document, draw_run
from bertviewer.report.summaries import run_text
from bertviewer.report.typesetting import report_pdf
from tests.report.reading import Report

LAYER = "encoder.layer.0"
CHECK = Check(
    steps=(
        CheckStep(LAYER, "self-attention", 1e-7, 2e-6, True),
        CheckStep(LAYER, "= next hidden state", 3e-7, 2e-6, True),
        CheckStep("encoder.layer.0.attention.self", "head 3", None, 2e-6, False),
        CheckStep("encoder.layer.0.attention.self", "head 4", 2e-7, 4e-6, True, "flow"),
    ),
    unchecked=(Unchecked("pooler", "a reason"), Unchecked("pooler.dense", "a reason")),
)


@pytest.fixture
def checked(demo: tuple[Architecture, ActivationRun]) -> ActivationRun:
    return replace(demo[1], check=CHECK)


def test_without_a_check_there_is_nothing(demo: tuple[Architecture, ActivationRun]) -> None:
    assert check_data(demo[1]) is None
    assert "Tolerance" not in run_text(demo[1])


def test_kinds_steps_and_crosses(checked: ActivationRun) -> None:
    data = check_data(checked)
    assert data is not None
    assert json.dumps(data, allow_nan=False)
    assert data["ok"] is False
    assert data["kinds"] == [
        ["layer", "2", "0", "3.0e−07", "2.0e−06"],
        ["self-attention", "2", "1", "–", "2.0e−06"],
    ]
    assert data["layer"] == LAYER
    assert [row[0] for row in data["steps"]] == ["self-attention", "= next hidden state"]
    assert data["crosses"] == [["encoder.layer.0.attention.self", "head 3", "–", "2.0e−06", "✗"]]
    assert data["unchecked"] == [["a reason", "2"]]
    assert data["by_flow"].startswith("1 step of 4 is proven by the flow")


def test_a_long_list_of_crosses_is_cut_and_counted(checked: ActivationRun) -> None:
    crosses = tuple(replace(CHECK.steps[2], step=f"head {n}") for n in range(MOST_CROSSES + 5))
    data = check_data(replace(checked, check=Check(crosses)))
    assert data is not None
    assert (len(data["crosses"]), data["more_crosses"]) == (MOST_CROSSES, 5)


def test_the_page(
    demo: tuple[Architecture, ActivationRun], checked: ActivationRun, qapp: object
) -> None:
    document = build_document(demo[0], draw_run(demo[0], checked))
    text = " ".join(Report.of(report_pdf(document.data, document.plots)).text.split())
    assert "1 of 4 steps is NOT within its tolerance" in text
    assert "= next hidden state" in text
    assert "Not checked (2): a reason." in text
    assert "1 step of 4 is proven by the flow" in text
    assert "1 step of 4 is proven by the flow" in run_text(checked)
