"""A model that is open: its tables, formulas, flow, tensors, and what it is compared with."""

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import bertviewer
from bertviewer.core.building.backend import torch
from bertviewer.core.loading.opening import open_model
from bertviewer.core.sources.parsing import parse_source


def test_tables(model: bertviewer.Model) -> None:
    modules = model.modules()
    assert [row["path"] for row in modules] == [node.path for node in model.architecture.modules]
    assert modules[0]["parameters"] == model.architecture.root.parameters
    assert len({tuple(row) for row in modules}) == 1
    layer = next(row for row in modules if row["path"] == "encoder.layer.0")
    assert layer["repeat_count"] == 2
    assert all(not isinstance(value, dict) for row in modules for value in row.values())
    weight = model.parameters()[0]
    assert (weight["name"], weight["shape"]) == ("embeddings.word_embeddings.weight", [200, 32])
    assert weight["symbolic_shape"] == ["V", "D"]


def test_a_formula_is_the_count(model: bertviewer.Model) -> None:
    formula = model.formula("encoder.layer.1.attention.self.query")
    assert (formula.text, formula.numbers, formula.result) == ("D² + D", "32² + 32", 1056)
    values = {symbol.name: symbol.value for symbol in model.architecture.symbols}
    assert eval(formula.expression, {}, values) == 1056
    assert str(formula) == "D² + D\n= 32² + 32\n= 1,056"
    assert repr(formula).startswith("<bertviewer.Formula of 'encoder.layer.1")
    assert formula.maths
    assert "W^{\\top}" in formula.latex[0]
    assert "<math" in formula._repr_html_()


def test_every_module_has_a_formula_to_ask_for(model: bertviewer.Model) -> None:
    for node in model.architecture.modules:
        assert model.formula(node.path).result == node.parameters


def test_the_flow(model: bertviewer.Model) -> None:
    flow = model.flow("encoder.layer.0")
    assert (flow["schema"], flow["path"]) == ("bertviewer.flow/1", "encoder.layer.0")
    assert "BertLayer" in model.flow_text("encoder.layer.0")
    assert model.figure("encoder.layer.0").dot().startswith("digraph")


def test_a_tensor_is_what_is_stored(model: bertviewer.Model, tiny_bert_folder: Path) -> None:
    state = open_model(parse_source(str(tiny_bert_folder))).module(False).state_dict()
    for name in ("pooler.dense.weight", "pooler.dense.bias", "embeddings.LayerNorm.weight"):
        found = model.tensor(name)
        assert found.dtype == np.float32
        assert np.array_equal(found, state[name].numpy())


def test_a_tensor_of_bfloat16(tiny_bert_folder: Path, tmp_path: Path) -> None:
    from bertviewer.core.building.backend import transformers

    half = transformers.BertModel.from_pretrained(tiny_bert_folder).to(torch.bfloat16)
    half.save_pretrained(tmp_path)
    found = bertviewer.open(tmp_path).tensor("pooler.dense.weight")
    assert found.dtype == np.float32
    assert np.array_equal(found, half.pooler.dense.weight.detach().float().numpy())


def test_two_models(model: bertviewer.Model) -> None:
    same = model.compare(model)
    assert same.counts["same"] == len(same.tensors()) == 39
    assert len({tuple(row) for row in same.tensors()}) == 1
    other = bertviewer.compare(model, "bert-base-uncased")
    assert other.config["hidden_size"] == (32, 768)
    assert other.tensors()[0]["left_shape"] == [200, 32]
    assert other.summary().startswith("Left:")


def test_what_is_shown(model: bertviewer.Model) -> None:
    count = model.architecture.root.parameters
    assert repr(model) == f"<bertviewer.Model {model.name!r}: BertModel, {count:,} parameters>"
    assert "encoder.layer" in model._repr_html_()
    assert model.summary(depth=1).count("\n") < model.summary().count("\n")


def test_names_of_strangers_are_text(tiny_bert_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "<img src=x onerror=alert(1)>"
    folder.symlink_to(tiny_bert_folder)
    model = bertviewer.open(folder)
    run = model.run("the <script> cat")
    for shown in (model, run, model.formula(), model.compare(model)):
        html = shown._repr_html_()
        assert "<img" not in html
        assert "<script" not in html
    assert "&lt;img" in model._repr_html_()


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: bertviewer.open("nothing of that name"), "unknown model"),
        (lambda: bertviewer.open("demo", "no task"), "no task"),
        (lambda: bertviewer.open("gpt2").run("the cat"), "has no weights"),
        (lambda: bertviewer.open("gpt2").tensor("wte.weight"), "has no weights"),
        (lambda: bertviewer.open("gpt2").tensor("nothing"), "has no tensor"),
        (lambda: bertviewer.open("gpt2").formula("h.0.atn"), "did you mean h.0.attn?"),
        (lambda: bertviewer.open("gpt2").saved_runs(), "not a file of saved runs"),
        (lambda: bertviewer.open("gpt2").report("a.docx"), "not a report format"),
        (lambda: bertviewer.open("gpt2").report("a.pdf", statistic="sum"), "unknown statistic"),
        (lambda: bertviewer.open("gpt2").report("a.pdf", paper=cast("Any", "a0")), "size 'a0'"),
        (lambda: bertviewer.open("gpt2").report("a.pdf", sections=["x"]), "unknown section x"),
    ],
)  # fmt: skip
def test_what_can_be_mended_is_one_line(
    ask: object, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert callable(ask)
    with pytest.raises(bertviewer.Error, match=words) as raised:
        ask()
    assert raised.value.__cause__ is not None
    assert str(raised.value) == str(raised.value.__cause__)
    assert "\n" not in str(raised.value)


def test_progress_is_told_and_stops_the_work(tiny_bert_folder: Path) -> None:
    told: list[str] = []

    class EnoughError(Exception):
        pass

    def progress(done: int, total: int, label: str) -> None:
        told.append(label)
        if label == "encoder.layer.1":
            raise EnoughError

    model = bertviewer.open(tiny_bert_folder, progress=progress)
    with pytest.raises(EnoughError):
        model.run("the cat sat")
    assert "Loading weights" in told
    told.clear()
    with pytest.raises(EnoughError):  # the model is as it was
        model.run("the cat sat")
    assert told
