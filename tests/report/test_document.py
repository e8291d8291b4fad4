"""The report as plain data."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication

from bertviewer import __version__
from bertviewer.core.architecture import Architecture
from bertviewer.core.costs.compute import Compute
from bertviewer.core.loading import open_model
from bertviewer.core.run.activation_run import ActivationRun, Sentence
from bertviewer.core.run.running import run_sentence
from bertviewer.core.run.statistics import Statistics
from bertviewer.core.source import parse_source
from bertviewer.report.costs import cost_data
from bertviewer.report.document import ReportDocument, build_document, draw_run

PARTS = {
    "schema",
    "title",
    "class",
    "task",
    "provenance",
    "source",
    "program",
    "libraries",
    "totals",
    "config",
    "symbols",
    "breakdown",
    "costs",
    "memory",
    "walk",
    "modules",
    "formulas",
    "run",
    "check",
}


def opened(folder: Path, task: str = "base", random: bool = False) -> ReportDocument:
    model = open_model(parse_source(str(folder), task))
    run = run_sentence(model, Sentence("the cat"), random_weights=random)
    return build_document(
        model.architecture, None if run is None else draw_run(model.architecture, run)
    )


def test_every_part_is_there_and_is_json(document: ReportDocument) -> None:
    assert document.data.keys() == PARTS
    text = json.dumps(document.data, allow_nan=False)
    # Lists come back as lists: nothing in it is a tuple, a set or an object.
    assert json.loads(text) == json.loads(json.dumps(json.loads(text)))
    assert set(document.plots) == {"layers.pdf", "heatmap.pdf"}
    assert all(plot.startswith(b"%PDF-") for plot in document.plots.values())


def test_what_the_model_is(document: ReportDocument) -> None:
    data = document.data
    assert data["schema"] == "bertviewer.report/1"
    assert (data["title"], data["class"], data["task"]) == (
        "demo",
        "BertModel",
        "Base model, no head",
    )
    assert data["provenance"].endswith("· pretrained weights")
    assert data["source"]["weights"] == "pretrained"
    assert data["program"] == f"bertviewer {__version__}"
    assert [line.split()[0] for line in data["libraries"]] == ["torch", "transformers"]
    totals = dict(data["totals"])
    assert totals["Total params"] == "22,713,216"
    assert (totals["Tensors"], totals["Modules"]) == ("103", "120")
    assert totals["Size as float32"] == "90.85 MB"
    config = dict(data["config"])
    assert config["hidden_size"] == "384"
    assert config["hidden_act"] == '"gelu"'
    assert {s["letter"]: s["value"] for s in data["symbols"]}["D"] == 384


def test_breakdown_adds_up(document: ReportDocument) -> None:
    root, *parts = document.data["breakdown"]
    assert root["parameters"] == "22,713,216"
    assert [(part["name"], part["parameters"]) for part in parts] == [
        ("embeddings", "11,918,592"),
        ("encoder", "10,646,784"),
        ("pooler", "147,840"),
    ]
    assert sum(part["share"] for part in parts) == pytest.approx(root["share"]) == 1.0
    assert parts[2]["terms"] == [["", "D²", "384²", "147,456"], ["+", "D", "384", "384"]]
    for row in (root, *parts):
        values = [int(value.replace(",", "")) for *_, value in row["terms"]]
        assert f"{sum(values):,}" == row["parameters"]


def test_memory_by_dtype(document: ReportDocument) -> None:
    """22,713,216 elements; MB are 10^6 bytes and MiB 2^20."""
    assert document.data["memory"] == [
        ["float32", "90.85 MB", "86.64 MiB"],
        ["float16, bfloat16", "45.43 MB", "43.32 MiB"],
        ["int8", "22.71 MB", "21.66 MiB"],
        ["int4", "11.36 MB", "10.83 MiB"],
    ]


def test_costs_are_those_of_the_run(
    document: ReportDocument, demo: tuple[Architecture, ActivationRun]
) -> None:
    costs = document.data["costs"]
    assert costs["sentence"] == "B = 1, S = 11"
    # Embeddings are looked up, which is no multiplication.
    assert [row["name"] for row in costs["rows"]] == ["BertModel", "encoder", "pooler"]
    for row in costs["rows"]:
        activation = demo[1].activation("" if row["name"] == "BertModel" else row["name"])
        assert activation is not None
        assert activation.macs is not None
        assert row["macs"] == f"{activation.macs:,}"
        assert row["flops"] == f"{2 * activation.macs:,}"
    assert costs["rows"][2]["terms"] == [["", "B·D²", "1·384²", "147,456"]]


def test_the_walk(document: ReportDocument) -> None:
    walk = document.data["walk"]
    assert (walk["total"], walk["reconciles"]) == ("22,713,216", True)
    assert [(part["title"], part["times"], part["parameters"]) for part in walk["parts"]] == [
        ("Embeddings", "", "11,918,592"),
        ("One layer", "N = 6", "1,774,464"),
        ("The rest", "", "9,020,160"),
    ]
    steps = [step for part in walk["parts"] for step in part["steps"]]
    assert steps[0]["values"] == "101 2023 2003 1037 13092 12521 12521 2487 … 102"
    assert steps[1]["values"] == "0 0 0 0 0 0 0 0 … 0"
    attention = steps[8]
    assert attention["name"] == "MultiHeadSelfAttention"
    assert attention["input"] == ["[B, S, D]", "[1, 11, 384]"]
    assert (attention["symbols"], attention["numbers"]) == ("4*(D*D+D)", "4*(384*384+384)")
    assert attention["trainable"] == "591,360"
    assert (walk["relations"], walk["tensors"]) == ("I = 4*D, T = 2", 103)
    assert [group["collected"] for group in walk["groups"]] == [
        "V*D + L*D + 4*D",
        "N*(12*D*D + 13*D)",
        "",
    ]


def test_modules_are_the_folded_tree(document: ReportDocument) -> None:
    rows = document.data["modules"]
    assert rows[0] == {
        "level": 0,
        "name": "BertModel",
        "class": "BertModel",
        "parameters": "22,713,216",
        "share": "100.00%",
        "shape": "",
    }
    (layers,) = (row for row in rows if row["name"] == "0–5")
    assert layers["class"] == "6 × BertLayer"
    assert (layers["level"], layers["parameters"]) == (3, "10,646,784")
    (query,) = (row for row in rows if row["name"] == "query")
    assert (query["level"], query["shape"]) == (6, "[384, 384]")
    assert len(rows) == 30


def test_one_formula_for_each_class(document: ReportDocument) -> None:
    formulas = document.data["formulas"]
    classes = [formula["class"] for formula in formulas]
    assert len(classes) == len(set(classes)) == 15
    assert classes[:4] == ["BertModel", "BertEmbeddings", "Embedding", "LayerNorm"]
    assert {"BertSelfAttention", "BertLayer", "GELUActivation", "BertPooler"} <= set(classes)
    assert not {"Dropout", "ModuleList"} & set(classes)
    (attention,) = (f for f in formulas if f["class"] == "BertSelfAttention")
    assert attention["path"] == "encoder.layer.0.attention.self"
    assert any("softmax" in line for line in attention["maths"])
    for formula in formulas:
        assert formula["maths"], formula["class"]
        assert formula["source"], formula["class"]


def test_the_run(document: ReportDocument, demo: tuple[Architecture, ActivationRun]) -> None:
    run, data = demo[1], document.data["run"]
    assert data["document"] == json.loads(json.dumps(run.to_json()))
    assert data["text"] == "this is a 12212121 test sentence"
    assert data["pair"] is None
    assert data["tokens"][:3] == [["101", "[CLS]", "0"], ["2023", "this", "0"], ["2003", "is", "0"]]
    assert len(data["tokens"]) == 11
    assert data["tokenizer"] == "11 tokens"
    assert data["is_random"] is False
    (stack,) = data["stacks"]
    assert stack["label"] == "encoder.layer: output"
    assert data["header"] == ["Layer", "mean", "std", "min", "max", "rms", "zero_fraction"]
    for number, row in enumerate(stack["rows"]):
        activation = run.activation(f"encoder.layer.{number}")
        assert activation is not None
        of = activation.statistics
        figures = (of.mean, of.std, of.min, of.max, of.rms, of.zero_fraction)
        assert row == [str(number), *(f"{figure:.5g}" for figure in figures)]
    assert len(stack["rows"]) == 6
    # The model's output is its last layer's.
    assert [value for _, value in data["output"]] == stack["rows"][-1][1:]
    assert (data["nan_count"], data["inf_count"]) == (0, 0)


def test_no_run_no_plots(demo: tuple[Architecture, ActivationRun]) -> None:
    plain = build_document(demo[0])
    assert plain.data.keys() == PARTS
    assert plain.data["run"] is None
    assert plain.plots == {}


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
    assert data["run"]["is_random"] is True
    assert "RANDOM weights" in data["provenance"]
    assert "stand-in tokenizer" in data["run"]["tokenizer"]
    assert data["source"]["weights"] == "random"


def test_tensors_that_the_checkpoint_lacks_are_flagged(
    qapp: QApplication, tiny_bert_folder: Path
) -> None:
    whole = opened(tiny_bert_folder).data
    assert whole["run"]["is_random"] is False
    assert "RANDOM" not in whole["provenance"]
    lacking = opened(tiny_bert_folder, "sequence-classification").data
    assert lacking["run"]["is_random"] is True
    assert lacking["provenance"].endswith("but 2 tensors are not in the checkpoint: RANDOM")
    assert lacking["source"]["random_tensors"] == ["classifier.weight", "classifier.bias"]


def test_a_model_without_counting_formulas(qapp: QApplication, tiny_bert_folder: Path) -> None:
    data = opened(tiny_bert_folder).data
    assert all(row["terms"] == [] for row in data["breakdown"])
    assert data["costs"] is None
    assert not any(step["symbols"] for part in data["walk"]["parts"] for step in part["steps"])
    assert data["walk"]["reconciles"] is True
    assert data["walk"]["groups"][0]["spelled"] == ""


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
    compute = architecture.compute
    assert compute is not None

    def costs_with(compute: Compute) -> dict[str, Any]:
        nodes = [(node.path, node) for node in architecture.modules if node.path == "pooler"]
        costs = cost_data(nodes, replace(architecture, compute=compute), run)
        assert costs is not None
        return costs

    assert document.data["costs"]["reason"] == ""
    modules = {**compute.modules, "pooler": replace(compute.modules["pooler"], macs=None)}
    assert costs_with(replace(compute, modules=modules))["rows"] == [
        {"name": "pooler", "terms": [], "macs": "", "flops": ""}
    ]
    nothing = costs_with(replace(compute, modules={}, peak=(), reason="it is too loud"))
    assert (nothing["rows"], nothing["reason"]) == ([], "it is too loud")
