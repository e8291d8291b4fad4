"""An open model: tables, formulas, data flow, tensors and comparisons."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import bertviewer
from bertviewer.core.building.backend import torch, transformers
from bertviewer.core.loading.opening import open_model
from bertviewer.core.sources.parsing import parse_source


def test_tables(model: bertviewer.Model) -> None:
    modules = model.modules()
    assert [row["path"] for row in modules] == [node.path for node in model.architecture.modules]
    assert modules[0]["parameters"] == model.architecture.root.parameters
    assert len({tuple(row) for row in modules}) == 1
    layer = next(row for row in modules if row["path"] == "encoder.layer.0")
    assert layer["repeat_count"] == 2
    assert not any(isinstance(value, dict) for row in modules for value in row.values())
    weight = model.parameters()[0]
    assert (weight["name"], weight["shape"]) == ("embeddings.word_embeddings.weight", [200, 32])
    assert weight["symbolic_shape"] == ["V", "D"]
    assert model.summary(depth=1).count("\n") < model.summary().count("\n")


def test_formulas(model: bertviewer.Model) -> None:
    formula = model.formula("encoder.layer.1.attention.self.query")
    assert (formula.text, formula.numbers, formula.result) == ("D² + D", "32² + 32", 1056)
    values = {symbol.name: symbol.value for symbol in model.architecture.symbols}
    assert eval(formula.expression, {}, values) == 1056
    assert str(formula) == "D² + D\n= 32² + 32\n= 1,056"
    assert repr(formula).startswith("<bertviewer.Formula of 'encoder.layer.1")
    assert formula.maths
    assert "\\boldsymbol{W}^{\\top}" in formula.latex[0]
    assert "<math" in formula._repr_html_()
    for node in model.architecture.modules:
        assert model.formula(node.path).result == node.parameters


def test_the_data_flow(model: bertviewer.Model) -> None:
    flow = model.flow("encoder.layer.0")
    assert (flow["schema"], flow["path"]) == ("bertviewer.flow/1", "encoder.layer.0")
    assert "BertLayer" in model.flow_text("encoder.layer.0")
    assert model.figure("encoder.layer.0").dot().startswith("digraph")


def test_tensors_are_those_of_the_checkpoint(
    model: bertviewer.Model, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    state = open_model(parse_source(str(tiny_bert_folder))).module(False).state_dict()
    for name in ("pooler.dense.weight", "pooler.dense.bias", "embeddings.LayerNorm.weight"):
        found = model.tensor(name)
        assert found.dtype == np.float32
        assert np.array_equal(found, state[name].numpy())
    # NumPy has no bfloat16.
    half = transformers.BertModel.from_pretrained(tiny_bert_folder).to(torch.bfloat16)
    half.save_pretrained(tmp_path)
    found = bertviewer.open(tmp_path).tensor("pooler.dense.weight")
    assert found.dtype == np.float32
    assert np.array_equal(found, half.pooler.dense.weight.detach().float().numpy())


def test_a_comparison(model: bertviewer.Model) -> None:
    same = model.compare(model)
    assert same.counts["same"] == len(same.tensors()) == 39
    assert len({tuple(row) for row in same.tensors()}) == 1
    other = bertviewer.compare(model, "bert-base-uncased")
    assert other.config["hidden_size"] == (32, 768)
    assert other.tensors()[0]["left_shape"] == [200, 32]
    assert other.summary().startswith("Left:")


def test_notebooks_show_names_as_text(tiny_bert_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "<img src=x onerror=alert(1)>"
    folder.symlink_to(tiny_bert_folder)
    model = bertviewer.open(folder)
    count = model.architecture.root.parameters
    assert repr(model) == f"<bertviewer.Model {model.name!r}: BertModel, {count:,} parameters>"
    assert "encoder.layer" in model._repr_html_()
    assert "&lt;img" in model._repr_html_()
    for shown in (model, model.run("the <script> cat"), model.formula(), model.compare(model)):
        html = shown._repr_html_()
        assert "<img" not in html
        assert "<script" not in html


@pytest.mark.parametrize(
    ("call", "words"),
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
        (lambda: bertviewer.open("gpt2").report("a.pdf", appendix=cast("Any", "x")), "appendix"),
        (lambda: bertviewer.open("gpt2").report("a.pdf", paper=cast("Any", "a0")), "size 'a0'"),
        (lambda: bertviewer.open("gpt2").report("a.pdf", sections=["x"]), "unknown section x"),
    ],
)  # fmt: skip
def test_errors_have_one_line(
    call: Callable[[], object], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(bertviewer.Error, match=words) as raised:
        call()
    assert str(raised.value) == str(raised.value.__cause__)
    assert "\n" not in str(raised.value)


def test_an_exception_of_the_progress_callback_stops_the_work(tiny_bert_folder: Path) -> None:
    labels: list[str] = []

    class EnoughError(MemoryError):  # which a model may raise, too
        pass

    def progress(done: int, total: int, label: str) -> None:
        labels.append(label)
        if label == "encoder.layer.1":
            raise EnoughError

    model = bertviewer.open(tiny_bert_folder, progress=progress)
    with pytest.raises(EnoughError):
        model.run("the cat sat")
    assert "Loading weights" in labels
    labels.clear()
    with pytest.raises(EnoughError):  # the model can be used again
        model.run("the cat sat")
    assert labels
