"""What the report says of a run: its figures, its plots, its weights."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication

from bertviewer.charts.theme import LIGHT
from bertviewer.core.activations.activation_run import ActivationRun
from bertviewer.core.activations.statistics import Statistics
from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.forward_costs import Costs
from bertviewer.report.costs import cost_data
from bertviewer.report.document import ReportDocument, build_document, draw_run
from bertviewer.report.typesetting import report_pdf
from tests.report.conftest import opened
from tests.report.reading import Report, short


def test_the_run(document: ReportDocument, demo: tuple[Architecture, ActivationRun]) -> None:
    run, data = demo[1], document.data["run"]
    assert data["document"] == json.loads(json.dumps(run.to_json()))
    assert data["text"] == "this is a 12212121 test sentence"
    assert data["pair"] is None
    assert data["tokens"][:3] == [["101", "[CLS]", "0"], ["2023", "this", "0"], ["2003", "is", "0"]]
    assert len(data["tokens"]) == 11
    assert data["second_start"] is None
    assert data["last_state"] == "layer 5"
    assert data["tokenizer"] == "11 tokens"
    assert data["random"] is None
    (stack,) = data["stacks"]
    assert stack["label"] == "encoder.layer: output"
    assert data["header"] == ["Layer", "mean", "std", "min", "max", "rms", "zero_fraction"]
    for number, row in enumerate(stack["rows"]):
        activation = run.activation(f"encoder.layer.{number}")
        assert activation is not None
        of = activation.statistics
        figures = (of.mean, of.std, of.min, of.max, of.rms, of.zero_fraction)
        assert row == [str(number), *(f"{figure:.5g}".replace("-", "−") for figure in figures)]
    assert len(stack["rows"]) == 6
    # The model's output is its last layer's.
    assert [value for _, value in data["output"]] == stack["rows"][-1][1:]
    assert (data["nan_count"], data["inf_count"]) == (0, 0)


def test_a_second_text_is_set_off_whatever_its_segment(
    demo: tuple[Architecture, ActivationRun],
) -> None:
    architecture, run = demo
    tokens = tuple(replace(token, sentence=int(n >= 6)) for n, token in enumerate(run.tokens))
    assert {token.segment for token in tokens} == {0}  # as GPT-2's and RoBERTa's are
    pair = build_document(architecture, draw_run(architecture, replace(run, tokens=tokens)))
    assert pair.data["run"]["second_start"] == 6
    page = next(
        page
        for page in Report.of(report_pdf(short(pair).data, pair.plots)).reader.pages
        if "Each token with its id" in page.extract_text()
    )
    content = page.get_contents()
    assert content is not None
    colors = re.findall(rb"([\d.]+ [\d.]+ [\d.]+) scn", content.get_data())
    fills = [tuple(round(float(x) * 255) for x in color.split()) for color in colors]
    assert fills.count(tuple(bytes.fromhex(LIGHT.fill("feed-forward")[1:]))) == len(tokens) - 6


def test_another_statistic(
    demo: tuple[Architecture, ActivationRun], document: ReportDocument
) -> None:
    other = build_document(demo[0], draw_run(*demo, statistic="max"))
    assert document.data["run"]["statistic"] == "std"
    assert other.data["run"]["statistic"] == "max"
    assert other.plots["layers.pdf"] != document.plots["layers.pdf"]


def test_random_weights_are_flagged(qapp: QApplication, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(
        '{"model_type": "gpt2", "vocab_size": 60, "n_embd": 24, "n_layer": 2, "n_head": 3,'
        ' "n_positions": 32}'
    )
    data = opened(path, random=True).data
    assert data["run"]["random"]["short"] == "random weights"
    assert "RANDOM weights" in data["provenance"]
    assert "stand-in tokenizer" in data["run"]["tokenizer"]
    assert data["source"]["weights"] == "random"


def test_tensors_that_the_checkpoint_lacks_are_flagged(
    qapp: QApplication, tiny_bert_folder: Path
) -> None:
    whole = opened(tiny_bert_folder).data
    assert whole["run"]["random"] is None
    assert "RANDOM" not in whole["provenance"]
    lacking = opened(tiny_bert_folder, "sequence-classification").data
    assert lacking["run"]["random"] == {
        "text": "2 of 41 tensors are not in the checkpoint and were drawn at random: no figure "
        "with them comes from training.",
        "short": "2 of 41 tensors random",
    }
    assert lacking["provenance"].endswith("but 2 tensors are not in the checkpoint: RANDOM")
    assert lacking["source"]["random_tensors"] == ["classifier.weight", "classifier.bias"]


@pytest.mark.usefixtures("nothing_was_seen")
def test_a_model_without_counting_formulas(qapp: QApplication, tiny_bert_folder: Path) -> None:
    data = opened(tiny_bert_folder).data
    assert all(row["terms"] == [] for row in data["breakdown"])
    assert data["costs"] is None
    assert not any(step["symbols"] for part in data["walk"]["parts"] for step in part["steps"])
    assert data["walk"]["reconciles"] is True
    assert data["walk"]["groups"][0]["lines"] == []


def test_nan_and_inf_are_counted_and_shown_as_dashes(
    demo: tuple[Architecture, ActivationRun],
) -> None:
    architecture, run = demo
    nothing = Statistics(10, 7, 3, 0, 0.0, 0.0, None, None)

    def poisoned(module: Any) -> Any:
        hit = module.path in ("encoder.layer.2", "")
        return replace(module, calls=(nothing,)) if hit else module

    broken = replace(run, modules=tuple(map(poisoned, run.modules)))
    data = build_document(architecture, draw_run(architecture, broken)).data["run"]
    assert data["stacks"][0]["rows"][2] == ["2", "–", "–", "–", "–", "–", "0"]
    assert [value for _, value in data["output"]] == ["–"] * 5 + ["0"]
    assert (data["nan_count"], data["inf_count"]) == (14, 6)


def test_costs_without_a_formula_are_said(
    demo: tuple[Architecture, ActivationRun], document: ReportDocument
) -> None:
    architecture, run = demo
    costs = architecture.costs
    assert costs is not None

    def costs_with(costs: Costs) -> dict[str, Any]:
        nodes = [(node.path, node) for node in architecture.modules if node.path == "pooler"]
        data = cost_data(nodes, replace(architecture, costs=costs), run)
        assert data is not None
        return data

    assert document.data["costs"]["reason"] == ""
    modules = {**costs.modules, "pooler": replace(costs.modules["pooler"], macs=None)}
    assert costs_with(replace(costs, modules=modules))["rows"] == [
        {"name": "pooler", "terms": [], "macs": "", "flops": "", "reason": ""}
    ]
    nothing = costs_with(replace(costs, modules={}, peak=(), reason="it is too loud"))
    on_flow = "on its flow they are 171,196,416 for B = 1, S = 16"
    assert (nothing["rows"], nothing["reason"]) == ([], f"it is too loud; {on_flow}")
