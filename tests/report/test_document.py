"""The report as plain data."""

import json
from dataclasses import replace

import pytest

from bertviewer import __version__
from bertviewer.core.activations.activation_run import ActivationRun
from bertviewer.core.architecture.architecture import Architecture
from bertviewer.report.document import ReportDocument, build_document

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
    assert [row["percent"] for row in (root, *parts)] == ["100.00%", "52.47%", "46.87%", "0.65%"]
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
    assert (walk["trainable"], walk["reconciles"]) == ("22,713,216", True)
    assert [(part["title"], part["times"], part["trainable"]) for part in walk["parts"]] == [
        ("Embeddings", "", "11,918,592"),
        ("One layer", "N = 6", "1,774,464"),
        ("The other layers", "", "8,872,320"),
        ("After the layers", "", "147,840"),
    ]
    steps = [step for part in walk["parts"] for step in part["steps"]]
    assert steps[0]["values"] == "101 2023 2003 1037 13092 12521 12521 2487 … 102"
    assert steps[1]["values"] == "0 0 0 0 0 0 0 0 … 0"
    attention = steps[8]
    assert attention["name"] == "MultiHeadSelfAttention"
    assert attention["input"] == ["[B, S, D]", "[1, 11, 384]"]
    assert (attention["symbols"], attention["numbers"]) == ("4·(D·D+D)", "4·(384·384+384)")
    assert attention["trainable"] == "591,360"
    assert (walk["relations"], walk["tensors"]) == ("I = 4·D, T = 2", 103)
    assert [group["lines"] for group in walk["groups"]] == [
        ["V·D + 2·D + L·D + 2·D", "V·D + L·D + 4·D"],
        ["N·(4·(D·D+D) + 2·D + D·4D + 4D + 4D·D + D + 2·D)", "N·(12·D² + 13·D)"],
        ["D·D + D"],
    ]
    # The other five layers stand there as in the counting formulas.
    assert steps[16]["symbols"] == "(N−1)·(4·D² + 2·D·I + 9·D + I)"


def test_what_is_learnt_is_what_the_walk_adds_up(
    demo: tuple[Architecture, ActivationRun],
) -> None:
    architecture = demo[0]
    frozen = tuple(
        replace(tensor, trainable=not tensor.name.startswith("embeddings"))
        for tensor in architecture.parameters
    )
    walk = build_document(replace(architecture, parameters=frozen)).data["walk"]
    counts = [part["trainable"] for part in walk["parts"]]
    assert counts == ["0", "1,774,464", "8,872,320", "147,840"]
    assert (walk["trainable"], walk["total"]) == ("10,794,624", "22,713,216")


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


def test_no_run_no_plots(demo: tuple[Architecture, ActivationRun]) -> None:
    plain = build_document(demo[0])
    assert plain.data.keys() == PARTS
    assert plain.data["run"] is None
    assert plain.plots == {}
